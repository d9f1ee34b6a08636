"""Estimate the new records that a candidate or an open query will return per request.

match chance      probability that a candidate of a kind matches anything
received share    new records received ÷ predicted, learned per kind of candidate (`calibration`)
size              of the source, for choosing only; the statement for users is `coverage`
"""

from typing import get_args

from upwell.choose.calibration import Calibration
from upwell.choose.candidates import CandidateKind, ExpectedYield, OpenQuery
from upwell.choose.ledger import SourceLedger
from upwell.choose.size import chao
from upwell.choose.word_index import WordIndex

__all__ = ["GOOD_SHARE", "HORIZON", "YieldEstimator", "advantage", "new_per_request"]

HORIZON = 1000  # pages of a candidate that are considered together
GOOD_SHARE = 0.6  # of the best candidate's yield per request: the opportunity cost of a request
OWN_RECORDS = 20.0  # predicted records of the usual received share that a query's own are pooled with
OWN_MEMORY = 0.7  # weight of a query's earlier pages after each further page
UNKNOWN_PAGES = 5  # pages that a query of unknown length is assumed to have left at least
MIN_NEW_SHARE = 0.02  # share of the remaining matches assumed to be new at least, because the number held is a guess
MIN_SHOWING = 0.05  # share of the matches assumed to show the query at least
KINDS: tuple[CandidateKind, ...] = get_args(CandidateKind)
NUMBERS = {kind: number for number, kind in enumerate(KINDS)}


def new_per_request(expected: ExpectedYield) -> float:
    """Return the expected new records per request."""
    new, requests = expected.within(HORIZON)
    return new / requests


def advantage(expected: ExpectedYield, best: float) -> float:
    """Return the expected new records minus those that the same requests would return at a good share of the best yield.

    Of two candidates with the same yield per request, the longer one has the greater advantage: it causes less overlap.
    """
    new, requests = expected.within(HORIZON)
    return new - GOOD_SHARE * best * requests


class YieldEstimator:
    """Expected yields of the candidates of one source; `everything` are the queries that ask for all of it."""

    def __init__(self, ledger: SourceLedger, words: WordIndex, everything: tuple[str, ...]) -> None:
        self.ledger, self.words, self.everything = ledger, words, everything
        self.largest_total = 0  # that a query states
        self.best_rate = 0.0  # new records expected from the next request
        self._page_calibration = Calibration(2 * len(KINDS))  # for further pages: by kind, and whether capped
        self._first_page_calibration = Calibration(len(KINDS))
        self._tried = dict.fromkeys(KINDS, 0)
        self._matched = dict.fromkeys(KINDS, 0)

    def size(self) -> float:
        """Return the assumed size of the source, optimistic while it is unknown."""
        ledger, words, held = self.ledger, self.words, len(self.ledger)
        if ledger.size_by == "total":
            return ledger.size.estimate
        by_times = chao(words.held, words.seen_once, words.seen_twice).estimate
        at_least = max(1.1 * held, held + 2.0 * (ledger.page_size or 10))
        return max(ledger.size.estimate, ledger.coverage.guess(), by_times, at_least)

    def match_chance(self, kind: CandidateKind) -> float:
        """Return the probability that a candidate of a kind matches anything."""
        return (self._matched[kind] + 1) / (self._tried[kind] + 2)

    def received_share(self, kind: CandidateKind) -> float:
        """Return new records received ÷ predicted for a kind of candidate."""
        return self._first_page_calibration.share(NUMBERS[kind])

    def of_open_query(self, query: OpenQuery, size: float) -> ExpectedYield:
        """Estimate the remaining pages of an open query; sets `query.next_page`, the estimate for its next page."""
        ledger, seen, held = self.ledger, query.pages.matches, len(self.ledger)
        page = float(max(1, query.last_page_size))
        size = max(size, seen + page)
        showing = query.showing / max(1, seen)
        with_words = self.words.records_with(query.words[0]) if len(query.words) == 1 else query.held_showing
        is_everything = self.asks_for_everything(query)
        is_counted = ledger.can_use_total(query.stated_total) and (query.stated_total or 0) >= seen
        total = float(query.stated_total or 0)
        if is_everything and is_counted:
            total = max(total, float(self.largest_total), float(held))
        elif is_everything:  # optimistic without a total: the records held may all be listed first
            total = max(seen + page, 3.0 * held + HORIZON * page if ledger.lower_bound else ledger.size.high)
        elif not is_counted:
            total = max(size * with_words / max(1, held), 2.0 * seen, seen + UNKNOWN_PAGES * page)
        left = max(1.0, total - seen)
        if is_everything:
            held_left = max(0.0, float(held - seen))
        else:  # for matches that show the query, from the records held that show it; for others, from all records
            shown = max(0.0, float(with_words - query.showing)) / max(showing, MIN_SHOWING)
            others = max(0.0, (held - seen) / max(1.0, size - seen))
            held_left = showing * shown + (1 - showing) * others * left
        new_share = max(MIN_NEW_SHARE, 1 - min(1.0, held_left / left))
        reach = total if query.listing else min(total, ledger.result_cap or total)
        rest = max(1.0, reach - seen)
        query.next_page = new_share * min(page, rest)
        share = 1.0  # where the remaining matches are counted, the order of the pages does not matter
        if reach < total or not (is_everything or is_counted):
            usual = self._page_calibration.share(self._page_kind(query))
            share = (query.received + OWN_RECORDS * usual) / (query.predicted + OWN_RECORDS)
        return ExpectedYield(min(1.0, share * new_share) * rest, max(1.0, rest / page))

    def asks_for_everything(self, query: OpenQuery) -> bool:
        """Return True for a query that asks for the whole source: an empty query, a star, or a list without a query."""
        return query.listing is not None or (query.is_plain and query.query in self.everything)

    def lists_everything(self, query: OpenQuery) -> bool:
        """Return True if the pages of a query should contain the whole source."""
        return self.asks_for_everything(query) and (query.listing is not None or not self.ledger.result_cap)

    def observe(self, query: OpenQuery, new: int) -> None:
        """Update the calibration with the new records of a page."""
        expected, kind = query.next_page, query.candidate.kind
        query.predicted = OWN_MEMORY * query.predicted + expected
        query.received = OWN_MEMORY * query.received + new
        if query.pages.pages > 1:
            self._page_calibration.add_page(self._page_kind(query), expected, new)
            return
        self._tried[kind] += 1
        self._matched[kind] += bool(query.last_page_size)
        if query.last_page_size and expected:  # answers without matches count in the match chance
            self._first_page_calibration.add_page(NUMBERS[kind], expected / self.received_share(kind), new)

    def _page_kind(self, query: OpenQuery) -> int:
        is_capped = not query.listing and 0 < self.ledger.result_cap < (query.stated_total or 0)
        return NUMBERS[query.candidate.kind] + is_capped * len(KINDS)
