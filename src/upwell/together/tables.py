"""A table in memory: Parquet, CSV, TSV, JSON Lines, SQLite, DuckDB, or the table in the folder of a harvest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from upwell.errors import MissingExtra, WrongUsage
from upwell.store import tables
from upwell.store.remote import local_copy
from upwell.together.values import Key

if TYPE_CHECKING:
    import pyarrow

__all__ = ["KEY", "Key", "Table", "read_table", "table_of_rows", "text_of"]

KEY = "_key"  # the column that names a row; the others that begin so say where it came from


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """The rows of one source by column; `columns` has the fields only, all lists are as long as `keys`."""

    name: str
    keys: Sequence[Key]  # the value of `_key`, else the number of the row, from 0
    columns: Mapping[str, Sequence[object]]  # None where a row has no value
    skipped: int = 0  # lines that could not be read
    names: Mapping[str, str] = field(default_factory=dict)  # of columns that are called otherwise than in `columns`

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def texts(self) -> Mapping[str, Sequence[str]]:
        """The columns as texts; "" where a row has no value."""
        return {name: [text_of(value) for value in values] for name, values in self.columns.items()}

    def row(self, number: int) -> dict[str, object]:
        """One row, without the values that it does not have."""
        return {name: values[number] for name, values in self.columns.items() if values[number] is not None}

    def arrow(self) -> pyarrow.Table:
        """The table as Arrow, with its keys; a column whose values are not of one type has texts."""
        try:
            import pyarrow
        except ModuleNotFoundError as error:
            raise MissingExtra("an Arrow table needs pyarrow: pip install 'upwell[arrow]'") from error
        found = {KEY: pyarrow.array(list(self.keys))}
        for name, values in self.columns.items():
            try:
                found[name] = pyarrow.array(list(values))
            except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError, OverflowError):
                found[name] = pyarrow.array([None if value is None else text_of(value) for value in values])
        return pyarrow.table(found)


def read_table(place: str | Path, name: str = "") -> Table:
    """The table at a place; it is called after its file, or after the folder of its harvest."""
    path = tables.table_of(local_copy(place, with_archive=False))
    named_after = path.parent if path.name.startswith("records") else path
    rows, skipped = [], 0
    for row in tables.values(path):
        if row is None:
            skipped += 1
        else:
            rows.append(row)
    if skipped and not rows:
        raise WrongUsage(f"{path} has no line that is a row: {skipped} cannot be read; JSON Lines has an object a line")
    return table_of_rows(rows, name or named_after.name.removesuffix(".gz").rsplit(".", 1)[0], skipped=skipped)


def table_of_rows(rows: Sequence[Mapping[str, object]], name: str, *, skipped: int = 0) -> Table:
    """A table of rows that are at hand; columns that begin with _ are no fields, and those without any value are left out."""
    columns: dict[str, list[object]] = {}
    for number, row in enumerate(rows):
        for column, value in row.items():
            if not column.startswith("_") and value is not None and value != "" and value != []:
                columns.setdefault(column, [None] * len(rows))[number] = value
    keys = [_key(row.get(KEY), number) for number, row in enumerate(rows)]
    return Table(name=name, keys=keys, columns=columns, skipped=skipped)


def _key(value: object, number: int) -> Key:
    if value is None or value == "":
        return number
    return value if isinstance(value, int) else str(value)


def text_of(value: object) -> str:
    """A value as a text; several values are joined.

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
