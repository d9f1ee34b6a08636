"""The pages by address: what `upwell serve` answers."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio.to_thread
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from upwell.errors import UpwellError, WrongUsage
from upwell.store.places import has_state
from upwell.web import record_pages, together_pages
from upwell.web.about_one import with_harvest
from upwell.web.harvest_views import PREVIEW_REQUESTS, card, harvest_values, live_part
from upwell.web.harvests import Harvest, Library
from upwell.web.live import follow
from upwell.web.progress import Progress
from upwell.web.rendering import T, respond
from upwell.web.runs import Runs
from upwell.web.security import Guard, check_reach

__all__ = ["create_app"]

MAX_BUDGET = 1_000_000
HERE = Path(__file__).parent


def create_app(
    folder: Path, *, host: str = "127.0.0.1", port: int = 8765, token: str = "", manners: dict[str, Any] | None = None
) -> Starlette:
    """The application over a folder of harvests; without a token of your own, one is made, and only loopback may be served."""
    check_reach(host, token)
    runs = Runs(folder.parent if has_state(folder) else folder, manners or {})

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
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
        *record_pages.routes,
        *together_pages.routes,
        Mount("/static", StaticFiles(directory=HERE / "static")),
        Route("/look.css", look),
    ]
    token_or_own = token or secrets.token_urlsafe(24)
    guard = Middleware(Guard, host=host, port=port, token=token_or_own, is_open=not token)
    app = Starlette(
        routes=routes, middleware=[guard], lifespan=lifespan, exception_handlers={404: not_found, UpwellError: failed}
    )
    app.state.library, app.state.runs, app.state.token = Library(folder, runs), runs, token_or_own
    app.state.compared = {}  # the last comparison
    return app


async def not_found(request: Request, _: Exception) -> Response:
    """There is no such page."""
    return respond(request, "error.html.j2", 404, message=T.not_found)


async def failed(request: Request, error: Exception) -> Response:
    """What Upwell itself reports, as a page."""
    return respond(request, "error.html.j2", 400, message=str(error))


async def look(_: Request) -> Response:
    """The style sheet that the report has, too."""
    return FileResponse(HERE.parent / "harvest" / "look.css", media_type="text/css")


async def home(request: Request) -> Response:
    """All harvests."""
    library: Library = request.app.state.library
    found = await anyio.to_thread.run_sync(library.all)
    cards = await anyio.to_thread.run_sync(lambda: [card(one) for one in found])
    count = T.one_harvest if len(found) == 1 else T.harvests.format(n=len(found))
    records = f"{sum(one.records for one in found):,}"
    sub = T.home_sub.format(harvests=count, records=records, folder=library.folder)
    return respond(request, "home.html.j2", here="home", harvests=cards, sub=sub, look_help=_look_help())


async def new(request: Request) -> Response:
    """Where a harvest begins."""
    given = request.query_params.get("url", "")
    return respond(request, "new.html.j2", here="new", given=given, look_help=_look_help())


def _look_help() -> str:
    return T.look_help.format(n=PREVIEW_REQUESTS)


async def start(request: Request) -> Response:
    """Starts a harvest (`url`; `budget`, `about`, `template`, `details` where wanted; `look` for a first look with few requests)."""
    form: dict[str, str] = request.scope["form"]
    url = form.get("url", "").strip()
    try:
        plan: dict[str, Any] = {"budget": PREVIEW_REQUESTS if form.get("look") else _number(form.get("budget", "1000"))}
        plan |= {name: form[name].strip() for name in ("about", "template") if form.get(name, "").strip()}
        if form.get("details") in ("first", "last"):
            plan["details"] = form["details"]
        if not url:
            raise WrongUsage("there is no address; it is like example.org or https://example.org/search")
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
    where = f"/harvests/{request.app.state.library.id_of(folder)}"
    if "application/json" in request.headers.get("accept", ""):
        return JSONResponse({"id": request.app.state.library.id_of(folder), "url": where}, 201)
    return RedirectResponse(where, 303)


def _number(text: str) -> int:
    if not text.strip().isdigit() or not 1 <= int(text) <= MAX_BUDGET:
        raise WrongUsage(f"{text!r} requests: it is a whole number, at most {MAX_BUDGET:,}")
    return int(text)


def _harvest_page(request: Request, found: Harvest) -> Response:
    return respond(request, "harvest.html.j2", **harvest_values(found))


harvest = with_harvest(_harvest_page)


async def live(request: Request) -> Response:
    """What happens in a harvest, as it happens."""
    library: Library = request.app.state.library
    found = await anyio.to_thread.run_sync(library.get, request.path_params["id"])
    if found is None:
        return respond(request, "error.html.j2", 404, message=T.not_found_harvest)

    def part(progress: Progress) -> str:
        return live_part(found, progress)

    events = follow(request, found.folder, part, lambda: library.runs.is_running(found.folder))
    return StreamingResponse(events, media_type="text/event-stream", headers={"cache-control": "no-store"})


def _back(found: Harvest) -> Response:
    return RedirectResponse(f"/harvests/{found.id}", 303)


def _stop(request: Request, found: Harvest) -> Response:
    request.app.state.runs.stop(found.folder)
    return _back(found)


def _go_on(request: Request, found: Harvest) -> Response:
    form: dict[str, str] = request.scope["form"]
    url, plan = found.plan()
    plan["budget"] = min(MAX_BUDGET, int(found.summary.get("requests", 0)) + _number(form.get("more", "1000")))
    if form.get("details") in ("first", "last"):
        plan["details"] = form["details"]
    request.app.state.runs.start(url, plan, found.folder.parent)
    return _back(found)


def _refresh(request: Request, found: Harvest) -> Response:
    url, plan = found.plan()
    budget = max(1000, 2 * int(found.summary.get("requests", 0)))
    request.app.state.runs.start(url, {**plan, "budget": budget, "refresh": True}, found.folder.parent)
    return _back(found)


def _report(_: Request, found: Harvest) -> Response:
    policy = {
        "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"
    }
    return FileResponse(found.folder / "report.html", media_type="text/html", headers=policy)


stop, go_on, refresh, report = map(with_harvest, (_stop, _go_on, _refresh, _report))
