"""State of a harvest: the outcome of every request, committed before it is used, and the records.

    outcomes    outcome of each request in order of arrival, an answer or an error; a body that the archive holds is
                stored as its location there. With it, why the request was sent, and how many records its answer had
    records     records by key; a later sighting fills gaps, and a change in a later run moves the old row to `history`
    details     fields of a record's own page, by key
    varying     how often a field had the same value, and another one, when another query returned the record again
    sights      which query returned which record, in which run and on which page

An interrupted harvest starts from the beginning, makes the same decisions in the same order, gets the stored outcomes, and sends requests
only after these end. So a kill at any moment costs the requests in flight, and no stage of the harvest needs code for resuming. The records
of several pages are written in one transaction: after a kill their answers are read again.
"""

import json
import logging
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from upwell.errors import CannotKeep
from upwell.store.database import (
    Connection,
    Reader,
    StateDatabase,
    read_note,
    report_damage,
    reporting_damage,
    set_note,
)
from upwell.store.location import PostgresLocation, open_database
from upwell.types import PAGE_PREFIX, ArchivedBody, Decision, Outcome, Record, Request, Response, WeighedCandidate

if TYPE_CHECKING:
    from upwell.net.pace import HostLeases

__all__ = [
    "ANSWER_COLUMNS",
    "ASKED_BY_NOTE",
    "CORRECTED_NOTE",
    "UNREADABLE_NOTE",
    "BodyReader",
    "State",
    "count_requests",
    "decode_answer",
    "decode_decision",
    "decode_row",
]

logger = logging.getLogger("upwell.store")

ASKED_BY_NOTE = "asked by"  # note with the rows of another harvest that each query comes from, by query
CORRECTED_NOTE = "corrected"  # note with the source models that a person has corrected
UNREADABLE_NOTE = "unreadable"  # note with the requests whose answers ended the process that read them, and why
ROBOTS = "/robots.txt"  # part of the keys of requests for robots.txt
MAX_BATCH_RECORDS = 500  # records written in one transaction, so that a page of the table is written once for several
MAX_BATCH_SECONDS = 1.0  # how long a record waits to be written; the web page may be showing the table
ROWS_PER_SELECT = 1000  # records read at once, so that the table need not fit into memory
OUTCOMES_PER_SELECT = 50  # outcomes read at once from the end while looking for the last answer
# A field depends on the query if its value differed in this share of sightings by another query, and at least this often.
VARYING_SHARE = 0.2
MIN_VARIED = 3
MAX_BODY_BYTES = 100_000_000  # of a stored body after decompression; five times the default of `Manners.max_bytes`
EMPTY_ROW = dict.fromkeys(("_key", "_source", "_url", "_query", "_page", "_path", "_seen", "_fetched"))  # in this order
ANSWER_COLUMNS = (
    "id, head, body, at, archive_file, archive_offset, archive_digest"  # of an outcome, for `decode_answer`
)
# Sets the yield of an answer, unless an earlier use of the answer had more new records.
SET_YIELD = (
    "UPDATE outcomes SET records_read = ?, new_records = ? WHERE id = ? AND (new_records IS NULL OR new_records <= ?)"
)
encode_row = json.JSONEncoder(ensure_ascii=False).encode  # `json.dumps` would create an encoder for each row


class BodyReader(Protocol):
    """Reads archived bodies, as `upwell.store.archive.Archive` does."""

    def read(self, location: ArchivedBody, /) -> bytes | None:
        """Return the body at a location, or None if it cannot be read."""
        ...


@report_damage(
    "_open", "note", "replay", "last_outcome", "has_outcome", "skip_replay", "requests_sent",
    "rows", "record_pages", "varying", "forget_records", "keys_by_query", "last_sights", "keys_by_change", "changes", "move_to_history", "mark_unreadable",
)  # fmt: skip
class State:
    """State of one site's harvest, in a file, a PostgreSQL database, or in memory if no location is given.

    With an `archive`, bodies that it holds are not stored here, unless other machines may continue with the site. If such a body cannot
    be read back (a file was removed, or its end was lost in a crash of the machine), the state acts as if the answer had never arrived,
    and the request is sent again. `read_only` reads a state in a database while another process may be writing it.
    """

    def __init__(
        self,
        location: Path | PostgresLocation | None = None,
        archive: BodyReader | None = None,
        *,
        read_only: bool = False,
    ) -> None:
        self.archive = archive
        self.run_number = 1  # 1 for the first harvest, one more for each refresh
        self._unreplayed: dict[str, list[int]] = {}  # request key → ids of its outcomes in this run not replayed yet
        self._last_answer: dict[str, int] = {}  # request key → id of the last answer replayed or stored
        self._unreadable: dict[str, str] = {}  # request key → why its answer is not read
        self._unwritten: list[_PageRecords] = []
        self._unwritten_yields: list[tuple[int, int, int, int]] = []  # values of `SET_YIELD`
        self._written_at = 0.0  # monotonic clock
        self._db = open_database(location, read_only=read_only)
        try:
            self._read_only = read_only and (self._db.is_remote or not self._db.is_leased)
            self._open()
        except BaseException:  # close in any case, or the state stays locked
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
            if error is None:  # otherwise the first error is reported; the next process replays the records
                raise
        finally:
            self._db.close()

    def _open(self) -> None:
        self.run_number = int(self.note("run", "1"))
        self._unreadable = json.loads(self.note(UNREADABLE_NOTE, "{}"))
        if self._read_only:
            return
        self._db.transaction(_delete_trailing_errors)
        (last,) = self._db.execute("SELECT COALESCE(MAX(id), 0) FROM outcomes").fetchone()
        self._outcome_ids = count(int(last) + 1)
        for outcome_id, request_key in self._db.execute(
            "SELECT id, request FROM outcomes WHERE run = ? ORDER BY id", (self.run_number,)
        ):
            self._unreplayed.setdefault(str(request_key), []).append(outcome_id)
        if self._unreplayed:
            logger.info(
                "%d requests of this run are stored; they are not sent again", sum(map(len, self._unreplayed.values()))
            )

    @property
    def is_remote(self) -> bool:
        """Return True if a call may wait for another machine."""
        return self._db.is_remote

    @property
    def host_leases(self) -> "HostLeases | None":
        """Return the host leases shared by all machines that use this database; None if each machine has its own."""
        return self._db.host_leases

    # Notes and runs

    def note(self, name: str, default: str = "") -> str:
        """Return the note stored under a name."""
        return read_note(self._db, name, default)

    def set_note(self, name: str, value: str) -> None:
        """Store a note under a name."""
        self._db.transaction(lambda db: set_note(db, name, value))

    def start_next_run(self) -> None:
        """Start another run, which replays nothing of earlier runs; the records and their history stay."""
        self.write_records()
        self.run_number += 1
        self._unreplayed.clear()
        self._last_answer.clear()
        self.set_note("run", str(self.run_number))

    # Outcomes of requests

    def replay(self, request: Request, *, reuse: bool = False, max_age: float = 0.0) -> Outcome | None:
        """Return the next stored outcome of a request, in order of arrival; None if the request has to be sent.

        With `reuse`, return an answer to the same request again that this run has already used, at no cost.
        With `max_age`, ignore an outcome older than that many seconds.
        """
        key = _request_key(request)
        unreplayed = self._unreplayed.get(key, [])
        if key in self._unreadable:
            number = unreplayed.pop(0) if unreplayed else 0
            sent, size = (int(self._row(name, number) or 0) for name in ("sent", "bytes"))
            return Outcome(error=self._unreadable[key], sent=sent, bytes=size, is_unreadable=True)
        if max_age and unreplayed and self._age(unreplayed[0]) > max_age:
            return None
        # Reuse first, as when the outcomes were stored: a later outcome belongs to a later request without `reuse`.
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
        """Return True if no outcome is left to replay, except for robots.txt, which is replayed while it is fresh."""
        return not any(ids for key, ids in self._unreplayed.items() if ROBOTS not in key)

    def last_outcome(self) -> tuple[int, float] | None:
        """Return number and time of this run's last outcome; None if it is an error, which a later process requests again."""
        query = "SELECT id, at, head FROM outcomes WHERE run = ? ORDER BY id DESC LIMIT 1"
        last = self._db.execute(query, (self.run_number,)).fetchone()
        return (int(last[0]), float(last[1])) if last and _is_good_answer(last[2]) else None

    def has_outcome(self, number: int, at: float) -> bool:
        """Return True if this run has an outcome with that number and time, and the archive files up to it can be read."""
        query = (
            "SELECT MAX(id), MAX(at) FROM outcomes WHERE run = ? AND id <= ? AND head IS NOT NULL GROUP BY archive_file"
        )
        last_of_files = self._db.execute(query, (self.run_number, number)).fetchall()
        is_readable = all(self._load(int(outcome_id), Request(url="")) is not None for outcome_id, _ in last_of_files)
        return is_readable and any(
            int(outcome_id) == number and float(stored_at) == at for outcome_id, stored_at in last_of_files
        )

    def skip_replay(self, number: int) -> None:
        """Act as if all outcomes up to this number had been replayed."""
        for key, ids in self._unreplayed.items():
            if ROBOTS not in key:
                ids[:] = [outcome_id for outcome_id in ids if outcome_id > number]
        for outcome_id, key, head in self._db.execute(
            "SELECT id, request, head FROM outcomes WHERE run = ? AND id <= ? ORDER BY id", (self.run_number, number)
        ):
            if _is_good_answer(head):
                self._last_answer[key] = outcome_id

    def store(self, request: Request, outcome: Outcome) -> int:
        """Commit the outcome of a request with the decision to send it; return its number.

        An archived body must have been handed to the operating system before.
        """
        response, head, packed_body, archived = outcome.response, None, None, None
        if response is not None:
            fields = {
                "url": response.url,
                "status": response.status,
                "headers": dict(response.headers),
                "blocked": response.blocked,
            }
            head = json.dumps(fields)  # ASCII: a header that is not UTF-8 has lone surrogates, which SQLite rejects
            archived = response.archived if self.archive is not None else None
            # The archive lies on this machine, but another one may continue with a site in a shared database.
            packed_body = zlib.compress(response.body, 1) if archived is None or self.is_remote else None
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
            "archive_file": archived and archived.file,
            "archive_offset": archived and archived.offset,
            "archive_digest": archived and archived.digest,
            "decision": _encode_decision(request.decision),
        }
        insert = f"INSERT INTO outcomes ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"  # noqa: S608 # the names above
        self._db.transaction(lambda db: db.execute(insert, tuple(row.values())))
        self._allow_reuse(key, row["id"], response)
        return int(row["id"])

    def mark_unreadable(self, number: int, reason: str) -> None:
        """Never return the answer with this number again, nor another one to its request, in this run and later ones."""
        key = self._row("request", number)
        if key is not None:
            self._unreadable[str(key)] = reason
            self.set_note(UNREADABLE_NOTE, json.dumps(self._unreadable))

    def note_yield(self, number: int, records: int, new: int) -> None:
        """Store how many records the answer to a request had, and how many of them were new; written with the next records.

        An answer that is used again has no new records then, so the highest number counts. A replay stores the same numbers again.
        """
        if number:
            self._unwritten_yields.append((records, new, number, new))

    def requests_sent(self) -> int:
        """Return the number of requests sent in this run."""
        return count_requests(self._db, self.run_number)

    def _allow_reuse(self, key: str, outcome_id: int, response: Response | None) -> None:
        """Let `replay` reuse an outcome, unless it is an error page or a refusal."""
        if response is not None and response.status < 400 and not response.blocked:
            self._last_answer[key] = outcome_id

    def _age(self, outcome_id: int) -> float:
        return time.time() - float(self._row("at", outcome_id))

    def _row(self, column: str, outcome_id: int) -> Any:
        """Return one value of an outcome; None if there is no such outcome."""
        row = self._db.execute(f"SELECT {column} FROM outcomes WHERE id = ?", (outcome_id,)).fetchone()  # noqa: S608 # one of ours
        return row[0] if row else None

    def _load(self, outcome_id: int, request: Request) -> Outcome | None:
        """Load a stored outcome; None if it is damaged, or its body is in the archive and cannot be read there."""
        error, sent, size, *stored = self._db.execute(
            f"SELECT error, sent, bytes, {ANSWER_COLUMNS} FROM outcomes WHERE id = ?",  # noqa: S608 # the constant
            (outcome_id,),
        ).fetchone()
        if stored[1] is None:
            return Outcome(error=str(error or ""), sent=int(sent), bytes=int(size))
        response = decode_answer(stored, request, self.archive)
        return None if response is None else Outcome(response=response, sent=int(sent), bytes=int(size))

    # Records

    def add(self, records: Sequence[Record], origin: Mapping[str, object], asked: str = "") -> list[bool]:
        """Store the records of one page of an answer in one transaction; return for each whether its key is new.

        `origin` has `_source`, `_query` and `_page`; `asked` is the candidate that a refresh repeats, if that is not the query itself.
        Another sighting in the same run fills gaps; one in a later run replaces changed values.
        """
        page = _PageRecords(records, origin, asked or str(origin["_query"]))
        return self._written.transaction(lambda db: _add_records(db, self.run_number, [page]))

    def add_later(self, records: Sequence[Record], origin: Mapping[str, object], asked: str = "") -> None:
        """Store the records of one page like `add`, but in one transaction with other pages that arrive within a second.

        A kill before that costs no more than reading the answers again: these are stored, and replaying them yields the records.
        """
        self._unwritten.append(_PageRecords(records, origin, asked or str(origin["_query"])))
        is_due = time.monotonic() - self._written_at >= MAX_BATCH_SECONDS
        if is_due or sum(len(page.records) for page in self._unwritten) >= MAX_BATCH_RECORDS:
            self.write_records()

    def write_records(self) -> None:
        """Commit the records and yields that `add_later` and `note_yield` hold back."""
        if not (self._unwritten or self._unwritten_yields):
            return

        def write(db: Connection) -> None:
            if self._unwritten:
                _add_records(db, self.run_number, self._unwritten)
            db.executemany(SET_YIELD, self._unwritten_yields)

        self._db.transaction(write)
        logger.debug("wrote the records of %d pages", len(self._unwritten))
        self._unwritten, self._unwritten_yields, self._written_at = [], [], time.monotonic()

    @property
    def _written(self) -> StateDatabase:
        """Return the database after all records were written."""
        self.write_records()
        return self._db

    def add_details(self, key: str, fields: Mapping[str, object]) -> None:
        """Store the fields of a record's own page; if an earlier run stored others, the record's row goes to the history."""
        text = encode_row(dict(fields))

        def add(db: Connection) -> None:
            before = db.execute("SELECT row, run FROM details WHERE key = ?", (key,)).fetchone()
            if before and isinstance(before[1], int) and before[1] < self.run_number and before[0] != text:
                db.execute(
                    "INSERT INTO history SELECT key, ?, row FROM records WHERE key = ? ON CONFLICT DO NOTHING",
                    (self.run_number, key),
                )
            db.execute(
                "INSERT INTO details VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET row = excluded.row, run = excluded.run",
                (key, text, self.run_number),
            )

        self._written.transaction(add)

    def __len__(self) -> int:
        return int(self._written.execute("SELECT COUNT(*) FROM records").fetchone()[0])

    def record_pages(self) -> int:
        """Return the number of records whose own page was read."""
        return int(self._written.execute("SELECT COUNT(*) FROM details").fetchone()[0])

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the records in order of arrival, with `_seen`; fields of their own pages have names that begin with `PAGE_PREFIX`.

        If queries come from rows of another harvest, `_asked_by` has the keys of those rows.
        """
        asked_by = self._asking_rows()
        empty = {**EMPTY_ROW, "_asked_by": None} if asked_by else EMPTY_ROW
        for stored, seen, details in self._stored_rows():
            row = {**empty, **stored, "_seen": seen}
            if asked_by:
                row["_asked_by"] = asked_by.get(str(stored.get("_key"))) or None
            if details:
                row |= {PAGE_PREFIX + name: value for name, value in (decode_row(details) or {}).items()}
            yield row

    def _asking_rows(self) -> dict[str, list[str]]:
        """Return for each record the keys of the rows of another harvest whose values were the queries that returned it."""
        rows_by_query = decode_row(self.note(ASKED_BY_NOTE)) or {}
        if not rows_by_query:
            return {}
        asking: dict[str, dict[str, None]] = {}
        for key, query in self._written.execute("SELECT DISTINCT key, query FROM sights ORDER BY key, query"):
            for row_key in rows_by_query.get(query, ()):
                asking.setdefault(key, {})[row_key] = None
        return {key: list(row_keys) for key, row_keys in asking.items()}

    def _stored_rows(self) -> Iterator[tuple[dict[str, Any], int, str | None]]:
        """Yield row, number of sightings and encoded details of each record, in order of arrival."""
        last = -1
        while True:
            batch = self._written.execute(
                "SELECT rowid, key, row, seen FROM records WHERE rowid > ? ORDER BY rowid LIMIT ?",
                (last, ROWS_PER_SELECT),
            ).fetchall()
            keys = [key for _, key, _, _ in batch]
            details = dict(self._db.select_by_keys("SELECT key, row FROM details WHERE key = ?", keys))
            for row, (last, key, _, seen) in zip(_decode_rows([text for _, _, text, _ in batch]), batch, strict=True):  # noqa: B007 # the next batch begins there
                if row is not None:
                    yield row, seen, details.get(key)
            if len(batch) < ROWS_PER_SELECT:
                return

    def varying(self) -> dict[str, set[str]]:
        """Return by source the fields whose value depends on the query that returns the record."""
        fields: dict[str, set[str]] = {}
        for source, name, alike, other in self._written.execute(
            "SELECT source, name, alike, other FROM varying ORDER BY source, name"
        ):
            if other >= MIN_VARIED and other >= VARYING_SHARE * (alike + other):
                fields.setdefault(source, set()).add(name)
        return fields

    def forget_records(self) -> None:
        """Delete all records, and the note that the harvest is finished; outcomes stay, so that they can be read again."""

        def forget(db: Connection) -> None:
            for table in ("records", "sights", "details", "history", "varying"):
                db.execute(f"DELETE FROM {table}")  # noqa: S608 # the names above
            db.execute("UPDATE outcomes SET records_read = NULL, new_records = NULL")
            set_note(db, "finished", "")

        self._written.transaction(forget)

    # Comparison of this run with earlier ones

    def keys_by_query(self, run_number: int) -> dict[str, set[str]]:
        """Return the keys of the records that each query returned in a run."""
        keys: dict[str, set[str]] = {}
        for query, key in self._written.execute(
            "SELECT query, key FROM sights WHERE run = ? ORDER BY query, key", (run_number,)
        ):
            keys.setdefault(query, set()).add(key)
        return keys

    def last_sights(self) -> dict[int, dict[str, set[str]]]:
        """Return for each earlier run, oldest first, the records by query that no later one of them returned."""
        sights: dict[int, dict[str, set[str]]] = {}
        for run_number, query, key in self._written.execute(
            "SELECT run, query, key FROM sights JOIN (SELECT key, MAX(run) AS run FROM sights WHERE run < ? GROUP BY key) AS latest "
            "USING (key, run) JOIN records USING (key) ORDER BY run, query, key",
            (self.run_number,),
        ):
            sights.setdefault(run_number, {}).setdefault(query, set()).add(key)
        return sights

    def keys_by_change(self) -> dict[str, list[str]]:
        """Return the keys of all records by their state in this run: new, changed, unchanged or unseen."""
        run, db = self.run_number, self._written
        changed = {key for (key,) in db.execute("SELECT key FROM history WHERE run = ?", (run,))}
        keys: dict[str, list[str]] = {"new": [], "changed": [], "unchanged": [], "unseen": []}
        for key, first_run, last_run in db.execute("SELECT key, first, last FROM records ORDER BY rowid"):
            if first_run == run:
                keys["new"].append(key)
            elif last_run < run:
                keys["unseen"].append(key)
            else:
                keys["changed" if key in changed else "unchanged"].append(key)
        return keys

    def changes(self) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
        """Yield the changes of this run: `new`, `changed` or `gone`, the row before and the row now ({} if there is none)."""
        run, db = self.run_number, self._written
        for key, text in db.execute("SELECT key, row FROM records WHERE first = ? ORDER BY rowid", (run,)):
            yield "new", {}, {"_key": key, **(decode_row(text) or {})}
        for before, now in db.execute(
            "SELECT history.row, records.row FROM history LEFT JOIN records ON records.key = history.key "
            "WHERE history.run = ? ORDER BY history.key",
            (run,),
        ):
            yield "changed" if now else "gone", decode_row(before) or {}, decode_row(now) or {}

    def move_to_history(self, keys: list[str]) -> None:
        """Move records that the source no longer has from the table to the history."""

        def move(db: Connection) -> None:
            for key in keys:
                db.execute(
                    "INSERT INTO history SELECT key, ?, row FROM records WHERE key = ? "
                    "ON CONFLICT (key, run) DO UPDATE SET row = excluded.row",
                    (self.run_number, key),
                )
                db.execute("DELETE FROM records WHERE key = ?", (key,))

        self._written.transaction(move)


def count_requests(db: Reader, run_number: int) -> int:
    """Return the number of requests sent in a run; one for robots.txt is counted with the request that needed it."""
    (sent,) = db.execute(
        "SELECT COALESCE(SUM(sent), 0) FROM outcomes WHERE run = ? AND request NOT LIKE '%/robots.txt%'", (run_number,)
    ).fetchone()
    return int(sent)


def decode_answer(stored: Sequence[Any], request: Request, archive: BodyReader | None) -> Response | None:
    """Decode the `ANSWER_COLUMNS` of an outcome; None if they are damaged, or the body is in the archive and cannot be read there."""
    outcome_id, head, packed_body, at, file, offset, digest = stored
    archived = ArchivedBody(file=file, offset=offset, digest=digest) if file is not None else None
    try:
        body: bytes | None = None
        if packed_body is not None:
            inflater = zlib.decompressobj()
            body = inflater.decompress(packed_body, MAX_BODY_BYTES)
            if not inflater.eof:
                return None
        elif archived is not None and archive is not None:
            body = archive.read(archived)
        if body is None:
            return None
        fields = json.loads(head)
        return Response(
            request=request, **fields, body=body, archived=archived, received_at=float(at), number=outcome_id
        )
    except (ValueError, TypeError, RecursionError, zlib.error):
        return None


def _encode_decision(decision: Decision | None) -> str:
    """Encode a decision as a JSON array; "" if the request has none. Older versions stored NULL."""
    if decision is None:
        return ""
    chosen, others, prefers_list, source = decision
    return json.dumps([_rounded(chosen), [_rounded(other) for other in others], prefers_list, source])


def _rounded(candidate: WeighedCandidate) -> list[object]:
    return [round(value, 4) if isinstance(value, float) else value for value in candidate]


def decode_decision(text: str | None) -> Decision | None:
    """Decode a stored decision; None if there is none or it is damaged."""
    try:
        chosen, others, prefers_list, source = json.loads(text or "")
        return Decision(
            WeighedCandidate(*chosen),
            tuple(WeighedCandidate(*other) for other in others),
            bool(prefers_list),
            str(source),
        )
    except (ValueError, TypeError, RecursionError):
        return None


def decode_row(text: str | None) -> dict[str, Any] | None:
    """Decode a stored row; None if it is damaged."""
    try:
        row = json.loads(text or "")
    except (ValueError, TypeError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _decode_rows(texts: Sequence[str]) -> list[dict[str, Any] | None]:
    """Decode stored rows; None for each damaged one."""
    try:
        rows = json.loads(f"[{','.join(texts)}]")  # one call takes half as long
    except (ValueError, TypeError, RecursionError):
        rows = []
    is_intact = len(rows) == len(texts) and set(map(type, rows)) <= {dict}
    return rows if is_intact else list(map(decode_row, texts))


def _request_key(request: Request) -> str:
    """Return a key that is equal for two requests exactly if all that is sent is equal."""
    headers = [request.headers] if request.headers else []  # absent if empty, so that states of older versions match
    fields = [request.body.decode("latin-1"), request.content_type, *headers, request.method, request.url]
    return encode_row(fields)


def _is_good_answer(head: str | None) -> bool:
    """Return True if a stored answer is neither an error page nor a refusal."""
    if head is None:
        return False
    fields = json.loads(head)
    return bool(fields["status"] < 400 and not fields["blocked"])


def _delete_trailing_errors(db: Connection) -> None:
    """Delete the errors after the last answer: they may be why the harvest ended, so their requests are sent again.

    Answers that ask to come back later (429, 5xx) count as errors.
    """
    while True:
        last = db.execute(
            "SELECT id, error, head FROM outcomes ORDER BY id DESC LIMIT ?", (OUTCOMES_PER_SELECT,)
        ).fetchall()
        failed = list(_until_answer(last))
        for outcome_id in failed:
            db.execute("DELETE FROM outcomes WHERE id = ?", (outcome_id,))
        if len(failed) < OUTCOMES_PER_SELECT:
            return


def _until_answer(outcomes: Iterable[tuple[int, str | None, str | None]]) -> Iterator[int]:
    """Yield the ids of outcomes up to the first answer."""
    for outcome_id, error, head in outcomes:
        try:
            status = json.loads(head or "{}").get("status", 0)
        except ValueError:
            status = 0  # a damaged answer stays; its request is sent again when it is replayed
        if not error and status != 429 and status < 500:
            return
        yield outcome_id


# Adding records


@dataclass(frozen=True, slots=True)
class _PageRecords:
    """Records of one page of an answer, their origin, and the candidate that a refresh repeats to see them."""

    records: Sequence[Record]
    origin: Mapping[str, object]
    asked: str


@dataclass(slots=True)
class _StoredRecord:
    """Row of a record while the records of several pages are added."""

    row: dict[str, Any]
    last_run: int
    text: str | None = None  # as stored; None if the record is new
    new_sights: int = 0
    is_updated: bool = False  # values differ from an earlier run
    is_written: bool = True  # False as long as nothing is new


def _add_records(db: Connection, run: int, pages: Sequence[_PageRecords]) -> list[bool]:
    """Add the records of pages in order; return for each record of the last page whether its key is new."""
    pages = [_without_nulls(page) for page in pages]
    keys = list(dict.fromkeys(record.key for page in pages for record in page.records))
    stored = _stored_records(db, keys)
    sights = _known_sights(db, run, pages, stored)
    new_sights: list[tuple[object, ...]] = []
    # Fields that another query shows again: source, name, whether the value is the same.
    comparisons: Counter[tuple[object, str, bool]] = Counter()
    are_new: list[bool] = []
    for page in pages:
        origin, digest, are_new = page.origin, page.origin["_page"], []
        for record in page.records:
            key = record.key
            if is_new_sight := (sight := (key, run, page.asked, digest)) not in sights:
                sights.add(sight)
                new_sights.append(sight)
            known = stored.get(key)
            are_new.append(known is None)
            if known is None:
                row = {"_key": key, "_url": record.url, "_path": record.path, **origin, **record.fields}
                stored[key] = _StoredRecord(row, run, new_sights=1)
            else:
                _merge(known, record, run, origin, is_new_sight, comparisons)
    new_sights.sort()  # neighbours in the table are written together
    db.executemany("INSERT INTO sights VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", new_sights)
    _write(db, run, stored)
    names = sorted({(source, name) for source, name, _ in comparisons})
    db.executemany(
        "INSERT INTO varying VALUES (?, ?, ?, ?) ON CONFLICT (source, name) "
        "DO UPDATE SET alike = varying.alike + excluded.alike, other = varying.other + excluded.other",
        [(*name, comparisons[*name, True], comparisons[*name, False]) for name in names],
    )
    return are_new


@reporting_damage
def _stored_records(db: Connection, keys: Sequence[str]) -> dict[str, _StoredRecord]:
    """Return the records with these keys that are stored."""
    return {
        key: _StoredRecord(decode_row(text) or {}, int(last), text, is_written=False)
        for key, text, last in db.select_by_keys("SELECT key, row, last FROM records WHERE key = ?", keys)
    }


def _without_nulls(page: _PageRecords) -> _PageRecords:
    """Replace zero characters in keys, which PostgreSQL cannot store."""
    if not any("\0" in record.key for record in page.records):
        return page
    records = [replace(record, key=record.key.replace("\0", "\ufffd")) for record in page.records]
    return replace(page, records=records)


def _known_sights(
    db: Connection, run: int, pages: Sequence[_PageRecords], stored: Mapping[str, _StoredRecord]
) -> set[tuple[object, ...]]:
    """Return the sightings of pages that were added before, as in a replay; only stored records have any."""
    known: set[tuple[object, ...]] = set()
    select = "SELECT key FROM sights WHERE run = ? AND query = ? AND page = ? AND key = ?"
    for page in pages:
        keys = list(dict.fromkeys(record.key for record in page.records if record.key in stored))
        digest = page.origin["_page"]
        if keys:
            rows = db.select_by_keys(select, keys, run, page.asked, digest)
            known.update((key, run, page.asked, digest) for (key,) in rows)
    return known


def _merge(
    stored: _StoredRecord,
    record: Record,
    run: int,
    origin: Mapping[str, object],
    is_new_sight: bool,
    comparisons: Counter[tuple[object, str, bool]],
) -> None:
    """Fill the gaps of a stored record, or replace its values if a later run finds others."""
    row, fields = stored.row, record.fields
    old_fields, new_fields = {name for name in row if not name.startswith("_")}, set(fields)
    # With fewer fields in common it is another kind of page about the record, not a newer version of the same one.
    is_same_kind = 2 * len(old_fields & new_fields) >= len(old_fields | new_fields)
    is_update = stored.last_run < run and is_same_kind
    merged = {**row, **fields} if is_update else {**fields, **row}
    if is_new_sight and stored.last_run == run and row.get("_query") != origin["_query"]:
        comparisons.update((origin["_source"], name, row[name] == fields[name]) for name in old_fields & new_fields)
    stored.is_updated = stored.is_updated or (is_update and merged != row)
    if is_new_sight or merged != row:
        stored.row, stored.last_run, stored.is_written = merged, run, True
        stored.new_sights += is_new_sight


def _write(db: Connection, run: int, stored: Mapping[str, _StoredRecord]) -> None:
    """Write new and changed records, and the old rows of updated ones to the history."""
    texts = {key: encode_row(record.row) for key, record in stored.items() if record.is_written}
    db.executemany(
        "INSERT INTO records VALUES (?, ?, ?, ?, ?)",
        [(key, text, stored[key].new_sights, run, run) for key, text in texts.items() if stored[key].text is None],
    )
    db.executemany(
        "INSERT INTO history VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        [(key, run, record.text) for key, record in stored.items() if record.is_updated],
    )
    db.executemany(
        "UPDATE records SET row = ?, seen = seen + ?, last = ? WHERE key = ?",
        [(text, stored[key].new_sights, run, key) for key, text in texts.items() if stored[key].text is not None],
    )
