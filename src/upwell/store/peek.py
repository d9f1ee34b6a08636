"""Looking into the state of a harvest without changing it or waiting for it: for the page in the browser.

While a process harvests, its file is locked; `Busy` says so, and what runs is told by `events.jsonl`. A state in PostgreSQL can be read all the time.
"""

import base64
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from upwell.model import ArchivedBody
from upwell.store.database import Reader
from upwell.store.places import InPostgres, has_state, open_database, place_of

__all__ = ["Busy", "Peek", "is_running", "peek"]


class Busy(Exception):
    """Another process harvests into the folder now."""


class Peek:
    """The state of one harvest, read only."""

    def __init__(self, db: Reader, *, is_leased: bool = False) -> None:
        self._db = db
        self.is_leased = is_leased  # a worker, on whatever machine, writes it

    def note(self, name: str, default: str = "") -> str:
        """The note stored under a name."""
        row = self._db.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchone()
        return str(row[0]) if row else default

    def records(self) -> int:
        """How many records are held."""
        return int(self._db.execute("SELECT COUNT(*) FROM records").fetchone()[0])

    def requests(self) -> int:
        """How many requests were sent in this run, as `State.requests_sent` counts them."""
        (sent,) = self._db.execute(
            "SELECT COALESCE(SUM(sent), 0) FROM outcomes WHERE run = ? AND request NOT LIKE '%/robots.txt%'",
            (int(self.note("run", "1")),),
        ).fetchone()
        return int(sent)

    def row(self, key: str) -> dict[str, Any] | None:
        """What the lists said of a record, as it was read."""
        return self._json("SELECT row FROM records WHERE key = ?", key)

    def details(self, key: str) -> dict[str, Any] | None:
        """What the record's own page said."""
        return self._json("SELECT row FROM details WHERE key = ?", key)

    def sights(self, key: str, most: int = 20) -> list[str]:
        """The queries that brought a record."""
        found = self._db.execute(
            "SELECT query FROM sights WHERE key = ? GROUP BY query ORDER BY MAX(run) DESC, query LIMIT ?", (key, most)
        )
        return [str(query) for (query,) in found]

    def history(self, key: str) -> list[tuple[int, dict[str, Any]]]:
        """What a record said before: the run in which it was replaced, and the row before; the newest first."""
        found = self._db.execute("SELECT run, row FROM history WHERE key = ? ORDER BY run DESC", (key,))
        return [(int(run), row) for run, text in found if (row := _row(text)) is not None]

    def archived(self, page: str) -> ArchivedBody | None:
        """Where the archive holds a page, by the hexadecimal SHA-1 of its body, as `_page` has it."""
        try:
            digest = f"sha1:{base64.b32encode(bytes.fromhex(page)).decode()}"
        except ValueError:
            return None
        found = self._db.execute(
            "SELECT archive_file, archive_offset FROM outcomes WHERE archive_digest = ? LIMIT 1", (digest,)
        ).fetchone()
        return ArchivedBody(file=str(found[0]), offset=int(found[1]), digest=digest) if found and found[0] else None

    def archived_at(self, url: str) -> ArchivedBody | None:
        """Where the archive holds the last answer that came from an address."""
        beginning = f'{{"url": {json.dumps(url)}, '  # of the head, as `State.store` writes it
        found = self._db.execute(
            "SELECT archive_file, archive_offset, archive_digest FROM outcomes "
            "WHERE substr(head, 1, ?) = ? AND archive_file IS NOT NULL ORDER BY id DESC LIMIT 1",
            (len(beginning), beginning),
        ).fetchone()
        return ArchivedBody(file=str(found[0]), offset=int(found[1]), digest=str(found[2])) if found else None

    def pages_with_records(self, most: int = 30) -> list[str]:
        """Pages that brought records, those with the most first."""
        found = self._db.execute("SELECT page FROM sights GROUP BY page ORDER BY COUNT(*) DESC, page LIMIT ?", (most,))
        return [str(page) for (page,) in found]

    def _json(self, query: str, key: str) -> dict[str, Any] | None:
        found = self._db.execute(query, (key,)).fetchone()
        return _row(found[0]) if found else None


def _row(text: str) -> dict[str, Any] | None:
    try:
        row = json.loads(text)
    except (ValueError, TypeError):
        return None
    return row if isinstance(row, dict) else None


@contextmanager
def peek(folder: Path) -> Iterator[Peek]:
    """The state of a folder, for as long as it takes to look; raises Busy while its file is locked by a harvest."""
    place = place_of(folder)
    if isinstance(place, InPostgres):
        with closing(open_database(place, is_only_read=True)) as site:
            yield Peek(site, is_leased=site.is_leased)
        return
    try:
        with closing(sqlite3.connect(f"{place.resolve().as_uri()}?mode=ro", uri=True, timeout=0.2)) as db:
            db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
            yield Peek(db)
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            raise Busy(f"{folder} is harvested now") from error
        raise


def is_running(folder: Path) -> bool:
    """Whether a process harvests into a folder now."""
    if not has_state(folder):
        return False
    try:
        with peek(folder) as state:
            return state.is_leased
    except Busy:
        return True
