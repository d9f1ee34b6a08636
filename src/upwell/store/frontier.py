"""The URLs of one source that are to be fetched or were: on disk, so that a million cost no memory.

    key        64 bits of the canonical text of a URL; URLs that ask for the same have one key
    waiting    to be fetched, the highest priority first, then the oldest
    out        handed out and not yet reported; waiting again when the frontier is opened anew
    done       fetched

Who opens it says what "the same" means (`canonical`): this room knows no roles of arguments. At a million URLs the chance that any two
different ones share a key is 3 in 100 million.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from types import TracebackType

__all__ = ["Frontier"]

WAITING, OUT, DONE = range(3)
BATCH = 2000  # URLs of one transaction; larger ones are no faster and keep more in memory
CACHE = 8192  # KiB of the database that are kept in memory
SCHEMA = """
CREATE TABLE IF NOT EXISTS seen (key INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS urls (number INTEGER PRIMARY KEY, url TEXT NOT NULL, priority REAL NOT NULL, state INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS waiting ON urls (priority DESC, number) WHERE state = 0;
CREATE INDEX IF NOT EXISTS out ON urls (url) WHERE state = 1;
"""


def _itself(url: str) -> str:
    return url


class Frontier:
    """A queue on disk in which every URL, up to what is irrelevant in it, is once.

    >>> with Frontier(":memory:", canonical=lambda url: url.split("&sort=")[0]) as frontier:
    ...     frontier.add(["http://x/?q=a&sort=1", "http://x/?q=a&sort=2", "http://x/?q=b"]), frontier.seen("http://x/?q=b&sort=9")
    (2, True)
    """

    def __init__(self, path: str | Path, *, canonical: Callable[[str], str] = _itself) -> None:
        self.canonical = canonical
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute(f"PRAGMA cache_size = -{CACHE}")
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.executescript(SCHEMA)
        self._db.execute("UPDATE urls SET state = ? WHERE state = ?", (WAITING, OUT))

    def __enter__(self) -> "Frontier":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file; what was added is there when it is opened again."""
        self._db.close()

    def seen(self, url: str) -> bool:
        """Whether this URL, or one that asks for the same, was ever added."""
        return self._db.execute("SELECT 1 FROM seen WHERE key = ?", (self._key(url),)).fetchone() is not None

    def add(self, urls: Iterable[str], priority: float = 0.0) -> int:
        """Adds what was not seen yet, a transaction a batch; says how many."""
        added = 0
        for batch in _batches(urls):
            with _Transaction(self._db):
                for url in batch:
                    new = self._db.execute("INSERT OR IGNORE INTO seen VALUES (?)", (self._key(url),)).rowcount
                    if new:
                        self._db.execute(
                            "INSERT INTO urls (url, priority, state) VALUES (?, ?, ?)", (url, priority, WAITING)
                        )
                    added += new
        return added

    def know(self, urls: Iterable[str]) -> int:
        """Marks URLs as seen without queueing them: what was asked in another way (a form, a pager); says how many were new."""
        known = 0
        for batch in _batches(urls):
            with _Transaction(self._db):
                for url in batch:
                    new = self._db.execute("INSERT OR IGNORE INTO seen VALUES (?)", (self._key(url),)).rowcount
                    if new:
                        self._db.execute("INSERT INTO urls (url, priority, state) VALUES (?, 0, ?)", (url, DONE))
                    known += new
        return known

    def take(self, most: int = 1) -> list[str]:
        """Hands out the best waiting URLs; each is to be reported with `done`, or waits again after a restart."""
        with _Transaction(self._db):
            rows = self._db.execute(
                "SELECT number, url FROM urls WHERE state = 0 ORDER BY priority DESC, number LIMIT ?", (most,)
            ).fetchall()
            self._db.executemany("UPDATE urls SET state = ? WHERE number = ?", [(OUT, number) for number, _ in rows])
        return [url for _, url in rows]

    def done(self, urls: Iterable[str]) -> None:
        """Reports URLs that were handed out as fetched."""
        with _Transaction(self._db):
            for url in urls:
                self._db.execute("UPDATE urls SET state = 2 WHERE url = ? AND state = 1", (url,))

    def rekey(self, canonical: Callable[[str], str]) -> int:
        """Takes a new meaning of "the same" (roles learned again); waiting URLs that are now one with another are dropped. Says how many."""
        self.canonical = canonical
        self._db.execute("CREATE TEMP TABLE again (key INTEGER PRIMARY KEY)")
        dropped = 0
        with _Transaction(self._db):
            for state in (DONE, OUT, WAITING):  # what was fetched comes first, so that it is what stays
                for number, url in self._all(state):
                    new = self._db.execute("INSERT OR IGNORE INTO again VALUES (?)", (self._key(url),)).rowcount
                    if not new and state == WAITING:
                        self._db.execute("DELETE FROM urls WHERE number = ?", (number,))
                        dropped += 1
            self._db.execute("DELETE FROM seen")
            self._db.execute("INSERT INTO seen SELECT key FROM again")
        self._db.execute("DROP TABLE again")
        return dropped

    def _all(self, state: int) -> Iterator[tuple[int, str]]:
        last = 0
        find = "SELECT number, url FROM urls WHERE state = ? AND number > ? ORDER BY number LIMIT ?"
        while rows := self._db.execute(find, (state, last, BATCH)).fetchall():
            yield from rows
            last = rows[-1][0]

    def counts(self) -> dict[str, int]:
        """How many are waiting, out and done."""
        found = dict(self._db.execute("SELECT state, count(*) FROM urls GROUP BY state").fetchall())
        return {name: found.get(state, 0) for state, name in enumerate(("waiting", "out", "done"))}

    def _key(self, url: str) -> int:
        digest = blake2b(self.canonical(url).encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return int.from_bytes(digest, "big", signed=True)


class _Transaction:
    """All or nothing."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db

    def __enter__(self) -> None:
        self.db.execute("BEGIN IMMEDIATE")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.db.execute("COMMIT" if kind is None else "ROLLBACK")


def _batches(urls: Iterable[str]) -> Iterator[list[str]]:
    each = iter(urls)
    while batch := list(islice(each, BATCH)):
        yield batch
