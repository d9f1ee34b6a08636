"""Tables of harvests queried in place with DuckDB: rows, filters, facets, statistics. Nothing is loaded before it is needed."""

import glob
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import duckdb

from upwell.report.charts import SKEW_FACTOR, bars

__all__ = [
    "ColumnFacet",
    "RowFilter",
    "RowPage",
    "TableColumnInfo",
    "TableView",
    "browse",
    "columns_of",
    "connect",
    "facet",
    "find_row",
    "parse_view",
    "quoted",
    "table_glob",
    "where_of",
]

PAGE_ROWS = 50  # rows shown per page
TOP_VALUES = 12  # most frequent values shown in a facet
BINS = 24  # bars of a histogram
MAX_WORDS = 8  # words of a search that are used
OPERATIONS = ("is", "has", "min", "max", "empty", "filled")
NUMBERS = ("BIGINT", "DOUBLE", "INTEGER", "HUGEINT", "DECIMAL", "FLOAT")
TIMES = ("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE")


@dataclass(frozen=True, kw_only=True)
class TableColumnInfo:
    """Column of a table."""

    name: str
    type: str  # DuckDB type

    @property
    def is_number(self) -> bool:
        """Return True if the column contains numbers."""
        return self.type.startswith(NUMBERS)

    @property
    def is_time(self) -> bool:
        """Return True if the column contains dates or times."""
        return self.type in TIMES

    @property
    def is_range(self) -> bool:
        """Return True if the column can be filtered by a range."""
        return self.is_number or self.is_time


@dataclass(frozen=True, kw_only=True)
class RowFilter:
    """Condition on the rows."""

    column: str
    operation: str
    value: str


@dataclass(frozen=True, kw_only=True)
class TableView:
    """Search, filters, order and page of a table as selected by the user."""

    search: str = ""
    filters: tuple[RowFilter, ...] = ()
    sort: str = ""
    is_descending: bool = False
    page: int = 1
    kind: str = ""
    with_pictures: bool = False

    def address(self, **changes: Any) -> str:
        """Return the query string of this view, with changes."""
        view = replace(self, **{"page": 1, **changes})
        parts: list[tuple[str, str]] = [("q", view.search)] if view.search else []
        parts += [(f"{condition.operation}:{condition.column}", condition.value) for condition in view.filters]
        if view.sort:
            parts += [("sort", view.sort), *([("desc", "1")] if view.is_descending else [])]
        parts += [("page", str(view.page))] if view.page > 1 else []
        parts += [("kind", view.kind)] if view.kind else []
        parts += [("pictures", "1")] if view.with_pictures else []
        return urlencode(parts)

    def with_filter(self, column: str, operation: str, value: str) -> str:
        """Return the query string with one more filter."""
        others = tuple(
            condition for condition in self.filters if (condition.column, condition.operation) != (column, operation)
        )
        return self.address(filters=(*others, RowFilter(column=column, operation=operation, value=value)))

    def without_filter(self, removed: RowFilter) -> str:
        """Return the query string without a filter."""
        return self.address(filters=tuple(condition for condition in self.filters if condition != removed))

    def sorted_by(self, column: str) -> str:
        """Return the query string sorted by a column; descending if it is already sorted by it."""
        return self.address(sort=column, is_descending=self.sort == column and not self.is_descending)


def parse_view(parameters: Iterable[tuple[str, str]]) -> TableView:
    """Parse the parameters of a URL; invalid ones are ignored."""
    view, filters = TableView(), []
    for name, value in parameters:
        operation, colon, column = name.partition(":")
        if colon and operation in OPERATIONS and (value or operation in ("is", "empty", "filled")):
            filters.append(RowFilter(column=column, operation=operation, value=value))
        elif name == "q":
            view = replace(view, search=value.strip())
        elif name == "sort":
            view = replace(view, sort=value)
        elif name == "kind":
            view = replace(view, kind=value)
        elif name == "desc":
            view = replace(view, is_descending=value == "1")
        elif name == "pictures":
            view = replace(view, with_pictures=value == "1")
        elif name == "page" and value.isdecimal():
            view = replace(view, page=max(1, min(int(value[:9]), 10**7)))
    return replace(view, filters=tuple(filters))


@dataclass(frozen=True, kw_only=True)
class RowPage:
    """Page of rows."""

    columns: list[TableColumnInfo]
    rows: list[dict[str, Any]]
    total: int  # rows that match the view
    whole: int  # rows of the table
    view: TableView

    @property
    def pages(self) -> int:
        """Return the number of pages."""
        return max(1, -(-self.total // PAGE_ROWS))


@dataclass(frozen=True, kw_only=True)
class ColumnFacet:
    """Distribution of a column's values in the rows that match a view."""

    column: TableColumnInfo
    rows: int
    filled: int
    different: int
    low: Any = None
    high: Any = None
    chart: str = ""
    top: list[tuple[str, int]] = field(default_factory=list)


def browse(path: Path, view: TableView) -> RowPage:
    """Return a page of the rows that match a view."""
    with connect() as db:
        columns = columns_of(db, path)
        where, values = where_of(view, columns)
        total = whole = _count(db, path, "", [])
        names = ", ".join(quoted(column.name) for column in columns)
        order = ""
        if view.sort in {column.name for column in columns}:
            order = f" ORDER BY {quoted(view.sort)} {'DESC' if view.is_descending else 'ASC'} NULLS LAST"
        query = (
            f"SELECT {names} FROM read_parquet(?){where}{order} LIMIT {PAGE_ROWS} OFFSET {(view.page - 1) * PAGE_ROWS}"  # noqa: S608 # names are quoted
        )
        fetched = db.execute(query, [table_glob(path), *values]).fetchall()
        if where:  # an incomplete page is the last one, which saves counting
            before = (view.page - 1) * PAGE_ROWS
            is_last = len(fetched) < PAGE_ROWS and (fetched or not before)
            total = before + len(fetched) if is_last else _count(db, path, where, values)
    rows = [dict(zip([column.name for column in columns], row, strict=True)) for row in fetched]
    return RowPage(columns=columns, rows=rows, total=total, whole=whole, view=view)


def find_row(path: Path, key: str) -> tuple[list[TableColumnInfo], dict[str, Any] | None]:
    """Return the columns and the row with a key, or None."""
    with connect() as db:
        columns = columns_of(db, path)
        names = ", ".join(quoted(column.name) for column in columns)
        query = f"SELECT {names} FROM read_parquet(?) WHERE _key = ? LIMIT 1"  # noqa: S608 # names are quoted
        values = db.execute(query, [table_glob(path), key]).fetchone()
    return columns, dict(zip([column.name for column in columns], values, strict=True)) if values else None


def facet(path: Path, name: str, view: TableView) -> ColumnFacet | None:
    """Return the distribution of a column in the rows that match a view; None if there is no such column."""
    with connect() as db:
        columns = columns_of(db, path)
        column = next((column for column in columns if column.name == name), None)
        if column is None:
            return None
        where, values = where_of(view, columns)
        source, parameters = f"FROM read_parquet(?){where}", [table_glob(path), *values]
        column_name = quoted(name)
        if column.is_range:
            return _range(db, column, source, parameters, column_name)
        rows, filled, different = db.execute(
            f"SELECT COUNT(*), COUNT({column_name}), APPROX_COUNT_DISTINCT({column_name}) {source}", parameters
        ).fetchone() or (0, 0, 0)
        text = f"UNNEST({column_name})" if column.type.endswith("[]") else column_name
        top = db.execute(
            f"SELECT CAST(value AS VARCHAR), COUNT(*) FROM (SELECT {text} AS value {source}) "  # noqa: S608 # names are quoted
            f"WHERE value IS NOT NULL GROUP BY value ORDER BY 2 DESC, 1 LIMIT {TOP_VALUES}",
            parameters,
        ).fetchall()
        return ColumnFacet(column=column, rows=rows, filled=filled, different=different, top=top)


def _range(
    db: duckdb.DuckDBPyConnection, column: TableColumnInfo, source: str, parameters: list[Any], quoted: str
) -> ColumnFacet:
    """Return the range of an ordered column, and its histogram."""
    number = f"epoch({quoted})" if column.is_time else f"CAST({quoted} AS DOUBLE)"
    row = db.execute(
        f"SELECT COUNT(*), COUNT({quoted}), APPROX_COUNT_DISTINCT({quoted}), MIN({quoted}), MAX({quoted}), "
        f"MIN({number}), MEDIAN({number}), QUANTILE_CONT({number}, 0.99) {source}",
        parameters,
    ).fetchone()
    rows, filled, different, low, high, start, middle, end = row or (0, 0, 0, None, None, None, None, None)
    chart = ""
    if filled and end is not None and end > start:
        if (
            column.is_number and start >= 0 and end - start > SKEW_FACTOR * (middle - start)
        ):  # skewed: use a logarithmic scale
            number, start, end = f"LN(1 + {number})", math.log1p(start), math.log1p(end)
        bins = dict(
            db.execute(
                f"SELECT LEAST({BINS - 1}, CAST(FLOOR(({number} - {float(start)!r}) / {float(end - start)!r} * {BINS}) AS INTEGER)) AS bin, "
                f"COUNT(*) {source} {'AND' if ' WHERE ' in source else 'WHERE'} {quoted} IS NOT NULL GROUP BY bin",
                parameters,
            ).fetchall()
        )
        chart = bars([bins.get(i, 0) for i in range(BINS)], f"{low} – {high}")
    return ColumnFacet(column=column, rows=rows, filled=filled, different=different, low=low, high=high, chart=chart)


def columns_of(db: duckdb.DuckDBPyConnection, path: Path) -> list[TableColumnInfo]:
    """Return the columns of a table, in order."""
    described = db.execute("DESCRIBE SELECT * FROM read_parquet(?)", [table_glob(path)]).fetchall()
    return [TableColumnInfo(name=str(row[0]), type=str(row[1])) for row in described]


def _count(db: duckdb.DuckDBPyConnection, path: Path, where: str, values: Sequence[Any]) -> int:
    row = db.execute(f"SELECT COUNT(*) FROM read_parquet(?){where}", [table_glob(path), *values]).fetchone()  # noqa: S608 # names are quoted
    return int(row[0]) if row else 0


def where_of(view: TableView, columns: Sequence[TableColumnInfo]) -> tuple[str, list[Any]]:
    """Return the SQL conditions of a view, and their parameters."""
    by_name = {column.name: column for column in columns}
    conditions: list[str] = []
    values: list[Any] = []
    for row_filter in view.filters:
        if row_filter.column in by_name:
            condition, parameters = _condition(by_name[row_filter.column], row_filter)
            conditions.append(condition)
            values += parameters
    fields = [column for column in columns if not column.name.startswith("_")]
    for word in view.search.split()[:MAX_WORDS] if fields else ():
        # column by column, because DuckDB evaluates repeated texts once; other types only for words with digits
        has_digit = any(map(str.isdigit, word))
        searched = [column for column in fields if column.type.startswith("VARCHAR") or has_digit] or fields
        tests = (f"CAST({quoted(column.name)} AS VARCHAR) ILIKE ? ESCAPE '\\'" for column in searched)
        conditions.append(f"({' OR '.join(tests)})")
        values += [f"%{_escaped(word)}%"] * len(searched)
    return (f" WHERE {' AND '.join(conditions)}" if conditions else ""), values


def _condition(column: TableColumnInfo, row_filter: RowFilter) -> tuple[str, list[Any]]:
    name = quoted(column.name)
    if row_filter.operation in ("empty", "filled"):
        return f"{name} IS {'NOT ' if row_filter.operation == 'filled' else ''}NULL", []
    if row_filter.operation == "has":
        return f"CAST({name} AS VARCHAR) ILIKE ? ESCAPE '\\'", [f"%{_escaped(row_filter.value)}%"]
    if row_filter.operation == "is":
        if column.type.endswith("[]"):
            return f"LIST_CONTAINS({name}, ?)", [row_filter.value]
        return f"CAST({name} AS VARCHAR) = ?", [row_filter.value]
    sign = ">=" if row_filter.operation == "min" else "<="
    return f"{name} {sign} TRY_CAST(? AS {column.type})", [row_filter.value]


def _escaped(text: str) -> str:
    r"""Escape the wildcards of LIKE.

    >>> _escaped("50%_")
    '50\\%\\_'
    """
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def connect() -> duckdb.DuckDBPyConnection:
    """Open an in-memory database that loads nothing from the network."""
    config: Mapping[str, Any] = {
        "threads": 2,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    return duckdb.connect(":memory:", config=dict(config))


def table_glob(path: Path) -> str:
    """Return the path as a pattern for `read_parquet` that matches only this file."""
    return glob.escape(str(path))


def quoted(name: str) -> str:
    """Return a name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'
