"""Match rows of two tables that describe the same entity, without labelled examples.

Different rows of one table are different entities. The nearest pairs inside a table therefore show how similar different entities
can be, and pairs across the tables that are more similar than that are matches. Three steps are repeated:

1. weights    a logistic regression with non-negative weights separates probable matches from pairs inside the tables
2. posterior  the scores of mutual nearest rows across the tables are a mixture of non-matches, distributed as inside a table, and
              matches; the probability of a match is a logistic function of the score, fitted to that mixture
3. matches    mutual best pairs, weighted by their probability, are the probable matches of the next round

This breaks where a table has duplicates or near-duplicates (editions, models): its own rows are then more similar than rows of the
other table, and nothing seems to match. A second model needs no pairs inside a table: the best row for a row is compared with the
second best (`_learn_across`). It is used if the first model finds far fewer matches than the second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression, minimize

from upwell.combine.align import align_two
from upwell.combine.match_results import RowMatch
from upwell.combine.similarity import (
    WORD_FEATURES,
    PairFeatures,
    nearest_pairs_between,
    nearest_pairs_within,
    pair_features,
)
from upwell.combine.source_table import SourceTable

__all__ = ["RowMatch", "match", "match_rows"]

ROUNDS = 3  # iterations; swept over 1, 2, 3: on six pairs of tables each round is at least as good as the one before
PENALTY = 0.1  # L2 penalty of the weights; swept over 0.03 … 3
MAX_FIT_PAIRS = 10_000  # of each kind, matches and others, that the weights are fitted on
MIN_PROBABILITY = 1 / 3  # of a reported match; on six pairs of tables the best threshold is 0.38 … 0.7
MIN_SPREAD = 0.1  # range of the scores below which the weights carry no information; not swept
USUAL_SHARE = 0.95  # quantile of the cosines of mutual nearest rows inside a table; not swept
MIN_INNER_PAIRS = 20  # mutual nearest pairs needed inside each table for fitting; not swept
# The first model has collapsed if it expects fewer than this share of the matches that the second one expects: on ten pairs of tables
# the share is 0.00 and 0.06 where it fails, and at least 0.57 where it does not.
COLLAPSED_SHARE = 0.3
# Rows of one table are no measure for other tables if rows that do not match are less similar across the tables than inside, by this
# factor: it is 0.57 and 0.69 where the first model fails, at least 0.81 elsewhere, and 0.96 for tables with nothing in common.
UNLIKE_TABLES = 0.75
MIN_ACROSS = 20  # matches expected by the second model that are needed to overrule the first one; not swept
GRID = 400  # points at which densities are evaluated
# strength of the prior that non-matches are as frequent across the tables as inside; swept over 0.1, 1, 5
C_PRIOR = 5.0
BANDWIDTH = 0.35  # of the kernel, as a multiple of the scores' standard deviation; not swept
# Logistic function from the cosine of whole rows to the match probability, used when tables are too small for fitting: fitted on
# samples of 23 rows of six pairs of tables (docs/decisions/0096).
SMALL_SLOPE, SMALL_MIDDLE = 20.0, 0.26


def match(a: SourceTable, b: SourceTable, columns: Sequence[tuple[str, str]] | None = None) -> Iterator[RowMatch]:
    """Yield matching rows of two tables, most probable first; columns are aligned if none are given."""
    for row_a, row_b, score in match_rows(a, b, columns):
        yield RowMatch(a.keys[row_a], b.keys[row_b], score)


def match_rows(
    a: SourceTable, b: SourceTable, columns: Sequence[tuple[str, str]] | None = None
) -> list[tuple[int, int, float]]:
    """Return matching rows as (row number in a, row number in b, probability)."""
    if not len(a) or not len(b):
        return []
    aligned = align_two(a, b) if columns is None else list(columns)
    comparison = pair_features(dict(a.texts), dict(b.texts), aligned, (len(a), len(b)))
    rows_a, rows_b = comparison.sides[0].rows, comparison.sides[1].rows
    first, second = nearest_pairs_between(rows_a, rows_b)
    if not len(first):
        return []
    inner = [_inner(comparison, side) for side in (0, 1)]
    cross = _Pairs(first, second, comparison.features(first, second), 1.0, (len(a), len(b)))
    probabilities, mutual = _learn_robustly(cross, inner)
    chosen = _choose(probabilities, mutual)
    matches = [(int(first[i]), int(second[i]), round(float(probabilities[i]), 4)) for i in chosen]
    return sorted(matches, key=lambda pair: (-pair[2], pair[0], pair[1]))


@dataclass(frozen=True)
class _Pairs:
    """Candidate pairs of rows with their features, across two tables or inside one."""

    first: Any
    second: Any
    features: Any
    stands_for: float  # rows of the table per sampled row
    sizes: tuple[int, int]
    is_inner: bool = False

    def mutual(self, scores: Any) -> Any:
        """Return a mask of mutual best pairs: neither row has another pair with a higher score."""
        best_first, best_second = (np.full(size, -np.inf) for size in self.sizes)
        np.maximum.at(best_first, self.first, scores)
        np.maximum.at(best_second, self.second, scores)
        if self.is_inner:
            best_first = best_second = np.maximum(best_first, best_second)
        return (scores >= best_first[self.first]) & (scores >= best_second[self.second])

    def without_words(self) -> _Pairs:
        """Return the pairs without the features of the words of whole rows."""
        return replace(self, features=self.features[:, :-WORD_FEATURES])


def _inner(comparison: PairFeatures, side: int) -> _Pairs:
    """Return the candidate pairs inside one table."""
    rows = comparison.sides[side].rows
    first, second, stands_for = nearest_pairs_within(rows)
    features = comparison.features(first, second, (side, side))
    return _Pairs(first, second, features, stands_for, (rows.shape[0], rows.shape[0]), is_inner=True)


def _learn_robustly(cross: _Pairs, inner: Sequence[_Pairs]) -> tuple[Any, Any]:
    """Return the match probability of each pair across the tables, and the mask of mutual best pairs, from the model that applies."""
    plain_cross, plain_inner = cross.without_words(), [pairs.without_words() for pairs in inner]
    probabilities, mutual = _learn(plain_cross, plain_inner)
    if any(pairs.mutual(pairs.features[:, 0]).sum() < MIN_INNER_PAIRS for pairs in inner):
        return probabilities, mutual
    if _usual_similarity(cross) >= UNLIKE_TABLES * min(map(_usual_similarity, inner)):
        return probabilities, mutual
    across, across_mutual = _learn_across(cross)
    expected = across[across_mutual].sum()
    has_collapsed = expected >= MIN_ACROSS and probabilities[mutual].sum() < COLLAPSED_SHARE * expected
    return (across, across_mutual) if has_collapsed else (probabilities, mutual)


def _usual_similarity(pairs: _Pairs) -> float:
    """Return the lower quartile of the cosines of mutual nearest rows: how similar rows are that do not match."""
    cosines = pairs.features[:, 0]
    return float(np.quantile(cosines[pairs.mutual(cosines)], 0.25))


def _learn_across(cross: _Pairs) -> tuple[Any, Any]:
    """Return probabilities and mutual best pairs, learned only from pairs across the tables.

    The weights separate mutual best pairs from the other candidates of the same rows. For a row without a match, the candidates are a
    sample of similar rows, and the gaps between the first, second and third score are exponential, with the first twice the second on
    average (Rényi); a match lies further away. The share of matches around a score is therefore 1 - 2 · mean(exp(-gap)), where gaps
    are measured in mean gaps between the second and the third. It increases with the score, and is fitted by isotonic regression.
    More rounds are worse where rows have near-duplicates.
    """
    mutual, _ = _mutual_and_gaps(cross, cross.features[:, 0])
    others = np.random.default_rng(0).permutation(np.flatnonzero(~mutual))[:MAX_FIT_PAIRS]
    targets = mutual.astype(np.float64)
    scores = _scores(_fill(cross.features, targets), targets, np.sort(np.append(np.flatnonzero(mutual), others)))
    mutual, gaps = _mutual_and_gaps(cross, scores)
    pairs = np.flatnonzero(mutual)
    order = pairs[np.argsort(scores[pairs], kind="stable")]
    probabilities = np.zeros(len(scores))
    probabilities[order] = np.clip(isotonic_regression(1 - 2 * np.exp(-gaps[order])).x, 0, 1)
    return probabilities, mutual


def _mutual_and_gaps(cross: _Pairs, scores: Any) -> tuple[Any, Any]:
    """Return the mask of mutual best pairs, one for each row, and how far each pair is above the second best pair of its rows."""
    best, gaps = [], []
    lowest = scores.min() if len(scores) else 0.0
    for rows, size in zip((cross.first, cross.second), cross.sizes, strict=True):
        order = np.lexsort((-scores, rows))
        begins = np.flatnonzero(np.diff(rows[order], prepend=-1))
        ranks = np.arange(len(order)) - np.repeat(begins, np.diff(begins, append=len(order)))
        ranked = np.full((3, size), np.nan)  # the three highest scores of each row
        for rank in range(3):
            of_rank = order[ranks == rank]
            ranked[rank, rows[of_rank]] = scores[of_rank]
        second_gaps = ranked[1] - ranked[2]
        usual = max(float(second_gaps[~np.isnan(second_gaps)].mean()) if (~np.isnan(second_gaps)).any() else 0.0, 1e-6)
        is_best = np.zeros(len(scores), bool)
        is_best[order[ranks == 0]] = True
        best.append(is_best)
        gaps.append((scores - np.where(np.isnan(ranked[1]), lowest, ranked[1])[rows]) / usual)
    return best[0] & best[1], np.minimum(*gaps)


def _learn(cross: _Pairs, inner: Sequence[_Pairs]) -> tuple[Any, Any]:
    """Return the match probability of each pair across the tables, and the mask of mutual best pairs."""
    cosines = cross.features[:, 0]
    mutual = cross.mutual(cosines)
    probabilities = 1 / (1 + np.exp(-SMALL_SLOPE * (cosines - SMALL_MIDDLE)))
    if any(pairs.mutual(pairs.features[:, 0]).sum() < MIN_INNER_PAIRS for pairs in inner):
        return probabilities, mutual
    everything = np.concatenate([cross.features, *(pairs.features for pairs in inner)])
    targets = np.zeros(len(everything))
    targets[: len(mutual)] = mutual
    for _ in range(ROUNDS):
        filled = _fill(everything, targets)
        scores = _scores(filled, targets)
        if np.ptp(scores) < MIN_SPREAD:  # few matches: most nearest rows are as different as rows inside a table
            targets[: len(mutual)] = mutual & (cosines > _usual_cosine(inner))
            filled = _fill(everything, targets)
            scores = _scores(filled, targets)
            if np.ptp(scores) < MIN_SPREAD:
                return probabilities, mutual
        parts = np.split(scores, np.cumsum([len(mutual), len(inner[0].first)]))
        mutual = cross.mutual(parts[0])
        of_inner = [part[pairs.mutual(part)] for part, pairs in zip(parts[1:], inner, strict=True)]
        probabilities = _posterior(parts[0], parts[0][mutual], of_inner, [pairs.stands_for for pairs in inner])
        targets[: len(mutual)] = np.where(mutual & (probabilities > 0.5), probabilities, 0)
    return probabilities, mutual


def _usual_cosine(inner: Sequence[_Pairs]) -> float:
    """Return the cosine that few mutual nearest rows inside a table exceed; the larger one of the two tables."""
    return max(
        float(np.quantile(pairs.features[:, 0][pairs.mutual(pairs.features[:, 0])], USUAL_SHARE)) for pairs in inner
    )


def _fill(features: Any, targets: Any) -> Any:
    """Replace missing features by the midpoint of the means of matches and non-matches, which favours neither."""
    known = ~np.isnan(features)
    values = np.where(known, features, 0)

    def mean(weights: Any) -> Any:
        return (weights @ values) / np.maximum(weights @ known, 1e-9)

    return np.where(known, features, (mean(targets) + mean(1 - targets)) / 2)


def _scores(features: Any, targets: Any, rows: Any = None) -> Any:
    """Score each pair by a logistic regression on soft targets with non-negative weights: similarity never counts against a match.

    The weights are fitted on the given rows, or on a sample.
    """
    if rows is None:
        rows = np.arange(len(features))
    if len(rows) > 2 * MAX_FIT_PAIRS:
        rows = np.sort(np.random.default_rng(0).choice(rows, 2 * MAX_FIT_PAIRS, replace=False))
    x, y = features[rows].astype(np.float64), targets[rows]

    def loss(parameters: Any) -> tuple[float, Any]:
        scores = x @ parameters[:-1] + parameters[-1]
        errors = 1 / (1 + np.exp(-np.clip(scores, -30, 30))) - y
        penalty = PENALTY * np.append(parameters[:-1], 0)
        value = np.logaddexp(0, scores).sum() - y @ scores + penalty @ parameters / 2
        return value, np.append(x.T @ errors, errors.sum()) + penalty

    bounds = [(0, None)] * x.shape[1] + [(None, None)]
    fitted = minimize(
        loss, np.zeros(x.shape[1] + 1), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 150}
    )
    return features @ fitted.x[:-1] + fitted.x[-1]


def _posterior(scores: Any, cross: Any, inner: Sequence[Any], stands_for: Sequence[float]) -> Any:
    """Return the match probability for each score.

    Fits cross = c · inner · (1 + exp(slope · score + start)) by separating cross pairs from inner pairs; the probability is the logistic
    function of slope · score + start. The number of non-matches at a score is the harmonic mean of both tables, so that duplicates
    inside one table have little influence.
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
    """Estimate how many values lie around each grid point, smoothed with a Gaussian kernel."""
    counts, _ = np.histogram(values, bins=len(grid), range=(grid[0], grid[-1]))
    steps = np.arange(1 - len(grid), len(grid)) * (grid[1] - grid[0])
    kernel = np.exp(-((steps / bandwidth) ** 2) / 2)
    return np.convolve(counts, kernel / kernel.sum())[len(grid) - 1 : 2 * len(grid) - 1]


def _choose(probabilities: Any, mutual: Any) -> Any:
    """Return the mutual best pairs that maximise expected F1."""
    pairs = np.flatnonzero(mutual & (probabilities >= MIN_PROBABILITY))
    if not len(pairs):
        return pairs
    order = pairs[np.argsort(-probabilities[pairs], kind="stable")]
    sums = np.cumsum(probabilities[order])
    expected = 2 * sums / (np.arange(1, len(order) + 1) + sums[-1])
    return order[: int(np.argmax(expected)) + 1]
