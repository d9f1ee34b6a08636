"""Lists without a query as candidates.

Listing          the progress of a list, or of a family of lists; its pages are read by `discover.lists`
ListCandidates   which list to ask next, when to look for more, and what a completed list shows about the coverage
"""

from collections import deque
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from upwell.arrays.key_set import KeySet
from upwell.choose.candidates import AnswerPage, Candidate, OpenQuery
from upwell.choose.coverage import CoverageEvidence, ListView
from upwell.choose.expected_yield import ExpectedYield, YieldEstimator
from upwell.discover.lists import MIN_RECORDS, ListReader

__all__ = ["MAX_LOOKS", "ListCandidates", "Listing", "ListingKind"]

LOOK_EVERY = 10  # requests per page that is opened to find a list without a query; not swept
MAX_LOOKS = 6  # pages opened to find such lists


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
    is_end_seen: bool = True  # the end of each list that was asked was positively seen
    first_page: tuple[str, ...] = ()  # the keys of the first page
    longest_page: int = 0  # records
    view: ListView | None = None  # what it shows about the coverage

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


class ListCandidates:
    """The lists of one source."""

    def __init__(self, coverage: CoverageEvidence) -> None:
        self.coverage = coverage
        self.listings: list[Listing] = []
        self.looks = 0  # pages that were opened to find lists

    def may_look(self, pages: int, open_queries: Iterable[OpenQuery], yields: YieldEstimator) -> bool:
        """Return True if a page should be opened to find a list: no list is open, and enough pages were requested."""
        if self.looks >= MAX_LOOKS or LOOK_EVERY * self.looks >= pages:
            return False
        return not any(query.pages.pages and yields.lists_everything(query) for query in open_queries)

    def candidates(self, yields: YieldEstimator) -> Iterator[Candidate]:
        """Yield the next list of each family."""
        for listing in self.listings:
            if listing.kind == "record pages":
                listing.skip_held(yields.ledger.held)
            if listing.kind == "export" and listing.family:
                missing = max(0.0, yields.size() - len(yields.ledger))
                expected = ExpectedYield(missing, 1.0, yields.match_chance("export"))
                yield Candidate(query="", kind="export", listing=listing, address=listing.url, expected_yield=expected)
            elif listing.family:
                new, pages = listing.expected()
                expected = ExpectedYield(yields.received_share("list") * new, pages, yields.match_chance("list"))
                yield Candidate(
                    query="", kind="list", listing=listing, address=listing.family[0], expected_yield=expected
                )

    def _view(self, listing: Listing) -> ListView:
        """Return the view of a list, which is among the evidence for the size."""
        if listing.view is None:
            is_sitemap = listing.kind == "record pages"  # whose records are known before their pages are read
            listing.view = ListView(listing.keys, is_sitemap=is_sitemap, is_read=is_sitemap)
            self.coverage.lists.append(listing.view)
        return listing.view

    def add_record_pages(self, pages: Listing) -> None:
        """Add the record pages of a sitemap, which is a complete list of the source."""
        self.listings.append(pages)
        self._view(pages)
        coverage = self.coverage
        if len(pages.keys) >= len(coverage.listed):
            coverage.listed, coverage.is_list_complete, coverage.is_linked_list = pages.keys, True, True

    def mark_asked(self, candidate: Candidate) -> None:
        """Note that a list is asked."""
        family = candidate.listing.family if candidate.listing else None
        if candidate.listing and family and family[0] == candidate.address:
            family.popleft()
            candidate.listing.asked += 1

    def take(self, listing: Listing, page: AnswerPage) -> None:
        """Add a page of a list."""
        listing.first_page = listing.first_page or tuple(record.key for record in page.records)
        if listing.kind != "record pages":
            listing.keys.update(record.key for record in page.records)
        listing.longest_page = max(listing.longest_page, len(page.records))
        listing.pages += 1
        view = self._view(listing)
        if not view.is_sitemap:
            view.is_read, view.is_family = False, listing.asked > 1 or bool(listing.family)
            view.stated = max(view.stated, page.totals.total or 0)

    def is_known_list(self, query: OpenQuery, page: AnswerPage) -> bool:
        """Return True if the first page shows that this list was opened before; then its whole family is dropped."""
        listing = query.listing
        if listing is None or query.pages.pages > 1 or query.candidate.address == listing.url:
            return False
        is_known = listing.begins_alike([record.key for record in page.records])
        if is_known:
            listing.family.clear()
        return is_known

    def close(self, query: OpenQuery, listing: Listing, *, is_whole: bool, open_queries: Iterable[OpenQuery]) -> None:
        """Note the end of a list; `is_whole`: no further page was offered."""
        listing.is_whole &= is_whole
        view = self._view(listing)
        if not view.is_sitemap:
            listing.is_end_seen &= is_whole and query.pages.is_end_seen(listing.longest_page)
            view.is_short |= (query.pages.usual_total or 0) > query.pages.matches
            view.is_read = (
                listing.is_end_seen and not listing.family and all(q.listing is not listing for q in open_queries)
            )
        if any(other.kind == "record pages" and other.keys is self.coverage.listed for other in self.listings):
            return  # the sitemap is complete already
        if self.coverage.is_only_lists:
            is_waiting = any(other.family or not other.is_whole for other in self.listings)
            self.coverage.is_list_complete = not is_waiting and not any(open_queries)
        elif self.coverage.listed is listing.keys:
            self.coverage.is_list_complete = listing.is_whole
