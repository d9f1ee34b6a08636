"""Which rows of two tables are the same thing, without labels: what different things look like is learned inside each table.

The rows of one table are different things. So the pairs that are nearest inside a table show how alike different things can be, and
what the pairs across the tables have beyond that is the mark of the same thing. Three steps, repeated:

1. weights    a logistic regression with weights that are not negative tells probable matches from pairs inside the tables
2. posterior  the scores of mutual nearest rows across the tables are a mixture of those inside a table and of matches; the
              probability of a match is a logistic function of the score, fitted so that the mixture fits
3. matches    the pairs that are each other's best, with their probability, are the probable matches of the next round
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from upwell.together.candidates import cross_pairs, inner_pairs
from upwell.together.columns import align_two
from upwell.together.similarity import Compared, prepare
from upwell.together.tables import Table
from upwell.together.values import Pair

__all__ = ["Pair", "match", "match_rows"]

ROUNDS = 3  # swept over 1, 2, 3: on six pairs of tables each round is better than the one before, or as good
PENALTY = 0.1  # of the squared weights; swept over 0.03 … 3
MAX_FIT_PAIRS = 200_000  # that the weights are learned from
MIN_PROBABILITY = 1 / 3  # of a pair that is taken at all; on six pairs of tables the best threshold is 0.38 … 0.7
MIN_SPREAD = 0.1  # of the scores, below which the weights say nothing; not swept
USUAL_SHARE = 0.95  # of mutual nearest rows inside a table; not swept
MIN_INNER_PAIRS = 20  # mutual nearest rows inside each table, below which they say too little; not swept
GRID = 400  # points at which densities are known
C_PRIOR = 5.0  # pull towards as many different things across the tables as inside them; swept over 0.1, 1, 5
BANDWIDTH = 0.35  # of the deviation of the scores; not swept
# The probability of a match by the cosine of whole rows, where tables are too small to learn from: fitted on samples of 23 rows of six
# pairs of tables (docs/decisions/0096).
SMALL_SLOPE, SMALL_MIDDLE = 20.0, 0.26


def match(a: Table, b: Table, columns: Sequence[tuple[str, str]] | None = None) -> Iterator[Pair]:
    """The rows of two tables that are the same thing, most probable first; columns are aligned where none are given."""
    for row_a, row_b, score in match_rows(a, b, columns):
        yield Pair(a.keys[row_a], b.keys[row_b], score)


def match_rows(a: Table, b: Table, columns: Sequence[tuple[str, str]] | None = None) -> list[tuple[int, int, float]]:
    """The same by the numbers of the rows."""
    if not len(a) or not len(b):
        return []
    aligned = align_two(a, b) if columns is None else list(columns)
    _, compared = prepare(dict(a.texts), dict(b.texts), aligned, (len(a), len(b)))
    rows_a, rows_b = compared.sides[0].rows, compared.sides[1].rows
    first, second = cross_pairs(rows_a, rows_b)
    if not len(first):
        return []
    inner = [_inner(compared, side) for side in (0, 1)]
    cross = _Pairs(first, second, compared.features(first, second), 1.0, (len(a), len(b)))
    probabilities, mutual = _learn(cross, inner)
    chosen = _choose(probabilities, mutual)
    found = [(int(first[i]), int(second[i]), round(float(probabilities[i]), 4)) for i in chosen]
    return sorted(found, key=lambda pair: (-pair[2], pair[0], pair[1]))


@dataclass(frozen=True)
class _Pairs:
    """Pairs of rows and what is known of each; inside one table both rows are of it."""

    first: Any
    second: Any
    features: Any
    stands_for: float  # rows of the table for each that was looked at
    sizes: tuple[int, int]

    def mutual(self, scores: Any, *, is_inner: bool) -> Any:
        """Which pairs are each other's best: no other pair of either row has a higher score."""
        best_first, best_second = (np.full(size, -np.inf) for size in self.sizes)
        np.maximum.at(best_first, self.first, scores)
        np.maximum.at(best_second, self.second, scores)
        if is_inner:
            best_first = best_second = np.maximum(best_first, best_second)
        return (scores >= best_first[self.first]) & (scores >= best_second[self.second])


def _inner(compared: Compared, side: int) -> _Pairs:
    rows = compared.sides[side].rows
    first, second, stands_for = inner_pairs(rows)
    features = compared.features(first, second, (side, side))
    return _Pairs(first, second, features, stands_for, (rows.shape[0], rows.shape[0]))


def _learn(cross: _Pairs, inner: Sequence[_Pairs]) -> tuple[Any, Any]:
    """The probability of each pair across the tables, and which are each other's best."""
    cosines = cross.features[:, 0]
    mutual = cross.mutual(cosines, is_inner=False)
    probabilities = 1 / (1 + np.exp(-SMALL_SLOPE * (cosines - SMALL_MIDDLE)))
    if any(pairs.mutual(pairs.features[:, 0], is_inner=True).sum() < MIN_INNER_PAIRS for pairs in inner):
        return probabilities, mutual
    everything = np.concatenate([cross.features, *(pairs.features for pairs in inner)])
    targets = np.zeros(len(everything))
    targets[: len(mutual)] = mutual
    for _ in range(ROUNDS):
        filled = _fill(everything, targets)
        scores = _scores(filled, targets)
        if (
            np.ptp(scores) < MIN_SPREAD
        ):  # few matches: most of the nearest rows are as different as those inside a table
            targets[: len(mutual)] = mutual & (cosines > _usual_cosine(inner))
            filled = _fill(everything, targets)
            scores = _scores(filled, targets)
            if np.ptp(scores) < MIN_SPREAD:
                return probabilities, mutual
        parts = np.split(scores, np.cumsum([len(mutual), len(inner[0].first)]))
        mutual = cross.mutual(parts[0], is_inner=False)
        of_inner = [part[pairs.mutual(part, is_inner=True)] for part, pairs in zip(parts[1:], inner, strict=True)]
        probabilities = _posterior(parts[0], parts[0][mutual], of_inner, [pairs.stands_for for pairs in inner])
        targets[: len(mutual)] = np.where(mutual & (probabilities > 0.5), probabilities, 0)
    return probabilities, mutual


def _usual_cosine(inner: Sequence[_Pairs]) -> float:
    """The cosine that few mutual nearest rows inside the tables exceed, in the table in which they are more alike."""
    return max(
        float(np.quantile(pairs.features[:, 0][pairs.mutual(pairs.features[:, 0], is_inner=True)], USUAL_SHARE))
        for pairs in inner
    )


def _fill(features: Any, targets: Any) -> Any:
    """The features with what is missing in the middle between matches and others, so that it speaks for neither."""
    known = ~np.isnan(features)
    values = np.where(known, features, 0)

    def mean(weights: Any) -> Any:
        return (weights @ values) / np.maximum(weights @ known, 1e-9)

    return np.where(known, features, (mean(targets) + mean(1 - targets)) / 2)


def _scores(features: Any, targets: Any) -> Any:
    """A score for each pair: logistic regression on soft targets with weights that are not negative (alike never speaks against)."""
    rows = np.arange(len(features))
    if len(rows) > MAX_FIT_PAIRS:
        rows = np.sort(np.random.default_rng(0).choice(len(rows), MAX_FIT_PAIRS, replace=False))
    x, y = features[rows].astype(np.float64), targets[rows]

    def loss(parameters: Any) -> tuple[float, Any]:
        scores = x @ parameters[:-1] + parameters[-1]
        errors = 1 / (1 + np.exp(-np.clip(scores, -30, 30))) - y
        penalty = PENALTY * np.append(parameters[:-1], 0)
        value = np.logaddexp(0, scores).sum() - y @ scores + penalty @ parameters / 2
        return value, np.append(x.T @ errors, errors.sum()) + penalty

    bounds = [(0, None)] * x.shape[1] + [(None, None)]
    fitted = minimize(
        loss, np.zeros(x.shape[1] + 1), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 300}
    )
    return features @ fitted.x[:-1] + fitted.x[-1]


def _posterior(scores: Any, cross: Any, inner: Sequence[Any], stands_for: Sequence[float]) -> Any:
    """The probability of a match by score: cross = c · inner · (1 + exp(slope · score + start)), fitted by telling cross from inner.

    Then the probability is the logistic function of slope · score + start. How many pairs of different things there are at a score
    is the harmonic mean of both tables: duplicates inside one of them count little.
    """
    different = np.concatenate(inner)
    middle, deviation = different.mean(), max(different.std(), 1e-6)
    grid = np.linspace(
        min(cross.min(), different.min()) - deviation, max(cross.max(), different.max()) + deviation, GRID
    )
    counts = [
        _density(part, grid, BANDWIDTH * deviation) * scale + 1e-3
        for part, scale in zip(inner, stands_for, strict=True)
    ]
    share = 4 * counts[0] * counts[1] / (counts[0] + counts[1]) ** 2
    scales = np.concatenate([np.full(len(part), scale) for part, scale in zip(inner, stands_for, strict=True)])
    weights = np.concatenate([np.ones(len(cross)), np.interp(different, grid, share) * scales])
    is_cross = np.concatenate([np.ones(len(cross)), np.zeros(len(different))])
    x = (np.concatenate([cross, different]) - middle) / deviation

    def loss(parameters: Any) -> tuple[float, Any]:
        slope, start, log_c = parameters
        exponents = np.clip(slope * x + start, -30, 30)
        odds = log_c + np.logaddexp(0, exponents)
        value = weights @ (np.logaddexp(0, odds) - is_cross * odds) + 0.025 * slope**2 + C_PRIOR * log_c**2 / 2
        errors = weights * (1 / (1 + np.exp(-odds)) - is_cross)
        inside = errors / (1 + np.exp(-exponents))
        return value, np.array([inside @ x + 0.05 * slope, inside.sum(), errors.sum() + C_PRIOR * log_c])

    bounds = [(0, None), (None, None), (None, np.log(1.5))]
    fits = [minimize(loss, (2, start, -0.1), jac=True, method="L-BFGS-B", bounds=bounds) for start in (-6, -2, 0)]
    slope, start, _ = min(fits, key=lambda fit: fit.fun).x
    return 1 / (1 + np.exp(-np.clip(slope * (scores - middle) / deviation + start, -30, 30)))


def _density(values: Any, grid: Any, bandwidth: float) -> Any:
    """How many values lie around each point of a grid, smoothed by a Gaussian."""
    counts, _ = np.histogram(values, bins=len(grid), range=(grid[0], grid[-1]))
    steps = np.arange(1 - len(grid), len(grid)) * (grid[1] - grid[0])
    kernel = np.exp(-((steps / bandwidth) ** 2) / 2)
    return np.convolve(counts, kernel / kernel.sum())[len(grid) - 1 : 2 * len(grid) - 1]


def _choose(probabilities: Any, mutual: Any) -> Any:
    """The mutual best pairs whose expected F1 is highest: what is taken in must be right more often than half of what F1 will be."""
    pairs = np.flatnonzero(mutual & (probabilities >= MIN_PROBABILITY))
    if not len(pairs):
        return pairs
    order = pairs[np.argsort(-probabilities[pairs], kind="stable")]
    sums = np.cumsum(probabilities[order])
    expected = 2 * sums / (np.arange(1, len(order) + 1) + sums[-1])
    return order[: int(np.argmax(expected)) + 1]
