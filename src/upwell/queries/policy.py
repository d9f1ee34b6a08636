"""The next query while harvesting: a policy is told what comes, and says what to ask.

    saw(key, text)                     a record came back, for the first time or again
    asked(query, matches, overflow)    what a query brought, and whether the source held some of it back
    next() → query or None             what to ask now

`Frontier` keeps the counts that policies need; a policy of one's own is a subclass with `worth`, ten lines long.
"""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from upwell.page.terms import stop_words_of, tokens

__all__ = ["Frequency", "Frontier", "Greedy", "Policy", "Promising", "Random"]

Floats = NDArray[np.float64]
SHAPES = ("letters", "digits", "mixed")


class Policy(Protocol):
    """What the harvest needs of a policy."""

    limit: int
    page_size: int

    def saw(self, key: str, text: str) -> None: ...

    def asked(self, query: str, matches: int, overflow: bool = False) -> None: ...

    def next(self) -> str | None: ...


@dataclass
class Frontier:
    """The candidate words of all records held: in how many records each stands, and in how many that were seen just once."""

    limit: int = 0  # results a query at most; 0: none is known
    page_size: int = 0  # results a request; 0: a query is one request
    language: str = ""
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    held: int = 0
    seen_once: int = 0
    seen_twice: int = 0
    _number: dict[str, int] = field(default_factory=dict)
    _words: list[str] = field(default_factory=list)
    _shape: NDArray[np.int8] = field(default_factory=lambda: np.zeros(1024, np.int8))
    _in: Floats = field(default_factory=lambda: np.zeros(1024))
    _once: Floats = field(default_factory=lambda: np.zeros(1024))
    _done: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(1024, bool))
    _seen: dict[str, int] = field(default_factory=dict)
    _kept: dict[str, NDArray[np.int64]] = field(default_factory=dict)  # the words of records seen once
    _tried: list[int] = field(default_factory=lambda: [0, 0, 0])
    _matched: list[int] = field(default_factory=lambda: [0, 0, 0])

    def saw(self, key: str, text: str) -> None:
        times = self._seen[key] = self._seen.get(key, 0) + 1
        if times == 1:
            ids = self._kept[key] = self._ids(text)
            self._in[ids] += 1
            self._once[ids] += 1
            self.held += 1
            self.seen_once += 1
        elif times == 2:
            self._once[self._kept.pop(key)] -= 1
            self.seen_once -= 1
            self.seen_twice += 1
        elif times == 3:
            self.seen_twice -= 1

    def asked(self, query: str, matches: int, overflow: bool = False) -> None:
        if len(ids := self._ids(query, stops=False)) == 1:
            self._done[ids[0]] = True
        shape = _shape(query)
        self._tried[shape] += 1
        self._matched[shape] += matches > 0

    def next(self) -> str | None:
        size = len(self._words)
        if not size:
            return None
        worth = np.where(self._done[:size] | (self._in[:size] == 0), -np.inf, self.worth())
        best = int(np.argmax(worth))
        return None if worth[best] == -np.inf else self._words[best]

    def worth(self) -> Floats:
        """What each candidate is worth; the greatest is asked next."""
        raise TypeError("a policy says what a word is worth")

    def seen_counts(self) -> list[int]:
        """How often each record held was seen."""
        return list(self._seen.values())

    @property
    def inside(self) -> Floats:
        """In how many records held each candidate stands."""
        return self._in[: len(self._words)]

    @property
    def inside_once(self) -> Floats:
        """In how many records that were seen just once each candidate stands."""
        return self._once[: len(self._words)]

    @property
    def chance(self) -> Floats:
        """How likely a word of a shape (letters, digits, both) is to match at all, from those tried."""
        share = [(m + 1) / (t + 1) for m, t in zip(self._matched, self._tried, strict=True)]
        return np.array(share)[self._shape[: len(self._words)]]

    def _ids(self, text: str, stops: bool = True) -> NDArray[np.int64]:
        ids = []
        drop = stop_words_of(self.language) if stops else frozenset()
        for word in dict.fromkeys(tokens(text)):  # a set has another order in each process
            if len(word) > 1 and word not in drop:
                number = self._number.get(word)
                if number is None:
                    number = self._add(word)
                ids.append(number)
        return np.array(sorted(ids), dtype=np.int64)

    def _add(self, word: str) -> int:
        number = self._number[word] = len(self._words)
        self._words.append(word)
        if number == len(self._in):
            for name in ("_shape", "_in", "_once", "_done"):
                old = getattr(self, name)
                setattr(self, name, np.concatenate((old, np.zeros_like(old))))
        self._shape[number] = _shape(word)
        return number


class Random(Frontier):
    """Any word of the records held: the least that a policy must beat."""

    def worth(self) -> Floats:
        return self.rng.random(len(self._words))


class Frequency(Frontier):
    """The word that most records held have."""

    def worth(self) -> Floats:
        return self.inside


class Greedy(Frontier):
    """The word that should match most records not held, every word of the source alike: d of n held, so d·N/n in all."""

    def worth(self) -> Floats:
        scale = 1 + _unseen(self) / max(self.held, 1)
        matches = self.inside * scale
        bound = np.minimum(1.0, self.limit / np.maximum(matches, 1e-9)) if self.limit else 1.0
        return np.asarray(bound * (matches - self.inside))


class Promising(Frontier):
    """Ours: the word that should bring most new records for a request.

    A word whose records were seen often has few unseen ones, one whose records were mostly seen once has many: the share
    seen once, shrunk towards that of all records, scales the estimate of the unseen (Chao's, over all records) for each
    word. Where that is more than the source's limit, only as much comes back, and a part of it is held already. What
    comes back costs a request for each page.
    """

    shrink: float = 10.0  # swept 1 … 10 on real sources, 2 … 100 on made ones: docs/decisions/0040

    def worth(self) -> Floats:
        usual = max(self.seen_once, 1) / max(self.held, 1)
        once = (self.inside_once + self.shrink) / (self.inside + self.shrink / usual)
        unseen = self.inside * (_unseen(self) / max(self.held, 1)) * (once / usual)
        matches = self.inside + unseen
        new = unseen
        if self.limit:
            new = new * np.minimum(1.0, self.limit / np.maximum(matches, 1e-9))
            matches = np.minimum(matches, self.limit)
        pages = np.maximum(1.0, np.ceil(matches / self.page_size)) if self.page_size else 1.0
        return np.asarray(self.chance * new / pages)


def _unseen(frontier: Frontier) -> float:
    """Chao's lower bound of the records not seen; at least one, and never more than fifty times those held."""
    once, twice = frontier.seen_once, frontier.seen_twice
    return min(max(once * (once - 1) / (2 * (twice + 1)), 1.0), 50.0 * max(frontier.held, 1))


def _shape(word: str) -> int:
    if any(c.isdigit() for c in word):
        return 1 if word.replace(" ", "").isdigit() else 2
    return 0
