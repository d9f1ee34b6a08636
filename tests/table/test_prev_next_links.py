"""The pages before and after a record are not about it."""

from upwell.table.extraneous_fields import prev_next_fields
from upwell.table.rows import FieldColumns
from upwell.types import PAGE_PREFIX


def test_titles_of_the_pages_before_and_after_go_and_parents_stay() -> None:
    """ "← Title 3" on the page of record 4; what many records belong to is a field of theirs."""
    rows = [
        {
            "title": f"Title {i}",
            PAGE_PREFIX + "previous": f"← Title {i - 1}",
            PAGE_PREFIX + "parent": f"Title {i // 10}",
            PAGE_PREFIX + "own": f"Title {i}",
        }
        for i in range(1, 80)
    ]
    assert prev_next_fields(FieldColumns.of(rows)) == {PAGE_PREFIX + "previous"}
    sample = rows[::10]
    assert prev_next_fields(FieldColumns.of(sample), rows) == {
        PAGE_PREFIX + "previous"
    }  # of a sample, the titles are those of all rows
