"""Table of speeds: name, ours, the reference, the ratio, the bar."""

import math
from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["Row", "show"]


class Row(NamedTuple):
    """One line; the bar is the largest acceptable ratio, infinite if there is none."""

    what: str
    ours: str
    reference: str
    ratio: float
    bar: float


def show(rows: Iterable[Row]) -> int:
    """Print each row as it is measured; return 1 if a bar is exceeded, otherwise 0."""
    print(f"{'what':<62}{'ours':>10}{'reference':>11}{'ratio':>8}{'bar':>7}", flush=True)
    is_broken = False
    for what, ours, reference, ratio, bar in rows:
        is_broken |= ratio > bar
        note = "" if ratio <= bar else "  broken"
        print(
            f"{what:<62}{ours:>10}{reference:>11}{ratio:>8.2f}{'' if bar == math.inf else f'{bar:.3g}':>7}{note}",
            flush=True,
        )
    return int(is_broken)
