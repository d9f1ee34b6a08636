"""The region of an answer that holds the matches (Thor's QA-Pagelet)."""

import numpy as np
from numpy.typing import NDArray

from upwell.page.tree import TagTree

__all__ = ["SHARE", "locate", "signature"]

# The way down ends where no child holds this share of what the row holds: there the matches lie side by side.
SHARE = 0.6  # swept 0.5 … 0.8 on answers/serp150, wien, tbdw, vints1 (benchmarks/quality)


def locate(tree: TagTree, weight: NDArray[np.float64], share: float = SHARE) -> int:
    """The row whose children hold the weight between them; `weight` is one number a chunk: how much of it is an answer.

    Thor Fig. 6 in the sense that was meant: go down while nearly everything is in one child, stop where it is shared out.
    """
    mass = tree.sum_chunks(weight)
    row = 0
    while True:
        below = tree.children(row)
        best = max(below, key=lambda child: mass[child], default=row)
        if best == row or mass[best] < share * mass[row]:
            return row
        row = best


def signature(tree: TagTree, row: int) -> str:
    """What a row looks like from outside: its tag and its classes without numbers."""
    names = [name for name in tree.classes[tree.cls[row]].split() if not any(c.isdigit() for c in name)]
    return ".".join([tree.name(row), *sorted(names)])
