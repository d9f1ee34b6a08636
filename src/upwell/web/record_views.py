"""Pages about the records of a harvest: table, filters, single record, archived pages, columns, corrections and export."""

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio.to_thread
from markupsafe import Markup
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from upwell import api
from upwell.errors import UpwellError, WrongUsage
from upwell.harvest.files import write_tables
from upwell.report.charts import percent
from upwell.store.archive import read_archived
from upwell.store.read_only import ReadOnlyState, StateLocked, open_read_only
from upwell.table.build import saved_tables
from upwell.table.writers import FORMATS, Format
from upwell.types import PAGE_PREFIX
from upwell.web.browse import TableColumnInfo, TableView, browse, facet, find_row, parse_view
from upwell.web.corrections import answer_texts, answers_of, correct_next_page, correct_record
from upwell.web.harvests import Harvest
from upwell.web.rendering import T, format_time, is_picture, render, respond, title_of
from upwell.web.security import CSP

__all__ = [
    "EditableColumn",
    "RecordChange",
    "RecordDetails",
    "RecordField",
    "archived_page",
    "edit_columns",
    "editable_columns",
    "record_details",
    "routes",
    "with_harvest",
]


def with_harvest(page: Callable[[Request, Harvest], Response]) -> Callable[[Request], Any]:
    """Wrap a page about the harvest named in the URL; the page runs in a thread."""

    async def answer(request: Request) -> Response:
        harvest = await anyio.to_thread.run_sync(request.app.state.library.get, request.path_params["id"])
        if harvest is None:
            return respond(request, "error.html.j2", 404, message=T.not_found_harvest)
        return await anyio.to_thread.run_sync(page, request, harvest)

    return answer


MAX_NAME_CHARS = 80  # length of a column name


@dataclass(frozen=True, kw_only=True)
class EditableColumn:
    """Column as stored in `source.json`."""

    number: int  # position in its table
    name: str
    type: str
    is_dropped: bool
    comes_from: tuple[str, ...]  # names in the lists and on record pages


def _saved(folder: Path) -> list[dict[str, Any]]:
    try:
        saved = json.loads((folder / "source.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise WrongUsage("this harvest has no columns yet; run it first") from error
    entries = saved if isinstance(saved, list) else [saved]
    if not entries or not all(isinstance(entry, dict) for entry in entries):
        raise WrongUsage("the source.json of this harvest is damaged; run it again")
    return entries


def editable_columns(folder: Path, kind: str = "") -> list[EditableColumn]:
    """Return the columns of a table, including removed ones."""
    try:
        columns = _saved(folder)[0].get("tables", {}).get(kind, [])
    except WrongUsage:
        return []
    return [
        EditableColumn(
            number=number,
            name=str(column["name"]),
            type=str(column.get("type", "text")),
            is_dropped=bool(column.get("drop")),
            comes_from=tuple(column["of"]),
        )
        for number, column in enumerate(columns)
    ]


def edit_columns(folder: Path, kind: str, names: Mapping[int, str], kept: set[int]) -> None:
    """Rename columns of a table, remove those that are not kept, save this in `source.json`, and write the tables again."""
    models = _saved(folder)
    columns = models[0].get("tables", {}).get(kind)
    if columns is None:
        raise WrongUsage(f"there is no table {kind or 'records'}")
    wanted = {number: " ".join(name.split())[:MAX_NAME_CHARS] for number, name in names.items()}
    used: set[str] = set()
    for number, column in enumerate(columns):
        name = wanted.get(number) or str(column["name"])
        if name.startswith("_"):
            raise WrongUsage(f"{name}: names that begin with _ are reserved for Upwell; choose another name")
        is_kept = number in kept or number not in wanted
        if is_kept and name.lower() in used:
            raise WrongUsage(f"two columns would be named {name}; choose another name")
        used |= {name.lower()} if is_kept else set()
        # a pinned column keeps its name and position in later harvests
        column.update(name=name, drop=not is_kept, pin=bool(column.get("pin")) or name != column["name"])
    file = folder / "source.json"
    partial = file.with_name(".source.json.part")
    text = json.dumps(models[0] if len(models) == 1 else models, ensure_ascii=False, indent=1)
    partial.write_text(text + "\n", encoding="utf-8")
    partial.replace(file)
    tables = saved_tables(folder)
    written: list[Format] = [format for format in FORMATS if (folder / f"{tables[0].name}.{format}").is_file()]
    write_tables(tables, folder, written[0] if written else "parquet")


@dataclass(frozen=True, kw_only=True)
class RecordField:
    """Field of a record, and where its value came from."""

    column: TableColumnInfo
    value: Any
    is_from_list: bool
    is_from_record_page: bool


@dataclass(frozen=True, kw_only=True)
class RecordChange:
    """Changes of a record found by one refresh."""

    run: int
    fields: list[tuple[str, Any, Any]]  # name, before, after
    is_gone: bool = False


@dataclass(frozen=True, kw_only=True)
class RecordDetails:
    """Fields, origin and history of one record."""

    key: str
    title: str
    url: str
    fields: list[RecordField]
    row: dict[str, Any]
    queries: list[str] = field(default_factory=list)
    changes: list[RecordChange] = field(default_factory=list)
    is_busy: bool = False  # the harvest is running: queries and changes are not available


def record_details(folder: Path, table: Path, kind: str, key: str) -> RecordDetails | None:
    """Return the record with a key in a table, or None."""
    columns, row = find_row(table, key)
    if row is None:
        return None
    origins = {column.name: column.comes_from for column in editable_columns(folder, kind)}
    fields = []
    for column in columns:
        if column.name.startswith("_") or row[column.name] in (None, "", []):
            continue
        names = origins.get(column.name, ())
        from_page = any(name.startswith(PAGE_PREFIX) for name in names)
        is_from_list = not names or any(not name.startswith(PAGE_PREFIX) for name in names)
        fields.append(
            RecordField(column=column, value=row[column.name], is_from_list=is_from_list, is_from_record_page=from_page)
        )
    title = title_of({field.column.name: field.value for field in fields}) or key
    page = RecordDetails(key=key, title=title, url=str(row.get("_url") or ""), fields=fields, row=row)
    try:
        with open_read_only(folder) as state:
            return RecordDetails(**{**vars(page), "queries": state.sights(key), "changes": _changes(state, key)})
    except StateLocked:
        return RecordDetails(**{**vars(page), "is_busy": True})


def _changes(state: ReadOnlyState, key: str) -> list[RecordChange]:
    """Return the changes found by each refresh, newest first."""
    after = state.row(key)
    changes = []
    for run, before in state.history(key):
        if after is None:
            changes.append(RecordChange(run=run, fields=[], is_gone=True))
        else:
            names = dict.fromkeys(name for name in (*before, *after) if not name.startswith("_"))
            fields = [
                (name, before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)
            ]
            changes.append(RecordChange(run=run, fields=fields))
        after = before
    return changes


def archived_page(folder: Path, row: dict[str, Any], *, own: bool) -> tuple[str, bytes] | None:
    """Return Content-Type and body of the archived list page or record page of a record."""
    try:
        with open_read_only(folder) as state:
            place = (
                state.archived_at(str(row.get("_url") or "")) if own else state.archived(str(row.get("_page") or ""))
            )
    except StateLocked:
        return None
    return read_archived(folder / "archive", place) if place is not None else None


MAX_NUMBER_DIGITS = 9  # safety limit: digits of a number in a form
MAX_COLUMNS = 40  # columns shown of a table
# Policy for archived pages: no scripts, no loading, no navigation.
ARCHIVED_CSP = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'"


def _table(harvest: Harvest, kind: str) -> Path | None:
    """Return the Parquet table of an entity kind, by default the largest; it is written first if only other formats exist."""
    tables = harvest.tables
    if not tables and harvest.summary.get("records") and not harvest.is_running:
        api.export(harvest.folder, format="parquet")
        tables = harvest.tables
    return tables.get(kind) or next(iter(tables.values()), None)


def _records(request: Request, harvest: Harvest) -> Response:
    view = parse_view(request.query_params.multi_items())
    path = _table(harvest, view.kind)
    base = f"/harvests/{harvest.id}"
    if path is None:
        return respond(request, "records.html.j2", h=harvest, base=base, page=None)
    page = browse(path, view)
    columns = [column for column in page.columns if not column.name.startswith("_")][:MAX_COLUMNS]
    count_text = T.rows_all if page.total == page.whole else T.rows_of
    headers = {}
    if view.with_pictures:
        headers["content-security-policy"] = CSP.replace("img-src 'self' data:", "img-src 'self' data: http: https:")
    rows = harvest.summary.get("tables", {})
    kinds = [(kind, f"{kind} ({rows.get(kind, 0):,})") for kind in harvest.tables] if len(harvest.tables) > 1 else []
    return respond(
        request,
        "records.html.j2",
        headers=headers,
        h=harvest,
        base=base,
        page=page,
        view=view,
        columns=columns,
        kinds=kinds,
        kept=_hidden_fields(view, search=""),
        has_pictures=any(is_picture(column.name) for column in columns),
        row_count=count_text.format(n=f"{page.total:,}", all=f"{page.whole:,}"),
    )


def _hidden_fields(view: TableView, **changes: Any) -> list[tuple[str, str]]:
    """Return the rest of a view as hidden form fields."""
    from urllib.parse import parse_qsl

    return parse_qsl(view.address(**changes), keep_blank_values=True)


def _facet(request: Request, harvest: Harvest) -> Response:
    view = parse_view(request.query_params.multi_items())
    name = request.query_params.get("column", "")
    path = _table(harvest, view.kind)
    spread = facet(path, name, view) if path is not None else None
    if spread is None:
        return HTMLResponse("", 404)
    others = tuple(condition for condition in view.filters if condition.column != name)
    part = render(
        "_facet.html.j2",
        f=spread,
        base=f"/harvests/{harvest.id}",
        view=view,
        chart=Markup(spread.chart),  # noqa: S704 # our own SVG
        kept=_hidden_fields(view, filters=others),
        filled=T.filled.format(share=percent(spread.filled / max(1, spread.rows)) if spread.filled else "0%"),
        different=T.different.format(n=f"{spread.different:,}"),
    )
    return HTMLResponse(part)


def _record(request: Request, harvest: Harvest) -> Response:
    key, kind = request.query_params.get("key", ""), request.query_params.get("kind", "")
    page = _find_record(harvest, kind, key)
    if page is None:
        return respond(request, "error.html.j2", 404, message=T.not_found)
    archived = []
    if not page.is_busy:
        pages = (("own", T.archived_own), ("list", T.archived_list))
        archived = [
            (which, text) for which, text in pages if archived_page(harvest.folder, page.row, own=which == "own")
        ]
    fetched, seen = page.row.get("_fetched"), page.row.get("_seen")
    provenance = T.found_at.format(when=format_time(str(fetched))) if fetched else ""
    provenance += f". {T.seen_times.format(n=seen)}" if seen else ""
    values: dict[str, Any] = {
        "h": harvest,
        "base": f"/harvests/{harvest.id}",
        "r": page,
        "kind": kind,
        "archived": archived,
        "provenance": provenance,
    }
    return respond(request, "record.html.j2", **values)


def _find_record(harvest: Harvest, kind: str, key: str) -> RecordDetails | None:
    """Return the record with a key in the table of an entity kind, else in any table."""
    if _table(harvest, kind) is None:
        return None
    tables = harvest.tables
    searched = {kind: tables[kind]} if kind in tables else tables
    pages = (record_details(harvest.folder, path, name, key) for name, path in searched.items())
    return next((page for page in pages if page is not None), None)


def _page(request: Request, harvest: Harvest) -> Response:
    """Show an archived page in a sandbox."""
    page = _find_record(harvest, request.query_params.get("kind", ""), request.query_params.get("key", ""))
    is_own = request.query_params.get("which") == "own"
    body = archived_page(harvest.folder, page.row, own=is_own) if page is not None else None
    if body is None:
        return HTMLResponse(T.archived_none, 404)
    kind = body[0] if body[0].split(";")[0].strip().lower() in ("text/html", "application/xhtml+xml") else "text/plain"
    return Response(body[1], headers={"content-type": kind, "content-security-policy": ARCHIVED_CSP})


def _columns(request: Request, harvest: Harvest) -> Response:
    kind = request.query_params.get("kind", "") or next(iter(harvest.tables), "")
    message = T.saved if request.query_params.get("saved") else ""
    return _columns_page(request, harvest, kind, message)


def _columns_page(request: Request, harvest: Harvest, kind: str, message: str, *, is_error: bool = False) -> Response:
    columns = editable_columns(harvest.folder, kind)
    values: dict[str, Any] = {
        "h": harvest,
        "base": f"/harvests/{harvest.id}",
        "kind": kind,
        "columns": columns,
        "message": message,
    }
    return respond(request, "columns.html.j2", 400 if is_error else 200, is_error=is_error, **values)


def _save_columns(request: Request, harvest: Harvest) -> Response:
    form: dict[str, str] = request.scope["form"]
    kind = form.get("kind", "")
    names = {int(name[5:]): text for name, text in form.items() if name.startswith("name-") and _is_number(name[5:])}
    kept = {int(name[5:]) for name in form if name.startswith("keep-") and _is_number(name[5:])}
    try:
        if harvest.is_running:
            raise WrongUsage(T.busy)
        edit_columns(harvest.folder, kind, names, kept)
    except UpwellError as error:
        return _columns_page(request, harvest, kind, str(error), is_error=True)
    query = f"?saved=1&kind={kind}" if kind else "?saved=1"
    return RedirectResponse(f"/harvests/{harvest.id}/columns{query}", 303)


def _export(request: Request, harvest: Harvest) -> Response:
    """Send the table in a format; several tables are sent as a zip file."""
    format = request.path_params["format"]
    if format not in FORMATS:
        raise WrongUsage(f"format must be one of {', '.join(FORMATS)}, not {format!r}")
    scratch = Path(tempfile.mkdtemp(prefix="upwell-export-"))
    clean = BackgroundTask(shutil.rmtree, scratch, ignore_errors=True)
    try:
        exported = api.export(harvest.folder, format=format, out=scratch / "tables" / f"{harvest.folder.name}.{format}")
    except UpwellError:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    if len(exported) == 1:
        return FileResponse(exported[0].file, filename=Path(exported[0].file).name, background=clean)
    zip_file = shutil.make_archive(str(scratch / harvest.folder.name), "zip", scratch / "tables")
    return FileResponse(zip_file, filename=Path(zip_file).name, background=clean)


def _correct(request: Request, harvest: Harvest) -> Response:
    return _correct_page(request, harvest, request.query_params.get("answer", "0"), "")


def _correct_page(request: Request, harvest: Harvest, answer_number: str, message: str) -> Response:
    answers = [] if harvest.is_running else answers_of(harvest.folder)
    number = min(int(answer_number), len(answers) - 1) if _is_number(answer_number) and answers else 0
    texts = answer_texts(harvest.folder, answers[number][0]) if answers else []
    values: dict[str, Any] = {
        "h": harvest, "base": f"/harvests/{harvest.id}", "texts": texts, "number": number, "answers": len(answers), "message": message,
        "query": answers[number][1] if answers else "",
    }  # fmt: skip
    return respond(request, "correct.html.j2", 400 if message else 200, **values)


def _save_correction(request: Request, harvest: Harvest) -> Response:
    """Learn from the user's example, then read the archived pages again."""
    form: dict[str, str] = request.scope["form"]
    answer = form.get("answer", "0")
    marked = sorted(int(name[5:]) for name in form if name.startswith("text-") and _is_number(name[5:]))
    try:
        if harvest.is_running:
            raise WrongUsage(T.busy)
        url, plan = harvest.plan()
        budget = harvest.progress().budget or int(harvest.summary.get("requests", 0)) or 50
        if _is_number(form.get("next", "")) and _is_number(answer) and form.get("what") == "next":
            correct_next_page(harvest.folder, int(answer), int(form["next"]))
        elif marked and _is_number(answer):
            correct_record(harvest.folder, int(answer), marked[0], marked[-1])
        else:
            raise WrongUsage(T.correct_nothing)
        request.app.state.runs.start(url, {**plan, "budget": budget}, harvest.folder.parent)
    except UpwellError as error:
        return _correct_page(request, harvest, answer, str(error))
    return RedirectResponse(f"/harvests/{harvest.id}", 303)


routes = [
    Route("/harvests/{id}/correct", with_harvest(_correct), methods=["GET"]),
    Route("/harvests/{id}/correct", with_harvest(_save_correction), methods=["POST"]),
    Route("/harvests/{id}/records", with_harvest(_records)),
    Route("/harvests/{id}/facet", with_harvest(_facet)),
    Route("/harvests/{id}/record", with_harvest(_record)),
    Route("/harvests/{id}/page", with_harvest(_page)),
    Route("/harvests/{id}/columns", with_harvest(_columns), methods=["GET"]),
    Route("/harvests/{id}/columns", with_harvest(_save_columns), methods=["POST"]),
    Route("/harvests/{id}/export/{format}", with_harvest(_export)),
]


def _is_number(text: str) -> bool:
    """Return True if a field of a form contains a number that `int` accepts; "²" is a digit, and a long number is refused."""
    return text.isdecimal() and len(text) <= MAX_NUMBER_DIGITS
