"""The search for interfaces as generators: they yield what they want to see and are sent what came.

No request is sent here. Whoever drives a generator owns the network (`loop.drive`), and a test can answer from a dictionary.
"""

from collections.abc import Generator
from dataclasses import replace
from typing import TypeVar

from upwell.answers.refusal import refusal
from upwell.errors import Forbidden, MissingExtra, Unreachable
from upwell.model import BrowserVisit, FormInterface, RenderedPage, Request, Response, SearchInterface
from upwell.page.data import read_page
from upwell.page.tree import TagTree
from upwell.site import interfaces

__all__ = ["Steps", "fetch", "show_page", "with_fresh_tokens"]

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
