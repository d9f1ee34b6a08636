"""Cuts of an answer into facets: ways to narrow it, each with a count, that stand beside the records and change with the query as these do.

narrowing link   leads to the same page with its own arguments and at least one more
count            a number in brackets, or one that stands alone
"""

import re
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from upwell.extract.cut_candidates import Cut
from upwell.extract.leaves import Leaves
from upwell.page.url_arguments import parse_arguments

__all__ = ["FacetMarks"]

MIN_SHARE = 0.8  # of the pieces of a cut into facets, that have a count and only narrowing links; not swept
NUMBER = r"\d{1,3}(?:[.,'\u00a0\u202f ]?\d{3})*"
COUNT = re.compile(rf"[(\[{{（［【]\s*{NUMBER}\s*[)\]}}）］】]\W*$|^\W*{NUMBER}\W*$")


class FacetMarks:
    """Which leaves of an answer stand in narrowing links, in other links, and are counts."""

    def __init__(self, leaves: Leaves) -> None:
        self.narrows_before = self._links_before(leaves)
        is_count = np.array([COUNT.search(text) is not None for text in leaves.texts], dtype=bool)
        self.others_before = _sums(leaves.is_linked) - self.narrows_before
        self.counts_before = _sums(is_count)

    def are_facets(self, cut: Cut) -> bool:
        """Whether nearly all pieces of a cut are facets."""
        if not self.narrows_before[-1]:
            return False
        narrows, others, counts = (
            before[cut.ends] - before[cut.starts]
            for before in (self.narrows_before, self.others_before, self.counts_before)
        )
        return bool(((narrows > 0) & (others == 0) & (counts > 0)).mean() >= MIN_SHARE)

    def _links_before(self, leaves: Leaves) -> NDArray[np.int64]:
        tree = leaves.tree
        path, own = _place(tree.url)
        narrows = np.zeros(len(leaves), dtype=bool)
        for row, address in tree.links():
            other_path, arguments = _place(address)
            if other_path == path and arguments > own:
                narrows[leaves.row_start[row] : leaves.row_end[row]] = True
        return _sums(narrows)


def _place(url: str) -> tuple[str, set[tuple[str, str]]]:
    """The path of an address, and its arguments that have a value."""
    parts = urlsplit(url)
    return f"{parts.netloc}{parts.path.rstrip('/')}", {pair for pair in parse_arguments(parts.query) if pair[1]}


def _sums(marks: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(marks)))
