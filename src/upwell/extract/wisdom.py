"""Wisdom as published: the informative blocks of a page, found from the top by how much they hold and how evenly their children share it.

ALEN, CLEN   characters in anchors, and in other text; TLEN is both
CII          mean weight of the terms of a subtree (content information index)
API          how much an anchor says of the page that it links to (anchor precision index)
SII          how evenly a feature is spread over the children of a row: 1 is evenly (structure information index)
MIB          the search from the top for the k rows that hold most and share it evenly: the skeleton
DSTM, CSTM   the skeleton grows by its siblings, and by those of its first ancestor that has any

Wisdom §3. Aggregated over subtrees each feature is a column; a sum over a subtree is a difference of two prefix sums.
"""

import heapq
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from upwell.extract.entropy import Entropies
from upwell.page import terms as page_terms
from upwell.page.spots import INLINE
from upwell.page.terms import Terms
from upwell.page.tree import Ints, TagTree

__all__ = [
    "Coverage",
    "WisdomParams",
    "WisdomSite",
    "allowed_leaves",
    "anchor_precision",
    "anchors",
    "condense",
    "coverage_of",
    "feature_and_constraint",
    "informative_rows",
    "k_mib",
    "learn_site",
    "merge_siblings",
    "score_by_anchors",
    "score_by_chars",
    "structure_information",
]

Floats = NDArray[np.float64]
BlockKind = Literal["article", "toc"]
Constraint = Callable[[int], bool]  # whether a row may be, or be part of, a block of its type

DUMMY_TAGS = frozenset(
    ("br", "script", "style", "noscript", "hr", "meta", "link", "head", "title", "wbr", "base", "template")
)


@dataclass(frozen=True, kw_only=True)
class WisdomParams:
    """The paper's settings; where it prints none, that is said."""

    k: int = 1  # rows of the skeleton; Wisdom §4.4
    st: float = 0.8  # SII from which on a row shares evenly; Wisdom §4.4
    tc_article: float = 0.8  # Wisdom §4.2: CII ≥ 1 − 0.8
    tc_toc: float = 1.25  # API for each anchor; Wisdom §4.2: one matching term of entropy 0.8 in each
    collateral: int = 1  # Wisdom §4.4: DSTM and 1-CSTM; 0: DSTM only; -1: no merging
    around: int = 10  # terms around an anchor that count with it; Wisdom §3.1.2 bounds them and names no number
    max_zero_api: float = 0.5  # above this share of anchors without API, ALEN serves (§4.4, Figure 21: plot only)
    min_anchor_chars: int = 4  # from which on an anchor counts for that share


@dataclass(frozen=True, eq=False)
class Coverage:
    """The information coverage tree of a page: aggregated features, a value a row (Wisdom §3.2.1)."""

    tlen: Floats
    alen: Floats
    clen: Floats
    cii: Floats
    api: Floats
    anchors: Ints  # number of anchors in each subtree


@dataclass
class WisdomSite:
    """The entropies of a site's terms, and the terms of its pages by their address: what linked pages say (Wisdom §3.1)."""

    entropies: Entropies = field(default_factory=Entropies)
    terms_at: dict[str, frozenset[str]] = field(default_factory=dict)

    def add(self, tree: TagTree) -> None:
        """Learns from one page more."""
        terms = _terms(tree)
        counts = np.bincount(terms.ids, minlength=len(terms.words)).tolist()
        self.entropies.add(dict(zip(terms.words, counts, strict=True)))
        if tree.url:
            self.terms_at[tree.url] = frozenset(terms.words)

    def coverage(self, tree: TagTree) -> Coverage:
        """The information coverage tree of a page; an anchor has an API where the page that it links to was learned from."""
        terms = _terms(tree)
        linked = {row: self.terms_at[url] for row, url in tree.links() if url in self.terms_at and url != tree.url}
        precision = anchor_precision(tree, terms, self.entropies, linked)
        return coverage_of(tree, terms, self.entropies, precision)


def learn_site(trees: Iterable[TagTree]) -> WisdomSite:
    """A site from its pages."""
    site = WisdomSite()
    for tree in trees:
        site.add(tree)
    return site


def _terms(tree: TagTree) -> Terms:
    return page_terms.of(tree, stemmed=True, stops=False)


def anchors(tree: TagTree) -> Ints:
    """The rows that are links with text, also those whose target only a script knows (beyond Wisdom §4.4, reason 3)."""
    rows = [
        i
        for i in tree.rows("a").tolist()
        if tree.text_end[i] > tree.text_at[i]
        and (tree.attr(i, "href") is not None or tree.attr(i, "onclick") is not None)
    ]
    return np.array(rows, dtype=np.int32)


def anchor_precision(
    tree: TagTree,
    terms: Terms,
    entropies: Entropies,
    linked: Mapping[int, Set[str]],
    params: WisdomParams | None = None,
) -> Floats:
    """API of each row: Σ 1/EN over the terms that an anchor, or the text close to it, shares with the page it links to.

    Wisdom §3.1.2. `linked` has the terms of the target for the anchors whose target is among the pages. Numbers are
    terms here (§4.4, reason 2): the entropy itself distinguishes identifiers from counters.
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


def coverage_of(tree: TagTree, terms: Terms, entropies: Entropies, api: Floats | None = None) -> Coverage:
    """The information coverage tree; `api` has the API of each row (Wisdom §3.2.1)."""
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


def structure_information(tree: TagTree, feature: Floats) -> Floats:
    """SII of each row: how evenly a feature is spread over its children, dummies left out (Wisdom §3.1.3)."""
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
    """The skeleton: at most k rows that hold most of a feature and share it evenly, and that their type allows (Wisdom §3.2.2)."""
    evenness = structure_information(tree, feature)
    skeleton: list[int] = []
    queue = [(-float(feature[0]), 0)]
    while queue and len(skeleton) < params.k:
        negative, row = heapq.heappop(queue)
        if negative >= 0:
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
    """The skeleton with the siblings that DSTM and k-CSTM merge into it, in document order (Wisdom §3.3)."""
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
    """DSTM: the siblings that hold something, less than the row itself, and that the type allows."""
    if row == 0:
        return []
    return [i for i in tree.children(int(tree.parent[row])) if 0 < feature[i] < feature[row] and allowed(i)]


def condense(tree: TagTree, roots: Iterable[int], feature: Floats, allowed: Constraint) -> list[int]:
    """The rows that stay when what the type does not allow is cut off: the tops of what is left (Wisdom §3.3).

    Departs from it: inline rows are never cut, so that a sentence keeps its emphasised words.
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
    """Whether a type allows a row and all that it holds."""
    rows = np.arange(row, tree.end[row])
    return all(allowed(int(i)) for i in rows[feature[rows] > 0] if int(tree.tag[i]) not in inline)


def informative_rows(
    tree: TagTree, coverage: Coverage, kind: BlockKind, params: WisdomParams | None = None
) -> list[int]:
    """The informative blocks of one type as rows, the whole of Wisdom: k-MIB, DSTM, CSTM, condensing (Wisdom §3.2–3.3)."""
    params = params or WisdomParams()
    feature, allowed = feature_and_constraint(tree, coverage, kind, params)
    skeleton = k_mib(tree, feature, allowed, params)
    return condense(tree, merge_siblings(tree, feature, skeleton, allowed, params), feature, allowed)


def feature_and_constraint(
    tree: TagTree, coverage: Coverage, kind: BlockKind, params: WisdomParams
) -> tuple[Floats, Constraint]:
    """The feature that a type is searched by, and its constraint (Wisdom §3.2.2; §4.4 and Figure 21 for the fallback)."""

    def informs(row: int) -> bool:
        return bool(coverage.cii[row] >= 1 - params.tc_article)

    if kind == "article":
        return coverage.clen, informs
    rows = anchors(tree)
    rows = rows[coverage.alen[rows] >= params.min_anchor_chars]
    if len(rows) and np.mean(coverage.api[rows] == 0) > params.max_zero_api:
        return coverage.alen, informs
    return coverage.api, lambda row: bool(coverage.api[row] >= params.tc_toc * max(1, int(coverage.anchors[row])))


def allowed_leaves(
    tree: TagTree, coverage: Coverage, kind: BlockKind, params: WisdomParams | None = None, min_chars: int = 0
) -> list[int]:
    """The baselines: every leaf that its type allows (M1), or of those the ones with a TLEN above 5 (M2) (Wisdom §4.4)."""
    feature, allowed = feature_and_constraint(tree, coverage, kind, params or WisdomParams())
    rows = np.flatnonzero((tree.fanout == 0) & (feature > 0) & (coverage.tlen > min_chars))
    return [int(row) for row in rows if allowed(int(row))]


def score_by_anchors(tree: TagTree, answer: Iterable[int], found: Iterable[int]) -> tuple[float, float]:
    """Precision and recall by significant nodes (SNC): the anchors in both, against those in one (Wisdom §4.1)."""
    is_anchor = np.zeros(len(tree))
    is_anchor[anchors(tree)] = 1
    return _precision_recall(is_anchor, _rows_in(tree, answer), _rows_in(tree, found))


def score_by_chars(tree: TagTree, answer: Iterable[int], found: Iterable[int]) -> tuple[float, float]:
    """Precision and recall by information coverage (IC): the characters in both, against those in one (Wisdom §4.1)."""
    sizes = np.fromiter(map(len, tree.chunks), np.float64, len(tree.chunks))
    own_chars = np.bincount(tree.chunk_row, weights=sizes, minlength=len(tree)).astype(np.float64)
    return _precision_recall(own_chars, _rows_in(tree, answer), _rows_in(tree, found))


def _rows_in(tree: TagTree, roots: Iterable[int]) -> NDArray[np.bool_]:
    """Which rows are in the subtrees of these."""
    is_inside = np.zeros(len(tree), dtype=bool)
    for row in roots:
        is_inside[row : tree.end[row]] = True
    return is_inside


def _precision_recall(value: Floats, answer: NDArray[np.bool_], found: NDArray[np.bool_]) -> tuple[float, float]:
    both = float(value[answer & found].sum())
    of_found, of_answer = float(value[found].sum()), float(value[answer].sum())
    precision = both / of_found if of_found else float(not of_answer)
    return precision, (both / of_answer if of_answer else 1.0)
