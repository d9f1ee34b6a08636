"""Finding lists without a query: which links of the pages seen so far to open, and whether what comes is a list of records."""

from collections import deque
from itertools import islice

from upwell.harvest.listing import Listing, learn_listing
from upwell.harvest.reader import Setting, SourceReader
from upwell.page.tree import TagTree
from upwell.site.lists import ListLinks, RecordAddresses, family_of

__all__ = ["ListFinder"]

MAX_ADDRESSES = 500  # of records held, that their shape is learned from
MAX_FAMILY = 1000  # lists of one family


class ListFinder:
    """The links that may lead to lists of a source's records; sources whose records have the same addresses share them."""

    def __init__(self, reader: SourceReader, setting: Setting) -> None:
        self.reader, self.pages, self._links = reader, setting.discovery.pages, setting.list_links

    def records(self) -> RecordAddresses | None:
        """Which addresses are those of records, by those that are held; None where these have none of their own."""
        held = self.reader.ledger.held
        addresses = [key for key in islice(held, MAX_ADDRESSES) if "://" in key]
        records = RecordAddresses.learn(addresses, [*self.reader.background, self.reader.discovery.home])
        records.held = held
        return records if records.shapes else None

    def next(self, records: RecordAddresses) -> str | None:
        """The link to open now; None where none is left."""
        if records.shapes not in self._links:
            links = self._links[records.shapes] = ListLinks()
            for page in self.pages:
                links.add(page, records)
        links = self._links[records.shapes]
        if self.reader.last_tree is not None:
            links.add(self.reader.last_tree, records, self.reader.last_query)
        return links.next()

    def judge(self, url: str, tree: TagTree, records: RecordAddresses) -> Listing | None:
        """The page at an address that was opened, as a list; None where it is none."""
        links = self._links[records.shapes]
        links.add(tree, records)
        if tree.url != url and tree.url in links.opened:
            return None  # it leads to a page that was opened before
        links.opened.add(tree.url)
        listing = learn_listing(url, tree, records, self.reader.background, self.reader.ledger.model.volatile)
        if listing is None:
            links.fail(url)
        else:
            family = family_of(url, [*self.pages, tree], records.__contains__)
            listing.family = deque(family[:MAX_FAMILY])
            links.opened.update(listing.family)
        return listing
