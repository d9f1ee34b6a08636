"""Find tables of contents: lists of links to content, as opposed to menus, pagers and tool bars.

head    link that takes up most of its line, or begins the line of its teaser
group   heads of one style: the links of one list, or of several similar lists
entry   a head and the text up to the next head of its group
item    child of the group's common ancestor that contains a head: `<li>`, `<tr>`, `<div>` …

Wisdom §3.1.2 compares a link with the page it leads to, which fails for short anchors, numbers, scripts and pages that were not
crawled (§4.4). Here a list is informative if its entries have enough text that the site does not repeat, which needs no other page.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from upwell.content.lines import Floats, Lines
from upwell.page.tree import TagTree

__all__ = ["TableOfContents", "TableOfContentsParams", "find_tables_of_contents"]

MIN_SIBLING_PAGES = 4  # pages in one URL folder that a list of short names must link to
NOT_CONTENT = ("nav", "footer", "aside", "select", "button", "thead")


@dataclass(frozen=True, kw_only=True)
class TableOfContentsParams:
    """Conditions for a list of links to be a table of contents."""

    min_entries: int = 2
    min_chars: float = 12.0  # characters of the median entry if the site is known; swept: 8, 12, 16, 20
    min_chars_alone: float = 20.0  # the same for a single page, whose repeated text is unknown; swept: 12, 16, 20, 25
    min_chars_same_kind: float = 4.0  # the same if the links lead to pages in one folder; swept: 3, 4, 6
    max_chars: float = 100.0  # an entry counts at most this many characters: one long text is not a list
    repeated_weight: float = (
        0.25  # weight of text the site repeats, which keeps long lists on every page; swept: 0 to 0.5
    )
    min_head_share: float = 0.5  # share of a line that a head takes up
    # Heads that only begin their line: the least number of them, the characters of the median head, and the share of the lines from the
    # first to the end of the last entry that begin with one; an article has such lines here and there. Not swept.
    min_leading: int = 4
    min_leading_chars: float = 12.0
    min_leading_share: float = 0.7


@dataclass(frozen=True)
class TableOfContents:
    """Table of contents: the row that contains it, its items, the characters of its median entry, and the lines with a head and its teaser."""

    row: int
    items: tuple[int, ...]
    score: float
    teasers: frozenset[int] = frozenset()


def find_tables_of_contents(
    tree: TagTree, lines: Lines, repeated: Floats | None = None, params: TableOfContentsParams | None = None
) -> list[TableOfContents]:
    """Find the tables of contents of a page; `repeated` has, for each line, the share of the site's other pages that contain it."""
    params = params or TableOfContentsParams()
    all_heads, leading = _heads(tree, lines, params) if len(lines) else ([], [])
    if len(all_heads) + len(leading) < params.min_entries:
        return []
    is_single_page = repeated is None
    chars_before = _prefix_sums(lines.chars)
    new_chars_before = chars_before if repeated is None else _prefix_sums(lines.chars * (1 - repeated))
    groups: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for head, line in all_heads:
        groups[lines.styles[line] + "/" + tree.classes[int(tree.cls[head])]].append((head, line))
    groups_of_leading: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for head, line in leading:
        groups_of_leading[f"{lines.styles[line]}/{tree.signature_of[head]}"].append((head, line))
    of_teasers = [group for group in groups_of_leading.values() if _are_teasers(tree, lines, group, params)]
    parent, end = tree.parent.tolist(), tree.end.tolist()
    min_score = params.min_chars_alone if is_single_page else params.min_chars
    lines_of_teasers = {line for group in of_teasers for _, line in group}
    tables: dict[int, tuple[set[int], float, set[int]]] = {}
    for members in (*groups.values(), *of_teasers):
        if len(members) < params.min_entries:
            continue
        heads = [head for head, _ in members]
        row = _common_row(parent, end, heads)
        items = {_child_above(parent, row, head) for head in heads}
        if len(items) < params.min_entries:
            continue
        stop = int(np.searchsorted(lines.first, tree.text_end[max(items)]))
        starts = [line for _, line in members]
        score = max(
            _median_entry(new_chars_before, starts, stop, params),
            params.repeated_weight * _median_entry(chars_before, starts, stop, params),
        )
        if score >= min_score or (
            score >= params.min_chars_same_kind and _lead_to_one_kind(tree, heads, is_single_page)
        ):
            known_items, best, teasers = tables.get(row, (set(), 0.0, set()))
            tables[row] = known_items | items, max(best, score), teasers | lines_of_teasers.intersection(starts)
    return _outermost(tree, tables)


def _prefix_sums(values: Floats) -> list[float]:
    return [0.0, *np.cumsum(values).tolist()]


def _median_entry(chars_before: list[float], starts: list[int], end: int, params: TableOfContentsParams) -> float:
    """Return the characters of the median entry; an entry ends where the next begins, and links in one line share it."""
    links_in_line = Counter(starts)
    bounds = [*links_in_line, end]
    chars = [
        min(params.max_chars, (chars_before[stop] - chars_before[line]) / links_in_line[line])
        for line, stop in pairwise(bounds)
        for _ in range(links_in_line[line])
    ]
    return sorted(chars)[len(chars) // 2]


def _heads(
    tree: TagTree, lines: Lines, params: TableOfContentsParams
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the links outside NOT_CONTENT that take up most of their line, and those that only begin it, with the index of the line."""
    is_outside = np.zeros(len(tree), dtype=bool)
    for i in tree.rows(*NOT_CONTENT).tolist():
        is_outside[i : tree.end[i]] = True
    rows = tree.rows("a")
    rows = rows[(tree.text_end[rows] > tree.text_at[rows]) & ~is_outside[rows]]
    line = np.searchsorted(lines.first, tree.text_at[rows], side="right") - 1
    is_head = lines.linked[line] >= params.min_head_share
    heads, leading = list[tuple[int, int]](), list[tuple[int, int]]()
    first = lines.first.tolist()
    for row, line_index, is_whole in zip(rows.tolist(), line.tolist(), is_head.tolist(), strict=True):
        if (tree.attributes.get(row, {}).get("href") or "").startswith("#"):
            continue
        if is_whole:
            heads.append((row, line_index))
        elif not any(
            any(map(str.isalpha, text)) for text in tree.chunks[first[line_index] : int(tree.text_at[row])]
        ):  # a bullet or a time may stand before it
            leading.append((row, line_index))
    return heads, leading


def _are_teasers(tree: TagTree, lines: Lines, members: list[tuple[int, int]], params: TableOfContentsParams) -> bool:
    """Return True if links that begin their lines are the heads of a list: long enough, and nearly all lines there begin with one."""
    if len(members) < params.min_leading:
        return False
    chars = sorted(len(" ".join(tree.text(head).split())) for head, _ in members)
    first, last = members[0][1], members[-1][1]
    return chars[len(chars) // 2] >= params.min_leading_chars and len(
        {line for _, line in members}
    ) >= params.min_leading_share * (last - first + 1)


def _lead_to_one_kind(tree: TagTree, heads: list[int], is_single_page: bool) -> bool:
    """Return True if links lead to different paths in one folder below the root; for a single page most paths must have digits.

    This admits lists of short names (Wisdom §4.4, reason 1); pagers and facets differ only in the query of the URL.
    """
    urls = {(tree.attributes.get(head, {}).get("href") or "").partition("#")[0] for head in heads}
    paths = [url.partition("?")[0] for url in urls]
    folders = {path.rsplit("/", 1)[0] for path in paths}
    has_enough = len(set(paths)) >= max(MIN_SIBLING_PAGES, 0.8 * len(heads))
    if not has_enough or len(folders) != 1 or not folders.pop().strip("/"):
        return False
    return not is_single_page or sum(any(c.isdigit() for c in path.rsplit("/", 1)[-1]) for path in paths) > 0.5 * len(
        paths
    )


def _common_row(parent: list[int], end: list[int], rows: list[int]) -> int:
    """Return the lowest common ancestor of rows."""
    row, last = parent[rows[0]], rows[-1]
    while row > 0 and end[row] <= last:
        row = parent[row]
    return row


def _child_above(parent: list[int], above: int, row: int) -> int:
    """Return the child of `above` that contains `row`."""
    while parent[row] != above:
        row = parent[row]
    return row


def _outermost(tree: TagTree, tables: dict[int, tuple[set[int], float, set[int]]]) -> list[TableOfContents]:
    """Return the tables that are not inside an item of another, in document order."""
    outermost: list[TableOfContents] = []
    for row in sorted(tables):
        items, score, teasers = tables[row]
        if not any(item <= row < tree.end[item] for table in outermost for item in table.items):
            outermost.append(TableOfContents(row, tuple(sorted(items)), round(score, 1), frozenset(teasers)))
    return outermost
