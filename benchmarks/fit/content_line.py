"""Fit `content_line`: which lines of a page are its main content, on the content corpus.

A line counts by its words, relative to the words of its page's text, because the score is the F1 of words, averaged over pages. Lines with
little weight are sampled, so that fitting takes minutes. The kinds of the pages come from a judgement that was fitted without their sites.
"""

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from benchmarks.fit.content_pages import ContentPage, content_pages
from benchmarks.fit.fitting import FittedJudgement, Floats, boosted_trees, folds_by_group
from benchmarks.fit.page_kind import probabilities_left_out
from upwell.content.main_text import CONTENT_FEATURES, choose_lines, content_features, once_each
from upwell.judge.judgement import Judgement

FOLDS = 5
DEPTH, TREES, RATE, MIN_LEAF, L2 = 6, 80, 0.15, 30, 5.0
SAMPLE = 70_000  # lines
WORD_POWER = 0.7
MIN_TEXT_WORDS = 50


def line_weights(page: ContentPage) -> Floats:
    """Return the weight of each line of a page."""
    text = max(MIN_TEXT_WORDS, float(page.words[page.share > 0.5].sum()))
    return np.asarray(np.minimum(1, ((page.words + 0.5) / text) ** WORD_POWER))


def fit_lines(pages: Iterable[tuple[ContentPage, Floats]], seed: int = 0) -> FittedJudgement:
    """Fit the trees of the lines of some pages, given with the probabilities of their kinds."""
    pages = list(pages)
    weights = [line_weights(page) for page, _ in pages]
    rate = _sampling_rate(np.concatenate(weights))
    random = np.random.default_rng(seed)
    x, y, weight = [], [], []
    for (page, kinds), own in zip(pages, weights, strict=True):
        chance = np.minimum(1, rate * own)
        is_used = random.random(len(own)) < chance
        x.append(content_features(page.x, page.context, page.page, kinds)[is_used].astype(np.float32))
        y.append(page.share[is_used] > 0.5)
        weight.append((own / chance)[is_used])
    weight_all = np.concatenate(weight)
    trees = boosted_trees(
        np.concatenate(x),
        np.concatenate(y),
        weight_all / weight_all.mean(),
        depth=DEPTH,
        trees=TREES,
        rate=RATE,
        min_leaf=MIN_LEAF,
        l2=L2,
    )
    return FittedJudgement(name="content_line", features=CONTENT_FEATURES, outputs=("content",), card={}, trees=trees)


def _sampling_rate(weights: Floats) -> float:
    """Return the factor of the weights at which the expected number of sampled lines is SAMPLE."""
    low, high = 0.0, 1e6
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if np.minimum(1, middle * weights).sum() > SAMPLE else (middle, high)
    return high


def page_score(judgement: Judgement, page: ContentPage, kinds: Floats) -> float:
    """Return the F1 of the lines that a judgement chooses on a page."""
    if not len(page.words):
        return page.f1(np.zeros(0, bool))
    probability = judgement.probability(content_features(page.x, page.context, page.page, kinds))
    return page.f1(choose_lines(once_each(probability, page.texts, page.words), page.words)[0])


def scores_left_out(pages: tuple[ContentPage, ...], kinds: Floats) -> list[float]:
    """Return the F1 of each page, from a judgement that was fitted without its site."""
    scores = [0.0] * len(pages)
    for fitted_on, left_out in folds_by_group([page.site for page in pages], FOLDS):
        judgement = fit_lines((pages[i], kinds[i]) for i in np.flatnonzero(fitted_on).tolist()).judgement()
        for i in np.flatnonzero(left_out).tolist():
            scores[i] = page_score(judgement, pages[i], kinds[i])
    return scores


def by_kind(pages: Iterable[ContentPage], scores: Iterable[float]) -> dict[str, float]:
    """Return the mean score of each kind of page, and of all pages."""
    values = defaultdict(list)
    for page, score in zip(pages, scores, strict=True):
        values[page.kind].append(score)
        values["all"].append(score)
    return {kind: round(float(np.mean(found)), 4) for kind, found in sorted(values.items())}


def fit() -> FittedJudgement:
    """Fit on all pages; the card has the F1 of words with whole domains left out."""
    pages = content_pages()
    kinds = probabilities_left_out(pages)
    scores = by_kind(pages, scores_left_out(pages, kinds))
    fitted = fit_lines(zip(pages, kinds, strict=True))
    card = {
        "data": f"content: {len(pages)} pages of {len({page.site for page in pages})} domains",
        "folds": f"{FOLDS}, whole domains left out",
        "score": {"f1": scores},
    }
    return FittedJudgement(
        name="content_line", features=CONTENT_FEATURES, outputs=("content",), card=card, trees=fitted.trees
    )
