"""Lists without a query as questions: how their pages are read, and which lists of a family could be asked next.

A list has a layout of its own. Its records are known by their addresses, so that they are the same records as those that queries bring.
"""

from collections import Counter, deque
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace

from upwell.key_set import KeySet
from upwell.model import Record
from upwell.page.tree import TagTree
from upwell.site.lists import RecordAddresses
from upwell.source.apply import Reading, apply
from upwell.source.learn import learn_source
from upwell.source.model import SourceModel

__all__ = ["MIN_READ_SHARE", "MIN_RECORDS", "Listing", "RecordPages", "learn_listing"]

MIN_RECORDS = 5  # that a page links to, from which on it can be a list; not swept
MIN_SHARED = (
    3  # records that a list and answers show with the same text in two columns, before these are one; not swept
)
MIN_EQUAL_SHARE = 0.6  # of the records that both show
MAX_RULES = 5  # of a list: some of its pages may look otherwise
MIN_READ_SHARE = 0.8  # of the record addresses on a page, that a list's model must read; not swept


@dataclass
class Listing:
    """A list, or a family of lists that look alike."""

    url: str
    model: SourceModel
    records: RecordAddresses
    names: dict[str, str] = field(default_factory=dict)  # columns of the list that answers call otherwise
    keys: KeySet = field(default_factory=KeySet)  # that its lists brought
    family: deque[str] = field(default_factory=deque)  # lists that were not asked yet
    asked: int = 1  # lists of the family
    pages: int = 0  # of these lists
    is_whole: bool = True  # each list that was asked came to its end
    beginning: tuple[str, ...] = ()  # the keys of the first page that came

    def begins_alike(self, keys: Sequence[str]) -> bool:
        """Whether the first page of another list of the family begins as the first one did: it is the same list, in pages of another size."""
        shared = min(len(keys), len(self.beginning))
        return shared >= MIN_RECORDS and tuple(keys[:shared]) == self.beginning[:shared]

    def expected(self) -> tuple[float, float]:
        """The records that the next list of the family should have, and on how many pages: as those before."""
        return len(self.keys) / self.asked, max(1.0, self.pages / self.asked)

    def read(self, tree: TagTree, status: int = 200, address: str = "", body: bytes = b"") -> Reading:
        """A page of the list: its records, under the same keys as those of the source; pieces without a record's address are none."""
        reading = apply(self.model, tree, status=status)
        records = self.records_of(tree, reading)
        if reading.kind == "error":
            return reading
        if not records and (other := learn_listing(self.url, tree, self.records)) is not None:
            self.model = replace(self.model, rules=(*self.model.rules, *other.model.rules)[:MAX_RULES])
            return other.read(tree, status)
        return replace(reading, kind="multi" if records else "none", records=records)

    def records_of(self, tree: TagTree, reading: Reading) -> tuple[Record, ...]:
        """The pieces of a page that lead to records of the source, one for each record."""
        found = [self._with_key(record, tree) for record in reading.records]
        return tuple({record.key: record for record in found if record is not None}.values())

    def _with_key(self, record: Record, tree: TagTree) -> Record | None:
        """A piece of a list as a record of the source; None where it leads to none."""
        for target in (record.url, *(tree.resolve(target) for target in record.links)):
            if (key := self.records.key(target)) is not None:
                fields = {self.names.get(name, name): value for name, value in record.fields.items()}
                return replace(record, key=key, url=key, fields=fields)
        return None

    def name_columns_as(self, answers: Mapping[str, Mapping[str, str]], records: Sequence[Record]) -> None:
        """Gives columns the names that answers have for them, by records that both show: `answers` has their fields by key."""
        shared = [(record.fields, answers[record.key]) for record in records if record.key in answers]
        equal: Counter[tuple[str, str]] = Counter()
        for own, known in shared:
            equal.update((a, b) for a in own for b in known if _plain(own[a]) == _plain(known[b]))
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
class RecordPages(Listing):
    """A sitemap: a family of pages that each show one record. Its keys are known from the beginning; a page that is none is taken out."""

    def leave_out(self, held: Container[str]) -> None:
        """Leaves out the next pages as far as their records are held."""
        while self.family and (self.records.key(self.family[0]) or self.family[0]) in held:
            self.family.popleft()

    def expected(self) -> tuple[float, float]:
        """One record on one page."""
        return 1.0, 1.0

    def read(self, tree: TagTree, status: int = 200, address: str = "", body: bytes = b"") -> Reading:
        """The record of a page; none where the page is gone, or is a list itself."""
        if status >= 400 or not tree.chunks or len(apply(self.model, tree).records) >= MIN_RECORDS:
            self.keys.discard(self.records.key(address) or address)
            return Reading(kind="error" if status >= 400 else "none")
        key, frame = self.records.key(address) or address, frozenset(self.model.frame)
        text = " ".join(chunk.strip() for chunk in tree.chunks if chunk not in frame)
        return Reading(kind="single", records=(Record(key=key, url=key, path=tree.path(0), text=text),))


def learn_listing(
    url: str,
    tree: TagTree,
    records: RecordAddresses,
    background: Sequence[TagTree] = (),
) -> Listing | None:
    """A page as a list of records, with what pages without records look like; None where it is none."""
    on_page = records.on(tree)
    if len(on_page) < MIN_RECORDS:
        return None
    model = learn_source([tree], background, is_record_address=records.is_record)
    listing = Listing(url=url, model=model, records=records)
    if not model.rules or len(listing.records_of(tree, apply(model, tree))) < MIN_READ_SHARE * len(on_page):
        return None
    return listing


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
