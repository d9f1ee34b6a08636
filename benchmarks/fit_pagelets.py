"""Fit the weights of `records/evidence.py` with five-fold cross-validation by site: `python -m benchmarks.fit_pagelets [CORPUS …]`.

The fit maximises the expected F1 over the cuts of a page (softmax over the scores, L2 penalty), with equal weight for each site. Pages on
which no cut agrees with the labels, or of which only titles are labelled, are not used for fitting; they count in the score.
"""

import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from benchmarks.corpora import CORPORA, by_site, labels, require, scorer
from upwell.page.tree import read
from upwell.records import evidence as pagelets
from upwell.records.cuts import candidate_cuts
from upwell.records.fields import RecordReader
from upwell.records.leaves import split_leaves
from upwell.source.learn import FRAME_SHARE

Floats = NDArray[np.float64]
CORPORA_USED = ("answers/serp150", "answers/wien", "answers/tbdw", "answers/vints1", "kinds")
WITH_LINK_TARGETS = ("answers/tbdw", "answers/vints1")  # corpora whose labels contain the targets of links
PAGES_PER_SITE = 12  # `kinds` has more
PENALTY = (
    0.001  # swept: 0.0003, 0.001, 0.003; cross-validated 0.914, 0.909, 0.908 on serp150, 0.824, 0.840, 0.823 on tbdw
)
MIN_BEST_F1 = 0.6  # F1 of the best cut of a page from which on the page is used for fitting
MAX_GAPS = 0.5  # largest share of the text between records that this cut may leave out: more means that only titles are labelled
FOLDS = 5
NAMES = list(pagelets.WEIGHTS)


class PageCuts(NamedTuple):
    """Cuts of one page: their features, and the number of correct records of each."""

    corpus: str
    site: str
    labelled: int
    x: Floats
    right: Floats
    found: Floats

    @property
    def f1(self) -> Floats:
        return 2 * self.right / np.maximum(1, self.found + self.labelled)


def collect(corpus: str, rows: list[dict[str, Any]]) -> list[PageCuts]:
    """Return every cut of every page of one site."""
    score = scorer("records")
    rows = [row for row in rows if row["records"]]
    rows = rows[:: max(1, len(rows) // PAGES_PER_SITE)][:PAGES_PER_SITE]
    trees = [read((CORPORA / corpus / row["page"]).read_bytes(), url=row.get("url") or "") for row in rows]
    pages_with = Counter(text for tree in trees for text in set(tree.chunks))
    frame = {text for text, n in pages_with.items() if n > max(1, FRAME_SHARE * len(trees))}
    pages = []
    for row, tree in zip(rows, trees, strict=True):
        leaves = split_leaves(tree)
        evidence = pagelets.Evidence(leaves, frame if len(trees) > 1 else None, row.get("query") or "")
        truth = [score.words(" ".join(cells)) for cells in row["records"]]
        x, right, found = [], [], []
        for cut in candidate_cuts(leaves):
            reader = RecordReader(leaves, cut)
            texts = [leaves.text(record.first, record.last) for record in reader.records]
            if corpus in WITH_LINK_TARGETS:
                targets = [[target for _, target in reader.links(record)] for record in reader.records]
                texts = [" ".join([text, *own]) for text, own in zip(texts, targets, strict=True)]
            features = pagelets.cut_features(evidence, cut)
            x.append([features[name] for name in NAMES])
            right.append(score.right(truth, [score.words(text) for text in texts]))
            found.append(len(texts))
        if x:
            pages.append(
                PageCuts(corpus, row["site"], len(truth), np.array(x), np.array(right, float), np.array(found, float))
            )
    return pages


def fit(pages: list[PageCuts], scale: Floats, start: Floats) -> Floats:
    """Fit the weights of the features, each in units of its standard deviation."""
    gaps = NAMES.index("gaps_between")
    used = [page for page in pages if page.f1.max() > MIN_BEST_F1 and page.x[page.f1.argmax(), gaps] < MAX_GAPS]
    pages_of_site = Counter((page.corpus, page.site) for page in used)
    weight = np.array([1 / pages_of_site[page.corpus, page.site] for page in used]) / len(pages_of_site)
    x, f1 = np.vstack([page.x / scale for page in used]), np.concatenate([page.f1 for page in used])
    sizes = [len(page.x) for page in used]
    page_of, first = np.repeat(np.arange(len(used)), sizes), np.concatenate(([0], np.cumsum(sizes)[:-1]))

    def loss(w: Floats) -> tuple[float, Floats]:
        scores = x @ w
        share = np.exp(scores - np.maximum.reduceat(scores, first)[page_of])
        share /= np.add.reduceat(share, first)[page_of]
        expected = np.add.reduceat(share * f1, first)
        slope = x.T @ (share * (f1 - expected[page_of]) * weight[page_of])
        return -float(weight @ expected) + PENALTY * float(w @ w), 2 * PENALTY * w - slope

    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 400}).x)


def f1_of_best(pages: list[PageCuts], weights: list[Floats]) -> dict[str, float]:
    """Return the F1 of the cuts with the highest score, by corpus; `weights` has the weights for each page."""
    totals: dict[str, Floats] = {}
    for page, w in zip(pages, weights, strict=True):
        best = int((page.x @ w).argmax())
        counts = np.array([page.right[best], page.found[best], page.labelled])
        totals[page.corpus] = counts + totals.get(page.corpus, 0)
    return {corpus: round(float(2 * n[0] / max(1, n[1] + n[2])), 4) for corpus, n in totals.items()}


def main(corpora: list[str]) -> int:
    require()
    work = [(corpus, rows) for corpus in corpora or CORPORA_USED for rows in by_site(labels(corpus)).values()]
    with ProcessPoolExecutor(2) as pool:
        jobs = [pool.submit(partial(collect, corpus, rows)) for corpus, rows in work]
        pages = [page for job in jobs for page in job.result()]
    scale = np.vstack([page.x for page in pages]).std(axis=0) + 1e-9
    current = np.array([pagelets.WEIGHTS[name] for name in NAMES])
    start = 0.3 * current * scale
    print("as it is", f1_of_best(pages, [current] * len(pages)))
    sites = sorted({(page.corpus, page.site) for page in pages})
    fold = dict(zip(sites, np.random.default_rng(0).permutation(len(sites)) % FOLDS, strict=True))
    by_fold = [fit([p for p in pages if fold[p.corpus, p.site] != k], scale, start) / scale for k in range(FOLDS)]
    print("left out by site", f1_of_best(pages, [by_fold[fold[page.corpus, page.site]] for page in pages]))
    fitted = fit(pages, scale, start) / scale
    print("fitted on all", f1_of_best(pages, [fitted] * len(pages)))
    print({name: float(f"{w:.3g}") for name, w in zip(NAMES, fitted, strict=True)})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
