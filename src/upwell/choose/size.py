"""How many records the source holds, each estimate with a 95 % interval.

chao        a lower bound from the records seen once and twice
lu_li       from the overlap rate of random queries
Checks      ours: from check queries that are drawn apart from the harvest, fair to records that are hard to hit
recaptured  from the records that two ways of asking have in common
next_new    how many new records further requests would bring
requests_to how many more requests a number of records would take
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from upwell.page.tokens import stop_words_of, tokens
from upwell.types import Estimate

__all__ = ["CheckSample", "chao", "lu_li", "next_new", "recaptured", "requests_to"]

COMMON = 30  # records that both ways must have; usual for a normal approximation
NORMAL = 1.96  # two-sided 95 %
SPREAD = 2.3  # for check queries: their answers are skewed; 2.0 held the truth in 85 to 100 % of runs
# Check queries that brought something, before they are believed; swept 5 … 50 (docs/decisions/0040): with 5 the interval holds the truth
# in 91 % of runs and an all-held handful passes for everything, from 15 on in 97 % and more.
MIN_CHECKS = 15


def chao(held: int, once: int, twice: int) -> Estimate:
    """A lower bound of the number of records, from how many are held, and of these were seen once and twice.

    Chao (1987), bias-corrected, with its log-normal 95 % interval. Queries hit records unevenly, and a source that cuts its
    answers off hides some for good: the true number is rather higher than lower.
    """
    unseen = once * (once - 1) / (2 * (twice + 1))
    if unseen <= 0:
        return Estimate(estimate=float(held), low=float(held), high=float(held))
    ratio = once / max(twice, 1)
    variance = max(twice, 1) * (ratio**4 / 4 + ratio**3 + ratio**2 / 2)
    spread = math.exp(NORMAL * math.sqrt(math.log(1 + variance / unseen**2)))
    return Estimate(estimate=held + unseen, low=held + unseen / spread, high=held + unseen * spread)


def recaptured(listed: int, drawn: int, both: int) -> Estimate | None:
    """The size from how many records one way of asking listed, another drew, and both brought (Lincoln & Petersen, Chapman's correction).

    Right where a question lists nearly everything, each record once, which `chao` takes for many unseen. None where too little
    is in common.
    """
    if both < COMMON:
        return None
    share = both / drawn
    error = NORMAL * math.sqrt(max(share * (1 - share), 1 / drawn) / drawn)
    return Estimate(
        estimate=(listed + 1) * (drawn + 1) / (both + 1) - 1,
        low=listed / min(1.0, share + error),
        high=listed / max(share - error, 1e-6),
    )


def lu_li(held: int, returned: int, queries: int, *, uniform: bool = False, overflow: float = 1.0) -> Estimate:
    """From the overlap rate OR of random queries: the share held is 1 − OR^(−1.1) (−2.1 if documents came uniformly).

    Lu & Li (2010); for a ranked source that cuts off, times the overflow rate, matches ÷ results (Lu 2010). The interval
    takes the overlap as a count: held ± its binomial spread, which queries that hit unevenly exceed.
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
    """The size from check queries, which are drawn at random from words of some records held and kept apart from the harvest.

    A word drawn at random from a pool brings a record as likely as the record has words of the pool; weighed by one over
    that number, all records of the source count alike (Broder et al. 2006). The pool's words come from a random part of the
    records held, and that part is left out of the count, or held records would be favoured. Words that should match more
    than the source gives are not in the pool, and what overflows all the same is not counted; nor are words of a single
    record, which bring nothing else, nor numbers, which many sources do not search. Of the weight that comes
    back, the share of records that the harvest holds is the coverage. A record counts only where its text shows the word
    asked for, so that matches in text that is not shown do no harm.

    Where the source says how many matches there are, one page of them is enough: the rest weigh as those on the page do, and
    what the harvest holds of them is counted by the texts held. So words that overflow count as well.
    """

    result_cap: int
    language: str = ""
    part: float = 0.2  # share of the records held that gives the pool; swept 0.05 … 0.5: docs/decisions/0040
    heavy: float = (
        0.5  # a word may be expected to match this share of the limit; tried 0.25 and 0.5: docs/decisions/0040
    )
    _pool: frozenset[str] = frozenset()
    _source: frozenset[str] = frozenset()
    _answers: list[tuple[str, list[tuple[str, float]], float]] = field(
        default_factory=list
    )  # query, weights, scale or 0
    _holding: dict[str, float] = field(default_factory=dict)  # for each word of the pool, what the records held weigh

    def draw(self, records: Mapping[str, str], rng: np.random.Generator, count: int) -> list[str]:
        """Makes the pool from records held (text by key) and draws check queries from it."""
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
        """The records that the words were drawn from."""
        return self._source

    def hold(self, key: str, text: str) -> None:
        """Takes in a record that the harvest holds."""
        if key not in self._source:
            words = self._pool.intersection(tokens(text))
            for word in words:
                self._holding[word] = self._holding.get(word, 0.0) + 1 / len(words)

    def add(self, query: str, answer: Mapping[str, str], overflow: bool, said: int | None = None) -> None:
        """What a check query brought: text by key; of an answer that was cut off, or is one page of many, `said` counts all."""
        if overflow and not said:
            return
        weights = []
        for key, text in answer.items():
            words = set(tokens(text))
            if key not in self._source and query in words:
                weights.append((key, 1 / max(1, len(words & self._pool))))
        scale = said / len(answer) if said and answer and said > len(answer) else 0.0
        self._answers.append((query, weights, scale))

    def size(self, harvested: Iterable[str]) -> Estimate | None:
        """The size, given the keys that the harvest holds without the check queries; None before there is enough to say."""
        held = frozenset(harvested)
        ours, all_ = np.zeros(len(self._answers)), np.zeros(len(self._answers))
        for i, (query, weights, scale) in enumerate(self._answers):
            all_[i] = sum(weight for _, weight in weights) * (scale or 1)
            holding = self._holding.get(query, 0.0) if scale else sum(w for key, w in weights if key in held)
            ours[i] = min(all_[i], holding)
        rest, part = len(held - self._source), len(held & self._source)
        telling = int((all_ > 0).sum())
        if telling < MIN_CHECKS or not ours.sum():
            return None
        # One answer more that is half held: a few answers that all agree are no proof of everything or of nothing.
        usual = all_.sum() / telling
        ours, all_ = np.append(ours, usual / 2), np.append(all_, usual)
        share = ours.sum() / all_.sum()
        n = telling + 1
        error = math.sqrt(((ours - share * all_) ** 2).sum() * n / (n - 1)) / all_.sum()
        low, high = max(share - SPREAD * error, share / 20), min(share + SPREAD * error, 1.0)
        return Estimate(estimate=part + rest / share, low=part + rest / high, high=part + rest / low)


def next_new(curve: Sequence[tuple[int, int]], requests: int = 100) -> float:
    """How many new records the next requests would bring: the last yield, falling as it fell (curve: requests, records)."""
    now, decay = _yield_and_decay(curve)
    return float(now * (requests if decay >= 1 else (1 - decay**requests) / (1 - decay)))


def requests_to(curve: Sequence[tuple[int, int]], records: float) -> int | None:
    """How many more requests should bring the records held to a number; None where the yield falls too fast for that.

    >>> requests_to([(0, 0), (50, 500), (100, 1000)], 2000)
    100
    """
    now, decay = _yield_and_decay(curve)
    missing = records - curve[-1][1] if curve else 0.0
    if missing <= 0:
        return 0
    if not now or (decay < 1 and missing * (1 - decay) >= now):
        return None
    return math.ceil(missing / now if decay >= 1 else math.log(1 - missing * (1 - decay) / now) / math.log(decay))


def _yield_and_decay(curve: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """New records a request now, and the share of it that remains with each further request."""
    if len(curve) < 3:
        return 0.0, 1.0
    sent, held = np.array(curve, dtype=float).T
    third = [np.interp(sent[-1] - sent[-1] * share / 4, sent, held) for share in (2, 1, 0)]
    span = sent[-1] / 4
    before, after = (third[1] - third[0]) / span, (third[2] - third[1]) / span
    if after <= 0:
        return 0.0, 1.0
    fall = min(1.0, after / before) if before > 0 else 1.0
    decay = fall ** (1 / span)
    return after * decay ** (span / 2), decay
