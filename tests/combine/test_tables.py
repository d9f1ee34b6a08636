"""Tables of every format read alike, and what cannot be read said clearly."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from upwell.combine.source_table import read_table, table_of_rows
from upwell.errors import WrongUsage
from upwell.table.writers import READABLE, write

ROWS: list[dict[str, object]] = [
    {"_key": "x", "_url": "u", "name": "Lima", "people": 7},
    {"_key": "y", "name": "Cusco", "people": None},
]


@pytest.mark.parametrize("format", READABLE)
def test_every_format_gives_the_same_table(format: str, tmp_path: Path) -> None:
    """Keys, fields and gaps are the same, whatever the file; columns that begin with _ are no fields."""
    table = read_table(write(ROWS, tmp_path, format))  # type: ignore[arg-type] # one of the formats
    assert list(table.keys) == ["x", "y"]
    assert {name: list(texts) for name, texts in table.texts.items()} == {
        "name": ["Lima", "Cusco"],
        "people": ["7", ""],
    }


def test_a_table_without_keys_is_named_by_row_numbers(tmp_path: Path) -> None:
    """Rows are counted from 0, and the table is called after its file."""
    (tmp_path / "cities.csv").write_text("name\nLima\nCusco\n")
    table = read_table(tmp_path / "cities.csv")
    assert (table.name, list(table.keys)) == ("cities", [0, 1])


def test_values_of_other_types_become_texts_in_arrow() -> None:
    """A column that has numbers and texts does not break; lists are joined as texts."""
    table = table_of_rows([{"a": 1, "b": ["x", "y"]}, {"a": "n/a"}, {"a": {"c": 2}}], "mixed")
    assert list(table.texts["a"]) == ["1", "n/a", "2"]
    assert table.texts["b"][0] == "x; y"
    assert table.arrow().column("a").to_pylist() == ["1", "n/a", "2"]


def test_any_database_with_one_table_is_read(tmp_path: Path) -> None:
    """SQLite files of others have no table `records`; one with several must say which."""
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE books (title)")
        db.execute("INSERT INTO books VALUES ('Emma')")
        db.commit()
        assert list(read_table(path).texts["title"]) == ["Emma"]
        db.execute("CREATE TABLE authors (name)")
        db.commit()
    with pytest.raises(WrongUsage, match="2 tables but none is called records: books, authors"):
        read_table(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", "no json\nneither\n", "no readable row"),
        ("a.parquet", "no parquet", "cannot be read as a Parquet file"),
        ("a.docx", "", "the name should end in"),
        ("a.sqlite", "no database, but long enough to look like one", "cannot be read as a table"),
    ],
)
def test_what_cannot_be_read_is_said(name: str, content: str, message: str, tmp_path: Path) -> None:
    """A clear word names the file and the cause."""
    (tmp_path / name).write_text(content)
    with pytest.raises(WrongUsage, match=message):
        read_table(tmp_path / name)


def test_lines_that_are_no_rows_are_counted(tmp_path: Path) -> None:
    """One bad line does not stop a table."""
    (tmp_path / "a.jsonl").write_text(json.dumps({"name": "Lima"}) + "\n[1, 2]\n{broken\n")
    table = read_table(tmp_path / "a.jsonl")
    assert (len(table), table.skipped) == (1, 2)


def test_folders_that_are_no_single_harvest_are_said(tmp_path: Path) -> None:
    """A folder without a table, and one with a table for each kind of thing."""
    with pytest.raises(WrongUsage, match="not the folder of a finished harvest"):
        read_table(tmp_path)
    write(ROWS, tmp_path, name="records-books")
    with pytest.raises(WrongUsage, match=r"add the name of one of them to the path: records-books\.parquet"):
        read_table(tmp_path)
