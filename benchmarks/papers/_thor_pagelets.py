"""Thor's pagelets and objects measured (Figures 13–16), against what stands in for labels.

Nobody has labelled pagelets: the smallest row that holds all labelled records of a page stands in for one, on pages with two
records or more. A pagelet is *exact* where it has the same text as the stand-in, and *near* where they share 0.8 of the text.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.optimize import linear_sum_assignment

from benchmarks.papers import Table
from benchmarks.papers._kinds import Source, stand_in
from upwell.page.tokens import tokens
from upwell.page.tree import TagTree
from upwell.papers import thor
from upwell.papers import thor as separators
from upwell.papers.thor import ClusterParams, cluster_pages, rank_clusters
from upwell.source.apply import apply
from upwell.source.learn import learn_source

__all__ = ["tables"]

PAGES = 30  # answers with matches a source
MIXED = 40  # answers of all kinds a source: those of Figures 15 and 16
NEAR = 0.8
SHORT = replace(thor.ThorParams(), prototypes=1)  # where many runs are compared
RIGHT = 0.6  # as the scorer of records: Dice of the words


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """A page with two records or more, its stand-in and the words of its records."""

    tree: TagTree
    row: int
    records: Sequence[Counter[str]]


Found = list[list[int]]  # the rows of the pagelets of each page, best first


def tables(found: Sequence[Source]) -> Iterator[Table]:
    """Figures 13 to 16, what the paper leaves open, and the separators."""
    labelled = {source.name: _labelled(source) for source in found}
    some = [pages[:PAGES] for pages in labelled.values()]
    yield _distances(some)
    yield _histogram(some)
    yield _choices(some)
    yield _objects(some)
    mixed = [Mixed.of(source) for source in found]
    yield _overall(mixed)
    yield _passed_on(mixed)


def _labelled(source: Source) -> list[Labelled]:
    pages = []
    for tree, records in zip(source.trees, source.records, strict=True):
        row = stand_in(tree, records) if len(records) > 1 else None
        if row is not None:
            said = [Counter(tokens(" ".join(cells))) for cells in records]
            pages.append(Labelled(tree=tree, row=row, records=said))
    return pages


def _agree(tree: TagTree, a: int, b: int) -> tuple[bool, bool]:
    """Whether two rows have the same text, and whether they share most of it."""
    first, last = (tree.text_at[a], tree.text_at[b]), (tree.text_end[a], tree.text_end[b])
    chars = sum(map(len, tree.chunks[max(first) : min(last)]))
    union = int(tree.chars[a]) + int(tree.chars[b]) - chars
    return first[0] == first[1] and last[0] == last[1], chars >= NEAR * max(1, union)


def _score(some: Sequence[Sequence[Labelled]], find: Callable[[Sequence[TagTree]], Found]) -> list[str]:
    """Precision and recall by source, exact and near, and the CPU milliseconds a page; a page's best guess counts as one."""
    exact, near, identified, deviation = [], [], [], []
    start = time.process_time()
    guesses = [find([page.tree for page in pages]) for pages in some]
    took = time.process_time() - start
    for pages, rows in zip(some, guesses, strict=True):
        agree = [
            tuple(any(_agree(page.tree, row, page.row)[i] for row in guess) for i in (0, 1))
            for page, guess in zip(pages, rows, strict=True)
        ]
        number = max(1, sum(map(bool, rows)))
        identified.append(number / len(pages))
        exact.append(sum(e for e, _ in agree) / number)
        near.append(sum(n for _, n in agree) / number)
        deviation.append(near[-1])
    recall = np.array(near) * identified
    figures = [np.mean(exact), np.mean(near), np.mean(recall), np.std(deviation)]
    return [*(f"{x:.2f}" for x in figures), f"{1000 * took / sum(map(len, some)):.1f}"]


HEAD = ["exact precision", "near precision", "near recall", "deviation", "CPU ms a page"]


def _thor(params: thor.ThorParams) -> Callable[[Sequence[TagTree]], Found]:
    return lambda trees: [
        [p.row for p in page] for page in thor.find_pagelets(trees, params, rng=np.random.default_rng(0))
    ]


def _ours(trees: Sequence[TagTree]) -> Found:
    """What Upwell's source model takes for the pagelet."""
    model = learn_source(list(trees))
    readings = [(tree, apply(model, tree)) for tree in trees]
    rows = [tree.row_at(reading.pagelet) if reading.pagelet else None for tree, reading in readings]
    return [[] if row is None else [row] for row in rows]


def _distances(some: Sequence[Sequence[Labelled]]) -> Table:
    """Figure 13."""
    kinds = {
        "path": (1.0, 0.0, 0.0, 0.0), "fanout": (0.0, 1.0, 0.0, 0.0), "depth": (0.0, 0.0, 1.0, 0.0),
        "nodes": (0.0, 0.0, 0.0, 1.0), "all": thor.AS_PUBLISHED.weights,
    }  # fmt: skip
    rows = []
    for how, params in (("as published", thor.AS_PUBLISHED), ("optimal, δ = 7", SHORT)):
        for name, weights in kinds.items():
            said = "over 98 %, deviation 2 %" if name == "all" else "plot only"
            rows.append([how, name, *_score(some, _thor(replace(params, weights=weights))), said])
    return Table(
        title=f"Figure 13: distances of subtrees, up to {PAGES} answers with matches a source",
        columns=["Thor", "distance", *HEAD, "paper (its own labels)"],
        rows=rows,
        note="Against a stand-in: the smallest row that holds all labelled records of a page.",
    )


def _histogram(some: Sequence[Sequence[Labelled]]) -> Table:
    """Figure 14."""
    rows = []
    for weighing in ("raw", "tfidf"):
        params = replace(thor.AS_PUBLISHED, weighing=weighing)
        found = [
            thor.subtree_set_similarities([page.tree for page in pages], params, rng=np.random.default_rng(0))
            for pages in some
        ]
        share = np.mean([np.histogram(each, 10, (0, 1))[0] / len(each) for each in found], axis=0)
        rows.append([weighing, *(f"{x:.0%}" for x in share)])
    return Table(
        title="Figure 14: common subtree sets by their internal similarity, mean share over the sources",
        columns=["weights", *(f"{x / 10:.1f}–" for x in range(10))],
        rows=rows,
        note="Thor: plot only; without TFIDF few sets are dissimilar, with TFIDF there are many at both ends.",
    )


def _choices(some: Sequence[Sequence[Labelled]]) -> Table:
    """What the paper chose, or left open."""
    base = thor.ThorParams()
    ways: list[tuple[str, thor.ThorParams]] = [
        ("as published", thor.AS_PUBLISHED),
        ("… optimal assignment", replace(thor.AS_PUBLISHED, assignment="optimal")),
        *(
            (f"… optimal, δ = {delta}", replace(thor.AS_PUBLISHED, assignment="optimal", delta=delta))
            for delta in (3, 5, 7, 9, 12)
        ),
        *((f"… optimal, δ = 7, {n} prototypes", replace(base, prototypes=n)) for n in (3, 5)),
        *((f"… 5 prototypes, cut {cut}", replace(base, max_similarity=cut)) for cut in (0.3, 0.7)),
        ("… 5 prototypes, top 3", replace(base, max_pagelets=3)),
        ("… 5 prototypes, 50 promising candidates", replace(base, max_candidates=50)),
        ("Thor-objects: centroid", replace(base, ranking="objects")),
        ("Thor-objects: centroid, 20 promising", replace(base, ranking="objects", max_candidates=20)),
        (
            "Thor-objects: centroid, 20 promising, top 3",
            replace(base, ranking="objects", max_candidates=20, max_pagelets=3),
        ),
    ]
    rows = [[name, *_score(some, _thor(params))] for name, params in ways]
    rows.append(["Upwell's source model", *_score(some, _ours)])
    return Table(
        title="Thor's choices one by one (against the stand-in; with top 3, one right of three counts)",
        columns=["way", *HEAD],
        rows=rows,
        note="Thor-objects' digits are lost in our copy.",
    )


@dataclass(frozen=True, kw_only=True)
class Mixed:
    """Answers of all kinds of a source; `rows` has the stand-in of each that has two records or more."""

    trees: Sequence[TagTree]
    rows: dict[int, int]
    unclear: frozenset[int]  # one record: the stand-in would be the record itself

    @classmethod
    def of(cls, source: Source) -> "Mixed":
        trees, records = source.trees[:MIXED], source.records[:MIXED]
        rows = {i: stand_in(trees[i], some) for i, some in enumerate(records) if len(some) > 1}
        return cls(
            trees=trees,
            rows={i: row for i, row in rows.items() if row is not None},
            unclear=frozenset(i for i, some in enumerate(records) if len(some) == 1),
        )


def _pipeline(source: Mixed, params: ClusterParams, top: int, pagelets: thor.ThorParams) -> tuple[int, int]:
    """Clusters, passes on the top clusters, finds pagelets in each: how many are right (near), and how many there are."""
    labels = np.array(cluster_pages(source.trees, params, rng=np.random.default_rng(0)).labels)
    right = identified = 0
    for cluster in rank_clusters(source.trees, labels.tolist(), top=top):
        pages = np.flatnonzero(labels == cluster).tolist()
        found = thor.find_pagelets([source.trees[i] for i in pages], pagelets, rng=np.random.default_rng(0))
        for i, guess in zip(pages, found, strict=True):
            if guess and i not in source.unclear:
                identified += 1
                right += i in source.rows and _agree(source.trees[i], guess[0].row, source.rows[i])[1]
    return right, identified


def _precision_recall(
    found: Sequence[Mixed], params: ClusterParams, top: int, pagelets: thor.ThorParams
) -> tuple[str, str]:
    each = [(source, *_pipeline(source, params, top, pagelets)) for source in found]
    precision = np.mean([right / max(1, identified) for _, right, identified in each])
    recall = np.mean([right / max(1, len(source.rows)) for source, right, _ in each])
    return f"{precision:.2f}", f"{recall:.2f}"


def _overall(found: Sequence[Mixed]) -> Table:
    """Figure 15."""
    rows = []
    for signature in ("tfidf-tags", "raw-tags", "tfidf-content", "raw-content", "size", "url", "random", "idf-classes"):
        params = ClusterParams(signature=signature, k=3)
        cells = [*_precision_recall(found, params, 2, thor.AS_PUBLISHED), *_precision_recall(found, params, 2, SHORT)]
        rows.append([signature, *cells, "0.97 and 0.96" if signature == "tfidf-tags" else "plot only"])
    return Table(
        title=f"Figure 15: from clusters to pagelets, {MIXED} answers a source, k = 3, the two best clusters passed on (near, against the stand-in)",
        columns=[
            "signature",
            "as published: precision",
            "recall",
            "optimal, δ = 7: precision",
            "recall",
            "Thor",
        ],
        rows=rows,
    )


def _passed_on(found: Sequence[Mixed]) -> Table:
    """Figure 16."""
    rows = [
        [top, *_precision_recall(found, ClusterParams(signature="tfidf-tags", k=3), top, SHORT), "plot only"]
        for top in (1, 2, 3)
    ]
    return Table(
        title="Figure 16: how many of three clusters are passed on (TFIDF-tag; near, against the stand-in)",
        columns=["clusters", "precision", "recall", "Thor"],
        rows=rows,
    )


def _right(labelled: Sequence[Counter[str]], found: Sequence[Counter[str]]) -> int:
    """Pairs of records and objects with most words in common, paired one to one."""
    words = {word: i for i, word in enumerate({w for some in (*labelled, *found) for w in some})}
    tables = []
    for some in (labelled, found):
        table = np.zeros((len(some), len(words)))
        for i, counts in enumerate(some):
            table[i, [words[w] for w in counts]] = list(counts.values())
        tables.append(table)
    truth, got = tables
    if not truth.size or not got.size:
        return 0
    both = np.stack([np.minimum(row, got).sum(axis=1) for row in truth])
    dice = 2 * both / np.maximum(truth.sum(axis=1)[:, None] + got.sum(axis=1)[None, :], 1)
    i, j = linear_sum_assignment(-dice)
    return int((dice[i, j] >= RIGHT).sum())


def _objects(some: Sequence[Sequence[Labelled]]) -> Table:
    """Thor-objects §3 and Thor §IV, phase 4: every way to cut the stand-in into objects, and ours."""
    ways: dict[str, Callable[[Sequence[Labelled]], list[list[str]]]] = {
        **{name: partial(_split, voter) for name, voter in separators.SEPARATOR_HEURISTICS.items()},
        "all six": partial(_split, separators.combined_vote),
        "Thor: more of what is dynamic": _alike,
        "Upwell's source model (whole pages)": _records,
    }
    rows = []
    for name, cut in ways.items():
        precision, recall = [], []
        for pages in some:
            found = cut(pages)
            counted = [[Counter(tokens(text)) for text in texts] for texts in found]
            right = sum(_right(page.records, got) for page, got in zip(pages, counted, strict=True))
            precision.append(right / max(1, sum(map(len, found))))
            recall.append(right / max(1, sum(len(page.records) for page in pages)))
        p, r = float(np.mean(precision)), float(np.mean(recall))
        rows.append([name, f"{p:.2f}", f"{r:.2f}", f"{2 * p * r / max(1e-9, p + r):.2f}"])
    return Table(
        title="Objects: separators in the stand-in of the pagelet, mean over the sources (an object is right from a Dice of 0.6 on)",
        columns=["way", "precision", "recall", "F1"],
        rows=rows,
        note="The papers print no figures for this step.",
    )


def _split(voter: Callable[[TagTree, int], list[str]], pages: Sequence[Labelled]) -> list[list[str]]:
    return [
        [p.tree.text_of(a, b) for a, b in separators.split_objects(p.tree, p.row, voter(p.tree, p.row))] for p in pages
    ]


def _alike(pages: Sequence[Labelled]) -> list[list[str]]:
    found = thor.find_pagelets([page.tree for page in pages], thor.ThorParams(), rng=np.random.default_rng(0))
    texts = []
    for page, guess in zip(pages, found, strict=True):
        ranges = separators.objects_like_dynamic_subtrees(page.tree, guess[0].row, guess[0].dynamic) if guess else []
        texts.append([page.tree.text_of(a, b) for a, b in ranges])
    return texts


def _records(pages: Sequence[Labelled]) -> list[list[str]]:
    model = learn_source([page.tree for page in pages])
    return [[record.text for record in apply(model, page.tree).records] for page in pages]
