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

from upwell.choose.calibration import Calibration
from upwell.choose.word_index import CLASSES, MAX_MISSING_PER_HELD, SHRINK, Floats, WordIndex
from upwell.native import compiled
from upwell.page.tokens import query_words

__all__ = ["FORMS", "Operator", "WordPair", "WordPairs", "is_understood", "write_pair"]


#
# and      all words must match        a b · a AND b · +a +b
# not      the second word must not    a -b · a NOT b
# phrase   the words in this order     "a b"

Operator = Literal["and", "not", "phrase"]
FORMS: dict[Operator, tuple[str, ...]] = {
    "and": ("{a} {b}", "{a} AND {b}", "+{a} +{b}"),
    "not": ("{a} -{b}", "{a} NOT {b}"),
    "phrase": ('"{a} {b}"',),
}


# minimum share of matches whose text satisfies the query, because some sources search more text than they show; not
# swept: 20 Newsgroups and the demo site show everything
MIN_SHOWING_SHARE = 0.8


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
        shown = [a in found and b in found for found in words]
    elif operator == "not":
        shown = [a in found and b not in found for found in words]
    else:
        shown = [(a, b) in pairwise(found) for found in words]
    return sum(shown) >= MIN_SHOWING_SHARE * len(shown)


Counts = NDArray[np.int64]
MAX_SHARE = 0.9  # a word in a larger share of the first word's records is a label and narrows nothing; not swept
SIZES = 6  # classes by co-occurrence count: 1, 2, 4 … 32 and more records
MAX_TRIALS = 5  # pairs tried before a way of writing counts as unsupported
RECOUNT_SHARE = 0.1  # growth of a query's records after which its co-occurring words are counted again
NONE_ASKED = np.zeros(0, dtype=bool)
MAX_BESIDE = 128  # words beside a query that are kept for each way of writing, the best ones


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
class _Beside:
    """The words beside a query in the records that were held: their numbers, and in how many of `held` records each stands."""

    held: int
    words: Counts
    both: Counts
    kinds: Counts  # by which predictions are calibrated
    is_asked: dict[Operator, NDArray[np.bool_]]  # whether the query was asked with a word, as far as it came up
    is_all: bool  # else the best of them


@dataclass
class WordPairs:
    """The capped queries and the best narrower query of each; supported operators are learned by trying."""

    word_index: WordIndex
    _matches: dict[str, float] = field(default_factory=dict)
    _words: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _heap: list[tuple[float, str]] = field(default_factory=list)
    _asked: set[tuple[Operator, frozenset[str], str]] = field(default_factory=set)  # a b is b a; a -b is not b -a
    # for each query, the numbers of the words beside which it was asked, as far as they came up
    _asked_words: dict[str, dict[Operator, set[int]]] = field(default_factory=dict)
    _forms: dict[Operator, list[str]] = field(
        default_factory=lambda: {"and": list(FORMS["and"]), "not": list(FORMS["not"])}
    )
    # By the class of the second word, and in how many records it stands beside the first.
    _calibration: Calibration = field(default_factory=lambda: Calibration(CLASSES * SIZES))
    _beside: dict[str, _Beside] = field(default_factory=dict)
    _sure: set[Operator] = field(default_factory=set)
    _failed: dict[Operator, int] = field(default_factory=dict)

    @property
    def understood(self) -> dict[str, str]:
        """Return how each supported operator is written."""
        return {operator: self._forms[operator][0] for operator in sorted(self._sure)}

    def add_cut_off(self, query: str, matches: float, words: tuple[str, ...] = ()) -> None:
        """Add a word, or a query of several `words`, with more matches than were returned."""
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
        if pair.operator in self._sure:
            return
        alone = self._matches.get(pair.a, matches + 1)
        if (
            texts
            and matches < alone
            and is_understood(pair.operator, self._words[pair.a][0], pair.b, texts, len(texts))
        ):
            self._sure.add(pair.operator)
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
        held, beside = self.word_index.count_with(*self._words[a]), self._beside.get(a)
        if not held:
            return None
        if beside is None or held >= (1 + RECOUNT_SHARE) * beside.held:
            beside = self._count(a)
        best = self._best_of(a, held, beside)
        if best is None and not beside.is_all and held > beside.held:
            best = self._best_of(a, held, self._count(a))
        return best

    def _count(self, a: str) -> _Beside:
        """Count the words that co-occur with a query, and keep the best."""
        held, words, both = self.word_index.cooccurring_words(*self._words[a])
        kinds = self.word_index.classes[words].astype(np.int64) * SIZES + _sizes(both)
        asked = {operator: np.isin(words, list(numbers)) for operator, numbers in self._asked_words.get(a, {}).items()}
        beside = _Beside(held, words, both, kinds, asked, is_all=True)
        if len(words) > 2 * MAX_BESIDE:
            kept = [np.argsort(-worth, kind="stable")[:MAX_BESIDE] for _, _, worth, _ in self._worths(a, held, beside)]
            some = np.unique(np.concatenate(kept)) if kept else np.zeros(0, dtype=np.int64)
            asked = {operator: is_asked[some] for operator, is_asked in asked.items()}
            beside = _Beside(held, words[some], both[some], kinds[some], asked, is_all=False)
        self._beside[a] = beside
        return beside

    def _worths(self, a: str, held: int, beside: _Beside) -> Iterator[tuple[Operator, Floats, Floats, Floats]]:
        """Yield for each operator the matches held, the expected new records per request, and the pages of each pair."""
        odds = max(0.0, self._matches[a] / held - 1)
        if compiled is None:
            weighed = self.plain_weigh(held, odds, beside)
        else:
            index, calibration = self.word_index, self._calibration.all_shares()
            asked = beside.is_asked.get("and", NONE_ASKED), beside.is_asked.get("not", NONE_ASKED)
            counts = (*index.counts_for_pairs(), calibration, asked)
            numbers = (
                held, beside.held, odds, index.usual_once, SHRINK, MAX_MISSING_PER_HELD, MAX_SHARE, index.result_cap, index.top, index.page_size,
            )  # fmt: skip
            weighed = np.frombuffer(compiled.weigh_pairs(beside.words, beside.both, beside.kinds, *counts, numbers))
            weighed = weighed.reshape(6, -1).copy()
        if self._forms["and"]:
            yield "and", *weighed[:3]
        if self._forms["not"] and len(self._words[a]) == 1:
            yield "not", *weighed[3:]

    def plain_weigh(self, held: int, odds: float, beside: _Beside) -> Floats:
        """Compute in Python what `weigh_pairs` of the native module does: matches held, worth and pages, for both operators."""
        cap, page, words = self.word_index.result_cap, self.word_index.page_size, beside.words
        both: Floats = np.asarray(beside.both * (held / max(1, beside.held)), dtype=float)
        missing_per_held = self.word_index.missing_per_held(odds, words)
        calibration = self._calibration.shares(beside.kinds)
        left_out = (beside.both > MAX_SHARE * beside.held) | self.word_index.is_barren(words)
        weighed: list[Floats] = []
        both_ways: tuple[tuple[Operator, Floats], ...] = (("and", both), ("not", np.asarray(held - both)))
        for operator, inside in both_ways:
            new = inside * (missing_per_held if operator == "and" else odds)
            matches = inside + new
            if cap:
                new = np.where(matches > cap, new * self.word_index.top * cap / np.maximum(matches, 1e-9), new)
                matches = np.minimum(matches, cap)
            pages = np.maximum(1.0, np.ceil(matches / page)) if page else np.ones(len(matches))
            worth = calibration * new / pages
            worth[left_out | (inside < 1)] = 0.0
            if operator == "not" and cap:
                worth[inside + new > cap] = 0.0  # excluding a word does not change which records come first
            if operator in beside.is_asked:
                worth[beside.is_asked[operator]] = 0.0
            weighed += [inside, worth, pages]
        return np.array(weighed)

    def _best_of(self, a: str, held: int, beside: _Beside) -> WordPair | None:
        best: WordPair | None = None
        if not len(beside.words):
            return None
        for operator, inside, worth, pages in self._worths(a, held, beside):
            at = int(np.argmax(worth))
            while (
                worth[at] > 0 and self._of(a, b := self.word_index.word(int(beside.words[at])), operator) in self._asked
            ):
                self._asked_words.setdefault(a, {}).setdefault(operator, set()).add(int(beside.words[at]))
                beside.is_asked.setdefault(operator, np.zeros(len(worth), dtype=bool))[at] = True
                worth[at] = 0.0
                at = int(np.argmax(worth))
            if worth[at] > (best.expected if best else 0.0):
                form, b = self._forms[operator][0], self.word_index.word(int(beside.words[at]))
                shown = (*self._words[a], b) if operator == "and" else ()
                kind = int(beside.kinds[at])
                best = WordPair(
                    a, b, operator, write_pair(form, a, b), shown, float(inside[at]), float(worth[at]),
                    float(pages[at]), kind, self._calibration.share(kind),
                )  # fmt: skip
        return best


def _sizes(counts: Counts) -> NDArray[np.int64]:
    return np.minimum(SIZES - 1, np.log2(np.maximum(1, counts))).astype(np.int64)
