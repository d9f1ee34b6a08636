"""Columns of a table that say the same of nearly every record, and so are one."""

import re
from collections.abc import Collection, Mapping, Sequence

from upwell.extract.cells import Cells
from upwell.extract.column_cuts import SLIPS, without_cut
from upwell.model import PAGE

__all__ = ["ELLIPSIS", "NEARLY_ALL", "NUMBERED", "merged", "plain", "text_of"]

MERGE_SHARE = 0.8  # of the rows that have both, that say the same
MIN_COMMON = 3  # rows that have both
DUPLICATE_SHARE = 0.98  # the same for two columns of one page
COMPARED_ROWS = 400  # are compared at most
NEARLY_ALL = 0.95  # of the rows that have a field at one of two places
NUMBERED = re.compile(r"_\d+$")
MIN_CUT_CHARS = 15  # of a text that ends in "…", before it counts as the beginning of a longer one
ELLIPSIS = re.compile(r"\s*(?:…|\.\.\.+)$")
NO_LETTERS = re.compile(r"[\W_]+")


def merged(
    names: Sequence[str], fields: Cells, with_page: Sequence[int], cuts: Mapping[str, tuple[str, str]]
) -> list[list[str]]:
    """Columns that say the same of nearly every record, together; those of the list come before those of the page."""
    rows = range(fields.count)
    compared = [*with_page[:: max(1, len(with_page) // COMPARED_ROWS)], *rows[:: max(1, len(rows) // COMPARED_ROWS)]]
    cells: dict[str, dict[int, str]] = {name: {} for name in names}
    cut_off: dict[str, set[int]] = {name: set() for name in names}
    for name in names:
        column, cut = fields[name], cuts.get(name, ("", ""))
        for i, row in enumerate(compared):
            if column[row]:
                text = without_cut(text_of(column[row]), cut)
                cells[name][i] = plain(text)
                if ELLIPSIS.search(text):
                    cut_off[name].add(i)
    groups: list[list[str]] = []
    for name in names:
        is_page = name.startswith(PAGE)
        best, best_share = None, 0.0
        for group in groups:
            other = group[0]
            least = MERGE_SHARE if is_page != other.startswith(PAGE) else DUPLICATE_SHARE
            share = _share_alike(cells[name], cells[other], cut_off[name], cut_off[other])
            if not is_page and _take_turns(name, other, cells, len(compared)):
                share = 1.0
            if share >= least and share > best_share:
                best, best_share = group, share
        if best is None and is_page:
            best = _namesake(name, groups, cells)
        if best is None:
            groups.append([name])
        else:
            best.append(name)
    return groups


def _namesake(name: str, groups: Sequence[list[str]], cells: Mapping[str, Mapping[int, str]]) -> list[str] | None:
    """The column of the lists with the same name as one of the pages, where no record has both; a title is the first text of a list."""
    own = name.removeprefix(PAGE)
    of_lists = [group for group in groups if not group[0].startswith(PAGE)]
    alike = [group for group in of_lists if group[0] == own]
    if own == "title":
        alike += [group for group in of_lists if group[0] in ("title", "name")] + of_lists[:1]
    for group in alike:
        if not cells[name].keys() & cells[group[0]].keys():
            return group
    return None


def _take_turns(name: str, other: str, cells: Mapping[str, Mapping[int, str]], rows: int) -> bool:
    """Whether two places of the same name hold one field: nearly every record has it at one of them, and few something else at each."""
    one, two = cells[name], cells[other]
    both = one.keys() & two.keys()
    if NUMBERED.sub("", name) != NUMBERED.sub("", other) or not one or not two:
        return False
    differ = sum(one[i] != two[i] for i in both)
    return len(one.keys() | two.keys()) >= NEARLY_ALL * rows > len(both) and differ <= SLIPS * rows


def _share_alike(
    one: Mapping[int, str], other: Mapping[int, str], one_cut: Collection[int], other_cut: Collection[int]
) -> float:
    """The share of the rows with both that say the same; 0 where too few have both, or all say one and the same."""
    both = one.keys() & other.keys()
    if len(both) < MIN_COMMON or len({one[i] for i in both}) < 2 or 2 * len(both) < min(len(one), len(other)):  # texts
        return 0.0
    alike = sum(
        one[i] == other[i]
        or (i in one_cut and len(one[i]) >= MIN_CUT_CHARS and other[i].startswith(one[i]))
        or (i in other_cut and len(other[i]) >= MIN_CUT_CHARS and one[i].startswith(other[i]))
        for i in both
    )
    return alike / len(both)


def text_of(value: object) -> str:
    """A cell as one text."""
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)


def plain(text: str) -> str:
    """A text as it is compared."""
    return NO_LETTERS.sub("", text.casefold())
