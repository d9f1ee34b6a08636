"""Published estimators of the size of a source, to compare with Chao's (`choose.size`).

lu_li         from the overlap rate of random queries (Lu & Li 2010)
CheckSample   from check queries that are independent of the harvest, weighted as by Broder et al. (2006)
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from upwell.page.tokens import stop_words_of, tokens
from upwell.types import Estimate

__all__ = ["CheckSample", "lu_li"]

NORMAL = 1.96  # two-sided 95 %
SPREAD = 2.3  # the same for check queries, whose answers are skewed; with 2.0, intervals contained the truth in 85 to 100 % of runs
# check queries with matches needed for an estimate; swept 5 … 50 (docs/decisions/0040): with 5 the interval contains the truth in 91 % of
# runs, from 15 on in 97 % and more
MIN_CHECKS = 15


def lu_li(held: int, returned: int, queries: int, *, uniform: bool = False, overflow: float = 1.0) -> Estimate:
    """Estimate the size from the overlap rate OR of random queries: the share held is 1 − OR^(−1.1) (−2.1 for uniform documents).

    Lu & Li (2010); for a ranked source with a result cap, multiplied by the overflow rate, matches ÷ results (Lu 2010). The interval
    treats the overlap as a binomial count, which is too narrow for queries that match unevenly.
    """
    if not held or returned <= held:
        return Estimate(estimate=float(held), low=float(held), high=math.inf)
    power = 2.1 if uniform else 1.1

    def size(rate: float) -> float:
        return float(overflow * held / (1 - rate**-power))

    rate = returned / held
    spread = NORMAL * math.sqrt((returned - held) * max(queries, 1) / max(queries - 1, 1)) / held
    low, high = size(rate + spread), size(max(rate - spread, 1 + 1e-6))
    return Estimate(estimate=size(rate), low=max(float(held), low), high=high)


@dataclass
class CheckSample:
    """Estimate of the size from check queries: words of some records held, drawn at random and independent of the harvest.

    A random word of a pool returns a record with a probability proportional to the number of pool words in the record. Weighted by
    the inverse of that number, all records of the source count equally (Broder et al. 2006). The words come from a random
    part of the records held; that part is not counted, because it would favour records held. The pool excludes words with more
    expected matches than the result cap, words of a single record and numbers, and answers that overflow are not
    counted. The coverage is the share of the returned weight that belongs to records held. A record counts only if its text
    contains the query.

    If the source states totals, one page is enough: the other matches are assumed to weigh as much as those on the page, and the
    held part is counted in the texts held. Then answers that overflow count as well.
    """

    result_cap: int
    language: str = ""
    part: float = 0.2  # share of the records held whose words form the pool; swept 0.05 … 0.5: docs/decisions/0040
    # share of the result cap that a word may be expected to match; tried 0.25 and 0.5: docs/decisions/0040
    heavy: float = 0.5
    _pool: frozenset[str] = frozenset()
    _source: frozenset[str] = frozenset()
    _answers: list[tuple[str, list[tuple[str, float]], float]] = field(
        default_factory=list
    )  # query, weights, scale or 0
    _holding: dict[str, float] = field(default_factory=dict)  # word of the pool → weight of the records held

    def draw(self, records: Mapping[str, str], rng: np.random.Generator, count: int) -> list[str]:
        """Build the pool from records held (text by key) and draw check queries from it."""
        keys = sorted(records)
        count_of_part = max(1, round(self.part * len(keys))) if keys else 0
        some = rng.permutation(len(keys))[:count_of_part]
        self._source = frozenset(keys[i] for i in some)
        stops = stop_words_of(self.language)
        often: dict[str, int] = {}
        for key in sorted(self._source):
            for word in dict.fromkeys(tokens(records[key])):
                if len(word) > 1 and word not in stops and not any(c.isdigit() for c in word):
                    often[word] = often.get(word, 0) + 1
        most = max(2.0, self.heavy * self.result_cap * self.part) if self.result_cap else math.inf
        shared = [word for word, n in often.items() if 1 < n <= most]
        words = (
            shared if len(shared) >= min(count, 2 * MIN_CHECKS) else [word for word, n in often.items() if n <= most]
        )
        self._pool, self._answers, self._holding = frozenset(words), [], {}
        for key in keys:
            self.hold(key, records[key])
        return [words[i] for i in rng.permutation(len(words))[:count]]

    @property
    def pool_records(self) -> frozenset[str]:
        """Return the keys of the records that the words were drawn from."""
        return self._source

    def hold(self, key: str, text: str) -> None:
        """Add a record that the harvest holds."""
        if key not in self._source:
            words = self._pool.intersection(tokens(text))
            for word in words:
                self._holding[word] = self._holding.get(word, 0.0) + 1 / len(words)

    def add(self, query: str, answer: Mapping[str, str], overflow: bool, total: int | None = None) -> None:
        """Add the answer to a check query (text by key); `total` is the stated number of matches of an answer that overflows."""
        if overflow and not total:
            return
        weights = []
        for key, text in answer.items():
            words = set(tokens(text))
            if key not in self._source and query in words:
                weights.append((key, 1 / max(1, len(words & self._pool))))
        scale = total / len(answer) if total and answer and total > len(answer) else 0.0
        self._answers.append((query, weights, scale))

    def size(self, harvested: Iterable[str]) -> Estimate | None:
        """Return the size, given the keys that the harvest holds without the check queries; None if too few of these had matches."""
        held = frozenset(harvested)
        ours, all_ = np.zeros(len(self._answers)), np.zeros(len(self._answers))
        for i, (query, weights, scale) in enumerate(self._answers):
            all_[i] = sum(weight for _, weight in weights) * (scale or 1)
            holding = self._holding.get(query, 0.0) if scale else sum(w for key, w in weights if key in held)
            ours[i] = min(all_[i], holding)
        rest, part = len(held - self._source), len(held & self._source)
        with_matches = int((all_ > 0).sum())
        if with_matches < MIN_CHECKS or not ours.sum():
            return None
        # one more answer that is half held, so that a few answers that all agree do not give a share of 0 or 1
        usual = all_.sum() / with_matches
        ours, all_ = np.append(ours, usual / 2), np.append(all_, usual)
        share = ours.sum() / all_.sum()
        n = with_matches + 1
        error = math.sqrt(((ours - share * all_) ** 2).sum() * n / (n - 1)) / all_.sum()
        low, high = max(share - SPREAD * error, share / 20), min(share + SPREAD * error, 1.0)
        return Estimate(estimate=part + rest / share, low=part + rest / high, high=part + rest / low)
