"""Queries of the user: files, columns of tables, strings."""

import gzip
from pathlib import Path

import pytest

from upwell.errors import WrongUsage
from upwell.table import writers as records
from upwell.table.readers import read_queries

ROWS = [{"_key": "1", "author": "Jane  Austen"}, {"_key": "2", "author": "Mary Shelley"}, {"_key": "3"}]
ROWS.append({"_key": "4", "author": "Jane Austen"})


def test_a_file_has_one_query_per_line(tmp_path: Path) -> None:
    """Plain text, or the output of `upwell queries`, with or without --json; comments, empty lines and duplicates are ignored; also gzip."""
    text = '# mine\n\nnew york\r\n  san  juan \nlima\t14\n{"query": "jane austen", "expected": 2.0}\nnew york\n'
    (tmp_path / "q.txt").write_text(text)
    (tmp_path / "q.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    expected = ("new york", "san juan", "lima", "jane austen")
    assert read_queries(tmp_path / "q.txt") == read_queries(str(tmp_path / "q.jsonl.gz")) == expected


@pytest.mark.parametrize("format", records.READABLE)
def test_a_column_of_a_harvest_is_a_list_of_queries(format: records.Format, tmp_path: Path) -> None:
    """By folder or file, each value once, in order; the folder's name may contain a colon."""
    folder = tmp_path / "a:b"
    folder.mkdir()
    table = records.write(ROWS, folder, format)
    assert read_queries(f"{folder}:author") == read_queries(f"{table}:author") == ("Jane Austen", "Mary Shelley")


def test_strings_are_queries_in_order() -> None:
    """As passed from Python."""
    assert read_queries(["new york", " lima ", "new york", ""]) == ("new york", "lima")
    assert read_queries(query for query in ("b c", "a")) == ("b c", "a")


def test_the_default_column_of_a_table_is_query(tmp_path: Path) -> None:
    """A table of queries needs no column name."""
    (tmp_path / "q.csv").write_text("query,expected\nnew york,3\n")
    assert read_queries(tmp_path / "q.csv") == ("new york",)


def test_errors_name_the_missing_file_column_or_line(tmp_path: Path) -> None:
    """A file, folder, column or line that is missing or empty."""
    records.write(ROWS, tmp_path, "csv")
    (tmp_path / "empty.txt").write_text("# nothing\n")
    (tmp_path / "bad.jsonl").write_text('{"query": "a b"}\n{"text": "c"}\n')
    for given, message in (
        ("none.txt", "none.txt does not exist"),
        ("none:author", "none (of none:author) does not exist"),
        (f"{tmp_path}:title", "has no column title; write "),
        (f"{tmp_path}", "with one of author, _key"),
        (f"{tmp_path / 'empty.txt'}", "contains no query"),
        (f"{tmp_path / 'bad.jsonl'}", "bad.jsonl, line 2"),
    ):
        with pytest.raises(WrongUsage) as caught:
            read_queries(given)
        assert message in str(caught.value)
    with pytest.raises(WrongUsage):
        read_queries([])
