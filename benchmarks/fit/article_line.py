"""Fit `article_line`: which lines of a page are its article, on the corpora news and articles.

There are two stages: the weights of the features of a line, then the weight of this evidence relative to the evidence of the other pages
of the site (news only: each page of the articles corpus is from another site). The second stage is printed with the card; its weights are
the defaults of `BlockParams`. A site is left out of both corpora at once, and its pages are read with the weights learned from the others.

The articles of the content corpus are not used: its labels treat headlines, captions and boxes differently. With them (weight 0.3), the F1
with sites left out fell from 0.981 to 0.926 on news and from 0.961 to 0.958 on articles.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpora import CORPORA, labels, scorer
from benchmarks.fit.fitting import FittedJudgement, logistic_weights
from benchmarks.papers.wisdom import truth
from upwell.content.lines import FEATURES, line_features, split_lines
from upwell.content.main_content import BlockParams, find_blocks, learn_site
from upwell.page.tree import read

Floats = NDArray[np.float64]

CORPUS_NAMES = ("news", "articles")
FOLDS = 8  # groups of sites that are left out together
PENALTY = 3.3  # swept: 1 to 1000; only the largest differs
SITE_POWER = 0.3  # a page of a site with n pages has the weight 1 ÷ n to this power; swept: 0, 0.3, 0.5, 0.7, 1
SAME_SITE = {"ars": "arstechnica"}  # sites with different names in the two corpora
TITLE = FEATURES.index("in_title")
HEADLINE_AGREEMENT = 0.5  # lines that agree more with <title> are not fitted: only the news labels contain headlines
# The labels of `articles` contain all captions, dates and bylines. Our articles contain captions in <figure> (older pages only
# name their captions, and their labels omit them), and dates and authors are separate blocks.
LABELLED_OTHERWISE = [FEATURES.index(name) for name in ("named_caption", "date", "byline")]


class Corpus:
    """Labelled pages, each read once."""

    def __init__(self) -> None:
        self.rows = [{**row, "corpus": name} for name in CORPUS_NAMES for row in labels(name)]
        self.sites = [str(row["site"]) for row in self.rows]
        self.groups = [_group(row) for row in self.rows]
        self.trees = [read((CORPORA / row["corpus"] / row["page"]).read_bytes()) for row in self.rows]
        self.lines = [split_lines(tree) for tree in self.trees]
        self.x = [line_features(tree, lines) for tree, lines in zip(self.trees, self.lines, strict=True)]
        labelled = [truth(lines, row["article"]) for lines, row in zip(self.lines, self.rows, strict=True)]
        pages_of = Counter(self.sites)
        self.y = [y for y, _ in labelled]
        # a line is weighted by the square root of its length
        self.weight = [
            np.sqrt(size + 1) * _is_fitted(x, row["corpus"]) / pages_of[row["site"]] ** SITE_POWER
            for (_, size), x, row in zip(labelled, self.x, self.rows, strict=True)
        ]
        self.score: Callable[..., dict[str, float]] = scorer("articles").score

    def folds(self) -> list[set[str]]:
        """Return the groups of sites that are left out together."""
        names = sorted(set(self.groups))
        order = np.random.default_rng(0).permutation(len(names)).tolist()
        return [{names[i] for i in order[k::FOLDS]} for k in range(FOLDS)]

    def by_site(self, pages: list[int]) -> list[list[int]]:
        """Group the pages by site."""
        sites: defaultdict[str, list[int]] = defaultdict(list)
        for i in pages:
            sites[self.sites[i]].append(i)
        return list(sites.values())

    def feature_weights(self, pages: list[int]) -> dict[str, float]:
        """Fit the weights of the line features on these pages."""
        x, y, weight = (np.concatenate([column[i] for i in pages]) for column in (self.x, self.y, self.weight))
        weights = logistic_weights(x, y, weight, PENALTY)
        return {name: round(float(w), 1) for name, w in zip(FEATURES, weights, strict=True)}

    def fitted_params(self, pages: list[int]) -> BlockParams:
        """Fit all parameters on these pages; the second stage uses first-stage predictions for sites that were left out."""
        x, y, weight = [], [], []
        for fold in self.folds():
            params = BlockParams(weights=self.feature_weights([i for i in pages if self.groups[i] not in fold]))
            inside = [i for i in pages if self.groups[i] in fold and self.rows[i]["corpus"] == "news"]
            for members in self.by_site(inside):
                site = learn_site((self.trees[i] for i in members), params)
                for i in members:
                    repeated = site.repeated_share(self.lines[i])
                    own = self.x[i] @ np.array([params.weights[name] for name in FEATURES])
                    style = site.style_evidence(self.lines[i])
                    x.append(np.column_stack([own, style, -repeated, -(repeated > 0).astype(float)]))
                    y.append(self.y[i])
                    weight.append(self.weight[i])
        own_weight, style_weight, repeated_weight, seen_weight = (
            round(float(w), 2)
            for w in logistic_weights(np.vstack(x), np.concatenate(y), np.concatenate(weight), PENALTY)
        )
        return BlockParams(
            weights=self.feature_weights(pages),
            own=own_weight,
            style=style_weight,
            repeated=repeated_weight,
            seen=seen_weight,
        )

    def extracted(self, pages: list[int], params: BlockParams, alone: bool) -> list[dict[str, Any]]:
        """Return the extracted texts of pages in the format of the scorer."""
        results = []
        for members in self.by_site(pages):
            site = None if alone else learn_site((self.trees[i] for i in members), params)
            for i in members:
                blocks = [{"type": b.type, "text": b.text} for b in find_blocks(self.trees[i], site, params)]
                results.append({"page": self.rows[i]["page"], "blocks": blocks})
        return results

    def f1(self, results: list[dict[str, Any]]) -> dict[str, float]:
        """Return the F1 of each corpus."""
        return {
            name: self.score([row for row in self.rows if row["corpus"] == name], results)["f1"]
            for name in CORPUS_NAMES
        }


def _is_fitted(x: Floats, corpus: str) -> NDArray[np.bool_]:
    """Select the lines of a page whose labels can be used for fitting."""
    is_fitted = x[:, TITLE] < HEADLINE_AGREEMENT
    return is_fitted if corpus == "news" else is_fitted & ~np.any(x[:, LABELLED_OTHERWISE] > 0, axis=1)


def _group(row: dict[str, Any]) -> str:
    """Return the site of a page in any corpus, without its year and the number of the page."""
    found = re.match(r"[a-z]+(?:\d+[a-z]+)*", row["site"])
    name = found[0] if found else row["site"]
    return SAME_SITE.get(name, name)


def fit() -> FittedJudgement:
    """Fit on all pages; the card has the F1 with whole sites left out, and the weights of the second stage."""
    corpus = Corpus()
    pages = list(range(len(corpus.rows)))
    results: dict[bool, list[dict[str, Any]]] = {True: [], False: []}
    for fold in corpus.folds():
        params = corpus.fitted_params([i for i in pages if corpus.groups[i] not in fold])
        inside = [i for i in pages if corpus.groups[i] in fold]
        for alone in (True, False):
            results[alone] += corpus.extracted(inside, params, alone)
    params = corpus.fitted_params(pages)
    card = {
        "data": f"news, articles: {len(pages)} pages",
        "folds": f"{FOLDS}, whole sites left out of both corpora",
        "score": {"alone": corpus.f1(results[True]), "with the pages of the site": corpus.f1(results[False])},
        "second stage": {name: getattr(params, name) for name in ("own", "style", "repeated", "seen")},
    }
    weights = np.array([[params.weights[name] for name in FEATURES]])
    return FittedJudgement(name="article_line", features=FEATURES, outputs=("article",), card=card, linear=weights)
