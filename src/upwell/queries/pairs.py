"""Two-word queries for words whose matches a source cuts off: what is held back comes through narrower questions.

    a b     of the matches of a, those that have b too
    a -b    those that do not

How many matches a narrower question has follows from the share of the records held that have both words. Which way of writing
it the source understands is learned by trying (`grammar`); Yuan's last piece of future work.
"""

import heapq
from dataclasses import dataclass, field

import numpy as np

from upwell.queries.grammar import FORMS, Operator, judge, write
from upwell.queries.policy import SHAPES, Frontier, shape_of

__all__ = ["Pair", "Pairs"]

SAME = 0.9  # a word that stands beside the first nearly always is a label, and narrows nothing; not swept
TRIALS = 5  # pairs that a way of writing gets before it counts as not understood


@dataclass(frozen=True, slots=True)
class Pair:
    """A question of two words, and how many new records a request of it should bring."""

    a: str
    b: str
    operator: Operator
    query: str
    expected: float


@dataclass
class Pairs:
    """The words that overflowed, and the best narrower question for each; what a source understands is found out on the way."""

    frontier: Frontier
    _matches: dict[str, float] = field(default_factory=dict)
    _heap: list[tuple[float, str]] = field(default_factory=list)
    _asked: dict[str, set[tuple[str, Operator]]] = field(default_factory=dict)
    _forms: dict[Operator, list[str]] = field(
        default_factory=lambda: {"and": list(FORMS["and"]), "not": list(FORMS["not"])}
    )
    _luck: dict[tuple[str, int], tuple[int, int]] = field(
        default_factory=dict
    )  # word, shape of the second: tried, matched
    _sure: set[Operator] = field(default_factory=set)
    _failed: dict[Operator, int] = field(default_factory=dict)

    @property
    def understood(self) -> dict[str, str]:
        """How each operator is written, of those that the source has shown to understand."""
        return {operator: self._forms[operator][0] for operator in sorted(self._sure)}

    def overflowed(self, word: str, matches: float) -> None:
        """A word has more matches than came."""
        if " " in word or word in self._matches or self._same(word, matches):
            return
        self._matches[word] = matches
        self._push(word)

    def _same(self, word: str, matches: float) -> bool:
        """Whether another word that overflowed stands for the same records: a country and its code."""
        _, held, both = self.frontier.together(word)
        return held > 0 and any(
            abs(known - matches) <= (1 - SAME) * matches
            and (number := self.frontier.number(other)) >= 0
            and both[number] > SAME * held
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
        self._asked.setdefault(pair.a, set()).add((pair.b, pair.operator))

    def brought(self, pair: Pair, texts: list[str], matches: int) -> None:
        """What a pair brought: whether it was narrowed to what was meant shows if the source understands it."""
        tried, matched = self._luck.get((pair.a, shape_of(pair.b)), (0, 0))
        self._luck[pair.a, shape_of(pair.b)] = (tried + 1, matched + bool(texts))
        if pair.operator in self._sure:
            return
        alone = self._matches.get(pair.a, matches + 1)
        if texts and matches < alone and judge(pair.operator, pair.a, pair.b, texts, len(texts)):
            self._sure.add(pair.operator)
            return
        self._failed[pair.operator] = self._failed.get(pair.operator, 0) + 1
        if self._failed[pair.operator] >= TRIALS:
            self._failed[pair.operator] = 0
            self._forms[pair.operator].pop(0)

    def _push(self, word: str) -> None:
        if (best := self._best(word)) is not None:
            heapq.heappush(self._heap, (-best.expected, word))

    def _best(self, a: str) -> Pair | None:
        words, held, both = self.frontier.together(a)
        if not held:
            return None
        limit, page = self.frontier.limit, self.frontier.page_size
        best: Pair | None = None
        scale = max(1.0, self._matches[a] / held)
        for operator, inside in (("and", both), ("not", np.where(both > 0, held - both, 0))):
            if not self._forms[operator]:  # type: ignore[index] # as written above
                continue
            matches = inside * scale
            new = matches - inside
            if limit:
                new = np.where(matches > limit, new * self.frontier.top * limit / np.maximum(matches, 1e-9), new)
                matches = np.minimum(matches, limit)
            luck = [self._luck.get((a, shape), (0, 0)) for shape in range(len(SHAPES))]
            chance = np.array([(matched + 1) / (tried + 1) for tried, matched in luck])[self.frontier.shapes]
            worth = chance * new / (np.maximum(1.0, np.ceil(matches / page)) if page else 1.0)
            worth[(both > SAME * held) | (inside < 1)] = 0.0
            if operator == "not" and limit:
                worth[inside * scale > limit] = 0.0  # what is left out is not what comes first
            worth[list(self.frontier.barren)] = 0.0
            for b, asked in self._asked.get(a, set()):
                if asked == operator:
                    worth[self.frontier.number(b)] = 0.0
            at = int(np.argmax(worth)) if len(worth) else 0
            if len(worth) and worth[at] > (best.expected if best else 0.0):
                form = self._forms[operator][0]  # type: ignore[index] # as above
                best = Pair(a, words[at], operator, write(form, a, words[at]), float(worth[at]))  # type: ignore[arg-type] # as above
        return best
