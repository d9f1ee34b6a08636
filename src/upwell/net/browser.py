"""The browser: a page after its JavaScript ran, a query typed into it, and the requests that the page makes then.

It drives the system's Chromium through playwright. Pages are only looked at: all that is done in them is to type into a search box and
press Enter. Requests that could change something (PUT, DELETE …) and downloads are blocked.
"""

import asyncio
import itertools
import json
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from upwell.errors import MissingExtra, Unreachable
from upwell.model import BrowserVisit, RenderedPage, Request, Response
from upwell.net.addresses import is_public

if TYPE_CHECKING:
    from playwright.async_api import Browser, ElementHandle, Page, Playwright, Route
    from playwright.async_api import Request as PageRequest

    from upwell.net.fetch import Fetcher

__all__ = ["MAX_REQUESTS", "Chromium"]

CHROMIUM_ARGUMENTS = (
    "--no-sandbox",  # a container has no user namespaces; nothing but the page's own scripts runs in it
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-sync",
)
# The content type under which a visit is stored in the state; a stored visit is found by it, so it must not change.
VISIT_CONTENT_TYPE = "application/json; what=seen-in-the-browser"
MAX_REQUESTS = (
    60  # of one visit: some pages fetch every match to show a piece of it; scripts and styles are rarely more than 30
)
MAX_ANSWER_SECONDS = 5.0  # to wait for pending requests: some pages keep one open forever
QUIET_SECONDS = 0.6  # without a request, after which a page counts as finished
KEY_DELAY_MILLISECONDS = 20  # between typed characters
# The visible box that a person would type a query into; never an e-mail field, and none in a form with a password or a text area.
FIND_SEARCH_BOX = """() => {
  const searchWords = /search|find|such|recherch|cherch|busca|cerca|ricerca|pesquis|zoek|szuk|hled|поиск|найти|検索|검색|搜索|搜尋|查询/i;
  let best = null, bestScore = 0;
  for (const box of document.querySelectorAll('input:not([type]), input[type=text], input[type=search], [role=searchbox], [role=combobox]')) {
    const area = box.getBoundingClientRect();
    if (box.disabled || box.readOnly || !area.width || !area.height || (box.form && box.form.querySelector('[type=password], textarea'))) continue;
    const words = [box.name, box.id, box.placeholder, box.title, box.getAttribute('aria-label'), box.className, box.form && box.form.className,
      box.form && box.form.getAttribute('action'), box.form && box.form.innerText].join(' ');
    const score = (box.type === 'search' || box.getAttribute('role') === 'searchbox' ? 3 : 0) + (searchWords.test(words) ? 3 : 0)
      + (/^(q|s|query|term|keywords?)$/i.test(box.name) ? 2 : 0) - (/mail|newsletter|subscri/i.test(words) ? 9 : 0);
    if (score > bestScore) { best = box; bestScore = score; }
  }
  return best;
}"""


@dataclass
class Chromium:
    """A browser, used inside `async with`; it obeys the same robots.txt, rate and private addresses as its Fetcher."""

    net: "Fetcher"
    timeout: float = 30.0  # seconds for a page
    _playwright: "Playwright | None" = field(default=None, init=False)
    _browser: "Browser | None" = field(default=None, init=False)

    async def __aenter__(self) -> "Chromium":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._browser is not None:
            await self._browser.close()
        if self._playwright is not None:
            await self._playwright.stop()

    async def fetch(self, request: Request) -> Response:
        """The page at an address after its JavaScript ran, as `Fetcher.fetch` would return it; a POST goes to the Fetcher."""
        if request.method != "GET":
            return await self.net.fetch(request)
        page = await self.render(BrowserVisit(url=request.url))
        headers = {"Content-Type": "text/html; charset=utf-8"}
        return Response(request=request, url=page.url, status=200, headers=headers, body=page.html.encode())

    async def render(self, visit: BrowserVisit) -> RenderedPage:
        """A page after its JavaScript ran; with a query, after it was typed into the page's search box and Enter was pressed."""
        request = Request(url=visit.url, body=visit.query.encode(), content_type=VISIT_CONTENT_TYPE, query=visit.query)

        async def send() -> Response:
            page = json.dumps(asdict(await self._render(visit)), default=lambda value: value.decode("latin-1"))
            headers = {"Content-Type": VISIT_CONTENT_TYPE}
            return Response(request=request, url=visit.url, status=200, headers=headers, body=page.encode())

        stored = json.loads((await self.net.replay_or_send(request, send)).body)
        calls = tuple(Request(**{**call, "body": call["body"].encode("latin-1")}) for call in stored.pop("calls"))
        return RenderedPage(**stored, calls=calls)

    async def _render(self, visit: BrowserVisit) -> RenderedPage:
        if not self.net.manners.ignore_robots:
            await self.net.robots.check(visit.url)
        self.net.check_limit()
        browser = await self._start(visit.url)
        from playwright.async_api import Error  # after `_start`, which says what to install if playwright is missing

        context = await browser.new_context(
            user_agent=self.net.manners.user_agent,
            accept_downloads=False,
            service_workers="block",
            **self.net.access.browser_context(visit.url),
        )
        calls: list[Request] = []
        try:
            page = await context.new_page()
            page.set_default_timeout(1000 * self.timeout)
            pending = _PendingRequests(page)
            home = urlsplit(visit.url).hostname or ""
            requests_left = itertools.count(MAX_REQUESTS - 1, -1)
            await page.route("**/*", lambda route: self._allow_or_block(route, home, requests_left))
            async with asyncio.timeout(self.timeout):
                async with self.net.slot(visit.url):
                    await page.goto(visit.url, wait_until="load")
                await pending.settle()
                if visit.query:
                    page.on(
                        "request", lambda request: calls.append(_as_request(request)) if _is_call(request) else None
                    )
                    async with self.net.slot(visit.url):
                        await self._type_query(page, visit.query, pending)
                    await pending.settle()
                return RenderedPage(url=page.url, html=await page.content(), calls=tuple(calls))
        except (Error, TimeoutError) as error:
            reason = str(error).splitlines()[0] if str(error) else "too slow"
            raise Unreachable(f"{visit.url} cannot be shown in the browser ({reason})") from error
        finally:
            await context.close()

    async def _start(self, url: str) -> "Browser":
        if self._browser is None:
            program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
            try:
                from playwright.async_api import async_playwright
            except ImportError as missing:
                raise MissingExtra(
                    "the browser needs the package playwright: pip install 'upwell[browser]'"
                ) from missing
            self._playwright = await async_playwright().start()
            own = self._playwright.chromium.executable_path  # of `playwright install chromium`
            if program is None and shutil.which(own) is None:
                raise MissingExtra(
                    "the browser needs Chromium: install your system's package chromium, or run playwright install chromium"
                )
            self._browser = await self._playwright.chromium.launch(
                executable_path=program or own,
                args=list(CHROMIUM_ARGUMENTS),
                proxy=self.net.access.browser_proxy(url),  # type: ignore[arg-type] # a plain dictionary
            )
        return self._browser

    async def _allow_or_block(self, route: "Route", home: str, requests_left: Iterator[int]) -> None:
        """Lets a page's request through, unless it is for a picture or font, could change something, goes to a private address, or is one too many."""
        request = route.request
        host = urlsplit(request.url).hostname or ""
        is_decoration = request.resource_type in ("image", "media", "font")
        is_blocked = (
            is_decoration
            or request.method not in ("GET", "POST", "OPTIONS", "HEAD")
            or next(requests_left) < 0
            or bool(self.net.limit())
        )
        if not is_blocked and host != home:
            try:
                is_blocked = not is_public(host)
            except ValueError:
                is_blocked = False  # a name, not an IP address: parts of a page may come from other hosts
        if is_blocked:
            await route.abort()
        else:
            self.net.sent += host == home
            own = self.net.access.site_headers if host == home else {}
            await route.continue_(headers={**request.headers, **own} if own else None)

    async def _type_query(self, page: "Page", query: str, pending: "_PendingRequests") -> None:
        box = (await page.evaluate_handle(FIND_SEARCH_BOX)).as_element()
        if box is None:
            raise Unreachable(f"{page.url} shows no search box in the browser")
        await box.click()
        await box.type(query, delay=KEY_DELAY_MILLISECONDS)
        await pending.settle()
        if await _is_in_page(box):  # a page that searches while one types may have replaced it
            await box.press("Enter", no_wait_after=True)


class _PendingRequests:
    """The requests of a page that have no answer yet."""

    def __init__(self, page: "Page") -> None:
        self._has_changed = asyncio.Event()
        self._pending: set[object] = set()
        page.on("request", self._started)
        page.on("requestfinished", self._ended)
        page.on("requestfailed", self._ended)

    def _started(self, request: object) -> None:
        self._pending.add(request)
        self._has_changed.set()

    def _ended(self, request: object) -> None:
        self._pending.discard(request)
        self._has_changed.set()

    async def settle(self) -> None:
        """Waits until the page makes no more requests and has its answers; not forever for the answers."""
        deadline = asyncio.get_running_loop().time() + MAX_ANSWER_SECONDS
        while True:
            self._has_changed.clear()
            try:
                await asyncio.wait_for(self._has_changed.wait(), QUIET_SECONDS)
            except TimeoutError:
                if not self._pending or asyncio.get_running_loop().time() >= deadline:
                    return


async def _is_in_page(element: "ElementHandle") -> bool:
    return bool(await element.evaluate("element => element.isConnected"))


def _is_call(request: "PageRequest") -> bool:
    """Whether a script of the page sent a request to get data."""
    return request.resource_type in ("xhr", "fetch") and request.method in ("GET", "POST")


def _as_request(request: "PageRequest") -> Request:
    return Request(
        url=request.url,
        method="POST" if request.method == "POST" else "GET",
        body=request.post_data_buffer or b"",
        content_type=request.headers.get("content-type", ""),
    )
