"""Estimate the records that are missing from queries drawn at random, with known inclusion probabilities.

pool      words of the records held that were not asked and should have few enough matches to be read completely
degree    number of pool words that a record shows: so many queries of the pool return it and show why
weight    1 ÷ (probability of drawing the query × degree of the record), for matches that show the query

A record that is missing but matches a word of the pool is drawn with a known probability, so the sum of the weights of the missing
records in the drawn answers is an unbiased estimate of their number (Horvitz–Thompson; the pool and the degrees are those of Bar-Yossef
and Gurevich, Random sampling from a search engine's index, 2008). Queries whose answers are capped or too long are left out. Not every
word that a record shows finds it: numbers and other columns may not be searched. The share that does is measured on the records held
(`found_share`). Records that share no word with the pool are not counted; `coverage` adds an estimate of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from upwell.arrays.key_set import KeySet
from upwell.choose.word_index import WordIndex
from upwell.page.tokens import query_words, stop_words_of
from upwell.types import Estimate, Record

__all__ = ["MAX_PRIOR", "SampledMatch", "SampledQuery", "SizeSample"]

MAX_TRIES = 50  # words drawn until one may be asked
# share of the records held now that must have been held when a query was drawn for it to count: words that were not asked early find less
MIN_HELD_SHARE = 0.8
MAX_PAGES = 2  # result pages of a drawn query that are read
MAX_SHARE = 0.5  # share of the matches that can be read that a word of the pool may have among the records held
MIN_QUERIES = 5  # complete drawn queries needed for an estimate; 7 held as often
PRIOR_QUERIES = 3  # that the size suggested by other answers counts as; benchmarks.ground --random: without, 83 % held
MAX_PRIOR = 3.0  # largest such size, in multiples of the records held
MEMORY = 0.99  # weight of earlier new records after each further one
PRIOR_RECORDS = 3.0  # records that share a word with the pool, assumed before any is seen
MIN_REACHED_SHARE = 0.1  # share of the missing records assumed to share a word with the pool at least
MIN_SHOWN_SHARE = 0.1  # share of the matches assumed to show the query at least
MIN_FOUND_SHARE = 0.1  # share of the shown words assumed to find their record at least
MAX_DEGREE = 8  # degrees from here on are counted together, to measure the share of the records that the pool reaches
NORMAL, RULE_OF_THREE = 1.96, 3.0  # of a 95 % interval, and of a count that was observed as 0


class SampledMatch(NamedTuple):
    """A match of a drawn query: its degree, and whether it was held when the sample began, shows the query, and showed it before."""

    key: str
    degree: int
    is_held: bool
    is_shown: bool
    was_shown: bool  # its text in an earlier answer contains the query, too


@dataclass
class SampledQuery:
    """A drawn query, the probability of drawing it, the records held then, and its matches, if the answer was read completely."""

    query: str
    probability: float
    held: int
    inside: int  # records held that show the query
    matches: list[SampledMatch] = field(default_factory=list)
    is_complete: bool = False


class SizeSample:
    """A sample of queries of one source, each drawn from the words of the records held at that time."""

    def __init__(self, words: WordIndex, seed: int = 0) -> None:
        self.words, self.seed = words, seed
        self.queries: list[SampledQuery] = []
        self._pool: NDArray[np.bool_] = np.zeros(0, dtype=bool)  # by the number of the word
        self._degrees = [0.0] * (MAX_DEGREE + 1)  # new records that other queries returned lately, by degree

    def next(self, page_size: int) -> SampledQuery | None:
        """Draw the next query; None if the pool is used up."""
        words = self.words
        inside, is_done = words.inside_of_unasked()
        most = max(1.0, MAX_SHARE * min(words.result_cap or math.inf, MAX_PAGES * max(1, page_size)))
        self._pool = (inside > 0) & (inside <= most) & ~is_done
        weights = np.where(self._pool, np.minimum(inside, max(1, page_size)), 0).cumsum()
        if not len(weights) or not weights[-1]:
            return None
        rng = np.random.default_rng([self.seed, len(self.queries), words.held])
        stops = stop_words_of(words.language)
        for place in rng.random(MAX_TRIES) * weights[-1]:
            at = int(weights.searchsorted(place, "right"))
            text = words.word(at)
            if text not in stops and words.accepts(text):
                probability = float(weights[at] - (weights[at - 1] if at else 0)) / float(weights[-1])
                self.queries.append(SampledQuery(text, probability, words.held, int(inside[at])))
                return self.queries[-1]
        return None

    def add(self, drawn: SampledQuery, records: Sequence[Record], held: KeySet) -> None:
        """Add a page of the answer to a drawn query, before its records are held."""
        known = {match.key for match in drawn.matches}
        for record in records:
            if record.key not in known:
                is_held, is_shown = record.key in held, drawn.query in query_words(record.text)
                was_shown = is_held and self.words.has_word(record.key, drawn.query)
                drawn.matches.append(SampledMatch(record.key, self.degree(record.text), is_held, is_shown, was_shown))

    def note_new(self, texts: Sequence[str]) -> None:
        """Note new records that other queries returned: the share of them that the pool reaches is that of all missing records."""
        for text in texts:
            self._degrees = [MEMORY * weight for weight in self._degrees]
            self._degrees[min(self.degree(text), MAX_DEGREE)] += 1

    def found_share(self, complete: Sequence[SampledQuery]) -> float:
        """Return the share of the words that records show which find them, from records held that show a drawn query."""
        found = [min(1.0, sum(match.was_shown for match in drawn.matches) / max(1, drawn.inside)) for drawn in complete]
        return max(MIN_FOUND_SHARE, (sum(found) + 1) / (len(found) + 1))

    def reached_share(self, found: float) -> float:
        """Return the share of the missing records that some word of the pool finds, if each of their words does with this chance."""
        reached = sum(weight * (1 - (1 - found) ** degree) for degree, weight in enumerate(self._degrees))
        return max(MIN_REACHED_SHARE, (reached + PRIOR_RECORDS) / (sum(self._degrees) + PRIOR_RECORDS))

    def degree(self, text: str) -> int:
        """Return the number of words of the pool that a text contains."""
        numbers = [n for n in self.words.numbers(list(dict.fromkeys(query_words(text)))) if 0 <= n < len(self._pool)]
        return int(self._pool[numbers].sum()) if numbers else 0

    def size(self, held: int, prior: float) -> Estimate | None:
        """Estimate the size of the source from the queries drawn since a good part of the records was held; None if they are too few.

        `prior` is the size that the latest other answers suggest. It counts as a few queries, because a small sample may miss the words of
        a part of the source.
        """
        complete = [drawn for drawn in self.queries if drawn.is_complete and drawn.held >= MIN_HELD_SHARE * held]
        if len(complete) < MIN_QUERIES:
            return None
        matches = [match for drawn in complete for match in drawn.matches]
        # excerpts differ from query to query, so that a text shows only a part of the words by which its record is found
        again = [match.was_shown for match in matches if match.is_held and match.is_shown]
        shown = max(MIN_SHOWN_SHARE, (sum(again) + 1) / (len(again) + 1))
        found = self.found_share(complete)
        reached = self.reached_share(found)
        sizes = np.array([drawn.held + self._missing(drawn, shown) / (found * reached) for drawn in complete])
        low, _, _ = _interval(sizes)
        with_prior, estimate, high = _interval(np.append(sizes, [min(prior, MAX_PRIOR * held)] * PRIOR_QUERIES))
        number = len(sizes)
        # of a missing record, if one more query in `number` ÷ 3 had returned one
        degree = float(np.mean([match.degree for match in matches])) if matches else 1.0
        one_more = float(np.mean([shown / drawn.probability for drawn in complete])) / max(1.0, degree)
        high = max(high, estimate + RULE_OF_THREE * one_more / (found * reached) / number)
        if high < held:
            return None  # more is held than the sample allows: the words of the missing records differ
        low = max(held, min(low, with_prior))
        # if no drawn query returned a missing record, the middle of what is possible
        return Estimate(estimate=estimate if estimate > held else math.sqrt(low * high), low=low, high=high)

    def _missing(self, drawn: SampledQuery, shown: float) -> float:
        """Return the number of missing records that one drawn query estimates."""
        missing = (match for match in drawn.matches if match.is_shown and not match.is_held)
        return sum(shown / max(1, match.degree) for match in missing) / drawn.probability

    def rows(self) -> list[dict[str, object]]:
        """Return the sample as rows: one for each match of each drawn query, and one for each query without matches."""
        rows: list[dict[str, object]] = []
        for drawn in self.queries:
            base = {
                "query": drawn.query,
                "probability": drawn.probability,
                "records_held": drawn.held,
                "held_with_query": drawn.inside,
                "complete": drawn.is_complete,
            }
            names = ("record", "degree", "held", "shown", "shown_before")
            rows += [{**base, **dict(zip(names, match, strict=True))} for match in drawn.matches]
            if not drawn.matches:
                rows.append({**base, "record": None, "degree": None, "held": None, "shown": None, "shown_before": None})
        return rows


def _interval(sizes: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return the mean of some sizes between the ends of its interval."""
    mean, number = float(sizes.mean()), len(sizes)
    error = _student(number - 1) * float(sizes.std(ddof=1)) / math.sqrt(number)
    return mean - error, mean, mean + error


def _student(freedom: int) -> float:
    """Return the two-sided 95 % quantile of Student's t distribution, by its expansion around the normal one."""
    z = NORMAL
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
