"""Boosted trees whose settings are chosen: by which losses, in which folds, and what a row says of it."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold

from rffbench.solvers import make_solver
from rffbench.solvers.baselines import GradientBoostingClassifier, GradientBoostingRegressor

RATES, LEAVES = [0.3, 0.03], [2, 12]
rng = np.random.default_rng(0)
X = rng.normal(size=(400, 4))
VALUES = np.sin(2 * X[:, 0]) * X[:, 1] + 0.3 * rng.normal(size=400)
LABELS = np.where(VALUES > 0.8, "rare", "usual")
GRID = {"learning_rate": RATES, "max_leaf_nodes": LEAVES}


def test_values_are_chosen_as_scikit_learn_s_grid_search_chooses_them():
    mine = GradientBoostingRegressor(40, learning_rate=RATES, leaves=LEAVES, folds=3, random_state=0).fit(X, VALUES)
    theirs = GridSearchCV(
        HistGradientBoostingRegressor(max_iter=40, early_stopping=False), GRID, cv=KFold(3),
        scoring="neg_mean_squared_error",
    ).fit(X, VALUES - mine.origin_[0])  # fmt: skip
    assert mine.chosen_ == theirs.best_params_
    np.testing.assert_allclose(mine.predict(X), theirs.predict(X) + mine.origin_[0], atol=1e-9)
    assert mine.metrics_ == {"choice_fits": 12, "trees": 40}


def test_labels_are_chosen_by_the_log_loss():
    mine = GradientBoostingClassifier(40, learning_rate=RATES, leaves=LEAVES, folds=3, random_state=0).fit(X, LABELS)
    theirs = GridSearchCV(
        HistGradientBoostingClassifier(max_iter=40, early_stopping=False), GRID, cv=StratifiedKFold(3),
        scoring="neg_log_loss",
    ).fit(X, LABELS == "usual")  # fmt: skip
    assert mine.chosen_ == theirs.best_params_
    np.testing.assert_allclose(mine.decision_function(X), theirs.decision_function(X), atol=1e-9)


def test_early_stopping_takes_more_trees_of_a_slower_rate_and_predicts_held_rows():
    def fitted(rate):
        return GradientBoostingRegressor(500, learning_rate=rate, early_stopping=True, random_state=0).fit(X, VALUES)

    fast, slow = fitted(0.3), fitted(0.05)
    assert 1 < fast.metrics_["trees"] < slow.metrics_["trees"] < 500
    assert slow.models_[0].n_iter_ == slow.metrics_["trees"]
    new = rng.normal(size=(2000, 4))
    error = np.mean((slow.predict(new) - np.sin(2 * new[:, 0]) * new[:, 1]) ** 2)
    assert error < 0.5 * np.var(VALUES)


def test_balanced_weights_find_more_of_a_rare_class():
    def recall(**given):
        model = GradientBoostingClassifier(60, early_stopping=True, random_state=0, **given).fit(X, LABELS)
        return np.mean(model.predict(X[LABELS == "rare"]) == "rare")

    assert recall(class_weight="balanced") > recall()


def test_a_fit_without_a_choice_says_nothing_of_one():
    model = GradientBoostingRegressor(5, learning_rate=RATES, folds=2, random_state=0).fit(X, VALUES)
    model.set_params(learning_rate=0.1).fit(X, VALUES)
    assert not hasattr(model, "metrics_")


def test_choices_are_settings_of_configs():
    made = make_solver(
        {"name": "gradient-boosting", "learning_rate": RATES, "leaves": LEAVES, "early_stopping": True},
        task="classification", features=None, kernel="gaussian", gamma=1.0, n_features=1,
    )  # fmt: skip
    assert (made.learning_rate, made.leaves, made.folds) == (RATES, LEAVES, 5)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"leaves": 1}, "leaves must be a whole number, 2 or more, got 1"),
        ({"learning_rate": [0.1, 0.0]}, "learning_rate must be a positive number"),
        ({"leaves": []}, "leaves must be a value or a list of values"),
        ({"early_stopping": 3}, "early_stopping must be one of True, False, got 3"),
        ({"folds": 1}, "folds must be a whole number, 2 or more, got 1"),
    ],
)
def test_wrong_settings_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        GradientBoostingRegressor(5, **given).fit(X, VALUES)
