"""The sparse matrix agrees with scipy."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from upwell.arrays.sparse import CsrMatrix

DENSE = st.tuples(st.integers(1, 7), st.integers(1, 7)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.sampled_from([0.0, 0.0, 0.0, 1.0, 2.5, -3.0]))
)


def both(dense: np.ndarray) -> tuple[CsrMatrix, sparse.csr_array]:
    theirs = sparse.csr_array(dense)
    return CsrMatrix(theirs.data, theirs.indices, theirs.indptr, dense.shape), theirs


@given(DENSE, st.data())
def test_rows_products_and_lengths(dense: np.ndarray, data: st.DataObject) -> None:
    """Rows by number, mask and slice; transpose; products with a vector and a matrix; squared lengths."""
    ours, theirs = both(dense)
    n, m = dense.shape
    numbers = data.draw(st.lists(st.integers(0, n - 1), max_size=9))
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    for rows in (np.array(numbers, dtype=np.int64), mask, slice(1, None)):
        assert np.array_equal(ours[rows].toarray(), theirs[rows].toarray())
    vector, matrix = np.arange(0.5, m), np.arange(3.0 * m).reshape(m, 3)
    assert np.array_equal(ours @ vector, theirs @ vector)
    assert np.array_equal(ours @ matrix, theirs @ matrix)
    assert np.array_equal(ours.T.toarray(), theirs.T.toarray())
    assert np.array_equal(ours.T @ np.arange(float(n)), theirs.T @ np.arange(float(n)))
    assert np.array_equal(ours.squared_lengths(), theirs.power(2).sum(axis=1))
    assert len(ours) == n


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5), st.sampled_from([1.0, 2.0, 0.25])), max_size=30))
def test_entries_at_the_same_place_are_added(entries: list[tuple[int, int, float]]) -> None:
    """As in scipy's coo_array; columns are sorted."""
    rows, columns, values = (np.array([entry[i] for entry in entries]) for i in range(3))
    ours = CsrMatrix.from_entries(rows.astype(np.int64), columns.astype(np.int64), values, (5, 6))
    theirs = sparse.coo_array((values, (rows.astype(int), columns.astype(int))), shape=(5, 6)).tocsr()
    assert np.array_equal(ours.toarray(), theirs.toarray())
    assert np.array_equal(ours.indptr, theirs.indptr)
    assert all((np.diff(ours.indices[a:b]) > 0).all() for a, b in zip(ours.indptr, ours.indptr[1:], strict=False))


@given(DENSE, st.data())
def test_sums_of_rows_and_dots_with_them(dense: np.ndarray, data: st.DataObject) -> None:
    """As for Thor's centroids: sums of rows by group, and the product of each row with the sum of its group."""
    ours, theirs = both(dense)
    n = dense.shape[0]
    group = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    member = sparse.csr_array((np.ones(n), (group, np.arange(n))), shape=(4, n))
    sums = ours.add_rows(group, 4)
    assert sums.toarray() == pytest.approx((member @ theirs).toarray())
    assert ours.row_dots(sums, group) == pytest.approx((dense * (member @ theirs).toarray()[group]).sum(axis=1))


@given(DENSE, st.randoms(use_true_random=False))
def test_sorting_the_columns_of_rows_keeps_the_matrix(dense: np.ndarray, shuffle: Random) -> None:
    ours, _ = both(dense)
    order = []
    for a, b in zip(ours.indptr, ours.indptr[1:], strict=False):
        row = list(range(a, b))
        shuffle.shuffle(row)
        order += row
    mixed = CsrMatrix(ours.data[order], ours.indices[order], ours.indptr, ours.shape)
    assert np.array_equal(mixed.sorted().indices, ours.indices)
    assert np.array_equal(mixed.sorted().data, ours.data)
    assert np.array_equal(mixed.toarray(), dense)
