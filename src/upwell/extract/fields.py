"""What a match says: its pieces of text, each with its place, and its links and pictures.

    piece    a run of text at one place of a match; <b> and the like do not part it, <br> and blocks do
    place    where a piece stands below the container, as one number: tags, classes, `itemprop`, the column of a cell
    mark     an element that only marks words inside a text, such as those that were searched for

`columns` gives the places names.
"""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from upwell.extract.cut_candidates import Cut
from upwell.extract.leaves import Leaves, step_of
from upwell.page.spots import BROKEN, FORMATTING, GLUED, Spot, fold, look
from upwell.page.tree import TagTree

__all__ = ["Match", "Page", "Piece", "clean", "headings_of", "read", "told"]

FULL = 2**48 - 1  # places are numbers of 48 bits
MARKING = FORMATTING | {"span"}
TERMS = ("dt", "th")
MOST_KNOWN = 10_000  # units whose places are remembered
# Of a spot: its place, how many rows up the row is whose text it is (for <b> and the like), whether it is in a <dt> or <th>.
Places = dict[Spot | None, tuple[int, int, bool]]
Known = dict[tuple[int, Spot], Places]
LAYOUT = re.compile(
    r"^(?:col|row|cell|left|right|clear\w*|wrap\w*|inner|outer|container|text|even|odd|first|last|active)$"
)


class Piece(NamedTuple):
    """A run of text of a match."""

    place: int
    text: str
    row: int  # where it stands
    term: bool  # it stands in a <dt> or <th>


class Match(NamedTuple):
    """One match of a page: its leaves, and its rows; one that begins with a text of the container has the container's row."""

    first: int
    last: int
    row: int
    begin: int  # of the rows that stand in it …
    end: int


class Page:
    """The matches of one page, read piece by piece; `known` is what was found out of places on other pages of the source."""

    def __init__(self, leaves: Leaves, cut: Cut, marks: Collection[str] = (), known: Known | None = None) -> None:
        tree = leaves.tree
        self.leaves, self.tree, self.cut, self.marks = leaves, tree, cut, frozenset(marks)
        self.parent, self.row_of, self.spot = tree.parent.tolist(), leaves.rows, tree.spot_of
        self.gap = leaves.gaps
        lines = leaves.texts is not tree.chunks  # which may begin or end with white space
        self.texts = [text.strip() for text in leaves.texts] if lines else leaves.texts
        self.unit = cut.unit_row.tolist()
        self.known: Known = {} if known is None else known
        if len(self.known) > MOST_KNOWN:
            self.known.clear()
        self.under: dict[int, Places] = {-1: {None: (0, 0, False)}}  # the places below a unit that was read, by its row

    @cached_property
    def matches(self) -> list[Match]:
        """The matches in document order."""
        cut, end, at = self.cut, self.tree.end, self.leaves.row_start
        found = []
        for first, last in zip(cut.starts.tolist(), cut.ends.tolist(), strict=True):
            unit, after = self.unit[first], self.unit[last - 1]
            row = unit if unit >= 0 else self.row_of[first]
            begin = row if unit >= 0 else max(row, bisect_left(at, first))
            stop = int(end[after]) if after >= 0 else max(begin, bisect_left(at, last))
            found.append(Match(first, last, row, begin, stop))
        return found

    def pieces(self, match: Match) -> list[Piece]:
        """The pieces of a match in document order; marks that no word stands in ("|", "—") are none."""
        found: list[Piece] = []
        texts, gap, unit_of, row_of = self.texts, self.gap, self.unit, self.row_of
        spots, spot = self.tree.spots, self.spot
        often: dict[int, int] = {}
        before = box = direct = -2
        below: Places = {}
        for i in range(match.first, match.last):
            unit, row = unit_of[i], row_of[i]
            if unit != before or unit < 0:
                at = spots[spot[unit]]
                if i == match.first and unit >= 0:
                    # the classes of the first unit are stripes and states: they do not tell columns apart
                    step, nth = fold(at.tag) >> 16, 1
                else:
                    step = _step(at) if unit >= 0 else 1
                    nth = often[step] = often.get(step, 0) + 1
                before, direct = unit, (step * 31 + nth) & FULL
                if unit >= 0:
                    if (direct, at) not in self.known:
                        self.known[direct, at] = {at: (direct, 0, at.tag in TERMS)}
                    below = self.under[unit] = self.known[direct, at]
            if unit >= 0:
                at = spots[spot[row]]
                place, up, term = below.get(at) or self._place(below, at)
                here = row
                while up:
                    here, up = self.parent[here], up - 1
            else:
                place, here, term = direct, -1 - i, False
            text = texts[i]
            if here == box and gap[i] != BROKEN and found:
                last = found[-1]
                found[-1] = Piece(last[0], f"{last[1]}{'' if gap[i] == GLUED else ' '}{text}", last[2], last[3])
            else:
                found.append(Piece(place, text, row, term))
            box = here
        return [piece for piece in found if piece[1][:1].isalnum() or any(map(str.isalnum, piece[1]))]

    def links(self, match: Match) -> list[tuple[int, str]]:
        """Place and target of the links of a match, which must have been read."""
        rows, targets = self._links
        found = []
        for k in range(*_between(rows, match.begin, match.end)):
            unit = rows[k]
            while unit not in self.under:
                unit = self.parent[unit]
            at, below = self.tree.spots[self.spot[rows[k]]], self.under[unit]
            found.append(((below.get(at) or self._place(below, at))[0], targets[k]))
        return found

    def address(self, match: Match, links: Iterable[tuple[int, str]], own: tuple[int, int]) -> str | None:
        """The address of a match's own page: of the n-th link at a place, else of its first link with text, absolute."""
        at = [target for place, target in links if place == own[0]]
        target = at[own[1] - 1] if len(at) >= own[1] else None
        if target is None:
            first = next((i for i in range(match.first, match.last) if self._linked[i]), None)
            row = self.row_of[first] if first is not None else -1
            while row >= 0 and self.tree.name(row) != "a":
                row = self.parent[row]
            target = self.tree.attr(row, "href") if row >= 0 else None
        return self.absolute(target)

    def absolute(self, target: str | None) -> str | None:
        """A reference as an absolute address; the usual ones, from the root of the host, without the whole of RFC 3986."""
        if target and (self._origin or not self.tree.base) and _plain(target):
            return self._origin + target
        return self.tree.resolve(target)

    def image(self, match: Match) -> str | None:
        """The address of the first picture of a match that is no spacer."""
        for k in range(*_between(self._images, match.begin, match.end)):
            found = self.tree.attributes.get(self._images[k]) or {}
            for name in ("src", "data-src", "data-original", "data-lazy-src"):
                if (said := found.get(name)) and not said.startswith("data:"):
                    return self.absolute(said)
        return None

    def marking(self, match: Match) -> Iterator[tuple[str, bool]]:
        """The elements of a match that may be marks, as steps, and whether text of the row above stands right beside each."""
        for i in range(match.first, match.last):
            row = self.row_of[i]
            if self.tree.name(row) in MARKING:
                above = self.parent[row]
                left = i > match.first and self.row_of[i - 1] == above and self.gap[i] != BROKEN
                right = i + 1 < match.last and self.row_of[i + 1] == above and self.gap[i + 1] != BROKEN
                yield step_of(self.tree, row, classes=True), left or right

    @cached_property
    def _origin(self) -> str:
        parts = self.tree.base.split("/", 3)
        return "/".join(parts[:3]) if len(parts) > 2 and parts[0] in ("http:", "https:") and not parts[1] else ""

    @cached_property
    def _linked(self) -> list[bool]:
        return self.leaves.is_linked.tolist()  # type: ignore[no-any-return]

    @cached_property
    def _links(self) -> tuple[list[int], list[str]]:
        attributes = self.tree.attributes
        rows = self.tree.rows("a").tolist()
        first, last = min(match.begin for match in self.matches), max(match.end for match in self.matches)
        inside = rows[slice(*_between(rows, first, last))]
        rows = [row for row in inside if row in attributes and "href" in attributes[row]]
        return rows, [attributes[row]["href"] or "" for row in rows]

    @cached_property
    def _images(self) -> list[int]:
        rows: list[int] = self.tree.rows("img").tolist()
        return rows

    def _clear(self, spot: Spot) -> bool:
        """Whether rows do not part a text: <b> and the like without a class, and marks."""
        if spot.prop is not None:
            return False
        marked = self.marks and ".".join([spot.tag, *look(spot.cls).split()]) in self.marks
        return bool(marked) or (spot.shapes and not spot.cls)

    def _place(self, below: Places, spot: Spot) -> tuple[int, int, bool]:
        """What `below` knows of a spot, found out from what it knows of the spots above."""
        chain: list[Spot] = []
        above: Spot | None = spot
        while above not in below:
            assert above is not None  # noqa: S101 # every chain ends at a spot that is known
            chain.append(above)
            above = above.above
        place, up, term = below[above]
        for here in reversed(chain):
            if self._clear(here):
                up += 1
            else:
                place, up, term = ((place * 31) ^ _step(here)) & FULL, 0, term or here.tag in TERMS
            below[here] = place, up, term
        return place, up, term


def _step(spot: Spot) -> int:
    """A spot without those above as a number: its tag, class and `itemprop`, and for a cell its column."""
    step = spot.step >> 16
    if spot.prop is not None:
        step ^= fold(spot.prop) >> 16
    return step * 127 + spot.column if spot.column else step


def _plain(target: str) -> bool:
    """Whether an address is from the root of the host, and absolute once the host stands before it."""
    return (
        target[0] == "/"
        and target[1:2] != "/"
        and target.isascii()
        and target.isprintable()
        and " " not in target
        and "/." not in target[1:]
    )


def told(tree: TagTree, row: int, unit: int, headings: Sequence[str]) -> str:
    """The name that the page gives to a row of a match: `itemprop`, heading of the column, class; "" where it gives none."""
    for above in (row, *tree.ancestors(row)):
        if above < unit:
            break
        said = tree.attr(above, "itemprop")
        if not said and tree.name(above) == "td" and tree.nth[above] <= len(headings):
            said = headings[tree.nth[above] - 1]
        if not said and above != unit:
            classes = tree.classes[tree.cls[above]].split()
            said = next((c for c in classes if not any(d.isdigit() for d in c) and not LAYOUT.match(c.lower())), None)
        if said:
            return clean(said)
    return ""


def by_tags(tree: TagTree, row: int, unit: int) -> str:
    """A name from where a row stands below a unit."""
    chain = [i for i in (row, *tree.ancestors(row)) if i >= unit]
    steps = [f"{tree.name(i)}{tree.nth[i] if tree.nth[i] > 1 and i != unit else ''}" for i in reversed(chain)]
    return clean("_".join(steps))


def headings_of(tree: TagTree, row: int) -> tuple[str, ...]:
    """The column headings of the table that a row is in; empty where there is none."""
    for above in (row, *tree.ancestors(row)):
        if tree.name(above) == "table":
            for line in tree.rows("tr"):
                if above < line < tree.end[above]:
                    cells = tree.children(int(line))
                    if cells and all(tree.name(cell) == "th" for cell in cells):
                        return tuple(" ".join(tree.text(cell).split()) for cell in cells)
            return ()
    return ()


def read(tree: TagTree, row: int, headings: Sequence[str] = ()) -> tuple[dict[str, str], str | None]:
    """The fields of a match that is known from one page alone, and the address of its first link."""
    found: dict[str, str] = {}
    term = ""
    for chunk in range(int(tree.text_at[row]), int(tree.text_end[row])):
        at, text = int(tree.chunk_row[chunk]), tree.chunks[chunk].strip()
        cell = next(
            (i for i in (at, *tree.ancestors(at)) if i > row and tree.name(i) in ("dt", "th", "dd", "td")), None
        )
        if cell is not None and tree.name(cell) in ("dt", "th"):
            beside = tree.children(int(tree.parent[cell]))
            if any(i > cell and tree.name(i) in ("dd", "td") for i in beside):
                term = text
                continue
        name = clean(term) if term and cell is not None else told(tree, at, row, headings) or by_tags(tree, at, row)
        term = ""
        found[name] = f"{found[name]} {text}" if name in found else text
    return found, next((url for _, url in tree.links(row)), None)


# A text that ends with a date in brackets.
DATED = re.compile(r"(.*\S)\s*\((\d{4}-\d{2}-\d{2}(?:[T ]\d{1,2}:\d{2}(?::\d{2})?)?)\)", re.S)


def dated(found: dict[str, str]) -> dict[str, str]:
    """Fields in which a date in brackets behind a text is a field of its own.

    >>> dated({"title": "On tides (2020-01-31 10:00)"})
    {'title': 'On tides', 'title_date': '2020-01-31 10:00'}
    """
    if ")" not in [text[-1:] for text in found.values()]:
        return found
    apart: dict[str, str] = {}
    for name, text in found.items():
        ends = DATED.fullmatch(text) if text[-1:] == ")" else None
        apart[name] = ends[1] if ends else text
        if ends:
            apart[f"{name}_date"] = ends[2]
    return apart


def clean(name: str) -> str:
    """A name that is good as a column: letters, digits and underscores, and never one of Upwell's own.

    >>> clean("Date (published):"), clean("_id"), clean("—")
    ('date_published', 'id', 'text')
    """
    plain = "".join(c if c.isalnum() else "_" for c in name.lower()).strip("_")
    return re.sub("_+", "_", plain) or "text"


def _between(rows: Sequence[int], first: int, last: int) -> tuple[int, int]:
    return bisect_left(rows, first), bisect_left(rows, last)
