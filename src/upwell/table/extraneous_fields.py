"""Find fields of a record that do not describe the record itself.

`query_dependent_fields`: rank, score and the passage that shows the query's words. Passages become one column `snippet`; the others are dropped.
`prev_next_fields`: on record pages, the titles of the previous and next record.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from upwell.table.rows import FieldColumns
from upwell.types import PAGE_PREFIX

__all__ = ["SNIPPET", "QueryDependentFields", "prev_next_fields", "query_dependent_fields"]

MIN_TITLE_SHARE = 0.8  # share of a field's texts that must be titles of other records
MIN_DISTINCT = 0.9  # share of distinct texts; a record that many pages link to is their parent, not a neighbour
MIN_PAGES = 5  # record pages with the field needed to decide


def prev_next_fields(fields: FieldColumns, all_rows: Iterable[Mapping[str, Any]] | None = None) -> set[str]:
    """Return the record-page fields that name the previous or next record; if `fields` are a sample, `all_rows` yields every row."""
    lists = [name for name in fields.columns if not name.startswith(("_", PAGE_PREFIX))]
    having = {  # by page field: its texts and the numbers of their rows
        name: [(_without_marks(value), row) for row, value in fields.having(name) if isinstance(value, str)]
        for name in fields.columns
        if name.startswith(PAGE_PREFIX)
    }
    others = {name: _texts_of_others(entries, [fields[other] for other in lists]) for name, entries in having.items()}
    texts = {
        name: {text for text, _ in entries} for name, entries in having.items() if _may_be_titles(entries, others[name])
    }
    candidates = set().union(*texts.values())
    titles: set[str] = set()
    times = Counter({name: len(having[name]) for name in texts})  # occurrences of a field's texts in all rows
    if texts and all_rows is None:
        of_lists = (value for name in lists for value in {cell for cell in fields[name] if isinstance(cell, str)})
        titles = {text for value in of_lists if (text := _without_marks(value)) in candidates}
    elif texts and all_rows is not None:
        times.clear()
        for row in all_rows:
            titles |= {text for name in lists if (text := _without_marks(row.get(name))) in candidates}
            times.update(name for name, own in texts.items() if isinstance(row.get(name), str) and _without_marks(row[name]) in own)  # fmt: skip
    distinct = [name for name, own in texts.items() if len(own) >= MIN_DISTINCT * times[name]]
    titles.discard("")
    return {
        name for name in distinct if sum(text in titles for text in others[name]) >= MIN_TITLE_SHARE * len(having[name])
    }


def _texts_of_others(having: Sequence[tuple[str, int]], lists: Sequence[Sequence[Any]]) -> list[str]:
    """Return the texts of a page field that no list field repeats for the same record."""
    return [text for text, row in having if all(_without_marks(cells[row]) != text for cells in lists)]


def _may_be_titles(having: Sequence[tuple[str, int]], others: Sequence[str]) -> bool:
    """Return True if the texts may be titles of other records; this cheap test rules out most fields."""
    return len(having) >= MIN_PAGES and len(others) >= MIN_TITLE_SHARE * len(having)


def _without_marks(text: object) -> str:
    """Return a text without arrows and other marks around it, for comparison; "" for other values."""
    if not isinstance(text, str):
        return ""
    start, end = 0, len(text)
    while start < end and not text[start].isalnum():
        start += 1
    while start < end and not text[end - 1].isalnum():
        end -= 1
    return text[start:end].casefold()


SNIPPET = "snippet"
MIN_PASSAGE_CHARS = (
    20  # mean length from which a query-dependent text is a passage; shorter ones are ranks, scores or counts
)
MIN_URL_SHARE = 0.98  # share of a field's texts that must repeat the record's own URL


@dataclass(frozen=True)
class QueryDependentFields:
    """Fields of a source that depend on the query or repeat `_url`; `passages` are those merged into `snippet`."""

    left_out: frozenset[str]
    passages: tuple[str, ...]

    def cleaned(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the row without these fields, with `snippet` added."""
        kept = {name: value for name, value in row.items() if name not in self.left_out}
        if passage := max((row[name] for name in self.passages if row.get(name)), key=len, default=None):
            kept[SNIPPET] = passage
        return kept


def query_dependent_fields(fields: FieldColumns, varying: Collection[str]) -> QueryDependentFields:
    """Find the fields to remove from the rows of a source, given all rows or a sample of them."""
    passages = tuple(name for name in sorted(varying) if _mean_length(fields[name]) >= MIN_PASSAGE_CHARS)
    urls = fields["_url"]
    names = [name for name in fields.columns if not name.startswith("_")]
    own_urls = {name for name in names if _repeats_url(fields.having(name), urls)}
    return QueryDependentFields(frozenset(varying) | own_urls, passages)


def _mean_length(cells: Sequence[Any]) -> float:
    lengths = [len(value) for value in cells if value]
    return sum(lengths) / len(lengths) if lengths else 0.0


def _repeats_url(having: Iterable[tuple[int, Any]], urls: Sequence[str | None]) -> bool:
    """Return True if a field repeats the record's `_url`."""
    matches = others = 0
    for row, text in having:
        if not text:
            continue
        is_match = isinstance(text, str) and "/" in text and (urls[row] or "").endswith(text.removesuffix("/"))
        matches, others = matches + is_match, others + (not is_match)
        if others > (1 - MIN_URL_SHARE) * len(urls):  # already too many, whatever follows
            return False
    return matches + others > 1 and matches >= MIN_URL_SHARE * (matches + others)
