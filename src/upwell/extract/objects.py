"""The matches inside a pagelet (Thor's QA-Objects): its children, or runs of its children where a match is several of them."""

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from upwell.extract.pagelets import signature
from upwell.page.tree import TagTree

__all__ = ["leader_of", "split"]

# A signature that stands at the head of matches is at least this often there as the most frequent one.
OFTEN = 0.3  # swept 0.2 … 0.5 on the same corpora; three <dd> for a <dt> need 0.33


def leader_of(tree: TagTree, pagelet: int, weight: NDArray[np.float64]) -> str | None:
    """The signature that each match of a pagelet begins with: the first of those that repeat often and hold weight."""
    mass = tree.sum_chunks(weight)
    below = [row for row in tree.children(pagelet) if mass[row] > 0]
    count = Counter(_plain(tree, row) for row in below)
    most = max(count.values(), default=0)
    return next((s for s in (_plain(tree, row) for row in below) if count[s] >= OFTEN * most), None)


def split(tree: TagTree, pagelet: int, leader: str) -> list[list[int]]:
    """The matches of a pagelet as runs of its children, each from one leader to the next.

    What follows the last leader is only taken as far as the other runs reach, so that a pager below is not part of it.
    """
    runs: list[list[int]] = []
    for row in tree.children(pagelet):
        if _plain(tree, row) == leader:
            runs.append([row])
        elif runs:
            runs[-1].append(row)
    kept = [[row for row in run if tree.text_end[row] > tree.text_at[row]] for run in runs]
    kept = [run for run in kept if run]
    if len(kept) > 1:
        usual = Counter(_plain(tree, row) for run in kept[:-1] for row in run)
        longest = max(len(run) for run in kept[:-1])
        kept[-1] = [row for i, row in enumerate(kept[-1]) if i == 0 or (i < longest and usual[_plain(tree, row)])]
    elif kept:
        kept[0] = kept[0][:1] if len(runs) == 1 and len(kept[0]) > 4 else kept[0]
    return kept


def _plain(tree: TagTree, row: int) -> str:
    """A child's signature; in lists and tables the tag alone, because their rows are striped and marked by classes."""
    if tree.name(row) in ("li", "tr", "dt", "dd", "td"):
        return tree.name(row)
    return signature(tree, row)
