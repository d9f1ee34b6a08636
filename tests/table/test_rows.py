"""Rows as columns."""

from upwell.table.rows import FieldColumns

ROWS = [{"a": 1, "b": "x"}, {"c": 0, "a": ""}]


def test_columns_in_the_order_in_which_they_appear() -> None:
    """With an empty cell where a row has none."""
    fields = FieldColumns.of(ROWS)
    assert (fields.columns, fields.count) == ({"a": [1, ""], "b": ["x", None], "c": [None, 0]}, 2)
    assert list(fields.columns) == ["a", "b", "c"]
    assert fields["none"] == [None, None]
    assert (fields.filled("a"), fields.filled("c")) == ([1], [0])
    assert list(fields.without(["b"]).columns) == ["a", "c"]


def test_rows_of_several() -> None:
    """Are the same as if they had been together from the first."""
    apart = FieldColumns.concatenate([FieldColumns.of(ROWS[:1]), FieldColumns.of(ROWS[1:])])
    assert (apart.columns, apart.count) == (FieldColumns.of(ROWS).columns, 2)
