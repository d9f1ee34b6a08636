"""Tables of contents: lists of links to content, distinguished from menus, pagers and tool bars.

head    a link that takes up most of its line
group   the heads of one style: the links of one list, or of several lists of one kind
entry   a head and what follows it up to the next one of its group
item    the child of the group's common row that has a head: `<li>`, `<tr>`, `<div>` …

Wisdom §3.1.2 asks the linked pages whether a link informs; §4.4 says where that fails (short anchors, numbers, scripts,
pages that were not crawled). Here a list informs by what its entries say besides what the whole site repeats, which
needs no other page.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from upwell.extract.lines import Floats, Lines
from upwell.page.tree import TagTree

__all__ = ["Toc", "TocParams", "find_tocs"]

MIN_SIBLING_PAGES = 4  # pages of one kind that a list of short names must lead to
NOT_CONTENT = ("nav", "footer", "aside", "select", "button", "thead")


@dataclass(frozen=True, kw_only=True)
class TocParams:
    """What a list of links must be to inform."""

    min_entries: int = 2
    min_chars: float = 12.0  # of the median entry, where the site is known; swept: 8, 12, 16, 20
    min_chars_alone: float = 20.0  # from one page alone, where what repeats is not known; swept: 12, 16, 20, 25
    min_chars_same_kind: float = 4.0  # where the links lead to pages of one kind; swept: 3, 4, 6
    max_chars: float = 100.0  # of an entry that count: one long text makes no list
    repeated_weight: float = 0.25  # of what the site repeats, so that long lists on every page stay; swept: 0 to 0.5
    min_head_share: float = 0.5  # of its line that a head takes


@dataclass(frozen=True)
class Toc:
    """One table of contents: the row that holds it, its items, and the characters of its median entry."""

    row: int
    items: tuple[int, ...]
    score: float


def find_tocs(
    tree: TagTree, lines: Lines, repeated: Floats | None = None, params: TocParams | None = None
) -> list[Toc]:
    """The tables of contents of a page; `repeated` has, for each line, the share of the site's other pages that have it."""
    params = params or TocParams()
    all_heads = _heads(tree, lines, params) if len(lines) else []
    if len(all_heads) < params.min_entries:
        return []
    is_alone = repeated is None
    chars_before = _prefix_sums(lines.chars)
    new_chars_before = chars_before if repeated is None else _prefix_sums(lines.chars * (1 - repeated))
    groups: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for head, line in all_heads:
        groups[lines.styles[line] + "/" + tree.classes[int(tree.cls[head])]].append((head, line))
    parent, end = tree.parent.tolist(), tree.end.tolist()
    min_score = params.min_chars_alone if is_alone else params.min_chars
    found: dict[int, tuple[set[int], float]] = {}
    for members in groups.values():
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
        if score >= min_score or (score >= params.min_chars_same_kind and _lead_to_one_kind(tree, heads, is_alone)):
            others, best = found.get(row, (set(), 0.0))
            found[row] = (others | items, max(best, score))
    return _outermost(tree, found)


def _prefix_sums(values: Floats) -> list[float]:
    return [0.0, *np.cumsum(values).tolist()]


def _median_entry(chars_before: list[float], starts: list[int], end: int, params: TocParams) -> float:
    """The characters of the median entry, up to where the next one begins; links in one line share it."""
    links_in_line = Counter(starts)
    bounds = [*links_in_line, end]
    chars = [
        min(params.max_chars, (chars_before[stop] - chars_before[line]) / links_in_line[line])
        for line, stop in pairwise(bounds)
        for _ in range(links_in_line[line])
    ]
    return sorted(chars)[len(chars) // 2]


def _heads(tree: TagTree, lines: Lines, params: TocParams) -> list[tuple[int, int]]:
    """The links that take up most of their line and stand where content may stand, with their lines."""
    is_outside = np.zeros(len(tree), dtype=bool)
    for i in tree.rows(*NOT_CONTENT).tolist():
        is_outside[i : tree.end[i]] = True
    rows = tree.rows("a")
    rows = rows[(tree.text_end[rows] > tree.text_at[rows]) & ~is_outside[rows]]
    line = np.searchsorted(lines.first, tree.text_at[rows], side="right") - 1
    is_head = lines.linked[line] >= params.min_head_share
    return [
        (row, at)
        for row, at in zip(rows[is_head].tolist(), line[is_head].tolist(), strict=True)
        if not (tree.attributes.get(row, {}).get("href") or "").startswith("#")
    ]


def _lead_to_one_kind(tree: TagTree, heads: list[int], is_alone: bool) -> bool:
    """Whether links lead to pages of one kind: other names in one folder below the root, with numbers where the page is all we know.

    So that lists of short names count (Wisdom §4.4, reason 1); pagers and facets only change the query of an address.
    """
    addresses = {(tree.attributes.get(head, {}).get("href") or "").partition("#")[0] for head in heads}
    paths = [address.partition("?")[0] for address in addresses]
    folders = {path.rsplit("/", 1)[0] for path in paths}
    has_enough = len(set(paths)) >= max(MIN_SIBLING_PAGES, 0.8 * len(heads))
    if not has_enough or len(folders) != 1 or not folders.pop().strip("/"):
        return False
    return not is_alone or sum(any(c.isdigit() for c in path.rsplit("/", 1)[-1]) for path in paths) > 0.5 * len(paths)


def _common_row(parent: list[int], end: list[int], rows: list[int]) -> int:
    """The lowest row that has all of these below it."""
    row, last = parent[rows[0]], rows[-1]
    while row > 0 and end[row] <= last:
        row = parent[row]
    return row


def _child_above(parent: list[int], above: int, row: int) -> int:
    """The child of `above` under which `row` stands."""
    while parent[row] != above:
        row = parent[row]
    return row


def _outermost(tree: TagTree, found: dict[int, tuple[set[int], float]]) -> list[Toc]:
    """The tables that are not inside an item of another, in document order."""
    tocs: list[Toc] = []
    for row in sorted(found):
        items, score = found[row]
        if not any(item <= row < tree.end[item] for toc in tocs for item in toc.items):
            tocs.append(Toc(row, tuple(sorted(items)), round(score, 1)))
    return tocs
