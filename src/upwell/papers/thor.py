"""Thor: cluster the answers of a source, find the region with the matches (QA-Pagelet) and divide it into objects.

Two papers: Caverlee & Liu 2005 ("Thor"), and the earlier Caverlee, Buttler & Liu ("Thor-objects"). In the order of their phases:

    page signatures        Thor §V-B and §VIII-A: `BAG_SIGNATURES`, `url_similarities`, `page_sizes`
    page clustering        Thor §V: `cluster_pages`, `assign_pages`, `extend_clusters`, `rank_clusters`
    subtree filtering      Thor §VI-A and §VI-B: `candidate_subtrees`, `subtree_distances`, `subtree_set_similarities`
    pagelet selection      Thor §VI-C: `find_pagelets`
    object separators      Thor-objects §3: `SEPARATOR_HEURISTICS`, `combined_vote`, `split_objects`
    object construction    Thor §IV: `objects_like_dynamic_subtrees`

`upwell cluster` and `upwell extract --method thor` run these methods and `benchmarks.papers.thor` measures them. Harvests use them only for
clustering; they find records with `records.evidence` and `records.cuts`.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from upwell.arrays.sparse import CsrMatrix, count, mean_similarity, ranges, weigh_counts
from upwell.errors import MissingExtra
from upwell.page import tokens
from upwell.page.tree import Ints, TagTree

__all__ = [
    "AS_PUBLISHED",
    "BAG_SIGNATURES",
    "SEPARATOR_HEURISTICS",
    "SIGNATURES",
    "Bag",
    "ClusterParams",
    "Clustering",
    "Pagelet",
    "ThorParams",
    "Weighting",
    "assign_pages",
    "candidate_subtrees",
    "cluster_counts",
    "cluster_pages",
    "combined_vote",
    "extend_clusters",
    "find_pagelets",
    "objects_like_dynamic_subtrees",
    "page_sizes",
    "rank_clusters",
    "split_objects",
    "subtree_distances",
    "subtree_set_similarities",
    "url_similarities",
]

# Page signatures (Thor §V-B and §V-C, Thor-objects §2 and §4.1). Signatures by class and by path are our additions: on today's pages most
# tags are div, span and a.

Floats = NDArray[np.float64]
Bag = tuple[Sequence[str], Ints]  # a multiset: the distinct names, and for each occurrence the index of its name
Weighting = Literal["raw", "tfidf", "idf"]  # raw: counts; tfidf: Thor's weights; idf: presence instead of counts


def _tags(tree: TagTree) -> Bag:
    return tree.tags, tree.tag


def _classes(tree: TagTree) -> Bag:
    """Return the tag and class of each row."""
    pairs, ids = np.unique(tree.tag.astype(np.int64) * len(tree.classes) + tree.cls, return_inverse=True)
    names = [f"{tree.tags[p // len(tree.classes)]}.{tree.classes[p % len(tree.classes)]}" for p in pairs.tolist()]
    return names, ids.astype(np.int32)


def _paths(tree: TagTree) -> Bag:
    """Return the tags and classes of each row and its parent; longer paths would multiply with nesting and striped rows."""
    names, own = _classes(tree)
    parents = np.where(tree.parent >= 0, own[tree.parent], -1).astype(np.int64)
    pairs, ids = np.unique((parents + 1) * len(names) + own, return_inverse=True)
    parent_names = ["", *names]
    return [f"{parent_names[p // len(names)]}/{names[p % len(names)]}" for p in pairs.tolist()], ids.astype(np.int32)


def _content(tree: TagTree) -> Bag:
    page_terms = tokens.terms_of(tree, stemmed=True, stops=False)
    return page_terms.words, page_terms.ids


def _keywords(tree: TagTree) -> Bag:
    """Return the ten most frequent terms of a page (Thor-objects §2)."""
    words, ids = _content(tree)
    top = np.argsort(-np.bincount(ids, minlength=len(words)), kind="stable")[:10]
    return [words[i] for i in top], np.arange(len(top), dtype=np.int32)


def _with_tags(bag_of: Callable[[TagTree], Bag]) -> Callable[[TagTree], Bag]:
    """Combine a bag of words with the tags (Thor-objects §4.1); a leading quote separates a word from a tag of the same name."""

    def both(tree: TagTree) -> Bag:
        tags, tag = _tags(tree)
        words, ids = bag_of(tree)
        return [*tags, *(f"'{word}" for word in words)], np.concatenate((tag, ids + len(tags))).astype(np.int32)

    return both


BAG_SIGNATURES: dict[str, tuple[Callable[[TagTree], Bag], Weighting]] = {
    "idf-classes": (_classes, "idf"),
    "tfidf-tags": (_tags, "tfidf"),
    "raw-tags": (_tags, "raw"),
    "tfidf-classes": (_classes, "tfidf"),
    "tfidf-paths": (_paths, "tfidf"),
    "tfidf-content": (_content, "tfidf"),
    "raw-content": (_content, "raw"),
    "keywords": (_keywords, "raw"),
    "tags+keywords": (_with_tags(_keywords), "tfidf"),
    "tags+content": (_with_tags(_content), "tfidf"),
}
SIGNATURES = (*BAG_SIGNATURES, "url", "size", "random")


def url_similarities(trees: Sequence[TagTree]) -> Floats:
    """Thor §VIII-A: return the similarity of every two URLs: 1 − edit distance ÷ length of the longer, over path and arguments."""
    try:
        from rapidfuzz import process
        from rapidfuzz.distance import Levenshtein
    except ImportError as missing:
        raise MissingExtra(
            "the signature url needs the package rapidfuzz, which is not installed: pip install 'upwell[papers]'"
        ) from missing
    texts = [f"{parts.path}?{parts.query}" for parts in (urlsplit(tree.url) for tree in trees)]
    return np.asarray(process.cdist(texts, texts, scorer=Levenshtein.normalized_similarity), dtype=np.float64)


def page_sizes(trees: Sequence[TagTree]) -> Floats:
    """Thor §VIII-A: return the size of each page ÷ that of the largest; in characters of text where the paper counts bytes."""
    size = np.array([[float(sum(map(len, tree.chunks)))] for tree in trees])
    return np.asarray(size / max(1.0, size.max(initial=1.0)))


# Page clustering (Thor §V): pages generated by one template form one cluster. A page is a vector, its weighted signature scaled to length 1;
# the centre of a cluster is the mean of its vectors, scaled to length 1; a page fits a cluster by the cosine of its vector and the centre.

Points: TypeAlias = Any  # a row per distinct page: an array, or a CsrMatrix if an array would be too large
Algorithm = Literal["simple", "bisecting"]
Distance = Literal["cosine", "euclidean"]
Criterion = Literal["silhouette", "quality", "printed"]
MAX_DENSE_CELLS = 30_000_000  # matrices with more cells stay sparse
MAX_KMEANS_ROUNDS = 50  # rounds of k-means per restart; not swept


@dataclass(frozen=True, kw_only=True)
class ClusterParams:
    """Parameters of page clustering (Thor §V)."""

    signature: str = "idf-classes"  # swept on kinds: lowest entropy (docs/decisions/0011-cluster-pages-by-the-classes-they-contain.md)
    algorithm: Algorithm = "simple"
    distance: Distance = "cosine"  # Thor §V-C defines both and uses the cosine by default
    restarts: int = 10  # Thor §VIII-A: 10
    # largest k tried (`--most`); Thor §VIII-A: 5; swept 5 … 8 on kinds: 6 separates the rare errors, more splits the lists
    most: int = 6
    k: int = 0  # number of clusters; 0: chosen by the criterion
    criterion: Criterion = "silhouette"  # "quality" and "printed" are Thor's own, see `_quality`
    min_silhouette: float = 0.35  # below this all pages form one cluster; 0.2 and 0.35 are equal on kinds
    silhouette_sample: int = (
        400  # pages used for the silhouette; swept on generated pages: 1,000 and 2,000 gain nothing
    )
    # a later page may fit this much worse than the worst page of its cluster; swept 0 … 0.3 (docs/decisions/0012-keep-thor-as-published-for-comparison.md)
    fit_slack: float = 0.2
    # share of later pages without a cluster from which all pages are clustered again; on kinds at most 0.14 of a source's own pages fit no cluster
    max_misfit_share: float = 0.2


@dataclass(frozen=True, kw_only=True)
class Clustering:
    """Cluster label of each page, and the centres that later pages are assigned to (Thor §V); no centres for url, size and random."""

    labels: tuple[int, ...]
    signature: str
    columns: tuple[str, ...] = ()  # names counted by the columns of the vectors
    idf: Floats = field(default_factory=lambda: np.zeros(0))
    centres: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    min_fit: Floats = field(default_factory=lambda: np.zeros(0))  # fit of the worst page of each cluster


def cluster_pages(
    trees: Sequence[TagTree], params: ClusterParams | None = None, *, rng: np.random.Generator
) -> Clustering:
    """Thor §V: cluster pages; the criterion chooses the number of clusters unless `params.k` gives it."""
    params = params or ClusterParams()
    if params.signature == "random":
        return Clustering(
            labels=tuple(rng.integers(0, params.k or params.most, len(trees)).tolist()), signature="random"
        )
    if params.signature == "url":
        return Clustering(
            labels=_by_size(_cluster(url_similarities(trees), params, rng, is_similarity=True)), signature="url"
        )
    if params.signature == "size":
        euclidean = replace(params, distance="euclidean")
        return Clustering(labels=_by_size(_cluster(page_sizes(trees), euclidean, rng)), signature="size")
    bag_of, weighting = BAG_SIGNATURES[params.signature]
    counts, columns = count(bag_of(tree) for tree in trees)
    return cluster_counts(counts, columns, weighting, params, rng=rng)


def cluster_counts(
    counts: CsrMatrix,
    columns: tuple[str, ...],
    weighting: Weighting,
    params: ClusterParams,
    *,
    rng: np.random.Generator,
) -> Clustering:
    """Thor §V: cluster pages whose signatures are already counted (`arrays.sparse.count`)."""
    pages = counts.shape[0]
    pages_with = np.bincount(counts.indices, minlength=len(columns))
    idf = np.ones(len(columns)) if weighting == "raw" else np.log((pages + 1) / np.maximum(pages_with, 1))
    if weighting == "idf":  # a list of one match and a list of fifty come from one template
        counts = counts.with_data(np.ones(len(counts.data)))
    vectors = weigh_counts(counts, "raw" if weighting == "raw" else "tfidf")
    is_unscaled = weighting == "raw" and params.distance == "euclidean"  # Thor Table II: here the vector length counts
    points, point_of_page = _distinct(counts if is_unscaled else vectors)
    labels = np.array(_by_size(_cluster(points, params, rng, point_of_page=point_of_page)), dtype=np.int32)
    sums = vectors.add_rows(labels, int(labels.max(initial=-1)) + 1).toarray()
    centres = np.array([_unit(centre) for centre in sums]).reshape(sums.shape)
    min_fit = np.array([float((vectors[labels == k] @ centre).min()) for k, centre in enumerate(centres)])
    return Clustering(
        labels=tuple(labels.tolist()), signature=params.signature, columns=columns, idf=idf, centres=centres, min_fit=min_fit
    )  # fmt: skip


def assign_pages(
    known: Clustering, trees: Sequence[TagTree], fit_slack: float = ClusterParams.fit_slack
) -> list[int | None]:
    """Thor §V-E: return the cluster with the nearest centre for each later page, or None if it fits worse than the cluster's own pages."""
    bag_of, weighting = BAG_SIGNATURES[known.signature]
    column_of = {name: i for i, name in enumerate(known.columns)}
    labels: list[int | None] = []
    for tree in trees:
        names, ids = bag_of(tree)
        counts = np.bincount(ids, minlength=len(names)).astype(np.float64)
        values = {"raw": counts, "tfidf": np.log(counts + 1), "idf": np.log(np.minimum(counts, 1) + 1)}[weighting]
        vector, unknown_squares = np.zeros(len(known.columns)), 0.0
        for name, value in zip(names, values.tolist(), strict=True):
            if name in column_of:
                vector[column_of[name]] = value * known.idf[column_of[name]]
            else:  # an unknown name has the weight of a name that occurs on a single page
                unknown_squares += (value * known.idf.max(initial=1.0)) ** 2
        fit = known.centres @ vector / max(1e-12, float(np.sqrt(vector @ vector + unknown_squares)))
        nearest = int(fit.argmax())
        labels.append(nearest if fit[nearest] >= known.min_fit[nearest] - fit_slack else None)
    return labels


def extend_clusters(
    known: Clustering, trees: Sequence[TagTree], later: Sequence[TagTree], params: ClusterParams | None = None, *, rng: np.random.Generator
) -> Clustering:  # fmt: skip
    """Thor §V-E: add later pages to a clustering.

    Each joins the cluster with the nearest centre, or gets the label -1 if it fits none. If too many fit none, all pages are clustered again.
    """
    params = params or ClusterParams(signature=known.signature)
    labels = assign_pages(known, later, params.fit_slack) if len(known.centres) else [None] * len(later)
    if labels.count(None) > params.max_misfit_share * len(later):
        return cluster_pages([*trees, *later], params, rng=rng)
    return replace(known, labels=(*known.labels, *(-1 if label is None else label for label in labels)))


def rank_clusters(
    trees: Sequence[TagTree], labels: Sequence[int], weights: tuple[float, float, float] = (1.0, 1.0, 1.0), top: int | None = None
) -> list[int]:  # fmt: skip
    """Thor §V-D: order the clusters by how likely they are to hold matches, and return the first `top`.

    The score is a linear combination of mean distinct terms, fanout and size, each divided by the largest value of a cluster.
    """
    clusters = sorted(set(labels))
    figures = np.zeros((len(clusters), 3))
    for k, cluster in enumerate(clusters):
        pages = [tree for tree, label in zip(trees, labels, strict=True) if label == cluster]
        figures[k] = np.mean(
            [(len(set(" ".join(t.chunks).split())), t.fanout.max(initial=0), sum(map(len, t.chunks))) for t in pages],
            axis=0,
        )
    scores = (figures / np.maximum(figures.max(axis=0, initial=1e-9), 1e-9)) @ np.array(weights)
    return [clusters[k] for k in np.argsort(-scores, kind="stable")][:top]


def _cluster(
    points: Points, params: ClusterParams, rng: np.random.Generator, *, point_of_page: Ints | None = None, is_similarity: bool = False
) -> Ints:  # fmt: skip
    """Return the label of each page for the k from 1 to `params.most` with the best criterion.

    `point_of_page` maps pages to points, because equal pages share one; by default each page has its own. With `is_similarity`, `points`
    is the matrix of pairwise page similarities.
    """
    n = points.shape[0]
    point_of_page = np.arange(n, dtype=np.int32) if point_of_page is None else point_of_page
    if n < 2:
        return np.zeros(len(point_of_page), dtype=np.int32)
    weight = np.bincount(point_of_page, minlength=n).astype(np.float64)
    sample, sample_weight = np.arange(n), weight
    if n > params.silhouette_sample:
        drawn = rng.choice(point_of_page, params.silhouette_sample, replace=False)
        sample, times = np.unique(drawn, return_counts=True)
        sample_weight = times.astype(np.float64)
    distances = 1 - points[np.ix_(sample, sample)] if is_similarity else _distances(points[sample], params.distance)
    best_value, best_labels = -np.inf, np.zeros(n, dtype=np.int32)
    for k in [params.k] if params.k else range(1, min(params.most, n) + 1):
        labels = _partition(points, weight, k, params, rng, is_similarity)
        if params.criterion == "silhouette" or is_similarity:
            value = params.min_silhouette if k == 1 else _silhouette(distances, labels[sample], sample_weight)
        else:
            value = _quality(points, labels, weight, as_printed=params.criterion == "printed")
        if value > best_value + 1e-9:
            best_value, best_labels = value, labels
    return best_labels[point_of_page]


def _partition(
    points: Points, weight: Floats, k: int, params: ClusterParams, rng: np.random.Generator, is_similarity: bool
) -> Ints:
    """Return the label of each point for k clusters, by Simple or Bisecting K-Means (Thor §V-C)."""
    if params.algorithm == "simple" or k < 2:
        return _kmeans(points, weight, k, params, rng, is_similarity)
    labels = np.zeros(len(points), dtype=np.int32)
    for new_label in range(1, k):  # divide the largest cluster
        largest = np.flatnonzero(labels == np.bincount(labels, weights=weight).argmax())
        if len(largest) < 2:
            break
        members = points[np.ix_(largest, largest)] if is_similarity else points[largest]
        halves = _kmeans(members, weight[largest], 2, params, rng, is_similarity)
        labels[largest[halves == 1]] = new_label
    return labels


def _kmeans(
    points: Points, weight: Floats, k: int, params: ClusterParams, rng: np.random.Generator, is_similarity: bool
) -> Ints:
    """Run Simple K-Means (Thor Fig. 3, corrected to the *nearest* centre) and return the best of several restarts."""
    n = points.shape[0]
    best_value, best_labels = -np.inf, np.zeros(n, dtype=np.int32)
    if k < 2:
        return best_labels
    squares = None if is_similarity else _squared_lengths(points)
    for _ in range(params.restarts):
        if squares is None:
            nearness = points[:, rng.choice(n, k, replace=False)]
        else:
            centres = _dense_rows(points, _seeds(points, squares, weight, k, rng))
            nearness = _nearness(points, squares, centres, params.distance)
        labels = nearness.argmax(axis=1).astype(np.int32)
        for _ in range(MAX_KMEANS_ROUNDS):
            membership = np.zeros((n, k))
            membership[np.arange(n), labels] = weight
            centres = (points.T @ membership).T / np.maximum(membership.sum(axis=0), 1e-12)[:, None]
            # for a similarity matrix, the mean of a cluster's columns is the nearness to the cluster
            nearness = centres.T if squares is None else _nearness(points, squares, centres, params.distance)
            new_labels = nearness.argmax(axis=1).astype(np.int32)
            if (new_labels == labels).all():
                break
            labels = new_labels
        value = float((nearness.max(axis=1) * weight).sum())
        if value > best_value + 1e-12:
            best_value, best_labels = value, labels
    return best_labels


def _seeds(points: Points, squares: Floats, weight: Floats, k: int, rng: np.random.Generator) -> list[int]:
    """Choose initial centres far from each other (k-means++); Thor draws any pages, which needs more restarts to find small clusters."""
    seeds = [int(rng.choice(len(weight), p=weight / weight.sum()))]
    distance = np.full(len(weight), np.inf)  # squared distance to the nearest seed
    while len(seeds) < k:
        nearness = _nearness(points, squares, _dense_rows(points, seeds[-1:]), "euclidean")[:, 0]
        distance = np.minimum(distance, np.maximum(-nearness, 0))
        distance[seeds] = 0
        mass = distance * weight
        total = mass.sum()
        seeds.append(int(rng.choice(len(weight), p=mass / total)) if total > 1e-9 else int(rng.integers(len(weight))))
    return seeds


def _nearness(points: Points, squares: Floats, centres: Floats, distance: Distance) -> Floats:
    """Return the cosine, or the negative squared distance, of each point to each centre; `squares` are the squared lengths of the points."""
    if distance == "cosine":
        return np.asarray(points @ (centres / np.maximum(np.linalg.norm(centres, axis=1, keepdims=True), 1e-12)).T)
    return np.asarray(points @ (2 * centres.T) - (centres**2).sum(axis=1)[None, :] - squares[:, None])


def _distances(points: Points, distance: Distance) -> Floats:
    """Return the distance of every two points."""
    nearness = _nearness(points, _squared_lengths(points), _dense_rows(points, slice(None)), distance)
    return 1 - nearness if distance == "cosine" else np.sqrt(np.maximum(-nearness, 0))


def _squared_lengths(points: Points) -> Floats:
    return np.asarray(
        points.squared_lengths() if isinstance(points, CsrMatrix) else np.einsum("ij,ij->i", points, points)
    )


def _dense_rows(points: Points, rows: list[int] | slice) -> Floats:
    return np.asarray(points[rows].toarray() if isinstance(points, CsrMatrix) else points[rows])


def _silhouette(distances: Floats, labels: Ints, weight: Floats) -> float:
    """Return the mean silhouette of the pages (Rousseeuw 1987); a point weighs as much as the equal pages it stands for."""
    k = int(labels.max()) + 1
    each = np.arange(len(labels))
    membership = np.zeros((len(labels), k))
    membership[each, labels] = weight
    sizes = membership.sum(axis=0)
    if (sizes > 0).sum() < 2:
        return -1.0
    sums = distances @ membership
    own_size = sizes[labels]
    inside = sums[each, labels] / np.maximum(own_size - 1, 1e-12)
    others = sums / np.maximum(sizes, 1e-12)
    others[:, sizes == 0] = np.inf
    others[each, labels] = np.inf
    outside = others.min(axis=1)
    value = np.where(own_size > 1, (outside - inside) / np.maximum(np.maximum(outside, inside), 1e-12), 0.0)
    return float((value * weight).sum() / weight.sum())


def _quality(points: Points, labels: Ints, weight: Floats, *, as_printed: bool) -> float:
    """Return Thor's clustering quality, Σ n_i/n · Similarity(C_i) (§V-C), which cannot choose k.

    With the mean similarity to the centre it grows with k; as printed (with the sum) a cluster weighs n_i² and k = 1 wins.
    """
    value, total = 0.0, weight.sum()
    for k in np.unique(labels):
        members, mass = points[labels == k], weight[labels == k]
        similarity = float((members @ _unit(members.T @ mass)) @ mass)
        value += similarity / total * (mass.sum() if as_printed else 1.0)
    return value


def _distinct(rows: CsrMatrix) -> tuple[Points, Ints]:
    """Return the distinct rows, as an array if that is not too large, and the index of each row among them."""
    rows = rows.sorted()
    rows = rows.with_data(np.round(rows.data, 9))
    point_of_bytes: dict[bytes, int] = {}
    point_of_row = np.array(
        [
            point_of_bytes.setdefault(
                rows.indices[start:end].tobytes() + rows.data[start:end].tobytes(), len(point_of_bytes)
            )
            for start, end in pairwise(rows.indptr.tolist())
        ],
        dtype=np.int32,
    )
    distinct = rows[np.unique(point_of_row, return_index=True)[1]]
    is_small = distinct.shape[0] * distinct.shape[1] <= MAX_DENSE_CELLS
    return distinct.toarray() if is_small else distinct, point_of_row


def _by_size(labels: Ints) -> tuple[int, ...]:
    """Renumber clusters by size: the largest becomes 0."""
    order = [label for label, _ in Counter(labels.tolist()).most_common()]
    return tuple(order.index(label) for label in labels.tolist())


def _unit(vector: Floats) -> Floats:
    return np.asarray(vector / max(1e-12, float(np.linalg.norm(vector))))


# Pagelets (Thor §VI), from two or more answers of one cluster. A common subtree set has a candidate subtree of a prototype page and the most
# similar candidate of every other page. Sets whose texts are nearly the same are static, the others dynamic. The pagelet is the dynamic subtree
# that contains the others.


@dataclass(frozen=True, kw_only=True)
class ThorParams:
    """Parameters of subtree filtering and pagelet selection (Thor §VI).

    The defaults are the best measured on our corpora (docs/decisions/0012-keep-thor-as-published-for-comparison.md); `AS_PUBLISHED` has
    the paper's.
    """

    weights: tuple[float, float, float, float] = (0.25, 0.25, 0.25, 0.25)  # Thor §VI-B: path, fanout, depth, nodes
    assignment: Literal["nearest", "optimal"] = "optimal"  # Thor §VI-B: nearest; optimal: no subtree is in two sets
    prototypes: int = 5  # pages whose similarities are averaged; Thor §VI-B: one, drawn at random; swept 1 … 5
    weighing: Literal["tfidf", "raw"] = "tfidf"  # Thor §VI-B step 2; Figure 14 compares both
    max_similarity: float = 0.5  # Thor §VI-B: sets with a greater similarity are static
    delta: int = 7  # descend while fewer dynamic subtrees are lost; Thor §VI-C: 2; swept 2 … 12
    max_pagelets: int = 1  # pagelets per page; Thor §VI-C
    ranking: Literal["thor", "objects"] = "thor"  # objects: by distance to the centroid (Thor-objects §2.4)
    max_candidates: int = 0  # best candidates per page by fanout, text, tags and links (Thor-objects §3.2); 0: all


AS_PUBLISHED = ThorParams(assignment="nearest", prototypes=1, delta=2)


@dataclass(frozen=True, kw_only=True)
class Pagelet:
    """Region of a page that holds matches, and the dynamic subtrees inside it, from which objects are built (Thor §VI-C)."""

    row: int
    dynamic: tuple[int, ...]
    score: float  # Thor: number of dynamic subtrees inside; Thor-objects: distance to the centroid


class _PageSubtrees:
    """Candidate subtrees of one page, with the columns they are compared by."""

    def __init__(self, tree: TagTree, letters: dict[str, str], words: dict[str, int], max_candidates: int) -> None:
        """Share `letters` (a letter per tag) and `words` (a number per word) between the compared pages."""
        page_terms = tokens.terms_of(tree, stemmed=True)
        ids = np.array([words.setdefault(word, len(words)) for word in page_terms.words], dtype=np.int64)
        self.tree, self.term_ids = tree, ids[page_terms.ids] if len(ids) else page_terms.ids
        self.rows = candidate_subtrees(tree, page_terms)
        if max_candidates:
            best = _promise(tree, self.rows).argsort(kind="stable")[::-1][:max_candidates]
            self.rows = np.sort(self.rows[best])
        # the terms of candidate i are term_ids[first[i]:last[i]]
        self.first, self.last = page_terms.at[tree.text_at[self.rows]], page_terms.at[tree.text_end[self.rows]]
        # A path is a string with one private-use character per tag (Thor §VI-B: q letters per tag).
        letter = [letters.setdefault(tag, chr(0xE000 + len(letters))) for tag in tree.tags]
        path: list[str] = []
        for tag, parent in zip(tree.tag.tolist(), tree.parent.tolist(), strict=True):
            path.append((path[parent] if parent >= 0 else "") + letter[tag])
        self.paths = [path[row] for row in self.rows.tolist()]
        texts = np.bincount(tree.chunk_row, minlength=len(tree))  # content nodes count as nodes (Thor §III-A)
        self.shape = np.stack(
            [
                (tree.fanout + texts)[self.rows],
                tree.depth[self.rows],
                (tree.nodes + tree.text_end - tree.text_at)[self.rows],
            ]
        ).astype(np.float64)


def candidate_subtrees(tree: TagTree, page_terms: tokens.Terms | None = None) -> Ints:
    """Thor §VI-A: return the subtrees that may be pagelets: those with words, of a chain with the same text the deepest."""
    at = (page_terms or tokens.terms_of(tree)).at
    is_candidate = at[tree.text_end] > at[tree.text_at]
    parent = tree.parent[1:]
    has_all_of_parent = (tree.text_at[1:] == tree.text_at[parent]) & (tree.text_end[1:] == tree.text_end[parent])
    is_candidate[parent[has_all_of_parent]] = False
    return np.flatnonzero(is_candidate).astype(np.int32)


def _promise(tree: TagTree, rows: Ints) -> Floats:
    """Score subtrees by fanout, text size, number of tags and number of links, each divided by the largest value (Thor-objects §3.2)."""
    links = tree.sum_rows(np.isin(np.arange(len(tree)), tree.rows("a")).astype(np.int64))
    measures = np.stack([tree.fanout[rows], tree.chars[rows], tree.nodes[rows], links[rows]]).astype(np.float64)
    largest = np.maximum(measures.max(axis=1, initial=1.0)[:, None], 1.0)
    return np.asarray((measures / largest).sum(axis=0))


def subtree_distances(a: _PageSubtrees, b: _PageSubtrees, weights: Sequence[float]) -> Floats:
    """Thor §VI-B step 1: return the distance of every candidate of one page to every candidate of another."""
    total = np.zeros((len(a.rows), len(b.rows)))
    if weights[0]:
        try:
            from rapidfuzz import process
            from rapidfuzz.distance import Levenshtein
        except ImportError as missing:
            raise MissingExtra(
                "the method thor needs the package rapidfuzz, which is not installed: pip install 'upwell[papers]'"
            ) from missing
        paths_a, code_a = np.unique(a.paths, return_inverse=True)
        paths_b, code_b = np.unique(b.paths, return_inverse=True)
        path_distance = process.cdist(paths_a.tolist(), paths_b.tolist(), scorer=Levenshtein.normalized_distance)
        total += weights[0] * path_distance[code_a][:, code_b]
    for weight, x, y in zip(weights[1:], a.shape, b.shape, strict=True):
        if weight:
            total += weight * np.abs(x[:, None] - y[None, :]) / np.maximum(np.maximum(x[:, None], y[None, :]), 1.0)
    return total


def _assign(prototype: _PageSubtrees, page: _PageSubtrees, params: ThorParams) -> Ints:
    """Return, for each candidate of the prototype, the most similar candidate of a page; -1 if it has none."""
    distance = subtree_distances(prototype, page, params.weights)
    if not distance.size:
        return np.full(len(prototype.rows), -1, dtype=np.int32)
    if params.assignment == "nearest":
        return np.asarray(distance.argmin(axis=1), dtype=np.int32)
    try:
        from scipy.optimize import linear_sum_assignment
    except ImportError as missing:
        raise MissingExtra(
            "the optimal assignment needs the package scipy, which is not installed: pip install 'upwell[papers]'"
        ) from missing
    assigned = np.full(len(prototype.rows), -1, dtype=np.int32)
    of_prototype, of_page = linear_sum_assignment(distance)
    assigned[of_prototype] = of_page
    return assigned


def _similarities(
    pages: Sequence[_PageSubtrees], sets: NDArray[np.int32], params: ThorParams, words: int
) -> tuple[Floats, Floats]:
    """Return the similarity inside each common subtree set, and of each of its subtrees to its centroid (pages × sets).

    `sets` has, for each page and set, the candidate of the page in the set, or -1. Thor §VI-B step 2 takes the mean over pairs,
    Thor-objects §2.4 the mean cosine of the subtrees to the centroid.
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
    weights = weigh_counts(counts, params.weighing, of_set)
    centroid = weights.add_rows(of_set, sets.shape[1])
    length = np.sqrt(centroid.squared_lengths())
    to_centroid = np.full(sets.shape, np.nan)
    to_centroid[page, of_set] = weights.row_dots(centroid, of_set) / np.maximum(length[of_set], 1e-12)
    in_set = np.ones(sets.shape[1])
    compared, mean = mean_similarity(weights, of_set)
    in_set[compared] = mean if params.ranking == "thor" else np.nanmean(to_centroid[:, compared], axis=0)
    return in_set, to_centroid


def subtree_set_similarities(trees: Sequence[TagTree], params: ThorParams, *, rng: np.random.Generator) -> Floats:
    """Thor §VI-B step 2 and Figure 14: return the similarity inside each common subtree set of a random prototype page."""
    pages, words = _pages(trees, params)
    prototype = pages[int(rng.integers(len(pages)))]
    sets = np.stack([_assign(prototype, page, params) for page in pages])
    return _similarities(pages, sets, params, words)[0]


def find_pagelets(
    trees: Sequence[TagTree], params: ThorParams | None = None, *, rng: np.random.Generator
) -> list[list[Pagelet]]:
    """Thor §VI: return the pagelets of each answer of one cluster, best first; none if there is only one answer."""
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


def _pages(trees: Sequence[TagTree], params: ThorParams) -> tuple[list[_PageSubtrees], int]:
    """Return the pages with their candidates, and the number of distinct words."""
    letters: dict[str, str] = {}
    words: dict[str, int] = {}
    return [_PageSubtrees(tree, letters, words, params.max_candidates) for tree in trees], len(words)


def _select(tree: TagTree, dynamic: Ints, params: ThorParams) -> list[Pagelet]:
    """Start at the subtree that contains most dynamic subtrees and descend while few of them are lost (Thor Fig. 6, corrected).

    Further pagelets, in order of their dynamic subtrees, are subtrees outside the chosen ones, or inside them after a large loss:
    several regions may share an ancestor.
    """
    if not len(dynamic):
        return []
    inside = {int(u): int(((dynamic > u) & (dynamic < tree.end[u])).sum()) for u in dynamic}
    order = sorted(inside, key=lambda row: (-inside[row], row))
    u = order[0]
    while True:
        below = [v for v in order if u < v < tree.end[u]]  # the first is the next level
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
    """Return the subtrees furthest from their centroid, none inside another (Thor-objects §2.4 and §4.3)."""
    pagelets: list[Pagelet] = []
    for i in np.argsort(similarity, kind="stable").tolist():
        u = int(dynamic[i])
        if len(pagelets) < params.max_pagelets and all(u >= tree.end[p.row] or tree.end[u] <= p.row for p in pagelets):
            pagelets.append(_pagelet(tree, u, dynamic, 1 - float(similarity[i])))
    return pagelets


def _pagelet(tree: TagTree, row: int, dynamic: Ints, score: float) -> Pagelet:
    inside = dynamic[(dynamic > row) & (dynamic < tree.end[row])]
    return Pagelet(row=row, dynamic=tuple(inside.tolist()), score=float(score))


# Objects. A separator is the tag, among the children of a pagelet, that begins each object. The heuristics rank the candidate tags
# (Thor-objects §3, after Omini).

# Tags that often begin an object, most reliable first. Thor-objects §3.4 names tr, p and li; the list is Omini's up to dl, then ours.
USUAL_SEPARATORS = (
    "tr", "table", "p", "li", "hr", "dt", "ul", "pre", "font", "dl", "article", "section", "div", "h2", "h3", "h4", "dd", "a", "br"
)  # fmt: skip
BETWEEN_OBJECTS = frozenset(("hr", "br"))  # these tags end an object: the text before the first one is an object too
RankedTags = list[str]


def _separator_candidates(tree: TagTree, row: int) -> Counter[str]:
    """Count the tags of a pagelet's children that occur at least twice."""
    return Counter({tag: n for tag, n in Counter(map(tree.name, tree.children(row))).items() if n > 1})


def appearance_count(tree: TagTree, row: int) -> RankedTags:
    """Thor-objects §3: rank tags by their number of occurrences."""
    return [tag for tag, _ in _separator_candidates(tree, row).most_common()]


def standard_deviation(tree: TagTree, row: int) -> RankedTags:
    """Thor-objects §3: rank tags by the standard deviation of the distances between occurrences, in characters; smallest first."""
    chars_before = np.concatenate(([0], np.cumsum([len(chunk) for chunk in tree.chunks], dtype=np.int64)))
    rank_key = {}
    for tag, n in _separator_candidates(tree, row).items():
        at = chars_before[[tree.text_at[child] for child in tree.children(row) if tree.name(child) == tag]]
        rank_key[tag] = (float(np.diff(at).std()), -n)
    return sorted(rank_key, key=lambda tag: rank_key[tag])


def identifiable_tags(tree: TagTree, row: int) -> RankedTags:
    """Thor-objects §3.4: rank tags by a fixed list of usual separators."""
    return sorted(
        _separator_candidates(tree, row),
        key=lambda tag: USUAL_SEPARATORS.index(tag) if tag in USUAL_SEPARATORS else len(USUAL_SEPARATORS),
    )


def partial_path(tree: TagTree, row: int) -> RankedTags:
    """Thor-objects §3: rank tags by how often a path below them repeats; longer paths win ties."""
    path_counts: Counter[tuple[str, ...]] = Counter()
    for child in tree.children(row):
        path: dict[int, tuple[str, ...]] = {}
        for i in range(child, int(tree.end[child])):
            path[i] = (*path.get(int(tree.parent[i]), ()), tree.name(i))
            path_counts[path[i]] += 1
    best_path: dict[str, tuple[int, int]] = {}
    for steps, n in path_counts.items():
        best_path[steps[0]] = max(best_path.get(steps[0], (0, 0)), (n, len(steps)))
    return sorted(_separator_candidates(tree, row), key=lambda tag: best_path[tag], reverse=True)


def repeating_pattern(tree: TagTree, row: int) -> RankedTags:
    """Thor-objects §3: rank tags by how consistently the same tag follows without text in between."""
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
    candidates = _separator_candidates(tree, row)
    return sorted(candidates, key=lambda tag: (unpaired[tag], -candidates[tag]))


def sibling_pairs(tree: TagTree, row: int) -> RankedTags:
    """Thor-objects §3: rank tags by the most frequent pair of adjacent siblings that they begin."""
    names = list(map(tree.name, tree.children(row)))
    largest_pair: Counter[str] = Counter()
    for (first, _), n in Counter(pairwise(names)).items():
        largest_pair[first] = max(largest_pair[first], n)
    return sorted(_separator_candidates(tree, row), key=lambda tag: -largest_pair[tag])


SEPARATOR_HEURISTICS: Mapping[str, Callable[[TagTree, int], RankedTags]] = {
    "appearance count": appearance_count,
    "standard deviation": standard_deviation,
    "identifiable tags": identifiable_tags,
    "partial path": partial_path,
    "repeating pattern": repeating_pattern,
    "sibling pairs": sibling_pairs,
}


def combined_vote(tree: TagTree, row: int) -> RankedTags:
    """Thor-objects §3: rank tags by all heuristics together: the sum of 1 ÷ rank (ours; Omini's learned probabilities are not printed)."""
    votes = dict.fromkeys(_separator_candidates(tree, row), 0.0)
    for rank_tags in SEPARATOR_HEURISTICS.values():
        for position, tag in enumerate(rank_tags(tree, row), 1):
            votes[tag] += 1 / position
    return sorted(votes, key=lambda tag: -votes[tag])


def split_objects(tree: TagTree, row: int, ranked: RankedTags) -> list[tuple[int, int]]:
    """Thor-objects §3: divide a pagelet at the best separator; return ranges of chunks, without those that have no text."""
    if not ranked:
        return []
    starts = [int(tree.text_at[child]) for child in tree.children(row) if tree.name(child) == ranked[0]]
    if ranked[0] in BETWEEN_OBJECTS:
        starts.insert(0, int(tree.text_at[row]))
    ends = [*starts[1:], int(tree.text_end[row])]
    return [(a, b) for a, b in zip(starts, ends, strict=True) if b > a]


def objects_like_dynamic_subtrees(tree: TagTree, row: int, dynamic: Sequence[int]) -> list[tuple[int, int]]:
    """Thor §IV: return the objects of a pagelet: all subtrees with the depth, tag and approximate size of its dynamic subtrees."""
    outermost: list[int] = []
    for subtree in sorted(dynamic):
        if row < subtree < tree.end[row] and (not outermost or subtree >= tree.end[outermost[-1]]):
            outermost.append(subtree)
    if not outermost:
        return []
    (depth, tag), _ = Counter((int(tree.depth[i]), int(tree.tag[i])) for i in outermost).most_common(1)[0]
    sizes = [int(tree.nodes[i]) for i in outermost if (int(tree.depth[i]), int(tree.tag[i])) == (depth, tag)]
    inside = np.arange(row + 1, int(tree.end[row]))
    is_similar = (tree.depth[inside] == depth) & (tree.tag[inside] == tag)
    is_similar &= (2 * tree.nodes[inside] >= min(sizes)) & (tree.nodes[inside] <= 2 * max(sizes))
    is_similar &= tree.text_end[inside] > tree.text_at[inside]
    return [(int(tree.text_at[i]), int(tree.text_end[i])) for i in inside[is_similar]]
