"""Count and weigh bags of tags, terms or paths as rows of a sparse matrix, for one set of bags or for many small sets at once.

counts    one row per bag, one column per item: how often the item is in the bag
weights   the same, raw or TF-IDF, each row of length 1
sets      set of each row; TF-IDF and similarities are then computed within a set
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["CsrMatrix", "count", "mean_similarity", "ranges", "weigh_counts"]

# Sparse matrix by rows (CSR), with the few operations that weighing and clustering pages need.
#
# Row i has `data[indptr[i]:indptr[i+1]]` in the columns `indices[indptr[i]:indptr[i+1]]`, with the names of scipy.sparse.
# scipy itself would add 140 MB to an installation; the tests compare results with it.

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class CsrMatrix:
    """Sparse matrix; a column occurs at most once in a row (`from_entries` adds up duplicates)."""

    data: Floats
    indices: NDArray[np.integer]
    indptr: NDArray[np.integer]
    shape: tuple[int, int]

    @classmethod
    def from_entries(
        cls, rows: NDArray[np.integer], columns: NDArray[np.integer], values: ArrayLike, shape: tuple[int, int]
    ) -> "CsrMatrix":
        """Build a matrix from (row, column, value) in any order; values at the same position are added up.

        >>> CsrMatrix.from_entries(np.array([1, 0, 1]), np.array([2, 0, 2]), [5.0, 7.0, 1.0], (2, 3)).toarray().tolist()
        [[7.0, 0.0, 0.0], [0.0, 0.0, 6.0]]
        """
        positions, position = np.unique(rows.astype(np.int64) * shape[1] + columns, return_inverse=True)
        data = np.bincount(position, weights=values, minlength=len(positions)).astype(np.float64)
        row = positions // max(1, shape[1])
        indptr = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=shape[0]))))
        return cls(data, positions - row * shape[1], indptr, shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: NDArray[Any] | Sequence[int] | slice) -> "CsrMatrix":
        """Select rows by number, mask or slice."""
        chosen = np.arange(self.shape[0])[rows]
        lengths = np.diff(self.indptr)[chosen]
        entries = ranges(self.indptr[chosen], lengths)
        indptr = np.concatenate(([0], np.cumsum(lengths)))
        return CsrMatrix(self.data[entries], self.indices[entries], indptr, (len(chosen), self.shape[1]))

    def __matmul__(self, other: Floats) -> Floats:
        """Multiply by an array of one or two dimensions."""
        if other.ndim == 1:
            return self._by_row(self.data * other[self.indices])
        product = np.empty((self.shape[0], other.shape[1]))
        for column in range(other.shape[1]):
            product[:, column] = self @ other[:, column]
        return product

    def _by_row(self, values: Floats) -> Floats:
        """Return the sum of values per row, given one value per entry."""
        return np.bincount(self.row_of_entry, weights=values, minlength=self.shape[0]).astype(np.float64, copy=False)

    @cached_property
    def row_of_entry(self) -> NDArray[np.int64]:
        """Return the row of each entry of `data`."""
        return np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))

    @cached_property
    def T(self) -> "CsrMatrix":
        """Return the transposed matrix."""
        order = np.argsort(self.indices, kind="stable")
        indptr = np.concatenate(([0], np.cumsum(np.bincount(self.indices, minlength=self.shape[1]))))
        return CsrMatrix(self.data[order], self.row_of_entry[order], indptr, (self.shape[1], self.shape[0]))

    def with_data(self, data: Floats) -> "CsrMatrix":
        """Return a matrix with the same positions and other values."""
        return replace(self, data=data)

    def sorted(self) -> "CsrMatrix":
        """Return the same matrix with the columns of each row in ascending order."""
        order = np.lexsort((self.indices, self.row_of_entry))
        return replace(self, data=self.data[order], indices=self.indices[order])

    def squared_lengths(self) -> Floats:
        """Return the sum of squares of each row."""
        return self._by_row(self.data**2)

    def add_rows(self, group: NDArray[np.integer], groups: int) -> "CsrMatrix":
        """Return one row per group: the sum of its rows; `group` has the group number of each row."""
        of_entry = np.asarray(group)[self.row_of_entry]
        return CsrMatrix.from_entries(of_entry, self.indices, self.data, (groups, self.shape[1]))

    def row_dots(self, other: "CsrMatrix", rows: NDArray[np.integer]) -> Floats:
        """Return the inner product of each row with a row of another matrix; `rows` has the number of each partner row."""
        other = other.sorted()
        positions = other.row_of_entry * self.shape[1] + other.indices
        wanted = np.asarray(rows, dtype=np.int64)[self.row_of_entry] * self.shape[1] + self.indices
        at = np.minimum(np.searchsorted(positions, wanted), max(0, len(positions) - 1))
        values = np.where(positions[at] == wanted, other.data[at], 0.0) if len(positions) else np.zeros(len(wanted))
        return self._by_row(self.data * values)

    def toarray(self) -> Floats:
        """Return the dense array."""
        dense = np.zeros(self.shape)
        dense[self.row_of_entry, self.indices] = self.data
        return dense


def ranges(starts: NDArray[np.integer], lengths: NDArray[np.integer]) -> NDArray[np.int64]:
    """Concatenate ranges.

    >>> ranges(np.array([5, 0]), np.array([3, 2])).tolist()
    [5, 6, 7, 0, 1]
    """
    before = np.cumsum(lengths) - lengths
    return np.asarray(np.repeat(starts - before, lengths) + np.arange(lengths.sum()), dtype=np.int64)


def count(bags: Iterable[tuple[Sequence[str], Ints]]) -> tuple[CsrMatrix, tuple[str, ...]]:
    """Count bags given as (names, ids into the names); return the matrix and the names of its columns.

    Each page numbers its own tags and terms; here all pages get one common numbering.
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


def weigh_counts(
    counts: CsrMatrix, how: Literal["raw", "tfidf"] = "tfidf", sets: NDArray[np.integer] | None = None
) -> CsrMatrix:
    """Weigh counts and scale each row to length 1 (an empty row stays empty).

    Thor §V-C: w_ik = log(tf_ik + 1) · log((n + 1) / n_k), n bags, n_k of them with item k; within a set, if
    sets are given (Thor §VI-B step 2).
    """
    if how == "raw":
        return _unit_rows(counts)
    set_of_row = np.zeros(len(counts), dtype=np.int64) if sets is None else np.unique(sets, return_inverse=True)[1]
    bags_in_set = np.bincount(set_of_row, minlength=1)
    set_of_entry = set_of_row[counts.row_of_entry]
    _, item_in_set = np.unique(set_of_entry * counts.shape[1] + counts.indices, return_inverse=True)
    bags_with_item = np.bincount(item_in_set, weights=counts.data > 0)[item_in_set] if len(item_in_set) else np.zeros(0)
    idf = np.log((bags_in_set[set_of_entry] + 1) / np.maximum(bags_with_item, 1))
    return _unit_rows(counts.with_data(np.log(counts.data + 1) * idf))


def mean_similarity(weights: CsrMatrix, sets: NDArray[np.integer]) -> tuple[NDArray[np.integer], Floats]:
    """Return the names of the sets, and for each the mean cosine of its pairs of different rows (1 if it has one row).

    Thor §VI-B step 2, IntraSubtreeSetSim; unlike Thor, pairs are averaged, so that sets of any size compare. The
    sum over all pairs is the squared length of the sum vector, so the cost is linear in the entries.
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
