"""False pages end a query, and the result cap is learned from the ends of queries."""

from hypothesis import given
from hypothesis import strategies as st

from upwell.answers.totals import StatedTotals
from upwell.choose.result_pages import FinishedQuery, ResultPages, learn_cap


def test_false_pages() -> None:
    """A repeated page, the first page again, and an empty page past the end."""
    same = ResultPages()
    assert [same.add_page(keys, has_next=True) for keys in (["a", "b"], ["b", "a"])] == ["", "same page"]
    assert (same.ends_with_false_page, same.matches) == (True, 2)
    circle = ResultPages()
    assert [circle.add_page(keys, has_next=True) for keys in (["a"], ["b"], ["a"])] == ["", "", "nothing new"]
    past = ResultPages()
    assert [past.add_page(keys, has_next=True) for keys in (["a"], [])] == ["", "past the end"]


def test_true_ends() -> None:
    """A query ends with a page without a next one, and at a learned or stated result cap."""
    whole = ResultPages()
    assert [whole.add_page(["a"], has_next=True), whole.add_page(["b"], has_next=False)] == ["", "last page"]
    assert not whole.ends_with_false_page
    assert ResultPages(cap=2).add_page(["a", "b"], has_next=True) == "cap"
    assert ResultPages().add_page(["a", "b"], StatedTotals(total=9, cap=2), has_next=True) == "cap"


@given(st.lists(st.sets(st.text(max_size=2), max_size=4), max_size=8))
def test_each_match_counts_once(pages: list[set[str]]) -> None:
    """The number of matches is the number of distinct keys up to the end."""
    result_pages, seen = ResultPages(), set[str]()
    for keys in pages:
        end = result_pages.add_page(keys, has_next=True)
        if end:
            assert keys <= seen
            break
        seen |= keys
    assert result_pages.matches == len(seen)


def finished(matches: int, total: int | None, pages: int = 5) -> FinishedQuery:
    return FinishedQuery(matches=matches, pages=pages, end="last page", total=total, trust="unknown")


def test_the_result_cap_is_learned() -> None:
    """Two queries with larger totals that stop at the same number, or three without totals; none if all matches were returned."""
    assert learn_cap([finished(200, 900), finished(200, 4000), finished(30, 30)]) == 200
    assert learn_cap([finished(200, 900), finished(30, 30)]) is None
    assert learn_cap([finished(50, 727), finished(50, 163), finished(50, 50)]) == 50, (
        "a query may have as many as the cap"
    )
    assert learn_cap([finished(50, 60), finished(50, 55), *[finished(50, 50)] * 3]) is None, "some totals are wrong"
    assert learn_cap([finished(50, None)] * 3) == 50
    assert learn_cap([finished(50, None, pages=1)] * 3) == 50, "no answer of the source has a second page"
    assert learn_cap([*[finished(50, None, pages=1)] * 3, finished(40, None, pages=2)]) is None, "full by chance"
    assert learn_cap([finished(3, None, pages=1)] * 3) is None
    assert learn_cap([finished(60, 60)] * 3) is None
    assert learn_cap([FinishedQuery(matches=500, pages=50, end="cap", total=6318, trust="constant", cap=500)]) == 500
