"""Read-only view of a harvest's state, which neither changes it nor waits for it; used by the web pages and `status`.

While a process harvests, its SQLite file is locked and `StateLocked` is raised; `events.jsonl` then tells the progress. A state in
PostgreSQL can be read at any time.
"""

import base64
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from upwell.errors import CannotKeep
from upwell.store.database import VERSION, Reader, read_note, report_damage
from upwell.store.location import PostgresLocation, has_state, open_database, state_location
from upwell.store.safe_files import disk_problem
from upwell.store.sqlite import connect_safely, is_locked, refuse_foreign_schema
from upwell.store.state import (
    ANSWER_COLUMNS,
    UNREADABLE_NOTE,
    BodyReader,
    count_requests,
    decode_answer,
    decode_decision,
    decode_row,
)
from upwell.types import ArchivedBody, Decision, Request, Response

__all__ = ["ReadOnlyState", "StateLocked", "StoredRequest", "is_running", "open_read_only"]

DECISIONS_SINCE = 4  # version of the tables that stores decisions


class StateLocked(Exception):
    """The state file is locked by a process that harvests into the folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRequest:
    """A request as the state stores it: why it was sent, and its outcome without the body."""

    number: int
    run: int
    method: str
    url: str
    status: int  # 0: no answer
    error: str  # why there is no answer
    sent: int  # requests, including redirects and retries
    bytes: int
    at: float  # seconds since 1970
    decision: Decision | None  # None: of no candidate, or stored by a version that recorded none
    is_of_older_version: bool
    records: int | None  # of the answer; None: it was not read as an answer
    new: int | None  # of these


def _status(head: str | None) -> int:
    try:
        return int(json.loads(head or "{}").get("status", 0))
    except (ValueError, AttributeError, RecursionError):
        return 0


@report_damage(
    "note", "records", "requests", "stored_requests", "last_number", "answer", "unreadable_urls", "row", "details", "sights", "history", "archived",
    "archived_at", "pages_with_records", "harvest",
)  # fmt: skip
class ReadOnlyState:
    """State of one harvest, read only."""

    def __init__(self, db: Reader, *, is_leased: bool = False) -> None:
        self._db = db
        self.is_leased = is_leased  # a worker on some machine is writing it

    def note(self, name: str, default: str = "") -> str:
        """Return the note stored under a name."""
        return read_note(self._db, name, default)

    def harvest(self) -> list[str]:
        """Return what was harvested: host, topic and further parts; empty if nothing is known."""
        return [str(part) for part in json.loads(self.note("harvest", "[]"))]

    def records(self) -> int:
        """Return the number of records."""
        return int(self._db.execute("SELECT COUNT(*) FROM records").fetchone()[0])

    def requests(self) -> int:
        """Return the number of requests sent in this run."""
        return count_requests(self._db, int(self.note("run", "1")))

    def stored_requests(self, number: int | None = None) -> Iterator[StoredRequest]:
        """Yield the requests of all runs in order of their answers, or the one with a number."""
        # A file of an older version cannot be upgraded while it is read.
        is_old = int(self.note("version", str(VERSION))) < DECISIONS_SINCE
        columns = "NULL, NULL, NULL" if is_old else "decision, records_read, new_records"
        condition, values = ("", ()) if number is None else (" WHERE id = ?", (number,))
        select = (
            f"SELECT id, run, request, head, error, sent, bytes, at, {columns} FROM outcomes{condition} ORDER BY id"  # noqa: S608 # the texts above
        )
        for number, run, request, head, error, sent, size, at, decision, records, new in self._db.execute(
            select, values
        ):
            *_, method, url = json.loads(request)
            yield StoredRequest(
                number=int(number),
                run=int(run),
                method=str(method),
                url=str(url),
                status=_status(head),
                error=str(error or ""),
                sent=int(sent),
                bytes=int(size),
                at=float(at),
                decision=decode_decision(decision),
                is_of_older_version=decision is None,
                records=records,
                new=new,
            )

    def last_number(self) -> int:
        """Return the number of the last request; 0 if there is none."""
        return int(self._db.execute("SELECT COALESCE(MAX(id), 0) FROM outcomes").fetchone()[0])

    def answer(self, number: int, archive: BodyReader) -> Response | None:
        """Return the answer to a request; None if there is none, or its body cannot be read."""
        select = f"SELECT request, {ANSWER_COLUMNS} FROM outcomes WHERE id = ?"  # noqa: S608 # the constant
        stored = self._db.execute(select, (number,)).fetchone()
        if stored is None or stored[2] is None or stored[0] in self._unreadable():
            return None
        *_, method, url = json.loads(stored[0])
        return decode_answer(stored[1:], Request(url=url, method=method), archive)

    def _unreadable(self) -> dict[str, str]:
        """Return the keys of requests whose answers ended the process that read them, each with the reason."""
        keys: dict[str, str] = json.loads(self.note(UNREADABLE_NOTE, "{}"))
        return keys

    def unreadable_urls(self) -> set[str]:
        """Return the URLs whose answers ended the process that read them; without those of POST requests."""
        requests = map(json.loads, self._unreadable())
        return {str(url) for *_, method, url in requests if method == "GET"}

    def row(self, key: str) -> dict[str, Any] | None:
        """Return the fields of a record as its answers showed them."""
        return self._decoded("SELECT row FROM records WHERE key = ?", key)

    def details(self, key: str) -> dict[str, Any] | None:
        """Return the fields of a record's own page."""
        return self._decoded("SELECT row FROM details WHERE key = ?", key)

    def sights(self, key: str, max_queries: int = 20) -> list[str]:
        """Return the queries that returned a record, latest run first."""
        rows = self._db.execute(
            "SELECT query FROM sights WHERE key = ? GROUP BY query ORDER BY MAX(run) DESC, query LIMIT ?",
            (key, max_queries),
        )
        return [str(query) for (query,) in rows]

    def history(self, key: str) -> list[tuple[int, dict[str, Any]]]:
        """Return earlier rows of a record, newest first, each with the run that replaced it."""
        rows = self._db.execute("SELECT run, row FROM history WHERE key = ? ORDER BY run DESC", (key,))
        return [(int(run), row) for run, text in rows if (row := decode_row(text)) is not None]

    def archived(self, page: str) -> ArchivedBody | None:
        """Return the location in the archive of a page, given by the hexadecimal SHA-1 of its body as in `_page`."""
        try:
            digest = f"sha1:{base64.b32encode(bytes.fromhex(page)).decode()}"
        except ValueError:
            return None
        row = self._db.execute(
            "SELECT archive_file, archive_offset FROM outcomes WHERE archive_digest = ? LIMIT 1", (digest,)
        ).fetchone()
        return ArchivedBody(file=str(row[0]), offset=int(row[1]), digest=digest) if row and row[0] else None

    def archived_at(self, url: str) -> ArchivedBody | None:
        """Return the location in the archive of the last answer from a URL."""
        prefix = f'{{"url": {json.dumps(url)}, '  # of the head, as `State.store` writes it
        row = self._db.execute(
            "SELECT archive_file, archive_offset, archive_digest FROM outcomes "
            "WHERE substr(head, 1, ?) = ? AND archive_file IS NOT NULL ORDER BY id DESC LIMIT 1",
            (len(prefix), prefix),
        ).fetchone()
        return ArchivedBody(file=str(row[0]), offset=int(row[1]), digest=str(row[2])) if row else None

    def pages_with_records(self, max_pages: int = 30) -> list[str]:
        """Return digests of pages with records, those with the most records first."""
        rows = self._db.execute(
            "SELECT page FROM sights GROUP BY page ORDER BY COUNT(*) DESC, page LIMIT ?", (max_pages,)
        )
        return [str(page) for (page,) in rows]

    def _decoded(self, query: str, key: str) -> dict[str, Any] | None:
        row = self._db.execute(query, (key,)).fetchone()
        return decode_row(row[0]) if row else None


@contextmanager
def open_read_only(folder: Path) -> Iterator[ReadOnlyState]:
    """Open the state of a folder for reading; raise StateLocked while a harvest locks its file."""
    location = state_location(folder)
    if isinstance(location, PostgresLocation):
        with closing(open_database(location, read_only=True)) as site:
            yield ReadOnlyState(site, is_leased=site.is_leased)
        return
    try:
        with closing(connect_safely(location, read_only=True, timeout=0.2)) as db:
            refuse_foreign_schema(db, location)
            yield ReadOnlyState(db, is_leased=is_locked(location))
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            raise StateLocked(f"{folder} is locked by a running harvest") from error
        if problem := disk_problem(error):
            raise CannotKeep(
                f"{location}: {problem}; give yourself permission to read and write {folder}, or use a copy of it"
            ) from error
        raise CannotKeep(f"{location}: {error}; the file is damaged, move it away to start again") from error
    except sqlite3.Error as error:
        raise CannotKeep(f"{location}: {error}; the file is damaged, move it away to start again") from error


def is_running(folder: Path) -> bool:
    """Return True if a process is harvesting into a folder."""
    if not has_state(folder):
        return False
    try:
        with open_read_only(folder) as state:
            return state.is_leased
    except StateLocked:
        return True
