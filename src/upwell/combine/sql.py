"""SQL over the tables of all harvests, with a read-only DuckDB that can reach neither other files nor the network.

    "example.org"   a view of each site's table, also named example_org; example_org_books for one of several entity kinds
    everything      all rows of all sites, with columns of the same meaning under one name, and `_site`
    same_as         rows of different sites that describe the same entity: a_site, a_key, b_site, b_key, score

Only tables named in a query are read, so that queries stay cheap with thousands of harvests.
"""

from __future__ import annotations

import glob
import re
import shutil
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

from upwell.combine.catalogue import CatalogueEntry, match
from upwell.combine.match_results import AlignedColumn
from upwell.errors import MissingExtra, WrongUsage
from upwell.table import parquet, readers
from upwell.table.parquet import pandas_frame, polars_frame

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from duckdb import DuckDBPyConnection

    from upwell.combine.source_table import SourceTable

__all__ = ["SITE_TABLE", "Database", "QueryResult", "tables_by_name", "view_names"]

EVERYTHING, SAME_AS, SITE = "everything", "same_as", "_site"
LISTING = re.compile(
    r"\bshow\b|information_schema|duckdb_\w+|\bdescribe\s*$", re.I
)  # a query about the tables themselves
MISSING_TABLE = re.compile(r"Table with name (\S+) does not exist")  # error of DuckDB
METADATA_COLUMNS = ("_key", "_url")  # metadata columns included in `everything`
NUMBERS = frozenset(("BIGINT", "DOUBLE"))
# rows of all tables together used to align columns: the time grows with the square of the number of tables
ALIGNED_ROWS = 3000
MIN_ALIGNED_ROWS = 300  # minimum rows of each table used to align columns
MEMORY_LIMIT = "2GB"  # of DuckDB for one query, which then uses the disk; safety limit
MAX_TEMPORARY_SIZE = "10GB"  # of what it writes to the disk; safety limit
SITE_TABLE = 'SELECT * FROM "{}"'
SAME_AS_COLUMNS = ("a_site", "a_key", "b_site", "b_key", "score")


def view_names(harvests: Iterable[CatalogueEntry]) -> dict[str, tuple[CatalogueEntry, Path]]:
    """Return the views of all harvests: site names, with the entity kind if there are several, also in a form that needs no quotes."""
    views: dict[str, tuple[CatalogueEntry, Path]] = {}
    sites = Counter[str]()
    for harvest in harvests:
        sites[harvest.site] += 1
        suffix = f"_{sites[harvest.site]}" if sites[harvest.site] > 1 else ""
        for number, (kind, file) in enumerate(harvest.tables.items()):
            name = f"{harvest.site}{suffix}" + (f"-{kind}" if kind and number else "")
            names = [name, f"{harvest.site}{suffix}-{kind}"] if kind else [name]
            for view in (*names, *map(_plain_name, names)):
                views.setdefault(view, (harvest, file))
    return views


def tables_by_name(harvests: Iterable[CatalogueEntry]) -> dict[str, Path]:
    """Return the table file of each view, named after its site."""
    names: dict[Path, str] = {}
    for name, (_, file) in view_names(harvests).items():
        names.setdefault(file, name)
    return {name: file for file, name in names.items()}


def _plain_name(name: str) -> str:
    """Return a name that needs no quotes in SQL.

    >>> _plain_name("books.example.org"), _plain_name("127.0.0.1:8000")
    ('books_example_org', '_127_0_0_1_8000')
    """
    plain = re.sub(r"\W+", "_", name)
    return f"_{plain}" if plain[:1].isdigit() else plain


class Database:
    """DuckDB database with views of the harvested tables."""

    def __init__(self, harvests: Sequence[CatalogueEntry]) -> None:
        self.harvests = harvests
        self.views = view_names(harvests)
        self._files: dict[Path, Path] = {}  # table → the Parquet file that DuckDB reads for it

    def query(self, query: str) -> QueryResult:
        """Run a query, which must be a SELECT. Tables that it does not name are not read."""
        import duckdb

        connection = parquet.connect()
        connection.execute("SET python_enable_replacements = false")  # names in a query never refer to Python variables
        connection.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
        connection.execute(f"SET temp_directory = {_literal(self._scratch / 'spilled')}")
        connection.execute(f"SET max_temp_directory_size = '{MAX_TEMPORARY_SIZE}'")
        try:
            statements = duckdb.extract_statements(query)
            if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
                raise WrongUsage("`upwell sql` is read-only: give one SELECT, SHOW, DESCRIBE or SUMMARIZE")
            self._make_views(connection, query)
            _restrict(connection, self._files.values())
            return QueryResult(connection, query, list(connection.sql(query).columns), self)
        except duckdb.Error as error:
            raise WrongUsage(self._explain(str(error).strip())) from error

    def _explain(self, error: str) -> str:
        """Return an error of DuckDB; for an unknown table with the names of ours instead of DuckDB's own."""
        missing = MISSING_TABLE.search(error)
        if missing is None:
            return error
        known = sorted(name for name in self.views if re.fullmatch(r"\w+", name))
        near = get_close_matches(missing[1].lower(), [EVERYTHING, SAME_AS, *known], n=1)
        meant = f"; did you mean {near[0]}?" if near else ""
        return f"there is no table {missing[1]}{meant}\nKnown tables: {', '.join([EVERYTHING, SAME_AS, *known[:20]])}{' …' if len(known) > 20 else ''}"

    def _make_views(self, connection: DuckDBPyConnection, query: str) -> None:
        query_text = query.lower()
        is_listing = LISTING.search(query) is not None
        for name, (_, file) in self.views.items():
            if is_listing or name.lower() in query_text:
                connection.execute(f"CREATE VIEW {_quoted(name)} AS SELECT * FROM {_scan(self._file(file))}")  # noqa: S608 # quoted
        if EVERYTHING in query_text:
            self._make_everything(connection)
        if SAME_AS in query_text:
            self._make_same_as(connection, query_text)

    @cached_property
    def _scratch(self) -> Path:
        """Create a temporary folder that is removed with this object."""
        folder = mkdtemp(prefix="upwell-sql-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return Path(folder)

    def _file(self, table: Path) -> Path:
        """Return the Parquet file of a table; other formats are converted first."""
        if table not in self._files:
            file = table.resolve()
            if table.suffix != ".parquet":
                rows = [row for row in readers.read_values(table) if row is not None]
                file = self._scratch / f"{len(self._files)}.parquet"
                columns = dict.fromkeys(name for row in rows for name in row)
                parquet.write(rows, {name: name for name in columns}, file)
            self._files[table] = file
        return self._files[table]

    def _tables(self) -> list[tuple[str, Path, SourceTable]]:
        """Return every table with the name of its view."""
        from upwell.combine.source_table import read_table

        named = tables_by_name(self.harvests)
        return [(name, file, read_table(file, name)) for name, file in named.items()]

    def _make_everything(self, connection: DuckDBPyConnection) -> None:
        """Create the view of all tables, with aligned columns."""
        tables = self._tables()
        if not tables:
            raise WrongUsage("there are no tables: no harvest has records yet")
        aligned = _aligned([table for _, _, table in tables])
        types = [_types(connection, self._file(file)) for _, file, _ in tables]
        selects = []
        for number, (name, file, _) in enumerate(tables):
            parts = [f"{_literal(name)} AS {SITE}"]
            parts += [
                f"CAST({meta} AS VARCHAR) AS {meta}" if meta in types[number] else f"NULL AS {meta}"
                for meta in METADATA_COLUMNS
            ]
            for column in aligned:
                shared = _common_type(
                    {
                        table_types[own]
                        for table_types, own in zip(types, column.columns, strict=True)
                        if own is not None and own in table_types
                    }
                )
                own = column.columns[number]
                value = f"CAST({_quoted(own)} AS {shared})" if own is not None and own in types[number] else "NULL"
                parts.append(f"{value} AS {_quoted(column.name)}")
            selects.append(f"SELECT {', '.join(parts)} FROM {_scan(self._file(file))}")  # noqa: S608 # quoted
        connection.execute(f"CREATE VIEW {EVERYTHING} AS {' UNION ALL '.join(selects)}")

    def _make_same_as(self, connection: DuckDBPyConnection, query_text: str) -> None:
        """Create the table of matching rows for each pair of tables; only for the tables named in the query if it names several."""
        named = {file for name, (_, file) in self.views.items() if name.lower() in query_text}
        tables = [entry for entry in self._tables() if len(named) < 2 or entry[1] in named]
        rows = [
            dict(zip(SAME_AS_COLUMNS, (name_a, str(pair.a), name_b, str(pair.b), float(pair.score)), strict=True))
            for i, (name_a, _, a) in enumerate(tables)
            for name_b, _, b in tables[i + 1 :]
            for pair in match(a, b)
        ]
        connection.execute(
            f"CREATE TABLE {SAME_AS} (a_site VARCHAR, a_key VARCHAR, b_site VARCHAR, b_key VARCHAR, score DOUBLE)"
        )
        if rows:
            file = self._scratch / f"{SAME_AS}.parquet"
            parquet.write(rows, {name: name for name in SAME_AS_COLUMNS}, file)
            connection.execute(f"INSERT INTO {SAME_AS} SELECT * FROM {_scan(file)}")  # noqa: S608 # quoted


def _aligned(tables: Sequence[SourceTable]) -> list[AlignedColumn]:
    """Return the columns of all tables, those of the same meaning under one name; a single table needs no libraries for that."""
    if len(tables) == 1:
        return [AlignedColumn(name=name, columns=(name,)) for name in tables[0].columns]
    try:
        from upwell.combine.align import align
    except ModuleNotFoundError as missing:
        raise MissingExtra(
            f"the view {EVERYTHING} of several sites needs the matching libraries: pip install 'upwell[matching]'"
        ) from missing
    rows = max(MIN_ALIGNED_ROWS, ALIGNED_ROWS // len(tables))
    return align([_sample(table, rows) for table in tables])


@dataclass(frozen=True)
class QueryResult:
    """Rows of a query; each iteration runs the query again."""

    _connection: DuckDBPyConnection
    _query: str
    columns: list[str]
    _database: Database  # keeps its temporary files alive

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        import duckdb

        try:
            result = self._connection.execute(self._query)
            while batch := result.fetchmany(parquet.BATCH_ROWS):
                yield from batch
        except duckdb.Error as error:  # for example a value that cannot be cast
            raise WrongUsage(str(error).strip()) from error

    def first(self, limit: int, offset: int = 0) -> list[tuple[Any, ...]]:
        """Return some rows without computing the others; a listing such as SHOW TABLES has few and is read as a whole."""
        import duckdb

        try:
            return self._connection.sql(self._query).limit(limit, offset).fetchall()
        except duckdb.Error as error:
            raise WrongUsage(str(error).strip()) from error

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield each row as a dictionary."""
        for row in self:
            yield dict(zip(self.columns, row, strict=True))

    @property
    def table(self) -> pyarrow.Table:
        """Return the rows as an Arrow table."""
        try:
            import pyarrow  # noqa: F401 # needed by DuckDB
        except ImportError as missing:
            raise MissingExtra("an Arrow table needs the package pyarrow: pip install 'upwell[arrow]'") from missing
        return self._connection.sql(self._query).to_arrow_table()

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows as a pandas data frame."""
        return pandas_frame(lambda: self.table)

    def to_polars(self) -> polars.DataFrame:
        """Return the rows as a Polars data frame."""
        return polars_frame(lambda: self.table)


def _sample(table: SourceTable, rows: int) -> SourceTable:
    """Return a table of rows spread evenly over a table."""
    from upwell.combine.source_table import table_of_rows

    step = -(-len(table) // rows) or 1
    return table_of_rows([table.row(number) for number in range(0, len(table), step)], table.name)


def _restrict(connection: DuckDBPyConnection, files: Iterable[Path]) -> None:
    """Restrict the connection permanently to the table files."""
    allowed = ", ".join(_literal(file) for file in files)
    connection.execute(f"SET allowed_paths = [{allowed}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _types(connection: DuckDBPyConnection, file: Path) -> Mapping[str, str]:
    """Return the column types of a Parquet file."""
    rows = connection.execute(f"DESCRIBE SELECT * FROM {_scan(file)}").fetchall()  # noqa: S608 # quoted
    return {str(row[0]): str(row[1]) for row in rows}


def _common_type(types: set[str]) -> str:
    """Return a type that can represent values of all given types.

    >>> _common_type({"BIGINT"}), _common_type({"BIGINT", "DOUBLE"}), _common_type({"BIGINT", "DATE"})
    ('BIGINT', 'DOUBLE', 'VARCHAR')
    """
    if len(types) == 1:
        return next(iter(types))
    return "DOUBLE" if types <= NUMBERS else "VARCHAR"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _scan(file: Path) -> str:
    """Return the FROM expression for a Parquet file."""
    return f"read_parquet({_literal(glob.escape(str(file)))})"


def _literal(value: object) -> str:
    return "'" + str(value).replace("'", "''") + "'"
