"""Write records as a table: Parquet, CSV, JSON Lines, SQLite with full-text search (usable by Datasette), DuckDB or Excel."""

import csv
import datetime
import io
import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Literal

from upwell.errors import WrongUsage
from upwell.table import parquet
from upwell.table.rows import InMemoryRows, StreamedRows

__all__ = [
    "FORMATS",
    "READABLE",
    "TOGETHER",
    "Format",
    "column_order",
    "csv_lines",
    "read_keys",
    "write",
    "write_together",
]

Format = Literal["parquet", "csv", "jsonl", "sqlite", "duckdb", "xlsx"]
FORMATS: tuple[Format, ...] = ("parquet", "csv", "jsonl", "sqlite", "duckdb", "xlsx")
READABLE = FORMATS[:-1]  # all but Excel, which is meant for people
PEOPLES = ("csv", "xlsx")  # formats in which the columns of the user come first
TOGETHER = ("sqlite", "duckdb", "xlsx")  # formats that can hold several tables in one file
Rows = InMemoryRows | StreamedRows
# Limits of an Excel sheet (Excel specifications and limits).
MAX_SHEET_ROWS, MAX_SHEET_COLUMNS, MAX_CELL_CHARS, MAX_SHEET_NAME = 1_048_576, 16_384, 32_767, 31
FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r")  # OWASP, "CSV Injection"
NUMBER = re.compile(r"[-+]?\d[\d.,]*(?:[eE][-+]?\d+)?%?")
ROWID_NAMES = ("rowid", "oid", "_rowid_")  # SQLite's aliases for the row number
# Reserved by FTS5: its own columns, one of which is named like the index. Columns of views with the last two names cannot be indexed
# (SQLite 3.40).
FTS_NAMES = ("rank", "rowid", "records_fts", "true", "false")
MAX_SQLITE_COLUMNS = 2000  # SQLite, "Implementation Limits"
MAX_NAME_CHARS = 1000  # safety limit: longer column names are cut


def write(
    rows: Iterable[Mapping[str, object]],
    folder: Path,
    format: Format = "parquet",
    *,
    name: str = "records",
    file: Path | None = None,
    keep_formulas: bool = False,
    columns: Sequence[str] = (),
    keep_order: bool = False,
) -> Path:
    """Write `<name>.<format>`, or `file`; the default columns are all that occur in any row, in order of first appearance.

    In CSV and Excel, which people read, the columns that start with `_` come last, unless `columns` or `keep_order` is given.
    With `keep_formulas`, texts that a spreadsheet would interpret as a formula are left unchanged in CSV.
    """
    if format not in FORMATS:
        raise WrongUsage(f"unknown format {format!r}: use one of {', '.join(FORMATS)}")
    if not isinstance(rows, InMemoryRows | StreamedRows):
        rows = list(rows)
    columns = list(columns) or column_order(rows, format, keep_order=keep_order)
    path = file or folder / f"{name}.{format}"
    partial = path.with_name(f".{path.name}.part")
    if not all(map(_can_be_encoded, columns)):  # half a surrogate pair, from JSON
        rows = [{_encodable(name): value for name, value in row.items()} for row in rows]
        columns = list(dict.fromkeys(map(_encodable, columns)))
    if format == "parquet":
        parquet.write(rows, dict(zip(columns, _unique_names(columns), strict=True)), partial)
    elif format == "csv":
        with partial.open("w", encoding="utf-8", errors="replace", newline="") as out:
            writer = csv.DictWriter(out, columns)
            cell = _csv_value if keep_formulas else _csv_cell
            writer.writerow({name: cell(name) for name in columns})
            writer.writerows({key: cell(value) for key, value in row.items()} for row in rows)
    elif format == "duckdb":
        partial.unlink(missing_ok=True)
        parquet.write_database(rows, dict(zip(columns, _unique_names(columns), strict=True)), partial)
    elif format == "xlsx":
        _write_xlsx({"records": rows}, {"records": columns}, partial)
    elif format == "sqlite":
        partial.unlink(missing_ok=True)
        _write_sqlite(rows, columns, partial)
    else:
        with partial.open("w", encoding="utf-8", errors="replace") as out:
            out.writelines(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows)
    partial.replace(path)  # readers see the old table or the new one, never a part
    return path


def write_together(tables: Mapping[str, Rows], file: Path, format: Format, *, keep_order: bool = False) -> Path:
    """Write several tables into one file: sheets of a workbook (xlsx), or tables of a database (sqlite, duckdb)."""
    partial = file.with_name(f".{file.name}.part")
    partial.unlink(missing_ok=True)
    columns = {name: column_order(rows, format, keep_order=keep_order) for name, rows in tables.items()}
    if format == "xlsx":
        _write_xlsx(tables, columns, partial)
    for name, rows in tables.items() if format != "xlsx" else ():
        if format == "sqlite":
            _write_sqlite(rows, columns[name], partial, table=name)
        else:
            named = dict(zip(columns[name], _unique_names(columns[name]), strict=True))
            parquet.write_database(rows, named, partial, table=name)
    partial.replace(file)
    return file


def column_order(rows: Rows | Sequence[Mapping[str, object]], format: Format, *, keep_order: bool) -> list[str]:
    """Return the columns of rows, in tables for people with those that start with `_` last."""
    is_counted = isinstance(rows, InMemoryRows | StreamedRows)
    names = rows.names if is_counted else list(dict.fromkeys(column for row in rows for column in row))  # type: ignore[union-attr] # only rows of tables are counted
    return sorted(names, key=lambda name: name.startswith("_")) if format in PEOPLES and not keep_order else list(names)


def csv_lines(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield rows as lines of CSV, with a header.

    >>> list(csv_lines(["a", "b"], [(1, "x, y"), (None, "=1")]))
    ['a,b', '1,"x, y"', ",'=1"]
    """
    line = io.StringIO()
    writer = csv.writer(line, lineterminator="")
    for row in chain((columns,), rows):
        writer.writerow([_csv_cell(value) for value in row])
        yield line.getvalue()
        line.seek(0)
        line.truncate()


def _write_sqlite(
    rows: Iterable[Mapping[str, object]], columns: list[str], path: Path, *, table: str = "records"
) -> None:
    """Write a table and its full-text index `<table>_fts`, which stores no text of its own (SQLite FTS5 §4.4.3)."""
    if len(columns) > MAX_SQLITE_COLUMNS:
        raise WrongUsage(f"{len(columns):,} columns are too many for SQLite; use another --format")
    names = _unique_names([f"{name}_" if name.lower() in ROWID_NAMES else name for name in columns])
    index = f"{table}_fts"
    fields = [name for name in names if not name.startswith("_")]
    quoted = ", ".join(_quoted(name) for name in names)
    with closing(sqlite3.connect(path)) as db:
        renamed_fields = [f"{name}_" if name.lower() in (*FTS_NAMES, index.lower()) else name for name in fields]
        searched = dict(zip(fields, _unique_names(renamed_fields), strict=True))
        declared = (_quoted(name) + (" PRIMARY KEY" if name == "_key" else "") for name in names)
        db.execute(f"CREATE TABLE {_quoted(table)} ({', '.join(declared)})")
        placeholders = ", ".join("?" * len(names))
        values = ([_cell(row.get(column)) for column in columns] for row in rows)
        db.executemany(f"INSERT OR REPLACE INTO {_quoted(table)} ({quoted}) VALUES ({placeholders})", values)  # noqa: S608 # names are quoted
        if fields:
            indexed = ", ".join(_quoted(name) for name in searched.values())
            content = table
            if list(searched) != list(searched.values()):  # the index has its own column `rank`
                content = f"{table}_searched"
                renamed = ", ".join(f"{_quoted(name)} AS {_quoted(new)}" for name, new in searched.items())
                db.execute(f"CREATE VIEW {_quoted(content)} AS SELECT rowid, {renamed} FROM {_quoted(table)}")  # noqa: S608 # names are quoted
            db.execute(
                # Datasette finds the index of a table by exactly this text: content="records"
                f'CREATE VIRTUAL TABLE {_quoted(index)} USING fts5({indexed}, content="{content}", content_rowid="rowid")'
            )
            db.execute(f"INSERT INTO {_quoted(index)} ({_quoted(index)}) VALUES ('rebuild')")  # noqa: S608 # the name is quoted
        db.commit()


def _write_xlsx(
    tables: Mapping[str, Sequence[Mapping[str, object]]], columns: Mapping[str, Sequence[str]], path: Path
) -> None:
    """Write a sheet with a header for each table; texts stay texts."""
    import xlsxwriter  # imported here because it is rarely needed

    for name, rows in tables.items():
        if len(rows) >= MAX_SHEET_ROWS or len(columns[name]) > MAX_SHEET_COLUMNS:
            raise WrongUsage(
                f"{len(rows):,} rows and {len(columns[name]):,} columns are too many for a sheet of Excel; use another --format"
            )
    options = {
        "constant_memory": True,
        "strings_to_numbers": False,
        "strings_to_formulas": False,
        "strings_to_urls": False,
    }
    with xlsxwriter.Workbook(path, options) as book:
        day = book.add_format({"num_format": "yyyy-mm-dd"})
        time = book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"})
        for name, rows in tables.items():
            sheet = book.add_worksheet(_sheet_name(name, [sheet.name for sheet in book.worksheets()]))
            sheet.freeze_panes(1, 0)
            for place, column in enumerate(columns[name]):
                sheet.write_string(0, place, column[:MAX_CELL_CHARS])
            for number, row in enumerate(rows, start=1):
                for place, column in enumerate(columns[name]):
                    value = row.get(column)
                    if isinstance(value, datetime.datetime):  # Excel has no time zones
                        moment = value.astimezone(datetime.UTC).replace(tzinfo=None) if value.tzinfo else value
                        sheet.write_datetime(number, place, moment, time)
                    elif isinstance(value, datetime.date):
                        sheet.write_datetime(number, place, value, day)
                    elif isinstance(value, bool | int | float):
                        sheet.write(number, place, value)
                    elif value is not None:
                        sheet.write_string(number, place, str(_cell(value))[:MAX_CELL_CHARS])


def _sheet_name(name: str, taken: Sequence[str]) -> str:
    """Return a valid name of a sheet: at most 31 characters, none of them special, and different from the others."""
    clean = re.sub(r"[\[\]:*?/\\]", "-", name).strip("'")[:MAX_SHEET_NAME] or "records"
    others = {other.lower() for other in taken}
    for number in range(2, len(taken) + 3):
        if clean.lower() not in others:
            break
        clean = f"{clean[: MAX_SHEET_NAME - 3]}-{number}"
    return clean


def _encodable(name: str) -> str:
    return name.encode("utf-8", "replace").decode()


def _can_be_encoded(name: str) -> bool:
    return name.isascii() or _encodable(name) == name


def _unique_names(columns: list[str]) -> list[str]:
    """Return names that databases accept: not empty, without NUL or half characters, different in more than case (numbers are appended).

    >>> _unique_names(["a", "A", "a_2", "", "A"])
    ['a', 'A_2', 'a_2_2', 'column', 'A_3']
    """
    names: list[str] = []
    taken: set[str] = set()
    for column in columns:
        clean = column.replace("\x00", "").encode("utf-8", "replace").decode()[:MAX_NAME_CHARS] or "column"
        name, number = clean, 1
        while name.lower() in taken or name.casefold() in taken:
            number += 1
            name = f"{clean}_{number}"
        taken |= {name.lower(), name.casefold()}
        names.append(name)
    return names


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _csv_value(value: object) -> object:
    """Return a value for CSV; lists are joined."""
    return "; ".join(map(str, value)) if isinstance(value, list) else value


def _csv_cell(value: object) -> object:
    """Return a value for CSV, with an apostrophe before texts that a spreadsheet would interpret as a formula.

    >>> [_csv_cell(value) for value in ("=1+1", "@a", "-3.5", "- a", -3, "a=b", ["=a", "b"])]
    ["'=1+1", "'@a", '-3.5', "'- a", -3, 'a=b', "'=a; b"]
    """
    text = _csv_value(value)
    is_formula = isinstance(text, str) and text[:1] in FORMULA_SIGNS and not NUMBER.fullmatch(text)
    return f"'{text}" if is_formula else text


def _cell(value: object) -> object:
    """Return a value for SQLite: dates as ISO texts, lists as JSON."""
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return str(value)  # SQLite has 64 bits
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode() if not value.isascii() else value
    return value if value is None or isinstance(value, int | float) else json.dumps(value, ensure_ascii=False)


def read_keys(path: Path) -> list[str]:
    """Return the keys of a written table."""
    if path.suffix == ".sqlite":
        with closing(sqlite3.connect(path)) as db:
            return [str(key) for (key,) in db.execute("SELECT _key FROM records")]
    if path.suffix in (".parquet", ".duckdb"):
        return [str(key) for (key,) in parquet.read(path, ["_key"])]
    with path.open(encoding="utf-8", newline="") as table:
        rows = csv.DictReader(table) if path.suffix == ".csv" else map(json.loads, table)
        return [str(row["_key"]) for row in rows]
