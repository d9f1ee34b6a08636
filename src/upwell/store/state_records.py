"""How records are put into the state of a harvest, and what is noticed when they are seen again."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from upwell.model import Record
from upwell.store.database import Connection

__all__ = [
    "FoundRecords",
    "add_details",
    "add_records",
    "encode",
    "is_good_answer",
    "row_of",
    "rows_of",
    "varying_fields",
]

# A field depends on the query if it said something else in this share of the sights by another query, and not just by chance.
VARYING_SHARE = 0.2
encode = json.JSONEncoder(ensure_ascii=False).encode  # `json.dumps` makes an encoder for each row
MIN_VARIED = 3


@dataclass(frozen=True, slots=True)
class FoundRecords:
    """The records of one page of an answer, where they come from, and what a refresh asks again to see them."""

    records: Sequence[Record]
    origin: Mapping[str, object]
    asked: str


@dataclass(slots=True)
class _Held:
    """A record of the pages while they are added."""

    row: dict[str, Any]
    last_run: int
    text: str | None = None  # as it was stored; None if it was not held before
    new_sights: int = 0
    is_updated: bool = False  # it says something else than in an earlier run
    is_written: bool = True  # False as long as nothing is new


def add_records(db: Connection, run: int, pages: Sequence[FoundRecords]) -> list[bool]:
    """Adds the records of pages of answers, in their order; says of each record of the last page whether its key is new."""
    pages = [_without_nulls(page) for page in pages]
    keys = list(dict.fromkeys(record.key for page in pages for record in page.records))
    held = {
        key: _Held(row_of(text) or {}, int(last), text, is_written=False)
        for key, text, last in db.of_keys("SELECT key, row, last FROM records WHERE key = ?", keys)
    }
    sights = _known_sights(db, run, pages, held)
    new_sights: list[tuple[object, ...]] = []
    again: Counter[tuple[object, str, bool]] = (
        Counter()
    )  # fields that another query shows again: source, name, whether they say the same
    are_new: list[bool] = []
    for page in pages:
        origin, digest, are_new = page.origin, page.origin["_page"], []
        for record in page.records:
            key = record.key
            if is_new_sight := (sight := (key, run, page.asked, digest)) not in sights:
                sights.add(sight)
                new_sights.append(sight)
            are_new.append((one := held.get(key)) is None)
            if one is None:
                row = {"_key": key, "_url": record.url, "_path": record.path, **origin, **record.fields}
                held[key] = _Held(row, run, new_sights=1)
            else:
                _see_again(one, record, run, origin, is_new_sight, again)
    new_sights.sort()  # neighbours in the table are written together
    db.executemany("INSERT INTO sights VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", new_sights)
    _write(db, run, held)
    names = sorted({(source, name) for source, name, _ in again})
    db.executemany(
        "INSERT INTO varying VALUES (?, ?, ?, ?) ON CONFLICT (source, name) "
        "DO UPDATE SET alike = varying.alike + excluded.alike, other = varying.other + excluded.other",
        [(*name, again[*name, True], again[*name, False]) for name in names],
    )
    return are_new


def _without_nulls(page: FoundRecords) -> FoundRecords:
    """Records whose keys PostgreSQL can keep."""
    if not any("\0" in record.key for record in page.records):
        return page
    records = [replace(record, key=record.key.replace("\0", "\ufffd")) for record in page.records]
    return replace(page, records=records)


def _known_sights(
    db: Connection, run: int, pages: Sequence[FoundRecords], held: Mapping[str, _Held]
) -> set[tuple[object, ...]]:
    """The sights of pages that were added before, as in a replay: only records that are held have any."""
    known: set[tuple[object, ...]] = set()
    select = "SELECT key FROM sights WHERE run = ? AND query = ? AND page = ? AND key = ?"
    for page in pages:
        keys = list(dict.fromkeys(record.key for record in page.records if record.key in held))
        digest = page.origin["_page"]
        if keys:
            known.update((key, run, page.asked, digest) for (key,) in db.of_keys(select, keys, run, page.asked, digest))
    return known


def _see_again(
    held: _Held,
    record: Record,
    run: int,
    origin: Mapping[str, object],
    is_new_sight: bool,
    again: Counter[tuple[object, str, bool]],
) -> None:
    """Fills the gaps of a record that is held, or replaces what a later run finds changed."""
    row, fields = held.row, record.fields
    old_fields, new_fields = {name for name in row if not name.startswith("_")}, set(fields)
    # With fewer fields in common it is another kind of page about the record, not a newer version of the same one.
    is_same_kind = 2 * len(old_fields & new_fields) >= len(old_fields | new_fields)
    is_update = held.last_run < run and is_same_kind
    merged = {**row, **fields} if is_update else {**fields, **row}
    if is_new_sight and held.last_run == run and row.get("_query") != origin["_query"]:
        again.update((origin["_source"], name, row[name] == fields[name]) for name in old_fields & new_fields)
    held.is_updated = held.is_updated or (is_update and merged != row)
    if is_new_sight or merged != row:
        held.row, held.last_run, held.new_sights, held.is_written = merged, run, held.new_sights + is_new_sight, True


def _write(db: Connection, run: int, held: Mapping[str, _Held]) -> None:
    """Writes what is new of the records."""
    texts = {key: encode(one.row) for key, one in held.items() if one.is_written}
    db.executemany(
        "INSERT INTO records VALUES (?, ?, ?, ?, ?)",
        [(key, text, held[key].new_sights, run, run) for key, text in texts.items() if held[key].text is None],
    )
    db.executemany(
        "INSERT INTO history VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        [(key, run, one.text) for key, one in held.items() if one.is_updated],
    )
    db.executemany(
        "UPDATE records SET row = ?, seen = seen + ?, last = ? WHERE key = ?",
        [(text, held[key].new_sights, run, key) for key, text in texts.items() if held[key].text is not None],
    )


def add_details(db: Connection, run: int, key: str, fields: Mapping[str, object]) -> None:
    """Adds what the own page of a record says; what an earlier run stored otherwise goes to the history."""
    text = encode(dict(fields))
    before = db.execute("SELECT row, run FROM details WHERE key = ?", (key,)).fetchone()
    if before and before[1] < run and before[0] != text:
        db.execute(
            "INSERT INTO history SELECT key, ?, row FROM records WHERE key = ? ON CONFLICT DO NOTHING", (run, key)
        )
    db.execute(
        "INSERT INTO details VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET row = excluded.row, run = excluded.run",
        (key, text, run),
    )


def varying_fields(db: Connection) -> dict[str, set[str]]:
    """By source: the fields that say something else of a record when another query brings it."""
    fields: dict[str, set[str]] = {}
    for source, name, alike, other in db.execute(
        "SELECT source, name, alike, other FROM varying ORDER BY source, name"
    ):
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


def rows_of(texts: Sequence[str]) -> list[dict[str, Any] | None]:
    """Rows as they were stored; None for each that is damaged."""
    try:
        rows = json.loads(f"[{','.join(texts)}]")  # at once, which takes half as long
    except (ValueError, TypeError):
        rows = []
    is_whole = len(rows) == len(texts) and set(map(type, rows)) <= {dict}
    return rows if is_whole else list(map(row_of, texts))


def is_good_answer(head: str | None) -> bool:
    """Whether an answer is neither an error page nor a refusal."""
    if head is None:
        return False
    fields = json.loads(head)
    return bool(fields["status"] < 400 and not fields["blocked"])
