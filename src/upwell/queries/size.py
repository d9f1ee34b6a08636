"""How many records the source holds, from how often those held were seen."""

import math
from collections.abc import Iterable

from upwell.model import Estimate

__all__ = ["chao"]


def chao(seen: Iterable[int]) -> Estimate:
    """A lower bound of the number of records, from those seen once and twice.

    Chao (1987), bias-corrected, with its log-normal 95 % interval. Queries hit records unevenly, and a source that cuts its
    answers off hides some for good: the true number is rather higher than lower.
    """
    counts = [n for n in seen if n > 0]
    held, once, twice = len(counts), sum(n == 1 for n in counts), sum(n == 2 for n in counts)
    unseen = once * (once - 1) / (2 * (twice + 1))
    if unseen <= 0:
        return Estimate(estimate=float(held), low=float(held), high=float(held))
    ratio = once / max(twice, 1)
    variance = max(twice, 1) * (ratio**4 / 4 + ratio**3 + ratio**2 / 2)
    spread = math.exp(1.96 * math.sqrt(math.log(1 + variance / unseen**2)))
    return Estimate(estimate=held + unseen, low=held + unseen / spread, high=held + unseen * spread)
