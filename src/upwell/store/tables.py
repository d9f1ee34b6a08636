"""Reads the user's tables: texts, query logs, knowledge bases, and the tables of other harvests.

JSON Lines, TSV, CSV, Parquet, the text formats plain or gzip; `rows` also takes SQLite and the folder of a harvest.
"""

import csv
import gzip
import json
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TextIO

from upwell.errors import WrongUsage
from upwell.store import parquet
from upwell.store.records import READABLE

__all__ = ["open_text", "read", "rows", "table_of", "values"]

SQLITE = (".sqlite", ".sqlite3", ".db")
UNREADABLE = (OSError, EOFError, csv.Error, sqlite3.Error, zlib.error)  # what damaged files raise while they are read


def read(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, ...] | None]:
    """The rows of a table with the named columns in their order; None for a line that cannot be read, so that the caller can count it.

    In TSV and CSV columns are taken by position, and a first line that holds only their names is skipped.
    """
    if not path.is_file():
        raise WrongUsage(f"{path} is no file")
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


def rows(path: Path) -> Iterator[dict[str, str] | None]:
    """The rows of a table, or of the table in a harvest's folder, as texts by column; None for a line that cannot be read.

    The first line of TSV and CSV names the columns; each line of a .txt file is a `text`.
    """
    path = table_of(path)
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


def values(path: Path) -> Iterator[dict[str, object] | None]:
    """The rows of a table as `rows` gives them, with the values that the file has in place of texts."""
    path = table_of(path)
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
            yield from rows(path)  # type: ignore[misc] # texts are values
    except UNREADABLE as error:
        raise WrongUsage(f"{path} cannot be read as a table: {error}") from error


def table_of(path: Path) -> Path:
    """The path itself, or the newest table in the folder of a harvest; the folder given with -o will do where it has one site."""
    if path.is_file():
        return path
    if not path.is_dir():
        raise WrongUsage(f"{path} is no file and no folder")
    tables = [table for format in READABLE if (table := path / f"records.{format}").is_file()]
    if tables:
        return max(tables, key=lambda table: table.stat().st_mtime)
    kinds = sorted(table.name for format in READABLE for table in path.glob(f"records-*.{format}"))
    if kinds:
        raise WrongUsage(f"{path} has a table for each kind of thing; name one of {', '.join(kinds)} in it")
    sites = sorted({table.parent for format in READABLE for table in path.glob(f"*/records.{format}")})
    if len(sites) == 1:
        return table_of(sites[0])
    if sites:
        raise WrongUsage(f"{path} has the harvests of {len(sites)} sites; name one of {', '.join(map(str, sites))}")
    raise WrongUsage(f"{path} has no records.{' or .'.join(READABLE)}: it is not the folder of a finished harvest")


def open_text(path: Path) -> TextIO:
    """A text file, plain or gzip; a byte order mark, as spreadsheets write it, is left out."""
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", errors="replace", newline="")
    return path.open(encoding="utf-8-sig", errors="replace", newline="")


def _cells(lines: TextIO, name: str) -> Iterator[list[str]]:
    if name.endswith(".csv"):
        return csv.reader(lines)
    return csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)


def _sqlite_values(path: Path) -> Iterator[dict[str, object]]:
    """The rows of the table `records`, or of the only one that there is."""
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as db:
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        table = names[0] if len(names) == 1 else "records"
        if table not in names:
            raise WrongUsage(f"{path} has {len(names)} tables and none is called records: {', '.join(names)}")
        quoted = table.replace(chr(34), 2 * chr(34))
        found = db.execute(f'SELECT * FROM "{quoted}"')  # noqa: S608 # the name is quoted
        columns = [column[0] for column in found.description]
        for row in found:
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
