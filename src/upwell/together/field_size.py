"""How many things the whole field has, by how much its sources overlap: capture and recapture, each source is one capture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from math import exp, log, prod, sqrt

from upwell.queries.size import chao
from upwell.together.values import FieldSize

__all__ = ["field_size"]

NORMAL_95 = 1.96
MAX_CELLS = 5  # sources up to which every combination of them is compared with what independence expects
# Upper 5 % points of chi-square by degrees of freedom, as printed in every table; for more, Wilson and Hilferty's approximation.
CHI_SQUARE_95 = (3.84, 5.99, 7.81, 9.49, 11.07, 12.59, 14.07, 15.51, 16.92, 18.31)


def field_size(histories: Sequence[Collection[int]], sources: int) -> FieldSize:
    """The size of the field; `histories` has for each thing the numbers of the sources that have it.

    Three or more sources that find things independently of each other give an estimate (Darroch's maximum likelihood for captures of
    different strength). Sources that copy from each other, or all prefer what is known, overlap more than that, and the estimate is
    too small: then, and with two sources, which cannot show it, it is a lower bound (Chao's, for captures of unequal things).
    """
    held = len(histories)
    counts = [sum(source in history for history in histories) for source in range(sources)]
    in_one, in_two = (sum(len(history) == k for history in histories) for k in (1, 2))
    unseen = (chao(held, in_one, in_two).low - held) * (sources - 1) / sources  # Chao's factor for few captures
    at_least = held + int(unseen)
    if sources < 3 or not all(counts):
        why = "two sources cannot show whether they depend on each other" if sources > 1 else "one source"
        at_least = at_least if in_two else held
        return FieldSize(held=held, estimate=at_least, low=at_least, high=None, is_lower_bound=True, why=why)
    size = _independent_size(held, counts)
    if size is None:
        why = "hardly any thing is in two sources"
        return FieldSize(held=held, estimate=held, low=held, high=None, is_lower_bound=True, why=why)
    if not _fits(histories, counts, size, sources):
        why, in_all = "the sources depend on each other", sum(len(history) == sources for history in histories)
        if in_all < size * prod(
            count / size for count in counts
        ):  # they avoid each other: what is unseen may be little
            at_least, why = held, "the sources overlap less than independent ones"
        return FieldSize(held=held, estimate=at_least, low=at_least, high=None, is_lower_bound=True, why=why)
    low, high = _interval(held, counts, size)
    why = f"{sources} sources, independent as far as their overlap shows"
    return FieldSize(held=held, estimate=round(size), low=low, high=high, is_lower_bound=False, why=why)


def _independent_size(held: int, counts: Sequence[int]) -> float | None:
    """The size at which independent sources of these strengths leave as much unseen as they do: 1 − held/N = Π (1 − nᵢ/N).

    >>> round(_independent_size(80, [50, 60]))  # 30 in both: Lincoln and Petersen's 50 · 60 / 30
    100
    """

    def unseen(size: float) -> float:
        return (1 - held / size) - prod(1 - count / size for count in counts)

    low, high = float(max(held, max(counts) + 1e-6)), 2.0 * held
    if sum(counts) <= held:
        return None
    while unseen(high) < 0 and high < 1e12:
        high *= 2
    if unseen(high) < 0:
        return None
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if unseen(middle) < 0 else (low, middle)
    return high


def _interval(held: int, counts: Sequence[int], size: float) -> tuple[int, int]:
    """A 95 % interval: Darroch's variance, and a logarithmic normal distribution of what is unseen (Chao), so that it ends at what is held."""
    shares = [min(count / size, 1 - 1e-9) for count in counts]
    information = 1 / prod(1 - share for share in shares) + len(shares) - 1 - sum(1 / (1 - share) for share in shares)
    unseen = size - held
    if unseen < 1e-6 or information <= 0:
        return held, max(held, round(size))
    factor = exp(NORMAL_95 * sqrt(log(1 + size / information / unseen**2)))
    return held + round(unseen / factor), held + round(unseen * factor)


def _fits(histories: Sequence[Collection[int]], counts: Sequence[int], size: float, sources: int) -> bool:
    """Whether the overlaps are as independent sources would have them, by chi-square over combinations or over numbers of sources."""
    shares = [count / size for count in counts]
    if sources <= MAX_CELLS:
        observed = Counter(sum(1 << source for source in history) for history in histories)
        expected = {
            cell: size * prod(share if cell >> i & 1 else 1 - share for i, share in enumerate(shares))
            for cell in range(1, 1 << sources)
        }
        freedom = len(expected) - sources - 1
    else:
        observed = Counter(len(history) for history in histories)
        distribution = [1.0]
        for share in shares:
            padded = [0.0, *distribution, 0.0]
            distribution = [padded[k] * share + padded[k + 1] * (1 - share) for k in range(len(distribution) + 1)]
        expected = {k: size * probability for k, probability in enumerate(distribution) if k}
        freedom = len(expected) - 2
    distance = sum((observed[cell] - value) ** 2 / max(value, 1.0) for cell, value in expected.items())
    return distance <= _critical(freedom)


def _critical(freedom: int) -> float:
    if freedom <= len(CHI_SQUARE_95):
        return CHI_SQUARE_95[freedom - 1]
    return float(freedom * (1 - 2 / (9 * freedom) + 1.645 * sqrt(2 / (9 * freedom))) ** 3)
