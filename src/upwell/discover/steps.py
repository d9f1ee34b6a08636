"""Whether a harvest can begin with what the start address answers; if not, what that is and what a person can do."""

from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import TypeVar
from urllib.parse import urlsplit

from upwell.answers.kind import refusal
from upwell.discover import interfaces
from upwell.errors import Forbidden, MissingExtra, NoSearchForm, Unreachable
from upwell.page.formats import read_page
from upwell.page.tree import TagTree
from upwell.types import BrowserVisit, FormInterface, RenderedPage, Request, Response, SearchInterface

__all__ = ["HOW_TO_LOG_IN", "Steps", "check_start_page", "fetch", "show_page", "with_fresh_tokens"]

# --- The search for interfaces as generators: they yield what they want to see and are sent what came.
#
# No request is sent here. Whoever drives a generator owns the network (`loop.drive`), and a test can answer from a dictionary.

T = TypeVar("T")
Steps = Generator[Request | BrowserVisit, Response | RenderedPage, T]


def fetch(request: Request, forbidden: list[str] | None = None) -> Steps[Response | None]:
    """The response to a request, or None where there is none; `forbidden` gets the reason where robots.txt forbids it."""
    try:
        response = yield request
    except Forbidden as error:
        if forbidden is not None:
            forbidden.append(str(error))
        return None
    except Unreachable:
        return None
    return replace(response, blocked=refusal(response)) if isinstance(response, Response) else None


def show_page(visit: BrowserVisit, missing: list[str] | None = None) -> Steps[RenderedPage | None]:
    """What the browser shows, or None where it cannot show the page or is not installed; `missing` gets what is not installed."""
    try:
        page = yield visit
    except MissingExtra as error:
        if missing is not None:
            missing.append(str(error))
        return None
    except (Unreachable, Forbidden):
        return None
    return page if isinstance(page, RenderedPage) else None


def with_fresh_tokens(interface: SearchInterface, tree: TagTree | None) -> Steps[SearchInterface]:
    """The interface with tokens that the site accepts: those of the last answer, else of the form's page, fetched again."""
    if not isinstance(interface, FormInterface) or not interface.tokens:
        return interface
    renewed = interfaces.with_tokens_of(tree, interface) if tree is not None else None
    if renewed is None and interface.page:
        page = yield from fetch(Request(url=interface.page))
        if page is not None:
            renewed = interfaces.with_tokens_of(read_page(page.body, page.url, page.headers), interface)
    return renewed or interface


# --- (main part)

HOW_TO_LOG_IN = "log in with --login, or give the cookies of your browser with --cookies FILE"
STATUSES = {
    403: f"the site refuses; does it open in your browser? If only there: {HOW_TO_LOG_IN}, or say who you are with --user-agent and --contact",
    404: "there is no such page; is the address right?",
    407: "the proxy wants a user and a password: --proxy http://user:password@host:port",
    410: "the page is gone for good; is the address right?",
    429: "the site wants fewer requests: wait, then run the same command with a lower --rate",
    451: "the page is withheld for legal reasons",
    503: "the site is overloaded, under repair, or shuts programs out: try later with a lower --rate; does it open in your browser?",
}
# What an address can bring that is no page, by the beginning of its content type.
CONTENT = {
    "application/pdf": "a PDF document",
    "application/json": "JSON data",
    "image/": "a picture",
    "video/": "a film",
    "audio/": "a sound",
    "application/zip": "a ZIP archive",
    "application/gzip": "a compressed file",
    "application/octet-stream": "a file to download",
    "text/csv": "a table (CSV)",
    "application/rss": "a feed",
    "application/atom": "a feed",
}
PDF_BEGINNING = b"%PDF-"


def check_start_page(response: Response, url: str) -> None:
    """Raises where the start address answers with anything but a page: what it is, and what to do."""
    status, headers = response.status, response.headers
    if status == 401:
        raise Unreachable(f"{url} answers 401: {_who_is_let_in(headers)}")
    if status in STATUSES:
        raise Unreachable(f"{url} answers {status}: {STATUSES[status]}")
    if status >= 500:
        raise Unreachable(f"{url} answers {status}: the site is broken at present; try later")
    if status >= 400:
        raise Unreachable(f"{url} answers {status}; is the address right?")
    if status >= 300 and headers.get("Location"):
        raise Unreachable(f"{url} has moved to {headers['Location']}, which is another site; name that one")
    kind = headers.get("Content-Type", "").partition(";")[0].strip().lower()
    what = next((name for beginning, name in CONTENT.items() if kind.startswith(beginning)), "")
    if response.body.startswith(PDF_BEGINNING):
        what = CONTENT["application/pdf"]
    if what == "JSON data" or kind.endswith("+json"):
        host = urlsplit(url).netloc
        raise NoSearchForm(
            f"{url} is JSON data, not a page with a search form; if it answers queries, give the search interface: --interface 'https://{host}/…?q={{query}}'"
        )
    if what:
        raise NoSearchForm(f"{url} is {what} and no page with a search; name the page that has the search box")


def _who_is_let_in(headers: Mapping[str, str]) -> str:
    """What a 401 asks for (RFC 9110 §11.6.1)."""
    wants = headers.get("Www-Authenticate", "").lower()
    if "basic" in wants:
        return "it wants a user and a password: --user NAME:PASSWORD (or the variable UPWELL_USER)"
    if "bearer" in wants:
        return "it wants a token: --token TOKEN (or the variable UPWELL_TOKEN)"
    if wants:
        return f"it wants a way to log in that Upwell does not know ({wants.split()[0]}); {HOW_TO_LOG_IN}"
    return f"only who is logged in gets this page: {HOW_TO_LOG_IN}"
