"""Evaluate fitted judgements: named features × weights.

A judgement answers one question about many candidates (is this the next link? is this line content?). The features are computed by the module
that asks; the weights are a data file of this package (`weights/NAME.json`), written by `python -m benchmarks.fit NAME`, which also prints the
score with whole sites left out. The model is linear or an ensemble of trees; both return log odds.

    {"name": "next_link", "features": ["constant", …], "outputs": ["next"], "threshold": 0.0, "card": {…},
     "linear": [[…]]                                      weights: outputs × features
     "trees": [{"depth": 4, "feature": […], "at": […], "leaf": […]}]   per output; trees of equal depth, level by level}

A tree of depth d has 2^d - 1 inner nodes and 2^d leaves. At an inner node, a candidate goes left if its feature is at most the value `at`.
A judgement may have both parts; their evidence is added.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pkgutil import get_data
from typing import Any

import numpy as np
from numpy.typing import NDArray

from upwell.native import compiled

__all__ = ["Judgement", "TreeEnsemble", "load_judgement", "log_odds_of", "parse_judgement", "plain_tree_sums"]

Floats = NDArray[np.float64]
MAX_LOG_ODDS = 30.0  # safety limit: of the argument of exp


@dataclass(frozen=True, kw_only=True, eq=False)
class TreeEnsemble:
    """Trees of equal depth whose leaves are added."""

    depth: int
    feature: NDArray[np.int32]  # of the inner nodes of all trees, level by level within a tree
    at: Floats  # value of the feature up to which a candidate goes left
    leaf: Floats

    def sums(self, x: Floats) -> Floats:
        """Return the sum of the leaves that each row of `x` reaches."""
        x = np.ascontiguousarray(x, np.float64)
        if compiled is None or not len(x):
            return plain_tree_sums(self, x)
        return np.frombuffer(compiled.tree_sums(x, x.shape[1], self.depth, self.feature, self.at, self.leaf))


def plain_tree_sums(trees: TreeEnsemble, x: Floats) -> Floats:
    """Return the sum of the leaves that each row reaches; the reference for the native code."""
    inner, leaves = 2**trees.depth - 1, 2**trees.depth
    total, rows = np.zeros(len(x)), np.arange(len(x))
    for tree in range(len(trees.leaf) // leaves):
        node = np.zeros(len(x), np.int64)
        for _ in range(trees.depth):
            place = tree * inner + node
            node = 2 * node + 1 + (x[rows, trees.feature[place]] > trees.at[place])
        total += trees.leaf[tree * leaves + node - inner]
    return total


@dataclass(frozen=True, kw_only=True, eq=False)
class Judgement:
    """Weights of one fitted judgement."""

    name: str
    features: tuple[str, ...]
    outputs: tuple[str, ...]
    threshold: float  # log odds from which the answer is yes
    linear: Floats | None = None  # outputs × features
    trees: tuple[TreeEnsemble, ...] = ()  # one per output
    card: Mapping[str, Any] = field(default_factory=dict)  # data, folds, score and date of the fit

    def evidence(self, x: Floats) -> Floats:
        """Return the log odds of each row of features: one column if there is one output, else outputs as columns."""
        total = np.zeros((len(x), len(self.outputs)))
        if len(x):
            if self.linear is not None:
                total += x @ self.linear.T
            for output, trees in enumerate(self.trees):
                total[:, output] += trees.sums(x)
        return total[:, 0] if len(self.outputs) == 1 else total

    def accepts(self, x: Floats) -> NDArray[np.bool_]:
        """Return True for each row whose log odds reach the threshold (one output)."""
        return self.evidence(x) >= self.threshold

    def probability(self, x: Floats) -> Floats:
        """Return the probability of each row: logistic for one output, softmax over several."""
        evidence = np.clip(self.evidence(x), -MAX_LOG_ODDS, MAX_LOG_ODDS)
        if len(self.outputs) == 1:
            return np.asarray(1 / (1 + np.exp(-evidence)))
        weight = np.exp(evidence - evidence.max(axis=1, keepdims=True))
        return np.asarray(weight / weight.sum(axis=1, keepdims=True))

    def row(self, values: Mapping[str, float]) -> Floats:
        """Return features given by name as a row; absent ones are 0, unknown ones an error."""
        if unknown := values.keys() - set(self.features):
            raise KeyError(f"{self.name} has no feature {', '.join(sorted(unknown))}")
        return np.array([[values.get(name, 0.0) for name in self.features]])

    def contributions(self, values: Mapping[str, float]) -> dict[str, float]:
        """Return what each feature adds to the log odds of the first output, greatest first.

        For trees it is the change of the log odds if the feature were 0, so that contributions need not add up.
        """
        row = self.row(values)
        at = np.flatnonzero(row[0])
        without = np.repeat(row, len(at), axis=0)
        without[np.arange(len(at)), at] = 0.0
        change = (
            np.atleast_2d(self.evidence(row).T)[0][0] - np.atleast_2d(self.evidence(without).T)[0] if len(at) else []
        )
        named = {self.features[i]: round(float(value), 3) for i, value in zip(at, change, strict=True)}
        return dict(sorted(named.items(), key=lambda item: -abs(item[1])))


def log_odds_of(probability: float) -> float:
    """Return the log odds of a probability."""
    return float(np.log(probability / (1 - probability)))


@cache
def load_judgement(name: str) -> Judgement:
    """Load the weights of a judgement from the package."""
    content = get_data("upwell.judge", f"weights/{name}.json")
    if content is None:
        raise FileNotFoundError(f"weights/{name}.json")
    return parse_judgement(json.loads(content))


def parse_judgement(data: Mapping[str, Any]) -> Judgement:
    """Build a judgement from the contents of its file; raise ValueError if they do not fit together."""
    features, outputs = tuple(data["features"]), tuple(data["outputs"])
    linear = np.array(data["linear"], np.float64) if "linear" in data else None
    trees = tuple(_parse_trees(ensemble, len(features)) for ensemble in data.get("trees", ()))
    if linear is not None and linear.shape != (len(outputs), len(features)):
        raise ValueError(
            f"{data['name']}: {linear.shape} weights for {len(outputs)} outputs and {len(features)} features"
        )
    if trees and len(trees) != len(outputs):
        raise ValueError(f"{data['name']}: {len(trees)} ensembles for {len(outputs)} outputs")
    return Judgement(
        name=data["name"],
        features=features,
        outputs=outputs,
        threshold=float(data.get("threshold", 0.0)),
        linear=linear,
        trees=trees,
        card=data.get("card", {}),
    )


def _parse_trees(data: Mapping[str, Sequence[float] | int], features: int) -> TreeEnsemble:
    depth = int(data["depth"])  # type: ignore[arg-type] # the only number
    feature = np.array(data["feature"], np.int32)
    at, leaf = np.array(data["at"], np.float64), np.array(data["leaf"], np.float64)
    trees = len(leaf) // 2**depth
    if not (len(leaf) == trees * 2**depth and len(feature) == len(at) == trees * (2**depth - 1)):
        raise ValueError("the trees are not complete")
    if len(feature) and not 0 <= feature.min() <= feature.max() < features:
        raise ValueError("a tree uses a feature that does not exist")
    return TreeEnsemble(depth=depth, feature=feature, at=at, leaf=leaf)
