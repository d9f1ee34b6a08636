"""Pages over several sources: search all harvested records, query all sources live, compare sources."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote, urlencode

import anyio.to_process
import anyio.to_thread
import duckdb
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from upwell.combine.ask import ask as ask_sources
from upwell.combine.catalogue import Catalogue
from upwell.combine.compare import compare
from upwell.combine.match_results import Comparison
from upwell.combine.merge import group_rows
from upwell.combine.search import Hit
from upwell.combine.source_table import read_table
from upwell.engines.local import call_supervised
from upwell.errors import UpwellError
from upwell.net.manners import Manners
from upwell.web.browse import find_row
from upwell.web.harvests import Harvest, Library
from upwell.web.record_views import with_harvest
from upwell.web.rendering import T, format_number, render, respond, title_of, truncate

__all__ = ["ShownComparison", "compare_tables", "routes"]


@dataclass(frozen=True, kw_only=True)
class ShownComparison:
    """Comparison, with the titles of the differing entities and their keys in each source."""

    comparison: Comparison
    titles: Mapping[int, str]
    keys: Mapping[int, Mapping[str, str]]


def compare_tables(tables: Mapping[str, Path]) -> ShownComparison:
    """Compare tables, named by their sources."""
    with TemporaryDirectory(prefix="upwell-compare-") as scratch:
        comparison = compare([read_table(path, name) for name, path in tables.items()], out=scratch)
        entities = list({difference.entity for difference in comparison.differences})
        rows: list[dict[str, Any]] = []
        if entities and comparison.table is not None:
            with duckdb.connect() as database:
                answer = database.execute(
                    "SELECT * FROM read_parquet($file) WHERE list_contains($wanted, _thing)",
                    {"file": str(comparison.table), "wanted": entities},
                )
                names = [str(column[0]) for column in answer.description or ()]
                rows = [dict(zip(names, row, strict=True)) for row in answer.fetchall()]
    sources = [source.name for source in comparison.sources]
    keys = {
        int(row["_thing"]): {name: str(row[f"_key ({name})"]) for name in sources if row[f"_key ({name})"] is not None}
        for row in rows
    }
    return ShownComparison(comparison=comparison, titles={int(row["_thing"]): title_of(row) for row in rows}, keys=keys)


PAGE_HITS = 20  # hits shown per page
MAX_FIELDS = 6  # fields shown of a record
MAX_MATCHES = 8  # matches shown in other sources
DEADLINE = 8.0  # seconds that sources have to answer
WORD = re.compile(r"\w+")


def _fields(row: dict[str, Any]) -> list[tuple[str, str]]:
    """Return a few fields of a row for display."""
    filled = [(name, value) for name, value in row.items() if not name.startswith("_") and value not in (None, "", [])]
    return [
        (name, truncate(", ".join(map(str, value)) if isinstance(value, list) else format_number(value), 120))
        for name, value in filled[:MAX_FIELDS]
    ]


def _hit(hit: Hit, ids: dict[str, str]) -> dict[str, Any]:
    fields = _fields(hit.record)
    text, marks = hit.highlight.text, hit.highlight.marks
    snippet, copied = Markup(""), 0
    for start, end in marks:
        snippet += escape(text[copied:start]) + Markup("<mark>") + escape(text[start:end]) + Markup("</mark>")
        copied = end
    snippet += escape(text[copied:])
    harvest_id = ids.get(hit.site)
    address = (
        f"/harvests/{quote(harvest_id)}/record?{urlencode({'key': hit.record.get('_key', '')})}" if harvest_id else ""
    )
    title = truncate(title_of(hit.record) or hit.record.get("_key", ""), 120)
    fields = [(name, value) for name, value in fields if value != title]
    return {
        "site": hit.site,
        "title": title,
        "fields": fields,
        "snippet": snippet if marks else "",
        "address": address,
    }


async def search(request: Request) -> Response:
    """Show a full-text search over all harvested records."""
    query = request.query_params.get("q", "").strip()
    page_number = request.query_params.get("page", "1")
    page = max(1, min(int(page_number[:9]), 10_000)) if page_number.isdecimal() else 1
    values: dict[str, Any] = {
        "query": query,
        "hits": [],
        "count": "",
        "page": page,
        "pages": 1,
        "message": "",
        "troubles": (),
    }
    if query:
        try:
            values |= await anyio.to_thread.run_sync(_search, request.app.state.library, query, page)
        except UpwellError as error:
            values["message"] = str(error)
    return respond(request, "search.html.j2", here="search", **values)


def _search(library: Library, query: str, page: int) -> dict[str, Any]:
    result = Catalogue(library.folder).search(query, limit=PAGE_HITS, offset=(page - 1) * PAGE_HITS)
    ids = {harvest.site: harvest.id for harvest in library.all()}
    return {
        "hits": [_hit(hit, ids) for hit in result.hits],
        "count": T.hits_of.format(n=f"{result.count:,}", all=f"{result.records:,}"),
        "pages": max(1, -(-result.count // PAGE_HITS)),
        "troubles": result.troubles,
    }


async def ask_form(request: Request) -> Response:
    """Show the form for a live query."""
    harvests = await anyio.to_thread.run_sync(request.app.state.library.all)
    return respond(
        request, "ask.html.j2", here="ask", query="", result=None, sources=len(harvests), message="", troubles={}
    )


async def ask(request: Request) -> Response:
    """Query all learned sources live, and show the merged answers."""
    library: Library = request.app.state.library
    query = str(request.scope["form"].get("q", "")).strip()
    values: dict[str, Any] = {"query": query, "result": None, "sources": 0, "message": "", "troubles": {}}
    try:
        manners = Manners(**library.runs.manners)
        result = await call_supervised(ask_sources, query, [library.folder], deadline=DEADLINE, manners=manners)
        values["result"] = [
            {
                "title": title_of(finding.fields),
                "fields": _fields(finding.fields),
                "url": finding.url,
                "sources": [record.source for record in finding.sources],
            }
            for finding in result.findings[:100]
        ]
        values |= {"sources": len(result.answers), "troubles": result.troubles}
    except UpwellError as error:
        values["message"] = str(error)
    return respond(request, "ask.html.j2", here="ask", **values)


async def compare_page(request: Request) -> Response:
    """Show the comparison of two or more sources."""
    library: Library = request.app.state.library
    harvests = [harvest for harvest in await anyio.to_thread.run_sync(library.all) if harvest.tables]
    selected = set(request.query_params.getlist("source"))
    chosen = [harvest for harvest in harvests if harvest.id in selected]
    values: dict[str, Any] = {"harvests": harvests, "chosen": selected, "result": None, "message": "", "ids": {}}
    if selected and len(chosen) < 2:
        values["message"] = T.compare_few_chosen
    elif chosen:
        by_name = {_distinct(harvest, chosen): harvest for harvest in chosen}
        try:
            tables = {name: next(iter(harvest.tables.values())) for name, harvest in by_name.items()}
            values["result"] = await _compared(request.app.state.compared, tables)
            values["ids"] = {name: harvest.id for name, harvest in by_name.items()}
        except UpwellError as error:
            values["message"] = str(error)
    return respond(request, "compare.html.j2", here="compare", **values)


async def _compared(cache: dict[Any, ShownComparison], tables: dict[str, Path]) -> ShownComparison:
    """Return a comparison, computed in a separate process because it takes seconds of CPU; the last one is cached while its tables are unchanged."""
    key = tuple((name, str(path), path.stat().st_mtime_ns) for name, path in tables.items())
    if key not in cache:
        comparison = await anyio.to_process.run_sync(compare_tables, tables)
        cache.clear()
        cache[key] = comparison
    return cache[key]


def _distinct(harvest: Harvest, others: list[Harvest]) -> str:
    """Return a source's title, or its id if several have the same title."""
    return harvest.name if sum(other.name == harvest.name for other in others) == 1 else harvest.id


def _matches(request: Request, shown: Harvest) -> Response:
    """Return the matches of a record in other sources, as a fragment of the record's page."""
    library: Library = request.app.state.library
    key = request.query_params.get("key", "")
    row = next((row for path in shown.tables.values() if (row := find_row(path, key)[1]) is not None), None)
    if row is None:
        return HTMLResponse("", 404)
    fields = {name: value for name, value in row.items() if not name.startswith("_")}
    title = title_of(fields)
    others = [harvest for harvest in library.all() if harvest.id != shown.id and harvest.tables]
    words = " ".join(WORD.findall(title)[:12])
    hits: list[Hit] = []
    if words and others:
        hits = list(Catalogue(library.folder).search(words, limit=30, sites=[other.site for other in others]).hits)
    by_site: dict[str, list[Hit]] = {}
    for hit in hits:
        by_site.setdefault(hit.site, []).append(hit)
    answers = [[fields], *([hit.record for hit in site_hits] for site_hits in by_site.values())]
    same = next((group for group in group_rows(answers) if (0, 0) in group), [])
    sites = list(by_site.values())
    chosen = [sites[answer - 1][position] for answer, position in same if answer]
    ids = {harvest.site: harvest.id for harvest in others}
    return HTMLResponse(render("_matches.html.j2", hits=[_hit(hit, ids) for hit in chosen[:MAX_MATCHES]]))


routes = [
    Route("/search", search),
    Route("/ask", ask_form, methods=["GET"]),
    Route("/ask", ask, methods=["POST"]),
    Route("/compare", compare_page),
    Route("/harvests/{id}/matches", with_harvest(_matches)),
]
