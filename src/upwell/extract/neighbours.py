"""Links from one record's page to the pages before and after it: what they say is the title of another record, not of this one."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from upwell.extract.cells import Cells
from upwell.model import PAGE

__all__ = ["neighbour_fields"]

Row = Mapping[str, Any]
MIN_SHARE = 0.8  # of the texts of a column that are titles of other records
MIN_DISTINCT = 0.9  # a record that many name is what they belong to
MIN_PAGES = 5
MARKS = re.compile(r"^[\W_]+|[\W_]+$")  # arrows around a title


def neighbour_fields(fields: Cells, every: Iterable[Row] | None = None) -> set[str]:
    """The fields of record pages that name the record before or after; where `fields` are a sample, `every` has all rows."""
    lists = [name for name in fields.columns if not name.startswith(("_", PAGE))]
    having = {  # by field of the pages: its texts, and the rows that have them
        name: [(_plain(value), row) for row, value in fields.having(name) if isinstance(value, str)]
        for name in fields.columns
        if name.startswith(PAGE)
    }
    others = {name: _unlike(found, [fields[other] for other in lists]) for name, found in having.items()}
    texts = {name: {text for text, _ in found} for name, found in having.items() if _may_be_titles(found, others[name])}
    named = set().union(*texts.values())
    titles: set[str] = set()
    times = Counter({name: len(having[name]) for name in texts})  # that the texts of a field stand in it, in all rows
    if texts and every is None:
        of_lists = (value for name in lists for value in {cell for cell in fields[name] if isinstance(cell, str)})
        titles = {text for value in of_lists if (text := _plain(value)) in named}
    elif texts and every is not None:
        times.clear()
        for row in every:
            titles |= {text for name in lists if (text := _plain(row.get(name))) in named}
            times.update(name for name, own in texts.items() if isinstance(row.get(name), str) and _plain(row[name]) in own)  # fmt: skip
    distinct = [name for name, own in texts.items() if len(own) >= MIN_DISTINCT * times[name]]
    titles.discard("")
    return {name for name in distinct if sum(text in titles for text in others[name]) >= MIN_SHARE * len(having[name])}


def _unlike(having: Sequence[tuple[str, int]], lists: Sequence[Sequence[Any]]) -> list[str]:
    """The texts of a field of the pages that no field of the lists says of the same record."""
    return [text for text, row in having if all(_plain(cells[row]) != text for cells in lists)]


def _may_be_titles(having: Sequence[tuple[str, int]], others: Sequence[str]) -> bool:
    """Whether the texts of a field may be titles of other records: most fields of pages are not, and titles need not be looked for."""
    return len(having) >= MIN_PAGES and len(others) >= MIN_SHARE * len(having)


def _plain(text: object) -> str:
    if not isinstance(text, str):
        return ""
    has_marks = not (text[:1].isalnum() and text[-1:].isalnum())  # tested first: most texts have none
    return (MARKS.sub("", text) if has_marks else text).casefold()
