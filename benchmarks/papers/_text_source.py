"""A text source in memory with a result cap, the three sort orders of Yuan §3.4, and queries of two words."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from upwell.papers.yuan import Snapshot, hit_rate, overlap_rate, shared_documents

__all__ = ["Order", "Run", "TextSource", "issue", "with_pairs"]

Order = Literal["none", "relevance", "rank"]
MAX_COMMON_WORDS = 4000  # words that are paired; more need over 128 MB for the matrix of shared documents


@dataclass(frozen=True, eq=False)
class TextSource:
    """Source that answers a word with at most `result_cap` of its documents, in a sort order that is fixed per word."""

    snapshot: Snapshot
    result_cap: int
    order: Order = "none"
    seed: int = 0
    lengths: NDArray[np.integer] | None = None  # words per document, for relevance

    @cached_property
    def _number(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.snapshot.words)}

    @cached_property
    def _rank(self) -> NDArray[np.integer]:
        return np.random.default_rng(self.seed).permutation(self.snapshot.documents)

    def answer(self, query: str) -> tuple[NDArray[np.integer], int]:
        """Return the returned documents and the total number of matches; all words of a query must match."""
        numbers = [self._number.get(word, -1) for word in query.split()]
        if not numbers or -1 in numbers:
            return np.zeros(0, dtype=np.int64), 0
        matches: NDArray[np.integer] = self.snapshot.documents_with(numbers[0])
        for word in numbers[1:]:
            matches = np.intersect1d(matches, self.snapshot.documents_with(word), assume_unique=True)
        total = len(matches)
        if total > self.result_cap:
            matches = matches[self._in_order(matches, numbers[0])[: self.result_cap]]
        return matches, total

    def _in_order(self, matches: NDArray[np.integer], word: int) -> NDArray[np.integer]:
        if self.order == "rank":
            return np.argsort(self._rank[matches])
        if self.order == "relevance" and self.lengths is not None:
            # for one word, tf·idf of presence depends on the length only
            return np.argsort(self.lengths[matches], kind="stable")
        return np.random.default_rng([self.seed, word]).permutation(len(matches))


@dataclass(frozen=True, kw_only=True)
class Run:
    """Hit rate and overlap rate after each of a list of queries (Yuan §2.4)."""

    hit: tuple[float, ...]
    overlap: tuple[float, ...]

    def overlap_at(self, hit: float) -> float | None:
        """Return the overlap rate when a hit rate was first reached; None if it was not."""
        return next((o for h, o in zip(self.hit, self.overlap, strict=True) if h >= hit), None)


def issue(source: TextSource, queries: Sequence[str]) -> Run:
    """Send queries in order."""
    is_seen = np.zeros(source.snapshot.documents, dtype=bool)
    returned, hit, overlap = 0, [], []
    for query in queries:
        documents, _ = source.answer(query)
        returned += len(documents)
        is_seen[documents] = True
        held = int(is_seen.sum())
        hit.append(hit_rate(held, len(is_seen)))
        overlap.append(overlap_rate(returned, held))
    return Run(hit=tuple(hit), overlap=tuple(overlap))


def with_pairs(snapshot: Snapshot, result_cap: int, rng: np.random.Generator, max_pairs: int = 12_000) -> Snapshot:
    """Return the snapshot with two-word queries added: pairs of capped words whose matches are below the result cap.

    Documents with common words only are beyond the cap; two common words together are as selective as one good word.
    """
    common = np.flatnonzero((snapshot.frequency > result_cap) & (snapshot.frequency <= snapshot.documents / 2))
    if len(common) > MAX_COMMON_WORDS:
        common = np.sort(rng.choice(common, MAX_COMMON_WORDS, replace=False))
    words = snapshot.restricted_to(common)
    shared = shared_documents(words)
    a, b = np.nonzero(np.triu((shared >= 0.75 * result_cap) & (shared <= result_cap), 1))
    picked = rng.choice(len(a), min(max_pairs, len(a)), replace=False) if len(a) else np.zeros(0, dtype=np.int64)
    if not len(picked):
        return snapshot
    pairs = list(zip(a[picked].tolist(), b[picked].tolist(), strict=True))
    postings = [np.intersect1d(words.documents_with(i), words.documents_with(j), assume_unique=True) for i, j in pairs]
    return Snapshot(
        snapshot.words + tuple(f"{words.words[i]} {words.words[j]}" for i, j in pairs),
        snapshot.documents,
        np.concatenate((snapshot.starts, snapshot.starts[-1] + np.cumsum([len(documents) for documents in postings]))),
        np.concatenate((snapshot.postings, *postings)),
    )
