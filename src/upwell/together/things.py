"""The things that several tables speak of: rows that are the same thing are put together, at most one row of each table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from upwell.together.match import match_rows
from upwell.together.tables import Table
from upwell.together.terms import normalised
from upwell.together.values import AlignedColumn

__all__ = ["duplicates", "things_of"]

Thing = dict[int, int]  # number of the table → number of its row


def things_of(tables: Sequence[Table], aligned: Sequence[AlignedColumn]) -> list[Thing]:
    """The things of all tables, those that most tables have first; the most probable pairs are joined first."""
    pairs = []
    for x, y in combinations(range(len(tables)), 2):
        columns = [
            (name_x, name_y) for column in aligned if (name_x := column.columns[x]) and (name_y := column.columns[y])
        ]
        pairs += [(score, x, a, y, b) for a, b, score in match_rows(tables[x], tables[y], columns)]
    things = {(number, row): {number: row} for number, table in enumerate(tables) for row in range(len(table))}
    for _, x, a, y, b in sorted(pairs, key=lambda pair: (-pair[0], pair[1:])):
        one, other = things[x, a], things[y, b]
        if one is not other and not one.keys() & other.keys():
            one |= other
            for row in other.items():
                things[row] = one
    distinct = {id(thing): thing for thing in things.values()}
    return sorted(distinct.values(), key=lambda thing: (-len(thing), sorted(thing.items())))


def duplicates(table: Table) -> list[list[int]]:
    """The rows of one table that say the same in all columns, but for case, accents and punctuation."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for row in range(len(table)):
        said = tuple(normalised(texts[row]) for texts in table.texts.values())
        if any(said):
            groups.setdefault(said, []).append(row)
    return [rows for rows in groups.values() if len(rows) > 1]
