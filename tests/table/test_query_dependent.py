"""Fields that depend on the query become one snippet or are removed."""

from upwell.table.extraneous_fields import query_dependent_fields
from upwell.table.rows import FieldColumns


def test_passages_become_a_snippet_and_ranks_are_removed() -> None:
    """The longer of two passages is kept; fields that do not vary stay."""
    rows = [
        {
            "_url": f"http://x/{i}",
            "title": f"T{i}",
            "rank": str(i),
            "p1": "short passage of the text",
            "p2": "a longer passage of the text",
        }
        for i in range(3)
    ]
    fields = query_dependent_fields(FieldColumns.of(rows), {"rank", "p1", "p2"})
    assert fields.cleaned(rows[0]) == {"_url": "http://x/0", "title": "T0", "snippet": "a longer passage of the text"}


def test_a_field_that_repeats_the_url_is_removed() -> None:
    """`_url` has it already; a link to another page stays."""
    rows = [{"_url": f"http://x/p/{i}", "shown": f"/p/{i}", "home": f"http://y/{i}"} for i in range(3)]
    assert query_dependent_fields(FieldColumns.of(rows), ()).cleaned(rows[1]) == {
        "_url": "http://x/p/1",
        "home": "http://y/1",
    }
