"""The link to the next page of an answer.

    certain   a link that says "next" (by word, arrow, class or rel) and whose URL counts up; else the next number link, or a rel=next
              in the head, if its URL repeats the search
    likely    a link to older entries that counts up; else the next number link or the rel=next in the head, whatever its URL repeats

Entity has no pager: it asks for one page a query.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Set
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal
from urllib.parse import urldefrag
from weakref import proxy

import numpy as np

from upwell.answers.link_labels import LinkLabel, label_of
from upwell.answers.number_links import PLAIN_NUMBER, next_number, url_of_page
from upwell.answers.page_urls import keeps_arguments, repeats_search, step_up, url_score, url_similarity
from upwell.answers.phrases import LAST, NEXT, PREVIOUS
from upwell.page.hosts import leaves_site, site_host
from upwell.page.links import acts
from upwell.page.spot_set import SpotSet
from upwell.page.tree import Ints, TagTree

__all__ = ["NextPage", "Pager", "next_link"]

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
        return _target(self.tree, self._href)

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
        tree, chunks, targets = self.tree, self.tree.chunks, self.tree.having("href")
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
        return self.tree.having("rel")

    @cached_property
    def has_next_class(self) -> bool:
        """Whether a class or an id of the page says "next"."""
        return _any_says_next(self.tree.spot_set) or any(map(_says_next, self.tree.having("id").values()))

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
        others = [_Link(self, *other) for other in unsaid if _target(self.tree, other[1]) in known_urls]
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


def _target(tree: TagTree, href: str) -> str:
    """Where a link leads, without fragment."""
    address = tree.resolve(href) or ""
    return urldefrag(address)[0] if "#" in address else address


@lru_cache(maxsize=10_000)
def _says_next(name: str) -> bool:
    return NEXT_CLASS.search(name) is not None


@lru_cache(maxsize=100)
def _any_says_next(spots: SpotSet) -> bool:
    return any(map(_says_next, spots.classes))


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
