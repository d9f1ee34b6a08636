"""Cuts of an answer into facets: ways to narrow it, each with a count, that stand beside the records and change with the query as these do.

narrowing link   leads to the same page with its own arguments and at least one more; a box to tick does the same
count            a number in brackets, or one that stands alone
"""

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from upwell.extract.cut_candidates import Cut, leaves_in
from upwell.extract.leaves import Leaves
from upwell.page.url_arguments import parse_arguments

__all__ = ["without_facets"]

Sums = NDArray[np.int64]
MIN_SHARE = 0.8  # of the pieces of a cut into facets, that have a count, what narrows, and no other links; not swept
NUMBER = r"\d{1,3}(?:[.,'\u00a0\u202f ]?\d{3})*"
MAX_SHARE = 0.2  # of the pieces of a cut into records, that are mostly facets; not swept
BOXES = ("checkbox", "radio")
COUNT = re.compile(rf"[(\[{{（［【]\s*{NUMBER}\s*[)\]}}）］】]\W*$|^\W*{NUMBER}\W*$")


def without_facets(leaves: Leaves, cuts: Sequence[Cut]) -> list[Cut]:
    """The cuts of an answer in which hardly a piece is facets: neither cuts into them, nor into columns of which one holds them."""
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
        if is_facet.mean() >= MIN_SHARE:
            in_facets[leaves_in(cut.starts[is_facet], cut.ends[is_facet])] = True
    chars, of_facets = _sums(leaves.chars), _sums(leaves.chars * in_facets)
    return [
        cut
        for cut in cuts
        if np.mean(2 * (of_facets[cut.ends] - of_facets[cut.starts]) > chars[cut.ends] - chars[cut.starts]) <= MAX_SHARE
    ]


def _are_facets(cut: Cut, narrows: Sums, others: Sums, counts: Sums) -> NDArray[np.bool_]:
    """Which pieces of a cut are facets, each with what stands between it and the next; marks are summed over the leaves before."""
    ends = np.maximum(cut.ends, np.minimum(np.append(cut.starts[1:], cut.container_end[-1]), cut.container_end))
    has_narrowing, has_others, has_count = (marks[ends] > marks[cut.starts] for marks in (narrows, others, counts))
    return np.asarray(has_narrowing & ~has_others & has_count)


def _in_narrowing_links(leaves: Leaves) -> NDArray[np.bool_]:
    tree = leaves.tree
    path, own = _place(tree.url)
    narrows = np.zeros(len(leaves), dtype=bool)
    for row, address in tree.links():
        other_path, arguments = _place(address)
        if other_path == path and arguments > own:
            narrows[leaves.row_start[row] : leaves.row_end[row]] = True
    return narrows


def _behind_boxes(leaves: Leaves) -> NDArray[np.bool_]:
    """The leaves that follow a box to tick."""
    tree, behind = leaves.tree, np.zeros(len(leaves) + 1, dtype=bool)
    boxes = [row for row in tree.rows("input").tolist() if (tree.attr(row, "type") or "").lower() in BOXES]
    behind[leaves.row_start[boxes]] = True
    return behind[:-1]


def _place(url: str) -> tuple[str, set[tuple[str, str]]]:
    """The path of an address, and its arguments that have a value."""
    parts = urlsplit(url)
    return f"{parts.netloc}{parts.path.rstrip('/')}", {pair for pair in parse_arguments(parts.query) if pair[1]}


def _sums(values: NDArray[np.generic]) -> Sums:
    return np.concatenate(([0], np.cumsum(values)))
