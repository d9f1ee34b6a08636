"""A judgement adds up weights of named features; trees give the same sums in C, in Python and in the library that fitted them."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.fit.fitting import FittedJudgement, boosted_trees, folds_by_group, logistic_weights

import upwell.judge
from upwell.judge.judgement import Judgement, load_judgement, parse_judgement, plain_tree_sums
from upwell.native import compiled

RNG = np.random.default_rng(5)
X = RNG.normal(size=(400, 6))
IS_POSITIVE = X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0
GROUPS = [f"site{i % 17}" for i in range(400)]


def linear() -> Judgement:
    return parse_judgement(
        {
            "name": "test",
            "features": ["constant", "size"],
            "outputs": ["yes"],
            "threshold": 0.5,
            "linear": [[-1.0, 2.0]],
        }
    )


def test_evidence_is_the_sum_of_weighted_features() -> None:
    judgement = linear()
    x = np.array([[1.0, 0.5], [1.0, 1.0]])
    assert judgement.evidence(x).tolist() == [0.0, 1.0]
    assert judgement.accepts(x).tolist() == [False, True]
    assert judgement.probability(x)[0] == 0.5


def test_contributions_name_the_features() -> None:
    assert linear().contributions({"constant": 1.0, "size": 3.0}) == {"size": 6.0, "constant": -1.0}
    with pytest.raises(KeyError, match="colour"):
        linear().contributions({"colour": 1.0})


def test_no_candidates_give_no_evidence() -> None:
    assert linear().evidence(np.zeros((0, 2))).shape == (0,)


def test_trees_predict_what_the_fitted_model_predicts() -> None:
    """The conversion to complete trees keeps the predictions of scikit-learn."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    trees = boosted_trees(X, IS_POSITIVE, depth=3, trees=30, min_leaf=5)
    judgement = FittedJudgement(name="t", features=list("abcdef"), outputs=["yes"], card={}, trees=trees).judgement()
    model = HistGradientBoostingClassifier(
        max_depth=3, max_leaf_nodes=8, max_iter=30, min_samples_leaf=5, l2_regularization=1.0, early_stopping=False,
        random_state=0,
    ).fit(X, IS_POSITIVE)  # fmt: skip
    assert np.abs(judgement.probability(X) - model.predict_proba(X)[:, 1]).max() < 0.005
    assert (judgement.accepts(X) == IS_POSITIVE).mean() > 0.9


def test_classes_have_one_output_each() -> None:
    kinds = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
    trees = boosted_trees(X, kinds, depth=3, trees=20, min_leaf=5)
    judgement = FittedJudgement(
        name="t", features=list("abcdef"), outputs=["a", "b", "c"], card={}, trees=trees
    ).judgement()
    probability = judgement.probability(X)
    assert np.allclose(probability.sum(axis=1), 1)
    assert (probability.argmax(axis=1) == kinds).mean() > 0.9


@pytest.mark.skipif(compiled is None, reason="the native module was not built")
def test_native_trees_equal_the_reference() -> None:
    ensemble = FittedJudgement(
        name="t", features=list("abcdef"), outputs=["yes"], card={}, trees=boosted_trees(X, IS_POSITIVE, depth=4, trees=25)
    ).judgement().trees[0]  # fmt: skip
    assert np.allclose(ensemble.sums(X), plain_tree_sums(ensemble, X))
    with pytest.raises(ValueError, match="fit together"):
        compiled.tree_sums(X, 6, 4, ensemble.feature + 6, ensemble.at, ensemble.leaf)
    with pytest.raises(ValueError, match="fit together"):
        compiled.tree_sums(X, 6, 4, ensemble.feature[:-1], ensemble.at, ensemble.leaf)


def test_a_site_is_never_on_both_sides() -> None:
    for fitted_on, left_out in folds_by_group(GROUPS, 5):
        assert not {GROUPS[i] for i in np.flatnonzero(fitted_on)} & {GROUPS[i] for i in np.flatnonzero(left_out)}
        assert (fitted_on ^ left_out).all()


def test_logistic_weights_find_the_direction() -> None:
    x = np.column_stack([np.ones(400), X])
    weights = logistic_weights(x, X[:, 2] > 0.5)
    assert np.argmax(np.abs(weights[1:])) == 2
    assert weights[0] < 0


@pytest.mark.parametrize("file", sorted((Path(upwell.judge.__file__).parent / "weights").glob("*.json")), ids=str)
def test_every_file_of_weights_loads_and_states_its_score(file: Path) -> None:
    judgement = load_judgement(file.stem)
    assert judgement.name == file.stem
    assert {"data", "score", "date"} <= judgement.card.keys()
    assert np.isfinite(judgement.evidence(np.zeros((1, len(judgement.features))))).all()


def test_weights_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="weights for"):
        parse_judgement({"name": "t", "features": ["a"], "outputs": ["y"], "linear": [[1.0, 2.0]]})
    with pytest.raises(ValueError, match="not complete"):
        parse_judgement(
            {
                "name": "t",
                "features": ["a"],
                "outputs": ["y"],
                "trees": [{"depth": 1, "feature": [0], "at": [0.0], "leaf": [1.0]}],
            }
        )
