"""Tables of every format are read alike, and unreadable ones are reported."""

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
    """The same keys, fields and gaps; columns whose names begin with _ are not fields."""
    table = read_table(write(ROWS, tmp_path, format))  # type: ignore[arg-type] # one of the formats
    assert list(table.keys) == ["x", "y"]
    assert {name: list(texts) for name, texts in table.texts.items()} == {
        "name": ["Lima", "Cusco"],
        "people": ["7", ""],
    }


def test_rows_without_keys_are_identified_by_number(tmp_path: Path) -> None:
    """From 0; the table is named after its file."""
    (tmp_path / "cities.csv").write_text("name\nLima\nCusco\n")
    table = read_table(tmp_path / "cities.csv")
    assert (table.name, list(table.keys)) == ("cities", [0, 1])


def test_values_of_other_types_become_texts_in_arrow() -> None:
    """A column may contain numbers and texts; lists are joined."""
    table = table_of_rows([{"a": 1, "b": ["x", "y"]}, {"a": "n/a"}, {"a": {"c": 2}}], "mixed")
    assert list(table.texts["a"]) == ["1", "n/a", "2"]
    assert table.texts["b"][0] == "x; y"
    assert table.arrow().column("a").to_pylist() == ["1", "n/a", "2"]


def test_any_database_with_one_table_is_read(tmp_path: Path) -> None:
    """SQLite files of other programs have no table `records`; with several tables the message asks for one."""
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
def test_unreadable_files_are_reported(name: str, content: str, message: str, tmp_path: Path) -> None:
    """The message names the file and the cause."""
    (tmp_path / name).write_text(content)
    with pytest.raises(WrongUsage, match=message):
        read_table(tmp_path / name)


def test_invalid_lines_are_counted(tmp_path: Path) -> None:
    """One bad line does not stop a table."""
    (tmp_path / "a.jsonl").write_text(json.dumps({"name": "Lima"}) + "\n[1, 2]\n{broken\n")
    table = read_table(tmp_path / "a.jsonl")
    assert (len(table), table.skipped) == (1, 2)


def test_folders_without_a_single_table_are_reported(tmp_path: Path) -> None:
    """A folder without a table, and one with a table per kind of entity."""
    with pytest.raises(WrongUsage, match="not the folder of a finished harvest"):
        read_table(tmp_path)
    write(ROWS, tmp_path, name="records-books")
    with pytest.raises(WrongUsage, match=r"add the name of one of them to the path: records-books\.parquet"):
        read_table(tmp_path)
