"""Frequent words of a language that no record held shows: candidates as long as the source finds some of them."""

from collections import deque
from collections.abc import Container

from upwell.queries.frequent_words import most_frequent
from upwell.queries.word_index import WordIndex

__all__ = ["ListedWords"]

MAX_WORDS = 3000  # of the language that are candidates


class ListedWords:
    """The words of a list, the most frequent first."""

    def __init__(self, index: WordIndex) -> None:
        self.index = index
        self._waiting = deque[str]()
        self._misses = 0  # in a row

    def start(self) -> None:
        """Takes in the words."""
        self._waiting.extend(most_frequent(self.index.language, MAX_WORDS))

    def next(self, asked: Container[str]) -> str | None:
        """The next word that was not asked, that no record held has and that the source takes; None where there is none."""
        index, waiting = self.index, self._waiting
        while waiting and (waiting[0] in asked or index.records_with(waiting[0]) or not index.takes(waiting[0])):
            waiting.popleft()
        return waiting[0] if waiting else None

    def note(self, *, is_missed: bool, patience: int) -> None:
        """One was asked; a source that finds none of `patience` in a row does not search the words of everyday language."""
        self._misses = self._misses + 1 if is_missed else 0
        if self._misses >= patience:
            self._waiting.clear()
