"""The texts of a page that shows one thing, each with where it stands and what names it.

    place      where a text stands: the last three steps of tags and classes above it ("div.buying/span/a"), or the id of the element
               that it stands in ("#price"), where several pages have that
    cell       a place that also says which cell of a line of a table it is in ("tbody/tr/td[2]")
    template   the texts that pages of one site share at a cell: labels, and furniture (menus, headings, buttons)
    label      a text of the template that names what follows it, or the begin of a text: "Publisher: Penguin"
    heading    the last text of the template before a text

A label names what stands in its line, or in the next cell or block beside it; not what comes after that.
"""

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from upwell.page.spots import BROKEN, Spot
from upwell.page.tree import TagTree

__all__ = [
    "COLONS",
    "MIN_PROSE_CHARS",
    "Located",
    "Locator",
    "PageTexts",
    "Template",
    "learn_template",
    "places_on",
    "template_alone",
]

MIN_SHARED_PAGES = 0.1  # share of the pages (and at least two) that have a text of the template; not swept
NEARLY_ALL = 0.9  # share of the pages from which on a text is furniture wherever it stands
LABEL_PLACE_SHARE = 0.8  # of the texts at a cell that pages share, where all of them are labels
MAX_TEXTS_FOR_ONE = (
    1.5  # distinct shared texts for each that one page shows: labels come together, values one instead of another
)
MAX_REPEATS = 1.3  # times that a label stands on a page that has it
CONSTANT_SHARE = 0.8  # of the times that a text is followed by one and the same other: it names nothing
VARIED_SHARE = 0.2  # distinct texts that follow a label, for each page that has it
MAX_LABEL_CHARS = 60
MIN_PROSE_CHARS = 150  # of a line of text with pieces that are bold or linked
PROSE_SHARE = 0.5  # of the lines of several pieces at a cell that are so long, where all of them are whole texts
COLONS = (":", "：")
INLINE_LABEL = re.compile(r"\s*([^\W\d_][^:=\n]{0,40}?)\s*(?!(?<=\d):\d)[:=](?!//)\s*(?=\S)")  # "Monday 12:30" has none
NOTHING: frozenset[str] = frozenset()
MAX_KNOWN_SPOTS = 20_000  # whose rules are remembered from page to page
NUMBER = re.compile(r"\d+")


def places_on(tree: TagTree) -> frozenset[str]:
    """The places where a page has texts: pages of one template share most of them."""
    return frozenset(tree.spots[spot].place for spot in set(tree.spot[tree.chunk_row].tolist()))


class PageTexts:
    """A page as the sequence of its texts that have a letter or a digit."""

    def __init__(self, tree: TagTree) -> None:
        self.tree = tree
        self.spot_of_chunk = tree.spot[tree.chunk_row]

    @cached_property
    def ids(self) -> dict[int, str]:
        """The places of chunks whose own row has an id."""
        found = map(self.tree.attributes.get, self.tree.chunk_row.tolist())
        return {chunk: f"#{own['id']}" for chunk, own in enumerate(found) if own and own.get("id")}

    @cached_property
    def numbered_ids(self) -> set[str]:
        """Ids that only differ by a number from another on the page: these say where something stands, not what it is."""
        forms = Counter(NUMBER.sub("0", place) for place in set(self.ids.values()))
        return {place for place in self.ids.values() if forms[NUMBER.sub("0", place)] > 1}

    @cached_property
    def texts(self) -> list[tuple[int, str, str]]:
        """Chunk, cell and text of each."""
        cells = [spot.cell for spot in self.tree.spots]
        rows = zip(range(len(self.tree.chunks)), self.spot_of_chunk.tolist(), self.tree.chunks, strict=True)
        return [(chunk, cells[spot], text) for chunk, spot, text in rows if _says_something(text)]

    @cached_property
    def _breaks(self) -> list[int]:
        """The chunks that begin a line."""
        return [int(chunk) for chunk in np.flatnonzero(self.tree.chunk_gap == BROKEN)]

    def line_end(self, chunk: int) -> int:
        """The chunk that begins the line after that of a chunk."""
        following = bisect_right(self._breaks, chunk)
        return self._breaks[following] if following < len(self._breaks) else len(self.tree.chunks)

    def lines(self) -> Iterator[tuple[int, int]]:
        """The chunks of each line: first … end."""
        return pairwise([0, *self._breaks, len(self.tree.chunks)])

    def scope(self, label: int) -> tuple[int, int]:
        """The chunks that a label (a chunk) may name: first … end."""
        tree, chunks = self.tree, self.tree.chunks
        first = label + 1
        while first < len(chunks) and not _says_something(chunks[first]):
            first += 1
        if first == len(chunks):
            return first, first
        value_row = int(tree.chunk_row[first])
        around = int(tree.chunk_row[label])  # the smallest row that holds label and value
        while not around <= value_row < tree.end[around]:
            around = int(tree.parent[around])
        breaks = self._breaks
        is_in_line = bisect_right(breaks, label) == bisect_right(breaks, first)
        if around == value_row or is_in_line:
            return first, self.line_end(first)
        block = value_row
        while tree.parent[block] != around:
            block = int(tree.parent[block])
        return first, int(tree.text_end[block])


@dataclass(frozen=True)
class Template:
    """What pages of one site share, by cell."""

    labels: Mapping[str, frozenset[str]]
    furniture: Mapping[str, frozenset[str]]
    inline: Mapping[str, frozenset[str]]  # labels that stand at the begin of a text
    ids: frozenset[str]  # places that are ids
    prose: frozenset[str]  # cells whose lines are whole texts, whatever is bold or linked in them

    def as_dict(self) -> dict[str, object]:
        """The template as JSON has it."""
        parts = {"labels": self.labels, "furniture": self.furniture, "inline": self.inline}
        return {name: {cell: sorted(texts) for cell, texts in part.items()} for name, part in parts.items()} | {
            "ids": sorted(self.ids),
            "prose": sorted(self.prose),
        }

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> "Template":
        """The template from its JSON."""
        parts = {
            name: {cell: frozenset(texts) for cell, texts in saved[name].items()}
            for name in ("labels", "furniture", "inline")
        }
        return cls(**parts, ids=frozenset(saved["ids"]), prose=frozenset(saved["prose"]))


class Located(NamedTuple):
    """A text that is not part of the template."""

    chunk: int
    place: str
    text: str
    label: str  # "": none
    heading: str
    label_chunk: int  # where the label stands: its own chunk for a label that begins the text; -1: no label


class _Rule(NamedTuple):
    """What is known of the texts at a spot."""

    place: str
    labels: frozenset[str]
    furniture: frozenset[str]
    inline: frozenset[str]
    prose: str  # the place of the paragraph that it is part of; "": it stands for itself


class Locator:
    """Finds the texts of pages that are not part of the template.

    `wanted` are the places that are read (None: all); at those of `unlabelled` nobody asks for labels, which costs less.
    """

    def __init__(
        self, template: Template, wanted: Collection[str] | None = None, unlabelled: Collection[str] = ()
    ) -> None:
        self.template, self.wanted, self.unlabelled = template, wanted, unlabelled
        self.rules: dict[Spot, _Rule | None] = {}  # None: nothing that counts stands there

    def texts(self, page: PageTexts) -> Iterator[Located]:
        """The texts of a page that are not part of the template, in document order."""
        tree, wanted, known_ids = page.tree, self.wanted, self.template.ids
        chunks, spots = tree.chunks, page.spot_of_chunk.tolist()
        rules = [self.rules[spot] if spot in self.rules else self._rule(spot) for spot in tree.spots]
        ids = {chunk: place for chunk, place in page.ids.items() if place in known_ids} if known_ids else {}
        label, heading, label_chunk, first, end, prose_end = "", "", -1, -1, 0, 0
        for chunk, spot in enumerate(spots):
            rule = rules[spot]
            if chunk < prose_end or (rule is None and chunk not in ids):
                continue
            place, labels, furniture, inline, prose = rule or self._full_rule(tree.spots[spot])
            text = chunks[chunk]
            if text in labels:
                label, heading, label_chunk, end = text, text, chunk, -1
                continue
            if prose and chunk not in ids:
                place, prose_end = prose, page.line_end(chunk)
                text = " ".join(tree.text_of(chunk, prose_end).split())
            else:
                place = ids.get(chunk, place)
            is_furniture = text in furniture
            is_read = wanted is None or place in wanted
            if end < 0 and (is_furniture or (is_read and place not in self.unlabelled)):
                first, end = page.scope(label_chunk)
            if is_furniture:
                heading = text
                if chunk != first:
                    label, end = "", 0
                    continue
            if not is_read or not _says_something(text):
                continue
            found = INLINE_LABEL.match(text) if inline else None
            if found and found[1] in inline:
                yield Located(chunk, place, text, found[1], heading, chunk)
            elif chunk < end:
                yield Located(chunk, place, text, label, heading, label_chunk)
            else:
                yield Located(chunk, place, text, "", heading, -1)

    def _rule(self, spot: Spot) -> _Rule | None:
        if len(self.rules) > MAX_KNOWN_SPOTS:
            self.rules.clear()
        rule = self._full_rule(spot)
        is_used = self.wanted is None or (rule.prose or rule.place) in self.wanted or rule.labels or rule.furniture
        self.rules[spot] = rule if is_used else None
        return self.rules[spot]

    def _full_rule(self, spot: Spot) -> _Rule:
        template, cell = self.template, spot.cell
        block = _block(spot)
        prose = block.place if block.cell in template.prose else ""
        return _Rule(
            spot.place,
            template.labels.get(cell, NOTHING),
            template.furniture.get(cell, NOTHING),
            template.inline.get(cell, NOTHING),
            prose,
        )


def learn_template(pages: Sequence[PageTexts]) -> Template:
    """The texts that pages share: which name what follows, and which are furniture."""
    seen = _Counts(pages)
    min_pages = max(2, MIN_SHARED_PAGES * len(pages))
    labels: defaultdict[str, set[str]] = defaultdict(set)
    furniture: defaultdict[str, set[str]] = defaultdict(set)
    for cell, texts in seen.texts_at.items():
        shared = [text for text in texts if seen.pages[cell, text] >= min_pages]
        shared_times = sum(seen.times[cell, text] for text in shared)
        is_label_place = (
            shared_times >= LABEL_PLACE_SHARE * sum(seen.times[cell, text] for text in texts)
            and len(shared) <= MAX_TEXTS_FOR_ONE * seen.most_on_a_page[cell]
        )
        holds_values = seen.holds_values(cell)
        for text in shared:
            at = cell, text
            is_marked = text.endswith(COLONS)
            is_everywhere = seen.pages[at] >= NEARLY_ALL * len(pages)
            if holds_values and not is_marked:
                continue
            if seen.times[at] > MAX_REPEATS * seen.pages[at] and not is_marked:
                if is_everywhere:
                    furniture[cell].add(text)
            elif is_marked or is_everywhere or (is_label_place and not seen.is_alternative(at, len(pages))):
                is_label = len(text) <= MAX_LABEL_CHARS and any(map(str.isalpha, text)) and seen.names(at, is_marked)
                (labels if is_label else furniture)[cell].add(text)
    inline = Counter((cell, label) for page in pages for cell, label in _inline_labels(page))
    inline_at: defaultdict[str, set[str]] = defaultdict(set)
    for (cell, label), count in inline.items():
        if count >= min_pages:
            inline_at[cell].add(label)
    ids = Counter(place for page in pages for place in set(page.ids.values()))
    numbered = {place for page in pages for place in page.numbered_ids}
    return Template(
        labels=_frozen(labels),
        furniture=_frozen(furniture),
        inline=_frozen(inline_at),
        prose=_prose(pages, labels),
        ids=frozenset(place for place, count in ids.items() if count >= min_pages and place not in numbered),
    )


def _prose(pages: Sequence[PageTexts], labels: Mapping[str, Collection[str]]) -> frozenset[str]:
    """The cells whose lines of several pieces are mostly long: words in them are bold or linked, and are no fields."""
    lines: Counter[str] = Counter()
    long_lines: Counter[str] = Counter()
    for page in pages:
        tree, spots = page.tree, page.spot_of_chunk.tolist()
        for first, end in page.lines():
            if end - first > 1:
                cell = _block(tree.spots[spots[first]]).cell
                has_label = any(tree.chunks[i] in labels.get(tree.spots[spots[i]].cell, ()) for i in range(first, end))
                chars = sum(map(len, tree.chunks[first:end]))
                lines[cell] += 1
                long_lines[cell] += chars >= MIN_PROSE_CHARS and not has_label
    return frozenset(cell for cell, count in long_lines.items() if count >= max(2, PROSE_SHARE * lines[cell]))


def _block(spot: Spot) -> Spot:
    """The nearest spot of a block: what stands in one begins on a line of its own."""
    while spot.edge != BROKEN and spot.above is not None:
        spot = spot.above
    return spot


def template_alone(page: PageTexts, labels: Iterable[tuple[str, str]]) -> Template:
    """The template of a page without others: only its labels are known."""
    at: defaultdict[str, set[str]] = defaultdict(set)
    for cell, text in labels:
        at[cell].add(text)
    inline: defaultdict[str, set[str]] = defaultdict(set)
    for cell, text in _inline_labels(page):
        inline[cell].add(text)
    ids = frozenset(page.ids.values()) - page.numbered_ids
    return Template(labels=_frozen(at), furniture={}, inline=_frozen(inline), ids=ids, prose=NOTHING)


At = tuple[str, str]  # a cell and a text there


class _Counts:
    """How often texts stand on pages, and before and after which others."""

    def __init__(self, pages: Sequence[PageTexts]) -> None:
        self.pages: Counter[At] = Counter()
        self.times: Counter[At] = Counter()
        self.most_on_a_page: Counter[str] = Counter()
        self.before: defaultdict[At, Counter[At]] = defaultdict(Counter)
        self.after: defaultdict[At, Counter[At]] = defaultdict(Counter)
        self.runs: Counter[str] = Counter()  # of texts at one cell
        self.led_runs: Counter[str] = Counter()  # those with a colon before them
        self.texts_at: defaultdict[str, dict[str, None]] = defaultdict(dict)
        for page in pages:
            here = [(cell, text) for _, cell, text in page.texts]
            self.times.update(here)
            self.pages.update(set(here))
            for cell, count in Counter(cell for cell, _ in here).items():
                self.most_on_a_page[cell] = max(self.most_on_a_page[cell], count)
            for cell, text in here:
                self.texts_at[cell][text] = None
            for at, following in pairwise(here):
                if at[0] != following[0]:
                    self.runs[following[0]] += 1
                    self.led_runs[following[0]] += at[1].endswith(COLONS)
                self.after[at][following] += 1
                self.before[following][at] += 1

    def holds_values(self, cell: str) -> bool:
        """Whether most runs of texts at a cell come after a text that ends with a colon."""
        return self.led_runs[cell] > self.runs[cell] / 2

    def is_alternative(self, at: At, pages: int) -> bool:
        """Whether a text is one of several values that follow one and the same label: "Private" or "Public"."""
        if self.pages[at] >= NEARLY_ALL * pages or not self.before[at]:
            return False
        label, count = self.before[at].most_common(1)[0]
        return (
            count >= CONSTANT_SHARE * self.times[at]
            and self.pages[label] >= pages / 2
            and not self._is_constant(label)
            and len(self.after[at]) < self.pages[at] / 2
        )

    def names(self, at: At, is_marked: bool) -> bool:
        """Whether a text may be a label: it ends with a colon, or what follows it varies."""
        varied = len(self.after[at]) >= max(2, VARIED_SHARE * self.pages[at])
        return is_marked or (varied and not self._is_constant(at))

    def _is_constant(self, at: At) -> bool:
        following = self.after[at]
        return not following or following.most_common(1)[0][1] > CONSTANT_SHARE * following.total()


def _inline_labels(page: PageTexts) -> set[At]:
    return {
        (cell, found[1])
        for _, cell, text in page.texts
        if (":" in text or "=" in text) and (found := INLINE_LABEL.match(text))
    }


def _frozen(texts: Mapping[str, set[str]]) -> dict[str, frozenset[str]]:
    return {cell: frozenset(found) for cell, found in sorted(texts.items())}


def _says_something(text: str) -> bool:
    return text[:1].isalnum() or any(map(str.isalnum, text))
