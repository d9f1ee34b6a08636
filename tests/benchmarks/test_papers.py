"""Measures and synthetic pages of `python -m benchmarks.papers thor`."""

from collections import Counter

import numpy as np
import pytest
from benchmarks.papers import _thor_pagelets
from benchmarks.papers._kinds import Source, entropy, majority, stand_in
from benchmarks.papers._synthetic import known, make, stream
from benchmarks.papers._tree_edit import tree_edit

from upwell.page.tree import read
from upwell.papers.thor import ClusterParams, cluster_counts


def test_entropy_is_0_for_pure_and_1_for_mixed_clusters() -> None:
    """Thor §VII-B; half and half is not a majority."""
    kinds = ["multi", "multi", "none", "none"]
    assert entropy([0, 0, 1, 1], kinds) == 0
    assert entropy([0, 1, 0, 1], kinds) == pytest.approx(1)
    assert entropy([0, 0, 0, 1], kinds) == pytest.approx(0.75 * 0.9182958)
    assert (majority([0, 0, 1, 1], kinds), majority([0, 1, 0, 1], kinds), majority([0, 0, 0, 1], kinds)) == (1, 0, 0.75)


def test_the_substitute_pagelet_is_the_smallest_element_with_all_records() -> None:
    """A cell that also occurs elsewhere does not enlarge it; without records there is none."""
    page = read("<p>one</p><div><h1>Found</h1><ul><li>one <b>first</b><li>two <b>second</b></ul></div>")
    assert page.name(stand_in(page, [["one", "first"], ["two", "second"]]) or 0) == "ul"
    assert page.name(stand_in(page, [["two", "second"]]) or 0) == "li"
    assert stand_in(page, [["three"]]) is None


def _source() -> Source:
    lists = [read("<ul>" + f"<li>{i}" * (2 + i) + "</ul>") for i in range(6)]
    nothing = [read(f"<p>none <i>{i}</i>") for i in range(3)]
    kinds = ["multi"] * 6 + ["none"] * 3
    return Source(name="s", trees=[*lists, *nothing], kinds=kinds, sizes=[1] * 9, records=[[]] * 9)


def test_synthetic_pages_have_the_distribution_of_real_ones() -> None:
    """Shares of kinds, and of each tag within a kind."""
    real = known(_source(), "tfidf-tags")
    counts, kinds = make(real, 3000, np.random.default_rng(0))
    made, multi = counts.toarray(), np.array(kinds) == "multi"
    assert multi.mean() == pytest.approx(2 / 3, abs=0.03)
    li, i = real.columns.index("li"), real.columns.index("i")
    assert made[multi, li].mean() == pytest.approx(4.5, abs=0.2)
    assert set(made[multi, li]) == {2, 3, 4, 5, 6, 7}
    assert (made[~multi, i] == 1).all()
    assert not made[multi, i].any()
    found = cluster_counts(
        counts, real.columns, "tfidf", ClusterParams(k=2, signature="tfidf-tags"), rng=np.random.default_rng(0)
    )
    assert entropy(found.labels, kinds) == 0
    assert [name for name, _, _ in stream([real], 2, 200)] == ["s", "s"]


def test_tree_edit_distance_counts_nodes() -> None:
    """Equal trees are 0 apart; an added subtree costs its nodes; another name costs one."""
    a, b = read("<ul><li>a<li>b</ul>"), read("<ul><li>a<li>b<li><b>c</b></ul><p>x</p>")
    assert (tree_edit(a, a), tree_edit(a, b), tree_edit(b, a)) == (0, 3, 3)
    assert tree_edit(a, read("<ol><li>a<li>b</ol>")) == 1


def test_objects_are_paired_one_to_one() -> None:
    """An object cannot be two records; half of the words in common is too little."""
    words = [Counter(text.split()) for text in ("a b c", "d e f", "a b x y z")]
    assert _thor_pagelets._right(words[:2], words[:2]) == 2
    assert _thor_pagelets._right([words[0], words[0]], [words[0]]) == 1
    assert _thor_pagelets._right(words[:1], words[2:]) == 0
    assert _thor_pagelets._right(words, []) == 0
