"""Records as a table: Parquet, CSV, JSON Lines, or SQLite with full-text search, as Datasette opens it."""

import csv
import datetime
import json
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq

from upwell.errors import WrongUsage

__all__ = ["FORMATS", "Format", "read_keys", "write"]

Format = Literal["parquet", "csv", "jsonl", "sqlite"]
FORMATS: tuple[Format, ...] = ("parquet", "csv", "jsonl", "sqlite")


def write(found: Iterable[Mapping[str, object]], folder: Path, kind: Format = "parquet") -> Path:
    """Writes `records.<kind>`; the columns are all that any row has, in order of first appearance."""
    if kind not in FORMATS:
        raise WrongUsage(f"format {kind!r} is none of {', '.join(FORMATS)}")
    rows = list(found)
    path, partial = folder / f"records.{kind}", folder / f".records.{kind}.part"
    columns = list(dict.fromkeys(name for row in rows for name in row))
    if kind == "parquet":
        table = pa.table({name: pa.array([row.get(name) for row in rows]) for name in columns})
        pq.write_table(table, partial, compression="zstd")
    elif kind == "csv":
        with partial.open("w", encoding="utf-8", newline="") as out:
            writer = csv.DictWriter(out, columns)
            writer.writeheader()
            writer.writerows(rows)
    elif kind == "sqlite":
        _write_sqlite(rows, columns, partial)
    else:
        with partial.open("w", encoding="utf-8") as out:
            out.writelines(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows)
    partial.replace(path)  # a reader sees the old table or the new one, never half of one
    return path


def _write_sqlite(rows: list[Mapping[str, object]], columns: list[str], path: Path) -> None:
    """The table `records`, and `records_fts` over its fields, kept apart by an external-content index (SQLite FTS5 §4.4.3)."""
    path.unlink(missing_ok=True)
    names = _distinct(columns)
    fields = [name for name in names if not name.startswith("_")]
    quoted = ", ".join(_quoted(name) for name in names)
    with closing(sqlite3.connect(path)) as db:
        key = _quoted("_key")
        db.execute(
            f"CREATE TABLE records ({', '.join(_quoted(n) + (' PRIMARY KEY' if n == '_key' else '') for n in names)})"
        )
        places = ", ".join("?" * len(names))
        values = ([_cell(row.get(column)) for column in columns] for row in rows)
        db.executemany(f"INSERT OR REPLACE INTO records ({quoted}) VALUES ({places})", values)  # noqa: S608 # names are quoted
        if fields:
            listed = ", ".join(_quoted(name) for name in fields)
            db.execute(f"CREATE VIRTUAL TABLE records_fts USING fts5({listed}, content=records)")
            db.execute("INSERT INTO records_fts (records_fts) VALUES ('rebuild')")
        db.execute(f"CREATE INDEX IF NOT EXISTS records_by_key ON records ({key})")
        db.commit()


def _distinct(columns: list[str]) -> list[str]:
    """Names that SQLite, for which case does not count, can tell apart."""
    taken: dict[str, int] = {}
    found = []
    for name in columns:
        taken[name.lower()] = taken.get(name.lower(), 0) + 1
        found.append(name if taken[name.lower()] == 1 else f"{name}_{taken[name.lower()]}")
    return found


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _cell(value: object) -> object:
    if isinstance(value, datetime.date):
        return value.isoformat()
    return value if value is None or isinstance(value, int | float | str) else json.dumps(value, ensure_ascii=False)


def read_keys(path: Path) -> list[str]:
    """The keys of a written table."""
    if path.suffix == ".sqlite":
        with closing(sqlite3.connect(path)) as db:
            return [str(key) for (key,) in db.execute("SELECT _key FROM records")]
    if path.suffix == ".parquet":
        return [str(key) for key in pq.read_table(path, columns=["_key"])["_key"].to_pylist()]
    with path.open(encoding="utf-8", newline="") as table:
        rows = csv.DictReader(table) if path.suffix == ".csv" else map(json.loads, table)
        return [str(row["_key"]) for row in rows]
