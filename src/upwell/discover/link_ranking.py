"""Rank the links of a page by how likely they lead to a search form or a list; links that act are never followed."""

import re
from collections import Counter
from dataclasses import dataclass
from urllib.parse import urldefrag, urlsplit

from upwell.discover import forms
from upwell.discover.forms import SEARCH_WORDS
from upwell.page.links import acts_at, is_page, link_request
from upwell.page.tree import TagTree
from upwell.types import LinkContext, Request
from upwell.urls.acting import acting_evidence, posts_without_search
from upwell.urls.hosts import is_on_site

__all__ = [
    "MAX_OF_ONE_SHAPE",
    "SEARCH_SCORE",
    "RankedLink",
    "has_script_search",
    "is_harmless",
    "is_unfilled",
    "link_shape",
    "promising_links",
    "ranked_links",
    "search_pages",
]

SECTION_OF_RECORDS = re.compile(r"advanced|catalog|katalog|browse|database|collection|archive|records|list", re.I)
SECTION_WITHOUT_RECORDS = re.compile(
    r"help|faq|about|privacy|terms|imprint|legal|contact|cookie|blog/|news/|feed|rss|atom|sitemap|docs?/|special:", re.I
)
ROUTE = re.compile(r"#!?/")  # start of a route: a page that a script shows inside a single-page application
CONTAINERS = ("tbody", "ul", "ol", "main")  # elements that are empty only until a script fills them
CONTAINER_MARK = re.compile(r"\b(?:root|app|grid|list|table|results?|hits|items|content|data\w*|__next|__nuxt)\b", re.I)
DESCRIBING_ATTRIBUTES = ("id", "class", "name", "placeholder", "aria-label", "title")  # of a control: its purpose
SEARCH_SCORE = 4.0  # score of a search word in the text or path of a link
MAX_OF_ONE_SHAPE = 3  # links kept per URL shape; a menu has several of one shape, a list of records has hundreds


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedLink:
    """Link with a score: how likely it leads to a search form."""

    url: str
    is_search: bool  # its text or path contains a search word
    score: float
    context: LinkContext | None = None  # what the page says about it, if that has an acting word

    @property
    def request(self) -> Request:
        """Return the request that opens the link."""
        return Request(url=self.url, reuses=True, context=self.context)


def is_harmless(request: Request, home: str) -> bool:
    """Return True if a request may be sent to try an interface: it is on the site, and nothing in it acts."""
    return is_on_site(request.url, home) and not acting_evidence(request) and not posts_without_search(request)


def promising_links(page: TagTree) -> tuple[RankedLink, ...]:
    """Return the links worth opening to find a search form, best first, only a few per URL shape."""
    shapes: Counter[tuple[object, ...]] = Counter()
    kept = []
    for link in ranked_links(page):
        shapes[link_shape(link.url)] += 1
        if shapes[link_shape(link.url)] <= MAX_OF_ONE_SHAPE:
            kept.append(link)
    return tuple(kept)


def ranked_links(page: TagTree) -> list[RankedLink]:
    """Return the links of a page that may be opened, best first.

    Links with a search word come first, then sections: few arguments, a short path, outside of the footer.
    """
    best: dict[str, RankedLink] = {}
    acting: set[str] = set()  # URLs that act by one of their links, whatever the others say
    known: set[tuple[str, str, int]] = set()  # URL, text and place of the links seen
    for row, target in page.links():
        url = urldefrag(target)[0]
        text = " ".join([page.text(row), page.attr(row, "title") or "", page.attr(row, "aria-label") or ""]).strip()
        link = url, text, page.signature_of[row]
        if link in known or not is_on_site(url, page.url) or not is_page(url):
            continue
        known.add(link)
        request = link_request(page, row, url)
        if request.context is not None and acting_evidence(request):
            acting.add(url)
            continue
        if url in (page.url, urldefrag(page.url)[0]):
            continue
        parts = urlsplit(url)
        is_search = bool(SEARCH_WORDS.search(text) or SEARCH_WORDS.search(parts.path))
        score = (
            SEARCH_SCORE * is_search
            + 1.0 * bool(SECTION_OF_RECORDS.search(f"{text} {parts.path}"))
            - 0.5 * len([step for step in parts.path.split("/") if step])
            - 0.5 * len(parts.query) / 20
            - 1.5 * bool(SECTION_WITHOUT_RECORDS.search(f"{parts.path}{text}"))
            - 1.0 * any(page.name(above) == "footer" for above in page.ancestors(row))
        )
        if url not in best or score > best[url].score:
            best[url] = RankedLink(url=url, is_search=is_search, score=score, context=request.context)
    return sorted((link for link in best.values() if link.url not in acting), key=lambda link: -link.score)


def search_pages(page: TagTree) -> list[str]:
    """Return pages to render in the browser: links with a search word, then routes of a single-page application."""
    search_links = [link.url for link in promising_links(page) if link.is_search]
    routes = [
        target
        for row, target in page.links()
        if ROUTE.search(target) and is_on_site(target, page.url) and not acts_at(page, row, target.replace("#", ""))
    ]
    is_search = {route: bool(SEARCH_WORDS.search(route)) for route in dict.fromkeys(routes) if route != page.url}
    return [*search_links, *sorted(is_search, key=lambda route: not is_search[route])]


def has_script_search(page: TagTree, *controls: str) -> bool:
    """Return True if a page has a control about searching that belongs to a script: outside of the forms that may be sent."""
    in_forms = {field.row for form in forms.find(page) if forms.may_be_sent(form) for field in form.fields}
    return any(
        page.attr(row, "type") == "search"
        or forms.SEARCH_WORDS.search(" ".join(page.attr(row, name) or "" for name in DESCRIBING_ATTRIBUTES))
        for row in page.rows(*controls)
        if row not in in_forms and page.attr(row, "type") in (None, "", "text", "search", "button")
    )


def is_unfilled(page: TagTree) -> bool:
    """Return True if a page has a script, and a search box of the script, or a table, list or grid that is empty until the script fills it."""
    if not len(page.rows("script")):
        return False
    if has_script_search(page, "input"):
        return True
    containers = page.rows("table", "tbody", "ul", "ol", "div", "section", "main").tolist()
    return any(
        (
            not any(page.chunks[int(page.text_at[row]) : int(page.text_end[row])])
            and (page.name(row) in CONTAINERS or bool(CONTAINER_MARK.search(_marks(page, row))))
        )
        or (page.name(row) == "table" and not _has_cells(page, row))
        for row in containers
    )


def _marks(page: TagTree, row: int) -> str:
    return " ".join(page.attr(row, name) or "" for name in ("id", "class", "role"))


def _has_cells(page: TagTree, table: int) -> bool:
    return any(page.name(row) == "td" for row in range(table + 1, int(page.end[table])))


def link_shape(url: str) -> tuple[object, ...]:
    """Return a key that is equal for URLs that differ only in argument values or the last path segment."""
    parts = urlsplit(url)
    steps = parts.path.split("/")
    return (parts.netloc, *steps[:-1], len(steps), *re.findall(r"(?:^|[&;])([^=&;]*)", parts.query))
