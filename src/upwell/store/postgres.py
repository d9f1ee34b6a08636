"""The state of many sites in one PostgreSQL database, written by many processes on many machines; each site is one database to its `State`."""

import re
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

    def of_keys(self, select: str, keys: Sequence[str], /, *values: Any) -> list[Any]:
        # Each key by the index, whatever the server believes of the size of the tables: it may not have counted them yet.
        before, _, after = _statement(select).rpartition("%s")
        each = f"CROSS JOIN LATERAL ({before}wanted.key{after} OFFSET 0) AS found"
        sql = "SELECT found.* FROM unnest(%s::text[]) AS wanted (key) " + each  # noqa: S608 # a statement of ours
        return self._db.execute(sql, [_clean(keys), *_clean(values)]).fetchall()

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> object:
        rows = [_clean(row) for row in parameters]
        insert = _INSERT.fullmatch(sql)
        if insert is None:
            self._db.cursor().executemany(_statement(sql), rows)
            return None
        before, values, after = insert.groups()
        for start in range(0, len(rows), ROWS_AT_ONCE):  # in one statement, which the server takes faster
            some = rows[start : start + ROWS_AT_ONCE]
            together = f"{before}{', '.join([values] * len(some))}{after}"
            self._db.execute(_statement(together), [value for row in some for value in row])
        return None


_INSERT = re.compile(r"(INSERT .* VALUES )(\([^()]*\))(.*)", re.DOTALL)
ROWS_AT_ONCE = 500  # with at most 65,535 values in all
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

    def of_keys(self, select: str, keys: Sequence[str], /, *values: Any) -> list[Any]:
        """What a SELECT finds for each of several keys, which is its last `?`."""
        return self._server.run(
            lambda db: _Translated(db).of_keys(select, keys, *values), site=self._site, is_only_read=True
        )

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
