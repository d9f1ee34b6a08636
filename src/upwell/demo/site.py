"""The demo site's handlers, and the switches that make it harder."""

import asyncio
import base64
import gzip
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, fields, replace
from typing import Literal
from urllib.parse import urlencode

from aiohttp import web

from upwell.demo.cities import City, Order, all_cities, by_id, search
from upwell.demo.pages import LAYOUTS, render
from upwell.errors import WrongUsage

__all__ = ["FAULTS", "Received", "Switches", "application"]

Fault = Literal["", "500", "503", "429", "hang", "reset", "truncated", "length", "loop"]
FAULTS: tuple[Fault, ...] = ("500", "503", "429", "hang", "reset", "truncated", "length", "loop")
ADS = (
    "Fly away today",
    "Hotels from 29 a night",
    "Learn a language in a week",
    "Maps, globes and atlases",
    "Trains that wait",
)


@dataclass(frozen=True, kw_only=True)
class Switches:
    """What can be changed about the demo site; the defaults are a well-behaved site."""

    limit: int = 200  # results a query at most
    page_size: int = 20
    largest_page: int = 0  # results link to pages of up to so many (0: one size only)
    order: Order = "relevance"  # relevance, rank (population) or none (any, but fixed for a query)
    latency: float = 0.0  # seconds before each answer
    post: bool = False  # the form is sent by POST
    script: Literal["none", "form", "results"] = "none"  # what exists only after JavaScript
    token: bool = False  # the form holds a token of the session, without which a search is sent home
    layout: Literal["list", "table", "grid", "definitions", "flat"] = "list"
    drift_after: int = 0  # after this many answers the layout and its class names change (0: never)
    edition: int = 0  # of a later one, a fiftieth of the cities is gone, and another fiftieth has grown
    fault: Fault = ""  # what goes wrong
    fault_rate: float = 0.0  # on which share of answers
    login_wall: bool = False  # who is not signed in may not search
    crawl_delay: float = 0.0  # said in robots.txt
    disallow: str = "/trip"  # the path that robots.txt forbids
    seed: int = 0

    def __post_init__(self) -> None:
        if self.layout not in LAYOUTS:
            raise WrongUsage(f"layout {self.layout!r} is none of {', '.join(LAYOUTS)}")
        if self.fault and self.fault not in FAULTS:
            raise WrongUsage(f"fault {self.fault!r} is none of {', '.join(FAULTS)}")
        if self.page_size < 1 or self.limit < 1:
            raise WrongUsage(f"page_size {self.page_size} and limit {self.limit} must be at least 1")

    @classmethod
    def parse(cls, settings: list[str]) -> "Switches":
        """Switches from `name=value` texts, as the command line has them."""
        known: dict[str, type[object]] = {f.name: type(f.default) for f in fields(cls)}
        values: dict[str, object] = {}
        for setting in settings:
            name, _, value = setting.partition("=")
            if name not in known:
                raise WrongUsage(f"--set {setting}: no switch {name!r}; there are {', '.join(sorted(known))}")
            kind = known[name]
            try:
                values[name] = value.lower() in ("1", "true", "yes", "on", "") if kind is bool else kind(value)  # type: ignore[call-arg] # str, int and float take a text
            except ValueError:
                raise WrongUsage(f"--set {setting}: {value!r} is not {kind.__name__}") from None
        return cls(**values)  # type: ignore[arg-type] # checked against the fields above


@dataclass(frozen=True)
class Received:
    """One request that the site received: when (monotonic seconds), what, and how it was answered (0: not at all)."""

    time: float
    method: str
    path: str
    query: str
    agent: str
    status: int


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def application(switches: Switches, received: list[Received]) -> web.Application:
    """The web application; `received` is filled as requests come."""
    site = _Site(switches)

    @web.middleware
    async def note(request: web.Request, handler: Handler) -> web.StreamResponse:
        started, status = time.monotonic(), 0
        try:
            if switches.latency:
                await asyncio.sleep(switches.latency)
            response = await handler(request)
            status = response.status
            return response
        except web.HTTPException as answer:
            status = answer.status
            raise
        finally:
            agent = request.headers.get("User-Agent", "")
            received.append(Received(started, request.method, request.path, request.query_string, agent, status))

    app = web.Application(middlewares=[note])
    app.add_routes(
        [
            web.get("/", site.home),
            web.route("*", "/search", site.search),
            web.get("/results/{token}", site.more),
            web.get("/api/search", site.json),
            web.get("/city/{id:\\d+}", site.city),
            web.get("/robots.txt", site.robots),
            web.get("/loop", site.loop),
            web.get("/about", site.plain("About", "Everything here comes from a public gazetteer.")),
            web.get("/contact", site.page("contact")),
            web.get("/register", site.page("register")),
            *(
                web.route("*", path, site.plain("Done", "That was done."))
                for path in ("/login", "/logout", "/newsletter", "/trip/add", "/forgot", "/order")
            ),
            web.post("/contact", site.plain("Thank you", "Your message was sent.")),
            web.post("/register", site.plain("Welcome", "Your account was made.")),
        ]
    )
    return app


class _Site:
    """The handlers; what varies by itself (advertisement, recently viewed, tracking) comes from one seeded generator."""

    def __init__(self, switches: Switches) -> None:
        self.s = switches
        self.rng = random.Random(switches.seed)  # noqa: S311 # decoration, not secrets
        self.tokens: set[str] = set()
        self.answers = 0

    def html(self, name: str, status: int = 200, **values: object) -> web.Response:
        cities = all_cities()
        text = render(
            name,
            s=self.s,
            ad=self.rng.choice(ADS),
            recent=[self.rng.choice(cities) for _ in range(3)],
            ref=values.pop("ref", f"{self.rng.randrange(16**8):08x}"),
            token=self._token() if self.s.token else "",
            **({"query": ""} | values),
        )
        return web.Response(text=text, status=status, content_type="text/html")

    def _token(self) -> str:
        token = f"{self.rng.randrange(16**16):016x}"
        self.tokens.add(token)
        return token

    def plain(self, heading: str, message: str) -> Handler:
        async def handler(_: web.Request) -> web.StreamResponse:
            return self.html("plain", heading=heading, message=message)

        return handler

    def page(self, name: str) -> Handler:
        async def handler(_: web.Request) -> web.StreamResponse:
            return self.html(name)

        return handler

    async def home(self, request: web.Request) -> web.StreamResponse:
        message = "Your session has ended, please search again." if "expired" in request.query else ""
        return self.html("home", count=len(all_cities()), popular=all_cities()[:10], message=message)

    async def robots(self, _: web.Request) -> web.StreamResponse:
        delay = f"Crawl-delay: {self.s.crawl_delay:g}\n" if self.s.crawl_delay else ""
        return web.Response(text=f"User-agent: *\n{delay}Disallow: {self.s.disallow}\n")

    async def search(self, request: web.Request) -> web.StreamResponse:
        if self.s.login_wall:
            return self.html("login")
        if self.s.post != (request.method == "POST") or self.s.script == "results":
            raise web.HTTPFound("/")
        sent = {k: str(v) for k, v in (await request.post() if self.s.post else request.query).items()}
        if self.s.token and sent.get("token") not in self.tokens:
            raise web.HTTPFound("/?expired=1")
        return await self.answer(request, sent)

    async def more(self, request: web.Request) -> web.StreamResponse:
        """Further pages of a search by POST: the query is in the address, as a site's own shorthand."""
        try:
            query = base64.urlsafe_b64decode(request.match_info["token"]).decode()
        except ValueError:
            return self.html("plain", 404, heading="Not found", message="There is no such page.")
        return await self.answer(request, dict(request.query) | {"q": query})

    async def answer(self, request: web.Request, sent: dict[str, str]) -> web.StreamResponse:
        if self.s.fault and self.rng.random() < self.s.fault_rate:
            return await self.fault(request)
        self.answers += 1
        query = sent.get("q", "").strip()
        found = search(query, self.s.order, sent.get("sort", ""), sent.get("continent", ""), sent.get("country", ""))
        found = tuple(city for one in found if (city := self._now(one)) is not None)
        if len(found) == 1 and not (sent.get("continent") or sent.get("country")):
            raise web.HTTPFound(f"/city/{found[0].id}")
        drift = 0 < self.s.drift_after < self.answers
        return self._results(query, sent, found, drift)

    def _now(self, city: City) -> City | None:
        """A city as this edition has it, if it does."""
        if not self.s.edition or city.id % 50 > 1:
            return city
        return replace(city, population=city.population + 1000 * self.s.edition) if city.id % 50 else None

    def _results(self, query: str, sent: dict[str, str], found: tuple[City, ...], drift: bool) -> web.Response:
        shown = found[: self.s.limit]
        sizes = [size for size in (self.s.page_size, 50, 100) if size <= self.s.largest_page]
        size = int(said) if (said := sent.get("show", "")) in map(str, sizes) else self.s.page_size
        pages = max(1, -(-len(shown) // size))
        page = min(max(1, int(p)), pages) if (p := sent.get("page", "1")).isdigit() else 1
        first = (page - 1) * size
        ref = f"{self.rng.randrange(16**8):08x}"
        base = f"/results/{base64.urlsafe_b64encode(query.encode()).decode()}" if self.s.post else "/search"
        kept = {k: v for k, v in sent.items() if k in ("continent", "country", "sort", "show", "token") and v}
        if not self.s.post:
            kept = {"q": query} | kept

        def link(**changed: object) -> str:
            arguments = kept | {k: str(v) for k, v in changed.items() if v != ""}
            return f"{base}?{urlencode(arguments | {'ref': ref})}"

        layout = LAYOUTS[(LAYOUTS.index(self.s.layout) + drift) % len(LAYOUTS)]
        return self.html(
            "results",
            query=query,
            total=len(found),
            limit=self.s.limit,
            first=first + 1,
            last=min(first + size, len(shown)),
            found=shown[first : first + size],
            sizes=sizes,
            page=page,
            pages=pages,
            link=link,
            ref=ref,
            layout=layout,
            drift=drift,
            continents=Counter(c.continent for c in found).most_common(7),
            countries=[(a, b, n) for (a, b), n in Counter((c.country, c.country_code) for c in found).most_common(8)],
            suggestions=[self.rng.choice(all_cities()[:500]) for _ in range(5)],
        )

    async def json(self, request: web.Request) -> web.StreamResponse:
        found = search(request.query.get("q", ""), self.s.order)
        page = int(p) if (p := request.query.get("page", "1")).isdigit() else 1
        shown = found[: self.s.limit][(page - 1) * self.s.page_size : page * self.s.page_size]
        rows = [
            {"id": c.id, "name": c.name, "country": c.country, "population": c.population, "url": f"/city/{c.id}"}
            for c in shown
        ]
        return web.json_response({"total": len(found), "page": page, "results": rows})

    async def city(self, request: web.Request) -> web.StreamResponse:
        known = by_id().get(int(request.match_info["id"]))
        city = self._now(known) if known else None
        if city is None:
            return self.html("plain", 404, heading="Not found", message="There is no such city.")
        return self.html("city", c=city)

    async def fault(self, request: web.Request) -> web.StreamResponse:
        """Answers wrongly, in the way that was asked for."""
        kind = self.s.fault
        if kind in ("500", "503", "429"):
            headers = {"Retry-After": "1"} if kind != "500" else {}
            return web.Response(
                status=int(kind), text=f"<h1>Error {kind}</h1>", headers=headers, content_type="text/html"
            )
        if kind == "loop":
            return await self.loop(request)
        if kind == "hang":
            await asyncio.sleep(3600)
        if kind == "reset" and request.transport is not None:
            request.transport.abort()
            return web.Response()
        body = gzip.compress(b"<html><body>" + b"<p>never complete</p>" * 200)
        response = web.StreamResponse(headers={"Content-Type": "text/html", "Content-Encoding": "gzip"})
        response.content_length = len(body) // 2 if kind == "truncated" else len(body)
        await response.prepare(request)
        await response.write(body[: len(body) // 2])
        if request.transport is not None and kind == "length":
            request.transport.close()
        return response

    async def loop(self, request: web.Request) -> web.StreamResponse:
        raise web.HTTPFound(f"/loop?step={self.rng.randrange(10)}")
