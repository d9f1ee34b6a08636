"""Links from one record's page to the pages before and after it: what they say is the title of another record, not of this one."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from upwell.model import PAGE

__all__ = ["without_neighbours"]

MIN_SHARE = 0.8  # of the texts of a column that are titles of other records
MIN_DISTINCT = 0.9  # a record that many name is what they belong to
MIN_PAGES = 5
MARKS = re.compile(r"^[\W_]+|[\W_]+$")  # arrows around a title


def without_neighbours(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows without fields of record pages that name the record before or after."""
    lists = [name for name in dict.fromkeys(name for row in rows for name in row) if not name.startswith(("_", PAGE))]
    titles = {_plain(row[name]) for row in rows for name in lists if isinstance(row.get(name), str)} - {""}
    names = {name for row in rows for name in row if name.startswith(PAGE)}
    left_out = {name for name in names if _names_others(name, rows, lists, titles)}
    return (
        [{name: value for name, value in row.items() if name not in left_out} for row in rows]
        if left_out
        else list(rows)
    )


def _names_others(name: str, rows: Sequence[Mapping[str, Any]], lists: Sequence[str], titles: set[str]) -> bool:
    having = [row for row in rows if isinstance(row.get(name), str)]
    texts = [_plain(row[name]) for row in having]
    if len(texts) < MIN_PAGES or len(set(texts)) < MIN_DISTINCT * len(texts):
        return False
    others = sum(
        text in titles and all(_plain(row.get(column)) != text for column in lists)
        for text, row in zip(texts, having, strict=True)
    )
    return others >= MIN_SHARE * len(texts)


def _plain(text: object) -> str:
    return MARKS.sub("", text).casefold() if isinstance(text, str) else ""
