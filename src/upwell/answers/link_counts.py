"""How many matches a link leads to, where the page says so: the 120 of "Maps (120)"."""

import re

from upwell.page.ranges import number_value
from upwell.page.tree import TagTree

__all__ = ["stated_matches"]

COUNT_AFTER_LINK = re.compile(r"\s*(?:[(\[]\s*(\d[\d.,]{0,17})\s*[)\]]|(\d[\d.,]{0,17})\s*$)")
COUNT_IN_LINK = re.compile(r"\S\s*[(\[](\d[\d.,]{0,17})[)\]]\s*$")


def stated_matches(tree: TagTree, row: int) -> int | None:
    """The number right after a link, or in brackets at the end of its text: how many matches it leads to.

    >>> from upwell.page.tree import read
    >>> tree = read("<li><a href=/a>Maps</a> (120)<li><a href=/b>Books [1,600]</a><li><a href=/c>Discs</a>")
    >>> [stated_matches(tree, int(row)) for row in tree.rows("a")]
    [120, 1600, None]
    """
    found = COUNT_AFTER_LINK.match(_text_after(tree, row)) or COUNT_IN_LINK.search(tree.text(row))
    return number_value(found[found.lastindex or 1]) if found else None


def _text_after(tree: TagTree, row: int) -> str:
    """The text right after a link, where it stands beside the link and is no part of another link."""
    after = int(tree.text_end[row])
    if after >= len(tree.chunks):
        return ""
    holder, parent = int(tree.chunk_row[after]), int(tree.parent[row])
    if not parent <= holder < int(tree.end[parent]):
        return ""
    inside_link = {"a", "option"} & {tree.name(i) for i in (holder, *tree.ancestors(holder))}
    return "" if inside_link else tree.chunks[after]
