"""Fits the weights of `extract/pagelets.py`, and leaves out a fifth of the sites at a time: `python -m benchmarks.fit_pagelets [CORPUS …]`.

The fit is the highest expected F1 over the cuts of a page (softmax over the scores, L2), each site weighing the same. Pages on
which no cut agrees with the labels, or which label only titles, say nothing about how to cut and are left out of it; they
count in the score.
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
from upwell.extract import pagelets
from upwell.extract.cut_candidates import candidates
from upwell.extract.fields import RecordReader
from upwell.extract.leaves import leaves_of
from upwell.page.tree import read
from upwell.source.learn import FRAME_SHARE

Floats = NDArray[np.float64]
CORPUS = ("answers/serp150", "answers/wien", "answers/tbdw", "answers/vints1", "kinds")
LINKED = ("answers/tbdw", "answers/vints1")  # their labels have the targets of links
PAGES = 12  # of a site; kinds has more
STRENGTH = (
    0.001  # swept: 0.0003, 0.001, 0.003; left out by site 0.914, 0.909, 0.908 on serp150, 0.824, 0.840, 0.823 on tbdw
)
AGREES, TITLES = (
    0.6,
    0.5,
)  # F1 of the best cut at least; share of the text between its matches that it leaves out at most
NAMES = list(pagelets.WEIGHTS)


class Cuts(NamedTuple):
    """The cuts of one page: their features, and what of them is right."""

    corpus: str
    site: str
    labelled: int
    x: Floats
    right: Floats
    found: Floats

    @property
    def f1(self) -> Floats:
        return 2 * self.right / np.maximum(1, self.found + self.labelled)


def collect(corpus: str, rows: list[dict[str, Any]]) -> list[Cuts]:
    """Every cut of every page of one site."""
    score = scorer("records")
    rows = [row for row in rows if row["records"]]
    rows = rows[:: max(1, len(rows) // PAGES)][:PAGES]
    trees = [read((CORPORA / corpus / row["page"]).read_bytes(), url=row.get("url") or "") for row in rows]
    often = Counter(text for tree in trees for text in set(tree.chunks))
    frame = {text for text, n in often.items() if n > max(1, FRAME_SHARE * len(trees))}
    pages = []
    for row, tree in zip(rows, trees, strict=True):
        page = leaves_of(tree)
        evidence = pagelets.Evidence(page, frame if len(trees) > 1 else None, row.get("query") or "")
        truth = [score.words(" ".join(cells)) for cells in row["records"]]
        x, right, found = [], [], []
        for candidate in candidates(page):
            cut = RecordReader(page, candidate)
            texts = [page.text(match.first, match.last) for match in cut.records]
            if corpus in LINKED:
                targets = [[target for _, target in cut.links(match)] for match in cut.records]
                texts = [" ".join([text, *some]) for text, some in zip(texts, targets, strict=True)]
            features = pagelets.features(evidence, candidate)
            x.append([features[name] for name in NAMES])
            right.append(score.right(truth, [score.words(text) for text in texts]))
            found.append(len(texts))
        if x:
            pages.append(
                Cuts(corpus, row["site"], len(truth), np.array(x), np.array(right, float), np.array(found, float))
            )
    return pages


def fit(pages: list[Cuts], scale: Floats, start: Floats) -> Floats:
    """The weights of the features, each in units of its deviation."""
    between = NAMES.index("gaps_between")
    use = [page for page in pages if page.f1.max() > AGREES and page.x[page.f1.argmax(), between] < TITLES]
    each = Counter((page.corpus, page.site) for page in use)
    weight = np.array([1 / each[page.corpus, page.site] for page in use]) / len(each)
    x, f1 = np.vstack([page.x / scale for page in use]), np.concatenate([page.f1 for page in use])
    size = [len(page.x) for page in use]
    of, at = np.repeat(np.arange(len(use)), size), np.concatenate(([0], np.cumsum(size)[:-1]))

    def loss(w: Floats) -> tuple[float, Floats]:
        said = x @ w
        share = np.exp(said - np.maximum.reduceat(said, at)[of])
        share /= np.add.reduceat(share, at)[of]
        expected = np.add.reduceat(share * f1, at)
        slope = x.T @ (share * (f1 - expected[of]) * weight[of])
        return -float(weight @ expected) + STRENGTH * float(w @ w), 2 * STRENGTH * w - slope

    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 400}).x)


def chosen(pages: list[Cuts], weights: list[Floats]) -> dict[str, float]:
    """F1 of the cuts with the highest score, by corpus."""
    total: dict[str, Floats] = {}
    for page, w in zip(pages, weights, strict=True):
        i = int((page.x @ w).argmax())
        here = np.array([page.right[i], page.found[i], page.labelled])
        total[page.corpus] = here + total.get(page.corpus, 0)
    return {corpus: round(float(2 * n[0] / max(1, n[1] + n[2])), 4) for corpus, n in total.items()}


def main(corpora: list[str]) -> int:
    require()
    work = [(corpus, rows) for corpus in corpora or CORPUS for rows in by_site(labels(corpus)).values()]
    with ProcessPoolExecutor(2) as pool:
        done = [pool.submit(partial(collect, corpus, rows)) for corpus, rows in work]
        pages = [page for future in done for page in future.result()]
    scale = np.vstack([page.x for page in pages]).std(axis=0) + 1e-9
    now = np.array([pagelets.WEIGHTS[name] for name in NAMES])
    start = 0.3 * now * scale
    print("as it is", chosen(pages, [now] * len(pages)))
    sites = sorted({(page.corpus, page.site) for page in pages})
    fold = dict(zip(sites, np.random.default_rng(0).permutation(len(sites)) % 5, strict=True))
    out = [fit([p for p in pages if fold[p.corpus, p.site] != k], scale, start) / scale for k in range(5)]
    print("left out by site", chosen(pages, [out[fold[page.corpus, page.site]] for page in pages]))
    found = fit(pages, scale, start) / scale
    print("fitted on all", chosen(pages, [found] * len(pages)))
    print({name: float(f"{w:.3g}") for name, w in zip(NAMES, found, strict=True)})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
