"""Estimate the new records that a candidate or an open query will return per request.

ExpectedYield     new records and pages that a candidate is expected to return
advantage         the value by which candidates of all kinds are compared
Calibration       new records received ÷ predicted, per kind
YieldEstimator    the estimates for one source: match chance and received share per kind of candidate, remaining pages of
                  open queries, and the size of the source, for choosing only; the statement for users is `coverage`
"""

from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from upwell.choose.size import chao

if TYPE_CHECKING:
    from upwell.choose.candidates import OpenQuery
    from upwell.choose.ledger import SourceLedger
    from upwell.choose.word_index import WordIndex

__all__ = [
    "GOOD_SHARE",
    "HORIZON",
    "Calibration",
    "CandidateKind",
    "ExpectedYield",
    "YieldEstimator",
    "advantage",
    "new_per_request",
]

HORIZON = 1000  # pages of a candidate that are considered together
GOOD_SHARE = 0.6  # of the best candidate's yield per request: the opportunity cost of a request
OWN_RECORDS = 20.0  # predicted records of the usual received share that a query's own are pooled with
OWN_MEMORY = 0.7  # weight of a query's earlier pages after each further page
UNKNOWN_PAGES = 5  # pages that a query of unknown length is assumed to have left at least
MIN_NEW_SHARE = 0.02  # share of the remaining matches assumed to be new at least, because the number held is a guess
MIN_SHOWN_SHARE = 0.5  # share of the matches that must show the query for the number held to be known; as for totals
# pages of a query without a new record after which each further one halves its expected yield
PATIENT_PAGES, MAX_HALVINGS = 2, 20
MIN_SHOWING = 0.05  # share of the matches assumed to show the query at least
# predicted records at the mean of all kinds that a kind's own are pooled with; swept 20, 60, 200: docs/decisions/0080
PRIOR_RECORDS = 20.0
MEMORY = 0.97  # weight of earlier pages after each further page, because sources run dry; not swept

# given: by the user, a probe, or an earlier run; common word: frequent in the language, but in no record held;
# proposed: by a knowledge base or a plug-in; list: without a query; export: a list to download; region: of a form's value space
CandidateKind = Literal[
    "given", "word", "common word", "proposed", "prefix", "pair", "facet", "check", "list", "export", "region"
]
KINDS: tuple[CandidateKind, ...] = get_args(CandidateKind)
NUMBERS = {kind: number for number, kind in enumerate(KINDS)}


class ExpectedYield(NamedTuple):
    """Expected result of a candidate: `new` records on `pages` pages, if it matches anything, which it does with `chance`."""

    new: float
    pages: float
    chance: float = 1.0

    def within(self, horizon: int) -> tuple[float, float]:
        """Return the expected new records and requests of the next `horizon` pages; without a match, one request is spent."""
        pages = min(self.pages, horizon)
        return self.chance * self.new * pages / self.pages, 1 + self.chance * (pages - 1)


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


class Calibration:
    """New records received ÷ predicted, per kind, pooled towards the mean; kinds beyond `kinds` share a number."""

    def __init__(self, kinds: int) -> None:
        self._received, self._predicted = np.zeros(kinds), np.zeros(kinds)
        self._pooled: NDArray[np.float64] | None = None  # shares of all kinds, until the next page

    def shares(self, kinds: NDArray[np.integer]) -> NDArray[np.float64]:
        """Return the share received for each of some kinds. In the mean, each kind counts once."""
        return np.asarray(self.all_shares()[kinds % len(self._received)])

    def share(self, kind: int) -> float:
        """Return the share received for a kind."""
        return float(self.all_shares()[kind % len(self._received)])

    def all_shares(self) -> NDArray[np.float64]:
        """Return the share received for each kind."""
        if self._pooled is None:
            tried = self._predicted > 0
            own = (self._received[tried] + PRIOR_RECORDS) / (self._predicted[tried] + PRIOR_RECORDS)
            mean = (1.0 + own.sum()) / (1.0 + tried.sum())
            self._pooled = (self._received + PRIOR_RECORDS * mean) / (self._predicted + PRIOR_RECORDS)
        return self._pooled

    def add_page(self, kind: int, predicted: float, received: float) -> None:
        """Add a page; `predicted` is the prediction before calibration."""
        at = kind % len(self._received)
        self._pooled = None
        self._received[at] = MEMORY * self._received[at] + received
        self._predicted[at] = MEMORY * self._predicted[at] + predicted


class YieldEstimator:
    """Expected yields of the candidates of one source; `everything` are the queries that ask for all of it."""

    def __init__(self, ledger: "SourceLedger", words: "WordIndex", everything: tuple[str, ...]) -> None:
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

    def of_open_query(self, query: "OpenQuery", size: float) -> ExpectedYield:
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
        if (
            query.region is not None
        ):  # regions hardly overlap: what its pages returned, pooled with what was expected of the first
            expected = query.candidate.expected_yield
            new_share = (query.new + min(page, expected.new / expected.pages)) / (seen + page)
        reach = total if query.listing else min(total, ledger.result_cap or total)
        rest = max(1.0, reach - seen)
        query.next_page = new_share * min(page, rest)
        share = 1.0  # where the remaining matches are counted, the order of the pages does not matter
        # and the number of them that are held is known if they show the words of the query
        is_known = is_everything or (is_counted and showing >= MIN_SHOWN_SHARE)
        if reach < total or not is_known:
            is_whole = is_counted and reach == total
            usual = 1.0 if is_whole else self._page_calibration.share(self._page_kind(query))
            share = (query.received + OWN_RECORDS * usual) / (query.predicted + OWN_RECORDS)
            share /= 1 << min(MAX_HALVINGS, max(0, query.dry_pages - PATIENT_PAGES))
        return ExpectedYield(min(1.0, share * new_share) * rest, max(1.0, rest / page))

    def asks_for_everything(self, query: "OpenQuery") -> bool:
        """Return True for a query that asks for the whole source: an empty query, a star, or a list without a query."""
        return query.listing is not None or (query.is_plain and query.query in self.everything)

    def lists_everything(self, query: "OpenQuery") -> bool:
        """Return True if the pages of a query should contain the whole source."""
        return self.asks_for_everything(query) and (query.listing is not None or not self.ledger.result_cap)

    def observe(self, query: "OpenQuery", new: int) -> None:
        """Update the calibration with the new records of a page."""
        expected, kind = query.next_page, query.candidate.kind
        query.predicted = OWN_MEMORY * query.predicted + expected
        query.received = OWN_MEMORY * query.received + new
        query.new += new
        query.dry_pages = 0 if new else query.dry_pages + 1
        if query.pages.pages > 1:
            self._page_calibration.add_page(self._page_kind(query), expected, new)
            return
        self._tried[kind] += 1
        self._matched[kind] += bool(query.last_page_size)
        if query.last_page_size and expected:  # answers without matches count in the match chance
            self._first_page_calibration.add_page(NUMBERS[kind], expected / self.received_share(kind), new)

    def _page_kind(self, query: "OpenQuery") -> int:
        is_capped = not query.listing and 0 < self.ledger.result_cap < (query.stated_total or 0)
        return NUMBERS[query.candidate.kind] + is_capped * len(KINDS)
