"""Score the cuts of a page by the evidence that they give the records of the answer (Thor's QA-Pagelet).

    repetition   number of records, their similarity, whether they could be cut further
    size         share of the page's text, text per record
    links        records have links; navigation has nothing else
    change       texts that other answers of the source do not have depend on the query (Thor §VI-B)
    query        words of the query, if it is known, occur in records
    count        the page states how many records it shows ("1 - 10 of 283"), or numbers them

Thor §VI ranks subtrees by change alone, which needs several pages. Here change is one feature among others, so that a single page can be cut.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from upwell.answers.totals import ranges_in
from upwell.judge.judgement import load_judgement
from upwell.page.path_signatures import BROKEN
from upwell.page.tree import Ints, TagTree
from upwell.records.cuts import Cut, leaves_in_ranges
from upwell.records.leaves import Leaves

__all__ = [
    "CUT_FEATURES",
    "Evidence",
    "cut_features",
    "cut_weights",
    "query_words",
    "score",
    "score_cut",
    "smallest_row_with",
    "stated_page_sizes",
    "weighed_chars",
]

Floats = NDArray[np.float64]
WORD = re.compile(r"\w+")
RECORD_NUMBER = re.compile(r"^\W{0,2}(\d{1,4})\W{0,3}(?!\d)")
SMALL_NUMBER = re.compile(r"(?<![\d.,])\d{1,3}(?![\d.,]\d)")
MAX_UNCHANGING = 20.0  # constant text of a page counts at most this many times its changing text
MAX_PAGE_SIZE = 300  # longer ranges of numbers do not state the number of records shown
# Features of a cut; `python -m benchmarks.fit record_cut` fits their weights (`judge/weights/record_cut.json`).
CUT_FEATURES = (
    "ln_records", "only_two", "cover", "ln_held", "ln_chars", "ln_chars_squared", "link_share", "with_link", "only_link", "ln_unlinked",
    "deviation_chars", "deviation_leaves", "deviation_units", "ln_units", "one_unit", "gaps_between", "last_path", "leader_tag",
    "begins_bold", "bold_near_start", "of_container", "ln_containers", "alone_in_container", "text_before", "text_after", "numbered",
    "states_range", "states_count", "same_separators", "separated", "begins_block", "controls", "changing", "cover_changing",
    "with_query", "cover_query", "regular_classed", "ln_paths_classed", "ln_repeats_classed", "rare_classed", "regular_layout",
    "ln_paths_layout", "ln_repeats_layout", "rare_layout",
)  # fmt: skip


class Evidence:
    """Page prepared so that the features of a cut cost time proportional to its records.

    Attributes that end in `_before` are prefix sums over the leaves: leaves a … b have `chars_before[b] - chars_before[a]` characters.
    """

    def __init__(self, leaves: Leaves, common: Collection[str] | None = None, query: str = "") -> None:
        """Prepare a page; `common` are texts that other answers of the source also have, None if there are no other answers."""
        self.leaves = leaves
        texts = leaves.texts
        self.class_path = np.unique(leaves.class_paths[leaves.row], return_inverse=True)[1]
        self.layout_path = np.unique(leaves.layout_paths[leaves.row], return_inverse=True)[1]
        is_changing = None
        if common is not None:
            is_changing = np.array([text not in common for text in texts], dtype=bool)
        chars = weighed_chars(leaves, is_changing)
        self.chars_before = _prefix_sums(chars)
        self.links_before = _prefix_sums(leaves.is_linked)
        self.link_chars_before = _prefix_sums(chars * leaves.is_linked)
        in_control = self._inside("select", "button", "textarea", "label", "option")
        self.control_chars_before = _prefix_sums(chars * in_control)
        self.is_bold = self._inside("h1", "h2", "h3", "h4", "h5", "b", "strong") | leaves.is_linked
        self.bold_before = _prefix_sums(self.is_bold)
        self.begins_block = leaves.tree.chunk_gap[leaves.chunk] == BROKEN if len(leaves) else np.zeros(0, dtype=bool)
        self.changing_chars_before = None
        if is_changing is not None:
            self.changing_chars_before = _prefix_sums(leaves.chars * is_changing)
        self.query_before = None
        if words := query_words(query):
            has_query = np.array([any(word in text.lower() for word in words) for text in texts], dtype=bool)
            self.query_before = _prefix_sums(has_query)
        numbers = [int(number[1]) if (number := RECORD_NUMBER.match(text)) else -1 for text in texts]
        self.number = np.array(numbers, dtype=np.int64)

    @cached_property
    def stated_sizes(self) -> frozenset[int]:
        """Numbers of records that the page may state."""
        return stated_page_sizes(self.leaves.texts)

    @cached_property
    def small_numbers(self) -> frozenset[int]:
        """Numbers from 3 to 999 on the page."""
        return frozenset(n for n in map(int, SMALL_NUMBER.findall(" ".join(self.leaves.texts))) if n > 2)

    @cached_property
    def previous_same_class_path(self) -> Ints:
        """For each leaf, the previous leaf with the same class path; -1: none."""
        return _previous_equal(self.class_path)

    @cached_property
    def previous_same_layout_path(self) -> Ints:
        """For each leaf, the previous leaf with the same path without classes and formatting; -1: none."""
        return _previous_equal(self.layout_path)

    def _inside(self, *names: str) -> NDArray[np.bool_]:
        """Return a mask of the leaves inside elements with these names."""
        steps = np.zeros(len(self.leaves) + 1, dtype=np.int32)
        rows = self.leaves.tree.rows(*names)
        np.add.at(steps, self.leaves.row_start[rows], 1)
        np.subtract.at(steps, self.leaves.row_end[rows], 1)
        return np.asarray(np.cumsum(steps)[:-1] > 0)


def weighed_chars(leaves: Leaves, is_changing: NDArray[np.bool_] | None) -> Floats:
    """Return the weight of each leaf: its characters, reduced for texts that all answers have if these are nearly the whole page.

    A menu of the whole site on every page then does not dwarf a list of ten records.
    """
    chars = np.asarray(leaves.chars, dtype=np.float64)
    if is_changing is None:
        return chars
    changing = float(chars[is_changing].sum())
    unchanging = float(chars.sum()) - changing
    if not changing or unchanging <= MAX_UNCHANGING * changing:
        return chars
    return np.where(is_changing, chars, chars * MAX_UNCHANGING * changing / unchanging)


def stated_page_sizes(texts: Iterable[str]) -> frozenset[int]:
    """Return the numbers of records that a page may state: the lengths of its ranges of numbers.

    >>> stated_page_sizes(["Results", "11 - 20 of 283"])
    frozenset({10})
    """
    sizes = (last - first + 1 for first, last in ranges_in(" ".join(texts)))
    return frozenset(size for size in sizes if 2 < size <= MAX_PAGE_SIZE)


def query_words(query: str) -> list[str]:
    """Return the words of a query with at least two letters, lower-cased."""
    return [word for word in WORD.findall(query.lower()) if len(word) > 1]


def score_cut(evidence: Evidence, cut: Cut) -> float:
    """Return the score of a cut; only the order among the cuts of one source is meaningful."""
    return score(cut_features(evidence, cut))


def score(features: Mapping[str, float]) -> float:
    """Return the weighted sum of the features of a cut."""
    weights = cut_weights()
    return sum(weights[name] * value for name, value in features.items())


@cache
def cut_weights() -> Mapping[str, float]:
    """Return the fitted weight of each feature of a cut."""
    judgement = load_judgement("record_cut")
    if judgement.linear is None:
        raise ValueError("record_cut has no linear weights")
    return dict(zip(judgement.features, judgement.linear[0].tolist(), strict=True))


def cut_features(page: Evidence, cut: Cut) -> dict[str, float]:
    """Return the features of a cut by name."""
    leaves, s, e, n = page.leaves, cut.starts, cut.ends, len(cut)
    inside = leaves_in_ranges(s, e)
    record_start = np.repeat(s, e - s)
    chars, size = (page.chars_before[e] - page.chars_before[s]).astype(np.float64), (e - s).astype(np.float64)
    links = page.links_before[e] - page.links_before[s]
    link_chars = page.link_chars_before[e] - page.link_chars_before[s]
    held_chars, total = float(_sum(chars)), max(1, int(page.chars_before[-1]))
    record_chars, mean = max(1.0, held_chars), held_chars / n
    units = (cut.unit[e - 1] - cut.unit[s] + 1).astype(np.float64)
    is_first_of_container = np.ones(n, dtype=bool)
    np.not_equal(cut.container_end[1:], cut.container_end[:-1], out=is_first_of_container[1:])
    containers = cut.container[is_first_of_container]
    container_starts, container_ends = leaves.row_start[containers], leaves.row_end[containers]
    container_chars = _sum(page.chars_before[container_ends] - page.chars_before[container_starts])
    mean_size, mean_units = _sum(size) / n, _sum(units) / n
    leader_row = cut.unit_row[s]
    separators, numbers = leaves.separators_before[s], page.number[s]
    alone_in_container = len(containers) == n
    values = {
        "ln_records": np.log(n),
        "only_two": n == 2,
        "cover": record_chars / total,
        "ln_held": np.log1p(record_chars),
        "ln_chars": np.log1p(mean),
        "ln_chars_squared": np.log1p(mean) ** 2,
        "link_share": _sum(link_chars) / record_chars,
        "with_link": _share(links > 0),
        "only_link": _share(link_chars >= 0.95 * chars),
        "ln_unlinked": np.log1p(_sum(chars - link_chars) / n),
        "deviation_chars": min(2.0, _deviation(chars, mean) / max(1.0, mean)),
        "deviation_leaves": min(2.0, _deviation(size, mean_size) / mean_size),
        "deviation_units": min(2.0, _deviation(units, mean_units) / mean_units),
        "ln_units": np.log(mean_units),
        # a single record per container is rather a part of a larger record
        "one_unit": 0.0 if alone_in_container else _share(units == 1),
        "gaps_between": 1 - record_chars / max(1, int(page.chars_before[e[-1]] - page.chars_before[s[0]])),
        "last_path": _largest_share(page.class_path[np.maximum(s, e - 1)]),
        "leader_tag": _largest_share(np.where(leader_row >= 0, leaves.tree.tag[leader_row], -1) + 1),
        "begins_bold": _share(page.is_bold[s]),
        "bold_near_start": _share(page.bold_before[np.minimum(e, s + 3)] > page.bold_before[s]),
        "of_container": record_chars / max(1, container_chars),
        "ln_containers": np.log(len(containers)),
        "alone_in_container": alone_in_container,
        "text_before": page.chars_before[s[0]] / total,
        "text_after": 1 - page.chars_before[e[-1]] / total,
        "numbered": _share((numbers[1:] - numbers[:-1] == 1) & (numbers[1:] > 0)) if n > 2 else 0.0,
        "states_range": n in page.stated_sizes,
        "states_count": n in page.small_numbers,
        "same_separators": max(Counter(separators.tolist()).values()) / n,
        "separated": _share(separators > 0),
        "begins_block": _share(page.begins_block[s]),
        "controls": _sum(page.control_chars_before[e] - page.control_chars_before[s]) / record_chars,
        "changing": 0.0,
        "cover_changing": 0.0,
        "with_query": 0.0,
        "cover_query": 0.0,
    }
    for name, path, previous in (
        ("classed", page.class_path, page.previous_same_class_path),
        ("layout", page.layout_path, page.previous_same_layout_path),
    ):
        firsts = path[inside[previous[inside] < record_start]]  # each path of each record once
        records_with = np.bincount(firsts)
        values[f"regular_{name}"] = _sum(records_with * records_with) / (n * len(firsts))
        values[f"ln_paths_{name}"] = np.log(len(firsts) / n)
        values[f"ln_repeats_{name}"] = np.log(len(inside) / len(firsts))
        values[f"rare_{name}"] = np.count_nonzero(records_with == 1) / len(firsts) if n > 2 else 0.0
    if page.changing_chars_before is not None:
        changing = _sum(page.changing_chars_before[e] - page.changing_chars_before[s])
        values["changing"] = changing / record_chars
        values["cover_changing"] = changing / max(1, page.changing_chars_before[-1])
    if page.query_before is not None:
        matching_leaves = page.query_before[e] - page.query_before[s]
        values["with_query"] = _share(matching_leaves > 0) - MEAN_WITH_QUERY
        values["cover_query"] = _sum(matching_leaves) / max(1, page.query_before[-1]) - MEAN_COVER_QUERY
    return {name: float(value) for name, value in values.items()}


# Mean values of these features, subtracted so that 0 means "unknown" for answers whose query is unknown, among others whose query is known.
MEAN_WITH_QUERY, MEAN_COVER_QUERY = 0.4, 0.4


def smallest_row_with(tree: TagTree, weight: Floats) -> int:
    """Return the deepest row that contains all of a weight given per chunk (Thor Fig. 6, corrected).

    Descend while one child has all of it; stop where several children share it.
    """
    mass = tree.sum_chunks(weight)
    row = 0
    while True:
        children = tree.children(row)
        heaviest = max(children, key=lambda child: mass[child], default=row)
        if heaviest == row or mass[heaviest] < mass[row]:
            return row
        row = heaviest


def _prefix_sums(values: NDArray[np.generic]) -> Floats:
    return np.concatenate(([0.0], np.cumsum(values, dtype=np.float64)))


# Sum, share of true values and standard deviation, several times as fast as the array methods for few numbers.
_sum = np.add.reduce


def _share(mask: NDArray[np.bool_]) -> float:
    return np.count_nonzero(mask) / len(mask)


def _deviation(values: Floats, mean: float) -> float:
    from_mean = values - mean
    return float(np.sqrt(_sum(from_mean * from_mean) / len(values)))


def _largest_share(names: NDArray[np.integer]) -> float:
    """Return the share of the most frequent name."""
    return float(np.bincount(names).max() / len(names))


def _previous_equal(path: NDArray[np.integer]) -> Ints:
    """Return, for each leaf, the previous leaf with an equal path; -1: none."""
    order = np.argsort(path, kind="stable")
    is_equal = path[order][1:] == path[order][:-1]
    previous = np.full(len(path), -1, dtype=np.int32)
    previous[order[1:][is_equal]] = order[:-1][is_equal]
    return previous
