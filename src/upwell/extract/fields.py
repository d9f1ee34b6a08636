"""What a record says: its pieces of text, each with its place, and its links and pictures.

    piece    a run of text at one place of a record; <b> and the like do not divide it, <br> and blocks do
    place    where a piece stands below the container, as one number: tags, classes, `itemprop`, the column of a cell
    mark     an element that only marks words inside a text, such as those that were searched for

`columns` gives the places names.
"""

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from upwell.extract.column_names import column_name, name_from_tags, name_on_page
from upwell.extract.cut_candidates import Cut
from upwell.extract.leaves import Leaves, step_of
from upwell.page.spots import BROKEN, FORMATTING, GLUED, Spot, look
from upwell.page.tree import Ints, TagTree

__all__ = ["Piece", "Places", "RecordRange", "RecordReader", "fields_of_subtree", "split_trailing_dates"]

PLACE_MASK = 2**48 - 1  # places are numbers of 48 bits
MARK_TAGS = FORMATTING | {"span"}
TERM_TAGS = ("dt", "th")  # their text names what follows
MAX_KNOWN_UNITS = 10_000  # units whose places are remembered


class PlaceInfo(NamedTuple):
    """What is known of a spot below a unit."""

    place: int
    levels_up: int  # to the row whose text it is part of: 0, or more for <b> and the like
    is_term: bool  # it stands in a <dt> or <th>


UnitPlaces = dict[Spot | None, PlaceInfo]
Places = dict[tuple[int, Spot], UnitPlaces]  # by the place and the spot of a unit


class Piece(NamedTuple):
    """A run of text of a record."""

    place: int
    text: str
    row: int  # where it stands
    is_term: bool  # it stands in a <dt> or <th>


class RecordRange(NamedTuple):
    """Where one record of a page stands: leaves first … last, and rows begin … end."""

    first: int
    last: int
    row: int  # of its first unit; a record that begins with a text of the container has the container's row
    begin: int
    end: int


class RecordReader:
    """Reads the records of one page piece by piece.

    `places` is what was found out about places on other pages of the source; it grows while pages are read.
    """

    def __init__(self, leaves: Leaves, cut: Cut, marks: Collection[str] = (), places: Places | None = None) -> None:
        self.leaves, self.tree, self.cut, self.marks = leaves, leaves.tree, cut, frozenset(marks)
        self.texts = leaves.stripped
        self.places: Places = {} if places is None else places
        if len(self.places) > MAX_KNOWN_UNITS:
            self.places.clear()
        # the places below each unit that was read, by the unit's row; -1: a text of the container
        self.places_below: dict[int, UnitPlaces] = {-1: {None: PlaceInfo(0, 0, False)}}

    # Columns as lists: the compiled parts do without them.

    @cached_property
    def parent(self) -> list[int]:
        """Of each row."""
        return self.tree.parent.tolist()  # type: ignore[no-any-return] # numpy types it as Any

    @cached_property
    def unit_row(self) -> list[int]:
        """Of each leaf."""
        return self.cut.unit_row.tolist()  # type: ignore[no-any-return] # numpy types it as Any

    @cached_property
    def leaf_end(self) -> list[int]:
        """Of each row."""
        return self.leaves.row_end.tolist()  # type: ignore[no-any-return] # numpy types it as Any

    @property
    def row_of(self) -> list[int]:
        """Of each leaf."""
        return self.leaves.rows

    @property
    def gap(self) -> list[int]:
        """Of each leaf."""
        return self.leaves.gaps

    @property
    def spot(self) -> list[int]:
        """Of each row."""
        return self.tree.spot_of

    @property
    def row_end(self) -> list[int]:
        """Of each row."""
        return self.tree.end_of

    @cached_property
    def records(self) -> list[RecordRange]:
        """The records in document order."""
        cut, row_end, leaf_start = self.cut, self.row_end, self.leaves.row_start
        ranges = []
        for first, last in zip(cut.starts.tolist(), cut.ends.tolist(), strict=True):
            first_unit, last_unit = self.unit_row[first], self.unit_row[last - 1]
            row = first_unit if first_unit >= 0 else self.row_of[first]
            begin = row if first_unit >= 0 else max(row, bisect_left(leaf_start, first))
            end = row_end[last_unit] if last_unit >= 0 else max(begin, bisect_left(leaf_start, last))
            ranges.append(RecordRange(first, last, row, begin, end))
        return ranges

    def pieces(self, record: RecordRange) -> list[Piece]:
        """The pieces of a record in document order, without those that have no letter and no digit ("|", "—")."""
        pieces: list[Piece] = []
        units_with_step: dict[int, int] = {}
        leaf = record.first
        while leaf < record.last:
            unit = self.unit_row[leaf]
            place = self._place_of_unit(unit, units_with_step, is_first=leaf == record.first)
            if unit >= 0:
                end = min(record.last, self.leaf_end[unit])
                self._add_pieces(pieces, leaf, end, self.places_below[unit])
                leaf = end
                continue
            if _says_something(text := self.texts[leaf]):
                pieces.append(Piece(place, text, self.row_of[leaf], False))
            leaf += 1
        return pieces

    def _place_of_unit(self, unit: int, units_with_step: dict[int, int], *, is_first: bool) -> int:
        """The place of a unit of a record (-1: a text of the container); what is known of the places below it is looked up."""
        spot = self.tree.spots[self.spot[unit]]
        if is_first and unit >= 0:
            # the classes of the first unit are stripes and states: they do not distinguish columns
            step, nth = spot.tag_step, 1
        else:
            step = spot.place_step if unit >= 0 else 1
            nth = units_with_step[step] = units_with_step.get(step, 0) + 1
        place = (step * 31 + nth) & PLACE_MASK
        if unit >= 0:
            self.places_below[unit] = self.places.get((place, spot)) or self.new_unit(place, spot)
        return place

    def new_unit(self, place: int, spot: Spot) -> UnitPlaces:
        """What is known of a unit that was not met before."""
        below: UnitPlaces = {spot: PlaceInfo(place, 0, spot.tag in TERM_TAGS)}
        self.places[place, spot] = below
        return below

    def _add_pieces(self, pieces: list[Piece], first: int, last: int, below: UnitPlaces) -> None:
        """Appends the pieces of the leaves first … last of one unit."""
        if (compiled := self.leaves.for_compiled) is not None:
            compiled.add_pieces(pieces, first, last, below, Piece, self.place)
        else:
            self.add_plain_pieces(pieces, first, last, below)

    def add_plain_pieces(self, pieces: list[Piece], first: int, last: int, below: UnitPlaces) -> None:
        """The same without the compiled parts."""
        found: list[Piece] = []
        previous_text_row = -1
        for i in range(first, last):
            row, text = self.row_of[i], self.texts[i]
            spot = self.tree.spots[self.spot[row]]
            place, levels_up, is_term = below.get(spot) or self.place(below, spot)
            text_row = row
            while levels_up:
                text_row, levels_up = self.parent[text_row], levels_up - 1
            if text_row == previous_text_row and self.gap[i] != BROKEN and found:
                last_text = f"{found[-1].text}{'' if self.gap[i] == GLUED else ' '}{text}"
                found[-1] = found[-1]._replace(text=last_text)
            else:
                found.append(Piece(place, text, row, is_term))
            previous_text_row = text_row
        pieces += [piece for piece in found if _says_something(piece.text)]

    def links(self, record: RecordRange) -> list[tuple[int, str]]:
        """Place and target of the links of a record; places are those of its pieces only if these were read before."""
        rows, targets = self._links
        links = []
        spots, spot_of, places_below = self.tree.spots, self.spot, self.places_below
        alone = places_below.get(record.row) if record.end == self.row_end[record.row] else None  # it is one unit
        for k in range(*_between(rows, record.begin, record.end)):
            below, unit = alone, rows[k]
            while below is None:
                below = places_below.get(unit)
                unit = self.parent[unit]
            spot = spots[spot_of[rows[k]]]
            links.append(((below.get(spot) or self.place(below, spot))[0], targets[k]))
        return links

    def first_target(self, record: RecordRange) -> str | None:
        """The target of the first link of a record that has text."""
        first = next((i for i in range(record.first, record.last) if self._is_linked[i]), None)
        row = self.row_of[first] if first is not None else -1
        while row >= 0 and self.tree.name(row) != "a":
            row = self.parent[row]
        return self.tree.attr(row, "href") if row >= 0 else None

    def absolute(self, target: str | None) -> str | None:
        """A reference as an absolute address; the usual ones, from the root of the host, without the whole of RFC 3986."""
        if target and (self._origin or not self.tree.base) and _is_plain_path(target):
            return self._origin + target
        return self.tree.resolve(target)

    def image(self, record: RecordRange) -> str | None:
        """The address of the first picture of a record that is not inside the page itself (`data:`)."""
        for k in range(*_between(self._image_rows, record.begin, record.end)):
            for name in ("src", "data-src", "data-original", "data-lazy-src"):
                if (source := self.tree.attr(self._image_rows[k], name)) and not source.startswith("data:"):
                    return self.absolute(source)
        return None

    def possible_marks(self, record: RecordRange) -> Iterator[tuple[str, bool, str]]:
        """The elements of a record that may be marks, as steps, whether text of the row above stands right beside each, and their texts."""
        for i in range(record.first, record.last):
            row = self.row_of[i]
            if self.tree.name(row) in MARK_TAGS:
                above = self.parent[row]
                left = i > record.first and self.row_of[i - 1] == above and self.gap[i] != BROKEN
                right = i + 1 < record.last and self.row_of[i + 1] == above and self.gap[i + 1] != BROKEN
                yield step_of(self.tree, row, classes=True), left or right, self.texts[i].casefold()

    @cached_property
    def _origin(self) -> str:
        """Scheme and host of the page's base address: `https://example.org`; "" where it has none."""
        parts = self.tree.base.split("/", 3)
        return "/".join(parts[:3]) if len(parts) > 2 and parts[0] in ("http:", "https:") and not parts[1] else ""

    @cached_property
    def _is_linked(self) -> list[bool]:
        return self.leaves.is_linked.tolist()  # type: ignore[no-any-return] # numpy types it as Any

    @cached_property
    def link_rows(self) -> tuple[Ints, list[str | None]]:
        """The rows of all links, and the target of each."""
        rows = self.tree.rows("a")
        return rows, self.tree.values("href", rows)

    @cached_property
    def _links(self) -> tuple[list[int], list[str]]:
        """The same without those that lead nowhere, as lists."""
        rows, targets = self.link_rows
        found = [(row, target) for row, target in zip(rows.tolist(), targets, strict=True) if target is not None]
        return [row for row, _ in found], [target for _, target in found]

    @cached_property
    def _image_rows(self) -> list[int]:
        rows: list[int] = self.tree.rows("img").tolist()
        return rows

    def _is_transparent(self, spot: Spot) -> bool:
        """Whether rows do not divide a text: <b> and the like without a class, and marks."""
        if spot.prop is not None:
            return False
        is_mark = self.marks and ".".join([spot.tag, *look(spot.cls).split()]) in self.marks
        return bool(is_mark) or (spot.shapes and not spot.cls)

    def place(self, below: UnitPlaces, spot: Spot) -> PlaceInfo:
        """What is known of a spot below a unit, worked out from what is known of the spots above it, and remembered."""
        chain: list[Spot] = []
        above: Spot | None = spot
        while above not in below:
            assert above is not None  # noqa: S101 # every chain ends at a spot that is known
            chain.append(above)
            above = above.above
        info = below[above]
        for here in reversed(chain):
            if self._is_transparent(here):
                info = PlaceInfo(info.place, info.levels_up + 1, info.is_term)
            else:
                place = ((info.place * 31) ^ here.place_step) & PLACE_MASK
                info = PlaceInfo(place, 0, info.is_term or here.tag in TERM_TAGS)
            below[here] = info
        return info


def _says_something(text: str) -> bool:
    return text[:1].isalnum() or any(map(str.isalnum, text))


def _is_plain_path(target: str) -> bool:
    """Whether a reference is a path from the root of the host that needs no more than the host before it."""
    return (
        target[0] == "/"
        and target[1:2] != "/"
        and target.isascii()
        and target.isprintable()
        and " " not in target
        and "/." not in target[1:]
    )


def _between(rows: Sequence[int], first: int, last: int) -> tuple[int, int]:
    """The part of sorted rows that lies in first … last."""
    return bisect_left(rows, first), bisect_left(rows, last)


def fields_of_subtree(tree: TagTree, row: int) -> dict[str, str]:
    """The fields of a record of which only one page is known: all text below a row, named by the page or by its tags."""
    fields: dict[str, str] = {}
    term = ""
    for chunk in range(int(tree.text_at[row]), int(tree.text_end[row])):
        chunk_row, text = int(tree.chunk_row[chunk]), tree.chunks[chunk].strip()
        cells = (
            i for i in (chunk_row, *tree.ancestors(chunk_row)) if i > row and tree.name(i) in (*TERM_TAGS, "dd", "td")
        )
        cell = next(cells, None)
        if cell is not None and tree.name(cell) in TERM_TAGS:
            beside = tree.children(int(tree.parent[cell]))
            if any(i > cell and tree.name(i) in ("dd", "td") for i in beside):
                term = text
                continue
        name_by_term = column_name(term) if term and cell is not None else ""
        name = name_by_term or name_on_page(tree, chunk_row, row, ()) or name_from_tags(tree, chunk_row, row)
        term = ""
        fields[name] = f"{fields[name]} {text}" if name in fields else text
    return fields


TRAILING_DATE = re.compile(r"\((\d{4}-\d{2}-\d{2}(?:[T ]\d{1,2}:\d{2}(?::\d{2})?)?)\)")


def split_trailing_dates(fields: dict[str, str]) -> dict[str, str]:
    """Fields in which a date in brackets behind a text is a field of its own.

    >>> split_trailing_dates({"title": "On tides (2020-01-31 10:00)"})
    {'title': 'On tides', 'title_date': '2020-01-31 10:00'}
    """
    for text in fields.values():
        if text[-1:] == ")":
            break
    else:
        return fields
    split: dict[str, str] = {}
    for name, text in fields.items():
        begin = text.rfind("(") if text[-1:] == ")" else 0
        dated = TRAILING_DATE.fullmatch(text, begin) if begin > 0 and text[:begin].strip() else None
        split[name] = text[:begin].rstrip() if dated else text
        if dated:
            split[f"{name}_date"] = dated[1]
    return split
