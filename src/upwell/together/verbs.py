"""The verbs of this room, by places; what they need is loaded when they are called."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from upwell.errors import MissingExtra

if TYPE_CHECKING:
    from upwell.store.records import Format
    from upwell.together.tables import Table
    from upwell.together.values import ColumnPairs, Comparison, Pair

__all__ = ["compare", "match", "match_columns"]


def match(a: str | Path | Table, b: str | Path | Table) -> Iterator[Pair]:
    """Which rows of two tables are the same thing, most probable first: Parquet, CSV, JSON Lines, SQLite, DuckDB, or folders of harvests.

    Rows are named by their `_key`, or by their number from 0; no labels and no settings are needed.
    """
    _need_matching()
    from upwell.together.match import match as match_tables

    return match_tables(*_tables(a, b))


def match_columns(a: str | Path | Table, b: str | Path | Table) -> ColumnPairs:
    """Which columns of two tables mean the same: by values, types, probable matches and names."""
    _need_matching()
    from upwell.together.columns import align_two
    from upwell.together.values import ColumnPairs

    return ColumnPairs(tuple(align_two(*_tables(a, b))))


def compare(*places: str | Path | Table, out: str | Path | None = None, format: Format = "parquet") -> Comparison:
    """Compares 2 to 20 tables or harvests: what is in which source, where they differ, how large the whole field is.

    With `out` a table with a row for each thing and a report (`compared.html`) are written into that folder.
    """
    _need_matching()
    from upwell.together.compare import compare as compare_tables

    return compare_tables(places, out=out, format=format)


def _tables(a: str | Path | Table, b: str | Path | Table) -> tuple[Table, Table]:
    from upwell.together.tables import Table, read_table

    first, second = (place if isinstance(place, Table) else read_table(place) for place in (a, b))
    return first, second


def _need_matching() -> None:
    """Raises MissingExtra where what matching needs is not installed."""
    try:
        import rapidfuzz  # noqa: F401 # only whether it is there
        import scipy  # noqa: F401 # only whether it is there
    except ModuleNotFoundError as error:
        raise MissingExtra(f"matching needs {error.name}: pip install 'upwell[matching]'") from error
