"""Thor's pagelets and objects, on generated answers and on the paper's example."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from upwell.page.tree import TagTree, read
from upwell.papers import thor

WORDS = [
    "amber",
    "birch",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "heath",
    "inlet",
    "jetty",
    "knoll",
    "larch",
    "marsh",
]


def answer(i: int, rng: np.random.Generator) -> TagTree:
    """Return a page with a constant frame, an echo of the query and a list that differs each time."""
    records = "".join(
        f"<li><a href=/{j}>{' '.join(rng.choice(WORDS, 3))} {i}{j}</a><p>{' '.join(rng.choice(WORDS, 8))} {j}{i}</p></li>"
        for j in range(6 + i % 3)
    )
    return read(
        "<nav><ul><li>Home page<li>About this site<li>All of the help</ul></nav>"
        f"<div><h1>Found</h1><ul>{records}</ul></div><footer><p>Made by hand, all rights kept</p></footer>"
    )


PAGES = [answer(i, np.random.default_rng(i)) for i in range(8)]
LIST = "/html[1]/body[1]/div[1]/ul[1]"


def paths(params: thor.ThorParams) -> list[list[str]]:
    pagelets = thor.find_pagelets(PAGES, params, rng=np.random.default_rng(0))
    return [[page.path(p.row) for p in some] for page, some in zip(PAGES, pagelets, strict=True)]


@pytest.mark.parametrize(
    "params",
    [
        thor.ThorParams(),
        replace(thor.AS_PUBLISHED, assignment="optimal"),
        thor.ThorParams(prototypes=1),
        thor.ThorParams(delta=2),
    ],
)
def test_the_result_list_is_the_pagelet(params: thor.ThorParams) -> None:
    """Neither the constant frame nor a single record is chosen."""
    assert paths(params) == [[LIST]] * len(PAGES)


def test_the_published_parameters_may_choose_a_single_record() -> None:
    """With nearest assignment several records of a list may have the same counterpart, so that the others are in no set."""
    assert all(page_paths[0].startswith(LIST) for page_paths in paths(thor.AS_PUBLISHED))


def test_dynamic_subtrees_guide_the_division_into_objects() -> None:
    """Thor §VI-C."""
    (pagelet,) = thor.find_pagelets(PAGES, rng=np.random.default_rng(0))[0]
    items = PAGES[0].children(pagelet.row)
    assert set(items) <= set(pagelet.dynamic)
    assert len(thor.objects_like_dynamic_subtrees(PAGES[0], pagelet.row, pagelet.dynamic)) == len(items)


def test_fewer_than_two_answers_have_no_pagelets() -> None:
    """Subtree filtering compares at least two answers."""
    assert thor.find_pagelets([], rng=np.random.default_rng(0)) == []
    assert thor.find_pagelets(PAGES[:1], rng=np.random.default_rng(0)) == [[]]


def test_two_result_lists_are_two_pagelets() -> None:
    """Thor-objects §4.3: two lists are recommended after the subtree that contains both."""
    pages = []
    for i in range(8):
        rng = np.random.default_rng(100 + i)
        lists = [
            "".join(f"<li><b>{' '.join(rng.choice(WORDS, 4))} {i}{j}</b></li>" for j in range(8)) for _ in range(2)
        ]
        pages.append(read(f"<h1>Found here</h1><div><ul>{lists[0]}</ul></div><main><ol>{lists[1]}</ol></main>"))
    pagelets = thor.find_pagelets(pages, thor.ThorParams(max_pagelets=3), rng=np.random.default_rng(0))
    assert [pages[0].name(p.row) for p in pagelets[0]] == ["body", "ul", "ol"]


def test_ranking_by_distance_to_the_centroid_stays_in_the_list() -> None:
    """Thor-objects §2.4, with all candidates and with the 20 most promising."""
    for max_candidates in (0, 20):
        pagelets = thor.find_pagelets(
            PAGES, thor.ThorParams(ranking="objects", max_candidates=max_candidates), rng=np.random.default_rng(0)
        )
        inside = [
            page.path(p.row).startswith(LIST)
            for page, page_pagelets in zip(PAGES, pagelets, strict=True)
            for p in page_pagelets
        ]
        assert inside
        assert all(inside)


def test_subtree_distances_reproduce_the_example_of_the_paper() -> None:
    """Thor §VI-B: html/head and html/head/title are 1/3 apart; fanout 0 and 10 are 1 apart."""
    a: Any = SimpleNamespace(rows=[0], paths=["he"], shape=np.array([[0.0], [1.0], [5.0]]))
    b: Any = SimpleNamespace(rows=[0], paths=["het"], shape=np.array([[10.0], [1.0], [5.0]]))
    assert thor.subtree_distances(a, b, (1, 0, 0, 0))[0, 0] == pytest.approx(1 / 3)
    assert thor.subtree_distances(a, b, (0, 1, 0, 0))[0, 0] == 1
    assert thor.subtree_distances(a, b, (0.25, 0.25, 0.25, 0.25))[0, 0] == pytest.approx((1 / 3 + 1) / 4)


def test_a_chain_of_single_children_has_one_candidate() -> None:
    """Thor §VI-A: of subtrees with the same text the deepest is the candidate; subtrees without words are not candidates."""
    page = read("<div><section><b>one</b></section></div><p>|</p><p><i>two</i> three</p>")
    assert [page.name(row) for row in thor.candidate_subtrees(page)] == ["body", "b", "p", "i"]


TABLE = read("<table>" + "".join(f"<tr><td>name {i}<td>{'text ' * 5}{i}" for i in range(9)) + "</table>")
FLAT = read("<dl>" + "".join(f"<dt>name {i}<dd>text {i}" + "<dd>more" * (i % 2) for i in range(9)) + "</dl>")


@pytest.mark.parametrize("heuristic", [*thor.SEPARATOR_HEURISTICS.values(), thor.combined_vote])
def test_every_heuristic_divides_a_table_by_rows(heuristic: Any) -> None:
    """Thor-objects §3."""
    row = int(TABLE.rows("tbody")[0])
    objects = thor.split_objects(TABLE, row, heuristic(TABLE, row))
    assert [TABLE.text_of(a, b).split("\n")[0] for a, b in objects] == [f"name {i}" for i in range(9)]


def test_objects_of_several_siblings_begin_with_dt() -> None:
    """In a definition list the separator is <dt>."""
    row = int(FLAT.rows("dl")[0])
    assert len(thor.split_objects(FLAT, row, thor.identifiable_tags(FLAT, row))) == 9
    assert thor.sibling_pairs(FLAT, row)[0] == "dt"


def test_text_before_the_first_rule_is_an_object() -> None:
    """<hr> ends an object."""
    page = read("<div>one<hr>two<hr>three</div>")
    row = int(page.rows("div")[0])
    assert [page.text_of(a, b) for a, b in thor.split_objects(page, row, ["hr"])] == ["one", "two", "three"]
