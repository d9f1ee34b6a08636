"""A pager that lies is caught, and the cap of a source is learned from how its queries end."""

from hypothesis import given
from hypothesis import strategies as st

from upwell.answers.result_pages import FinishedQuery, ResultPages, learn_cap
from upwell.answers.totals import StatedTotals


def test_lies() -> None:
    """The same page again, round and round, an empty page past the end."""
    same = ResultPages()
    assert [same.page(keys, follows=True) for keys in (["a", "b"], ["b", "a"])] == ["", "same page"]
    assert (same.lied, same.matches) == (True, 2)
    round_trip = ResultPages()
    assert [round_trip.page(keys, follows=True) for keys in (["a"], ["b"], ["a"])] == ["", "", "nothing new"]
    past = ResultPages()
    assert [past.page(keys, follows=True) for keys in (["a"], [])] == ["", "past the end"]


def test_honest_ends() -> None:
    """The last page has no next; a known or named cap ends it too."""
    honest = ResultPages()
    assert [honest.page(["a"], follows=True), honest.page(["b"], follows=False)] == ["", "last page"]
    assert not honest.lied
    assert ResultPages(cap=2).page(["a", "b"], follows=True) == "cap"
    assert ResultPages().page(["a", "b"], StatedTotals(total=9, cap=2), follows=True) == "cap"


@given(st.lists(st.sets(st.text(max_size=2), max_size=4), max_size=8))
def test_each_match_counts_once(pages: list[set[str]]) -> None:
    """Whatever the pages bring, matches are the distinct keys up to the end."""
    turning, seen = ResultPages(), set[str]()
    for keys in pages:
        end = turning.page(keys, follows=True)
        if end:
            assert keys <= seen
            break
        seen |= keys
    assert turning.matches == len(seen)


def ended(matches: int, total: int | None, pages: int = 5) -> FinishedQuery:
    return FinishedQuery(matches=matches, pages=pages, end="last page", total=total, trust="unknown")


def test_the_cap_is_learned() -> None:
    """Two queries that were promised more and stop at one number; three where nothing is promised; none where all came."""
    assert learn_cap([ended(200, 900), ended(200, 4000), ended(30, 30)]) == 200
    assert learn_cap([ended(200, 900), ended(30, 30)]) is None
    assert learn_cap([ended(50, None)] * 3) == 50
    assert learn_cap([ended(50, None, pages=1)] * 3) is None
    assert learn_cap([ended(60, 60)] * 3) is None
    assert learn_cap([FinishedQuery(matches=500, pages=50, end="cap", total=6318, trust="constant", cap=500)]) == 500
