"""Lists without a query as questions: how their pages are read, and which lists of a family could be asked next.

A list has a layout of its own. Its records are known by their addresses, so that they are the same records as those that queries bring.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from upwell.model import Record
from upwell.page.tree import TagTree
from upwell.site.lists import RecordAddresses
from upwell.source.apply import Reading, apply
from upwell.source.learn import learn_source
from upwell.source.model import SourceModel

__all__ = ["Listing", "learn_listing"]

MIN_RECORDS = 5  # that a page links to, from which on it can be a list; not swept
MAX_RULES = 5  # of a list: some of its pages may look otherwise
MIN_READ_SHARE = 0.8  # of the record addresses on a page, that a list's model must read; not swept


@dataclass
class Listing:
    """A list, or a family of lists that look alike."""

    url: str
    model: SourceModel
    records: RecordAddresses
    keys: set[str] = field(default_factory=set)  # that its lists brought
    family: deque[str] = field(default_factory=deque)  # lists that were not asked yet
    asked: int = 1  # lists of the family
    pages: int = 0  # of these lists
    is_whole: bool = True  # each list that was asked came to its end

    def read(self, tree: TagTree, status: int = 200) -> Reading:
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
                return replace(record, key=key, url=key)
        return None


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
