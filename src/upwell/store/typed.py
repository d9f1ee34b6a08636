"""The table of a harvest with types: numbers, prices and dates where all texts of a column are such, else the texts as they stood.

Nothing is guessed and nothing is lost: a day that could be a month, a time beside a date, or a number that begins with 0 stays text.
"""

import datetime
import re
from collections.abc import Iterable, Iterator, Mapping

from upwell.extract.values import Type, parsed, type_of

__all__ = ["types_of", "with_types"]

CODE = re.compile(r"\s*[-+]?0\d")
MOST_DIGITS = 15  # more is an id, and no float holds it
DAY = re.compile(r"\d{4}-\d{2}-\d{2}|[^\W\d]+\.? \d{1,2},? \d{4}|\d{1,2}\.? [^\W\d]+\.?,? \d{4}")
CURRENCY = "_currency"  # behind the name of a column of prices: the column that says in what


def types_of(rows: Iterable[Mapping[str, object]]) -> dict[str, Type]:
    """The type of each column of texts: the one that all of its texts have."""
    texts: dict[str, set[str]] = {}
    other: set[str] = set()
    for row in rows:
        for name, value in row.items():
            if isinstance(value, str) and not name.startswith("_"):
                if value:
                    texts.setdefault(name, set()).add(value)
            elif value is not None:
                other.add(name)
    return {name: _type(found) for name, found in texts.items() if name not in other}


def _type(texts: set[str]) -> Type:
    kind = type_of(texts)
    if kind in ("integer", "decimal", "price"):
        sure = all(
            (kind == "price" or not CODE.match(text)) and sum(c.isdigit() for c in text) <= MOST_DIGITS
            for text in texts
        )
        return kind if sure and all(parsed(text, kind) is not None for text in texts) else "text"
    if kind == "date":
        return kind if all(DAY.fullmatch(text.strip()) and parsed(text, kind) for text in texts) else "text"
    return kind


def with_types(rows: Iterable[Mapping[str, object]], types: Mapping[str, Type]) -> Iterator[dict[str, object]]:
    """The rows with their values in place of texts."""
    for row in rows:
        found: dict[str, object] = {}
        for name, text in row.items():
            kind = types.get(name, "text")
            value = parsed(text, kind) if isinstance(text, str) and kind not in ("text", "url", "image") else text
            if isinstance(value, dict):
                found[name], found[name + CURRENCY] = value["amount"], value["currency"]
            elif kind == "date" and isinstance(value, str) and value:
                found[name] = datetime.date.fromisoformat(value)
            else:
                found[name] = value
        yield found
