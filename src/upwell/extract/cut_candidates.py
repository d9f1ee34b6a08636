"""The matches of an answer (Thor's QA-Objects): every way to cut a page into repeated pieces.

    container   a row, or all rows with the same path, that may hold matches
    unit        what stands right below a container: a child with text, or a text of its own
    leader      the unit that a match begins with; the match goes on to the next leader, or to the container's end
    rule        how leaders are told: they have, begin with, or are a path, or stand after parting tags (<hr>, <br><br> …)
    cut         the matches of one page as ranges of leaves

Thor §IV phase 4 and Thor-objects §3; departs from them: the separators (count, deviation, identifiable tags, partial path,
repeating pattern, sibling pairs) do not vote, each makes candidates, and `pagelets` weighs the cuts that come out.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from upwell.extract.leaves import PARTS, Leaves, step_of
from upwell.page.spots import fold
from upwell.page.tree import Ints

__all__ = ["ALIKE", "USUAL", "Cut", "Key", "Rule", "Shape", "candidates", "rule_of", "shape_of", "spread"]

How = Literal["has", "begins", "is", "after"]
MOST = 400  # a page with more pieces of a kind is cut into words, not into matches
LEAST = 0.02  # a container with less of the page's text holds no answer; swept: 0.005, 0.02, 0.05, no difference
# A piece that shares less than this part of what the median piece shares with the others is a heading or an advertisement.
ALIKE = 0.4  # swept: 0.3 … 0.7 (docs/decisions/0010-record-extraction.md); 0.6 and more lose on all corpora
USUAL = 0.5  # a path that at least this share of the pieces has is usual; swept: 0.3, 0.5, 0.7, a page of difference

Flags = NDArray[np.bool_]


class Key(NamedTuple):
    """A rule as numbers, equal on all pages of a source."""

    every: bool  # all containers with the path, or one of them
    classed: bool  # the path of the container counts classes
    container: int
    how: How
    leader_classed: bool
    leader: int


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule as `source.json` has it."""

    container: str = ""
    every: bool = True
    how: How = "is"
    leader: str = ""
    classed: bool = False
    leader_classed: bool = False

    def key(self) -> Key:
        """The same as numbers."""
        if self.how == "after":
            names = self.leader.split()
            leader = sum(min(names.count(name), 2) << (2 * k) for k, name in enumerate(PARTS))
        else:
            leader = fold(self.leader) if self.leader else 0
        return Key(self.every, self.classed, fold(self.container), self.how, self.leader_classed, leader)


@dataclass(frozen=True, eq=False)
class Cut:
    """The matches of one page: match i is the leaves starts[i] … ends[i]."""

    starts: Ints
    ends: Ints
    depth: int  # of the containers
    unit: Ints  # for each leaf of the page, the number of its unit at that depth
    container: Ints  # for each match, the row that holds it …
    below: Ints  # for each leaf of the page, the row right below the container, or -1 for a text of its own
    container_end: Ints  # … and the leaf where the container ends
    keys: set[Key] = field(default_factory=set)

    def __len__(self) -> int:
        return len(self.starts)

    def same(self, other: "Cut") -> bool:
        """Whether two cuts have the same matches."""
        return np.array_equal(self.starts, other.starts) and np.array_equal(self.ends, other.ends)


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What matches are made of: the share of them that has each path, and how many units the longest has."""

    share: Mapping[int, float] = field(default_factory=dict)
    longest: int = 0

    @cached_property
    def typical(self) -> tuple[float, float]:
        """How common the paths of a match are on average, and how many are usual."""
        values = self.share.values()
        return sum(v * v for v in values) / max(1e-9, sum(values)), sum(v >= USUAL for v in values)


class _Level:
    """The containers of one depth, and their units."""

    def __init__(self, leaves: Leaves, depth: int) -> None:
        n = len(leaves)
        self.container, self.below = leaves.above(depth), leaves.above(depth + 1)
        first = np.ones(n, dtype=bool)
        first[1:] = self.container[1:] != self.container[:-1]
        self.new = first.copy()
        self.new[1:] |= (self.below[1:] != self.below[:-1]) | (self.below[1:] < 0)
        self.unit = (np.cumsum(self.new) - 1).astype(np.int32)
        self.unit_start = np.flatnonzero(self.new).astype(np.int32)
        at = np.flatnonzero(first)
        end = np.append(at[1:], n)
        held = self.container[at] >= 0
        self.at, self.end, self.row = at[held], end[held], self.container[at[held]]
        self.end_of = np.repeat(end, np.diff(np.append(at, n))).astype(np.int32)


def candidates(leaves: Leaves) -> list[Cut]:
    """Every cut of a page into two matches or more, each once, with all the rules that lead to it."""
    found: dict[tuple[bytes, bytes], Cut] = {}
    if len(leaves) < 2:
        return []
    codes = [
        (False, leaves.tagged, *_coded(leaves.tagged[leaves.row])),
        (True, leaves.classed, *_coded(leaves.classed[leaves.row])),
    ]
    chars = np.concatenate(([0], np.cumsum(leaves.chars)))
    offered = np.isin(leaves.row, leaves.tree.rows("option"))  # what can be chosen is no match
    for depth in range(leaves.depth + 1):
        level = _Level(leaves, depth)
        for every, classed, path, places in _groups(leaves, level):
            size = sum(int(chars[b] - chars[a]) for a, b in places)
            if size < LEAST * chars[-1]:
                continue
            inside = np.concatenate([np.arange(a, b) for a, b in places])
            if offered[inside].all():
                continue
            for how, leader_classed, leader, starts in _leaders(leaves, level, inside, codes):
                made = _cut(level, starts, depth)
                known = found.setdefault((made.starts.tobytes(), made.ends.tobytes()), made)
                if known.depth == depth:  # what a deeper container only says again, the one above says better
                    known.keys.add(Key(every, classed, path, how, leader_classed, leader))
    return [_trimmed(leaves, made) for made in found.values()]


def shape_of(leaves: Leaves, cuts: Cut) -> tuple[dict[int, int], int]:
    """For each path the number of matches that have it, and the units of the longest match."""
    counts: dict[int, int] = {}
    for a, b in zip(cuts.starts.tolist(), cuts.ends.tolist(), strict=True):
        for path in np.unique(leaves.tagged[leaves.row[a:b]]).tolist():
            counts[path] = counts.get(path, 0) + 1
    inner = cuts.ends < cuts.container_end  # the last of a container may have taken in what follows
    units = (cuts.unit[cuts.ends - 1] - cuts.unit[cuts.starts] + 1)[inner if inner.any() else slice(None)]
    return counts, int(units.max(initial=1))


def rule_of(leaves: Leaves, key: Key) -> Rule | None:
    """A key as a readable rule, from a page that has the rows it speaks of."""
    container = _readable(leaves, key.container, key.classed)
    if key.how == "after":
        leader: str | None = " ".join(name for k, name in enumerate(PARTS) for _ in range(key.leader >> (2 * k) & 3))
    else:
        leader = _readable(leaves, key.leader, key.leader_classed) if key.leader else ""
    if container is None or leader is None:
        return None
    return Rule(
        container=container, every=key.every, how=key.how, leader=leader, classed=key.classed, leader_classed=key.leader_classed
    )  # fmt: skip


def _readable(leaves: Leaves, path: int, classed: bool) -> str | None:
    rows = np.flatnonzero((leaves.classed if classed else leaves.tagged) == np.uint64(path))
    if not len(rows):
        return None
    row = int(rows[0])
    return "/".join(reversed([step_of(leaves.tree, r, classed) for r in (row, *leaves.tree.ancestors(row))]))


def _groups(leaves: Leaves, level: _Level) -> Iterator[tuple[bool, bool, int, list[tuple[int, int]]]]:
    """The containers of a level one by one, and those with the same path together."""
    places = list(zip(level.at.tolist(), level.end.tolist(), strict=True))
    for row, (a, b) in zip(level.row.tolist(), places, strict=True):
        if level.unit[b - 1] > level.unit[a]:
            yield False, False, int(leaves.tagged[row]), [(a, b)]
    for classed, paths in ((False, leaves.tagged), (True, leaves.classed)):
        together: dict[int, list[tuple[int, int]]] = {}
        for path, place in zip(paths[level.row].tolist(), places, strict=True):
            together.setdefault(path, []).append(place)
        for path, some in together.items():
            if len(some) > 1:
                yield True, classed, path, some


def _coded(paths: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], Ints]:
    names, code = np.unique(paths, return_inverse=True)
    return names, code.astype(np.int32)


def _leaders(
    leaves: Leaves, level: _Level, inside: Ints, codes: list[tuple[bool, NDArray[np.uint64], NDArray[np.uint64], Ints]]
) -> Iterator[tuple[How, bool, int, Ints]]:
    """Every way to tell leaders among the units of a group of containers that finds two or more."""
    units = level.unit[inside]
    starts = inside[level.new[inside]]
    below = level.below[starts]
    for classed, of_row, names, code in codes:
        pairs = np.unique(code[inside].astype(np.int64) * (len(level.unit_start) + 1) + units)
        for name, some in _runs(
            pairs // (len(level.unit_start) + 1), level.unit_start[pairs % (len(level.unit_start) + 1)]
        ):
            yield "has", classed, int(names[name]), some
        for name, some in _runs(code[starts], starts):
            yield "begins", classed, int(names[name]), some
        looks, look = np.unique(np.where(below >= 0, of_row[below], np.uint64(0)), return_inverse=True)
        for name, some in _runs(look, starts):
            yield "is", classed, int(looks[name]), some
    for parts, some in _runs(leaves.before[starts].astype(np.int64), starts):
        if parts:
            yield "after", False, parts, some


def _runs(names: NDArray[np.integer], starts: Ints) -> Iterator[tuple[int, Ints]]:
    """For each name that two or more starts have: the name, and these starts."""
    order = np.argsort(names, kind="stable")
    sorted_names = names[order]
    at = np.flatnonzero(np.append(True, sorted_names[1:] != sorted_names[:-1]))
    for a, b in zip(at.tolist(), np.append(at[1:], len(order)).tolist(), strict=True):
        if 2 <= b - a <= MOST:
            yield int(sorted_names[a]), starts[order[a:b]]


def _cut(level: _Level, starts: Ints, depth: int) -> Cut:
    container_end = level.end_of[starts]
    ends = np.minimum(np.append(starts[1:], container_end[-1]), container_end).astype(np.int32)
    starts = starts.astype(np.int32)
    return Cut(starts, ends, depth, level.unit, level.container[starts], level.below, container_end)


def _trimmed(leaves: Leaves, made: Cut) -> Cut:
    """The cut without what follows the last match of a container, and without pieces that look like none of the others."""
    paths = leaves.path_code
    ends = made.ends.copy()
    last = ends == made.container_end
    if last.all():
        known, longest = np.ones(len(paths), dtype=bool), len(paths)
    else:
        inner = np.flatnonzero(~last)
        known = np.zeros(int(paths.max()) + 1, dtype=bool)
        known[paths[spread(made.starts[inner], ends[inner])]] = True
        known = known[paths]
        longest = int((made.unit[ends[inner] - 1] - made.unit[made.starts[inner]]).max()) + 1
    for i in np.flatnonzero(last).tolist():
        a, b = int(made.starts[i]), int(made.ends[i])
        units = made.unit[a:b] - made.unit[a]
        fits = np.bincount(units, weights=known[a:b]) > 0
        fits[longest:] = False
        fits[0] = True
        ends[i] = a + int(np.searchsorted(units, len(fits) if fits.all() else int(fits.argmin())))
    return _kept(made, ends, _bodies(leaves, made, ends, _alike(paths, made.starts, ends)))


def _bodies(leaves: Leaves, made: Cut, ends: Ints, kept: Flags) -> Flags:
    """Of the pieces kept, those that are more than headings of a table; all of them where none is."""
    heads = leaves.heads
    if not heads.any():
        return kept
    bodies = kept & ~np.array([heads[a:b].all() for a, b in zip(made.starts.tolist(), ends.tolist(), strict=True)])
    return bodies if bodies.any() else kept


def _kept(made: Cut, ends: Ints, kept: Flags) -> Cut:
    return Cut(
        made.starts[kept], ends[kept], made.depth, made.unit, made.container[kept], made.below,
        made.container_end[kept], made.keys,
    )  # fmt: skip


def _alike(paths: NDArray[np.generic], starts: Ints, ends: Ints) -> Flags:
    """Which pieces share enough with the others: of their own paths how common they are, of the usual paths how many they have."""
    n = len(starts)
    if n < 4:
        return np.ones(n, dtype=bool)
    piece = np.repeat(np.arange(n), ends - starts)
    names, code = np.unique(paths[spread(starts, ends)], return_inverse=True)
    pairs = np.unique(piece * len(names) + code)
    piece, code = pairs // len(names), pairs % len(names)
    share = np.bincount(code, minlength=len(names)) / n
    common = np.bincount(piece, weights=share[code], minlength=n) / np.bincount(piece, minlength=n)
    has = np.bincount(piece, weights=(share >= USUAL)[code], minlength=n)
    kept = (common >= ALIKE * np.median(common)) & (has >= ALIKE * np.median(has))
    return np.asarray(kept if kept.sum() >= 2 else np.ones(n, dtype=bool))


def spread(starts: Ints, ends: Ints) -> Ints:
    """The leaves of all ranges, one after the other."""
    size = ends - starts
    return (np.arange(int(size.sum())) + np.repeat(starts - np.concatenate(([0], np.cumsum(size)[:-1])), size)).astype(
        np.int32
    )
