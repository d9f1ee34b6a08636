"""`upwell cluster`: which saved answers were made by the same template."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from upwell.answers import clusters
from upwell.errors import WrongUsage
from upwell.offline.saved_pages import pages_at
from upwell.results import ClusteredPage
from upwell.source.apply import apply
from upwell.source.learn import learn_source
from upwell.store.remote import local_copy

__all__ = ["cluster"]


def cluster(
    folder: str | Path,
    *,
    params: clusters.ClusterParams | None = None,
    top: int | None = None,
    known: str | Path | None = None,
) -> Iterator[ClusteredPage]:
    """Offline: page clustering only; the kind of each page beside its cluster.

    `top` passes on only the clusters that likeliest hold matches (Thor §V-D); `known` is a folder of earlier answers of the
    source, whose clusters these pages join (§V-E; -1 where they fit none and are too few to cluster all again).
    """
    earlier = list(pages_at(local_copy(known))) if known else []
    pages = list(pages_at(local_copy(folder)))
    earlier_trees, trees = [page.tree() for page in earlier], [page.tree() for page in pages]
    rng = np.random.default_rng(0)
    grouped = clusters.group(earlier_trees or trees, params, rng=rng)
    if earlier and not len(grouped.centres):
        raise WrongUsage(f"signature {grouped.signature!r} has no centres, so that later pages cannot join (--known)")
    if earlier:
        grouped = clusters.grow(grouped, earlier_trees, trees, params, rng=rng)
    all_trees = [*earlier_trees, *trees]
    passed = clusters.rank(all_trees, grouped.labels, top=top)
    model = learn_source(all_trees, queries=[page.query for page in (*earlier, *pages)])
    for page, tree, label in zip(pages, trees, grouped.labels[len(earlier) :], strict=True):
        if label in passed:
            yield ClusteredPage(
                page=page.name, cluster=label, kind=apply(model, tree, asked_at=model.asked_at, query=page.query).kind
            )
