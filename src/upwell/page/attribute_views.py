"""One attribute of all rows of a page, and a page's attributes without those of some rows."""

from collections.abc import Iterator, Mapping, Set
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from upwell.page.tag_tree import TagTree

__all__ = ["Attributes", "Without", "having"]

Attributes = Mapping[int, Mapping[str, str | None]]  # by row, only for the rows that have any


def having(attributes: Attributes, name: str) -> dict[int, str]:
    """One attribute of all rows that have it, by row: "" where it is empty."""
    if (of_all := getattr(attributes, "having", None)) is not None:
        return of_all(name)  # type: ignore[no-any-return] # of page.compiled
    return {row: found[name] or "" for row, found in attributes.items() if name in found}


class Without(Mapping[int, Mapping[str, str | None]]):
    """The attributes of a page without those of some rows."""

    def __init__(self, tree: "TagTree", rows: Set[int]) -> None:
        self._tree, self._all, self._rows = tree, tree.attributes, rows

    def __getitem__(self, row: int) -> Mapping[str, str | None]:
        if row in self._rows:
            raise KeyError(row)
        return self._all[row]

    def __iter__(self) -> Iterator[int]:
        return (row for row in self._all if row not in self._rows)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def having(self, name: str) -> dict[int, str]:
        """As the function of this name."""
        return {row: value for row, value in self._tree.having(name).items() if row not in self._rows}

    def value(self, row: int, name: str) -> str | None:
        """One attribute of a row: None where it is absent, "" where it is empty."""
        return None if row in self._rows else self._tree.attr(row, name)
