"""Wisdom: the informative blocks of a page, found from the top by how much they hold and how evenly their children share it.

ALEN, CLEN   characters in anchors, and in other text; aggregated over subtrees they are columns (ALEN_A, CLEN_A)
CII          mean weight of the terms of a subtree
API          how much an anchor says of the page that it links to; API_A is its sum over a subtree
SII          how evenly a feature is spread over the children of a row: 1 is evenly
MIB          the search from the top for the k rows that hold most and share it evenly: the skeleton
DSTM, CSTM   the skeleton grows by its siblings, and by those of its first ancestor that has any

Wisdom §3. Every aggregate is a difference of two prefix sums.
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
    "anchors",
    "api",
    "blocks",
    "condense",
    "cover",
    "expand",
    "ic",
    "k_mib",
    "learn_site",
    "leaves",
    "sii",
    "snc",
]  # fmt: skip

Floats = NDArray[np.float64]
Type = Literal["article", "toc"]

DUMMY = frozenset(
    ("br", "script", "style", "noscript", "hr", "meta", "link", "head", "title", "wbr", "base", "template")
)


@dataclass(frozen=True, kw_only=True)
class WisdomParams:
    """The paper's settings."""

    k: int = 1  # Wisdom §4.4
    st: float = 0.8  # Wisdom §4.4
    tc_article: float = 0.8  # Wisdom §4.2: CII ≥ 1 − 0.8
    tc_toc: float = 1.25  # Wisdom §4.2: one matching term of entropy 0.8 in each anchor
    collateral: int = 1  # Wisdom §4.4: DSTM and 1-CSTM; 0: DSTM only; -1: no merging
    around: int = 10  # terms around an anchor that count with it; Wisdom §3.1.2 bounds them and names no number
    zero_api: float = 0.5  # above this share of anchors without API, ALEN serves (§4.4, Figure 21: plot only)
    meaningful: int = 4  # characters from which an anchor counts for that share


@dataclass(frozen=True, eq=False)
class Coverage:
    """The information coverage tree of a page: aggregated features, a value a row (Wisdom §3.2.1)."""

    tlen: Floats
    alen: Floats
    clen: Floats
    cii: Floats
    api: Floats
    anchors: Ints  # how many anchors each subtree has


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
        return cover(tree, terms, self.entropies, api(tree, terms, self.entropies, linked))


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


def api(
    tree: TagTree,
    terms: Terms,
    entropies: Entropies,
    linked: Mapping[int, Set[str]],
    params: WisdomParams | None = None,
) -> Floats:
    """API of every row: Σ 1/EN over the terms that an anchor, or the text close to it, shares with the page it links to.

    Wisdom §3.1.2. `linked` has the terms of the target for the anchors whose target is among the pages. Numbers are
    terms here (§4.4, reason 2): the entropy itself tells identifiers from counters.
    """
    params = params or WisdomParams()
    values = np.zeros(len(tree))
    for row, target in linked.items():
        first, last = int(terms.at[tree.text_at[row]]), int(terms.at[tree.text_end[row]])
        block = int(tree.parent[row])
        low, high = int(terms.at[tree.text_at[block]]), int(terms.at[tree.text_end[block]])
        ids = terms.ids[max(low, first - params.around) : min(high, last + params.around)]
        shared = {terms.words[i] for i in ids.tolist()} & target
        values[row] = sum(1 / max(entropies.of(term), 1 / max(2, entropies.pages)) for term in shared)
    return values


def cover(tree: TagTree, terms: Terms, entropies: Entropies, api_of_row: Floats | None = None) -> Coverage:
    """The information coverage tree (Wisdom §3.2.1)."""
    sizes = np.fromiter(map(len, tree.chunks), np.float64, len(tree.chunks))
    rows = anchors(tree)
    in_anchor = np.zeros(len(tree.chunks), dtype=bool)
    for i in rows.tolist():
        in_anchor[tree.text_at[i] : tree.text_end[i]] = True
    is_anchor = np.zeros(len(tree))
    is_anchor[rows] = 1
    weights = np.array([entropies.weight(word) for word in terms.words])
    sums = np.concatenate(([0.0], np.cumsum(weights[terms.ids]))) if len(terms.ids) else np.zeros(1)
    low, high = terms.at[tree.text_at], terms.at[tree.text_end]
    count = high - low
    return Coverage(
        tlen=tree.sum_chunks(sizes),
        alen=tree.sum_chunks(sizes * in_anchor),
        clen=tree.sum_chunks(sizes * ~in_anchor),
        cii=np.where(count > 0, (sums[high] - sums[low]) / np.maximum(count, 1), 0.0),
        api=tree.sum_rows(api_of_row if api_of_row is not None else np.zeros(len(tree))),
        anchors=tree.sum_rows(is_anchor).astype(np.int32),
    )


def sii(tree: TagTree, feature: Floats) -> Floats:
    """For each row, how evenly a feature is spread over its children that are no dummies (Wisdom §3.1.3)."""
    child = np.array([name not in DUMMY for name in tree.tags], dtype=bool)[tree.tag]
    child[0] = False
    rows = np.flatnonzero(child)
    parent, value = tree.parent[rows], np.maximum(feature[rows], 0.0)
    count = np.bincount(parent, minlength=len(tree))
    total = np.bincount(parent, weights=value, minlength=len(tree))
    share = value / np.where(total > 0, total, 1.0)[parent]
    pieces = -share * np.log(np.where(share > 0, share, 1.0))
    spread = np.bincount(parent, weights=pieces, minlength=len(tree))
    return np.where(count > 1, spread / np.log(np.maximum(count, 2)), 0.0)


def k_mib(tree: TagTree, feature: Floats, allowed: Callable[[int], bool], params: WisdomParams) -> list[int]:
    """The skeleton: at most k rows that hold most of a feature and share it evenly, and that their type allows (Wisdom §3.2.2)."""
    even = sii(tree, feature)
    found: list[int] = []
    queue = [(-float(feature[0]), 0)]
    while queue and len(found) < params.k:
        held, row = heapq.heappop(queue)
        if held >= 0:
            break
        below = [child for child in tree.children(row) if feature[child] > 0]
        if even[row] >= params.st or not below:
            if allowed(row):
                found.append(row)
        else:
            for child in below:
                heapq.heappush(queue, (-float(feature[child]), child))
    return found


def expand(
    tree: TagTree, feature: Floats, skeleton: Iterable[int], allowed: Callable[[int], bool], params: WisdomParams
) -> list[int]:
    """The skeleton with the siblings that DSTM and k-CSTM merge into it, in document order (Wisdom §3.3)."""
    grown = set(skeleton)
    if params.collateral < 0:
        return sorted(grown)
    for row in list(grown):
        grown.update(_siblings(tree, feature, row, allowed))
        above, levels = row, 0
        while levels < params.collateral and (above := int(tree.parent[above])) > 0:
            if any(feature[i] > 0 for i in tree.children(int(tree.parent[above])) if i != above):
                levels += 1
        if above > 0 and levels == params.collateral > 0:
            grown.update(_siblings(tree, feature, above, allowed))
    return sorted(row for row in grown if not any(above in grown for above in tree.ancestors(row)))


def _siblings(tree: TagTree, feature: Floats, row: int, allowed: Callable[[int], bool]) -> list[int]:
    """DSTM: the siblings that hold something, less than the row itself, and that the type allows."""
    if row == 0:
        return []
    return [i for i in tree.children(int(tree.parent[row])) if 0 < feature[i] < feature[row] and allowed(i)]


def condense(tree: TagTree, roots: Iterable[int], feature: Floats, allowed: Callable[[int], bool]) -> list[int]:
    """The rows that stay when what the type does not allow is cut off: the tops of what is left (Wisdom §3.3).

    Departs from it: inline rows are never cut, so that a sentence keeps its emphasised words.
    """
    inline = frozenset(i for i, name in enumerate(tree.tags) if name in INLINE)
    left: list[int] = []
    stack = sorted(roots, reverse=True)
    while stack:
        row = stack.pop()
        if feature[row] <= 0 or not allowed(row):
            continue
        below = [i for i in tree.children(row) if int(tree.tag[i]) not in inline and feature[i] > 0]
        if below and not all(_wholly(tree, i, feature, allowed, inline) for i in below):
            stack.extend(reversed(below))
        else:
            left.append(row)
    return left


def _wholly(tree: TagTree, row: int, feature: Floats, allowed: Callable[[int], bool], inline: Set[int]) -> bool:
    rows = np.arange(row, tree.end[row])
    return all(allowed(int(i)) for i in rows[feature[rows] > 0] if int(tree.tag[i]) not in inline)


def blocks(tree: TagTree, coverage: Coverage, kind: Type, params: WisdomParams | None = None) -> list[int]:
    """The informative blocks of one type as rows, the whole of Wisdom: k-MIB, DSTM, CSTM, condensing (Wisdom §3.2–3.3)."""
    params = params or WisdomParams()
    feature, allowed = constraint(tree, coverage, kind, params)
    grown = expand(tree, feature, k_mib(tree, feature, allowed, params), allowed, params)
    return condense(tree, grown, feature, allowed)


def constraint(
    tree: TagTree, coverage: Coverage, kind: Type, params: WisdomParams
) -> tuple[Floats, Callable[[int], bool]]:
    """The feature that a type is searched by, and its constraint (Wisdom §3.2.2; §4.4 and Figure 21 for the fallback)."""

    def informs(row: int) -> bool:
        return bool(coverage.cii[row] >= 1 - params.tc_article)

    if kind == "article":
        return coverage.clen, informs
    rows = anchors(tree)
    rows = rows[coverage.alen[rows] >= params.meaningful]
    if len(rows) and np.mean(coverage.api[rows] == 0) > params.zero_api:
        return coverage.alen, informs
    return coverage.api, lambda row: bool(coverage.api[row] >= params.tc_toc * max(1, int(coverage.anchors[row])))


def leaves(
    tree: TagTree, coverage: Coverage, kind: Type, params: WisdomParams | None = None, shortest: int = 0
) -> list[int]:
    """The baselines: every leaf that its type allows (M1), or of those the ones with a TLEN above 5 (M2) (Wisdom §4.4)."""
    feature, allowed = constraint(tree, coverage, kind, params or WisdomParams())
    rows = np.flatnonzero((tree.fanout == 0) & (feature > 0) & (coverage.tlen > shortest))
    return [int(row) for row in rows if allowed(int(row))]


def snc(tree: TagTree, answer: Iterable[int], found: Iterable[int]) -> tuple[float, float]:
    """Precision and recall by significant nodes: the anchors in both, against those in one (Wisdom §4.1)."""
    marked = np.zeros(len(tree), dtype=bool)
    marked[anchors(tree)] = True
    return _ratio(marked.astype(float), _rows(tree, answer), _rows(tree, found))


def ic(tree: TagTree, answer: Iterable[int], found: Iterable[int]) -> tuple[float, float]:
    """Precision and recall by information coverage: the characters in both, against those in one (Wisdom §4.1)."""
    sizes = np.fromiter(map(len, tree.chunks), np.float64, len(tree.chunks))
    own = np.bincount(tree.chunk_row, weights=sizes, minlength=len(tree)).astype(np.float64)
    return _ratio(own, _rows(tree, answer), _rows(tree, found))


def _rows(tree: TagTree, roots: Iterable[int]) -> NDArray[np.bool_]:
    marked = np.zeros(len(tree), dtype=bool)
    for row in roots:
        marked[row : tree.end[row]] = True
    return marked


def _ratio(value: Floats, answer: NDArray[np.bool_], found: NDArray[np.bool_]) -> tuple[float, float]:
    both = float(value[answer & found].sum())
    got, wanted = float(value[found].sum()), float(value[answer].sum())
    return (both / got if got else float(not wanted)), (both / wanted if wanted else 1.0)
