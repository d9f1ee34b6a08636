"""The connection of a process to a PostgreSQL database: leases of sites, and transactions that outlive a restart of the server.

A process has one connection to a database, for all sites that it harvests. A site is leased by a session-level advisory lock of that
connection: a second worker gets an error, and the lease of a dead one ends with its connection. Writes go through the connection that holds
the lease, so a process that has lost it cannot write. Each transaction leaves a token in the row of its site. When the server restarts, the
connection is made again, leases are taken again, and a transaction is done again unless its token is there. The number of a transaction
would not do: after a crash the server may give it to another.
"""

import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar
from uuid import uuid4

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.pq import PGconn, Ping, TransactionStatus

from upwell.errors import CannotKeep, InUse
from upwell.store.places import without_password
from upwell.store.postgres_tables import LEASES, SCHEMA, create_tables

__all__ = ["Server", "holder", "join", "leave"]

T = TypeVar("T")
MAX_SECONDS_AWAY = 300.0  # that a server which was there may be away, before the harvest ends: a restart takes 20
MAX_SECONDS_UNREACHED = 30.0  # that a server may be away when a process connects for the first time
LEASE_SECONDS = 3.0  # that a lease is waited for: the server may still be noticing that its worker was killed
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.1, 2.0  # between tries, doubled each time
# A machine that is gone without a word loses its leases after 20 + 3 · 5 seconds.
KEEPALIVES: dict[str, Any] = {"keepalives": 1, "keepalives_idle": 20, "keepalives_interval": 5, "keepalives_count": 3}
SETTINGS = f"""
SET search_path = {SCHEMA};
SET tcp_keepalives_idle = 20; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3;
SET client_min_messages = warning;
SET enable_seqscan = off;
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'
"""  # Everything is found by an index: a plan made when a table was small must not be kept for a large one. What was committed must outlive
# a crash of the server: the process that it was told goes on.


class Server:
    """The connection of this process to one database, and the leases that it holds."""

    def __init__(self, address: str) -> None:
        self.address, self.shown = address, without_password(address)
        self.users = 0
        self._leases: set[int] = set()  # that this process wants, by site
        self._held: set[int] = set()  # those that the connection at hand has
        self._lock = threading.RLock()
        self._connection: psycopg.Connection | None = None
        self._was_there = False

    def ask(self, action: Callable[[psycopg.Connection], T]) -> T:
        """What an action of one statement does; done again where the server went away, though it may have been done."""
        tries = _Tries()
        with self._lock:
            while True:
                self._check_is_used()
                try:
                    return action(self._connected())
                except psycopg.Error as error:
                    self._look_again(error, tries)

    def run(self, action: Callable[[psycopg.Connection], T], *, site: int, is_only_read: bool = False) -> T:
        """What an action does in one transaction, seen from a site; done again, once, where the server went away in the middle."""
        token = "" if is_only_read else uuid4().hex
        begin = f"BEGIN; SELECT set_config('upwell.site', '{site}', true)"
        if token:
            begin += f"; UPDATE sites SET token = '{token}' WHERE id = {site}"  # noqa: S608 # a number, and hexadecimal digits
        results: list[T] = []  # of the transaction that was about to be committed
        tries = _Tries()
        with self._lock:
            while True:
                self._check_is_used()
                try:
                    db = self._connected()
                    if token and results and _token(db, site) == token:
                        return results[-1]
                    if site in self._leases and site not in self._held:
                        self._take(db, site)
                    db.execute(begin)
                    results.append(action(db))
                    db.execute("COMMIT")
                    return results[-1]
                except psycopg.Error as error:
                    self._look_again(error, tries)
                except BaseException:  # any failure, a cancelled task too, rolls back
                    self._roll_back()
                    raise

    def _check_is_used(self) -> None:
        if not self.users:
            raise CannotKeep(f"{self.shown}: nobody in this process uses it any more")

    def _look_again(self, error: psycopg.Error, tries: "_Tries") -> None:
        """Waits for a server that is away; raises where it is not, or for too long."""
        self._roll_back()
        patience = MAX_SECONDS_AWAY if self._was_there else MAX_SECONDS_UNREACHED
        if not self._may_come_back(error) or not tries.wait(patience):
            raise self._cannot_keep(error) from error

    def _connected(self) -> psycopg.Connection:
        """The connection, made anew if it is gone, with the leases that it had."""
        if self._connection is not None and not self._connection.closed:
            return self._connection
        self._held.clear()
        worker = f"upwell {socket.gethostname()} {os.getpid()}"[:60]
        db = psycopg.connect(self.address, autocommit=True, application_name=worker, connect_timeout=10, **KEEPALIVES)
        try:
            if not self._was_there:
                create_tables(db, self.shown)
            db.execute(SETTINGS)
            for site in self._leases:
                if _try_lock(db, site):
                    self._held.add(site)
        except BaseException:  # or it stays open
            db.close()
            raise
        self._connection, self._was_there = db, True
        return db

    def _may_come_back(self, error: psycopg.Error) -> bool:
        """Whether the server is only away: it was there before, or nobody answers at its address."""
        if self._connection is not None or not isinstance(error, psycopg.OperationalError):
            return False
        return self._was_there or PGconn.ping(make_conninfo(self.address, connect_timeout=5).encode()) != Ping.OK

    def _roll_back(self) -> None:
        """Ends the transaction at hand; a connection that cannot is closed."""
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
        """PostgreSQL's error with what the user can do about it."""
        message = " ".join(str(error).split())
        if isinstance(error, psycopg.ProgrammingError) and self._connection is None:
            message = "not the address of a PostgreSQL database"  # libpq's message has parts of it, a password too
            advice = "write it as postgresql://USER@HOST/DATABASE"
        elif isinstance(error, psycopg.errors.InsufficientPrivilege):
            advice = f"its owner lets you in with: GRANT CREATE ON DATABASE … TO …, or GRANT ALL on the schema {SCHEMA} and what is in it"
        elif isinstance(error, psycopg.errors.DiskFull):
            advice = "its disk is full; make room and run the same command again, it goes on where it was"
        elif isinstance(error, psycopg.OperationalError):
            advice = (
                "when it lets you in (the password comes from PGPASSWORD or ~/.pgpass), run the same command again, "
                "it goes on where it was"
            )
        else:
            advice = "run the same command again, or use another database"
        return CannotKeep(f"{self.shown}: {message}; {advice}")

    # -- leases --------------------------------------------------------------------------------------------------------

    def lease(self, site: int, name: str) -> None:
        """Leases a site, so that no other worker writes it."""
        with self._lock:
            if site in self._leases:
                raise InUse(f"{name} in {self.shown}: another process is harvesting it, this one; wait for it")
            self._leases.add(site)
        try:
            self.run(lambda db: None, site=site, is_only_read=True)
        except BaseException:  # it is not leased
            self._leases.discard(site)
            raise

    def release(self, site: int) -> None:
        """Lets other workers have a site."""
        with self._lock:
            self._leases.discard(site)
            db = self._connection
            if site in self._held and db is not None:
                with suppress(psycopg.Error):  # where the server is away, the lease is over anyway
                    db.execute("SELECT pg_advisory_unlock(%s, %s)", (LEASES, site))
            self._held.discard(site)

    def _take(self, db: psycopg.Connection, site: int) -> None:
        tries = _Tries()
        while not _try_lock(db, site):
            if not tries.wait(LEASE_SECONDS):
                found = db.execute(f"SELECT name FROM {SCHEMA}.sites WHERE id = %s", (site,)).fetchone()  # noqa: S608 # a name above
                worker = holder(db, site)
                raise InUse(
                    f"{found[0] if found else site} in {self.shown}: another process is harvesting it ({worker}); "
                    "wait for it, or use another database"
                )
        self._held.add(site)

    def close(self) -> None:
        """Closes the connection, which ends its leases."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None
            self._held.clear()


class _Tries:
    """Waits between tries, longer each time."""

    def __init__(self) -> None:
        self._began, self._wait = time.monotonic(), FIRST_WAIT_SECONDS

    def wait(self, patience: float) -> bool:
        """Waits, and says whether to try again: not where so many seconds are over."""
        if time.monotonic() - self._began > patience:
            return False
        time.sleep(self._wait)
        self._wait = min(2 * self._wait, LONGEST_WAIT_SECONDS)
        return True


def _is_idle(db: psycopg.Connection) -> bool:
    """Whether a connection is open and in no transaction."""
    return db.info.transaction_status == TransactionStatus.IDLE


def _try_lock(db: psycopg.Connection, site: int) -> bool:
    return db.execute("SELECT pg_try_advisory_lock(%s, %s)", (LEASES, site)).fetchone() == (True,)


def _token(db: psycopg.Connection, site: int) -> str:
    """The token of the transaction that was the last to write a site."""
    found = db.execute("SELECT token FROM sites WHERE id = %s", (site,)).fetchone()
    return found[0] if found else ""


def holder(db: psycopg.Connection, site: int) -> str:
    """The worker that has leased a site, as far as the server may tell; "" where none has."""
    found = db.execute(
        "SELECT COALESCE(NULLIF(application_name, ''), 'process ' || pid::text) FROM pg_locks LEFT JOIN pg_stat_activity USING (pid) "
        "WHERE locktype = 'advisory' AND classid = %s AND objid = %s AND granted "
        "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
        (LEASES, site),
    ).fetchone()
    return str(found[0]) if found else ""


_servers: dict[tuple[int, str], Server] = {}  # by process and address without its password
_with_password: dict[str, str] = {}  # addresses as they were given, by those without the password
_servers_lock = threading.Lock()


def join(address: str) -> Server:
    """The server at an address, for as long as somebody in this process uses it."""
    shown = without_password(address)
    with _servers_lock:
        if address != shown:
            _with_password[shown] = address
        server = _servers.setdefault((os.getpid(), shown), Server(_with_password.get(shown, address)))
        server.users += 1
        return server


def leave(server: Server) -> None:
    with _servers_lock:
        server.users -= 1
        if not server.users:
            server.close()
            _servers.pop((os.getpid(), server.shown), None)
