"""State of one site's harvest in an SQLite file, written by one process at a time and readable for others.

The right to write is an exclusive lock of another, empty file next to it. While the state is written, `SqliteDatabase(…, read_only=True)` and
`read_only.open_read_only` read what is committed.

The file may come from somebody else. Views, triggers, generated columns, checks and indexes of expressions are code that SQLite runs while
the tables are used: an endless query, or a gigabyte for each row. So the schema may contain nothing but the tables and indexes of
`database.TABLES`, and a connection trusts no function of a schema.
"""

import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
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

__all__ = ["SqliteDatabase", "connect_safely", "is_locked", "refuse_foreign_schema"]

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

    def __init__(self, path: Path | None = None, *, read_only: bool = False) -> None:
        self._path = path
        self.is_leased = not read_only  # this process may write
        self._lease: sqlite3.Connection | None = None
        if read_only and path is not None and not os.access(path.parent, os.W_OK):
            self._db = self._open_in_fixed_folder(path)
            return
        try:
            self._lease = _lock_file(path) if path is not None and not read_only else None
            # The event loop's thread and the reading thread use it in turn, never at the same time.
            self._db = connect_safely(
                path, read_only=read_only, isolation_level=None, timeout=0.5, check_same_thread=False
            )
        except sqlite3.Error as error:
            self._release()
            raise self._cannot_keep(error) from error
        try:
            self._configure()
            refuse_foreign_schema(self._db, path)
            if read_only:
                self._db.execute("BEGIN")  # everything is read as of now
            else:
                self.transaction(self._create_tables)
        except BaseException as error:  # close in any case, or the file stays locked
            self._db.close()
            self._release()
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

    def _configure(self) -> None:
        try:
            if self.is_leased:
                self._db.execute("PRAGMA journal_mode = WAL")  # other processes read while this one writes
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
        """Close the file and release the right to write."""
        self._db.close()
        self._release()

    def _release(self) -> None:
        if self._lease is not None:
            if self._path is not None:
                with suppress(OSError):  # Windows removes no open file
                    _lock_path(self._path).unlink()
            self._lease.close()
            self._lease = None

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


def _lock_path(path: Path) -> Path:
    return path.with_name(f".{path.name}-lock")


def _lock_file(path: Path, timeout: float = 0.5) -> sqlite3.Connection:
    """Return a connection that holds the exclusive lock of the empty file next to a state; raise `sqlite3.OperationalError` if another has it."""
    lock = _lock_path(path)
    while True:
        db = sqlite3.connect(lock, isolation_level=None, timeout=timeout, check_same_thread=False)
        try:
            db.execute("PRAGMA user_version")  # opens the file
            opened = lock.stat().st_ino
            db.execute("BEGIN EXCLUSIVE")
            if lock.stat().st_ino == opened:
                return db
        except FileNotFoundError:
            pass  # its holder has just removed it
        except BaseException:
            db.close()
            raise
        db.close()


def is_locked(path: Path) -> bool:
    """Return True if a process is writing a state."""
    if not _lock_path(path).exists():
        return False
    try:
        _lock_file(path, timeout=0).close()
    except sqlite3.Error:
        return True
    return False


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
