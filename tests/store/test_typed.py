"""Types of a harvest's columns: what all texts of a column are, and nothing that would be lost."""

import datetime
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from upwell.store.records import write
from upwell.store.typed import types_of, with_types

ROWS: list[dict[str, object]] = [
    {"_key": "1", "n": "12,345", "share": "3.5", "cost": "9.99 €", "day": "1 Feb 2004", "zip": "01234", "when": "2004-02-01 08:15"},
    {"_key": "2", "n": "7", "share": "12", "cost": "1,200.00 €", "day": "14 March 2016", "zip": "99999", "when": "2004-02-02 09:15"},
    {"_key": "3", "n": None, "share": "", "cost": "3 €", "day": "3 May 2020", "zip": "10115", "when": "2004-02-03 10:15"},
]  # fmt: skip


def test_numbers_prices_and_dates() -> None:
    types = types_of(ROWS)
    assert types == {
        "n": "integer",
        "share": "decimal",
        "cost": "price",
        "day": "date",
        "zip": "text",
        "when": "text",
    }
    first, second, third = with_types(ROWS, types)
    assert (first["n"], second["n"], third["n"]) == (12345, 7, None)
    assert (first["share"], second["share"], third["share"]) == (3.5, 12.0, None)
    assert (second["cost"], second["cost_currency"]) == (1200.0, "€")
    assert first["day"] == datetime.date(2004, 2, 1)
    assert first["zip"] == "01234"  # a code is no number
    assert first["when"] == "2004-02-01 08:15"  # the time would be lost


@pytest.mark.parametrize("odd", ["n/a", "12 of 40", "007"])
def test_one_text_that_is_none_keeps_the_column_as_it_is(odd: str) -> None:
    rows = [{"n": str(i)} for i in range(30)] + [{"n": odd}]
    types = types_of(rows)
    assert types == {"n": "text"}
    assert [row["n"] for row in with_types(rows, types)] == [row["n"] for row in rows]


def test_a_column_of_integers_with_few_decimals_is_one_of_decimals() -> None:
    rows = [{"stars": "4"} for _ in range(9)] + [{"stars": str(i)} for i in range(9)] + [{"stars": "4.5"}]
    types = types_of(rows)
    assert types == {"stars": "decimal"}
    assert list(with_types(rows, types))[-1] == {"stars": 4.5}


def test_days_that_could_be_months_stay() -> None:
    assert types_of([{"day": "03/04/2005"}, {"day": "05/04/2005"}]) == {"day": "text"}


def test_every_format_takes_them(tmp_path: Path) -> None:
    rows = list(with_types(ROWS, types_of(ROWS)))
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
