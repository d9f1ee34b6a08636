"""Fits the weights of `extract/blocks.py` on the news corpus, and leaves out sites and years: `python -m benchmarks.fit_blocks`.

Two stages: the weights of a line's own features, then how that evidence weighs beside what the pages of the site say.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from benchmarks.corpora import CORPORA, labels, require, scorer
from benchmarks.papers.wisdom import truth
from upwell.extract.blocks import BlockParams, learn_blocks, read_blocks
from upwell.extract.lines import FEATURES, line_features, lines_of
from upwell.page.tree import read

Floats = NDArray[np.float64]

INVERSE_PENALTY = 0.3  # swept: 0.02, 0.1, 0.3, 1; left out by site 0.978, 0.980, 0.982, 0.982
# Known from the HTML standard, not from this corpus, which hardly has these elements: they hold no article text.
PRIOR = {"in_aside": -2.0}


def fit(x: Floats, y: NDArray[np.bool_], size: Floats) -> Floats:
    """Weights of the columns; a line counts as the root of its length."""
    model = LogisticRegression(C=INVERSE_PENALTY, max_iter=3000, fit_intercept=False)
    return np.asarray(model.fit(x, y, np.sqrt(size + 1)).coef_[0])


def feature_weights(
    x: list[Floats], y: list[NDArray[np.bool_]], size: list[Floats], pages: list[int]
) -> dict[str, float]:
    """The weights that these pages give, with the priors."""
    weights = fit(
        np.vstack([x[i] for i in pages]),
        np.concatenate([y[i] for i in pages]),
        np.concatenate([size[i] for i in pages]),
    )
    return {**{name: round(float(w), 1) for name, w in zip(FEATURES, weights, strict=True)}, **PRIOR}


class Corpus:
    """The labelled pages, read once."""

    def __init__(self) -> None:
        self.rows = labels("news")
        self.sites = [str(row["site"]) for row in self.rows]
        self.trees = [read((CORPORA / "news" / row["page"]).read_bytes()) for row in self.rows]
        self.lines = [lines_of(tree) for tree in self.trees]
        self.x = [line_features(tree, lines) for tree, lines in zip(self.trees, self.lines, strict=True)]
        labelled = [truth(lines, row["article"]) for lines, row in zip(self.lines, self.rows, strict=True)]
        self.y, self.size = [y for y, _ in labelled], [size for _, size in labelled]
        self.score: Callable[..., dict[str, float]] = scorer("articles").score

    def by_site(self, pages: list[int]) -> list[list[int]]:
        """The pages of each site."""
        sites: defaultdict[str, list[int]] = defaultdict(list)
        for i in pages:
            sites[self.sites[i]].append(i)
        return list(sites.values())

    def fitted_params(self, pages: list[int], groups: list[str]) -> BlockParams:
        """All that is fitted, from these pages: the second stage learns from what the first says of groups it has not seen."""
        x, y, size = [], [], []
        for group in sorted({groups[i] for i in pages}):
            others = [i for i in pages if groups[i] != group]
            params = BlockParams(weights=feature_weights(self.x, self.y, self.size, others))
            for members in self.by_site([i for i in pages if groups[i] == group]):
                site = learn_blocks((self.trees[i] for i in members), params)
                for i in members:
                    repeated = site.repeated_share(self.lines[i])
                    own = self.x[i] @ np.array([params.weights[name] for name in FEATURES])
                    style = site.style_evidence(self.lines[i])
                    x.append(np.column_stack([own, style, -repeated, -(repeated > 0).astype(float)]))
                    y.append(self.y[i])
                    size.append(self.size[i])
        own_weight, style_weight, repeated_weight, seen_weight = (
            round(float(w), 2) for w in fit(np.vstack(x), np.concatenate(y), np.concatenate(size))
        )
        return BlockParams(
            weights=feature_weights(self.x, self.y, self.size, pages),
            own=own_weight,
            style=style_weight,
            repeated=repeated_weight,
            seen=seen_weight,
        )

    def extracted(self, pages: list[int], params: BlockParams, alone: bool) -> list[dict[str, Any]]:
        """What is extracted from pages, as the scorer wants it."""
        results = []
        for members in self.by_site(pages):
            site = None if alone else learn_blocks((self.trees[i] for i in members), params)
            for i in members:
                blocks = [{"type": b.type, "text": b.text} for b in read_blocks(self.trees[i], site, params).blocks]
                results.append({"page": self.rows[i]["page"], "blocks": blocks})
        return results


def main() -> None:
    """Left out by site and by year; then the weights of all pages, to be put into `blocks.py`."""
    require()
    corpus = Corpus()
    pages = list(range(len(corpus.rows)))
    names = [site.rsplit("-", 1)[0] for site in corpus.sites]
    years = [site.rsplit("-", 1)[-1] for site in corpus.sites]
    for what, groups in (("site", names), ("year", years)):
        results: dict[bool, list[dict[str, Any]]] = {True: [], False: []}
        for group in sorted(set(groups)):
            params = corpus.fitted_params([i for i in pages if groups[i] != group], names)
            for alone in (True, False):
                results[alone] += corpus.extracted([i for i in pages if groups[i] == group], params, alone)
        print(f"left out by {what}: alone {corpus.score(corpus.rows, results[True])}")
        print(f"left out by {what}: with the site's pages {corpus.score(corpus.rows, results[False])}")
    params = corpus.fitted_params(pages, names)
    for alone in (True, False):
        print(
            "fitted on all,",
            "alone" if alone else "with the site's pages",
            corpus.score(corpus.rows, corpus.extracted(pages, params, alone)),
        )
    print(params)


if __name__ == "__main__":
    main()
