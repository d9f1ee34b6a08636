"""Draw check queries: words independent of the harvest, whose complete answers show how much of a list was fetched."""

import numpy as np
from numpy.typing import NDArray

from upwell.choose.word_index import WordIndex
from upwell.page.tokens import stop_words_of

__all__ = ["CheckQueries"]

MAX_PAGES = 3  # result pages that a check query may have
MIN_RECORDS = 50  # records held before words are drawn
DRAWN_WORDS = 500  # words drawn at a time
MIN_SHARED = 30  # words in several records needed before words of a single record are left out
SAMPLE_EVERY = 5  # the words come from every fifth record held; as in `size.CheckSample`, which draws in the same way
MAX_CAP_SHARE = 0.5  # share of the reachable matches that a word may be expected to have; as in `size.CheckSample`


class CheckQueries:
    """Check words of one source, drawn again whenever the number of records held has doubled."""

    def __init__(self, index: WordIndex) -> None:
        self.index = index
        self._waiting: list[str] = []
        self._drawn_at = 0  # records held at the last draw

    def next(self, page_size: int) -> str | None:
        """Return the next check query; None before enough records are held."""
        if self.index.held < MIN_RECORDS:
            return None
        if self.index.held >= 2 * self._drawn_at:
            self._drawn_at = self.index.held
            self._waiting = self._draw(MAX_PAGES * page_size, np.random.default_rng(self._drawn_at))
        return self._waiting.pop() if self._waiting else None

    def _draw(self, reachable: int, rng: np.random.Generator) -> list[str]:
        """Draw words of every fifth record held that should have at most `reachable` matches."""
        counts: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        for cells in self.index.words_of_each(SAMPLE_EVERY):
            more = np.bincount(cells, minlength=len(counts))
            more[: len(counts)] += counts
            counts = more
        most = max(2.0, MAX_CAP_SHARE * reachable / SAMPLE_EVERY)
        shared, alone = np.flatnonzero((counts > 1) & (counts <= most)), np.flatnonzero(counts == 1)
        words = self._words(rng.permutation(shared))
        return (
            words
            if len(words) >= MIN_SHARED
            else words + self._words(rng.permutation(alone))[: DRAWN_WORDS - len(words)]
        )

    def _words(self, numbers: NDArray[np.int64]) -> list[str]:
        """Return the first words that sources index: no stop words, single letters or numbers."""
        stops, words = stop_words_of(self.index.language), []
        for number in numbers.tolist():
            word = self.index.word(number)
            if len(word) > 1 and word not in stops and not any(c.isdigit() for c in word):
                words.append(word)
            if len(words) == DRAWN_WORDS:
                break
        return words

    def fair(self, hashes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the hashes of the records that were not used for drawing the words."""
        numbers = np.array(list(self.index.record_numbers(hashes.tolist())), dtype=np.int64)
        return np.asarray(hashes[(numbers % SAMPLE_EVERY != 0) | (numbers >= self._drawn_at) | (numbers < 0)])
