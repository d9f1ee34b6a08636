"""Pagelets as Thor finds them (§VI): subtrees that stand at the same place on all answers and say something else on each.

    candidate   a subtree with words of its own: of a chain with the same text, the deepest
    set         a candidate of a prototype page, and the most similar candidate of every other page
    static      a set whose subtrees say nearly the same; the others are dynamic
    pagelet     the dynamic subtree that holds the others

It needs two answers or more of one kind. Upwell itself uses `extract.pagelets`; this is the paper's method, to compare with
(`upwell extract --method thor`, `benchmarks.papers.thor`).
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

__all__ = ["PAPER", "Pagelet", "ThorParams", "candidates", "distances", "locate", "set_similarities"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class ThorParams:
    """What measures best here (docs/decisions/0012-thor-as-published.md); `PAPER` is as published."""

    weights: tuple[float, float, float, float] = (0.25, 0.25, 0.25, 0.25)  # Thor §VI-B: path, fanout, depth, nodes
    assignment: Literal["nearest", "optimal"] = "optimal"  # Thor §VI-B: nearest; optimal: no subtree in two sets
    prototypes: int = 5  # Thor §VI-B: one page drawn at random; the similarities of several are averaged; swept 1 … 5
    weighing: Literal["tfidf", "raw"] = "tfidf"  # Thor §VI-B step 2; raw is Figure 14's other half
    max_similarity: float = 0.5  # Thor §VI-B: sets with a greater similarity are static
    delta: int = 7  # go down while fewer dynamic subtrees are lost; Thor §VI-C: 2; swept 2 … 12
    max_pagelets: int = 1  # a page; Thor §VI-C
    ranking: Literal["thor", "objects"] = "thor"  # objects: by the distance to the centroid (Thor-objects §2.4)
    max_candidates: int = 0  # a page, the best by fanout, text, tags and links (Thor-objects §3.2); 0: all


PAPER = ThorParams(assignment="nearest", prototypes=1, delta=2)


@dataclass(frozen=True, kw_only=True)
class Pagelet:
    """A region with answers, and the dynamic subtrees inside it (Thor §VI-C, for the objects)."""

    row: int
    dynamic: tuple[int, ...]
    score: float  # Thor: dynamic subtrees inside; Thor-objects: distance to the centroid


class _Page:
    """The candidates of one page and what they are compared by."""

    def __init__(self, tree: TagTree, letters: dict[str, str], words: dict[str, int], max_candidates: int) -> None:
        """`letters` and `words` are shared by the pages that are compared: the letter of each tag, the number of each word."""
        page_terms = terms.of(tree, stemmed=True)
        ids = np.array([words.setdefault(word, len(words)) for word in page_terms.words], dtype=np.int64)
        self.tree, self.term_ids = tree, ids[page_terms.ids] if len(ids) else page_terms.ids
        self.rows = candidates(tree, page_terms)
        if max_candidates:
            best = _promise(tree, self.rows).argsort(kind="stable")[::-1][:max_candidates]
            self.rows = np.sort(self.rows[best])
        # the terms of candidate i are term_ids[first[i]:last[i]]
        self.first, self.last = page_terms.at[tree.text_at[self.rows]], page_terms.at[tree.text_end[self.rows]]
        # A private character a tag (Thor §VI-B: q letters a tag), and a path is a string of them.
        letter = [letters.setdefault(tag, chr(0xE000 + len(letters))) for tag in tree.tags]
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


def candidates(tree: TagTree, page_terms: terms.Terms | None = None) -> Ints:
    """The subtrees that may be pagelets: with words, and no child has all of them (Thor §VI-A, as it was meant)."""
    at = (page_terms or terms.of(tree)).at
    is_candidate = at[tree.text_end] > at[tree.text_at]
    parent = tree.parent[1:]
    has_all_of_parent = (tree.text_at[1:] == tree.text_at[parent]) & (tree.text_end[1:] == tree.text_end[parent])
    is_candidate[parent[has_all_of_parent]] = False
    return np.flatnonzero(is_candidate).astype(np.int32)


def _promise(tree: TagTree, rows: Ints) -> Floats:
    """Fanout, size of text, number of tags and of links of subtrees, each divided by the largest, added up (Thor-objects §3.2)."""
    links = tree.sum_rows(np.isin(np.arange(len(tree)), tree.rows("a")).astype(np.int64))
    measures = np.stack([tree.fanout[rows], tree.chars[rows], tree.nodes[rows], links[rows]]).astype(np.float64)
    largest = np.maximum(measures.max(axis=1, initial=1.0)[:, None], 1.0)
    return np.asarray((measures / largest).sum(axis=0))


def distances(a: _Page, b: _Page, weights: Sequence[float]) -> Floats:
    """Thor's distance of every candidate of a page to every candidate of another (§VI-B step 1)."""
    total = np.zeros((len(a.rows), len(b.rows)))
    if weights[0]:
        try:
            from rapidfuzz import process
            from rapidfuzz.distance import Levenshtein
        except ImportError as missing:
            raise MissingExtra("Thor's distance needs the package rapidfuzz: pip install 'upwell[papers]'") from missing
        paths_a, code_a = np.unique(a.paths, return_inverse=True)
        paths_b, code_b = np.unique(b.paths, return_inverse=True)
        path_distance = process.cdist(paths_a.tolist(), paths_b.tolist(), scorer=Levenshtein.normalized_distance)
        total += weights[0] * path_distance[code_a][:, code_b]
    for weight, x, y in zip(weights[1:], a.shape, b.shape, strict=True):
        if weight:
            total += weight * np.abs(x[:, None] - y[None, :]) / np.maximum(np.maximum(x[:, None], y[None, :]), 1.0)
    return total


def _assign(prototype: _Page, page: _Page, params: ThorParams) -> Ints:
    """For each candidate of the prototype, which candidate of a page is its like; -1 where it has none."""
    distance = distances(prototype, page, params.weights)
    if not distance.size:
        return np.full(len(prototype.rows), -1, dtype=np.int32)
    if params.assignment == "nearest":
        return np.asarray(distance.argmin(axis=1), dtype=np.int32)
    try:
        from scipy.optimize import linear_sum_assignment
    except ImportError as missing:
        raise MissingExtra("the optimal assignment needs the package scipy: pip install 'upwell[papers]'") from missing
    assigned = np.full(len(prototype.rows), -1, dtype=np.int32)
    of_prototype, of_page = linear_sum_assignment(distance)
    assigned[of_prototype] = of_page
    return assigned


def _similarities(
    pages: Sequence[_Page], sets: NDArray[np.int32], params: ThorParams, words: int
) -> tuple[Floats, Floats]:
    """The similarity inside each common subtree set, and of each of its subtrees to its centroid (pages × sets).

    `sets` has, for each page and set, the candidate of the page that is in the set (-1: none). Thor §VI-B step 2: the mean over
    pairs; Thor-objects §2.4: the mean over subtrees of the cosine to the centroid.
    """
    page, of_set = np.nonzero(sets >= 0)
    first = np.concatenate([own.first[row[row >= 0]] for own, row in zip(pages, sets, strict=True)]).astype(np.int64)
    last = np.concatenate([own.last[row[row >= 0]] for own, row in zip(pages, sets, strict=True)]).astype(np.int64)
    terms_before = np.cumsum([0, *(len(p.term_ids) for p in pages)])
    all_terms = np.concatenate([p.term_ids for p in pages])
    size = last - first
    inside = ranges(first + terms_before[page], size)
    subtree = np.repeat(np.arange(len(size)), size)
    counts = CsrMatrix.from_entries(subtree, all_terms[inside], np.ones(len(inside)), (len(size), words))
    weights = weigh(counts, params.weighing, of_set)
    centroid = weights.add_rows(of_set, sets.shape[1])
    length = np.sqrt(centroid.squared_lengths())
    to_centroid = np.full(sets.shape, np.nan)
    to_centroid[page, of_set] = weights.row_dots(centroid, of_set) / np.maximum(length[of_set], 1e-12)
    in_set = np.ones(sets.shape[1])
    compared, mean = mean_similarity(weights, of_set)
    in_set[compared] = mean if params.ranking == "thor" else np.nanmean(to_centroid[:, compared], axis=0)
    return in_set, to_centroid


def set_similarities(trees: Sequence[TagTree], params: ThorParams, *, rng: np.random.Generator) -> Floats:
    """How similar the subtrees of each common subtree set are, for one prototype page (Thor Figure 14)."""
    pages, words = _pages(trees, params)
    prototype = pages[int(rng.integers(len(pages)))]
    sets = np.stack([_assign(prototype, page, params) for page in pages])
    return _similarities(pages, sets, params, words)[0]


def locate(
    trees: Sequence[TagTree], params: ThorParams | None = None, *, rng: np.random.Generator
) -> list[list[Pagelet]]:
    """The pagelets of each of the answers of one kind, the best first (Thor §VI)."""
    params = params or ThorParams()
    pages, words = _pages(trees, params)
    if len(pages) < 2:
        return [[] for _ in pages]
    sums = [np.zeros(len(page.rows)) for page in pages]
    times = [np.zeros(len(page.rows)) for page in pages]
    for prototype in rng.permutation(len(pages))[: params.prototypes]:
        sets = np.stack([_assign(pages[prototype], page, params) for page in pages])
        in_set, to_centroid = _similarities(pages, sets, params, words)
        for page_sum, page_times, candidate, own in zip(sums, times, sets, to_centroid, strict=True):
            has = candidate >= 0
            np.add.at(page_sum, candidate[has], in_set[has] if params.ranking == "thor" else own[has])
            np.add.at(page_times, candidate[has], 1)
    located = []
    for page, page_sum, page_times in zip(pages, sums, times, strict=True):
        similarity = np.where(page_times > 0, page_sum / np.maximum(page_times, 1), 1.0)
        is_dynamic = similarity <= params.max_similarity
        if params.ranking == "thor":
            located.append(_select(page.tree, page.rows[is_dynamic], params))
        else:
            located.append(_least_similar(page.tree, page.rows[is_dynamic], similarity[is_dynamic], params))
    return located


def _pages(trees: Sequence[TagTree], params: ThorParams) -> tuple[list[_Page], int]:
    """The pages with their candidates, and the number of distinct words on them."""
    letters: dict[str, str] = {}
    words: dict[str, int] = {}
    return [_Page(tree, letters, words, params.max_candidates) for tree in trees], len(words)


def _select(tree: TagTree, dynamic: Ints, params: ThorParams) -> list[Pagelet]:
    """From the subtree with the most dynamic ones inside go down while few are lost on the way (Thor Fig. 6, as it was meant).

    Further pagelets are, by their number of dynamic subtrees, those beside it and those inside it that lost many: several
    regions may have a common subtree above them.
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
        if (
            len(chosen) < params.max_pagelets
            and not holds
            and all(inside[w] - inside[v] >= params.delta for w in above)
        ):
            chosen.append(v)
    return [_pagelet(tree, row, dynamic, inside[row]) for row in chosen]


def _least_similar(tree: TagTree, dynamic: Ints, similarity: Floats, params: ThorParams) -> list[Pagelet]:
    """The subtrees that are furthest from their centroid, none inside another (Thor-objects §2.4 and §4.3)."""
    pagelets: list[Pagelet] = []
    for i in np.argsort(similarity, kind="stable").tolist():
        u = int(dynamic[i])
        if len(pagelets) < params.max_pagelets and all(u >= tree.end[p.row] or tree.end[u] <= p.row for p in pagelets):
            pagelets.append(_pagelet(tree, u, dynamic, 1 - float(similarity[i])))
    return pagelets


def _pagelet(tree: TagTree, row: int, dynamic: Ints, score: float) -> Pagelet:
    inside = dynamic[(dynamic > row) & (dynamic < tree.end[row])]
    return Pagelet(row=row, dynamic=tuple(inside.tolist()), score=float(score))
