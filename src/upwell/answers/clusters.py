"""Groups the answers of a source by the template that made them (Thor §V): pages of one template form one cluster.

    signature   what of a page is compared: its tags, classes, paths, words, URL or size (`answers.signatures`)
    vector      the weighted signature of a page, scaled to length 1 (`page.vectors`)
    centre      the mean of a cluster's vectors, scaled to length 1
    fit         the cosine of a page's vector and a centre

`group` makes the clusters and chooses their number; `assign` gives later pages the cluster of the nearest centre, and `grow` clusters
again if too many fit none (§V-E); `rank` orders the clusters by how likely they hold matches (§V-D).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from upwell.answers.signatures import BAGS, SIGNATURES, Weighting, sizes, url_similarities
from upwell.page.sparse import CsrMatrix
from upwell.page.tree import Ints, TagTree
from upwell.page.vectors import count, weigh

__all__ = ["SIGNATURES", "ClusterParams", "Clustering", "assign", "group", "group_counts", "grow", "rank"]

Floats = NDArray[np.float64]
Points: TypeAlias = Any  # one row for each distinct page: an array, or a CsrMatrix if an array would be too large
Algorithm = Literal["simple", "bisecting"]
Distance = Literal["cosine", "euclidean"]
Criterion = Literal["silhouette", "quality", "printed"]
MAX_DENSE_CELLS = 30_000_000  # a larger matrix stays sparse
MAX_KMEANS_ROUNDS = 50  # of one start; not swept


@dataclass(frozen=True, kw_only=True)
class ClusterParams:
    """How pages are clustered."""

    signature: str = "idf-classes"  # swept on kinds: the least entropy (docs/decisions/0011-page-clusters.md)
    algorithm: Algorithm = "simple"
    distance: Distance = "cosine"  # Thor §V-C has both, and uses the cosine unless it says otherwise
    restarts: int = 10  # Thor §VII-B: 10
    # the largest k that is tried, as `--most`; Thor §VII-B: 5; swept 5 … 8 on kinds: 6 separates the rare errors, more split the lists
    most: int = 6
    k: int = 0  # the number of clusters; 0: chosen by the criterion
    criterion: Criterion = "silhouette"  # Thor's own are kept as "quality" and "printed"; see `_quality`
    min_silhouette: float = 0.35  # below it all pages are one cluster; 0.2 and 0.35 are equal on kinds
    silhouette_sample: int = 400  # pages at most; swept on made pages: 1,000 and 2,000 gain nothing
    # a later page may fit by this much less than the worst page of its cluster; swept 0 … 0.3: docs/decisions/0012-thor-as-published.md
    fit_slack: float = 0.2
    # of later pages that fit no cluster; on kinds at worst 0.14 of a source's own pages fit none
    max_misfit_share: float = 0.2


@dataclass(frozen=True, kw_only=True)
class Clustering:
    """The cluster of each page, and what later pages are compared with (empty for the signatures url, size and random)."""

    labels: tuple[int, ...]
    signature: str
    columns: tuple[str, ...] = ()  # the names that the vectors count
    idf: Floats = field(default_factory=lambda: np.zeros(0))
    centres: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    min_fit: Floats = field(default_factory=lambda: np.zeros(0))  # the fit of each cluster's worst page


def group(trees: Sequence[TagTree], params: ClusterParams | None = None, *, rng: np.random.Generator) -> Clustering:
    """Clusters pages; unless `params.k` gives the number of clusters, the criterion chooses it."""
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
        return Clustering(labels=_by_size(_cluster(sizes(trees), euclidean, rng)), signature="size")
    bag_of, weighting = BAGS[params.signature]
    counts, columns = count(bag_of(tree) for tree in trees)
    return group_counts(counts, columns, weighting, params, rng=rng)


def group_counts(
    counts: CsrMatrix,
    columns: tuple[str, ...],
    weighting: Weighting,
    params: ClusterParams,
    *,
    rng: np.random.Generator,
) -> Clustering:
    """Clusters pages whose signatures are already counted (`page.vectors.count`)."""
    pages = counts.shape[0]
    pages_with = np.bincount(counts.indices, minlength=len(columns))
    idf = np.ones(len(columns)) if weighting == "raw" else np.log((pages + 1) / np.maximum(pages_with, 1))
    if weighting == "idf":  # a list of one match and a list of fifty come from one template: how often does not matter
        counts = counts.with_data(np.ones(len(counts.data)))
    vectors = weigh(counts, "raw" if weighting == "raw" else "tfidf")
    is_unscaled = weighting == "raw" and params.distance == "euclidean"  # Thor Table II: there the length counts too
    points, point_of_page = _distinct(counts if is_unscaled else vectors)
    labels = np.array(_by_size(_cluster(points, params, rng, point_of_page=point_of_page)), dtype=np.int32)
    sums = vectors.add_rows(labels, int(labels.max(initial=-1)) + 1).toarray()
    centres = np.array([_unit(centre) for centre in sums]).reshape(sums.shape)
    min_fit = np.array([float((vectors[labels == k] @ centre).min()) for k, centre in enumerate(centres)])
    return Clustering(
        labels=tuple(labels.tolist()), signature=params.signature, columns=columns, idf=idf, centres=centres, min_fit=min_fit
    )  # fmt: skip


def assign(known: Clustering, trees: Sequence[TagTree], fit_slack: float = ClusterParams.fit_slack) -> list[int | None]:
    """The cluster with the nearest centre for each later page; None if the page fits worse than all pages of that cluster did.

    Thor §V-E; `grow` clusters again when many are None.
    """
    bag_of, weighting = BAGS[known.signature]
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
            else:  # a name that no page had weighs as much as one that a single page had
                unknown_squares += (value * known.idf.max(initial=1.0)) ** 2
        fit = known.centres @ vector / max(1e-12, float(np.sqrt(vector @ vector + unknown_squares)))
        nearest = int(fit.argmax())
        labels.append(nearest if fit[nearest] >= known.min_fit[nearest] - fit_slack else None)
    return labels


def grow(
    known: Clustering, trees: Sequence[TagTree], later: Sequence[TagTree], params: ClusterParams | None = None, *, rng: np.random.Generator
) -> Clustering:  # fmt: skip
    """The clusters of all pages after `later` ones came: each joins the nearest centre, or all are clustered again (Thor §V-E).

    All are clustered again if too many of the later pages fit no cluster; else those that fit none have the label -1.
    """
    params = params or ClusterParams(signature=known.signature)
    labels = assign(known, later, params.fit_slack) if len(known.centres) else [None] * len(later)
    if labels.count(None) > params.max_misfit_share * len(later):
        return group([*trees, *later], params, rng=rng)
    return replace(known, labels=(*known.labels, *(-1 if label is None else label for label in labels)))


def rank(
    trees: Sequence[TagTree], labels: Sequence[int], weights: tuple[float, float, float] = (1.0, 1.0, 1.0), top: int | None = None
) -> list[int]:  # fmt: skip
    """The clusters, the likeliest to hold matches first: by mean distinct terms, fanout and size, each ÷ the largest of a cluster.

    Thor §V-D: a linear combination (equal weights by default), of which the `top` clusters are passed on.
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


# -- k-means -----------------------------------------------------------------------------------------------------------


def _cluster(
    points: Points, params: ClusterParams, rng: np.random.Generator, *, point_of_page: Ints | None = None, is_similarity: bool = False
) -> Ints:  # fmt: skip
    """The label of each page, for the k from 1 to `params.most` with the best criterion.

    `point_of_page`: equal pages share a point; by default each page is its own. `is_similarity`: `points` is a matrix of the
    similarities of each two pages.
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
    """The label of each point for k clusters, by Simple or Bisecting K-Means."""
    if params.algorithm == "simple" or k < 2:
        return _kmeans(points, weight, k, params, rng, is_similarity)
    labels = np.zeros(len(points), dtype=np.int32)
    for new_label in range(1, k):  # the largest cluster is divided (Thor §V-C)
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
    """Simple K-Means (Thor Fig. 3, to the *nearest* centre), the best of several starts."""
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
            # of similarities, the mean of a cluster's columns is already the nearness to it
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
    """First centres far from each other (k-means++): Thor picks any pages; this finds small clusters in fewer starts."""
    seeds = [int(rng.choice(len(weight), p=weight / weight.sum()))]
    distance = np.full(len(weight), np.inf)  # squared, to the nearest seed
    while len(seeds) < k:
        nearness = _nearness(points, squares, _dense_rows(points, seeds[-1:]), "euclidean")[:, 0]
        distance = np.minimum(distance, np.maximum(-nearness, 0))
        distance[seeds] = 0
        mass = distance * weight
        total = mass.sum()
        seeds.append(int(rng.choice(len(weight), p=mass / total)) if total > 1e-9 else int(rng.integers(len(weight))))
    return seeds


def _nearness(points: Points, squares: Floats, centres: Floats, distance: Distance) -> Floats:
    """The cosine, or the negative squared distance, of each point to each centre; `squares`: squared lengths of the points."""
    if distance == "cosine":
        return np.asarray(points @ (centres / np.maximum(np.linalg.norm(centres, axis=1, keepdims=True), 1e-12)).T)
    return np.asarray(points @ (2 * centres.T) - (centres**2).sum(axis=1)[None, :] - squares[:, None])


def _distances(points: Points, distance: Distance) -> Floats:
    """The distance of each two points."""
    nearness = _nearness(points, _squared_lengths(points), _dense_rows(points, slice(None)), distance)
    return 1 - nearness if distance == "cosine" else np.sqrt(np.maximum(-nearness, 0))


def _squared_lengths(points: Points) -> Floats:
    return np.asarray(
        points.squared_lengths() if isinstance(points, CsrMatrix) else np.einsum("ij,ij->i", points, points)
    )


def _dense_rows(points: Points, rows: list[int] | slice) -> Floats:
    return np.asarray(points[rows].toarray() if isinstance(points, CsrMatrix) else points[rows])


def _silhouette(distances: Floats, labels: Ints, weight: Floats) -> float:
    """Mean silhouette of the pages (Rousseeuw 1987); equal pages are one point with their number as weight."""
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
    """Thor's own quality, Σ n_i/n · Similarity(C_i); neither form can choose k.

    With the mean similarity to the centre it grows with k; as printed (the sum) a cluster weighs n_i² and k = 1 wins.
    """
    value, total = 0.0, weight.sum()
    for k in np.unique(labels):
        members, mass = points[labels == k], weight[labels == k]
        similarity = float((members @ _unit(members.T @ mass)) @ mass)
        value += similarity / total * (mass.sum() if as_printed else 1.0)
    return value


def _distinct(rows: CsrMatrix) -> tuple[Points, Ints]:
    """The distinct rows, and which of them each row is; as an array if that is not too large."""
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
    """The same clusters with the largest called 0, the next 1, and so on."""
    order = [label for label, _ in Counter(labels.tolist()).most_common()]
    return tuple(order.index(label) for label in labels.tolist())


def _unit(vector: Floats) -> Floats:
    return np.asarray(vector / max(1e-12, float(np.linalg.norm(vector))))
