"""A sparse matrix by rows (CSR), with the few operations that weighing and clustering pages need.

Row i has `data[indptr[i]:indptr[i+1]]` in the columns `indices[indptr[i]:indptr[i+1]]`, as in scipy.sparse, whose names are kept.
scipy itself would be 140 MB of an install for these few lines; the tests compare them with it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["CsrMatrix", "ranges"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CsrMatrix:
    """Rows of numbers, most of them zero; a column may stand only once in a row (`from_entries` adds up those that do not)."""

    data: Floats
    indices: NDArray[np.integer]
    indptr: NDArray[np.integer]
    shape: tuple[int, int]

    @classmethod
    def from_entries(
        cls, rows: NDArray[np.integer], columns: NDArray[np.integer], values: ArrayLike, shape: tuple[int, int]
    ) -> "CsrMatrix":
        """From (row, column, value) in any order; values at the same place are added up.

        >>> CsrMatrix.from_entries(np.array([1, 0, 1]), np.array([2, 0, 2]), [5.0, 7.0, 1.0], (2, 3)).toarray().tolist()
        [[7.0, 0.0, 0.0], [0.0, 0.0, 6.0]]
        """
        places, place = np.unique(rows.astype(np.int64) * shape[1] + columns, return_inverse=True)
        data = np.bincount(place, weights=values, minlength=len(places)).astype(np.float64)
        row = places // max(1, shape[1])
        indptr = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=shape[0]))))
        return cls(data, places - row * shape[1], indptr, shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: NDArray[Any] | Sequence[int] | slice) -> "CsrMatrix":
        """Some of the rows: by their numbers, a mask or a slice."""
        chosen = np.arange(self.shape[0])[rows]
        lengths = np.diff(self.indptr)[chosen]
        entries = ranges(self.indptr[chosen], lengths)
        indptr = np.concatenate(([0], np.cumsum(lengths)))
        return CsrMatrix(self.data[entries], self.indices[entries], indptr, (len(chosen), self.shape[1]))

    def __matmul__(self, other: Floats) -> Floats:
        """The product with an array of one or two dimensions."""
        if other.ndim == 1:
            return self._by_row(self.data * other[self.indices])
        product = np.empty((self.shape[0], other.shape[1]))
        for column in range(other.shape[1]):
            product[:, column] = self @ other[:, column]
        return product

    def _by_row(self, values: Floats) -> Floats:
        """For each row the sum of a value of its entries."""
        return np.bincount(self.row_of_entry, weights=values, minlength=self.shape[0]).astype(np.float64, copy=False)

    @cached_property
    def row_of_entry(self) -> NDArray[np.int64]:
        """The row of each entry of `data`."""
        return np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))

    @cached_property
    def T(self) -> "CsrMatrix":
        """The transposed matrix."""
        order = np.argsort(self.indices, kind="stable")
        indptr = np.concatenate(([0], np.cumsum(np.bincount(self.indices, minlength=self.shape[1]))))
        return CsrMatrix(self.data[order], self.row_of_entry[order], indptr, (self.shape[1], self.shape[0]))

    def with_data(self, data: Floats) -> "CsrMatrix":
        """The same places with other values."""
        return replace(self, data=data)

    def sorted(self) -> "CsrMatrix":
        """The same matrix, the columns of each row in ascending order."""
        order = np.lexsort((self.indices, self.row_of_entry))
        return replace(self, data=self.data[order], indices=self.indices[order])

    def squared_lengths(self) -> Floats:
        """The sum of the squares of each row."""
        return self._by_row(self.data**2)

    def add_rows(self, group: NDArray[np.integer], groups: int) -> "CsrMatrix":
        """One row for each group: the sum of the rows that belong to it; `group` has the number of each row's."""
        of_entry = np.asarray(group)[self.row_of_entry]
        return CsrMatrix.from_entries(of_entry, self.indices, self.data, (groups, self.shape[1]))

    def row_dots(self, other: "CsrMatrix", rows: NDArray[np.integer]) -> Floats:
        """The inner product of each row with one row of another matrix; `rows` has the number of each row's partner."""
        other = other.sorted()
        places = other.row_of_entry * self.shape[1] + other.indices
        wanted = np.asarray(rows, dtype=np.int64)[self.row_of_entry] * self.shape[1] + self.indices
        at = np.minimum(np.searchsorted(places, wanted), max(0, len(places) - 1))
        values = np.where(places[at] == wanted, other.data[at], 0.0) if len(places) else np.zeros(len(wanted))
        return self._by_row(self.data * values)

    def toarray(self) -> Floats:
        """All numbers, zeros too."""
        dense = np.zeros(self.shape)
        dense[self.row_of_entry, self.indices] = self.data
        return dense


def ranges(starts: NDArray[np.integer], lengths: NDArray[np.integer]) -> NDArray[np.int64]:
    """Ranges one after the other.

    >>> ranges(np.array([5, 0]), np.array([3, 2])).tolist()
    [5, 6, 7, 0, 1]
    """
    before = np.cumsum(lengths) - lengths
    return np.asarray(np.repeat(starts - before, lengths) + np.arange(lengths.sum()), dtype=np.int64)
