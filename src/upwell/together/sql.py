"""SQL over the tables of all harvests: DuckDB, read-only, with no way to other files or to the network.

    "example.org"   a view of each site's table, also as example_org; of one kind of thing where there are several: example_org_books
    everything      all rows of all sites with columns that mean the same under one name, and `_site`
    same_as         which rows of different sites are the same thing: a_site, a_key, b_site, b_key, score

Only what a query names is read, so that ten thousand harvests cost nothing to those who ask one of them.
"""

from __future__ import annotations

import glob
import re
import shutil
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

from upwell.errors import MissingExtra, WrongUsage
from upwell.store import parquet
from upwell.store import tables as stored
from upwell.store.frames import pandas_frame, polars_frame
from upwell.together.harvests import Harvest

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from duckdb import DuckDBPyConnection

    from upwell.together.tables import Table

__all__ = ["SITE_TABLE", "Answer", "Database", "tables_by_name", "view_names"]

EVERYTHING, SAME_AS, SITE = "everything", "same_as", "_site"
LISTING = re.compile(
    r"\bshow\b|information_schema|duckdb_\w+|\bdescribe\s*$", re.I
)  # a query about the tables themselves
KEPT = ("_key", "_url")  # of the columns of a row that say where it came from, that `everything` has
NUMBERS = frozenset(("BIGINT", "DOUBLE"))
ALIGNED_ROWS = (
    3000  # of all tables together, by which columns are aligned: the time grows with the square of the tables
)
MIN_ALIGNED_ROWS = 300  # of each of them
SITE_TABLE = 'SELECT * FROM "{}"'
SAME_AS_COLUMNS = ("a_site", "a_key", "b_site", "b_key", "score")


def view_names(harvests: Iterable[Harvest]) -> dict[str, tuple[Harvest, Path]]:
    """The views of harvests: the name of the site, with the kind of thing where it has several, as it is and as SQL takes it without quotes."""
    views: dict[str, tuple[Harvest, Path]] = {}
    sites = Counter[str]()
    for harvest in harvests:
        sites[harvest.site] += 1
        again = f"_{sites[harvest.site]}" if sites[harvest.site] > 1 else ""
        for number, (kind, file) in enumerate(harvest.tables.items()):
            name = f"{harvest.site}{again}" + (f"-{kind}" if kind and number else "")
            names = [name, f"{harvest.site}{again}-{kind}"] if kind else [name]
            for one in (*names, *map(_plain_name, names)):
                views.setdefault(one, (harvest, file))
    return views


def tables_by_name(harvests: Iterable[Harvest]) -> dict[str, Path]:
    """The table behind each view, under the name of its site."""
    names: dict[Path, str] = {}
    for name, (_, file) in view_names(harvests).items():
        names.setdefault(file, name)
    return {name: file for file, name in names.items()}


def _plain_name(name: str) -> str:
    """A name without what SQL wants in quotes.

    >>> _plain_name("books.example.org"), _plain_name("127.0.0.1:8000")
    ('books_example_org', '_127_0_0_1_8000')
    """
    plain = re.sub(r"\W+", "_", name)
    return f"_{plain}" if plain[:1].isdigit() else plain


class Database:
    """The harvests as a database."""

    def __init__(self, harvests: Sequence[Harvest]) -> None:
        self.harvests = harvests
        self.views = view_names(harvests)
        self._files: dict[Path, Path] = {}  # table → the Parquet file that DuckDB reads for it

    def query(self, query: str) -> Answer:
        """What a query brings. It may only select; what it does not name is not read."""
        import duckdb

        connection = parquet.connect()
        connection.execute("SET python_enable_replacements = false")  # a name in a query is no variable of ours
        try:
            statements = duckdb.extract_statements(query)
            if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
                raise WrongUsage("upwell sql answers one SELECT (or SHOW, DESCRIBE, SUMMARIZE), and changes nothing")
            self._make_views(connection, query)
            _shut(connection, self._files.values())
            return Answer(connection, query, list(connection.sql(query).columns), self)
        except duckdb.Error as error:
            raise WrongUsage(f"{str(error).strip()}{self._hint(str(error))}") from error

    def _hint(self, error: str) -> str:
        if "does not exist" not in error or "Table with name" not in error:
            return ""
        known = sorted(name for name in self.views if re.fullmatch(r"\w+", name))
        return f"\nThere are {', '.join([EVERYTHING, SAME_AS, *known[:20]])}{' …' if len(known) > 20 else ''}"

    def _make_views(self, connection: DuckDBPyConnection, query: str) -> None:
        wanted = query.lower()
        is_listing = LISTING.search(query) is not None
        for name, (_, file) in self.views.items():
            if is_listing or name.lower() in wanted:
                connection.execute(f"CREATE VIEW {_quoted(name)} AS SELECT * FROM {_scan(self._file(file))}")  # noqa: S608 # quoted
        if EVERYTHING in wanted:
            self._make_everything(connection)
        if SAME_AS in wanted:
            self._make_same_as(connection, wanted)

    @cached_property
    def _scratch(self) -> Path:
        """A folder that is gone when nobody uses this any more."""
        folder = mkdtemp(prefix="upwell-sql-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return Path(folder)

    def _file(self, table: Path) -> Path:
        """The Parquet file of a table; one in another format is written as Parquet first."""
        if table not in self._files:
            place = table.resolve()
            if table.suffix != ".parquet":
                rows = [row for row in stored.values(table) if row is not None]
                place = self._scratch / f"{len(self._files)}.parquet"
                columns = dict.fromkeys(name for row in rows for name in row)
                parquet.write(rows, {name: name for name in columns}, place)
            self._files[table] = place
        return self._files[table]

    def _tables(self) -> list[tuple[str, Path, Table]]:
        """Every table with the name of its view."""
        from upwell.together.tables import read_table

        named = tables_by_name(self.harvests)
        return [(name, file, read_table(file, name)) for name, file in named.items()]

    def _make_everything(self, connection: DuckDBPyConnection) -> None:
        """The rows of all tables, with columns that mean the same under one name."""
        try:
            from upwell.together.columns import align
        except ModuleNotFoundError as missing:
            raise MissingExtra(
                f"the view {EVERYTHING} needs what matching needs: pip install 'upwell[matching]'"
            ) from missing
        tables = self._tables()
        if not tables:
            raise WrongUsage("there is no table yet: none of the harvests has records")
        rows = max(MIN_ALIGNED_ROWS, ALIGNED_ROWS // len(tables))
        aligned = align([_sample(table, rows) for _, _, table in tables])
        types = [_types(connection, self._file(file)) for _, file, _ in tables]
        selects = []
        for number, (name, file, _) in enumerate(tables):
            parts = [f"{_literal(name)} AS {SITE}"]
            parts += [f"CAST({one} AS VARCHAR) AS {one}" if one in types[number] else f"NULL AS {one}" for one in KEPT]
            for column in aligned:
                shared = _common_type(
                    {
                        known[own]
                        for known, own in zip(types, column.columns, strict=True)
                        if own is not None and own in known
                    }
                )
                own = column.columns[number]
                value = f"CAST({_quoted(own)} AS {shared})" if own is not None and own in types[number] else "NULL"
                parts.append(f"{value} AS {_quoted(column.name)}")
            selects.append(f"SELECT {', '.join(parts)} FROM {_scan(self._file(file))}")  # noqa: S608 # quoted
        connection.execute(f"CREATE VIEW {EVERYTHING} AS {' UNION ALL '.join(selects)}")

    def _make_same_as(self, connection: DuckDBPyConnection, wanted: str) -> None:
        """Which rows are the same thing, of each two tables; of those that the query names where it names several."""
        from upwell.together.verbs import match

        named = {file for name, (_, file) in self.views.items() if name.lower() in wanted}
        tables = [one for one in self._tables() if len(named) < 2 or one[1] in named]
        rows = [
            dict(zip(SAME_AS_COLUMNS, (one, str(pair.a), other, str(pair.b), float(pair.score)), strict=True))
            for i, (one, _, a) in enumerate(tables)
            for other, _, b in tables[i + 1 :]
            for pair in match(a, b)
        ]
        connection.execute(
            f"CREATE TABLE {SAME_AS} (a_site VARCHAR, a_key VARCHAR, b_site VARCHAR, b_key VARCHAR, score DOUBLE)"
        )
        if rows:
            file = self._scratch / f"{SAME_AS}.parquet"
            parquet.write(rows, {name: name for name in SAME_AS_COLUMNS}, file)
            connection.execute(f"INSERT INTO {SAME_AS} SELECT * FROM {_scan(file)}")  # noqa: S608 # quoted


@dataclass(frozen=True)
class Answer:
    """The rows of a query; they are read when they are wanted, and each time anew."""

    _connection: DuckDBPyConnection
    _query: str
    columns: list[str]
    _database: Database  # its files are gone with it

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        import duckdb

        try:
            result = self._connection.execute(self._query)
            while batch := result.fetchmany(parquet.BATCH_ROWS):
                yield from batch
        except duckdb.Error as error:  # as one value that cannot be cast
            raise WrongUsage(str(error).strip()) from error

    def rows(self) -> Iterator[dict[str, Any]]:
        """Each row by column."""
        for row in self:
            yield dict(zip(self.columns, row, strict=True))

    @property
    def table(self) -> pyarrow.Table:
        """The rows as an Arrow table."""
        try:
            import pyarrow  # noqa: F401 # DuckDB needs it
        except ImportError as missing:
            raise MissingExtra("an Arrow table needs the package pyarrow: pip install 'upwell[arrow]'") from missing
        return self._connection.sql(self._query).to_arrow_table()

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas data frame."""
        return pandas_frame(lambda: self.table)

    def to_polars(self) -> polars.DataFrame:
        """The rows as a Polars data frame."""
        return polars_frame(lambda: self.table)


def _sample(table: Table, rows: int) -> Table:
    """Some rows of a table, spread over the whole of it."""
    from upwell.together.tables import table_of_rows

    step = -(-len(table) // rows) or 1
    return table_of_rows([table.row(number) for number in range(0, len(table), step)], table.name)


def _shut(connection: DuckDBPyConnection, files: Iterable[Path]) -> None:
    """Closes every way out but to the files of the tables, for good."""
    allowed = ", ".join(_literal(file) for file in files)
    connection.execute(f"SET allowed_paths = [{allowed}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _types(connection: DuckDBPyConnection, file: Path) -> Mapping[str, str]:
    """The types of the columns of a Parquet file."""
    found = connection.execute(f"DESCRIBE SELECT * FROM {_scan(file)}").fetchall()  # noqa: S608 # quoted
    return {str(row[0]): str(row[1]) for row in found}


def _common_type(types: set[str]) -> str:
    """The type that takes the values of all.

    >>> _common_type({"BIGINT"}), _common_type({"BIGINT", "DOUBLE"}), _common_type({"BIGINT", "DATE"})
    ('BIGINT', 'DOUBLE', 'VARCHAR')
    """
    if len(types) == 1:
        return next(iter(types))
    return "DOUBLE" if types <= NUMBERS else "VARCHAR"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _scan(file: Path) -> str:
    """What to select from for a Parquet file."""
    return f"read_parquet({_literal(glob.escape(str(file)))})"


def _literal(value: object) -> str:
    return "'" + str(value).replace("'", "''") + "'"
