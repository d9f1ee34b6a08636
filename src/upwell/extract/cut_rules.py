"""Cut rules: how the answers of a source are cut into records, learned from several answers and applied to later ones.

The words (container, unit, leader, key, cut) are those of `cut_candidates`.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import median
from typing import NamedTuple

import numpy as np

from upwell.extract.cut_candidates import MIN_LIKENESS, MIN_TO_COMPARE, USUAL_SHARE, Cut, CutKey, How
from upwell.extract.leaves import SEPARATOR_TAGS, Leaves, step_of
from upwell.page.compiled import compiled
from upwell.page.spots import Spot, fold

__all__ = ["SWITCH_MARGIN", "CutRule", "ScoredCut", "ScoredPage", "apply_rule", "learn_rules", "plain_cuts"]

MAX_RULES = 4  # rules of one source
# A cut whose score is this far below the best of the source says nothing about where records are.
VOTE_REACH = 12.0  # swept with SWITCH_MARGIN: 8 … 20 are equal on answers/*, 4, 6 and 40 lose
# An answer follows another rule than the first one only if the cut of that rule scores this much more.
SWITCH_MARGIN = 2.0  # swept with VOTE_REACH: 0.25 … 2 are equal on answers/*, 4 loses half a point

MAX_KNOWN_SPOTS = 10_000  # that a rule remembers
UNKNOWN_PATH = -1.0  # in place of the share of a path that no record had
HOW: dict[How, int] = {"is": 0, "has": 1, "after": 2, "begins": 3}  # as page/c/cuts.c has it


@dataclass(frozen=True, kw_only=True)
class CutRule:
    """Where the records of a source are, what each begins with and what they are made of, as `source.json` has it."""

    container: str = ""  # path of the containers: `html/body/ol.results`
    container_by_class: bool = False  # whether that path includes classes
    all_containers: bool = True  # all containers of an answer together hold the records, or one of them does
    how: How = "is"
    leader: str = ""  # a path, "" for a text of the container; for "after" the separator tags: `br br`
    leader_by_class: bool = False
    share: Mapping[str, float] = field(
        default_factory=dict
    )  # path below the container: share of the records that have it
    longest: int = 0  # units of the longest record

    @cached_property
    def key(self) -> CutKey:
        """Container and leader as numbers."""
        if self.how == "after":
            names = self.leader.split()
            leader = sum(min(names.count(name), 2) << (2 * k) for k, name in enumerate(SEPARATOR_TAGS))
        else:
            leader = fold(self.leader) if self.leader else 0
        return CutKey(
            self.all_containers, self.container_by_class, fold(self.container), self.how, self.leader_by_class, leader
        )

    @cached_property
    def path_shares(self) -> dict[int, float]:
        """`share` by the number that a path has on every page."""
        above = "/".join(step.partition(".")[0] for step in self.container.split("/"))
        return {fold(f"{above}/{path}" if path else above): share for path, share in self.share.items()}

    @cached_property
    def known_spots(self) -> "dict[Spot, SpotInfo]":
        """What is known of the spots of the pages that were read with this rule."""
        return {}

    def of_spot(self, spot: Spot) -> "SpotInfo":
        """What the rule says of a spot: whether it is a container (1) or a leader (2) or both, its path of tags, and the share of that."""
        key = self.key
        is_container = (spot.classed if key.container_by_class else spot.tagged) == key.container
        is_leader = (spot.classed if key.leader_by_class else spot.tagged) == key.leader
        if len(self.known_spots) > MAX_KNOWN_SPOTS:
            self.known_spots.clear()
        info = is_container + 2 * is_leader, spot.tagged, self.path_shares.get(spot.tagged, UNKNOWN_PATH)
        self.known_spots[spot] = info
        return info

    @cached_property
    def mean_path_share(self) -> float:
        """How common the paths of a record are, on average."""
        shares = self.share.values()
        return sum(share * share for share in shares) / max(1e-9, sum(shares))

    @cached_property
    def usual_paths(self) -> int:
        """How many paths are usual."""
        return sum(share >= USUAL_SHARE for share in self.share.values())


SpotInfo = tuple[int, int, float]


class ScoredCut(NamedTuple):
    """A candidate, and how much speaks for it (`pagelets.score`)."""

    cut: Cut
    score: float


class ScoredPage(NamedTuple):
    """An answer that is learned from, with its candidates."""

    leaves: Leaves
    cuts: Sequence[ScoredCut]

    def best_score(self, key: CutKey | None = None) -> float:
        """The highest score of all candidates, or of those that a key leads to."""
        return max((score for cut, score in self.cuts if key is None or key in cut.keys), default=-np.inf)


def learn_rules(pages: Sequence[ScoredPage]) -> tuple[CutRule, ...]:
    """The rule with the most votes over all answers, and further rules for the answers that have a clearly better cut.

    A candidate votes for each key that leads to it, and the more its score exceeds the best score of the source less `VOTE_REACH`,
    the more its vote counts.
    """
    best = max((score for page in pages for _, score in page.cuts), default=0.0)
    rules: list[CutRule] = []
    open_pages = list(pages)
    while open_pages and len(rules) < MAX_RULES:
        votes: defaultdict[CutKey, float] = defaultdict(float)
        for page in open_pages:
            for key, vote in _votes(page, best).items():
                votes[key] += vote
        if not votes:
            break
        key = max(votes, key=lambda k: (round(votes[k], 6), k.how == "is", k.container_by_class, k.all_containers, k))
        rules.append(_rule(key, open_pages))
        open_pages = [page for page in open_pages if page.best_score(key) < page.best_score() - SWITCH_MARGIN]
    return tuple(rules)


def _votes(page: ScoredPage, best: float) -> dict[CutKey, float]:
    """The vote of one answer for each key: that of the best candidate that the key leads to."""
    votes: dict[CutKey, float] = {}
    for cut, score in page.cuts:
        if score > best - VOTE_REACH:
            for key in cut.keys:
                votes[key] = max(votes.get(key, 0.0), score - best + VOTE_REACH)
    return votes


def _rule(key: CutKey, pages: Sequence[ScoredPage]) -> CutRule:
    """A key as a readable rule, with what the records are made of that it gives on the answers."""
    cuts: list[tuple[Leaves, Cut]] = []
    for page in pages:
        scores = [(score, i) for i, (cut, score) in enumerate(page.cuts) if key in cut.keys]
        if scores:
            cuts.append((page.leaves, page.cuts[max(scores)[1]].cut))
    leaves = cuts[0][0]
    if key.how == "after":
        leader = " ".join(name for k, name in enumerate(SEPARATOR_TAGS) for _ in range(key.leader >> (2 * k) & 3))
    else:
        leader = _readable(leaves, key.leader, key.leader_by_class) if key.leader else ""
    records = sum(len(cut) for _, cut in cuts)
    counts: Counter[str] = Counter()
    for page_leaves, cut in cuts:
        counts.update(_path_counts(page_leaves, cut))
    return CutRule(
        container=_readable(leaves, key.container, key.container_by_class),
        container_by_class=key.container_by_class,
        all_containers=key.all_containers,
        how=key.how,
        leader=leader,
        leader_by_class=key.leader_by_class,
        share={path: round(n / records, 3) for path, n in counts.most_common()},
        longest=max(_longest(cut) for _, cut in cuts),
    )


def _readable(leaves: Leaves, path: int, by_class: bool) -> str:
    """A path as text, from a row of the page that has it."""
    tree = leaves.tree
    row = int(np.flatnonzero((leaves.class_paths if by_class else leaves.tag_paths) == np.uint64(path))[0])
    return "/".join(reversed([step_of(tree, r, by_class) for r in (row, *tree.ancestors(row))]))


def _path_counts(leaves: Leaves, cut: Cut) -> Counter[str]:
    """For each path below the container, the number of records that have it."""
    tree = leaves.tree
    spot_paths: dict[int, str] = {}
    counts: Counter[str] = Counter()
    for a, b in zip(cut.starts.tolist(), cut.ends.tolist(), strict=True):
        for row in leaves.row[a:b].tolist():
            spot = tree.spot_of[row]
            if spot not in spot_paths:
                chain = [row, *tree.ancestors(row)][: tree.spots[spot].depth - cut.depth]
                spot_paths[spot] = "/".join(tree.name(r) for r in reversed(chain))
        counts.update({spot_paths[tree.spot_of[row]] for row in leaves.row[a:b].tolist()})
    return counts


def _longest(cut: Cut) -> int:
    """The units of the longest record; the last of a container may have taken in what follows, and counts only if all are last."""
    units = cut.unit[cut.ends - 1] - cut.unit[cut.starts] + 1
    inner = cut.ends < cut.container_end
    return int(units[inner if inner.any() else slice(None)].max(initial=1))


def apply_rule(leaves: Leaves, rule: CutRule) -> list[Cut]:
    """The cuts that a rule gives on a page: one, or for a rule of one container a cut for each container that has leaders."""
    fast = leaves.for_compiled
    return plain_cuts(leaves, rule) if fast is None else _compiled_cuts(leaves, fast, rule)


def _compiled_cuts(leaves: Leaves, fast: "compiled.Leaves", rule: CutRule) -> list[Cut]:
    key = rule.key
    limits = USUAL_SHARE, MIN_LIKENESS, MIN_TO_COMPARE
    records, units, unit_rows = fast.cuts(
        rule.known_spots,
        rule.of_spot,
        HOW[key.how],
        key.all_containers,
        key.leader,
        rule.mean_path_share,
        float(rule.usual_paths),
        rule.longest,
        leaves.separators_before if key.how == "after" else b"",
        limits,
    )
    unit, unit_row = np.frombuffer(units, np.int32), np.frombuffer(unit_rows, np.int32)
    cuts = []
    for columns in records:
        first, end, container, container_end = [np.frombuffer(column, np.int32) for column in columns]
        depth = leaves.tree.spots[int(leaves.tree.spot[container[0]])].depth
        cuts.append(_without_headings(leaves, Cut(first, end, depth, unit, container, unit_row, container_end)))
    return cuts


def plain_cuts(leaves: Leaves, rule: CutRule) -> list[Cut]:
    """The same without the compiled parts."""
    tree, key = leaves.tree, rule.key
    paths = [spot.classed if key.container_by_class else spot.tagged for spot in tree.spots]
    rows = tree.at_spots([i for i, path in enumerate(paths) if path == key.container])
    containers = rows[leaves.row_end[rows] > leaves.row_start[rows]].tolist()
    if not containers:
        return []
    cutter = _Cutter(leaves, rule)
    groups = [containers] if key.all_containers else [[row] for row in containers]
    cuts = [cut for group in groups if (cut := cutter.cut(group)) is not None]
    units, unit_rows = np.array(cutter.unit, np.int32), np.array(cutter.unit_row, np.int32)
    return [_without_headings(leaves, replace(cut, unit=units, unit_row=unit_rows)) for cut in cuts]


def _without_headings(leaves: Leaves, cut: Cut) -> Cut:
    """The cut without table rows that only name columns, unless there is nothing else."""
    in_heading = leaves.in_heading_row
    if in_heading is None:
        return cut
    ranges = zip(cut.starts.tolist(), cut.ends.tolist(), strict=True)
    kept = [i for i, (first, end) in enumerate(ranges) if not in_heading[first:end].all()]
    if not kept or len(kept) == len(cut):
        return cut
    return replace(
        cut,
        starts=cut.starts[kept],
        ends=cut.ends[kept],
        container=cut.container[kept],
        container_end=cut.container_end[kept],
    )


class _Cutter:
    """Applies a rule to the containers of one page, which do not lie in each other: they have the same path."""

    def __init__(self, leaves: Leaves, rule: CutRule) -> None:
        self.leaves, self.rule, self.key = leaves, rule, rule.key
        spots = leaves.tree.spots
        self.row, self.spot = leaves.rows, leaves.tree.spot_of
        self.tag_path = [spot.tagged for spot in spots]
        by_class, leader = self.key.leader_by_class, self.key.leader
        self.is_leader_path = [(spot.classed if by_class else spot.tagged) == leader for spot in spots]
        self.known_likeness: dict[tuple[int, ...], tuple[float, float]] = {}  # by the spots of a record's leaves
        self.unit, self.unit_row = [0] * len(leaves), [-1] * len(leaves)

    def cut(self, containers: list[int]) -> Cut | None:
        """The records in some containers, but for `unit` and `unit_row`, which all cuts share; None where there are none."""
        leaves, unit, unit_row = self.leaves, self.unit, self.unit_row
        records: list[tuple[int, int, int, int]] = []  # first leaf, end, container, end of the container
        likeness: list[tuple[float, float]] = []
        for container in containers:
            starts, rows, container_end = self._units(container)
            leaders = []
            for i, (a, b) in enumerate(zip(starts, [*starts[1:], container_end], strict=True)):
                unit[a:b], unit_row[a:b] = [i] * (b - a), [rows[i]] * (b - a)
                if self._leads(a, rows[i], b):
                    leaders.append(i)
            for i, after in zip(leaders, [*leaders[1:], len(starts)], strict=False):
                a = starts[i]
                b = starts[after] if after < len(starts) else self._end_of_last(starts, i, container_end)
                likeness.append(self._likeness(a, b))
                records.append((a, b, container, container_end))
        mean_share, usual_paths = self.rule.mean_path_share, float(self.rule.usual_paths)
        if (
            len(records) >= MIN_TO_COMPARE
        ):  # records of one page may have less in common than those of all pages together
            mean_share = min(mean_share, median([share for share, _ in likeness]))
            usual_paths = min(usual_paths, median([usual for _, usual in likeness]))
        kept = [
            record
            for record, (share, usual) in zip(records, likeness, strict=True)
            if share >= MIN_LIKENESS * mean_share and usual >= MIN_LIKENESS * usual_paths
        ]
        if not kept:
            return None
        first, end, container_of, end_of_container = np.ascontiguousarray(np.array(kept, dtype=np.int32).T)
        depth = leaves.tree.spots[self.spot[containers[0]]].depth
        return Cut(first, end, depth, first[:0], container_of, first[:0], end_of_container)

    def _units(self, container: int) -> tuple[list[int], list[int], int]:
        """The units of a container: where each begins, its row (-1: a text of the container), and where the last ends."""
        leaves, tree = self.leaves, self.leaves.tree
        subtree = slice(container, int(tree.end[container]))
        row_end = tree.end[subtree].tolist()
        leaf_start, leaf_end = leaves.row_start[subtree].tolist(), leaves.row_end[subtree].tolist()
        starts, rows = [], []
        leaf, child = leaf_start[0], 1
        while child < len(row_end):
            if leaf_end[child] > leaf_start[child]:
                for own_text in range(leaf, leaf_start[child]):
                    starts.append(own_text)
                    rows.append(-1)
                starts.append(leaf_start[child])
                rows.append(container + child)
                leaf = leaf_end[child]
            child = row_end[child] - container
        own_texts = range(leaf, leaf_end[0])
        return [*starts, *own_texts], rows + [-1] * len(own_texts), leaf_end[0]

    def _leads(self, start: int, row: int, end: int) -> bool:
        """Whether a unit is a leader."""
        how, is_leader_path = self.key.how, self.is_leader_path
        if how == "is":
            return row < 0 if not self.key.leader else row >= 0 and is_leader_path[self.spot[row]]
        if how == "after":
            return bool(self.leaves.separators_before[start] == self.key.leader)
        inside = range(start, end if how == "has" else start + 1)
        return any(is_leader_path[self.spot[self.row[leaf]]] for leaf in inside)

    def _end_of_last(self, starts: list[int], i: int, container_end: int) -> int:
        """Where the last record of a container ends: before a unit without a known path, at the latest after `longest` units."""
        known, longest = self.rule.path_shares, max(1, self.rule.longest)
        for start, end in zip(starts[i + 1 : i + longest], [*starts[i + 2 :], container_end], strict=False):
            if not any(self.tag_path[self.spot[self.row[leaf]]] in known for leaf in range(start, end)):
                return start
        return [*starts, container_end][min(i + longest, len(starts))]

    def _likeness(self, start: int, end: int) -> tuple[float, float]:
        """How common the paths of a record are on average, and how many of them are usual."""
        spots = tuple([self.spot[row] for row in self.row[start:end]])
        if spots not in self.known_likeness:
            paths = dict.fromkeys([self.tag_path[spot] for spot in spots])
            shares = [self.rule.path_shares.get(path, 0.0) for path in paths]
            self.known_likeness[spots] = sum(shares) / len(shares), sum(share >= USUAL_SHARE for share in shares)
        return self.known_likeness[spots]
