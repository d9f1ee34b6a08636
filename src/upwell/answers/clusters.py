"""Groups the answers of a source by what made them (Thor §V): pages of one template come to one cluster.

    signature   what of a page is compared: its tags, classes, paths, words, address, size
    weights     one row a page, of length 1 (`page.vectors`)
    centre      the mean of a cluster's rows
    fit         how near a page is to its centre

`group` makes the clusters and chooses how many; `assign` puts later pages to the nearest centre (§V-E); `rank` orders the
clusters by how likely they hold matches (Thor-objects §4.1).
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from upwell.page import terms
from upwell.page.tree import Ints, TagTree
from upwell.page.vectors import Matrix, count, weigh

__all__ = ["SIGNATURES", "Clustering", "Params", "assign", "group", "rank"]

Floats = NDArray[np.float64]
Bag = tuple[Sequence[str], Ints]
Algorithm = Literal["simple", "bisecting"]
Distance = Literal["cosine", "euclidean"]
Criterion = Literal["silhouette", "quality"]
How = Literal["raw", "tfidf", "idf"]


@dataclass(frozen=True, kw_only=True)
class Params:
    """How pages are grouped."""

    signature: str = "idf-classes"  # swept on kinds: the least entropy (docs/decisions/0011-page-clusters.md)
    algorithm: Algorithm = "simple"
    distance: Distance = "cosine"  # Thor §V-C: both; the cosine where nothing else is said
    restarts: int = 10  # Thor §VII-B: 10
    most: int = 6  # Thor §VII-B: 5; swept 5 … 8 on kinds: 6 parts the rare errors, more split the lists
    k: int = 0  # 0: chosen by the criterion
    criterion: Criterion = "silhouette"  # Thor's own quality is kept as "quality"; it does not choose (see `_quality`)
    apart: float = 0.35  # a silhouette below this is one cluster; 0.2 and 0.35 are equal on kinds
    sample: int = 400  # pages that the silhouette looks at where there are more


@dataclass(frozen=True, kw_only=True)
class Clustering:
    """The cluster of each page, and what later pages are compared with."""

    labels: tuple[int, ...]
    signature: str
    columns: tuple[str, ...] = ()
    idf: Floats = field(default_factory=lambda: np.zeros(0))
    centres: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    least_fit: Floats = field(default_factory=lambda: np.zeros(0))  # the fit of each cluster's worst page


# -- signatures --------------------------------------------------------------------------------------------------------


def _tags(tree: TagTree) -> Bag:
    return tree.tags, tree.tag


def _classes(tree: TagTree) -> Bag:
    pairs, ids = np.unique(tree.tag.astype(np.int64) * len(tree.classes) + tree.cls, return_inverse=True)
    names = [f"{tree.tags[p // len(tree.classes)]}.{tree.classes[p % len(tree.classes)]}" for p in pairs.tolist()]
    return names, ids.astype(np.int32)


def _paths(tree: TagTree) -> Bag:
    """Each row as its parent's look and its own: a path of two steps, which stripes and nesting do not blow up."""
    names, look = _classes(tree)
    above = np.where(tree.parent >= 0, look[tree.parent], -1).astype(np.int64)
    pairs, ids = np.unique((above + 1) * len(names) + look, return_inverse=True)
    steps = ["", *names]
    return [f"{steps[p // len(names)]}/{names[p % len(names)]}" for p in pairs.tolist()], ids.astype(np.int32)


def _content(tree: TagTree) -> Bag:
    found = terms.of(tree, stemmed=True, stops=False)
    return found.words, found.ids


def _keywords(tree: TagTree) -> Bag:
    """The ten most frequent terms of a page (Thor-objects §2)."""
    words, ids = _content(tree)
    top = np.argsort(-np.bincount(ids, minlength=len(words)), kind="stable")[:10]
    return [words[i] for i in top], np.arange(len(top), dtype=np.int32)


def _both(tree: TagTree) -> Bag:
    tags, tag = _tags(tree)
    words, ids = _keywords(tree)
    return [*tags, *(f"'{word}" for word in words)], np.concatenate((tag, ids + len(tags))).astype(np.int32)


BAGS: dict[str, tuple[Callable[[TagTree], Bag], How]] = {
    "idf-classes": (_classes, "idf"),
    "tfidf-tags": (_tags, "tfidf"),
    "raw-tags": (_tags, "raw"),
    "tfidf-classes": (_classes, "tfidf"),
    "tfidf-paths": (_paths, "tfidf"),
    "tfidf-content": (_content, "tfidf"),
    "raw-content": (_content, "raw"),
    "keywords": (_keywords, "raw"),
    "tags+keywords": (_both, "tfidf"),
}
SIGNATURES = (*BAGS, "url", "size", "random")


# -- grouping ----------------------------------------------------------------------------------------------------------


def group(trees: Sequence[TagTree], params: Params | None = None, *, rng: np.random.Generator) -> Clustering:
    """Clusters pages; the number of clusters is the one with the best criterion, unless it is given."""
    params = params or Params()
    if params.signature == "random":
        return Clustering(
            labels=tuple(rng.integers(0, params.k or params.most, len(trees)).tolist()), signature="random"
        )
    if params.signature == "url":
        alike = _address_similarity([tree.url for tree in trees])
        return Clustering(labels=_numbered(_choose(None, alike, params, rng)), signature="url")
    if params.signature == "size":
        size = np.array([[float(sum(map(len, tree.chunks)))] for tree in trees])
        rows = size / max(1.0, size.max(initial=1.0))
        return Clustering(labels=_numbered(_choose(rows, None, params, rng, "euclidean")), signature="size")
    bag, how = BAGS[params.signature]
    counts, columns = count(bag(tree) for tree in trees)
    return _clustered(counts, columns, how, params, rng)


def _clustered(
    counts: Matrix, columns: tuple[str, ...], how: How, params: Params, rng: np.random.Generator
) -> Clustering:
    n = counts.shape[0]
    present = np.bincount(counts.indices, minlength=len(columns))
    idf = np.ones(len(columns)) if how == "raw" else np.log((n + 1) / np.maximum(present, 1))
    if how == "idf":  # a list of one match and a list of fifty come from one template: only what is there counts
        counts = counts.copy()
        counts.data[:] = 1.0
    rows = weigh(counts, "raw" if how == "raw" else "tfidf").toarray()
    labels = np.array(_numbered(_choose(rows, None, params, rng)), dtype=np.int32)
    centres = np.array([_unit(rows[labels == k].mean(axis=0)) for k in range(labels.max(initial=-1) + 1)])
    fit = np.array([float((rows[labels == k] @ centre).min()) for k, centre in enumerate(centres)])
    return Clustering(
        labels=tuple(labels.tolist()), signature=params.signature, columns=columns, idf=idf, centres=centres, least_fit=fit
    )  # fmt: skip


def assign(known: Clustering, trees: Sequence[TagTree], slack: float = 0.1) -> list[int | None]:
    """The cluster whose centre is nearest to each later page; None where it is further off than any page it was made of.

    Thor §V-E; when many are None, the source is to be clustered again.
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


def rank(trees: Sequence[TagTree], labels: Sequence[int]) -> list[int]:
    """The clusters, the likeliest to hold matches first: mean of distinct terms, fanout and size (Thor §V-D, equal weights)."""
    names = sorted(set(labels))
    seen = np.zeros((len(names), 3))
    for k, name in enumerate(names):
        pages = [tree for tree, label in zip(trees, labels, strict=True) if label == name]
        seen[k] = np.mean(
            [(len(set(" ".join(t.chunks).split())), t.fanout.max(initial=0), sum(map(len, t.chunks))) for t in pages],
            axis=0,
        )
    order = (seen / np.maximum(seen.max(axis=0, initial=1e-9), 1e-9)).sum(axis=1)
    return [names[k] for k in np.argsort(-order, kind="stable")]


def _choose(
    rows: Floats | None,
    alike: Floats | None,
    params: Params,
    rng: np.random.Generator,
    distance: Distance | None = None,
) -> Ints:
    """The labels with the best criterion over k = 1 … most."""
    n = len(rows) if rows is not None else len(alike) if alike is not None else 0
    if n == 0:
        return np.zeros(0, dtype=np.int32)
    rows, back = _same(rows) if rows is not None else (None, np.arange(n))
    alike = alike if rows is None else None
    distance = distance or params.distance
    points = rows if rows is not None else alike
    if points is None or len(points) < 2:
        return np.zeros(n, dtype=np.int32)
    weight = np.bincount(back, minlength=len(points)).astype(np.float64)
    looked = np.arange(len(points))
    if len(points) > params.sample:
        looked = np.sort(rng.choice(len(points), params.sample, replace=False))
    apart = _apart(points[looked], distance) if rows is not None else 1 - points[np.ix_(looked, looked)]
    best, chosen = -np.inf, np.zeros(len(points), dtype=np.int32)
    for k in [params.k] if params.k else range(1, min(params.most, len(points)) + 1):
        labels = _partition(points, weight, k, params, distance, rng, rows is None)
        if params.criterion == "quality" and rows is not None:
            value = _quality(points, labels)
        else:
            value = params.apart if k == 1 else _silhouette(apart, labels[looked], weight[looked])
        if value > best + 1e-9:
            best, chosen = value, labels
    return chosen[back]


def _partition(
    points: Floats, weight: Floats, k: int, params: Params, distance: Distance, rng: np.random.Generator, pairs: bool
) -> Ints:
    if params.algorithm == "simple" or k < 2:
        return _kmeans(points, weight, k, params.restarts, distance, rng, pairs)
    labels = np.zeros(len(points), dtype=np.int32)
    for new in range(1, k):  # the largest cluster is divided (Thor §V-C)
        inside = np.flatnonzero(labels == np.bincount(labels, weights=weight).argmax())
        if len(inside) < 2:
            break
        some = points[np.ix_(inside, inside)] if pairs else points[inside]
        half = _kmeans(some, weight[inside], 2, params.restarts, distance, rng, pairs)
        labels[inside[half == 1]] = new
    return labels


def _kmeans(
    points: Floats, weight: Floats, k: int, restarts: int, distance: Distance, rng: np.random.Generator, pairs: bool
) -> Ints:
    """Simple K-Means (Thor Fig. 3, to the *nearest* centre), the best of several starts; `pairs`: points are similarities."""
    best, labels = -np.inf, np.zeros(len(points), dtype=np.int32)
    for _ in range(restarts if k > 1 else 1):
        near = (
            _nearness(points, points[_seeds(points, weight, k, rng)], distance)
            if not pairs
            else points[:, rng.choice(len(points), k, replace=False)]
        )
        now = near.argmax(axis=1).astype(np.int32)
        for _ in range(50):
            member = np.zeros((k, len(points)))
            member[now, np.arange(len(points))] = weight
            total = np.maximum(member.sum(axis=1, keepdims=True), 1e-12)
            centres = member @ points / total
            near = centres.T if pairs else _nearness(points, centres, distance)
            then = near.argmax(axis=1).astype(np.int32)
            if (then == now).all():
                break
            now = then
        value = float((near.max(axis=1) * weight).sum())
        if value > best + 1e-12:
            best, labels = value, now
    return labels


def _seeds(points: Floats, weight: Floats, k: int, rng: np.random.Generator) -> Ints:
    """First centres far from each other (k-means++): Thor picks any pages; this finds small clusters in fewer starts."""
    chosen = [int(rng.choice(len(points), p=weight / weight.sum()))]
    far = np.full(len(points), np.inf)
    while len(chosen) < k:
        far = np.minimum(far, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
        mass = far * weight
        chosen.append(
            int(rng.choice(len(points), p=mass / mass.sum())) if mass.sum() > 0 else int(rng.integers(len(points)))
        )
    return np.array(chosen, dtype=np.int32)


def _nearness(points: Floats, centres: Floats, distance: Distance) -> Floats:
    if distance == "cosine":
        return np.asarray(points @ (centres / np.maximum(np.linalg.norm(centres, axis=1, keepdims=True), 1e-12)).T)
    return np.asarray(2 * points @ centres.T - (centres**2).sum(axis=1)[None, :] - (points**2).sum(axis=1)[:, None])


def _apart(points: Floats, distance: Distance) -> Floats:
    near = _nearness(points, points, distance)
    return 1 - near if distance == "cosine" else np.sqrt(np.maximum(-near, 0))


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


def _quality(points: Floats, labels: Ints) -> float:
    """Thor's own quality, Σ n_i/n · Similarity(C_i) with the mean similarity to the centre: it grows with k and so never chooses."""
    return sum(
        float((points[labels == k] @ _unit(points[labels == k].mean(axis=0))).sum()) / len(points)
        for k in np.unique(labels)
    )


def _address_similarity(urls: Sequence[str]) -> Floats:
    """1 − edit distance of path and arguments over the longer (Thor §V-B: URLs)."""
    texts = [f"{parts.path}?{parts.query}" for parts in map(urlsplit, urls)]
    return np.asarray(process.cdist(texts, texts, scorer=Levenshtein.normalized_similarity), dtype=np.float64)


def _same(rows: Floats) -> tuple[Floats, Ints]:
    """Equal rows once, and which of them each row is."""
    place: dict[bytes, int] = {}
    back = np.array([place.setdefault(row.tobytes(), len(place)) for row in np.round(rows, 9)], dtype=np.int32)
    first = np.unique(back, return_index=True)[1]
    return rows[first], back


def _numbered(labels: Ints) -> tuple[int, ...]:
    """Labels by size, the largest cluster is 0."""
    order = [name for name, _ in Counter(labels.tolist()).most_common()]
    return tuple(order.index(label) for label in labels.tolist())


def _unit(row: Floats) -> Floats:
    return np.asarray(row / max(1e-12, float(np.linalg.norm(row))))
