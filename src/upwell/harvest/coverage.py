"""How large a source is, and how sure that is: all evidence that a harvest brings by the way, each with what is known to bias it.

    index        the site sends all records to its own search, which was seen to answer from them alone
    total        what the source states for a question that asks for everything, as exact as its totals were where they were tested
    list         a question that asks for everything was walked to its end: what others drew beside it shows what it leaves out
    recaptured   such a question is being walked: the share of what others drew that it has listed is the share of all that it has
    bracket      between what is held or counted, and what follows from the last pages: they are new more often than the rest of the
                 source would be, because the harvest asks for what is new, so the share of them that was held is at most the coverage

No evidence of words tells of records that share no word with others. Their number is guessed from how many share just one or two
(`unconnected`). Where the upper end is too far away to be useful, there is none: the source has at least so many.
"""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from upwell.key_set import KeySet
from upwell.model import Estimate
from upwell.queries.word_index import WordIndex

__all__ = ["MAX_COMPARED", "Coverage", "SizeBy", "Statement"]

SizeBy = Literal["index", "total", "list", "recaptured", "bracket"]
RECENT_PAGES = 40  # of the harvest, whose records say how much is held
MIN_PAGES = 25  # before they say anything
RECENT_TOTALS = 30  # words with a stated total that say the same
MIN_TOTALS = 10  # such words, before they say anything
MIN_HAVE = 3  # records held that must have a word before its total says something
MAX_RATIO = 6.0  # of the upper end to the lower one: beyond it there is no upper end
MIN_DRAWN = 20  # records that other questions must have drawn
ENOUGH_DRAWN = 150  # no check queries are asked beyond
MIN_LIST_SHARE = 0.3  # of the records held, that a list of everything must have brought
MIN_LISTED_SHARE = 0.9  # of them that a list of everything must have
HEDGED_ERROR = 0.2  # of a total that the source itself calls approximate, before it is tested
MIN_TESTS = 5  # of totals, before such a total is taken for better than that
MAX_COMPARED = 2000  # keys of which it is looked up whether a list has them, however many there are
MARGIN = 0.5  # of the records that may be missing, added to the upper end
UNCOUNTED_MARGIN = 1.5  # the same, where answers are cut off and nobody counts what is left out
UNCONNECTED = 4.0  # times Chao's bound, which is a lower one
HIDDEN = 0.01  # of the records held, that nothing may have shown
# the same, where answers are cut off and nobody counts what is left out: those whose words are all asked too often to show them
UNCOUNTED_HIDDEN = 0.04  # not swept: from one application, and holds in six runs of the ground
NORMAL = 1.96
RULE_OF_THREE = 3.0  # new records that may have come where none did: the upper end of 95 %
CLUSTERED = 3.0  # records of one answer are alike: intervals of draws are so many times wider


@dataclass(frozen=True, slots=True)
class Statement:
    """The size with its interval, what it follows from, and whether it has no upper end."""

    size: Estimate
    by: SizeBy
    is_lower_bound: bool = False


@dataclass
class Coverage:
    """The evidence so far."""

    words: WordIndex
    held: int = 0
    stated: int = 0  # what the source says it holds, in answer to a question for everything
    is_hedged: bool = False
    totals_lie: bool = False
    cuts_off: bool = False
    is_counted: bool = False  # totals are stated and not wrong
    takes_first_pages: bool = False  # and no others: what is behind them is not looked for
    errors: list[float] = field(default_factory=list)  # relative, of totals whose matches all came; the largest
    largest_totals: list[int] = field(default_factory=list)  # of different queries
    totals: deque[tuple[str, int, float]] = field(
        default_factory=lambda: deque(maxlen=RECENT_TOTALS)
    )  # word, total, showing
    pages: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=RECENT_PAGES))  # records, of these held
    listed: KeySet = field(default_factory=KeySet)  # keys that a question for everything brought
    is_whole_list: bool = False
    is_only_lists: bool = False  # the source has no search: what its lists show is all there is to know of it
    is_linked_list: bool = False  # the list was found by a link: its order is unknown, and it may list a part only
    drawn: KeySet = field(default_factory=KeySet)  # keys of other answers that came whole
    is_whole_index: bool = False  # what is held is all that the site's own search has
    queried: KeySet = field(default_factory=KeySet)  # keys that came for queries, not by lists that were found by links

    def statement(self) -> Statement:
        """What all of it says."""
        if self.is_whole_index:
            held = float(self.held)
            return Statement(Estimate(estimate=held, low=held, high=held), "index")
        return self._by_total() or self._by_list() or self._bracket()

    def add_error(self, error: float) -> None:
        """How far a total was off whose matches all came; as many are kept as are needed."""
        self.errors = sorted((*self.errors, error))[-MIN_TESTS:]

    @property
    def needs_draws(self) -> bool:
        """Whether a list of everything is all that is known, and too little was drawn beside it to say how much of it has come."""
        is_list = len(self.listed) >= MIN_LIST_SHARE * self.held > 0 and not self.is_linked_list
        return is_list and len(self.drawn) < ENOUGH_DRAWN and self._by_total() is None

    def guess(self) -> float:
        """The size to choose by, however unsure: where words are counted, as many times what is held as their totals are."""
        held = self.words.held
        guesses = sorted(total * held / have for total, have in self._counts() if have >= MIN_HAVE)
        return guesses[len(guesses) // 2] if guesses and self.is_counted else 0.0

    def _counts(self) -> list[tuple[float, float]]:
        """For the words counted last, the matches that the source states, and how many of them should be held."""
        held = self.words.records_with_each([word for word, _, _ in self.totals])
        return [(float(total), have / showing) for (_, total, showing), have in zip(self.totals, held, strict=True)]

    def _by_total(self) -> Statement | None:
        if not self.stated or self.stated < self.held or self.totals_lie:
            return None
        if sum(total == self.stated for total in self.largest_totals) > 2:
            return None  # the source counts no further
        error = 1.2 * max(self.errors, default=0.0)
        if self.is_hedged and len(self.errors) < MIN_TESTS:
            error = max(error, HEDGED_ERROR)
        elif self.is_hedged:
            error = max(error, 0.05)
        stated = float(self.stated)
        low, high = max(self.held, stated * (1 - error)), stated * (1 + error)
        return Statement(Estimate(estimate=max(stated, low), low=low, high=max(low, high)), "total")

    def _by_list(self) -> Statement | None:
        if self.is_only_lists:
            size = float(max(self.held, len(self.listed) if self.is_whole_list else 0))
            high = size if len(self.listed) > self.held else size * (1 + HIDDEN)
            is_open = not self.is_whole_list
            return Statement(Estimate(estimate=size, low=size, high=high), "list", is_lower_bound=is_open)
        beside = self.queried if self.is_linked_list else self.drawn
        number, drawn = len(self.listed), len(beside)
        if number < MIN_LIST_SHARE * self.held or not number:
            return None  # it does not ask for everything here, or is not walked
        share_listed = self.listed.share_of(beside, MAX_COMPARED)
        both, share = share_listed * drawn, share_listed if drawn >= MIN_DRAWN else 1.0
        if self.is_whole_list:
            if drawn < MIN_DRAWN or share < MIN_LISTED_SHARE:
                return None
            error = CLUSTERED * NORMAL * math.sqrt(share * (1 - share) / max(1, drawn)) + 1 / (drawn + MIN_DRAWN)
            return self._of_share(number, share, error, "list")
        if (
            drawn < MIN_DRAWN or both < MIN_DRAWN / 4 or self.is_linked_list
        ):  # what such a list shows next does not depend on what is held
            low = float(max(self.held, number))
            return Statement(Estimate(estimate=low, low=low, high=low), "recaptured", is_lower_bound=True)
        error = CLUSTERED * NORMAL * math.sqrt(max(share * (1 - share), 1 / drawn) / drawn)
        return self._of_share(number, share, error, "recaptured")

    def _of_share(self, number: int, share: float, error: float, by: SizeBy) -> Statement:
        low, high = max(self.held, number / min(1.0, share + error)), number / max(0.01, share - error)
        size = Estimate(estimate=max(low, number / max(0.01, share)), low=low, high=max(low, high))
        return Statement(size, by, is_lower_bound=high > MAX_RATIO * low)

    def _bracket(self) -> Statement:
        held = float(self.held)
        low = max(held, float(max(self.largest_totals, default=0)) if self.is_counted and not self.is_hedged else 0.0)
        counts = [(total, min(total, have)) for total, have in self._counts()]
        pages = [(records, before) for records, before in self.pages if records]
        if len(pages) < MIN_PAGES or not held:
            return Statement(Estimate(estimate=low, low=low, high=low), "bracket", is_lower_bound=True)
        shares = [_share_below(pages)]
        if self.is_counted and len(counts) >= MIN_TOTALS:
            shares.append(_share_below(counts))
        missing = held / max(0.01, min(shares)) - held
        is_uncounted = self.cuts_off and not self.is_counted
        margin, hidden = (UNCOUNTED_MARGIN, UNCOUNTED_HIDDEN) if is_uncounted else (MARGIN, HIDDEN)
        missing = max((1 + margin) * missing, self.behind_unasked(RULE_OF_THREE / MIN_PAGES))
        high = held + missing + hidden * held + UNCONNECTED * self.unconnected()
        middle = math.sqrt(low * max(low, high))
        # where less than half is held, what comes is no measure of what there is
        is_early = low > 2 * held or self.takes_first_pages
        is_open = is_early or not low <= high <= MAX_RATIO * low
        return Statement(Estimate(estimate=middle, low=low, high=max(low, high)), "bracket", is_lower_bound=is_open)

    def behind_unasked(self, new_per_page: float) -> float:
        """How many records the words that were not asked yet may bring, at so many a page: a record has several of them.

        Short texts in languages with many forms of a word have few, and many words left; the last pages alone say too little there.
        """
        words, words_of_record = self.words.unasked()
        return words * new_per_page / max(1.0, words_of_record)

    def unconnected(self) -> float:
        """How many records may share no word with others: Chao's bound from those that share one and two."""
        one, two = self.words.connections()
        return one * one / (2.0 * (two + 1))


def _share_below(parts: Sequence[tuple[float, float]]) -> float:
    """The share of the parts taken together, at the lower end of its interval."""
    whole, have = sum(part[0] for part in parts), sum(part[1] for part in parts)
    share, number = have / whole, len(parts)
    spread = math.sqrt(sum((part[1] - share * part[0]) ** 2 for part in parts) * number / (number - 1)) / whole
    return max(0.0, share - NORMAL * spread)
