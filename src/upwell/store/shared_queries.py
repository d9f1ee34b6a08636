"""Knowledge base and query log of a run over many sites, written once to a memory-mapped SQLite file that all processes read.

    types      types of the knowledge base
    names      names and their types
    ordered    names by type, in the order in which they are used as queries
    lengths    for each first word, the length of the longest name that begins with it
    queries    queries of the log by host, most clicked first

Only frequent lookups are kept in memory.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Set
from functools import cache, cached_property, lru_cache
from pathlib import Path
from zlib import crc32

from upwell.papers.entity import EntityNames, EntityType, Knowledge, LogRow, queries_by_site

__all__ = ["SharedQueries", "files_digest", "open_shared_queries", "write_shared_queries"]

TABLES = """
CREATE TABLE types (id INTEGER PRIMARY KEY, domain TEXT, name TEXT, size INTEGER);
CREATE TABLE names (name TEXT, type INTEGER, PRIMARY KEY (name, type)) WITHOUT ROWID;
CREATE TABLE ordered (type INTEGER, crc INTEGER, name TEXT, PRIMARY KEY (type, crc, name)) WITHOUT ROWID;
CREATE TABLE lengths (word TEXT PRIMARY KEY, length INTEGER) WITHOUT ROWID;
CREATE TABLE queries (host TEXT, number INTEGER, query TEXT, PRIMARY KEY (host, number)) WITHOUT ROWID;
"""
MAPPED_BYTES = 2**40  # upper bound of the memory mapping: the whole file
CACHED_LOOKUPS = 2**16


def files_digest(*files: str | Path | None) -> str:
    """Return a digest that changes when the path, size or modification time of a file changes."""
    properties = [
        (str(Path(file).resolve()), Path(file).stat().st_size, Path(file).stat().st_mtime_ns) for file in files if file
    ]
    return hashlib.sha1(repr(properties).encode(), usedforsecurity=False).hexdigest()


def write_shared_queries(
    file: Path, knowledge: Callable[[], Knowledge | None], log: Callable[[], Iterable[LogRow]] | None
) -> None:
    """Write the file unless it exists; `knowledge` and `log` are called only then."""
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
            for host, queries in queries_by_site(log(), base.names):
                db.executemany(
                    "INSERT INTO queries VALUES (?, ?, ?)", ((host, n, query) for n, query in enumerate(queries))
                )
    db.close()
    partial.replace(file)


@cache
def open_shared_queries(file: Path) -> SharedQueries:
    """Open the file that `write_shared_queries` wrote, once per process."""
    return SharedQueries(file)


class SharedQueries:
    """Reader of the shared file; unpickling opens the file in the other process."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._db = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True, check_same_thread=False)
        self._db.execute(f"PRAGMA mmap_size = {MAPPED_BYTES}")
        self.length_of = lru_cache(CACHED_LOOKUPS)(self._length_of)
        self.types_of = lru_cache(CACHED_LOOKUPS)(self._types_of)

    def __reduce__(self) -> tuple[Callable[[Path], SharedQueries], tuple[Path]]:
        return open_shared_queries, (self.file,)

    @cached_property
    def types(self) -> dict[EntityType, int]:
        """Return the types of the knowledge base with their numbers."""
        return {
            EntityType(domain, name): number
            for number, domain, name in self._db.execute("SELECT id, domain, name FROM types")
        }

    def queries(self, host: str) -> tuple[str, ...]:
        """Return the queries of the log with clicks on a host, most clicked first."""
        rows = self._db.execute("SELECT query FROM queries WHERE host = ? ORDER BY number", (host,))
        return tuple(str(query) for (query,) in rows)

    def knowledge(self, digest: str) -> Knowledge | None:
        """Return the knowledge base, or None if the file has none."""
        return SharedKnowledge(self, digest) if self.types else None

    def names_of(self, number: int) -> Iterator[str]:
        """Yield the names of a type."""
        for (name,) in self._db.execute("SELECT name FROM ordered WHERE type = ? ORDER BY crc, name", (number,)):
            yield str(name)

    def size_of(self, number: int) -> int:
        """Return the number of names of a type."""
        return int(self._db.execute("SELECT size FROM types WHERE id = ?", (number,)).fetchone()[0])

    def _types_of(self, name: str) -> frozenset[int]:
        return frozenset(number for (number,) in self._db.execute("SELECT type FROM names WHERE name = ?", (name,)))

    def _length_of(self, word: str) -> int:
        row = self._db.execute("SELECT length FROM lengths WHERE word = ?", (word,)).fetchone()
        return int(row[0]) if row else 0


class SharedNames(Set[str]):
    """Set of the names of some types in the file."""

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
    """Knowledge base whose names stay in the file."""

    def __init__(self, shared: SharedQueries, digest: str) -> None:
        super().__init__({kind: SharedNames(shared, [number]) for kind, number in shared.types.items()}, digest=digest)
        object.__setattr__(self, "_shared", shared)

    def __reduce__(self) -> tuple[type[SharedKnowledge], tuple[SharedQueries, str]]:
        return SharedKnowledge, (self.__dict__["_shared"], self.digest)

    @cached_property
    def names(self) -> EntityNames:
        """Return all names, for finding mentions."""
        shared: SharedQueries = self.__dict__["_shared"]
        return EntityNames.from_lookup(SharedNames(shared, shared.types.values()), shared.length_of)
