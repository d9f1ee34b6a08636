"""Queries of two and more words, for queries with more matches than the result cap.

a b     the matches of a that contain b; if these exceed the cap, a b c
a -b    the matches of a that do not contain b

The number of matches is predicted from the records held that contain both words. Which operators the source supports, and how
they are written, is learned by trying (Yuan's last piece of future work):

and      all words must match        a b · a AND b · +a +b
not      the second word must not    a -b · a NOT b
phrase   the words in this order     "a b"
"""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from upwell.choose.expected_yield import Calibration
from upwell.choose.word_index import CLASSES, MAX_MISSING_PER_HELD, SHRINK, Floats, WordIndex
from upwell.native import compiled
from upwell.page.tokens import query_words

__all__ = ["FORMS", "Operator", "WordPair", "WordPairs", "is_understood", "write_pair"]

Operator = Literal["and", "not", "phrase"]
FORMS: dict[Operator, tuple[str, ...]] = {
    "and": ("{a} {b}", "{a} AND {b}", "+{a} +{b}"),
    "not": ("{a} -{b}", "{a} NOT {b}"),
    "phrase": ('"{a} {b}"',),
}
# minimum share of matches whose text satisfies the query, because some sources search more text than they show; not
# swept: 20 Newsgroups and the demo site show everything
MIN_SHOWING_SHARE = 0.8
MAX_SHARE = 0.9  # a word in a larger share of the first word's records is a label and narrows nothing; not swept
SIZES = 6  # classes by co-occurrence count: 1, 2, 4 … 32 and more records
MAX_TRIALS = 5  # pairs tried before a way of writing counts as unsupported
RECOUNT_SHARE = 0.1  # growth of a query's records after which its co-occurring words are counted again
MAX_COOCCURRING = 128  # words that co-occur with a query kept for each operator, those with the most expected records
Counts = NDArray[np.int64]
NONE_ASKED = np.zeros(0, dtype=bool)


def write_pair(form: str, a: str, b: str) -> str:
    """Write a query of two words.

    >>> write_pair(FORMS["not"][0], "red", "car")
    'red -car'
    """
    return form.format(a=a, b=b)


def is_understood(operator: Operator, a: str, b: str, texts: Sequence[str], alone: int) -> bool:
    """Return True if the answer to a trial shows that the operator is supported; `alone` is the number of matches of the first word.

    An empty answer proves nothing, and an answer that is no smaller than that to the first word alone was not narrowed.
    """
    if not texts or len(texts) > alone:
        return False
    words = [query_words(text) for text in texts]
    if operator == "and":
        shown = [a in text and b in text for text in words]
    elif operator == "not":
        shown = [a in text and b not in text for text in words]
    else:
        shown = [(a, b) in pairwise(text) for text in words]
    return sum(shown) >= MIN_SHOWING_SHARE * len(shown)


@dataclass(frozen=True, slots=True)
class WordPair:
    """A query with one more word, and the new records expected per request."""

    a: str  # the query that it narrows
    b: str
    operator: Operator
    query: str
    words: tuple[str, ...]  # contained in its matches
    inside: float  # its matches that are held
    expected: float
    pages: float
    kind: int  # the kind for calibration
    calibration: float  # the calibration included in `expected`


@dataclass(frozen=True, slots=True)
class _Cooccurrence:
    """The words that co-occur with a query in the records held."""

    held: int  # records with the query at the time of counting
    words: Counts  # numbers of the words
    both: Counts  # records with the query and each word
    kinds: Counts  # kinds for calibration
    is_asked: dict[Operator, NDArray[np.bool_]]  # the query was asked with the word, as far as `_best_of` noticed
    is_all: bool  # False: only the best words


@dataclass
class WordPairs:
    """The capped queries and the best narrower query of each; supported operators are learned by trying."""

    word_index: WordIndex
    _matches: dict[str, float] = field(default_factory=dict)
    _words: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _heap: list[tuple[float, str]] = field(default_factory=list)
    _asked: set[tuple[Operator, frozenset[str], str]] = field(default_factory=set)  # a b is b a; a -b is not b -a
    # for each query, the numbers of the words with which it was asked, as far as `_best_of` noticed
    _asked_words: dict[str, dict[Operator, set[int]]] = field(default_factory=dict)
    _forms: dict[Operator, list[str]] = field(
        default_factory=lambda: {"and": list(FORMS["and"]), "not": list(FORMS["not"])}
    )
    # by the class of the second word and the number of records that contain both
    _calibration: Calibration = field(default_factory=lambda: Calibration(CLASSES * SIZES))
    _cooccurrences: dict[str, _Cooccurrence] = field(default_factory=dict)
    _supported: set[Operator] = field(default_factory=set)
    _failed: dict[Operator, int] = field(default_factory=dict)

    @property
    def understood(self) -> dict[str, str]:
        """Return how each supported operator is written."""
        return {operator: self._forms[operator][0] for operator in sorted(self._supported)}

    def add_capped(self, query: str, matches: float, words: tuple[str, ...] = ()) -> None:
        """Add a word, or a query of several `words`, with more matches than the source returns."""
        words = words or (query,)
        if (" " in query and len(words) == 1) or query in self._matches or self._same(words, matches):
            return
        self._matches[query], self._words[query] = matches, words
        self._push(query)

    def _same(self, words: tuple[str, ...], matches: float) -> bool:
        """Return True if another capped query has the same records, such as a country and its code."""
        held = self.word_index.count_with(*words)
        if not held:
            return False
        alike = (other for other, known in self._matches.items() if abs(known - matches) <= (1 - MAX_SHARE) * matches)
        return any(
            all(
                word in words or self.word_index.count_with(*words, word) > MAX_SHARE * held
                for word in self._words[other]
            )
            for other in alike
        )

    def next(self) -> WordPair | None:
        """Return the narrower query with the most expected new records per request; the best of the heap is recomputed."""
        while self._heap:
            _, word = heapq.heappop(self._heap)
            best = self._best(word)
            if best is None:
                continue
            if not self._heap or best.expected >= -self._heap[0][0]:
                heapq.heappush(self._heap, (-best.expected, word))
                return best
            heapq.heappush(self._heap, (-best.expected, word))
        return None

    def asked(self, pair: WordPair) -> None:
        """Note that a pair was asked."""
        self._asked.add(self._of(pair.a, pair.b, pair.operator))

    def _of(self, a: str, b: str, operator: Operator) -> tuple[Operator, frozenset[str], str]:
        words = self._words[a]
        return (operator, frozenset((*words, b)), "") if operator == "and" else (operator, frozenset(words), b)

    def add_first_page(self, pair: WordPair, texts: list[str], matches: int) -> None:
        """Learn from the first page of a pair whether the source supports the operator."""
        if pair.operator in self._supported:
            return
        alone = self._matches.get(pair.a, matches + 1)
        if (
            texts
            and matches < alone
            and is_understood(pair.operator, self._words[pair.a][0], pair.b, texts, len(texts))
        ):
            self._supported.add(pair.operator)
            return
        self._failed[pair.operator] = self._failed.get(pair.operator, 0) + 1
        if self._failed[pair.operator] >= MAX_TRIALS:
            self._failed[pair.operator] = 0
            self._forms[pair.operator].pop(0)

    def observe_page(self, pair: WordPair, new: int) -> None:
        """Calibrate pairs of this kind with the new records of a page."""
        self._calibration.add_page(pair.kind, pair.expected / pair.calibration, new)

    def _push(self, word: str) -> None:
        if (best := self._best(word)) is not None:
            heapq.heappush(self._heap, (-best.expected, word))

    def _best(self, a: str) -> WordPair | None:
        """Return the best narrower query; co-occurring words are recounted when the query has more records or none are left."""
        held, cooccurring = self.word_index.count_with(*self._words[a]), self._cooccurrences.get(a)
        if not held:
            return None
        if cooccurring is None or held >= (1 + RECOUNT_SHARE) * cooccurring.held:
            cooccurring = self._count(a)
        best = self._best_of(a, held, cooccurring)
        if best is None and not cooccurring.is_all and held > cooccurring.held:
            best = self._best_of(a, held, self._count(a))
        return best

    def _count(self, a: str) -> _Cooccurrence:
        """Count the words that co-occur with a query, and keep the best."""
        held, words, both = self.word_index.cooccurring_words(*self._words[a])
        kinds = self.word_index.classes[words].astype(np.int64) * SIZES + _sizes(both)
        asked = {operator: np.isin(words, list(numbers)) for operator, numbers in self._asked_words.get(a, {}).items()}
        cooccurring = _Cooccurrence(held, words, both, kinds, asked, is_all=True)
        if len(words) > 2 * MAX_COOCCURRING:
            kept = [
                np.argsort(-worth, kind="stable")[:MAX_COOCCURRING]
                for _, _, worth, _ in self._worths(a, held, cooccurring)
            ]
            some = np.unique(np.concatenate(kept)) if kept else np.zeros(0, dtype=np.int64)
            asked = {operator: is_asked[some] for operator, is_asked in asked.items()}
            cooccurring = _Cooccurrence(held, words[some], both[some], kinds[some], asked, is_all=False)
        self._cooccurrences[a] = cooccurring
        return cooccurring

    def _worths(
        self, a: str, held: int, cooccurring: _Cooccurrence
    ) -> Iterator[tuple[Operator, Floats, Floats, Floats]]:
        """Yield for each operator the matches held, the expected new records per request, and the pages of each pair."""
        odds = max(0.0, self._matches[a] / held - 1)
        if compiled is None:
            weighed = self.plain_weigh(held, odds, cooccurring)
        else:
            index, calibration = self.word_index, self._calibration.all_shares()
            asked = cooccurring.is_asked.get("and", NONE_ASKED), cooccurring.is_asked.get("not", NONE_ASKED)
            counts = (*index.counts_for_pairs(), calibration, asked)
            numbers = (
                held, cooccurring.held, odds, index.share_seen_once, SHRINK, MAX_MISSING_PER_HELD, MAX_SHARE,
                index.result_cap, index.capped_share, index.page_size,
            )  # fmt: skip
            weighed = np.frombuffer(
                compiled.weigh_pairs(cooccurring.words, cooccurring.both, cooccurring.kinds, *counts, numbers)
            )
            weighed = weighed.reshape(6, -1).copy()
        if self._forms["and"]:
            yield "and", *weighed[:3]
        if self._forms["not"] and len(self._words[a]) == 1:
            yield "not", *weighed[3:]

    def plain_weigh(self, held: int, odds: float, cooccurring: _Cooccurrence) -> Floats:
        """Compute in Python what `weigh_pairs` of the native module does: matches held, worth and pages, for both operators."""
        cap, page, words = self.word_index.result_cap, self.word_index.page_size, cooccurring.words
        both: Floats = np.asarray(cooccurring.both * (held / max(1, cooccurring.held)), dtype=float)
        missing_per_held = self.word_index.missing_per_held(odds, words)
        calibration = self._calibration.shares(cooccurring.kinds)
        left_out = (cooccurring.both > MAX_SHARE * cooccurring.held) | self.word_index.is_unmatched(words)
        weighed: list[Floats] = []
        both_ways: tuple[tuple[Operator, Floats], ...] = (("and", both), ("not", np.asarray(held - both)))
        for operator, inside in both_ways:
            new = inside * (missing_per_held if operator == "and" else odds)
            matches = inside + new
            if cap:
                new = np.where(matches > cap, new * self.word_index.capped_share * cap / np.maximum(matches, 1e-9), new)
                matches = np.minimum(matches, cap)
            pages = np.maximum(1.0, np.ceil(matches / page)) if page else np.ones(len(matches))
            worth = calibration * new / pages
            worth[left_out | (inside < 1)] = 0.0
            if operator == "not" and cap:
                worth[inside + new > cap] = 0.0  # excluding a word does not change which records come first
            if operator in cooccurring.is_asked:
                worth[cooccurring.is_asked[operator]] = 0.0
            weighed += [inside, worth, pages]
        return np.array(weighed)

    def _best_of(self, a: str, held: int, cooccurring: _Cooccurrence) -> WordPair | None:
        best: WordPair | None = None
        if not len(cooccurring.words):
            return None
        for operator, inside, worth, pages in self._worths(a, held, cooccurring):
            at = int(np.argmax(worth))
            while (
                worth[at] > 0
                and self._of(a, b := self.word_index.word(int(cooccurring.words[at])), operator) in self._asked
            ):
                self._asked_words.setdefault(a, {}).setdefault(operator, set()).add(int(cooccurring.words[at]))
                cooccurring.is_asked.setdefault(operator, np.zeros(len(worth), dtype=bool))[at] = True
                worth[at] = 0.0
                at = int(np.argmax(worth))
            if worth[at] > (best.expected if best else 0.0):
                form, b = self._forms[operator][0], self.word_index.word(int(cooccurring.words[at]))
                shown = (*self._words[a], b) if operator == "and" else ()
                kind = int(cooccurring.kinds[at])
                best = WordPair(
                    a, b, operator, write_pair(form, a, b), shown, float(inside[at]), float(worth[at]),
                    float(pages[at]), kind, self._calibration.share(kind),
                )  # fmt: skip
        return best


def _sizes(counts: Counts) -> NDArray[np.int64]:
    return np.minimum(SIZES - 1, np.log2(np.maximum(1, counts))).astype(np.int64)
