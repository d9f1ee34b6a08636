"""Fit `page_kind`: which of seven kinds of page a page is, on the content corpus."""

import numpy as np

from benchmarks.fit.content_pages import ContentPage, content_pages
from benchmarks.fit.fitting import FittedJudgement, Floats, boosted_trees, folds_by_group
from upwell.content.page_kind import KINDS, PAGE_FEATURES

FOLDS = 5
DEPTH, TREES, RATE, MIN_LEAF, L2 = 3, 50, 0.12, 10, 5.0


def fit_kinds(x: Floats, kinds: list[str]) -> FittedJudgement:
    """Fit the trees of the kinds."""
    number = np.array([KINDS.index(kind) for kind in kinds])
    trees = boosted_trees(x, number, depth=DEPTH, trees=TREES, rate=RATE, min_leaf=MIN_LEAF, l2=L2)
    return FittedJudgement(name="page_kind", features=PAGE_FEATURES, outputs=KINDS, card={}, trees=trees)


def probabilities_left_out(pages: tuple[ContentPage, ...]) -> Floats:
    """Return the probabilities of the kinds of each page, from a judgement that was fitted without its site."""
    x = np.array([page.page for page in pages])
    probabilities = np.zeros((len(pages), len(KINDS)))
    for fitted_on, left_out in folds_by_group([page.site for page in pages], FOLDS):
        kinds = [page.kind for page, is_used in zip(pages, fitted_on, strict=True) if is_used]
        probabilities[left_out] = fit_kinds(x[fitted_on], kinds).judgement().probability(x[left_out])
    return probabilities


def fit() -> FittedJudgement:
    """Fit on all pages; the card has the accuracy with whole domains left out."""
    pages = content_pages()
    found = [KINDS[i] for i in probabilities_left_out(pages).argmax(axis=1)]
    is_right = {kind: [f == kind for f, page in zip(found, pages, strict=True) if page.kind == kind] for kind in KINDS}
    every = [right for values in is_right.values() for right in values]
    fitted = fit_kinds(np.array([page.page for page in pages]), [page.kind for page in pages])
    card = {
        "data": f"content: {len(pages)} pages of {len({page.site for page in pages})} domains",
        "folds": f"{FOLDS}, whole domains left out",
        "score": {
            "accuracy": round(float(np.mean(every)), 4),
            "recall": {kind: round(float(np.mean(values)), 3) for kind, values in is_right.items()},
        },
    }
    return FittedJudgement(name="page_kind", features=PAGE_FEATURES, outputs=KINDS, card=card, trees=fitted.trees)
