"""Entity §5 and §6.3: page signatures, background similarity and prevalence (§4 is tested with `upwell queries`)."""

from upwell.page.tree import read
from upwell.papers.entity import (
    EntityNames,
    Knowledge,
    argument_prevalence,
    background_similarity,
    page_signature,
)


def test_the_echo_of_the_query_does_not_change_the_signature() -> None:
    """Two empty answers to different queries have the same signature; numbers and dates do not count."""
    first = read("<p>No results for <b>amber</b></p><p>2004-02-01, 17 visitors</p>")
    second = read("<p>No results for <b>birch tree</b></p><p>2005-11-30, 4 visitors</p>")
    signature = page_signature(first, "amber")
    assert signature == page_signature(second, "birch tree")
    assert {"results", "visitors"} <= signature
    assert "amber" not in signature


def test_empty_answers_are_similar_to_the_background() -> None:
    """At the paper's threshold of 0.85 the answer with matches is not empty and the answer without is."""
    frame = "<nav>" + "".join(f"<a href=/{w}>{w}</a> " for w in ("home", "about", "help", "contact")) + "</nav>"
    background = [page_signature(read(f"{frame}<p>Nothing found for xq{i}</p>"), f"xq{i}") for i in range(3)]
    empty = page_signature(read(f"{frame}<p>Nothing found for amber</p>"), "amber")
    full = page_signature(read(f"{frame}<ul><li>amber harbour<li>amber glacier<li>amber orchard</ul>"), "amber")
    assert background_similarity(empty, background) == 1.0
    assert background_similarity(full, background) < 0.85
    assert background_similarity(full, []) == 0.0


def test_prevalence_is_the_mean_over_the_values_of_an_argument() -> None:
    """Definition 4: sort=1 is on both answers, sort=2 on one; a value repeated on a page counts once."""
    pages = [[("sort", "1"), ("sort", "1"), ("sort", "2"), ("id", "7")], [("sort", "1"), ("id", "8")], []]
    prevalence = argument_prevalence(pages)
    assert round(prevalence["sort"], 4) == round((2 / 3 + 1 / 3) / 2, 4)
    assert round(prevalence["id"], 4) == round(1 / 3, 4)
    assert argument_prevalence([]) == {}


def test_all_mentions_returns_the_longest_name_at_each_word() -> None:
    names = EntityNames(["new york", "new york times", "times square", "lima"])
    words = ["the", "new", "york", "times", "of", "lima", "on", "times", "square", "in", "new", "york"]
    assert list(names.all_mentions(words)) == ["new york times", "lima", "times square", "new york"]


def test_the_names_of_a_knowledge_base_are_indexed_once() -> None:
    knowledge = Knowledge.of_rows([("book", "author", "Jane Writer")])
    assert knowledge.names is knowledge.names
