"""The rows of a table with types: numbers, prices, dates and yes or no where all texts of a column can be such, else the texts as they are.

Nothing is guessed and nothing is lost: a day that could be a month, or a number that begins with 0, stays text.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from upwell.extract.dates import reader_of
from upwell.extract.tidy import TableColumn
from upwell.extract.values import BOOLEANS, Type, lossless_value, parse_value, split_unit
from upwell.store.streamed_rows import HeldRows

__all__ = ["ColumnValues", "typed_columns", "typed_fields", "types_of", "with_types"]

CURRENCY_SUFFIX = (
    "_currency"  # the column of prices `cost` has its currencies in `cost_currency`, where there are several
)
UNIT_SUFFIX = "_unit"


def types_of(rows: Iterable[Mapping[str, Any]], columns: Sequence[TableColumn]) -> dict[str, str]:
    """What each column is, for the summary: its type, with the currency where all its prices have the same."""
    values = ColumnValues(columns)
    for row in rows:
        values.add_currencies(row)
    return values.types()


def with_types(rows: Iterable[Mapping[str, Any]], columns: Sequence[TableColumn]) -> Iterator[dict[str, object]]:
    """The rows with values in place of texts."""
    rows = list(rows)
    values = ColumnValues(columns, {column.name: [row.get(column.name) for row in rows] for column in columns})
    for row in rows:
        values.add_currencies(row)
    return map(values.of, rows)


def typed_columns(
    texts: Mapping[str, list[Any]], count: int, columns: Sequence[TableColumn]
) -> tuple[HeldRows, dict[str, str]]:
    """The same by column, of so many rows: the rows with values, and what each column is."""
    values = ColumnValues(columns, texts)
    values.add_currencies_of(texts)
    return values.of_columns(texts, count), values.types()


class ColumnValues:
    """How the texts of the columns of a table become values: `texts` say how dates are written, and all rows which currencies there are."""

    def __init__(self, columns: Sequence[TableColumn], texts: Mapping[str, Iterable[Any]] | None = None) -> None:
        self.columns = list(columns)
        self._readers = {
            column.name: reader_of(_different((texts or {}).get(column.name, ())))
            for column in columns
            if column.type in ("date", "datetime")
        }
        self._currencies = {column.name: set[str]() for column in columns if column.type == "price"}
        self._by_name = {column.name: column for column in columns}

    def add_currencies(self, row: Mapping[str, Any]) -> None:
        """Looks at the prices of a row."""
        for name, found in self._currencies.items():
            if row.get(name) and isinstance(price := parse_value(str(row[name]), "price"), dict):
                found.add(str(price["currency"] or ""))

    def add_currencies_of(self, texts: Mapping[str, Iterable[Any]]) -> None:
        """Looks at the prices of all rows."""
        for name in self._currencies:
            for text in _different(texts.get(name, ())):
                self.add_currencies({name: text})

    def check(self, row: Mapping[str, Any]) -> None:
        """Makes columns those of texts that a text of the row shows to be no others: their types come from a sample."""
        for number, column in enumerate(self.columns):
            text = row.get(column.name)
            if column.type not in ("text", "url", "image") and isinstance(text, str) and not self._fits(column, text):
                self.columns[number] = self._by_name[column.name] = replace(column, type="text", unit="")
                self._currencies.pop(column.name, None)

    def _fits(self, column: TableColumn, text: str) -> bool:
        """Whether a text can be replaced by a value of its column and nothing is lost."""
        if column.type == "boolean":
            return any(text.strip().lower() in pair for pair in BOOLEANS)
        if column.type in ("date", "datetime"):
            reader = self._readers.get(column.name)
            return reader is not None and reader.read(text) is not None
        number, unit = (split_unit(text) or (text, "")) if column.unit else (text, "")
        has_unit = unit == column.unit or (column.unit == "…" and unit != "")
        return has_unit and not isinstance(lossless_value(number, column.type), str)

    def types(self) -> dict[str, str]:
        """What each column is; prices with their currency where all have the same."""
        types = {
            column.name: f"list of {column.type}" if column.is_list else str(column.type)
            for column in self.columns
            if not column.drop
        }
        return types | {name: f"price ({min(found)})" for name, found in self._currencies.items() if len(found) == 1}

    def names(self) -> list[str]:
        """The columns of the rows with values."""
        suffixes = {column.name: UNIT_SUFFIX for column in self.columns if column.unit == "…"}
        suffixes |= {name: CURRENCY_SUFFIX for name, found in self._currencies.items() if len(found) > 1}
        shown = [column.name for column in self.columns if not column.drop]
        return [part for name in shown for part in (name, *([name + suffixes[name]] if name in suffixes else []))]

    def of(self, row: Mapping[str, Any]) -> dict[str, object]:
        """A row with values in place of texts."""
        typed: dict[str, object] = {}
        for name, text in row.items():
            column = self._by_name.get(name)
            if column is None or not isinstance(text, str) or column.type in ("text", "url", "image"):
                typed[name] = text
            else:
                typed |= self._values(column, text)
        return typed

    def of_columns(self, texts: Mapping[str, list[Any]], count: int) -> HeldRows:
        """Rows with values in place of texts, by column; each text is read once, however many rows have it."""
        typed: dict[str, list[Any]] = {}
        beside: dict[str, str] = {}
        for name, cells in texts.items():
            column = self._by_name.get(name)
            typed[name] = cells
            if column is None or column.type in ("text", "url", "image"):
                continue
            values = {text: self._values(column, text) for text in _different(cells)}
            typed[name] = [values[cell][name] if isinstance(cell, str) else cell for cell in cells]
            for other in {other for found in values.values() for other in found if other != name}:
                typed[other] = [values[cell][other] if isinstance(cell, str) else None for cell in cells]
                beside[other] = name
        return HeldRows(typed, count, beside)

    def _values(self, column: TableColumn, text: str) -> dict[str, object]:
        """The value of a text, and its currency or unit where the column has several."""
        name = column.name
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


def _different(cells: Iterable[Any]) -> set[str]:
    """The texts of a column, each once."""
    return {cell for cell in cells if isinstance(cell, str)}


def typed_fields(fields: Mapping[str, str], types: Mapping[str, Type]) -> dict[str, object]:
    """The fields of one record as values, before all texts of their columns are known: a text that would lose something stays one."""
    typed: dict[str, object] = {}
    for name, text in fields.items():
        kind = types.get(name, "text")
        value: object = text
        if kind in ("integer", "decimal", "price"):
            value = lossless_value(text, kind)
        elif kind == "date" and (reader := reader_of([text])) is not None:
            value = reader.read(text)
        if isinstance(value, dict):
            typed |= {name: value["amount"], name + CURRENCY_SUFFIX: value["currency"]}
        else:
            typed[name] = value
    return typed
