"""Render pages in Chromium: run their JavaScript, type queries into their search box, and record the requests that they make.

The system's Chromium is driven through playwright. Nothing is done in a page except opening a search box, typing into it and pressing Enter,
as far as a `BrowserPolicy` allows it. Chromium itself has no network access (`net.chromium_process`): the Fetcher answers every request of a
page, and obeys robots.txt, rate, budget and time limit, and refuses private addresses and requests that act. Popups, downloads, service
workers and pictures are blocked.
"""

import asyncio
import html
import json
import logging
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import unquote_plus, urljoin

from upwell.errors import BudgetSpent, Forbidden, Unreachable, UpwellError
from upwell.lexicon.phrases import ARROW, LAST, MORE, MORE_RESULTS, NEXT, PREVIOUS
from upwell.lexicon.vocabulary import alternatives
from upwell.logs import shown_url
from upwell.net.chromium_process import CLOSE_SECONDS, ChromiumProcess, shared_process
from upwell.net.fetch import is_cacheable
from upwell.page.embedded_data import largest_collection
from upwell.page.markup import elements
from upwell.types import BrowserVisit, LinkContext, PageStep, RenderedPage, Request, Response, TypedQuery
from upwell.urls.hosts import is_on_site
from upwell.urls.request_values import Place, mark, values

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, ElementHandle, Page, Route
    from playwright.async_api import Request as PageRequest

    from upwell.net.fetch import Fetcher

__all__ = ["MAX_REQUESTS", "BrowserPolicy", "Chromium", "ReadOnlyPolicy"]

logger = logging.getLogger("upwell.net")

QUIET_SECONDS = 0.6  # time without a request after which a page counts as finished

# Search box
MAX_OPENERS = 3  # elements clicked to open a search box
SHORTCUTS = ("/", "Control+k")  # keys that open a search box on many sites
MAX_CONTROLS = 400  # elements examined for the control that leads to the next page, in document order
MAX_LABEL_CHARS = 40  # length of its label
CLICK_MILLISECONDS = 2000  # time to wait for an element to be clickable
ICON_NAMES = "find|magnif|loupe|lupe|lens|lupa"  # words in the names of search icons
# Query selector that also searches shadow roots.
DEEP = """const deep = (root, what) => [...root.querySelectorAll(what),
    ...[...root.querySelectorAll('*')].filter(part => part.shadowRoot).flatMap(part => deep(part.shadowRoot, what))];"""
# Find the visible search box; never an e-mail field, nor a box in a form with a password field or text area.
FIND_BOX = f"""words => {{
  {DEEP}
  const searchWords = new RegExp(words, 'i');
  let best = null, bestScore = 0;
  for (const box of deep(document, 'input:not([type]), input[type=text], input[type=search], [role=searchbox], [role=combobox]')) {{
    const area = box.getBoundingClientRect();
    if (box.disabled || box.readOnly || !area.width || !area.height || (box.form && box.form.querySelector('[type=password], textarea'))) continue;
    if (!box.matches('input') && !box.isContentEditable) continue;
    const words = [box.name, box.id, box.placeholder, box.title, box.getAttribute('aria-label'), box.getAttribute('class'),
      ...[...(box.labels || [])].map(label => label.innerText), ...(box.form ? [box.form.getAttribute('class'),
      box.form.getAttribute('action'), box.form.innerText] : [])].join(' ').replace(/research(?!e)/gi, '');
    const score = (box.type === 'search' || box.getAttribute('role') === 'searchbox' ? 3 : 0) + (searchWords.test(words) ? 3 : 0)
      + (/^(q|s|query|term|keywords?)$/i.test(box.name) ? 2 : 0) - (/mail|newsletter|subscri|donat/i.test(words) ? 9 : 0);
    if (score > bestScore) {{ best = box; bestScore = score; }}
  }}
  return best;
}}"""
# Find elements that may open a search box, likeliest first: about searching, no link to another page, no submit button.
FIND_OPENERS = f"""words => {{
  {DEEP}
  const searchWords = new RegExp(words, 'i'), found = [], seen = new Set();
  const textOf = part => part.innerText || '';  // pictures (SVG) have none
  for (let part of deep(document, 'button, [role=button], summary, label, a, [onclick], [class*=search i], [id*=search i], span, div, li')) {{
    const isPlain = part.matches('span, div, li') && !part.matches('[role=button], [onclick], [class*=search i], [id*=search i]');
    if (isPlain && (part.children.length > 1 || textOf(part).length > 20 || !searchWords.test(textOf(part)))) continue;
    if (part.parentElement && !part.getBoundingClientRect().width) part = part.parentElement;  // an icon without its font
    if (seen.has(part)) continue;
    seen.add(part);
    const area = part.getBoundingClientRect(), link = part.closest('a[href]');
    if (part.disabled || !area.width || !area.height || textOf(part).length > 60 || part.matches('form, input, body, html')) continue;
    if (link && !/^(#|javascript:)/i.test(link.getAttribute('href'))) continue;
    const control = part.closest('button, input');
    if (control && control.form && control.type !== 'button') continue;
    const own = [part.getAttribute('aria-label'), part.title, textOf(part)].join(' ');
    const marks = [part.id, part.getAttribute('class'), ...[...part.querySelectorAll('svg, use, i, img, span')].map(inner =>
      [inner.getAttribute('class'), inner.getAttribute('href'), inner.getAttribute('alt'), inner.getAttribute('aria-label')].join(' '))].join(' ');
    const isButton = part.matches('button, [role=button], summary, label, a, [onclick]');
    const score = (searchWords.test(own) ? 2 : 0) + (searchWords.test(marks) ? 1 : 0) + (isButton ? 1 : 0) - (/reset|clear|close/i.test(own + marks) ? 2 : 0);
    if (score > (isButton ? 1 : 0)) found.push([score, part]);
  }}
  return found.sort((a, b) => b[0] - a[0]).slice(0, {MAX_OPENERS}).map(pair => pair[1]);
}}"""
LABEL = "part => [part.innerText, part.title, part.getAttribute('aria-label'), part.value].filter(Boolean).join(' ')"
# Controls that may lead to the next page of an answer: visible, enabled, and not links to another page.
FIND_CONTROLS = f"""() => {{
  {DEEP}
  return deep(document, 'button, a, [role=button], [role=link], input[type=button], [class*=next i], [class*=more i], [onclick]').filter(part => {{
    const area = part.getBoundingClientRect(), href = part.getAttribute('href'), around = part.closest('li, button, a') || part;
    if (!area.width || !area.height || (part.innerText || '').length > {MAX_LABEL_CHARS}) return false;
    if ([part, around].some(one => one.disabled || one.getAttribute('aria-disabled') === 'true' || /disabled/i.test(one.getAttribute('class')))) return false;
    return !href || /^(#|javascript:|\\?)/i.test(href) || new URL(part.href, location).pathname === location.pathname;
  }}).slice(0, {MAX_CONTROLS});
}}"""
DESCRIBE = """parts => parts.map(part => [part.innerText || part.value || '', part.getAttribute('aria-label') || part.title || '',
    [part.getAttribute('class'), part.id, part.getAttribute('rel')].join(' ')])"""
# Scroll the page and all of its parts to their ends.
SCROLL = """() => { for (const part of [document.scrollingElement || document.body, ...document.querySelectorAll('*')])
    if (part.scrollHeight > part.clientHeight + 10) { part.scrollTop = part.scrollHeight; part.dispatchEvent(new Event('scroll')); } }"""
FORM_OF_BOX = "box => box.form ? Array.from(document.forms).indexOf(box.form) : -1"

# Visits
# Content type under which a visit is stored in the state. Stored visits are looked up by it, so it must not change.
VISIT_CONTENT_TYPE = "application/json; what=seen-in-the-browser"
MAX_REQUESTS = (
    60  # requests per visit; some pages fetch every match for a preview, scripts and styles are rarely more than 30
)
MAX_TRIAL_REQUESTS = (
    25  # requests without scripts per visit with trial queries; finding an interface should cost 40 at most
)
MAX_STEP_REQUESTS = 6  # further requests of a visit for the next page of an answer
MAX_MORE = 12  # times that "load more" is clicked, or the page scrolled to its end, for a typed query; not swept
MAX_LOST_SHARE = 0.1  # share of the lines of a page that may change while it shows more; not swept
MAX_SETTLE_SECONDS = 20.0  # time after which a page that never stops requesting counts as finished
MAX_ANSWER_CHARS = 2_000_000  # length of an answer in which the cursor of the next page is searched
TRIAL_PATIENCE = 3  # factor of the timeout for a visit with trial queries
MAX_DOCUMENTS = 6  # documents per visit, including frames; a page with more reloads forever
MAX_SCRIPT_REDIRECTS = 5
MAX_ANSWER_SECONDS = (
    5.0  # time without any answer after which pending requests are ignored; some pages keep one open forever
)
KEY_DELAY_MILLISECONDS = 20  # between typed characters
BLOCKED_TYPES = ("image", "media", "font", "websocket", "manifest", "ping", "texttrack", "eventsource")  # of resources
# Headers of a page's request that are not forwarded: the Fetcher sets them and the cookies, or they would change the method.
NOT_FORWARDED = re.compile(
    r":|(?:cookie|host|origin|referer|user-agent|accept-encoding|connection|content-length|transfer-encoding|te|upgrade|expect|keep-alive|"
    r"range|purpose|dnt|cache-control|pragma|priority)$|(?:sec|proxy|if|upgrade|access-control)-|.*method",
    re.I,
)
BROWSER_HEADERS = ("content-type", "accept-language")  # forwarded headers that no script needs to have set
# Headers with the key that a page gives to all visitors; those of a user who logged in are not kept.
LOGIN_HEADER = re.compile(r"auth|token|key|secret|session|csrf|xsrf|jwt")
# Headers of an answer that the page does not get: wrong after decoding, or they would let the page do more.
REMOVED_HEADERS = (
    "content-encoding",
    "content-length",
    "transfer-encoding",
    "connection",
    "refresh",
    "link",
    "set-cookie",
    "speculation-rules",
)
NO_POPUPS = "window.open = () => null; navigator.sendBeacon = () => false;"
COUNT_LINKS = "() => document.querySelectorAll('a[href]').length"
SCRIPT = re.compile(r"<(script)\b", re.I)
SAMPLED_ROWS = 20  # rows of fetched data from which words to type are taken
# A route of a single-page application with a parameter ("/things/:id"): the path before it shows a list.
ROUTE = re.compile(rb"""["'`](/[A-Za-z][\w-]{1,40}(?:/[A-Za-z][\w-]{1,40})?)/:\w""")
MAX_ROUTES = 20  # such paths that are kept
MIN_DATA_BYTES = 500  # size from which a response to a script is searched for records


class BrowserPolicy(Protocol):
    """Decides what may be typed, clicked and posted in a page, as `upwell.discover.browser_search.SearchOnlyPolicy` does."""

    def may_type(self, page: str, url: str, form: int) -> bool:
        """Return True if a query may be typed into a box in the form of this index, or outside of forms (-1)."""
        ...

    def may_post(self, request: Request, page: str, url: str) -> bool:
        """Return True if a POST that a page makes is a search; its query is empty before one was typed."""
        ...

    def may_submit(self, page: str, url: str, form: int) -> bool:
        """Return True if Enter may be pressed in a box in the form of this index."""
        ...

    def may_click(self, label: str) -> bool:
        """Return True if a button with this label, which seems to open a search box, may be clicked."""
        ...

    def words_to_type(self, page: str, url: str) -> tuple[str, ...]:
        """Return words to find out how a page searches."""
        ...

    def broad_query(self, page: str, url: str) -> str:
        """Return a word with many matches, to find out how a page requests more of them."""
        ...


class ReadOnlyPolicy:
    """Policy for pages that are only viewed: nothing is clicked or posted."""

    def may_type(self, page: str, url: str, form: int) -> bool:
        return True

    def may_post(self, request: Request, page: str, url: str) -> bool:
        return False

    def may_submit(self, page: str, url: str, form: int) -> bool:
        return True

    def may_click(self, label: str) -> bool:
        return False

    def words_to_type(self, page: str, url: str) -> tuple[str, ...]:
        return ()

    def broad_query(self, page: str, url: str) -> str:
        return ""


class _PendingRequests:
    """Requests of a page that have no answer yet."""

    def __init__(self, page: "Page", patience: float, is_full: Callable[[], bool]) -> None:
        self._page, self._patience, self._is_full = page, patience, is_full  # patience: seconds without any answer
        self._has_changed = asyncio.Event()
        self._pending: set[object] = set()
        self._last_answer = 0.0
        page.on("request", self._started)
        page.on("requestfinished", self.end)
        page.on("requestfailed", self.end)

    def _started(self, request: object) -> None:
        self._pending.add(request)
        self._has_changed.set()

    def end(self, request: object) -> None:
        """Note an answer; the browser does not report that of a worker's script, so that `_Visit` reports all that it sent."""
        self._pending.discard(request)
        self._last_answer = asyncio.get_running_loop().time()
        self._has_changed.set()

    async def settle(self) -> None:
        """Wait until the page makes no more requests and has its answers, or none arrived for too long."""
        started = self._last_answer = asyncio.get_running_loop().time()
        while asyncio.get_running_loop().time() - started < max(MAX_SETTLE_SECONDS, 3 * self._patience):
            self._has_changed.clear()
            try:
                await asyncio.wait_for(self._has_changed.wait(), QUIET_SECONDS)
            except TimeoutError:
                waited = asyncio.get_running_loop().time() - self._last_answer
                if not self._pending or waited >= self._patience:
                    await self._wait_for_scripts()
                    if not self._has_changed.is_set():
                        return
            if self._is_full():
                await asyncio.sleep(QUIET_SECONDS)
                return

    async def _wait_for_scripts(self) -> None:
        """Wait until the page's scripts have handled what arrived: they may compute for longer than a pause between requests."""
        from playwright.async_api import Error

        with suppress(Error, TimeoutError):  # the page may be closed, or never pause
            await asyncio.wait_for(self._page.evaluate("() => new Promise(done => setTimeout(done))"), self._patience)


async def _find_box(page: "Page") -> "ElementHandle | None":
    """Return the search box of the page; None if it shows none."""
    return (await page.evaluate_handle(FIND_BOX, _search_words())).as_element()


@cache
def _search_words() -> str:
    """Return a regular expression for words about searching in all languages, and the names of search icons."""
    return f"{alternatives('search')}|{ICON_NAMES}"


async def _open_box(
    page: "Page", may_click: Callable[[str], bool], settle: Callable[[], Awaitable[None]]
) -> "ElementHandle | None":
    """Return the search box, after opening it if it is not visible yet; None if there is none."""
    from playwright.async_api import Error

    if (box := await _find_box(page)) is not None:
        return box
    openers = await page.evaluate_handle(FIND_OPENERS, _search_words())
    for handle in (await openers.get_properties()).values():
        opener = handle.as_element()
        if opener is None:
            continue
        try:
            if not may_click(str(await opener.evaluate(LABEL))):
                continue
            await _click(opener)
        except Error:  # an earlier click removed it
            continue
        await settle()
        if (box := await _find_box(page)) is not None:
            return box
    for keys in SHORTCUTS:
        await page.keyboard.press(keys)
        await settle()
        if (box := await _find_box(page)) is not None:
            return box
    return None


async def _find_next(
    page: "Page", may_click: Callable[[str], bool], *, only_more: bool = False
) -> "ElementHandle | None":
    """Return the control that leads to the next page of an answer, or with `only_more` shows more of it; None if the page shows none."""
    controls = await page.evaluate_handle(FIND_CONTROLS)
    described = await controls.evaluate(DESCRIBE)
    if only_more:
        described = [texts if _says_more(*texts[:2]) else ("", "", "") for texts in described]
    scores = [_next_score(*texts) if may_click(" ".join(texts[:2])) else 0 for texts in described]
    if not any(scores):
        return None
    best = max(range(len(scores)), key=lambda i: (scores[i], i))
    return (await controls.evaluate_handle("(parts, i) => parts[i]", best)).as_element()


def _says_more(*labels: str) -> bool:
    """Return True if a label of a control says that it shows more.

    >>> _says_more("Vis flere", ""), _says_more("Next", "")
    (True, False)
    """
    own = [" ".join(label.split()) for label in labels]
    return any(known.fullmatch(words) for words in own if words for known in (MORE_RESULTS, MORE))


def _next_score(text: str, label: str, marks: str) -> int:
    """Return how likely a control leads to the next page, by its text, its label, and its class, id and rel.

    >>> _next_score("2", "", ""), _next_score("Carica altri", "", "btn"), _next_score("", "", "icon-next"), _next_score("Delete", "", "")
    (2, 4, 1, 0)
    """
    own = [" ".join(words.split()) for words in (text, label)]
    if any(known.fullmatch(words) for words in own if words for known in (PREVIOUS, LAST)):
        return 0
    if re.search(r"(?:^|\s)next(?:\s|$)", marks):
        return 5
    if any(known.fullmatch(words) for words in own if words for known in (NEXT, MORE_RESULTS, MORE)):
        return 4
    if own[0] == "2":
        return 2
    is_arrow = bool(ARROW.fullmatch(own[0])) or not own[0]
    return int(is_arrow and bool(re.search(r"next|more|forward", marks, re.I)))


async def _focus_box(box: "ElementHandle") -> None:
    """Focus a box, even if another element covers it."""
    await _click(box)
    await box.focus()


async def _click(part: "ElementHandle") -> None:
    from playwright.async_api import Error

    try:
        await part.click(timeout=CLICK_MILLISECONDS)
    except Error:
        await part.evaluate("part => part.click && part.click()")


async def _clear_box(box: "ElementHandle") -> None:
    """Delete the text of a box by keyboard, as a user would."""
    if not await box.evaluate("box => box.value || box.textContent"):
        return
    await box.focus()
    await box.press("Control+a")
    await box.press("Delete")
    if await box.evaluate("box => box.value"):  # a script of the page refuses the keys
        await box.fill("")


async def _is_in_page(element: "ElementHandle") -> bool:
    """Return True if an element is still part of the page."""
    return bool(await element.evaluate("element => element.isConnected"))


@dataclass
class Chromium:
    """Browser, used inside `async with`; its Fetcher answers the requests of its pages, under all of its rules."""

    net: "Fetcher"
    policy: BrowserPolicy = field(default_factory=ReadOnlyPolicy)
    timeout: float = 30.0  # seconds per page, in addition to waiting for the request rate
    process: ChromiumProcess = field(default_factory=shared_process)  # shared by all harvests of the event loop
    _cache: dict[str, Response] = field(default_factory=dict, init=False)  # cacheable responses by URL

    async def __aenter__(self) -> "Chromium":
        self.process.enter()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.process.leave()

    async def fetch(self, request: Request, *, is_typed: bool = False) -> Response:
        """Return the rendered page as a response, as `Fetcher.fetch` would; a POST is sent by the Fetcher.

        With `is_typed`, the query of the request is typed into the page.
        """
        if request.method != "GET":
            return await self.net.fetch(request)
        query = request.query if is_typed else ""
        page = await self.render(BrowserVisit(url=request.url, query=query, decision=request.decision))
        headers = {"Content-Type": "text/html; charset=utf-8"}
        return Response(
            request=request, url=page.url, status=200, headers=headers, body=page.html.encode(), number=page.number
        )

    async def render(self, visit: BrowserVisit) -> RenderedPage:
        """Return a page after its JavaScript ran; a query is typed into its search box and submitted with Enter."""
        body = "\n".join((visit.query, *visit.trial_queries)).encode()
        request = Request(
            url=visit.url, body=body, content_type=VISIT_CONTENT_TYPE, query=visit.query, decision=visit.decision
        )

        async def send() -> Response:
            logger.debug("browser: %s, typing %r", shown_url(visit.url), visit.query or visit.trial_queries)
            page = json.dumps(asdict(await self._render(visit)), default=lambda value: value.decode("latin-1"))
            headers = {"Content-Type": VISIT_CONTENT_TYPE}
            return Response(request=request, url=visit.url, status=200, headers=headers, body=page.encode())

        answer = await self.net.replay_or_send(request, send)
        stored = {**json.loads(answer.body), "number": answer.number}
        calls = _calls_of(stored.pop("calls"))
        typed_queries = tuple(
            TypedQuery(**{**typed, "calls": _calls_of(typed["calls"])}) for typed in stored.pop("typed")
        )
        steps = tuple(
            PageStep(request=first, following=following, answer=step["answer"])
            for step in stored.pop("steps", ())
            for first, following in [_calls_of([step["request"], step["following"]])]
        )
        return RenderedPage(**{**stored, "data": tuple(stored["data"])}, calls=calls, typed=typed_queries, steps=steps)

    async def _render(self, visit: BrowserVisit) -> RenderedPage:
        await self.net.check(Request(url=visit.url, query=visit.query))
        async with self.process.page() as browser:
            return await self._render_in(browser, visit)

    async def _render_in(self, browser: "Browser", visit: BrowserVisit) -> RenderedPage:
        from playwright.async_api import (
            Error,  # here, because `ChromiumProcess.page` says what to install if playwright is missing
        )

        shown = _Visit(self, visit)
        context: BrowserContext | None = None
        try:
            seconds = self.timeout * (TRIAL_PATIENCE if visit.trial_queries else 1)
            async with asyncio.timeout(seconds + MAX_REQUESTS * self.net.gap(visit.url)):
                context = await browser.new_context(
                    user_agent=self.net.manners.user_agent,
                    accept_downloads=False,
                    service_workers="block",
                    storage_state=self.net.access.browser_state(self.net.origins),  # type: ignore[arg-type] # a plain dictionary
                )
                return await shown.look(context)
        except (Error, TimeoutError) as error:
            if shown.stopped_by is not None:
                raise shown.stopped_by from error
            if shown.seen is not None:  # a script that never ends does not undo what was seen before
                return shown.seen
            reason = shown.problem or (str(error).splitlines()[0] if str(error) else "too slow")
            raise Unreachable(f"{visit.url} cannot be shown in the browser ({reason})") from error
        finally:
            if context is not None:
                await self._close(browser, context)

    async def _close(self, browser: "Browser", context: "BrowserContext") -> None:
        """Close the page of a visit; a browser that cannot do so within a few seconds is given up."""
        from playwright.async_api import Error

        try:
            await asyncio.wait_for(context.close(), CLOSE_SECONDS)
        except (TimeoutError, Error):
            self.process.give_up(browser)

    async def script(self, request: Request) -> Response:
        """Return a script of a page, from any public host, fetched once for all pages."""
        if request.url in self._cache:
            return self._cache[request.url]
        current = request
        for _ in range(MAX_SCRIPT_REDIRECTS):
            response = await self.net.send(current)
            location = response.headers.get("Location")
            if not 300 <= response.status < 400 or not location:  # not a redirect
                self._cache[request.url] = response
                return response
            try:
                current = replace(current, url=urljoin(current.url, location))
            except ValueError as error:
                raise Unreachable(f"{request.url} redirects to an invalid address") from error
        raise Unreachable(f"{request.url} has too many redirects")

    async def data(self, request: Request, headers: Mapping[str, str]) -> Response:
        """Return what a script of a page requests; a cacheable file is fetched once for all pages."""
        if request.method == "GET" and (cached := self._cache.get(request.url)) is not None:
            return cached
        response = await self.net.send(request, headers)
        if request.method == "GET" and response.status == 200 and is_cacheable(response.headers):
            self._cache[request.url] = response
        return response


class _Visit:
    """Page while it is shown: answers its requests and types queries."""

    def __init__(self, chromium: Chromium, visit: BrowserVisit) -> None:
        self.chromium, self.visit, self.net = chromium, visit, chromium.net
        self.calls: list[Request] = []
        self.problem = ""  # why the page itself could not be fetched
        self.stopped_by: BudgetSpent | None = None
        self._page: Page | None = None
        self._pending: _PendingRequests | None = None
        self._limit = MAX_TRIAL_REQUESTS if visit.trial_queries else MAX_REQUESTS
        self._requests = self._documents = self._scripts = 0
        self.seen: RenderedPage | None = None  # what was seen so far
        self._steps: list[PageStep] = []
        self._places: dict[tuple[str, str], list[Place]] = {}  # of a query, by method and path of a request
        self._answers: dict[Request, bytes] = {}  # to the requests of scripts since a query was typed
        self._is_typed = False
        self._query = visit.query  # the query that is typed now or next
        self._typed_into = "", ""  # HTML and URL of the page that the query was typed into
        self._bodies: dict[str, bytes] = {}  # responses to scripts of the page, by URL
        self._script_urls: set[str] = set()
        self._refused: dict[str, None] = {}  # addresses to which a script may not post
        self._final: dict[str, Response] = {}  # targets of redirects, by their own URL

    async def look(self, context: "BrowserContext") -> RenderedPage:
        """Open the page, type the query if there is one, and return what is shown."""
        await context.add_init_script(NO_POPUPS)
        await context.route("**/*", self._answer)
        page = self._page = await context.new_page()
        context.on("page", lambda popup: asyncio.ensure_future(popup.close()))
        page.set_default_timeout(1000 * self.chromium.timeout)
        page.on("dialog", lambda dialog: asyncio.ensure_future(dialog.dismiss()))
        pending = self._pending = _PendingRequests(
            page, max(MAX_ANSWER_SECONDS, 2 * self.net.gap(self.visit.url)), self.is_full
        )
        await page.goto(self.visit.url, wait_until="load", timeout=0)  # `_render_in` sets the timeout
        await pending.settle()
        if not self.visit.query:
            self.seen = RenderedPage(url=page.url, html=await page.content(), routes=_routes(self._bodies.values()))
        if self.visit.trial_queries:
            return await self._try_queries(page, pending)
        if self.visit.query:
            await self._type_query(page, self.visit.query, pending)
            return await self._show_more(page, pending)
        if self.stopped_by is not None:
            raise self.stopped_by
        return RenderedPage(url=page.url, html=await page.content(), calls=tuple(self.calls))

    async def _show_more(self, page: "Page", pending: "_PendingRequests") -> RenderedPage:
        """Return what the page shows for the query, after "load more" and scrolling as long as they add to it."""
        from playwright.async_api import Error

        lines: Counter[str] = Counter()
        for _ in range(MAX_MORE):
            if self.stopped_by is not None:
                raise self.stopped_by
            shown = Counter((await page.inner_text("body")).splitlines())
            is_longer, lost = shown.total() > lines.total(), (lines - shown).total()
            if self.seen is not None and (not is_longer or lost > MAX_LOST_SHARE * lines.total()):
                break  # nothing more, or other records instead of the earlier ones
            lines = shown
            self.seen = RenderedPage(url=page.url, html=await page.content(), calls=tuple(self.calls))
            if self.is_full():
                break
            try:
                control = await _find_next(page, self.chromium.policy.may_click, only_more=True)
                await (page.evaluate(SCROLL) if control is None else _click(control))
                await pending.settle()
            except Error as error:  # the page has gone
                logger.debug("browser: no more records: %s", error)
                break
        return self.seen or RenderedPage(url=page.url, html=await page.content(), calls=tuple(self.calls))

    async def _try_queries(self, page: "Page", pending: "_PendingRequests") -> RenderedPage:
        """Type the trial queries, then words of the page, and return what each of them showed."""
        from playwright.async_api import Error

        first = self.seen or RenderedPage(url=page.url, html=await page.content())
        bodies = {url: body for url, body in self._bodies.items() if url not in self._script_urls}
        rows = await asyncio.to_thread(_sample_of_data, bodies)
        words = self.chromium.policy.words_to_type(first.html + rows, first.url)
        broad = self.chromium.policy.broad_query(first.html + rows, first.url)
        typed: list[TypedQuery] = []
        for query in (*self.visit.trial_queries, *words, broad):
            if query == broad and (not broad or self._steps or not any(each.calls for each in typed)):
                break
            self.calls, self._answers = [], {}
            try:
                shown = await self._type_query(page, query, pending)
            except (Unreachable, Error):  # there is no box, or it disappeared with its page
                first = replace(first, has_box=bool(typed))
                break
            finally:
                if self.stopped_by is not None:
                    raise self.stopped_by
            typed += [TypedQuery(query=query, url=url, html=html, calls=tuple(self.calls)) for url, html in shown]
            self.seen = replace(first, typed=tuple(typed))
            self._note_steps(query)
            if query not in self.visit.trial_queries and not self._steps:
                await self._take_step(page, query, pending)
            if self.is_full():
                break
        data = await asyncio.to_thread(_with_records, dict(self._bodies))
        return replace(first, typed=tuple(typed), data=data, steps=tuple(self._steps), refused=tuple(self._refused))

    async def _take_step(self, page: "Page", query: str, pending: "_PendingRequests") -> None:
        """Go to the next page of an answer, by scrolling or a click, and keep what the page's scripts request for it."""
        from playwright.async_api import Error

        try:
            self._limit += MAX_STEP_REQUESTS
            await page.evaluate(SCROLL)
            await pending.settle()
            self._note_steps(query)
            if not self._steps and (control := await _find_next(page, self.chromium.policy.may_click)) is not None:
                before = page.url
                await _click(control)
                await pending.settle()
                self._note_steps(query)
                if not self._steps and page.url != before:
                    self._steps.append(
                        PageStep(request=Request(url=before), following=Request(url=page.url), answer="")
                    )
        except Error as error:  # the page has gone
            logger.debug("browser: no next page: %s", error)

    def _note_steps(self, query: str) -> None:
        """Keep two requests that follow each other if both send the query in the same places to the same path.

        The first query that is typed is nonsense, so that its places are known; a frequent word is in other values by chance.
        """
        last: dict[tuple[str, str], Request] = {}
        for call in self.calls:
            target = call.method, call.url.partition("?")[0]
            if query in self.visit.trial_queries:
                self._places.setdefault(target, mark(call, query, "")[1])
                continue
            places = self._places.get(target) or mark(call, query, "", only_whole=True)[1]
            sent = dict(values(call))
            if not places or any(query.casefold() not in str(sent.get(place, "")).casefold() for place in places):
                continue
            first = last.get(target)
            last[target] = call
            if first is None or first == call:
                continue
            answer = self._answers.get(first, b"")
            if len(answer) <= MAX_ANSWER_CHARS:
                text = answer.decode("utf-8", "replace")
                self._steps.append(PageStep(request=first, following=call, answer=text))

    def is_full(self) -> bool:
        """Return True if the page has made as many requests as a visit may make."""
        return self._requests >= self._limit

    async def _answer(self, route: "Route") -> None:
        """Answer a request of the page from the Fetcher, or abort it."""
        from playwright.async_api import Error

        with suppress(Error):  # the page may be closed before the answer arrives
            try:
                response = await self._response(route.request)
            except BudgetSpent as limit:
                self.stopped_by = self.stopped_by or limit
                response = None
            except UpwellError as error:
                if route.request.is_navigation_request():
                    self.problem = self.problem or str(error)
                response = None
            if response is None:
                await route.abort()
            else:
                headers = {n: v for n, v in response.headers.items() if n.lower() not in REMOVED_HEADERS}
                await route.fulfill(status=response.status, headers=headers, body=response.body)
        if self._pending is not None:
            self._pending.end(route.request)

    async def _response(self, page_request: "PageRequest") -> Response | None:
        """Return the answer to a request of the page; None if it is blocked."""
        kind, request = page_request.resource_type, _as_request(page_request)
        if (
            kind in BLOCKED_TYPES
            or page_request.method not in ("GET", "POST", "HEAD")
            or not self._is_own(page_request)
        ):
            return None
        if kind == "stylesheet":
            return Response(
                request=request, url=request.url, status=200, headers={"Content-Type": "text/css"}, body=b""
            )
        if any(
            "prefetch" in (value if name in ("purpose", "sec-purpose", "x-moz") else name)
            for name, value in page_request.headers.items()
        ):
            return None  # speculative: the page works without it
        self._scripts += kind == "script"
        self._requests += kind != "script"
        self._documents += page_request.is_navigation_request()
        if max(self._requests, self._scripts - MAX_REQUESTS) > self._limit or self._documents > MAX_DOCUMENTS:
            return None
        if kind == "script" and request.method == "GET":
            self._script_urls.add(request.url)
            return self._recorded(await self.chromium.script(replace(request, context=LinkContext(is_script=True))))
        if not is_on_site(request.url, self.visit.url):
            raise Forbidden(f"{request.url} is on another site")
        if request.method == "POST" and not (
            (self._is_typed or kind in ("xhr", "fetch"))
            and self.chromium.policy.may_post(
                replace(request, query=self._query if self._is_typed else ""), *self._typed_into
            )
        ):
            self._refused[request.url] = None
            raise Forbidden(f"POST {request.url} is not sent: it may not be a search")
        if request.method == "POST":
            # the policy found a search
            request = replace(request, context=LinkContext(is_search=True, is_typed=self._is_typed))
        headers = {name: value for name, value in page_request.headers.items() if not NOT_FORWARDED.match(name)}
        request = replace(request, query=self._query if self._is_typed else "")
        if self._is_typed and kind in ("xhr", "fetch"):
            own = _headers_of_script(headers, hides_login=self.net.access.has_secrets)
            call = replace(request, query="", headers=own)
            self.calls.append(call)
            response = self._recorded(await self.chromium.data(request, headers))
            self._answers[call] = response.body
            return response
        if kind == "document":
            return await self._document(request)
        return self._recorded(await self.chromium.data(request, headers))

    def _recorded(self, response: Response) -> Response:
        """Return the response, after keeping its body to be searched for records."""
        request = response.request
        is_own = request.method == "GET" and is_on_site(request.url, self.visit.url)
        if is_own and response.status == 200 and len(response.body) >= MIN_DATA_BYTES:
            self._bodies[request.url] = response.body
        return response

    async def _document(self, request: Request) -> Response:
        """Return a document; after a redirect, a page that navigates the browser to the target, so that it shows the right URL."""
        known = self._final.pop(request.url, None)
        response = known or await self.net.send(request)
        if response.url != request.url:
            self._final[response.url] = response
            self._requests -= 1
            self._documents -= 1
            target = json.dumps(response.url).replace("<", "\\u003c")
            moved = f"<meta charset=utf-8><title>{html.escape(response.url)}</title><script>location.replace({target})</script>"
            return replace(response, status=200, headers={"Content-Type": "text/html"}, body=moved.encode())
        content_type = response.headers.get("Content-Type", "text/html")
        if 300 <= response.status < 400:  # a redirect to another site
            raise Forbidden(f"{request.url} has moved to {response.headers.get('Location')}, which is another site")
        if "attachment" in response.headers.get("Content-Disposition", "") or not any(
            known in content_type for known in ("html", "text/plain", "json", "xml")
        ):
            raise Forbidden(f"{request.url} is a file ({content_type}), not a page")
        return response

    def _is_own(self, page_request: "PageRequest") -> bool:
        """Return True if a request comes from the page itself, not from a popup or a service worker."""
        from playwright.async_api import Error

        try:
            return page_request.frame.page is self._page
        except Error:  # a navigation request has no frame yet; it is the page's own if no popup is open
            return (
                page_request.is_navigation_request() and self._page is not None and len(self._page.context.pages) == 1
            )

    async def _type_query(self, page: "Page", query: str, pending: "_PendingRequests") -> list[tuple[str, str]]:
        """Type a query into the page's search box and press Enter; return the URLs and pages shown after each.

        Enter is not pressed if typing alone shows more links without a request: it would open the first match.
        """
        if self._is_typed and page.url != self._typed_into[1] and await _find_box(page) is None:
            await page.goto(self.visit.url, wait_until="load", timeout=0)
            await pending.settle()
        box = await _open_box(page, self.chromium.policy.may_click, pending.settle)
        shown, policy = await page.content(), self.chromium.policy
        form = int(await box.evaluate(FORM_OF_BOX)) if box is not None else -1
        if box is None or not policy.may_type(shown, page.url, form):
            raise Unreachable(f"{page.url} shows no search box in the browser")
        self._is_typed, self._query, self._typed_into = True, query, (shown, page.url)
        await _focus_box(box)
        await _clear_box(box)
        await pending.settle()
        self.calls = []
        links = await page.evaluate(COUNT_LINKS)
        await box.type(query, delay=KEY_DELAY_MILLISECONDS)
        await pending.settle()
        after = [(page.url, _without_scripts(await page.content()))]
        is_requested = any(query in unquote_plus(call.url) or query.encode() in call.body for call in self.calls)
        is_answered = await page.evaluate(COUNT_LINKS) > links and not is_requested
        if (
            not is_answered and policy.may_submit(*self._typed_into, form) and await _is_in_page(box)
        ):  # a page that searches while typing may have replaced the box
            await box.press("Enter", no_wait_after=True)
            await pending.settle()
            after.append((page.url, _without_scripts(await page.content())))
        return after


def _without_scripts(page: str) -> str:
    """Empty the scripts of a page."""
    kept: list[str] = []
    at = 0
    for script in elements(page, SCRIPT, fold_case=True):
        kept.append(f"{page[at : script.start]}<{script.name}{script.attributes}></{script.name}>")
        at = script.end
    return "".join([*kept, page[at:]])


def _routes(bodies: Iterable[bytes]) -> tuple[str, ...]:
    """Return the paths before the parameters of routes in scripts."""
    found = dict.fromkeys(match[1].decode() for body in bodies for match in ROUTE.finditer(body))
    return tuple(found)[:MAX_ROUTES]


def _with_records(bodies: Mapping[str, bytes]) -> tuple[str, ...]:
    """Return the URLs of responses with many similar objects, most objects first."""
    sizes = {url: len(largest_collection(body)) for url, body in bodies.items()}
    return tuple(sorted((url for url, rows in sizes.items() if rows), key=lambda url: -sizes[url]))


def _sample_of_data(bodies: Mapping[str, bytes]) -> str:
    """Return rows of data fetched by scripts as HTML, because their words occur in records."""
    rows = [row for body in bodies.values() for row in largest_collection(body)[:SAMPLED_ROWS]]
    return "".join(f"<p>{html.escape(' '.join(row.values()))}</p>" for row in rows)


def _headers_of_script(headers: Mapping[str, str], *, hides_login: bool) -> tuple[tuple[str, str], ...]:
    """Return the headers that a script set itself: by which it asks for a part of a page, names its key, or the token of the page.

    >>> _headers_of_script({"accept": "*/*", "content-type": "text/plain", "hx-request": "true", "apikey": "x"}, hides_login=False)
    (('apikey', 'x'), ('hx-request', 'true'))
    """
    return tuple(
        sorted(
            (name, value)
            for name, value in headers.items()
            if name not in BROWSER_HEADERS
            and (name, value) != ("accept", "*/*")
            and not (hides_login and LOGIN_HEADER.search(name))
        )
    )


def _calls_of(stored: Iterable[dict[str, Any]]) -> tuple[Request, ...]:
    """Restore requests that were stored as JSON; other keys, of any version, are ignored."""
    return tuple(
        Request(
            url=call["url"],
            method=call["method"],
            body=call["body"].encode("latin-1"),
            content_type=call["content_type"],
            query=call["query"],
            headers=tuple((name, value) for name, value in call["headers"]),
        )
        for call in stored
    )


def _as_request(request: "PageRequest") -> Request:
    return Request(
        url=request.url.partition("#")[0],
        method="POST" if request.method == "POST" else "GET",
        body=request.post_data_buffer or b"",
        content_type=request.headers.get("content-type", ""),
    )
