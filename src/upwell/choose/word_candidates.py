"""Words as candidates: of the records held, and of the language; and the shortest word that a source searches.

WordYield        the word of the records held with the highest expected yield
CommonWords      frequent words of the language that no record held contains
MinWordLength    learns from short words without matches how long a word must be
"""

from collections import Counter, deque
from collections.abc import Container, Sequence

import numpy as np
from numpy.typing import NDArray

from upwell.choose.word_index import SHRINK, Floats, Numbers, WordIndex
from upwell.lexicon.frequent_words import most_frequent
from upwell.native import compiled
from upwell.page.tokens import stop_words_of

__all__ = ["CommonWords", "MinWordLength", "WordYield", "unseen_records"]

Counts = NDArray[np.int32]

LIFT = 10.0  # records at the mean share of exhausted records that the records of a word are pooled with; not swept
MAX_UNSEEN_PER_HELD = 50.0  # upper bound of the unseen records, of the source or of a word, per record held
POOL = 256  # words with the highest values that are weighed for every request, as well as those whose counts changed
MAX_POOL = 4 * POOL  # words weighed from which on the best are selected again
GROWTH = 0.05  # growth of the records held after which all words are weighed again
ALL_EVERY = 2000  # words per request until all are weighed again, so that the mean cost of a request is constant
MAX_WORDS = 3000  # frequent words of the language that are candidates
MIN_MISSES = (
    3  # words up to a length without matches that are needed before words of that length are rejected; not swept
)
MIN_OF_LENGTH = 2  # of these, words of exactly that length
MIN_FOUND = 3  # longer words with matches that are needed
# share of the records held: a word in more of them may have been left out of the index as a stop word; not swept
MAX_SHARE = 0.2


class WordYield(WordIndex):
    """The words of the records held, and the new records that each is expected to return per request.

    A word whose records were seen often has few unseen records; a word whose records were mostly seen once has many. So the unseen
    records of the whole source (Chao's estimate) are scaled for each word by the share of its records seen once, pooled with that
    of all records. Beyond the result cap, only a part of the matches is returned. Each page costs a request.
    """

    shrink: float = SHRINK
    size: float = 0.0  # estimated size of the source; 0: unknown, so that only Chao's bound is used

    def __post_init__(self) -> None:
        super().__post_init__()
        self._pool: Counts = np.zeros(0, dtype=np.int32)  # the words with the highest values when all were weighed
        self._looks, self._held_then = 0, 0  # proposals since then, and records held then

    def expected_new(self, words: Numbers) -> tuple[Floats, Floats]:
        """Return the expected new records and pages of each word, before calibration."""
        held, inside = max(1, self.held), self._with_word[words].astype(float)
        once, twice, usual = self._once[words], self._twice[words], max(self.seen_once, 1) / held
        usual_twice = (self.seen_twice + 1) / held
        once_share = (once + self.shrink * usual) / (inside + self.shrink) / usual
        once_per_twice = (once + self.shrink * usual) / (twice + self.shrink * usual_twice) * usual_twice / usual
        outside = 1 - self._exhausted / held
        lift = (inside - self._with_word_exhausted[words] + LIFT) / (inside * outside + LIFT)
        all_unseen = max(unseen_records(self), self.size - self.held)
        new = inside * np.minimum(MAX_UNSEEN_PER_HELD, all_unseen / held * once_share * once_per_twice * lift)
        matches = inside + new
        if self.result_cap:
            new = np.where(
                matches > self.result_cap, new * self.capped_share * self.result_cap / np.maximum(matches, 1e-9), new
            )
            matches = np.minimum(matches, self.result_cap)
        pages = np.maximum(1.0, np.ceil(matches / self.page_size)) if self.page_size else np.ones(len(matches))
        return np.asarray(new), np.asarray(pages)

    def propose(self, best_rate: float, horizon: int, good_share: float) -> "tuple[str, float, float, float] | None":
        """Return the word with the greatest value, its expected new records and pages, and the probability that it matches.

        The value is `expected_yield.advantage`; `best_rate` is the highest yield per request of the other candidates.
        """
        share, calibration = self.match_chances(), self._calibration.shares(np.arange(len(self._tried)))
        words, weighed, at = self.weigh(self._candidates(), share, calibration, (float(horizon), good_share, best_rate))
        if not len(words):
            return None
        values, rates, new, pages = weighed
        if len(words) > MAX_POOL:
            best = [np.argpartition(-each, POOL)[:POOL] for each in (values, rates)]
            self._pool = words[np.concatenate(best)]
        else:
            self._pool = words
        word = int(words[at])
        return self.word(word), float(new[at]), float(pages[at]), float(share[self._class[word]])

    def weigh(
        self, arrays: "Sequence[Counts]", share: Floats, calibration: Floats, scale: tuple[float, float, float]
    ) -> "tuple[Counts, Floats, int]":
        """Return the distinct words of some arrays that can be asked; a row each with their values, rates, new records and pages; the best.

        `share` and `calibration` have an entry per class of words; `scale` is the horizon, the good share and the best rate.
        """
        if compiled is None:
            return self.plain_weigh(arrays, share, calibration, scale)
        held = max(1, self.held)
        numbers = (
            held, self.share_seen_once, (self.seen_twice + 1) / held, 1 - self._exhausted / held,
            max(unseen_records(self), self.size - self.held), self.shrink, LIFT, self.result_cap, self.capped_share, self.page_size, *scale,
        )  # fmt: skip
        counts = (self._with_word, self._once, self._twice, self._with_word_exhausted, self._class, self._done)
        words, weighed, best = compiled.weigh_words(arrays, *counts, share, calibration, numbers)
        return np.frombuffer(words, np.int32), np.frombuffer(weighed).reshape(4, -1), best

    def plain_weigh(
        self, arrays: "Sequence[Counts]", share: Floats, calibration: Floats, scale: tuple[float, float, float]
    ) -> "tuple[Counts, Floats, int]":
        """Do the same as `weigh` without the native module."""
        words = np.unique(np.concatenate(arrays)).astype(np.int32)
        words = words[~self._done[words] & (self._with_word[words] > 0)]
        if not len(words):
            return words, np.zeros((4, 0)), -1
        horizon, good_share, best_rate = scale
        new, pages = self.expected_new(words)
        share, new = share[self._class[words]], new * calibration[self._class[words]]
        near = np.minimum(pages, horizon)
        gain = share * new * near / pages
        cost = 1 + share * (near - 1)
        rates = gain / cost
        values = gain - good_share * max(best_rate, float(rates.max())) * cost
        return words, np.array([values, rates, new, pages]), int(np.argmax(values))

    def _candidates(self) -> "Sequence[Counts]":
        """Return the words to weigh: from time to time all, else the best of that time and those whose counts changed since."""
        self._looks += 1
        is_due = self._looks * ALL_EVERY >= len(self._texts) or self.held >= (1 + GROWTH) * self._held_then
        changed, self._changed, self._changes = self._changed, [], 0
        if is_due or len(self._pool) < POOL or self._is_changed_everywhere:
            self._looks, self._held_then, self._is_changed_everywhere = 0, self.held, False
            return (np.arange(len(self._texts), dtype=np.int32),)
        return self._pool, *changed


def unseen_records(words: WordIndex) -> float:
    """Return Chao's lower bound of the unseen records: at least 1, and at most `MAX_UNSEEN_PER_HELD` per record held."""
    once, twice = words.seen_once, words.seen_twice
    return min(max(once * (once - 1) / (2 * (twice + 1)), 1.0), MAX_UNSEEN_PER_HELD * max(words.held, 1))


class CommonWords:
    """Frequent words of the language, the most frequent first."""

    def __init__(self, index: WordIndex) -> None:
        self.index = index
        self._waiting = deque[str]()
        self._misses = 0  # in a row

    def start(self) -> None:
        """Load the words."""
        self._waiting.extend(most_frequent(self.index.language, MAX_WORDS))

    def next(self, asked: Container[str]) -> str | None:
        """Return the next word that was not asked, that no record held contains and that is long enough; None if there is none."""
        index, waiting = self.index, self._waiting
        while waiting and (waiting[0] in asked or index.records_with(waiting[0]) or not index.accepts(waiting[0])):
            waiting.popleft()
        return waiting[0] if waiting else None

    def note(self, *, is_missed: bool, patience: int) -> None:
        """Note the answer to one; after `patience` misses in a row, the source counts as not containing everyday language."""
        self._misses = self._misses + 1 if is_missed else 0
        if self._misses >= patience:
            self._waiting.clear()


class MinWordLength:
    """The words that were asked, by their number of letters."""

    def __init__(self, index: WordIndex) -> None:
        self.index = index
        self._found: Counter[int] = Counter()
        self._missed: Counter[int] = Counter()

    def note(self, words: Sequence[str], *, is_found: bool, is_refused: bool) -> None:
        """Note the answer to a query; if it shows that the source requires longer words, shorter ones are no longer proposed.

        `is_refused`: the answer resembles neither a list of matches nor the answer to a nonsense query.
        """
        if len(words) != 1:
            return
        (word,) = words
        if is_found:
            self._found[len(word)] += 1
        elif is_refused or self._should_be_found(word):
            self._missed[len(word)] += 1
        min_chars = self._min_chars()
        if min_chars > self.index.min_chars:
            self.index.reject_shorter(min_chars)

    def _should_be_found(self, word: str) -> bool:
        """Return True if records held contain a word, and it is not too frequent for an index."""
        having = self.index.records_with(word)
        return 0 < having <= MAX_SHARE * self.index.held and word not in stop_words_of(self.index.language)

    def _min_chars(self) -> int:
        """Return the minimum length: one more than that of the longest missed word, if no word that short was found."""
        shortest = min(self._found, default=0)
        lengths = [length for length, times in self._missed.items() if length < shortest and times >= MIN_OF_LENGTH]
        longest = max(lengths, default=0)
        misses = sum(times for length, times in self._missed.items() if length <= longest)
        return longest + 1 if misses >= MIN_MISSES and self._found.total() >= MIN_FOUND else 0
