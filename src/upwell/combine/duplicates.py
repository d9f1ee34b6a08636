"""Find rows of one table that describe the same entity, as clusters.

Each row is compared with its nearest rows. The score of a pair is the share of the rarer words of one row that the other contains, and the
edit similarity of their columns. Clusters are merged while the mean score between them, over the compared pairs, is high enough (average
linkage), so that one misleading pair does not join two clusters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rapidfuzz import fuzz, process

from upwell.combine.match_results import DuplicateCluster
from upwell.combine.similarity import nearest_pairs_within, pair_features
from upwell.combine.source_table import SourceTable

__all__ = ["duplicate_clusters"]

NEIGHBOURS = 10  # nearest rows compared with each row; not swept
# Score from which rows are the same. The best value is 0.75 to 0.8 on three pairs of tables put into one (dblp-acm, fodors-zagats, beer);
# swept over 0.6 … 0.85 (docs/decisions/0170).
MIN_SCORE = 0.75
MAX_DOUBT = 0.01  # scores are cut to this distance from 0 and 1 before log odds are taken; not swept
CONTAINED_WEIGHT = (
    2 / 3
)  # of the contained words in the score; the rest is the weight of the edit similarity; 1/2 and 1 are worse


def duplicate_clusters(table: SourceTable) -> list[DuplicateCluster]:
    """Return the groups of rows that describe the same entity, each with the keys and the mean score; surest first."""
    if len(table) < 2 or not table.columns:
        return []
    first, second, scores = _scored_pairs(table)
    merged = _merge(first, second, _log_odds(scores), len(table))
    clusters = [
        DuplicateCluster(
            keys=tuple(table.keys[row] for row in cluster.rows), score=round(1 / (1 + math.exp(-cluster.mean)), 4)
        )
        for cluster in merged
    ]
    return sorted(clusters, key=lambda cluster: (-cluster.score, str(cluster.keys[0])))


def _scored_pairs(table: SourceTable) -> tuple[Any, Any, Any]:
    """Return the pairs of near rows, and their scores."""
    names = list(table.columns)
    texts = dict(table.texts)
    compared = pair_features(texts, texts, [(name, name) for name in names], (len(table), len(table)))
    side = compared.sides[0]
    first, second, _ = nearest_pairs_within(side.rows, neighbours=NEIGHBOURS, sample_from=len(table))
    contained = compared.containment(first, second)
    total, weights = np.zeros(len(first)), np.zeros(len(first))
    for column in range(len(names)):
        values = side.texts[column]
        filled = [value for value in values if value]
        # a column counts by how much of an entity it identifies: the rarity of its words, and the share of distinct values
        weight = float(side.masses[column].mean()) * len(set(filled)) / max(1, len(filled))
        x, y = [values[row] for row in first], [values[row] for row in second]
        has_both = np.array([bool(a and b) for a, b in zip(x, y, strict=True)], bool)
        if weight and has_both.any():
            total += weight * has_both * process.cpdist(x, y, scorer=fuzz.token_sort_ratio, dtype=np.float32) / 100
            weights += weight * has_both
    letters = np.where(weights > 0, total / np.maximum(weights, 1e-9), contained)
    return first, second, CONTAINED_WEIGHT * contained + (1 - CONTAINED_WEIGHT) * letters


def _log_odds(scores: Any) -> Any:
    """Return log odds of scores, so that near-equality counts more than the average."""
    clipped = np.clip(scores, MAX_DOUBT, 1 - MAX_DOUBT)
    return np.log(clipped / (1 - clipped))


@dataclass
class _Cluster:
    """Rows, the sum and number of the log odds inside, and the same for each neighbouring cluster."""

    rows: list[int]
    sum: float
    count: int
    links: dict[int, tuple[float, int]]

    @property
    def mean(self) -> float:
        return self.sum / max(1, self.count)


def _merge(first: Sequence[int], second: Sequence[int], log_odds: Sequence[float], size: int) -> list[_Cluster]:
    """Merge rows by average linkage over the compared pairs, best pairs first; return the clusters of several rows."""
    least = float(_log_odds(MIN_SCORE))
    clusters = {row: _Cluster(rows=[row], sum=0.0, count=0, links={}) for row in range(size)}
    place = list(range(size))  # row → its cluster
    for a, b, odds in zip(first, second, log_odds, strict=True):
        clusters[int(a)].links[int(b)] = clusters[int(b)].links[int(a)] = (float(odds), 1)
    for pair in np.argsort(-np.asarray(log_odds), kind="stable"):
        if log_odds[pair] < least:
            break
        a, b = place[first[pair]], place[second[pair]]
        if a == b:
            continue
        between, count = clusters[a].links[b]
        if between / count < least:
            continue
        if len(clusters[a].links) + len(clusters[a].rows) < len(clusters[b].links) + len(clusters[b].rows):
            a, b = b, a  # the smaller cluster moves
        merged, moved = clusters[a], clusters.pop(b)
        merged.rows += moved.rows
        merged.sum, merged.count = merged.sum + moved.sum + between, merged.count + moved.count + count
        for row in moved.rows:
            place[row] = a
        del merged.links[b]
        for other, (more, number) in moved.links.items():
            if other != a:
                had, had_number = merged.links.get(other, (0.0, 0))
                del clusters[other].links[b]
                merged.links[other] = clusters[other].links[a] = (had + more, had_number + number)
    return [
        _Cluster(rows=sorted(cluster.rows), sum=cluster.sum, count=cluster.count, links={})
        for cluster in clusters.values()
        if len(cluster.rows) > 1
    ]
