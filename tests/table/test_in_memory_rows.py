"""Rows that are stored as columns behave like rows."""

from upwell.table.rows import InMemoryRows

ROWS = InMemoryRows(
    {"_key": ["a", "b", "c"], "cost": [None, 3, 4], "cost_currency": [None, "$", None], "size": [1, 2, None], "size_unit": ["km", "mi", None]},
    3,
    {"cost_currency": "cost", "size_unit": "size"},
)  # fmt: skip


def test_rows_can_be_indexed_sliced_and_iterated() -> None:
    """A unit or a currency is present where its number is."""
    assert len(ROWS) == 3
    assert ROWS[0] == {"_key": "a", "cost": None, "size": 1, "size_unit": "km"}
    assert ROWS[2] == {"_key": "c", "cost": 4, "cost_currency": None, "size": None}
    assert ROWS[1:] == list(ROWS)[1:]
    assert ROWS.filled == {"_key": 3, "cost": 2, "cost_currency": 1, "size": 2, "size_unit": 2}


def test_columns_are_in_the_order_of_first_use() -> None:
    """The first row has a unit, and no currency."""
    assert ROWS.names == ["_key", "cost", "size", "size_unit", "cost_currency"]


def test_selected_columns_may_be_empty() -> None:
    """Columns that no row has are empty if each row must have all."""
    assert ROWS.select(["size", "size_unit"])[2] == {"size": None}
    assert ROWS.select(["size_unit", "none"], fill_missing=True)[2] == {"size_unit": None, "none": None}
