"""Queries of the API over the table of a source: filters, full text, order, fields, pages by cursor, and files for download."""

from __future__ import annotations

import base64
import datetime
import difflib
import json
import math
import os
import tempfile
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import duckdb

from upwell.errors import WrongUsage
from upwell.table.writers import csv_lines
from upwell.web.browse import (
    OPERATIONS,
    RowFilter,
    TableColumnInfo,
    TableView,
    columns_of,
    connect,
    quoted,
    table_glob,
    where_of,
)

__all__ = [
    "DOWNLOADS",
    "MAX_LIMIT",
    "RecordQuery",
    "RecordsPage",
    "columns_of_table",
    "download",
    "parse_query",
    "records",
    "version_of",
]

MAX_LIMIT = 1000  # records of one page
DEFAULT_LIMIT = 100
ROWS_AT_ONCE = 10_000  # of a download, in memory; safety limit
MAX_OFFSET = 10**9  # safety limit: position that a cursor may contain
DOWNLOADS = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}
RESERVED = ("q", "limit", "cursor", "sort", "fields", "kind", "format", "token")


@dataclass(frozen=True, kw_only=True)
class RecordQuery:
    """Records that a client asks for."""

    view: TableView
    fields: tuple[str, ...] = ()  # columns of the answer; empty: all that do not start with _
    limit: int = DEFAULT_LIMIT
    offset: int = 0


@dataclass(frozen=True, kw_only=True)
class RecordsPage:
    """Page of records as the API returns them."""

    records: list[dict[str, Any]]  # key, url and fields
    total: int  # records that match
    cursor: str  # of the next page; "" on the last one


def version_of(path: Path) -> str:
    """Return a text that changes when the table is written again."""
    about = path.stat()
    return f"{about.st_mtime_ns:x}-{about.st_size:x}"


def parse_query(parameters: Iterable[tuple[str, str]], columns: Sequence[TableColumnInfo], version: str) -> RecordQuery:
    """Parse the parameters of a request; raise WrongUsage for one that is unknown or has an invalid value.

    `COLUMN=VALUE` and `is:COLUMN=VALUE` filter by a value, `has:`, `min:`, `max:`, `empty:` and `filled:` as their names say.
    """
    names = [column.name for column in columns]
    view: dict[str, Any] = {}
    filters: list[RowFilter] = []
    fields: list[str] = []
    limit, offset = DEFAULT_LIMIT, 0
    for name, value in parameters:
        if name == "limit":
            limit = _limit(value)
        elif name == "cursor":
            offset = _offset_of(value, version) if value else 0
        elif name == "q":
            view["search"] = value.strip()
        elif name == "sort":
            sort = value.removeprefix("-")
            _check(sort, names)
            view |= {"sort": sort, "is_descending": value.startswith("-")}
        elif name == "fields":
            fields = [field.strip() for field in value.split(",") if field.strip()]
            for field in fields:
                _check(field, names)
        elif name not in RESERVED:
            operation, colon, column = name.partition(":")
            if not colon or operation not in OPERATIONS:
                operation, column = "is", name
            _check(column, names)
            filters.append(RowFilter(column=column, operation=operation, value=value))
    return RecordQuery(
        view=TableView(**view, filters=tuple(filters)), fields=tuple(dict.fromkeys(fields)), limit=limit, offset=offset
    )


def _check(name: str, names: Sequence[str]) -> None:
    if name not in names:
        near = difflib.get_close_matches(name, names, 3) or [known for known in names if not known.startswith("_")][:20]
        raise WrongUsage(f"there is no column {name!r}; columns with similar names: {', '.join(near)}")


def _limit(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 9 and 1 <= int(text) <= MAX_LIMIT):
        raise WrongUsage(f"limit={text!r}: it must be an integer from 1 to {MAX_LIMIT}")
    return int(text)


def _cursor(offset: int, version: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([offset, version]).encode()).decode().rstrip("=")


def _offset_of(cursor: str, version: str) -> int:
    """Return the position of a cursor; raise WrongUsage if it is damaged, or if the table was written again since."""
    try:
        offset, of_version = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if type(offset) is not int or not 0 <= offset <= MAX_OFFSET:
            raise ValueError(offset)
    except (ValueError, TypeError, RecursionError) as error:
        raise WrongUsage("the cursor is invalid; use `next` of the page before as it is") from error
    if of_version != version:
        raise WrongUsage("the table was written again since this cursor was given; start with the first page")
    return offset


_local = threading.local()


def _connection() -> duckdb.DuckDBPyConnection:
    """Return the connection of this thread."""
    if not hasattr(_local, "connection"):
        _local.connection = connect()
    connection: duckdb.DuckDBPyConnection = _local.connection
    return connection


def columns_of_table(path: Path) -> list[TableColumnInfo]:
    """Return the columns of a table."""
    return columns_of(_connection(), path)


def records(path: Path, query: RecordQuery, columns: Sequence[TableColumnInfo], version: str) -> RecordsPage:
    """Return the page of records that a query selects."""
    shown = query.fields or tuple(column.name for column in columns if not column.name.startswith("_"))
    needed = [name for name in ("_key", "_url") if name in {column.name for column in columns}]
    select = dict.fromkeys((*needed, *shown))
    source, values = _source(path, query, columns)
    names = ", ".join(map(quoted, select))
    rows = (
        _connection()
        .execute(f"SELECT {names} {source} LIMIT {query.limit + 1} OFFSET {query.offset}", values)  # names are quoted
        .fetchall()
    )
    has_more = len(rows) > query.limit
    found = [dict(zip(select, row, strict=True)) for row in rows[: query.limit]]
    total = query.offset + len(found)
    if has_more or not found:
        total = _count(path, query, columns)
    return RecordsPage(
        records=[
            {
                "key": row.get("_key"),
                "url": row.get("_url"),
                "fields": {name: json_value(row[name]) for name in shown},
            }
            for row in found
        ],
        total=total,
        cursor=_cursor(query.offset + query.limit, version) if has_more else "",
    )


def _source(path: Path, query: RecordQuery, columns: Sequence[TableColumnInfo]) -> tuple[str, list[Any]]:
    """Return the SQL after the names of the columns, and its parameters."""
    where, values = where_of(query.view, columns)
    order = ""
    if query.view.sort:
        direction = "DESC" if query.view.is_descending else "ASC"
        key = (
            ", _key" if any(column.name == "_key" for column in columns) else ""
        )  # rows with equal values keep one order
        order = f" ORDER BY {quoted(query.view.sort)} {direction} NULLS LAST{key}"
    return f"FROM read_parquet(?){where}{order}", [table_glob(path), *values]


def _count(path: Path, query: RecordQuery, columns: Sequence[TableColumnInfo]) -> int:
    where, values = where_of(query.view, columns)
    row = _connection().execute(f"SELECT COUNT(*) FROM read_parquet(?){where}", [table_glob(path), *values]).fetchone()  # noqa: S608 # names are quoted
    return int(row[0]) if row else 0


def download(path: Path, query: RecordQuery, columns: Sequence[TableColumnInfo], format: str) -> Path:
    """Write all records that a query selects to a temporary file, which the caller deletes."""
    shown = query.fields or tuple(column.name for column in columns)
    source, values = _source(path, query, columns)
    handle, name = tempfile.mkstemp(prefix="upwell-", suffix=f".{format}")
    os.close(handle)
    select = f"SELECT {', '.join(map(quoted, shown))} {source}"  # names are quoted
    if format == "csv":  # by our own writer, which escapes formulas
        rows = _connection().execute(select, values)
        with Path(name).open("w", encoding="utf-8", newline="") as file:
            for line in csv_lines(shown, chain.from_iterable(iter(lambda: rows.fetchmany(ROWS_AT_ONCE), []))):
                file.write(line + "\r\n")
    else:
        target = name.replace("'", "''")
        _connection().execute(
            f"COPY ({select}) TO '{target}' (FORMAT {'json' if format == 'jsonl' else 'parquet'})", values
        )
    return Path(name)


def json_value(value: Any) -> Any:
    """Return a value of a table as JSON can contain it.

    >>> json_value(datetime.date(2026, 1, 2)), json_value(float("nan")), json_value([1, None])
    ('2026-01-02', None, [1, None])
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, list | tuple):
        return [json_value(item) for item in value]
    if isinstance(value, dict):
        return {str(name): json_value(item) for name, item in value.items()}
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(value)
