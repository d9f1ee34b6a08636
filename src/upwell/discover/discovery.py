"""Find the search interfaces of a site: try those of the home page, then of pages around it, then of the rendered home page.

If none returns records, look for lists, downloads, feeds and the sitemap (`without_search`).
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal
from urllib.parse import urljoin, urlsplit

import numpy as np

from upwell.discover import declared, forms, interfaces
from upwell.discover.browser_search import try_in_browser
from upwell.discover.consent_page import ConsentPage, StartPage, click_through, keep_consent
from upwell.discover.link_ranking import has_script_search, is_harmless, is_unfilled, promising_links, search_pages
from upwell.discover.steps import HOW_TO_LOG_IN, Steps, fetch, show_page
from upwell.discover.trial import Accepted, TrialLimits, Trials, items_of_page, open_presets, try_interface
from upwell.discover.walls import ShownWall, challenge_of, login_wall
from upwell.discover.without_search import find_without_search
from upwell.errors import Forbidden, NoSearchForm, Unreachable, Walled
from upwell.page.formats import read_page
from upwell.page.tree import TagTree, read
from upwell.types import BrowserVisit, Form, Request, Response, SearchInterface
from upwell.urls.hosts import is_on_site

__all__ = ["Browser", "Discovery", "TrialLimits", "discover", "open_site"]

Browser = Literal["auto", "never", "always"]
URL_IN_TEXT = re.compile(r"https?://[^\s\"'<>)]+")
MAX_DESCRIPTIONS = 2  # OpenSearch descriptions fetched per page
MAX_RENDERED_PAGES = 3  # pages rendered besides the home page, if nothing else was found
# Routes that show no collection of the site's content.
SETTINGS_ROUTE = re.compile(r"[/#](?:admin|settings?|account|users?|profile|login|config|help|about|compare)\b", re.I)
MAX_PREVIEWS = 12  # pages rendered to see which of them show the most, if there are more
MIN_RICH_ITEMS = 10  # items of an answer from which its interface is not a minor one; not swept
MIN_LINKS = 3  # links on the home page; with fewer its content is probably made by a script
MAX_CLICKS = 3  # clicks from the home page to a page that is tried; a catalogue has collections, and each has its list
OTHER_TEXT_FIELDS = slice(1, 3)  # text fields of a form that are tried if the likeliest finds nothing

# Messages for HTTP statuses of the start page, and names for content that is not a page, by the start of the content type
STATUSES = {
    403: f"the site refuses; does it open in your browser? If only there: {HOW_TO_LOG_IN}, or say who you are with --user-agent and --contact",
    404: "there is no such page; is the address right?",
    407: "the proxy requires a user and a password: --proxy http://user:password@host:port",
    410: "the page was removed permanently; is the address right?",
    429: "the site wants fewer requests: wait, then run the same command with a lower --rate",
    451: "the page is withheld for legal reasons",
    503: "the site is overloaded, under maintenance, or blocks programs: try later with a lower --rate; does it open in your browser?",
}
CONTENT = {
    "application/pdf": "a PDF document",
    "application/json": "JSON data",
    "image/": "a picture",
    "video/": "a video",
    "audio/": "an audio file",
    "application/zip": "a ZIP archive",
    "application/gzip": "a compressed file",
    "application/octet-stream": "a file to download",
    "text/csv": "a table (CSV)",
    "application/rss": "a feed",
    "application/atom": "a feed",
}
PDF_SIGNATURE = b"%PDF-"


@dataclass
class Discovery:
    """Result of the search: the home page, the interfaces that return records (best first), and by-products."""

    home: TagTree
    interfaces: list[SearchInterface] = field(default_factory=list)
    decoys: list[SearchInterface] = field(default_factory=list)  # interfaces that were tried and found nothing new
    opened_pages: list[str] = field(default_factory=list)  # URLs opened besides the home page
    working_words: list[str] = field(default_factory=list)  # words that found records
    nonsense: list[str] = field(default_factory=list)  # nonsense queries that were sent
    out_of_reach: list[str] = field(default_factory=list)  # why interfaces of the site could not be tried
    unused: list[str] = field(default_factory=list)  # what scripts requested and was not used
    pages: list[TagTree] = field(default_factory=list)  # the home page and the pages that were opened
    sitemaps: tuple[str, ...] = ()  # sitemaps named by robots.txt
    consent_pages: tuple[ConsentPage, ...] = ()  # clicked through on the way to the home page
    not_shown: str = ""  # why the page was not rendered in the browser although it should have been
    wall: ShownWall | None = None  # what is shown instead of the site; then there are no interfaces


def discover(
    url: str,
    rng: np.random.Generator,
    browser: Browser = "auto",
    limits: TrialLimits | None = None,
    sitemaps: Callable[[], tuple[str, ...]] = tuple,
) -> Steps[Discovery]:
    """Find all interfaces that return records, best first.

    Without any, return a list, data or the sitemap; without these, the decoys of the home page at half their score. `sitemaps` returns the
    sitemaps named by robots.txt, once the first page was fetched.
    """
    start = yield from open_site(url)
    wall = start.wall or login_wall(start.page, url)
    if wall is not None and wall.is_certain:
        return Discovery(home=start.page, pages=[start.page], consent_pages=start.consent_pages, wall=wall)
    steps = _search_from(start, rng, browser, limits or TrialLimits(), sitemaps)
    discovery = yield from keep_consent(steps, start.consent_pages)
    if not discovery.interfaces:
        discovery.wall = wall or login_wall(discovery.home, url) or _consent_wall(start)
    return discovery


def _consent_wall(start: StartPage) -> ShownWall | None:
    return ShownWall(wall="consent", reason=start.problem) if start.problem else None


def open_site(url: str, *, may_be_data: bool = False) -> Steps[StartPage]:
    """Open the start page of a site behind its consent pages; raise if the URL is an error or, unless `may_be_data`, not a page."""
    response = yield Request(url=url)
    if not isinstance(response, Response):
        raise TypeError("a Request is answered by a Response")
    challenge = challenge_of(response)
    if not may_be_data:
        _check_start_page(response, url, challenge)
    page = read_page(response.body, response.url, response.headers)
    if challenge is not None:
        return StartPage(page=page, wall=challenge)
    return (yield from click_through(page, url))


def _check_start_page(response: Response, url: str, challenge: ShownWall | None) -> None:
    """Raise an error with the cause and a remedy if the start URL does not return a page."""
    status, headers = response.status, response.headers
    if status == 401:
        raise Walled(f"{url} answers 401: {_how_to_authenticate(headers)}", "login")
    if challenge is not None and status >= 400:
        raise Walled(challenge.reason, challenge.wall)
    if status in STATUSES:
        raise Unreachable(f"{url} answers {status}: {STATUSES[status]}")
    if status >= 500:
        raise Unreachable(f"{url} answers {status}: the site is broken at present; try later")
    if status >= 400:
        raise Unreachable(f"{url} answers {status}; is the address right?")
    if status >= 300 and headers.get("Location"):
        raise Unreachable(f"{url} has moved to {headers['Location']}, which is another site; name that one")
    content_type = headers.get("Content-Type", "").partition(";")[0].strip().lower()
    content = next((name for start, name in CONTENT.items() if content_type.startswith(start)), "")
    if response.body.startswith(PDF_SIGNATURE):
        content = CONTENT["application/pdf"]
    if content == "JSON data" or content_type.endswith("+json"):
        host = urlsplit(url).netloc
        raise NoSearchForm(
            f"{url} is JSON data, not a page with a search; if it answers queries, give its URL pattern: --interface 'https://{host}/…?q={{query}}'"
        )
    if content:
        raise NoSearchForm(f"{url} is {content}, not a page with a search; give the page that has the search box")


def _how_to_authenticate(headers: Mapping[str, str]) -> str:
    """Return what a 401 requires (RFC 9110 §11.6.1), and the option for it."""
    challenge = headers.get("Www-Authenticate", "").lower()
    if "basic" in challenge:
        return "it requires a user and a password: --user NAME:PASSWORD (or the variable UPWELL_USER)"
    if "bearer" in challenge:
        return "it requires a token: --token TOKEN (or the variable UPWELL_TOKEN)"
    if challenge:
        return f"it requires an authentication scheme that is not supported ({challenge.split()[0]}); {HOW_TO_LOG_IN}"
    return f"this page requires a login: {HOW_TO_LOG_IN}"


def _search_from(
    start: StartPage,
    rng: np.random.Generator,
    browser: Browser,
    limits: TrialLimits,
    sitemaps: Callable[[], tuple[str, ...]],
) -> Steps[Discovery]:
    """Find the interfaces of a site from its home page."""
    trials = Trials(home=start.page, rng=rng, limits=limits)
    trials.pages.append(start.page)
    trials.left_out += [start.problem] if start.problem else []
    opened: list[str] = []
    if browser != "always":
        yield from _try_page(trials, start.page)
        if not trials.accepted and (browser == "never" or not _is_made_by_script(trials)):
            yield from _try_linked_pages(trials, opened)
    if browser == "always" or (browser == "auto" and not trials.accepted):
        yield from _try_rendered(trials, opened)
        if not trials.accepted and not opened:
            yield from _try_linked_pages(trials, opened)
    working = [accepted.interface for accepted in trials.accepted]
    if not working:
        working = yield from find_without_search(trials, sitemaps())
    if not working and trials.forbidden:
        raise Forbidden(trials.forbidden[-1])
    if not working:
        of_home = [decoy for decoy in trials.decoys if decoy.page in ("", trials.home.url)]
        working = [replace(decoy, score=round(decoy.score / 2, 3)) for decoy in of_home]
    return Discovery(
        home=trials.home,
        interfaces=working,
        decoys=trials.decoys,
        opened_pages=opened,
        working_words=trials.working_words,
        nonsense=trials.nonsense,
        out_of_reach=[
            why for why in dict.fromkeys([*trials.forbidden, *trials.left_out]) if not _is_about_one_of(why, working)
        ],
        unused=list(dict.fromkeys(trials.unused)),
        pages=trials.pages,
        sitemaps=sitemaps(),
        consent_pages=start.consent_pages,
        not_shown="".join(trials.missing[:1]),
    )


def _is_about_one_of(reason: str, working: Iterable[SearchInterface]) -> bool:
    """Return True if a reason is about a search that works: only a request of its trial was not sent."""
    addresses = {interface.url.partition("?")[0] for interface in working}
    return any(url.partition("?")[0] in addresses for url in URL_IN_TEXT.findall(reason))


def _try_page(trials: Trials, page: TagTree, *, is_linked: bool = False) -> Steps[None]:
    """Try the interfaces that a page offers; `is_linked`: the page was reached by a link."""
    offered = list(interfaces.find(page))
    for url in declared.opensearch_links(page)[:MAX_DESCRIPTIONS]:
        if is_on_site(url, trials.home.url):
            document = yield from fetch(Request(url=url))
            if document is not None and document.status == 200:
                offered += declared.opensearch_interfaces(document.body, document.url)
    page_forms = forms.find(page)
    trials.left_out += [
        f"form {form.index} of {page.url} ({form.method} {form.action}) is not used: {_why_not(form)}; "
        f"`upwell harvest {page.url} --form {form.index}` uses it"
        for form in page_forms
        if form.kind == "search" and not forms.may_be_sent(form)
    ]
    tried = 0
    for interface in offered:
        known = [*(accepted.interface for accepted in trials.accepted), *trials.decoys]
        if any(interfaces.same_interface(interface, other) for other in known):
            continue
        if not is_harmless(interfaces.fill(interface, ""), trials.home.url):
            trials.leave_out(interface)
            continue
        if tried >= trials.limits.interfaces:
            break
        tried += 1
        form = _form_of(interface, page_forms, page)
        is_accepted = yield from try_interface(trials, interface, page)
        if form is not None:
            for name in interfaces.text_fields(form)[OTHER_TEXT_FIELDS]:
                other = interfaces.from_form(form, page, name)
                if other is not None and not is_accepted:
                    is_accepted = yield from try_interface(trials, other, page)
            other = interfaces.from_form(form, page, everything_chosen=True)
            if other is not None and not is_accepted and not interfaces.same_interface(interface, other):
                is_accepted = yield from try_interface(trials, other, page)
            if is_accepted and not interface.choices:
                yield from open_presets(trials, form, page)
        if is_accepted and is_linked:
            trials.set_via("link", page.url)


def _why_not(form: Form) -> str:
    return f"“{form.acts[0]}” may change something" if form.acts else "it is posted, and may not be a search"


def _form_of(interface: SearchInterface, page_forms: tuple[Form, ...], page: TagTree) -> Form | None:
    """Return the form of a page that an interface was made from; None if it was declared."""
    if interface.via != "form":
        return None
    search_forms = (form for form in page_forms if forms.may_be_sent(form))
    return next(
        (form for form in search_forms if interfaces.same_interface(interface, interfaces.from_form(form, page))), None
    )


def _try_linked_pages(trials: Trials, opened: list[str]) -> Steps[None]:
    """Try pages a few clicks away, links about searching first; go no deeper once an interface is accepted."""
    waiting = [(not link.is_search, 1, link) for link in promising_links(trials.home) if link.url not in opened]
    known = {*opened, *(link.url for _, _, link in waiting)}
    while waiting and len(opened) < trials.limits.pages:
        waiting.sort(key=lambda link: link[:2])
        _, clicks, opening = waiting.pop(0)
        response = yield from fetch(opening.request)
        opened.append(opening.url)
        if response is None or response.status != 200 or "html" not in response.headers.get("Content-Type", "html"):
            continue
        page = read_page(response.body, response.url, response.headers)
        trials.pages.append(page)
        yield from _try_page(trials, page, is_linked=True)
        if clicks < MAX_CLICKS and not trials.accepted:
            links = [link for link in promising_links(page) if link.url not in known]
            known.update(link.url for link in links)
            waiting += [(not link.is_search, clicks + 1, link) for link in links[: trials.limits.pages]]


def _try_rendered(trials: Trials, opened: list[str]) -> Steps[None]:
    """Try the home page as rendered by the browser, then the pages that its links and routes lead to.

    An interface whose answer shows little may belong to a minor collection, so further pages are tried, and the richest is kept.
    """
    shown = yield from try_in_browser(trials, trials.home.url, _try_page)
    if shown is None:
        return
    trials.home = read(shown.html, url=shown.url)  # the page without JavaScript may be an empty shell
    trials.pages.append(trials.home)
    trials.rendered.append(trials.home)
    if not trials.accepted:
        yield from _try_linked_pages(trials, opened)
    poor: list[Accepted] = []
    has_hash_routes = "#/" in trials.home.url or _has_routes(trials.home)
    if shown.routes and not has_hash_routes:  # a page that is not filled yet does not show how its routes are written
        at_path = yield from fetch(Request(url=urljoin(trials.home.url, shown.routes[0])), trials.forbidden)
        has_hash_routes = at_path is not None and at_path.status == 404
    prefix = "#" if has_hash_routes else ""
    candidates = _pages_to_render(trials, [prefix + route for route in shown.routes])
    if not _is_rich(trials.accepted) and len(candidates) > MAX_RENDERED_PAGES:
        candidates = yield from _fullest(trials, candidates)
    for url in candidates[:MAX_RENDERED_PAGES]:
        if _is_rich(trials.accepted):
            break
        poor, trials.accepted = [*poor, *trials.accepted], []
        yield from try_in_browser(trials, url, _try_page)
    if not _is_rich(trials.accepted):
        trials.accepted = sorted([*poor, *trials.accepted], key=lambda accepted: -len(accepted.items))


def _is_rich(accepted: list[Accepted]) -> bool:
    """Return True if one of the interfaces shows more than a few records for a word."""
    return any(not each.word or len(each.items) >= MIN_RICH_ITEMS for each in accepted)


def _pages_to_render(trials: Trials, routes: Iterable[str]) -> list[str]:
    """Return pages to render: about searching, pages that a script fills, routes that are linked, and routes that only scripts name."""
    home = trials.home.url
    of_scripts = [urljoin(home, route) for route in routes]
    unfilled = [page.url for page in trials.pages if page is not trials.home and is_unfilled(page)]
    linked = search_pages(trials.home)
    search_links = [url for url in linked if "#" not in url]
    others = [url for url in (*linked, *of_scripts) if is_harmless(Request(url=url.replace("#", "")), home)]
    others.sort(key=lambda url: (bool(SETTINGS_ROUTE.search(url)), url.rstrip("/").count("/")))
    return [url for url in dict.fromkeys([*search_links, *unfilled, *others]) if url.rstrip("#/") != home.rstrip("#/")]


def _has_routes(page: TagTree) -> bool:
    return any("#/" in url for _, url in page.links())


def _fullest(trials: Trials, urls: list[str]) -> Steps[list[str]]:
    """Return the pages that show the most that the home page does not, best first; they are rendered without typing anything."""
    known = items_of_page(trials.home)
    shown: dict[str, int] = {}
    for url in urls[:MAX_PREVIEWS]:
        page = yield from show_page(BrowserVisit(url=url), trials.missing)
        if page is not None:
            shown[url] = len(items_of_page(read(page.html, url=page.url)) - known)
    return sorted(shown, key=lambda url: -shown[url])


def _is_made_by_script(trials: Trials) -> bool:
    """Return True if a script seems to do the search: a search box or button outside of forms, static answers, or hardly any links."""
    has_few_links = sum(1 for _ in trials.home.links()) < MIN_LINKS
    return trials.is_static or has_script_search(trials.home, "input", "button") or has_few_links
