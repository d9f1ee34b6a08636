"""`upwell cluster`: which saved answers were made by the same template."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from upwell.answers import clusters
from upwell.errors import WrongUsage
from upwell.offline import saved_pages as saved
from upwell.results import ClusteredPage
from upwell.source.apply import apply
from upwell.source.learn import learn_source

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
    names, trees, queries = saved.answers(Path(folder))
    _, old, asked = saved.answers(Path(known)) if known else ([], [], [])
    rng = np.random.default_rng(0)
    grouped = clusters.group(old or trees, params, rng=rng)
    if old and not len(grouped.centres):
        raise WrongUsage(f"signature {grouped.signature!r} has no centres, so that later pages cannot join (--known)")
    labels = (clusters.grow(grouped, old, trees, params, rng=rng) if old else grouped).labels
    passed = clusters.rank([*old, *trees], labels, top=top)
    model = learn_source([*old, *trees], queries=[*asked, *queries])
    for name, tree, label in zip(names, trees, labels[len(old) :], strict=True):
        if label in passed:
            yield ClusteredPage(page=name, cluster=label, kind=apply(model, tree, asked_at=model.asked_at).kind)
