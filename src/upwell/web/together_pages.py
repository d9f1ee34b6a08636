"""The pages over several sources: search in everything harvested, ask all sources live, compare two of them."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import anyio.to_process
import anyio.to_thread
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from upwell.errors import UpwellError
from upwell.net.manners import Manners
from upwell.together.ask import ask as ask_sources
from upwell.together.catalogue import Catalogue
from upwell.together.same import groups
from upwell.together.search import Hit
from upwell.web.about_one import with_harvest
from upwell.web.browse import row_of
from upwell.web.comparing import Compared, compare_tables
from upwell.web.harvests import Harvest, Library
from upwell.web.rendering import T, amount, render, respond, short, title_of

__all__ = ["routes"]

PAGE_HITS = 20
MAX_FIELDS = 6  # of a thing that are shown
MAX_MATCHES = 8
DEADLINE = 8.0  # seconds that sources have for an answer
WORD = re.compile(r"\w+")


def _fields(row: dict[str, Any]) -> list[tuple[str, str]]:
    """What a row says, a few fields of it."""
    shown = [(name, value) for name, value in row.items() if not name.startswith("_") and value not in (None, "", [])]
    return [
        (name, short(", ".join(map(str, value)) if isinstance(value, list) else amount(value), 120))
        for name, value in shown[:MAX_FIELDS]
    ]


def _hit(hit: Hit, ids: dict[str, str]) -> dict[str, Any]:
    fields = _fields(hit.record)
    text, marks = hit.highlight.text, hit.highlight.marks
    snippet, at = Markup(""), 0
    for start, end in marks:
        snippet += escape(text[at:start]) + Markup("<mark>") + escape(text[start:end]) + Markup("</mark>")
        at = end
    snippet += escape(text[at:])
    place = ids.get(hit.site)
    address = f"/harvests/{quote(place)}/record?{urlencode({'key': hit.record.get('_key', '')})}" if place else ""
    title = short(title_of(hit.record) or hit.record.get("_key", ""), 120)
    fields = [(name, value) for name, value in fields if value != title]
    return {
        "site": hit.site,
        "title": title,
        "fields": fields,
        "snippet": snippet if marks else "",
        "address": address,
    }


async def search(request: Request) -> Response:
    """Full-text search over everything harvested."""
    query = request.query_params.get("q", "").strip()
    given = request.query_params.get("page", "1")
    page = max(1, min(int(given), 10_000)) if given.isdigit() else 1
    values: dict[str, Any] = {
        "query": query,
        "hits": [],
        "count": "",
        "page": page,
        "pages": 1,
        "said": "",
        "troubles": (),
    }
    if query:
        try:
            values |= await anyio.to_thread.run_sync(_search, request.app.state.library, query, page)
        except UpwellError as error:
            values["said"] = str(error)
    return respond(request, "search.html.j2", here="search", **values)


def _search(library: Library, query: str, page: int) -> dict[str, Any]:
    found = Catalogue(library.folder).search(query, limit=PAGE_HITS, offset=(page - 1) * PAGE_HITS)
    ids = {harvest.site: harvest.id for harvest in library.all()}
    return {
        "hits": [_hit(hit, ids) for hit in found.hits],
        "count": T.hits_of.format(n=f"{found.count:,}", all=f"{found.records:,}"),
        "pages": max(1, -(-found.count // PAGE_HITS)),
        "troubles": found.troubles,
    }


async def ask_form(request: Request) -> Response:
    """The box over all learned sources."""
    found = await anyio.to_thread.run_sync(request.app.state.library.all)
    return respond(request, "ask.html.j2", here="ask", query="", result=None, sources=len(found), said="", troubles={})


async def ask(request: Request) -> Response:
    """Asks all learned sources, live."""
    library: Library = request.app.state.library
    query = str(request.scope["form"].get("q", "")).strip()
    values: dict[str, Any] = {"query": query, "result": None, "sources": 0, "said": "", "troubles": {}}
    try:
        result = await ask_sources(query, [library.folder], deadline=DEADLINE, manners=Manners(**library.runs.manners))
        values["result"] = [
            {
                "title": title_of(finding.fields),
                "fields": _fields(finding.fields),
                "url": finding.url,
                "sources": [one.source for one in finding.sources],
            }
            for finding in result.findings[:100]
        ]
        values |= {"sources": len(result.answers), "troubles": result.troubles}
    except UpwellError as error:
        values["said"] = str(error)
    return respond(request, "ask.html.j2", here="ask", **values)


async def compare_page(request: Request) -> Response:
    """Two or more sources side by side."""
    library: Library = request.app.state.library
    found = [one for one in await anyio.to_thread.run_sync(library.all) if one.tables]
    wanted = set(request.query_params.getlist("source"))
    chosen = [one for one in found if one.id in wanted]
    values: dict[str, Any] = {"harvests": found, "chosen": wanted, "result": None, "said": "", "ids": {}}
    if wanted and len(chosen) < 2:
        values["said"] = T.compare_few_chosen
    elif chosen:
        named = {_distinct(one, chosen): one for one in chosen}
        try:
            tables = {name: next(iter(one.tables.values())) for name, one in named.items()}
            values["result"] = await _compared(request.app.state.compared, tables)
            values["ids"] = {name: one.id for name, one in named.items()}
        except UpwellError as error:
            values["said"] = str(error)
    return respond(request, "compare.html.j2", here="compare", **values)


async def _compared(known: dict[Any, Compared], tables: dict[str, Path]) -> Compared:
    """A comparison, in a process of its own: it takes seconds of CPU. What was compared last is remembered, as long as the tables stay."""
    key = tuple((name, str(path), path.stat().st_mtime_ns) for name, path in tables.items())
    if key not in known:
        found = await anyio.to_process.run_sync(compare_tables, tables)
        known.clear()
        known[key] = found
    return known[key]


def _distinct(harvest: Harvest, others: list[Harvest]) -> str:
    """What a source is called: by its host where two have the same title."""
    return harvest.name if sum(one.name == harvest.name for one in others) == 1 else harvest.id


def _matches(request: Request, found: Harvest) -> Response:
    """What other sources have of the same thing, as a part of the page of a record."""
    library: Library = request.app.state.library
    key = request.query_params.get("key", "")
    row = next((row for path in found.tables.values() if (row := row_of(path, key)[1]) is not None), None)
    if row is None:
        return HTMLResponse("", 404)
    own = {name: value for name, value in row.items() if not name.startswith("_")}
    title = title_of(own)
    others = [harvest for harvest in library.all() if harvest.id != found.id and harvest.tables]
    words = " ".join(WORD.findall(title)[:12])
    hits: list[Hit] = []
    if words and others:
        hits = list(Catalogue(library.folder).search(words, limit=30, sites=[one.site for one in others]).hits)
    by_site: dict[str, list[Hit]] = {}
    for hit in hits:
        by_site.setdefault(hit.site, []).append(hit)
    answers = [[own], *([hit.record for hit in of_site] for of_site in by_site.values())]
    same = next((group for group in groups(answers) if (0, 0) in group), [])
    sites = list(by_site.values())
    chosen = [sites[answer - 1][place] for answer, place in same if answer]
    ids = {harvest.site: harvest.id for harvest in others}
    return HTMLResponse(render("_matches.html.j2", hits=[_hit(hit, ids) for hit in chosen[:MAX_MATCHES]]))


routes = [
    Route("/search", search),
    Route("/ask", ask_form, methods=["GET"]),
    Route("/ask", ask, methods=["POST"]),
    Route("/compare", compare_page),
    Route("/harvests/{id}/matches", with_harvest(_matches)),
]
