"""The state of one site's harvest in a file: SQLite, locked by the process that has it open."""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from upwell.store.database import Connection
from upwell.store.state_errors import cannot_keep, newer_version
from upwell.store.state_tables import ADDED_COLUMNS, TABLES, VERSION, Table, set_note

__all__ = ["SqliteDatabase"]

T = TypeVar("T")
KEYS_AT_ONCE = 100  # that one statement looks up
CACHE_KILOBYTES = (
    512  # SQLite's page cache; small, because a hundred harvests run at once and each writes more than it reads
)


class SqliteDatabase:
    """The tables in a file, or in this process's memory where no path is given."""

    is_remote = False
    host_leases = None
    is_leased = True  # a file that is open is locked

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        try:
            # one thread after the other: the loop's, and the one that reads pages
            self._db = sqlite3.connect(path or ":memory:", isolation_level=None, timeout=0.5, check_same_thread=False)
        except sqlite3.Error as error:
            raise cannot_keep(path, error) from error
        try:
            self._lock()
            self.transaction(self._create_tables)
        except BaseException:  # close in any case, or the file stays locked
            self._db.close()
            raise

    def _lock(self) -> None:
        try:
            self._db.execute("PRAGMA locking_mode = EXCLUSIVE")  # a second process gets an error
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.execute(f"PRAGMA cache_size = -{CACHE_KILOBYTES}")
        except sqlite3.Error as error:
            raise cannot_keep(self._path, error) from error

    def _create_tables(self, db: Connection) -> None:
        """Creates the tables of a new file, and upgrades those of an older version."""
        for table in TABLES:
            for statement in _definition(table):
                db.execute(statement)
        noted = db.execute("SELECT value FROM about WHERE name = 'version'").fetchone()
        version = int(noted[0]) if noted else VERSION
        if version > VERSION:
            raise newer_version(str(self._path), version)
        for older_version in range(version, VERSION):
            for table_name, column, kind in ADDED_COLUMNS[older_version]:
                db.execute(f"ALTER TABLE {table_name} ADD COLUMN {column} {kind}")
        set_note(db, "version", str(VERSION))

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> sqlite3.Cursor:
        """Executes a statement."""
        return self._db.execute(sql, parameters)

    def of_keys(self, select: str, keys: Sequence[str], /, *values: Any) -> list[Any]:
        """What a SELECT finds for each of several keys, which is its last `?`."""
        found: list[Any] = []
        for first in range(0, len(keys), KEYS_AT_ONCE):
            some = keys[first : first + KEYS_AT_ONCE]
            many = f"{select.removesuffix('= ?')}IN ({', '.join('?' * len(some))})"
            found += self._db.execute(many, (*values, *some))
        return found

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> object:
        """Executes a statement with each of several rows of values."""
        return self._db.executemany(sql, parameters)

    def transaction(self, action: Callable[[Connection], T]) -> T:
        """Runs an action in one transaction; if it fails, the tables stay as they were, and CannotKeep says why."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                result = action(self)
                self._db.execute("COMMIT")
            except BaseException:  # any failure, a cancelled task too, rolls back
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise cannot_keep(self._path, error) from error
        return result

    def close(self) -> None:
        """Closes the file, which unlocks it."""
        self._db.close()


def _definition(table: Table) -> list[str]:
    """The statements that create a table."""
    columns = ", ".join(f"{name} {kind}" for name, kind in table.columns.items())
    has_rowid = table.is_in_order or table.columns[table.key[0]] == "INTEGER"
    ending = "" if has_rowid else " WITHOUT ROWID"
    created = [f"CREATE TABLE IF NOT EXISTS {table.name} ({columns}, PRIMARY KEY ({', '.join(table.key)})){ending}"]
    if table.index:
        created.append(f"CREATE INDEX IF NOT EXISTS {_index(table)} ON {table.name} ({', '.join(table.index)})")
    return created


def _index(table: Table) -> str:
    return f"{table.name}_by_{table.index[-1]}"
