"""Wisdom: find the informative blocks of a page by the entropy of its terms (Kao, Ho & Chen 2005).

    entropy              §3.1, Appendix A: `entropy`, `entropy_with_next_page`, `Entropies`; EN of a term over n pages, weight 1 − EN
    CII                  §3.1.1: content information index, the mean weight of the terms of a subtree (`Coverage.cii`)
    API                  §3.1.2: `anchor_precision_index`, how well an anchor describes the page it links to
    SII                  §3.1.3: `structure_information_index`, how evenly the children of a row share a feature; 1 is evenly
    coverage tree        §3.2.1: `coverage_tree`; ALEN and CLEN are the characters inside and outside anchors, TLEN their sum
    k-MIB                §3.2.2: `k_mib`, the top-down search for k rows that hold most of a feature and share it evenly (the skeleton)
    DSTM, k-CSTM         §3.3: `merge_siblings`, extend the skeleton by siblings, and by siblings of its ancestors
    condensing           §3.3: `condense`
    evaluation           §4: `informative_rows`, the baselines `allowed_leaves`, `score_by_anchors`, `score_by_chars`

Features aggregated over subtrees are columns; a sum over a subtree is a difference of two prefix sums. `upwell blocks --method wisdom` runs
the whole method and `benchmarks.papers.wisdom` measures it.
"""

import heapq
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from math import log
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from upwell.page import tokens as page_terms
from upwell.page.path_signatures import INLINE
from upwell.page.tokens import Terms
from upwell.page.tree import Ints, TagTree

__all__ = [
    "Coverage",
    "Entropies",
    "WisdomParams",
    "WisdomSite",
    "allowed_leaves",
    "anchor_precision_index",
    "anchors",
    "condense",
    "coverage_tree",
    "entropy",
    "entropy_with_next_page",
    "feature_and_constraint",
    "informative_rows",
    "k_mib",
    "learn_site_entropies",
    "merge_siblings",
    "score_by_anchors",
    "score_by_chars",
    "structure_information_index",
]

MAX_TERMS = 500_000  # terms kept in memory; more rare terms of a site of 100,000 pages do not change the weights


def entropy(frequencies: Iterable[int], pages: int) -> float:
    """Wisdom §3.1: return EN, the entropy of a term over n pages with base n, from its frequencies.

    It is 0 for a term on one page and 1 for a term with the same frequency on every page.

    >>> round(1 - entropy([2, 2, 2, 0], 4), 4), round(1 - entropy([1, 1, 4, 0], 4), 4)
    (0.2075, 0.3742)
    """
    counts = [tf for tf in frequencies if tf > 0]
    total = sum(counts)
    return -sum(tf / total * log(tf / total) for tf in counts) / log(pages) if pages > 1 and total else 0.0


def entropy_with_next_page(known: float, total: int, tf: int, pages: int) -> float:
    """Wisdom Appendix A, equation A.2: update EN for one more page.

    `known` is EN over `pages` pages, in which the term occurs `total` times; `tf` is its frequency in the new page. Start with the second page:
    log 1 is not a base.
    """
    base = log(pages + 1)
    scaled = known * log(pages) / base
    if tf == 0:
        return scaled
    if total == 0:
        return 0.0
    return (total * scaled + tf * log(1 + total / tf) / base + total * log(1 + tf / total) / base) / (total + tf)


@dataclass
class Entropies:
    """Entropies of a site's terms, computed page by page in bounded memory (Wisdom §3.1).

    A term needs two sums, TF and Σ tf·log tf, from which EN over any number of pages follows. The result equals `entropy` and
    `entropy_with_next_page`, without updating terms that a new page does not contain.
    """

    limit: int = MAX_TERMS
    pages: int = 0
    totals: dict[str, int] = field(default_factory=dict)  # TF
    log_sums: dict[str, float] = field(default_factory=dict)  # Σ tf·log tf
    pages_with: dict[str, int] = field(default_factory=dict)

    def add(self, frequencies: Mapping[str, int]) -> None:
        """Wisdom §3.1: add the term frequencies of a page."""
        self.pages += 1
        for term, tf in frequencies.items():
            self.totals[term] = self.totals.get(term, 0) + tf
            self.log_sums[term] = self.log_sums.get(term, 0.0) + tf * log(tf)
            self.pages_with[term] = self.pages_with.get(term, 0) + 1
        if len(self.totals) > self.limit:
            self._forget_rare()

    def _forget_rare(self) -> None:
        """Drop the terms on the fewest pages; their weight is 1 with and without the counts."""
        rare = 1
        while len(self.totals) > self.limit // 2:
            for term in [term for term, pages in self.pages_with.items() if pages <= rare]:
                del self.totals[term], self.log_sums[term], self.pages_with[term]
            rare *= 2

    def entropy_of(self, term: str) -> float:
        """Wisdom §3.1: return EN of a term; 0 if it occurs on no page or on one."""
        total = self.totals.get(term, 0)
        if not total or self.pages < 2:
            return 0.0
        return min(1.0, max(0.0, (log(total) - self.log_sums[term] / total) / log(self.pages)))

    def weight(self, term: str) -> float:
        """Wisdom §3.1: return the weight of a term, 1 − EN."""
        return 1.0 - self.entropy_of(term)


Floats = NDArray[np.float64]
BlockKind = Literal["article", "toc"]
Constraint = Callable[[int], bool]  # returns True if a row may be part of a block of the searched type

DUMMY_TAGS = frozenset(
    ("br", "script", "style", "noscript", "hr", "meta", "link", "head", "title", "wbr", "base", "template")
)


@dataclass(frozen=True, kw_only=True)
class WisdomParams:
    """Parameters of Wisdom, as published (§4.4) unless the comment says otherwise."""

    k: int = 1  # rows of the skeleton; Wisdom §4.4
    st: float = 0.8  # smallest SII of a row that shares a feature evenly; Wisdom §4.4
    tc_article: float = 0.8  # an article row has CII ≥ 1 − 0.8; Wisdom §4.2
    tc_toc: float = 1.25  # API per anchor: one matching term of entropy 0.8; Wisdom §4.2
    collateral: int = 1  # 1: DSTM and 1-CSTM; 0: DSTM only; -1: no merging; Wisdom §4.4
    around: int = 10  # terms around an anchor that count as its text; Wisdom §3.1.2 prints no number
    max_zero_api: float = (
        0.5  # share of anchors without API above which ALEN is used instead; §4.4, Figure 21 is a plot
    )
    min_anchor_chars: int = 4  # shorter anchors do not count in that share; not in the paper


@dataclass(frozen=True, eq=False)
class Coverage:
    """Information coverage tree of a page: aggregated features with a value per row (Wisdom §3.2.1)."""

    tlen: Floats
    alen: Floats
    clen: Floats
    cii: Floats
    api: Floats
    anchors: Ints  # number of anchors in the subtree


@dataclass
class WisdomSite:
    """Entropies of a site's terms, and the terms of each page by URL, which API compares anchors with (Wisdom §3.1)."""

    entropies: Entropies = field(default_factory=Entropies)
    terms_at: dict[str, frozenset[str]] = field(default_factory=dict)

    def add(self, tree: TagTree) -> None:
        """Add a page."""
        terms = _terms(tree)
        counts = np.bincount(terms.ids, minlength=len(terms.words)).tolist()
        self.entropies.add(dict(zip(terms.words, counts, strict=True)))
        if tree.url:
            self.terms_at[tree.url] = frozenset(terms.words)

    def coverage(self, tree: TagTree) -> Coverage:
        """Wisdom §3.2.1: return the information coverage tree of a page; an anchor has an API if the page it links to was added."""
        terms = _terms(tree)
        linked = {row: self.terms_at[url] for row, url in tree.links() if url in self.terms_at and url != tree.url}
        precision = anchor_precision_index(tree, terms, self.entropies, linked)
        return coverage_tree(tree, terms, self.entropies, precision)


def learn_site_entropies(trees: Iterable[TagTree]) -> WisdomSite:
    """Wisdom §3.1: learn term entropies from the pages of a site."""
    site = WisdomSite()
    for tree in trees:
        site.add(tree)
    return site


def _terms(tree: TagTree) -> Terms:
    return page_terms.terms_of(tree, stemmed=True, stops=False)


def anchors(tree: TagTree) -> Ints:
    """Return the rows of links with text, including links that a script follows, which the paper misses (Wisdom §4.4, reason 3)."""
    rows = [
        i
        for i in tree.rows("a").tolist()
        if tree.text_end[i] > tree.text_at[i]
        and (tree.attr(i, "href") is not None or tree.attr(i, "onclick") is not None)
    ]
    return np.array(rows, dtype=np.int32)


def anchor_precision_index(
    tree: TagTree,
    terms: Terms,
    entropies: Entropies,
    linked: Mapping[int, Set[str]],
    params: WisdomParams | None = None,
) -> Floats:
    """Wisdom §3.1.2: return API of each row: Σ 1/EN over the terms that an anchor and the text around it share with the linked page.

    `linked` has the terms of the linked page for each anchor row whose target is known. Numbers count as terms, unlike in the paper (§4.4,
    reason 2): entropy distinguishes identifiers from counters.
    """
    params = params or WisdomParams()
    precision = np.zeros(len(tree))
    for row, target in linked.items():
        first, last = int(terms.at[tree.text_at[row]]), int(terms.at[tree.text_end[row]])
        block = int(tree.parent[row])
        low, high = int(terms.at[tree.text_at[block]]), int(terms.at[tree.text_end[block]])
        ids = terms.ids[max(low, first - params.around) : min(high, last + params.around)]
        shared = {terms.words[i] for i in ids.tolist()} & target
        precision[row] = sum(1 / max(entropies.entropy_of(term), 1 / max(2, entropies.pages)) for term in shared)
    return precision


def coverage_tree(tree: TagTree, terms: Terms, entropies: Entropies, api: Floats | None = None) -> Coverage:
    """Wisdom §3.2.1: build the information coverage tree; `api` has the API of each row."""
    sizes = np.fromiter(map(len, tree.chunks), np.float64, len(tree.chunks))
    rows = anchors(tree)
    in_anchor = np.zeros(len(tree.chunks), dtype=bool)
    for i in rows.tolist():
        in_anchor[tree.text_at[i] : tree.text_end[i]] = True
    is_anchor = np.zeros(len(tree))
    is_anchor[rows] = 1
    weights = np.array([entropies.weight(word) for word in terms.words])
    weight_before = np.concatenate(([0.0], np.cumsum(weights[terms.ids]))) if len(terms.ids) else np.zeros(1)
    first, last = terms.at[tree.text_at], terms.at[tree.text_end]
    count = last - first
    return Coverage(
        tlen=tree.sum_chunks(sizes),
        alen=tree.sum_chunks(sizes * in_anchor),
        clen=tree.sum_chunks(sizes * ~in_anchor),
        cii=np.where(count > 0, (weight_before[last] - weight_before[first]) / np.maximum(count, 1), 0.0),
        api=tree.sum_rows(api if api is not None else np.zeros(len(tree))),
        anchors=tree.sum_rows(is_anchor).astype(np.int32),
    )


def structure_information_index(tree: TagTree, feature: Floats) -> Floats:
    """Wisdom §3.1.3: return SII of each row: the entropy of a feature over its children without dummy tags; 0 for a single child."""
    is_child = np.array([name not in DUMMY_TAGS for name in tree.tags], dtype=bool)[tree.tag]
    is_child[0] = False
    rows = np.flatnonzero(is_child)
    parent, value = tree.parent[rows], np.maximum(feature[rows], 0.0)
    count = np.bincount(parent, minlength=len(tree))
    total = np.bincount(parent, weights=value, minlength=len(tree))
    share = value / np.where(total > 0, total, 1.0)[parent]
    terms = -share * np.log(np.where(share > 0, share, 1.0))
    spread = np.bincount(parent, weights=terms, minlength=len(tree))
    return np.where(count > 1, spread / np.log(np.maximum(count, 2)), 0.0)


def k_mib(tree: TagTree, feature: Floats, allowed: Constraint, params: WisdomParams) -> list[int]:
    """Wisdom §3.2.2: return the skeleton: at most k allowed rows that hold most of a feature and share it evenly."""
    evenness = structure_information_index(tree, feature)
    skeleton: list[int] = []
    queue = [(-float(feature[0]), 0)]
    while queue and len(skeleton) < params.k:
        negative_value, row = heapq.heappop(queue)
        if negative_value >= 0:
            break
        children = [child for child in tree.children(row) if feature[child] > 0]
        if evenness[row] >= params.st or not children:
            if allowed(row):
                skeleton.append(row)
        else:
            for child in children:
                heapq.heappush(queue, (-float(feature[child]), child))
    return skeleton


def merge_siblings(
    tree: TagTree, feature: Floats, skeleton: Iterable[int], allowed: Constraint, params: WisdomParams
) -> list[int]:
    """Wisdom §3.3: add the siblings that DSTM and k-CSTM merge into the skeleton; return rows in document order."""
    merged = set(skeleton)
    if params.collateral < 0:
        return sorted(merged)
    for row in list(merged):
        merged.update(_siblings(tree, feature, row, allowed))
        above, levels = row, 0
        while levels < params.collateral and (above := int(tree.parent[above])) > 0:
            if any(feature[i] > 0 for i in tree.children(int(tree.parent[above])) if i != above):
                levels += 1
        if above > 0 and levels == params.collateral > 0:
            merged.update(_siblings(tree, feature, above, allowed))
    return sorted(row for row in merged if not any(above in merged for above in tree.ancestors(row)))


def _siblings(tree: TagTree, feature: Floats, row: int, allowed: Constraint) -> list[int]:
    """Return the allowed siblings with a positive feature below that of the row (DSTM)."""
    if row == 0:
        return []
    return [i for i in tree.children(int(tree.parent[row])) if 0 < feature[i] < feature[row] and allowed(i)]


def condense(tree: TagTree, roots: Iterable[int], feature: Floats, allowed: Constraint) -> list[int]:
    """Wisdom §3.3: remove the rows that are not allowed and return the roots of the rest.

    Unlike in the paper, inline rows are never removed, so that a sentence keeps its emphasised words.
    """
    inline = frozenset(i for i, name in enumerate(tree.tags) if name in INLINE)
    kept: list[int] = []
    stack = sorted(roots, reverse=True)
    while stack:
        row = stack.pop()
        if feature[row] <= 0 or not allowed(row):
            continue
        children = [i for i in tree.children(row) if int(tree.tag[i]) not in inline and feature[i] > 0]
        if children and not all(_is_wholly_allowed(tree, i, feature, allowed, inline) for i in children):
            stack.extend(reversed(children))
        else:
            kept.append(row)
    return kept


def _is_wholly_allowed(tree: TagTree, row: int, feature: Floats, allowed: Constraint, inline: Set[int]) -> bool:
    """Return True if a row and all its descendants with a positive feature are allowed."""
    rows = np.arange(row, tree.end[row])
    return all(allowed(int(i)) for i in rows[feature[rows] > 0] if int(tree.tag[i]) not in inline)


def informative_rows(
    tree: TagTree, coverage: Coverage, kind: BlockKind, params: WisdomParams | None = None
) -> list[int]:
    """Wisdom §3.2–3.3: return the rows of the informative blocks of one type: k-MIB, DSTM, k-CSTM, condensing."""
    params = params or WisdomParams()
    feature, allowed = feature_and_constraint(tree, coverage, kind, params)
    skeleton = k_mib(tree, feature, allowed, params)
    return condense(tree, merge_siblings(tree, feature, skeleton, allowed, params), feature, allowed)


def feature_and_constraint(
    tree: TagTree, coverage: Coverage, kind: BlockKind, params: WisdomParams
) -> tuple[Floats, Constraint]:
    """Wisdom §3.2.2: return the feature and the constraint of a block type, with the fallback to ALEN of §4.4 and Figure 21."""

    def is_informative(row: int) -> bool:
        return bool(coverage.cii[row] >= 1 - params.tc_article)

    if kind == "article":
        return coverage.clen, is_informative
    rows = anchors(tree)
    rows = rows[coverage.alen[rows] >= params.min_anchor_chars]
    if len(rows) and np.mean(coverage.api[rows] == 0) > params.max_zero_api:
        return coverage.alen, is_informative
    return coverage.api, lambda row: bool(coverage.api[row] >= params.tc_toc * max(1, int(coverage.anchors[row])))


def allowed_leaves(
    tree: TagTree, coverage: Coverage, kind: BlockKind, params: WisdomParams | None = None, min_chars: int = 0
) -> list[int]:
    """Wisdom §4.4: return the baselines: all allowed leaves (M1), or those with TLEN above `min_chars` = 5 (M2)."""
    feature, allowed = feature_and_constraint(tree, coverage, kind, params or WisdomParams())
    rows = np.flatnonzero((tree.fanout == 0) & (feature > 0) & (coverage.tlen > min_chars))
    return [int(row) for row in rows if allowed(int(row))]


def score_by_anchors(tree: TagTree, truth: Iterable[int], predicted: Iterable[int]) -> tuple[float, float]:
    """Wisdom §4.1: return precision and recall of `predicted` rows by significant nodes (SNC): the anchors in the blocks."""
    is_anchor = np.zeros(len(tree))
    is_anchor[anchors(tree)] = 1
    return _precision_recall(is_anchor, _rows_in(tree, truth), _rows_in(tree, predicted))


def score_by_chars(tree: TagTree, truth: Iterable[int], predicted: Iterable[int]) -> tuple[float, float]:
    """Wisdom §4.1: return precision and recall of `predicted` rows by information coverage (IC): the characters in the blocks."""
    sizes = np.fromiter(map(len, tree.chunks), np.float64, len(tree.chunks))
    own_chars = np.bincount(tree.chunk_row, weights=sizes, minlength=len(tree)).astype(np.float64)
    return _precision_recall(own_chars, _rows_in(tree, truth), _rows_in(tree, predicted))


def _rows_in(tree: TagTree, roots: Iterable[int]) -> NDArray[np.bool_]:
    """Return a mask of the rows in the subtrees of `roots`."""
    is_inside = np.zeros(len(tree), dtype=bool)
    for row in roots:
        is_inside[row : tree.end[row]] = True
    return is_inside


def _precision_recall(value: Floats, truth: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> tuple[float, float]:
    in_both = float(value[truth & predicted].sum())
    in_predicted, in_truth = float(value[predicted].sum()), float(value[truth].sum())
    precision = in_both / in_predicted if in_predicted else float(not in_truth)
    return precision, (in_both / in_truth if in_truth else 1.0)
