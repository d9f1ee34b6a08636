"""The region of an answer that holds the matches (Thor's QA-Pagelet): the cut of a page that the evidence speaks for.

    repetition   how many pieces, how alike they are, whether they could be cut further
    size         how much of the page they hold, how much one holds
    links        matches have links, navigation is nothing else
    change       what is not on the other answers of the source is an answer to the query (Thor §VI-B)
    query        where the query is known: its words stand in matches
    count        the page says itself how many it shows ("1 - 10 of 283"), or numbers them

Thor §VI ranks subtrees by change alone, which needs several pages; here change is one piece of evidence among others, so
that one page alone can be cut too.
"""

import re
from collections.abc import Collection, Iterable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from upwell.extract.cut_candidates import Cut, leaves_in
from upwell.extract.leaves import Leaves
from upwell.page.ranges import ranges
from upwell.page.tree import Ints, TagTree

__all__ = ["WEIGHTS", "Evidence", "locate", "score", "shown"]

Floats = NDArray[np.float64]
WORD = re.compile(r"\w+")
NUMBER = re.compile(r"^\W{0,2}(\d{1,4})\W{0,3}(?!\d)")
COUNT = re.compile(r"(?<![\d.,])\d{1,3}(?![\d.,]\d)")
MOST_SHOWN = 300  # a page that says it shows more than this means something else


class Evidence:
    """What can be asked of one page: prefix sums over its leaves, so that a cut costs as much as it has matches."""

    def __init__(self, leaves: Leaves, common: Collection[str] | None = None, query: str = "") -> None:
        self.leaves = leaves
        tree, n = leaves.tree, len(leaves)
        texts = leaves.texts
        self.classed = np.unique(leaves.class_paths[leaves.row], return_inverse=True)[1]
        self.plain = np.unique(leaves.layout_paths[leaves.row], return_inverse=True)[1]
        self.chars = _sums(leaves.chars)
        self.links = _sums(leaves.is_linked)
        self.link_chars = _sums(leaves.chars * leaves.is_linked)
        self.controls = _sums(leaves.chars * self._inside("select", "button", "textarea", "label", "option"))
        self.bold = self._inside("h1", "h2", "h3", "h4", "h5", "b", "strong") | leaves.is_linked
        self.bolds = _sums(self.bold)
        self.block = tree.chunk_gap[leaves.chunk] == 2 if n else np.zeros(0, dtype=bool)
        self.change = (
            None if common is None else _sums(leaves.chars * np.array([t not in common for t in texts], dtype=bool))
        )
        words = [word for word in WORD.findall(query.lower()) if len(word) > 1]
        self.asked = _sums(np.array([any(w in t.lower() for w in words) for t in texts], dtype=bool)) if words else None
        self.number = np.array([int(found[1]) if (found := NUMBER.match(t)) else -1 for t in texts], dtype=np.int64)

    def changing(self, cut: Cut) -> float:
        """The share of the text of a cut that is not on the other answers (1 where there are none)."""
        if self.change is None:
            return 1.0
        held = (self.chars[cut.ends] - self.chars[cut.starts]).sum()
        return float((self.change[cut.ends] - self.change[cut.starts]).sum() / max(1, held))

    @cached_property
    def shown(self) -> frozenset[int]:
        """How many matches the page may say that it shows: the lengths of its ranges of numbers."""
        return shown(self.leaves.texts)

    @cached_property
    def counts(self) -> frozenset[int]:
        """The small numbers on the page."""
        return frozenset(n for n in map(int, COUNT.findall(" ".join(self.leaves.texts))) if n > 2)

    @cached_property
    def before_classed(self) -> Ints:
        """The leaf before each leaf that has the same path (-1: none)."""
        return _previous(self.classed)

    @cached_property
    def before_plain(self) -> Ints:
        """The same for paths without classes and formatting."""
        return _previous(self.plain)

    def _inside(self, *names: str) -> NDArray[np.bool_]:
        steps = np.zeros(len(self.leaves) + 1, dtype=np.int32)
        rows = self.leaves.tree.rows(*names)
        np.add.at(steps, self.leaves.row_start[rows], 1)
        np.subtract.at(steps, self.leaves.row_end[rows], 1)
        return np.asarray(np.cumsum(steps)[:-1] > 0)


def shown(texts: Iterable[str]) -> frozenset[int]:
    """How many matches a page may say that it shows: the lengths of its ranges of numbers ("1 - 10 of 283": 10)."""
    spans = (last - first + 1 for first, last in ranges(" ".join(texts)))
    return frozenset(span for span in spans if 2 < span <= MOST_SHOWN)


def score(page: Evidence, cut: Cut) -> float:
    """How much speaks for a cut; only the order of the cuts of one source means something."""
    return float(sum(WEIGHTS[name] * value for name, value in features(page, cut).items()))


def features(page: Evidence, cut: Cut) -> dict[str, float]:
    """The evidence about a cut, by name."""
    leaves, s, e, n = page.leaves, cut.starts, cut.ends, len(cut)
    every = leaves_in(s, e)
    piece_start = np.repeat(s, e - s)
    chars, size = (page.chars[e] - page.chars[s]).astype(np.float64), (e - s).astype(np.float64)
    links, link_chars = page.links[e] - page.links[s], page.link_chars[e] - page.link_chars[s]
    held, total, mean = max(1.0, chars.sum()), max(1, int(page.chars[-1])), float(chars.mean())
    units = (cut.unit[e - 1] - cut.unit[s] + 1).astype(np.float64)
    group = np.flatnonzero(np.append(True, np.diff(cut.container_end) != 0))
    container = cut.container[group]
    container_chars = (page.chars[leaves.row_end[container]] - page.chars[leaves.row_start[container]]).sum()
    below = cut.unit_row[s]
    parted = leaves.separators_before[s]
    found = {
        "ln_matches": np.log(n),
        "only_two": n == 2,
        "cover": held / total,
        "ln_held": np.log1p(held),
        "ln_chars": np.log1p(mean),
        "ln_chars_squared": np.log1p(mean) ** 2,
        "link_share": link_chars.sum() / held,
        "with_link": (links > 0).mean(),
        "only_link": (link_chars >= 0.95 * chars).mean(),
        "ln_beside_links": np.log1p((chars - link_chars).mean()),
        "deviation_chars": min(2.0, chars.std() / max(1.0, mean)),
        "deviation_leaves": min(2.0, size.std() / size.mean()),
        "deviation_units": min(2.0, units.std() / units.mean()),
        "ln_units": np.log(units.mean()),
        "one_unit": (units == 1).mean()
        if len(group) < n
        else 0.0,  # one in each container: a part of what stands above
        "left_between": 1 - held / max(1, int(page.chars[e[-1]] - page.chars[s[0]])),
        "last_path": _top(page.classed[np.maximum(s, e - 1)]),
        "leader_tag": _top(np.where(below >= 0, leaves.tree.tag[below], -1) + 1),
        "first_bold": page.bold[s].mean(),
        "soon_bold": (page.bolds[np.minimum(e, s + 3)] > page.bolds[s]).mean(),
        "of_container": held / max(1, container_chars),
        "ln_containers": np.log(len(group)),
        "alone_in_container": len(group) == n,
        "before": page.chars[s[0]] / total,
        "after": 1 - page.chars[e[-1]] / total,
        "numbered": ((np.diff(page.number[s]) == 1) & (page.number[s][1:] > 0)).mean() if n > 2 else 0.0,
        "says_range": n in page.shown,
        "says_count": n in page.counts,
        "parted_alike": _top(np.unique(parted, return_inverse=True)[1]),
        "parted": (parted > 0).mean(),
        "block": page.block[s].mean(),
        "controls": (page.controls[e] - page.controls[s]).sum() / held,
        "changing": 0.0,
        "cover_changing": 0.0,
        "with_query": 0.0,
        "cover_query": 0.0,
    }
    for name, path, before in (
        ("classed", page.classed, page.before_classed),
        ("plain", page.plain, page.before_plain),
    ):
        firsts = path[every[before[every] < piece_start]]  # each path of each piece once
        often = np.bincount(firsts)
        found[f"regular_{name}"] = (often * often).sum() / (n * len(firsts))
        found[f"ln_paths_{name}"] = np.log(len(firsts) / n)
        found[f"ln_repeats_{name}"] = np.log(len(every) / len(firsts))
        found[f"rare_{name}"] = (often == 1).sum() / len(firsts) if n > 2 else 0.0
    if page.change is not None:
        changing = (page.change[e] - page.change[s]).sum()
        found["changing"] = changing / held - MEAN_CHANGING
        found["cover_changing"] = changing / max(1, page.change[-1]) - MEAN_COVER_CHANGING
    if page.asked is not None:
        asked = page.asked[e] - page.asked[s]
        found["with_query"] = (asked > 0).mean() - MEAN_WITH_QUERY
        found["cover_query"] = asked.sum() / max(1, page.asked[-1]) - MEAN_COVER_QUERY
    return {name: float(value) for name, value in found.items()}


# What a cut has on average: a page without other pages, or without its query, is taken to have it (0 in the features).
MEAN_CHANGING, MEAN_COVER_CHANGING, MEAN_WITH_QUERY, MEAN_COVER_QUERY = 0.8, 0.5, 0.4, 0.4

# Fitted so that the cut with the highest score has the highest expected F1 (softmax over the cuts of a page, L2 0.001), each
# site weighing the same; checked by leaving out a fifth of the sites at a time (docs/decisions/0010-record-extraction.md).
WEIGHTS: dict[str, float] = {
    "ln_matches": 2.57,
    "only_two": -0.338,
    "cover": 9.64,
    "ln_held": 1.61,
    "ln_chars": 0.519,
    "ln_chars_squared": -0.0338,
    "link_share": 1.18,
    "with_link": 2.83,
    "only_link": -4.8,
    "ln_beside_links": -0.474,
    "deviation_chars": -3.53,
    "deviation_leaves": -0.904,
    "deviation_units": -9.48,
    "ln_units": -1.88,
    "one_unit": 3.16,
    "left_between": -3.09,
    "last_path": 3.51,
    "leader_tag": 10.9,
    "first_bold": 0.104,
    "soon_bold": 0.322,
    "of_container": 5.26,
    "ln_containers": -0.403,
    "alone_in_container": 0.425,
    "before": -3,
    "after": -1.92,
    "numbered": 2.97,
    "says_range": 3.33,
    "says_count": 0.326,
    "parted_alike": 0.328,
    "parted": 2.84,
    "block": 4.64,
    "controls": -2.79,
    "changing": 4.49,
    "cover_changing": 5.5,
    "with_query": 2.45,
    "cover_query": 0.145,
    "regular_classed": 2.23,
    "ln_paths_classed": 0.401,
    "ln_repeats_classed": -2.16,
    "rare_classed": -0.598,
    "regular_plain": 7.41,
    "ln_paths_plain": -1.21,
    "ln_repeats_plain": -0.366,
    "rare_plain": -5.24,
}


def locate(tree: TagTree, weight: Floats, share: float = 1.0) -> int:
    """The deepest row that holds this share of the weight; `weight` is one number a chunk: how much of it is an answer.

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


def _sums(values: NDArray[np.generic]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(values, dtype=np.int64)))


def _top(names: NDArray[np.integer]) -> float:
    """The share of the most frequent."""
    return float(np.bincount(names).max() / len(names))


def _previous(path: NDArray[np.integer]) -> Ints:
    order = np.argsort(path, kind="stable")
    same = path[order][1:] == path[order][:-1]
    found = np.full(len(path), -1, dtype=np.int32)
    found[order[1:][same]] = order[:-1][same]
    return found
