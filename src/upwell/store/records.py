"""Records as a table: Parquet, CSV or JSON Lines."""

import csv
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq

from upwell.errors import WrongUsage

__all__ = ["FORMATS", "Format", "read_keys", "write"]

Format = Literal["parquet", "csv", "jsonl"]
FORMATS: tuple[Format, ...] = ("parquet", "csv", "jsonl")


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
    else:
        with partial.open("w", encoding="utf-8") as out:
            out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    partial.replace(path)  # a reader sees the old table or the new one, never half of one
    return path


def read_keys(path: Path) -> list[str]:
    """The keys of a written table."""
    if path.suffix == ".parquet":
        return [str(key) for key in pq.read_table(path, columns=["_key"])["_key"].to_pylist()]
    with path.open(encoding="utf-8", newline="") as table:
        rows = csv.DictReader(table) if path.suffix == ".csv" else map(json.loads, table)
        return [str(row["_key"]) for row in rows]
