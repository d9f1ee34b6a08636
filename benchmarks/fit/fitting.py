"""Fit weights: folds that leave out whole sites, ridge logistic regression, boosted trees, and the file of a judgement."""

import datetime
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import upwell.judge
from upwell.judge.judgement import Judgement, parse_judgement
from upwell.urls.hosts import site_host

__all__ = [
    "WEIGHTS",
    "FittedJudgement",
    "boosted_trees",
    "choice_weights",
    "class_weights",
    "folds_by_group",
    "logistic_weights",
    "save",
    "site_of",
]

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
WEIGHTS = Path(upwell.judge.__file__).parent / "weights"
NEWTON_STEPS = 50
DIGITS = 4  # digits after the point of weights and leaves in the file
LIMIT_DIGITS = 6  # significant digits of the limits of trees


@dataclass(frozen=True, kw_only=True)
class FittedJudgement:
    """Contents of the file of a judgement, as `judge.judgement` reads it."""

    name: str
    features: Sequence[str]
    outputs: Sequence[str]
    card: Mapping[str, Any]  # data, folds, score with sites left out, score before
    threshold: float = 0.0
    linear: Floats | None = None  # outputs × features
    trees: Sequence[Mapping[str, Any]] = ()  # one per output, from `boosted_trees`

    def contents(self) -> dict[str, Any]:
        """Return what the file contains."""
        contents: dict[str, Any] = {
            "name": self.name,
            "features": list(self.features),
            "outputs": list(self.outputs),
            "threshold": round(self.threshold, DIGITS),
            "card": {**self.card, "date": datetime.date.today().isoformat()},
        }
        if self.linear is not None:
            contents["linear"] = np.round(np.atleast_2d(self.linear), DIGITS).tolist()
        if self.trees:
            contents["trees"] = list(self.trees)
        return contents

    def judgement(self) -> Judgement:
        """Return the judgement as the package would load it."""
        return parse_judgement(self.contents())


def save(fitted: FittedJudgement) -> Path:
    """Write the file of a judgement, one line per key, and return its path."""
    path = WEIGHTS / f"{fitted.name}.json"
    lines = [f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in fitted.contents().items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    return path


def site_of(url: str) -> str:
    """Return the registered domain of a URL, roughly: pages of one organisation are on the same side."""
    names = site_host(url).split(":")[0].split(".")
    return ".".join(names[-3 if len(names) > 2 and names[-2] in ("co", "com", "ac", "org", "gov") else -2 :])


def folds_by_group(groups: Sequence[str], folds: int, seed: int = 0) -> Iterator[tuple[Bools, Bools]]:
    """Yield pairs of masks (to fit on, left out); all examples of a group, which is a site, are on the same side."""
    names = sorted(set(groups))
    order = np.random.default_rng(seed).permutation(len(names))
    fold_of = {names[i]: position % folds for position, i in enumerate(order.tolist())}
    fold = np.array([fold_of[group] for group in groups])
    for number in range(folds):
        yield fold != number, fold == number


def logistic_weights(x: Floats, y: Bools, weight: Floats | None = None, penalty: float = 1.0) -> Floats:
    """Fit a logistic regression with a ridge penalty by Newton's method; a feature that is 1 everywhere is not penalised."""
    weight = np.ones(len(x)) if weight is None else weight
    w = np.zeros(x.shape[1])
    ridge = np.diag(np.where((x == 1).all(axis=0), 1e-6, penalty))
    for _ in range(NEWTON_STEPS):
        p = 1 / (1 + np.exp(-np.clip(x @ w, -30, 30)))
        gradient = x.T @ (weight * (p - y)) + ridge @ w
        step = np.linalg.solve((x * (weight * p * (1 - p))[:, None]).T @ x + ridge, gradient)
        w = w - step
        if abs(step).max() < 1e-5:
            break
    return w


def class_weights(x: Floats, y: NDArray[Any], classes: int, penalty: float = 1.0) -> Floats:
    """Fit a multinomial logistic regression with a ridge penalty; `y` are the numbers of the classes. One row of weights per class."""
    from scipy.optimize import minimize

    is_class = np.eye(classes)[y]

    def loss(flat: Floats) -> tuple[float, Floats]:
        w = flat.reshape(classes, -1)
        evidence = x @ w.T
        evidence -= evidence.max(axis=1, keepdims=True)
        total = np.log(np.exp(evidence).sum(axis=1))
        value = float(total.sum() - (evidence * is_class).sum()) + penalty / 2 * float(flat @ flat)
        pull = (np.exp(evidence - total[:, None]) - is_class).T @ x
        return value, (pull + penalty * w).ravel()

    start = np.zeros(classes * x.shape[1])
    return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x).reshape(
        classes, -1
    )


def choice_weights(
    choices: Sequence[tuple[Floats, Bools, float]], penalty: float = 1.0, signs: Sequence[int] | None = None
) -> Floats:
    """Fit a choice between candidates and "none", whose log odds are 0, with a ridge penalty.

    A choice is the features of its candidates, which of them are right (several, or none), and its weight. The likelihood of a choice is
    the probability of its right candidates together. A feature that is 1 everywhere is not penalised. `signs` bounds weights: 1 at least 0,
    -1 at most 0, 0 free.
    """
    from scipy.optimize import minimize

    kept = [(x, right, weight) for x, right, weight in choices if len(x)]
    x = np.concatenate([each[0] for each in kept])
    right = np.concatenate([each[1] for each in kept])
    weight = np.array([each[2] for each in kept])
    starts = np.cumsum([0, *(len(each[0]) for each in kept)])[:-1]
    of = np.repeat(np.arange(len(kept)), [len(each[0]) for each in kept])
    ridge = np.where((x == 1).all(axis=0), 1e-6, penalty)
    has_right = np.add.reduceat(right, starts) > 0

    bounds = [(0 if sign > 0 else None, 0 if sign < 0 else None) for sign in signs or [0] * x.shape[1]]

    def loss(w: Floats) -> tuple[float, Floats]:
        odds = np.exp(np.clip(x @ w, -30, 30))
        total = 1 + np.add.reduceat(odds, starts)
        of_right = np.where(has_right, np.add.reduceat(odds * right, starts), 1.0)
        value = float(weight @ (np.log(total) - np.log(of_right))) + float(ridge @ (w * w)) / 2
        pull = weight[of] * (odds / total[of] - np.where(right, odds / of_right[of], 0.0))
        return value, x.T @ pull + ridge * w

    return np.asarray(
        minimize(loss, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 500}).x
    )


def boosted_trees(
    x: Floats,
    y: NDArray[Any],
    weight: Floats | None = None,
    *,
    depth: int = 4,
    trees: int = 150,
    rate: float = 0.1,
    min_leaf: int = 20,
    l2: float = 1.0,
    features_per_split: float = 1.0,
) -> list[dict[str, Any]]:
    """Fit gradient-boosted trees with scikit-learn and return one ensemble per output, in the format of the file.

    `y` is True or False, or the number of a class; classes have one output each, in their order.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(
        max_depth=depth,
        max_leaf_nodes=2**depth,
        max_iter=trees,
        learning_rate=rate,
        min_samples_leaf=min_leaf,
        l2_regularization=l2,
        max_features=features_per_split,
        early_stopping=False,
        random_state=0,
    ).fit(x, y, sample_weight=weight)
    start = np.ravel(model._baseline_prediction)
    outputs = len(model._predictors[0])
    ensembles = []
    for output in range(outputs):
        feature: list[int] = []
        at: list[float] = []
        leaf: list[float] = []
        for number, stage in enumerate(model._predictors):
            first = float(start[output]) if number == 0 else 0.0
            _complete_tree(stage[output].nodes, depth, first, feature, at, leaf)
        ensembles.append({"depth": depth, "feature": feature, "at": at, "leaf": leaf})
    return ensembles


def _complete_tree(
    nodes: NDArray[Any], depth: int, first: float, feature: list[int], at: list[float], leaf: list[float]
) -> None:
    """Append a tree of scikit-learn as a complete tree: a leaf above the last level is repeated below."""
    level = [0]
    for _ in range(depth):
        following = []
        for number in level:
            node = nodes[number]
            if node["is_leaf"]:
                feature.append(0)
                at.append(0.0)
                following += [number, number]
            else:
                feature.append(int(node["feature_idx"]))
                at.append(_rounded_up(float(node["num_threshold"])))
                following += [int(node["left"]), int(node["right"])]
        level = following
    leaf += [round(float(nodes[number]["value"]) + first, DIGITS) for number in level]


def _rounded_up(value: float) -> float:
    """Round a limit to six digits, never down: it may be the value of an example, which has to go left."""
    if not np.isfinite(value) or value == 0:
        return value
    return float(Decimal(value).normalize(Context(prec=LIMIT_DIGITS, rounding=ROUND_CEILING)))
