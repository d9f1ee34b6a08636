"""Find lists of records that need no query: choose the links to open, and decide whether a page is a list of records."""

from collections import deque
from collections.abc import Iterable

from upwell.arrays.key_set import KeySet
from upwell.choose.candidates import LIST_MARK
from upwell.choose.list_candidates import Listing
from upwell.discover.lists import (
    ExportReader,
    ListLinks,
    ListReader,
    RecordAddresses,
    SitemapReader,
    family_of,
    learn_list_reader,
)
from upwell.discover.without_search import data_links, feed_links
from upwell.harvest.reader import SiteContext, SourceReader
from upwell.page.tree import TagTree
from upwell.source.apply import apply
from upwell.source.paging import next_page_of
from upwell.types import ListInterface

__all__ = ["ListFinder"]

MIN_SINGLE_PAGE_RECORDS = (
    50  # records that a list of a single page needs, and at least twice as many as an answer shows
)
MIN_FAMILY = 5  # sibling lists needed for a list of a single page
# Already held records expected on a list before it is rejected for showing none; by chance this happens to one list in 150.
MIN_EXPECTED_KNOWN = 5.0
MAX_FAMILY = 1000  # sibling lists followed


class ListFinder:
    """Links that may lead to lists of a source's records; sources whose record URLs have the same shape share them."""

    def __init__(self, reader: SourceReader, context: SiteContext) -> None:
        self.context = context
        self.reader, self.pages, self._links = reader, context.discovery.pages, context.list_links
        self.pages_to_judge = list(self.pages)
        self._of_earlier_run = [
            query.removeprefix(LIST_MARK) for query in context.earlier_queries if query.startswith(LIST_MARK)
        ]
        self._waiting = True  # True until the links of earlier pages were added

    def records(self) -> RecordAddresses | None:
        """Learn which URLs are records from those held; None if the records have no URLs of their own."""
        held = self.reader.ledger.held
        addresses = [key for key in self.reader.ledger.first_keys if "://" in key]
        frame_pages = [*(answer.page for answer in self.reader.background), self.reader.discovery.home]
        records = RecordAddresses.learn(addresses, frame_pages, self.reader.ledger.model.volatile)
        records.held = held
        return records if records.shapes else None

    def of_interface(self, interface: ListInterface) -> Listing:
        """Return the list that serves as search interface of a source without a search."""
        records = RecordAddresses.learn(interface.examples, self.pages, self.reader.ledger.model.volatile)
        listing = Listing(ListReader(url=interface.url, model=self.reader.ledger.model, records=records))
        listing.family = deque(family_of(interface.url, self.pages, records.is_record)[:MAX_FAMILY])
        links = self._links.setdefault(records.shapes, ListLinks())
        links.opened.update((interface.url, *listing.family))
        links.judged.add(interface.url)
        return listing

    def of_sitemap(self, addresses: Iterable[str], records: RecordAddresses) -> Listing:
        """Return the record URLs of a sitemap as pages that could be read."""
        keys = {key: address for address in addresses if (key := records.key(address)) is not None}
        held, key_set = self.reader.ledger.held, KeySet(keys)
        reader = SitemapReader(url="", model=self.reader.ledger.model, records=records, keys=key_set)
        family = deque(address for key, address in keys.items() if key not in held)
        return Listing(reader, kind="record pages", keys=key_set, family=family)

    def exports(self) -> list[Listing]:
        """Return the downloads offered by the pages seen so far, unread; empty if records have no URLs by which to recognize them."""
        records, reader = self.records(), self.reader
        if records is None:
            return []
        pages = [*self.pages, *([reader.last_tree] if reader.last_tree else ())]
        addresses = tuple(key for key in reader.ledger.first_keys if "://" in key)
        readers = [
            ExportReader(
                url=url,
                model=reader.ledger.model,
                records=records,
                home=reader.discovery.home,
                addresses=addresses,
                answers=reader.fields_of,
            )
            for url in data_links(pages, reader.interface.query_field)
        ]
        return [Listing(export, kind="export", family=deque([export.url])) for export in readers]

    def seen(self, records: RecordAddresses) -> list[Listing]:
        """Return the lists among the pages seen before, each once."""
        pages, self.pages_to_judge = self.pages_to_judge, []
        listings: list[Listing] = []
        links = self._links.setdefault(records.shapes, ListLinks())
        for page in pages:
            if page.url not in links.opened:
                listing = self.judge(page.url, page, records)
                listings += [listing] if listing is not None else []
        return listings

    def next(self, records: RecordAddresses) -> str | None:
        """Return the link to open now; None if none is left."""
        links = self._links.setdefault(records.shapes, ListLinks())
        if self._waiting:
            for page in (*self.pages, *([self.reader.last_tree] if self.reader.last_tree else ())):
                links.add(page, records, self.reader.interface.query_field)
            links.add_feeds(feed_links(self.reader.discovery.home))
            links.prefer(self._of_earlier_run)
            self._waiting = False
        return links.next()

    def judge(self, url: str, tree: TagTree, records: RecordAddresses) -> Listing | None:
        """Return the page opened at a URL as a list, None if it is not one."""
        links = self._links.setdefault(records.shapes, ListLinks())
        links.add(tree, records, self.reader.interface.query_field)
        if tree.url in links.judged:
            return None  # a redirect to a page opened before
        links.judged.add(tree.url)
        links.opened.add(tree.url)
        background = [answer.page for answer in self.reader.background]
        reader = learn_list_reader(url, tree, records, background)
        listing = Listing(reader) if reader is not None else None
        if listing is not None:
            family = family_of(url, [*self.pages, tree], records.is_record)
            listing.family = deque([address for address in family if address not in links.opened][:MAX_FAMILY])
        if listing is None or not self._is_worth_walking(listing, tree) or self._lists_other_entities(tree, records):
            links.fail(url)
            return None
        links.opened.update(listing.family)
        reader = listing.reader
        reader.name_columns_as(self.reader.fields_of, reader.records_of(tree, apply(reader.model, tree)))
        return listing

    def _is_worth_walking(self, listing: Listing, tree: TagTree) -> bool:
        """Return True if a list continues, is long or has many siblings; otherwise it is a teaser ("recent", "related")."""
        reading = listing.reader.read(tree)
        if next_page_of(tree, reading, "") is not None or len(listing.family) >= MIN_FAMILY:
            return True
        return len(reading.records) >= max(MIN_SINGLE_PAGE_RECORDS, 2 * self.reader.ledger.page_size)

    def _lists_other_entities(self, tree: TagTree, records: RecordAddresses) -> bool:
        """Return True if a list shows none of the held records although some are expected: its entities are others with similar URLs."""
        ledger, listed = self.reader.ledger, records.on(tree)
        expected = len(listed) * len(ledger) / max(1.0, ledger.size.high, len(ledger))
        return expected >= MIN_EXPECTED_KNOWN and not any(key in ledger.held for key in listed)
