"""A harvest's memory on disk: what every request brought, committed before it is used, and the records.

    outcomes    what a request brought, in the order in which it came: an answer, or why there was none; of a body that is in
                the archive, only its place there
    records     the records held, by key; a further sight fills gaps, a change in a later run is kept in `history`
    sights      which query brought which record in which run

Nothing else of a harvest is kept: run again, it asks the same questions in the same order, is told what is remembered, and
goes on where the memory ends. So a kill at any moment costs what was in flight, whatever stage it was in.
"""

import json
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from upwell.errors import CannotKeep
from upwell.model import ArchivedBody, Outcome, Record, Request, Response

__all__ = ["Bodies", "State"]

VERSION = 2
CACHE = 512  # kilobytes of pages in memory; a harvest writes more than it reads, and a hundred of them run at once
TABLES = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS outcomes (
    id INTEGER PRIMARY KEY, run INTEGER, request TEXT, head TEXT, body BLOB, error TEXT, sent INTEGER, bytes INTEGER,
    at REAL, archive_file TEXT, archive_offset INTEGER, archive_digest TEXT);
CREATE INDEX IF NOT EXISTS outcomes_by_request ON outcomes (run, request);
CREATE TABLE IF NOT EXISTS records (key TEXT PRIMARY KEY, row TEXT, seen INTEGER, first INTEGER, last INTEGER);
CREATE TABLE IF NOT EXISTS sights (key TEXT, run INTEGER, query TEXT, page TEXT, PRIMARY KEY (key, run, query, page)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS history (key TEXT, run INTEGER, row TEXT, PRIMARY KEY (key, run)) WITHOUT ROWID;
"""
UPGRADES = {  # what makes the tables of a version those of the next
    1: """
ALTER TABLE outcomes ADD COLUMN archive_file TEXT;
ALTER TABLE outcomes ADD COLUMN archive_offset INTEGER;
ALTER TABLE outcomes ADD COLUMN archive_digest TEXT;
""",
}


class Bodies(Protocol):
    """What gives archived bodies back: `upwell.store.archive.Archive`."""

    def read(self, place: ArchivedBody) -> bytes | None:
        """The body at a place; None where it cannot be read there."""
        ...


class State:
    """The memory of one site's harvest: a file, or nothing but this process's memory where there is no path.

    With an `archive`, what it holds is not kept here a second time. An answer whose body it cannot give back (a file removed, the
    end of one lost in a crash of the machine) counts as never received, so that its request is sent again.
    """

    def __init__(self, path: Path | None = None, archive: Bodies | None = None) -> None:
        self.path, self.archive = path, archive
        self._left: dict[str, list[int]] = {}  # outcomes of this run that were not recalled yet, by request
        self._used: dict[str, int] = {}  # the last answer to a request that was recalled or kept
        try:
            self._db = sqlite3.connect(path or ":memory:", isolation_level=None, timeout=0.5)
        except sqlite3.Error as error:
            raise self._trouble(error) from error
        try:
            self._open()
        except BaseException:  # whatever it was, the file's lock is given back
            self._db.close()
            raise

    def __enter__(self) -> "State":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()

    def _open(self) -> None:
        try:
            self._db.execute("PRAGMA locking_mode = EXCLUSIVE")  # a second process is told, not mixed in
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            self._db.execute(f"PRAGMA cache_size = -{CACHE}")
        except sqlite3.Error as error:
            raise self._trouble(error) from error
        self._write(self._create_tables)
        self.run = int(self.said("run", "1"))
        self._forget_last_errors()
        for number, request in self._db.execute(
            "SELECT id, request FROM outcomes WHERE run = ? ORDER BY id", (self.run,)
        ):
            self._left.setdefault(request, []).append(number)

    def _create_tables(self, db: sqlite3.Connection) -> None:
        """Creates the tables of a new file; those of an older version become those of this one."""
        for statement in TABLES.split(";"):
            db.execute(statement)
        version = int(self.said("version", str(VERSION)))
        if version > VERSION:
            raise CannotKeep(
                f"{self.path} was written by a newer Upwell (version {version}, this one knows {VERSION}); "
                "update Upwell, or use another -o"
            )
        for older in range(version, VERSION):
            for statement in UPGRADES[older].split(";"):
                db.execute(statement)
        db.execute("INSERT OR REPLACE INTO about VALUES ('version', ?)", (str(VERSION),))

    # -- a few words about the harvest ---------------------------------------------------------------------------------

    def said(self, name: str, otherwise: str = "") -> str:
        """What was said under a name."""
        found = self._db.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
        return str(found[0]) if found else otherwise

    def say(self, name: str, value: str) -> None:
        """Keeps a word under a name."""
        self._write(lambda db: db.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (name, value)))

    def next_run(self) -> None:
        """Begins another run, which asks anew; the records and their history stay."""
        self.run += 1
        self._left.clear()
        self._used.clear()
        self.say("run", str(self.run))

    # -- what requests brought -----------------------------------------------------------------------------------------

    def recall(self, request: Request, *, reuse: bool = False, younger: float = 0.0) -> Outcome | None:
        """What this request brought the next time it was sent; with `reuse`, else what it brought last, if that was an answer.

        With `younger`, only what came in so many seconds before now.
        """
        key = _key(request)
        if younger and self._left.get(key) and self._age(self._left[key][0]) > younger:
            return None
        if reuse and key in self._used:  # first, as it was when it was asked: what came later is left for later
            last = self._outcome(self._used[key], request)
            if last is not None:
                return Outcome(response=last.response, sent=0, bytes=0)
        waiting = self._left.get(key, [])
        while waiting:
            number = waiting.pop(0)
            found = self._outcome(number, request)
            if found is not None:
                self._note(key, number, found.response)
                return found
        return None

    def keep(self, request: Request, outcome: Outcome) -> None:
        """Commits what a request brought."""
        answer, head, body, place = outcome.response, None, None, None
        if answer is not None:
            about = {
                "url": answer.url,
                "status": answer.status,
                "headers": dict(answer.headers),
                "blocked": answer.blocked,
            }
            head = json.dumps(about)  # in ASCII: a header that is not UTF-8 has lone surrogates, which SQLite refuses
            place = answer.archived if self.archive is not None else None
            body = zlib.compress(answer.body, 1) if place is None else None
        row = {
            "run": self.run,
            "request": _key(request),
            "head": head,
            "body": body,
            "error": outcome.error,
            "sent": outcome.sent,
            "bytes": outcome.bytes,
            "at": time.time(),
            "archive_file": place and place.file,
            "archive_offset": place and place.offset,
            "archive_digest": place and place.digest,
        }
        into = f"INSERT INTO outcomes ({', '.join(row)}) VALUES ({', '.join(':' + name for name in row)})"  # noqa: S608 # the names above
        number = self._write(lambda db: db.execute(into, row)).lastrowid
        self._note(_key(request), int(number or 0), answer)

    def _note(self, key: str, number: int, answer: Response | None) -> None:
        """An answer that is none but an error is no answer to use again."""
        if answer is not None and answer.status < 400 and not answer.blocked:
            self._used[key] = number

    def _age(self, number: int) -> float:
        return time.time() - float(self._db.execute("SELECT at FROM outcomes WHERE id = ?", (number,)).fetchone()[0])

    def _outcome(self, number: int, request: Request) -> Outcome | None:
        """An outcome by its number; None where the archive no longer has its body."""
        head, packed, error, sent, size, file, offset, digest = self._db.execute(
            "SELECT head, body, error, sent, bytes, archive_file, archive_offset, archive_digest FROM outcomes WHERE id = ?",
            (number,),
        ).fetchone()
        if head is None:
            return Outcome(error=error, sent=sent, bytes=size)
        place = ArchivedBody(file=file, offset=offset, digest=digest) if file is not None else None
        if place is None:
            body: bytes | None = zlib.decompress(packed)
        else:
            body = self.archive.read(place) if self.archive is not None else None
        if body is None:
            return None
        response = Response(request=request, **json.loads(head), body=body, archived=place)
        return Outcome(response=response, sent=sent, bytes=size)

    def _forget_last_errors(self) -> None:
        """What went wrong after the last answer may be why the harvest ended: it is tried again."""
        last = "(SELECT COALESCE(MAX(id), 0) FROM outcomes WHERE error = '')"
        self._write(lambda db: db.execute(f"DELETE FROM outcomes WHERE error != '' AND id > {last}"))  # noqa: S608 # a constant

    # -- records -------------------------------------------------------------------------------------------------------

    def add(self, records: list[Record], about: Mapping[str, object]) -> list[bool]:
        """Takes the records of an answer in, in one transaction; says of each whether it is new to the state.

        `about` has `_source`, `_query` and `_page`. A further sight fills gaps; in a later run it replaces what changed.
        """
        new: list[bool] = self._write(lambda db: [self._add(db, record, about) for record in records])
        return new

    def _add(self, db: sqlite3.Connection, record: Record, about: Mapping[str, object]) -> bool:
        sight = (record.key, self.run, about["_query"], about["_page"])
        new_sight = db.execute("INSERT OR IGNORE INTO sights VALUES (?, ?, ?, ?)", sight).rowcount > 0
        found = db.execute("SELECT row, last FROM records WHERE key = ?", (record.key,)).fetchone()
        if found is None:
            row = {"_key": record.key, "_url": record.url, "_path": record.path, **about, **record.fields}
            db.execute(
                "INSERT INTO records VALUES (?, ?, 1, ?, ?)",
                (record.key, json.dumps(row, ensure_ascii=False), self.run, self.run),
            )
            return True
        row, last = json.loads(found[0]), int(found[1])
        own = {name for name in row if not name.startswith("_")}
        alike = 2 * len(own & set(record.fields)) >= len(
            own | set(record.fields)
        )  # or it is another kind of page of the record
        merged = {**row, **record.fields} if last < self.run and alike else {**record.fields, **row}
        if last < self.run and alike and merged != row:
            db.execute("INSERT OR IGNORE INTO history VALUES (?, ?, ?)", (record.key, self.run, found[0]))
        if new_sight or merged != row:
            db.execute(
                "UPDATE records SET row = ?, seen = seen + ?, last = ? WHERE key = ?",
                (json.dumps(merged, ensure_ascii=False), new_sight, self.run, record.key),
            )
        return False

    def rows(self) -> Iterator[dict[str, Any]]:
        """The records held, in the order in which they came, with `_seen`."""
        for text, seen in self._db.execute("SELECT row, seen FROM records ORDER BY rowid"):
            row = json.loads(text)
            own = {name: row.pop(name, None) for name in ("_key", "_source", "_url", "_query", "_page", "_path")}
            yield {**own, "_seen": seen, **row}

    def __len__(self) -> int:
        return int(self._db.execute("SELECT COUNT(*) FROM records").fetchone()[0])

    def sights(self, run: int) -> dict[str, set[str]]:
        """Which records each query brought in a run."""
        found: dict[str, set[str]] = {}
        for query, key in self._db.execute("SELECT query, key FROM sights WHERE run = ? ORDER BY query, key", (run,)):
            found.setdefault(query, set()).add(key)
        return found

    def compared(self) -> dict[str, list[str]]:
        """The keys by what this run showed of them: new, changed, unchanged, or not seen."""
        changed = {key for (key,) in self._db.execute("SELECT key FROM history WHERE run = ?", (self.run,))}
        found: dict[str, list[str]] = {"new": [], "changed": [], "unchanged": [], "unseen": []}
        for key, first, last in self._db.execute("SELECT key, first, last FROM records ORDER BY rowid"):
            kind = (
                "new"
                if first == self.run
                else "unseen"
                if last < self.run
                else "changed"
                if key in changed
                else "unchanged"
            )
            found[kind].append(key)
        return found

    def drop(self, keys: list[str]) -> None:
        """Takes records that are gone out of the table, into the history."""

        def move(db: sqlite3.Connection) -> None:
            for key in keys:
                db.execute(
                    "INSERT OR REPLACE INTO history SELECT key, ?, row FROM records WHERE key = ?", (self.run, key)
                )
                db.execute("DELETE FROM records WHERE key = ?", (key,))

        self._write(move)

    # -- writing -------------------------------------------------------------------------------------------------------

    def _write(self, what: Callable[[sqlite3.Connection], Any]) -> Any:
        """One transaction; what cannot be kept is said, and the state stays as it was."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                result = what(self._db)
                self._db.execute("COMMIT")
            except BaseException:  # whatever it was, half a step is not kept
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise self._trouble(error) from error
        return result

    def _trouble(self, error: sqlite3.Error) -> CannotKeep:
        said = str(error)
        if "locked" in said:
            why = "another process is harvesting into it; wait for it, or use another -o"
        elif "full" in said:
            why = "the disk is full; make room and run the same command again, it goes on where it was"
        elif "readonly" in said or "unable to open" in said:
            why = "the folder cannot be written to; make it writable, or use another -o"
        elif "not a database" in said or "malformed" in said:
            why = "it is damaged; move it away to start again (records and archive written so far stay), or use another -o"
        else:
            why = "run the same command again, or use another -o"
        return CannotKeep(f"{self.path or 'the state in memory'}: {said}; {why}")


def _key(request: Request) -> str:
    """What makes two requests the same."""
    told = asdict(request)
    told.pop("query")
    told["body"] = request.body.decode("latin-1")
    return json.dumps([told[name] for name in sorted(told)], ensure_ascii=False)
