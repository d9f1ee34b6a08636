"""Find the link to the next page of an answer.

    certain link   link marked as "next" (by text, arrow, class or rel) whose URL has an increased number; otherwise the next number link,
                   or rel=next in the head, if its URL repeats the search
    likely link    link to older entries whose URL has an increased number; otherwise the next number link or rel=next in the head

Links are scored by their label (`_label_score`) and their URL (`_url_score`). Entity does not follow pagers: it fetches one page per query.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Set
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Literal
from urllib.parse import urldefrag, urlsplit
from weakref import proxy

import numpy as np

from upwell.lexicon.argument_names import PAGE, undecorated
from upwell.lexicon.phrases import ARROW, LAST, MORE, MORE_RESULTS, NEWER, NEXT, OLDER, PREVIOUS
from upwell.page.links import acts, acts_at, link_request
from upwell.page.path_signatures import SignatureSet
from upwell.page.tree import Ints, TagTree
from upwell.types import LinkContext
from upwell.urls.arguments import numbers_in_url, parse_arguments, split_url
from upwell.urls.hosts import leaves_site, site_host

__all__ = ["PAGE_NUMBER", "NextPage", "Pager", "next_link", "next_number_row"]

# Number links: of a row of page numbers, the link to the page after the current one.

PAGE_NUMBER = re.compile(r"\W*(\d{1,3}(?:[.,\u00a0 ]?\d{3})?)\W*")
CURRENT_CLASS = re.compile(r"(?<![a-z])(?:current|selected|active)(?![a-z])", re.I)
MAX_NUMBER_CHARS = 12  # characters of a number link, including brackets and other signs


def _page_url(tree: TagTree) -> str:
    """Return the URL of the page without fragment: the fetched URL, otherwise the canonical URL that it states, otherwise ""."""
    if tree.url:
        return urldefrag(tree.url)[0]
    for row in tree.rows("link", "meta"):
        if (tree.attr(row, "rel") or "").lower() == "canonical" or (
            tree.attr(row, "property") or ""
        ).lower() == "og:url":
            url = tree.attr(row, "href") or tree.attr(row, "content") or ""
            if url.startswith(("http://", "https://")):
                return urldefrag(url)[0]
    return ""


def _page_number(text: str) -> int | None:
    """Return the number of a text that is a number, apart from signs around it."""
    return _parse_page_number(text) if len(text) <= MAX_NUMBER_CHARS else None


@lru_cache(maxsize=2000)
def _parse_page_number(text: str) -> int | None:
    match = PAGE_NUMBER.fullmatch(text)
    return int(re.sub(r"\D", "", match[1])) if match else None


def next_number_row(tree: TagTree, numbered: list[tuple[int, int]]) -> int | None:
    """Return the row of the link to the page after the current one, from number links (number, row)."""
    groups: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    container_of: dict[int, int] = {}  # by the parent of a link, which most links of a pager share
    for number, row in numbered:
        parent = int(tree.parent[row])
        if parent not in container_of:
            container_of[parent] = _container_of_numbers(tree, parent)
        groups[container_of[parent]].append((number, row))
    for container, group in groups.items():
        current = _current_number(tree, container, group)
        following = next((row for number, row in group if current is not None and number == current + 1), None)
        if following is not None:
            return following
    return None


def _container_of_numbers(tree: TagTree, container: int) -> int:
    """Return the row that contains a number link and its siblings: the first ancestor, from `container` on, with several children."""
    end = tree.end
    while container > 0 and end[container + 1] == end[container] and tree.chars_of(container) <= MAX_NUMBER_CHARS:
        container = int(tree.parent[container])
    return container


def _current_number(tree: TagTree, container: int, group: list[tuple[int, int]]) -> int | None:
    """Return the number of the current page.

    It is the number that is not a link, otherwise the link that is marked as current or leads to this page. It is 1 if the links begin
    with 2 and 3, or if link 1 leads to this page.
    """
    linked = {number for number, _ in group}
    rows = sorted(row for _, row in group)
    unlinked = []
    texts = slice(int(tree.text_at[container]), int(tree.text_end[container]))
    for text, text_row in zip(tree.chunks[texts], tree.chunk_row[texts].tolist(), strict=True):
        if (number := _page_number(text)) is None:
            continue
        before = bisect_right(rows, text_row) - 1  # links are not nested
        if before < 0 or text_row >= tree.end[rows[before]]:
            unlinked.append(number)
    before_link = [number for number in unlinked if number + 1 in linked and number not in linked]
    if before_link:
        return before_link[0]
    here = _page_url(tree)
    marked = [
        number
        for number, row in group
        if _is_marked_current(tree, row) or (here and _resolve(tree, tree.attr(row, "href")) == here)
    ]
    if len(marked) == 1:
        return marked[0]
    if unlinked or 2 not in linked:
        return None
    is_first = here and any(
        number == 1 and _is_first_page(here, _resolve(tree, tree.attr(row, "href"))) for number, row in group
    )
    return 1 if is_first or (3 in linked and 1 not in linked) else None


def _is_first_page(here: str, there: str) -> bool:
    """Return True if a URL is that of this page plus a page argument, which the URL of the first page omits.

    >>> _is_first_page("http://x/s?q=a", "http://x/s?q=a&page=1"), _is_first_page("http://x/s?q=a", "http://x/s?q=a&rooms=1")
    (True, False)
    """
    own, other = urlsplit(here), urlsplit(there)
    own_arguments, arguments = ({pair for pair in parse_arguments(parts.query) if pair[1]} for parts in (own, other))
    added = arguments - own_arguments
    return (
        (own.netloc, own.path) == (other.netloc, other.path)
        and own_arguments < arguments
        and len(added) == 1
        and all(PAGE.fullmatch(undecorated(name)) for name, _ in added)
    )


def _resolve(tree: TagTree, href: str | None) -> str:
    """Return the URL of a reference without fragment; "" if it is not an http(s) URL."""
    url = tree.resolve(href) or ""
    return urldefrag(url)[0] if "#" in url else url


def _is_marked_current(tree: TagTree, link: int) -> bool:
    """Return True if a number link, or its parent if that has no other text, is marked as the current page."""
    parent = int(tree.parent[link])
    rows = (link, parent) if tree.chars[parent] == tree.chars[link] else (link,)
    return any(
        tree.attr(row, "aria-current") not in (None, "false") or CURRENT_CLASS.search(tree.attr(row, "class") or "")
        for row in rows
    )


# Labels: the text of a link as far as it concerns paging.

LEFT_ARROW = re.compile(r"\s*(?:[←«‹<◀◄❮⟨]|&lt;)")
MAX_CACHED_LABELS = (
    10_000  # safety limit: most links of an answer occur on other answers too; only short texts are parsed
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _LinkLabel:
    """Text of a link on one line, classified by its meaning for paging."""

    text: str
    number: int | None  # the text as a page number
    is_number: bool
    is_arrow: bool
    is_left_arrow: bool  # begins with an arrow to the left
    is_next_word: bool
    is_more: bool
    is_older: bool
    leads_back: bool  # or to the last page
    is_other: bool  # not empty and none of the above


@lru_cache(maxsize=MAX_CACHED_LABELS)
def _parse_label(raw: str) -> _LinkLabel:
    """Classify the text of a link.

    >>> _parse_label("Next ›").is_next_word, _parse_label("‹ Previous").leads_back, _parse_label("[3]").number
    (True, True, 3)
    """
    text = " ".join(raw.split())
    is_number, is_arrow = bool(PAGE_NUMBER.fullmatch(text)), bool(ARROW.fullmatch(text))
    is_left_arrow, is_more = bool(LEFT_ARROW.match(text)), bool(MORE.fullmatch(text))
    is_next_word = bool(text) and not is_arrow and bool(NEXT.fullmatch(text) or MORE_RESULTS.fullmatch(text))
    is_older = bool(OLDER.fullmatch(text))
    leads_back = bool(PREVIOUS.fullmatch(text) or LAST.fullmatch(text))
    return _LinkLabel(
        text=text,
        number=_page_number(text),
        is_number=is_number,
        is_arrow=is_arrow,
        is_left_arrow=is_left_arrow,
        is_next_word=is_next_word,
        is_more=is_more,
        is_older=is_older,
        leads_back=leads_back,
        is_other=bool(text)
        and not (is_number or is_arrow or is_left_arrow or is_next_word or is_more or is_older or leads_back),
    )


# URLs: how well the target of a link fits as the next page.

INDEX_FILE = re.compile(
    r"(?<=/)index\d*\.\w+$", re.I
)  # default page of a folder: index.html; its next page may be index2.html
TEXT_BOXES = ("text", "search")
MAX_POSITION = 100_000_000  # a larger number is a time or an identifier, not a position in a list
MAX_CACHED_PAIRS = (
    500  # safety limit: cached pairs of URLs: one link is often the next number, the next page and the likely link
)


def _url_score(page_url: str, url: str) -> float:
    """Score a URL as that of the next page: the same path and an increased number are best."""
    increase = _increase(page_url, url)
    by_number = 1.5 if increase == 1 else 1.0 if increase > 1 else -1.0 if increase == 0 else -2.0
    return _url_similarity(page_url, url) + by_number


@lru_cache(maxsize=MAX_CACHED_PAIRS)
def _increase(page_url: str, url: str) -> int:
    """Return the smallest increase of a number from one URL to another; a new number counts as 1.

    0 if no number changes, -1 if numbers only decrease.
    """
    before, after = numbers_in_url(page_url), numbers_in_url(url)
    changes = [
        1 if place not in before else number - before[place]
        for place, number in after.items()
        if number != before.get(place) and number <= MAX_POSITION
    ]
    increases = [change for change in changes if change > 0]
    return min(increases) if increases else -1 if changes else 0


def _keeps_arguments(page_url: str, url: str) -> bool:
    """Return True if a URL has all arguments of the page's URL; numbers may differ. True if the page's URL is unknown."""
    arguments = parse_arguments(urlsplit(url).query)
    names = {name for name, _ in arguments}
    return all(
        (name, value) in arguments or not value or (value.isdigit() and name in names)
        for name, value in parse_arguments(urlsplit(page_url).query)
    )


@lru_cache(maxsize=MAX_CACHED_PAIRS)
def _url_similarity(page_url: str, url: str) -> float:
    """Return 1 if one path is a prefix of the other, 0.5 if they share a folder or an argument, otherwise -1; numbers are ignored."""
    if not page_url:
        return 0.5  # the URL of the page is unknown: no evidence against the link
    here, there = urlsplit(page_url), urlsplit(url)
    here_path, there_path = (
        [re.sub(r"\d+", "#", s) for s in INDEX_FILE.sub("", u.path).strip("/").split("/")] for u in (here, there)
    )
    shorter = min(len(here_path), len(there_path))
    if here_path[:shorter] == there_path[:shorter]:
        return 1.0
    shared = set(parse_arguments(here.query)) & set(parse_arguments(there.query))
    is_same_folder = len(here_path) > 1 and here_path[:-1] == there_path[: len(here_path) - 1]
    return 0.5 if is_same_folder or any(value for _, value in shared) else -1.0


def _repeats_search(tree: TagTree, url: str, query: str) -> bool:
    """Return True if a URL repeats the query, an argument of the page's URL, or the text in one of the page's text boxes."""
    split = split_url(url, query)
    texts = {value.strip().lower() for _, value in split.arguments if not value.strip().isdigit()}
    texts |= {segment.lower() for segment in split.endpoint.split("/")[1:]}
    texts = {text for text in texts if text and not text.isdigit()}
    search_texts = [query, *(value for _, value in split_url(tree.url, query).arguments)]
    if any(text.strip().lower() in texts for text in search_texts):
        return True
    boxes = [row for row in tree.rows("input").tolist() if (tree.attr(row, "type") or "text").lower() in TEXT_BOXES]
    return any((tree.attr(row, "value") or "").strip().lower() in texts for row in boxes)


# The pager of a page.

NextPageVia = Literal["link", "numbers", "button", "more", "older", "declared"]

# Patterns of classes and ids.
NEXT_CLASS = re.compile(
    r"(?<![a-z])(?:next|nxt|following|forward)(?:[-_]?(?:page|posts?|link|button|btn|item|entries|results?))*(?![a-z])|pagenext",
    re.I,
)
BACK_CLASS = re.compile(r"(?<![a-z])(?:prev(?:ious)?|back(?:ward)?|first|last)(?![a-z])|previouspost|lastpage", re.I)
RIGHT_ICON = re.compile(
    r"(?:chevron|arrow|angle|caret|triangle|pager)(?:[-_]?(?:circle|double|big|small))?[-_]?(?:right|next|forward)(?![a-z])|icon-right",
    re.I,
)
DISABLED_CLASS = re.compile(r"(?<![a-z])(?:disabled|inactive)(?![a-z])", re.I)
DECORATION = " ←→«»‹›<>|"
BRACKETS = " []()|"

KNOWN_URL_SCORE = (
    5.0  # label score of a link with any text to the target of the next number link or of rel=next in the head
)
NEWER_SCORE = 5.0  # label score of "newer posts →" on a blog, which is marked as next although its number decreases
MIN_SCORE = 3.0  # total score of a certain link; swept
MAX_LABEL_CHARS = 40  # text of a pager link
MAX_URLS_PER_TEXT = 2  # a text that leads to more URLs, such as "read on" in every record, is not a pager
MAX_DECORATION_CHARS = 20  # signs around a link that do not count as other text of its parent
MAX_STYLED_ROWS = 40  # safety limit: rows whose classes are read for one link


@dataclass(frozen=True, slots=True, kw_only=True)
class NextPage:
    """Request for the next page; `fields` are sent like those of a form (in the URL, or in the body of a POST)."""

    method: Literal["GET", "POST"] = "GET"
    url: str
    fields: tuple[tuple[str, str], ...] = ()
    via: NextPageVia = "link"  # how it was found
    button: str = ""  # name of the button that is pressed
    charset: str = "utf-8"  # charset of the fields
    enctype: str = ""  # as Form.enctype
    context: LinkContext | None = field(default=None, compare=False)  # as Request.context


_ShortLink = tuple[int, str, _LinkLabel]  # row, href, label


class _Link:
    """Link with its evidence for leading to the next page."""

    def __init__(self, pager: "Pager", row: int, href: str, label: _LinkLabel) -> None:
        self.tree, self.row, self.page_url = pager.tree, row, pager.page_url
        self._pager = proxy(pager)  # a reference cycle would keep the whole page until the next garbage collection
        self.label, self.text, self._href = label, label.text, href

    @cached_property
    def target(self) -> str:
        """Target without fragment."""
        return _resolve(self.tree, self._href)

    @cached_property
    def url(self) -> str:
        """Target; "" if it is this page, another site, or a URL that acts."""
        url = self.target
        if not url or url == self.page_url or leaves_site(url, self._pager.host):
            return ""
        return "" if acts_at(self.tree, self.row, url) else url

    @property
    def next_page(self) -> "NextPage":
        """The request that follows the link, with what the page says about it."""
        return NextPage(url=self.url, context=link_request(self.tree, self.row, self.url).context)

    @property
    def has_next_class(self) -> bool:
        """Return True if a class or id of the link means "next"."""
        return self._pager.has_next_class and bool(NEXT_CLASS.search(self.classes))

    @property
    def rel(self) -> list[str]:
        rel = self._pager.rels.get(self.row)
        return rel.lower().split() if rel else []

    @cached_property
    def inner_rows(self) -> list[int]:
        return list(range(self.row + 1, int(self.tree.end[self.row])))

    @cached_property
    def labels(self) -> list[str]:
        """Texts that replace or explain the text of the link: its title and aria-label, alternative texts of its images."""
        tree = self.tree
        labels = [tree.attr(self.row, "title"), tree.attr(self.row, "aria-label")]
        labels += [tree.attr(i, a) for i in self.inner_rows for a in ("alt", "title", "aria-label")]
        return [" ".join(text.split()) for text in labels if text and text.strip()]

    @cached_property
    def classes(self) -> str:
        """Classes and ids of the link, its descendants, and its ancestors without other text or links."""
        rows = [self.row, *self.inner_rows]
        outer, chars = int(self.tree.parent[self.row]), self.tree.chars_of(self.row)
        while (
            outer > 0
            and len(rows) < MAX_STYLED_ROWS
            and self.tree.chars_of(outer) <= chars + MAX_DECORATION_CHARS
            and self.tree.text(outer).strip("\n" + DECORATION) in (self.text.strip(DECORATION), self.text)
        ):
            if self._links_in(outer) > 1:
                break
            rows.append(outer)
            outer = int(self.tree.parent[outer])
        return " ".join(self.tree.attr(i, a) or "" for i in rows for a in ("class", "id"))

    def _links_in(self, row: int) -> int:
        links = self._pager.link_rows
        return int(np.searchsorted(links, self.tree.end[row]) - np.searchsorted(links, row))

    @cached_property
    def icons(self) -> str:
        """Classes and ids of the descendants of the link, and file names of its images."""
        tree = self.tree
        classes = [tree.attr(i, a) or "" for i in self.inner_rows for a in ("class", "id")]
        files = [
            (tree.attr(i, "src") or "").split("?")[0].rsplit("/", 1)[-1]
            for i in self.inner_rows
            if tree.name(i) in ("img", "input")
        ]
        return " ".join(classes + files)


class Pager:
    """Links of a page that may lead to the next page; all properties are computed once, on demand."""

    def __init__(self, tree: TagTree) -> None:
        self.tree, self.page_url = tree, _page_url(tree)
        self.host = site_host(self.page_url)

    def next_link(self, query: str = "") -> NextPage | None:
        """Return the certain link to the next page."""
        score, link = max(self._scored_links(), key=lambda scored: scored[0], default=(0.0, None))
        number_url = self.next_number_url
        if number_url is not None and not _repeats_search(self.tree, number_url, query):
            number_url = None
        # an arrow that leads further than the next number leads to the last page or skips several
        if link is not None and score >= MIN_SCORE and (number_url is None or _increase(number_url, link.url) <= 0):
            return link.next_page
        if number_url is not None:
            return NextPage(url=number_url, via="numbers")
        if self.declared_url is not None and _repeats_search(self.tree, self.declared_url, query):
            return NextPage(url=self.declared_url, via="declared")
        return None

    @cached_property
    def link_rows(self) -> Ints:
        """Rows of all links, including those without a target."""
        return self.tree.rows("a")

    @cached_property
    def likely_link(self) -> NextPage | None:
        """Likely link to the next page: older entries, the next number, or rel=next in the head."""
        for link in self._links:
            if link.label.is_older and link.url and _increase(self.page_url, link.url) > 0:
                return replace(link.next_page, via="older")
        if self.next_number_url is not None:
            return NextPage(url=self.next_number_url, via="numbers")
        return NextPage(url=self.declared_url, via="declared") if self.declared_url else None

    @property
    def _links(self) -> "list[_Link]":
        """Short links whose text or attributes may mark them as next."""
        return self._short_links[0]

    @property
    def _unmarked_links(self) -> "list[_ShortLink]":
        """Other short links."""
        return self._short_links[1]

    @cached_property
    def _short_links(self) -> "tuple[list[_Link], list[_ShortLink]]":
        """Links short enough for a pager: those that may be marked as next, and the others."""
        tree, chunks, hrefs = self.tree, self.tree.chunks, self.tree.attribute_by_row("href")
        links: list[_Link] = []
        unmarked: list[_ShortLink] = []
        rows, rels, has_next_class = tree.rows("a", "area"), self.rels, self.has_next_class
        texts = zip(rows.tolist(), tree.text_at[rows].tolist(), tree.text_end[rows].tolist(), strict=True)
        for row, first, last in texts:
            if not (href := hrefs.get(row)):
                continue
            text = chunks[first] if last - first == 1 else tree.text_of(first, last)
            if len(text) > MAX_LABEL_CHARS and sum(map(len, chunks[first:last])) > MAX_LABEL_CHARS:
                continue
            label = _parse_label(text)
            if label.is_other and not has_next_class and row not in rels:
                unmarked.append((row, href, label))
            else:
                links.append(_Link(self, row, href, label))
        return links, unmarked

    @cached_property
    def rels(self) -> dict[int, str]:
        """Values of the rel attributes, by row."""
        return self.tree.attribute_by_row("rel")

    @cached_property
    def has_next_class(self) -> bool:
        """Return True if any class or id of the page means "next"."""
        return _any_class_is_next(self.tree.signature_set) or any(
            map(_is_next_class, self.tree.attribute_by_row("id").values())
        )

    @cached_property
    def declared_url(self) -> str | None:
        """Target of rel=next in the head."""
        tree = self.tree
        for row in tree.rows("link"):
            if "next" in (tree.attr(row, "rel") or "").lower().split():
                url = tree.resolve(tree.attr(row, "href"))
                if url and urldefrag(url)[0] != self.page_url and not leaves_site(url, self.host) and not acts(url):
                    return urldefrag(url)[0]
        return None

    @cached_property
    def next_number_link(self) -> _Link | None:
        """Number link to the page after the current one."""
        numbered = [(number, link) for link in self._links if (number := link.label.number) is not None]
        row = next_number_row(self.tree, [(number, link.row) for number, link in numbered])
        return next((link for _, link in numbered if link.row == row), None)

    @cached_property
    def next_number_url(self) -> str | None:
        """Target of that link, if it has an increased number and is similar to the page's URL."""
        link = self.next_number_link
        if link is None or not link.url:
            return None
        if _increase(link.page_url, link.url) <= 0 or _url_similarity(link.page_url, link.url) <= 0:
            return None
        return link.url

    def _scored_links(self) -> Iterator[tuple[float, _Link]]:
        """Yield the links with evidence for "next" and their scores: label, URL, and whether the head declares the same target."""
        number_link = self.next_number_link
        known_urls = {url for url in (self.declared_url, number_link.url if number_link else None) if url}
        unmarked = self._unmarked_links if known_urls else ()
        others = [_Link(self, *link) for link in unmarked if _resolve(self.tree, link[1]) in known_urls]
        links = sorted([*self._links, *others], key=lambda link: link.row) if others else self._links
        scored = [(score, link) for link in links if (score := _label_score(link, known_urls)) > 0 and link.url]
        urls_of_text: defaultdict[str, set[str]] = defaultdict(set)
        for _, link in scored:
            urls_of_text[link.text].add(link.url)
        for score, link in scored:
            if len(urls_of_text[link.text]) <= MAX_URLS_PER_TEXT:
                yield score + _url_score(self.page_url, link.url) + 1.0 * (link.url == self.declared_url), link


def next_link(tree: TagTree, query: str = "") -> NextPage | None:
    """Return the certain link to the next page of an answer."""
    return Pager(tree).next_link(query)


@lru_cache(maxsize=10_000)
def _is_next_class(name: str) -> bool:
    return NEXT_CLASS.search(name) is not None


@lru_cache(maxsize=100)
def _any_class_is_next(signatures: SignatureSet) -> bool:
    return any(map(_is_next_class, signatures.classes))


def _label_score(link: _Link, known_urls: Set[str]) -> float:
    """Score the evidence of text, rel, labels, classes and icons that a link leads to the next page; 0 if they contradict it.

    A link to one of `known_urls` (target of the next number link, or of rel=next in the head) scores with a text in any language.
    """
    label, text, rel = link.label, link.text, link.rel
    is_arrow, is_next_word = label.is_arrow, label.is_next_word
    if "prev" in rel or label.leads_back:
        return 0.0
    if label.is_left_arrow and not link.has_next_class:
        return 0.0
    # rel=next counts whatever the text is
    is_rel_next = "next" in rel and _keeps_arguments(link.page_url, link.url)
    if label.is_more and not is_next_word and not is_rel_next:
        # reaches MIN_SCORE only if the URL is that of the page with an increased number: "More details" may be a title
        return 1.5 * _keeps_arguments(link.page_url, link.url)
    if text and not is_arrow and not is_next_word and not label.is_number and not is_rel_next:
        if link.target in known_urls and link.url:
            return KNOWN_URL_SCORE
        if not link.has_next_class:
            return 0.0
        is_newer = bool(NEWER.search(text)) and text[-1] in "→»›>"
        return NEWER_SCORE if is_newer else 2.0
    if text and label.is_number:
        return 3.0 * ("next" in rel)
    if DISABLED_CLASS.search(link.tree.attr(link.row, "class") or ""):
        return 0.0
    labels = [text for text in link.labels if not PAGE_NUMBER.fullmatch(text)]
    has_back_label = any(LAST.fullmatch(text) or PREVIOUS.fullmatch(text) for text in labels)
    has_next_class = link.has_next_class
    has_back_class = bool(BACK_CLASS.search(link.classes)) and not has_next_class
    if (has_back_label or has_back_class) and not is_next_word:
        return 0.0
    # "»" and double arrows may lead to the last page
    is_single_arrow = is_arrow and len(text.strip(BRACKETS)) == 1 and text.strip(BRACKETS) not in "»⟫"
    return (
        3.0 * is_next_word
        + (2.0 if is_single_arrow else 1.5 if is_arrow else 0.0)
        + 3.0 * ("next" in rel)
        + 2.0 * any(NEXT.fullmatch(text) for text in labels)
        + 2.0 * has_next_class
        + 1.5 * bool(RIGHT_ICON.search(link.icons))
    )
