"""The state of many sites in one PostgreSQL database, written by many processes on many machines; each site is one database to its `State`."""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import psycopg

from upwell.store.database import Connection
from upwell.store.postgres_leases import PostgresLeases
from upwell.store.postgres_server import holder, join, leave
from upwell.store.postgres_tables import statement

__all__ = ["PostgresDatabase"]

T = TypeVar("T")


class _Translated:
    """A connection that takes the statements of the state."""

    def __init__(self, db: psycopg.Connection) -> None:
        self._db = db

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> psycopg.Cursor[Any]:
        return self._db.execute(_statement(sql), _clean(parameters))

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> object:
        rows = [_clean(row) for row in parameters]
        if rows:
            self._db.cursor().executemany(_statement(sql), rows)
        return None


_statement = lru_cache(maxsize=200)(statement)


def _clean(parameters: Sequence[Any]) -> list[Any]:
    """Values without the one character that PostgreSQL's texts cannot have."""
    return [value.replace("\0", "\ufffd") if isinstance(value, str) else value for value in parameters]


class PostgresDatabase:
    """The tables of one site in a database: leased by this process, or only read."""

    is_remote = True

    def __init__(self, address: str, site: str, *, is_only_read: bool = False) -> None:
        self._server = join(address)
        self._is_leased = False
        try:
            self._site = self._server.ask(lambda db: _site_id(db, site, is_only_read))
            if not is_only_read:
                self._server.lease(self._site, site)
                self._is_leased = True
        except BaseException:  # or the connection stays open
            self.close()
            raise
        self.host_leases = PostgresLeases(self._server)

    @property
    def is_leased(self) -> bool:
        """Whether a worker, on whatever machine, has the site."""
        return self._server.ask(lambda db: bool(holder(db, self._site)))

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> psycopg.Cursor[Any]:
        """Executes a statement that reads."""
        return self._server.run(lambda db: _Translated(db).execute(sql, parameters), site=self._site, is_only_read=True)

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> object:
        """Executes a statement with each of several rows of values."""
        rows = list(parameters)
        return self.transaction(lambda db: db.executemany(sql, rows))

    def transaction(self, action: Callable[[Connection], T]) -> T:
        """Runs an action in one transaction; if it fails, the tables stay as they were, and CannotKeep says why."""
        return self._server.run(lambda db: action(_Translated(db)), site=self._site)

    def close(self) -> None:
        """Ends the lease."""
        if self._is_leased:
            self._server.release(self._site)
        leave(self._server)


def _site_id(db: psycopg.Connection, name: str, is_only_read: bool) -> int:
    """The number of a site; 0, which has no rows, if it has none and may not get one."""
    name = name.replace("\0", "\ufffd")
    found = db.execute("SELECT id FROM sites WHERE name = %s", (name,)).fetchone()
    if found is None and not is_only_read:
        db.execute("INSERT INTO sites (name) VALUES (%s) ON CONFLICT DO NOTHING", (name,))
        found = db.execute("SELECT id FROM sites WHERE name = %s", (name,)).fetchone()
    return int(found[0]) if found else 0
