"""Prefix queries such as `inter*`, which reach records that share no whole word with those held.

Short texts in highly inflected languages (Arabic, Greek, Finnish) share few whole words, but many prefixes.
"""

from array import array

import numpy as np

from upwell.choose.expected_yield import ExpectedYield
from upwell.choose.word_candidates import WordYield
from upwell.lexicon.scripts import is_unspaced

__all__ = ["PrefixQueries"]

STAR = "*"  # wildcard of most search engines
MIN_LETTERS = 2  # of a prefix: search engines reject single letters
MAX_LETTERS = 4
MAX_TRIALS = 2  # prefix queries without a match after which the source counts as not supporting them
MAX_KEPT = 1000  # prefixes kept until the next count, the most frequent
RECOUNT_FACTOR = 1.3  # growth of the records held after which prefixes are counted again


class PrefixQueries:
    """The prefixes of the words of the records held, the most frequent first.

    The first prefix asked is not itself a word, so that its answer shows whether prefix queries are supported.
    """

    def __init__(self, words: WordYield) -> None:
        self.words = words
        self._numbers: dict[str, int] = {}  # of the prefixes of all words seen
        self._length = array("b")  # letters of each prefix
        self._parent = array("i")  # number of the prefix one letter shorter
        self._looked_at = 0  # words numbered so far
        self._word, self._prefix = array("i"), array("i")  # one entry per word and prefix: their numbers
        self._shares: dict[str, float] = {}  # share of the records held with a word that has the prefix; largest first
        self._counted_at = 0  # records held at the last count
        self._asked: set[str] = set()
        self._tried = self._matched = 0

    def propose(self) -> tuple[str, ExpectedYield] | None:
        """Return the prefix that most records should contain, and its expected yield."""
        words, held = self.words, max(1, self.words.held)
        if not self._matched and self._tried >= MAX_TRIALS:
            return None
        is_used_up = len(self._shares) == MAX_KEPT and self._asked.issuperset(self._shares)
        if held >= RECOUNT_FACTOR * self._counted_at or is_used_up:
            self._shares, self._counted_at = self._count(), held
        for prefix, share in self._shares.items():
            if prefix in self._asked or (not self._matched and words.records_with(prefix)):
                continue
            size = max(words.size, held)
            new, matches = share * (size - held), share * size
            if words.result_cap and matches > words.result_cap:
                new, matches = new * words.result_cap / matches, float(words.result_cap)
            pages = max(1.0, np.ceil(matches / words.page_size)) if words.page_size else 1.0
            return prefix + STAR, ExpectedYield(new, float(pages), (self._matched + 1) / (self._tried + 2))
        return None

    def observe(self, query: str, matches: int, new: int) -> None:
        """Count whether prefix queries match."""
        if query.endswith(STAR) and query[:-1] in self._shares:
            self._asked.add(query[:-1])
            self._tried += 1
            self._matched += bool(matches)

    def hold(self, text: str) -> None:
        """Do nothing: the word index counts the words."""

    def _count(self) -> dict[str, float]:
        """Return prefixes with the share of the records held that contain one, assuming that words are independent.

        Longer prefixes are included only below those that should have more matches than the result cap.
        """
        words = self.words
        self._look_at_new_words()
        # logarithm of the share of the records without a word, then without any word with the prefix
        without_word = np.log1p(-np.minimum(words.inside / max(1, words.held), 0.99))
        without = np.bincount(self._prefix, without_word[np.frombuffer(self._word, np.int32)], len(self._numbers))
        shares, lengths = -np.expm1(without), np.frombuffer(self._length, np.int8)
        reach = words.result_cap / max(words.size, words.held, 1) if words.result_cap else 1.0
        is_kept = (lengths == self._shortest) | (shares[np.frombuffer(self._parent, np.int32)] > reach)
        kept = np.flatnonzero(is_kept & (shares > 0) & (lengths >= self._shortest))
        if len(kept) > MAX_KEPT + len(self._asked):  # the largest, including ties
            least = np.partition(shares[kept], -MAX_KEPT - len(self._asked))[-MAX_KEPT - len(self._asked)]
            kept = kept[shares[kept] >= least]
        texts = list(self._numbers)
        largest = sorted((-share, texts[at]) for at, share in zip(kept.tolist(), shares[kept].tolist(), strict=True))
        unasked = [(prefix, -share) for share, prefix in largest if prefix not in self._asked]
        return dict(unasked[:MAX_KEPT])

    def _look_at_new_words(self) -> None:
        """Number the prefixes of the words added since the last call."""
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
                    self._prefix.append(at)
                    shorter = at
            self._looked_at = number + 1

    @property
    def _shortest(self) -> int:
        return max(MIN_LETTERS, self.words.min_chars)
