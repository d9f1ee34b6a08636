"""Fit `record_cut`: which way to cut a page gives the records of the answer?

The fit maximises the expected F1 over the cuts of a page (softmax over the scores, ridge penalty), with equal weight for each site. This has
several maxima, so the fit begins with the weights that maximise the mean logarithm of the expected F1, which it finds from weights of 0.
Pages on which no cut agrees with the labels, or of which only titles are labelled, are not used for fitting; the score is given with and
without them.
"""

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from benchmarks.corpora import CORPORA, by_site, labels, scorer
from benchmarks.fit.fitting import FittedJudgement, folds_by_group
from upwell.judge.judgement import load_judgement
from upwell.page.tree import read
from upwell.records.cuts import candidate_cuts
from upwell.records.evidence import CUT_FEATURES, Evidence, cut_features
from upwell.records.fields import RecordReader
from upwell.records.leaves import split_leaves
from upwell.source.learn import FRAME_SHARE

Floats = NDArray[np.float64]
CORPORA_USED = ("answers/serp150", "answers/wien", "answers/tbdw", "answers/vints1", "kinds", "kinds-more")
WITH_LINK_TARGETS = ("answers/tbdw", "answers/vints1")  # corpora whose labels contain the targets of links
PAGES_PER_SITE = 12  # `kinds` has more
# Swept, sites left out, mean of four draws of the folds: 0.0003, 0.001, 0.003, 0.01 give 0.910, 0.912, 0.915, 0.908 on serp150, 0.840, 0.838,
# 0.833, 0.817 on tbdw, 0.868, 0.880, 0.894, 0.897 on vints1.
PENALTY = 0.002
MIN_BEST_F1 = 0.6  # F1 of the best cut of a page from which on the page is used for fitting
MAX_GAPS = 0.5  # largest share of the text between records that this cut may leave out: more means that only titles are labelled
FOLDS = 5
# Mean standard deviation of the scores of the cuts of a page, to which all weights are scaled: that of the weights with which `VOTE_REACH` and
# `SWITCH_MARGIN` of `records.cut_rules` were swept.
SCORE_SPREAD = 10.7
MIN_EXPECTED = 1e-9  # safety limit: argument of the logarithm


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
        """F1 of each cut."""
        return 2 * self.right / np.maximum(1, self.found + self.labelled)

    @property
    def has_whole_labels(self) -> bool:
        """Return True if a cut agrees with the labels and does not only consist of titles."""
        best = int(self.f1.argmax())
        return bool(self.f1[best] > MIN_BEST_F1 and self.x[best, CUT_FEATURES.index("gaps_between")] < MAX_GAPS)


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
        evidence = Evidence(leaves, frame if len(trees) > 1 else None, row.get("query") or "")
        truth = [score.words(" ".join(cells)) for cells in row["records"]]
        x, right, found = [], [], []
        for cut in candidate_cuts(leaves):
            reader = RecordReader(leaves, cut)
            texts = [leaves.text(record.first, record.last) for record in reader.records]
            if corpus in WITH_LINK_TARGETS:
                targets = [[target for _, target in reader.links(record)] for record in reader.records]
                texts = [" ".join([text, *own]) for text, own in zip(texts, targets, strict=True)]
            features = cut_features(evidence, cut)
            x.append([features[name] for name in CUT_FEATURES])
            right.append(score.right(truth, [score.words(text) for text in texts]))
            found.append(len(texts))
        if x:
            pages.append(
                PageCuts(corpus, row["site"], len(truth), np.array(x), np.array(right, float), np.array(found, float))
            )
    return pages


def weights_of(pages: Sequence[PageCuts], scale: Floats) -> Floats:
    """Fit the weights of the features, each in units of its standard deviation."""
    used = [page for page in pages if page.has_whole_labels]
    pages_of_site = Counter((page.corpus, page.site) for page in used)
    weight = np.array([1 / pages_of_site[page.corpus, page.site] for page in used]) / len(pages_of_site)
    x, f1 = np.vstack([page.x / scale for page in used]), np.concatenate([page.f1 for page in used])
    sizes = [len(page.x) for page in used]
    page_of, first = np.repeat(np.arange(len(used)), sizes), np.concatenate(([0], np.cumsum(sizes)[:-1]))

    def loss(w: Floats, of_logarithm: bool) -> tuple[float, Floats]:
        scores = x @ w
        share = np.exp(scores - np.maximum.reduceat(scores, first)[page_of])
        share /= np.add.reduceat(share, first)[page_of]
        expected = np.maximum(np.add.reduceat(share * f1, first), MIN_EXPECTED)
        value, pull = (np.log(expected), 1 / expected) if of_logarithm else (expected, np.ones(len(expected)))
        slope = x.T @ (share * (f1 - expected[page_of]) * (pull * weight)[page_of])
        return -float(weight @ value) + PENALTY * float(w @ w), 2 * PENALTY * w - slope

    w: Floats = np.zeros(x.shape[1])
    for of_logarithm in (True, False):
        w = minimize(loss, w, (of_logarithm,), jac=True, method="L-BFGS-B", options={"maxiter": 400}).x
    return w / scale


def f1_of_best(pages: Sequence[PageCuts], weights: Sequence[Floats]) -> dict[str, float]:
    """Return the F1 of the cuts with the highest score, by corpus; `weights` has the weights for each page."""
    totals: dict[str, Floats] = {}
    for page, w in zip(pages, weights, strict=True):
        best = int((page.x @ w).argmax())
        counts = np.array([page.right[best], page.found[best], page.labelled])
        totals[page.corpus] = counts + totals.get(page.corpus, 0)
    return {corpus: round(float(2 * n[0] / max(1, n[1] + n[2])), 3) for corpus, n in totals.items()}


def present_weights() -> Floats:
    """Return the weights of the present file, 0 for features that it does not have."""
    present = load_judgement("record_cut")
    known = dict(zip(present.features, present.linear[0] if present.linear is not None else (), strict=True))
    return np.array([known.get(name, 0.0) for name in CUT_FEATURES])


def fit() -> FittedJudgement:
    """Fit on all pages; the score is that of five folds without the sites they are scored on."""
    work = [(corpus, rows) for corpus in CORPORA_USED for rows in by_site(labels(corpus)).values()]
    with ProcessPoolExecutor(2) as pool:
        jobs = [pool.submit(partial(collect, corpus, rows)) for corpus, rows in work]
        pages = [page for job in jobs for page in job.result()]
    scale = np.vstack([page.x for page in pages]).std(axis=0) + 1e-9
    present = present_weights()
    sites = [f"{page.corpus}/{page.site}" for page in pages]
    left_out_weights = [present] * len(pages)
    for used, left_out in folds_by_group(sites, FOLDS):
        weights = weights_of([pages[i] for i in np.flatnonzero(used).tolist()], scale)
        for i in np.flatnonzero(left_out).tolist():
            left_out_weights[i] = weights
    weights = weights_of(pages, scale)
    whole = [i for i, page in enumerate(pages) if page.has_whole_labels]
    card = {
        "data": f"{len(pages)} pages of {len(set(sites))} sites: {', '.join(CORPORA_USED)}",
        "folds": f"{FOLDS}, whole sites left out; each page alone, without the other rules of its source",
        "score": f1_of_best(pages, left_out_weights),
        "labels not only titles": f1_of_best([pages[i] for i in whole], [left_out_weights[i] for i in whole]),
        "fitted": f1_of_best(pages, [weights] * len(pages)),
        "before": f1_of_best(pages, [present] * len(pages)),
    }
    weights = weights * SCORE_SPREAD / np.mean([(page.x @ weights).std() for page in pages])
    return FittedJudgement(
        name="record_cut", features=CUT_FEATURES, outputs=("records",), card=card, linear=weights[np.newaxis]
    )
