"""Read the pages of lists without a query: lists of links, the record pages of a sitemap, and data to download.

A list has a layout of its own. Its records are identified by their URLs, so that they get the same keys as in answers to queries.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from upwell.arrays.key_set import KeySet
from upwell.discover.index_source import index_interface, records_of_index
from upwell.discover.lists import RecordAddresses
from upwell.page.tree import TagTree
from upwell.source.apply import Reading, apply
from upwell.source.learn import learn_source
from upwell.source.model import SourceModel
from upwell.types import Record

__all__ = ["MIN_READ_SHARE", "MIN_RECORDS", "ExportReader", "ListReader", "RecordPageReader", "learn_list_reader"]

MIN_RECORDS = 5  # records that a page must link to before it can be a list; not swept
MIN_SHARED = 3  # records with equal texts in a list and in answers before two columns count as the same; not swept
MIN_EQUAL_SHARE = 0.6  # of the records with the list's column that occur in both, the share that must have equal texts
MAX_RULES = 5  # cut rules of a list: some of its pages may have another layout
MIN_READ_SHARE = 0.8  # share of the record URLs on a page that the model of a list must read; not swept


@dataclass
class ListReader:
    """Reads the pages of a list as records of the source."""

    url: str
    model: SourceModel
    records: RecordAddresses
    names: dict[str, str] = field(default_factory=dict)  # column of the list → its name in answers

    def read(self, tree: TagTree, status: int = 200, address: str = "", body: bytes = b"") -> Reading:
        """Read a page of the list; pieces that do not link to a record are left out."""
        reading = apply(self.model, tree, status=status)
        records = self.records_of(tree, reading)
        if reading.kind == "error":
            return reading
        if not records and (other := learn_list_reader(self.url, tree, self.records)) is not None:
            self.model = replace(self.model, rules=(*self.model.rules, *other.model.rules)[:MAX_RULES])
            return other.read(tree, status)
        return replace(reading, kind="multi" if records else "none", records=records)

    def records_of(self, tree: TagTree, reading: Reading) -> tuple[Record, ...]:
        """Return the pieces of a page that link to records of the source, one per record."""
        records = [self._with_key(record, tree) for record in reading.records]
        return tuple({record.key: record for record in records if record is not None}.values())

    def _with_key(self, record: Record, tree: TagTree) -> Record | None:
        """Return a piece of a list as a record of the source; None if it links to no record."""
        for target in (record.url, *(tree.resolve(target) for target in record.links)):
            if (key := self.records.key(target)) is not None:
                fields = {self.names.get(name, name): value for name, value in record.fields.items()}
                return replace(record, key=key, url=key, fields=fields)
        return None

    def name_columns_as(self, answers: Mapping[str, Mapping[str, str]], records: Sequence[Record]) -> None:
        """Rename columns as in answers, by the records that occur in both; `answers` has their fields by key."""
        shared = [(record.fields, answers[record.key]) for record in records if record.key in answers]
        equal: Counter[tuple[str, str]] = Counter()
        for own, known in shared:
            equal.update((a, b) for a in own for b in known if _normalized(own[a]) == _normalized(known[b]))
        own_names = {name for record in records for name in record.fields}
        for (own_name, name), times in sorted(equal.items(), key=lambda pair: (-pair[1], pair[0])):
            having = sum(own_name in own for own, _ in shared)
            is_free = (
                own_name not in self.names
                and name not in self.names.values()
                and (name not in own_names or name == own_name)
            )
            if is_free and times >= max(MIN_SHARED, MIN_EQUAL_SHARE * having):
                self.names[own_name] = name


@dataclass
class RecordPageReader(ListReader):
    """Reads the pages of a sitemap, each of which shows one record; `keys` loses those of pages that show none."""

    keys: KeySet = field(kw_only=True)  # of all records of the sitemap; the `Listing` has the same object

    def read(self, tree: TagTree, status: int = 200, address: str = "", body: bytes = b"") -> Reading:
        """Read the record of a page; none if the page does not exist or is itself a list."""
        if status >= 400 or not tree.chunks or len(apply(self.model, tree).records) >= MIN_RECORDS:
            self.keys.discard(self.records.key(address) or address)
            return Reading(kind="error" if status >= 400 else "none")
        key, frame = self.records.key(address) or address, frozenset(self.model.frame)
        text = " ".join(chunk.strip() for chunk in tree.chunks if chunk not in frame)
        return Reading(kind="single", records=(Record(key=key, url=key, path=tree.path(0), text=text),))


@dataclass
class ExportReader(ListReader):
    """Reads data to download (CSV, JSON, XML) that may contain all records of the source."""

    home: TagTree = field(kw_only=True)
    addresses: tuple[str, ...] = field(kw_only=True)  # URLs of some records, from which the URL pattern is learned
    answers: Mapping[str, Mapping[str, str]] = field(kw_only=True)  # fields of records in answers, by key

    def read(self, tree: TagTree, status: int = 200, address: str = "", body: bytes = b"") -> Reading:
        """Read the records of the data under the keys of the source; none if most of its rows are something else."""
        interface = index_interface(body, self.url, self.home, links=self.addresses) if status < 400 else None
        rows = records_of_index(interface, body) if interface is not None else ()
        records = tuple(
            {record.key: record for row in rows if (record := self._with_key(row, tree)) is not None}.values()
        )
        if len(records) < max(MIN_RECORDS, MIN_READ_SHARE * len(rows)):
            return Reading(kind="error" if status >= 400 else "none")
        self.name_columns_as(self.answers, records)
        named = (self._with_key(record, tree) for record in records)
        return Reading(kind="multi", records=tuple(record for record in named if isinstance(record, Record)))


def learn_list_reader(
    url: str, tree: TagTree, records: RecordAddresses, background: Sequence[TagTree] = ()
) -> ListReader | None:
    """Learn to read a page as a list of records; `background` are pages without records. None if it is not a list."""
    on_page = records.on(tree)
    if len(on_page) < MIN_RECORDS:
        return None
    model = learn_source([tree], background, is_record_address=records.is_record)
    reader = ListReader(url=url, model=model, records=records)
    if not model.rules or len(reader.records_of(tree, apply(model, tree))) < MIN_READ_SHARE * len(on_page):
        return None
    return reader


def _normalized(text: str) -> str:
    return " ".join(text.casefold().split())
