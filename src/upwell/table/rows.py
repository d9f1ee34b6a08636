"""Rows of a table: column-wise fields (`FieldColumns`), typed rows in memory (`InMemoryRows`) and rows created while reading (`StreamedRows`)."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice
from typing import Any, overload

__all__ = ["FieldColumns", "InMemoryRows", "Row", "StreamedRows"]


RARE_SHARE = (
    0.25  # fields in fewer rows than this also store the numbers of these rows, e.g. fields of a sample of record pages
)


class FieldColumns:
    """Fields of rows as columns, in order of first appearance; a cell is None if its row lacks the field.

    Processing a table by column costs a fraction of processing it by row.
    """

    def __init__(self, columns: dict[str, list[Any]], count: int, rare: Mapping[str, list[int]] | None = None) -> None:
        self.columns, self.count = columns, count
        self._rare = rare or {}  # numbers of the rows that have a rare field
        self.made: dict[object, list[Any]] = {}  # cache of columns derived from the fields (`TableColumn.cells`)

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]]) -> "FieldColumns":
        """Return the columns of rows."""
        shapes: defaultdict[tuple[str, ...], list[int]] = defaultdict(
            list
        )  # row numbers by field names; most rows have the same names
        for number, shape in enumerate(map(tuple, rows)):
            shapes[shape].append(number)
        columns: dict[str, list[Any]] = {}
        rare: dict[str, list[int]] = {}
        for name in dict.fromkeys(chain.from_iterable(shapes)):
            having = [numbers for shape, numbers in shapes.items() if name in shape]
            if sum(map(len, having)) >= RARE_SHARE * len(rows):
                columns[name] = [row.get(name) for row in rows]
                continue
            columns[name], rare[name] = [None] * len(rows), sorted(chain.from_iterable(having))
            for number in rare[name]:
                columns[name][number] = rows[number][name]
        return cls(columns, len(rows), rare)

    @classmethod
    def concatenate(cls, parts: Sequence["FieldColumns"]) -> "FieldColumns":
        """Append the rows of several parts."""
        if len(parts) == 1:
            return parts[0]
        names = dict.fromkeys(chain.from_iterable(part.columns for part in parts))
        columns = {name: list(chain.from_iterable(part[name] for part in parts)) for name in names}
        return cls(columns, sum(part.count for part in parts))

    def __getitem__(self, name: str) -> list[Any]:
        """Return the cells of a field, all None if no row has it."""
        return self.columns[name] if name in self.columns else [None] * self.count

    def having(self, name: str) -> Iterator[tuple[int, Any]]:
        """Yield row number and value for each row that has the field."""
        cells = self[name]
        numbered = ((row, cells[row]) for row in self._rare[name]) if name in self._rare else enumerate(cells)
        return ((row, value) for row, value in numbered if value is not None)

    def filled(self, name: str) -> list[Any]:
        """Return the non-empty values of a field."""
        cells = map(self[name].__getitem__, self._rare[name]) if name in self._rare else self[name]
        return [value for value in cells if value or value == 0]

    def without(self, names: Iterable[str]) -> "FieldColumns":
        """Return the same rows without some of their fields."""
        left_out = set(names)
        columns = {name: cells for name, cells in self.columns.items() if name not in left_out}
        return FieldColumns(columns, self.count, self._rare)


Row = dict[str, Any]


class InMemoryRows(Sequence[Row]):
    """Rows stored as columns; the dictionaries are created on access.

    `companions` maps a column that exists only together with another (the unit of a number) to that other column. It follows it directly if the
    first row has a value there, and otherwise comes after all other columns, as if the columns were collected row by row.
    """

    def __init__(
        self, columns: Mapping[str, list[Any]], count: int, companions: Mapping[str, str] | None = None
    ) -> None:
        self._count, self._companions = count, dict(companions or {})
        first = {
            name: next((row for row, value in enumerate(columns[base]) if value is not None), count)
            for name, base in self._companions.items()
        }
        later = sorted((name for name, row in first.items() if row), key=first.__getitem__)
        self.columns = {name: cells for name, cells in columns.items() if name not in later}
        self.columns |= {name: columns[name] for name in later}

    @property
    def names(self) -> list[str]:
        """Return the column names in order."""
        return list(self.columns)

    @cached_property
    def filled(self) -> dict[str, int]:
        """Return the number of rows with a value, by column."""
        return {name: sum(1 for value in cells if value or value == 0) for name, cells in self.columns.items()}

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Row]:
        return map(self._row, zip(*self.columns.values(), strict=True))

    @overload
    def __getitem__(self, at: int) -> Row: ...

    @overload
    def __getitem__(self, at: slice) -> list[Row]: ...

    def __getitem__(self, at: int | slice) -> Row | list[Row]:
        """Return a row, or a list of rows for a slice."""
        if isinstance(at, int):
            return self._row(tuple(cells[at] for cells in self.columns.values()))
        return list(map(self._row, zip(*(cells[at] for cells in self.columns.values()), strict=True)))

    def _row(self, values: tuple[Any, ...]) -> Row:
        row = dict(zip(self.columns, values, strict=True))
        for name in [name for name, base in self._companions.items() if row[base] is None]:
            del row[name]
        return row

    def select(self, names: Sequence[str], *, fill_missing: bool = False) -> "InMemoryRows":
        """Return the rows with exactly these columns, in this order; with `fill_missing`, every row has every column."""
        columns = {name: self.columns.get(name) or [None] * self._count for name in names}
        companions = {name: base for name, base in self._companions.items() if name in columns and base in columns}
        return InMemoryRows(columns, self._count, {} if fill_missing else companions)


class StreamedRows(Sequence[Row]):
    """Rows that are created anew on every iteration; their number, columns and value counts are known in advance."""

    def __init__(
        self, read: Callable[[], Iterator[Row]], *, count: int, names: Sequence[str], filled: Mapping[str, int]
    ) -> None:
        self._read, self._count = read, count
        self.names, self.filled = list(names), filled

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Row]:
        return self._read()

    @overload
    def __getitem__(self, at: int) -> Row: ...

    @overload
    def __getitem__(self, at: slice) -> list[Row]: ...

    def __getitem__(self, at: int | slice) -> Row | list[Row]:
        """Return a row, or a list of rows for a slice; all rows before them are read."""
        if isinstance(at, int):
            return self[at : at + 1][0]
        return list(islice(self._read(), *at.indices(self._count)))

    def select(self, names: Sequence[str], *, fill_missing: bool = False) -> "StreamedRows":
        """Return the rows with exactly these columns, in this order; with `fill_missing`, every row has every column."""

        def take(row: Row) -> Row:
            return {name: row.get(name) for name in names if fill_missing or name in row}

        return StreamedRows(lambda: map(take, self._read()), count=self._count, names=names, filled=self.filled)
