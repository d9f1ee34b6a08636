"""How records are put into the state of a harvest, and what is noticed when they are seen again."""

import json
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from upwell.model import Record

__all__ = ["add_records", "row_of", "varying_fields"]

# A field depends on the query if it said something else in this share of the sights by another query, and not just by chance.
VARYING_SHARE = 0.2
MIN_VARIED = 3


def add_records(
    db: sqlite3.Connection, run: int, records: Sequence[Record], origin: Mapping[str, object], asked: str
) -> list[bool]:
    """Adds the records of one page of an answer; says of each whether its key is new."""
    again: Counter[tuple[str, bool]] = Counter()  # fields that another query shows again, and whether they say the same
    are_new = [_add(db, run, record, origin, asked, again) for record in records]
    names = sorted({name for name, _ in again})
    db.executemany(
        "INSERT INTO varying VALUES (?, ?, ?, ?) "
        "ON CONFLICT DO UPDATE SET alike = alike + excluded.alike, other = other + excluded.other",
        [(origin["_source"], name, again[name, True], again[name, False]) for name in names],
    )
    return are_new


def _add(
    db: sqlite3.Connection,
    run: int,
    record: Record,
    origin: Mapping[str, object],
    asked: str,
    again: Counter[tuple[str, bool]],
) -> bool:
    sight = (record.key, run, asked, origin["_page"])
    is_new_sight = db.execute("INSERT OR IGNORE INTO sights VALUES (?, ?, ?, ?)", sight).rowcount > 0
    held = db.execute("SELECT row, last FROM records WHERE key = ?", (record.key,)).fetchone()
    if held is None:
        row = {"_key": record.key, "_url": record.url, "_path": record.path, **origin, **record.fields}
        db.execute(
            "INSERT INTO records VALUES (?, ?, 1, ?, ?)", (record.key, json.dumps(row, ensure_ascii=False), run, run)
        )
        return True
    row, last_run = row_of(held[0]) or {}, int(held[1])
    old_fields, new_fields = {name for name in row if not name.startswith("_")}, set(record.fields)
    # With fewer fields in common it is another kind of page about the record, not a newer version of the same one.
    is_same_kind = 2 * len(old_fields & new_fields) >= len(old_fields | new_fields)
    is_update = last_run < run and is_same_kind
    merged = {**row, **record.fields} if is_update else {**record.fields, **row}
    if is_update and merged != row:
        db.execute("INSERT OR IGNORE INTO history VALUES (?, ?, ?)", (record.key, run, held[0]))
    if is_new_sight and last_run == run and row.get("_query") != origin["_query"]:
        again.update((name, row[name] == record.fields[name]) for name in old_fields & new_fields)
    if is_new_sight or merged != row:
        db.execute(
            "UPDATE records SET row = ?, seen = seen + ?, last = ? WHERE key = ?",
            (json.dumps(merged, ensure_ascii=False), is_new_sight, run, record.key),
        )
    return False


def varying_fields(db: sqlite3.Connection) -> dict[str, set[str]]:
    """By source: the fields that say something else of a record when another query brings it."""
    fields: dict[str, set[str]] = {}
    for source, name, alike, other in db.execute("SELECT * FROM varying ORDER BY source, name"):
        if other >= MIN_VARIED and other >= VARYING_SHARE * (alike + other):
            fields.setdefault(source, set()).add(name)
    return fields


def row_of(text: str | None) -> dict[str, Any] | None:
    """A row as it was stored; None where it is damaged."""
    try:
        row = json.loads(text or "")
    except ValueError:
        return None
    return row if isinstance(row, dict) else None
