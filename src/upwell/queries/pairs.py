"""Queries of two and more words, for words with more matches than the source gives: narrower queries bring what it holds back.

    a b     the matches of a that have b too; where these are too many again, a b c
    a -b    the matches of a that do not have b

The number of matches of a narrower query is predicted from the records held that have both words. Which way of writing it the
source understands is learned by trying (`grammar`); Yuan's last piece of future work.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from upwell.page.compiled import compiled
from upwell.queries.calibration import Calibration
from upwell.queries.grammar import FORMS, Operator, judge, write
from upwell.queries.word_index import CLASSES, MAX_MISSING_PER_HELD, SHRINK, Floats, WordIndex

__all__ = ["Pair", "Pairs"]

Counts = NDArray[np.int64]
MAX_SHARE = 0.9  # a word in a larger share of the records of the first word is a label and narrows nothing; not swept
SIZES = 6  # 1, 2, 4 … 32 and more records
MAX_TRIALS = 5  # pairs that a way of writing gets before it counts as not understood
RECOUNT_SHARE = 0.1  # more records of a query, from which on the words beside it are counted again
NONE_ASKED = np.zeros(0, dtype=bool)
MAX_BESIDE = 128  # words beside a query that are kept for each way of writing, the best ones


@dataclass(frozen=True, slots=True)
class Pair:
    """A query with one more word, and how many new records a request for it should bring."""

    a: str  # the query that it narrows
    b: str
    operator: Operator
    query: str
    words: tuple[str, ...]  # that its matches show
    inside: float  # its matches that are held
    expected: float
    pages: float
    kind: int  # the kind by which predictions are calibrated
    calibration: float  # the share by which `expected` was calibrated


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
class Pairs:
    """The queries that were cut off, and the best narrower one for each; the operators that the source understands are learned by trying."""

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
        """How each operator is written, of those that the source has shown to understand."""
        return {operator: self._forms[operator][0] for operator in sorted(self._sure)}

    def add_cut_off(self, query: str, matches: float, words: tuple[str, ...] = ()) -> None:
        """A word, or a query of several `words`, has more matches than came."""
        words = words or (query,)
        if (" " in query and len(words) == 1) or query in self._matches or self._same(words, matches):
            return
        self._matches[query], self._words[query] = matches, words
        self._push(query)

    def _same(self, words: tuple[str, ...], matches: float) -> bool:
        """Whether another query that was cut off has the same records: a country and its code."""
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

    def next(self) -> Pair | None:
        """The narrower query that should bring the most new records for a request; the best of the heap is computed again."""
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

    def asked(self, pair: Pair) -> None:
        """A pair is asked once."""
        self._asked.add(self._of(pair.a, pair.b, pair.operator))

    def _of(self, a: str, b: str, operator: Operator) -> tuple[Operator, frozenset[str], str]:
        words = self._words[a]
        return (operator, frozenset((*words, b)), "") if operator == "and" else (operator, frozenset(words), b)

    def add_first_page(self, pair: Pair, texts: list[str], matches: int) -> None:
        """Takes in the first page of a pair: its matches show whether the source understood it."""
        if pair.operator in self._sure:
            return
        alone = self._matches.get(pair.a, matches + 1)
        if texts and matches < alone and judge(pair.operator, self._words[pair.a][0], pair.b, texts, len(texts)):
            self._sure.add(pair.operator)
            return
        self._failed[pair.operator] = self._failed.get(pair.operator, 0) + 1
        if self._failed[pair.operator] >= MAX_TRIALS:
            self._failed[pair.operator] = 0
            self._forms[pair.operator].pop(0)

    def observe_page(self, pair: Pair, new: int) -> None:
        """Takes in how many new records a page of a pair brought, for pairs of its kind."""
        self._calibration.add_page(pair.kind, pair.expected / pair.calibration, new)

    def _push(self, word: str) -> None:
        if (best := self._best(word)) is not None:
            heapq.heappush(self._heap, (-best.expected, word))

    def _best(self, a: str) -> Pair | None:
        """The best narrower query; the words beside it are counted again when it has more records, or those that were kept are used up."""
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
        """Counts the words beside a query, and keeps those that promise most."""
        held, words, both = self.word_index.words_beside(*self._words[a])
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
        """For each way of writing: the matches of each pair that are held, the new records that a request should bring, and its pages."""
        odds = max(0.0, self._matches[a] / held - 1)
        if compiled is None:
            weighed = self.plain_weigh(held, odds, beside)
        else:
            index, calibration = self.word_index, self._calibration.all_shares()
            asked = beside.is_asked.get("and", NONE_ASKED), beside.is_asked.get("not", NONE_ASKED)
            counts = (*index.counts_for_pairs(), calibration, asked)
            numbers = (
                held, beside.held, odds, index.usual_once, SHRINK, MAX_MISSING_PER_HELD, MAX_SHARE, index.limit, index.top, index.page_size,
            )  # fmt: skip
            weighed = np.frombuffer(compiled.weigh_pairs(beside.words, beside.both, beside.kinds, *counts, numbers))
            weighed = weighed.reshape(6, -1).copy()
        if self._forms["and"]:
            yield "and", *weighed[:3]
        if self._forms["not"] and len(self._words[a]) == 1:
            yield "not", *weighed[3:]

    def plain_weigh(self, held: int, odds: float, beside: _Beside) -> Floats:
        """What the compiled module weighs, without it: matches held, worth and pages of each pair, for both ways of writing."""
        limit, page, words = self.word_index.limit, self.word_index.page_size, beside.words
        both: Floats = np.asarray(beside.both * (held / max(1, beside.held)), dtype=float)
        missing_per_held = self.word_index.missing_per_held(odds, words)
        calibration = self._calibration.shares(beside.kinds)
        left_out = (beside.both > MAX_SHARE * beside.held) | self.word_index.is_barren(words)
        weighed: list[Floats] = []
        both_ways: tuple[tuple[Operator, Floats], ...] = (("and", both), ("not", np.asarray(held - both)))
        for operator, inside in both_ways:
            new = inside * (missing_per_held if operator == "and" else odds)
            matches = inside + new
            if limit:
                new = np.where(matches > limit, new * self.word_index.top * limit / np.maximum(matches, 1e-9), new)
                matches = np.minimum(matches, limit)
            pages = np.maximum(1.0, np.ceil(matches / page)) if page else np.ones(len(matches))
            worth = calibration * new / pages
            worth[left_out | (inside < 1)] = 0.0
            if operator == "not" and limit:
                worth[inside + new > limit] = 0.0  # what is left out is not what comes first
            if operator in beside.is_asked:
                worth[beside.is_asked[operator]] = 0.0
            weighed += [inside, worth, pages]
        return np.array(weighed)

    def _best_of(self, a: str, held: int, beside: _Beside) -> Pair | None:
        best: Pair | None = None
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
                best = Pair(
                    a, b, operator, write(form, a, b), shown, float(inside[at]), float(worth[at]),
                    float(pages[at]), kind, self._calibration.share(kind),
                )  # fmt: skip
        return best


def _sizes(counts: Counts) -> NDArray[np.int64]:
    return np.minimum(SIZES - 1, np.log2(np.maximum(1, counts))).astype(np.int64)
