"""Routes of `upwell serve`: start page, starting and controlling harvests, live progress."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import anyio.to_thread
import duckdb
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from upwell.errors import UpwellError, WrongUsage
from upwell.net.manners import Manners
from upwell.store.location import has_state
from upwell.web import combine_views, explain_views, record_views, rest_api
from upwell.web.harvest_views import PREVIEW_REQUESTS, card, harvest_values, live_part
from upwell.web.harvests import Harvest, Library, Runs
from upwell.web.live_answers import LiveAnswers
from upwell.web.live_progress import Progress
from upwell.web.record_query import columns_of_table
from upwell.web.record_views import with_harvest
from upwell.web.rendering import T, respond
from upwell.web.security import Guard, check_exposure
from upwell.web.tokens import TokenStore

__all__ = ["create_app", "follow"]


POLL_SECONDS = 0.7  # interval between reads of the event log
KEEPALIVE_SECONDS = 15  # idle time after which a comment is sent, so that the connection is not considered dead


async def follow(
    request: Request, folder: Path, render: Callable[[Progress], str], is_running: Callable[[], bool]
) -> AsyncIterator[str]:
    """Yield server-sent events: the rendered part of the page after each change, then `done`."""
    progress, idle, is_first = Progress(folder), 0.0, True
    while not await request.is_disconnected():
        runs = await asyncio.to_thread(is_running)
        if await asyncio.to_thread(progress.read) or is_first:
            yield _event("update", render(progress))
            idle, is_first = 0.0, False
        if not runs:
            yield _event("done", progress.stopped or "ended")
            return
        await asyncio.sleep(POLL_SECONDS)
        idle += POLL_SECONDS
        if idle > KEEPALIVE_SECONDS:
            yield ": keep-alive\n\n"
            idle = 0.0


def _event(name: str, text: str) -> str:
    lines = "".join(f"data: {line}\n" for line in text.splitlines() or [""])
    return f"event: {name}\n{lines}\n"


MAX_BUDGET = 1_000_000  # largest number of requests that the pages accept
HERE = Path(__file__).parent


def create_app(
    folder: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8765,
    token: str = "",
    manners: dict[str, Any] | None = None,
    origins: Sequence[str] = (),
) -> Starlette:
    """Create the application for a folder of harvests; without a token one is generated, and only loopback may be served.

    The token is needed on loopback too: other users of the machine can connect to it.
    """
    check_exposure(host, token)
    runs = Runs(folder.parent if has_state(folder) else folder, manners or {})

    tokens = TokenStore()
    answers = LiveAnswers(Manners(**(manners or {})), tokens)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await answers.close()
        await anyio.to_thread.run_sync(runs.end)

    routes = [
        Route("/", home),
        Route("/new", new),
        Route("/harvests", start, methods=["POST"]),
        Route("/harvests/{id}", harvest),
        Route("/harvests/{id}/live", live),
        Route("/harvests/{id}/stop", stop, methods=["POST"]),
        Route("/harvests/{id}/go", go_on, methods=["POST"]),
        Route("/harvests/{id}/refresh", refresh, methods=["POST"]),
        Route("/harvests/{id}/report", report),
        *record_views.routes,
        *combine_views.routes,
        *explain_views.routes,
        *rest_api.routes,
        Route("/harvests/{id}/api", api_page),
        Mount("/static", StaticFiles(directory=HERE / "static")),
        Route("/look.css", look),
    ]
    token_or_own = token or secrets.token_urlsafe(24)
    guard = Middleware(Guard, host=host, port=port, token=token_or_own, tokens=tokens, origins=origins)
    app = Starlette(
        routes=routes,
        middleware=[guard],
        lifespan=lifespan,
        exception_handlers={404: not_found, UpwellError: failed, duckdb.Error: damaged},
    )
    app.state.library, app.state.runs, app.state.token = Library(folder, runs), runs, token_or_own
    app.state.live = answers
    app.state.compared = {}  # the last comparison
    return app


async def not_found(request: Request, _: Exception) -> Response:
    """Show the page for an unknown URL."""
    if request.url.path.startswith(rest_api.API):
        return rest_api.problem(404, f"there is no {request.url.path}; see {rest_api.API}/docs")
    return respond(request, "error.html.j2", 404, message=T.not_found)


async def failed(request: Request, error: Exception) -> Response:
    """Show an error of Upwell as a page."""
    return respond(request, "error.html.j2", 400, message=str(error))


async def damaged(request: Request, error: Exception) -> Response:
    """Say that a table cannot be read."""
    return respond(request, "error.html.j2", 400, message=T.damaged_table.format(error=str(error).partition("\n")[0]))


async def look(_: Request) -> Response:
    """Return the style sheet shared with the report."""
    return FileResponse(HERE.parent / "report" / "look.css", media_type="text/css")


async def home(request: Request) -> Response:
    """Show all harvests."""
    library: Library = request.app.state.library
    harvests = await anyio.to_thread.run_sync(library.all)
    cards = await anyio.to_thread.run_sync(lambda: [card(harvest) for harvest in harvests])
    count = T.one_harvest if len(harvests) == 1 else T.harvests.format(n=len(harvests))
    records = f"{sum(harvest.records for harvest in harvests):,}"
    sub = T.home_sub.format(harvests=count, records=records, folder=library.folder)
    return respond(request, "home.html.j2", here="home", harvests=cards, sub=sub, look_help=_look_help())


async def new(request: Request) -> Response:
    """Show the form for a new harvest."""
    given = request.query_params.get("url", "")
    return respond(request, "new.html.j2", here="new", given=given, look_help=_look_help())


def _look_help() -> str:
    return T.look_help.format(n=PREVIEW_REQUESTS)


async def start(request: Request) -> Response:
    """Start a harvest (`url`; optionally `budget`, `about`, `search_interface`, `details`; `look` for a preview with few requests)."""
    form: dict[str, str] = request.scope["form"]
    url = form.get("url", "").strip()
    try:
        plan: dict[str, Any] = {"budget": PREVIEW_REQUESTS if form.get("look") else _number(form.get("budget", "1000"))}
        form.setdefault("search_interface", form.get("template", ""))  # the name in Upwell 0.2
        plan |= {name: form[name].strip() for name in ("about", "search_interface") if form.get(name, "").strip()}
        if form.get("details") in ("first", "last"):
            plan["details"] = form["details"]
        if not url:
            raise WrongUsage("the address is empty; enter one such as example.org or https://example.org/search")
        folder = await anyio.to_thread.run_sync(request.app.state.runs.start, url, plan)
    except UpwellError as error:
        if "application/json" in request.headers.get("accept", ""):
            return JSONResponse({"error": str(error)}, 400)
        more = not form.get("look")
        page: dict[str, Any] = {
            "given": url,
            "error": str(error),
            "look_help": _look_help(),
            "more": more,
            "here": "new",
        }
        return respond(request, "new.html.j2", 400, **page)
    location = f"/harvests/{request.app.state.library.id_of(folder)}"
    if "application/json" in request.headers.get("accept", ""):
        return JSONResponse({"id": request.app.state.library.id_of(folder), "url": location}, 201)
    return RedirectResponse(location, 303)


def _number(text: str) -> int:
    if not (text.strip().isdecimal() and len(text) <= 9 and 1 <= int(text) <= MAX_BUDGET):
        raise WrongUsage(f"the number of requests must be an integer from 1 to {MAX_BUDGET:,}, not {text!r}")
    return int(text)


def _harvest_page(request: Request, shown: Harvest) -> Response:
    return respond(request, "harvest.html.j2", **harvest_values(shown))


def _api_page(request: Request, shown: Harvest) -> Response:
    base = str(request.base_url).rstrip("/")
    address = f"{base}{rest_api.API}/sources/{quote(shown.id)}"
    column = next(
        (
            column.name
            for path in shown.tables.values()
            for column in columns_of_table(path)
            if not column.name.startswith("_")
        ),
        "",
    )
    filters = urlencode({f"has:{column}": "a", "limit": 10}) if column else "limit=10"
    return respond(
        request,
        "api.html.j2",
        h=shown,
        base=f"/harvests/{shown.id}",
        address=address,
        filters=filters,
        docs=f"{rest_api.API}/docs",
    )


harvest, api_page = map(with_harvest, (_harvest_page, _api_page))


async def live(request: Request) -> Response:
    """Stream the progress of a harvest as server-sent events."""
    library: Library = request.app.state.library
    shown = await anyio.to_thread.run_sync(library.get, request.path_params["id"])
    if shown is None:
        return respond(request, "error.html.j2", 404, message=T.not_found_harvest)

    def part(progress: Progress) -> str:
        return live_part(shown, progress)

    events = follow(request, shown.folder, part, lambda: library.runs.is_running(shown.folder))
    return StreamingResponse(events, media_type="text/event-stream", headers={"cache-control": "no-store"})


def _back(shown: Harvest) -> Response:
    return RedirectResponse(f"/harvests/{shown.id}", 303)


def _stop(request: Request, shown: Harvest) -> Response:
    request.app.state.runs.stop(shown.folder)
    return _back(shown)


def _go_on(request: Request, shown: Harvest) -> Response:
    form: dict[str, str] = request.scope["form"]
    url, plan = shown.plan()
    plan["budget"] = min(MAX_BUDGET, int(shown.summary.get("requests", 0)) + _number(form.get("more", "1000")))
    if form.get("details") in ("first", "last"):
        plan["details"] = form["details"]
    request.app.state.runs.start(url, plan, shown.folder.parent)
    return _back(shown)


def _refresh(request: Request, shown: Harvest) -> Response:
    url, plan = shown.plan()
    budget = max(1000, 2 * int(shown.summary.get("requests", 0)))
    request.app.state.runs.start(url, {**plan, "budget": budget, "refresh": True}, shown.folder.parent)
    return _back(shown)


def _report(_: Request, shown: Harvest) -> Response:
    policy = {
        "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"
    }
    return FileResponse(shown.folder / "report.html", media_type="text/html", headers=policy)


stop, go_on, refresh, report = map(with_harvest, (_stop, _go_on, _refresh, _report))
