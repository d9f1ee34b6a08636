"""Links from one record's page to the pages before and after it: what they say is the title of another record, not of this one."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from upwell.model import PAGE

__all__ = ["neighbour_fields"]

Row = Mapping[str, Any]
MIN_SHARE = 0.8  # of the texts of a column that are titles of other records
MIN_DISTINCT = 0.9  # a record that many name is what they belong to
MIN_PAGES = 5
MARKS = re.compile(r"^[\W_]+|[\W_]+$")  # arrows around a title


def neighbour_fields(rows: Sequence[Row], every: Iterable[Row] | None = None) -> set[str]:
    """The fields of record pages that name the record before or after; where `rows` are a sample, `every` has all."""
    lists = [name for name in dict.fromkeys(name for row in rows for name in row) if not name.startswith(("_", PAGE))]
    having: defaultdict[str, list[tuple[str, Row]]] = defaultdict(list)  # by field of the pages: its texts
    for row in rows:
        for name, value in row.items():
            if name.startswith(PAGE) and isinstance(value, str):
                having[name].append((_plain(value), row))
    texts = {name: {text for text, _ in found} for name, found in having.items() if len(found) >= MIN_PAGES}
    named = set().union(*texts.values())
    titles: set[str] = set()
    times: Counter[str] = Counter()  # that the texts of a field stand in it, in all rows
    for row in (rows if every is None else every) if texts else ():
        titles |= {text for name in lists if (text := _plain(row.get(name))) in named}
        times.update(name for name, own in texts.items() if isinstance(row.get(name), str) and _plain(row[name]) in own)
    distinct = [name for name, own in texts.items() if len(own) >= MIN_DISTINCT * times[name]]
    return {name for name in distinct if _names_others(having[name], lists, titles - {""})}


def _names_others(having: Sequence[tuple[str, Row]], lists: Sequence[str], titles: set[str]) -> bool:
    others = sum(text in titles and all(_plain(row.get(name)) != text for name in lists) for text, row in having)
    return others >= MIN_SHARE * len(having)


def _plain(text: object) -> str:
    if not isinstance(text, str):
        return ""
    has_marks = not (text[:1].isalnum() and text[-1:].isalnum())  # tested first: most texts have none
    return (MARKS.sub("", text) if has_marks else text).casefold()
