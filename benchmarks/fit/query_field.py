"""Fit the query field: which text field of a search form takes the query, from the field roles of `forms` (Formasaurus)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.fit.fitting import FittedJudgement, choice_weights, folds_by_group
from benchmarks.fit.form_kind import LabelledForm, labelled_forms
from upwell.discover import forms

FOLDS = 10
PENALTY = 1.0  # swept: 0.1, 0.3, 1: right 0.984, 0.989, 0.995; forms without a query field recognized 5, 4, 3 of 9
ROLE = "search query"
NOT_LABELLED = "NOT ANNOTATED"
COPY_WEIGHT = 0.2  # type=search is rare on the pages of the corpus (2014)
AGAINST = ("email, telephone or number", "personal name", "range name", "period in label", "position", "is preset")
SIGNS = [-1 if name in AGAINST else 1 for name in forms.FIELD_FEATURES]
Choice = tuple[NDArray[np.float64], NDArray[np.bool_], float]


def choices(data: Sequence[LabelledForm]) -> list[tuple[LabelledForm, Choice]]:
    """Return the search forms with text fields whose roles are labelled."""
    found = []
    for form in data:
        names = [field.name for field in form.fields if field.type in forms.TEXT_TYPES and field.name]
        roles = [form.roles.get(name, NOT_LABELLED) for name in names]
        if form.kind == "search" and names and (ROLE in roles or NOT_LABELLED not in roles):
            right = np.array([role == ROLE for role in roles])
            found.append((form, (forms.field_features(form.fields), right, 1.0)))
    return found


def _weights(found: Sequence[tuple[LabelledForm, Choice]], penalty: float) -> NDArray[np.float64]:
    """Fit the weights, also on copies of the forms in which only the type of the field says that it takes the query."""
    copies = []
    for _, (x, right, _) in found:
        if right.any():
            typed = x.copy()
            typed[
                :, [forms.FIELD_FEATURES.index(name) for name in ("query name", "search in name", "search in label")]
            ] = 0
            typed[right, forms.FIELD_FEATURES.index("search type")] = 1
            copies.append((typed, right, COPY_WEIGHT))
    return choice_weights([choice for _, choice in found] + copies, penalty, SIGNS)


def score(found: Sequence[tuple[LabelledForm, Choice]], penalty: float = PENALTY) -> dict[str, float]:
    """Score the field with sites left out: share of right fields, and of forms without a query field that are recognized."""
    right = with_field = none_right = without = 0
    for train, test in folds_by_group([form.site for form, _ in found], FOLDS):
        weights = _weights([form for form, taken in zip(found, train, strict=True) if taken], penalty)
        for (_, (x, is_right, _)), taken in zip(found, test, strict=True):
            if taken:
                evidence = x @ weights
                best = int(evidence.argmax()) if evidence.max() >= 0 else None
                with_field, without = with_field + bool(is_right.any()), without + (not is_right.any())
                right += best is not None and bool(is_right[best])
                none_right += best is None and not is_right.any()
    return {
        "forms": with_field,
        "right": round(right / with_field, 4),
        "without query field": without,
        "recognized": round(none_right / max(1, without), 4),
    }


def fit() -> FittedJudgement:
    found = choices(list(labelled_forms()))
    card = {
        "data": {"search forms": len(found)},
        "folds": f"{FOLDS}, whole sites left out",
        "penalty": PENALTY,
        "score": score(found),
    }
    weights = _weights(found, PENALTY)
    return FittedJudgement(
        name="query_field", features=forms.FIELD_FEATURES, outputs=("query",), card=card, linear=weights[None]
    )
