"""Request handlers of the demo site."""

import asyncio
import base64
import gzip
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from aiohttp import web

from upwell.demo.cities import City, all_cities, by_id, cities_of, search
from upwell.demo.switches import Layout, Switches, layout_after_redesign, render
from upwell.page.tokens import tokens

__all__ = ["Received", "ResultPage", "application", "as_json"]

# Arguments of the layout `shop`, by the names that the rest of this module uses. Its URLs are shaped like those of Entity, Table 7: a
# category that is "All" unless one was chosen, numbers for countries and sort orders, and where on the page a link was followed.
SHOP_NAMES = {"q": "qu", "continent": "cat", "country": "mfgid"}
SHOP_ORDERS = {"name": "1", "population": "4"}
SHOP_CLICKS = {"page": "12", "sort": "9", "continent": "8", "country": "8"}  # value of `from`, by what the link changes
SHOP_FORM = {"cat": "All", "from": "7"}
KEPT_ARGUMENTS = ("continent", "country", "sort", "show", "token")  # arguments that links within an answer repeat
LARGER_PAGE_SIZES = (50, 100)  # offered up to the switch `largest_page`
MAX_IN_SECTION = 12  # cities on a section page
MAX_CONTINENTS = 7  # values of the facet
MAX_COUNTRIES = 8  # values of the facet
ADVERTISEMENTS = (
    "Fly away today",
    "Hotels from 29 a night",
    "Learn a language in a week",
    "Maps, globes and atlases",
    "Trains that wait",
)


@dataclass(frozen=True, kw_only=True)
class ResultPage:
    """One page of an answer; the templates get it as `answer`."""

    query: str
    total: int  # matches of the query, including those beyond the result cap
    result_cap: int
    page: int
    pages: int
    page_sizes: Sequence[int]  # offered to the visitor
    first: int  # rank of the first match on this page, from 1
    matches: Sequence[City]  # on this page
    continents: Sequence[tuple[str, int]]  # name, matches
    countries: Sequence[tuple[str, str, int]]  # name, code, matches
    suggestions: Sequence[City]  # for a query without matches
    layout: Layout
    is_redesigned: bool
    origin: str  # scheme and host, for absolute URLs
    path: str
    arguments: Mapping[str, str]  # of this answer, without its page number
    ref: str  # tracking argument, different in each answer

    @classmethod
    def of(
        cls,
        switches: Switches,
        query: str,
        sent: Mapping[str, str],
        matches: Sequence[City],
        *,
        suggestions: Sequence[City],
        is_redesigned: bool,
        origin: str,
        ref: str,
    ) -> "ResultPage":
        """Build the page requested by the arguments; a page number beyond the end gives the last page."""
        reachable = matches[: switches.result_cap]
        sizes = [size for size in (switches.page_size, *LARGER_PAGE_SIZES) if size <= switches.largest_page]
        size = int(asked) if (asked := sent.get("show", "")) in map(str, sizes) else switches.page_size
        pages = max(1, -(-len(reachable) // size))
        page = min(max(1, int(number)), pages) if (number := sent.get("page", "1")).isdigit() else 1
        start = (page - 1) * size
        arguments = {name: value for name, value in sent.items() if name in KEPT_ARGUMENTS and value}
        countries = Counter((city.country, city.country_code) for city in matches)
        return cls(
            query=query,
            total=len(matches),
            result_cap=switches.result_cap,
            page=page,
            pages=pages,
            page_sizes=sizes,
            first=start + 1,
            matches=reachable[start : start + size],
            continents=Counter(city.continent for city in matches).most_common(MAX_CONTINENTS),
            countries=[(name, code, n) for (name, code), n in countries.most_common(MAX_COUNTRIES)],
            suggestions=suggestions,
            layout=switches.layout,
            is_redesigned=is_redesigned,
            origin=origin,
            # further pages of a POST search have a URL that contains the query
            path=f"/results/{base64.urlsafe_b64encode(query.encode()).decode()}" if switches.post else "/search",
            arguments=arguments if switches.post else {"q": query} | arguments,
            ref=ref,
        )

    @property
    def last(self) -> int:
        """Return the rank of the last match on this page."""
        return self.first + len(self.matches) - 1

    @property
    def words(self) -> list[str]:
        """Return the words of the query."""
        return tokens(self.query)

    @property
    def title_matches(self) -> list[City]:
        """Return the matches on this page whose name contains a word of the query."""
        return [city for city in self.matches if not set(self.words).isdisjoint(tokens(city.name))]

    @property
    def text_matches(self) -> list[City]:
        """Return the matches on this page whose name contains no word of the query."""
        return [city for city in self.matches if set(self.words).isdisjoint(tokens(city.name))]

    def link(self, **changed: object) -> str:
        """Return the URL of this answer with some arguments changed; "" leaves an argument as it is."""
        arguments = {**self.arguments, **{name: str(value) for name, value in changed.items() if value != ""}}
        if self.layout == "shop":
            return f"{self.path}?{urlencode(_arguments_of_shop(arguments, changed))}"
        return f"{self.path}?{urlencode({**arguments, 'ref': self.ref})}"


def _arguments_of_shop(arguments: Mapping[str, str], changed: Iterable[str]) -> dict[str, str]:
    """Return arguments as the layout `shop` names them; `changed` are those that the link changes."""
    named = {SHOP_NAMES.get(name, name): value for name, value in arguments.items()}
    if country := arguments.get("country"):
        named["mfgid"] = str(-int.from_bytes(country.encode()))
    if order := arguments.get("sort"):
        named["sort"] = SHOP_ORDERS[order]
    return SHOP_FORM | named | {"from": next((SHOP_CLICKS[name] for name in changed if name in SHOP_CLICKS), "7")}


def _arguments_from_shop(sent: Mapping[str, str]) -> dict[str, str]:
    """Return the arguments of a URL of the layout `shop` under their usual names; those that it does not know are left out."""
    names = {of_shop: name for name, of_shop in SHOP_NAMES.items()}
    arguments = {names.get(name, name): value for name, value in sent.items() if value != "All"}
    if (number := arguments.pop("country", "")).removeprefix("-").isdecimal():
        arguments["country"] = abs(int(number)).to_bytes(4).decode("ascii", "ignore").lstrip("\0")
    orders = {number: order for order, number in SHOP_ORDERS.items()}
    if order := orders.get(arguments.pop("sort", "")):
        arguments["sort"] = order
    return arguments


def as_json(answer: ResultPage) -> dict[str, Any]:
    """Return the page as JSON (layout `json`)."""
    return {
        "query": answer.query,
        "total": answer.total,
        "limit": answer.result_cap,
        "page": answer.page,
        "pages": answer.pages,
        "next": answer.link(page=answer.page + 1) if answer.page < answer.pages else None,
        "previous": answer.link(page=answer.page - 1) if answer.page > 1 else None,
        "facets": {
            "continent": dict(answer.continents),
            "country": {code: count for _, code, count in answer.countries},
        },
        "results": [
            {
                "id": city.id,
                "name": city.name,
                "place": {"country": city.country, "region": city.region, "continent": city.continent},
                "population": city.population,
                "timezone": city.timezone,
                "alsoCalled": list(city.other_names),
                "url": f"/city/{city.id}",
            }
            for city in answer.matches
        ],
        "suggestions": [city.name for city in answer.suggestions] if not answer.total else [],
    }


@dataclass(frozen=True)
class Received:
    """Request that the site received, with its time (monotonic seconds) and the status of the answer (0: no answer)."""

    time: float
    method: str
    path: str
    query: str
    agent: str
    status: int


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def application(switches: Switches, received: list[Received]) -> web.Application:
    """Create the web application; it appends every request to `received`."""
    site = _Site(switches)

    @web.middleware
    async def log(request: web.Request, handler: Handler) -> web.StreamResponse:
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

    app = web.Application(middlewares=[log])
    app.add_routes(
        [
            web.get("/", site.home),
            web.route("*", "/search", site.search),
            web.get("/results/{token}", site.search_again),
            web.get("/api/search", site.search_for_script),
            web.get("/city/{id:\\d+}", site.city),
            web.get("/map/{id:\\d+}.svg", site.map),
            web.get("/robots.txt", site.robots),
            web.get("/loop", site.loop),
            web.get("/section/{continent}", site.section),
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
    """Handlers. A seeded generator makes equal requests differ: advertisements, recently viewed cities, tracking arguments."""

    def __init__(self, switches: Switches) -> None:
        self.switches = switches
        self.cities = cities_of(switches.country)
        self.brands = sorted({city.country for city in all_cities()})
        self.rng = random.Random(switches.seed)  # noqa: S311 # decoration, not secrets
        self.tokens: set[str] = set()
        self.answers = 0

    def html(self, name: str, status: int = 200, layout: Layout | None = None, **values: object) -> web.Response:
        values = {
            "switches": self.switches,
            "advertisement": self.rng.choice(ADVERTISEMENTS),
            "recently_viewed": [self.rng.choice(self.cities) for _ in range(3)],
            "ref": self._ref(),
            "token": self._token() if self.switches.token else "",
            "query": "",
            "brands": self.brands,  # layout `brands`
        } | values
        body, charset = render(name, layout or self.switches.layout, values)
        return web.Response(body=body, status=status, content_type="text/html", charset=charset)

    def _ref(self) -> str:
        return f"{self.rng.randrange(16**8):08x}"

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
        return self.html("home", count=len(self.cities), popular=self.cities[:10], message=message)

    async def robots(self, _: web.Request) -> web.StreamResponse:
        delay = f"Crawl-delay: {self.switches.crawl_delay:g}\n" if self.switches.crawl_delay else ""
        return web.Response(text=f"User-agent: *\n{delay}Disallow: {self.switches.disallow}\n")

    async def search(self, request: web.Request) -> web.StreamResponse:
        if self.switches.login_wall:
            return self.html("login")
        if self.switches.post != (request.method == "POST") or self.switches.script == "results":
            raise web.HTTPFound("/")
        arguments = await request.post() if self.switches.post else request.query
        sent = {name: str(value) for name, value in arguments.items()}
        if self.switches.layout == "shop":
            sent = _arguments_from_shop(sent)
        if self.switches.token and sent.get("token") not in self.tokens:
            raise web.HTTPFound("/?expired=1")
        return await self.answer(request, sent)

    async def search_again(self, request: web.Request) -> web.StreamResponse:
        """Answer a further page of a POST search; the path contains the encoded query."""
        try:
            query = base64.urlsafe_b64decode(request.match_info["token"]).decode()
        except ValueError:
            return self.html("plain", 404, heading="Not found", message="There is no such page.")
        return await self.answer(request, dict(request.query) | {"q": query})

    async def answer(self, request: web.Request, sent: dict[str, str]) -> web.StreamResponse:
        if self.switches.fault and self.rng.random() < self.switches.fault_rate:
            return await self.fault(request)
        self.answers += 1
        query, continent, country = sent.get("q", "").strip(), sent.get("continent", ""), sent.get("country", "")
        matches = search(query, self.switches.order, sent.get("sort", ""), continent, country, self.switches.list_all)
        matches = tuple(current for city in matches if (current := self._in_this_edition(city)) is not None)
        is_redesigned = 0 < self.switches.drift_after < self.answers
        layout = layout_after_redesign(self.switches.layout) if is_redesigned else self.switches.layout
        if len(matches) == 1 and not (continent or country) and layout != "json":
            raise web.HTTPFound(f"/city/{matches[0].id}")
        result_page = ResultPage.of(
            self.switches,
            query,
            sent,
            matches,
            is_redesigned=is_redesigned,
            origin=str(request.url.origin()),
            ref=self._ref(),
            suggestions=[self.rng.choice(self.cities[:500]) for _ in range(5)],
        )
        if layout == "json":
            return web.json_response(as_json(result_page))
        return self.html("results", layout=layout, query=query, answer=result_page, ref=result_page.ref)

    def _in_this_edition(self, city: City) -> City | None:
        """Return the city in this edition; None if it is gone or not on this site."""
        if self.switches.country and city.country_code not in self.switches.country.split(","):
            return None
        if not self.switches.edition or city.id % 50 > 1:
            return city
        return replace(city, population=city.population + 1000 * self.switches.edition) if city.id % 50 else None

    async def search_for_script(self, request: web.Request) -> web.StreamResponse:
        """Answer the request of the search form's script (switch `script=results`)."""
        matches = search(request.query.get("q", ""), self.switches.order)
        page = int(number) if (number := request.query.get("page", "1")).isdigit() else 1
        size = self.switches.page_size
        shown = matches[: self.switches.result_cap][(page - 1) * size : page * size]
        rows = [
            {"id": c.id, "name": c.name, "country": c.country, "population": c.population, "url": f"/city/{c.id}"}
            for c in shown
        ]
        return web.json_response({"total": len(matches), "page": page, "results": rows})

    async def city(self, request: web.Request) -> web.StreamResponse:
        known = by_id().get(int(request.match_info["id"]))
        city = self._in_this_edition(known) if known else None
        if city is None:
            return self.html("plain", 404, heading="Not found", message="There is no such city.")
        return self.html("city", city=city)

    async def section(self, request: web.Request) -> web.StreamResponse:
        """Return a section page as those of news sites (Wisdom): a link and its teaser in each line. No other page links here."""
        continent = request.match_info["continent"]
        cities = [city for city in self.cities if city.continent == continent][:MAX_IN_SECTION]
        return self.html("section", heading=continent, cities=cities)

    async def map(self, request: web.Request) -> web.StreamResponse:
        """Return a picture of a city: a dot on an empty map of the world."""
        city = by_id().get(int(request.match_info["id"]))
        if city is None:
            raise web.HTTPNotFound
        x, y = city.longitude + 180, 90 - city.latitude
        svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 360 180"><circle cx="{x}" cy="{y}" r="4"/></svg>'
        return web.Response(text=svg, content_type="image/svg+xml")

    async def fault(self, request: web.Request) -> web.StreamResponse:
        """Answer with the fault named by the switch `fault`."""
        kind = self.switches.fault
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
