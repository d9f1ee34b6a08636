"""Two sources side by side: which columns mean the same, what both have, and where they differ."""

from dataclasses import dataclass
from pathlib import Path

from upwell.together.columns import AlignedColumn, align
from upwell.together.match import match_rows
from upwell.together.tables import Table, read_table

__all__ = ["Comparison", "Difference", "compare"]

MAX_SHOWN = 100  # rows that are shown of each kind


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One thing that both sources have, and where they say different things of it."""

    keys: tuple[str, str]
    title: str
    score: float
    fields: list[tuple[str, str, str]]  # column, what the one says, what the other says


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What two tables have in common."""

    columns: list[AlignedColumn]
    rows: tuple[int, int]
    both: int
    differing: int
    different: list[Difference]
    only: tuple[list[tuple[str, str]], list[tuple[str, str]]]  # key and title of what only the one, only the other has


def compare(first: Path, second: Path) -> Comparison:
    """Compares two tables by what is the same thing in both."""
    tables = read_table(first, "first"), read_table(second, "second")
    columns = align(tables)
    shared = [one for one in columns if all(one.columns)]
    pairs = match_rows(*tables)
    different: list[Difference] = []
    differing = 0
    for a, b, score in pairs:
        said = [(one.name, _text(tables[0], one.columns[0], a), _text(tables[1], one.columns[1], b)) for one in shared]
        fields = [
            (name, one, other) for name, one, other in said if one and other and one.casefold() != other.casefold()
        ]
        differing += bool(fields)
        if fields and len(different) < MAX_SHOWN:
            keys = str(tables[0].keys[a]), str(tables[1].keys[b])
            different.append(Difference(keys=keys, title=_title(tables[0], a), score=score, fields=fields))
    matched = {a for a, _, _ in pairs}, {b for _, b, _ in pairs}
    return Comparison(
        columns=columns,
        rows=(len(tables[0]), len(tables[1])),
        both=len(pairs),
        differing=differing,
        different=different,
        only=(_only(tables[0], matched[0]), _only(tables[1], matched[1])),
    )


def _text(table: Table, column: str | None, row: int) -> str:
    return " ".join(table.texts[column][row].split()) if column else ""


def _title(table: Table, row: int) -> str:
    return next((text for texts in table.texts.values() if (text := texts[row])), str(table.keys[row]))


def _only(table: Table, matched: set[int]) -> list[tuple[str, str]]:
    rows = (row for row in range(len(table)) if row not in matched)
    return [(str(table.keys[row]), _title(table, row)) for row, _ in zip(rows, range(MAX_SHOWN), strict=False)]
