"""What Thor measured, on the answers of real applications, the paper's printed figures beside ours: `python -m benchmarks.papers thor`."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.papers import Table, _synthetic, _thor_pagelets
from benchmarks.papers._kinds import Source, entropy, majority, sources
from benchmarks.papers._plots import lines
from benchmarks.papers._synthetic import Known, known
from benchmarks.papers._tree_edit import tree_edit
from upwell.page import tokens as terms
from upwell.papers.thor import BAG_SIGNATURES, Clustering, ClusterParams, assign_pages, cluster_counts, cluster_pages

__all__ = ["run"]

PAGES = 110  # Thor §VII-A: answers a source
COUNTS = (5, 10, 20, 40, 60, 80, 110)
REPEATS = 3  # Thor: 10
THOR = ("tfidf-tags", "raw-tags", "tfidf-content", "raw-content", "size", "url", "random")
OTHERS = ("keywords", "tags+keywords", "tags+content", "tfidf-paths", "tfidf-classes", "idf-classes")
PRINTED = {  # §VIII-A, Figure 7 at 110 pages
    "tfidf-tags": "0.04", "raw-tags": "0.24", "tfidf-content": "0.28 or 0.38", "raw-content": "0.28 or 0.38",
    "size": "0.44", "url": "0.56", "random": "0.65",
}  # fmt: skip


def run(corpora: Path, out: Path) -> Iterator[Table]:
    """All tables in the order of the paper."""
    found = [_part(source) for source in sources(corpora)]
    counted = {name: [known(source, name) for source in found] for name in BAG_SIGNATURES}
    yield _data(found)
    yield from _by_pages(found, counted, out)
    yield _edit(found, counted["tfidf-tags"])
    yield from _synthetic.tables(found, out)
    yield _by_signature_size(counted)
    yield _algorithms(counted["tfidf-tags"])
    yield _iterations(counted["tfidf-tags"])
    yield _metrics(counted)
    yield from _centroids(counted)
    yield _criteria(counted)
    yield _later(found)
    yield from _thor_pagelets.tables(found)


def _part(source: Source) -> Source:
    """110 answers of a source, drawn at random."""
    some = np.sort(np.random.default_rng(0).permutation(len(source.trees))[:PAGES])
    return Source(
        name=source.name,
        trees=[source.trees[i] for i in some],
        kinds=[source.kinds[i] for i in some],
        sizes=[source.sizes[i] for i in some],
        records=[source.records[i] for i in some],
    )


def _data(found: Sequence[Source]) -> Table:
    """Table I."""
    rows = []
    for source in found:
        tags = [(len(tree), len(np.unique(tree.tag))) for tree in source.trees]
        words = [(len(said.ids), len(said.words)) for said in map(terms.terms_of, source.trees)]
        means = [np.mean(source.sizes) / 1000, *np.mean(tags, axis=0), *np.mean(words, axis=0)]
        rows.append([source.name, len(source.trees), len(set(source.kinds)), *(f"{mean:.1f}" for mean in means)])
    average = [f"{np.mean([float(str(row[i])) for row in rows]):.1f}" for i in range(3, 8)]
    rows += [["mean", "", "", *average], ["Thor, mean of 50", PAGES, "", "—", "—", "22.3", "—", "184.0"]]
    return Table(
        title="Table I: the sources",
        columns=["source", "answers", "kinds", "KB", "tags", "distinct tags", "tokens", "distinct tokens"],
        rows=rows,
        note="Thor's means as its §VIII-A has them; its table lists each of its 50 sources.",
    )


def _labels(
    source: Source, counted: Known | None, params: ClusterParams, some: Sequence[int], seed: int
) -> tuple[int, ...]:
    rng = np.random.default_rng(seed)
    if counted is None:
        return cluster_pages([source.trees[i] for i in some], params, rng=rng).labels
    return _grouped(counted, params, rng, some).labels


def _grouped(
    source: Known, params: ClusterParams, rng: np.random.Generator, some: Sequence[int] | None = None
) -> Clustering:
    counts = source.counts if some is None else source.counts[np.asarray(some)]
    params = replace(params, signature=source.signature)
    return cluster_counts(counts, source.columns, BAG_SIGNATURES[source.signature][1], params, rng=rng)


def _by_pages(found: Sequence[Source], counted: dict[str, list[Known]], out: Path) -> Iterator[Table]:
    """Figures 7 and 8: entropy and time of every signature, for 5 to 110 pages; and Thor-objects' accuracy."""
    mixed_rows, time_rows, drawn = [], [], {}
    for signature in (*THOR, *OTHERS):
        mixed, right, spread, took = [], [], [], []
        for pages in COUNTS:
            each: list[tuple[float, float]] = []
            seconds = 0.0
            for i, source in enumerate(found):
                for repeat in range(REPEATS):
                    some = np.random.default_rng([repeat, i]).permutation(len(source.trees))[:pages].tolist()
                    kinds = [source.kinds[j] for j in some]
                    own = counted[signature][i] if signature in BAG_SIGNATURES else None
                    labels = _labels(source, own, ClusterParams(signature=signature, most=5), some, repeat)
                    each.append((entropy(labels, kinds), majority(labels, kinds)))
                    start = time.process_time()
                    _labels(source, own, ClusterParams(signature=signature, k=3, restarts=1), some, repeat)
                    seconds += time.process_time() - start
            mixed.append(float(np.mean([e for e, _ in each])))
            spread.append(float(np.std([e for e, _ in each])))
            right.append(float(np.mean([r for _, r in each])))
            took.append(1000 * seconds / len(each))
        if signature in (*THOR, ClusterParams().signature):
            drawn[signature] = (COUNTS, mixed)
        mixed_rows.append(
            [
                signature,
                *(f"{e:.3f}" for e in mixed),
                f"{spread[-1]:.3f}",
                f"{right[-1]:.1%}",
                PRINTED.get(signature, "—"),
            ]
        )
        time_rows.append([signature, *(f"{ms:.1f}" for ms in took)])
    lines(
        out / "thor-entropy.png", "Entropy of page clusters (Thor Figure 7)", drawn,
        ("pages of a source", f"entropy, mean of {len(found)} sources"), marks=True,
    )  # fmt: skip
    yield Table(
        title=f"Figure 7: entropy by number of pages, mean of {len(found)} sources × {REPEATS} draws, k = 1 … 5 by the silhouette, 10 starts",
        columns=["signature", *(str(n) for n in COUNTS), "deviation", "majority right", "Thor at 110"],
        rows=mixed_rows,
        note="Deviation and majority (Thor-objects: page is of the kind of most of its cluster; its digits are lost in our copy) at "
        "110 pages. Thor gives 0.28 and 0.38 for both content signatures together. Size is of the text, Thor's of the bytes.",
    )
    yield Table(
        title="Figure 8: CPU milliseconds of one run (k = 3, one start; weighing and clustering), by number of pages",
        columns=["signature", *(str(n) for n in COUNTS)],
        rows=time_rows,
        note="Thor: plot only; less than 0.1 s for TFIDF-tag at 110 pages, content ten times as long. url and size count their pages too.",
    )


def _edit(found: Sequence[Source], counted: Sequence[Known], pairs: int = 4) -> Table:
    """§VIII-A: what clustering by tree-edit distance would take, from a few pairs."""
    rows = []
    for source, own in zip(found, counted, strict=True):
        rng = np.random.default_rng(0)
        took = []
        for _ in range(pairs):
            a, b = rng.choice(len(source.trees), 2, replace=False)
            start = time.process_time()
            tree_edit(source.trees[a], source.trees[b])
            took.append(time.process_time() - start)
        start = time.process_time()
        _grouped(own, ClusterParams(most=5), rng)
        tags = time.process_time() - start
        every = float(np.mean(took)) * PAGES * (PAGES - 1) / 2
        rows.append([source.name, f"{np.mean(took):.2f}", f"{every / 3600:.2f}", f"{tags:.3f}", f"{every / tags:,.0f}"])
    return Table(
        title=f"§VIII-A: tree-edit distance, {pairs} pairs a source, extrapolated to the {PAGES * (PAGES - 1) // 2:,} pairs of {PAGES} pages",
        columns=["source", "CPU s a pair", "hours, all pairs", "TFIDF-tag, s", "times"],
        rows=rows,
        note="Thor: 1 to 5 hours against less than 0.1 s. The distance is Selkow's (whole subtrees come and go), in plain Python.",
    )


def _by_signature_size(counted: dict[str, list[Known]]) -> Table:
    """Figure 11."""
    rows = []
    for tags, words in zip(counted["tfidf-tags"], counted["tfidf-content"], strict=True):
        cells: list[object] = [tags.name]
        for own in (tags, words):
            start = time.process_time()
            for seed in range(3):
                _grouped(own, ClusterParams(k=3, restarts=1), np.random.default_rng(seed))
            took = (time.process_time() - start) / 3
            size = own.counts.data.size / own.counts.shape[0]
            cells += [f"{size:.0f}", f"{1000 * took:.1f}", f"{1e6 * took / own.counts.data.size:.2f}"]
        rows.append(cells)
    return Table(
        title="Figure 11: time of one run against the size of the signature (k = 3, one start)",
        columns=["source", "tags a page", "CPU ms", "µs an entry", "terms a page", "CPU ms", "µs an entry"],
        rows=rows,
        note='Thor: plot only; "approximately linear".',
    )


def _mean(counted: Sequence[Known], params: ClusterParams, seeds: int = 3) -> tuple[float, float, float]:
    """Mean and deviation of the entropy over the sources, and the mean number of clusters."""
    each, number = [], []
    for seed in range(seeds):
        for source in counted:
            labels = _grouped(source, params, np.random.default_rng(seed)).labels
            each.append(entropy(labels, source.kinds.tolist()))
            number.append(len(set(labels)))
    return float(np.mean(each)), float(np.std(each)), float(np.mean(number))


def _algorithms(counted: Sequence[Known]) -> Table:
    """Figure 12."""
    rows = []
    for k in range(2, 6):
        simple, bisecting = (_mean(counted, ClusterParams(k=k, algorithm=a))[0] for a in ("simple", "bisecting"))
        rows.append([k, f"{simple:.3f}", f"{bisecting:.3f}", "plot only"])
    return Table(
        title="Figure 12: Simple and Bisecting K-Means, TFIDF-tag, cosine, 10 starts",
        columns=["k", "simple", "bisecting", "Thor"],
        rows=rows,
        note='Thor: more clusters are better for both, "slightly lower entropy" for Simple K-Means.',
    )


def _iterations(counted: Sequence[Known]) -> Table:
    """§VIII-A, last paragraph: 2 to 5 clusters, 2 to 20 iterations."""
    tries = (2, 5, 10, 15, 20)
    rows = [[k, *(f"{_mean(counted, ClusterParams(k=k, restarts=n))[0]:.3f}" for n in tries)] for k in range(2, 6)]
    return Table(
        title="Entropy by number of clusters and of starts, TFIDF-tag",
        columns=["k", *(f"{n} starts" for n in tries)],
        rows=rows,
        note='Thor prints no figures: the number of clusters made "only minor changes", 10 starts are its balance.',
    )


def _metrics(counted: dict[str, list[Known]]) -> Table:
    """Table II."""
    printed = {
        ("cosine", "tfidf-tags"): "0.038 ± 0.074", ("euclidean", "tfidf-tags"): "0.037 ± 0.073",
        ("cosine", "raw-tags"): "0.117 ± 0.170", ("euclidean", "raw-tags"): "0.279 ± 0.257",
    }  # fmt: skip
    rows = []
    for (distance, signature), said in printed.items():
        mixed, spread, number = _mean(counted[signature], ClusterParams(distance=distance, most=5))  # type: ignore[arg-type] # listed above
        rows.append([distance, signature, f"{mixed:.3f} ± {spread:.3f}", f"{number:.1f}", said])
    return Table(
        title="Table II: cosine and Euclidean, k = 1 … 5 by the silhouette",
        columns=["distance", "signature", "entropy", "clusters", "Thor"],
        rows=rows,
    )


def _centroids(counted: dict[str, list[Known]]) -> Iterator[Table]:
    """Tables III and IV: the dominant tags of two clusters of the source with the most answers without matches."""
    most = max(range(len(counted["tfidf-tags"])), key=lambda i: (counted["tfidf-tags"][i].kinds == "none").sum())
    for signature, number, said in (
        ("tfidf-tags", "III", "<i> 0.97, <hr> 0.11 against <p> 0.66, <div> 0.61, <textarea> 0.42: other tags in each"),
        ("raw-tags", "IV", "<td> 0.63, <a> 0.32 against <td> 0.49, <a> 0.46: the same tags in both"),
    ):
        source = counted[signature][most]
        found = _grouped(source, ClusterParams(k=2), np.random.default_rng(0))
        labels = np.array(found.labels)
        multi, none = ([*(labels[source.kinds == kind]), 0][0] for kind in ("multi", "none"))
        top = np.argsort(-np.maximum(found.centres[multi], found.centres[none]), kind="stable")[:8]
        rows = [[f"<{source.columns[i]}>", *(f"{found.centres[c, i]:.2f}" for c in (multi, none))] for i in top]
        yield Table(
            title=f"Table {number}: centroids of two clusters of {source.name}, {signature}, k = 2",
            columns=["tag", "cluster of the first answer with matches", "… without"],
            rows=rows,
            note=f"Entropy {entropy(found.labels, source.kinds.tolist()):.3f}. Thor (clinicaltrials.gov): {said}.",
        )


def _criteria(counted: dict[str, list[Known]]) -> Table:
    """Which criterion chooses k (the papers' README: Thor's own does not)."""
    rows = []
    for signature in ("tfidf-tags", "idf-classes"):
        for criterion in ("silhouette", "quality", "printed"):
            mixed, _, number = _mean(counted[signature], ClusterParams(criterion=criterion, most=5))
            rows.append([signature, criterion, f"{mixed:.3f}", f"{number:.1f}"])
    return Table(
        title="Which k: the silhouette, Thor's quality with the mean similarity, and as printed (k = 1 … 5)",
        columns=["signature", "criterion", "entropy", "clusters chosen"],
        rows=rows,
        note=f"The sources have {np.mean([len(set(s.kinds.tolist())) for s in counted['tfidf-tags']]):.1f} kinds on average.",
    )


def _later(found: Sequence[Source], first: int = 40) -> Table:
    """§V-E: 40 answers are clustered, the others join, and answers of other sources must not."""
    rows = []
    made = [cluster_pages(source.trees[:first], rng=np.random.default_rng(0)) for source in found]
    for slack in (0.0, 0.05, 0.1, 0.2, 0.3):
        mixed, alone, strangers = [], [], []
        for i, (source, own) in enumerate(zip(found, made, strict=True)):
            labels = assign_pages(own, source.trees[first:], slack)
            fits = [j for j, label in enumerate(labels) if label is not None]
            mixed.append(entropy([labels[j] for j in fits], [source.kinds[first + j] for j in fits]))
            alone.append(labels.count(None) / len(labels))
            other = assign_pages(own, found[(i + 1) % len(found)].trees[:20], slack)
            strangers.append(other.count(None) / len(other))
        rows.append(
            [slack, f"{np.mean(mixed):.3f}", f"{np.mean(alone):.1%}", f"{max(alone):.1%}", f"{np.mean(strangers):.1%}"]
        )
    return Table(
        title=f"§V-E: later answers to the nearest of the centres of {first} answers (idf-classes)",
        columns=["slack", "entropy", "fit none", "… at worst", "of another source: fit none"],
        rows=rows,
        note="Thor prints no figures.",
    )
