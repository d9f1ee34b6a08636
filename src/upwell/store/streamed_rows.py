"""The rows of a table that is too large to be held in memory."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, overload

__all__ = ["Row", "StreamedRows"]

Row = dict[str, Any]


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

    def changed(self, change: Callable[[Row], Row], names: Sequence[str]) -> "StreamedRows":
        """The rows as a function makes them, with these columns."""
        return StreamedRows(
            lambda: (change(row) for row in self._read()), count=self._count, names=names, filled=self.filled
        )
