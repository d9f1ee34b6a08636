"""From how many letters on a source looks for words: learned from short words that it refuses, or does not find though records have them."""

from collections import Counter
from collections.abc import Sequence

from upwell.page.terms import stop_words_of
from upwell.queries.word_index import WordIndex

__all__ = ["ShortWords"]

MIN_MISSES = 3  # words of some length or shorter, none of them found, before no more of them are asked; not swept
MIN_OF_LENGTH = 2  # of them, that are just so long
MIN_FOUND = 3  # longer words that were found
MAX_SHARE = (
    0.2  # of the records held: a word that more of them have may be left out for that, as stop words are; not swept
)


class ShortWords:
    """The words that were asked, by their letters."""

    def __init__(self, index: WordIndex) -> None:
        self.index = index
        self._found: Counter[int] = Counter()
        self._missed: Counter[int] = Counter()

    def note(self, words: Sequence[str], *, is_found: bool, is_refused: bool) -> None:
        """A query was asked; where it shows that the source wants longer words, the index leaves out those that are shorter.

        `is_refused`: the answer is like neither a list of matches nor what nonsense brings.
        """
        if len(words) != 1:
            return
        (word,) = words
        if is_found:
            self._found[len(word)] += 1
        elif is_refused or self._should_be_found(word):
            self._missed[len(word)] += 1
        min_chars = self._min_chars()
        if min_chars > self.index.min_chars:
            self.index.leave_out_shorter(min_chars)

    def _should_be_found(self, word: str) -> bool:
        """Whether records have a word, and it is not one of those that sources leave out because too many have them."""
        having = self.index.records_with(word)
        return 0 < having <= MAX_SHARE * self.index.held and word not in stop_words_of(self.index.language)

    def _min_chars(self) -> int:
        """The letters that a word must have: one more than the longest of those that were missed, where none so short was found."""
        shortest = min(self._found, default=0)
        lengths = [length for length, times in self._missed.items() if length < shortest and times >= MIN_OF_LENGTH]
        longest = max(lengths, default=0)
        misses = sum(times for length, times in self._missed.items() if length <= longest)
        return longest + 1 if misses >= MIN_MISSES and self._found.total() >= MIN_FOUND else 0
