"""Data to download beside a search (CSV, JSON, XML) that may have all records of the source: a question of one request, compared with all others."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from upwell.harvest.listing import MIN_READ_SHARE, MIN_RECORDS, Listing
from upwell.model import Record
from upwell.page.tree import TagTree
from upwell.site.index_source import index_interface, records_of_index
from upwell.source.apply import Reading

__all__ = ["Export"]


@dataclass
class Export(Listing):
    """A list of one page, which is read from its bytes."""

    home: TagTree = field(kw_only=True)
    addresses: tuple[str, ...] = field(kw_only=True)  # of some records, by which the addresses of all are made
    answers: Mapping[str, Mapping[str, str]] = field(kw_only=True)  # what answers say of their records, by key

    def read(self, tree: TagTree, status: int = 200, address: str = "", body: bytes = b"") -> Reading:
        """The records of the data, under the keys that the source gives them; none where most of its rows are something else."""
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
