"""What questions should bring, and what came of that: one belief for each, one calibration for each kind.

chance    that a question of a kind matches at all
share     of what is predicted that comes: learned from pages that came (`queries.calibration`)
size      of the source, as far as it is needed to choose; what is said to people is `coverage`
"""

from upwell.harvest.ledger import SourceLedger
from upwell.harvest.open_query import Belief, By, OpenQuery
from upwell.queries.calibration import Calibration
from upwell.queries.size import chao
from upwell.queries.word_index import WordIndex

__all__ = ["GOOD_SHARE", "HORIZON", "Beliefs", "rate", "value"]

HORIZON = 1000  # pages of a question that are looked at together
GOOD_SHARE = 0.6  # of the best rate, above which a question counts: what its requests would bring elsewhere
OWN_RECORDS = 20.0  # predicted records that the usual share weighs beside a query's own
OWN_MEMORY = 0.7  # of a query's earlier pages that remains with each further page
UNKNOWN_PAGES = 5  # pages that a query of unknown length is taken to have left at least
MIN_NEW_SHARE = 0.02  # of what is left, because the number held is a guess
MIN_SHOWING = 0.05  # share of the matches that are taken to show the query
KINDS: tuple[By, ...] = (
    "given", "word", "listed word", "proposed", "beginning", "pair", "facet", "check", "list", "export",
)  # fmt: skip


NUMBERS = {kind: number for number, kind in enumerate(KINDS)}


def rate(belief: Belief) -> float:
    """New records for a request."""
    new, requests = belief.within(HORIZON)
    return new / requests


def value(belief: Belief, best: float) -> float:
    """The new records of the next pages, less what their requests would bring elsewhere at a good share of the best rate."""
    new, requests = belief.within(HORIZON)
    return new - GOOD_SHARE * best * requests


class Beliefs:
    """The beliefs about one source; `everything` are the queries that ask for all of it."""

    def __init__(self, ledger: SourceLedger, words: WordIndex, everything: tuple[str, ...]) -> None:
        self.ledger, self.words, self.everything = ledger, words, everything
        self.largest_total = 0  # that a query states
        self.best_rate = 0.0  # new records that the next request should bring
        self._of_pages = Calibration(2 * len(KINDS))  # further pages: by proposer, whether cut off
        self._of_questions = Calibration(len(KINDS))
        self._tried = dict.fromkeys(KINDS, 0)
        self._matched = dict.fromkeys(KINDS, 0)

    def size(self) -> float:
        """How large the source may be, taken optimistically as long as nobody knows."""
        ledger, words, held = self.ledger, self.words, len(self.ledger)
        if ledger.size_by == "total":
            return ledger.size.estimate
        by_times = chao(words.held, words.seen_once, words.seen_twice).estimate
        at_least = max(1.1 * held, held + 2.0 * (ledger.page_size or 10))
        return max(ledger.size.estimate, ledger.coverage.guess(), by_times, at_least)

    def chance(self, by: By) -> float:
        """How likely a question of a kind is to match at all."""
        return (self._matched[by] + 1) / (self._tried[by] + 2)

    def share(self, by: By) -> float:
        """How much of what is predicted for a kind of question comes."""
        return self._of_questions.share(NUMBERS[by])

    def of(self, query: OpenQuery, size: float) -> Belief:
        """What the rest of an open query should bring; notes what its next page should, before calibration."""
        ledger, seen, held = self.ledger, query.pages.matches, len(self.ledger)
        page = float(max(1, query.last_page_size))
        size = max(size, seen + page)
        showing = query.showing / max(1, seen)
        with_words = self.words.records_with(query.words[0]) if len(query.words) == 1 else query.held_showing
        is_everything = self.asks_for_everything(query)
        is_counted = ledger.tells_by_total(query.stated_total) and (query.stated_total or 0) >= seen
        total = float(query.stated_total or 0)
        if is_everything and is_counted:
            total = max(total, float(self.largest_total), float(held))
        elif is_everything:  # as long as nobody counts, taken optimistically: what is held may come first
            total = max(seen + page, 3.0 * held + HORIZON * page if ledger.lower_bound else ledger.size.high)
        elif not is_counted:
            total = max(size * with_words / max(1, held), 2.0 * seen, seen + UNKNOWN_PAGES * page)
        left = max(1.0, total - seen)
        if is_everything:
            held_left = max(0.0, float(held - seen))
        else:  # as far as matches show the query, by the records held that do; else as of all other records
            shown = max(0.0, float(with_words - query.showing)) / max(showing, MIN_SHOWING)
            others = max(0.0, (held - seen) / max(1.0, size - seen))
            held_left = showing * shown + (1 - showing) * others * left
        new_share = max(MIN_NEW_SHARE, 1 - min(1.0, held_left / left))
        reach = total if query.listing else min(total, ledger.limit or total)
        rest = max(1.0, reach - seen)
        query.next_page = new_share * min(page, rest)
        share = 1.0  # where the rest is counted, it does not matter what came first
        if reach < total or not (is_everything or is_counted):
            usual = self._of_pages.share(self._kind(query))
            share = (query.received + OWN_RECORDS * usual) / (query.predicted + OWN_RECORDS)
        return Belief(min(1.0, share * new_share) * rest, max(1.0, rest / page))

    def asks_for_everything(self, query: OpenQuery) -> bool:
        """Whether a query asks for all that the source has: nothing, a star, or a list without a query."""
        return query.listing is not None or (query.is_plain and query.query in self.everything)

    def lists_everything(self, query: OpenQuery) -> bool:
        """Whether the pages of a query should lead through all that the source has."""
        return self.asks_for_everything(query) and (query.listing is not None or not self.ledger.limit)

    def observe(self, query: OpenQuery, new: int) -> None:
        """Compares what a page brought with what was expected of it."""
        expected, by = query.next_page, query.question.by
        query.predicted = OWN_MEMORY * query.predicted + expected
        query.received = OWN_MEMORY * query.received + new
        if query.pages.pages > 1:
            self._of_pages.add_page(self._kind(query), expected, new)
            return
        self._tried[by] += 1
        self._matched[by] += bool(query.last_page_size)
        if query.last_page_size and expected:  # that it does not match at all is counted as its chance
            self._of_questions.add_page(NUMBERS[by], expected / self.share(by), new)

    def _kind(self, query: OpenQuery) -> int:
        is_cut_off = not query.listing and 0 < self.ledger.limit < (query.stated_total or 0)
        return NUMBERS[query.question.by] + is_cut_off * len(KINDS)
