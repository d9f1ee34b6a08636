"""A snapshot of a source: which words are in which of its texts, and which of the words to choose queries from (Yuan ch. 3).

sampling   random     any words
           popular    the most frequent
           optimal    those in a range of document frequencies
           auto       the same, the range found by trying ranges on the snapshot itself
           all        every word
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from upwell.errors import WrongUsage
from upwell.page.sparse import ranges
from upwell.page.terms import stop_words_of, tokens

__all__ = ["SAMPLINGS", "Sampling", "Snapshot", "find_range", "of_texts", "sample"]

Floats = NDArray[np.float64]
Sampling = Literal["random", "popular", "optimal", "auto", "all"]
SAMPLINGS: tuple[Sampling, ...] = ("random", "popular", "optimal", "auto", "all")
RETURNED_COST = 0.1  # in `find_range`, what a returned document costs, where a new one is worth 1; not swept
# Shares of the documents that `find_range` tries as the least and the greatest document frequency.
LOW_SHARES = (0.0005, 0.001, 0.002, 0.004, 0.008)
HIGH_SHARES = (0.02, 0.04, 0.08, 0.16, 0.32)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """An inverted index: word i is in the documents `postings[starts[i]:starts[i+1]]`, in ascending order."""

    words: tuple[str, ...]
    documents: int  # how many there are
    starts: NDArray[np.integer]
    postings: NDArray[np.int32]

    @cached_property
    def frequency(self) -> NDArray[np.int64]:
        """In how many documents each word is."""
        return np.asarray(np.diff(self.starts), dtype=np.int64)

    def documents_with(self, word: int) -> NDArray[np.int32]:
        """The documents that have a word."""
        return self.postings[self.starts[word] : self.starts[word + 1]]

    def restricted_to(self, words: NDArray[np.integer]) -> "Snapshot":
        """The same documents, with some of the words only."""
        frequency = self.frequency[words]
        return Snapshot(
            tuple(self.words[i] for i in words),
            self.documents,
            np.concatenate(([0], np.cumsum(frequency))),
            self.postings[ranges(self.starts[words], frequency)],
        )

    @cached_property
    def _word_of_posting(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(len(self.words)), self.frequency)

    @cached_property
    def _words_by_document(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The index the other way round: where each document begins, and the words document by document."""
        order = np.argsort(self.postings, kind="stable")
        lengths = np.bincount(self.postings, minlength=self.documents)
        return np.concatenate(([0], np.cumsum(lengths))), self._word_of_posting[order]

    def sums(self, values: Floats) -> Floats:
        """For each word the sum of a value of documents over those that have it."""
        word, number = self._word_of_posting, len(self.words)
        return np.asarray(np.bincount(word, weights=values[self.postings], minlength=number), dtype=np.float64)

    def sums_of(self, documents: NDArray[np.integer], values: Floats) -> Floats:
        """The same, where only a few documents have a value: costs as much as these have words."""
        starts, words = self._words_by_document
        lengths = starts[documents + 1] - starts[documents]
        word, value = words[ranges(starts[documents], lengths)], np.repeat(values, lengths)
        return np.asarray(np.bincount(word, weights=value, minlength=len(self.words)), dtype=np.float64)


def of_texts(texts: Iterable[str], language: str = "en") -> Snapshot:
    """Reads texts; stop words and single characters are no queries."""
    stops = stop_words_of(language)
    number: dict[str, int] = {}
    words: list[int] = []
    lengths: list[int] = []
    for text in texts:
        in_text = {number.setdefault(w, len(number)): None for w in tokens(text) if len(w) > 1 and w not in stops}
        words.extend(in_text)
        lengths.append(len(in_text))
    if not number:
        raise WrongUsage(f"{len(lengths)} texts without a single word: is the snapshot empty, or not text?")
    word = np.array(words, dtype=np.int64)
    document = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    starts = np.concatenate(([0], np.cumsum(np.bincount(word, minlength=len(number)))))
    return Snapshot(tuple(number), len(lengths), starts, document[np.argsort(word, kind="stable")])


def sample(
    snapshot: Snapshot,
    how: Sampling,
    size: int,
    rng: np.random.Generator,
    *,
    limit: int = 0,
    low: int = 20,  # Yuan §6.4.3
    high: int = 500,  # Yuan §6.4.3
) -> Snapshot:
    """Reduces the vocabulary to `size` words; to fewer where there are not as many."""
    frequency = snapshot.frequency
    if how == "popular":
        return snapshot.restricted_to(np.sort(np.argsort(-frequency, kind="stable")[:size]))
    if how == "auto":
        low, high = find_range(snapshot, size, rng, limit)
    candidates = np.arange(len(frequency))
    if how in ("optimal", "auto"):
        candidates = np.flatnonzero((frequency >= low) & (frequency <= high))
        if not len(candidates):
            raise WrongUsage(
                f"no word is in {low} to {high} of the {snapshot.documents} documents; the most frequent is in {frequency.max()}"
            )
    if how == "all" or len(candidates) <= size:
        return snapshot.restricted_to(candidates)
    return snapshot.restricted_to(np.sort(rng.choice(candidates, size, replace=False)))


def find_range(
    snapshot: Snapshot, size: int, rng: np.random.Generator, limit: int = 0, queries: int = 150
) -> tuple[int, int]:
    """The range of document frequencies whose words cover most: tried on the snapshot (Yuan's first piece of future work).

    For each range of a grid, a plain greedy dictionary is chosen from a sample of its words, under the source's limit; the
    range whose dictionary should bring most documents, less a little for each that is returned, is taken.
    """
    frequency = snapshot.frequency
    lows = sorted({max(1, round(snapshot.documents * share)) for share in LOW_SHARES})
    highs = sorted({max(2, round(snapshot.documents * share)) for share in HIGH_SHARES})
    best_worth, best_range = -1.0, (1, int(frequency.max()))
    for low in lows:
        for high in highs:
            candidates = np.flatnonzero((frequency >= low) & (frequency <= high))
            if len(candidates) < 2:
                continue
            words = candidates if len(candidates) <= size else rng.choice(candidates, size, replace=False)
            worth = _greedy_worth(snapshot.restricted_to(np.sort(words)), limit or snapshot.documents, queries)
            if worth > best_worth:
                best_worth, best_range = worth, (low, high)
    return best_range


def _greedy_worth(snapshot: Snapshot, limit: int, queries: int) -> float:
    """The new documents that a plain greedy dictionary should bring, less the cost of those it returns."""
    chance = np.minimum(1.0, limit / snapshot.frequency)
    cost = RETURNED_COST * np.minimum(snapshot.frequency, limit)
    unseen = np.ones(snapshot.documents)
    sums = snapshot.sums(unseen)
    worth = 0.0
    for _ in range(min(queries, len(snapshot.words))):
        gain = chance * sums - cost
        word = int(np.argmax(gain))
        if gain[word] <= 0:
            break
        worth += float(gain[word])
        documents = snapshot.documents_with(word)
        sums -= snapshot.sums_of(documents, chance[word] * unseen[documents])
        unseen[documents] *= 1 - chance[word]
    return worth
