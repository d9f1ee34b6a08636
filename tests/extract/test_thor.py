"""Pagelets and objects as Thor has them: on made answers, and the paper's own example."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from upwell.extract import separators, thor
from upwell.page.tree import TagTree, read

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
    """A frame that is the same everywhere, an echo of the query, and a list of other things each time."""
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
    found = thor.locate(PAGES, params, rng=np.random.default_rng(0))
    return [[page.path(p.row) for p in some] for page, some in zip(PAGES, found, strict=True)]


@pytest.mark.parametrize(
    "params",
    [
        thor.ThorParams(),
        replace(thor.PAPER, assignment="optimal"),
        thor.ThorParams(prototypes=1),
        thor.ThorParams(delta=2),
    ],
)
def test_the_list_is_the_pagelet(params: thor.ThorParams) -> None:
    """What is the same on all answers is not, and one record is too little."""
    assert paths(params) == [[LIST]] * len(PAGES)


def test_as_published_it_may_go_into_a_match() -> None:
    """The nearest of all records of a list is often one and the same, and then the others are no subtrees of any set."""
    assert all(found[0].startswith(LIST) for found in paths(thor.PAPER))


def test_the_dynamic_subtrees_inside_are_told() -> None:
    """Thor §VI-C: they guide the cutting into objects."""
    (pagelet,) = thor.locate(PAGES, rng=np.random.default_rng(0))[0]
    items = PAGES[0].children(pagelet.row)
    assert set(items) <= set(pagelet.dynamic)
    assert len(separators.alike(PAGES[0], pagelet.row, pagelet.dynamic)) == len(items)


def test_one_page_has_no_other_to_differ_from() -> None:
    """Thor needs two answers; no answer and one answer have no pagelets."""
    assert thor.locate([], rng=np.random.default_rng(0)) == []
    assert thor.locate(PAGES[:1], rng=np.random.default_rng(0)) == [[]]


def test_several_regions() -> None:
    """Thor-objects §4.3: two lists of answers are recommended after what holds both."""
    two = []
    for i in range(8):
        rng = np.random.default_rng(100 + i)
        lists = [
            "".join(f"<li><b>{' '.join(rng.choice(WORDS, 4))} {i}{j}</b></li>" for j in range(8)) for _ in range(2)
        ]
        two.append(read(f"<h1>Found here</h1><div><ul>{lists[0]}</ul></div><main><ol>{lists[1]}</ol></main>"))
    found = thor.locate(two, thor.ThorParams(max_pagelets=3), rng=np.random.default_rng(0))
    assert [two[0].name(p.row) for p in found[0]] == ["body", "ul", "ol"]


def test_thor_objects_way() -> None:
    """The subtree that is furthest from its centroid lies in the list, with all candidates and with the promising ones."""
    for max_candidates in (0, 20):
        found = thor.locate(
            PAGES, thor.ThorParams(ranking="objects", max_candidates=max_candidates), rng=np.random.default_rng(0)
        )
        inside = [page.path(p.row).startswith(LIST) for page, some in zip(PAGES, found, strict=True) for p in some]
        assert inside
        assert all(inside)


def test_distance_of_the_papers_example() -> None:
    """Thor §VI-B: html/head and html/head/title are 1/3 apart; no children against ten are 1 apart."""
    a: Any = SimpleNamespace(rows=[0], paths=["he"], shape=np.array([[0.0], [1.0], [5.0]]))
    b: Any = SimpleNamespace(rows=[0], paths=["het"], shape=np.array([[10.0], [1.0], [5.0]]))
    assert thor.distances(a, b, (1, 0, 0, 0))[0, 0] == pytest.approx(1 / 3)
    assert thor.distances(a, b, (0, 1, 0, 0))[0, 0] == 1
    assert thor.distances(a, b, (0.25, 0.25, 0.25, 0.25))[0, 0] == pytest.approx((1 / 3 + 1) / 4)


def test_a_chain_is_its_deepest() -> None:
    """Thor §VI-A: of subtrees with the same text the smallest is the candidate; what has no words is none."""
    page = read("<div><section><b>one</b></section></div><p>|</p><p><i>two</i> three</p>")
    assert [page.name(row) for row in thor.candidates(page)] == ["body", "b", "p", "i"]


TABLE = read("<table>" + "".join(f"<tr><td>name {i}<td>{'text ' * 5}{i}" for i in range(9)) + "</table>")
FLAT = read("<dl>" + "".join(f"<dt>name {i}<dd>text {i}" + "<dd>more" * (i % 2) for i in range(9)) + "</dl>")


@pytest.mark.parametrize("voter", [*separators.VOTERS.values(), separators.combined])
def test_table_rows(voter: Any) -> None:
    """Every voter parts a table by its rows."""
    row = int(TABLE.rows("tbody")[0])
    found = separators.split(TABLE, row, voter(TABLE, row))
    assert [TABLE.text_of(a, b).split("\n")[0] for a, b in found] == [f"name {i}" for i in range(9)]


def test_definition_list() -> None:
    """An object of several siblings: together the voters begin it with its <dt>."""
    row = int(FLAT.rows("dl")[0])
    assert len(separators.split(FLAT, row, separators.identifiable(FLAT, row))) == 9
    assert separators.sibling_pairs(FLAT, row)[0] == "dt"


def test_rules_stand_between() -> None:
    """What is before the first rule is an object too."""
    page = read("<div>one<hr>two<hr>three</div>")
    row = int(page.rows("div")[0])
    assert [page.text_of(a, b) for a, b in separators.split(page, row, ["hr"])] == ["one", "two", "three"]
