"""The pages about records: the table, its filters, one record, its archived page, the columns, and the files to take away."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

from markupsafe import Markup
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from upwell import api
from upwell.errors import UpwellError, WrongUsage
from upwell.harvest.charts import percent
from upwell.store.records import FORMATS
from upwell.web.about_one import with_harvest
from upwell.web.browse import View, browse, facet, view_of
from upwell.web.columns import columns_in, edit_columns
from upwell.web.correcting import answers_of, correct_next_page, correct_record, texts_of
from upwell.web.harvests import Harvest
from upwell.web.record import RecordPage, archived_page, record_page
from upwell.web.rendering import T, ago, is_picture, render, respond
from upwell.web.security import CSP

__all__ = ["routes"]

MAX_COLUMNS = 40  # of a table that are shown
# An archived page: nothing of it runs, nothing is loaded, and it cannot lead anywhere by itself.
ARCHIVED_CSP = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'"


def _table(found: Harvest, kind: str) -> Path | None:
    """The table of a kind in Parquet, the largest by default; written now where the harvest has it in other formats only."""
    tables = found.tables
    if not tables and found.summary.get("records") and not found.is_running:
        api.export(found.folder, format="parquet")
        tables = found.tables
    return tables.get(kind) or next(iter(tables.values()), None)


def _records(request: Request, found: Harvest) -> Response:
    view = view_of(request.query_params.multi_items())
    path = _table(found, view.kind)
    base = f"/harvests/{found.id}"
    if path is None:
        return respond(request, "records.html.j2", h=found, base=base, page=None)
    page = browse(path, view)
    columns = [column for column in page.columns if not column.name.startswith("_")][:MAX_COLUMNS]
    said = T.rows_all if page.total == page.whole else T.rows_of
    headers = {}
    if view.with_pictures:
        headers["content-security-policy"] = CSP.replace("img-src 'self' data:", "img-src 'self' data: http: https:")
    rows = found.summary.get("tables", {})
    kinds = [(kind, f"{kind} ({rows.get(kind, 0):,})") for kind in found.tables] if len(found.tables) > 1 else []
    return respond(
        request,
        "records.html.j2",
        headers=headers,
        h=found,
        base=base,
        page=page,
        view=view,
        columns=columns,
        kinds=kinds,
        kept=_kept(view, search=""),
        has_pictures=any(is_picture(column.name) for column in columns),
        count_said=said.format(n=f"{page.total:,}", all=f"{page.whole:,}"),
    )


def _kept(view: View, **changes: Any) -> list[tuple[str, str]]:
    """The rest of a view as hidden fields of a form."""
    from urllib.parse import parse_qsl

    return parse_qsl(view.address(**changes), keep_blank_values=True)


def _facet(request: Request, found: Harvest) -> Response:
    view = view_of(request.query_params.multi_items())
    name = request.query_params.get("column", "")
    path = _table(found, view.kind)
    spread = facet(path, name, view) if path is not None else None
    if spread is None:
        return HTMLResponse("", 404)
    others = tuple(one for one in view.filters if one.column != name)
    part = render(
        "_facet.html.j2",
        f=spread,
        base=f"/harvests/{found.id}",
        view=view,
        chart=Markup(spread.chart),  # noqa: S704 # our own SVG
        kept=_kept(view, filters=others),
        filled=T.filled.format(share=percent(spread.filled / max(1, spread.rows)) if spread.filled else "0%"),
        different=T.different.format(n=f"{spread.different:,}"),
    )
    return HTMLResponse(part)


def _record(request: Request, found: Harvest) -> Response:
    key, kind = request.query_params.get("key", ""), request.query_params.get("kind", "")
    page = _found(found, kind, key)
    if page is None:
        return respond(request, "error.html.j2", 404, message=T.not_found)
    archived = []
    if not page.is_busy:
        pages = (("own", T.archived_own), ("list", T.archived_list))
        archived = [(which, text) for which, text in pages if archived_page(found.folder, page.row, own=which == "own")]
    fetched, seen = page.row.get("_fetched"), page.row.get("_seen")
    came = T.found_at.format(when=ago(str(fetched))) if fetched else ""
    came += f". {T.seen_times.format(n=seen)}" if seen else ""
    values: dict[str, Any] = {
        "h": found,
        "base": f"/harvests/{found.id}",
        "r": page,
        "kind": kind,
        "archived": archived,
        "came": came,
    }
    return respond(request, "record.html.j2", **values)


def _found(found: Harvest, kind: str, key: str) -> RecordPage | None:
    """The record of a key in the table of a kind, else in any."""
    if _table(found, kind) is None:
        return None
    tables = found.tables
    wanted = {kind: tables[kind]} if kind in tables else tables
    pages = (record_page(found.folder, path, name, key) for name, path in wanted.items())
    return next((page for page in pages if page is not None), None)


def _page(request: Request, found: Harvest) -> Response:
    """An archived page, which can do nothing."""
    page = _found(found, request.query_params.get("kind", ""), request.query_params.get("key", ""))
    is_own = request.query_params.get("which") == "own"
    body = archived_page(found.folder, page.row, own=is_own) if page is not None else None
    if body is None:
        return HTMLResponse(T.archived_none, 404)
    kind = body[0] if body[0].split(";")[0].strip().lower() in ("text/html", "application/xhtml+xml") else "text/plain"
    return Response(body[1], headers={"content-type": kind, "content-security-policy": ARCHIVED_CSP})


def _columns(request: Request, found: Harvest) -> Response:
    kind = request.query_params.get("kind", "") or next(iter(found.tables), "")
    said = T.saved if request.query_params.get("saved") else ""
    return _columns_page(request, found, kind, said)


def _columns_page(request: Request, found: Harvest, kind: str, said: str, *, is_error: bool = False) -> Response:
    columns = columns_in(found.folder, kind)
    values: dict[str, Any] = {
        "h": found,
        "base": f"/harvests/{found.id}",
        "kind": kind,
        "columns": columns,
        "said": said,
    }
    return respond(request, "columns.html.j2", 400 if is_error else 200, is_error=is_error, **values)


def _save_columns(request: Request, found: Harvest) -> Response:
    form: dict[str, str] = request.scope["form"]
    kind = form.get("kind", "")
    names = {int(name[5:]): text for name, text in form.items() if name.startswith("name-") and name[5:].isdigit()}
    kept = {int(name[5:]) for name in form if name.startswith("keep-") and name[5:].isdigit()}
    try:
        if found.is_running:
            raise WrongUsage(T.busy)
        edit_columns(found.folder, kind, names, kept)
    except UpwellError as error:
        return _columns_page(request, found, kind, str(error), is_error=True)
    query = f"?saved=1&kind={kind}" if kind else "?saved=1"
    return RedirectResponse(f"/harvests/{found.id}/columns{query}", 303)


def _export(request: Request, found: Harvest) -> Response:
    """The table in a format, to take away; several kinds of things come as a zip file."""
    format = request.path_params["format"]
    if format not in FORMATS:
        raise WrongUsage(f"format {format!r} is none of {', '.join(FORMATS)}")
    scratch = Path(tempfile.mkdtemp(prefix="upwell-export-"))
    clean = BackgroundTask(shutil.rmtree, scratch, ignore_errors=True)
    try:
        made = api.export(found.folder, format=format, out=scratch / "tables" / f"{found.folder.name}.{format}")
    except UpwellError:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    if len(made) == 1:
        return FileResponse(made[0].file, filename=Path(made[0].file).name, background=clean)
    packed = shutil.make_archive(str(scratch / found.folder.name), "zip", scratch / "tables")
    return FileResponse(packed, filename=Path(packed).name, background=clean)


def _correct(request: Request, found: Harvest) -> Response:
    return _correct_page(request, found, request.query_params.get("answer", "0"), "")


def _correct_page(request: Request, found: Harvest, given: str, said: str) -> Response:
    answers = [] if found.is_running else answers_of(found.folder)
    number = min(int(given), len(answers) - 1) if given.isdigit() and answers else 0
    texts = texts_of(found.folder, answers[number][0]) if answers else []
    values: dict[str, Any] = {
        "h": found, "base": f"/harvests/{found.id}", "texts": texts, "number": number, "answers": len(answers), "said": said,
        "query": answers[number][1] if answers else "",
    }  # fmt: skip
    return respond(request, "correct.html.j2", 400 if said else 200, **values)


def _save_correction(request: Request, found: Harvest) -> Response:
    """Learns from what a person has shown, then reads the archived pages anew."""
    form: dict[str, str] = request.scope["form"]
    answer = form.get("answer", "0")
    marked = sorted(int(name[5:]) for name in form if name.startswith("text-") and name[5:].isdigit())
    try:
        if found.is_running:
            raise WrongUsage(T.busy)
        url, plan = found.plan()
        budget = found.progress().budget or int(found.summary.get("requests", 0)) or 50
        if form.get("next", "").isdigit() and form.get("what") == "next":
            correct_next_page(found.folder, int(answer), int(form["next"]))
        elif marked and answer.isdigit():
            correct_record(found.folder, int(answer), marked[0], marked[-1])
        else:
            raise WrongUsage(T.correct_nothing)
        request.app.state.runs.start(url, {**plan, "budget": budget}, found.folder.parent)
    except UpwellError as error:
        return _correct_page(request, found, answer, str(error))
    return RedirectResponse(f"/harvests/{found.id}", 303)


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
