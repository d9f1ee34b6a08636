"""A text source in memory, with a limit on results and the three orders of Yuan §3.4, to measure methods on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from upwell.queries.snapshot import Snapshot

__all__ = ["Order", "Run", "TextSource", "issue"]

Order = Literal["none", "relevance", "rank"]


@dataclass(frozen=True, eq=False)
class TextSource:
    """Answers a word with at most `limit` of its documents, in an order that is fixed for the word and unknown to who asks."""

    snapshot: Snapshot
    limit: int
    order: Order = "none"
    seed: int = 0
    lengths: NDArray[np.integer] | None = None  # words a document, for relevance

    def __post_init__(self) -> None:
        object.__setattr__(self, "number", {word: i for i, word in enumerate(self.snapshot.words)})
        object.__setattr__(self, "rank", np.random.default_rng(self.seed).permutation(self.snapshot.documents))

    def answer(self, query: str) -> tuple[NDArray[np.integer], int]:
        """The documents that come back, and how many match in all; all words of a query must match."""
        number: dict[str, int] = self.number  # type: ignore[attr-defined] # set above
        ids = [number.get(word) for word in query.split()]
        if not ids or None in ids:
            return np.zeros(0, dtype=np.int64), 0
        found = self.snapshot.having(ids[0] or 0)
        for word in ids[1:]:
            found = np.intersect1d(found, self.snapshot.having(word or 0), assume_unique=True)
        total = len(found)
        if total > self.limit:
            found = found[self._places(found, ids[0] or 0)[: self.limit]]
        return found, total

    def _places(self, found: NDArray[np.integer], word: int) -> NDArray[np.integer]:
        if self.order == "rank":
            rank: NDArray[np.integer] = self.rank  # type: ignore[attr-defined] # set above
            return np.argsort(rank[found])
        if self.order == "relevance" and self.lengths is not None:
            return np.argsort(
                self.lengths[found], kind="stable"
            )  # one word: tf·idf of presence goes by the document's length
        return np.random.default_rng([self.seed, word]).permutation(len(found))


@dataclass(frozen=True, kw_only=True)
class Run:
    """What a list of queries brought: after each, hit rate and overlap rate (Yuan §2.4)."""

    hit: tuple[float, ...]
    overlap: tuple[float, ...]

    def overlap_at(self, hit: float) -> float | None:
        """The overlap rate when a hit rate was first reached; None where it was not."""
        return next((o for h, o in zip(self.hit, self.overlap, strict=True) if h >= hit), None)


def issue(source: TextSource, queries: Sequence[str]) -> Run:
    """Issues queries in order."""
    seen = np.zeros(source.snapshot.documents, dtype=bool)
    returned, hit, overlap = 0, [], []
    for query in queries:
        found, _ = source.answer(query)
        returned += len(found)
        seen[found] = True
        held = int(seen.sum())
        hit.append(held / len(seen))
        overlap.append(returned / held if held else 1.0)
    return Run(hit=tuple(hit), overlap=tuple(overlap))
