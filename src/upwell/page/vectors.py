"""Bags of things (tags, terms, paths) as rows of a sparse matrix, counted and weighed, for one set of bags or for many small sets at once.

counts    one row a bag, one column a thing: how often it is in the bag
weights   the same, raw or TFIDF, each row of length 1
sets      an array with the set of each row; TFIDF and similarities then stay inside a set
"""

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from upwell.page.sparse import CsrMatrix
from upwell.page.tree import Ints

__all__ = ["count", "mean_similarity", "weigh"]

Floats = NDArray[np.float64]


def count(bags: Iterable[tuple[Sequence[str], Ints]]) -> tuple[CsrMatrix, tuple[str, ...]]:
    """Counts bags given as (names, ids into the names): the matrix, and the names of its columns.

    Each page numbers its own tags and terms; here the pages of a source get a numbering in common.
    """
    columns: dict[str, int] = {}
    indices, values, starts = [], [], [0]
    for names, ids in bags:
        times = np.bincount(ids, minlength=len(names))
        column = np.fromiter((columns.setdefault(name, len(columns)) for name in names), np.int64, len(names))
        present = np.flatnonzero(times)
        indices.append(column[present])
        values.append(times[present])
        starts.append(starts[-1] + len(present))
    data = np.concatenate(values).astype(np.float64) if values else np.zeros(0)
    every_column = np.concatenate(indices) if indices else np.zeros(0, dtype=np.int64)
    return CsrMatrix(data, every_column, np.array(starts), (len(starts) - 1, len(columns))), tuple(columns)


def weigh(
    counts: CsrMatrix, how: Literal["raw", "tfidf"] = "tfidf", sets: NDArray[np.integer] | None = None
) -> CsrMatrix:
    """Weighs counts and makes each row of length 1 (an empty row stays empty).

    Thor §V-C: w_ik = log(tf_ik + 1) · log((n + 1) / n_k), n bags in all, n_k of them with thing k; within a set, if
    sets are given (Thor §VI-B step 2).
    """
    if how == "raw":
        return _unit_rows(counts)
    set_of_row = np.zeros(len(counts), dtype=np.int64) if sets is None else np.unique(sets, return_inverse=True)[1]
    bags_in_set = np.bincount(set_of_row, minlength=1)
    set_of_entry = set_of_row[counts.row_of_entry]
    _, thing_in_set = np.unique(set_of_entry * counts.shape[1] + counts.indices, return_inverse=True)
    bags_with_thing = (
        np.bincount(thing_in_set, weights=counts.data > 0)[thing_in_set] if len(thing_in_set) else np.zeros(0)
    )
    idf = np.log((bags_in_set[set_of_entry] + 1) / np.maximum(bags_with_thing, 1))
    return _unit_rows(counts.with_data(np.log(counts.data + 1) * idf))


def mean_similarity(weights: CsrMatrix, sets: NDArray[np.integer]) -> tuple[NDArray[np.integer], Floats]:
    """The names of the sets, and for each the mean cosine over its pairs of different rows (1 where it has one row).

    Thor §VI-B step 2, IntraSubtreeSetSim; departs from it: pairs are averaged, so that sets of any size compare. The
    sum over all pairs is the squared length of the sum vector, so a set costs as much as it has entries.
    """
    names, set_of_row = np.unique(sets, return_inverse=True)
    size = np.bincount(set_of_row, minlength=len(names)).astype(np.float64)
    all_pairs = weights.add_rows(set_of_row, len(names)).squared_lengths()
    with_themselves = np.bincount(set_of_row, weights=weights.squared_lengths(), minlength=len(names))
    pairs = size * (size - 1)
    return names, np.where(pairs > 0, (all_pairs - with_themselves) / np.maximum(pairs, 1), 1.0)


def _unit_rows(matrix: CsrMatrix) -> CsrMatrix:
    length = np.sqrt(matrix.squared_lengths())
    scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
    return matrix.with_data(matrix.data * scale[matrix.row_of_entry])
