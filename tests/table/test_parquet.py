"""Our Parquet files are read correctly by other programs, and theirs by us."""

import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from upwell.errors import WrongUsage
from upwell.table import parquet
from upwell.table import readers as tables
from upwell.table.rows import InMemoryRows
from upwell.table.writers import read_keys, write

UTC = datetime.UTC
ROWS: list[dict[str, object]] = [
    {"_key": "a", "n": 1, "x": 1, "day": datetime.date(2004, 2, 1), "at": datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "ok": True},
    {"_key": "b'\"", "n": None, "x": 2.5, "tags": ["p", "q"], "name": "1", "Name": "2", "mixed": 7, "void": None},
    {"_key": "c", "n": -3, "mixed": "seven", "we\"ird 'name'": "\x00 \u2028 \ud800 end", "huge": 2**70},
]  # fmt: skip


def test_another_reader_sees_the_same_types_and_values(tmp_path: Path) -> None:
    """Numbers, dates, times, lists and unusual texts; a column of several types is text; names that differ only in case get a number."""
    table = pq.read_table(write(ROWS, tmp_path))
    assert {field.name: str(field.type) for field in table.schema} == {
        "_key": "string", "n": "int64", "x": "double", "day": "date32[day]", "at": "timestamp[us, tz=UTC]", "ok": "bool",
        "tags": "list<element: string>", "name": "string", "Name_2": "string", "mixed": "string", "void": "string",
        "we\"ird 'name'": "string", "huge": "string",
    }  # fmt: skip
    rows = table.to_pylist()
    assert [row["_key"] for row in rows] == ["a", "b'\"", "c"]
    assert [row["n"] for row in rows] == [1, None, -3]
    assert (rows[0]["day"], rows[0]["at"]) == (ROWS[0]["day"], ROWS[0]["at"])
    assert (rows[1]["tags"], rows[1]["name"], rows[1]["Name_2"], rows[1]["mixed"]) == (["p", "q"], "1", "2", "7")
    assert (rows[2]["we\"ird 'name'"], rows[2]["huge"]) == ("\x00 \u2028 ? end", str(2**70))
    assert read_keys(tmp_path / "records.parquet") == ["a", "b'\"", "c"]
    assert [path.name for path in tmp_path.iterdir()] == ["records.parquet"]


def test_rows_that_are_held_as_columns_give_the_same_file(tmp_path: Path) -> None:
    """Columns are passed to DuckDB as arrays, other rows as lines of JSON."""
    odd: list[dict[str, object]] = [
        *ROWS,
        {"mixed": ["l", "m"], "x": -2.5e-300, "tags": ["", "\ud800", None, "NULL"], "day": datetime.date(1, 1, 1)},
        {
            "mixed": {"k": 1.5},
            "at": datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=5))),
        },
        {"mixed": True, "n": 2**62, "void": None},
    ]
    names = dict.fromkeys(name for row in odd for name in row)
    held = InMemoryRows({name: [row.get(name) for row in odd] for name in names}, len(odd))
    (tmp_path / "held").mkdir()
    assert write(held, tmp_path / "held").read_bytes() == write(odd, tmp_path).read_bytes()
    assert list(parquet.read(write(held, tmp_path, "duckdb"), list(names)[:2]))[2] == ("c", -3)
    assert read_keys(write(InMemoryRows({}, 0), tmp_path)) == []


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"_key": str(i), "text": f"text {i * i % 997}"} for i in range(300_000)]
    first = write(rows, tmp_path).read_bytes()
    assert write(rows, tmp_path).read_bytes() == first
    assert read_keys(tmp_path / "records.parquet")[::99_999] == ["0", "99999", "199998", "299997"]


def test_brackets_and_stars_in_a_folder_name_are_not_patterns(tmp_path: Path) -> None:
    """DuckDB would expand them."""
    folder = tmp_path / "a[b]*?'c"
    folder.mkdir()
    assert read_keys(write([{"_key": "k"}], folder)) == ["k"]


def test_empty_tables_and_very_long_rows_are_written(tmp_path: Path) -> None:
    """A record may be longer than DuckDB expects of a line."""
    assert read_keys(write([], tmp_path)) == []
    assert read_keys(write([{"_key": "k", "text": "x" * 20_000_000}], tmp_path)) == ["k"]


def test_columns_of_other_tables_are_read_in_the_requested_order(tmp_path: Path) -> None:
    """Empty cells are empty texts; missing or damaged files are reported."""
    path = tmp_path / "log.parquet"
    pq.write_table(pa.table({"clicks": [3, None], "query": ["a", "b"], "other": [1, 2]}), path)
    assert list(tables.read_columns(path, ["query", "clicks"])) == [("a", "3"), ("b", "")]
    with pytest.raises(WrongUsage, match=r"log\.parquet.*url"):
        list(parquet.read(path, ["url"]))
    path.write_text("no table")
    with pytest.raises(WrongUsage, match=r"log\.parquet"):
        list(tables.read_columns(path, ["query"]))
