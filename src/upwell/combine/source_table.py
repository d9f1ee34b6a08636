"""Table of one source in memory, read from Parquet, CSV, TSV, JSON Lines, SQLite, DuckDB or the folder of a harvest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from upwell.combine.match_results import RowKey
from upwell.errors import MissingExtra, WrongUsage
from upwell.store.remote import local_copy
from upwell.table import readers

if TYPE_CHECKING:
    import pyarrow

__all__ = ["KEY_COLUMN", "RowKey", "SourceTable", "read_table", "table_of_rows", "text_of"]

KEY_COLUMN = "_key"  # column with the key of a row; other columns that begin with _ are metadata


@dataclass(frozen=True, kw_only=True, eq=False)
class SourceTable:
    """Rows of one source, stored by column. `columns` contains only the fields; every list is as long as `keys`."""

    name: str
    keys: Sequence[RowKey]  # value of `_key`, else the row number, from 0
    columns: Mapping[str, Sequence[object]]  # None if a row has no value
    skipped: int = 0  # unreadable lines
    labels: Mapping[str, str] = field(
        default_factory=dict
    )  # column → name to compare by, if it is not the column's own

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def texts(self) -> Mapping[str, Sequence[str]]:
        """Return the columns as text; "" if a row has no value."""
        return {name: [text_of(value) for value in values] for name, values in self.columns.items()}

    def row(self, number: int) -> dict[str, object]:
        """Return one row as a dictionary without missing values."""
        return {name: values[number] for name, values in self.columns.items() if values[number] is not None}

    def arrow(self) -> pyarrow.Table:
        """Return the table, with its keys, as an Arrow table; columns with mixed types become text."""
        try:
            import pyarrow
        except ModuleNotFoundError as error:
            raise MissingExtra("an Arrow table needs pyarrow: pip install 'upwell[arrow]'") from error
        arrays = {KEY_COLUMN: pyarrow.array(list(self.keys))}
        for name, values in self.columns.items():
            try:
                arrays[name] = pyarrow.array(list(values))
            except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, OverflowError):
                arrays[name] = pyarrow.array([None if value is None else text_of(value) for value in values])
        return pyarrow.table(arrays)


def read_table(place: str | Path, name: str = "") -> SourceTable:
    """Read a table; its name is that of the file, or of the harvest's folder."""
    path = readers.table_path(local_copy(place, with_archive=False))
    named_after = path.parent if path.name.startswith("records") else path
    rows, skipped = [], 0
    for row in readers.read_values(path):
        if row is None:
            skipped += 1
        else:
            rows.append(row)
    if skipped and not rows:
        raise WrongUsage(
            f"{path} has no readable row ({skipped} lines skipped); a JSON Lines file needs one object per line"
        )
    return table_of_rows(rows, name or named_after.name.removesuffix(".gz").rsplit(".", 1)[0], skipped=skipped)


def table_of_rows(rows: Sequence[Mapping[str, object]], name: str, *, skipped: int = 0) -> SourceTable:
    """Build a table from rows in memory; columns that begin with _ are not fields, columns without values are left out."""
    columns: dict[str, list[object]] = {}
    for number, row in enumerate(rows):
        for column, value in row.items():
            if not column.startswith("_") and value is not None and value != "" and value != []:
                columns.setdefault(column, [None] * len(rows))[number] = value
    keys = [_key(row.get(KEY_COLUMN), number) for number, row in enumerate(rows)]
    return SourceTable(name=name, keys=keys, columns=columns, skipped=skipped)


def _key(value: object, number: int) -> RowKey:
    if value is None or value == "":
        return number
    return value if isinstance(value, int) else str(value)


def text_of(value: object) -> str:
    """Return a value as text; several values are joined.

    >>> text_of(["a", "b"]), text_of(None), text_of(3)
    ('a; b', '', '3')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return "; ".join(map(text_of, value))
    if isinstance(value, dict):
        return "; ".join(map(text_of, value.values()))
    return "" if value is None else str(value)
