"""The rows of a table as columns that are held, or, where it is too large for that, made anew whenever they are read."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, overload

__all__ = ["HeldRows", "Row", "StreamedRows"]

Row = dict[str, Any]


class HeldRows(Sequence[Row]):
    """Rows that are held as columns, and made when somebody looks at them.

    `beside` has the columns that only rows with another one have (the unit of a number): its place is beside that where the first row has
    it, else behind all others, as if columns were put down in the order in which the rows show them.
    """

    def __init__(self, columns: Mapping[str, list[Any]], count: int, beside: Mapping[str, str] | None = None) -> None:
        self._count, self._beside = count, dict(beside or {})
        first = {
            name: next((row for row, value in enumerate(columns[base]) if value is not None), count)
            for name, base in self._beside.items()
        }
        later = sorted((name for name, row in first.items() if row), key=first.__getitem__)
        self.columns = {name: cells for name, cells in columns.items() if name not in later}
        self.columns |= {name: columns[name] for name in later}

    @property
    def names(self) -> list[str]:
        """Of the columns, in their order."""
        return list(self.columns)

    @cached_property
    def filled(self) -> dict[str, int]:
        """How many rows have each column."""
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
        """Some of the rows."""
        if isinstance(at, int):
            return self._row(tuple(cells[at] for cells in self.columns.values()))
        return list(map(self._row, zip(*(cells[at] for cells in self.columns.values()), strict=True)))

    def _row(self, values: tuple[Any, ...]) -> Row:
        row = dict(zip(self.columns, values, strict=True))
        for name in [name for name, base in self._beside.items() if row[base] is None]:
            del row[name]
        return row

    def taken(self, names: Sequence[str], *, are_all_given: bool = False) -> "HeldRows":
        """The rows with just these columns, in this order; with `are_all_given` each row has each of them."""
        columns = {name: self.columns.get(name) or [None] * self._count for name in names}
        beside = {name: base for name, base in self._beside.items() if name in columns and base in columns}
        return HeldRows(columns, self._count, {} if are_all_given else beside)


class StreamedRows(Sequence[Row]):
    """Rows that are made anew whenever they are read; how many there are, their columns, and how many have each are known."""

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
        """Some of the rows; all before them are read."""
        if isinstance(at, int):
            return self[at : at + 1][0]
        return list(islice(self._read(), *at.indices(self._count)))

    def taken(self, names: Sequence[str], *, are_all_given: bool = False) -> "StreamedRows":
        """The rows with just these columns, in this order; with `are_all_given` each row has each of them."""

        def take(row: Row) -> Row:
            return {name: row.get(name) for name in names if are_all_given or name in row}

        return StreamedRows(lambda: map(take, self._read()), count=self._count, names=names, filled=self.filled)
