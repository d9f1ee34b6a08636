"""Facets and orders of answers that are cut off: which an answer links to, and which is taken first."""

from upwell.answers import argument_roles as roles
from upwell.answers.facets import facet_links
from upwell.choose.facet_candidates import FacetCandidates
from upwell.choose.word_candidates import WordYield
from upwell.page.tree import TagTree, read

WORDS = ["cat", "dog", "bird", "fish", "horse"]


def answer(query: str, more: str = "", number: int = 1) -> TagTree:
    link = f"/s?q={query}{more}&sid={number}abc{number}def"
    return read(
        f"<html><body><form action=/s><input name=q value={query}></form><p>1-2 of 900</p>"
        f"<p>Sort by <a href='{link}&sort=date'>date</a> <a href='{link}&sort=title'>title</a></p>"
        f"<ul><li><a href='{link}&kind=book'>Books</a> (600)<li><a href='{link}&kind=map'>Maps</a> (120) Years:"
        f"<li><a href='{link}&kind=disc'>Discs</a> (0)<li><a href='{link}&kind=any'>Anything</a> (890)</ul>"
        f"<ol><li><a href=/item/{number}1>One {query}</a><li><a href=/item/{number}2>Two {query}</a></ol>"
        f"<a href='{link}&kind=map&act=delete'>delete</a> <a href='/s?q=other&kind=map'>Others</a>"
        f"<p><a href='{link}&page=2'>2</a> <a href='{link}&page=2'>Next</a></p></body></html>",
        url=f"http://h/s?q={query}{more}",
    )


def learned() -> roles.Roles:
    pages = [answer(query, number=i) for i, query in enumerate(WORDS)]
    return roles.learn_roles(pages, WORDS, query_field="q")


def test_facet_links_are_facets_and_orders_of_the_same_query() -> None:
    """Pages, other queries and what acts are none; a facet says how many it has."""
    found = {link.text: link for link in facet_links(answer("cat", number=9), learned(), "cat")}
    assert set(found) == {"date", "title", "Books", "Maps", "Discs", "Anything"}
    assert found["Maps"].narrows
    assert found["Maps"].count == 120
    assert not found["date"].narrows


def test_on_a_facet_only_links_that_keep_it_count() -> None:
    found = facet_links(answer("cat", "&kind=map", number=9), learned(), "cat")
    assert all("kind=map" in link.url for link in found)
    assert {link.text for link in found} <= {"date", "title", "Books", "Discs", "Anything"}


def test_the_facet_that_comes_whole_is_taken_first_and_each_once() -> None:
    """What has no matches, or all of them, is not taken; what the limit cuts off comes after what fits."""
    known = WordYield(result_cap=200, page_size=2)
    for i in range(20):
        known.add_record(str(i), f"cat number{i}")
    known.capped_share = 0.5
    some = FacetCandidates(known)
    some.add_links(facet_links(answer("cat", number=9), learned(), "cat"), "cat", 900)
    some.add_links(facet_links(answer("cat", number=8), learned(), "cat"), "cat", 900)  # the same with another session
    taken = []
    while (question := some.next()) is not None:
        some.mark_asked()
        taken.append(question.link.text)
    assert taken.index("Maps") < taken.index("Books")
    assert sorted(taken) == ["Books", "Maps", "date", "title"]


def test_records_that_show_the_facet_say_how_many_of_it_are_held() -> None:
    known = WordYield(result_cap=200, page_size=2)
    for i in range(118):
        known.add_record(str(i), f"cat maps number{i}")
    some = FacetCandidates(known)
    some.add_links(facet_links(answer("cat", number=9), learned(), "cat"), "cat", 900)
    found = {}
    while (question := some.next()) is not None:
        some.mark_asked()
        found[question.link.text] = question
    assert found["Maps"].held_matches == 118
    assert found["Maps"].expected < 0.1 < found["Books"].expected
