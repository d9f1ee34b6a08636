"""Extrapolate a harvest: a lower bound of the size of the source, and the records that further requests return.

chao          lower bound of the number of records, from those seen once and twice
next_new      new records of the next requests
requests_to   requests until a number of records is held

The statement for users is `coverage`.
"""

import math
from collections.abc import Sequence

import numpy as np

from upwell.types import Estimate

__all__ = ["chao", "next_new", "requests_to"]

NORMAL = 1.96  # two-sided 95 %


def chao(held: int, once: int, twice: int) -> Estimate:
    """Return a lower bound of the number of records, from the number held and those seen once and twice.

    Chao (1987), bias-corrected, with its log-normal 95 % interval. Queries match records with unequal probability, and a result cap
    makes some unreachable, so the true number is rather higher.
    """
    unseen = once * (once - 1) / (2 * (twice + 1))
    if unseen <= 0:
        return Estimate(estimate=float(held), low=float(held), high=float(held))
    ratio = once / max(twice, 1)
    variance = max(twice, 1) * (ratio**4 / 4 + ratio**3 + ratio**2 / 2)
    spread = math.exp(NORMAL * math.sqrt(math.log(1 + variance / unseen**2)))
    return Estimate(estimate=held + unseen, low=held + unseen / spread, high=held + unseen * spread)


def next_new(curve: Sequence[tuple[int, int]], requests: int = 100) -> float:
    """Return the new records expected from the next requests: the last yield, with its decay (curve: requests, records held)."""
    now, decay = _yield_and_decay(curve)
    return float(now * (requests if decay >= 1 else (1 - decay**requests) / (1 - decay)))


def requests_to(curve: Sequence[tuple[int, int]], records: float) -> int | None:
    """Return the number of requests until `records` are held; None if the yield decays too fast to reach them.

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
    """Return the current yield per request, and the share of it that remains after each further request."""
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
