"""Reads the user's tables (texts, query logs, knowledge bases): JSON Lines, TSV, CSV or Parquet, plain or gzip."""

import csv
import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from upwell.errors import WrongUsage
from upwell.store import parquet

__all__ = ["read"]


def read(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, ...] | None]:
    """The rows of a table with the named columns in their order; None for a line that cannot be read, so that the caller can count it.

    In TSV and CSV columns are taken by position, and a first line that holds only their names is skipped.
    """
    if not path.is_file():
        raise WrongUsage(f"{path} is no file")
    name = path.name.removesuffix(".gz")
    if name.endswith(".parquet"):
        yield from (tuple(map(_text, row)) for row in parquet.read(path, columns))
    elif name.endswith((".jsonl", ".json")):
        with _open(path) as lines:
            yield from (_json_row(line, columns) for line in lines if line.strip())
    elif name.endswith((".tsv", ".csv", ".txt")):
        with _open(path) as lines:
            rows = csv.reader(
                lines,
                delimiter="," if name.endswith(".csv") else "\t",
                quoting=csv.QUOTE_MINIMAL if name.endswith(".csv") else csv.QUOTE_NONE,
            )
            for number, row in enumerate(rows):
                if number == 0 and [cell.strip().lower() for cell in row] == list(columns):
                    continue
                yield tuple(row[: len(columns)]) if len(row) >= len(columns) else None
    else:
        raise WrongUsage(f"{path}: the name should end in .jsonl, .tsv, .csv or .parquet (.gz may follow)")


def _open(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", errors="replace", newline="")
    return path.open(encoding="utf-8", errors="replace", newline="")


def _json_row(line: str, columns: Sequence[str]) -> tuple[str, ...] | None:
    try:
        row = json.loads(line)
        return tuple(_text(row[c]) for c in columns)
    except (ValueError, KeyError, TypeError):
        return None


def _text(value: object) -> str:
    return "" if value is None else str(value)
