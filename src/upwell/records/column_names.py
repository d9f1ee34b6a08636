"""Column names from a page: `itemprop`, table headings, classes, and as a last resort tags."""

import re
from collections.abc import Sequence
from itertools import islice

from upwell.page.tree import TagTree

__all__ = [
    "LAYOUT_CLASS",
    "MAX_LEVELS",
    "column_name",
    "name_from_tags",
    "name_on_page",
    "table_headings",
    "unused_name",
]

MAX_LEVELS = (
    100  # safety limit: levels above a text from which it may have its name; nested deeper only by mistake or malice
)
# Classes that describe layout, not content.
LAYOUT_CLASS = re.compile(
    r"^(?:col|row|cell|left|right|clear\w*|wrap\w*|inner|outer|container|text|even|odd|first|last|active)$"
)


def column_name(name: str) -> str:
    """Normalise a column name to letters, digits and underscores; reserved names (`_key` …) cannot result.

    >>> column_name("Date (published):"), column_name("_id"), column_name("—")
    ('date_published', 'id', 'text')
    """
    plain = "".join(c if c.isalnum() else "_" for c in name.lower()).strip("_")
    return re.sub("_+", "_", plain) or "text"


def name_on_page(tree: TagTree, row: int, top: int, headings: Sequence[str]) -> str:
    """Return the name that the page gives to a row of a record starting at `top`, or to an ancestor; "" if it gives none."""
    for above in (row, *islice(tree.ancestors(row), MAX_LEVELS)):
        if above < top:
            break
        name = tree.attr(above, "itemprop")
        if not name and tree.name(above) == "td" and tree.nth[above] <= len(headings):
            name = headings[tree.nth[above] - 1]
        if not name and above != top:
            classes = tree.classes[tree.cls[above]].split()
            name = next(
                (c for c in classes if not any(d.isdigit() for d in c) and not LAYOUT_CLASS.match(c.lower())), None
            )
        if name:
            return column_name(name)
    return ""


def name_from_tags(tree: TagTree, row: int, top: int) -> str:
    """Return a name from the tags between the first row of a record and one of its rows: `tr_td2`."""
    chain = [i for i in (row, *islice(tree.ancestors(row), MAX_LEVELS)) if i >= top]
    steps = [f"{tree.name(i)}{tree.nth[i] if tree.nth[i] > 1 and i != top else ''}" for i in reversed(chain)]
    return column_name("_".join(steps))


def table_headings(tree: TagTree, row: int) -> tuple[str, ...]:
    """Return the column headings of the table around a row; empty if there are none."""
    for above in (row, *tree.ancestors(row)):
        if tree.name(above) == "table":
            for line in tree.rows("tr"):
                if above < line < tree.end[above]:
                    cells = tree.children(int(line))
                    if cells and all(tree.name(cell) == "th" for cell in cells):
                        return tuple(" ".join(tree.text(cell).split()) for cell in cells)
            return ()
    return ()


def unused_name(name: str, taken: set[str]) -> str:
    """Return the name, with a number appended if it is taken."""
    if name not in taken:
        return name
    return next(f"{name}_{i}" for i in range(2, len(taken) + 3) if f"{name}_{i}" not in taken)
