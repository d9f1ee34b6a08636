"""Types of the columns of a harvest: a type applies if all texts of a column have it and nothing is lost."""

import datetime
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from upwell.table.schema import infer_columns, shape_rows
from upwell.table.value_types import types_of, with_types
from upwell.table.writers import write

ROWS: list[dict[str, object]] = [
    {"_key": "1", "n": "12,345", "share": "3.5", "cost": "9.99 €", "day": "1 Feb 2004", "zip": "01234", "when": "2004-02-01 08:15"},
    {"_key": "2", "n": "7", "share": "12", "cost": "1,200.00 €", "day": "14 March 2016", "zip": "99999", "when": "2004-02-02 09:15"},
    {"_key": "3", "n": None, "share": "", "cost": "3 €", "day": "3 May 2020", "zip": "10115", "when": "2004-02-03 10:15"},
]  # fmt: skip


def test_numbers_prices_and_dates_are_typed() -> None:
    columns = infer_columns(ROWS)
    assert types_of(ROWS, columns) == {
        "n": "integer",
        "share": "decimal",
        "cost": "price (€)",
        "day": "date",
        "zip": "text",
        "when": "datetime",
    }
    first, second, third = with_types(ROWS, columns)
    assert (first["n"], second["n"], third["n"]) == (12345, 7, None)
    assert (first["share"], second["share"], third["share"]) == (3.5, 12.0, None)
    assert second["cost"] == 1200.0
    assert "cost_currency" not in second  # a constant column is removed
    assert first["day"] == datetime.date(2004, 2, 1)
    assert first["zip"] == "01234"  # a code is not a number
    assert first["when"] == datetime.datetime(2004, 2, 1, 8, 15)  # the page has no time zone


def test_several_currencies_or_units_have_their_own_column() -> None:
    texts = [
        {"cost": "9.99 €", "size": "3 KB", "length": "4 km"},
        {"cost": "US$ 4", "size": "2 MB", "length": "12.5 km"},
    ]
    columns = infer_columns(texts)
    first, second = with_types(shape_rows(texts, columns), columns)
    assert first == {"cost": 9.99, "cost_currency": "€", "size": 3, "size_unit": "KB", "length_km": 4.0}
    assert (second["size"], second["size_unit"]) == (2, "MB")


@pytest.mark.parametrize("odd", ["n/a", "12 of 40", "007"])
def test_one_text_without_the_type_keeps_the_column_as_text(odd: str) -> None:
    rows = [{"n": str(i)} for i in range(30)] + [{"n": odd}]
    columns = infer_columns(rows)
    assert types_of(rows, columns) == {"n": "text"}
    assert [row["n"] for row in with_types(rows, columns)] == [row["n"] for row in rows]


def test_integers_with_some_decimals_are_decimals() -> None:
    rows = [{"stars": "4"} for _ in range(9)] + [{"stars": str(i)} for i in range(9)] + [{"stars": "4.5"}]
    columns = infer_columns(rows)
    assert types_of(rows, columns) == {"stars": "decimal"}
    assert list(with_types(rows, columns))[-1] == {"stars": 4.5}


def test_ambiguous_days_and_months_stay_text() -> None:
    rows = [{"day": "03/04/2005"}, {"day": "05/04/2005"}]
    assert types_of(rows, infer_columns(rows)) == {"day": "text"}


def test_one_unambiguous_day_decides_for_the_column() -> None:
    rows = [{"day": "03/04/2005"}, {"day": "25/04/2005"}]
    assert [row["day"] for row in with_types(rows, infer_columns(rows))] == [
        datetime.date(2005, 4, 3),
        datetime.date(2005, 4, 25),
    ]


def test_two_words_for_yes_and_no_are_booleans() -> None:
    rows: list[dict[str, object]] = [
        {"_key": "1", "free": "Yes"},
        {"_key": "2", "free": "no"},
        {"_key": "3", "free": None},
    ]
    assert [row["free"] for row in with_types(rows, infer_columns(rows))] == [True, False, None]


def test_every_format_writes_typed_values(tmp_path: Path) -> None:
    rows = list(with_types(ROWS, infer_columns(ROWS)))
    schema = pq.read_schema(write(rows, tmp_path, "parquet"))
    assert {name: str(schema.field(name).type) for name in ("n", "cost", "day", "zip")} == {
        "n": "int64",
        "cost": "double",
        "day": "date32[day]",
        "zip": "string",
    }
    assert json.loads(write(rows, tmp_path, "jsonl").read_text().splitlines()[0])["day"] == "2004-02-01"
    assert "2004-02-01" in write(rows, tmp_path, "csv").read_text()
    assert write(rows, tmp_path, "sqlite").exists()
