"""Estimate the size of a source with a confidence interval, from the evidence that a harvest collects.

index        the site sends all records to its own search, which answers from them alone
total        the total that the source states for a query for everything, as accurate as its totals that could be tested
list         a complete list of everything: records drawn independently show what it leaves out
recaptured   an incomplete list of everything: the listed share of the records drawn independently estimates its coverage
             (capture–recapture)
bracket      between the records held or counted and a bound from the last pages: the harvest asks for new records, so the
             share of known records on its pages is at most the coverage

Check queries draw records independently of the harvest: words of some records held, whose complete answers show how much of a list
was fetched. Words say nothing about records that share no word with others; their number is estimated from those that share one or two
(`unconnected`). If the upper bound is too high to be useful, there is none: the source has at least that many records.
"""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from upwell.arrays.key_set import KeySet
from upwell.choose.word_index import WordIndex
from upwell.page.tokens import stop_words_of
from upwell.types import Estimate

__all__ = ["MAX_COMPARED", "CheckQueries", "CoverageEvidence", "CoverageStatement", "SizeBy"]

SizeBy = Literal["index", "total", "list", "recaptured", "bracket"]
RECENT_PAGES = 40  # last pages of the harvest used for the bracket
MIN_PAGES = 25  # pages needed before they are used
RECENT_TOTALS = 30  # last words with a stated total used for the bracket
MIN_TOTALS = 10  # such words needed before they are used
MIN_HAVE = 3  # records held that must contain a word before its total is used
MAX_RATIO = 6.0  # of upper to lower bound, beyond which there is no upper bound
MIN_DRAWN = 20  # independently drawn records needed
ENOUGH_DRAWN = 150  # drawn records after which no more check queries are asked
MIN_LIST_SHARE = 0.3  # share of the records held that a list of everything must contain to be used
MIN_LISTED_SHARE = 0.9  # a listing counts as complete if it contains at least this share of independently drawn records
HEDGED_ERROR = 0.2  # assumed relative error of a total that the source calls approximate, before it is tested
MIN_TESTS = 5  # tested totals after which such a total is trusted more
MAX_COMPARED = 2000  # keys sampled to compare two sets of keys
MARGIN = 0.5  # safety margin, as a share of the possibly missing records, added to the upper bound
UNCOUNTED_MARGIN = 1.5  # the same, for capped sources without totals
UNCONNECTED = 4.0  # factor on Chao's estimate of unconnected records, which is a lower bound
MIN_UNSEEN_SHARE = 0.01  # share of the records held that may be missing without any evidence
# the same, for capped sources without totals: all words of a record may be too frequent to reach it; not swept: from
# one application, holds in six runs of benchmarks.ground
MIN_UNSEEN_SHARE_UNCOUNTED = 0.04
NORMAL = 1.96  # two-sided 95 %
RULE_OF_THREE = 3.0  # upper 95 % bound of a count that was observed as 0
DESIGN_EFFECT = 3.0  # records of one answer are correlated: intervals of samples are widened by this factor
MAX_CHECK_PAGES = 3  # result pages that a check query may be expected to have
MIN_CHECK_RECORDS = 50  # records held before check queries are drawn
DRAWN_WORDS = 500  # check queries drawn at a time
MIN_SHARED_WORDS = 30  # words in several records needed before words of a single record are left out
# the words of check queries come from every fifth record held, because these records do not count as drawn; swept as a
# share of 0.05 … 0.5: docs/decisions/0040
SAMPLE_EVERY = 5
MAX_REACHABLE_SHARE = (
    0.5  # share of the reachable matches that a check query may be expected to have; 0.25 was no better
)


@dataclass(frozen=True, slots=True)
class CoverageStatement:
    """The estimated size with its interval, the evidence it follows from, and whether it is only a lower bound."""

    size: Estimate
    by: SizeBy
    is_lower_bound: bool = False


@dataclass
class CoverageEvidence:
    """Evidence so far about the size of a source."""

    words: WordIndex
    held: int = 0
    stated: int = 0  # total stated for a query for everything
    is_hedged: bool = False
    totals_are_wrong: bool = False
    is_capped: bool = False
    is_counted: bool = False  # totals are stated and not known to be wrong
    takes_first_pages: bool = False  # further pages are not fetched
    # largest relative errors of totals whose matches were all fetched
    errors: list[float] = field(default_factory=list)
    largest_totals: list[int] = field(default_factory=list)  # of different queries
    totals: deque[tuple[str, int, float]] = field(
        default_factory=lambda: deque(maxlen=RECENT_TOTALS)
    )  # word, total, showing
    pages: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=RECENT_PAGES))  # records, of these known
    listed: KeySet = field(default_factory=KeySet)  # keys from a query for everything
    is_list_complete: bool = False
    is_only_lists: bool = False  # the source has no search: its lists are the only evidence
    is_linked_list: bool = False  # the list was found by a link: its order is unknown, and it may be partial
    drawn: KeySet = field(default_factory=KeySet)  # keys of other complete answers
    is_index_complete: bool = False  # the site's own search has exactly the records held
    queried: KeySet = field(default_factory=KeySet)  # keys returned by queries, not by lists found by links

    def statement(self) -> CoverageStatement:
        """Return the statement that the evidence supports."""
        if self.is_index_complete:
            held = float(self.held)
            return CoverageStatement(Estimate(estimate=held, low=held, high=held), "index")
        return self._by_total() or self._by_list() or self._bracket()

    def add_error(self, error: float) -> None:
        """Add the relative error of a total whose matches were all fetched; only the largest are kept."""
        self.errors = sorted((*self.errors, error))[-MIN_TESTS:]

    @property
    def needs_draws(self) -> bool:
        """Return True if a list of everything is the only evidence and too few records were drawn independently."""
        is_list = len(self.listed) >= MIN_LIST_SHARE * self.held > 0 and not self.is_linked_list
        return is_list and len(self.drawn) < ENOUGH_DRAWN and self._by_total() is None

    def guess(self) -> float:
        """Return a size to choose by, however uncertain: the median of total × held ÷ held with the word. 0 without totals."""
        held = self.words.held
        guesses = sorted(total * held / have for total, have in self._counts() if have >= MIN_HAVE)
        return guesses[len(guesses) // 2] if guesses and self.is_counted else 0.0

    def _counts(self) -> list[tuple[float, float]]:
        """Return, for the last words with a total, the total and the number of its matches that should be held."""
        held = self.words.records_with_each([word for word, _, _ in self.totals])
        return [(float(total), have / showing) for (_, total, showing), have in zip(self.totals, held, strict=True)]

    def _by_total(self) -> CoverageStatement | None:
        if not self.stated or self.stated < self.held or self.totals_are_wrong:
            return None
        if sum(total == self.stated for total in self.largest_totals) > 2:
            return None  # the source stops counting there
        error = 1.2 * max(self.errors, default=0.0)
        if self.is_hedged and len(self.errors) < MIN_TESTS:
            error = max(error, HEDGED_ERROR)
        elif self.is_hedged:
            error = max(error, 0.05)
        stated = float(self.stated)
        low, high = max(self.held, stated * (1 - error)), stated * (1 + error)
        return CoverageStatement(Estimate(estimate=max(stated, low), low=low, high=max(low, high)), "total")

    def _by_list(self) -> CoverageStatement | None:
        if self.is_only_lists:
            size = float(max(self.held, len(self.listed) if self.is_list_complete else 0))
            high = size if len(self.listed) > self.held else size * (1 + MIN_UNSEEN_SHARE)
            is_open = not self.is_list_complete
            return CoverageStatement(Estimate(estimate=size, low=size, high=high), "list", is_lower_bound=is_open)
        independent = self.queried if self.is_linked_list else self.drawn
        number, drawn = len(self.listed), len(independent)
        if number < MIN_LIST_SHARE * self.held or not number:
            return None  # it does not list everything, or is not being fetched
        share_listed = self.listed.share_of(independent, MAX_COMPARED)
        both, share = share_listed * drawn, share_listed if drawn >= MIN_DRAWN else 1.0
        if self.is_list_complete:
            if drawn < MIN_DRAWN or share < MIN_LISTED_SHARE:
                return None
            error = DESIGN_EFFECT * NORMAL * math.sqrt(share * (1 - share) / max(1, drawn)) + 1 / (drawn + MIN_DRAWN)
            return self._of_share(number, share, error, "list")
        if (
            drawn < MIN_DRAWN or both < MIN_DRAWN / 4 or self.is_linked_list
        ):  # the order of a linked list does not depend on the records held
            low = float(max(self.held, number))
            return CoverageStatement(Estimate(estimate=low, low=low, high=low), "recaptured", is_lower_bound=True)
        error = DESIGN_EFFECT * NORMAL * math.sqrt(max(share * (1 - share), 1 / drawn) / drawn)
        return self._of_share(number, share, error, "recaptured")

    def _of_share(self, number: int, share: float, error: float, by: SizeBy) -> CoverageStatement:
        low, high = max(self.held, number / min(1.0, share + error)), number / max(0.01, share - error)
        size = Estimate(estimate=max(low, number / max(0.01, share)), low=low, high=max(low, high))
        return CoverageStatement(size, by, is_lower_bound=high > MAX_RATIO * low)

    def _bracket(self) -> CoverageStatement:
        held = float(self.held)
        low = max(held, float(max(self.largest_totals, default=0)) if self.is_counted and not self.is_hedged else 0.0)
        counts = [(total, min(total, have)) for total, have in self._counts()]
        pages = [(records, before) for records, before in self.pages if records]
        if len(pages) < MIN_PAGES or not held:
            return CoverageStatement(Estimate(estimate=low, low=low, high=low), "bracket", is_lower_bound=True)
        shares = [_share_below(pages)]
        if self.is_counted and len(counts) >= MIN_TOTALS:
            shares.append(_share_below(counts))
        missing = held / max(0.01, min(shares)) - held
        is_uncounted = self.is_capped and not self.is_counted
        margin, hidden = (UNCOUNTED_MARGIN, MIN_UNSEEN_SHARE_UNCOUNTED) if is_uncounted else (MARGIN, MIN_UNSEEN_SHARE)
        missing = max((1 + margin) * missing, self.expected_from_unasked(RULE_OF_THREE / MIN_PAGES))
        high = held + missing + hidden * held + UNCONNECTED * self.unconnected()
        middle = math.sqrt(low * max(low, high))
        # with less than half of the source held, the last pages say little about the rest
        is_early = low > 2 * held or self.takes_first_pages
        is_open = is_early or not low <= high <= MAX_RATIO * low
        return CoverageStatement(
            Estimate(estimate=middle, low=low, high=max(low, high)), "bracket", is_lower_bound=is_open
        )

    def expected_from_unasked(self, new_per_page: float) -> float:
        """Return how many records the words that were not asked yet may return, at `new_per_page` each.

        Short texts in highly inflected languages have few words per record and many unasked words; the last pages alone are too
        optimistic there.
        """
        words, words_of_record = self.words.unasked()
        return words * new_per_page / max(1.0, words_of_record)

    def unconnected(self) -> float:
        """Return Chao's estimate of the records that share no word with others, from those that share one and two."""
        one, two = self.words.connections()
        return one * one / (2.0 * (two + 1))


def _share_below(parts: Sequence[tuple[float, float]]) -> float:
    """Return the lower confidence bound of the pooled share."""
    whole, have = sum(part[0] for part in parts), sum(part[1] for part in parts)
    share, number = have / whole, len(parts)
    spread = math.sqrt(sum((part[1] - share * part[0]) ** 2 for part in parts) * number / (number - 1)) / whole
    return max(0.0, share - NORMAL * spread)


class CheckQueries:
    """Check queries of one source, drawn again whenever the number of records held has doubled."""

    def __init__(self, index: WordIndex) -> None:
        self.index = index
        self._waiting: list[str] = []
        self._drawn_at = 0  # records held at the last draw

    def next(self, page_size: int) -> str | None:
        """Return the next check query; None before enough records are held."""
        if self.index.held < MIN_CHECK_RECORDS:
            return None
        if self.index.held >= 2 * self._drawn_at:
            self._drawn_at = self.index.held
            self._waiting = self._draw(MAX_CHECK_PAGES * page_size, np.random.default_rng(self._drawn_at))
        return self._waiting.pop() if self._waiting else None

    def _draw(self, reachable: int, rng: np.random.Generator) -> list[str]:
        """Draw words of every fifth record held that should have at most `reachable` matches."""
        counts: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        for cells in self.index.words_of_each(SAMPLE_EVERY):
            more = np.bincount(cells, minlength=len(counts))
            more[: len(counts)] += counts
            counts = more
        most = max(2.0, MAX_REACHABLE_SHARE * reachable / SAMPLE_EVERY)
        shared, alone = np.flatnonzero((counts > 1) & (counts <= most)), np.flatnonzero(counts == 1)
        words = self._words(rng.permutation(shared))
        return (
            words
            if len(words) >= MIN_SHARED_WORDS
            else words + self._words(rng.permutation(alone))[: DRAWN_WORDS - len(words)]
        )

    def _words(self, numbers: NDArray[np.int64]) -> list[str]:
        """Return the first words that sources index: no stop words, single letters or numbers."""
        stops, words = stop_words_of(self.index.language), []
        for number in numbers.tolist():
            word = self.index.word(number)
            if len(word) > 1 and word not in stops and not any(c.isdigit() for c in word):
                words.append(word)
            if len(words) == DRAWN_WORDS:
                break
        return words

    def fair(self, hashes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the hashes of the records that were not used for drawing the words."""
        numbers = np.array(list(self.index.record_numbers(hashes.tolist())), dtype=np.int64)
        return np.asarray(hashes[(numbers % SAMPLE_EVERY != 0) | (numbers >= self._drawn_at) | (numbers < 0)])
