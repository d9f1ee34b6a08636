"""The next query while harvesting: a policy is an object with `learn` and `next`.

learn(text)                 a new record came
asked(query, matches, new)  what a query brought
next() → query or None      what to ask now
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

from upwell.page.terms import stop_words_of, tokens

__all__ = ["Frequent", "Policy"]


class Policy(Protocol):
    """Chooses queries; written anew in ten lines."""

    def learn(self, text: str) -> None: ...

    def asked(self, query: str, matches: int, new: int) -> None: ...

    def next(self) -> str | None: ...


@dataclass
class Frequent:
    """Asks for the word of the records held that should match the most records not held.

    A word that d of the n records held have is expected to match d·N/n of N. Above the source's limit the answers repeat
    themselves, so that such words come late. Words of a shape (letters, digits, both) that never match are not tried on.
    """

    limit: int = 0  # results a query at most; 0: none is known
    language: str = ""
    scale: float = 2.0  # N/n, as far as is known
    _count: Counter[str] = field(default_factory=Counter)
    _done: set[str] = field(default_factory=set)
    _tried: Counter[str] = field(default_factory=Counter)
    _matched: Counter[str] = field(default_factory=Counter)

    def learn(self, text: str) -> None:
        stops = stop_words_of(self.language)
        for word in set(tokens(text)):
            if word not in self._done and word not in stops and len(word) > 1:
                self._count[word] += 1

    def asked(self, query: str, matches: int, new: int) -> None:
        self._done.add(query)
        self._count.pop(query, None)
        self._tried[_shape(query)] += 1
        self._matched[_shape(query)] += matches > 0

    def next(self) -> str | None:
        chance = {s: (self._matched[s] + 1) / (self._tried[s] + 1) for s in ("letters", "digits", "mixed")}

        def promise(word: str) -> float:
            expected = self._count[word] * self.scale
            over = self.limit and expected > self.limit
            return chance[_shape(word)] * (self.limit * self.limit / expected if over else expected)

        return max(self._count, key=promise, default=None)


def _shape(word: str) -> str:
    if any(c.isdigit() for c in word):
        return "digits" if word.replace(" ", "").isdigit() else "mixed"
    return "letters"
