"""The user's own queries: files, columns of tables, strings."""

import gzip
from pathlib import Path

import pytest

from upwell.errors import WrongUsage
from upwell.table import writers as records
from upwell.table.readers import read_queries

ROWS = [{"_key": "1", "author": "Jane  Austen"}, {"_key": "2", "author": "Mary Shelley"}, {"_key": "3"}]
ROWS.append({"_key": "4", "author": "Jane Austen"})


def test_a_file_has_one_query_a_line(tmp_path: Path) -> None:
    """Plain, as `upwell queries` prints them, or as its JSON; comments, empty lines and repetitions left out; gzip too."""
    text = '# mine\n\nnew york\r\n  san  juan \nlima\t14\n{"query": "jane austen", "expected": 2.0}\nnew york\n'
    (tmp_path / "q.txt").write_text(text)
    (tmp_path / "q.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    expected = ("new york", "san juan", "lima", "jane austen")
    assert read_queries(tmp_path / "q.txt") == read_queries(str(tmp_path / "q.jsonl.gz")) == expected


@pytest.mark.parametrize("format", records.READABLE)
def test_a_column_of_a_harvest_is_a_list_of_queries(format: records.Format, tmp_path: Path) -> None:
    """By the folder or the file, each value once, in order; a colon in the folder's name does no harm."""
    folder = tmp_path / "a:b"
    folder.mkdir()
    table = records.write(ROWS, folder, format)
    assert read_queries(f"{folder}:author") == read_queries(f"{table}:author") == ("Jane Austen", "Mary Shelley")


def test_strings_and_a_column_named_query() -> None:
    """What Python gives; order kept."""
    assert read_queries(["new york", " lima ", "new york", ""]) == ("new york", "lima")
    assert read_queries(query for query in ("b c", "a")) == ("b c", "a")


def test_a_table_without_a_named_column_has_a_column_query(tmp_path: Path) -> None:
    """So a table of queries needs no name."""
    (tmp_path / "q.csv").write_text("query,expected\nnew york,3\n")
    assert read_queries(tmp_path / "q.csv") == ("new york",)


def test_what_is_wrong_is_said_where(tmp_path: Path) -> None:
    """A file, a folder, a column, a line that is not there or is empty."""
    records.write(ROWS, tmp_path, "csv")
    (tmp_path / "empty.txt").write_text("# nothing\n")
    (tmp_path / "bad.jsonl").write_text('{"query": "a b"}\n{"text": "c"}\n')
    for given, message in (
        ("none.txt", "none.txt does not exist"),
        ("none:author", "none (of none:author) does not exist"),
        (f"{tmp_path}:title", "has no column title; write "),
        (f"{tmp_path}", "with one of _key, author"),
        (f"{tmp_path / 'empty.txt'}", "contains no query"),
        (f"{tmp_path / 'bad.jsonl'}", "bad.jsonl, line 2"),
    ):
        with pytest.raises(WrongUsage) as caught:
            read_queries(given)
        assert message in str(caught.value)
    with pytest.raises(WrongUsage, match="no query was given"):
        read_queries([])
