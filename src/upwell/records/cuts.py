"""Enumerate the ways to cut a page into repeated pieces, one of which gives the records of the answer (Thor's QA-Objects).

    container   a row, or all rows with the same path, that may contain records
    unit        direct child of a container with text, or a text of the container itself
    leader      unit that begins a record; the record ends before the next leader, or with the container
    key         path of the containers, and how leaders are recognised: they have, begin with or are a path, or
                follow separator tags (<hr>, <br><br> …)
    cut         the records of one page as ranges of leaves

`candidate_cuts` returns all cuts and `records.evidence` scores them. Unlike in Thor §IV and Thor-objects §3, the separator heuristics do not
vote: each generates candidates. `cuts_by_links` finds cuts from known record URLs; `exclude_facet_cuts` removes cuts into facets.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from upwell.page.links import without_fragment
from upwell.page.tree import Ints
from upwell.records.leaves import Hashes, Leaves
from upwell.urls.arguments import parse_arguments

__all__ = [
    "MIN_LIKENESS",
    "USUAL_SHARE",
    "Cut",
    "CutKey",
    "LeaderTest",
    "candidate_cuts",
    "cuts_by_links",
    "exclude_facet_cuts",
    "leaves_in_ranges",
]


LeaderTest = Literal["has", "begins", "is", "after"]
MAX_RECORDS = 400  # a cut into more pieces divides the page into words, not into records
MIN_TEXT_SHARE = 0.02  # smallest share of the page's text in a container; swept: 0.005, 0.02, 0.05, no difference
# Pieces below this share of the median piece's similarity to the others are headings or advertisements.
MIN_LIKENESS = 0.4  # swept: 0.3 … 0.7 (docs/decisions/0010-score-every-way-to-cut-a-page-into-records.md); 0.6 and more lose on all corpora
USUAL_SHARE = 0.5  # a path is usual if this share of the pieces has it; swept: 0.3, 0.5, 0.7, a page of difference
MIN_TO_COMPARE = 4  # pieces needed before outliers are removed; not swept

Flags = NDArray[np.bool_]


class CutKey(NamedTuple):
    """Description of how a cut is made, as numbers that are the same on all pages of a source.

    Fields are in the order in which ties between keys are broken (`cut_rules.learn_rules`).
    """

    all_containers: bool  # all containers with the path together, or each separately
    container_by_class: bool  # the path of the container includes classes
    container: int
    how: LeaderTest
    leader_by_class: bool  # the path of the leader includes classes
    leader: int  # its path; 0: a text of the container; for "after": `Leaves.separators_before`


@dataclass(frozen=True, eq=False)
class Cut:
    """Records of a page: record i has the leaves from starts[i] to ends[i] (exclusive)."""

    starts: Ints
    ends: Ints
    depth: int  # depth of the containers
    unit: Ints  # number of the unit of each leaf of the page
    container: Ints  # row that contains each record
    unit_row: Ints  # row of the unit of each leaf of the page; -1 if the unit is a text of the container
    container_end: Ints  # for each record, the leaf after its container
    keys: set[CutKey] = field(default_factory=set)  # all keys that lead to this cut

    def __len__(self) -> int:
        return len(self.starts)

    def has_same_records(self, other: "Cut") -> bool:
        """Return True if two cuts have the same records."""
        return self is other or (np.array_equal(self.starts, other.starts) and np.array_equal(self.ends, other.ends))


def candidate_cuts(
    leaves: Leaves, chars: NDArray[np.float64] | None = None, *, max_records: int = MAX_RECORDS
) -> list[Cut]:
    """Return every distinct cut of a page into two or more records, with all keys that lead to it.

    `chars` weighs the text of each leaf, by default by its length (`evidence.weighed_chars`).
    """
    cuts: dict[tuple[bytes, bytes], Cut] = {}
    if len(leaves) < 2:
        return []
    by_tag = _PathTable(leaves, by_class=False)
    tables = [by_tag, _PathTable(leaves, by_class=True, like=by_tag)]
    chars_before = _sums(leaves.chars if chars is None else chars)
    is_option = np.isin(leaves.row, leaves.tree.rows("option"))  # options of a form are not records
    rows = leaves.ancestors_at(0)
    for depth in range(leaves.max_depth + 1):
        level = _Level(leaves, depth, rows)
        rows = level.unit_row
        container_chars = chars_before[level.ends] - chars_before[level.starts]
        groups = _container_groups(level, tables, container_chars, MIN_TEXT_SHARE * chars_before[-1])
        _add_cuts(cuts, leaves, level, groups, is_option, tables, max_records)
        del level, container_chars, groups  # before those of the next level are made
    del by_tag, tables, chars_before, is_option, rows
    return [_trimmed(leaves, cut) for cut in cuts.values()]


def _add_cuts(
    cuts: dict[tuple[bytes, bytes], Cut],
    leaves: Leaves,
    level: "_Level",
    groups: Iterator["_ContainerGroup"],
    is_option: Flags,
    tables: list["_PathTable"],
    max_records: int,
) -> None:
    """Add the cuts of a level, by starts and ends of their records."""
    depth = level.depth
    leaders_in: dict[bytes, list[_Leader]] = {}
    cut_at: dict[bytes, Cut] = {}  # by record starts: many leaders give the same cut
    for group in groups:
        ranges = group.containers.tobytes()  # a tag path and a class path often give the same containers
        if (leaders := leaders_in.get(ranges)) is None:
            inside = _inside(level.starts[group.containers], level.ends[group.containers])
            is_form = bool(is_option[inside].all())
            leaders = [] if is_form else list(_leaders(leaves, level, inside, tables, max_records))
            leaders_in[ranges] = leaders
            del inside
        for leader in leaders:
            record_starts = leader.starts.tobytes()
            if (known := cut_at.get(record_starts)) is None:
                cut = _cut(level, leader.starts, depth)
                known = cut_at[record_starts] = cuts.setdefault((record_starts, cut.ends.tobytes()), cut)
            if known.depth == depth:  # of containers with the same cut keep the shallowest
                known.keys.add(
                    CutKey(group.all_containers, group.by_class, group.path, leader.how, leader.by_class, leader.path)
                )


class _PathTable:
    """Paths of a page, numbered from 0 in the order of their hashes: `names[code[i]]` is the path of leaf i; 0 is "no path"."""

    def __init__(self, leaves: Leaves, *, by_class: bool, like: "_PathTable | None" = None) -> None:
        self.by_class = by_class
        self._tree = leaves.tree
        signatures = leaves.tree.signature_set
        of_signature: Hashes = signatures.class_path if by_class else signatures.tag_path
        self.names: Hashes = np.unique(np.append(of_signature, np.uint64(0)))
        self._code_of_signature: Ints = np.searchsorted(self.names, of_signature).astype(np.int32)
        is_same = like is not None and np.array_equal(like._code_of_signature, self._code_of_signature)
        self.code: Ints = like.code if like is not None and is_same else self.of_rows(leaves.row)

    def name_of(self, row: int) -> int:
        """Return the path of a row."""
        return int(self.names[self._code_of_signature[self._tree.signature[row]]])

    def of_rows(self, rows: Ints) -> Ints:
        """Return the number of the path of each row; 0 for rows below 0."""
        code = self._code_of_signature[self._tree.signature[rows]]
        code[rows < 0] = 0
        return code


class _Level:
    """Rows of one depth as containers, with their units."""

    def __init__(self, leaves: Leaves, depth: int, container: Ints) -> None:
        n = len(leaves)
        self.depth = depth
        self.container, self.unit_row = container, leaves.ancestors_at(depth + 1)
        begins_container = np.ones(n, dtype=bool)
        begins_container[1:] = self.container[1:] != self.container[:-1]
        self.begins_unit = begins_container.copy()
        self.begins_unit[1:] |= (self.unit_row[1:] != self.unit_row[:-1]) | (self.unit_row[1:] < 0)
        self.unit = np.cumsum(self.begins_unit, dtype=np.int32)
        self.unit -= 1
        self.unit_start = np.flatnonzero(self.begins_unit).astype(np.int32)
        starts = np.flatnonzero(begins_container).astype(np.int32)
        ends = np.append(starts[1:], np.int32(n))
        is_row = self.container[starts] >= 0
        self.starts, self.ends, self.rows = starts[is_row], ends[is_row], self.container[starts[is_row]]
        self.container_end = np.repeat(ends, ends - starts)  # of each leaf


class _ContainerGroup(NamedTuple):
    """Containers that are cut together, as numbers among the containers of the level."""

    all_containers: bool
    by_class: bool
    path: int
    containers: NDArray[np.integer]


def _container_groups(
    level: _Level, tables: Sequence[_PathTable], chars: NDArray[np.number], min_chars: float
) -> Iterator[_ContainerGroup]:
    """Yield the containers of a level separately, and those with the same path together, if they have enough text.

    `chars` is the text of each container; the first of the tables has the paths of tags.
    """
    has_units = level.unit[level.ends - 1] > level.unit[level.starts]
    for at in np.flatnonzero(has_units & (chars >= min_chars)):
        yield _ContainerGroup(False, False, tables[0].name_of(int(level.rows[at])), np.array([at]))
    for table in tables:
        codes = table.of_rows(level.rows)
        order = np.argsort(codes, kind="stable").astype(np.int32)
        begins = np.searchsorted(codes[order], np.arange(len(table.names) + 1)).tolist()
        groups = [(int(order[a]), code) for code, (a, b) in enumerate(pairwise(begins)) if b - a > 1]
        for _, code in sorted(groups):  # in order of appearance
            same_path = order[begins[code] : begins[code + 1]]
            if np.cumsum(chars[same_path])[-1] >= min_chars:
                yield _ContainerGroup(True, table.by_class, int(table.names[code]), same_path)


class _Leader(NamedTuple):
    """Test for leaders, with the leaves at which they begin."""

    how: LeaderTest
    by_class: bool
    path: int
    starts: Ints


def _inside(starts: Ints, ends: Ints) -> Ints | slice:
    """Return the leaves of several containers; as a slice, of which no copy is needed, if nothing is between them."""
    if np.array_equal(starts[1:], ends[:-1]):
        return slice(int(starts[0]), int(ends[-1]))
    return leaves_in_ranges(starts, ends)


def _leaders(
    leaves: Leaves, level: _Level, inside: Ints | slice, tables: list[_PathTable], max_records: int
) -> Iterator[_Leader]:
    """Yield every way to recognise leaders that finds at least two among the units of a container group."""
    units = level.unit[inside]
    starts = (
        level.unit_start[units[0] : units[-1] + 1] if isinstance(inside, slice) else inside[level.begins_unit[inside]]
    )
    width = len(level.unit_start) + 1
    for table in tables:
        is_small = len(table.names) * width < 2**31
        path_in_unit: NDArray[Any] = table.code[inside].astype(np.int32 if is_small else np.int64)
        path_in_unit *= width
        path_in_unit += units
        path_in_unit.sort()
        changes = np.ones(len(path_in_unit), dtype=bool)
        np.not_equal(path_in_unit[1:], path_in_unit[:-1], out=changes[1:])
        if not changes.all():
            path_in_unit = path_in_unit[changes]
        at = path_in_unit % width
        path_in_unit //= width
        for code, some in _by_name(path_in_unit, level.unit_start[at], max_records):
            yield _Leader("has", table.by_class, int(table.names[code]), some)
        del path_in_unit, at, changes
        for code, some in _by_name(table.code[starts], starts, max_records):
            yield _Leader("begins", table.by_class, int(table.names[code]), some)
        for code, some in _by_name(table.of_rows(level.unit_row[starts]), starts, max_records):
            yield _Leader("is", table.by_class, int(table.names[code]), some)
    for separators, some in _by_name(leaves.separators_before[starts].astype(np.int32), starts, max_records):
        if separators:
            yield _Leader("after", False, separators, some)


def _by_name(names: NDArray[np.integer], starts: Ints, max_records: int) -> Iterator[tuple[int, Ints]]:
    """Yield each name that 2 … `max_records` of the starts have, with these starts; names are small numbers."""
    if len(names) > max_records:  # most have a name that more starts have
        count = np.bincount(names)
        some = ((count >= 2) & (count <= max_records))[names].nonzero()[0]
        names, starts = names[some], starts[some]
    order = np.argsort(names, kind="stable")
    sorted_names = names[order]
    changes = (np.flatnonzero(sorted_names[1:] != sorted_names[:-1]) + 1).tolist()
    for a, b in zip([0, *changes], [*changes, len(order)], strict=True):
        if 2 <= b - a <= max_records:
            yield int(sorted_names[a]), starts[order[a:b]]


def _cut(level: _Level, starts: Ints, depth: int) -> Cut:
    """Return the cut in which each start begins a record that ends at the next start or at the end of its container."""
    container_end = level.container_end[starts]
    ends = container_end.copy()
    np.minimum(starts[1:], container_end[:-1], out=ends[:-1])
    return Cut(starts, ends, depth, level.unit, level.container[starts], level.unit_row, container_end)


def _trimmed(leaves: Leaves, cut: Cut) -> Cut:
    """Remove the text after the last record of each container, and pieces unlike all others."""
    paths = leaves.path_code
    ends = cut.ends.copy()
    is_last = ends == cut.container_end
    inner = np.flatnonzero(~is_last)
    if len(inner):
        is_known = np.zeros(int(paths.max()) + 1, dtype=bool)
        is_known[paths[leaves_in_ranges(cut.starts[inner], ends[inner])]] = True
        has_known_path = is_known[paths]
        longest = int((cut.unit[ends[inner] - 1] - cut.unit[cut.starts[inner]]).max()) + 1
    for i in np.flatnonzero(is_last).tolist() if len(inner) else ():  # if all are last, nothing shows where records end
        a, b = int(cut.starts[i]), int(cut.ends[i])
        units = cut.unit[a:b] - cut.unit[a]
        belongs = np.bincount(units, weights=has_known_path[a:b]) > 0
        belongs[longest:] = False
        belongs[0] = True
        ends[i] = a + int(np.searchsorted(units, len(belongs) if belongs.all() else int(belongs.argmin())))
    return _selected(cut, ends, _without_headings(leaves, cut, ends, _similar_pieces(paths, cut.starts, ends)))


def _without_headings(leaves: Leaves, cut: Cut, ends: Ints, kept: Flags) -> Flags:
    """Exclude pieces that are only table headings, unless all are."""
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


def _similar_pieces(paths: Ints, starts: Ints, ends: Ints) -> Flags:
    """Return a mask of the pieces that have enough in common with the others.

    Two measures are compared with the median piece: how common a piece's own paths are, and how many of the usual paths it has.
    """
    n = len(starts)
    if n < MIN_TO_COMPARE:
        return np.ones(n, dtype=bool)
    width = int(paths.max()) + 1
    small = np.int32 if n * width < 2**31 else np.int64
    pairs: NDArray[Any] = np.repeat(np.arange(0, n * width, width, dtype=small), ends - starts)
    pairs += paths[leaves_in_ranges(starts, ends)]
    pairs = np.unique(pairs)
    piece, code = np.divmod(pairs, width)
    share = np.bincount(code) / n
    mean_share = np.bincount(piece, weights=share[code], minlength=n) / np.bincount(piece, minlength=n)
    usual_paths = np.bincount(piece, weights=(share >= USUAL_SHARE)[code], minlength=n)
    kept = (mean_share >= MIN_LIKENESS * _median(mean_share)) & (usual_paths >= MIN_LIKENESS * _median(usual_paths))
    return np.asarray(kept if kept.sum() >= 2 else np.ones(n, dtype=bool))


def _median(values: NDArray[np.number]) -> float:
    """Return the median; faster than `np.median` for few numbers."""
    ordered = np.sort(values).tolist()
    middle = len(ordered) // 2
    return float(ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2)


def leaves_in_ranges(starts: NDArray[np.integer], ends: NDArray[np.integer]) -> Ints:
    """Return the leaves of several ranges in order."""
    sizes = ends - starts
    after = np.cumsum(sizes)
    leaves = np.arange(int(after[-1]) if len(after) else 0, dtype=np.int32)
    if len(starts) == 1:
        np.add(leaves, np.int32(starts[0]), out=leaves)
    else:
        leaves += np.repeat((starts - after + sizes).astype(np.int32), sizes)
    return leaves


# Cuts by known record URLs.

MIN_SHARE = 0.8  # share of pieces with exactly one record URL, and of record URLs inside a piece; not swept
MAX_LINKED_RECORDS = 20_000  # safety limit: records per page: a complete listing may be one page


def cuts_by_links(leaves: Leaves, is_record_url: Callable[[str], bool]) -> list[Cut]:
    """Return the cuts whose pieces have one record URL each and that contain nearly all record URLs."""
    numbers: dict[str, int] = {}
    number_of_leaf = np.full(len(leaves), -1, dtype=np.int64)
    for row, url in leaves.tree.links():
        url = without_fragment(url)
        if is_record_url(url):
            first, last = int(leaves.row_start[row]), int(leaves.row_end[row])
            if first < last:
                number_of_leaf[first:last] = numbers.setdefault(url, len(numbers))
    cuts = []
    for cut in candidate_cuts(leaves, max_records=MAX_LINKED_RECORDS) if numbers else ():
        inside = leaves_in_ranges(cut.starts, cut.ends)
        piece = np.repeat(np.arange(len(cut)), cut.ends - cut.starts)
        number = number_of_leaf[inside]
        pairs = np.unique(np.stack([piece[number >= 0], number[number >= 0]], axis=1), axis=0)
        in_piece = np.bincount(pairs[:, 0], minlength=len(cut))
        if (in_piece == 1).mean() >= MIN_SHARE and len(np.unique(pairs[:, 1])) >= MIN_SHARE * len(numbers):
            cuts.append(cut)
    return cuts


# Facets: links that narrow the query (same page, its arguments and at least one more) or check boxes, each with a count: a number in
# brackets or alone. They change with the query as records do.

Sums = NDArray[np.int64]
MIN_FACET_SHARE = 0.8  # share of the pieces of a facet cut with a count, a narrowing link and no other links; not swept
# a number of matches; four digits like a year are one: "Author (2010)" is a record, though its link may add arguments to the query
NUMBER = r"(?!(?:1[5-9]|20)\d\d(?!\d))\d{1,3}(?:[.,'\u00a0\u202f ]?\d{3})*"
MAX_SHARE = 0.2  # largest share of pieces of a record cut that are mostly facets; not swept
BOXES = ("checkbox", "radio")
COUNT = re.compile(rf"[(\[{{（［【]\s*{NUMBER}\s*[)\]}}）］】]\W*$|^\W*{NUMBER}\W*$")


def exclude_facet_cuts(leaves: Leaves, cuts: Sequence[Cut]) -> list[Cut]:
    """Remove cuts in which many pieces are facets: cuts into facets, or into columns of which one holds facets."""
    narrows = _in_narrowing_links(leaves)
    if not narrows.any():
        return list(cuts)
    marks = (
        _sums(narrows | _behind_boxes(leaves)),
        _sums(leaves.is_linked & ~narrows),
        _sums(np.array([COUNT.search(text) is not None for text in leaves.texts], dtype=bool)),
    )
    in_facets = np.zeros(len(leaves), dtype=bool)
    for cut in cuts:
        is_facet = _are_facets(cut, *marks)
        if is_facet.mean() >= MIN_FACET_SHARE:
            in_facets[leaves_in_ranges(cut.starts[is_facet], cut.ends[is_facet])] = True
    chars, of_facets = _sums(leaves.chars), _sums(leaves.chars * in_facets)
    return [
        cut
        for cut in cuts
        if np.mean(2 * (of_facets[cut.ends] - of_facets[cut.starts]) > chars[cut.ends] - chars[cut.starts]) <= MAX_SHARE
    ]


def _are_facets(cut: Cut, narrows: Sums, others: Sums, counts: Sums) -> NDArray[np.bool_]:
    """Return a mask of the pieces that are facets, including the text up to the next piece; marks are prefix sums over the leaves."""
    ends = np.maximum(cut.ends, np.minimum(np.append(cut.starts[1:], cut.container_end[-1]), cut.container_end))
    has_narrowing, has_others, has_count = (marks[ends] > marks[cut.starts] for marks in (narrows, others, counts))
    return np.asarray(has_narrowing & ~has_others & has_count)


def _in_narrowing_links(leaves: Leaves) -> NDArray[np.bool_]:
    tree = leaves.tree
    path, own = _path_and_arguments(tree.url)
    narrows = np.zeros(len(leaves), dtype=bool)
    for row, url in tree.links():
        other_path, arguments = _path_and_arguments(url)
        if other_path == path and arguments > own:
            narrows[leaves.row_start[row] : leaves.row_end[row]] = True
    return narrows


def _behind_boxes(leaves: Leaves) -> NDArray[np.bool_]:
    """Return a mask of the leaves that follow a check box or radio button."""
    tree, behind = leaves.tree, np.zeros(len(leaves) + 1, dtype=bool)
    boxes = [row for row in tree.rows("input").tolist() if (tree.attr(row, "type") or "").lower() in BOXES]
    behind[leaves.row_start[boxes]] = True
    return behind[:-1]


def _path_and_arguments(url: str) -> tuple[str, set[tuple[str, str]]]:
    """Return the path of a URL, and its arguments with a value."""
    parts = urlsplit(url)
    return f"{parts.netloc}{parts.path.rstrip('/')}", {pair for pair in parse_arguments(parts.query) if pair[1]}


def _sums(values: NDArray[Any]) -> NDArray[Any]:
    sums = np.zeros(len(values) + 1, dtype=np.result_type(values.dtype, np.int64))
    np.cumsum(values, out=sums[1:])
    return sums
