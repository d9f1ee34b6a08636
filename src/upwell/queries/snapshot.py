"""A snapshot of a source: its texts as words × documents, and which of the words to look at (Yuan ch. 3).

sampling   random     any words
           popular    the most frequent
           optimal    those in a range of document frequencies
           auto       the same, the range found by trying ranges on the snapshot itself
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from upwell.errors import WrongUsage
from upwell.page.terms import stop_words_of, tokens

__all__ = ["SAMPLINGS", "Sampling", "Snapshot", "find_range", "of_texts", "sample", "with_pairs"]

Sampling = Literal["random", "popular", "optimal", "auto", "all"]
SAMPLINGS: tuple[Sampling, ...] = ("random", "popular", "optimal", "auto", "all")


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Which words stand in which documents."""

    words: tuple[str, ...]
    matrix: Any  # scipy.sparse.csr_array, words × documents, 1 where the word is in the document

    @property
    def documents(self) -> int:
        """How many documents there are."""
        return int(self.matrix.shape[1])

    @cached_property
    def frequency(self) -> NDArray[np.int64]:
        """In how many documents each word is."""
        return np.asarray(np.diff(self.matrix.indptr), dtype=np.int64)

    def having(self, word: int) -> NDArray[np.int32]:
        """The documents that have a word."""
        found: NDArray[np.int32] = self.matrix.indices[self.matrix.indptr[word] : self.matrix.indptr[word + 1]]
        return found

    def only(self, rows: NDArray[np.integer]) -> "Snapshot":
        """The same documents, seen through some of the words."""
        return Snapshot(tuple(self.words[i] for i in rows), sparse.csr_array(self.matrix[rows]))


def of_texts(texts: Iterable[str], language: str = "en") -> Snapshot:
    """Reads texts; stop words and single characters are no queries."""
    stops = stop_words_of(language)
    number: dict[str, int] = {}
    indices: list[int] = []
    starts = [0]
    for text in texts:
        ids = {number.setdefault(w, len(number)): None for w in tokens(text) if len(w) > 1 and w not in stops}
        indices.extend(sorted(ids))
        starts.append(len(indices))
    if not number:
        raise WrongUsage(f"{len(starts) - 1} texts without a single word: is the snapshot empty, or not text?")
    shape = (len(starts) - 1, len(number))
    by_document = sparse.csr_array(
        (np.ones(len(indices), np.float32), np.array(indices, np.int32), np.array(starts)), shape=shape
    )
    return Snapshot(tuple(number), sparse.csr_array(by_document.T.tocsr()))


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
    """Downsizes the vocabulary; fewer words than asked for are given where there are not more."""
    frequency = snapshot.frequency
    if how == "popular":
        return snapshot.only(np.sort(np.argsort(-frequency, kind="stable")[:size]))
    if how == "auto":
        low, high = find_range(snapshot, size, rng, limit)
    among = np.arange(len(frequency))
    if how in ("optimal", "auto"):
        among = np.flatnonzero((frequency >= low) & (frequency <= high))
        if not len(among):
            raise WrongUsage(
                f"no word is in {low} to {high} of the {snapshot.documents} documents; the most frequent is in {frequency.max()}"
            )
    if how == "all" or len(among) <= size:
        return snapshot.only(among)
    return snapshot.only(np.sort(rng.choice(among, size, replace=False)))


def with_pairs(snapshot: Snapshot, limit: int, rng: np.random.Generator, most: int = 12_000) -> Snapshot:
    """The snapshot with two-word queries added (both words must match): such that fit the limit, of words that exceed it.

    What only common words can reach is hidden behind the limit; two of them together are as rare as one good word.
    """
    common = np.flatnonzero((snapshot.frequency > limit) & (snapshot.frequency <= snapshot.documents / 2))
    if len(common) > 4000:
        common = np.sort(rng.choice(common, 4000, replace=False))
    words = snapshot.only(common)
    together = (words.matrix @ words.matrix.T).toarray()
    a, b = np.nonzero(np.triu((together >= 0.75 * limit) & (together <= limit), 1))
    picked = rng.choice(len(a), min(most, len(a)), replace=False) if len(a) else np.zeros(0, dtype=np.int64)
    if not len(picked):
        return snapshot
    a, b = a[picked], b[picked]
    both = sparse.csr_array(words.matrix[a].multiply(words.matrix[b]))
    both.eliminate_zeros()
    names = tuple(f"{words.words[i]} {words.words[j]}" for i, j in zip(a, b, strict=True))
    return Snapshot(snapshot.words + names, sparse.csr_array(sparse.vstack([snapshot.matrix, both]).astype(np.float32)))


def find_range(
    snapshot: Snapshot, size: int, rng: np.random.Generator, limit: int = 0, queries: int = 150
) -> tuple[int, int]:
    """The range of document frequencies whose words cover most: tried on the snapshot (Yuan's first piece of future work).

    For each range of a grid a plain greedy dictionary is chosen from a sample of its words, with the source's limit in
    mind; the range whose dictionary should bring most documents, less what it repeats, is taken.
    """
    frequency = snapshot.frequency
    lows = sorted({max(1, round(snapshot.documents * share)) for share in (0.0005, 0.001, 0.002, 0.004, 0.008)})
    highs = sorted({max(2, round(snapshot.documents * share)) for share in (0.02, 0.04, 0.08, 0.16, 0.32)})
    best, found = -1.0, (1, int(frequency.max()))
    for low in lows:
        for high in highs:
            among = np.flatnonzero((frequency >= low) & (frequency <= high))
            if len(among) < 2:
                continue
            rows = among if len(among) <= size else rng.choice(among, size, replace=False)
            worth = _worth(snapshot.only(np.sort(rows)), limit or snapshot.documents, queries)
            if worth > best:
                best, found = worth, (low, high)
    return found


def _worth(snapshot: Snapshot, limit: int, queries: int) -> float:
    """What a plain greedy dictionary should bring, less a tenth of what it returns."""
    chance = np.minimum(1.0, limit / snapshot.frequency)
    returned = np.minimum(snapshot.frequency, limit)
    unseen = np.ones(snapshot.documents)
    worth = 0.0
    for _ in range(min(queries, len(snapshot.words))):
        gain = chance * (snapshot.matrix @ unseen) - 0.1 * returned
        word = int(np.argmax(gain))
        if gain[word] <= 0:
            break
        worth += float(gain[word])
        unseen[snapshot.having(word)] *= 1 - chance[word]
    return worth
