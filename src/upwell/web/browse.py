"""The tables of harvests, asked with DuckDB as they lie there: rows, filters, facets, statistics. Nothing is loaded before it is asked."""

import glob
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import duckdb

from upwell.harvest.charts import bars
from upwell.harvest.column_facts import SKEWED

__all__ = ["Column", "Facet", "Filter", "Page", "View", "browse", "facet", "row_of", "view_of"]

PAGE_ROWS = 50
TOP_VALUES = 12
BINS = 24
MAX_WORDS = 8  # of a search
OPERATIONS = ("is", "has", "min", "max", "empty", "filled")
NUMBERS = ("BIGINT", "DOUBLE", "INTEGER", "HUGEINT", "DECIMAL", "FLOAT")
TIMES = ("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE")


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column of a table."""

    name: str
    type: str  # DuckDB's

    @property
    def is_number(self) -> bool:
        """Whether it has numbers."""
        return self.type.startswith(NUMBERS)

    @property
    def is_time(self) -> bool:
        """Whether it has dates or times."""
        return self.type in TIMES

    @property
    def is_range(self) -> bool:
        """Whether its values have an order that people filter by."""
        return self.is_number or self.is_time


@dataclass(frozen=True, kw_only=True)
class Filter:
    """One condition on the rows."""

    column: str
    operation: str
    value: str


@dataclass(frozen=True, kw_only=True)
class View:
    """What a person looks at: the rows that they want, in which order."""

    search: str = ""
    filters: tuple[Filter, ...] = ()
    sort: str = ""
    is_descending: bool = False
    page: int = 1
    kind: str = ""
    with_pictures: bool = False

    def address(self, **changes: Any) -> str:
        """The part of an address behind `?` that leads to this view, changed."""
        view = replace(self, **{"page": 1, **changes})
        parts: list[tuple[str, str]] = [("q", view.search)] if view.search else []
        parts += [(f"{one.operation}:{one.column}", one.value) for one in view.filters]
        if view.sort:
            parts += [("sort", view.sort), *([("desc", "1")] if view.is_descending else [])]
        parts += [("page", str(view.page))] if view.page > 1 else []
        parts += [("kind", view.kind)] if view.kind else []
        parts += [("pictures", "1")] if view.with_pictures else []
        return urlencode(parts)

    def with_filter(self, column: str, operation: str, value: str) -> str:
        """The address with one more condition."""
        kept = tuple(one for one in self.filters if (one.column, one.operation) != (column, operation))
        return self.address(filters=(*kept, Filter(column=column, operation=operation, value=value)))

    def without_filter(self, gone: Filter) -> str:
        """The address without a condition."""
        return self.address(filters=tuple(one for one in self.filters if one != gone))

    def sorted_by(self, column: str) -> str:
        """The address sorted by a column; the other way where it is so already."""
        return self.address(sort=column, is_descending=self.sort == column and not self.is_descending)


def view_of(parameters: Iterable[tuple[str, str]]) -> View:
    """The view that an address asks for; what makes no sense in it is left out."""
    view, filters = View(), []
    for name, value in parameters:
        operation, colon, column = name.partition(":")
        if colon and operation in OPERATIONS and (value or operation in ("is", "empty", "filled")):
            filters.append(Filter(column=column, operation=operation, value=value))
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
        elif name == "page" and value.isdigit():
            view = replace(view, page=max(1, min(int(value), 10**7)))
    return replace(view, filters=tuple(filters))


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page of rows."""

    columns: list[Column]
    rows: list[dict[str, Any]]
    total: int  # rows that fit the view
    whole: int  # rows of the table
    view: View

    @property
    def pages(self) -> int:
        """How many there are."""
        return max(1, -(-self.total // PAGE_ROWS))


@dataclass(frozen=True, kw_only=True)
class Facet:
    """How the values of a column are spread in the rows that fit a view."""

    column: Column
    rows: int
    filled: int
    different: int
    low: Any = None
    high: Any = None
    chart: str = ""
    top: list[tuple[str, int]] = field(default_factory=list)


def browse(path: Path, view: View) -> Page:
    """The rows of a table that fit a view, a page of them."""
    with _connect() as db:
        columns = columns_of(db, path)
        where, values = _where(view, columns)
        total = whole = _count(db, path, "", [])
        names = ", ".join(_quoted(column.name) for column in columns)
        order = ""
        if view.sort in {column.name for column in columns}:
            order = f" ORDER BY {_quoted(view.sort)} {'DESC' if view.is_descending else 'ASC'} NULLS LAST"
        query = (
            f"SELECT {names} FROM read_parquet(?){where}{order} LIMIT {PAGE_ROWS} OFFSET {(view.page - 1) * PAGE_ROWS}"  # noqa: S608 # names are quoted
        )
        found = db.execute(query, [_place(path), *values]).fetchall()
        if where:  # a page that is not full is the last: what is before it need not be counted
            before = (view.page - 1) * PAGE_ROWS
            is_last = len(found) < PAGE_ROWS and (found or not before)
            total = before + len(found) if is_last else _count(db, path, where, values)
    rows = [dict(zip([column.name for column in columns], row, strict=True)) for row in found]
    return Page(columns=columns, rows=rows, total=total, whole=whole, view=view)


def row_of(path: Path, key: str) -> tuple[list[Column], dict[str, Any] | None]:
    """The row of a key, if there is one."""
    with _connect() as db:
        columns = columns_of(db, path)
        names = ", ".join(_quoted(column.name) for column in columns)
        query = f"SELECT {names} FROM read_parquet(?) WHERE _key = ? LIMIT 1"  # noqa: S608 # names are quoted
        found = db.execute(query, [_place(path), key]).fetchone()
    return columns, dict(zip([column.name for column in columns], found, strict=True)) if found else None


def facet(path: Path, name: str, view: View) -> Facet | None:
    """How a column is spread in the rows that fit a view."""
    with _connect() as db:
        columns = columns_of(db, path)
        column = next((one for one in columns if one.name == name), None)
        if column is None:
            return None
        where, values = _where(view, columns)
        source, place = f"FROM read_parquet(?){where}", [_place(path), *values]
        one = _quoted(name)
        if column.is_range:
            return _range(db, column, source, place, one)
        rows, filled, different = db.execute(
            f"SELECT COUNT(*), COUNT({one}), APPROX_COUNT_DISTINCT({one}) {source}", place
        ).fetchone() or (0, 0, 0)
        text = f"UNNEST({one})" if column.type.endswith("[]") else one
        top = db.execute(
            f"SELECT CAST(value AS VARCHAR), COUNT(*) FROM (SELECT {text} AS value {source}) "  # noqa: S608 # names are quoted
            f"WHERE value IS NOT NULL GROUP BY value ORDER BY 2 DESC, 1 LIMIT {TOP_VALUES}",
            place,
        ).fetchall()
        return Facet(column=column, rows=rows, filled=filled, different=different, top=top)


def _range(db: duckdb.DuckDBPyConnection, column: Column, source: str, place: list[Any], one: str) -> Facet:
    """The ends of a column with an order, and its histogram."""
    number = f"epoch({one})" if column.is_time else f"CAST({one} AS DOUBLE)"
    row = db.execute(
        f"SELECT COUNT(*), COUNT({one}), APPROX_COUNT_DISTINCT({one}), MIN({one}), MAX({one}), "
        f"MIN({number}), MEDIAN({number}), QUANTILE_CONT({number}, 0.99) {source}",
        place,
    ).fetchone()
    rows, filled, different, low, high, start, middle, end = row or (0, 0, 0, None, None, None, None, None)
    chart = ""
    if filled and end is not None and end > start:
        if column.is_number and start >= 0 and end - start > SKEWED * (middle - start):  # most is small
            number, start, end = f"LN(1 + {number})", math.log1p(start), math.log1p(end)
        bins = dict(
            db.execute(
                f"SELECT LEAST({BINS - 1}, CAST(FLOOR(({number} - {float(start)!r}) / {float(end - start)!r} * {BINS}) AS INTEGER)) AS bin, "
                f"COUNT(*) {source} {'AND' if ' WHERE ' in source else 'WHERE'} {one} IS NOT NULL GROUP BY bin",
                place,
            ).fetchall()
        )
        chart = bars([bins.get(i, 0) for i in range(BINS)], f"{low} – {high}")
    return Facet(column=column, rows=rows, filled=filled, different=different, low=low, high=high, chart=chart)


def columns_of(db: duckdb.DuckDBPyConnection, path: Path) -> list[Column]:
    """The columns of a table, in its order."""
    found = db.execute("DESCRIBE SELECT * FROM read_parquet(?)", [_place(path)]).fetchall()
    return [Column(name=str(row[0]), type=str(row[1])) for row in found]


def _count(db: duckdb.DuckDBPyConnection, path: Path, where: str, values: Sequence[Any]) -> int:
    row = db.execute(f"SELECT COUNT(*) FROM read_parquet(?){where}", [_place(path), *values]).fetchone()  # noqa: S608 # names are quoted
    return int(row[0]) if row else 0


def _where(view: View, columns: Sequence[Column]) -> tuple[str, list[Any]]:
    """The conditions of a view as SQL, and their values."""
    by_name = {column.name: column for column in columns}
    conditions: list[str] = []
    values: list[Any] = []
    for one in view.filters:
        if one.column in by_name:
            condition, given = _condition(by_name[one.column], one)
            conditions.append(condition)
            values += given
    fields = [column for column in columns if not column.name.startswith("_")]
    for word in view.search.split()[:MAX_WORDS] if fields else ():
        # column by column, because DuckDB looks at a text that comes often only once; numbers only for words that may be some
        looked_at = [one for one in fields if one.type.startswith("VARCHAR") or any(map(str.isdigit, word))] or fields
        found = (f"CAST({_quoted(one.name)} AS VARCHAR) ILIKE ? ESCAPE '\\'" for one in looked_at)
        conditions.append(f"({' OR '.join(found)})")
        values += [f"%{_escaped(word)}%"] * len(looked_at)
    return (f" WHERE {' AND '.join(conditions)}" if conditions else ""), values


def _condition(column: Column, one: Filter) -> tuple[str, list[Any]]:
    name = _quoted(column.name)
    if one.operation in ("empty", "filled"):
        return f"{name} IS {'NOT ' if one.operation == 'filled' else ''}NULL", []
    if one.operation == "has":
        return f"CAST({name} AS VARCHAR) ILIKE ? ESCAPE '\\'", [f"%{_escaped(one.value)}%"]
    if one.operation == "is":
        if column.type.endswith("[]"):
            return f"LIST_CONTAINS({name}, ?)", [one.value]
        return f"CAST({name} AS VARCHAR) = ?", [one.value]
    sign = ">=" if one.operation == "min" else "<="
    return f"{name} {sign} TRY_CAST(? AS {column.type})", [one.value]


def _escaped(text: str) -> str:
    r"""A text in which LIKE finds no signs of its own.

    >>> _escaped("50%_")
    '50\\%\\_'
    """
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _connect() -> duckdb.DuckDBPyConnection:
    """A database in memory that loads nothing from the network."""
    config: Mapping[str, Any] = {
        "threads": 2,
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    return duckdb.connect(":memory:", config=dict(config))


def _place(path: Path) -> str:
    return glob.escape(str(path))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
