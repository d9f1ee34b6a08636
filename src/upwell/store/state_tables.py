"""The tables of a harvest's state, and how those of older versions become the newest."""

import sqlite3
from collections.abc import Mapping, Sequence

__all__ = ["TABLES", "UPGRADES", "VERSION", "delete_trailing_errors", "rows_that_asked"]

VERSION = 2
TABLES = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS outcomes (
    id INTEGER PRIMARY KEY, run INTEGER, request TEXT, head TEXT, body BLOB, error TEXT, sent INTEGER, bytes INTEGER,
    at REAL, archive_file TEXT, archive_offset INTEGER, archive_digest TEXT);
CREATE INDEX IF NOT EXISTS outcomes_by_request ON outcomes (run, request);
CREATE TABLE IF NOT EXISTS records (key TEXT PRIMARY KEY, row TEXT, seen INTEGER, first INTEGER, last INTEGER);
CREATE TABLE IF NOT EXISTS sights (key TEXT, run INTEGER, query TEXT, page TEXT, PRIMARY KEY (key, run, query, page)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS details (key TEXT PRIMARY KEY, row TEXT, run INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS varying (source TEXT, name TEXT, alike INTEGER, other INTEGER, PRIMARY KEY (source, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS history (key TEXT, run INTEGER, row TEXT, PRIMARY KEY (key, run)) WITHOUT ROWID;
"""
UPGRADES = {  # from each older version to the next one
    1: """
ALTER TABLE outcomes ADD COLUMN archive_file TEXT;
ALTER TABLE outcomes ADD COLUMN archive_offset INTEGER;
ALTER TABLE outcomes ADD COLUMN archive_digest TEXT;
""",
}


def delete_trailing_errors(db: sqlite3.Connection) -> None:
    """Forgets the errors after the last answer: they may be why the harvest ended, so their requests are sent again.

    Answers that say "not now" (429, 5xx) are such errors.
    """
    failed = "(error != '' OR json_extract(head, '$.status') = 429 OR json_extract(head, '$.status') >= 500)"
    db.execute(f"DELETE FROM outcomes WHERE id > (SELECT COALESCE(MAX(id), 0) FROM outcomes WHERE NOT {failed})")  # noqa: S608 # the text above


def rows_that_asked(db: sqlite3.Connection, rows_of_query: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """For each record the rows of another harvest whose values brought it; `rows_of_query` has the keys of those rows for each query."""
    found: dict[str, dict[str, None]] = {}
    sights = db.execute("SELECT DISTINCT key, query FROM sights ORDER BY key, query") if rows_of_query else ()
    for key, query in sights:
        for row in rows_of_query.get(query, ()):
            found.setdefault(key, {})[row] = None
    return {key: list(rows) for key, rows in found.items()}
