"""Lists without a query that were found: which of them could be asked next, when to look for more, and what walking them tells."""

from collections.abc import Iterable, Iterator

from upwell.harvest.answer_page import AnswerPage
from upwell.harvest.beliefs import Beliefs
from upwell.harvest.coverage import Coverage
from upwell.harvest.exports import Export
from upwell.harvest.listing import Listing, RecordPages
from upwell.harvest.open_query import Belief, OpenQuery, Question

__all__ = ["MAX_LOOKS", "ListQuestions", "RecordPages"]

LOOK_EVERY = 10  # requests for each page that is opened to find a list without a query; not swept
MAX_LOOKS = 6  # such pages


class ListQuestions:
    """The lists of one source."""

    def __init__(self, coverage: Coverage) -> None:
        self.coverage = coverage
        self.listings: list[Listing] = []
        self.looks = 0  # pages that were opened to find them

    def may_look(self, pages: int, open_queries: Iterable[OpenQuery], beliefs: Beliefs) -> bool:
        """Whether a page should be opened to find a list: none is open, and enough pages were asked for to pay for it."""
        if self.looks >= MAX_LOOKS or LOOK_EVERY * self.looks >= pages:
            return False
        return not any(query.pages.pages and beliefs.lists_everything(query) for query in open_queries)

    def proposals(self, beliefs: Beliefs) -> Iterator[Question]:
        """The next list of each family; it should bring what those before it brought."""
        for listing in self.listings:
            if isinstance(listing, RecordPages):
                listing.leave_out(beliefs.ledger.held)
            if isinstance(listing, Export) and listing.family:
                belief = Belief(max(0.0, beliefs.size() - len(beliefs.ledger)), 1.0, beliefs.chance("export"))
                yield Question(query="", by="export", listing=listing, address=listing.url, belief=belief)
            elif listing.family:
                new, pages = listing.expected()
                belief = Belief(beliefs.share("list") * new, pages, beliefs.chance("list"))
                yield Question(query="", by="list", listing=listing, address=listing.family[0], belief=belief)

    def add_record_pages(self, pages: RecordPages) -> None:
        """Takes in the pages of a sitemap, which is a list of everything that was walked to its end."""
        self.listings.append(pages)
        if len(pages.keys) >= len(self.coverage.listed):
            self.coverage.listed, self.coverage.is_whole_list, self.coverage.is_linked_list = pages.keys, True, True

    def mark_asked(self, question: Question) -> None:
        """A list is asked."""
        family = question.listing.family if question.listing else None
        if question.listing and family and family[0] == question.address:
            family.popleft()
            question.listing.asked += 1

    def take(self, listing: Listing, page: AnswerPage) -> None:
        """A page of a list came."""
        listing.beginning = listing.beginning or tuple(record.key for record in page.records)
        if not isinstance(listing, RecordPages):
            listing.keys.update(record.key for record in page.records)
        listing.pages += 1

    def is_known_list(self, query: OpenQuery, page: AnswerPage) -> bool:
        """Whether the first page of a list shows that it is one that was opened before; then so are the others of its family."""
        listing = query.listing
        if listing is None or query.pages.pages > 1 or query.question.address == listing.url:
            return False
        is_known = listing.begins_alike([record.key for record in page.records])
        if is_known:
            listing.family.clear()
        return is_known

    def close(self, listing: Listing, *, is_whole: bool, open_queries: Iterable[OpenQuery]) -> None:
        """A list has no further page; `is_whole`: it was walked to its end."""
        listing.is_whole &= is_whole
        if any(isinstance(each, RecordPages) and each.keys is self.coverage.listed for each in self.listings):
            return  # the sitemap was whole before
        if self.coverage.is_only_lists:
            is_waiting = any(each.family or not each.is_whole for each in self.listings)
            self.coverage.is_whole_list = not is_waiting and not any(open_queries)
        elif self.coverage.listed is listing.keys:
            self.coverage.is_whole_list = listing.is_whole
