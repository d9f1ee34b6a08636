"""Groups the answers of a source by what made them (Thor §V): pages of one template come to one cluster.

    signature   what of a page is compared: its tags, classes, paths, words, address, size
    weights     one row a page, of length 1 (`page.vectors`)
    centre      the mean of a cluster's rows
    fit         how near a page is to its centre

`group` makes the clusters and chooses how many; `assign` puts later pages to the nearest centre and `grow` clusters again
where too many fit none (§V-E); `rank` orders the clusters by how likely they hold matches (§V-D).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from upwell.answers.signatures import BAGS, SIGNATURES, How, addresses, sizes
from upwell.page.sparse import CsrMatrix
from upwell.page.tree import Ints, TagTree
from upwell.page.vectors import count, weigh

__all__ = ["SIGNATURES", "ClusterParams", "Clustering", "assign", "group", "group_counts", "grow", "rank"]

Floats = NDArray[np.float64]
Points: TypeAlias = Any  # one row a page: an array, or a CsrMatrix where that would be large
Algorithm = Literal["simple", "bisecting"]
Distance = Literal["cosine", "euclidean"]
Criterion = Literal["silhouette", "quality", "printed"]
DENSE = 30_000_000  # numbers that an array may have; with more, pages stay sparse


@dataclass(frozen=True, kw_only=True)
class ClusterParams:
    """How pages are grouped."""

    signature: str = "idf-classes"  # swept on kinds: the least entropy (docs/decisions/0011-page-clusters.md)
    algorithm: Algorithm = "simple"
    distance: Distance = "cosine"  # Thor §V-C: both; the cosine where nothing else is said
    restarts: int = 10  # Thor §VII-B: 10
    most: int = 6  # Thor §VII-B: 5; swept 5 … 8 on kinds: 6 parts the rare errors, more split the lists
    k: int = 0  # 0: chosen by the criterion
    criterion: Criterion = "silhouette"  # Thor's own are kept as "quality" and "printed"; neither chooses (`_quality`)
    apart: float = 0.35  # a silhouette below this is one cluster; 0.2 and 0.35 are equal on kinds
    sample: int = 400  # pages that the silhouette looks at where there are more; swept on made pages: 1,000 and 2,000 gain nothing
    slack: float = (
        0.2  # a later page may fit by so much less than its cluster's worst did; swept 0 … 0.3: decisions/0012
    )
    strange: float = 0.2  # the share of later pages that may fit nothing; on kinds at worst 0.14 of a source's own do


@dataclass(frozen=True, kw_only=True)
class Clustering:
    """The cluster of each page, and what later pages are compared with."""

    labels: tuple[int, ...]
    signature: str
    columns: tuple[str, ...] = ()
    idf: Floats = field(default_factory=lambda: np.zeros(0))
    centres: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    least_fit: Floats = field(default_factory=lambda: np.zeros(0))  # the fit of each cluster's worst page


def group(trees: Sequence[TagTree], params: ClusterParams | None = None, *, rng: np.random.Generator) -> Clustering:
    """Clusters pages; the number of clusters is the one with the best criterion, unless it is given."""
    params = params or ClusterParams()
    if params.signature == "random":
        return Clustering(
            labels=tuple(rng.integers(0, params.k or params.most, len(trees)).tolist()), signature="random"
        )
    if params.signature == "url":
        return Clustering(labels=_numbered(_choose(addresses(trees), params, rng, pairs=True)), signature="url")
    if params.signature == "size":
        by_size = replace(params, distance="euclidean")
        return Clustering(labels=_numbered(_choose(sizes(trees), by_size, rng)), signature="size")
    bag, how = BAGS[params.signature]
    counts, columns = count(bag(tree) for tree in trees)
    return group_counts(counts, columns, how, params, rng=rng)


def group_counts(
    counts: CsrMatrix, columns: tuple[str, ...], how: How, params: ClusterParams, *, rng: np.random.Generator
) -> Clustering:
    """The same for pages that are already counted (`page.vectors.count`)."""
    n = counts.shape[0]
    present = np.bincount(counts.indices, minlength=len(columns))
    idf = np.ones(len(columns)) if how == "raw" else np.log((n + 1) / np.maximum(present, 1))
    if how == "idf":  # a list of one match and a list of fifty come from one template: only what is there counts
        counts = counts.with_data(np.ones(len(counts.data)))
    rows = weigh(counts, "raw" if how == "raw" else "tfidf")
    raw = how == "raw" and params.distance == "euclidean"  # Thor Table II: there the length counts too
    found, back = _same(counts if raw else rows)
    labels = np.array(_numbered(_choose(found, params, rng, back=back)), dtype=np.int32)
    sums = rows.add_rows(labels, int(labels.max(initial=-1)) + 1).toarray()
    centres = np.array([_unit(centre) for centre in sums]).reshape(sums.shape)
    fit = np.array([float((rows[labels == k] @ centre).min()) for k, centre in enumerate(centres)])
    return Clustering(
        labels=tuple(labels.tolist()), signature=params.signature, columns=columns, idf=idf, centres=centres, least_fit=fit
    )  # fmt: skip


def assign(known: Clustering, trees: Sequence[TagTree], slack: float = ClusterParams.slack) -> list[int | None]:
    """The cluster whose centre is nearest to each later page; None where it is further off than any page it was made of.

    Thor §V-E; `grow` clusters again when many are None.
    """
    bag, how = BAGS[known.signature]
    place = {name: i for i, name in enumerate(known.columns)}
    found: list[int | None] = []
    for tree in trees:
        names, ids = bag(tree)
        tally = np.bincount(ids, minlength=len(names)).astype(np.float64)
        row, strange = np.zeros(len(known.columns)), 0.0
        values = {"raw": tally, "tfidf": np.log(tally + 1), "idf": np.log(np.minimum(tally, 1) + 1)}[how]
        for name, value in zip(names, values.tolist(), strict=True):
            if name in place:
                row[place[name]] = value * known.idf[place[name]]
            else:  # what no page had weighs as much as what one page had
                strange += (value * known.idf.max(initial=1.0)) ** 2
        near = known.centres @ row / max(1e-12, float(np.sqrt(row @ row + strange)))
        best = int(near.argmax())
        found.append(best if near[best] >= known.least_fit[best] - slack else None)
    return found


def grow(
    known: Clustering, trees: Sequence[TagTree], later: Sequence[TagTree], params: ClusterParams | None = None, *, rng: np.random.Generator
) -> Clustering:  # fmt: skip
    """The clusters of all pages when later ones have come: the nearest centre's, or all made anew (Thor §V-E).

    Anew where too many of the later pages fit nothing; a few that fit nothing have the label -1.
    """
    params = params or ClusterParams(signature=known.signature)
    found = assign(known, later, params.slack) if len(known.centres) else [None] * len(later)
    if found.count(None) > params.strange * len(later):
        return group([*trees, *later], params, rng=rng)
    return replace(known, labels=(*known.labels, *(-1 if label is None else label for label in found)))


def rank(
    trees: Sequence[TagTree], labels: Sequence[int], weights: tuple[float, float, float] = (1.0, 1.0, 1.0), top: int | None = None
) -> list[int]:  # fmt: skip
    """The clusters, the likeliest to hold matches first: distinct terms, fanout and size, each as a part of the most.

    Thor §V-D: a linear combination (equal weights where nothing else is said), of which the `top` are passed on.
    """
    names = sorted(set(labels))
    seen = np.zeros((len(names), 3))
    for k, name in enumerate(names):
        pages = [tree for tree, label in zip(trees, labels, strict=True) if label == name]
        seen[k] = np.mean(
            [(len(set(" ".join(t.chunks).split())), t.fanout.max(initial=0), sum(map(len, t.chunks))) for t in pages],
            axis=0,
        )
    order = (seen / np.maximum(seen.max(axis=0, initial=1e-9), 1e-9)) @ np.array(weights)
    return [names[k] for k in np.argsort(-order, kind="stable")][:top]


# -- k-means -----------------------------------------------------------------------------------------------------------


def _choose(
    points: Points, params: ClusterParams, rng: np.random.Generator, *, back: Ints | None = None, pairs: bool = False
) -> Ints:
    """The labels with the best criterion over k = 1 … most; `pairs`: points are similarities; `back`: which point a page is."""
    n = points.shape[0]
    back = np.arange(n, dtype=np.int32) if back is None else back
    if n < 2:
        return np.zeros(len(back), dtype=np.int32)
    weight = np.bincount(back, minlength=n).astype(np.float64)
    looked, seen = np.arange(n), weight
    if n > params.sample:
        looked, times = np.unique(rng.choice(back, params.sample, replace=False), return_counts=True)
        seen = times.astype(np.float64)
    apart = 1 - points[np.ix_(looked, looked)] if pairs else _apart(points[looked], params.distance)
    best, chosen = -np.inf, np.zeros(n, dtype=np.int32)
    for k in [params.k] if params.k else range(1, min(params.most, n) + 1):
        labels = _partition(points, weight, k, params, rng, pairs)
        if params.criterion == "silhouette" or pairs:
            value = params.apart if k == 1 else _silhouette(apart, labels[looked], seen)
        else:
            value = _quality(points, labels, weight, printed=params.criterion == "printed")
        if value > best + 1e-9:
            best, chosen = value, labels
    return chosen[back]


def _partition(
    points: Points, weight: Floats, k: int, params: ClusterParams, rng: np.random.Generator, pairs: bool
) -> Ints:
    if params.algorithm == "simple" or k < 2:
        return _kmeans(points, weight, k, params, rng, pairs)
    labels = np.zeros(len(points), dtype=np.int32)
    for new in range(1, k):  # the largest cluster is divided (Thor §V-C)
        inside = np.flatnonzero(labels == np.bincount(labels, weights=weight).argmax())
        if len(inside) < 2:
            break
        some = points[np.ix_(inside, inside)] if pairs else points[inside]
        half = _kmeans(some, weight[inside], 2, params, rng, pairs)
        labels[inside[half == 1]] = new
    return labels


def _kmeans(
    points: Points, weight: Floats, k: int, params: ClusterParams, rng: np.random.Generator, pairs: bool
) -> Ints:
    """Simple K-Means (Thor Fig. 3, to the *nearest* centre), the best of several starts; `pairs`: points are similarities."""
    n = points.shape[0]
    best, labels = -np.inf, np.zeros(n, dtype=np.int32)
    if k < 2:
        return labels
    length = None if pairs else _squares(points)
    for _ in range(params.restarts):
        if length is None:
            near = points[:, rng.choice(n, k, replace=False)]
        else:
            near = _nearness(points, length, _rows(points, _seeds(points, length, weight, k, rng)), params.distance)
        now = near.argmax(axis=1).astype(np.int32)
        for _ in range(50):
            member = np.zeros((n, k))
            member[np.arange(n), now] = weight
            centres = (points.T @ member).T / np.maximum(member.sum(axis=0), 1e-12)[:, None]
            near = centres.T if length is None else _nearness(points, length, centres, params.distance)
            then = near.argmax(axis=1).astype(np.int32)
            if (then == now).all():
                break
            now = then
        value = float((near.max(axis=1) * weight).sum())
        if value > best + 1e-12:
            best, labels = value, now
    return labels


def _seeds(points: Points, length: Floats, weight: Floats, k: int, rng: np.random.Generator) -> list[int]:
    """First centres far from each other (k-means++): Thor picks any pages; this finds small clusters in fewer starts."""
    chosen = [int(rng.choice(len(weight), p=weight / weight.sum()))]
    far = np.full(len(weight), np.inf)
    while len(chosen) < k:
        near = _nearness(points, length, _rows(points, chosen[-1:]), "euclidean")[:, 0]
        far = np.minimum(far, np.maximum(-near, 0))
        far[chosen] = 0
        mass = far * weight
        total = mass.sum()
        chosen.append(int(rng.choice(len(weight), p=mass / total)) if total > 1e-9 else int(rng.integers(len(weight))))
    return chosen


def _nearness(points: Points, length: Floats, centres: Floats, distance: Distance) -> Floats:
    """The cosine, or the square of the distance below 0, of each point (with its squared length) to each centre."""
    if distance == "cosine":
        return np.asarray(points @ (centres / np.maximum(np.linalg.norm(centres, axis=1, keepdims=True), 1e-12)).T)
    return np.asarray(points @ (2 * centres.T) - (centres**2).sum(axis=1)[None, :] - length[:, None])


def _apart(points: Points, distance: Distance) -> Floats:
    near = _nearness(points, _squares(points), _rows(points, slice(None)), distance)
    return 1 - near if distance == "cosine" else np.sqrt(np.maximum(-near, 0))


def _squares(points: Points) -> Floats:
    return np.asarray(
        points.squared_lengths() if isinstance(points, CsrMatrix) else np.einsum("ij,ij->i", points, points)
    )


def _rows(points: Points, which: list[int] | slice) -> Floats:
    return np.asarray(points[which].toarray() if isinstance(points, CsrMatrix) else points[which])


def _silhouette(apart: Floats, labels: Ints, weight: Floats) -> float:
    """Mean silhouette of the pages (Rousseeuw 1987); equal pages are one point with their number as weight."""
    k = int(labels.max()) + 1
    member = np.zeros((len(labels), k))
    member[np.arange(len(labels)), labels] = weight
    size = member.sum(axis=0)
    if (size > 0).sum() < 2:
        return -1.0
    total = apart @ member
    own = size[labels]
    inside = total[np.arange(len(labels)), labels] / np.maximum(own - 1, 1e-12)
    others = total / np.maximum(size, 1e-12)
    others[:, size == 0] = np.inf
    others[np.arange(len(labels)), labels] = np.inf
    outside = others.min(axis=1)
    value = np.where(own > 1, (outside - inside) / np.maximum(np.maximum(outside, inside), 1e-12), 0.0)
    return float((value * weight).sum() / weight.sum())


def _quality(points: Points, labels: Ints, weight: Floats, *, printed: bool) -> float:
    """Thor's own quality, Σ n_i/n · Similarity(C_i); neither form chooses k.

    With the mean similarity to the centre it grows with k; as printed (the sum) a cluster weighs n_i² and k = 1 wins.
    """
    value, total = 0.0, weight.sum()
    for k in np.unique(labels):
        own, mass = points[labels == k], weight[labels == k]
        similarity = float((own @ _unit(own.T @ mass)) @ mass)
        value += similarity / total * (mass.sum() if printed else 1.0)
    return value


def _same(rows: CsrMatrix) -> tuple[Points, Ints]:
    """Equal rows once, and which of them each row is; as an array where that is not too large."""
    rows = rows.sorted()
    rows = rows.with_data(np.round(rows.data, 9))
    place: dict[bytes, int] = {}
    at = rows.indptr.tolist()
    back = np.array(
        [place.setdefault(rows.indices[a:b].tobytes() + rows.data[a:b].tobytes(), len(place)) for a, b in pairwise(at)],
        dtype=np.int32,
    )
    first = rows[np.unique(back, return_index=True)[1]]
    return first.toarray() if first.shape[0] * first.shape[1] <= DENSE else first, back


def _numbered(labels: Ints) -> tuple[int, ...]:
    """Labels by size, the largest cluster is 0."""
    order = [name for name, _ in Counter(labels.tolist()).most_common()]
    return tuple(order.index(label) for label in labels.tolist())


def _unit(row: Floats) -> Floats:
    return np.asarray(row / max(1e-12, float(np.linalg.norm(row))))
