"""Convert texts to typed values: numbers, prices, dates and booleans if all texts of a column are convertible without loss.

A day that could be a month, or a number that starts with 0, stays text. `ColumnParser` types the tables of a harvest; `FixedSchema` is inferred
from a sample and then applied to single rows in several processes, so that all parts have the same schema.
"""

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from upwell.records.values import (
    BOOLEANS,
    MAX_PARSED_CHARS,
    DateReader,
    ValueType,
    date_reader,
    lossless_value,
    parse_value,
    split_unit,
)
from upwell.table.rows import InMemoryRows
from upwell.table.schema import OTHER, TableColumn

__all__ = ["ColumnParser", "FixedSchema", "fixed_schema", "forced_value", "typed_fields", "types_of", "with_types"]

#
# Nothing is guessed and nothing is lost: a day that could be a month, or a number that begins with 0, stays text.

CURRENCY_SUFFIX = "_currency"  # prices in `cost` have their currencies in `cost_currency` if there are several
UNIT_SUFFIX = "_unit"
MAX_REJECTED = 3  # examples of texts that do not have the type that the user chose


def types_of(rows: Iterable[Mapping[str, Any]], columns: Sequence[TableColumn]) -> dict[str, str]:
    """Return the type of each column for the summary; a price column with a single currency names it."""
    values = ColumnParser(columns)
    for row in rows:
        values.add_currencies(row)
    return values.types()


def with_types(rows: Iterable[Mapping[str, Any]], columns: Sequence[TableColumn]) -> Iterator[dict[str, object]]:
    """Return the rows with typed values."""
    rows = list(rows)
    values = ColumnParser(columns, {column.name: [row.get(column.name) for row in rows] for column in columns})
    for row in rows:
        values.add_currencies(row)
    return map(values.parse, rows)


class ColumnParser:
    """Converter of a table's texts to values; `texts` determine the date formats, and all rows the currencies."""

    def __init__(self, columns: Sequence[TableColumn], texts: Mapping[str, Iterable[Any]] | None = None) -> None:
        self.columns = list(columns)
        self._readers = {
            column.name: date_reader(_distinct((texts or {}).get(column.name, ())))
            for column in columns
            if column.type in ("date", "datetime")
        }
        self._currencies = {column.name: set[str]() for column in columns if column.type == "price"}
        self.rejected: dict[
            str, list[str]
        ] = {}  # by column whose type the user chose: examples of texts that are left empty
        self._by_name = {column.name: column for column in columns}

    def add_currencies(self, row: Mapping[str, Any]) -> None:
        """Collect the currencies in a row."""
        for name, currencies in self._currencies.items():
            if row.get(name) and isinstance(price := parse_value(str(row[name]), "price"), dict):
                currencies.add(str(price["currency"] or ""))

    def add_currencies_of(self, texts: Mapping[str, Iterable[Any]]) -> None:
        """Collect the currencies of all rows."""
        for name in self._currencies:
            for text in _distinct(texts.get(name, ())):
                self.add_currencies({name: text})

    def check(self, row: Mapping[str, Any]) -> None:
        """Turn a column into text if this row has a value that does not fit its type, which was inferred from a sample."""
        for number, column in enumerate(self.columns):
            text = row.get(column.name)
            if column.is_forced:
                continue  # texts of another type become empty
            if column.type not in ("text", "url", "image") and isinstance(text, str) and not self._fits(column, text):
                self.columns[number] = self._by_name[column.name] = replace(column, type="text", unit="")
                self._currencies.pop(column.name, None)

    def _fits(self, column: TableColumn, text: str) -> bool:
        """Return True if a text can be replaced by a value of its column's type without loss."""
        if column.type == "boolean":
            return any(text.strip().lower() in pair for pair in BOOLEANS)
        if column.type in ("date", "datetime"):
            reader = self._readers.get(column.name)
            return reader is not None and reader.read(text) is not None
        number, unit = (split_unit(text) or (text, "")) if column.unit else (text, "")
        has_unit = unit == column.unit or (column.unit == "…" and unit != "")
        return has_unit and not isinstance(lossless_value(number, column.type), str)

    def types(self) -> dict[str, str]:
        """Return the type of each column; a price column with a single currency names it."""
        types = {
            column.name: f"list of {column.type}" if column.is_list else str(column.type)
            for column in self.columns
            if not column.drop
        }
        return types | {
            name: f"price ({min(currencies)})" for name, currencies in self._currencies.items() if len(currencies) == 1
        }

    def names(self) -> list[str]:
        """Return the columns of the typed rows."""
        suffixes = {column.name: UNIT_SUFFIX for column in self.columns if column.unit == "…"}
        suffixes |= {name: CURRENCY_SUFFIX for name, currencies in self._currencies.items() if len(currencies) > 1}
        shown = [column.name for column in self.columns if not column.drop]
        return [part for name in shown for part in (name, *([name + suffixes[name]] if name in suffixes else []))]

    def parse(self, row: Mapping[str, Any]) -> dict[str, object]:
        """Return a row with typed values."""
        typed: dict[str, object] = {}
        for name, text in row.items():
            column = self._by_name.get(name)
            if column is None or not isinstance(text, str) or column.type in ("text", "url", "image"):
                typed[name] = text
            else:
                typed |= self._values(column, text)
        return typed

    def parse_columns(self, texts: Mapping[str, list[Any]], count: int) -> InMemoryRows:
        """Return rows with typed values from columns of texts; each distinct text is parsed once."""
        typed: dict[str, list[Any]] = {}
        companions: dict[str, str] = {}
        for name, cells in texts.items():
            column = self._by_name.get(name)
            typed[name] = cells
            if column is None or column.type in ("text", "url", "image"):
                continue
            values = {text: self._values(column, text) for text in _distinct(cells)}
            typed[name] = [values[cell][name] if isinstance(cell, str) else cell for cell in cells]
            for other in {other for parsed in values.values() for other in parsed if other != name}:
                typed[other] = [values[cell][other] if isinstance(cell, str) else None for cell in cells]
                companions[other] = name
        return InMemoryRows(typed, count, companions)

    def _values(self, column: TableColumn, text: str) -> dict[str, object]:
        """Return the value of a text, with its currency or unit if the column has several."""
        name = column.name
        if column.is_forced:
            value = forced_value(text, column.type, self._readers.get(name))
            if value is None and len(rejected := self.rejected.setdefault(name, [])) < MAX_REJECTED:
                rejected.append(text)
            if not isinstance(value, dict):
                return {name: value}
            has_several = len(self._currencies[name]) > 1
            return {name: value["amount"], **({name + CURRENCY_SUFFIX: value["currency"]} if has_several else {})}
        if column.type == "boolean":
            return {name: any(text.strip().lower() == yes for yes, _ in BOOLEANS)}
        if column.type in ("date", "datetime"):
            reader = self._readers.get(name)
            return {name: reader.read(text) if reader else None}
        if column.unit:
            number, unit = split_unit(text) or (text, "")
            values: dict[str, object] = {name: parse_value(number, column.type)}
            return values | {name + UNIT_SUFFIX: unit} if column.unit == "…" else values
        value = parse_value(text, column.type)
        if not isinstance(value, dict):
            return {name: value}
        has_several = len(self._currencies[name]) > 1
        return {name: value["amount"], **({name + CURRENCY_SUFFIX: value["currency"]} if has_several else {})}


def forced_value(text: str, kind: ValueType, reader: DateReader | None = None) -> object:
    """Return a text as a value of the type that the user chose; a number may have words around it. None if there is no such value.

    >>> forced_value("1999 edition", "integer"), forced_value("n/a", "integer"), forced_value("4 of 5", "decimal")
    (1999, None, None)
    """
    if kind in ("text", "url", "image"):
        return text
    if kind == "boolean":
        word = text.strip().lower()
        return next((word == yes for yes, no in BOOLEANS if word in (yes, no)), None)
    if kind in ("date", "datetime"):
        if reader is not None and (moment := reader.read(text)) is not None:
            return moment
        day = parse_value(text, "date")
        return datetime.date.fromisoformat(day) if isinstance(day, str) and kind == "date" else None
    value = parse_value(text, kind)
    if value is None and kind in ("integer", "decimal") and len(text) <= MAX_PARSED_CHARS:
        numbers = [word for word in text.split() if any(map(str.isdigit, word))]
        value = parse_value(numbers[0].strip(".,;:()"), kind) if len(numbers) == 1 else None
    return value


def _distinct(cells: Iterable[Any]) -> set[str]:
    """Return the distinct texts of a column."""
    return {cell for cell in cells if isinstance(cell, str)}


def typed_fields(fields: Mapping[str, str], types: Mapping[str, ValueType]) -> dict[str, object]:
    """Return the fields of a single record as values where that loses nothing; used before all texts of a column are known."""
    typed: dict[str, object] = {}
    for name, text in fields.items():
        kind = types.get(name, "text")
        value: object = text
        if kind in ("integer", "decimal", "price"):
            value = lossless_value(text, kind)
        elif kind == "date" and (reader := date_reader([text])) is not None:
            value = reader.read(text)
        if isinstance(value, dict):
            typed |= {name: value["amount"], name + CURRENCY_SUFFIX: value["currency"]}
        else:
            typed[name] = value
    return typed


SEVERAL_UNITS = "…"  # value of `TableColumn.unit` for several units
DUCKDB_TYPES = {"boolean": "BOOLEAN", "integer": "BIGINT", "decimal": "DOUBLE", "price": "DOUBLE"}


@dataclass(frozen=True, kw_only=True)
class FixedSchema:
    """Columns of a table inferred from a sample, and how their texts are parsed.

    Nothing is lost: fields without a column, and texts that do not fit their column's type, go to `_other` with their name.
    """

    columns: tuple[TableColumn, ...]
    constants: Mapping[str, str]  # fields without a column because they are constant in the sample
    readers: Mapping[str, DateReader]
    types: Mapping[str, str]  # DuckDB type of each column, in order

    def row(self, raw: Mapping[str, Any]) -> dict[str, object]:
        """Return a row as it is written."""
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


def fixed_schema(rows: Sequence[Mapping[str, Any]], columns: Sequence[TableColumn], own: Sequence[str]) -> FixedSchema:
    """Infer a fixed schema from a sample of rows; `own` are the columns that start with `_`."""
    columns = tuple(column for column in columns if not column.drop)
    seen: dict[str, set[str]] = {}
    for row in rows:
        for name, value in row.items():
            if value not in (None, "", []) and len(texts := seen.setdefault(name, set())) < 2:
                texts.add(_text(value))
    readers: dict[str, DateReader] = {}
    types = dict.fromkeys(own, "VARCHAR")
    for column in columns:
        kind = DUCKDB_TYPES.get(column.type, "VARCHAR")
        if column.type in ("date", "datetime"):
            texts = {_text(cell) for row in rows if (cell := column.cell(row))}
            if (reader := date_reader(texts)) is not None:
                readers[column.name] = reader
                kind = _date_type(reader, texts)
        types[column.name] = "VARCHAR[]" if column.is_list else kind
        if column.type == "price" and not column.is_list:
            types[column.name + CURRENCY_SUFFIX] = "VARCHAR"
        if column.unit == SEVERAL_UNITS:
            types[column.name + UNIT_SUFFIX] = "VARCHAR"
    constants = {name: next(iter(texts)) for name, texts in seen.items() if len(texts) == 1}
    return FixedSchema(columns=columns, constants=constants, readers=readers, types={**types, OTHER: "VARCHAR"})


def _date_type(reader: DateReader, texts: set[str]) -> str:
    if not reader.has_time:
        return "DATE"
    has_zone = all(getattr(reader.read(text), "tzinfo", None) for text in texts)
    return "TIMESTAMPTZ" if has_zone else "TIMESTAMP"


def _values(column: TableColumn, text: str, reader: DateReader | None) -> dict[str, object] | None:
    """Return the value of a text with its currency or unit; None if it does not fit the type or would lose something."""
    name, kind = column.name, column.type
    if kind == "boolean":
        word = text.strip().lower()
        known = {text for pair in BOOLEANS for text in pair}
        return {name: any(word == yes for yes, _ in BOOLEANS)} if word in known else None
    if kind in ("date", "datetime"):
        value: object = reader.read(text) if reader else text
        return None if value is None else {name: value}
    if kind not in DUCKDB_TYPES:
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
