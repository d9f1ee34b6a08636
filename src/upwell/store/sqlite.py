"""State of one site's harvest in an SQLite file, locked by the process that has it open.

The file may come from somebody else. Views, triggers, generated columns, checks and indexes of expressions are code that SQLite runs while
the tables are used: an endless query, or a gigabyte for each row. So the schema may contain nothing but the tables and indexes of
`database.TABLES`, and a connection trusts no function of a schema.
"""

import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from upwell.errors import CannotKeep, InUse
from upwell.store.database import (
    ADDED_COLUMNS,
    TABLES,
    VERSION,
    Connection,
    Reader,
    TableDefinition,
    newer_version,
    read_note,
    reporting_damage,
    set_note,
)

__all__ = ["SqliteDatabase", "connect_safely", "refuse_foreign_schema"]

T = TypeVar("T")
KEYS_PER_STATEMENT = 100  # keys looked up by one SELECT
CACHE_KILOBYTES = 512  # SQLite's page cache per harvest; small because a process runs up to a hundred harvests

MAX_STATEMENT_CHARS = 2000  # of a statement of the schema; the longest of ours has 330
MAX_VALUE_BYTES = 100_000_000  # of a text, a BLOB or a row; an answer has at most 20 MB (`Manners.max_bytes`)
SCHEMA_TOKEN = re.compile(r"\w+|[^\w\s]")
# All that a statement of the schema of a state may consist of, in this version and the older ones.
SCHEMA_WORDS = (
    "create",
    "table",
    "index",
    "on",
    "text",
    "integer",
    "real",
    "blob",
    "primary",
    "key",
    "without",
    "rowid",
    "(",
    ")",
    ",",
)
SCHEMA_TOKENS = frozenset(SCHEMA_WORDS).union(*({table.name, *table.columns} for table in TABLES))


def connect_safely(path: Path | None = None, *, read_only: bool = False, **options: Any) -> sqlite3.Connection:
    """Connect to an SQLite file that may be malicious, or to memory; its schema calls no functions, and its values are of bounded size."""
    place = ":memory:" if path is None else str(path)
    if read_only and path is not None:
        # Even a reader of a file with a write-ahead log creates files beside it; where it cannot, nobody writes the file either.
        is_fixed = not os.access(path.parent, os.W_OK) and not has_waiting_changes(path)
        place = f"{path.resolve().as_uri()}?{'immutable=1' if is_fixed else 'mode=ro'}"
    db: sqlite3.Connection = sqlite3.connect(place, uri=read_only, **options)
    try:
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute("PRAGMA cell_size_check = ON")
    except BaseException:
        db.close()
        raise
    return db


def has_waiting_changes(path: Path) -> bool:
    """Return True if the write-ahead log of a file has changes that the file itself lacks: its last process was killed."""
    log = path.with_name(f"{path.name}-wal")
    return log.is_file() and log.stat().st_size > 0


def refuse_foreign_schema(db: sqlite3.Connection, path: Path | None) -> None:
    """Raise CannotKeep if a file contains anything but tables and indexes of a state."""
    expected = {table.name for table in TABLES} | {name for table in TABLES if (name := _index_name(table))}
    for kind, name, table, statement in db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master"):
        if kind == "index" and statement is None and str(name).startswith("sqlite_autoindex_"):
            continue
        tokens = SCHEMA_TOKEN.findall(str(statement).lower()) if len(str(statement)) < MAX_STATEMENT_CHARS else ["…"]
        if kind not in ("table", "index") or name not in expected or not SCHEMA_TOKENS.issuperset({*tokens} - {name}):
            raise CannotKeep(
                f"{path}: the {kind} {str(name)[:50]!r} of {str(table)[:50]!r} is not of a state that Upwell wrote; nothing was read. Move "
                "the file away to start again, or use another -o"
            )


class SqliteDatabase:
    """State tables in a file, or in memory if no path is given."""

    is_remote = False
    host_leases = None
    is_leased = True  # an open file is locked

    def __init__(self, path: Path | None = None, *, read_only: bool = False) -> None:
        self._path = path
        if read_only and path is not None and not os.access(path.parent, os.W_OK):
            self._db = self._open_in_fixed_folder(path)
            return
        try:
            # The event loop's thread and the reading thread use it in turn, never at the same time.
            self._db = connect_safely(path, isolation_level=None, timeout=0.5, check_same_thread=False)
        except sqlite3.Error as error:
            raise self._cannot_keep(error) from error
        try:
            self._lock()
            refuse_foreign_schema(self._db, path)
            self.transaction(self._create_tables)
        except BaseException as error:  # close in any case, or the file stays locked
            self._db.close()
            if isinstance(error, sqlite3.Error):
                raise self._cannot_keep(error) from error
            raise

    def _open_in_fixed_folder(self, path: Path) -> sqlite3.Connection:
        """Open a file of a folder that cannot be written, without a lock."""
        if has_waiting_changes(path):
            raise CannotKeep(
                f"{path.parent} cannot be written, and its harvest did not end cleanly; copy it to a folder that you can write, and use the copy"
            )
        try:
            db = connect_safely(path, read_only=True, isolation_level=None, check_same_thread=False)
            try:
                refuse_foreign_schema(db, path)
                if (version := _stored_version(db)) > VERSION:
                    raise newer_version(str(path), version)
                if version < VERSION:
                    raise CannotKeep(
                        f"{path} is of an older version and cannot be upgraded, because {path.parent} cannot be written; copy it elsewhere"
                    )
            except BaseException:
                db.close()
                raise
        except sqlite3.Error as error:
            raise self._cannot_keep(error) from error
        return db

    def _lock(self) -> None:
        try:
            self._db.execute("PRAGMA locking_mode = EXCLUSIVE")  # a second process gets an error
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.execute(f"PRAGMA cache_size = -{CACHE_KILOBYTES}")
        except sqlite3.Error as error:
            raise self._cannot_keep(error) from error

    def _create_tables(self, db: Connection) -> None:
        """Create the tables in a new file, and upgrade those of an older version."""
        for table in TABLES:
            for statement in _definition(table):
                db.execute(statement)
        version = _stored_version(db)
        if version > VERSION:
            raise newer_version(str(self._path), version)
        for older_version in range(version, VERSION):
            for table_name, column, kind in ADDED_COLUMNS[older_version]:
                db.execute(f"ALTER TABLE {table_name} ADD COLUMN {column} {kind}")
        set_note(db, "version", str(VERSION))

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> sqlite3.Cursor:
        """Execute a statement."""
        try:
            return self._db.execute(sql, parameters)
        except sqlite3.DatabaseError as error:
            if self._db.in_transaction or type(error) is not sqlite3.DatabaseError:  # `transaction` reports it
                raise
            raise self._cannot_keep(error) from error

    def select_by_keys(self, select: str, keys: Sequence[str], /, *values: Any) -> list[Any]:
        """Return the rows of a SELECT for each of several keys; its last `?` stands for the key."""
        rows: list[Any] = []
        for start in range(0, len(keys), KEYS_PER_STATEMENT):
            batch = keys[start : start + KEYS_PER_STATEMENT]
            statement = f"{select.removesuffix('= ?')}IN ({', '.join('?' * len(batch))})"
            rows += self._db.execute(statement, (*values, *batch))
        return rows

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> object:
        """Execute a statement once for each row of values."""
        return self._db.executemany(sql, parameters)

    def transaction(self, action: Callable[[Connection], T]) -> T:
        """Run an action in one transaction; on failure roll back and raise CannotKeep."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                result = action(self)
                self._db.execute("COMMIT")
            except BaseException:  # a cancelled task rolls back too
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise self._cannot_keep(error) from error
        return result

    def close(self) -> None:
        """Close the file, which unlocks it."""
        self._db.close()

    def _cannot_keep(self, error: sqlite3.Error) -> CannotKeep:
        """Return SQLite's error with advice for the user."""
        message = str(error)
        if "locked" in message:
            return InUse(
                f"{self._path}: {message}; another process is harvesting into it; wait for it, or use another -o"
            )
        if "full" in message:
            advice = "the disk is full; free some space and run the same command again to continue"
        elif "readonly" in message or "unable to open" in message:
            advice = "the folder cannot be written to; make it writable, or use another -o"
        elif "not a database" in message or "malformed" in message:
            advice = "the file is damaged; move it away to start again (the records and archive written so far stay), or use another -o"
        else:
            advice = "free some space if the disk is full, then run the same command again, or use another -o"
        return CannotKeep(f"{self._path or 'the state in memory'}: {message}; {advice}")


def _definition(table: TableDefinition) -> list[str]:
    """Return the statements that create a table and its index."""
    columns = ", ".join(f"{name} {kind}" for name, kind in table.columns.items())
    has_rowid = table.is_in_order or table.columns[table.key[0]] == "INTEGER"
    ending = "" if has_rowid else " WITHOUT ROWID"
    statements = [f"CREATE TABLE IF NOT EXISTS {table.name} ({columns}, PRIMARY KEY ({', '.join(table.key)})){ending}"]
    if name := _index_name(table):
        statements.append(f"CREATE INDEX IF NOT EXISTS {name} ON {table.name} ({', '.join(table.index)})")
    return statements


@reporting_damage
def _stored_version(db: Reader) -> int:
    """Return the version of the tables; that of this program if the file is new."""
    version = int(read_note(db, "version", str(VERSION)))
    if version < 1:
        raise ValueError(f"version {version}")
    return version


def _index_name(table: TableDefinition) -> str:
    return f"{table.name}_by_{table.index[-1]}" if table.index else ""
