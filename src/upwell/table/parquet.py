"""Read and write Parquet files and DuckDB databases with DuckDB, and convert Arrow tables to data frames of pandas and Polars.

DuckDB is less than half the size of pyarrow, and answers SQL over the same files.
"""

from __future__ import annotations

import datetime
import glob
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from upwell.errors import MissingExtra, WrongUsage
from upwell.table.rows import InMemoryRows

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from duckdb import DuckDBPyConnection

__all__ = [
    "BATCH_ROWS",
    "RowWriter",
    "column_type",
    "connect",
    "pandas_frame",
    "polars_frame",
    "read",
    "read_texts",
    "read_values",
    "write",
    "write_database",
]


DEFAULT_LINE_BYTES = 16 * 2**20  # DuckDB's default for the length of a JSON line
MAX_INTEGER = 2**63 - 1  # largest integer of a BIGINT column
BATCH_ROWS = 10_000  # rows read at a time, and rows per row group
encode = json.JSONEncoder(ensure_ascii=False, default=str).encode  # `json.dumps` would create an encoder per row
compact = json.JSONEncoder(ensure_ascii=False, default=str, separators=(",", ":")).encode


def write(rows: Iterable[Mapping[str, object]], columns: Mapping[str, str], path: Path) -> None:
    """Write rows to a Parquet file; `columns` maps keys to column names, which must differ in more than case.

    Rows stored as columns are passed as arrays. Others go through a file of JSON lines next to the table, which DuckDB reads ten times as fast as
    single values.
    """
    with connect() as database, _rows_as_query(database, rows, columns, path) as (query, values):
        place = str(path).replace(chr(39), 2 * chr(39))
        database.execute(f"COPY ({query}) TO '{place}' (FORMAT parquet, COMPRESSION zstd)", values)


def write_database(
    rows: Iterable[Mapping[str, object]], columns: Mapping[str, str], path: Path, *, table: str = "records"
) -> None:
    """Write rows as a new table of a DuckDB file, which is created if there is none."""
    with connect(path) as database, _rows_as_query(database, rows, columns, path) as (query, values):
        database.execute(f"CREATE TABLE {_quoted(table)} AS {query}", values)


class RowWriter:
    """Parquet file written row by row with known column types; memory does not grow with the number of rows."""

    def __init__(self, path: Path, types: Mapping[str, str]) -> None:
        self.path, self.types, self.rows = path, dict(types), 0
        self._lines, self._longest = path.with_name(f".{path.name}.jsonl"), DEFAULT_LINE_BYTES
        path.parent.mkdir(parents=True, exist_ok=True)
        self._out = self._lines.open("w", encoding="utf-8", errors="replace")

    def write(self, row: Mapping[str, object]) -> None:
        """Add a row; missing columns are empty."""
        self._longest = max(self._longest, _write_line(self._out, row, self.types))
        self.rows += 1

    def close(self) -> None:
        """Create the file, complete or not at all."""
        self._out.close()
        partial = self.path.with_name(f".{self.path.name}.part")
        types = ", ".join(f"c{i}: '{kind}'" for i, kind in enumerate(self.types.values()))
        names = ", ".join(f"c{i} AS {_quoted(name)}" for i, name in enumerate(self.types))
        place = str(partial).replace(chr(39), 2 * chr(39))
        with connect() as database:
            database.execute(
                f"COPY (SELECT {names} FROM read_json($lines, format = 'newline_delimited', columns = {{{types}}}, "  # noqa: S608 # names are quoted
                f"maximum_object_size = $longest)) TO '{place}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {BATCH_ROWS})",
                {"lines": glob.escape(str(self._lines)), "longest": self._longest},
            )
        partial.replace(self.path)
        self.discard()

    def discard(self) -> None:
        """Discard the rows."""
        self._out.close()
        self._lines.unlink(missing_ok=True)


@contextmanager
def _rows_as_query(
    database: DuckDBPyConnection, rows: Iterable[Mapping[str, object]], columns: Mapping[str, str], path: Path
) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield a query that returns the typed rows, and its parameters; valid inside the context."""
    columns = columns or {"_key": "_key"}  # DuckDB needs at least one column
    if isinstance(rows, InMemoryRows):
        yield _arrays_as_query(database, rows.select(list(columns)), columns), {}
        return
    names = ", ".join(f"c{i} AS {_quoted(name)}" for i, name in enumerate(columns.values()))
    lines, longest = path.with_name(f"{path.name}.jsonl"), DEFAULT_LINE_BYTES
    types_by_key = {key: _ColumnType() for key in columns}
    try:
        with lines.open("w", encoding="utf-8", errors="replace") as out:
            for row in rows:
                for key, kind in types_by_key.items():
                    kind.add(row.get(key))
                longest = max(longest, _write_line(out, row, columns))
        types = ", ".join(f"c{i}: '{kind.name}'" for i, kind in enumerate(types_by_key.values()))
        query = (
            f"SELECT {names} FROM read_json($lines, format = 'newline_delimited', columns = {{{types}}}, "  # noqa: S608 # names are quoted
            "maximum_object_size = $longest)"
        )
        yield query, {"lines": glob.escape(str(lines)), "longest": longest}
    finally:
        lines.unlink(missing_ok=True)


def _arrays_as_query(database: DuckDBPyConnection, rows: InMemoryRows, columns: Mapping[str, str]) -> str:
    """Return a query over rows stored as columns; they are passed as texts and cast by DuckDB, as with JSON lines."""
    import numpy as np  # imported here: reading tables does not need it

    selected, arrays = [], {}
    for number, (key, name) in enumerate(columns.items()):
        cells, kind, expression = rows.columns[key], column_type(rows.columns[key]), f"c{number}"
        arrays[expression] = np.empty(len(cells), dtype=object)
        arrays[expression][:] = _texts(cells)
        if kind == "VARCHAR[]":
            expression = f"""from_json({expression}, '["VARCHAR"]')"""
        elif kind != "VARCHAR":
            expression = f"CAST({expression} AS {kind})"
        selected.append(f"{expression} AS {_quoted(name)}")
    database.execute("SET pandas_analyze_sample = 0")  # the types are known
    database.register("held_rows", arrays)
    return f"SELECT {', '.join(selected)} FROM held_rows"  # noqa: S608 # names are quoted


def _texts(cells: list[Any]) -> list[str | None]:
    """Return the values of a column as texts, other types as in JSON; characters that UTF-8 cannot encode are replaced."""
    kinds = set(map(type, cells)) - {str, type(None)}
    if kinds == {datetime.datetime}:  # many rows share the same time
        moments = {cell: _text(cell) for cell in set(cells)}
        cells = [moments[cell] for cell in cells]
    elif kinds:
        cells = [_text(cell) for cell in cells]
    try:
        "".join(filter(None, cells)).encode()
    except UnicodeEncodeError:
        cells = [cell and cell.encode(errors="replace").decode() for cell in cells]
    return cells


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return str(value) if type(value) is int or isinstance(value, datetime.date) else compact(value)


def _write_line(out: TextIO, row: Mapping[str, object], keys: Iterable[str]) -> int:
    """Write a row as a JSON line with the fields c0, c1 …; return an upper bound of its bytes."""
    line = encode({f"c{i}": row.get(key) for i, key in enumerate(keys)})
    out.write(line + "\n")
    return 4 * len(line)


class _ColumnType:
    """Accumulator for the DuckDB type of a column."""

    def __init__(self) -> None:
        self._types: set[type] = set()
        self._are_short = self._have_zone = True

    def add(self, value: object) -> None:
        """Add a value."""
        if value is None:
            return
        self._types.add(type(value))
        if isinstance(value, int):
            self._are_short = self._are_short and -MAX_INTEGER <= value <= MAX_INTEGER
        elif isinstance(value, datetime.datetime):
            self._have_zone = self._have_zone and value.tzinfo is not None

    @property
    def name(self) -> str:
        """Return VARCHAR unless all values have one other type."""
        if self._types == {int}:
            return "BIGINT" if self._are_short else "VARCHAR"
        if self._types == {datetime.datetime}:
            return "TIMESTAMPTZ" if self._have_zone else "TIMESTAMP"
        for types, name in (({bool}, "BOOLEAN"), ({datetime.date}, "DATE"), ({list}, "VARCHAR[]")):
            if self._types == types:
                return name
        return "DOUBLE" if self._types and self._types <= {int, float} else "VARCHAR"


def column_type(values: Iterable[object]) -> str:
    """Return the DuckDB type of a column: VARCHAR unless all values have one other type.

    >>> column_type([1, None]), column_type([1, 2.5]), column_type([["a"], []]), column_type([1, "n/a"]), column_type([2**70])
    ('BIGINT', 'DOUBLE', 'VARCHAR[]', 'VARCHAR', 'VARCHAR')
    """
    values = list(values)
    kind = _ColumnType()
    if not set(map(type, values)) <= {str, type(None)}:  # true of most columns
        for value in values:
            kind.add(value)
    return kind.name


def read(path: Path, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield the named columns of a Parquet file or a database, row by row."""
    import duckdb

    with connect() as database:
        try:
            names = ", ".join(_quoted(name) for name in columns)
            table, where = _table(database, path)
            answer = database.execute(f"SELECT {names} FROM {table}", where)  # noqa: S608 # names are quoted
            while batch := answer.fetchmany(BATCH_ROWS):
                yield from batch
        except duckdb.Error as error:
            raise WrongUsage(
                f"{path} cannot be read as a Parquet file with the columns {', '.join(columns)}: {str(error).splitlines()[0]}"
            ) from error


def read_texts(path: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of a Parquet file or a database as texts by column, as in CSV, without missing values."""
    return _read_rows(path, "CAST({} AS VARCHAR)")


def read_values(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of a Parquet file or a database as values by column, without missing values."""
    return _read_rows(path, "{}")


def _read_rows(path: Path, expression: str) -> Iterator[dict[str, Any]]:
    """Yield the rows; `expression` is applied to each column."""
    import duckdb

    with connect() as database:
        try:
            table, where = _table(database, path)
            shape = database.execute(f"SELECT * FROM {table} LIMIT 0", where).description  # noqa: S608 # see _table
            names = [str(column[0]) for column in shape]
            selected = ", ".join(expression.format(_quoted(name)) for name in names)
            answer = database.execute(f"SELECT {selected} FROM {table}", where)  # noqa: S608 # names are quoted
            while batch := answer.fetchmany(BATCH_ROWS):
                for row in batch:
                    yield {name: value for name, value in zip(names, row, strict=True) if value is not None}
        except duckdb.Error as error:
            raise WrongUsage(f"{path} cannot be read as a Parquet file: {str(error).splitlines()[0]}") from error


def _table(database: DuckDBPyConnection, path: Path) -> tuple[str, dict[str, str]]:
    """Return the relation to select from, a Parquet file or the records of an attached database, and its parameters."""
    if path.suffix != ".duckdb":
        return "read_parquet($path)", {"path": glob.escape(str(path))}
    place = str(path).replace(chr(39), 2 * chr(39))
    database.execute(f"ATTACH '{place}' AS harvested (READ_ONLY)")
    return "harvested.records", {}


def connect(path: Path | None = None) -> DuckDBPyConnection:
    """Open a database in memory or in a file, without network access and with one thread, so that the same rows give the same bytes."""
    # Imported here, so that only harvests that write a table wait for it; and only the engine, because the package's support for data frames
    # takes four times as long to load.
    try:
        from _duckdb import connect as opened
    except ImportError:  # before 1.4
        from duckdb import connect as opened

    return opened(
        str(path) if path else ":memory:",
        config={"threads": 1, "autoinstall_known_extensions": False, "autoload_known_extensions": False},
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def pandas_frame(table: Callable[[], pyarrow.Table]) -> pandas.DataFrame:
    """Return an Arrow table as a pandas data frame; `table` is called once pandas is known to be installed."""
    try:
        import pandas  # noqa: F401 # Arrow needs it
    except ImportError as missing:
        raise MissingExtra("a data frame needs the package pandas: pip install 'upwell[pandas]'") from missing
    return table().to_pandas()


def polars_frame(table: Callable[[], pyarrow.Table]) -> polars.DataFrame:
    """Return an Arrow table as a Polars data frame."""
    try:
        import polars
    except ImportError as missing:
        raise MissingExtra("a data frame needs the package polars: pip install 'upwell[polars]'") from missing
    frame = polars.from_arrow(table())
    return frame if isinstance(frame, polars.DataFrame) else frame.to_frame()
