"""Steps: generators that yield the requests they need and receive the responses, so that discovery itself sends nothing.

Their driver owns the network (`upwell.harvest.loop.drive`); a test can answer from a dictionary.
"""

from collections.abc import Generator
from dataclasses import replace
from typing import TypeVar

from upwell.answers.kind import refusal_reason
from upwell.discover import interfaces
from upwell.errors import Forbidden, MissingExtra, Unreachable
from upwell.page.formats import read_page
from upwell.page.tree import TagTree
from upwell.types import BrowserVisit, FormInterface, RenderedPage, Request, Response, SearchInterface

__all__ = ["HOW_TO_LOG_IN", "Steps", "fetch", "is_usable", "show_page", "with_fresh_tokens"]

T = TypeVar("T")
Steps = Generator[Request | BrowserVisit, Response | RenderedPage, T]
HOW_TO_LOG_IN = (
    "log in with --login, or give the cookies of your browser with --cookies FILE"  # part of several messages
)


def fetch(request: Request, forbidden: list[str] | None = None) -> Steps[Response | None]:
    """Return the response to a request, None if there is none; append the reason to `forbidden` if robots.txt forbids it."""
    try:
        response = yield request
    except Forbidden as error:
        if forbidden is not None:
            forbidden.append(str(error))
        return None
    except Unreachable:
        return None
    return replace(response, blocked=refusal_reason(response)) if isinstance(response, Response) else None


def is_usable(response: Response | None) -> bool:
    """Return True if a response can show records: it is neither an error nor a refusal."""
    return response is not None and response.status < 400 and not response.blocked


def show_page(visit: BrowserVisit, missing: list[str] | None = None) -> Steps[RenderedPage | None]:
    """Return a page as the browser shows it, None if it cannot; append to `missing` what is not installed."""
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
    """Return the interface with valid tokens: those of the last answer `tree`, else of the form's page, fetched again."""
    if not isinstance(interface, FormInterface) or not interface.tokens:
        return interface
    renewed = interfaces.with_tokens_of(tree, interface) if tree is not None else None
    if renewed is None and interface.page:
        page = yield from fetch(Request(url=interface.page))
        if page is not None:
            renewed = interfaces.with_tokens_of(read_page(page.body, page.url, page.headers), interface)
    return renewed or interface
