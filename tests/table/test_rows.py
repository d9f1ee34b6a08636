"""Rows stored as columns."""

from upwell.table.rows import FieldColumns

ROWS = [{"a": 1, "b": "x"}, {"c": 0, "a": ""}]


def test_columns_are_in_the_order_in_which_they_appear() -> None:
    """With an empty cell if a row has no value."""
    fields = FieldColumns.of(ROWS)
    assert (fields.columns, fields.count) == ({"a": [1, ""], "b": ["x", None], "c": [None, 0]}, 2)
    assert list(fields.columns) == ["a", "b", "c"]
    assert fields["none"] == [None, None]
    assert (fields.filled("a"), fields.filled("c")) == ([1], [0])
    assert list(fields.without(["b"]).columns) == ["a", "c"]


def test_concatenated_columns_equal_those_of_all_rows() -> None:
    """As if all rows had been added together."""
    apart = FieldColumns.concatenate([FieldColumns.of(ROWS[:1]), FieldColumns.of(ROWS[1:])])
    assert (apart.columns, apart.count) == (FieldColumns.of(ROWS).columns, 2)
