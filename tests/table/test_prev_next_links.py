"""Links to the previous and next record do not describe the record."""

from upwell.table.extraneous_fields import prev_next_fields
from upwell.table.rows import FieldColumns
from upwell.types import PAGE_PREFIX


def test_titles_of_adjacent_records_are_removed_and_parents_kept() -> None:
    """ "← Title 3" on the page of record 4 is removed; a parent shared by many records is a field."""
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
    }  # for a sample, the titles of all rows are used
