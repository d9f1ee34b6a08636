"""Beginnings of words: where a source reads `inter*` as every word that begins so, a few letters bring what no whole word held brings.

Languages with many forms of a word (Arabic, Greek, Finnish) share few whole words between short texts, and many beginnings.
"""

from array import array

import numpy as np

from upwell.harvest.open_query import Belief
from upwell.page.terms import is_unspaced
from upwell.queries.policy import Promising

__all__ = ["Beginnings"]

STAR = "*"  # as most search engines write it
MIN_LETTERS = 2  # of a beginning: engines refuse a single letter
MAX_LETTERS = 4
MAX_TRIALS = 2  # that bring nothing, before the source is taken not to know the star
MAX_KEPT = 1000  # beginnings that are kept, the largest, until they are counted again
RECOUNT_FACTOR = 1.3  # records held for each one when beginnings were counted, from which on they are counted again


class Beginnings:
    """The beginnings of the words of the records held, those first that most records have.

    The first one asked is no word itself, so that an answer shows that the star is understood.
    """

    def __init__(self, words: Promising) -> None:
        self.words = words
        self._numbers: dict[str, int] = {}  # of the beginnings of all words that were looked at
        self._length = array("b")  # letters of each
        self._parent = array("i")  # the number of the one a letter shorter
        self._looked_at = 0  # words
        self._word, self._beginning = array("i"), array("i")  # numbers of a word and of one of its beginnings, for each
        self._shares: dict[str, float] = {}  # of the records held that have a word that begins so; the largest first
        self._counted_at = 0  # records held when they were counted
        self._asked: set[str] = set()
        self._tried = self._matched = 0

    def propose(self) -> tuple[str, Belief] | None:
        """The beginning that most records should have, and what its pages should bring."""
        words, held = self.words, max(1, self.words.held)
        if not self._matched and self._tried >= MAX_TRIALS:
            return None
        is_used_up = len(self._shares) == MAX_KEPT and self._asked.issuperset(self._shares)
        if held >= RECOUNT_FACTOR * self._counted_at or is_used_up:
            self._shares, self._counted_at = self._count(), held
        for beginning, share in self._shares.items():
            if beginning in self._asked or (not self._matched and words.records_with(beginning)):
                continue
            size = max(words.size, held)
            new, matches = share * (size - held), share * size
            if words.limit and matches > words.limit:
                new, matches = new * words.limit / matches, float(words.limit)
            pages = max(1.0, np.ceil(matches / words.page_size)) if words.page_size else 1.0
            return beginning + STAR, Belief(new, float(pages), (self._matched + 1) / (self._tried + 2))
        return None

    def observe(self, query: str, matches: int, new: int) -> None:
        """Counts whether the star is understood."""
        if query.endswith(STAR) and query[:-1] in self._shares:
            self._asked.add(query[:-1])
            self._tried += 1
            self._matched += bool(matches)

    def hold(self, text: str) -> None:
        """Nothing: the words of the records held are counted by the index."""

    def _count(self) -> dict[str, float]:
        """The beginnings, with the share of the records held that have one, as if words stood in records independently of each other.

        Longer ones only below those that more records should have than the source gives for one query.
        """
        words = self.words
        self._look_at_new_words()
        # logarithm of the share of the records without a word, then without any word that begins so
        without_word = np.log1p(-np.minimum(words.inside / max(1, words.held), 0.99))
        without = np.bincount(self._beginning, without_word[np.frombuffer(self._word, np.int32)], len(self._numbers))
        shares, lengths = -np.expm1(without), np.frombuffer(self._length, np.int8)
        reach = words.limit / max(words.size, words.held, 1) if words.limit else 1.0
        is_kept = (lengths == self._shortest) | (shares[np.frombuffer(self._parent, np.int32)] > reach)
        kept = np.flatnonzero(is_kept & (shares > 0) & (lengths >= self._shortest))
        if len(kept) > MAX_KEPT + len(self._asked):  # the largest, and all that are as large as the last of them
            least = np.partition(shares[kept], -MAX_KEPT - len(self._asked))[-MAX_KEPT - len(self._asked)]
            kept = kept[shares[kept] >= least]
        texts = list(self._numbers)
        largest = sorted((-share, texts[at]) for at, share in zip(kept.tolist(), shares[kept].tolist(), strict=True))
        unasked = [(beginning, -share) for share, beginning in largest if beginning not in self._asked]
        return dict(unasked[:MAX_KEPT])

    def _look_at_new_words(self) -> None:
        """Numbers the beginnings of the words that came since."""
        shortest, numbers, length_of, parent = self._shortest, self._numbers, self._length, self._parent
        for number, word in enumerate(self.words.words(self._looked_at), self._looked_at):
            if word.isalpha() and (word.isascii() or not is_unspaced(word)):
                shorter = 0
                for length in range(shortest, min(MAX_LETTERS, len(word) - 1) + 1):
                    at = numbers.setdefault(word[:length], len(numbers))
                    if at == len(length_of):
                        length_of.append(length)
                        parent.append(shorter)
                    self._word.append(number)
                    self._beginning.append(at)
                    shorter = at
            self._looked_at = number + 1

    @property
    def _shortest(self) -> int:
        return max(MIN_LETTERS, self.words.min_chars)
