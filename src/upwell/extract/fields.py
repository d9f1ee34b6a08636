"""What a match says: its pieces of text, each with its place, and its links and pictures.

    piece    a run of text at one place of a match; <b> and the like do not part it, <br> and blocks do
    place    where a piece stands below the container, as one number: tags, classes, `itemprop`, the column of a cell
    mark     an element that only marks words inside a text, such as those that were searched for

`columns` gives the places names.
"""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from upwell.extract.leaves import Leaves, fold, look, step_of
from upwell.extract.objects import Cut
from upwell.page.tree import BROKEN, FORMATTING, GLUED, TagTree

__all__ = ["Match", "Page", "Piece", "clean", "headings_of", "read", "told"]

FULL, CLEAR = 2**48 - 1, -1  # places are numbers of 48 bits; what does not part a text leads to no other place
MARKING = FORMATTING | {"span"}
LAYOUT = re.compile(
    r"^(?:col|row|cell|left|right|clear\w*|wrap\w*|inner|outer|container|text|even|odd|first|last|active)$"
)


class Piece(NamedTuple):
    """A run of text of a match."""

    place: int
    text: str
    row: int  # where it stands
    term: bool  # it stands in a <dt> or <th>


@dataclass(frozen=True)
class Match:
    """One match of a page: its leaves, and its rows."""

    first: int
    last: int
    row: int
    end: int


class Page:
    """The matches of one page, read piece by piece; what rows have in common is worked out once."""

    def __init__(self, leaves: Leaves, made: Cut, marks: Collection[str] = ()) -> None:
        tree = leaves.tree
        self.leaves, self.tree, self.made, self.marks = leaves, tree, made, frozenset(marks)
        self.parent, self.row_of = tree.parent.tolist(), leaves.row.tolist()
        self.tag, self.cls = tree.tag.tolist(), tree.cls.tolist()
        self.gap = tree.chunk_gap[leaves.chunk].tolist()
        self.unit = made.below.tolist()
        self.cells = frozenset(i for i, name in enumerate(tree.tags) if name in ("td", "th"))
        self.terms = frozenset(i for i, name in enumerate(tree.tags) if name in ("dt", "th"))
        self.named = {row: said["itemprop"] or "" for row, said in tree.attributes.items() if "itemprop" in said}
        self.steps: dict[tuple[int, int], int] = {}
        self.moves: dict[tuple[int, int, int], int] = {}  # from a place by tag and class to the place below
        # of rows: place, the row whose text it is, whether it is in a <dt> or <th>
        self.places: dict[int, tuple[int, int, bool]] = {-1: (0, -1, False)}

    @cached_property
    def matches(self) -> list[Match]:
        """The matches in document order."""
        made, end = self.made, self.tree.end
        found = []
        for first, last in zip(made.starts.tolist(), made.ends.tolist(), strict=True):
            unit, after = self.unit[first], self.unit[last - 1]
            stop = int(end[after]) if after >= 0 else self.row_of[last - 1] + 1
            found.append(Match(first, last, unit if unit >= 0 else self.row_of[first], stop))
        return found

    def pieces(self, match: Match) -> list[Piece]:
        """The pieces of a match in document order; marks that no word stands in ("|", "—") are none."""
        found: list[Piece] = []
        texts, gap, unit_of, row_of = self.leaves.texts, self.gap, self.unit, self.row_of
        often: dict[int, int] = {}
        places = self.places
        before = box = direct = -2
        for i in range(match.first, match.last):
            unit, row = unit_of[i], row_of[i]
            if unit != before or unit < 0:
                # the classes of the first unit are stripes and states: they do not tell columns apart
                step = 1 if unit < 0 else self.tag[unit] + 2 if i == match.first else self._step(unit)
                nth = often[step] = often.get(step, 0) + 1
                if i == match.first and unit >= 0:
                    step = fold(self.tree.tags[self.tag[unit]]) >> 16
                before, direct = unit, (step * 31 + nth) & FULL
                if unit >= 0:
                    places[unit] = direct, unit, self.tag[unit] in self.terms
            place, here, term = (places.get(row) or self._place(row)) if unit >= 0 else (direct, -1 - i, False)
            text = texts[i].strip()
            if here == box and gap[i] != BROKEN and found:
                last = found[-1]
                found[-1] = last._replace(text=f"{last.text}{'' if gap[i] == GLUED else ' '}{text}")
            else:
                found.append(Piece(place, text, row, term))
            box = here
        return [piece for piece in found if piece.text[:1].isalnum() or any(map(str.isalnum, piece.text))]

    def links(self, match: Match) -> Iterator[tuple[int, str]]:
        """Place and target of the links of a match, which must have been read."""
        rows, targets = self._links
        for k in range(*_between(rows, match.row, match.end)):
            yield (self.places.get(rows[k]) or self._place(rows[k]))[0], targets[k]

    def address(self, match: Match, links: Iterable[tuple[int, str]], own: tuple[int, int]) -> str | None:
        """The address of a match's own page: of the n-th link at a place, else of its first link with text, absolute."""
        at = [target for place, target in links if place == own[0]]
        target = at[own[1] - 1] if len(at) >= own[1] else None
        if target is None and self._links[0]:
            first = next((i for i in range(match.first, match.last) if self.leaves.linked[i]), None)
            row = self.row_of[first] if first is not None else -1
            while row >= 0 and self.tree.tags[self.tag[row]] != "a":
                row = self.parent[row]
            target = self.tree.attr(row, "href") if row >= 0 else None
        return self.absolute(target)

    def absolute(self, target: str | None) -> str | None:
        """A reference as an absolute address; the usual ones, from the root of the host, without the whole of RFC 3986."""
        if target and (self._origin or not self.tree.base) and PLAIN.fullmatch(target):
            return self._origin + target
        return self.tree.resolve(target)

    def image(self, match: Match) -> str | None:
        """The address of the first picture of a match that is no spacer."""
        for k in range(*_between(self._images, match.row, match.end)):
            found = self.tree.attributes.get(self._images[k]) or {}
            for name in ("src", "data-src", "data-original", "data-lazy-src"):
                if (said := found.get(name)) and not said.startswith("data:"):
                    return self.absolute(said)
        return None

    def marking(self, match: Match) -> Iterator[tuple[str, bool]]:
        """The elements of a match that may be marks, as steps, and whether text of the row above stands right beside each."""
        for i in range(match.first, match.last):
            row = self.row_of[i]
            if self.tree.tags[self.tag[row]] in MARKING:
                above = self.parent[row]
                left = i > match.first and self.row_of[i - 1] == above and self.gap[i] != BROKEN
                right = i + 1 < match.last and self.row_of[i + 1] == above and self.gap[i + 1] != BROKEN
                yield step_of(self.tree, row, classes=True), left or right

    @cached_property
    def _origin(self) -> str:
        parts = self.tree.base.split("/", 3)
        return "/".join(parts[:3]) if len(parts) > 2 and parts[0] in ("http:", "https:") and not parts[1] else ""

    @cached_property
    def _links(self) -> tuple[list[int], list[str]]:
        found = [(row, self.tree.attributes.get(row)) for row in self.tree.rows("a").tolist()]
        held = [(row, said["href"] or "") for row, said in found if said and "href" in said]
        return [row for row, _ in held], [target for _, target in held]

    @cached_property
    def _images(self) -> list[int]:
        rows: list[int] = self.tree.rows("img").tolist()
        return rows

    @cached_property
    def nth(self) -> list[int]:
        """The place of each row among its siblings of the same tag."""
        found: list[int] = self.tree.nth.tolist()
        return found

    @cached_property
    def _clear(self) -> frozenset[tuple[int, int]]:
        """Tag and class of the rows that do not part a text: <b> and the like without a class, and marks."""
        tree = self.tree
        return frozenset(
            (tag, cls)
            for tag, cls in {*zip(self.tag, self.cls, strict=True)}
            if (not cls and tree.tags[tag] in FORMATTING)
            or (self.marks and ".".join([tree.tags[tag], *look(tree.classes[cls]).split()]) in self.marks)
        )

    def _step(self, row: int) -> int:
        """A row as a number: its tag, class and `itemprop`, and for a cell its column."""
        pair = self.tag[row], self.cls[row]
        step = self.steps.get(pair)
        if step is None:
            classes = look(self.tree.classes[pair[1]])
            step = self.steps[pair] = fold(".".join([self.tree.tags[pair[0]], *classes.split()])) >> 16
        if row in self.named:
            step ^= fold(self.named[row]) >> 16
        return step * 127 + self.nth[row] if pair[0] in self.cells else step

    def _place(self, row: int) -> tuple[int, int, bool]:
        """The place of a row inside a match, the row whose text it is (for <b> and the like the one above), whether it is a term."""
        chain = []
        while row not in self.places:
            chain.append(row)
            row = self.parent[row]
        found = self.places[row]
        tag, cls, moves = self.tag, self.cls, self.moves
        for below in reversed(chain):
            move = found[0], tag[below], cls[below]
            place = moves.get(move)
            if place is None or below in self.named:
                clear = move[1:] in self._clear and below not in self.named
                place = CLEAR if clear else ((move[0] * 31) ^ self._step(below)) & FULL
                if tag[below] not in self.cells and below not in self.named:
                    moves[move] = place
            if place != CLEAR:
                found = place, below, found[2] or tag[below] in self.terms
            self.places[below] = found
        return found


# An address from the root of the host that is absolute once the host stands before it.
PLAIN = re.compile(r"/(?!/)(?:(?!/\.)[!-~])*")


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
    apart: dict[str, str] = {}
    for name, text in found.items():
        ends = DATED.fullmatch(text) if text.endswith(")") else None
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
