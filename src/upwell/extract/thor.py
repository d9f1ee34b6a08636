"""Pagelets as Thor finds them (§VI): subtrees that stand at the same place on all answers and say something else on each.

    candidate   a subtree with words of its own: of a chain with the same text, the deepest
    set         a candidate of a prototype page, and the most similar candidate of every other page
    static      a set whose subtrees say nearly the same; the others are dynamic
    pagelet     the dynamic subtree that holds the others

It needs two answers or more of one kind. `extract.pagelets` is what Upwell goes by; this is the paper, to compare with.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from upwell.errors import MissingExtra
from upwell.page import terms
from upwell.page.sparse import CsrMatrix, ranges
from upwell.page.tree import Ints, TagTree
from upwell.page.vectors import mean_similarity, weigh

__all__ = ["PAPER", "Pagelet", "ThorParams", "candidates", "common", "distances", "locate", "set_similarities"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class ThorParams:
    """What measures best here (docs/decisions/0012-thor-as-published.md); `PAPER` is as published."""

    weights: tuple[float, float, float, float] = (0.25, 0.25, 0.25, 0.25)  # Thor §VI-B: path, fanout, depth, nodes
    assignment: Literal["nearest", "optimal"] = "optimal"  # Thor §VI-B: nearest; optimal: no subtree in two sets
    prototypes: int = 5  # Thor §VI-B: one page drawn at random; of more, the similarities are averaged; swept 1 … 5
    weighing: Literal["tfidf", "raw"] = "tfidf"  # Thor §VI-B step 2; raw is Figure 14's other half
    cut: float = 0.5  # Thor §VI-B: sets with a greater similarity are static
    delta: int = 7  # a smaller loss of dynamic subtrees is a step down; Thor §VI-C: 2; swept 2 … 12
    top: int = 1  # Thor §VI-C: so many pagelets a page at most
    way: Literal["thor", "objects"] = "thor"  # objects: by the distance to the centroid (Thor-objects §2.4)
    promising: int = 0  # only so many candidates a page, by fanout, text, tags and links (Thor-objects §3.2); 0: all


PAPER = ThorParams(assignment="nearest", prototypes=1, delta=2)


@dataclass(frozen=True, kw_only=True)
class Pagelet:
    """A region with answers, and the dynamic subtrees inside it (Thor §VI-C, for the objects)."""

    row: int
    dynamic: tuple[int, ...]
    score: float  # Thor: dynamic subtrees inside; Thor-objects: distance to the centroid


class _Page:
    """The candidates of one page and what they are compared by."""

    def __init__(self, tree: TagTree, codes: dict[str, str], words: dict[str, int], promising: int) -> None:
        found = terms.of(tree, stemmed=True)
        ids = np.array([words.setdefault(word, len(words)) for word in found.words], dtype=np.int64)
        self.tree, self.ids, at = tree, ids[found.ids] if len(ids) else found.ids, found.at
        self.rows = candidates(tree, found)
        if promising:
            self.rows = np.sort(self.rows[_promise(tree, self.rows).argsort(kind="stable")[::-1][:promising]])
        self.first, self.last = at[tree.text_at[self.rows]], at[tree.text_end[self.rows]]
        # A private character a tag (Thor §VI-B: q letters a tag), and a path is a string of them.
        letter = [codes.setdefault(tag, chr(0xE000 + len(codes))) for tag in tree.tags]
        path: list[str] = []
        for tag, parent in zip(tree.tag.tolist(), tree.parent.tolist(), strict=True):
            path.append((path[parent] if parent >= 0 else "") + letter[tag])
        self.paths = [path[row] for row in self.rows.tolist()]
        texts = np.bincount(tree.chunk_row, minlength=len(tree))  # content nodes are nodes too (Thor §III-A)
        self.shape = np.stack(
            [
                (tree.fanout + texts)[self.rows],
                tree.depth[self.rows],
                (tree.nodes + tree.text_end - tree.text_at)[self.rows],
            ]
        ).astype(np.float64)


def candidates(tree: TagTree, found: terms.Terms | None = None) -> Ints:
    """The subtrees that may be pagelets: with words, and no child has all of them (Thor §VI-A, as it was meant)."""
    at = (found or terms.of(tree)).at
    worded = at[tree.text_end] > at[tree.text_at]
    same = (tree.text_at[1:] == tree.text_at[tree.parent[1:]]) & (tree.text_end[1:] == tree.text_end[tree.parent[1:]])
    worded[tree.parent[1:][same]] = False
    return np.flatnonzero(worded).astype(np.int32)


def _promise(tree: TagTree, rows: Ints) -> Floats:
    """Fanout, size of text, number of tags and of links of subtrees, each as a part of the most, added (Thor-objects §3.2)."""
    links = tree.sum_rows(np.isin(np.arange(len(tree)), tree.rows("a")).astype(np.int64))
    each = np.stack([tree.fanout[rows], tree.chars[rows], tree.nodes[rows], links[rows]]).astype(np.float64)
    return np.asarray((each / np.maximum(each.max(axis=1, initial=1.0)[:, None], 1.0)).sum(axis=0))


def distances(a: _Page, b: _Page, weights: Sequence[float]) -> Floats:
    """Thor's distance of every candidate of a page to every candidate of another (§VI-B step 1)."""
    total = np.zeros((len(a.rows), len(b.rows)))
    if weights[0]:
        try:
            from rapidfuzz import process
            from rapidfuzz.distance import Levenshtein
        except ImportError as missing:
            raise MissingExtra("Thor's distance needs the package rapidfuzz: pip install 'upwell[papers]'") from missing
        names_a, code_a = np.unique(a.paths, return_inverse=True)
        names_b, code_b = np.unique(b.paths, return_inverse=True)
        apart = process.cdist(names_a.tolist(), names_b.tolist(), scorer=Levenshtein.normalized_distance)
        total += weights[0] * apart[code_a][:, code_b]
    for weight, x, y in zip(weights[1:], a.shape, b.shape, strict=True):
        if weight:
            total += weight * np.abs(x[:, None] - y[None, :]) / np.maximum(np.maximum(x[:, None], y[None, :]), 1.0)
    return total


def common(prototype: _Page, page: _Page, params: ThorParams) -> Ints:
    """For each candidate of the prototype the place of its like among the candidates of a page, -1 where it has none."""
    apart = distances(prototype, page, params.weights)
    if not apart.size:
        return np.full(len(prototype.rows), -1, dtype=np.int32)
    if params.assignment == "nearest":
        return np.asarray(apart.argmin(axis=1), dtype=np.int32)
    try:
        from scipy.optimize import linear_sum_assignment
    except ImportError as missing:
        raise MissingExtra("the optimal assignment needs the package scipy: pip install 'upwell[papers]'") from missing
    found = np.full(len(prototype.rows), -1, dtype=np.int32)
    which, like = linear_sum_assignment(apart)
    found[which] = like
    return found


def similarities(
    pages: Sequence[_Page], like: NDArray[np.int32], params: ThorParams, words: int
) -> tuple[Floats, Floats]:
    """The similarity inside each common subtree set, and of each of its subtrees to its centroid (pages × sets).

    Thor §VI-B step 2: the mean over pairs; Thor-objects §2.4: the mean over subtrees of the cosine to the centroid.
    """
    page, of_set = np.nonzero(like >= 0)
    first = np.concatenate([own.first[row[row >= 0]] for own, row in zip(pages, like, strict=True)]).astype(np.int64)
    last = np.concatenate([own.last[row[row >= 0]] for own, row in zip(pages, like, strict=True)]).astype(np.int64)
    before = np.cumsum([0, *(len(p.ids) for p in pages)])
    every = np.concatenate([p.ids for p in pages])
    size = last - first
    spread = ranges(first + before[page], size)
    subtree = np.repeat(np.arange(len(size)), size)
    counts = CsrMatrix.from_entries(subtree, every[spread], np.ones(len(spread)), (len(size), words))
    weights = weigh(counts, params.weighing, of_set)
    centroid = weights.add_rows(of_set, like.shape[1])
    length = np.sqrt(centroid.squared_lengths())
    near = np.full(like.shape, np.nan)
    near[page, of_set] = weights.row_dots(centroid, of_set) / np.maximum(length[of_set], 1e-12)
    inside = np.ones(like.shape[1])
    names, mean = mean_similarity(weights, of_set)
    inside[names] = mean if params.way == "thor" else np.nanmean(near[:, names], axis=0)
    return inside, near


def set_similarities(trees: Sequence[TagTree], params: ThorParams, *, rng: np.random.Generator) -> Floats:
    """How similar the subtrees of each common subtree set are, for one prototype page (Thor Figure 14)."""
    codes: dict[str, str] = {}
    words: dict[str, int] = {}
    pages = [_Page(tree, codes, words, params.promising) for tree in trees]
    prototype = pages[int(rng.integers(len(pages)))]
    like = np.stack([common(prototype, page, params) for page in pages])
    return similarities(pages, like, params, len(words))[0]


def locate(
    trees: Sequence[TagTree], params: ThorParams | None = None, *, rng: np.random.Generator
) -> list[list[Pagelet]]:
    """The pagelets of each of the answers of one kind, the best first (Thor §VI)."""
    params = params or ThorParams()
    codes: dict[str, str] = {}
    words: dict[str, int] = {}
    pages = [_Page(tree, codes, words, params.promising) for tree in trees]
    if len(pages) < 2:
        return [[] for _ in pages]
    sums = [np.zeros(len(page.rows)) for page in pages]
    times = [np.zeros(len(page.rows)) for page in pages]
    for prototype in rng.permutation(len(pages))[: params.prototypes]:
        like = np.stack([common(pages[prototype], page, params) for page in pages])
        inside, near = similarities(pages, like, params, len(words))
        for total, seen, row, own in zip(sums, times, like, near, strict=True):
            has = row >= 0
            np.add.at(total, row[has], inside[has] if params.way == "thor" else own[has])
            np.add.at(seen, row[has], 1)
    found = []
    for page, total, seen in zip(pages, sums, times, strict=True):
        similar = np.where(seen > 0, total / np.maximum(seen, 1), 1.0)
        dynamic = similar <= params.cut
        if params.way == "thor":
            found.append(_select(page.tree, page.rows[dynamic], params))
        else:
            found.append(_dissimilar(page.tree, page.rows[dynamic], similar[dynamic], params))
    return found


def _select(tree: TagTree, dynamic: Ints, params: ThorParams) -> list[Pagelet]:
    """Down from the subtree with the most dynamic ones inside, while few are lost on the way (Thor Fig. 6, as it was meant).

    Next come, by their number of dynamic ones, what lies beside it and what lies inside it (several regions have a common
    subtree above them), without mere steps down.
    """
    if not len(dynamic):
        return []
    inside = {int(u): int(((dynamic > u) & (dynamic < tree.end[u])).sum()) for u in dynamic}
    order = sorted(inside, key=lambda row: (-inside[row], row))
    u = order[0]
    while True:
        below = [v for v in order if u < v < tree.end[u]]  # the first of them is one hop away
        if not below or inside[u] - inside[below[0]] >= params.delta:
            break
        u = below[0]
    chosen = [u]
    for v in order:
        above = [w for w in chosen if w <= v < tree.end[w]]
        holds = any(v < w < tree.end[v] for w in chosen)
        if len(chosen) < params.top and not holds and all(inside[w] - inside[v] >= params.delta for w in above):
            chosen.append(v)
    return [_pagelet(tree, row, dynamic, inside[row]) for row in chosen]


def _dissimilar(tree: TagTree, dynamic: Ints, similar: Floats, params: ThorParams) -> list[Pagelet]:
    """The subtrees that are furthest from their centroid, none inside another (Thor-objects §2.4 and §4.3)."""
    found: list[Pagelet] = []
    for i in np.argsort(similar, kind="stable").tolist():
        u = int(dynamic[i])
        if len(found) < params.top and all(u >= tree.end[p.row] or tree.end[u] <= p.row for p in found):
            found.append(_pagelet(tree, u, dynamic, 1 - float(similar[i])))
    return found


def _pagelet(tree: TagTree, row: int, dynamic: Ints, score: float) -> Pagelet:
    inside = dynamic[(dynamic > row) & (dynamic < tree.end[row])]
    return Pagelet(row=row, dynamic=tuple(inside.tolist()), score=float(score))
