"""Cut rules: how the answers of a source are cut into records, learned from several answers and applied to later ones.

`learn_rules` chooses the keys (`records.cuts`) that most answers agree on, `apply_rule` cuts a page with a rule. `learn_group_heading` and
`read_groups` handle headings above groups of records; `add_sibling_records` adds records outside the container of the others.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from upwell.native import compiled
from upwell.page.path_signatures import MAX_CACHED_SETS, SignatureSet, hash_path
from upwell.records.cuts import MIN_LIKENESS, MIN_TO_COMPARE, USUAL_SHARE, Cut, CutKey, LeaderTest
from upwell.records.leaves import SEPARATOR_TAGS, Leaves, path_step

__all__ = [
    "GROUP_FIELD",
    "SWITCH_MARGIN",
    "CutRule",
    "ScoredCut",
    "ScoredPage",
    "add_sibling_records",
    "apply_rule",
    "apply_rule_python",
    "learn_group_heading",
    "learn_rules",
    "read_groups",
]

MAX_RULES = 4  # rules per source
# Cuts that score this far below the best cut of the source do not vote.
VOTE_REACH = 12.0  # swept with SWITCH_MARGIN: 8 … 20 are equal on answers/*, 4, 6 and 40 lose
# An answer uses a later rule only if the cut of that rule scores this much more than that of the first.
SWITCH_MARGIN = 2.0  # swept with VOTE_REACH: 0.25 … 2 are equal on answers/*, 4 loses half a point
UNKNOWN_PATH = -1.0  # in place of the share of a path that no record had
LEADER_TEST_CODES: dict[LeaderTest, int] = {"is": 0, "has": 1, "after": 2, "begins": 3}  # as native/cuts.c has it


@dataclass(frozen=True, kw_only=True)
class CutRule:
    """Position and structure of the records of a source, as stored in `source.json`."""

    container: str = ""  # path of the containers: `html/body/ol.results`
    container_by_class: bool = False  # whether that path includes classes
    all_containers: bool = True  # all containers of an answer together hold the records, or one of them does
    how: LeaderTest = "is"
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
            leader = hash_path(self.leader) if self.leader else 0
        return CutKey(
            self.all_containers,
            self.container_by_class,
            hash_path(self.container),
            self.how,
            self.leader_by_class,
            leader,
        )

    @cached_property
    def path_shares(self) -> dict[int, float]:
        """`share` by path hash."""
        above = "/".join(step.partition(".")[0] for step in self.container.split("/"))
        return {hash_path(f"{above}/{path}" if path else above): share for path, share in self.share.items()}

    @cached_property
    def _known_sets(self) -> "dict[SignatureSet, SignatureColumns]":
        """Cache of `columns_of_signatures` for the pages read with this rule."""
        return {}

    def columns_of_signatures(self, signatures: SignatureSet) -> "SignatureColumns":
        """Return what the rule says about each signature of a page, for the native code."""
        if signatures not in self._known_sets:
            key, paths = self.key, signatures.tag_path
            container_paths = signatures.class_path if key.container_by_class else paths
            leader_paths = signatures.class_path if key.leader_by_class else paths
            is_container = container_paths == np.uint64(key.container)
            is_leader = leader_paths == np.uint64(key.leader)
            shares = [self.path_shares.get(path, UNKNOWN_PATH) for path in paths.tolist()]
            if len(self._known_sets) >= MAX_CACHED_SETS:
                self._known_sets.clear()
            self._known_sets[signatures] = SignatureColumns(
                (is_container + 2 * is_leader).astype(np.int32),
                np.unique(paths, return_inverse=True)[1].astype(np.int32),
                np.array(shares),
            )
        return self._known_sets[signatures]

    @cached_property
    def mean_path_share(self) -> float:
        """Mean share of the paths of a record."""
        shares = self.share.values()
        return sum(share * share for share in shares) / max(1e-9, sum(shares))

    @cached_property
    def usual_paths(self) -> int:
        """Number of usual paths."""
        return sum(share >= USUAL_SHARE for share in self.share.values())


class SignatureColumns(NamedTuple):
    """What a rule says about the signatures of a page."""

    flags: NDArray[np.int32]  # 1: container, 2: leader
    path: NDArray[np.int32]  # number of the tag path, from 0
    share: NDArray[np.float64]  # share of the records that have the path, or UNKNOWN_PATH


class ScoredCut(NamedTuple):
    """Candidate cut with its score (`evidence.score_cut`)."""

    cut: Cut
    score: float


class ScoredPage(NamedTuple):
    """Answer to learn from, with its candidate cuts."""

    leaves: Leaves
    cuts: Sequence[ScoredCut]

    def best_score(self, key: CutKey | None = None) -> float:
        """Return the highest score of all candidates, or of those that a key leads to."""
        return max((score for cut, score in self.cuts if key is None or key in cut.keys), default=-np.inf)


def learn_rules(pages: Sequence[ScoredPage]) -> tuple[CutRule, ...]:
    """Return the rule with most votes over all answers, and further rules for answers that have a clearly better cut.

    A candidate votes for each key that leads to it, weighted by how far its score exceeds the best score of the source minus `VOTE_REACH`.
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
    """Return the vote of one answer for each key: that of the best candidate the key leads to."""
    votes: dict[CutKey, float] = {}
    for cut, score in page.cuts:
        if score > best - VOTE_REACH:
            for key in cut.keys:
                votes[key] = max(votes.get(key, 0.0), score - best + VOTE_REACH)
    return votes


def _rule(key: CutKey, pages: Sequence[ScoredPage]) -> CutRule:
    """Turn a key into a readable rule, with the paths of the records that it gives on the answers."""
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
    """Return a hashed path as text, from a row of the page that has it."""
    tree = leaves.tree
    row = int(np.flatnonzero((leaves.class_paths if by_class else leaves.tag_paths) == np.uint64(path))[0])
    return "/".join(reversed([path_step(tree, r, by_class) for r in (row, *tree.ancestors(row))]))


def _path_counts(leaves: Leaves, cut: Cut) -> Counter[str]:
    """Count the records that have each path below the container."""
    tree = leaves.tree
    signature_paths: dict[int, str] = {}
    counts: Counter[str] = Counter()
    for a, b in zip(cut.starts.tolist(), cut.ends.tolist(), strict=True):
        for row in leaves.row[a:b].tolist():
            signature = tree.signature_of[row]
            if signature not in signature_paths:
                chain = [row, *tree.ancestors(row)][: tree.signatures[signature].depth - cut.depth]
                signature_paths[signature] = "/".join(tree.name(r) for r in reversed(chain))
        counts.update({signature_paths[tree.signature_of[row]] for row in leaves.row[a:b].tolist()})
    return counts


def _longest(cut: Cut) -> int:
    """Return the units of the longest record; last records of containers count only if all are last, as they may include more."""
    units = cut.unit[cut.ends - 1] - cut.unit[cut.starts] + 1
    inner = cut.ends < cut.container_end
    return int(units[inner if inner.any() else slice(None)].max(initial=1))


def apply_rule(leaves: Leaves, rule: CutRule) -> list[Cut]:
    """Return the cuts of a rule on a page: one, or one per container with leaders if the rule is for single containers."""
    native_leaves = leaves.native
    return apply_rule_python(leaves, rule) if native_leaves is None else _native_cuts(leaves, native_leaves, rule)


def _native_cuts(leaves: Leaves, native_leaves: "compiled.Leaves", rule: CutRule) -> list[Cut]:
    key = rule.key
    limits = USUAL_SHARE, MIN_LIKENESS, MIN_TO_COMPARE
    records, units, unit_rows = native_leaves.cuts(
        *rule.columns_of_signatures(leaves.tree.signature_set),
        LEADER_TEST_CODES[key.how],
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
        depth = leaves.tree.signatures[int(leaves.tree.signature[container[0]])].depth
        cuts.append(_without_headings(leaves, Cut(first, end, depth, unit, container, unit_row, container_end)))
    return cuts


def apply_rule_python(leaves: Leaves, rule: CutRule) -> list[Cut]:
    """Compute `apply_rule` without native code."""
    tree, key = leaves.tree, rule.key
    paths = [signature.class_path if key.container_by_class else signature.tag_path for signature in tree.signatures]
    rows = tree.rows_with_signatures([i for i, path in enumerate(paths) if path == key.container])
    containers = rows[leaves.row_end[rows] > leaves.row_start[rows]].tolist()
    if not containers:
        return []
    cutter = _Cutter(leaves, rule)
    groups = [containers] if key.all_containers else [[row] for row in containers]
    cuts = [cut for group in groups if (cut := cutter.cut(group)) is not None]
    units, unit_rows = np.array(cutter.unit, np.int32), np.array(cutter.unit_row, np.int32)
    return [_without_headings(leaves, replace(cut, unit=units, unit_row=unit_rows)) for cut in cuts]


def _without_headings(leaves: Leaves, cut: Cut) -> Cut:
    """Remove table rows that only name columns, unless there is nothing else."""
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
    """Application of a rule to the containers of one page; none contains another, as they have the same path."""

    def __init__(self, leaves: Leaves, rule: CutRule) -> None:
        self.leaves, self.rule, self.key = leaves, rule, rule.key
        signatures = leaves.tree.signatures
        self.row, self.signature = leaves.rows, leaves.tree.signature_of
        self.tag_path = [signature.tag_path for signature in signatures]
        by_class, leader = self.key.leader_by_class, self.key.leader
        self.is_leader_path = [
            (signature.class_path if by_class else signature.tag_path) == leader for signature in signatures
        ]
        self.known_likeness: dict[tuple[int, ...], tuple[float, float]] = {}  # by the signatures of a record's leaves
        self.unit, self.unit_row = [0] * len(leaves), [-1] * len(leaves)

    def cut(self, containers: list[int]) -> Cut | None:
        """Return the records of some containers, without `unit` and `unit_row`, which all cuts share; None if there are none."""
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
        if len(records) >= MIN_TO_COMPARE:  # records of a page may have less in common than those of all pages
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
        depth = leaves.tree.signatures[self.signature[containers[0]]].depth
        return Cut(first, end, depth, first[:0], container_of, first[:0], end_of_container)

    def _units(self, container: int) -> tuple[list[int], list[int], int]:
        """Return the units of a container: the start of each, its row (-1: a text of the container), and the end of the last."""
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
        """Return True if a unit is a leader."""
        how, is_leader_path = self.key.how, self.is_leader_path
        if how == "is":
            return row < 0 if not self.key.leader else row >= 0 and is_leader_path[self.signature[row]]
        if how == "after":
            return bool(self.leaves.separators_before[start] == self.key.leader)
        inside = range(start, end if how == "has" else start + 1)
        return any(is_leader_path[self.signature[self.row[leaf]]] for leaf in inside)

    def _end_of_last(self, starts: list[int], i: int, container_end: int) -> int:
        """Return the end of the last record of a container: before a unit without a known path, at most `longest` units."""
        known, longest = self.rule.path_shares, max(1, self.rule.longest)
        for start, end in zip(starts[i + 1 : i + longest], [*starts[i + 2 :], container_end], strict=False):
            if not any(self.tag_path[self.signature[self.row[leaf]]] in known for leaf in range(start, end)):
                return start
        return [*starts, container_end][min(i + longest, len(starts))]

    def _likeness(self, start: int, end: int) -> tuple[float, float]:
        """Return the mean share of the paths of a record, and its number of usual paths."""
        signatures = tuple([self.signature[row] for row in self.row[start:end]])
        if signatures not in self.known_likeness:
            paths = dict.fromkeys([self.tag_path[signature] for signature in signatures])
            shares = [self.rule.path_shares.get(path, 0.0) for path in paths]
            self.known_likeness[signatures] = sum(shares) / len(shares), sum(share >= USUAL_SHARE for share in shares)
        return self.known_likeness[signatures]


# Group headings: leaves in <h1> … <h6>, <th>, <caption> and similar right before a record. A heading belongs to the records after it.

GROUP_FIELD = "group"  # name of the field with the heading
HEADING_TAGS = ("h1", "h2", "h3", "h4", "h5", "h6", "th", "caption", "legend", "summary")
# Share of the answers with a heading between records; not swept. An answer may have only one group.
MIN_PAGES_SHARE = 0.2


def learn_group_heading(pages: Sequence[tuple[Leaves, Cut]]) -> int:
    """Return the class path of group headings; 0 if records have no groups.

    The leaf before the first record must have the same path as the leaf before some later records, but not before all: that would be the end
    of every record.
    """
    votes: Counter[int] = Counter()
    for leaves, cut in pages:
        before = _paths_before(leaves, cut)
        first, later = before[:1], before[1:]
        often = sum(path == first[0] for path in later) if first else 0
        if first and first[0] and 0 < often < len(later):
            votes[first[0]] += 1
    path, count = max(votes.items(), key=lambda vote: (vote[1], vote[0]), default=(0, 0))
    return path if count and count >= MIN_PAGES_SHARE * len(pages) else 0


def read_groups(leaves: Leaves, cut: Cut, heading: int) -> tuple[Cut, list[str]]:
    """Remove headings at the ends of records; return the cut and the heading above each record, "" if there is none."""
    if not heading:
        return cut, [""] * len(cut)
    is_heading = _heading_paths(leaves) == np.uint64(heading)
    heading_leaves = np.flatnonzero(is_heading).tolist()
    ends = cut.ends.copy()
    for i, (start, end) in enumerate(zip(cut.starts.tolist(), ends.tolist(), strict=True)):
        while end - 1 > start and is_heading[end - 1]:
            end -= 1
        ends[i] = end
    above: list[str] = []
    for start in cut.starts.tolist():
        earlier = [leaf for leaf in heading_leaves if leaf < start]
        above.append(leaves.texts[earlier[-1]].strip() if earlier else "")
    return replace(cut, ends=ends), above


def _paths_before(leaves: Leaves, cut: Cut) -> list[int]:
    """Return the path of the leaf before each record, or 0 if it is not a heading."""
    paths = _heading_paths(leaves)
    starts = cut.starts.tolist()
    own = set(paths[starts].tolist())  # paths with which records begin
    return [int(paths[start - 1]) if start and int(paths[start - 1]) not in own else 0 for start in starts]


def _heading_paths(leaves: Leaves) -> NDArray[np.uint64]:
    """Return the path of each leaf in a heading, 0 for other leaves."""
    steps = np.zeros(len(leaves) + 1, dtype=np.int32)
    rows = leaves.tree.rows(*HEADING_TAGS)
    np.add.at(steps, leaves.row_start[rows], 1)
    np.subtract.at(steps, leaves.row_end[rows], 1)
    inside = np.cumsum(steps)[:-1] > 0
    return np.where(inside, leaves.class_paths[leaves.row], np.uint64(0))


def add_sibling_records(leaves: Leaves, cut: Cut) -> Cut:
    """Add siblings of the containers that have the tag and class of all records: a list may show its first match before the rest."""
    tree, units = leaves.tree, cut.unit_row[cut.starts]
    if units.min() < 0:
        return cut
    unit, *others = {
        (at.tag, at.cls) for at in [tree.signatures[signature] for signature in set(tree.signature[units].tolist())]
    }
    if others or not unit[1]:
        return cut
    same_look = tree.rows_with_signatures(tree.signature_set.with_tag_and_class(*unit))
    if len(same_look) == len(units):
        return cut
    is_sibling = np.isin(tree.parent[same_look], tree.parent[np.unique(cut.container)]) & ~np.isin(
        same_look, cut.container
    )
    rows = np.setdiff1d(same_look[is_sibling & (leaves.row_end[same_look] > leaves.row_start[same_look])], units)
    if not len(rows):
        return cut
    unit_row = cut.unit_row.copy()
    for row in rows.tolist():
        unit_row[leaves.row_start[row] : leaves.row_end[row]] = row
    starts = np.concatenate([cut.starts, leaves.row_start[rows]]).astype(np.int32)
    order = np.argsort(starts, kind="stable")
    above = tree.parent[rows]
    return replace(
        cut,
        starts=starts[order],
        ends=np.concatenate([cut.ends, leaves.row_end[rows]]).astype(np.int32)[order],
        container=np.concatenate([cut.container, above]).astype(np.int32)[order],
        container_end=np.concatenate([cut.container_end, leaves.row_end[above]]).astype(np.int32)[order],
        unit_row=unit_row,
    )
