"""Finding lists without a query: which links of the pages seen so far to open, and whether what comes is a list of records."""

from collections import deque
from collections.abc import Iterable

from upwell.harvest.exports import Export
from upwell.harvest.listing import Listing, RecordPages, learn_listing
from upwell.harvest.open_query import LIST_MARK
from upwell.harvest.reader import Setting, SourceReader
from upwell.key_set import KeySet
from upwell.model import ListInterface
from upwell.page.tree import TagTree
from upwell.site.downloads import data_links, feed_links
from upwell.site.lists import ListLinks, RecordAddresses, family_of
from upwell.source.apply import apply
from upwell.source.paging import next_page_of

__all__ = ["ListFinder"]

MIN_WHOLE_LIST = 50  # records of a list of one page, and twice what an answer shows
MIN_FAMILY = 5  # other lists that look like one of one page
MIN_EXPECTED = 5.0  # records of a list that should be held already, before it tells that none is: by chance one list in 150 has none
MAX_FAMILY = 1000  # lists of one family


class ListFinder:
    """The links that may lead to lists of a source's records; sources whose records have the same addresses share them."""

    def __init__(self, reader: SourceReader, setting: Setting) -> None:
        self.setting = setting
        self.reader, self.pages, self._links = reader, setting.discovery.pages, setting.list_links
        self.pages_to_judge = list(self.pages)
        self._of_earlier_run = [
            question.removeprefix(LIST_MARK) for question in setting.earlier_questions if question.startswith(LIST_MARK)
        ]
        self._waiting = True  # the links of what was seen before were not taken in yet

    def records(self) -> RecordAddresses | None:
        """Which addresses are those of records, by those that are held; None where these have none of their own."""
        held = self.reader.ledger.held
        addresses = [key for key in self.reader.ledger.first_keys if "://" in key]
        frame_pages = [*self.reader.background, self.reader.discovery.home]
        records = RecordAddresses.learn(addresses, frame_pages, self.reader.ledger.model.volatile)
        records.held = held
        return records if records.shapes else None

    def of_interface(self, interface: ListInterface) -> Listing:
        """The list that a source is asked by, where it has no search."""
        records = RecordAddresses.learn(interface.examples, self.pages, self.reader.ledger.model.volatile)
        listing = Listing(url=interface.url, model=self.reader.ledger.model, records=records)
        listing.family = deque(family_of(interface.url, self.pages, records.is_record)[:MAX_FAMILY])
        links = self._links.setdefault(records.shapes, ListLinks())
        links.opened.update((interface.url, *listing.family))
        links.judged.add(interface.url)
        return listing

    def of_sitemap(self, addresses: Iterable[str], records: RecordAddresses) -> RecordPages:
        """The addresses of a sitemap that are those of records, as pages that could be read."""
        keys = {key: address for address in addresses if (key := records.key(address)) is not None}
        held = self.reader.ledger.held
        pages = RecordPages(url="", model=self.reader.ledger.model, records=records, keys=KeySet(keys))
        pages.family = deque(address for key, address in keys.items() if key not in held)
        return pages

    def exports(self) -> list[Export]:
        """The data that pages seen so far offer to download, unread; none where records have no addresses by which to know them again."""
        records, reader = self.records(), self.reader
        if records is None:
            return []
        pages = [*self.pages, *([reader.last_tree] if reader.last_tree else ())]
        addresses = tuple(key for key in reader.ledger.first_keys if "://" in key)
        return [
            Export(
                url=url,
                model=reader.ledger.model,
                records=records,
                family=deque([url]),
                home=reader.discovery.home,
                addresses=addresses,
                answers=reader.fields_of,
            )
            for url in data_links(pages, reader.interface.query_field)
        ]

    def seen(self, records: RecordAddresses) -> list[Listing]:
        """The lists among the pages that were seen before, each time once."""
        pages, self.pages_to_judge = self.pages_to_judge, []
        found: list[Listing] = []
        links = self._links.setdefault(records.shapes, ListLinks())
        for page in pages:
            if page.url not in links.opened:
                listing = self.judge(page.url, page, records)
                found += [listing] if listing is not None else []
        return found

    def next(self, records: RecordAddresses) -> str | None:
        """The link to open now; None where none is left."""
        links = self._links.setdefault(records.shapes, ListLinks())
        if self._waiting:
            for page in (*self.pages, *([self.reader.last_tree] if self.reader.last_tree else ())):
                links.add(page, records, self.reader.interface.query_field)
            links.add_feeds(feed_links(self.reader.discovery.home))
            links.prefer(self._of_earlier_run)
            self._waiting = False
        return links.next()

    def judge(self, url: str, tree: TagTree, records: RecordAddresses) -> Listing | None:
        """The page at an address that was opened, as a list; None where it is none."""
        links = self._links.setdefault(records.shapes, ListLinks())
        links.add(tree, records, self.reader.interface.query_field)
        if tree.url in links.judged:
            return None  # it leads to a page that was opened before
        links.judged.add(tree.url)
        links.opened.add(tree.url)
        listing = learn_listing(url, tree, records, self.reader.background)
        if listing is not None:
            family = family_of(url, [*self.pages, tree], records.is_record)
            listing.family = deque([address for address in family if address not in links.opened][:MAX_FAMILY])
        if listing is None or not self._is_worth_walking(listing, tree) or self._is_of_others(tree, records):
            links.fail(url)
            return None
        links.opened.update(listing.family)
        listing.name_columns_as(self.reader.fields_of, listing.records_of(tree, apply(listing.model, tree)))
        return listing

    def _is_worth_walking(self, listing: Listing, tree: TagTree) -> bool:
        """Whether a list goes on, is long, or is one of many: else it is a teaser, "recent" or "related"."""
        reading = listing.read(tree)
        if next_page_of(tree, reading, "") is not None or len(listing.family) >= MIN_FAMILY:
            return True
        return len(reading.records) >= max(MIN_WHOLE_LIST, 2 * self.reader.ledger.page_size)

    def _is_of_others(self, tree: TagTree, records: RecordAddresses) -> bool:
        """Whether a list has none of the records that came for queries, where some should be: its things are others with like addresses."""
        ledger, listed = self.reader.ledger, records.on(tree)
        expected = len(listed) * len(ledger) / max(1.0, ledger.size.high, len(ledger))
        return expected >= MIN_EXPECTED and not any(key in ledger.held for key in listed)
