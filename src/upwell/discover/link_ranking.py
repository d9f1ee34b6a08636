"""Which links of a page may lead to a search form, and which are opened first; links that act are never followed."""

import re
from collections import Counter
from dataclasses import dataclass
from urllib.parse import urldefrag, urlsplit

from upwell.discover.forms import SEARCH_WORDS
from upwell.page.links import acts, is_page
from upwell.page.tree import TagTree
from upwell.types import Request
from upwell.urls.acting import acting_words
from upwell.urls.hosts import is_on_site

__all__ = [
    "MAX_OF_ONE_SHAPE",
    "SEARCH_WORTH",
    "PromisingLink",
    "is_harmless",
    "link_shape",
    "promising_links",
    "search_pages",
    "weighed_links",
]

SECTION_OF_RECORDS = re.compile(r"advanced|catalog|katalog|browse|database|collection|archive|records|list", re.I)
SECTION_WITHOUT_RECORDS = re.compile(
    r"help|faq|about|privacy|terms|imprint|legal|contact|cookie|blog/|news/|feed|rss|atom|sitemap|docs?/|special:", re.I
)
ROUTE = re.compile(r"#!?/")  # an address inside a single page that a script shows as a page of its own
SEARCH_WORTH = 4.0  # of a link that speaks of searching
MAX_OF_ONE_SHAPE = 3  # a menu has several sections of one shape of address, a list of records has hundreds


@dataclass(frozen=True, slots=True, kw_only=True)
class PromisingLink:
    """A link worth opening to find a search form."""

    url: str
    is_search: bool  # its text or address speaks of searching
    worth: float


def is_harmless(request: Request, home: str) -> bool:
    """Whether an interface that sends this may be asked: it is on the site, and nothing in it acts."""
    return is_on_site(request.url, home) and not acting_words(request)


def promising_links(page: TagTree) -> tuple[PromisingLink, ...]:
    """Links worth opening to find a search form, best first: of one shape a few are enough."""
    shapes: Counter[tuple[object, ...]] = Counter()
    kept = []
    for link in weighed_links(page):
        shapes[link_shape(link.url)] += 1
        if shapes[link_shape(link.url)] <= MAX_OF_ONE_SHAPE:
            kept.append(link)
    return tuple(kept)


def weighed_links(page: TagTree) -> list[PromisingLink]:
    """The links of a page that may be opened, best first.

    Those that speak of searching come first; then what looks like a section: few arguments, a short path, links of menus
    and main part before those of the footer.
    """
    best: dict[str, PromisingLink] = {}
    for row, address in page.links():
        url = urldefrag(address)[0]
        text = " ".join([page.text(row), page.attr(row, "title") or "", page.attr(row, "aria-label") or ""]).strip()
        if not is_on_site(url, page.url) or acts(url, text) or not is_page(url):
            continue
        if url in (page.url, urldefrag(page.url)[0]):
            continue
        parts = urlsplit(url)
        is_search = bool(SEARCH_WORDS.search(text) or SEARCH_WORDS.search(parts.path))
        worth = (
            SEARCH_WORTH * is_search
            + 1.0 * bool(SECTION_OF_RECORDS.search(f"{text} {parts.path}"))
            - 0.5 * len([step for step in parts.path.split("/") if step])
            - 0.5 * len(parts.query) / 20
            - 1.5 * bool(SECTION_WITHOUT_RECORDS.search(f"{parts.path}{text}"))
            - 1.0 * any(page.name(above) == "footer" for above in page.ancestors(row))
        )
        if url not in best or worth > best[url].worth:
            best[url] = PromisingLink(url=url, is_search=is_search, worth=worth)
    return sorted(best.values(), key=lambda link: -link.worth)


def search_pages(page: TagTree) -> list[str]:
    """Pages to look at in the browser: those whose links speak of searching, then routes behind "#"."""
    speaking = [link.url for link in promising_links(page) if link.is_search]
    routes = [
        target
        for row, target in page.links()
        if ROUTE.search(target) and is_on_site(target, page.url) and not acts(target.replace("#", ""), page.text(row))
    ]
    is_speaking = {route: bool(SEARCH_WORDS.search(route)) for route in dict.fromkeys(routes) if route != page.url}
    return [*speaking, *sorted(is_speaking, key=lambda route: not is_speaking[route])]


def link_shape(url: str) -> tuple[object, ...]:
    """The same for addresses that differ only in the values of arguments or in the last step of the path."""
    parts = urlsplit(url)
    steps = parts.path.split("/")
    return (parts.netloc, *steps[:-1], len(steps), *re.findall(r"(?:^|[&;])([^=&;]*)", parts.query))
