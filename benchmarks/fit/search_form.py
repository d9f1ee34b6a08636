"""Fit search forms against all other forms, from the labelled forms of `forms` (Formasaurus)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.fit.fitting import FittedJudgement, choice_weights, folds_by_group
from benchmarks.fit.form_kind import LabelledForm, labelled_forms
from upwell.discover import forms

FOLDS = 10
PENALTY = 0.2  # swept from 0.1 to 1: F1 with sites left out 0.975 to 0.963, likelihood flat from 0.2 to 0.5
# Features whose weight has a known sign; without the bounds, F1 with sites left out is lower by a point.
FOR = {
    "role search", "search type", "query name", "sort name", "range name", "get", "only choices", "selects", "one text field and search word",
    "one text field, get, no other word", "choices and search word", "choices and filter word", "choices with get", "ranges and choices",
}  # fmt: skip
AGAINST = {
    "personal name", "post", "textarea", "one password", "two passwords", "email field", "only an email field", "file", "acts", "no field",
    "only buttons", "no named text field", "text fields beyond three",
}  # fmt: skip
COPY_WEIGHT = (
    0.2  # of a search form whose field is marked by its type alone, which is rare on the pages of the corpus (2014)
)
MEANINGS_FOR = ("search", "filter", "clear_form", "period")


def _sign(feature: str) -> int:
    meaning = feature.split(" in ")[0]
    if meaning in forms.MEANINGS:
        return 1 if meaning in MEANINGS_FOR else -1
    return 1 if feature in FOR else -1 if feature in AGAINST else 0


SIGNS = [_sign(feature) for feature in forms.FORM_FEATURES]


def _typed_search(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the features of a search form as if its field had the type search, and all its words were in an unknown language."""
    x = x.copy()
    x[0, [at for at, feature in enumerate(forms.FORM_FEATURES) if feature.split(" in ")[0] in forms.MEANINGS]] = 0
    x[0, forms.FORM_FEATURES.index("query name")] = x[
        0, forms.FORM_FEATURES.index("one text field and search word")
    ] = 0
    x[0, forms.FORM_FEATURES.index("search type")] = 1
    return x


def _weights(data: Sequence[LabelledForm]) -> NDArray[np.float64]:
    """Fit a logistic regression with bounds: a choice between one candidate and none."""
    choices = [(form.x, np.array([form.kind == "search"]), 1.0) for form in data if form.may_be_search]
    choices += [
        (_typed_search(form.x), np.array([True]), COPY_WEIGHT) for form in data if "search query" in form.roles.values()
    ]
    return choice_weights(choices, PENALTY, SIGNS)


def left_out(data: Sequence[LabelledForm]) -> NDArray[np.float64]:
    """Return the score of each form, by weights that were fitted without its site."""
    found = np.zeros(len(data))
    x = np.concatenate([form.x for form in data])
    for train, test in folds_by_group([form.site for form in data], FOLDS):
        weights = _weights([form for form, taken in zip(data, train, strict=True) if taken])
        found[test] = 1 / (1 + np.exp(-(x[test] @ weights)))
    return found * [form.may_be_search for form in data]


def score(data: Sequence[LabelledForm], found: NDArray[np.float64]) -> dict[str, Any]:
    """Return precision, recall and F1, and how many forms from each score on are search forms."""
    said, true = found >= forms.MIN_SEARCH_SCORE, np.array([form.kind == "search" for form in data])
    precision, recall = (said & true).sum() / said.sum(), (said & true).sum() / true.sum()
    sure = found >= forms.MIN_POST_SCORE
    return {
        "precision": round(float(precision), 4),
        "recall": round(float(recall), 4),
        "f1": round(float(2 * precision * recall / (precision + recall)), 4),
        "search among scores from 0.8": [int((true & sure).sum()), int(sure.sum())],
        "search among scores from 0.5 to 0.8": [int((true & said & ~sure).sum()), int((said & ~sure).sum())],
        "search among scores below 0.5": [int((true & ~said).sum()), int((~said).sum())],
    }


def fit() -> FittedJudgement:
    data = list(labelled_forms())
    card = {
        "data": {"forms": len(data), "search forms": sum(form.kind == "search" for form in data)},
        "folds": f"{FOLDS}, whole sites left out",
        "penalty": PENALTY,
        "score": score(data, left_out(data)),
    }
    return FittedJudgement(
        name="search_form", features=forms.FORM_FEATURES, outputs=("search",), card=card, linear=_weights(data)[None]
    )
