"""The matches of an answer by the rule that was learned (`objects` has the words, and finds rules)."""

from statistics import median

import numpy as np

from upwell.extract.cut_candidates import ALIKE, USUAL, Cut, Key, Shape
from upwell.extract.leaves import Leaves

__all__ = ["cut"]


def cut(leaves: Leaves, key: Key, shape: Shape) -> list[Cut]:
    """The matches that a learned rule finds: one cut, or for a rule of one container a cut for each that has leaders.

    In plain Python, because most answers have few matches and each array costs more.
    """
    tree = leaves.tree
    paths = [spot.classed if key.classed else spot.tagged for spot in tree.spots]
    held = tree.at_spots([i for i, path in enumerate(paths) if path == key.container])
    containers = held[leaves.end[held] > leaves.at[held]].tolist()
    if not containers:
        return []
    page = _Page(leaves, key, shape)
    found = [page.cut(some) for some in ([containers] if key.every else [[row] for row in containers])]
    return [made for made in found if made is not None]


class _Page:
    """One page as a rule sees it."""

    def __init__(self, leaves: Leaves, key: Key, shape: Shape) -> None:
        self.leaves, self.key, self.shape = leaves, key, shape
        spots = leaves.tree.spots
        self.row, self.spot = leaves.rows, leaves.tree.spot_of
        self.tagged = [spot.tagged for spot in spots]
        self.leading = [(spot.classed if key.leader_classed else spot.tagged) == key.leader for spot in spots]
        self.known: dict[tuple[int, ...], tuple[float, float]] = {}

    def cut(self, containers: list[int]) -> Cut | None:
        """The matches in some containers."""
        leaves = self.leaves
        matches: list[tuple[int, int, int, int]] = []  # where it begins and ends, its container and where that ends
        looks: list[tuple[float, float]] = []
        unit, below = [0] * len(leaves), [-1] * len(leaves)
        for row in containers:
            first, rows, stop = self._units(row)
            led = []
            for i, (a, b) in enumerate(zip(first, [*first[1:], stop], strict=True)):
                unit[a:b], below[a:b] = [i] * (b - a), [rows[i]] * (b - a)
                if self._leads(a, rows[i], b):
                    led.append(i)
            for i, after in zip(led, [*led[1:], len(first)], strict=False):
                a, b = first[i], first[after] if after < len(first) else self._end(first, i, stop)
                looks.append(self._looks(a, b))
                matches.append((a, b, row, stop))
        typical, usual = self.shape.typical
        if len(matches) >= 4:  # matches of one page may have less than those of all pages together
            typical = min(typical, median([common for common, _ in looks]))
            usual = min(usual, median([has for _, has in looks]))
        kept = [m for m, (c, h) in zip(matches, looks, strict=True) if c >= ALIKE * typical and h >= ALIKE * usual]
        if not kept:
            return None
        heads = leaves.heads
        if heads.any():
            kept = [m for m in kept if not heads[m[0] : m[1]].all()] or kept
        starts, ends, holders, stops = np.array(kept, dtype=np.int32).T
        depth = leaves.tree.spots[self.spot[containers[0]]].depth
        return Cut(starts, ends, depth, np.array(unit, np.int32), holders, np.array(below, np.int32), stops)

    def _units(self, row: int) -> tuple[list[int], list[int], int]:
        """The units of a container: where each begins, its row or -1 for a text of its own, and where the last ends."""
        leaves, tree = self.leaves, self.leaves.tree
        inside = slice(row, int(tree.end[row]))
        end, at, upto = tree.end[inside].tolist(), leaves.at[inside].tolist(), leaves.end[inside].tolist()
        first, rows = [], []
        leaf, child = at[0], 1
        while child < len(end):
            if upto[child] > at[child]:
                for own in range(leaf, at[child]):
                    first.append(own)
                    rows.append(-1)
                first.append(at[child])
                rows.append(row + child)
                leaf = upto[child]
            child = end[child] - row
        own_texts = range(leaf, upto[0])
        return [*first, *own_texts], rows + [-1] * len(own_texts), upto[0]

    def _leads(self, leaf: int, row: int, stop: int) -> bool:
        """Whether a unit is a leader."""
        how, leading = self.key.how, self.leading
        if how == "is":
            return row < 0 if not self.key.leader else row >= 0 and leading[self.spot[row]]
        if how == "after":
            return bool(self.leaves.before[leaf] == self.key.leader)
        inside = range(leaf, stop if how == "has" else leaf + 1)
        return any(leading[self.spot[self.row[i]]] for i in inside)

    def _end(self, first: list[int], i: int, stop: int) -> int:
        """Where the last match of a container ends: before a unit without a known path, or after as many units as the longest has."""
        share, longest = self.shape.share, max(1, self.shape.longest)
        for leaf, after in zip(first[i + 1 : i + longest], [*first[i + 2 :], stop], strict=False):
            if not any(self.tagged[self.spot[self.row[k]]] in share for k in range(leaf, after)):
                return leaf
        return [*first, stop][min(i + longest, len(first))]

    def _looks(self, a: int, b: int) -> tuple[float, float]:
        """How common the paths of a match are on average, and how many of them are usual."""
        spots = tuple([self.spot[row] for row in self.row[a:b]])
        if spots not in self.known:
            own = [self.shape.share.get(path, 0.0) for path in {self.tagged[spot] for spot in spots}]
            self.known[spots] = sum(own) / len(own), sum(value >= USUAL for value in own)
        return self.known[spots]
