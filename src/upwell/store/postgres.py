"""State of many sites in one PostgreSQL database, written by many processes on many machines.

Tables: each table of the state holds the rows of all sites (`all_records` …). A view with the plain name shows the rows of the site that the
transaction has chosen (`upwell.site`), and rows inserted through it get that site, so the SQL of the state is the same as for SQLite.
Everything is in the schema `upwell`.

Connection: a process has one connection to a database (`Server`) for all sites that it harvests. A site is leased by a session-level
advisory lock of that connection: a second worker gets an error, and the lease of a dead worker ends with its connection. Writes go through
the connection that holds the lease, so a process that has lost the lease cannot write.

Restarts: each transaction writes a token into the row of its site. When the server restarts, the process reconnects, takes its leases
again, and repeats a transaction unless its token is stored. (Transaction numbers cannot be used: after a crash the server may assign one
twice.)
"""

import logging
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, TypeVar
from uuid import uuid4

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.pq import PGconn, Ping, TransactionStatus

from upwell.errors import CannotKeep, InUse
from upwell.store.database import (
    ADDED_COLUMNS,
    TABLES,
    VERSION,
    Connection,
    TableDefinition,
    newer_version,
    without_password,
)

__all__ = ["PostgresDatabase", "PostgresLeases"]

T = TypeVar("T")
logger = logging.getLogger("upwell.store")

SCHEMA = "upwell"
LOCK_CLASS = 1970369381  # "upwe" as a number: class of our advisory locks, distinct from those of other programs
COLUMN_TYPES = {  # by SQLite's type; collation "C" sorts texts by their bytes, as SQLite does
    "TEXT": 'TEXT COLLATE "C"', "INTEGER": "BIGINT", "REAL": "DOUBLE PRECISION", "BLOB": "BYTEA",
}  # fmt: skip
CURRENT_SITE = "current_setting('upwell.site')::integer"
SHARED_TABLES = """
CREATE TABLE about_tables (version INTEGER NOT NULL);
CREATE TABLE sites (id INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name TEXT UNIQUE NOT NULL, token TEXT NOT NULL DEFAULT '');
CREATE UNLOGGED TABLE paces (host TEXT PRIMARY KEY, next_start TIMESTAMPTZ NOT NULL);
"""
MAX_SECONDS_AWAY = 300.0  # how long to wait for a server that answered before; a restart takes about 20
MAX_SECONDS_UNREACHED = 30.0  # how long to wait for a server when first connecting
LEASE_SECONDS = 3.0  # how long to wait for a lease: the server may not yet have noticed that its worker was killed
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.1, 2.0  # between attempts, doubled each time
# A machine that disappears loses its leases after 20 + 3 · 5 seconds.
KEEPALIVES: dict[str, Any] = {"keepalives": 1, "keepalives_idle": 20, "keepalives_interval": 5, "keepalives_count": 3}
# Sequential scans are off because a plan made while a table was small must not be kept for a large one. Asynchronous commits are off
# because a process goes on once a commit is acknowledged, so it must survive a crash of the server.
SETTINGS = f"""
SET search_path = {SCHEMA};
SET tcp_keepalives_idle = 20; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3;
SET client_min_messages = warning;
SET enable_seqscan = off;
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'
"""
MAX_ROWS_PER_INSERT = 500  # PostgreSQL takes at most 65,535 values in one statement
INSERT = re.compile(r"(INSERT .* VALUES )(\([^()]*\))(.*)", re.DOTALL)


class PostgresDatabase:
    """Tables of one site in a database, leased by this process or opened read-only."""

    is_remote = True

    def __init__(self, address: str, site: str, *, read_only: bool = False) -> None:
        self._server = _join(address)
        self._holds_lease = False
        try:
            self._site = self._server.execute(lambda db: _site_id(db, site, read_only))
            if not read_only:
                self._server.lease(self._site, site)
                self._holds_lease = True
        except BaseException:  # close in any case, or the connection stays open
            self.close()
            raise
        self.host_leases = PostgresLeases(self._server)

    @property
    def is_leased(self) -> bool:
        """Return True if a worker on any machine has leased the site."""
        return self._server.execute(lambda db: bool(_lease_holder(db, self._site)))

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> psycopg.Cursor[Any]:
        """Execute a statement that reads."""
        return self._server.run(lambda db: _StateConnection(db).execute(sql, parameters), self._site, read_only=True)

    def select_by_keys(self, select: str, keys: Sequence[str], /, *values: Any) -> list[Any]:
        """Return the rows of a SELECT for each of several keys; its last `?` stands for the key."""
        return self._server.run(
            lambda db: _StateConnection(db).select_by_keys(select, keys, *values), self._site, read_only=True
        )

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> object:
        """Execute a statement once for each row of values."""
        rows = list(parameters)
        return self.transaction(lambda db: db.executemany(sql, rows))

    def transaction(self, action: Callable[[Connection], T]) -> T:
        """Run an action in one transaction; on failure roll back and raise CannotKeep."""
        return self._server.run(lambda db: action(_StateConnection(db)), self._site)

    def close(self) -> None:
        """Release the lease, and close the connection if no other site uses it."""
        if self._holds_lease:
            self._server.release(self._site)
        _leave(self._server)


class _StateConnection:
    """Adapter that executes the SQL of the state in PostgreSQL's dialect."""

    def __init__(self, db: psycopg.Connection) -> None:
        self._db = db

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> psycopg.Cursor[Any]:
        return self._db.execute(_translate(sql), _without_nulls(parameters))

    def select_by_keys(self, select: str, keys: Sequence[str], /, *values: Any) -> list[Any]:
        # A lateral join looks up each key by the index, even if the planner's statistics are missing or outdated.
        before, _, after = _translate(select).rpartition("%s")
        lookup = f"CROSS JOIN LATERAL ({before}wanted.key{after} OFFSET 0) AS found"
        sql = "SELECT found.* FROM unnest(%s::text[]) AS wanted (key) " + lookup  # noqa: S608 # our own statement
        return self._db.execute(sql, [_without_nulls(keys), *_without_nulls(values)]).fetchall()

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> object:
        rows = [_without_nulls(row) for row in parameters]
        insert = INSERT.fullmatch(sql)
        if insert is None:
            self._db.cursor().executemany(_translate(sql), rows)
            return None
        before, values, after = insert.groups()
        for start in range(0, len(rows), MAX_ROWS_PER_INSERT):  # one statement for many rows is faster
            batch = rows[start : start + MAX_ROWS_PER_INSERT]
            statement = f"{before}{', '.join([values] * len(batch))}{after}"
            self._db.execute(_translate(statement), [value for row in batch for value in row])
        return None


@lru_cache(maxsize=200)
def _translate(sql: str) -> str:
    """Translate a statement of the state to PostgreSQL's dialect."""
    return sql.replace("%", "%%").replace("?", "%s").replace("ON CONFLICT (", "ON CONFLICT (site, ")


def _without_nulls(values: Sequence[Any]) -> list[Any]:
    """Replace the zero character, which PostgreSQL's texts cannot contain."""
    return [value.replace("\0", "\ufffd") if isinstance(value, str) else value for value in values]


def _site_id(db: psycopg.Connection, name: str, read_only: bool) -> int:
    """Return the number of a site, adding it if it is new; if read-only, 0 (which has no rows) for a new site."""
    name = name.replace("\0", "\ufffd")
    row = db.execute("SELECT id FROM sites WHERE name = %s", (name,)).fetchone()
    if row is None and not read_only:
        db.execute("INSERT INTO sites (name) VALUES (%s) ON CONFLICT DO NOTHING", (name,))
        row = db.execute("SELECT id FROM sites WHERE name = %s", (name,)).fetchone()
    return int(row[0]) if row else 0


class Server:
    """Connection of this process to one database, with the site leases that it holds."""

    def __init__(self, address: str) -> None:
        self.address, self.shown_address = address, without_password(address)
        self.users = 0
        self._wanted_leases: set[int] = set()  # sites that this process leases
        self._held_leases: set[int] = set()  # those of them that the current connection has locked
        self._lock = threading.RLock()
        self._connection: psycopg.Connection | None = None
        self._was_connected = False

    def execute(self, action: Callable[[psycopg.Connection], T]) -> T:
        """Run an action of one statement; repeat it after the server was away, even if it may have been executed."""
        backoff = _Backoff()
        with self._lock:
            while True:
                self._check_has_users()
                try:
                    return action(self._connect())
                except psycopg.Error as error:
                    self._wait_for_server(error, backoff)

    def run(self, action: Callable[[psycopg.Connection], T], site: int, *, read_only: bool = False) -> T:
        """Run an action in one transaction of a site; if the server was away meanwhile, repeat it unless it was committed."""
        token = "" if read_only else uuid4().hex
        begin = f"BEGIN; SELECT set_config('upwell.site', '{site}', true)"
        if token:
            begin += f"; UPDATE sites SET token = '{token}' WHERE id = {site}"  # noqa: S608 # a number, and hexadecimal digits
        results: list[T] = []  # of attempts that reached the COMMIT
        backoff = _Backoff()
        with self._lock:
            while True:
                self._check_has_users()
                try:
                    db = self._connect()
                    if token and results and _last_token(db, site) == token:
                        return results[-1]
                    if site in self._wanted_leases and site not in self._held_leases:
                        self._take_lease(db, site)
                    db.execute(begin)
                    results.append(action(db))
                    db.execute("COMMIT")
                    return results[-1]
                except psycopg.Error as error:
                    self._wait_for_server(error, backoff)
                except BaseException:  # a cancelled task rolls back too
                    self._roll_back()
                    raise

    def lease(self, site: int, name: str) -> None:
        """Lease a site, so that no other worker writes it; raise InUse if another one holds the lease."""
        with self._lock:
            if site in self._wanted_leases:
                raise InUse(f"{name} in {self.shown_address}: this process is harvesting it already; wait for it")
            self._wanted_leases.add(site)
        try:
            self.run(lambda db: None, site, read_only=True)
        except BaseException:
            self._wanted_leases.discard(site)
            raise

    def release(self, site: int) -> None:
        """Release the lease of a site."""
        with self._lock:
            self._wanted_leases.discard(site)
            db = self._connection
            if site in self._held_leases and db is not None:
                with suppress(psycopg.Error):  # if the server is away, the lease has ended anyway
                    db.execute("SELECT pg_advisory_unlock(%s, %s)", (LOCK_CLASS, site))
            self._held_leases.discard(site)

    def close(self) -> None:
        """Close the connection, which ends its leases."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None
            self._held_leases.clear()

    def _check_has_users(self) -> None:
        if not self.users:
            raise CannotKeep(
                f"{self.shown_address}: the connection was closed, because nothing in this process uses it"
            )

    def _connect(self) -> psycopg.Connection:
        """Return the connection; reconnect and take the leases again if it was lost."""
        if self._connection is not None and not self._connection.closed:
            return self._connection
        self._held_leases.clear()
        worker = f"upwell {socket.gethostname()} {os.getpid()}"[:60]
        db = psycopg.connect(self.address, autocommit=True, application_name=worker, connect_timeout=10, **KEEPALIVES)
        try:
            if not self._was_connected:
                _create_tables(db, self.shown_address)
            db.execute(SETTINGS)
            for site in self._wanted_leases:
                if _try_lock(db, site):
                    self._held_leases.add(site)
        except BaseException:  # close in any case, or the connection stays open
            db.close()
            raise
        self._connection, self._was_connected = db, True
        return db

    def _take_lease(self, db: psycopg.Connection, site: int) -> None:
        backoff = _Backoff()
        while not _try_lock(db, site):
            if not backoff.wait(LEASE_SECONDS):
                row = db.execute(f"SELECT name FROM {SCHEMA}.sites WHERE id = %s", (site,)).fetchone()  # noqa: S608 # the constant
                worker = _lease_holder(db, site)
                raise InUse(
                    f"{row[0] if row else site} in {self.shown_address}: another process is harvesting it ({worker}); "
                    "wait for it, or use another database"
                )
        self._held_leases.add(site)

    def _wait_for_server(self, error: psycopg.Error, backoff: "_Backoff") -> None:
        """Wait after an error if the server is away; raise CannotKeep if it is not, or has been for too long."""
        self._roll_back()
        max_seconds = MAX_SECONDS_AWAY if self._was_connected else MAX_SECONDS_UNREACHED
        if not self._is_away(error) or not backoff.wait(max_seconds):
            raise self._cannot_keep(error) from error
        logger.info("%s is away; trying again", self.shown_address)

    def _is_away(self, error: psycopg.Error) -> bool:
        """Return True if an error means that the server is away for now: it was connected before, or nothing answers at its address."""
        if self._connection is not None or not isinstance(error, psycopg.OperationalError):
            return False
        return self._was_connected or PGconn.ping(make_conninfo(self.address, connect_timeout=5).encode()) != Ping.OK

    def _roll_back(self) -> None:
        """Roll back the current transaction; close the connection if that fails."""
        db = self._connection
        if db is None:
            return
        if not _is_idle(db):
            with suppress(psycopg.Error):
                db.execute("ROLLBACK")
        if not _is_idle(db):
            db.close()
            self._connection = None

    def _cannot_keep(self, error: psycopg.Error) -> CannotKeep:
        """Return PostgreSQL's error with advice for the user."""
        message = " ".join(str(error).split())
        if isinstance(error, psycopg.ProgrammingError) and self._connection is None:
            message = "not the address of a PostgreSQL database"  # libpq's message may quote the password
            advice = "write it as postgresql://USER@HOST/DATABASE"
        elif isinstance(error, psycopg.errors.InsufficientPrivilege):
            advice = f"ask its owner for: GRANT CREATE ON DATABASE … TO …, or GRANT ALL on the schema {SCHEMA} and its tables"
        elif isinstance(error, psycopg.errors.DiskFull):
            advice = "its disk is full; free some space and run the same command again to continue"
        elif isinstance(error, psycopg.OperationalError):
            advice = (
                "check that the server runs and accepts you (the password comes from PGPASSWORD or ~/.pgpass), "
                "then run the same command again to continue"
            )
        else:
            advice = "run the same command again, or use another database"
        return CannotKeep(f"{self.shown_address}: {message}; {advice}")


class _Backoff:
    """Waits between attempts, longer each time."""

    def __init__(self) -> None:
        self._started, self._wait = time.monotonic(), FIRST_WAIT_SECONDS

    def wait(self, max_seconds: float) -> bool:
        """Wait and return True; return False at once if `max_seconds` have passed since the first attempt."""
        if time.monotonic() - self._started > max_seconds:
            return False
        time.sleep(self._wait)
        self._wait = min(2 * self._wait, LONGEST_WAIT_SECONDS)
        return True


_servers: dict[tuple[int, str], Server] = {}  # by process and address without its password
_full_addresses: dict[str, str] = {}  # addresses with their password, by those without
_servers_lock = threading.Lock()


def _join(address: str) -> Server:
    """Return this process's connection to a database, and count one more user of it."""
    shown_address = without_password(address)
    with _servers_lock:
        if address != shown_address:
            _full_addresses[shown_address] = address
        full_address = _full_addresses.get(shown_address, address)
        server = _servers.setdefault((os.getpid(), shown_address), Server(full_address))
        server.users += 1
        return server


def _leave(server: Server) -> None:
    """Count one user less, and close the connection when there is none left."""
    with _servers_lock:
        server.users -= 1
        if not server.users:
            server.close()
            _servers.pop((os.getpid(), server.shown_address), None)


def _is_idle(db: psycopg.Connection) -> bool:
    """Return True if a connection is open and in no transaction."""
    return db.info.transaction_status == TransactionStatus.IDLE


def _try_lock(db: psycopg.Connection, site: int) -> bool:
    return db.execute("SELECT pg_try_advisory_lock(%s, %s)", (LOCK_CLASS, site)).fetchone() == (True,)


def _last_token(db: psycopg.Connection, site: int) -> str:
    """Return the token of the last transaction that wrote a site."""
    row = db.execute("SELECT token FROM sites WHERE id = %s", (site,)).fetchone()
    return row[0] if row else ""


def _lease_holder(db: psycopg.Connection, site: int) -> str:
    """Return the worker that has leased a site, as far as the server shows it; "" if there is none."""
    row = db.execute(
        "SELECT COALESCE(NULLIF(application_name, ''), 'process ' || pid::text) FROM pg_locks LEFT JOIN pg_stat_activity USING (pid) "
        "WHERE locktype = 'advisory' AND classid = %s AND objid = %s AND granted "
        "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
        (LOCK_CLASS, site),
    ).fetchone()
    return str(row[0]) if row else ""


def _create_tables(db: psycopg.Connection, shown_address: str) -> None:
    """Create the tables of a new database, or upgrade those of an older version; other processes wait meanwhile."""
    with db.transaction():
        db.execute("SELECT pg_advisory_xact_lock(%s, 0)", (LOCK_CLASS,))
        if db.execute("SELECT to_regclass(%s)", (f"{SCHEMA}.about_tables",)).fetchone() == (None,):
            db.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}; SET LOCAL search_path = {SCHEMA};{SHARED_TABLES}")
            for table in TABLES:
                db.execute(_definition(table))
            db.execute(f"INSERT INTO about_tables VALUES ({VERSION})")  # noqa: S608 # a number
            return
        (version,) = db.execute(f"SELECT version FROM {SCHEMA}.about_tables").fetchone() or (VERSION,)  # noqa: S608 # the constant
        if version > VERSION:
            raise newer_version(shown_address, version)
        if version < VERSION:
            db.execute(f"SET LOCAL search_path = {SCHEMA}")
            _upgrade(db, version)


def _upgrade(db: psycopg.Connection, version: int) -> None:
    """Add the columns and tables of later versions, and create the views anew."""
    for older_version in range(version, VERSION):
        for table_name, column, kind in ADDED_COLUMNS[older_version]:
            db.execute(f"ALTER TABLE all_{table_name} ADD COLUMN {column} {COLUMN_TYPES[kind]}")
    db.execute("ALTER TABLE sites ADD COLUMN IF NOT EXISTS token TEXT NOT NULL DEFAULT ''")  # since version 3
    for table in TABLES:
        db.execute(f"DROP VIEW IF EXISTS {table.name}")
        db.execute(_definition(table))
    db.execute(f"UPDATE about_tables SET version = {VERSION}")  # noqa: S608 # a number


def _definition(table: TableDefinition) -> str:
    """Return the statements that create a table, its indexes and its view."""
    columns = ", ".join(f"{name} {COLUMN_TYPES[kind]}" for name, kind in table.columns.items())
    order = ", rowid BIGINT GENERATED ALWAYS AS IDENTITY" if table.is_in_order else ""
    key = ", ".join(table.key)
    indexed_columns = [table.index] if table.index else []
    if table.is_in_order:
        indexed_columns.append(("rowid",))
    indexes = "".join(
        f"CREATE INDEX IF NOT EXISTS {table.name}_by_{names[-1]} ON all_{table.name} (site, {', '.join(names)});"
        for names in indexed_columns
    )
    view_columns = ", ".join([*table.columns, "site", *(["rowid"] if table.is_in_order else [])])
    view = f"SELECT {view_columns} FROM all_{table.name} WHERE site = {CURRENT_SITE}"  # noqa: S608 # names of tables and columns
    return (
        f"CREATE TABLE IF NOT EXISTS all_{table.name} "
        f"(site INTEGER NOT NULL DEFAULT {CURRENT_SITE}, {columns}{order}, PRIMARY KEY (site, {key})); {indexes} "
        f"CREATE VIEW {table.name} AS {view}"
    )


# Host leases, one row per host, by the clock of the database. A time more than an hour ahead was written before the clock was set back.
TAKE_LEASE = """
INSERT INTO paces AS pace VALUES (%(host)s, clock_timestamp() + %(gap)s * interval '1 second')
ON CONFLICT (host) DO UPDATE SET next_start = clock_timestamp() + %(gap)s * interval '1 second'
WHERE pace.next_start <= clock_timestamp() OR pace.next_start > clock_timestamp() + interval '1 hour'
RETURNING next_start
"""
SECONDS_TO_WAIT = "SELECT extract(epoch FROM next_start - clock_timestamp())::float8 FROM paces WHERE host = %s"
EXTEND_LEASE = """
INSERT INTO paces AS pace VALUES (%(host)s, clock_timestamp() + %(seconds)s * interval '1 second')
ON CONFLICT (host) DO UPDATE SET next_start = greatest(pace.next_start, clock_timestamp() + %(seconds)s * interval '1 second')
"""


class PostgresLeases:
    """Host leases in the database: all machines that keep their state there share one request rate per host."""

    is_remote = True

    def __init__(self, server: Server) -> None:
        self._server = server

    def take(self, host: str, gap: float) -> float:
        """Lease a host for `gap` seconds and return 0; if another process has leased it, return the seconds to wait.

        The length of the last lease is not stored here: 0 stands for a second.
        """

        def take(db: psycopg.Connection) -> float:
            if db.execute(TAKE_LEASE, {"host": host, "gap": gap or 1.0}).fetchone() is not None:
                return 0.0
            row = db.execute(SECONDS_TO_WAIT, (host,)).fetchone()
            return max(0.001, float(row[0])) if row else 0.001  # free by now: try again at once

        return self._server.execute(take)

    def extend(self, host: str, seconds: float) -> None:
        """Keep all processes from sending to a host for `seconds` from now."""
        self._server.execute(lambda db: db.execute(EXTEND_LEASE, {"host": host, "seconds": seconds}))
