"""The state of a harvest on disk: what every request brought, committed before it is used, and the records.

    outcomes    what each request brought, in the order of arrival: an answer or an error; a body that the archive holds is
                stored as its place there
    records     the records held, by key; a later sight fills gaps, and a change in a later run moves the old row to `history`
    details     what the own page of a record says, by key
    varying     how often a field said the same, and something else, of a record that another query brought again
    sights      which query brought which record, in which run and on which page

Nothing else is needed. A harvest that was interrupted starts from the beginning, asks the same questions in the same order, gets the
stored outcomes, and sends requests only where these end. So a kill at any moment costs the requests in flight, and no stage of the
harvest needs code for resuming. The records of several pages are written together: after a kill their answers are read again.
"""

import json
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from upwell.errors import CannotKeep
from upwell.model import PAGE, ArchivedBody, Outcome, Record, Request, Response
from upwell.store import state_runs
from upwell.store.database import Connection, Database
from upwell.store.places import InPostgres, open_database
from upwell.store.state_records import (
    FoundRecords,
    add_details,
    add_records,
    encode,
    is_good_answer,
    row_of,
    rows_of,
    varying_fields,
)
from upwell.store.state_tables import delete_trailing_errors, forget_records, rows_that_asked, set_note

if TYPE_CHECKING:
    from upwell.store.postgres_leases import PostgresLeases

__all__ = ["ASKED_BY", "BodyReader", "State"]

ROBOTS = "/robots.txt"  # in the requests for it
ASKED_BY = "asked by"  # the note that says which rows of another harvest each query comes from
RECORDS_AT_ONCE = 500  # that are written, so that a page of the table is written once for several of them
MAX_WAIT_SECONDS = 1.0  # of a record that is to be written: somebody may be looking at the table
NO_ROW = dict.fromkeys(("_key", "_source", "_url", "_query", "_page", "_path", "_seen", "_fetched"))  # in their order
ROWS_AT_ONCE = 1000  # that are read of the table, so that it need not fit into memory


class BodyReader(Protocol):
    """Reads archived bodies: `upwell.store.archive.Archive`."""

    def read(self, place: ArchivedBody) -> bytes | None:
        """The body at a place, or None if it cannot be read."""
        ...


class State:
    """The state of one site's harvest: in a file, in a PostgreSQL database, or in this process's memory where no place is given.

    With an `archive`, bodies that it holds are not stored here, unless other machines may go on with the site. If one cannot be read back
    (a file was removed, or its end was lost when the machine crashed), the state acts as if the answer had never come, and the request is
    sent again. `is_only_read` looks at the state in a database while another process may be writing it.
    """

    def __init__(
        self,
        place: Path | InPostgres | None = None,
        archive: BodyReader | None = None,
        *,
        is_only_read: bool = False,
    ) -> None:
        self.archive = archive
        self.run_number = 1  # 1 for the first harvest, one more for each refresh
        self._unreplayed: dict[
            str, list[int]
        ] = {}  # request → its outcomes in this run that were not replayed yet, by id
        self._last_answer: dict[str, int] = {}  # request → id of the last answer replayed or stored
        self._unwritten: list[FoundRecords] = []
        self._written_at = 0.0  # on the monotonic clock
        self._db = open_database(place, is_only_read=is_only_read)
        try:
            self._is_only_read = is_only_read and self._db.is_remote  # a file is locked all the same
            self._open()
        except BaseException:  # close in any case, or the place stays locked
            self._db.close()
            raise

    def __enter__(self) -> "State":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.write_records()
        except CannotKeep:
            if error is None:  # else that is said, and the next process brings the records again
                raise
        finally:
            self._db.close()

    def _open(self) -> None:
        self.run_number = int(self.note("run", "1"))
        if self._is_only_read:
            return
        self._db.transaction(delete_trailing_errors)
        (last,) = self._db.execute("SELECT COALESCE(MAX(id), 0) FROM outcomes").fetchone()
        self._outcome_ids = count(int(last) + 1)
        for outcome_id, request_key in self._db.execute(
            "SELECT id, request FROM outcomes WHERE run = ? ORDER BY id", (self.run_number,)
        ):
            self._unreplayed.setdefault(request_key, []).append(outcome_id)

    @property
    def is_remote(self) -> bool:
        """Whether asking it may wait for another machine."""
        return self._db.is_remote

    @property
    def host_leases(self) -> "PostgresLeases | None":
        """When each host may be asked next, where many machines keep one rate; None where it is a matter of this one."""
        return self._db.host_leases

    # -- notes about the harvest ---------------------------------------------------------------------------------------

    def note(self, name: str, default: str = "") -> str:
        """The note stored under a name."""
        row = self._db.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
        return str(row[0]) if row else default

    def set_note(self, name: str, value: str) -> None:
        """Stores a note under a name."""
        self._db.transaction(lambda db: set_note(db, name, value))

    def start_next_run(self) -> None:
        """Starts another run, which replays nothing of the runs before; the records and their history stay."""
        self.write_records()
        self.run_number += 1
        self._unreplayed.clear()
        self._last_answer.clear()
        self.set_note("run", str(self.run_number))

    # -- what requests brought -----------------------------------------------------------------------------------------

    def replay(self, request: Request, *, reuse: bool = False, max_age: float = 0.0) -> Outcome | None:
        """The next stored outcome of a request, in the order in which they came; None if it has to be sent.

        With `reuse`, an answer to the same request that this run has already used is given again (at no cost).
        With `max_age`, an outcome older than so many seconds does not count.
        """
        key = _request_key(request)
        unreplayed = self._unreplayed.get(key, [])
        if max_age and unreplayed and self._age(unreplayed[0]) > max_age:
            return None
        # Reuse comes first, as it did when the outcomes were stored: a later outcome belongs to a later request without `reuse`.
        if reuse and key in self._last_answer:
            last = self._load(self._last_answer[key], request)
            if last is not None:
                return Outcome(response=last.response, sent=0, bytes=0)
        while unreplayed:
            outcome_id = unreplayed.pop(0)
            outcome = self._load(outcome_id, request)
            if outcome is not None:
                self._allow_reuse(key, outcome_id, outcome.response)
                return outcome
        return None

    @property
    def is_replayed(self) -> bool:
        """Whether nothing is left to replay; robots.txt is, for some time."""
        return not any(ids for key, ids in self._unreplayed.items() if ROBOTS not in key)

    def last_outcome(self) -> tuple[int, float] | None:
        """Number and time of the last outcome of this run; None where it is an error, which a later process asks again."""
        query = "SELECT id, at, head FROM outcomes WHERE run = ? ORDER BY id DESC LIMIT 1"
        last = self._db.execute(query, (self.run_number,)).fetchone()
        return (int(last[0]), float(last[1])) if last and is_good_answer(last[2]) else None

    def has_outcome(self, number: int, at: float) -> bool:
        """Whether this run has an outcome of that number and time, and what lies in the archive is there."""
        query = (
            "SELECT MAX(id), MAX(at) FROM outcomes WHERE run = ? AND id <= ? AND head IS NOT NULL GROUP BY archive_file"
        )
        last = self._db.execute(query, (self.run_number, number)).fetchall()
        is_there = all(self._load(int(outcome_id), Request(url="")) is not None for outcome_id, _ in last)
        return is_there and any(int(outcome_id) == number and float(stored) == at for outcome_id, stored in last)

    def skip_replay(self, number: int) -> None:
        """Acts as if all outcomes up to this one had been replayed."""
        for key, ids in self._unreplayed.items():
            if ROBOTS not in key:
                ids[:] = [outcome_id for outcome_id in ids if outcome_id > number]
        for outcome_id, key, head in self._db.execute(
            "SELECT id, request, head FROM outcomes WHERE run = ? AND id <= ? ORDER BY id", (self.run_number, number)
        ):
            if is_good_answer(head):
                self._last_answer[key] = outcome_id

    def store(self, request: Request, outcome: Outcome) -> None:
        """Commits what a request brought; an archived body must be with the operating system already."""
        response, head, packed_body, place = outcome.response, None, None, None
        if response is not None:
            fields = {
                "url": response.url,
                "status": response.status,
                "headers": dict(response.headers),
                "blocked": response.blocked,
            }
            head = json.dumps(fields)  # ASCII: a header that is not UTF-8 has lone surrogates, which SQLite refuses
            place = response.archived if self.archive is not None else None
            # the archive lies on this machine, and another may go on with the site
            packed_body = zlib.compress(response.body, 1) if place is None or self.is_remote else None
        key = _request_key(request)
        row: dict[str, Any] = {
            "id": next(self._outcome_ids),
            "run": self.run_number,
            "request": key,
            "head": head,
            "body": packed_body,
            "error": outcome.error,
            "sent": outcome.sent,
            "bytes": outcome.bytes,
            "at": time.time(),
            "archive_file": place and place.file,
            "archive_offset": place and place.offset,
            "archive_digest": place and place.digest,
        }
        insert = f"INSERT INTO outcomes ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"  # noqa: S608 # the names above
        self._db.transaction(lambda db: db.execute(insert, tuple(row.values())))
        self._allow_reuse(key, row["id"], response)

    def _allow_reuse(self, key: str, outcome_id: int, response: Response | None) -> None:
        """Lets `replay` reuse an outcome, unless it is an error page or a refusal."""
        if response is not None and response.status < 400 and not response.blocked:
            self._last_answer[key] = outcome_id

    def _age(self, outcome_id: int) -> float:
        (stored_at,) = self._db.execute("SELECT at FROM outcomes WHERE id = ?", (outcome_id,)).fetchone()
        return time.time() - float(stored_at)

    def _load(self, outcome_id: int, request: Request) -> Outcome | None:
        """A stored outcome; None if its body is in the archive and cannot be read there."""
        head, packed_body, error, sent, size, at, file, offset, digest = self._db.execute(
            "SELECT head, body, error, sent, bytes, at, archive_file, archive_offset, archive_digest FROM outcomes WHERE id = ?",
            (outcome_id,),
        ).fetchone()
        if head is None:
            return Outcome(error=error, sent=sent, bytes=size)
        place = ArchivedBody(file=file, offset=offset, digest=digest) if file is not None else None
        try:
            body = self._packed_or_archived(packed_body, place)
            if body is None:
                return None
            response = Response(request=request, **json.loads(head), body=body, archived=place, came_at=float(at))
        except (ValueError, TypeError, zlib.error):  # a damaged row: it is asked again
            return None
        return Outcome(response=response, sent=sent, bytes=size)

    def _packed_or_archived(self, packed: bytes | None, place: ArchivedBody | None) -> bytes | None:
        if packed is not None:
            return zlib.decompress(packed)
        if place is None:
            return None
        return self.archive.read(place) if self.archive is not None else None

    # -- records -------------------------------------------------------------------------------------------------------

    def add(self, records: list[Record], origin: Mapping[str, object], asked: str = "") -> list[bool]:
        """Stores the records of one page of an answer in one transaction; says of each whether its key is new.

        `origin` has `_source`, `_query` and `_page`; `asked` is what a refresh asks again, where that is not the query itself.
        Another sight in the same run fills gaps; one in a later run replaces what changed.
        """
        page = FoundRecords(records, origin, asked or str(origin["_query"]))
        return self._written.transaction(lambda db: add_records(db, self.run_number, [page]))

    def add_later(self, records: Sequence[Record], origin: Mapping[str, object], asked: str = "") -> None:
        """Stores the records of one page as `add` does, but together with those of other pages that come within a second.

        A kill before that costs no more than reading the answers again: they are stored, and their replay brings the records.
        """
        self._unwritten.append(FoundRecords(records, origin, asked or str(origin["_query"])))
        is_due = time.monotonic() - self._written_at >= MAX_WAIT_SECONDS
        if is_due or sum(len(page.records) for page in self._unwritten) >= RECORDS_AT_ONCE:
            self.write_records()

    def write_records(self) -> None:
        """Commits the records that came."""
        if self._unwritten:
            self._db.transaction(lambda db: add_records(db, self.run_number, self._unwritten))
            self._unwritten, self._written_at = [], time.monotonic()

    @property
    def _written(self) -> Database:
        """The database with all records that came."""
        self.write_records()
        return self._db

    def add_details(self, key: str, fields: Mapping[str, object]) -> None:
        """Stores what the own page of a record says; what an earlier run stored otherwise goes to the history."""
        self._written.transaction(lambda db: add_details(db, self.run_number, key, fields))

    def rows(self) -> Iterator[dict[str, Any]]:
        """The records held, in the order in which they came, with `_seen`; what their own pages say has names that begin with `PAGE`.

        Where queries come from rows of another harvest, `_asked_by` has the keys of those rows.
        """
        asked_by = rows_that_asked(self._written, row_of(self.note(ASKED_BY)) or {})
        empty = {**NO_ROW, "_asked_by": None} if asked_by else NO_ROW
        for row, seen, details in self._stored_rows():
            made = {**empty, **row, "_seen": seen}
            if asked_by:
                made["_asked_by"] = asked_by.get(str(row.get("_key"))) or None
            if details:
                made |= {PAGE + name: value for name, value in (row_of(details) or {}).items()}
            yield made

    def _stored_rows(self) -> Iterator[tuple[dict[str, Any], int, str | None]]:
        """The rows of the records, how often each was seen, and what its own page says, in the order in which they came."""
        last = -1
        while True:
            found = self._written.execute(
                "SELECT rowid, key, row, seen FROM records WHERE rowid > ? ORDER BY rowid LIMIT ?", (last, ROWS_AT_ONCE)
            ).fetchall()
            keys = [key for _, key, _, _ in found]
            details = dict(self._db.of_keys("SELECT key, row FROM details WHERE key = ?", keys))
            for row, (last, key, _, seen) in zip(rows_of([text for _, _, text, _ in found]), found, strict=True):  # noqa: B007 # where the next rows begin
                if row is not None:
                    yield row, seen, details.get(key)
            if len(found) < ROWS_AT_ONCE:
                return

    def varying(self) -> dict[str, set[str]]:
        """By source: the fields that say something else of a record when another query brings it."""
        return varying_fields(self._written)

    def requests_sent(self) -> int:
        """How many requests were sent in this run; that for robots.txt is counted with the request that needed it."""
        (sent,) = self._db.execute(
            "SELECT COALESCE(SUM(sent), 0) FROM outcomes WHERE run = ? AND request NOT LIKE '%/robots.txt%'",
            (self.run_number,),
        ).fetchone()
        return int(sent)

    def __len__(self) -> int:
        return int(self._written.execute("SELECT COUNT(*) FROM records").fetchone()[0])

    def keys_by_query(self, run_number: int) -> dict[str, set[str]]:
        """The keys of the records that each query brought in a run."""
        return state_runs.keys_by_query(self._written, run_number)

    def last_sights(self) -> dict[int, dict[str, set[str]]]:
        """The runs before this one, the oldest first: which query brought which records that came in no later run since."""
        return state_runs.last_sights(self._written, self.run_number)

    def keys_by_change(self) -> dict[str, list[str]]:
        """The keys of all records, by how this run compares with those before: new, changed, unchanged or unseen."""
        return state_runs.keys_by_change(self._written, self.run_number)

    def changes(self) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
        """What this run changed: `new`, `changed` or `gone`, the row before and the row now ({} where there is none)."""
        return state_runs.changes(self._written, self.run_number)

    def forget_records(self) -> None:
        """Forgets all records; what requests brought stays."""
        self._written.transaction(forget_records)

    def move_to_history(self, keys: list[str]) -> None:
        """Takes records that the source no longer has out of the table."""

        def move(db: Connection) -> None:
            for key in keys:
                db.execute(
                    "INSERT INTO history SELECT key, ?, row FROM records WHERE key = ? "
                    "ON CONFLICT (key, run) DO UPDATE SET row = excluded.row",
                    (self.run_number, key),
                )
                db.execute("DELETE FROM records WHERE key = ?", (key,))

        self._written.transaction(move)


def _request_key(request: Request) -> str:
    """Two requests are the same if their keys are: all that is sent counts."""
    headers = [request.headers] if request.headers else []  # left out as before there were any
    fields = [request.body.decode("latin-1"), request.content_type, *headers, request.method, request.url]
    return encode(fields)
