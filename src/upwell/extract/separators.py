"""Objects as both Thor papers cut them out of a pagelet: by a separating tag, or by more of the same as what is dynamic.

    separator   the tag, among the children of a pagelet, that an object begins with
    voter       one way to rank the tags that might be it (Thor-objects §3, after Omini)
    object      a range of chunks: from a separator to the next

Upwell itself uses `extract.cut_candidates`; these are to compare with.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from upwell.page.tree import TagTree

__all__ = ["VOTERS", "alike", "combined", "split"]

# Tags that often begin an object, the surest first (Thor-objects §3.4 names tr, p and li; the list is Omini's, and ours from article on).
USUAL_SEPARATORS = (
    "tr", "table", "p", "li", "hr", "dt", "ul", "pre", "font", "dl", "article", "section", "div", "h2", "h3", "h4", "dd", "a", "br"
)  # fmt: skip
BETWEEN_OBJECTS = frozenset(("hr", "br"))  # these stand between objects; what is before the first is an object too
RankedTags = list[str]


def _candidates(tree: TagTree, row: int) -> Counter[str]:
    """The tags of a pagelet's children that come twice or more."""
    return Counter({tag: n for tag, n in Counter(map(tree.name, tree.children(row))).items() if n > 1})


def appearance(tree: TagTree, row: int) -> RankedTags:
    """The tag that comes most often first."""
    return [tag for tag, _ in _candidates(tree, row).most_common()]


def deviation(tree: TagTree, row: int) -> RankedTags:
    """The tag whose occurrences are most evenly apart first (in characters of text)."""
    chars_before = np.concatenate(([0], np.cumsum([len(chunk) for chunk in tree.chunks], dtype=np.int64)))
    rank = {}
    for tag, n in _candidates(tree, row).items():
        at = chars_before[[tree.text_at[child] for child in tree.children(row) if tree.name(child) == tag]]
        rank[tag] = (float(np.diff(at).std()), -n)
    return sorted(rank, key=lambda tag: rank[tag])


def identifiable(tree: TagTree, row: int) -> RankedTags:
    """The tag that usually begins objects first."""
    return sorted(
        _candidates(tree, row),
        key=lambda tag: USUAL_SEPARATORS.index(tag) if tag in USUAL_SEPARATORS else len(USUAL_SEPARATORS),
    )


def partial_path(tree: TagTree, row: int) -> RankedTags:
    """The tag below which some path repeats most often first; of two the longer path."""
    path_counts: Counter[tuple[str, ...]] = Counter()
    for child in tree.children(row):
        path: dict[int, tuple[str, ...]] = {}
        for i in range(child, int(tree.end[child])):
            path[i] = (*path.get(int(tree.parent[i]), ()), tree.name(i))
            path_counts[path[i]] += 1
    best: dict[str, tuple[int, int]] = {}
    for steps, n in path_counts.items():
        best[steps[0]] = max(best.get(steps[0], (0, 0)), (n, len(steps)))
    return sorted(_candidates(tree, row), key=lambda tag: best[tag], reverse=True)


def repeating_pattern(tree: TagTree, row: int) -> RankedTags:
    """The tag that nearly always is followed by the same tag without text between first."""
    tag_counts: Counter[str] = Counter()
    pair_counts: Counter[tuple[str, str]] = Counter()
    for i in range(row + 1, int(tree.end[row])):
        tag_counts[tree.name(i)] += 1
        if i + 1 < tree.end[row] and tree.text_at[i] == tree.text_at[i + 1]:
            pair_counts[tree.name(i), tree.name(i + 1)] += 1
    unpaired = {
        tag: min((abs(n - pairs) for (first, _), pairs in pair_counts.items() if first == tag), default=n)
        for tag, n in tag_counts.items()
    }
    candidates = _candidates(tree, row)
    return sorted(candidates, key=lambda tag: (unpaired[tag], -candidates[tag]))


def sibling_pairs(tree: TagTree, row: int) -> RankedTags:
    """The first tag of the pair of neighbours that comes most often first."""
    names = list(map(tree.name, tree.children(row)))
    largest_pair: Counter[str] = Counter()
    for (first, _), n in Counter(pairwise(names)).items():
        largest_pair[first] = max(largest_pair[first], n)
    return sorted(_candidates(tree, row), key=lambda tag: -largest_pair[tag])


VOTERS: Mapping[str, Callable[[TagTree, int], RankedTags]] = {
    "appearance count": appearance,
    "standard deviation": deviation,
    "identifiable tags": identifiable,
    "partial path": partial_path,
    "repeating pattern": repeating_pattern,
    "sibling pairs": sibling_pairs,
}


def combined(tree: TagTree, row: int) -> RankedTags:
    """All voters together: the sum of one over the place that each gives a tag (ours; Omini's chances were learned)."""
    votes = dict.fromkeys(_candidates(tree, row), 0.0)
    for voter in VOTERS.values():
        for place, tag in enumerate(voter(tree, row), 1):
            votes[tag] += 1 / place
    return sorted(votes, key=lambda tag: -votes[tag])


def split(tree: TagTree, row: int, ranked: RankedTags) -> list[tuple[int, int]]:
    """The objects of a pagelet by the best separator, as ranges of chunks; fragments without text are none."""
    if not ranked:
        return []
    starts = [int(tree.text_at[child]) for child in tree.children(row) if tree.name(child) == ranked[0]]
    if ranked[0] in BETWEEN_OBJECTS:
        starts.insert(0, int(tree.text_at[row]))
    ends = [*starts[1:], int(tree.text_end[row])]
    return [(a, b) for a, b in zip(starts, ends, strict=True) if b > a]


def alike(tree: TagTree, row: int, dynamic: Sequence[int]) -> list[tuple[int, int]]:
    """The objects of a pagelet from the dynamic subtrees inside it: all subtrees of their size, layout and depth (Thor §IV)."""
    outermost: list[int] = []
    for subtree in sorted(dynamic):
        if row < subtree < tree.end[row] and (not outermost or subtree >= tree.end[outermost[-1]]):
            outermost.append(subtree)
    if not outermost:
        return []
    (depth, tag), _ = Counter((int(tree.depth[i]), int(tree.tag[i])) for i in outermost).most_common(1)[0]
    sizes = [int(tree.nodes[i]) for i in outermost if (int(tree.depth[i]), int(tree.tag[i])) == (depth, tag)]
    inside = np.arange(row + 1, int(tree.end[row]))
    is_alike = (tree.depth[inside] == depth) & (tree.tag[inside] == tag)
    is_alike &= (2 * tree.nodes[inside] >= min(sizes)) & (tree.nodes[inside] <= 2 * max(sizes))
    is_alike &= tree.text_end[inside] > tree.text_at[inside]
    return [(int(tree.text_at[i]), int(tree.text_end[i])) for i in inside[is_alike]]
