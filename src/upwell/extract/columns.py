"""The columns of a source: all that stands at one place of its records, under a name that is learned once.

    label    a text that names what follows it: <dt>, <th>, "Price:"

Names come from what the pages say, best first: a label, JSON-LD, `itemprop`, the heading of a table's column, a class; else
from what the column holds (title, price, date); else from tags and order.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple
from urllib.parse import unquote_plus, urlsplit

import numpy as np

from upwell.extract.column_names import column_name, name_from_tags, name_on_page, table_headings, unused_name
from upwell.extract.fields import Piece, Places, RecordRange, RecordReader
from upwell.extract.leaves import MIN_REPEATED_CHARS
from upwell.extract.values import Type, column_type
from upwell.page.compiled import compiled
from upwell.page.links import acts
from upwell.page.tree import TagTree

__all__ = ["OTHER", "Column", "Columns", "ReadRecord", "learn_columns"]

OTHER = "other"  # the column of what stands at a place that no record had when the source was learned
# A column is named by what JSON-LD calls its texts if this share of them stands there.
MIN_JSON_LD_SHARE = 0.5
# If this share of the records that have a place has the same number of pieces there, each piece is a column; else the
# place is one column that repeats.
STEADY_SHARE = 0.8
MIN_LABEL_SHARE = 0.05  # share of the records that have a text which is a label (and at least two)
# A text before its value ("Price: 3") is a label only at places where this share of the pieces begins with one.
LABELLED_SHARE = 0.8
# Where the texts of <dt> and <th> have more distinct values than this share, they are data and no labels.
MAX_DISTINCT_TERMS = 0.5
MIN_FOR_CONSTANT = 5  # texts from which on a link or button that always says the same is no data
MAX_COLUMNS = 60  # what is rarer goes to `other`
OWN_LINK_SHARE = 0.9  # a link is a record's own if its targets are this share of the most distinct targets at one place
HEADLINE_TAGS = {"a", "h1", "h2", "h3", "h4", "h5", "b", "strong"}
DIGITS = re.compile(r"\d+")
LABEL = re.compile(r"\s*([^\W\d_][^:\n]{0,30}?)\s*:(?:\s+(\S.*))?$", re.S)


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column, as `source.json` has it; a column without a name is known, and is no data."""

    name: str
    type: Type = "text"
    at: str = ""  # its place as a hexadecimal number; "…:2" is the second piece there
    share: float = 0.0  # share of the records that have it
    repeats: bool = False


class ReadRecord(NamedTuple):
    """A record of a page: where it stands, its fields, the targets of its links, that of the link to its own page, and its text."""

    at: RecordRange
    fields: dict[str, str]
    targets: tuple[str, ...]
    own: str | None
    text: str


@dataclass(frozen=True, kw_only=True)
class Columns:
    """All columns of a source, and what else is known of its records."""

    columns: tuple[Column, ...] = ()
    labels: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()  # elements that only mark words inside a text
    link: str = ""  # the place of the link to a record's own page, as `Column.at`
    pictures: bool = False  # whether records have pictures of their own
    heading: str = (
        ""  # the path of the headings above groups of records, as a hexadecimal number; "": there are no groups
    )

    @cached_property
    def _names(self) -> dict[tuple[int, int], str]:
        """The name of each column by its place and by which of the pieces there it is (0: all)."""
        names: dict[tuple[int, int], str] = {}
        for column in self.columns:
            place, _, nth = column.at.partition(":")
            names[int(place, 16), int(nth or 0)] = column.name
        return names

    @cached_property
    def _names_of_places(self) -> dict[int, str]:
        """The names of the places whose pieces are all one column."""
        return {place: name for (place, nth), name in self._names.items() if not nth}

    @cached_property
    def own_link(self) -> tuple[int, int]:
        """The place of the link to a record's own page, and which of the links there it is; (-1, 1) where there is none."""
        place, _, nth = self.link.partition(":")
        return (int(place, 16), int(nth)) if self.link else (-1, 1)

    @cached_property
    def _label_names(self) -> dict[str, str]:
        return {label: column_name(label) for label in self.labels}

    @cached_property
    def places(self) -> Places:
        """What was found out about places on the pages that were read with these columns (`RecordReader`)."""
        return {}

    @cached_property
    def types(self) -> dict[str, Type]:
        """The type of each column that is not just text."""
        return {column.name: column.type for column in self.columns if column.type != "text"}

    def records(self, reader: RecordReader) -> "list[ReadRecord]":
        """The records of a page with their fields and links."""
        leaves = reader.leaves.for_compiled
        return self.plain_records(reader) if leaves is None else self._compiled_records(reader, leaves)

    def plain_records(self, reader: RecordReader) -> "list[ReadRecord]":
        """The same without the compiled parts."""
        own_place, nth = self.own_link
        found = []
        for record in reader.records:
            fields = self.fields(reader.pieces(record))
            links = reader.links(record)
            targets = [target for place, target in links if place == own_place]
            own = targets[nth - 1] if len(targets) >= nth else None
            text = reader.leaves.plain_text(record.first, record.last)
            found.append(ReadRecord(record, fields, tuple([target for _, target in links]), own, text))
        return found

    def _compiled_records(self, reader: RecordReader, leaves: "compiled.Leaves") -> "list[ReadRecord]":
        """The compiled parts leave to this the fields of a record that may have labels, of which they give the pieces, and texts of lines."""
        cut, (own_place, nth) = reader.cut, self.own_link
        starts, ends, unit_row = (np.ascontiguousarray(column) for column in (cut.starts, cut.ends, cut.unit_row))
        names = self._names_of_places, self._names, self._label_beginnings, OTHER
        link = (own_place, nth) if own_place >= 0 else (0, 0)
        places = reader.places, reader.places_below[-1], reader.new_unit, reader.place, Piece, RecordRange, ReadRecord
        shortest = MIN_REPEATED_CHARS if reader.leaves.are_chunks else 0
        read: list[ReadRecord] = leaves.records(
            starts, ends, unit_row, *reader.link_rows, (*names, *link), places, shortest
        )
        if self.labels:
            read = [
                one if isinstance(one.fields, dict) else one._replace(fields=self.fields(one.fields)) for one in read
            ]
        if not shortest:
            read = [one._replace(text=reader.leaves.text(one.at.first, one.at.last)) for one in read]
        return read

    @cached_property
    def _label_beginnings(self) -> tuple[str, ...]:
        return tuple(self._label_names)

    def fields(self, pieces: Iterable[Piece]) -> dict[str, str]:
        """The texts of one record by name; what repeats is joined with "; "."""
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
                    known = names.get((place, nth), OTHER)
                name = known
            if name:
                fields[name] = f"{fields[name]}; {text}" if name in fields else text
        return fields


def _with_labels(pieces: Iterable[Piece], labels: Collection[str]) -> list[tuple[Piece, str, str]]:
    """The pieces that are no labels, each with its label ("": none) and its text without the label."""
    labelled: list[tuple[Piece, str, str]] = []
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


class _Sample(NamedTuple):
    """A piece by which a place is looked at: its row, and the first row of its record."""

    tree: TagTree
    row: int
    top: int

    def tags(self) -> Iterator[tuple[int, str]]:
        """The rows from the piece up to the first row of the record, with their tags."""
        for row in (self.row, *self.tree.ancestors(self.row)):
            if row >= self.top:
                yield row, self.tree.name(row)

    def is_link_or_button(self) -> bool:
        """Whether the piece is the text of a link or a button."""
        return any(tag in ("a", "button") for _, tag in self.tags())

    def is_in_list(self) -> bool:
        """Whether the piece is in an item of a list inside its record."""
        return any(tag == "li" for row, tag in self.tags() if row > self.top)


Read = Sequence[tuple[RecordReader, RecordRange, list[Piece]]]


def learn_columns(pages: Sequence[RecordReader]) -> Columns:
    """The columns of a source from the records of some of its answers."""
    marks = _marks(pages)
    pages = [RecordReader(page.leaves, page.cut, marks) for page in pages]
    read = [(page, record, page.pieces(record)) for page in pages for record in page.records]
    if not read:
        return Columns()
    labels = _labels([pieces for _, _, pieces in read])
    records_by_count: defaultdict[int, Counter[int]] = defaultdict(Counter)  # place: number of pieces: records
    texts: defaultdict[tuple[int, int], list[str]] = defaultdict(list)  # by place and which of the pieces there
    samples: dict[int, _Sample] = {}
    for page, record, pieces in read:
        pieces_at: Counter[int] = Counter()
        for piece, label, text in _with_labels(pieces, labels):
            if not label:
                pieces_at[piece.place] += 1
                texts[piece.place, pieces_at[piece.place]].append(text)
                samples.setdefault(piece.place, _Sample(page.tree, piece.row, record.row))
        for place, count in pieces_at.items():
            records_by_count[place][count] += 1
    json_ld = _json_ld_names(pages)
    pictures = len({image for page, record, _ in read if (image := page.image(record))}) > len(read) / 2
    taken: set[str] = {OTHER, *map(column_name, labels), *(["image"] if pictures else [])}
    columns: list[Column] = []
    for place, by_count in records_by_count.items():
        sample = samples[place]
        usual_count, having = by_count.most_common(1)[0][0], by_count.total()
        is_steady = by_count[usual_count] >= STEADY_SHARE * having and not (usual_count > 1 and sample.is_in_list())
        for nth in range(1, usual_count + 1) if is_steady and usual_count > 1 else [0]:
            held = texts[place, nth] if nth else [t for k in range(1, max(by_count) + 1) for t in texts[place, k]]
            kind, name = column_type(held), ""
            is_constant = len(held) >= MIN_FOR_CONSTANT and len(set(held)) == 1
            if not (is_constant and sample.is_link_or_button()):
                name = unused_name(_name(sample, held, kind, json_ld, taken), taken)
                taken.add(name)
            share = round((len(held) if nth else having) / len(read), 3)
            at = f"{place:x}:{nth}" if nth else f"{place:x}"
            columns.append(Column(name=name, type=kind, at=at, share=share, repeats=not is_steady))
    if len(columns) > MAX_COLUMNS:
        largest_left_out = sorted((column.share for column in columns), reverse=True)[MAX_COLUMNS]
        columns = [column for column in columns if column.share > largest_left_out]
    return Columns(
        columns=tuple(columns),
        labels=tuple(sorted(labels)),
        marks=marks,
        link=_own_link(read),
        pictures=pictures,
    )


def _marks(pages: Sequence[RecordReader]) -> tuple[str, ...]:
    """The elements that only mark words: mostly beside text of the row above, and not one in every record.

    One in every record may be a mark as well, if it says what was searched for.
    """
    beside_text: defaultdict[str, list[bool]] = defaultdict(list)
    says_query: defaultdict[str, list[bool]] = defaultdict(list)
    records_with_one: Counter[str] = Counter()
    records = 0
    for page in pages:
        asked = unquote_plus(urlsplit(page.tree.url).query).casefold()
        for record in page.records:
            records += 1
            counts: Counter[str] = Counter()
            for step, is_beside, text in page.possible_marks(record):
                beside_text[step].append(is_beside)
                says_query[step].append(text in asked)
                counts[step] += 1
            records_with_one.update(step for step, n in counts.items() if n == 1)
    return tuple(
        sorted(
            step
            for step, beside in beside_text.items()
            if "." in step
            and sum(beside) > STEADY_SHARE * len(beside)
            and (records_with_one[step] < STEADY_SHARE * records or sum(says_query[step]) > STEADY_SHARE * len(beside))
        )
    )


def _labels(records: Sequence[Sequence[Piece]]) -> frozenset[str]:
    """The texts that name what follows.

    <dt>, <th> and "Price:" that several records have, and "Price" of "Price: 3" where nearly all pieces at the place are so.
    """
    records = list(
        {tuple(piece.text for piece in pieces): pieces for pieces in records}.values()
    )  # several answers have the same one
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
    # "Ticket #12" and "Ticket #15" name single records
    shapes = Counter(DIGITS.sub("0", label) for label in (alone + before_value))
    return frozenset(label for label in labels if shapes[DIGITS.sub("0", label)] == 1 or not DIGITS.search(label))


def _own_link(read: Read) -> str:
    """The place of the links that lead to a record's own page.

    Those with the most distinct targets, or nearly so; among these the first that mostly stays on the site, else the first.
    """
    targets: defaultdict[tuple[int, int], set[str]] = defaultdict(set)
    for page, record, _ in read:
        links_at: Counter[int] = Counter()
        for place, target in page.links(record):
            links_at[place] += 1
            if target and not target.startswith(("#", "javascript:", "mailto:")):
                targets[place, links_at[place]].add(target)
    most = max(map(len, targets.values()), default=0)
    distinct = [at for at, found in targets.items() if len(found) >= OWN_LINK_SHARE * most]
    hosts = {urlsplit(page.tree.url).netloc for page, _, _ in read}
    distinct = [at for at in distinct if sum(map(acts, targets[at])) <= len(targets[at]) / 2]
    on_site = [at for at in distinct if sum(_host(t) in ("", *hosts) for t in targets[at]) > len(targets[at]) / 2]
    return next((f"{place:x}:{nth}" for place, nth in (*on_site, *distinct)), "")


def _host(address: str) -> str | None:
    try:
        return urlsplit(address).netloc
    except ValueError:
        return None


def _json_ld_names(pages: Sequence[RecordReader]) -> dict[str, str]:
    """What JSON-LD on the pages calls a text: text → property."""
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


def _name(sample: _Sample, texts: Sequence[str], kind: Type, json_ld: Mapping[str, str], taken: set[str]) -> str:
    """The best name for the texts at a place; it may be taken."""
    tree, row, top = sample
    most_common = Counter(json_ld[text] for text in texts if text in json_ld).most_common(1)
    if most_common and most_common[0][1] >= MIN_JSON_LD_SHARE * len(texts):
        return column_name(most_common[0][0])
    if name := name_on_page(tree, row, top, table_headings(tree, top)):
        return name
    if kind in ("price", "date") and kind not in taken:
        return kind
    if "title" not in taken and kind == "text" and {tag for _, tag in sample.tags()} & HEADLINE_TAGS:
        return "title"
    return name_from_tags(tree, row, top)
