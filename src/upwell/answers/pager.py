"""The next page of an answer: a link, a button, or the request behind "load more"; whichever way it is said.

    step    what brings the next page: method, address and fields; its `via` says how it was found
    trust   links that say "next" (word, arrow, class, rel) and count up; number links and a rel=next in the head where they repeat
            the search; then buttons; then what is only likely: `more` requests, older entries, numbers or a head alone

DESIGN §4.3 (pager); Entity has none: it asks for one page a query.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal
from urllib.parse import urldefrag, urlsplit

from upwell.answers.phrases import ARROW, LAST, MORE, MORE_RESULTS, NEXT, OLDER, PREVIOUS
from upwell.page.hosts import leaves_site, site_host
from upwell.page.tree import TagTree
from upwell.page.url_arguments import numbers, pairs, split

__all__ = ["PLAIN_NUMBER", "NextPage", "following_number", "next_link", "weak_link"]

Via = Literal["link", "numbers", "button", "more", "older", "declared"]

NEXT_CLASS = re.compile(
    r"(?<![a-z])(?:next|nxt|following|forward)(?:[-_]?(?:page|posts?|link|button|btn|item|entries|results?))*(?![a-z])|pagenext",
    re.I,
)
BACK_CLASS = re.compile(r"(?<![a-z])(?:prev(?:ious)?|back(?:ward)?|first|last)(?![a-z])|previouspost|lastpage", re.I)
RIGHT = re.compile(
    r"(?:chevron|arrow|angle|caret|triangle|pager)(?:[-_]?(?:circle|double|big|small))?[-_]?(?:right|next|forward)(?![a-z])|icon-right",
    re.I,
)
OFF = re.compile(r"(?<![a-z])(?:disabled|inactive)(?![a-z])", re.I)
SHOWN = re.compile(r"(?<![a-z])(?:current|selected|active)(?![a-z])", re.I)
PAGER = re.compile(r"pag(?:e|er|es|inat|ing)|navigat|weiter|seiten", re.I)
PLAIN_NUMBER = re.compile(r"\W*(\d{1,3}(?:[.,\u00a0 ]?\d{3})?)\W*")
NEWER = re.compile(r"newer|neuere|plus récents|recientes|recenti|nieuwere|新しい|новые", re.I)
NEWER_ON = 5.0  # "newer posts →" of a blog is called next though its number goes down
ENOUGH = 3.0  # swept
LONGEST = 40  # characters of a pager link
MOST = 2  # addresses that one word may lead to; a "weiter" at every match is no pager
LARGEST = 100_000_000  # what is larger is a time or an identifier, no place in a list


@dataclass(frozen=True, slots=True, kw_only=True)
class NextPage:
    """What to send for the next page; `fields` are sent as a form's are (in the address, or in the body of a POST)."""

    method: Literal["GET", "POST"] = "GET"
    url: str
    fields: tuple[tuple[str, str], ...] = ()
    via: Via = "link"
    button: str = ""  # the name of the button that was pressed
    charset: str = "utf-8"  # in which the fields are sent
    enctype: str = ""  # as Form.enctype


class _Link:
    """One link with what speaks for or against it."""

    def __init__(self, tree: TagTree, row: int, here: str) -> None:
        self.tree, self.row, self.here = tree, row, here

    @cached_property
    def url(self) -> str:
        """Where it leads, without fragment; "" where that is this page or another site."""
        url = urldefrag(self.tree.resolve(self.tree.attr(self.row, "href")) or "")[0]
        return url if url and url != self.here and not leaves_site(url, site_host(self.here)) else ""

    @cached_property
    def text(self) -> str:
        return " ".join(self.tree.text(self.row).split())

    @cached_property
    def rel(self) -> list[str]:
        return (self.tree.attr(self.row, "rel") or "").lower().split()

    @cached_property
    def inner(self) -> list[int]:
        return list(range(self.row + 1, int(self.tree.end[self.row])))

    @cached_property
    def told(self) -> list[str]:
        """What stands for a text: title and label of the link, alternatives of its images."""
        tree = self.tree
        said = [tree.attr(self.row, "title"), tree.attr(self.row, "aria-label")]
        said += [tree.attr(i, a) for i in self.inner for a in ("alt", "title", "aria-label")]
        return [" ".join(text.split()) for text in said if text and text.strip()]

    @cached_property
    def looks(self) -> str:
        """Classes and names of the link, of what it holds, and of what holds only it."""
        rows = [self.row, *self.inner]
        above = int(self.tree.parent[self.row])
        while (
            above > 0
            and len(rows) < 40
            and self.tree.text(above).strip(" \n←→«»‹›<>|") in (self.text.strip(" ←→«»‹›<>|"), self.text)
        ):
            if self._links_in(above) > 1:
                break
            rows.append(above)
            above = int(self.tree.parent[above])
        return " ".join(self.tree.attr(i, a) or "" for i in rows for a in ("class", "id"))

    def _links_in(self, row: int) -> int:
        return sum(1 for i in range(row, int(self.tree.end[row])) if self.tree.name(i) == "a")

    @cached_property
    def icons(self) -> str:
        tree = self.tree
        said = [tree.attr(i, a) or "" for i in self.inner for a in ("class", "id")]
        files = [
            (tree.attr(i, "src") or "").split("?")[0].rsplit("/", 1)[-1]
            for i in self.inner
            if tree.name(i) in ("img", "input")
        ]
        return " ".join(said + files)


def next_link(tree: TagTree, query: str = "") -> NextPage | None:
    """The link to the next page that can be trusted, or None."""
    best = max(_scored(tree), key=lambda found: found[0], default=None)
    numbered = _numbered(tree)
    if numbered is not None and not _repeats_search(tree, numbered, query):
        numbered = None
    # an arrow that leads farther than the next number does leads to the last page, or to the next ten
    if best is not None and best[0] >= ENOUGH and (numbered is None or _counted(numbered, best[1].url) <= 0):
        return NextPage(url=best[1].url)
    if numbered is not None:
        return NextPage(url=numbered, via="numbers")
    declared = _declared(tree)
    if declared is not None and _repeats_search(tree, declared, query):
        return NextPage(url=declared, via="declared")
    return None


def weak_link(tree: TagTree) -> NextPage | None:
    """A link that is only likely to lead on: older entries, numbers alone, or a rel=next that no visible link repeats."""
    for link in _links(tree):
        if OLDER.fullmatch(link.text) and link.url and _counted(link.here, link.url) > 0:
            return NextPage(url=link.url, via="older")
    numbered = _numbered(tree)
    if numbered is not None:
        return NextPage(url=numbered, via="numbers")
    declared = _declared(tree)
    return NextPage(url=declared, via="declared") if declared else None


def _links(tree: TagTree) -> Iterator[_Link]:
    """The links that are short enough to be a pager's."""
    here = _here(tree)
    for row in map(int, tree.rows("a", "area")):
        if tree.chars[row] <= LONGEST and tree.attr(row, "href"):
            yield _Link(tree, row, here)


def _here(tree: TagTree) -> str:
    """The address of the page; what the page itself says of it where nobody else does; "" where nobody knows."""
    if tree.url:
        return urldefrag(tree.url)[0]
    for row in tree.rows("link", "meta"):
        if (tree.attr(row, "rel") or "").lower() == "canonical" or (
            tree.attr(row, "property") or ""
        ).lower() == "og:url":
            said = tree.attr(row, "href") or tree.attr(row, "content") or ""
            if said.startswith(("http://", "https://")):
                return urldefrag(said)[0]
    return ""


def _declared(tree: TagTree) -> str | None:
    for row in tree.rows("link"):
        if "next" in (tree.attr(row, "rel") or "").lower().split():
            address = tree.resolve(tree.attr(row, "href"))
            if address and urldefrag(address)[0] != _here(tree):
                return urldefrag(address)[0]
    return None


def _scored(tree: TagTree) -> Iterator[tuple[float, _Link]]:
    """The links that speak of a next page, with the weight of all that speaks for them."""
    declared, here = _declared(tree), _here(tree)
    found = [(said, link) for link in _links(tree) if (said := _says_next(link)) > 0 and link.url]
    leads: defaultdict[str, set[str]] = defaultdict(set)
    for _, link in found:
        leads[link.text].add(link.url)
    for said, link in found:
        if len(leads[link.text]) <= MOST:
            yield said + _fits(here, link.url) + 1.0 * (link.url == declared), link


def _says_next(link: _Link) -> float:
    """How much a link says that it leads to the next page; 0 where it says otherwise."""
    text, arrow = link.text, ARROW.fullmatch(link.text)
    worded = bool(text) and not arrow and bool(NEXT.fullmatch(text) or MORE_RESULTS.fullmatch(text))
    if (
        "prev" in link.rel
        or PREVIOUS.fullmatch(text)
        or LAST.fullmatch(text)
        or re.match(r"\s*(?:[←«‹<◀◄❮⟨]|&lt;)", text)
    ):
        return 0.0
    declared = "next" in link.rel and _carries_on(link.here, link.url)  # HTML's own word, whatever the text is
    if MORE.fullmatch(text) and not worded and not declared:
        # enough only where the address is this one, counted up by one: "More details" may be a title
        return 1.5 * _carries_on(link.here, link.url)
    if text and not arrow and not worded and not PLAIN_NUMBER.fullmatch(text) and not declared:
        # other words: only what is next by its class, and speaks of a list or points on, may be meant
        newer = bool(NEWER.search(text)) and text[-1] in "→»›>"
        if not (newer or OLDER.fullmatch(text)) or not NEXT_CLASS.search(link.looks):
            return 0.0
        return NEWER_ON if newer else 2.0
    if text and PLAIN_NUMBER.fullmatch(text):
        return 3.0 * ("next" in link.rel)
    if OFF.search(link.tree.attr(link.row, "class") or ""):
        return 0.0
    told = [t for t in link.told if not PLAIN_NUMBER.fullmatch(t)]
    if any(LAST.fullmatch(t) or PREVIOUS.fullmatch(t) for t in told) and not worded:
        return 0.0
    looks = link.looks
    back = bool(BACK_CLASS.search(looks)) and not NEXT_CLASS.search(looks)
    if back and not worded:
        return 0.0
    single = arrow and len(text.strip(" []()|")) == 1 and text.strip(" []()|") not in "»⟫"
    return (
        3.0 * worded
        + (2.0 if single else 1.5 if arrow else 0.0)
        + 3.0 * ("next" in link.rel)
        + 2.0 * any(NEXT.fullmatch(t) for t in told)
        + 2.0 * bool(NEXT_CLASS.search(looks))
        + 1.5 * bool(RIGHT.search(link.icons))
    )


def _fits(here: str, there: str) -> float:
    """Whether an address can be the next page of the search that this page shows: the same place, counting up."""
    step = _counted(here, there)
    alike = _alike(here, there)
    return 1.0 * alike + (1.5 if step == 1 else 1.0 if step > 1 else -1.0 if step == 0 else -2.0)


def _counted(here: str, there: str) -> int:
    """By how much a number of the address goes up (1 for the first that appears); 0 where none does, -1 where only some go down."""
    mine, theirs = numbers(here), numbers(there)
    ups = [
        1 if name not in mine else n - mine[name] for name, n in theirs.items() if n != mine.get(name) and n <= LARGEST
    ]
    rising = [up for up in ups if up > 0]
    return min(rising) if rising else -1 if ups else 0


def _carries_on(here: str, there: str) -> bool:
    """Whether an address keeps all that this one says, but for numbers; a page that nobody knows the address of says nothing."""
    kept = pairs(urlsplit(there).query)
    names = {name for name, _ in kept}
    return all(
        pair in kept or not pair[1] or (pair[1].isdigit() and pair[0] in names) for pair in pairs(urlsplit(here).query)
    )


def _alike(here: str, there: str) -> float:
    """1 where two addresses have one place or one argument in common, -1 where they have nothing in common."""
    if not here:
        return 0.5  # nobody knows where we are: nothing speaks against it
    a, b = urlsplit(here), urlsplit(there)
    one, other = (
        [re.sub(r"\d+", "#", s) for s in a.path.strip("/").split("/")],
        [re.sub(r"\d+", "#", s) for s in b.path.strip("/").split("/")],
    )
    if one == other or one[: len(other)] == other or other[: len(one)] == one:
        return 1.0
    shared = set(pairs(a.query)) & set(pairs(b.query))
    if any(value for _, value in shared) or (len(one) > 1 and one[:-1] == other[: len(one) - 1]):
        return 0.5
    return -1.0


def _numbered(tree: TagTree) -> str | None:
    """The number link after the current page, in a row of them."""
    numbered = [(number, link) for link in _links(tree) if (number := _number(link.text)) is not None]
    row = following_number(tree, [(number, link.row) for number, link in numbered])
    link = next((link for _, link in numbered if link.row == row), None)
    if link is None or not link.url or _counted(link.here, link.url) <= 0 or _alike(link.here, link.url) <= 0:
        return None
    return link.url


def _number(text: str) -> int | None:
    found = PLAIN_NUMBER.fullmatch(text) if len(text) <= 12 else None
    return int(re.sub(r"\D", "", found[1])) if found else None


def following_number(tree: TagTree, numbered: list[tuple[int, int]]) -> int | None:
    """Of number links (number, row), the row of the one after the page that is shown, where they stand in a row."""
    groups: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for number, row in numbered:
        groups[_row_of_numbers(tree, row)].append((number, row))
    for holder, group in groups.items():
        current = _current(tree, holder, group)
        found = next((row for number, row in group if current is not None and number == current + 1), None)
        if found is not None:
            return found
    return None


def _row_of_numbers(tree: TagTree, row: int) -> int:
    """What holds a number link and its neighbours: the first row above it with more than one child."""
    above = int(tree.parent[row])
    while above > 0 and tree.fanout[above] < 2 and tree.chars[above] <= 12:
        above = int(tree.parent[above])
    return above


def _current(tree: TagTree, row: int, group: list[tuple[int, int]]) -> int | None:
    """The number of the page that is shown: the one in the row that is no link or is marked, or 1 where the links begin at 2."""
    linked = {number for number, _ in group}
    lone = []
    links = [link for _, link in group]
    for i in range(int(tree.text_at[row]), int(tree.text_end[row])):
        holder = int(tree.chunk_row[i])
        if any(link <= holder < int(tree.end[link]) for link in links):
            continue
        if (number := _number(tree.chunks[i])) is not None:
            lone.append(number)
    between = [n for n in lone if n + 1 in linked and n not in linked]
    if between:
        return between[0]
    marked = [number for number, link in group if _marked(tree, link)]
    if len(marked) == 1:
        return marked[0]
    return 1 if not lone and 2 in linked and 3 in linked and 1 not in linked else None


def _marked(tree: TagTree, link: int) -> bool:
    """Whether a number link says that it is the page shown, or what holds only it does."""
    above = int(tree.parent[link])
    rows = (link, above) if tree.chars[above] == tree.chars[link] else (link,)
    return any(
        tree.attr(row, "aria-current") not in (None, "false") or SHOWN.search(tree.attr(row, "class") or "")
        for row in rows
    )


def _repeats_search(tree: TagTree, url: str, query: str) -> bool:
    """Whether an address carries on what was asked: the query, a word of this address, or what stands in a text box of the page."""
    there = split(url, query)
    said = {value.strip().lower() for _, value in there.arguments if not value.strip().isdigit()}
    said |= {step.lower() for step in there.place.split("/")[1:]}
    asked = {query.strip().lower()} | {value.strip().lower() for _, value in split(tree.url, query).arguments}
    for row in tree.rows("input"):
        if (tree.attr(row, "type") or "text").lower() in ("text", "search"):
            asked.add((tree.attr(row, "value") or "").strip().lower())
    return any(text and not text.isdigit() for text in asked & said)
