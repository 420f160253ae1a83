"""A config's `class_weight: balanced` comes to what repeating the rarer classes' rows does."""

import numpy as np
import pytest

from rffbench import RandomFourierFeatures, StreamedRidgeClassifierCV
from rffbench.config.experiment import Experiment
from rffbench.errors import ConfigError
from rffbench.linalg.triangles import TriangleStack
from rffbench.solvers import SOLVERS, make_solver
from rffbench.solvers.base import class_targets
from rffbench.solvers.ridge.dual import solve_dual_cv
from rffbench.solvers.weights import class_row_weights

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(90, 3))
FEW = (X[:, 0] + 0.3 * rng.normal(size=90)).argsort().argsort() < 18  # a fifth, in a random order
TWO = np.where(FEW, -1.0, 1.0)
THREE = np.select([FEW, np.cumsum(~FEW) <= 36], [2.0, 1.0], 0.0)  # 36, 36 and 18 rows
FEATURES = RandomFourierFeatures(20, gamma=0.5, random_state=0)
BALANCED = {
    "ridge": [{"center": "both"}, {"center": True}, {"center": False, "lambda_scale": 1}],
    "kernel-ridge": [{"center": "both"}, {"center": True}, {"center": False, "lambda_scale": 1}],
    "linear": [{"center": "both"}, {"center": False, "lambda_scale": 1}],
    "logistic": [{"tolerance": 1e-9}],
    "linear-svm": [{"tolerance": 1e-9}],
}
CASES = [(name, more) for name, variants in BALANCED.items() for more in variants]
TREES = "gradient-boosting"  # whose leaves have a least number of rows, so that a repeated row is another matter
HAVE_IT = ", ".join(name for name in SOLVERS.built_in if name in {*BALANCED, TREES})


def made(name, **more):
    config = {"name": name, **({} if name == "linear-svm" else {"lambda": 0.02}), **more}
    features = FEATURES if SOLVERS.needs(name, "features") else None
    return make_solver(config, task="classification", features=features, kernel="gaussian", gamma=0.5)


@pytest.mark.parametrize(("y", "times"), [(TWO, {-1: 4, 1: 1}), (THREE, {0: 1, 1: 1, 2: 2})], ids=["two", "three"])
@pytest.mark.parametrize(("name", "more"), CASES)
def test_balanced_classes_are_repeated_rows(name, more, y, times):
    count = np.array([times[label] for label in y])
    often = np.repeat(np.arange(len(y)), count)
    share = len(y) / len(often)  # of the weight that a row has, where it counts as one: they sum to the rows
    if name == "linear-svm":
        repeated = made(name, C=share, **more)
    elif more.get("lambda_scale") == 1:
        repeated = made(name, **{**more, "lambda": 0.02 / share})
    else:
        repeated = made(name, **more)
    balanced = made(name, class_weight="balanced", **more).fit(X, y)
    expected = repeated.fit(X[often], y[often]).decision_function(X)
    np.testing.assert_allclose(balanced.decision_function(X), expected, rtol=1e-6, atol=1e-6)
    plain = made(name, **more).fit(X, y).decision_function(X)
    assert np.abs(plain - expected).max() > 0.01


@pytest.mark.parametrize("center", [True, "both", False])
@pytest.mark.parametrize("scoring", [None, "accuracy"])
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_the_dual_chooses_lambda_by_the_held_out_error_of_weighted_rows(center, scoring, y):
    alphas = [1e-3, 0.1, 10.0]
    settings = {"folds": 4, "center": center, "scoring": scoring}
    primal = StreamedRidgeClassifierCV(alphas, class_weight="balanced", **settings).fit(X, y)
    kernel, work = TriangleStack(2, len(X))
    kernel.set_rows(0, X @ X.T)
    Y = class_targets(y, np.unique(y))
    dual = solve_dual_cv(
        kernel, work, Y, alphas, weights=class_row_weights("balanced", np.unique(y), Y, None), **settings
    )
    np.testing.assert_allclose(dual.fold_error, primal.cv_results_["fold_test_error"], rtol=1e-9)
    assert dual.alpha == primal.alpha_
    np.testing.assert_allclose(X.T @ dual.coef, primal.coef_.T.reshape(3, -1), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", BALANCED)
def test_results_with_weights_are_not_taken_for_those_without(name):
    features = "fourier" if SOLVERS.needs(name, "features") else "none"
    config = {"name": "a", "datasets": ["breast-cancer"], "n_features": [8], "methods": {"A": {"features": features}}}
    plain, null, balanced = (
        Experiment.model_validate({**config, "solver": {"name": name, **more}}).grid()[0].key
        for more in ({}, {"class_weight": None}, {"class_weight": "balanced"})
    )
    assert plain == null != balanced


@pytest.mark.parametrize(("config", "task", "message"), [
    *(({"name": name, "class_weight": "even"}, "classification", "must be one of None, 'balanced', got 'even'")
      for name in BALANCED),
    *(({"name": name, "class_weight": "balanced"}, "regression", "class_weight must be null for a regression")
      for name in ("ridge", "kernel-ridge")),
    ({"name": "ridge", "class_weight": "balanced", "blocks": "dask"}, "classification", "null with blocks: dask"),
    *(({"name": name, "class_weight": "balanced"}, "classification",
       rf"solver '{name}': 'class_weight'.*; class_weight is one of {HAVE_IT}$")
      for name in SOLVERS.built_in if name not in {*BALANCED, TREES}),
])  # fmt: skip
def test_what_cannot_be_balanced_is_refused_with_who_can(config, task, message):
    with pytest.raises(ConfigError, match=message) as error:
        make_solver(config, task=task, features=FEATURES)
    assert error.value.parameter == "class_weight"
