"""The table of speeds: what, ours, the reference, the ratio, the bar."""

import math
from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["Row", "show"]


class Row(NamedTuple):
    """One line; the bar is the largest ratio that is good, infinite where there is none."""

    what: str
    ours: str
    reference: str
    ratio: float
    bar: float


def show(rows: Iterable[Row]) -> int:
    """Prints each row as it comes; 1 where a bar is broken, else 0."""
    print(f"{'what':<56}{'ours':>10}{'reference':>11}{'ratio':>8}{'bar':>7}", flush=True)
    is_broken = False
    for what, ours, reference, ratio, bar in rows:
        is_broken |= ratio > bar
        note = "" if ratio <= bar else "  broken"
        print(
            f"{what:<56}{ours:>10}{reference:>11}{ratio:>8.2f}{'' if bar == math.inf else f'{bar:.3g}':>7}{note}",
            flush=True,
        )
    return int(is_broken)
