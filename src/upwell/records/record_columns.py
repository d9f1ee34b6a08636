"""Learn the columns of a source: each place of its records becomes a column with a name.

Names come, best first, from a label (text that names the following text: <dt>, <th>, "Price:"), JSON-LD, `itemprop`, the heading of a table
column, a class, the content (title, price, date), or tags and order.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeVar
from urllib.parse import unquote_plus, urlsplit

import numpy as np

from upwell.native import compiled
from upwell.page.links import acts, acts_at
from upwell.page.tree import TagTree
from upwell.records.column_names import column_name, name_from_tags, name_on_page, table_headings, unused_name
from upwell.records.fields import Piece, RecordRange, RecordReader, place_flags
from upwell.records.leaves import MIN_REPEATED_CHARS
from upwell.records.values import ValueType, column_type

__all__ = ["OTHER_COLUMN", "Column", "Columns", "ReadRecord", "learn_columns"]

OTHER_COLUMN = "other"  # column of texts at places that were not seen when the source was learned
MIN_JSON_LD_SHARE = 0.5  # share of a column's texts that JSON-LD must contain to name it
# Share of the records with the usual number of pieces at a place; above it each piece is a column, below it the place is one list.
STEADY_SHARE = 0.8
MIN_LABEL_SHARE = 0.05  # share of the records (and at least two) that contain a label
LABELLED_SHARE = 0.8  # share of the pieces at a place that begin with a label ("Price: 3") before it counts as one
MAX_DISTINCT_TERMS = 0.5  # if the texts of <dt> and <th> are more varied than this, they are data, not labels
MIN_FOR_CONSTANT = 5  # texts needed before a link or button with constant text is dropped
MAX_COLUMNS = 60  # rarer columns go to `other`
OWN_LINK_SHARE = 0.9  # links lead to record pages if their distinct targets reach this share of the maximum per place
HEADLINE_TAGS = {"a", "h1", "h2", "h3", "h4", "h5", "b", "strong"}
DIGITS = re.compile(r"\d+")
LABEL = re.compile(r"\s*([^\W\d_][^:\n]{0,30}?)\s*:(?:\s+(\S.*))?$", re.S)


PieceTuple = tuple[int, str, int, bool]  # a `Piece`, or the same as a plain tuple from the native code
_Piece = TypeVar("_Piece", bound=PieceTuple)


@dataclass(frozen=True, kw_only=True)
class Column:
    """Column, as stored in `source.json`; a column without a name is recognised but not output."""

    name: str
    type: ValueType = "text"
    at: str = ""  # place as a hexadecimal number; "…:2" is the second piece there
    share: float = 0.0  # share of the records with a value
    repeats: bool = False
    named_by: str = ""  # source of the name (`column_names.NAME_SOURCES`)
    varies: bool = False  # True if its texts differ in the answers that it was learned from


class ReadRecord(NamedTuple):
    """Record of a page: position, fields, link targets, target of the link to its record page, and text."""

    at: RecordRange
    fields: dict[str, str]
    targets: tuple[str, ...]
    own: str | None
    text: str


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Columns of a source, with labels, marks and links of its records."""

    columns: tuple[Column, ...] = ()
    labels: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()  # elements that only highlight words inside a text
    link: str = ""  # place of the link to the record page, as `Column.at`
    pictures: bool = False  # True if records have pictures of their own
    heading: str = ""  # path of the group headings as a hexadecimal number; "" without groups

    @cached_property
    def _names(self) -> dict[tuple[int, int], str]:
        """Name of each column by place and number of the piece there (0: all)."""
        names: dict[tuple[int, int], str] = {}
        for column in self.columns:
            place, _, nth = column.at.partition(":")
            names[int(place, 16), int(nth or 0)] = column.name
        return names

    @cached_property
    def _names_of_places(self) -> dict[int, str]:
        """Names of the places whose pieces are all one column."""
        return {place: name for (place, nth), name in self._names.items() if not nth}

    @cached_property
    def own_link(self) -> tuple[int, int]:
        """Place and number of the link to the record page; (-1, 1) if there is none."""
        place, _, nth = self.link.partition(":")
        return (int(place, 16), int(nth)) if self.link else (-1, 1)

    @cached_property
    def _label_names(self) -> dict[str, str]:
        return {label: column_name(label) for label in self.labels}

    @cached_property
    def types(self) -> dict[str, ValueType]:
        """Types of the columns that are not text."""
        return {column.name: column.type for column in self.columns if column.type != "text"}

    def records(self, reader: RecordReader) -> "list[ReadRecord]":
        """Return the records of a page with their fields and links."""
        leaves = reader.leaves.native
        return self.records_python(reader) if leaves is None else self._native_records(reader, leaves)

    def records_python(self, reader: RecordReader) -> "list[ReadRecord]":
        """Compute `records` without native code."""
        own_place, nth = self.own_link
        read_records = []
        for record in reader.records:
            fields = self.fields(reader.pieces(record))
            links = reader.links(record)
            targets = [target for place, target in links if place == own_place]
            own = targets[nth - 1] if len(targets) >= nth else None
            text = reader.leaves.text(record.first, record.last)
            read_records.append(ReadRecord(record, fields, tuple([target for _, target in links]), own, text))
        return read_records

    def _native_records(self, reader: RecordReader, leaves: "compiled.Leaves") -> "list[ReadRecord]":
        """Read records with native code, which returns pieces for records that may have labels; build their fields here."""
        cut, signatures, (own_place, nth) = reader.cut, reader.tree.signature_set, self.own_link
        starts, ends, unit_row = (np.ascontiguousarray(column) for column in (cut.starts, cut.ends, cut.unit_row))
        min_repeated = MIN_REPEATED_CHARS if reader.leaves.are_chunks else 0
        ranges, fields, targets, own, texts = leaves.records(
            starts,
            ends,
            unit_row,
            *reader.link_rows,
            signatures.place_step,
            signatures.tag_step,
            place_flags(signatures, reader.marks),
            self._names_of_places,
            self._names,
            self._label_beginnings,
            OTHER_COLUMN,
            max(own_place, 0),
            nth if own_place >= 0 else 0,
            min_repeated,
        )
        positions = list(map(RecordRange._make, np.frombuffer(ranges, np.int32).reshape(-1, 5).tolist()))
        if not min_repeated:
            texts = [reader.leaves.text(at.first, at.last) for at in positions]
        of_records = [each if isinstance(each, dict) else self.fields(each) for each in fields]
        return list(map(ReadRecord, positions, of_records, targets, own, texts))

    @cached_property
    def _label_beginnings(self) -> tuple[str, ...]:
        return tuple(self._label_names)

    def fields(self, pieces: "Iterable[PieceTuple]") -> dict[str, str]:
        """Return the texts of one record by column name; repeated values are joined with "; "."""
        fields: dict[str, str] = {}
        pieces_at: dict[int, int] = {}
        names, names_of_places = self._names, self._names_of_places
        labelled = _with_labels(pieces, self._label_names) if self.labels else [(p, "", p[1]) for p in pieces]
        for piece, label, text in labelled:
            if label:
                name = self._label_names[label]
            else:
                place = piece[0]
                known = names_of_places.get(place)
                if known is None:
                    nth = pieces_at[place] = pieces_at.get(place, 0) + 1
                    known = names.get((place, nth), OTHER_COLUMN)
                name = known
            if name:
                fields[name] = f"{fields[name]}; {text}" if name in fields else text
        return fields


def _with_labels(pieces: "Iterable[_Piece]", labels: Collection[str]) -> "list[tuple[_Piece, str, str]]":
    """Return the pieces that are not labels, each with its label ("": none) and its text without the label."""
    labelled: list[tuple[_Piece, str, str]] = []
    current, beginnings = "", tuple(labels)
    for piece in pieces:
        text = piece[1]
        if (piece[3] or ":" in text) and text.startswith(beginnings):
            label = LABEL.match(text)
            name, rest = (label[1], label[2] or "") if label else (text, "")
            if name in labels:
                if not rest:
                    current = name
                    continue
                current, text = name, rest
        labelled.append((piece, current, text))
        current = ""
    return labelled


class _SamplePiece(NamedTuple):
    """Example piece of a place: its row, and the first row of its record."""

    tree: TagTree
    row: int
    top: int

    def tags(self) -> Iterator[tuple[int, str]]:
        """Yield the rows from the piece up to the first row of the record, with their tags."""
        for row in (self.row, *self.tree.ancestors(self.row)):
            if row >= self.top:
                yield row, self.tree.name(row)

    def is_link_or_button(self) -> bool:
        """Return True if the piece is the text of a link or a button."""
        return any(tag in ("a", "button") for _, tag in self.tags())

    def is_in_list(self) -> bool:
        """Return True if the piece is in a list item inside its record."""
        return any(tag == "li" for row, tag in self.tags() if row > self.top)


Read = Sequence[tuple[RecordReader, RecordRange, list[Piece]]]


def learn_columns(pages: Sequence[RecordReader]) -> Columns:
    """Learn the columns of a source from the records of some of its answers."""
    marks = _marks(pages)
    pages = [RecordReader(page.leaves, page.cut, marks) for page in pages]
    read = [(page, record, page.pieces(record)) for page in pages for record in page.records]
    if not read:
        return Columns()
    labels = _labels([pieces for _, _, pieces in read])
    records_by_count: defaultdict[int, Counter[int]] = defaultdict(Counter)  # place: number of pieces: records
    texts: defaultdict[tuple[int, int], list[str]] = defaultdict(list)  # by place and which of the pieces there
    samples: dict[int, _SamplePiece] = {}
    for page, record, pieces in read:
        pieces_at: Counter[int] = Counter()
        for piece, label, text in _with_labels(pieces, labels):
            if not label:
                pieces_at[piece.place] += 1
                texts[piece.place, pieces_at[piece.place]].append(text)
                samples.setdefault(piece.place, _SamplePiece(page.tree, piece.row, record.row))
        for place, count in pieces_at.items():
            records_by_count[place][count] += 1
    json_ld, link = _json_ld_names(pages), _own_link(read)
    pictures = len({image for page, record, _ in read if (image := page.image(record))}) > len(read) / 2
    taken: set[str] = {OTHER_COLUMN, *map(column_name, labels), *(["image"] if pictures else [])}
    columns: list[Column] = []
    for place, by_count in records_by_count.items():
        sample = samples[place]
        usual_count, having = by_count.most_common(1)[0][0], by_count.total()
        is_steady = by_count[usual_count] >= STEADY_SHARE * having and not (usual_count > 1 and sample.is_in_list())
        for nth in range(1, usual_count + 1) if is_steady and usual_count > 1 else [0]:
            column_texts = (
                texts[place, nth] if nth else [t for k in range(1, max(by_count) + 1) for t in texts[place, k]]
            )
            kind, source, name = column_type(column_texts), "", ""
            is_constant = len(column_texts) >= MIN_FOR_CONSTANT and len(set(column_texts)) == 1
            if not (is_constant and sample.is_link_or_button()):
                may_be_title = not link or int(link.partition(":")[0], 16) == place
                source, name = _name(sample, column_texts, kind, json_ld, taken, may_be_title=may_be_title)
                name = unused_name(name, taken)
                taken.add(name)
            share = round((len(column_texts) if nth else having) / len(read), 3)
            at = f"{place:x}:{nth}" if nth else f"{place:x}"
            varies = len(set(column_texts)) > 1
            columns.append(
                Column(name=name, type=kind, at=at, share=share, repeats=not is_steady, named_by=source, varies=varies)
            )
    if len(columns) > MAX_COLUMNS:
        largest_left_out = sorted((column.share for column in columns), reverse=True)[MAX_COLUMNS]
        columns = [column for column in columns if column.share > largest_left_out]
    return Columns(
        columns=tuple(columns),
        labels=tuple(sorted(labels)),
        marks=marks,
        link=link,
        pictures=pictures,
    )


def _marks(pages: Sequence[RecordReader]) -> tuple[str, ...]:
    """Return the elements that only highlight words: mostly adjacent to text of their parent, and not exactly one per record.

    An element that occurs once in every record is a mark if its text is the query.
    """
    is_adjacent: defaultdict[str, list[bool]] = defaultdict(list)
    says_query: defaultdict[str, list[bool]] = defaultdict(list)
    records_with_one: Counter[str] = Counter()
    records = 0
    for page in pages:
        query = unquote_plus(urlsplit(page.tree.url).query).casefold()
        for record in page.records:
            records += 1
            counts: Counter[str] = Counter()
            for step, has_adjacent_text, text in page.possible_marks(record):
                is_adjacent[step].append(has_adjacent_text)
                says_query[step].append(text in query)
                counts[step] += 1
            records_with_one.update(step for step, n in counts.items() if n == 1)
    return tuple(
        sorted(
            step
            for step, adjacent in is_adjacent.items()
            if "." in step
            and sum(adjacent) > STEADY_SHARE * len(adjacent)
            and (
                records_with_one[step] < STEADY_SHARE * records or sum(says_query[step]) > STEADY_SHARE * len(adjacent)
            )
        )
    )


def _labels(records: Sequence[Sequence[Piece]]) -> frozenset[str]:
    """Return the texts that name the following text.

    These are <dt>, <th> and "Price:" in several records, and "Price" of "Price: 3" if nearly all pieces at the place have a label.
    """
    records = list(
        {tuple(piece.text for piece in pieces): pieces for pieces in records}.values()
    )  # answers may share records
    alone: Counter[str] = Counter()
    terms: Counter[str] = Counter()
    before_value: Counter[str] = Counter()
    places_of: defaultdict[str, set[int]] = defaultdict(set)
    pieces_at: Counter[int] = Counter()
    labelled_at: Counter[int] = Counter()
    for pieces in records:
        for piece, following in zip(pieces, [*pieces[1:], None], strict=False):  # a record may have no pieces
            pieces_at[piece.place] += 1
            label = LABEL.match(piece.text)
            if label and label[2]:
                before_value[label[1]] += 1
                labelled_at[piece.place] += 1
                places_of[label[1]].add(piece.place)
            elif following is not None and not following.is_term:
                if label:
                    alone[label[1]] += 1
                elif piece.is_term:
                    terms[piece.text] += 1
    min_records = max(2, MIN_LABEL_SHARE * len(records))
    if len(terms) <= MAX_DISTINCT_TERMS * terms.total():
        alone += terms
    labelled_places = {place for place, n in pieces_at.items() if labelled_at[place] >= LABELLED_SHARE * n}
    labels = {label for label, n in alone.items() if n >= min_records}
    labels |= {label for label, n in before_value.items() if n >= min_records and places_of[label] <= labelled_places}
    # exclude "Ticket #12" and "Ticket #15", which name single records
    shapes = Counter(DIGITS.sub("0", label) for label in (alone + before_value))
    return frozenset(label for label in labels if shapes[DIGITS.sub("0", label)] == 1 or not DIGITS.search(label))


def _own_link(read: Read) -> str:
    """Return the place of the links that lead to record pages.

    Of the places with nearly the most distinct targets, the first whose links mostly stay on the site, otherwise the first.
    """
    targets: defaultdict[tuple[int, int], set[str]] = defaultdict(set)
    pages = {id(page): page for page, _, _ in read}  # each once: `read` has an entry per record
    acting = frozenset().union(*(_acting_targets(page.tree) for page in pages.values()))
    for page, record, _ in read:
        links_at: Counter[int] = Counter()
        for place, target in page.links(record):
            links_at[place] += 1
            if target and not target.startswith(("#", "javascript:", "mailto:")):
                targets[place, links_at[place]].add(target)
    most = max(map(len, targets.values()), default=0)
    distinct = [location for location, place_targets in targets.items() if len(place_targets) >= OWN_LINK_SHARE * most]
    hosts = {urlsplit(page.tree.url).netloc for page, _, _ in read}
    distinct = [
        location
        for location in distinct
        if sum(target in acting or acts(target) for target in targets[location]) <= len(targets[location]) / 2
    ]
    on_site = [
        location
        for location in distinct
        if sum(_host(t) in ("", *hosts) for t in targets[location]) > len(targets[location]) / 2
    ]
    return next((f"{place:x}:{nth}" for place, nth in (*on_site, *distinct)), "")


def _acting_targets(tree: TagTree) -> frozenset[str]:
    """Return the targets, as written in the page, of the links whose label acts: "Delete", "Add to cart"."""
    hrefs = tree.attribute_by_row("href")
    return frozenset(hrefs[row] for row, url in tree.links() if row in hrefs and acts_at(tree, row, url))


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).netloc
    except ValueError:
        return None


def _json_ld_names(pages: Sequence[RecordReader]) -> dict[str, str]:
    """Return the JSON-LD property of each text on the pages."""
    names: dict[str, str] = {}
    for page in pages:
        for text in page.tree.data.values():
            try:
                stack = [("", json.loads(text))]
            except (ValueError, RecursionError):
                continue
            while stack:
                name, value = stack.pop()
                if isinstance(value, dict):
                    stack.extend((str(key), inner) for key, inner in value.items() if not str(key).startswith("@"))
                elif isinstance(value, list):
                    stack.extend((name, inner) for inner in value)
                elif isinstance(value, str | int | float) and name:
                    names.setdefault(str(value).strip(), name)
    return names


def _name(
    sample: _SamplePiece,
    texts: Sequence[str],
    kind: ValueType,
    json_ld: Mapping[str, str],
    taken: set[str],
    *,
    may_be_title: bool,
) -> tuple[str, str]:
    """Return the source of the best name for the texts at a place, and the name; it may be taken."""
    tree, row, top = sample
    most_common = Counter(json_ld[text] for text in texts if text in json_ld).most_common(1)
    if most_common and most_common[0][1] >= MIN_JSON_LD_SHARE * len(texts):
        return "statement", column_name(most_common[0][0])
    source, name = name_on_page(tree, row, top, table_headings(tree, top))
    if name:
        return source, name
    if kind in ("price", "date") and kind not in taken:
        return "type", kind
    if may_be_title and "title" not in taken and kind == "text" and {tag for _, tag in sample.tags()} & HEADLINE_TAGS:
        return "type", "title"
    return "tags", name_from_tags(tree, row, top)
