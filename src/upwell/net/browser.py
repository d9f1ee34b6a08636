"""The browser: pages as they are after JavaScript, a query typed into them, and the requests that the page makes then.

Chromium of the system through playwright. A page is looked at, never acted upon: the only things that are done in it are
typing into a search box and pressing Enter; requests that would change something (PUT, DELETE …) and downloads are stopped.
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
    from playwright.async_api import Request as Sent

    from upwell.net.fetch import Fetcher

__all__ = ["MOST", "Chromium"]

ARGUMENTS = (
    "--no-sandbox",  # a container has no user namespaces; nothing but the page's own scripts runs in it
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-sync",
)
KEPT_AS = "application/json; what=seen-in-the-browser"  # how a look is remembered
MOST = 60  # requests of one look: a page may fetch every match to show a piece of it; scripts and styles are rarely more than 30
SLOW = 5.0  # seconds that an answer is waited for: some pages keep a request open for good
QUIET = 0.6  # seconds without a request after which a page counts as done
# The box that a person would type a query into, best first; never one of a form with a password, and never an e-mail field.
BOXES = """() => {
  const words = /search|find|such|recherch|cherch|busca|cerca|ricerca|pesquis|zoek|szuk|hled|поиск|найти|検索|검색|搜索|搜尋|查询/i;
  let best = null, most = 0;
  for (const box of document.querySelectorAll('input:not([type]), input[type=text], input[type=search], [role=searchbox], [role=combobox]')) {
    const seen = box.getBoundingClientRect();
    if (box.disabled || box.readOnly || !seen.width || !seen.height || (box.form && box.form.querySelector('[type=password], textarea'))) continue;
    const said = [box.name, box.id, box.placeholder, box.title, box.getAttribute('aria-label'), box.className, box.form && box.form.className,
      box.form && box.form.getAttribute('action'), box.form && box.form.innerText].join(' ');
    const worth = (box.type === 'search' || box.getAttribute('role') === 'searchbox' ? 3 : 0) + (words.test(said) ? 3 : 0)
      + (/^(q|s|query|term|keywords?)$/i.test(box.name) ? 2 : 0) - (/mail|newsletter|subscri/i.test(said) ? 9 : 0);
    if (worth > most) { best = box; most = worth; }
  }
  return best;
}"""


@dataclass
class Chromium:
    """A browser that runs inside `async with`, under the same robots.txt, rate and addresses as its Fetcher."""

    net: "Fetcher"
    timeout: float = 30.0  # seconds for a page
    _play: "Playwright | None" = field(default=None, init=False)
    _browser: "Browser | None" = field(default=None, init=False)

    async def __aenter__(self) -> "Chromium":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._browser is not None:
            await self._browser.close()
        if self._play is not None:
            await self._play.stop()

    async def fetch(self, request: Request) -> Response:
        """A GET as a page that JavaScript has completed: the same contract as `Fetcher.fetch`."""
        if request.method != "GET":
            return await self.net.fetch(request)
        seen = await self.look(BrowserVisit(url=request.url))
        headers = {"Content-Type": "text/html; charset=utf-8"}
        return Response(request=request, url=seen.url, status=200, headers=headers, body=seen.html.encode())

    async def look(self, look: BrowserVisit) -> RenderedPage:
        """A page after JavaScript; with a query, after it was typed into the page's search box and Enter was pressed."""
        asked = Request(url=look.url, body=look.query.encode(), content_type=KEPT_AS, query=look.query)

        async def get() -> Response:
            body = json.dumps(asdict(await self._look(look)), default=lambda value: value.decode("latin-1"))
            return Response(
                request=asked, url=look.url, status=200, headers={"Content-Type": KEPT_AS}, body=body.encode()
            )

        kept = json.loads((await self.net.remembered(asked, get)).body)
        calls = tuple(Request(**{**call, "body": call["body"].encode("latin-1")}) for call in kept.pop("calls"))
        return RenderedPage(**kept, calls=calls)

    async def _look(self, look: BrowserVisit) -> RenderedPage:
        from playwright.async_api import Error

        if not self.net.manners.ignore_robots:
            await self.net.robots.check(look.url)
        browser = await self._start()
        context = await browser.new_context(
            user_agent=self.net.manners.user_agent, accept_downloads=False, service_workers="block"
        )
        calls: list[Request] = []
        try:
            page = await context.new_page()
            page.set_default_timeout(1000 * self.timeout)
            traffic = _Traffic(page)
            home = urlsplit(look.url).hostname or ""
            left = itertools.count(MOST - 1, -1)
            await page.route("**/*", lambda route: self._pass(route, home, left))
            async with asyncio.timeout(self.timeout):
                async with self.net.turn(look.url):
                    await page.goto(look.url, wait_until="load")
                await traffic.settle()
                if look.query:
                    page.on("request", lambda sent: calls.append(_call(sent)) if _is_call(sent) else None)
                    async with self.net.turn(look.url):
                        await self._type(page, look.query, traffic)
                    await traffic.settle()
                return RenderedPage(url=page.url, html=await page.content(), calls=tuple(calls))
        except (Error, TimeoutError) as error:
            said = str(error).splitlines()[0] if str(error) else "too slow"
            raise Unreachable(f"{look.url} cannot be shown in the browser ({said})") from error
        finally:
            await context.close()

    async def _start(self) -> "Browser":
        if self._browser is None:
            program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
            try:
                from playwright.async_api import async_playwright
            except ImportError as missing:
                raise MissingExtra(
                    "the browser needs the package playwright: pip install 'upwell[browser]'"
                ) from missing
            if program is None:
                raise MissingExtra(
                    "the browser needs Chromium: install your system's package chromium, or use --browser never"
                )
            self._play = await async_playwright().start()
            self._browser = await self._play.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        return self._browser

    async def _pass(self, route: "Route", home: str, left: Iterator[int]) -> None:
        """Lets through what a look needs: no pictures and fonts, nothing that changes anything, no private address, not without end."""
        sent = route.request
        host = urlsplit(sent.url).hostname or ""
        unwanted = sent.resource_type in ("image", "media", "font")
        stopped = unwanted or sent.method not in ("GET", "POST", "OPTIONS", "HEAD") or next(left) < 0
        if not stopped and host != home:
            try:
                stopped = not is_public(host)
            except ValueError:
                stopped = False  # a name: the page's other parts may come from elsewhere
        if stopped:
            await route.abort()
        else:
            self.net.sent += host == home
            await route.continue_()

    async def _type(self, page: "Page", query: str, traffic: "_Traffic") -> None:
        handle = (await page.evaluate_handle(BOXES)).as_element()
        if handle is None:
            raise Unreachable(f"{page.url} shows no search box in the browser")
        await handle.click()
        await handle.type(query, delay=20)
        await traffic.settle()
        if await _is_there(handle):
            await handle.press("Enter", no_wait_after=True)


class _Traffic:
    """The requests of a page that have no answer yet."""

    def __init__(self, page: "Page") -> None:
        self._moved = asyncio.Event()
        self._waiting: set[object] = set()
        page.on("request", self._began)
        page.on("requestfinished", self._ended)
        page.on("requestfailed", self._ended)

    def _began(self, sent: object) -> None:
        self._waiting.add(sent)
        self._moved.set()

    def _ended(self, sent: object) -> None:
        self._waiting.discard(sent)
        self._moved.set()

    async def settle(self) -> None:
        """Waits until the page has made no request for a moment, and for the answers to those that it made, if they come soon."""
        until = asyncio.get_running_loop().time() + SLOW
        while True:
            self._moved.clear()
            try:
                await asyncio.wait_for(self._moved.wait(), QUIET)
            except TimeoutError:
                if not self._waiting or asyncio.get_running_loop().time() >= until:
                    return


async def _is_there(handle: "ElementHandle") -> bool:
    return bool(await handle.evaluate("box => box.isConnected"))


def _is_call(sent: "Sent") -> bool:
    return sent.resource_type in ("xhr", "fetch") and sent.method in ("GET", "POST")


def _call(sent: "Sent") -> Request:
    return Request(
        url=sent.url,
        method="POST" if sent.method == "POST" else "GET",
        body=sent.post_data_buffer or b"",
        content_type=sent.headers.get("content-type", ""),
    )
