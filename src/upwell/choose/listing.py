"""The progress of walking a list without a query; its pages are read by `discover.lists`."""

from collections import deque
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from typing import Literal

from upwell.arrays.key_set import KeySet
from upwell.discover.lists import MIN_RECORDS, ListReader

__all__ = ["Listing", "ListingKind"]

# list: pages that list records; record pages: a sitemap of pages that show one record each; export: data to download
ListingKind = Literal["list", "record pages", "export"]


@dataclass
class Listing:
    """A list, or a family of lists with the same layout."""

    reader: ListReader
    kind: ListingKind = "list"
    keys: KeySet = field(default_factory=KeySet)  # of the records seen on its pages; for record pages, of all records
    family: deque[str] = field(default_factory=deque)  # URLs of lists that were not asked yet
    asked: int = 1  # lists of the family
    pages: int = 0  # of these lists
    is_whole: bool = True  # each list that was asked was followed to its last page
    first_page: tuple[str, ...] = ()  # the keys of the first page

    @property
    def url(self) -> str:
        """Return the URL of the list."""
        return self.reader.url

    def begins_alike(self, keys: Sequence[str]) -> bool:
        """Return True if another list of the family begins with the same records: the same list with another page size."""
        shared = min(len(keys), len(self.first_page))
        return shared >= MIN_RECORDS and tuple(keys[:shared]) == self.first_page[:shared]

    def expected(self) -> tuple[float, float]:
        """Return the expected number of records and pages of the next list: the mean of those before."""
        if self.kind == "record pages":
            return 1.0, 1.0
        return len(self.keys) / self.asked, max(1.0, self.pages / self.asked)

    def skip_held(self, held: Container[str]) -> None:
        """Skip the next record pages whose records are held."""
        records = self.reader.records
        while self.family and (records.key(self.family[0]) or self.family[0]) in held:
            self.family.popleft()
