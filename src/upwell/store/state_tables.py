"""The tables of a harvest's state, described once for SQLite and PostgreSQL, and how those of older versions become the newest."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from upwell.store.database import Connection

__all__ = [
    "ADDED_COLUMNS",
    "CORRECTED",
    "TABLES",
    "VERSION",
    "Table",
    "delete_trailing_errors",
    "forget_records",
    "rows_that_asked",
    "set_note",
]

CORRECTED = "corrected"  # the note with the source models that a person has put right
VERSION = 3


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table: its columns with SQLite's types in their order, its primary key, and whether `rowid` tells the order of its rows."""

    name: str
    columns: Mapping[str, str]
    key: tuple[str, ...]
    is_in_order: bool = False
    index: tuple[str, ...] = ()


TABLES = (
    Table(name="about", columns={"name": "TEXT", "value": "TEXT"}, key=("name",)),
    Table(
        name="outcomes",
        columns={
            "id": "INTEGER", "run": "INTEGER", "request": "TEXT", "head": "TEXT", "body": "BLOB", "error": "TEXT", "sent": "INTEGER",
            "bytes": "INTEGER", "at": "REAL", "archive_file": "TEXT", "archive_offset": "INTEGER", "archive_digest": "TEXT",
        },
        key=("id",),
        index=("run", "request"),
    ),
    Table(
        name="records",
        columns={"key": "TEXT", "row": "TEXT", "seen": "INTEGER", "first": "INTEGER", "last": "INTEGER"},
        key=("key",),
        is_in_order=True,
    ),
    Table(
        name="sights",
        columns={"key": "TEXT", "run": "INTEGER", "query": "TEXT", "page": "TEXT"},
        key=("key", "run", "query", "page"),
    ),
    Table(name="details", columns={"key": "TEXT", "row": "TEXT", "run": "INTEGER"}, key=("key",)),
    Table(
        name="varying",
        columns={"source": "TEXT", "name": "TEXT", "alike": "INTEGER", "other": "INTEGER"},
        key=("source", "name"),
    ),
    Table(name="history", columns={"key": "TEXT", "run": "INTEGER", "row": "TEXT"}, key=("key", "run")),
)  # fmt: skip
ADDED_COLUMNS = {  # from each older version to the next one: table, column, type
    1: (
        ("outcomes", "archive_file", "TEXT"),
        ("outcomes", "archive_offset", "INTEGER"),
        ("outcomes", "archive_digest", "TEXT"),
    ),
    2: (),  # a column of PostgreSQL's own table of sites
}
OUTCOMES_AT_ONCE = 50  # that are read from the end, until one is an answer


def set_note(db: Connection, name: str, value: str) -> None:
    """Stores a note under a name."""
    db.execute("INSERT INTO about VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", (name, value))


def forget_records(db: Connection) -> None:
    """Forgets all records and that anything was finished; what requests brought stays, so that it can be read anew."""
    for table in ("records", "sights", "details", "history", "varying"):
        db.execute(f"DELETE FROM {table}")  # noqa: S608 # the names above
    set_note(db, "finished", "")


def delete_trailing_errors(db: Connection) -> None:
    """Forgets the errors after the last answer: they may be why the harvest ended, so their requests are sent again.

    Answers that say "not now" (429, 5xx) are such errors.
    """
    while True:
        last = db.execute(
            "SELECT id, error, head FROM outcomes ORDER BY id DESC LIMIT ?", (OUTCOMES_AT_ONCE,)
        ).fetchall()
        failed = list(_until_answer(last))
        for outcome_id in failed:
            db.execute("DELETE FROM outcomes WHERE id = ?", (outcome_id,))
        if len(failed) < OUTCOMES_AT_ONCE:
            return


def _until_answer(outcomes: Iterable[tuple[int, str | None, str | None]]) -> Iterable[int]:
    """The outcomes before the first that is an answer."""
    for outcome_id, error, head in outcomes:
        try:
            status = json.loads(head or "{}").get("status", 0)
        except ValueError:
            status = 0  # a damaged answer is asked again when it is replayed
        if not error and status != 429 and status < 500:
            return
        yield outcome_id


def rows_that_asked(db: Connection, rows_of_query: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """For each record the rows of another harvest whose values brought it; `rows_of_query` has the keys of those rows for each query."""
    found: dict[str, dict[str, None]] = {}
    sights = db.execute("SELECT DISTINCT key, query FROM sights ORDER BY key, query") if rows_of_query else ()
    for key, query in sights:
        for row in rows_of_query.get(query, ()):
            found.setdefault(key, {})[row] = None
    return {key: list(rows) for key, rows in found.items()}
