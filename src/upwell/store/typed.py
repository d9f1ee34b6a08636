"""The table of a harvest with types: numbers, prices and dates where all texts of a column can be such, else the texts as they are.

Nothing is guessed and nothing is lost: a day that could be a month, a time beside a date, or a number that begins with 0 stays text.
"""

import datetime
from collections.abc import Iterable, Iterator, Mapping

from upwell.extract.values import Type, column_type, parse_value

__all__ = ["types_of", "with_types"]

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
            value = parse_value(text, kind) if isinstance(text, str) and kind not in ("text", "url", "image") else text
            if isinstance(value, dict):
                typed[name], typed[name + CURRENCY_SUFFIX] = value["amount"], value["currency"]
            elif kind == "date" and isinstance(value, str) and value:
                typed[name] = datetime.date.fromisoformat(value)
            else:
                typed[name] = value
        yield typed
