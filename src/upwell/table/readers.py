"""Read tables given by the user: texts, queries, query logs, knowledge bases and the tables of other harvests.

JSON Lines, TSV, CSV and Parquet, text formats plain or gzip; `read_rows` and `read_values` also read SQLite, DuckDB and the folder of a harvest.
"""

import csv
import gzip
import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TextIO

from upwell.errors import WrongUsage
from upwell.store.sqlite import connect_safely
from upwell.table import parquet
from upwell.table.writers import READABLE

__all__ = [
    "keys_by_query",
    "open_text",
    "read_columns",
    "read_queries",
    "read_rows",
    "read_values",
    "split_column",
    "table_path",
]

#
# JSON Lines, TSV, CSV, Parquet, the text formats plain or gzip; `read_rows` also takes SQLite and the folder of a harvest.

SQLITE = (".sqlite", ".sqlite3", ".db")
UNREADABLE = (OSError, EOFError, csv.Error, sqlite3.Error, zlib.error)  # raised while reading damaged files


def read_columns(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, ...] | None]:
    """Yield the named columns of a table, row by row; None for a line that cannot be read, so that the caller can count it.

    In TSV and CSV columns are taken by position, and a first line that contains only their names is skipped.
    """
    if not path.is_file():
        raise WrongUsage(f"{path} is not a file")
    try:
        yield from _read(path, columns)
    except UNREADABLE as error:
        raise WrongUsage(f"{path} cannot be read as a table: {error}") from error


def _read(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, ...] | None]:
    name = path.name.removesuffix(".gz")
    if name.endswith(".parquet"):
        yield from (tuple(map(_text, row)) for row in parquet.read(path, columns))
    elif name.endswith((".jsonl", ".json")):
        with open_text(path) as lines:
            yield from (_json_row(line, columns) for line in lines if line.strip())
    elif name.endswith((".tsv", ".csv", ".txt")):
        with open_text(path) as lines:
            for number, row in enumerate(_cells(lines, name)):
                if number == 0 and [cell.strip().lower() for cell in row] == list(columns):
                    continue
                yield tuple(row[: len(columns)]) if len(row) >= len(columns) else None
    else:
        raise WrongUsage(f"{path}: the name should end in .jsonl, .tsv, .csv or .parquet (.gz may follow)")


def read_rows(path: Path) -> Iterator[dict[str, str] | None]:
    """Yield the rows of a table, or of the table in a harvest's folder, as texts by column; None for a line that cannot be read.

    The first line of TSV and CSV names the columns; each line of a .txt file becomes a `text`.
    """
    path = table_path(path)
    name = path.name.removesuffix(".gz")
    try:
        if name.endswith((".parquet", ".duckdb")):
            yield from parquet.read_texts(path)
        elif name.endswith(SQLITE):
            for row in _sqlite_values(path):
                yield {column: str(value) for column, value in row.items()}
        elif name.endswith((".jsonl", ".json")):
            with open_text(path) as lines:
                yield from (_json_object(line) for line in lines if line.strip())
        elif name.endswith((".tsv", ".csv")):
            with open_text(path) as lines:
                cells = _cells(lines, name)
                columns = next(cells, [])
                yield from (dict(zip(columns, row, strict=False)) for row in cells if row)
        elif name.endswith(".txt"):
            with open_text(path) as lines:
                yield from ({"text": line.strip()} for line in lines if line.strip())
        else:
            raise WrongUsage(f"{path}: the name should end in .parquet, .csv, .tsv, .jsonl, .sqlite, .duckdb or .txt")
    except UNREADABLE as error:
        raise WrongUsage(f"{path} cannot be read as a table: {error}") from error


def read_values(path: Path) -> Iterator[dict[str, object] | None]:
    """Yield the rows like `read_rows`, with typed values where the file has them."""
    path = table_path(path)
    name = path.name.removesuffix(".gz")
    try:
        if name.endswith((".parquet", ".duckdb")):
            yield from parquet.read_values(path)
        elif name.endswith(SQLITE):
            yield from _sqlite_values(path)
        elif name.endswith((".jsonl", ".json")):
            with open_text(path) as lines:
                yield from (_json_values(line) for line in lines if line.strip())
        else:
            yield from read_rows(path)  # type: ignore[misc] # texts are values
    except UNREADABLE as error:
        raise WrongUsage(f"{path} cannot be read as a table: {error}") from error


def table_path(path: Path) -> Path:
    """Return the path itself, or the newest table in the folder of a harvest; a folder with the harvest of a single site is accepted too."""
    if path.is_file():
        return path
    if not path.is_dir():
        raise WrongUsage(f"{path} is neither a file nor a folder")
    tables = [table for format in READABLE if (table := path / f"records.{format}").is_file()]
    if tables:
        return max(tables, key=lambda table: table.stat().st_mtime)
    kinds = sorted(table.name for format in READABLE for table in path.glob(f"records-*.{format}"))
    if kinds:
        raise WrongUsage(f"{path} has several tables; add the name of one of them to the path: {', '.join(kinds)}")
    sites = sorted({table.parent for format in READABLE for table in path.glob(f"*/records.{format}")})
    if len(sites) == 1:
        return table_path(sites[0])
    if sites:
        raise WrongUsage(
            f"{path} contains the harvests of {len(sites)} sites; name one of {', '.join(map(str, sites))}"
        )
    raise WrongUsage(f"{path} has no records.{' or .'.join(READABLE)}: it is not the folder of a finished harvest")


def open_text(path: Path) -> TextIO:
    """Open a text file, plain or gzip, without its byte order mark."""
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", errors="replace", newline="")
    return path.open(encoding="utf-8-sig", errors="replace", newline="")


def _cells(lines: TextIO, name: str) -> Iterator[list[str]]:
    if name.endswith(".csv"):
        return csv.reader(lines)
    return csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)


def _sqlite_values(path: Path) -> Iterator[dict[str, object]]:
    """Yield the rows of the table `records`, or of the only table."""
    with closing(connect_safely(path, read_only=True)) as db:
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        table = names[0] if len(names) == 1 else "records"
        if table not in names:
            raise WrongUsage(f"{path} has {len(names)} tables but none is called records: {', '.join(names)}")
        quoted = table.replace(chr(34), 2 * chr(34))
        rows = db.execute(f'SELECT * FROM "{quoted}"')  # noqa: S608 # the name is quoted
        columns = [column[0] for column in rows.description]
        for row in rows:
            yield {column: value for column, value in zip(columns, row, strict=True) if value is not None}


def _json_row(line: str, columns: Sequence[str]) -> tuple[str, ...] | None:
    try:
        row = json.loads(line)
        return tuple(_text(row[c]) for c in columns)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _json_object(line: str) -> dict[str, str] | None:
    row = _json_values(line)
    return None if row is None else {name: str(value) for name, value in row.items()}


def _json_values(line: str) -> dict[str, object] | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return {name: value for name, value in row.items() if value is not None} if isinstance(row, dict) else None


def _text(value: object) -> str:
    return "" if value is None else str(value)


TABLE_SUFFIXES = (".parquet", ".sqlite", ".csv", ".tsv")  # read by column, never line by line
QUERY_COLUMN = "query"  # default column of a table, and the key written by `upwell queries --json`
QUERY_FORMS = "a file with one query per line, or DIR:column"


def read_queries(given: str | Path | Iterable[str]) -> tuple[str, ...]:
    """Return distinct queries in their order.

    A file has one per line, as plain text or as JSON with the key `query`; text after a tab, empty lines and lines that start with # are
    ignored. `DIR:column` and `FILE:column` stand for the values of a column of a harvest or of a table.
    """
    if isinstance(given, str | Path):
        path, column = split_column(str(given))
        is_table = path.is_dir() or path.name.removesuffix(".gz").endswith(TABLE_SUFFIXES)
        texts = _values(path, column or QUERY_COLUMN) if column or is_table else _lines(path)
        problem = f"{path} contains no query" if not column else f"{path} has no value in column {column}"
    else:
        texts, problem = iter(given), "no query was given"
    queries = tuple(dict.fromkeys(query for text in texts if (query := " ".join(text.split()))))
    if not queries:
        raise WrongUsage(problem)
    return queries


def keys_by_query(given: str | Path | Iterable[str]) -> dict[str, list[str]]:
    """Return the keys of the rows that contain each query, if the queries are a column of a harvest; otherwise an empty dictionary."""
    if not isinstance(given, str | Path):
        return {}
    path, column = split_column(str(given))
    keys: dict[str, list[str]] = {}
    for row in read_rows(path) if column else ():
        if row and row.get(column) and row.get("_key"):
            keys.setdefault(" ".join(row[column].split()), []).append(row["_key"])
    return keys


def split_column(text: str, option: str = "--queries", forms: str = QUERY_FORMS) -> tuple[Path, str]:
    """Split `PATH:column` into path and column; the column is "" if none is named."""
    path, colon, column = (text, "", "") if Path(text).exists() else text.rpartition(":")
    if not colon and not path:
        raise WrongUsage(f"{text} does not exist; {option} accepts {forms}")
    if not Path(path).exists():
        raise WrongUsage(f"{path} (of {text}) does not exist; {option} accepts {forms}")
    return Path(path), column


def _values(path: Path, column: str) -> Iterator[str]:
    """Yield the values of a column."""
    names: dict[str, None] = {}
    for row in read_rows(path):
        names.update(dict.fromkeys(row or ()))
        if row and column in row:
            yield row[column]
    if column not in names:
        raise WrongUsage(f"{path} has no column {column}; write {path}:column with one of {', '.join(names) or 'none'}")


def _lines(path: Path) -> Iterator[str]:
    """Yield the queries of a text file."""
    try:
        with open_text(path) as lines:
            for number, line in enumerate(lines, 1):
                if line.startswith("{"):
                    yield _json_query(line, f"{path}, line {number}")
                elif not line.startswith("#"):
                    yield line.partition("\t")[0]
    except (OSError, EOFError, zlib.error) as error:
        raise WrongUsage(f"{path} cannot be read: {error}") from error


def _json_query(line: str, where: str) -> str:
    try:
        return str(json.loads(line)[QUERY_COLUMN])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise WrongUsage(f'{where}: expected JSON with "{QUERY_COLUMN}", as `upwell queries --json` writes') from error
