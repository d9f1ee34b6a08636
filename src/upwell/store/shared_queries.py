"""A knowledge base and a query log, prepared once in a file that all sites and processes read: SQLite, memory-mapped.

    types      the types of the knowledge base
    names      its names, and the types of each
    ordered    the same by type, in the order in which they are asked
    lengths    for each first word, the length of the longest name that begins with it
    queries    of the log, by host, the most clicked first

Nothing of it is held in memory but what is looked up often.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Set
from functools import cache, cached_property, lru_cache
from pathlib import Path
from zlib import crc32

from upwell.queries.knowledge import Knowledge, Type
from upwell.queries.logs import LogRow, Names, queries_by_host

__all__ = ["SharedQueries", "digest_of", "open_shared", "prepare"]

TABLES = """
CREATE TABLE types (id INTEGER PRIMARY KEY, domain TEXT, name TEXT, size INTEGER);
CREATE TABLE names (name TEXT, type INTEGER, PRIMARY KEY (name, type)) WITHOUT ROWID;
CREATE TABLE ordered (type INTEGER, crc INTEGER, name TEXT, PRIMARY KEY (type, crc, name)) WITHOUT ROWID;
CREATE TABLE lengths (word TEXT PRIMARY KEY, length INTEGER) WITHOUT ROWID;
CREATE TABLE queries (host TEXT, number INTEGER, query TEXT, PRIMARY KEY (host, number)) WITHOUT ROWID;
"""
MAPPED_BYTES = 2**40  # at most: all of the file
REMEMBERED = 2**16  # lookups


def digest_of(*files: str | Path | None) -> str:
    """Stands for the content of files: another size or time of change is another content."""
    facts = [
        (str(Path(file).resolve()), Path(file).stat().st_size, Path(file).stat().st_mtime_ns) for file in files if file
    ]
    return hashlib.sha1(repr(facts).encode(), usedforsecurity=False).hexdigest()


def prepare(file: Path, knowledge: Callable[[], Knowledge | None], log: Callable[[], Iterable[LogRow]] | None) -> None:
    """Writes the file, unless it is there; `knowledge` and `log` are only read then."""
    if file.is_file():
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_name(f"{file.name}.{os.getpid()}.part")
    partial.unlink(missing_ok=True)
    base = knowledge() or Knowledge({})
    with sqlite3.connect(partial) as db:
        db.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {TABLES}")
        for number, (kind, names) in enumerate(sorted(base.types.items(), key=lambda item: item[0])):
            db.execute("INSERT INTO types VALUES (?, ?, ?, ?)", (number, kind.domain, kind.name, len(names)))
            rows = sorted((number, crc32(name.encode()), name) for name in names)
            db.executemany("INSERT INTO ordered VALUES (?, ?, ?)", rows)
        db.execute("INSERT INTO names SELECT name, type FROM ordered ORDER BY name, type")
        db.executemany("INSERT INTO lengths VALUES (?, ?)", sorted(base.names.lengths.items()))
        if log is not None:
            for host, queries in queries_by_host(log(), base.names):
                db.executemany(
                    "INSERT INTO queries VALUES (?, ?, ?)", ((host, n, query) for n, query in enumerate(queries))
                )
    db.close()
    partial.replace(file)


@cache
def open_shared(file: Path) -> SharedQueries:
    """What `prepare` wrote, opened once for this process."""
    return SharedQueries(file)


class SharedQueries:
    """The prepared file; another process that gets it opens it there."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._db = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True, check_same_thread=False)
        self._db.execute(f"PRAGMA mmap_size = {MAPPED_BYTES}")
        self.length_of = lru_cache(REMEMBERED)(self._length_of)
        self.types_of = lru_cache(REMEMBERED)(self._types_of)

    def __reduce__(self) -> tuple[Callable[[Path], SharedQueries], tuple[Path]]:
        return open_shared, (self.file,)

    @cached_property
    def types(self) -> dict[Type, int]:
        """The types of the knowledge base, with their numbers."""
        return {
            Type(domain, name): number
            for number, domain, name in self._db.execute("SELECT id, domain, name FROM types")
        }

    def queries(self, host: str) -> tuple[str, ...]:
        """The queries of the log that led people to a host, the most clicked first."""
        found = self._db.execute("SELECT query FROM queries WHERE host = ? ORDER BY number", (host,))
        return tuple(str(query) for (query,) in found)

    def knowledge(self, digest: str) -> Knowledge | None:
        """The knowledge base; None where there is none in it."""
        return SharedKnowledge(self, digest) if self.types else None

    def names_of(self, number: int) -> Iterator[str]:
        """The names of a type."""
        for (name,) in self._db.execute("SELECT name FROM ordered WHERE type = ? ORDER BY crc, name", (number,)):
            yield str(name)

    def size_of(self, number: int) -> int:
        """How many names a type has."""
        return int(self._db.execute("SELECT size FROM types WHERE id = ?", (number,)).fetchone()[0])

    def _types_of(self, name: str) -> frozenset[int]:
        return frozenset(number for (number,) in self._db.execute("SELECT type FROM names WHERE name = ?", (name,)))

    def _length_of(self, word: str) -> int:
        found = self._db.execute("SELECT length FROM lengths WHERE word = ?", (word,)).fetchone()
        return int(found[0]) if found else 0


class SharedNames(Set[str]):
    """The names of some types in the file."""

    def __init__(self, shared: SharedQueries, numbers: Iterable[int]) -> None:
        self._shared, self._numbers = shared, frozenset(numbers)

    def __contains__(self, name: object) -> bool:
        return not self._numbers.isdisjoint(self._shared.types_of(str(name)))

    def __iter__(self) -> Iterator[str]:
        for number in sorted(self._numbers):
            yield from self._shared.names_of(number)

    def __len__(self) -> int:
        return sum(map(self._shared.size_of, self._numbers))


class SharedKnowledge(Knowledge):
    """A knowledge base in the file."""

    def __init__(self, shared: SharedQueries, digest: str) -> None:
        super().__init__({kind: SharedNames(shared, [number]) for kind, number in shared.types.items()}, digest=digest)
        object.__setattr__(self, "_shared", shared)

    def __reduce__(self) -> tuple[type[SharedKnowledge], tuple[SharedQueries, str]]:
        return SharedKnowledge, (self.__dict__["_shared"], self.digest)

    @cached_property
    def names(self) -> Names:
        """All names, to find mentions with."""
        shared: SharedQueries = self.__dict__["_shared"]
        return Names.kept_elsewhere(SharedNames(shared, shared.types.values()), shared.length_of)
