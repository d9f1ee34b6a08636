"""Policies that choose the next word of a harvest, to compare with the one that Upwell uses.

    add_record(key, text, fields)    a record was returned, for the first time or again
    asked(query, matches)            a query was asked, and the number of matches on its first page
    next() → word or None            the word to ask next

A policy is a subclass of `Policy` with a method `worth`, which returns a number for each word of the records held.
"""

from dataclasses import dataclass, field

import numpy as np

from upwell.choose.word_candidates import WordYield, unseen_records
from upwell.choose.word_index import Floats

__all__ = ["NEARLY_BEST_SHARE", "ExpectedYieldPolicy", "Frequency", "Greedy", "Policy", "Random"]

NEARLY_BEST_SHARE = 0.8  # words with this share of the best yield per request count as equally good; not swept


class Policy(WordYield):
    """Base of the policies: asks the word with the greatest `worth`."""

    def next(self) -> str | None:
        """Return the word to ask next; None if there is none."""
        size = len(self._texts)
        if not size:
            return None
        worth = np.where(self._done[:size] | (self._with_word[:size] == 0), -np.inf, self.worth())
        best = self.select(worth)
        return None if worth[best] == -np.inf else self.word(best)

    def worth(self) -> Floats:
        """Return the worth of each word."""
        raise NotImplementedError

    def select(self, worth: Floats) -> int:
        """Return the number of the word to ask."""
        return int(np.argmax(worth))


@dataclass
class Random(Policy):
    """Ask a random word of the records held: the lower bound for any policy."""

    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def worth(self) -> Floats:
        return self.rng.random(len(self._texts))


class Frequency(Policy):
    """Ask the word that most records held contain."""

    def worth(self) -> Floats:
        return self.inside


class Greedy(Policy):
    """Ask the word with the most matches that are not held, assuming that words are as frequent in the source as in the records held."""

    def worth(self) -> Floats:
        scale = 1 + unseen_records(self) / max(self.held, 1)
        matches = self.inside * scale
        bound = np.minimum(1.0, self.result_cap / np.maximum(matches, 1e-9)) if self.result_cap else 1.0
        return np.asarray(bound * (matches - self.inside))


class ExpectedYieldPolicy(Policy):
    """Ask the word with the most expected new records per request; of nearly equal words, the one with most in all."""

    def worth(self) -> Floats:
        self._new, pages = self.expected_new(np.arange(len(self._texts)))
        share = self.match_chances()
        chance = (share * self._calibration.shares(np.arange(len(share))))[self.classes]
        return np.asarray(chance * self._new / pages)

    def select(self, worth: Floats) -> int:
        best = float(worth.max())
        return int(np.argmax(np.where(worth >= NEARLY_BEST_SHARE * best, self._new, -1.0) if best > 0 else worth))
