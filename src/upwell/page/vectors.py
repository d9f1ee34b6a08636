"""Weights and distances of bags of things (tags, terms, paths), for one set of pages or for many small sets at once.

counts    a sparse matrix: one row a bag, one column a thing
weights   the same, raw or TFIDF, each row of length 1
sets      an array that says which set each row belongs to; TFIDF and similarities then stay inside a set
"""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from upwell.page.tree import Ints

__all__ = ["cosine", "count", "euclidean", "mean_similarity", "weigh"]

Floats = NDArray[np.float64]
Matrix: TypeAlias = Any  # a scipy.sparse.csr_array; scipy ships no types


def count(bags: Iterable[tuple[Sequence[str], Ints]]) -> tuple[Matrix, tuple[str, ...]]:
    """Counts bags given as (names, ids into the names): the matrix, and the names of its columns.

    Each page numbers its own tags and terms; this is where the pages of a source come to share their numbers.
    """
    columns: dict[str, int] = {}
    indices, values, starts = [], [], [0]
    for names, ids in bags:
        tally = np.bincount(ids, minlength=len(names))
        shared = np.fromiter((columns.setdefault(name, len(columns)) for name in names), np.int64, len(names))
        present = np.flatnonzero(tally)
        indices.append(shared[present])
        values.append(tally[present])
        starts.append(starts[-1] + len(present))
    data = np.concatenate(values).astype(np.float64) if values else np.zeros(0)
    column = np.concatenate(indices) if indices else np.zeros(0, dtype=np.int64)
    matrix = sparse.csr_array((data, column, np.array(starts)), shape=(len(starts) - 1, len(columns)))
    return matrix, tuple(columns)


def weigh(counts: Matrix, how: Literal["raw", "tfidf"] = "tfidf", sets: NDArray[np.integer] | None = None) -> Matrix:
    """Weighs counts and makes each row of length 1 (an empty row stays empty).

    Thor §V-C: w_ik = log(tf_ik + 1) · log((n + 1) / n_k), n bags in all, n_k of them with thing k; within a set, if
    sets are given (Thor §VI-B step 2).
    """
    weights = counts.astype(
        np.float64, copy=True
    )  # shares nothing: scipy sorts a matrix's indices in place when it likes
    if how == "tfidf":
        of_row = np.zeros(counts.shape[0], dtype=np.int64) if sets is None else np.unique(sets, return_inverse=True)[1]
        n = np.bincount(of_row, minlength=1)
        of_entry = np.repeat(of_row, np.diff(counts.indptr))
        present = weights.data > 0
        _, pair = np.unique(of_entry * counts.shape[1] + counts.indices, return_inverse=True)
        with_thing = np.bincount(pair, weights=present)[pair] if len(pair) else np.zeros(0)
        weights.data = np.log(weights.data + 1) * np.log((n[of_entry] + 1) / np.maximum(with_thing, 1))
    return _unit(weights)


def cosine(a: Matrix, b: Matrix | None = None) -> Floats:
    """Cosine similarity of every row of `a` with every row of `b` (of `a` itself without `b`); both as `weigh` gives them."""
    return np.asarray((a @ (a if b is None else b).T).toarray(), dtype=np.float64)


def euclidean(a: Matrix, b: Matrix | None = None) -> Floats:
    """Euclidean distance of every row of `a` to every row of `b` (of `a` itself without `b`)."""
    b = a if b is None else b
    squares = a.power(2).sum(axis=1)[:, None] + b.power(2).sum(axis=1)[None, :] - 2 * cosine(a, b)
    return np.asarray(np.sqrt(np.maximum(squares, 0)), dtype=np.float64)


def mean_similarity(weights: Matrix, sets: NDArray[np.integer]) -> tuple[NDArray[np.integer], Floats]:
    """The names of the sets, and for each the mean cosine over its pairs of different rows (1 where it has one row).

    Thor §VI-B step 2, IntraSubtreeSetSim; departs from it: pairs are averaged, so that sets of any size compare. The
    sum over all pairs is the squared length of the sum vector, so a set costs as much as it has entries.
    """
    names, of_row = np.unique(sets, return_inverse=True)
    member = sparse.csr_array((np.ones(len(of_row)), (of_row, np.arange(len(of_row)))), shape=(len(names), len(of_row)))
    size = np.bincount(of_row, minlength=len(names)).astype(np.float64)
    total = (member @ weights).power(2).sum(axis=1)
    own = member @ weights.power(2).sum(axis=1)
    pairs = size * (size - 1)
    return names, np.where(pairs > 0, (total - own) / np.maximum(pairs, 1), 1.0)


def _unit(matrix: Matrix) -> Matrix:
    length = np.sqrt(matrix.power(2).sum(axis=1))
    scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
    matrix.data = matrix.data * np.repeat(scale, np.diff(matrix.indptr))
    return matrix
