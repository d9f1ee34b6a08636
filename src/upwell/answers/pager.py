"""The link to the next page of an answer.

    certain   a link that says "next" (by word, arrow, class or rel) and whose URL counts up; else the next number link, or a rel=next
              in the head, if its URL repeats the search
    likely    a link to older entries that counts up; else the next number link or the rel=next in the head, whatever its URL repeats

Entity has no pager: it asks for one page a query.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Set
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal
from urllib.parse import urldefrag, urlsplit
from weakref import proxy

import numpy as np

from upwell.lexicon.argument_names import PAGE, undecorated
from upwell.lexicon.phrases import ARROW, LAST, MORE, MORE_RESULTS, NEXT, OLDER, PREVIOUS
from upwell.page.links import acts
from upwell.page.path_signatures import SignatureSet
from upwell.page.tree import Ints, TagTree
from upwell.urls.arguments import numbers_in_url, parse_arguments, split_url
from upwell.urls.hosts import leaves_site, site_host

__all__ = [
    "PLAIN_NUMBER",
    "LinkLabel",
    "NextPage",
    "Pager",
    "keeps_arguments",
    "label_of",
    "next_link",
    "next_number",
    "plain_number",
    "repeats_search",
    "step_up",
    "url_of_page",
    "url_score",
    "url_similarity",
]

# --- Number links: which of the numbers that stand side by side leads to the page after the one that is shown.

PLAIN_NUMBER = re.compile(r"\W*(\d{1,3}(?:[.,\u00a0 ]?\d{3})?)\W*")
CURRENT_CLASS = re.compile(r"(?<![a-z])(?:current|selected|active)(?![a-z])", re.I)
MAX_NUMBER_CHARS = 12  # of a number link with what stands around the number


def url_of_page(tree: TagTree) -> str:
    """The URL of the page without fragment: where it was fetched, else the canonical one that it names, else ""."""
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


def plain_number(text: str) -> int | None:
    """The number that a text is, but for signs around it."""
    return _short_number(text) if len(text) <= MAX_NUMBER_CHARS else None


@lru_cache(maxsize=2000)
def _short_number(text: str) -> int | None:
    match = PLAIN_NUMBER.fullmatch(text)
    return int(re.sub(r"\D", "", match[1])) if match else None


def next_number(tree: TagTree, numbered: list[tuple[int, int]]) -> int | None:
    """Of number links (number, row) that stand side by side, the row of the one after the current page."""
    groups: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    container_of: dict[int, int] = {}  # by the row above a link, which most links of a pager share
    for number, row in numbered:
        above = int(tree.parent[row])
        if above not in container_of:
            container_of[above] = _container_of_numbers(tree, above)
        groups[container_of[above]].append((number, row))
    for container, group in groups.items():
        current = _current_number(tree, container, group)
        following = next((row for number, row in group if current is not None and number == current + 1), None)
        if following is not None:
            return following
    return None


def _container_of_numbers(tree: TagTree, container: int) -> int:
    """What holds a number link and its neighbours: the first row above it, from this one on, with more than one child."""
    end = tree.end
    while container > 0 and end[container + 1] == end[container] and tree.chars_of(container) <= MAX_NUMBER_CHARS:
        container = int(tree.parent[container])
    return container


def _current_number(tree: TagTree, container: int, group: list[tuple[int, int]]) -> int | None:
    """The number of the current page: the one that is no link, else the link marked as current, else 1: links begin with 2, 3, or 1 leads here."""
    linked = {number for number, _ in group}
    rows = sorted(row for _, row in group)
    unlinked = []
    texts = slice(int(tree.text_at[container]), int(tree.text_end[container]))
    for text, text_row in zip(tree.chunks[texts], tree.chunk_row[texts].tolist(), strict=True):
        if (number := plain_number(text)) is None:
            continue
        before = bisect_right(rows, text_row) - 1  # no link holds another
        if before < 0 or text_row >= tree.end[rows[before]]:
            unlinked.append(number)
    before_link = [number for number in unlinked if number + 1 in linked and number not in linked]
    if before_link:
        return before_link[0]
    here = url_of_page(tree)
    marked = [number for number, row in group if _is_marked_current(tree, row) or (here and _target(tree, row) == here)]
    if len(marked) == 1:
        return marked[0]
    if unlinked or 2 not in linked:
        return None
    is_first = here and any(number == 1 and _is_first_page(here, _target(tree, row)) for number, row in group)
    return 1 if is_first or (3 in linked and 1 not in linked) else None


def _is_first_page(here: str, there: str) -> bool:
    """Whether an address is that of the page with the argument that turns pages, which the page's own address leaves out.

    >>> _is_first_page("http://x/s?q=a", "http://x/s?q=a&page=1"), _is_first_page("http://x/s?q=a", "http://x/s?q=a&rooms=1")
    (True, False)
    """
    own, other = urlsplit(here), urlsplit(there)
    asked, arguments = ({pair for pair in parse_arguments(parts.query) if pair[1]} for parts in (own, other))
    added = arguments - asked
    return (
        (own.netloc, own.path) == (other.netloc, other.path)
        and asked < arguments
        and len(added) == 1
        and all(PAGE.fullmatch(undecorated(name)) for name, _ in added)
    )


def _target(tree: TagTree, row: int) -> str:
    """Where a link leads, without fragment."""
    return urldefrag(tree.resolve(tree.attr(row, "href")) or "")[0]


def _is_marked_current(tree: TagTree, link: int) -> bool:
    """Whether a number link, or a parent that holds nothing else, is marked as the current page."""
    parent = int(tree.parent[link])
    rows = (link, parent) if tree.chars[parent] == tree.chars[link] else (link,)
    return any(
        tree.attr(row, "aria-current") not in (None, "false") or CURRENT_CLASS.search(tree.attr(row, "class") or "")
        for row in rows
    )


# --- What the text of a link says of where it leads: to the next page, back, to a numbered page, to more, or nothing of the kind.
#
# Most links of an answer stand on other answers, too, so what a text says is remembered from page to page.

LEFT_ARROW = re.compile(r"\s*(?:[←«‹<◀◄❮⟨]|&lt;)")
MAX_KNOWN_TEXTS = 10_000  # that are remembered; those of pager links are short


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkLabel:
    """A text, on one line, and what it says."""

    text: str
    number: int | None  # the number that it is, but for signs around it
    is_number: bool
    is_arrow: bool
    is_left_arrow: bool  # it begins with one
    is_next_word: bool
    is_more: bool
    is_older: bool
    leads_back: bool  # or to the last page
    is_other: bool  # it says something, and nothing of pages


@lru_cache(maxsize=MAX_KNOWN_TEXTS)
def label_of(said: str) -> LinkLabel:
    """What a text says.

    >>> label_of("Next ›").is_next_word, label_of("‹ Previous").leads_back, label_of("[3]").number, label_of("About").is_more
    (True, True, 3, False)
    """
    text = " ".join(said.split())
    is_number, is_arrow = bool(PLAIN_NUMBER.fullmatch(text)), bool(ARROW.fullmatch(text))
    is_left_arrow, is_more = bool(LEFT_ARROW.match(text)), bool(MORE.fullmatch(text))
    is_next_word = bool(text) and not is_arrow and bool(NEXT.fullmatch(text) or MORE_RESULTS.fullmatch(text))
    is_older = bool(OLDER.fullmatch(text))
    leads_back = bool(PREVIOUS.fullmatch(text) or LAST.fullmatch(text))
    return LinkLabel(
        text=text,
        number=plain_number(text),
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


# --- How the URL of a link fits as the next page of the answer that it stands on.

INDEX_FILE = re.compile(r"(?<=/)index\d*\.\w+$", re.I)  # what a folder shows, and its further pages
TEXT_BOXES = ("text", "search")
MAX_POSITION = 100_000_000  # a larger number is a time or an identifier, no position in a list
MAX_KNOWN_PAIRS = 500  # that are remembered: one link is often the next number, the next page and a likely one


def url_score(page_url: str, url: str) -> float:
    """How well a URL fits as the next page of the search that this page shows: the same path, a number counted up."""
    step = step_up(page_url, url)
    return url_similarity(page_url, url) + (1.5 if step == 1 else 1.0 if step > 1 else -1.0 if step == 0 else -2.0)


@lru_cache(maxsize=MAX_KNOWN_PAIRS)
def step_up(page_url: str, url: str) -> int:
    """The smallest increase of a number from one URL to another; a new number counts as 1.

    0 if no number changes, -1 if numbers only go down.
    """
    before, after = numbers_in_url(page_url), numbers_in_url(url)
    changes = [
        1 if place not in before else number - before[place]
        for place, number in after.items()
        if number != before.get(place) and number <= MAX_POSITION
    ]
    increases = [change for change in changes if change > 0]
    return min(increases) if increases else -1 if changes else 0


def keeps_arguments(page_url: str, url: str) -> bool:
    """Whether a URL has all arguments of this page's URL, of which only numbers may change; true if that URL is not known."""
    arguments = parse_arguments(urlsplit(url).query)
    names = {name for name, _ in arguments}
    return all(
        (name, value) in arguments or not value or (value.isdigit() and name in names)
        for name, value in parse_arguments(urlsplit(page_url).query)
    )


@lru_cache(maxsize=MAX_KNOWN_PAIRS)
def url_similarity(page_url: str, url: str) -> float:
    """1 if one path begins with the other, 0.5 if they share a folder or an argument, else -1; numbers are alike."""
    if not page_url:
        return 0.5  # the URL of the page is not known: nothing speaks against it
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


def repeats_search(tree: TagTree, url: str, query: str) -> bool:
    """Whether a URL repeats what was asked: the query, an argument of this page's URL, or the text in one of its text boxes."""
    address = split_url(url, query)
    texts = {value.strip().lower() for _, value in address.arguments if not value.strip().isdigit()}
    texts |= {segment.lower() for segment in address.endpoint.split("/")[1:]}
    texts = {text for text in texts if text and not text.isdigit()}
    asked = [query, *(value for _, value in split_url(tree.url, query).arguments)]
    if any(text.strip().lower() in texts for text in asked):
        return True
    boxes = [row for row in tree.rows("input").tolist() if (tree.attr(row, "type") or "text").lower() in TEXT_BOXES]
    return any((tree.attr(row, "value") or "").strip().lower() in texts for row in boxes)


# --- (main part)

Via = Literal["link", "numbers", "button", "more", "older", "declared"]

# Classes and ids.
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
# Texts.
NEWER = re.compile(r"newer|neuere|plus récents|recientes|recenti|nieuwere|新しい|новые", re.I)
DECORATION = " ←→«»‹›<>|"
BRACKETS = " []()|"

KNOWN_URL_SCORE = 5.0  # a link in any words that leads where the next number or a rel=next in the head leads
NEWER_SCORE = 5.0  # "newer posts →" of a blog is called next though its number goes down
MIN_SCORE = 3.0  # of a certain link; swept
MAX_LABEL_CHARS = 40  # of a pager link
MAX_URLS_PER_TEXT = 2  # one text that leads to more URLs, like a "weiter" at every match, is no pager's
MAX_DECORATION_CHARS = 20  # around a link
MAX_STYLED_ROWS = 40  # rows whose classes are read for one link


@dataclass(frozen=True, slots=True, kw_only=True)
class NextPage:
    """What to send for the next page; `fields` are sent as a form's are (in the URL, or in the body of a POST)."""

    method: Literal["GET", "POST"] = "GET"
    url: str
    fields: tuple[tuple[str, str], ...] = ()
    via: Via = "link"  # what it was found by
    button: str = ""  # the name of the button that was pressed
    charset: str = "utf-8"  # in which the fields are sent
    enctype: str = ""  # as Form.enctype


_Short = tuple[int, str, LinkLabel]  # row, target as it is written, what its text says


class _Link:
    """A link, with what tells whether it leads to the next page."""

    def __init__(self, pager: "Pager", row: int, href: str, label: LinkLabel) -> None:
        self.tree, self.row, self.page_url = pager.tree, row, pager.page_url
        self._pager = proxy(pager)  # or the whole page would wait for the garbage collector
        self.label, self.text, self._href = label, label.text, href

    @cached_property
    def target(self) -> str:
        """Where it leads, without fragment."""
        return _pager_target(self.tree, self._href)

    @cached_property
    def url(self) -> str:
        """Its target; "" if that is this page or another site, or if it acts."""
        url = self.target
        if not url or url == self.page_url or leaves_site(url, self._pager.host):
            return ""
        return "" if acts(url, self.text) else url

    @property
    def has_next_class(self) -> bool:
        """Whether a class or an id of it says "next"."""
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
        """What replaces or explains its text: title and label of the link, alternative texts of its images."""
        tree = self.tree
        labels = [tree.attr(self.row, "title"), tree.attr(self.row, "aria-label")]
        labels += [tree.attr(i, a) for i in self.inner_rows for a in ("alt", "title", "aria-label")]
        return [" ".join(text.split()) for text in labels if text and text.strip()]

    @cached_property
    def classes(self) -> str:
        """Classes and ids of the link, of what is in it, and of the rows around it that hold nothing else."""
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
        """Classes and ids of what is in the link, and the file names of its images."""
        tree = self.tree
        classes = [tree.attr(i, a) or "" for i in self.inner_rows for a in ("class", "id")]
        files = [
            (tree.attr(i, "src") or "").split("?")[0].rsplit("/", 1)[-1]
            for i in self.inner_rows
            if tree.name(i) in ("img", "input")
        ]
        return " ".join(classes + files)


class Pager:
    """What of a page may lead to the next one; each is worked out once."""

    def __init__(self, tree: TagTree) -> None:
        self.tree, self.page_url = tree, url_of_page(tree)
        self.host = site_host(self.page_url)

    def next_link(self, query: str = "") -> NextPage | None:
        """The certain link to the next page, or None."""
        score, link = max(self._scored_links(), key=lambda scored: scored[0], default=(0.0, None))
        number_url = self.next_number_url
        if number_url is not None and not repeats_search(self.tree, number_url, query):
            number_url = None
        # an arrow that leads farther than the next number leads to the last page, or ten pages on
        if link is not None and score >= MIN_SCORE and (number_url is None or step_up(number_url, link.url) <= 0):
            return NextPage(url=link.url)
        if number_url is not None:
            return NextPage(url=number_url, via="numbers")
        if self.declared_url is not None and repeats_search(self.tree, self.declared_url, query):
            return NextPage(url=self.declared_url, via="declared")
        return None

    @cached_property
    def link_rows(self) -> Ints:
        """All links of the page, also those that lead nowhere."""
        return self.tree.rows("a")

    @cached_property
    def likely_link(self) -> NextPage | None:
        """A link that only probably leads on: older entries, the next number, or a rel=next that no visible link repeats."""
        for link in self._links:
            if link.label.is_older and link.url and step_up(self.page_url, link.url) > 0:
                return NextPage(url=link.url, via="older")
        if self.next_number_url is not None:
            return NextPage(url=self.next_number_url, via="numbers")
        return NextPage(url=self.declared_url, via="declared") if self.declared_url else None

    @property
    def _links(self) -> "list[_Link]":
        """The links that may say, by text or attribute, that they lead to the next page."""
        return self._short_links[0]

    @property
    def _others(self) -> "list[_Short]":
        """The links that can only lead there without saying so."""
        return self._short_links[1]

    @cached_property
    def _short_links(self) -> "tuple[list[_Link], list[_Short]]":
        """The links that are short enough to be a pager's."""
        tree, chunks, targets = self.tree, self.tree.chunks, self.tree.attribute_by_row("href")
        links: list[_Link] = []
        others: list[_Short] = []
        rows, rels, has_next_class = tree.rows("a", "area"), self.rels, self.has_next_class
        texts = zip(rows.tolist(), tree.text_at[rows].tolist(), tree.text_end[rows].tolist(), strict=True)
        for row, first, last in texts:
            if not (target := targets.get(row)):
                continue
            text = chunks[first] if last - first == 1 else tree.text_of(first, last)
            if len(text) > MAX_LABEL_CHARS and sum(map(len, chunks[first:last])) > MAX_LABEL_CHARS:
                continue
            label = label_of(text)
            if label.is_other and not has_next_class and row not in rels:
                others.append((row, target, label))
            else:
                links.append(_Link(self, row, target, label))
        return links, others

    @cached_property
    def rels(self) -> dict[int, str]:
        """What rows say of what they lead to."""
        return self.tree.attribute_by_row("rel")

    @cached_property
    def has_next_class(self) -> bool:
        """Whether a class or an id of the page says "next"."""
        return _any_says_next(self.tree.signature_set) or any(
            map(_says_next, self.tree.attribute_by_row("id").values())
        )

    @cached_property
    def declared_url(self) -> str | None:
        """The target of a rel=next in the head."""
        tree = self.tree
        for row in tree.rows("link"):
            if "next" in (tree.attr(row, "rel") or "").lower().split():
                url = tree.resolve(tree.attr(row, "href"))
                if url and urldefrag(url)[0] != self.page_url and not leaves_site(url, self.host) and not acts(url):
                    return urldefrag(url)[0]
        return None

    @cached_property
    def next_number_link(self) -> _Link | None:
        """The number link after the current page."""
        numbered = [(number, link) for link in self._links if (number := link.label.number) is not None]
        row = next_number(self.tree, [(number, link.row) for number, link in numbered])
        return next((link for _, link in numbered if link.row == row), None)

    @cached_property
    def next_number_url(self) -> str | None:
        """The target of the number link after the current page, if it counts up and resembles the page's URL."""
        link = self.next_number_link
        if link is None or not link.url:
            return None
        if step_up(link.page_url, link.url) <= 0 or url_similarity(link.page_url, link.url) <= 0:
            return None
        return link.url

    def _scored_links(self) -> Iterator[tuple[float, _Link]]:
        """The links that say "next", each with its score: what it says, how its URL fits, and whether the head declares it too."""
        number_link = self.next_number_link
        known_urls = {url for url in (self.declared_url, number_link.url if number_link else None) if url}
        unsaid = self._others if known_urls else ()
        others = [_Link(self, *other) for other in unsaid if _pager_target(self.tree, other[1]) in known_urls]
        links = sorted([*self._links, *others], key=lambda link: link.row) if others else self._links
        scored = [(score, link) for link in links if (score := _label_score(link, known_urls)) > 0 and link.url]
        urls_of_text: defaultdict[str, set[str]] = defaultdict(set)
        for _, link in scored:
            urls_of_text[link.text].add(link.url)
        for score, link in scored:
            if len(urls_of_text[link.text]) <= MAX_URLS_PER_TEXT:
                yield score + url_score(self.page_url, link.url) + 1.0 * (link.url == self.declared_url), link


def next_link(tree: TagTree, query: str = "") -> NextPage | None:
    """The certain link to the next page, or None."""
    return Pager(tree).next_link(query)


def _pager_target(tree: TagTree, href: str) -> str:
    """Where a link leads, without fragment."""
    address = tree.resolve(href) or ""
    return urldefrag(address)[0] if "#" in address else address


@lru_cache(maxsize=10_000)
def _says_next(name: str) -> bool:
    return NEXT_CLASS.search(name) is not None


@lru_cache(maxsize=100)
def _any_says_next(signatures: SignatureSet) -> bool:
    return any(map(_says_next, signatures.classes))


def _label_score(link: _Link, known_urls: Set[str]) -> float:
    """How strongly a link says, by text, rel, labels, classes and icons, that it leads to the next page; 0 if it says otherwise.

    Words of any language count where the link leads to one of `known_urls`: where the next number, or a rel=next in the head, leads.
    """
    label, text, rel = link.label, link.text, link.rel
    is_arrow, is_next_word = label.is_arrow, label.is_next_word
    if "prev" in rel or label.leads_back:
        return 0.0
    if label.is_left_arrow and not link.has_next_class:
        return 0.0
    # HTML's own word for it, whatever the text is
    is_rel_next = "next" in rel and keeps_arguments(link.page_url, link.url)
    if label.is_more and not is_next_word and not is_rel_next:
        # reaches MIN_SCORE only if the URL is this one with a number counted up: "More details" may be a title
        return 1.5 * keeps_arguments(link.page_url, link.url)
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
    explained = [text for text in link.labels if not PLAIN_NUMBER.fullmatch(text)]
    has_back_label = any(LAST.fullmatch(text) or PREVIOUS.fullmatch(text) for text in explained)
    has_next_class = link.has_next_class
    has_back_class = bool(BACK_CLASS.search(link.classes)) and not has_next_class
    if (has_back_label or has_back_class) and not is_next_word:
        return 0.0
    # "»" and two arrows may lead to the last page
    is_single_arrow = is_arrow and len(text.strip(BRACKETS)) == 1 and text.strip(BRACKETS) not in "»⟫"
    return (
        3.0 * is_next_word
        + (2.0 if is_single_arrow else 1.5 if is_arrow else 0.0)
        + 3.0 * ("next" in rel)
        + 2.0 * any(NEXT.fullmatch(text) for text in explained)
        + 2.0 * has_next_class
        + 1.5 * bool(RIGHT_ICON.search(link.icons))
    )
