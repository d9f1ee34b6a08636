"""Estimate the size of a source with a confidence interval, from the evidence that a harvest collects.

index        the site sends all records to its own search, which answers from them alone
total        the total that the source states for a query for everything, as accurate as its totals that could be tested
list         a complete list of everything: records drawn independently show what it leaves out
recaptured   an incomplete list of everything: the listed share of the records drawn independently estimates its coverage
             (capture–recapture)
lists        lists of a source without a search, compared with each other, with a sitemap, and with the totals that they state
sample       queries drawn at random for nothing but the size (`size_sample`)
numbers      the numbers in the URLs of the records: there are at most as many records as numbers
bracket      between the records held or counted and a bound from the last pages: the harvest asks for new records, so the
             share of known records on its pages is at most the coverage

Check queries draw records independently of the harvest: words of some records held, whose complete answers show how much of a list
was fetched. Words say nothing about records that share no word with others; their number is estimated from those that share one or two
(`unconnected`). If the upper bound is too high to be useful, there is none: the source has at least that many records.

No evidence vouches for itself. Reaching the end of a list shows what the list contains, not what the source contains, so a statement
with an upper bound needs a second view, and the state `exact` can only be made from two views that agree (`CoverageStatement.exact`).
"""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from upwell.arrays.key_set import KeySet
from upwell.choose.record_numbers import RecordNumbers
from upwell.choose.size_sample import MAX_PRIOR, SizeSample
from upwell.choose.word_index import WordIndex
from upwell.page.tokens import stop_words_of
from upwell.types import Estimate

__all__ = [
    "MAX_COMPARED",
    "MIN_CHECK_RECORDS",
    "MIN_PAGES",
    "RULE_OF_THREE",
    "CheckQueries",
    "CoverageEvidence",
    "CoverageStatement",
    "ListView",
    "SizeBy",
    "SizeState",
]

SizeBy = Literal["index", "total", "list", "recaptured", "lists", "numbers", "sample", "bracket"]
# exact: the number is known; estimated: with an interval; at least: without an upper bound; unknown: nothing shows how many there are
SizeState = Literal["exact", "estimated", "at least", "unknown"]
RECENT_PAGES = 40  # last pages of the harvest used for the bracket
MIN_PAGES = 12  # pages needed before they are used; 25 bounded 5 % fewer statements and held as often
RECENT_TOTALS = 30  # last words with a stated total used for the bracket
MIN_TOTALS = 10  # such words needed before they are used
MIN_HAVE = 3  # records held that must contain a word before its total is used
RULED_PAGES = 25  # most pages that the rule of three for words that were not asked may count
MAX_RATIO = 6.0  # of upper to lower bound, beyond which there is no upper bound
MIN_DRAWN = 20  # independently drawn records needed
ENOUGH_DRAWN = 150  # drawn records after which no more check queries are asked
MIN_LIST_SHARE = 0.3  # share of the records held that a list of everything must contain to be used
MIN_LISTED_SHARE = 0.9  # a listing counts as complete if it contains at least this share of independently drawn records
HEDGED_ERROR = 0.2  # assumed relative error of a total that the source calls approximate, before it is tested
UNTESTED_ERROR = 0.05  # assumed relative error of totals as long as none was tested
MIN_ROUND = 1000  # a total of one digit and zeros from here on may be where the source stops counting
MIN_TESTS = 5  # tested totals after which such a total is trusted more
TESTED_HEDGED_ERROR = 0.15  # its assumed error from then on: a few tests do not show the largest one
# upper end of the interval of a stated total, relative to the lower one, up to which no query is drawn for the size; not swept
CLOSE_TOTAL = 1.25
MAX_TEST_QUERIES = 4  # queries drawn to test a total that no other answer tests; not swept
MAX_COMPARED = 2000  # keys sampled to compare two sets of keys
# safety margin, as a share of the possibly missing records, added to the upper bound of the bracket; on benchmarks.ground --random, 0.5
# held in 88 % of the statements
MARGIN = 1.5
# missing records per record held up to which the margin raises the upper bound: with more new records on its pages, a harvest is known
# to be too optimistic already; on simulated sources with random settings, 2 held in 96.6 and 95.7 % of the bounded statements by bracket
# (collections to choose on and to judge on), 3 in 96.6 and 100 %
MAX_MISSING = 3.0
MIN_BRACKETED = 60  # records held needed for it: fewer may be all that share words with each other
UNCONNECTED = 8.0  # factor on Chao's estimate of unconnected records, which is a lower bound
# share of the records held that all lists of a source may leave out together; benchmarks.ground --random, where some leave out 5 %
LISTS_UNSEEN_SHARE = 0.06
# share of the records held that no word may reach: all words of a record may be too frequent, or in no other record; from one
# application, and benchmarks.ground --random
MIN_UNREACHED_SHARE = 0.04
CLOSE = 0.2  # width of the interval, as a share of its lower end, below which no more queries are drawn
EXACT_VIEWS = 3  # views of a source without a search that must agree before its size counts as known
# numbers given out per record held from which on record numbers contradict the end of a list
GAPS_FACTOR = 1.5
NORMAL = 1.96  # two-sided 95 %
RULE_OF_THREE = 3.0  # upper 95 % bound of a count that was observed as 0
DESIGN_EFFECT = 3.0  # records of one answer are correlated: intervals of samples are widened by this factor
# factor on the missing records of the upper bound of a sample: words of the records held reach the missing ones less often; on
# simulated sources with random settings, 1.0, 1.2, 1.35 and 1.5 held in 92.7, 93.5, 94.7 and 95.8 % of these statements
SAMPLE_MARGIN = 1.5
# drawn records that count as one where a part of a list is compared with them, because an answer has similar records; on simulated
# sources with random settings, 1 held in 85 % of these statements, 1.5 … 2.5 in 99 % and 3 … 9 in all
CLUSTER = 2.0
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
    """The size with its interval, the evidence it follows from, what is known of it, and the views it rests on."""

    size: Estimate
    by: SizeBy
    state: SizeState = "estimated"
    views: tuple[str, ...] = ()

    @classmethod
    def exact(cls, number: float, by: SizeBy, views: tuple[str, ...]) -> "CoverageStatement":
        """Return the statement that there are exactly this many records; at least two views must agree on it."""
        if len(set(views)) < 2:
            raise ValueError("one view does not prove a size")
        return cls(Estimate(estimate=number, low=number, high=number), by, "exact", views)

    @classmethod
    def between(
        cls, estimate: float, low: float, high: float, by: SizeBy, views: tuple[str, ...] = ()
    ) -> "CoverageStatement":
        """Return an estimate with its interval; without an upper bound if that is too far away."""
        high = max(low, high)
        if high > MAX_RATIO * low:
            return cls.at_least(low, by, views)
        return cls(Estimate(estimate=min(max(estimate, low), high), low=low, high=high), by, "estimated", views)

    @classmethod
    def at_least(cls, number: float, by: SizeBy, views: tuple[str, ...] = ()) -> "CoverageStatement":
        """Return a statement without an upper bound; without any view, nothing is known."""
        state: SizeState = "at least" if number and views else "unknown"
        return cls(Estimate(estimate=number, low=number, high=number), by, state, views)

    @property
    def is_lower_bound(self) -> bool:
        """Return True if the size has no upper bound."""
        return self.state in ("at least", "unknown")


@dataclass
class ListView:
    """What a list, a family of lists or a sitemap shows about the source."""

    keys: KeySet
    is_sitemap: bool = False
    is_family: bool = False  # its lists contain different records: categories, months
    is_read: bool = False  # all of its lists were read, and the end of each was seen
    stated: int = 0  # the largest total that one of its lists states
    is_short: bool = False  # one of its lists ended before its stated total


@dataclass
class CoverageEvidence:
    """Evidence so far about the size of a source."""

    words: WordIndex
    held: int = 0
    stated: int = 0  # total stated for a query for everything
    is_hedged: bool = False
    totals_are_wrong: bool = False
    is_one_page: bool = False  # a query returns one page, so that pages of different queries have the same records
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
    is_list_capped: bool = False  # the query for everything returned as many records as the result cap
    is_only_lists: bool = False  # the source has no search: its lists are the only evidence
    # matches of queries about a topic that were dropped because their texts do not show it, and those that were kept
    dropped: int = 0
    kept: int = 0
    sample: SizeSample | None = None  # queries drawn for nothing but the size
    lists: list[ListView] = field(default_factory=list)
    numbers: RecordNumbers = field(default_factory=RecordNumbers)
    is_linked_list: bool = False  # the list was found by a link: its order is unknown, and it may be partial
    drawn: KeySet = field(default_factory=KeySet)  # keys of other complete answers
    is_index_complete: bool = False  # the site's own search has exactly the records held
    queried: KeySet = field(default_factory=KeySet)  # keys returned by queries, not by lists found by links

    def statement(self) -> CoverageStatement:
        """Return the statement that the evidence supports."""
        if self.is_index_complete:
            return CoverageStatement.exact(float(self.held), "index", ("index", "typed queries"))
        stated = self._by_total() or (self._by_lists() if self.is_only_lists else self._by_list() or self._bracket())
        if stated.state != "exact" and (sampled := self._by_sample()) is not None:
            stated = sampled if stated.by == "bracket" else _combined(stated, sampled)
        if stated.state == "exact" or self.is_index_complete:
            return stated
        return self._with_dropped(stated) if self.dropped else self._within_numbers(stated)

    def _with_dropped(self, stated: CoverageStatement) -> CoverageStatement:
        """Return a statement about a topic that allows for dropped matches: their texts may only not show what they are about."""
        if stated.is_lower_bound or stated.by == "total":
            return stated
        size, share = stated.size, (self.kept + self.dropped) / max(1, self.kept)
        return CoverageStatement.between(
            size.estimate * math.sqrt(share), size.low, size.high * share, stated.by, (*stated.views, "dropped matches")
        )

    def _within_numbers(self, stated: CoverageStatement) -> CoverageStatement:
        """Return a statement with the upper bound that the numbers of the records give, if it is the lower one."""
        most = self.numbers.most()
        if most is None or (not stated.is_lower_bound and stated.size.high <= most) or most < stated.size.low:
            return stated
        low, views = stated.size.low, (*stated.views, "record numbers")
        middle = math.sqrt(low * most) if stated.is_lower_bound else stated.size.estimate
        return CoverageStatement.between(middle, low, most, "numbers" if stated.is_lower_bound else stated.by, views)

    @property
    def lists_read(self) -> int:
        """Return the number of lists, families of lists and sitemaps that were read to their ends."""
        return sum(view.is_read for view in self.lists)

    def add_error(self, error: float) -> None:
        """Add the relative error of a total whose matches were all fetched; only the largest are kept."""
        self.errors = sorted((*self.errors, error))[-MIN_TESTS:]

    @property
    def needs_draws(self) -> bool:
        """Return True if a list of everything is the only evidence and too few records were drawn independently."""
        is_list = len(self.listed) >= MIN_LIST_SHARE * self.held > 0 and not self.is_linked_list
        return is_list and len(self.drawn) < ENOUGH_DRAWN and self._by_total() is None

    @property
    def needs_sample(self) -> bool:
        """Return True if queries should be drawn at random for the size, because nothing else bounds it closely."""
        if self.takes_first_pages or self.is_only_lists:
            return False
        stated = self._by_total()
        if stated is not None and not stated.is_lower_bound and stated.size.high <= CLOSE_TOTAL * stated.size.low:
            # a few of them test the total, if nothing else did
            queries = len(self.sample.queries) if self.sample is not None else 0
            return not self.errors and self.stated > self.held and queries < MAX_TEST_QUERIES
        records, known = sum(records for records, _ in self.pages), sum(known for _, known in self.pages)
        if records > MAX_PRIOR * known:
            return False  # nearly everything is new: a sample would only show that
        drawn = self._by_sample()
        return drawn is None or drawn.is_lower_bound or drawn.size.high - drawn.size.low > CLOSE * drawn.size.low

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
        if self.stated > self.held and self.stated >= MIN_ROUND and not str(self.stated)[1:].strip("0"):
            return None  # it may stop counting at a round number
        error = 1.2 * max(self.errors, default=0.0)
        if not self.errors and self.stated > self.held:
            error = UNTESTED_ERROR
        if self.is_hedged and len(self.errors) < MIN_TESTS:
            error = max(error, HEDGED_ERROR)
        elif self.is_hedged:
            error = max(error, TESTED_HEDGED_ERROR)
        stated = float(self.stated)
        if not error and (self.errors or self.stated == self.held):
            # the total was counted: here, or in other answers of the source
            return CoverageStatement.exact(stated, "total", ("stated total", "counted answers"))
        low, high = max(self.held, stated * (1 - error)), stated * (1 + error)
        return CoverageStatement.between(stated, low, high, "total", ("stated total",))

    def _tested_total(self) -> float:
        """Return the least size that the largest total of a query proves, with the error of the totals that were tested."""
        if not self.is_counted or self.is_hedged:
            return 0.0
        return max(self.largest_totals, default=0) * max(0.0, 1 - 1.2 * max(self.errors, default=0.0))

    def _by_sample(self) -> CoverageStatement | None:
        """Return the statement from queries drawn at random for nothing but the size; None before there are enough."""
        if self.sample is None:
            return None
        records, known = sum(records for records, _ in self.pages), sum(known for _, known in self.pages)
        if (size := self.sample.size(self.held, self.held * (records + 1) / (known + 1))) is None:
            return None
        held, low = float(self.held), self._tested_total()
        if records > MAX_PRIOR * known:
            # nearly everything that other queries return is new: the words of the records held say little about the rest
            return CoverageStatement.at_least(max(held, low), "sample", ("queries drawn at random",))
        rest = UNCONNECTED * self.unconnected() + MIN_UNREACHED_SHARE * held
        low, high = max(held, size.low, low), held + SAMPLE_MARGIN * max(0.0, size.high - held) + rest
        if high < low:  # a query alone has more matches
            return CoverageStatement.at_least(low, "sample", ("queries drawn at random", "stated totals"))
        return CoverageStatement.between(size.estimate, low, high, "sample", ("queries drawn at random",))

    def _by_lists(self) -> CoverageStatement:
        """Return the statement about a source without a search: its lists are the only way in.

        A list read to its end shows what it contains. A total that it states, another list, a sitemap or record numbers without gaps
        show whether that is all.
        """
        whole = [view for view in self.lists if view.is_read and view.keys]
        low = float(max([self.held, *(max(len(view.keys), view.stated) for view in self.lists)]))
        is_unread = any(not view.is_read for view in self.lists if not view.is_sitemap)
        if not whole or is_unread or any(view.is_short for view in self.lists) or low > self.held:
            return CoverageStatement.at_least(low, "lists", ("lists",) if self.lists else ())
        largest = max(whole, key=lambda view: len(view.keys))
        others = [view for view in self.lists if view is not largest and len(view.keys) >= MIN_DRAWN]
        views = ["lists"]
        if not largest.is_family and largest.stated == len(largest.keys) == self.held:
            views.append("stated total")
        if self.numbers.has_no_gaps:
            views.append("record numbers")
        if any(other.is_sitemap for other in others):
            views.append("sitemap")
        if any(not other.is_sitemap for other in others):
            views.append("other lists")
        has_gaps = "record numbers" not in views and self.numbers.given_out > GAPS_FACTOR * self.held
        if len(views) == 1 or has_gaps:
            return CoverageStatement.at_least(low, "lists", tuple(views))
        sizes = [_recaptured(largest.keys, other.keys) for other in others]
        high = max([low * (1 + LISTS_UNSEEN_SHARE), *(high for _, high in sizes)])
        estimate = max([low, *(estimate for estimate, _ in sizes)])
        if len(views) >= EXACT_VIEWS and estimate == low:
            return CoverageStatement.exact(low, "lists", tuple(views))
        return CoverageStatement.between(estimate, low, high, "lists", tuple(views))

    def _by_list(self) -> CoverageStatement | None:
        independent = self.queried if self.is_linked_list else self.drawn
        number, drawn = len(self.listed), len(independent)
        if number < MIN_LIST_SHARE * self.held or not number:
            return None  # it does not list everything, or is not being fetched
        share_listed = self.listed.share_of(independent, MAX_COMPARED)
        share = share_listed if drawn >= MIN_DRAWN else 1.0
        if self.is_list_complete:
            if drawn < MIN_DRAWN or share < MIN_LISTED_SHARE:
                return None
            error = DESIGN_EFFECT * NORMAL * math.sqrt(share * (1 - share) / max(1, drawn)) + 1 / (drawn + MIN_DRAWN)
            return None if number < (share - error) * self.held else self._of_share(number, share, error, "list")
        least, (low, high) = float(max(self.held, number)), _share_between(share_listed, drawn / CLUSTER)
        if not self.is_linked_list and (self.is_list_capped or number < low * self.held):
            return None  # it ends at the result cap, or more is held than it allows
        if self.is_linked_list or number > MAX_RATIO * least * low:
            # queries return first what a linked list in the same order begins with, or too few records were drawn
            return CoverageStatement.at_least(least, "recaptured", ("list",))
        estimate = number / math.sqrt(low * high)
        return CoverageStatement.between(estimate, least, number / low, "recaptured", ("list", "queries"))

    def _of_share(self, number: int, share: float, error: float, by: SizeBy) -> CoverageStatement:
        low, high = max(self.held, number / min(1.0, share + error)), number / max(0.01, share - error)
        return CoverageStatement.between(number / max(0.01, share), low, high, by, ("list", "queries"))

    def _bracket(self) -> CoverageStatement:
        held = float(self.held)
        low = max(held, self._tested_total())
        counts = [(total, min(total, have)) for total, have in self._counts()]
        pages = [(records, before) for records, before in self.pages if records]
        views = ("answers", *(["stated totals"] if self.is_counted and counts else []))
        if len(pages) < MIN_PAGES or held < MIN_BRACKETED:
            return CoverageStatement.at_least(low, "bracket", views if pages else ())
        shares = [_share_below(pages)]
        if self.is_counted and len(counts) >= MIN_TOTALS:
            shares.append(_share_below(counts))
        missing = held / max(0.01, min(shares)) - held
        # the harvest asks for what is new, so with many new records on its pages the true number is below this one
        missing = max(missing, min((1 + MARGIN) * missing, MAX_MISSING * held))
        missing = max(missing, self.expected_from_unasked(RULE_OF_THREE / min(len(pages), RULED_PAGES)))
        high = held + missing + MIN_UNREACHED_SHARE * held + UNCONNECTED * self.unconnected()
        # with less than half of the source held, the last pages say little about the rest
        if low > 2 * held or self.takes_first_pages or self.is_one_page or low > high:
            return CoverageStatement.at_least(low, "bracket", views)
        return CoverageStatement.between(math.sqrt(low * high), low, high, "bracket", views)

    def expected_from_unasked(self, new_per_page: float) -> float:
        """Return how many records the words that were not asked yet may return, at `new_per_page` each.

        Short texts in highly inflected languages have few words per record and many unasked words; the last pages alone are too
        optimistic there.
        """
        words, words_of_record = self.words.unasked()
        return words * new_per_page / max(1.0, words_of_record)

    def new_on_recent_pages(self) -> tuple[int, int]:
        """Return the new records on the last pages of the harvest, and the number of these pages."""
        return sum(records - known for records, known in self.pages), len(self.pages)

    def unconnected(self) -> float:
        """Return Chao's estimate of the records that share no word with others, from those that share one and two."""
        one, two = self.words.connections()
        return one * one / (2.0 * (two + 1))


def _combined(stated: CoverageStatement, sampled: CoverageStatement) -> CoverageStatement:
    """Return the narrower of two statements that agree; where they contradict each other, the interval that contains both."""
    if stated.is_lower_bound or sampled.is_lower_bound:
        return stated if sampled.is_lower_bound else sampled
    a, b = stated.size, sampled.size
    if a.high < b.low or b.high < a.low:
        low, high = min(a.low, b.low), max(a.high, b.high)
        return CoverageStatement.between(math.sqrt(low * high), low, high, "sample", (*sampled.views, *stated.views))
    return stated if a.high - a.low < b.high - b.low else sampled


def _recaptured(listed: KeySet, other: KeySet) -> tuple[float, float]:
    """Return the size that the overlap of two independent lists implies, and its upper bound (capture–recapture)."""
    both = max(1.0, listed.share_of(other, MAX_COMPARED) * len(other))
    share = min(1.0, both / len(other))  # of the other list that the first one has: its estimated coverage
    error = DESIGN_EFFECT * NORMAL * math.sqrt(share * (1 - share) / len(other)) + RULE_OF_THREE / len(other)
    size = len(listed) / share
    return size, max(size, len(listed) / max(0.01, share - error))


def _share_between(share: float, number: float) -> tuple[float, float]:
    """Return the 95 % interval of a share that was observed in `number` independent cases (Wilson, 1927)."""
    if number <= 0:
        return 0.0, 1.0
    square = NORMAL * NORMAL
    middle = (share + square / (2 * number)) / (1 + square / number)
    error = NORMAL * math.sqrt(share * (1 - share) / number + square / (4 * number**2)) / (1 + square / number)
    return max(0.0, middle - error), min(1.0, middle + error)


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
