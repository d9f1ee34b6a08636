"""Made pages as in Thor §VII-A: signatures drawn from what the pages of a kind have, for many more pages than there are.

Each tag or term of a made page stands in it as often as in one page of its kind that is drawn for that tag alone, so that
its spread is that of the real pages and nothing else is kept.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.papers import Table
from benchmarks.papers._kinds import Source, entropy
from benchmarks.papers._plots import lines
from upwell.arrays.sparse import CsrMatrix, count
from upwell.papers.thor import BAG_SIGNATURES, ClusterParams, cluster_counts

__all__ = ["Known", "known", "make", "stream", "tables"]

SIZES = (110, 1_100, 11_000, 110_000)


@dataclass(frozen=True, kw_only=True)
class Known:
    """What made pages are drawn from: the counted real pages of a source and their kinds."""

    name: str
    signature: str
    counts: CsrMatrix
    columns: tuple[str, ...]
    kinds: NDArray[np.str_]


def known(source: Source, signature: str) -> Known:
    """The counts of a source's real pages; the pages themselves are not kept."""
    counts, columns = count(BAG_SIGNATURES[signature][0](tree) for tree in source.trees)
    return Known(name=source.name, signature=signature, counts=counts, columns=columns, kinds=np.array(source.kinds))


def make(source: Known, pages: int, rng: np.random.Generator) -> tuple[CsrMatrix, list[str]]:
    """So many made pages of a source, in the shares of its kinds: their counts, and the kind of each."""
    drawn = np.sort(rng.choice(source.kinds, pages))
    blocks = []
    counts = sparse.csr_array(
        (source.counts.data, source.counts.indices, source.counts.indptr), shape=source.counts.shape
    )
    for kind in np.unique(drawn):
        real, n = counts[source.kinds == kind].tocsc(), int((drawn == kind).sum())
        size = np.diff(real.indptr)
        having = rng.binomial(n, size / real.shape[0])
        rows = np.concatenate([rng.choice(n, some, replace=False, shuffle=False) for some in having.tolist()])
        pick = np.repeat(real.indptr[:-1], having) + (rng.random(len(rows)) * np.repeat(size, having)).astype(np.int64)
        place = (rows, np.repeat(np.arange(len(size)), having))
        blocks.append(sparse.csr_array((real.data[pick], place), shape=(n, len(size))))
    made = sparse.vstack(blocks, format="csr")
    return CsrMatrix(made.data, made.indices, made.indptr, made.shape), drawn.tolist()


def _one(source: Known, pages: int, params: ClusterParams, seed: int) -> tuple[float, float]:
    """Entropy and CPU seconds of clustering made pages of one source."""
    rng = np.random.default_rng(seed)
    counts, kinds = make(source, pages, rng)
    start = time.process_time()
    found = cluster_counts(counts, source.columns, BAG_SIGNATURES[source.signature][1], params, rng=rng)
    return entropy(found.labels, kinds), time.process_time() - start


def tables(sources: Sequence[Source], out: Path) -> Iterator[Table]:
    """Figures 9 and 10: entropy and time while the pages of a source grow a thousand times."""
    rows, drawn = [], {}
    for signature, sizes in (
        ("tfidf-tags", SIZES),
        ("raw-tags", SIZES[:3]),
        ("idf-classes", SIZES[:3]),
        ("tfidf-content", SIZES[:2]),
    ):
        took, real = [], [known(source, signature) for source in sources]
        for pages in sizes:
            params = ClusterParams(signature=signature, most=5, restarts=10)
            some = [_one(source, pages, params, i) for i, source in enumerate(real)]
            mixed, seconds = np.mean(some, axis=0).tolist()
            took.append(seconds)
            rows.append(
                [signature, f"{pages:,}", f"{mixed:.3f}", f"{seconds:.3f}", f"{1e6 * seconds / pages:.0f}", "plot only"]
            )
        drawn[signature] = (sizes, took)
    lines(
        out / "thor-synthetic.png", "Made pages: time to cluster (Thor Figure 10)", drawn,
        ("pages a source", "CPU seconds, k = 1 … 5"), marks=True, log=True,
    )  # fmt: skip
    yield Table(
        title=f"Figures 9 and 10: made pages, mean over {len(sources)} sources, k = 1 … 5 chosen by the silhouette, 10 starts",
        columns=["signature", "pages a source", "entropy", "CPU seconds", "µs a page", "paper"],
        rows=rows,
        note='The paper\'s words: entropy "nearly constant", time "grows linearly"; its figures are plots. '
        "Only Thor's own signature goes to 110,000 pages, to keep the bench short.",
    )


def stream(
    sources: Sequence[Known], times: int = 50, pages: int = 110_000, restarts: int = 10
) -> Iterator[tuple[str, float, float]]:
    """Thor's largest set: source by source, so that only one is in memory; name, entropy and CPU seconds of each.

    Thor has 50 sources; ours are fewer, so that they come again with other draws.
    """
    for i in range(times):
        source = sources[i % len(sources)]
        yield source.name, *_one(source, pages, ClusterParams(signature=source.signature, most=5, restarts=restarts), i)
