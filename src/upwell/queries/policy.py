"""The next query while harvesting: a policy is told what comes, and says what to ask.

    saw(key, text)                     a record came back, for the first time or again
    asked(query, matches, overflow)    what a query brought, and whether the source held some of it back
    next() → query or None             what to ask now; `expected` says how many new records a request should bring

`Frontier` keeps the counts that policies need; a policy of one's own is a subclass with `worth`, ten lines long.
"""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from upwell.page.terms import stop_words_of, tokens

__all__ = ["SHAPES", "Frequency", "Frontier", "Greedy", "Policy", "Promising", "Random", "shape_of"]

Floats = NDArray[np.float64]
NEARLY = 0.8  # not swept
RATE = 0.1  # how fast what cut-off answers bring is learned; not swept
SHAPES = ("letters", "digits", "mixed")


class Policy(Protocol):
    """What the harvest needs of a policy."""

    limit: int
    page_size: int
    expected: float

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
    expected: float = 0.0  # new records a request, from the query that `next` gave
    top: float = (
        1.0  # of the records that should be new where the limit cuts off, how many are: an order shows the same first
    )
    barren: set[int] = field(default_factory=set)  # numbers of words that were asked for and matched nothing
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
    _column: NDArray[np.int32] = field(default_factory=lambda: np.zeros((2, 4096), np.int32))  # record, word
    _cells: int = 0
    _bulk: Floats = field(
        default_factory=lambda: np.zeros(0)
    )  # what each candidate brings with all its pages, where it is known
    _tried: list[int] = field(default_factory=lambda: [0, 0, 0])
    _matched: list[int] = field(default_factory=lambda: [0, 0, 0])

    def saw(self, key: str, text: str) -> None:
        times = self._seen[key] = self._seen.get(key, 0) + 1
        if times == 1:
            ids = self._kept[key] = self._ids(text)
            self._put(ids)
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
            if not matches:
                self.barren.add(int(ids[0]))
        shape = shape_of(query)
        self._tried[shape] += 1
        self._matched[shape] += matches > 0

    def next(self) -> str | None:
        size = len(self._words)
        if not size:
            return None
        worth = np.where(self._done[:size] | (self._in[:size] == 0), -np.inf, self.worth())
        best = int(np.argmax(worth))
        if worth[best] > 0 and len(self._bulk) == size:
            # of those that bring nearly as much for a request, the one that brings most: it leaves least to overlap
            best = int(np.argmax(np.where(worth >= NEARLY * worth[best], self._bulk, -1.0)))
        self.expected = max(0.0, float(worth[best]))
        return None if worth[best] == -np.inf else self._words[best]

    def together(self, word: str) -> tuple[list[str], int, NDArray[np.int64]]:
        """All words, how many records held have this one, and beside which number of them each word stands."""
        number = self._number.get(word, -1)
        record, words = self._column[:, : self._cells]
        inside = np.zeros(self.held + 1, dtype=bool)
        inside[record[words == number]] = True
        counts = np.bincount(words[inside[record]], minlength=len(self._words))
        if number >= 0:
            counts[number] = 0
        return self._words, int(inside.sum()), counts

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
        return np.array(share)[self.shapes]

    @property
    def shapes(self) -> NDArray[np.int8]:
        """Which of SHAPES each candidate has."""
        return self._shape[: len(self._words)]

    def cut_off(self, expected: float, new: float) -> None:
        """What a query that the limit cuts off brought on its first page, beside what was expected of it."""
        self.top += RATE * (min(1.0, new / max(expected, 1e-9)) - self.top)

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

    def frequent(self, count: int) -> list[str]:
        """The words that most records held have, of those that were not asked."""
        size = len(self._words)
        order = np.argsort(np.where(self._done[:size], 0.0, -self._in[:size]), kind="stable")[:count]
        return [self._words[i] for i in order if not self._done[i] and self._in[i] > 0]

    def holding(self, word: str) -> int:
        """How many records held have a word."""
        number = self._number.get(word)
        return int(self._in[number]) if number is not None else 0

    def number(self, word: str) -> int:
        """The place of a word among all words; -1 where no record held has it."""
        return self._number.get(word, -1)

    def _put(self, ids: NDArray[np.int64]) -> None:
        """The words of a further record, as cells (record, word)."""
        while self._cells + len(ids) > self._column.shape[1]:
            self._column = np.concatenate([self._column, np.zeros_like(self._column)], axis=1)
        self._column[0, self._cells : self._cells + len(ids)] = self.held
        self._column[1, self._cells : self._cells + len(ids)] = ids
        self._cells += len(ids)

    def _add(self, word: str) -> int:
        number = self._number[word] = len(self._words)
        self._words.append(word)
        if number == len(self._in):
            for name in ("_shape", "_in", "_once", "_done"):
                old = getattr(self, name)
                setattr(self, name, np.concatenate((old, np.zeros_like(old))))
        self._shape[number] = shape_of(word)
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
            new = np.where(matches > self.limit, new * self.top * self.limit / np.maximum(matches, 1e-9), new)
            matches = np.minimum(matches, self.limit)
        self._bulk = np.asarray(new)
        pages = np.maximum(1.0, np.ceil(matches / self.page_size)) if self.page_size else 1.0
        return np.asarray(self.chance * new / pages)


def _unseen(frontier: Frontier) -> float:
    """Chao's lower bound of the records not seen; at least one, and never more than fifty times those held."""
    once, twice = frontier.seen_once, frontier.seen_twice
    return min(max(once * (once - 1) / (2 * (twice + 1)), 1.0), 50.0 * max(frontier.held, 1))


def shape_of(word: str) -> int:
    """Whether a word is of letters, of digits, or of both: the number of its name in SHAPES."""
    if any(c.isdigit() for c in word):
        return 1 if word.replace(" ", "").isdigit() else 2
    return 0
