"""Rows as columns: a table is looked at column by column, which costs a fraction of looking at it row by row."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

__all__ = ["Cells"]


class Cells:
    """The fields of rows by name, in the order in which they first appear: a cell for each row, None where it has none."""

    def __init__(self, columns: dict[str, list[Any]], count: int) -> None:
        self.columns, self.count = columns, count

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]]) -> "Cells":
        """The cells of rows."""
        shapes = dict.fromkeys(map(tuple, rows))  # most rows have the same names in the same order
        names = dict.fromkeys(chain.from_iterable(shapes))
        return cls({name: [row.get(name) for row in rows] for name in names}, len(rows))

    @classmethod
    def joined(cls, parts: Sequence["Cells"]) -> "Cells":
        """The rows of several, one after the other."""
        if len(parts) == 1:
            return parts[0]
        names = dict.fromkeys(chain.from_iterable(part.columns for part in parts))
        columns = {name: list(chain.from_iterable(part[name] for part in parts)) for name in names}
        return cls(columns, sum(part.count for part in parts))

    def __getitem__(self, name: str) -> list[Any]:
        """The cells of a name, all empty where no row has it."""
        return self.columns[name] if name in self.columns else [None] * self.count

    def filled(self, name: str) -> list[Any]:
        """What a column has in the rows that have it."""
        return [value for value in self[name] if value or value == 0]

    def without(self, names: Iterable[str]) -> "Cells":
        """The same rows without some of their fields."""
        left_out = set(names)
        return Cells({name: cells for name, cells in self.columns.items() if name not in left_out}, self.count)
