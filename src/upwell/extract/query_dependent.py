"""What of a record depends on the query that brought it: the passage that shows its words, its rank and its score.

Passages become one column `snippet`; ranks and scores say nothing of the record and are left out.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from upwell.extract.cells import Cells

__all__ = ["SNIPPET", "QueryFields", "query_fields"]

SNIPPET = "snippet"
MIN_PASSAGE_CHARS = 20  # on average; what is shorter is a rank, a score or a number of words found
MIN_ALIKE = 0.98  # share of the texts of a column that are the record's own address


@dataclass(frozen=True)
class QueryFields:
    """Which fields of the rows of a source depend on the query or repeat `_url`, and which of them are passages."""

    left_out: frozenset[str]
    passages: tuple[str, ...]

    def settle(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """A row with a `snippet` in place of them."""
        kept = {name: value for name, value in row.items() if name not in self.left_out}
        if passage := max((row[name] for name in self.passages if row.get(name)), key=len, default=None):
            kept[SNIPPET] = passage
        return kept


def query_fields(fields: Cells, varying: Collection[str]) -> QueryFields:
    """What to leave out of the rows of a source, of which these are all or a sample."""
    passages = tuple(name for name in sorted(varying) if _mean_length(fields[name]) >= MIN_PASSAGE_CHARS)
    urls = fields["_url"]
    names = [name for name in fields.columns if not name.startswith("_")]
    addresses = {name for name in names if _is_own_address(fields.having(name), urls)}
    return QueryFields(frozenset(varying) | addresses, passages)


def _mean_length(cells: Sequence[Any]) -> float:
    lengths = [len(value) for value in cells if value]
    return sum(lengths) / len(lengths) if lengths else 0.0


def _is_own_address(having: Iterable[tuple[int, Any]], urls: Sequence[str | None]) -> bool:
    """Whether a field shows the address that `_url` has already."""
    alike = others = 0
    for row, text in having:
        if not text:
            continue
        is_alike = isinstance(text, str) and "/" in text and (urls[row] or "").endswith(text.removesuffix("/"))
        alike, others = alike + is_alike, others + (not is_alike)
        if others > (1 - MIN_ALIKE) * len(urls):  # too many already, whatever follows
            return False
    return alike + others > 1 and alike >= MIN_ALIKE * (alike + others)
