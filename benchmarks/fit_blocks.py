"""Fits the weights of `extract/blocks.py` on the news corpus, and leaves out sites and years: `python -m benchmarks.fit_blocks`."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from benchmarks.corpora import CORPORA, labels, require, scorer
from benchmarks.papers.wisdom import truth
from upwell.extract.blocks import BlockParams, learn_blocks, read_blocks
from upwell.extract.lines import FEATURES, evidence, of
from upwell.page.tree import read

Floats = NDArray[np.float64]

STRENGTH = 0.3  # swept: 0.02, 0.1, 0.3, 1; left out by site 0.978, 0.980, 0.982, 0.982
# Known from the HTML standard, not from this corpus, which hardly has these elements: they hold no article text.
PRIOR = {"aside_tag": -2.0}


def fit(x: Floats, y: NDArray[np.bool_], size: Floats) -> Floats:
    """Weights of the columns, a line counting as the root of its length."""
    model = LogisticRegression(C=STRENGTH, max_iter=3000, fit_intercept=False)
    return np.asarray(model.fit(x, y, np.sqrt(size + 1)).coef_[0])


def weights_of(x: list[Floats], y: list[NDArray[np.bool_]], size: list[Floats], pages: list[int]) -> dict[str, float]:
    """The weights that these pages give, with the priors."""
    found = fit(
        np.vstack([x[i] for i in pages]),
        np.concatenate([y[i] for i in pages]),
        np.concatenate([size[i] for i in pages]),
    )
    return {**{name: round(float(w), 1) for name, w in zip(FEATURES, found, strict=True)}, **PRIOR}


class Corpus:
    """The labelled pages, read once."""

    def __init__(self) -> None:
        self.rows = labels("news")
        self.sites = [str(row["site"]) for row in self.rows]
        self.trees = [read((CORPORA / "news" / row["page"]).read_bytes()) for row in self.rows]
        self.lines = [of(tree) for tree in self.trees]
        self.x = [evidence(tree, lines) for tree, lines in zip(self.trees, self.lines, strict=True)]
        known = [truth(lines, row["article"]) for lines, row in zip(self.lines, self.rows, strict=True)]
        self.y, self.size = [y for y, _ in known], [size for _, size in known]
        self.score: Callable[..., dict[str, float]] = scorer("articles").score

    def together(self, pages: list[int]) -> dict[str, list[int]]:
        """The pages of each site."""
        by: defaultdict[str, list[int]] = defaultdict(list)
        for i in pages:
            by[self.sites[i]].append(i)
        return dict(by)

    def params(self, pages: list[int], groups: list[str]) -> BlockParams:
        """All that is fitted, from these pages: the second stage learns from what the first says of groups it has not seen."""
        blind: list[tuple[list[int], BlockParams]] = []
        for group in sorted({groups[i] for i in pages}):
            seen = [i for i in pages if groups[i] != group]
            blind.append(
                (
                    [i for i in pages if groups[i] == group],
                    BlockParams(weights=weights_of(self.x, self.y, self.size, seen)),
                )
            )
        x, y, size = [], [], []
        for out, params in blind:
            for members in self.together(out).values():
                site = learn_blocks((self.trees[i] for i in members), params)
                for i in members:
                    repeated = site.repeated(self.lines[i])
                    own = self.x[i] @ np.array([params.weights[name] for name in FEATURES])
                    x.append(
                        np.column_stack([own, site.style(self.lines[i]), -repeated, -(repeated > 0).astype(float)])
                    )
                    y.append(self.y[i])
                    size.append(self.size[i])
        of_own, of_style, of_repeated, of_seen = (
            round(float(w), 2) for w in fit(np.vstack(x), np.concatenate(y), np.concatenate(size))
        )
        weights = weights_of(self.x, self.y, self.size, pages)
        return BlockParams(weights=weights, own=of_own, style=of_style, repeated=of_repeated, seen=of_seen)

    def found(self, pages: list[int], params: BlockParams, alone: bool) -> list[dict[str, Any]]:
        """What is extracted from pages, in the scorer's words."""
        found = []
        for members in self.together(pages).values():
            site = None if alone else learn_blocks((self.trees[i] for i in members), params)
            for i in members:
                known = [{"type": b.type, "text": b.text} for b in read_blocks(self.trees[i], site, params).blocks]
                found.append({"page": self.rows[i]["page"], "blocks": known})
        return found


def main() -> None:
    """Left out by site and by year; then the weights of all pages, to be put into `blocks.py`."""
    require()
    corpus = Corpus()
    pages = list(range(len(corpus.rows)))
    name = [site.rsplit("-", 1)[0] for site in corpus.sites]
    year = [site.rsplit("-", 1)[-1] for site in corpus.sites]
    for what, groups in (("site", name), ("year", year)):
        found: dict[bool, list[dict[str, Any]]] = {True: [], False: []}
        for group in sorted(set(groups)):
            params = corpus.params([i for i in pages if groups[i] != group], name)
            for alone in (True, False):
                found[alone] += corpus.found([i for i in pages if groups[i] == group], params, alone)
        print(f"left out by {what}: alone {corpus.score(corpus.rows, found[True])}")
        print(f"left out by {what}: with the site's pages {corpus.score(corpus.rows, found[False])}")
    params = corpus.params(pages, name)
    for alone in (True, False):
        print(
            "fitted on all,",
            "alone" if alone else "with the site's pages",
            corpus.score(corpus.rows, corpus.found(pages, params, alone)),
        )
    print(params)


if __name__ == "__main__":
    main()
