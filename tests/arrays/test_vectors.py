"""Weights of term vectors as in Thor §V-C, for several independent sets at once."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from upwell.arrays import sparse as vectors
from upwell.arrays.sparse import CsrMatrix


def bags(rows: list[dict[str, int]]) -> tuple[CsrMatrix, tuple[str, ...]]:
    numbered = []
    for row in rows:
        names = tuple(row)
        numbered.append((names, np.repeat(np.arange(len(names)), list(row.values())).astype(np.int32)))
    return vectors.count(numbered)


def test_tfidf_is_thors_formula() -> None:
    """w = log(tf + 1) · log((n + 1) / n_k), normalised; a tag on all pages still counts."""
    counts, names = bags([{"html": 1, "b": 3}, {"html": 1}, {"html": 2, "i": 1}])
    got = vectors.weigh_counts(counts).toarray()
    html, b, i = (math.log(4 / 3), math.log(4 / 1), math.log(4 / 1))
    first = np.array([math.log(2) * html, math.log(4) * b])
    third = np.array([math.log(3) * html, math.log(2) * i])
    assert names == ("html", "b", "i")
    assert got[0, :2] == pytest.approx(first / np.linalg.norm(first))
    assert got[1] == pytest.approx([1, 0, 0])
    assert got[2, [0, 2]] == pytest.approx(third / np.linalg.norm(third))


def test_raw_weights_are_normalised_counts() -> None:
    """An empty bag stays empty."""
    counts, _ = bags([{"a": 3, "b": 4}, {}])
    assert vectors.weigh_counts(counts, "raw").toarray() == pytest.approx(np.array([[0.6, 0.8], [0, 0]]))


rows = st.lists(st.dictionaries(st.sampled_from("abcde"), st.integers(1, 4), max_size=5), min_size=1, max_size=9)


@given(rows, st.data())
def test_sets_are_weighed_independently(documents: list[dict[str, int]], data: st.DataObject) -> None:
    """Weights and mean similarities of several sets at once equal those of each set alone."""
    sets = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(documents), max_size=len(documents))))
    counts, _ = bags(documents)
    together = vectors.weigh_counts(counts, sets=sets)
    names, means = vectors.mean_similarity(together, sets)
    for name, mean in zip(names, means, strict=True):
        alone = vectors.weigh_counts(counts[np.flatnonzero(sets == name)])
        assert together[np.flatnonzero(sets == name)].toarray() == pytest.approx(alone.toarray())
        similar = alone.toarray() @ alone.toarray().T
        pairs = similar[~np.eye(len(similar), dtype=bool)]
        assert mean == pytest.approx(pairs.mean() if len(pairs) else 1.0)
