"""Parquet files and databases of DuckDB, written and read by it: it is less than half of pyarrow's size, and answers SQL over the same files."""

import datetime
import glob
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from upwell.errors import WrongUsage
from upwell.store.streamed_rows import HeldRows

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = [
    "BATCH_ROWS", "RowWriter", "column_type", "connect", "read", "read_texts", "read_values", "write", "write_database",
]  # fmt: skip

DEFAULT_LINE_BYTES = 16 * 2**20  # that DuckDB takes in one line of JSON unless it is told otherwise
MAX_INTEGER = 2**63 - 1
BATCH_ROWS = 10_000  # that are read at once
encode = json.JSONEncoder(ensure_ascii=False, default=str).encode  # `json.dumps` makes an encoder for each row
compact = json.JSONEncoder(ensure_ascii=False, default=str, separators=(",", ":")).encode


def write(rows: Iterable[Mapping[str, object]], columns: Mapping[str, str], path: Path) -> None:
    """Writes rows; `columns` says how the column of each key is called (names that differ in case alone are the same to DuckDB).

    Rows that are held as columns are handed over as arrays. Others go through a file of JSON lines beside the table: DuckDB reads it ten
    times as fast as it takes values one by one.
    """
    with connect() as database, _rows_as_query(database, rows, columns, path) as (query, values):
        place = str(path).replace(chr(39), 2 * chr(39))
        database.execute(f"COPY ({query}) TO '{place}' (FORMAT parquet, COMPRESSION zstd)", values)


def write_database(rows: Iterable[Mapping[str, object]], columns: Mapping[str, str], path: Path) -> None:
    """Writes rows as the table `records` of a new DuckDB file."""
    with connect(path) as database, _rows_as_query(database, rows, columns, path) as (query, values):
        database.execute(f"CREATE TABLE records AS {query}", values)


class RowWriter:
    """A Parquet file of rows that come one by one, of columns whose types are known: memory does not grow with their number."""

    def __init__(self, path: Path, types: Mapping[str, str]) -> None:
        self.path, self.types, self.rows = path, dict(types), 0
        self._lines, self._longest = path.with_name(f".{path.name}.jsonl"), DEFAULT_LINE_BYTES
        path.parent.mkdir(parents=True, exist_ok=True)
        self._out = self._lines.open("w", encoding="utf-8", errors="replace")

    def write(self, row: Mapping[str, object]) -> None:
        """Adds a row; a column that it does not have is empty."""
        self._longest = max(self._longest, _write_line(self._out, row, self.types))
        self.rows += 1

    def close(self) -> None:
        """Makes the file, whole or not at all."""
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
        """Forgets the rows."""
        self._out.close()
        self._lines.unlink(missing_ok=True)


@contextmanager
def _rows_as_query(
    database: "DuckDBPyConnection", rows: Iterable[Mapping[str, object]], columns: Mapping[str, str], path: Path
) -> Iterator[tuple[str, dict[str, object]]]:
    """A query that gives the rows, typed, and the values for it; as long as their file or their arrays are there."""
    columns = columns or {"_key": "_key"}  # a table has at least one column
    if isinstance(rows, HeldRows):
        yield _arrays_as_query(database, rows.taken(list(columns)), columns), {}
        return
    names = ", ".join(f"c{i} AS {_quoted(name)}" for i, name in enumerate(columns.values()))
    lines, longest = path.with_name(f"{path.name}.jsonl"), DEFAULT_LINE_BYTES
    found = {key: _ColumnType() for key in columns}
    try:
        with lines.open("w", encoding="utf-8", errors="replace") as out:
            for row in rows:
                for key, kind in found.items():
                    kind.add(row.get(key))
                longest = max(longest, _write_line(out, row, columns))
        types = ", ".join(f"c{i}: '{kind.name}'" for i, kind in enumerate(found.values()))
        query = (
            f"SELECT {names} FROM read_json($lines, format = 'newline_delimited', columns = {{{types}}}, "  # noqa: S608 # names are quoted
            "maximum_object_size = $longest)"
        )
        yield query, {"lines": glob.escape(str(lines)), "longest": longest}
    finally:
        lines.unlink(missing_ok=True)


def _arrays_as_query(database: "DuckDBPyConnection", rows: HeldRows, columns: Mapping[str, str]) -> str:
    """A query that gives rows which are held as columns: all as texts, that DuckDB makes values of, as it does with those of JSON lines."""
    import numpy as np  # here, because who only reads tables does without it

    selected, arrays = [], {}
    for number, (key, name) in enumerate(columns.items()):
        cells, kind, place = rows.columns[key], column_type(rows.columns[key]), f"c{number}"
        arrays[place] = np.empty(len(cells), dtype=object)
        arrays[place][:] = _texts(cells)
        if kind == "VARCHAR[]":
            place = f"""from_json({place}, '["VARCHAR"]')"""
        elif kind != "VARCHAR":
            place = f"CAST({place} AS {kind})"
        selected.append(f"{place} AS {_quoted(name)}")
    database.execute("SET pandas_analyze_sample = 0")  # it need not guess types
    database.register("held_rows", arrays)
    return f"SELECT {', '.join(selected)} FROM held_rows"  # noqa: S608 # names are quoted


def _texts(cells: list[Any]) -> list[str | None]:
    """The values of a column as texts, those that are none as JSON has them; what is no text in UTF-8 is replaced."""
    kinds = set(map(type, cells)) - {str, type(None)}
    if kinds == {datetime.datetime}:  # of which many rows have the same
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
    """Writes a row as a JSON line with the fields c0, c1 …; gives a bound on its bytes."""
    line = encode({f"c{i}": row.get(key) for i, key in enumerate(keys)})
    out.write(line + "\n")
    return 4 * len(line)


class _ColumnType:
    """DuckDB's type for the values of a column that come one by one."""

    def __init__(self) -> None:
        self._types: set[type] = set()
        self._are_short = self._have_zone = True

    def add(self, value: object) -> None:
        """Looks at a value."""
        if value is None:
            return
        self._types.add(type(value))
        if isinstance(value, int):
            self._are_short = self._are_short and -MAX_INTEGER <= value <= MAX_INTEGER
        elif isinstance(value, datetime.datetime):
            self._have_zone = self._have_zone and value.tzinfo is not None

    @property
    def name(self) -> str:
        """Text, unless all values that are there are of one other type."""
        if self._types == {int}:
            return "BIGINT" if self._are_short else "VARCHAR"
        if self._types == {datetime.datetime}:
            return "TIMESTAMPTZ" if self._have_zone else "TIMESTAMP"
        for types, name in (({bool}, "BOOLEAN"), ({datetime.date}, "DATE"), ({list}, "VARCHAR[]")):
            if self._types == types:
                return name
        return "DOUBLE" if self._types and self._types <= {int, float} else "VARCHAR"


def column_type(values: Iterable[object]) -> str:
    """DuckDB's type for the values of a column: text, unless all that are there are of one other type.

    >>> column_type([1, None]), column_type([1, 2.5]), column_type([["a"], []]), column_type([1, "n/a"]), column_type([2**70])
    ('BIGINT', 'DOUBLE', 'VARCHAR[]', 'VARCHAR', 'VARCHAR')
    """
    values = list(values)
    kind = _ColumnType()
    if not set(map(type, values)) <= {str, type(None)}:  # as those of most columns
        for value in values:
            kind.add(value)
    return kind.name


def read(path: Path, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """The named columns of a Parquet file or a database, row by row."""
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
                f"{path} is no Parquet file with {', '.join(columns)}: {str(error).splitlines()[0]}"
            ) from error


def read_texts(path: Path) -> Iterator[dict[str, str]]:
    """Every row of a Parquet file or a database as texts by column, as CSV would have it; a value that is not there is left out."""
    return _read_rows(path, "CAST({} AS VARCHAR)")


def read_values(path: Path) -> Iterator[dict[str, Any]]:
    """Every row of a Parquet file or a database as values by column; a value that is not there is left out."""
    return _read_rows(path, "{}")


def _read_rows(path: Path, expression: str) -> Iterator[dict[str, Any]]:
    """Every row by column, each column as `expression` has it."""
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
            raise WrongUsage(f"{path} is no Parquet file: {str(error).splitlines()[0]}") from error


def _table(database: "DuckDBPyConnection", path: Path) -> tuple[str, dict[str, str]]:
    """What to select from: a Parquet file, or the records of a database, which is attached; and the values for it."""
    if path.suffix != ".duckdb":
        return "read_parquet($path)", {"path": glob.escape(str(path))}
    place = str(path).replace(chr(39), 2 * chr(39))
    database.execute(f"ATTACH '{place}' AS harvested (READ_ONLY)")
    return "harvested.records", {}


def connect(path: Path | None = None) -> "DuckDBPyConnection":
    """A database in memory, or in a file, that loads nothing from the network and takes one core, so that the same rows give the same bytes."""
    # Here, because a harvest without a table should not wait for it; and just the engine: what the package adds for data frames takes
    # four times as long to load.
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
