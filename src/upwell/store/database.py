"""Interface of the database that holds a harvest's state, its table definitions, and its errors.

`sqlite.py` and `postgres.py` implement `StateDatabase`; `location.py` chooses between them. The SQL of the state is written once for both:
`?` for values, `ON CONFLICT (column)` for upserts, and only functions that both have.
"""

from __future__ import annotations

import functools
import inspect
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, cast
from urllib.parse import parse_qsl, urlencode

from upwell.errors import CannotKeep, WrongUsage
from upwell.store.safe_files import disk_problem

if TYPE_CHECKING:
    from upwell.net.pace import HostLeases

__all__ = [
    "ADDED_COLUMNS",
    "TABLES",
    "VERSION",
    "Connection",
    "Reader",
    "ResultRows",
    "StateDatabase",
    "TableDefinition",
    "newer_version",
    "read_note",
    "report_damage",
    "reporting_damage",
    "set_note",
    "without_password",
]

T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R")
# Raised by decoding stored values of other types than were written, and by SQLite for damaged pages.
DAMAGE = (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError, sqlite3.Error)


class ResultRows(Protocol):
    """Rows returned by a statement."""

    def fetchone(self) -> Any:
        """Return the next row, or None if there is no more."""
        ...

    def fetchall(self) -> list[Any]:
        """Return all remaining rows."""
        ...

    def __iter__(self) -> Iterator[Any]: ...


class Reader(Protocol):
    """Anything that executes statements, such as `sqlite3.Connection`."""

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> ResultRows:
        """Execute a statement."""
        ...


class Connection(Reader, Protocol):
    """Connection that also reads and writes many rows at once."""

    def select_by_keys(self, select: str, keys: Sequence[str], /, *values: Any) -> list[Any]:
        """Return the rows of a SELECT for each of several keys; its last `?` stands for the key."""
        ...

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> object:
        """Execute a statement once for each row of values."""
        ...


class StateDatabase(Connection, Protocol):
    """Tables of one site's harvest in the current version, writable by this process only."""

    @property
    def is_remote(self) -> bool:
        """Return True if a statement may wait for another machine."""
        ...

    @property
    def is_leased(self) -> bool:
        """Return True if a process, this one or another, holds the right to write."""
        ...

    @property
    def host_leases(self) -> HostLeases | None:
        """Return the host leases shared by all machines that use this database; None if each machine has its own."""
        ...

    def transaction(self, action: Callable[[Connection], T]) -> T:
        """Run an action in one transaction; on failure roll back and raise CannotKeep."""
        ...

    def close(self) -> None:
        """Close the database and release the right to write."""
        ...


VERSION = 4  # of the tables below


@dataclass(frozen=True, kw_only=True)
class TableDefinition:
    """Table of the state: its columns with SQLite's types, primary key, and optional index."""

    name: str
    columns: Mapping[str, str]
    key: tuple[str, ...]
    is_in_order: bool = False  # `rowid` gives the order of insertion
    index: tuple[str, ...] = ()


TABLES = (
    TableDefinition(name="about", columns={"name": "TEXT", "value": "TEXT"}, key=("name",)),
    TableDefinition(
        name="outcomes",
        columns={
            "id": "INTEGER", "run": "INTEGER", "request": "TEXT", "head": "TEXT", "body": "BLOB", "error": "TEXT", "sent": "INTEGER",
            "bytes": "INTEGER", "at": "REAL", "archive_file": "TEXT", "archive_offset": "INTEGER", "archive_digest": "TEXT",
            "decision": "TEXT", "records_read": "INTEGER", "new_records": "INTEGER",
        },
        key=("id",),
        index=("run", "request"),
    ),
    TableDefinition(
        name="records",
        columns={"key": "TEXT", "row": "TEXT", "seen": "INTEGER", "first": "INTEGER", "last": "INTEGER"},
        key=("key",),
        is_in_order=True,
    ),
    TableDefinition(
        name="sights",
        columns={"key": "TEXT", "run": "INTEGER", "query": "TEXT", "page": "TEXT"},
        key=("key", "run", "query", "page"),
    ),
    TableDefinition(name="details", columns={"key": "TEXT", "row": "TEXT", "run": "INTEGER"}, key=("key",)),
    TableDefinition(
        name="varying",
        columns={"source": "TEXT", "name": "TEXT", "alike": "INTEGER", "other": "INTEGER"},
        key=("source", "name"),
    ),
    TableDefinition(name="history", columns={"key": "TEXT", "run": "INTEGER", "row": "TEXT"}, key=("key", "run")),
)  # fmt: skip
ADDED_COLUMNS = {  # by older version: table, column and type that the next version added
    1: (
        ("outcomes", "archive_file", "TEXT"),
        ("outcomes", "archive_offset", "INTEGER"),
        ("outcomes", "archive_digest", "TEXT"),
    ),
    2: (),  # version 3 added a column to PostgreSQL's own table of sites
    3: (
        ("outcomes", "decision", "TEXT"),
        ("outcomes", "records_read", "INTEGER"),
        ("outcomes", "new_records", "INTEGER"),
    ),
}


def report_damage(*names: str) -> Callable[[type[T]], type[T]]:
    """Let the methods of a class that decode stored values raise CannotKeep if these are damaged; a locked file or full disk is no damage."""

    def decorate(cls: type[T]) -> type[T]:
        for name in names:
            setattr(cls, name, reporting_damage(getattr(cls, name)))
        return cls

    return decorate


def reporting_damage(method: Callable[P, R]) -> Callable[P, R]:
    """Let a function that decodes stored values raise CannotKeep if these are damaged."""

    def damaged(error: Exception) -> Exception:
        is_waiting = isinstance(error, sqlite3.Error) and ("locked" in str(error) or "busy" in str(error))
        if is_waiting or disk_problem(error):
            return error
        text = " ".join(str(error).split())[:200]
        return CannotKeep(
            f"the state of the harvest is damaged ({type(error).__name__}: {text}); move state.sqlite away to start again, or use another -o"
        )

    @functools.wraps(method)
    def call(*arguments: P.args, **named: P.kwargs) -> R:
        try:
            return method(*arguments, **named)
        except DAMAGE as error:
            raise damaged(error) from error

    @functools.wraps(method)
    def iterate(*arguments: P.args, **named: P.kwargs) -> Iterator[Any]:
        try:
            yield from cast("Iterator[Any]", method(*arguments, **named))
        except DAMAGE as error:
            raise damaged(error) from error

    return cast("Callable[P, R]", iterate) if inspect.isgeneratorfunction(method) else call


def read_note(db: Reader, name: str, default: str = "") -> str:
    """Return the note stored under a name."""
    row = db.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
    return str(row[0]) if row else default


def set_note(db: Connection, name: str, value: str) -> None:
    """Store a note under a name."""
    db.execute("INSERT INTO about VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", (name, value))


def newer_version(database: str, version: int) -> CannotKeep:
    """Return the error for tables written by a newer version of Upwell."""
    return CannotKeep(
        f"{database} was written by a newer Upwell (version {version}; this one supports up to {VERSION}); "
        "update Upwell, or use another -o"
    )


SCHEMES = ("postgresql", "postgres")
SECRET_OPTIONS = ("password", "sslpassword")  # libpq options in the query part of a URL


def without_password(address: str) -> str:
    """Return the address of a PostgreSQL database without its passwords, for messages and files.

    >>> without_password("postgresql://me:secret@db.example/upwell?sslmode=require&password=secret")
    'postgresql://me@db.example/upwell?sslmode=require'
    """
    scheme, _, rest = address.partition("://")
    if scheme not in SCHEMES:
        raise WrongUsage(
            "--state takes the address of a PostgreSQL database: postgresql://USER@HOST/DATABASE (the password comes from PGPASSWORD or ~/.pgpass)"
        )
    path, mark, query = rest.partition("?")
    if "@" not in path and "@" in query:  # an unescaped "?" in the password: hide everything
        return f"{scheme}://…"
    login, at, host = path.rpartition("@")
    options = urlencode([(name, value) for name, value in parse_qsl(query) if name not in SECRET_OPTIONS], safe="/")
    return f"{scheme}://{login.partition(':')[0]}{at}{host}{mark if options else ''}{options}"
