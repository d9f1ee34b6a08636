"""The table of a harvest with types: numbers, prices and dates where all texts of a column can be such, else the texts as they are.

Nothing is guessed and nothing is lost: a day that could be a month, a time beside a date, or a number that begins with 0 stays text.
"""

import datetime
from collections.abc import Iterable, Iterator, Mapping

from upwell.extract.values import Type, column_type, lossless_value, parse_value

__all__ = ["typed_fields", "types_of", "with_types"]

NOT_PARSED = ("text", "url", "image")  # types whose values are their texts
CURRENCY_SUFFIX = "_currency"  # the column of prices `cost` has its currencies in `cost_currency`


def types_of(rows: Iterable[Mapping[str, object]]) -> dict[str, Type]:
    """The type of each column that has only texts; Upwell's own columns (`_key` …) have none."""
    texts: dict[str, set[str]] = {}
    has_other_values: set[str] = set()
    for row in rows:
        for name, value in row.items():
            if isinstance(value, str) and not name.startswith("_"):
                if value:
                    texts.setdefault(name, set()).add(value)
            elif value is not None:
                has_other_values.add(name)
    return {name: column_type(column, lossless=True) for name, column in texts.items() if name not in has_other_values}


def with_types(rows: Iterable[Mapping[str, object]], types: Mapping[str, Type]) -> Iterator[dict[str, object]]:
    """The rows with values in place of texts."""
    for row in rows:
        typed: dict[str, object] = {}
        for name, text in row.items():
            kind = types.get(name, "text")
            value = parse_value(text, kind) if isinstance(text, str) and kind not in NOT_PARSED else text
            typed.update(_cells(name, value, kind))
        yield typed


def typed_fields(fields: Mapping[str, str], types: Mapping[str, Type]) -> dict[str, object]:
    """The fields of one record as values, before all texts of their columns are known: a text that would lose something stays one."""
    typed: dict[str, object] = {}
    for name, text in fields.items():
        kind = types.get(name, "text")
        value = lossless_value(text, kind) if kind not in NOT_PARSED else text
        typed.update(_cells(name, value, "text" if value is text else kind))
    return typed


def _cells(name: str, value: object, kind: Type) -> dict[str, object]:
    """The columns that a value goes to."""
    if isinstance(value, dict):
        return {name: value["amount"], name + CURRENCY_SUFFIX: value["currency"]}
    if kind == "date" and isinstance(value, str) and value:
        return {name: datetime.date.fromisoformat(value)}
    return {name: value}
