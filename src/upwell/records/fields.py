"""Read the text pieces, links and pictures of records.

    piece    run of text at one place of a record; inline formatting does not divide it, <br> and blocks do
    place    position of a piece below the container, hashed to a number: tags, classes, `itemprop`, table column
    mark     element that only highlights words inside a text, such as the query words

`record_columns` gives the places names.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from upwell.page.path_signatures import (
    BROKEN,
    FORMATTING,
    GLUED,
    MAX_CACHED_SETS,
    PathSignature,
    SignatureSet,
    normalized_class,
)
from upwell.page.tree import Ints, TagTree
from upwell.records.column_names import MAX_LEVELS, column_name, name_from_tags, name_on_page
from upwell.records.cuts import Cut
from upwell.records.leaves import Leaves, has_letter_or_digit, path_step

__all__ = ["Piece", "RecordRange", "RecordReader", "fields_of_subtree", "place_flags", "split_trailing_dates"]

PLACE_MASK = 2**48 - 1  # places are 48-bit numbers
MARK_TAGS = FORMATTING | {"span"}
TERM_TAGS = ("dt", "th")  # their text names the following text


class PlaceInfo(NamedTuple):
    """Cached properties of a signature below a unit."""

    place: int
    levels_up: int  # levels up to the row whose text it continues: 0, or more for inline formatting
    is_term: bool  # it is in a <dt> or <th>


UnitPlaces = dict[PathSignature | None, PlaceInfo]


class Piece(NamedTuple):
    """Run of text of a record."""

    place: int
    text: str
    row: int
    is_term: bool  # it is in a <dt> or <th>


class RecordRange(NamedTuple):
    """Position of a record: leaves first … last and rows begin … end, ends exclusive."""

    first: int
    last: int
    row: int  # row of its first unit, or of the container if the record begins with a text of it
    begin: int
    end: int


class RecordReader:
    """Reads the records of one page piece by piece."""

    def __init__(self, leaves: Leaves, cut: Cut, marks: Collection[str] = ()) -> None:
        self.leaves, self.tree, self.cut, self.marks = leaves, leaves.tree, cut, frozenset(marks)
        self.texts = leaves.stripped
        self._known_units: dict[tuple[int, PathSignature], UnitPlaces] = {}  # by place and signature of a unit
        # places below each unit that was read, by the unit's row; -1: a text of the container
        self.places_below: dict[int, UnitPlaces] = {-1: {None: PlaceInfo(0, 0, False)}}

    # Columns as lists, which the native code does not need.

    @cached_property
    def parent(self) -> list[int]:
        """Parent of each row."""
        return self.tree.parent.tolist()  # type: ignore[no-any-return] # numpy types it as Any

    @cached_property
    def unit_row(self) -> list[int]:
        """Unit row of each leaf."""
        return self.cut.unit_row.tolist()  # type: ignore[no-any-return] # numpy types it as Any

    @cached_property
    def leaf_end(self) -> list[int]:
        """End of the leaves of each row."""
        return self.leaves.row_end.tolist()  # type: ignore[no-any-return] # numpy types it as Any

    @property
    def row_of(self) -> list[int]:
        """Row of each leaf."""
        return self.leaves.rows

    @property
    def gap(self) -> list[int]:
        """Gap before each leaf."""
        return self.leaves.gaps

    @property
    def signature(self) -> Sequence[int]:
        """Signature of each row."""
        return self.tree.signature_of

    @property
    def row_end(self) -> Sequence[int]:
        """End of each row."""
        return self.tree.end_of

    @cached_property
    def records(self) -> list[RecordRange]:
        """Records in document order."""
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
        """Return the pieces of a record in document order, without those that have no letter or digit ("|", "—")."""
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
            if has_letter_or_digit(text := self.texts[leaf]):
                pieces.append(Piece(place, text, self.row_of[leaf], False))
            leaf += 1
        return pieces

    def _place_of_unit(self, unit: int, units_with_step: dict[int, int], *, is_first: bool) -> int:
        """Return the place of a unit of a record (-1: a text of the container), and load the places below it."""
        signature = self.tree.signatures[self.signature[unit]]
        if is_first and unit >= 0:
            # classes of the first unit are stripes and states; they do not distinguish columns
            step, nth = signature.tag_step, 1
        else:
            step = signature.place_step if unit >= 0 else 1
            nth = units_with_step[step] = units_with_step.get(step, 0) + 1
        place = (step * 31 + nth) & PLACE_MASK
        if unit >= 0:
            if (place, signature) not in self._known_units:
                own = PlaceInfo(place, 0, signature.tag in TERM_TAGS)
                self._known_units[place, signature] = {signature: own}
            self.places_below[unit] = self._known_units[place, signature]
        return place

    def _add_pieces(self, pieces: list[Piece], first: int, last: int, below: UnitPlaces) -> None:
        """Append the pieces of the leaves first … last of one unit."""
        unit_pieces: list[Piece] = []
        previous_text_row = -1
        for i in range(first, last):
            row, text = self.row_of[i], self.texts[i]
            signature = self.tree.signatures[self.signature[row]]
            place, levels_up, is_term = below.get(signature) or self._place(below, signature)
            text_row = row
            while levels_up:
                text_row, levels_up = self.parent[text_row], levels_up - 1
            if text_row == previous_text_row and self.gap[i] != BROKEN and unit_pieces:
                last_text = f"{unit_pieces[-1].text}{'' if self.gap[i] == GLUED else ' '}{text}"
                unit_pieces[-1] = unit_pieces[-1]._replace(text=last_text)
            else:
                unit_pieces.append(Piece(place, text, row, is_term))
            previous_text_row = text_row
        pieces += [piece for piece in unit_pieces if has_letter_or_digit(piece.text)]

    def links(self, record: RecordRange) -> list[tuple[int, str]]:
        """Return place and target of the links of a record; read its pieces first, so that the places agree."""
        rows, targets = self._links
        links = []
        signatures, signature_of, places_below = self.tree.signatures, self.signature, self.places_below
        alone = places_below.get(record.row) if record.end == self.row_end[record.row] else None  # it is one unit
        for k in range(*_between(rows, record.begin, record.end)):
            below, unit = alone, rows[k]
            while below is None:
                below = places_below.get(unit)
                unit = self.parent[unit]
            signature = signatures[signature_of[rows[k]]]
            links.append(((below.get(signature) or self._place(below, signature))[0], targets[k]))
        return links

    def first_target(self, record: RecordRange) -> str | None:
        """Return the target of the first link of a record that has text."""
        first = next((i for i in range(record.first, record.last) if self._is_linked[i]), None)
        row = self.row_of[first] if first is not None else -1
        while row >= 0 and self.tree.name(row) != "a":
            row = self.parent[row]
        return self.tree.attr(row, "href") if row >= 0 else None

    def absolute(self, target: str | None) -> str | None:
        """Resolve a reference; paths from the root of the host take a fast path."""
        if target and (self._origin or not self.tree.base) and _is_plain_path(target):
            return self._origin + target
        return self.tree.resolve(target)

    def image(self, record: RecordRange) -> str | None:
        """Return the URL of the first picture of a record that is not a `data:` URL."""
        for k in range(*_between(self._image_rows, record.begin, record.end)):
            for name in ("src", "data-src", "data-original", "data-lazy-src"):
                if (source := self.tree.attr(self._image_rows[k], name)) and not source.startswith("data:"):
                    return self.absolute(source)
        return None

    def possible_marks(self, record: RecordRange) -> Iterator[tuple[str, bool, str]]:
        """Yield possible marks of a record: step, whether text of the parent row is adjacent, and text."""
        for i in range(record.first, record.last):
            row = self.row_of[i]
            if self.tree.name(row) in MARK_TAGS:
                above = self.parent[row]
                left = i > record.first and self.row_of[i - 1] == above and self.gap[i] != BROKEN
                right = i + 1 < record.last and self.row_of[i + 1] == above and self.gap[i + 1] != BROKEN
                yield path_step(self.tree, row, classes=True), left or right, self.texts[i].casefold()

    @cached_property
    def _origin(self) -> str:
        """Scheme and host of the page's base URL: `https://example.org`; "" if it has none."""
        parts = self.tree.base.split("/", 3)
        return "/".join(parts[:3]) if len(parts) > 2 and parts[0] in ("http:", "https:") and not parts[1] else ""

    @cached_property
    def _is_linked(self) -> list[bool]:
        return self.leaves.is_linked.tolist()  # type: ignore[no-any-return] # numpy types it as Any

    @cached_property
    def link_rows(self) -> tuple[Ints, list[str | None]]:
        """Rows of all links, and the target of each."""
        rows = self.tree.rows("a")
        return rows, self.tree.values("href", rows)

    @cached_property
    def _links(self) -> tuple[list[int], list[str]]:
        """Rows and targets of the links with a target, as lists."""
        rows, targets = self.link_rows
        links = [(row, target) for row, target in zip(rows.tolist(), targets, strict=True) if target is not None]
        return [row for row, _ in links], [target for _, target in links]

    @cached_property
    def _image_rows(self) -> list[int]:
        rows: list[int] = self.tree.rows("img").tolist()
        return rows

    def _place(self, below: UnitPlaces, signature: PathSignature) -> PlaceInfo:
        """Compute and cache the place of a signature below a unit from the places of its ancestors."""
        chain: list[PathSignature] = []
        above: PathSignature | None = signature
        while above not in below:
            assert above is not None  # noqa: S101 # every chain ends at a signature that is known
            chain.append(above)
            above = above.above
        info = below[above]
        for here in reversed(chain):
            if _is_transparent(here, self.marks):
                info = PlaceInfo(info.place, info.levels_up + 1, info.is_term)
            else:
                place = ((info.place * 31) ^ here.place_step) & PLACE_MASK
                info = PlaceInfo(place, 0, info.is_term or here.tag in TERM_TAGS)
            below[here] = info
        return info


def _is_transparent(signature: PathSignature, marks: frozenset[str]) -> bool:
    """Return True if rows with this signature do not divide a text: inline formatting without a class, and marks."""
    if signature.prop is not None:
        return False
    is_mark = marks and ".".join([signature.tag, *normalized_class(signature.cls).split()]) in marks
    return bool(is_mark) or (signature.shapes and not signature.cls)


@lru_cache(maxsize=MAX_CACHED_SETS)
def place_flags(signatures: SignatureSet, marks: frozenset[str]) -> NDArray[np.int32]:
    """Return for the native code which signatures do not divide a text (1), and which name the following text (2)."""
    flags = [_is_transparent(each, marks) + 2 * (each.tag in TERM_TAGS) for each in signatures.signatures]
    return np.array(flags, dtype=np.int32)


def _is_plain_path(target: str) -> bool:
    """Return True if a reference is a path from the root of the host that only needs the origin prepended."""
    return (
        target[0] == "/"
        and target[1:2] != "/"
        and target.isascii()
        and target.isprintable()
        and " " not in target
        and "/." not in target[1:]
    )


def _between(rows: Sequence[int], first: int, last: int) -> tuple[int, int]:
    """Return the slice of sorted rows from first to last."""
    return bisect_left(rows, first), bisect_left(rows, last)


def fields_of_subtree(tree: TagTree, row: int) -> dict[str, str]:
    """Return the fields of a single record: all text below a row, named by the page or by tags."""
    texts: defaultdict[str, list[str]] = defaultdict(list)
    last_value: dict[int, int] = {}  # by parent: its last child that is a value
    term = ""
    for chunk in range(int(tree.text_at[row]), int(tree.text_end[row])):
        chunk_row, text = int(tree.chunk_row[chunk]), tree.chunks[chunk].strip()
        above = islice(tree.ancestors(chunk_row), MAX_LEVELS)
        cells = (i for i in (chunk_row, *above) if i > row and tree.name(i) in (*TERM_TAGS, "dd", "td"))
        cell = next(cells, None)
        if cell is not None and tree.name(cell) in TERM_TAGS:
            parent = int(tree.parent[cell])
            if parent not in last_value:
                values = [i for i in tree.children(parent) if tree.name(i) in ("dd", "td")]
                last_value[parent] = values[-1] if values else -1
            if last_value[parent] > cell:
                term = text
                continue
        name_by_term = column_name(term) if term and cell is not None else ""
        name = name_by_term or name_on_page(tree, chunk_row, row, ())[1] or name_from_tags(tree, chunk_row, row)
        term = ""
        texts[name].append(text)
    return {name: " ".join(of_name) for name, of_name in texts.items()}


TRAILING_DATE = re.compile(r"\((\d{4}-\d{2}-\d{2}(?:[T ]\d{1,2}:\d{2}(?::\d{2})?)?)\)")


def split_trailing_dates(fields: dict[str, str]) -> dict[str, str]:
    """Split a date in brackets at the end of a text into a field of its own.

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
