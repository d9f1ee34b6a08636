"""From how many letters on a source looks for words: learned from short words that it refuses, or does not find though records have them."""

from collections import Counter, deque
from collections.abc import Container, Sequence

import numpy as np
from numpy.typing import NDArray

from upwell.choose.word_index import SHRINK, Floats, Numbers, WordIndex
from upwell.lexicon.frequent_words import most_frequent
from upwell.native import compiled
from upwell.page.tokens import stop_words_of

__all__ = ["NEARLY_BEST_SHARE", "CommonWords", "Frequency", "Greedy", "MinWordLength", "Policy", "Random", "WordYield"]


#
#     add_record(key, text, fields)    a record came, for the first time or again
#     asked(query, matches)            a query was asked, and how many matches its first page had
#     next() → word or None            what to ask now; `expected` is the number of new records that a request should bring
#
# `WordIndex` counts words; a policy is a subclass with `worth`.

Counts = NDArray[np.int32]

NEARLY_BEST_SHARE = 0.8  # a question that brings this share of what the best one brings is as good; not swept
LIFT = 10.0
POOL = 256  # words that are looked at for every request, beside those whose counts have changed
MAX_POOL = 4 * POOL  # from which on the best are picked again
GROWTH = 0.05  # of the records held, after which all words are looked at again
ALL_EVERY = 2000  # words for each request until all are looked at again, so that this costs the same for each request


class Policy(WordIndex):
    """A way to choose words: `worth` says what each is worth."""

    def next(self) -> str | None:
        """The word to ask now; None where there is none."""
        size = len(self._texts)
        if not size:
            return None
        worth = np.where(self._done[:size] | (self._in[:size] == 0), -np.inf, self.worth())
        best = int(np.argmax(worth))
        if worth[best] > 0 and len(self._bulk) == size:
            # of those that bring nearly as much for a request, the one that brings most: it leaves least to overlap
            best = int(np.argmax(np.where(worth >= NEARLY_BEST_SHARE * worth[best], self._bulk, -1.0)))
        self.expected = max(0.0, float(worth[best]))
        return None if worth[best] == -np.inf else self.word(best)

    def worth(self) -> Floats:
        """What each candidate is worth; the greatest is asked next."""
        raise TypeError("a policy says what a word is worth")


class Random(Policy):
    """Any word of the records held: the least that a policy must beat."""

    def worth(self) -> Floats:
        return self.rng.random(len(self._texts))


class Frequency(Policy):
    """The word that most records held have."""

    def worth(self) -> Floats:
        return self.inside


class Greedy(Policy):
    """The word that should match most records not held, every word of the source alike: d of n held, so d·N/n in all."""

    def worth(self) -> Floats:
        scale = 1 + _unseen(self) / max(self.held, 1)
        matches = self.inside * scale
        bound = np.minimum(1.0, self.result_cap / np.maximum(matches, 1e-9)) if self.result_cap else 1.0
        return np.asarray(bound * (matches - self.inside))


class WordYield(Policy):
    """Ours: the word that should bring most new records for a request.

    A word whose records were seen often has few unseen ones, one whose records were mostly seen once has many: the share
    seen once, shrunk towards that of all records, scales the estimate of the unseen (Chao's, over all records) for each
    word. Where that is more than the source's limit, only as much comes back, and a part of it is held already. What
    comes back costs a request for each page.
    """

    shrink: float = SHRINK
    size: float = 0.0  # of the source, where more is known than what Chao's bound says

    def __post_init__(self) -> None:
        super().__post_init__()
        self._pool: Counts = np.zeros(0, dtype=np.int32)  # the words that were best when all were looked at
        self._looks, self._held_then = 0, 0  # since then, and records held then

    def worth(self) -> Floats:
        new, pages = self.expected_new(np.arange(len(self._texts)))
        self._bulk = new
        return np.asarray(self.chance * new / pages)

    def expected_new(self, words: Numbers) -> tuple[Floats, Floats]:
        """For each of some words the new records that its pages should bring, and the number of these pages."""
        held, inside = max(1, self.held), self._in[words].astype(float)
        once, twice, usual = self._once[words], self._twice[words], max(self.seen_once, 1) / held
        usual_twice = (self.seen_twice + 1) / held
        once_share = (once + self.shrink * usual) / (inside + self.shrink) / usual
        once_per_twice = (once + self.shrink * usual) / (twice + self.shrink * usual_twice) * usual_twice / usual
        outside = 1 - self._exhausted / held
        lift = (inside - self._whole[words] + LIFT) / (inside * outside + LIFT)
        all_unseen = max(_unseen(self), self.size - self.held)
        new = inside * np.minimum(50.0, all_unseen / held * once_share * once_per_twice * lift)
        matches = inside + new
        if self.result_cap:
            new = np.where(matches > self.result_cap, new * self.top * self.result_cap / np.maximum(matches, 1e-9), new)
            matches = np.minimum(matches, self.result_cap)
        pages = np.maximum(1.0, np.ceil(matches / self.page_size)) if self.page_size else np.ones(len(matches))
        return np.asarray(new), np.asarray(pages)

    def propose(self, best_rate: float, horizon: int, good_share: float) -> "tuple[str, float, float, float] | None":
        """The word with the greatest value: word, new records, pages, and how likely it is to match at all."""
        share, calibration = self._shares_matched(), self._calibration.shares(np.arange(len(self._tried)))
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
        """The words of some arrays that can be asked, each once; of each its value, rate, new records and pages; and the best.

        Shares and calibration are those of each class.
        """
        if compiled is None:
            return self.plain_weigh(arrays, share, calibration, scale)
        held = max(1, self.held)
        numbers = (
            held, self.usual_once, (self.seen_twice + 1) / held, 1 - self._exhausted / held,
            max(_unseen(self), self.size - self.held), self.shrink, LIFT, self.result_cap, self.top, self.page_size, *scale,
        )  # fmt: skip
        counts = (self._in, self._once, self._twice, self._whole, self._class, self._done)
        words, weighed, best = compiled.weigh_words(arrays, *counts, share, calibration, numbers)
        return np.frombuffer(words, np.int32), np.frombuffer(weighed).reshape(4, -1), best

    def plain_weigh(
        self, arrays: "Sequence[Counts]", share: Floats, calibration: Floats, scale: tuple[float, float, float]
    ) -> "tuple[Counts, Floats, int]":
        """As `weigh`, without the compiled module."""
        words = np.unique(np.concatenate(arrays)).astype(np.int32)
        words = words[~self._done[words] & (self._in[words] > 0)]
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
        """The words that may be the best: all, now and then; else those that were it when all were looked at, or have changed since."""
        self._looks += 1
        is_due = self._looks * ALL_EVERY >= len(self._texts) or self.held >= (1 + GROWTH) * self._held_then
        changed, self._changed, self._changes = self._changed, [], 0
        if is_due or len(self._pool) < POOL or self._is_changed_everywhere:
            self._looks, self._held_then, self._is_changed_everywhere = 0, self.held, False
            return (np.arange(len(self._texts), dtype=np.int32),)
        return self._pool, *changed


def _unseen(words: WordIndex) -> float:
    """Chao's lower bound of the records not seen; at least one, and never more than fifty times those held."""
    once, twice = words.seen_once, words.seen_twice
    return min(max(once * (once - 1) / (2 * (twice + 1)), 1.0), 50.0 * max(words.held, 1))


MAX_WORDS = 3000  # of the language that are candidates


class CommonWords:
    """The words of a list, the most frequent first."""

    def __init__(self, index: WordIndex) -> None:
        self.index = index
        self._waiting = deque[str]()
        self._misses = 0  # in a row

    def start(self) -> None:
        """Takes in the words."""
        self._waiting.extend(most_frequent(self.index.language, MAX_WORDS))

    def next(self, asked: Container[str]) -> str | None:
        """The next word that was not asked, that no record held has and that the source takes; None where there is none."""
        index, waiting = self.index, self._waiting
        while waiting and (waiting[0] in asked or index.records_with(waiting[0]) or not index.takes(waiting[0])):
            waiting.popleft()
        return waiting[0] if waiting else None

    def note(self, *, is_missed: bool, patience: int) -> None:
        """One was asked; a source that finds none of `patience` in a row does not search the words of everyday language."""
        self._misses = self._misses + 1 if is_missed else 0
        if self._misses >= patience:
            self._waiting.clear()


MIN_MISSES = 3  # words of some length or shorter, none of them found, before no more of them are asked; not swept
MIN_OF_LENGTH = 2  # of them, that are just so long
MIN_FOUND = 3  # longer words that were found
MAX_SHARE = (
    0.2  # of the records held: a word that more of them have may be left out for that, as stop words are; not swept
)


class MinWordLength:
    """The words that were asked, by their letters."""

    def __init__(self, index: WordIndex) -> None:
        self.index = index
        self._found: Counter[int] = Counter()
        self._missed: Counter[int] = Counter()

    def note(self, words: Sequence[str], *, is_found: bool, is_refused: bool) -> None:
        """A query was asked; where it shows that the source wants longer words, the index leaves out those that are shorter.

        `is_refused`: the answer is like neither a list of matches nor what nonsense brings.
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
            self.index.leave_out_shorter(min_chars)

    def _should_be_found(self, word: str) -> bool:
        """Whether records have a word, and it is not one of those that sources leave out because too many have them."""
        having = self.index.records_with(word)
        return 0 < having <= MAX_SHARE * self.index.held and word not in stop_words_of(self.index.language)

    def _min_chars(self) -> int:
        """The letters that a word must have: one more than the longest of those that were missed, where none so short was found."""
        shortest = min(self._found, default=0)
        lengths = [length for length, times in self._missed.items() if length < shortest and times >= MIN_OF_LENGTH]
        longest = max(lengths, default=0)
        misses = sum(times for length, times in self._missed.items() if length <= longest)
        return longest + 1 if misses >= MIN_MISSES and self._found.total() >= MIN_FOUND else 0
