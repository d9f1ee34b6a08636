"""The rows of a table with types: numbers, prices, dates and yes or no where all texts of a column can be such, else the texts as they are.

Nothing is guessed and nothing is lost: a day that could be a month, or a number that begins with 0, stays text.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from upwell.extract.dates import DateReader, reader_of
from upwell.extract.tidy import TableColumn
from upwell.extract.values import BOOLEANS, Type, lossless_value, parse_value, split_unit

__all__ = ["typed_fields", "types_of", "with_types"]

CURRENCY_SUFFIX = (
    "_currency"  # the column of prices `cost` has its currencies in `cost_currency`, where there are several
)
UNIT_SUFFIX = "_unit"


def types_of(rows: Iterable[Mapping[str, Any]], columns: Iterable[TableColumn]) -> dict[str, str]:
    """What each column is, for the summary: its type, with the currency where all its prices have the same."""
    currencies = _currencies(rows, columns)
    types = {
        column.name: f"list of {column.type}" if column.is_list else str(column.type)
        for column in columns
        if not column.drop
    }
    return types | {name: f"price ({found.pop()})" for name, found in currencies.items() if len(found) == 1}


def with_types(rows: Iterable[Mapping[str, Any]], columns: Sequence[TableColumn]) -> Iterator[dict[str, object]]:
    """The rows with values in place of texts."""
    rows = list(rows)
    readers = {
        column.name: reader_of({row[column.name] for row in rows if row.get(column.name)})
        for column in columns
        if column.type in ("date", "datetime")
    }
    several = {name for name, found in _currencies(rows, columns).items() if len(found) > 1}
    by_name = {column.name: column for column in columns}
    for row in rows:
        typed: dict[str, object] = {}
        for name, text in row.items():
            column = by_name.get(name)
            if column is None or not isinstance(text, str) or column.type in ("text", "url", "image"):
                typed[name] = text
            else:
                typed |= _values(column, text, readers.get(name), with_currency=name in several)
        yield typed


def _values(column: TableColumn, text: str, reader: DateReader | None, *, with_currency: bool) -> dict[str, object]:
    """The value of a text, and its currency or unit where the column has several."""
    name = column.name
    if column.type == "boolean":
        return {name: any(text.strip().lower() == yes for yes, _ in BOOLEANS)}
    if column.type in ("date", "datetime"):
        return {name: reader.read(text) if reader else None}
    if column.unit:
        number, unit = split_unit(text) or (text, "")
        values: dict[str, object] = {name: parse_value(number, column.type)}
        return values | {name + UNIT_SUFFIX: unit} if column.unit == "…" else values
    value = parse_value(text, column.type)
    if not isinstance(value, dict):
        return {name: value}
    return {name: value["amount"], **({name + CURRENCY_SUFFIX: value["currency"]} if with_currency else {})}


def _currencies(rows: Iterable[Mapping[str, Any]], columns: Iterable[TableColumn]) -> dict[str, set[str]]:
    """The currencies of each column of prices."""
    prices = {column.name: set[str]() for column in columns if column.type == "price"}
    for row in rows if prices else ():
        for name, found in prices.items():
            if row.get(name) and isinstance(price := parse_value(str(row[name]), "price"), dict):
                found.add(str(price["currency"] or ""))
    return prices


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
