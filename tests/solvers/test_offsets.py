"""A target in other units, or counted from elsewhere, is the same problem: the same λ and the same function."""

import warnings

import numpy as np
import pytest

from rffbench import RandomFourierFeatures, StreamedRidgeCV
from rffbench.errors import Fallback
from tests.helpers.cases import slow
from tests.helpers.every_solver import REGISTERED, made, promises

LAMBDAS = [1e-6, 1e-4, 1e-2]
OFFSETS = (1e6, -1.6e9, 1e11)  # Unix seconds are 1.6e9
rng = np.random.default_rng(3)
X = rng.normal(size=(400, 3))
# Multiples of 2⁻¹⁶, so that the offsets lose none of its digits.
TARGET = np.round((2 * np.sin(X[:, 0]) + 0.1 * rng.normal(size=400)) * 2**16) / 2**16
TRAIN, TEST = slice(0, 300), slice(300, 400)
FEATURES = RandomFourierFeatures(60, gamma=0.1, random_state=0)
WITHOUT_INTERCEPT = (
    "sparse-rf",
    "boosting",
)  # their functions are combinations of others: an offset is another problem

CHOOSING = {"lambda": LAMBDAS, "lambda_scale": "n", "center": True}
CONVERGED = CHOOSING | {"budget": {"tolerance": 1e-8}}  # at 1e-6 functions are off by up to 4e-5
LEARNERS = [
    ("ridge", CHOOSING), ("ridge", CHOOSING | {"center": "both"}), ("ridge", CHOOSING | {"method": "svd"}),
    ("ridge", CHOOSING | {"lambda": [1e-4], "partitions": 3}), ("linear", CHOOSING),
    ("kernel-ridge", CHOOSING), ("kernel-ridge", CHOOSING | {"center": "both"}),
    ("pcg", CHOOSING), ("pcg", CHOOSING | {"center": "both"}), ("pcg", CHOOSING | {"preconditioner": "rpcholesky"}),
    ("falkon", CONVERGED), ("falkon", CONVERGED | {"preconditioner": "krill"}),
    ("eigenpro", {"lambda": 1e-2, "lambda_scale": "n", "center": True}),
    ("askotch", {"lambda": 1e-2, "lambda_scale": "n", "center": True}),
    ("gp", {}), ("gradient-boosting", {"trees": 20}),
]  # fmt: skip


def fitted(name, parameters, y):
    promise = promises(name)[0]
    features = FEATURES if promise.maps and parameters.get("preconditioner") != "rpcholesky" else None
    model = made(name, promise, "regression", features, **parameters)
    return model.fit(X[TRAIN], y[TRAIN])


def test_every_learner_of_values_is_listed():
    learners = {name for name in REGISTERED if "regression" in promises(name)[0].tasks}
    assert learners == {name for name, _ in LEARNERS} | {*WITHOUT_INTERCEPT, "plug-in"}


@pytest.mark.parametrize(("name", "parameters"), LEARNERS, ids=str)
@pytest.mark.parametrize("offset", OFFSETS)
def test_an_offset_of_the_target_changes_neither_lambda_nor_the_function(name, parameters, offset):
    here, there = fitted(name, parameters, TARGET), fitted(name, parameters, TARGET + offset)
    assert getattr(here, "alpha_", 0) == getattr(there, "alpha_", 0)
    # What the sum of function and offset must round by, and nothing more.
    rounding = 1e-9 + 2 * np.spacing(abs(offset))
    np.testing.assert_allclose(there.predict(X[TEST]) - offset, here.predict(X[TEST]), atol=rounding, rtol=0)
    errors = [getattr(model, "cv_results_", {}).get("mean_test_error", np.zeros(0)) for model in (here, there)]
    np.testing.assert_allclose(errors[1], errors[0], rtol=1e-9)


# Rounding of a product changes the steps of conjugate gradients, which end at a tolerance; trees have float32 ones.
ROUNDING = {"falkon": 1e-6, "pcg": 1e-8, "gradient-boosting": 1e-7}


@pytest.mark.parametrize(("name", "parameters"), [each for each in LEARNERS if each[0] != "gp"], ids=str)
@pytest.mark.parametrize("factor", [1e-12, *slow(1e12), 2.0**40])
def test_a_factor_of_the_target_is_a_factor_of_the_function(name, parameters, factor):
    here, there = fitted(name, parameters, TARGET), fitted(name, parameters, factor * (TARGET + 16))
    assert getattr(here, "alpha_", 0) == getattr(there, "alpha_", 0)
    rounding = 1e-12 if factor == 2.0**40 else ROUNDING.get(name, 1e-9)
    np.testing.assert_allclose(there.predict(X[TEST]) / factor - 16, here.predict(X[TEST]), atol=rounding, rtol=0)


def test_noise_and_penalties_in_the_targets_unit_take_the_same_factor():
    for name, parameter, power in (("gp", "noise", 2), ("sparse-rf", "lambda", 1), ("boosting", "lambda", 1)):
        here = fitted(name, {parameter: 0.5}, TARGET)
        there = fitted(name, {parameter: 0.5 * 1024**power}, 1024 * TARGET)
        np.testing.assert_allclose(there.predict(X[TEST]) / 1024, here.predict(X[TEST]), rtol=1e-12)


def test_parts_and_blocks_of_rows_keep_the_targets_digits():
    offset = 1.6e9
    for way in ({"memory": 200_000}, {"block_rows": 7}):
        here, there = (StreamedRidgeCV(LAMBDAS, features=FEATURES, **way) for _ in range(2))
        for model, y in ((here, TARGET), (there, TARGET + offset)):
            model.fit(X[TRAIN], y[TRAIN])
        assert here.alpha_ == there.alpha_
        np.testing.assert_allclose(there.predict(X[TEST]) - offset, here.predict(X[TEST]), atol=1e-6, rtol=0)
        np.testing.assert_allclose(*(each.cv_results_["fold_test_error"] for each in (there, here)), rtol=1e-9)
    here, there = (StreamedRidgeCV(LAMBDAS, features=FEATURES) for _ in range(2))
    for model, y in ((here, TARGET), (there, TARGET + offset)):
        for part in (slice(0, 90), slice(90, 300)):
            model.partial_fit(X[part], y[part])
    np.testing.assert_allclose(there.predict(X[TEST]) - offset, here.predict(X[TEST]), atol=1e-6, rtol=0)
    np.testing.assert_allclose(*(each.cv_results_["fold_test_error"] for each in (there, here)), rtol=1e-9)


def test_each_of_several_targets_has_its_own_offset():
    Y = np.column_stack([TARGET, TARGET[::-1]])
    offsets = np.array([1.6e9, -1e6])
    here, there = (StreamedRidgeCV(LAMBDAS, features=FEATURES).fit(X, targets) for targets in (Y, Y + offsets))
    assert here.alpha_ == there.alpha_
    np.testing.assert_allclose(there.predict(X) - offsets, here.predict(X), atol=1e-6, rtol=0)


def test_the_path_is_of_the_whole_target():
    model = StreamedRidgeCV(LAMBDAS, features=FEATURES, path=True).fit(X[TRAIN], TARGET[TRAIN] + 1.6e9)
    alphas, outputs = model.predict_path(X[TEST])
    np.testing.assert_allclose(outputs[:, alphas.index(model.alpha_)], model.predict(X[TEST]), rtol=1e-15)


def test_a_mean_square_is_never_negative_and_rounding_that_counts_is_said():
    model = StreamedRidgeCV([1e-12, 1e-11], lambda_scale=1, center=False)  # so that the offset is part of the problem
    with pytest.warns(Fallback, match="lost in rounding.*center: true"):
        model.fit(np.column_stack([X, np.ones(len(X))]), TARGET + 1e11)
    assert (model.cv_results_["fold_test_error"] > 0).all()
    # Of a target that is a combination of the columns nothing is left but rounding, below the variance by far.
    exact = StreamedRidgeCV([1e-14, 1e-3], center="both")
    with warnings.catch_warnings(action="error"):
        exact.fit(X, X @ [1.0, 2.0, 3.0])
    assert exact.alpha_ == 1e-14
    assert (exact.cv_results_["fold_test_error"] > 0).all()
