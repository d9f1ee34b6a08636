"""Rows as columns: a table is looked at column by column, which costs a fraction of looking at it row by row."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

__all__ = ["Cells"]

RARE = 0.25  # share of the rows, below which it is noted which rows have a field: those of record pages, where a sample was read


class Cells:
    """The fields of rows by name, in the order in which they first appear: a cell for each row, None where it has none."""

    def __init__(self, columns: dict[str, list[Any]], count: int, rare: Mapping[str, list[int]] | None = None) -> None:
        self.columns, self.count = columns, count
        self._rare = rare or {}  # the rows that have a field, where few have it
        self.made: dict[object, list[Any]] = {}  # columns that were made of the fields, for those who make them

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]]) -> "Cells":
        """The cells of rows."""
        shapes: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)  # most rows have the same names
        for number, shape in enumerate(map(tuple, rows)):
            shapes[shape].append(number)
        columns: dict[str, list[Any]] = {}
        rare: dict[str, list[int]] = {}
        for name in dict.fromkeys(chain.from_iterable(shapes)):
            having = [numbers for shape, numbers in shapes.items() if name in shape]
            if sum(map(len, having)) >= RARE * len(rows):
                columns[name] = [row.get(name) for row in rows]
                continue
            columns[name], rare[name] = [None] * len(rows), sorted(chain.from_iterable(having))
            for number in rare[name]:
                columns[name][number] = rows[number][name]
        return cls(columns, len(rows), rare)

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

    def having(self, name: str) -> Iterator[tuple[int, Any]]:
        """The rows that have a field, and what it says."""
        cells = self[name]
        numbered = ((row, cells[row]) for row in self._rare[name]) if name in self._rare else enumerate(cells)
        return ((row, value) for row, value in numbered if value is not None)

    def filled(self, name: str) -> list[Any]:
        """What a field says in the rows where it says something."""
        cells = map(self[name].__getitem__, self._rare[name]) if name in self._rare else self[name]
        return [value for value in cells if value or value == 0]

    def without(self, names: Iterable[str]) -> "Cells":
        """The same rows without some of their fields."""
        left_out = set(names)
        columns = {name: cells for name, cells in self.columns.items() if name not in left_out}
        return Cells(columns, self.count, self._rare)
