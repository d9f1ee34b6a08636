"""Check queries: words drawn apart from the harvest, whose whole answers show how much of a list of everything has come."""

import numpy as np
from numpy.typing import NDArray

from upwell.page.terms import stop_words_of
from upwell.queries.word_index import WordIndex

__all__ = ["CheckQueries"]

MAX_PAGES = 3  # result pages that a check query should have
MIN_RECORDS = 50  # records held before words are drawn
DRAWN_WORDS = 500
MIN_SHARED = 30  # words of several records, before those of a single one are left out
ONE_OF = 5  # records held that gives the words; as `queries.size.Checks` has it, which draws in the same way
HEAVY = 0.5  # share of the matches that can be fetched, that a word may have; as there


class CheckQueries:
    """Draws new check words whenever the records held have doubled."""

    def __init__(self, index: WordIndex) -> None:
        self.index = index
        self._waiting: list[str] = []
        self._drawn_at = 0  # records held when the words were drawn

    def next(self, page_size: int) -> str | None:
        """The next check query; None before enough is held to draw words from."""
        if self.index.held < MIN_RECORDS:
            return None
        if self.index.held >= 2 * self._drawn_at:
            self._drawn_at = self.index.held
            self._waiting = self._draw(MAX_PAGES * page_size, np.random.default_rng(self._drawn_at))
        return self._waiting.pop() if self._waiting else None

    def _draw(self, limit: int, rng: np.random.Generator) -> list[str]:
        """Words of every fifth record held, all of whose matches should come in few requests."""
        counts: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        for cells in self.index.words_of_each(ONE_OF):
            more = np.bincount(cells, minlength=len(counts))
            more[: len(counts)] += counts
            counts = more
        most = max(2.0, HEAVY * limit / ONE_OF)
        shared, alone = np.flatnonzero((counts > 1) & (counts <= most)), np.flatnonzero(counts == 1)
        words = self._words(rng.permutation(shared))
        return (
            words
            if len(words) >= MIN_SHARED
            else words + self._words(rng.permutation(alone))[: DRAWN_WORDS - len(words)]
        )

    def _words(self, numbers: NDArray[np.int64]) -> list[str]:
        """The first of some words that sources search: no stop words, letters and numbers."""
        stops, words = stop_words_of(self.index.language), []
        for number in numbers.tolist():
            word = self.index.word(number)
            if len(word) > 1 and word not in stops and not any(c.isdigit() for c in word):
                words.append(word)
            if len(words) == DRAWN_WORDS:
                break
        return words

    def fair(self, hashes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of some records, by the hashes of their keys, that had no part in drawing the words."""
        numbers = np.array(list(self.index.record_numbers(hashes.tolist())), dtype=np.int64)
        return np.asarray(hashes[(numbers % ONE_OF != 0) | (numbers >= self._drawn_at) | (numbers < 0)])
