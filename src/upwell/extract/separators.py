"""Objects as both Thor papers cut them out of a pagelet: by a separating tag, or by more of the same as what is dynamic.

    separator   the tag, among the children of a pagelet, that an object begins with
    voter       one way to rank the tags that might be it (Thor-objects §3, after Omini)
    object      a range of chunks: from a separator to the next

`extract.objects` is what Upwell goes by; these are to compare with.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from upwell.page.tree import TagTree

__all__ = ["VOTERS", "alike", "combined", "split"]

# Tags that often begin an object, the surest first (Thor-objects §3.4 names tr, p and li; the list is Omini's, and ours from article on).
USUAL = (
    "tr", "table", "p", "li", "hr", "dt", "ul", "pre", "font", "dl", "article", "section", "div", "h2", "h3", "h4", "dd", "a", "br"
)  # fmt: skip
BETWEEN = frozenset(("hr", "br"))  # these stand between objects; what is before the first is an object too
Ranked = list[str]


def _candidates(tree: TagTree, row: int) -> Counter[str]:
    """The tags of a pagelet's children that come twice or more."""
    return Counter({tag: n for tag, n in Counter(map(tree.name, tree.children(row))).items() if n > 1})


def appearance(tree: TagTree, row: int) -> Ranked:
    """The tag that comes most often first."""
    return [tag for tag, _ in _candidates(tree, row).most_common()]


def deviation(tree: TagTree, row: int) -> Ranked:
    """The tag whose occurrences are most evenly apart first (in characters of text)."""
    before = np.concatenate(([0], np.cumsum([len(chunk) for chunk in tree.chunks], dtype=np.int64)))
    spread = {}
    for tag, n in _candidates(tree, row).items():
        at = before[[tree.text_at[child] for child in tree.children(row) if tree.name(child) == tag]]
        spread[tag] = (float(np.diff(at).std()), -n)
    return sorted(spread, key=lambda tag: spread[tag])


def identifiable(tree: TagTree, row: int) -> Ranked:
    """The tag that usually begins objects first."""
    return sorted(_candidates(tree, row), key=lambda tag: USUAL.index(tag) if tag in USUAL else len(USUAL))


def partial_path(tree: TagTree, row: int) -> Ranked:
    """The tag below which some path repeats most often first; of two the longer path."""
    often: Counter[tuple[str, ...]] = Counter()
    for child in tree.children(row):
        path: dict[int, tuple[str, ...]] = {}
        for i in range(child, int(tree.end[child])):
            path[i] = (*path.get(int(tree.parent[i]), ()), tree.name(i))
            often[path[i]] += 1
    best: dict[str, tuple[int, int]] = {}
    for steps, n in often.items():
        best[steps[0]] = max(best.get(steps[0], (0, 0)), (n, len(steps)))
    return sorted(_candidates(tree, row), key=lambda tag: best[tag], reverse=True)


def repeating_pattern(tree: TagTree, row: int) -> Ranked:
    """The tag that nearly always is followed by the same tag without text between first."""
    alone: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    for i in range(row + 1, int(tree.end[row])):
        alone[tree.name(i)] += 1
        if i + 1 < tree.end[row] and tree.text_at[i] == tree.text_at[i + 1]:
            pairs[tree.name(i), tree.name(i + 1)] += 1
    off = {tag: min((abs(n - m) for (a, _), m in pairs.items() if a == tag), default=n) for tag, n in alone.items()}
    found = _candidates(tree, row)
    return sorted(found, key=lambda tag: (off[tag], -found[tag]))


def sibling_pairs(tree: TagTree, row: int) -> Ranked:
    """The first tag of the pair of neighbours that comes most often first."""
    names = list(map(tree.name, tree.children(row)))
    often: Counter[str] = Counter()
    for (first, _), n in Counter(pairwise(names)).items():
        often[first] = max(often[first], n)
    return sorted(_candidates(tree, row), key=lambda tag: -often[tag])


VOTERS: Mapping[str, Callable[[TagTree, int], Ranked]] = {
    "appearance count": appearance,
    "standard deviation": deviation,
    "identifiable tags": identifiable,
    "partial path": partial_path,
    "repeating pattern": repeating_pattern,
    "sibling pairs": sibling_pairs,
}


def combined(tree: TagTree, row: int) -> Ranked:
    """All voters together: the sum of one over the place that each gives a tag (ours; Omini's chances were learned)."""
    votes = dict.fromkeys(_candidates(tree, row), 0.0)
    for voter in VOTERS.values():
        for place, tag in enumerate(voter(tree, row), 1):
            votes[tag] += 1 / place
    return sorted(votes, key=lambda tag: -votes[tag])


def split(tree: TagTree, row: int, ranked: Ranked) -> list[tuple[int, int]]:
    """The objects of a pagelet by the best separator, as ranges of chunks; fragments without text are none."""
    if not ranked:
        return []
    starts = [int(tree.text_at[child]) for child in tree.children(row) if tree.name(child) == ranked[0]]
    if ranked[0] in BETWEEN:
        starts.insert(0, int(tree.text_at[row]))
    ends = [*starts[1:], int(tree.text_end[row])]
    return [(a, b) for a, b in zip(starts, ends, strict=True) if b > a]


def alike(tree: TagTree, row: int, dynamic: Sequence[int]) -> list[tuple[int, int]]:
    """The objects of a pagelet from the dynamic subtrees inside it: all subtrees of their size, layout and depth (Thor §IV)."""
    outer: list[int] = []
    for found in sorted(dynamic):
        if row < found < tree.end[row] and (not outer or found >= tree.end[outer[-1]]):
            outer.append(found)
    if not outer:
        return []
    looks = Counter((int(tree.depth[i]), int(tree.tag[i])) for i in outer)
    (depth, tag), _ = looks.most_common(1)[0]
    sizes = [int(tree.nodes[i]) for i in outer if (int(tree.depth[i]), int(tree.tag[i])) == (depth, tag)]
    inside = np.arange(row + 1, int(tree.end[row]))
    like = (tree.depth[inside] == depth) & (tree.tag[inside] == tag)
    like &= (2 * tree.nodes[inside] >= min(sizes)) & (tree.nodes[inside] <= 2 * max(sizes))
    like &= tree.text_end[inside] > tree.text_at[inside]
    return [(int(tree.text_at[i]), int(tree.text_end[i])) for i in inside[like]]
