"""Facets and sort orders of capped answers: which links are recognised, and which candidate comes first."""

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


def test_facet_links_are_facets_and_sort_orders_of_the_same_query() -> None:
    """Result pages, other queries and links that act are left out; the count of a facet is read."""
    links = {link.text: link for link in facet_links(answer("cat", number=9), learned(), "cat")}
    assert set(links) == {"date", "title", "Books", "Maps", "Discs", "Anything"}
    assert links["Maps"].narrows
    assert links["Maps"].count == 120
    assert not links["date"].narrows


def test_on_a_facet_only_links_that_keep_it_count() -> None:
    links = facet_links(answer("cat", "&kind=map", number=9), learned(), "cat")
    assert all("kind=map" in link.url for link in links)
    assert {link.text for link in links} <= {"date", "title", "Books", "Discs", "Anything"}


def test_a_facet_below_the_result_cap_comes_first_and_each_once() -> None:
    """Facets without matches, or with nearly all of them, are left out."""
    known = WordYield(result_cap=200, page_size=2)
    for i in range(20):
        known.add_record(str(i), f"cat number{i}")
    known.capped_share = 0.5
    facets = FacetCandidates(known)
    facets.add_links(facet_links(answer("cat", number=9), learned(), "cat"), "cat", 900)
    facets.add_links(
        facet_links(answer("cat", number=8), learned(), "cat"), "cat", 900
    )  # the same links with another session id
    taken = []
    while (candidate := facets.next()) is not None:
        facets.mark_asked()
        taken.append(candidate.link.text)
    assert taken.index("Maps") < taken.index("Books")
    assert sorted(taken) == ["Books", "Maps", "date", "title"]


def test_held_matches_of_a_facet_are_counted_in_the_records() -> None:
    known = WordYield(result_cap=200, page_size=2)
    for i in range(118):
        known.add_record(str(i), f"cat maps number{i}")
    facets = FacetCandidates(known)
    facets.add_links(facet_links(answer("cat", number=9), learned(), "cat"), "cat", 900)
    candidates = {}
    while (candidate := facets.next()) is not None:
        facets.mark_asked()
        candidates[candidate.link.text] = candidate
    assert candidates["Maps"].held_matches == 118
    assert candidates["Maps"].expected < 0.1 < candidates["Books"].expected
