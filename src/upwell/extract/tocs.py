"""Tables of contents: lists of links to content, told from menus, pagers and tool bars.

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

__all__ = ["Toc", "TocParams", "find"]

SIBLINGS = 4  # pages of one kind that a list of short names must lead to
NOT_CONTENT = ("nav", "footer", "aside", "select", "button", "thead")


@dataclass(frozen=True, kw_only=True)
class TocParams:
    """What a list of links must be to inform."""

    entries: int = 2  # a list has at least two
    chars: float = 12.0  # that an entry says on the median, of a site that is known; swept: 8, 12, 16, 20
    alone: float = 20.0  # the same from one page alone, where what repeats is not known; swept: 12, 16, 20, 25
    short: float = 4.0  # the same where the links lead to one kind of page; swept: 3, 4, 6
    most: float = 100.0  # characters of an entry that count: one long text makes no list
    repeating: float = 0.25  # what repeats counts for this much, so that long lists on every page stay; swept: 0 to 0.5
    linked: float = 0.5  # share of its line that a head takes


@dataclass(frozen=True)
class Toc:
    """One table of contents: the row that holds it, its items, and how much a median entry says."""

    row: int
    items: tuple[int, ...]
    score: float


def find(tree: TagTree, lines: Lines, repeated: Floats | None = None, params: TocParams | None = None) -> list[Toc]:
    """The tables of contents of a page; `repeated` says of each line in what share of the site's other pages it stands."""
    params = params or TocParams()
    found_heads = _heads(tree, lines, params) if len(lines) else []
    if len(found_heads) < params.entries:
        return []
    known = _sums(lines.chars)
    news = known if repeated is None else _sums(lines.chars * (1 - repeated))
    groups: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for head, line in found_heads:
        groups[lines.styles[line] + "/" + tree.classes[int(tree.cls[head])]].append((head, line))
    parent, end = tree.parent.tolist(), tree.end.tolist()
    least = params.alone if repeated is None else params.chars
    found: dict[int, tuple[set[int], float]] = {}
    for members in groups.values():
        if len(members) < params.entries:
            continue
        heads = [head for head, _ in members]
        row = _common(parent, end, heads)
        items = {_child(parent, row, head) for head in heads}
        if len(items) < params.entries:
            continue
        stop = int(np.searchsorted(lines.first, tree.text_end[max(items)]))
        starts = [line for _, line in members]
        score = max(_entry(news, starts, stop, params), params.repeating * _entry(known, starts, stop, params))
        if score >= least or (score >= params.short and _one_kind(tree, heads, repeated is None)):
            others, best = found.get(row, (set(), 0.0))
            found[row] = (others | items, max(best, score))
    return _outermost(tree, found)


def _sums(values: Floats) -> list[float]:
    return [0.0, *np.cumsum(values).tolist()]


def _entry(said: list[float], starts: list[int], end: int, params: TocParams) -> float:
    """What a median entry says, up to where the next one begins; links in one line share it."""
    shared = Counter(starts)
    bounds = [*shared, end]
    each = [
        min(params.most, (said[stop] - said[line]) / shared[line])
        for line, stop in pairwise(bounds)
        for _ in range(shared[line])
    ]
    return sorted(each)[len(each) // 2]


def _heads(tree: TagTree, lines: Lines, params: TocParams) -> list[tuple[int, int]]:
    """The links that take up most of their line and stand where content may stand, with their lines."""
    out = np.zeros(len(tree), dtype=bool)
    for i in tree.rows(*NOT_CONTENT).tolist():
        out[i : tree.end[i]] = True
    rows = tree.rows("a")
    rows = rows[(tree.text_end[rows] > tree.text_at[rows]) & ~out[rows]]
    line = np.searchsorted(lines.first, tree.text_at[rows], side="right") - 1
    keep = lines.linked[line] >= params.linked
    return [
        (row, at)
        for row, at in zip(rows[keep].tolist(), line[keep].tolist(), strict=True)
        if not (tree.attributes.get(row, {}).get("href") or "").startswith("#")
    ]


def _one_kind(tree: TagTree, heads: list[int], alone: bool) -> bool:
    """Whether links lead to pages of one kind: other names in one folder below the root, with numbers if that is all we know.

    So that lists of short names count (Wisdom §4.4, reason 1); pagers and facets only change the query of an address.
    """
    addresses = {(tree.attributes.get(head, {}).get("href") or "").partition("#")[0] for head in heads}
    paths = [address.partition("?")[0] for address in addresses]
    folders = {path.rsplit("/", 1)[0] for path in paths}
    if len(set(paths)) < max(SIBLINGS, 0.8 * len(heads)) or len(folders) != 1 or not folders.pop().strip("/"):
        return False
    return not alone or sum(any(c.isdigit() for c in path.rsplit("/", 1)[-1]) for path in paths) > 0.5 * len(paths)


def _common(parent: list[int], end: list[int], rows: list[int]) -> int:
    """The lowest row that has all of these below it."""
    row, last = parent[rows[0]], rows[-1]
    while row > 0 and end[row] <= last:
        row = parent[row]
    return row


def _child(parent: list[int], above: int, row: int) -> int:
    """The child of a row under which another row stands."""
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
