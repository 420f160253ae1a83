"""What the protocol of a paper may ask for: its own split, measures on test rows, settings of a solver by dataset."""

from dataclasses import replace

import numpy as np
import pytest

from rffbench import RandomFourierFeatures, data
from rffbench.config.costs import test_rows as rows_tested
from rffbench.config.costs import train_rows
from rffbench.config.experiment import Experiment
from rffbench.data.cards import load_card, with_split
from rffbench.data.split import split_rows
from rffbench.errors import ConfigError
from rffbench.kernels import make_kernel
from rffbench.trials.measuring import MapOnPoints, Points
from rffbench.trials.metrics import MEASURES
from rffbench.trials.problem import Problem
from rffbench.trials.single import run_trial
from tests.helpers.small_trials import spec

CONFIG = {
    "name": "protocol", "datasets": ["digits", "breast-cancer"], "n_features": [8],
    "methods": {"RFF": {"features": "fourier"}}, "solver": {"name": "gp", "noise": 0.1},
}  # fmt: skip


@pytest.fixture(autouse=True)
def _no_network(embedded):
    """Embedded and synthetic data only."""


def grid(**more):
    return Experiment.model_validate({**CONFIG, **more}).grid()


# ---- A split -------------------------------------------------------------------------------------------------


def test_a_split_takes_the_place_of_the_card_s():
    share = Problem.of(spec(dataset="digits", split={"rule": "random", "train": 0.9})).split
    assert (len(share.X_train), len(share.y_test)) == (round(0.9 * 1797), 1797 - round(0.9 * 1797))
    given = Problem.of(spec(dataset="digits", split={"rule": "given", "train": 1700}, preprocess=["none"])).split
    np.testing.assert_array_equal(given.X_test[:], np.asarray(data.load("digits").X)[1700:])


def test_a_split_may_differ_by_dataset_and_is_part_of_the_trial_s_key():
    plain, split = grid(), grid(split={"digits": {"rule": "random", "train": 0.9}, "default": None})
    assert [one.key == other.key for one, other in zip(plain, split, strict=True)] == [False] * 10 + [True] * 10
    assert (train_rows(split[0]), rows_tested(split[0])) == (1617, 180)
    resolved = Experiment.model_validate({**CONFIG, "split": "half"})
    assert Experiment.model_validate(resolved.to_dict()).grid() == resolved.grid()


@pytest.mark.parametrize(
    ("split", "problem"),
    [
        ({"rule": "fifths"}, "'fifths'"),
        ({"rule": "random", "train": 1.5}, "train must be a number of rows, or a share of them"),
        ({"rule": "random", "train": 2000}, "leaves none of the 1797 rows"),
        ({"rule": "random", "train": 1700, "test": 200}, "1700 \\+ 200 are more than the 1797 rows of digits"),
        ({"rule": "given", "train": 1700, "test": 200}, "1700 \\+ 200 are more than the 1797 rows of digits"),
    ],
)
def test_a_split_that_does_not_fit_is_refused(split, problem):
    with pytest.raises(ConfigError, match=problem):
        with_split(load_card("digits"), split)
    with pytest.raises(ValueError, match=problem):
        grid(datasets=["digits"], split=split)


# ---- Measures on test rows -----------------------------------------------------------------------------------


def test_a_map_is_measured_on_test_rows_where_that_is_asked_for():
    one = spec(measures=["frobenius_error"], kernel_error_points=100)
    trained, tested = (run_trial(replace(one, kernel_error_rows=rows)) for rows in ("train", "test"))
    problem = Problem.of(replace(one, kernel_error_rows="test"))
    X = np.asarray(problem.split.X_test[problem.subsample])
    features = problem.features(one).fit(np.asarray(problem.split.X_train[:]))
    K, Z = make_kernel("gaussian", 0.3)(X), features.transform(X)
    expected = np.linalg.norm(K - Z @ Z.T) / np.linalg.norm(K)
    assert tested.metrics["frobenius_error"] == pytest.approx(expected)
    assert trained.metrics["frobenius_error"] != pytest.approx(expected)


def test_the_error_of_complex_features_counts_the_imaginary_part_too():
    X = np.random.default_rng(0).normal(size=(30, 3))
    mapped = MapOnPoints(
        RandomFourierFeatures(20, gamma=0.2, random_state=0).fit(X), Points(X, make_kernel("gaussian", 0.2))
    )
    K, psi = mapped.points.kernel_matrix, mapped.Z[:, :10] + 1j * mapped.Z[:, 10:]
    real, whole = (np.linalg.norm(K - part) / np.linalg.norm(K) for part in (mapped.Z @ mapped.Z.T, psi @ psi.conj().T))
    assert MEASURES["frobenius_error"](mapped) == pytest.approx(real)
    assert MEASURES["complex_frobenius_error"](mapped) == pytest.approx(whole)
    assert whole > 1.2 * real


def test_pairs_are_needed_for_the_error_of_complex_features():
    X = np.random.default_rng(0).normal(size=(30, 3))
    odd = RandomFourierFeatures(5, form="offset", random_state=0).fit(X)
    with pytest.raises(ValueError, match="complex_frobenius_error needs an even number of columns, not 5"):
        MEASURES["complex_frobenius_error"](MapOnPoints(odd, Points(X, make_kernel("gaussian"))))


# ---- A solver's settings -------------------------------------------------------------------------------------


def test_a_solver_s_settings_may_differ_by_dataset():
    specs = grid(solver_of={"digits": {"noise": 0.001}})
    assert {(each.dataset, each.solver["noise"]) for each in specs} == {("digits", 0.001), ("breast-cancer", 0.1)}
    resolved = Experiment.model_validate({**CONFIG, "solver_of": {"digits": {"noise": 0.001}}})
    assert Experiment.model_validate(resolved.to_dict()).grid() == specs


def test_a_method_with_another_solver_keeps_it():
    methods = {"RFF": {"features": "fourier"}, "ridge": {"features": "fourier", "solver": {"name": "ridge"}}}
    found = {each.method: each.solver for each in grid(methods=methods, solver_of={"digits": {"noise": 0.5}})}
    assert "noise" not in found["ridge"]


@pytest.mark.parametrize(
    ("solver_of", "problem"),
    [({"diggits": {}}, "diggits"), ({"digits": {"noice": 1}}, "noice"), ({"digits": {"noise": -1}}, "noise must be")],
)
def test_settings_that_are_wrong_are_refused(solver_of, problem):
    with pytest.raises(ValueError, match=problem):
        grid(solver_of=solver_of)


# ---- A method's sizes ----------------------------------------------------------------------------------------


def test_a_method_s_sizes_may_differ_by_dataset():
    sizes = {"digits": [4, 6], "default": 5}
    methods = {"RFF": {"features": "fourier"}, "own": {"features": "fourier", "n_features": sizes}}
    found = {(each.dataset, each.method, each.n_features) for each in grid(methods=methods)}
    assert {size for _, method, size in found if method == "RFF"} == {8}
    own = {("digits", 4), ("digits", 6), ("breast-cancer", 5)}
    assert {(dataset, size) for dataset, method, size in found if method == "own"} == own


@pytest.mark.parametrize(
    ("sizes", "problem"), [({"digits": 4}, "has no value for breast-cancer"), ({"digit": 4}, "digit")]
)
def test_a_method_s_sizes_are_for_its_datasets(sizes, problem):
    with pytest.raises(ValueError, match=problem):
        grid(methods={"own": {"features": "fourier", "n_features": sizes}})


def test_the_mean_squared_error_is_the_square_of_the_rmse():
    one = spec(dataset="synthetic-regression", scores=["mse"])
    found = run_trial(one).metrics
    assert found["mse"] == pytest.approx(found["rmse"] ** 2)


def test_rows_that_are_read_in_order_are_all_used():
    with pytest.raises(ConfigError, match="the given 100 \\+ 200 must be all of the 10100000 rows of generated"):
        with_split(load_card("generated"), {"rule": "given", "train": 100, "test": 200})


def test_given_rows_are_the_first_for_training_and_the_last_for_testing():
    """Rows between them, such as a validation part, are left out."""
    train, test = split_rows(with_split(load_card("digits"), {"rule": "given", "train": 1000, "test": 300}), 0, 0)
    assert sorted(train) == list(range(1000))
    assert list(test) == list(range(1497, 1797))
