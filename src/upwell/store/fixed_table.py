"""A table whose columns were settled on a sample of its rows, for rows that come one by one, in several processes: all parts fit together.

Nothing is lost by it: what has no column, and a text that is no value of its column's type, stands in `_other`, with the name before it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from upwell.extract.dates import DateReader, reader_of
from upwell.extract.tidy import OTHER, TableColumn
from upwell.extract.values import BOOLEANS, lossless_value, split_unit
from upwell.store.typed import CURRENCY_SUFFIX, UNIT_SUFFIX

__all__ = ["FixedTable", "fixed_table"]

SEVERAL_UNITS = "…"  # as `TableColumn.unit` has it
TYPES = {"boolean": "BOOLEAN", "integer": "BIGINT", "decimal": "DOUBLE", "price": "DOUBLE"}


@dataclass(frozen=True, kw_only=True)
class FixedTable:
    """The columns of a table, and how their texts are read."""

    columns: tuple[TableColumn, ...]
    constants: Mapping[str, str]  # of names that are in no column because all rows of the sample say the same
    readers: Mapping[str, DateReader]
    types: Mapping[str, str]  # DuckDB's, of all columns in their order

    def row(self, raw: Mapping[str, Any]) -> dict[str, object]:
        """A row as it is written."""
        row: dict[str, object] = {name: value for name, value in raw.items() if name.startswith("_")}
        in_table = {name for column in self.columns for name in column.of}
        left = {
            name: _text(value)
            for name, value in raw.items()
            if name not in in_table and not name.startswith("_") and value not in (None, "", [])
        }
        left = {name: text for name, text in left.items() if self.constants.get(name) != text}
        for column in self.columns:
            cell = column.cell(raw)
            if column.is_list or cell is None:
                row[column.name] = cell
            elif (values := _values(column, _text(cell), self.readers.get(column.name))) is not None:
                row |= values
            else:
                left[column.name] = _text(cell)
        row[OTHER] = "; ".join(f"{name}: {text}" for name, text in sorted(left.items())) or None
        return row


def fixed_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[TableColumn], own: Sequence[str]) -> FixedTable:
    """The table of a sample of rows with these columns; `own` are the columns that begin with _."""
    columns = tuple(column for column in columns if not column.drop)
    seen: dict[str, set[str]] = {}
    for row in rows:
        for name, value in row.items():
            if value not in (None, "", []) and len(texts := seen.setdefault(name, set())) < 2:
                texts.add(_text(value))
    readers: dict[str, DateReader] = {}
    types = dict.fromkeys(own, "VARCHAR")
    for column in columns:
        kind = TYPES.get(column.type, "VARCHAR")
        if column.type in ("date", "datetime"):
            texts = {_text(cell) for row in rows if (cell := column.cell(row))}
            if (reader := reader_of(texts)) is not None:
                readers[column.name] = reader
                kind = _date_type(reader, texts)
        types[column.name] = "VARCHAR[]" if column.is_list else kind
        if column.type == "price" and not column.is_list:
            types[column.name + CURRENCY_SUFFIX] = "VARCHAR"
        if column.unit == SEVERAL_UNITS:
            types[column.name + UNIT_SUFFIX] = "VARCHAR"
    constants = {name: next(iter(texts)) for name, texts in seen.items() if len(texts) == 1}
    return FixedTable(columns=columns, constants=constants, readers=readers, types={**types, OTHER: "VARCHAR"})


def _date_type(reader: DateReader, texts: set[str]) -> str:
    if not reader.has_time:
        return "DATE"
    has_zone = all(getattr(reader.read(text), "tzinfo", None) for text in texts)
    return "TIMESTAMPTZ" if has_zone else "TIMESTAMP"


def _values(column: TableColumn, text: str, reader: DateReader | None) -> dict[str, object] | None:
    """The value of a text, with its currency or unit; None where it is no such value, or would lose something."""
    name, kind = column.name, column.type
    if kind == "boolean":
        word = text.strip().lower()
        known = {one for pair in BOOLEANS for one in pair}
        return {name: any(word == yes for yes, _ in BOOLEANS)} if word in known else None
    if kind in ("date", "datetime"):
        value: object = reader.read(text) if reader else text
        return None if value is None else {name: value}
    if kind not in TYPES:
        return {name: text}
    unit = ""
    if column.unit:
        text, unit = split_unit(text) or ("", "")
        if column.unit not in (unit, SEVERAL_UNITS):
            return None
    value = lossless_value(text, kind)
    if isinstance(value, dict):
        return {name: value["amount"], name + CURRENCY_SUFFIX: value["currency"]}
    if value is None or isinstance(value, str):
        return None
    return {name: value, name + UNIT_SUFFIX: unit} if column.unit == SEVERAL_UNITS else {name: value}


def _text(value: object) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)
