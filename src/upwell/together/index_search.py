"""Searching an index that a site sends whole: the site would look into it in the page, here it is looked into at once.

field score   BM25 (Robertson and Zaragoza 2009 §3) of the query's words in one field; short fields, as titles, weigh more by their length
prefix        a word of the query of some letters finds longer words that begin with it, as such searches do while one types
"""

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from upwell.model import Record
from upwell.page.terms import tokens
from upwell.together.words import fold

__all__ = ["IndexSearch"]

K1, B = 1.2, 0.75  # of BM25, the usual values (Robertson and Zaragoza 2009 §3.1)
MIN_PREFIX_CHARS = 3  # of a word that finds longer ones; not swept
PREFIX_WEIGHT = 0.5  # of a longer word, beside the word itself; not swept


class IndexSearch:
    """The records of an index, by the words of their fields."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.records = records
        lengths: defaultdict[str, dict[int, int]] = defaultdict(dict)  # field → record → words
        self._postings: defaultdict[str, list[tuple[int, str, int]]] = defaultdict(list)  # word → record, field, times
        for number, record in enumerate(records):
            for name, text in record.fields.items():
                words = tokens(fold(text))
                lengths[name][number] = len(words)
                for word, times in Counter(words).items():
                    self._postings[word].append((number, name, times))
        self._words = sorted(self._postings)
        means = {name: sum(of_records.values()) / len(of_records) for name, of_records in lengths.items()}
        # how long each field is beside those of its name
        self._norms = {
            (number, name): 1 - B + B * length / max(1.0, means[name])
            for name, of_records in lengths.items()
            for number, length in of_records.items()
        }

    def find(self, query: str) -> list[Record]:
        """The records that have the most of the query's words, those with higher field scores first."""
        scores: defaultdict[int, float] = defaultdict(float)
        matched: Counter[int] = Counter()
        for word in dict.fromkeys(tokens(fold(query))):
            of_word = self._scores_of(word)
            matched.update(of_word.keys())
            for number, score in of_word.items():
                scores[number] += score
        best = max(matched.values(), default=0)
        found = [number for number, words in matched.items() if words == best]
        return [self.records[number] for number in sorted(found, key=lambda number: (-scores[number], number))]

    def _scores_of(self, word: str) -> dict[int, float]:
        """The field scores of the records that have a word, or one that begins with it."""
        scores: defaultdict[int, float] = defaultdict(float)
        for known in self._beginning_with(word):
            postings = self._postings[known]
            having = len({number for number, _, _ in postings})
            rarity = math.log(1 + (len(self.records) - having + 0.5) / (having + 0.5))
            weight = 1.0 if known == word else PREFIX_WEIGHT
            for number, name, times in postings:
                scores[number] += weight * rarity * times * (K1 + 1) / (times + K1 * self._norms[number, name])
        return scores

    def _beginning_with(self, word: str) -> Iterable[str]:
        if len(word) < MIN_PREFIX_CHARS:
            return [word] if word in self._postings else []
        first = bisect_left(self._words, word)
        return self._words[first : bisect_left(self._words, word + "\U0010ffff")]
