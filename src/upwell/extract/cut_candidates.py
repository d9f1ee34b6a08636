"""Every way to cut one page into repeated pieces, one of which gives the records of the answer (Thor's QA-Objects).

    container   a row, or all rows with the same path, that may hold records
    unit        what stands directly below a container: a child with text, or a text of the container itself
    leader      the unit that a record begins with; the record ends before the next leader, or with the container
    key         where the containers are and how leaders are recognised: they have, begin with or are a path, or
                they follow separator tags (<hr>, <br><br> …)
    cut         the records of one page as ranges of leaves

Thor §IV phase 4 and Thor-objects §3; departs from them: the separators (count, deviation, identifiable tags, partial path,
repeating pattern, sibling pairs) do not vote. Each makes candidates, and `pagelets` scores the cuts that come out.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from upwell.extract.leaves import Hashes, Leaves
from upwell.page.tree import Ints

__all__ = ["MIN_LIKENESS", "USUAL_SHARE", "Cut", "CutKey", "How", "candidates", "leaves_in"]

How = Literal["has", "begins", "is", "after"]
MAX_RECORDS = 400  # a cut into more pieces than this cuts the page into words, not into records
# A container with less than this share of the page's text holds no records.
MIN_TEXT_SHARE = 0.02  # swept: 0.005, 0.02, 0.05, no difference
# A piece that has less than this part of what the median piece has in common with the others is a heading or an advertisement.
MIN_LIKENESS = 0.4  # swept: 0.3 … 0.7 (docs/decisions/0010-record-extraction.md); 0.6 and more lose on all corpora
USUAL_SHARE = 0.5  # a path is usual if this share of the pieces has it; swept: 0.3, 0.5, 0.7, a page of difference
MIN_TO_COMPARE = 4  # fewer pieces say nothing about which of them is odd; not swept

Flags = NDArray[np.bool_]


class CutKey(NamedTuple):
    """How a cut is made, as numbers that are the same on all pages of a source.

    Fields are in the order in which ties between keys are broken (`cut_rules.learn_rules`).
    """

    all_containers: bool  # all containers with the path together, or each by itself
    container_by_class: bool  # the path of the container includes classes
    container: int
    how: How
    leader_by_class: bool  # the path of the leader includes classes
    leader: int  # its path; 0: a text of the container; for "after": `Leaves.separators_before`


@dataclass(frozen=True, eq=False)
class Cut:
    """The records of one page: record i is the leaves starts[i] … ends[i]."""

    starts: Ints
    ends: Ints
    depth: int  # of the containers
    unit: Ints  # for each leaf of the page, the number of its unit
    container: Ints  # for each record, the row that holds it
    unit_row: Ints  # for each leaf of the page, the row of its unit, or -1 where the unit is a text of the container
    container_end: Ints  # for each record, the leaf where its container ends
    keys: set[CutKey] = field(default_factory=set)  # all that lead to this cut

    def __len__(self) -> int:
        return len(self.starts)

    def has_same_records(self, other: "Cut") -> bool:
        """Whether two cuts have the same records."""
        return self is other or (np.array_equal(self.starts, other.starts) and np.array_equal(self.ends, other.ends))


def candidates(
    leaves: Leaves, chars: NDArray[np.float64] | None = None, *, max_records: int = MAX_RECORDS
) -> list[Cut]:
    """Every cut of a page into two records or more, each once, with all the keys that lead to it.

    `chars` is how much the text of each leaf counts, where that is not its length (`pagelets.weighed_chars`).
    """
    cuts: dict[tuple[bytes, bytes], Cut] = {}
    if len(leaves) < 2:
        return []
    tables = [_PathTable(leaves, by_class=False), _PathTable(leaves, by_class=True)]
    chars_before = np.concatenate(([0], np.cumsum(leaves.chars if chars is None else chars)))
    is_option = np.isin(leaves.row, leaves.tree.rows("option"))  # what can be chosen in a form is no record
    for depth in range(leaves.max_depth + 1):
        level = _Level(leaves, depth)
        leaders_in: dict[tuple[tuple[int, int], ...], list[_Leader]] = {}
        cut_at: dict[bytes, Cut] = {}  # by where its records start: many leaders start the same ones
        for group in _container_groups(leaves, level):
            held = sum(float(chars_before[end] - chars_before[start]) for start, end in group.ranges)
            if held < MIN_TEXT_SHARE * chars_before[-1]:
                continue
            ranges = tuple(group.ranges)  # containers of one path of tags are often those of one path of classes
            if (leaders := leaders_in.get(ranges)) is None:
                inside = np.concatenate([np.arange(start, end, dtype=np.int32) for start, end in ranges])
                is_form = bool(is_option[inside].all())
                leaders = [] if is_form else list(_leaders(leaves, level, inside, tables, max_records))
                leaders_in[ranges] = leaders
            for leader in leaders:
                starts = leader.starts.tobytes()
                if (known := cut_at.get(starts)) is None:
                    cut = _cut(level, leader.starts, depth)
                    known = cut_at[starts] = cuts.setdefault((starts, cut.ends.tobytes()), cut)
                if known.depth == depth:  # two containers give the same cut: keep the shallower one
                    known.keys.add(
                        CutKey(
                            group.all_containers, group.by_class, group.path, leader.how, leader.by_class, leader.path
                        )
                    )
    return [_trimmed(leaves, cut) for cut in cuts.values()]


class _PathTable:
    """The paths of the leaves of a page, numbered from 0: `names[code[i]]` is the path of leaf i."""

    def __init__(self, leaves: Leaves, *, by_class: bool) -> None:
        self.by_class = by_class
        self.of_row: Hashes = leaves.class_paths if by_class else leaves.tag_paths
        names, code = np.unique(self.of_row[leaves.row], return_inverse=True)
        self.names: Hashes = names
        self.code: Ints = code.astype(np.int32)


class _Level:
    """The rows of one depth as containers, and their units."""

    def __init__(self, leaves: Leaves, depth: int) -> None:
        n = len(leaves)
        self.container, self.unit_row = leaves.ancestors_at(depth), leaves.ancestors_at(depth + 1)
        begins_container = np.ones(n, dtype=bool)
        begins_container[1:] = self.container[1:] != self.container[:-1]
        self.begins_unit = begins_container.copy()
        self.begins_unit[1:] |= (self.unit_row[1:] != self.unit_row[:-1]) | (self.unit_row[1:] < 0)
        self.unit = (np.cumsum(self.begins_unit) - 1).astype(np.int32)
        self.unit_start = np.flatnonzero(self.begins_unit).astype(np.int32)
        starts = np.flatnonzero(begins_container)
        ends = np.append(starts[1:], n)
        is_row = self.container[starts] >= 0
        self.starts, self.ends, self.rows = starts[is_row], ends[is_row], self.container[starts[is_row]]
        self.container_end = np.repeat(ends, np.diff(np.append(starts, n))).astype(np.int32)  # for each leaf


class _ContainerGroup(NamedTuple):
    """Containers that are cut together, as ranges of leaves."""

    all_containers: bool
    by_class: bool
    path: int
    ranges: list[tuple[int, int]]


def _container_groups(leaves: Leaves, level: _Level) -> Iterator[_ContainerGroup]:
    """The containers of a level one by one, and those with the same path together."""
    ranges = list(zip(level.starts.tolist(), level.ends.tolist(), strict=True))
    for row, (start, end) in zip(level.rows.tolist(), ranges, strict=True):
        if level.unit[end - 1] > level.unit[start]:
            yield _ContainerGroup(False, False, int(leaves.tag_paths[row]), [(start, end)])
    for by_class, paths in ((False, leaves.tag_paths), (True, leaves.class_paths)):
        by_path: dict[int, list[tuple[int, int]]] = {}
        for path, leaf_range in zip(paths[level.rows].tolist(), ranges, strict=True):
            by_path.setdefault(path, []).append(leaf_range)
        for path, same_path in by_path.items():
            if len(same_path) > 1:
                yield _ContainerGroup(True, by_class, path, same_path)


class _Leader(NamedTuple):
    """One way to recognise leaders, and the leaves that they begin with."""

    how: How
    by_class: bool
    path: int
    starts: Ints


def _leaders(
    leaves: Leaves, level: _Level, inside: Ints, tables: list[_PathTable], max_records: int
) -> Iterator[_Leader]:
    """Every way to recognise leaders that finds two or more among the units of a group of containers."""
    units = level.unit[inside]
    starts = inside[level.begins_unit[inside]]
    rows = level.unit_row[starts]
    width = len(level.unit_start) + 1
    for table in tables:
        path_in_unit = np.unique(table.code[inside].astype(np.int64) * width + units)
        for code, some in _by_name(path_in_unit // width, level.unit_start[path_in_unit % width], max_records):
            yield _Leader("has", table.by_class, int(table.names[code]), some)
        for code, some in _by_name(table.code[starts], starts, max_records):
            yield _Leader("begins", table.by_class, int(table.names[code]), some)
        names, codes = np.unique(np.where(rows >= 0, table.of_row[rows], np.uint64(0)), return_inverse=True)
        for code, some in _by_name(codes, starts, max_records):
            yield _Leader("is", table.by_class, int(names[code]), some)
    for separators, some in _by_name(leaves.separators_before[starts].astype(np.int64), starts, max_records):
        if separators:
            yield _Leader("after", False, separators, some)


def _by_name(names: NDArray[np.integer], starts: Ints, max_records: int) -> Iterator[tuple[int, Ints]]:
    """For each name that 2 … `max_records` of the starts have: the name, and these starts."""
    order = np.argsort(names, kind="stable")
    sorted_names = names[order]
    changes = (np.flatnonzero(sorted_names[1:] != sorted_names[:-1]) + 1).tolist()
    for a, b in zip([0, *changes], [*changes, len(order)], strict=True):
        if 2 <= b - a <= max_records:
            yield int(sorted_names[a]), starts[order[a:b]]


def _cut(level: _Level, starts: Ints, depth: int) -> Cut:
    """The cut in which each start begins a record that goes on to the next start, or to the end of its container."""
    container_end = level.container_end[starts]
    ends = container_end.copy()
    np.minimum(starts[1:], container_end[:-1], out=ends[:-1])
    return Cut(starts, ends, depth, level.unit, level.container[starts], level.unit_row, container_end)


def _trimmed(leaves: Leaves, cut: Cut) -> Cut:
    """The cut without what follows the last record of a container, and without pieces that look like none of the others."""
    paths = leaves.path_code
    ends = cut.ends.copy()
    is_last = ends == cut.container_end
    inner = np.flatnonzero(~is_last)
    if len(inner):
        is_known = np.zeros(int(paths.max()) + 1, dtype=bool)
        is_known[paths[leaves_in(cut.starts[inner], ends[inner])]] = True
        has_known_path = is_known[paths]
        longest = int((cut.unit[ends[inner] - 1] - cut.unit[cut.starts[inner]]).max()) + 1
    for i in np.flatnonzero(is_last).tolist() if len(inner) else ():  # where all are last, nothing tells what follows
        a, b = int(cut.starts[i]), int(cut.ends[i])
        units = cut.unit[a:b] - cut.unit[a]
        belongs = np.bincount(units, weights=has_known_path[a:b]) > 0
        belongs[longest:] = False
        belongs[0] = True
        ends[i] = a + int(np.searchsorted(units, len(belongs) if belongs.all() else int(belongs.argmin())))
    return _selected(cut, ends, _without_headings(leaves, cut, ends, _alike(paths, cut.starts, ends)))


def _without_headings(leaves: Leaves, cut: Cut, ends: Ints, kept: Flags) -> Flags:
    """Of the pieces kept, those that are more than headings of a table; all of them where there are only headings."""
    in_heading = leaves.in_heading_row
    if in_heading is None:
        return kept
    ranges = zip(cut.starts.tolist(), ends.tolist(), strict=True)
    bodies = kept & ~np.array([in_heading[a:b].all() for a, b in ranges])
    return bodies if bodies.any() else kept


def _selected(cut: Cut, ends: Ints, kept: Flags) -> Cut:
    return Cut(
        cut.starts[kept], ends[kept], cut.depth, cut.unit, cut.container[kept], cut.unit_row,
        cut.container_end[kept], cut.keys,
    )  # fmt: skip


def _alike(paths: Ints, starts: Ints, ends: Ints) -> Flags:
    """Which pieces have enough in common with the others.

    Two measures against the median piece: how common a piece's own paths are, and how many of the usual paths it has.
    """
    n = len(starts)
    if n < MIN_TO_COMPARE:
        return np.ones(n, dtype=bool)
    piece = np.repeat(np.arange(n), ends - starts)
    width = int(paths.max()) + 1
    pairs = np.unique(piece * width + paths[leaves_in(starts, ends)])
    piece, code = np.divmod(pairs, width)
    share = np.bincount(code) / n
    mean_share = np.bincount(piece, weights=share[code], minlength=n) / np.bincount(piece, minlength=n)
    usual_paths = np.bincount(piece, weights=(share >= USUAL_SHARE)[code], minlength=n)
    kept = (mean_share >= MIN_LIKENESS * _median(mean_share)) & (usual_paths >= MIN_LIKENESS * _median(usual_paths))
    return np.asarray(kept if kept.sum() >= 2 else np.ones(n, dtype=bool))


def _median(values: NDArray[np.number]) -> float:
    """As `np.median`, which takes many times as long for a few numbers."""
    ordered = np.sort(values).tolist()
    middle = len(ordered) // 2
    return float(ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2)


def leaves_in(starts: Ints, ends: Ints) -> Ints:
    """The leaves of several ranges, one range after the other."""
    sizes = ends - starts
    after = np.cumsum(sizes)
    places = np.arange(int(after[-1]) if len(after) else 0)
    return np.asarray(places + np.repeat(starts - after + sizes, sizes), dtype=np.int32)
