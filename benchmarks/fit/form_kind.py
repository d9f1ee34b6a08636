"""Fit the kind of a form that is not a search form: login, registration and so on, from the labelled forms of `forms` (Formasaurus)."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.corpora import CORPORA, labels
from benchmarks.fit.fitting import FittedJudgement, class_weights, folds_by_group, site_of
from upwell.discover import forms
from upwell.page import form_encoding
from upwell.page.tree import read
from upwell.types import Field

KINDS = {
    "search": "search",
    "login": "login",
    "registration": "registration",
    "password/login recovery": "password recovery",
    "join mailing list": "mailing list",
    "contact/comment": "contact",
    "order/add to cart": "order",
}  # all others are "other"
OUTPUTS = (*list(KINDS.values())[1:], "other")
NOT_LABELLED = ("NOT ANNOTATED", "SKIP THIS FORM")
FOLDS = 10
PENALTY = 1.0


@dataclass(frozen=True, kw_only=True)
class LabelledForm:
    """Form with its label."""

    page: str
    site: str
    index: int
    kind: str
    roles: dict[str, str]  # by name of the field
    fields: tuple[Field, ...]
    x: NDArray[np.float64]
    may_be_search: bool  # it has fields, and no password field


def labelled_forms() -> Iterator[LabelledForm]:
    """Yield the labelled forms with their features."""
    for row in labels("forms"):
        tree = read((CORPORA / "forms" / row["page"]).read_bytes(), url=row["url"])
        for index, (form, label) in enumerate(zip(tree.rows("form").tolist(), row["forms"], strict=False)):
            if label["kind"] in NOT_LABELLED:
                continue
            fields = form_encoding.read_fields(tree, form)
            method, action, _ = form_encoding.form_target(tree, form, form_encoding.default_button(fields))
            has_password = any(field.type == "password" for field in fields)
            acts = not has_password and bool(forms._acting_words(tree, form, method, action, fields))
            yield LabelledForm(
                page=row["page"], site=site_of(row["url"]), index=index, kind=KINDS.get(label["kind"], "other"), roles=label["fields"],
                fields=fields, x=forms.form_features(tree, form, method, action, fields, acts), may_be_search=bool(fields) and not has_password,
            )  # fmt: skip


def fit() -> FittedJudgement:
    data = [form for form in labelled_forms() if form.kind != "search"]
    x, y = np.concatenate([form.x for form in data]), np.array([OUTPUTS.index(form.kind) for form in data])
    found = np.zeros(len(data), np.int64)
    for train, test in folds_by_group([form.site for form in data], FOLDS):
        found[test] = (x[test] @ class_weights(x[train], y[train], len(OUTPUTS), PENALTY).T).argmax(axis=1)
    card = {
        "data": {"forms": len(data), **Counter(form.kind for form in data)},
        "folds": f"{FOLDS}, whole sites left out",
        "penalty": PENALTY,
        "score": {
            "right": round(float((found == y).mean()), 4),
            **{
                f"{kind} found": round(float((found == y)[y == number].mean()), 4)
                for number, kind in enumerate(OUTPUTS)
            },
        },
    }
    weights = class_weights(x, y, len(OUTPUTS), PENALTY)
    return FittedJudgement(name="form_kind", features=forms.FORM_FEATURES, outputs=OUTPUTS, card=card, linear=weights)
