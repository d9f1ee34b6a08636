"""Queries of two and more words for those whose matches a source cuts off: what is held back comes through narrower questions.

    a b     of the matches of a, those that have b too; where there are too many of these again, a b c
    a -b    those that do not

How many matches a narrower question has follows from the share of the records held that have both words. Which way of writing
it the source understands is learned by trying (`grammar`); Yuan's last piece of future work.
"""

import heapq
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from upwell.queries.calibration import Calibration
from upwell.queries.grammar import FORMS, Operator, judge, write
from upwell.queries.policy import CLASSES, WordIndex

__all__ = ["Pair", "Pairs"]

Counts = NDArray[np.int64]
SAME = 0.9  # a word that stands beside the first nearly always is a label, and narrows nothing; not swept
SIZES = 6  # 1, 2, 4 … 32 and more records
TRIALS = 5  # pairs that a way of writing gets before it counts as not understood


@dataclass(frozen=True, slots=True)
class Pair:
    """A question with one word more, and how many new records a request of it should bring."""

    a: str  # the question before
    b: str
    operator: Operator
    query: str
    words: tuple[str, ...]  # what its matches show
    inside: float  # its matches that are held
    expected: float
    kind: int  # of which pairs it is one, as `Pairs` counts
    luck: float  # what share was taken to come, in `expected`


@dataclass
class Pairs:
    """The questions that overflowed, and the best narrower one for each; what a source understands is found out on the way."""

    frontier: WordIndex
    _matches: dict[str, float] = field(default_factory=dict)
    _words: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _heap: list[tuple[float, str]] = field(default_factory=list)
    _asked: set[tuple[Operator, frozenset[str], str]] = field(default_factory=set)  # a b is b a; a -b is not b -a
    _forms: dict[Operator, list[str]] = field(
        default_factory=lambda: {"and": list(FORMS["and"]), "not": list(FORMS["not"])}
    )
    # By the class of the second word, and in how many records it stands beside the first.
    _luck: Calibration = field(default_factory=lambda: Calibration(CLASSES * SIZES))
    _sure: set[Operator] = field(default_factory=set)
    _failed: dict[Operator, int] = field(default_factory=dict)

    @property
    def understood(self) -> dict[str, str]:
        """How each operator is written, of those that the source has shown to understand."""
        return {operator: self._forms[operator][0] for operator in sorted(self._sure)}

    def overflowed(self, query: str, matches: float, words: tuple[str, ...] = ()) -> None:
        """A word, or a question of several `words`, has more matches than came."""
        words = words or (query,)
        if (" " in query and len(words) == 1) or query in self._matches or self._same(words, matches):
            return
        self._matches[query], self._words[query] = matches, words
        self._push(query)

    def _same(self, words: tuple[str, ...], matches: float) -> bool:
        """Whether another question that overflowed stands for the same records: a country and its code."""
        held, both = self.frontier.together(*words)
        if not held:
            return False
        own = {self.frontier.number(word) for word in words}
        return any(
            abs(known - matches) <= (1 - SAME) * matches
            and all(
                (n := self.frontier.number(w)) >= 0 and (n in own or both[n] > SAME * held) for w in self._words[other]
            )
            for other, known in self._matches.items()
        )

    def next(self) -> Pair | None:
        """The narrower question that should bring most new records for a request; the best that was known is looked at again."""
        while self._heap:
            _, word = heapq.heappop(self._heap)
            best = self._best(word)
            if best is None:
                continue
            if not self._heap or best.expected >= -self._heap[0][0]:
                heapq.heappush(self._heap, (-best.expected, word))
                return best
            heapq.heappush(self._heap, (-best.expected, word))
        return None

    def asked(self, pair: Pair) -> None:
        """A pair is asked once."""
        self._asked.add(self._of(pair.a, pair.b, pair.operator))

    def _of(self, a: str, b: str, operator: Operator) -> tuple[Operator, frozenset[str], str]:
        words = self._words[a]
        return (operator, frozenset((*words, b)), "") if operator == "and" else (operator, frozenset(words), b)

    def brought(self, pair: Pair, texts: list[str], matches: int) -> None:
        """What a pair brought: whether it was narrowed to what was meant shows if the source understands it."""
        if pair.operator in self._sure:
            return
        alone = self._matches.get(pair.a, matches + 1)
        if texts and matches < alone and judge(pair.operator, self._words[pair.a][0], pair.b, texts, len(texts)):
            self._sure.add(pair.operator)
            return
        self._failed[pair.operator] = self._failed.get(pair.operator, 0) + 1
        if self._failed[pair.operator] >= TRIALS:
            self._failed[pair.operator] = 0
            self._forms[pair.operator].pop(0)

    def page(self, pair: Pair, new: int) -> None:
        """How many new records one page of a pair brought: what to expect of others like it."""
        self._luck.page(pair.kind, pair.expected / pair.luck, new)

    def _push(self, word: str) -> None:
        if (best := self._best(word)) is not None:
            heapq.heappush(self._heap, (-best.expected, word))

    def _best(self, a: str) -> Pair | None:
        held, both = self.frontier.together(*self._words[a])
        if not held:
            return None
        limit, page = self.frontier.limit, self.frontier.page_size
        best: Pair | None = None
        odds = max(0.0, self._matches[a] / held - 1)
        missing = self.frontier.missing(odds)
        both_ways: tuple[tuple[Operator, Counts], ...] = (("and", both), ("not", np.where(both > 0, held - both, 0)))
        for operator, inside in both_ways:
            if not self._forms[operator] or (operator == "not" and len(self._words[a]) > 1):
                continue
            new = inside * (missing if operator == "and" else odds)
            matches = inside + new
            if limit:
                new = np.where(matches > limit, new * self.frontier.top * limit / np.maximum(matches, 1e-9), new)
                matches = np.minimum(matches, limit)
            kinds = self.frontier.classes.astype(np.int64) * SIZES + _sizes(both)
            luck = self._luck.shares(kinds)
            worth = luck * new / (np.maximum(1.0, np.ceil(matches / page)) if page else 1.0)
            worth[(both > SAME * held) | (inside < 1)] = 0.0
            if operator == "not" and limit:
                worth[inside + new > limit] = 0.0  # what is left out is not what comes first
            worth[list(self.frontier.barren)] = 0.0
            at = int(np.argmax(worth)) if len(worth) else 0
            while len(worth) and worth[at] > 0 and self._of(a, self.frontier.word(at), operator) in self._asked:
                worth[at] = 0.0
                at = int(np.argmax(worth))
            if len(worth) and worth[at] > (best.expected if best else 0.0):
                form, b = self._forms[operator][0], self.frontier.word(at)
                shown = (*self._words[a], b) if operator == "and" else ()
                best = Pair(
                    a, b, operator, write(form, a, b), shown, float(inside[at]), float(worth[at]),
                    int(kinds[at]), float(luck[at]),
                )  # fmt: skip
        return best


def _sizes(counts: Counts) -> NDArray[np.int64]:
    return np.minimum(SIZES - 1, np.log2(np.maximum(1, counts))).astype(np.int64)
