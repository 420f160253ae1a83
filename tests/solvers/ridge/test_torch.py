"""What a PyTorch device computes is what the CPU path computes; here the device is PyTorch's own CPU."""

import subprocess
import sys
from dataclasses import replace
from functools import wraps
from itertools import pairwise

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'rffbench[cuda]'")

from rffbench.errors import MemoryBudgetError  # noqa: E402
from rffbench.features import make_features  # noqa: E402
from rffbench.linalg.triangles import TriangleStack  # noqa: E402
from rffbench.solvers import make_solver, parameters  # noqa: E402
from rffbench.solvers.ridge import make as ridge_make  # noqa: E402
from rffbench.solvers.ridge import torch as torch_ridge  # noqa: E402
from rffbench.solvers.ridge.fold_statistics import FoldStatistics, fold_bounds  # noqa: E402
from rffbench.solvers.ridge.torch import DeviceMap, DeviceMatrix, DeviceStatistics  # noqa: E402
from rffbench.trials.single import run_trial  # noqa: E402
from rffbench.trials.spec import TrialSpec  # noqa: E402

HERE = torch.device("cpu")
METHODS = {
    "RFF": {"name": "fourier"},
    "QMC": {"name": "qmc"},
    "leverage-RFF": {"name": "leverage", "variant": "as-written", "score_lambda": 0.001},
    "Ours": {"name": "surrogate-leverage", "variant": "as-written"},
    "offset": {"name": "fourier", "form": "offset"},
    "leverage reweighted": {"name": "leverage", "variant": "reweighted", "pool": 2.0},
    "Ours reweighted": {"name": "surrogate-leverage", "variant": "reweighted", "form": "eq12"},
    "Ours eq12": {"name": "surrogate-leverage", "form": "eq12"},
}
# Rounding of the features in each dtype, a few ulp; everything after them is float64.
TOLERANCE = {"float64": 1e-12, "float32": 2e-6}
SOLVER = {"name": "ridge", "lambda": [1e-4, 1e-3, 1e-2, 0.1], "folds": 3}


@pytest.fixture(autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def small_blocks(monkeypatch):
    """Several blocks a fold, the last one short."""
    monkeypatch.setattr(torch_ridge, "block_rows", lambda columns: 37)


def problem(dtype, n=500, d=6):
    rng = np.random.default_rng(7)
    X = rng.uniform(size=(n, d)).astype(dtype)
    y = np.sign(np.sin(4 * X[:, 0]) + X[:, 1] - X[:, 2] ** 2 + 0.2 * rng.standard_normal(n) - 0.4)
    return X, y


def features(method, s=20):
    return make_features(METHODS[method], kernel="gaussian", gamma=0.8, n_features=s, random_state=3)


def fitted_both(method, X, y, task="classification", **config):
    """The CPU's estimator and the device's, fitted alike."""
    config = {**SOLVER, **config}
    plain = make_solver(config, task=task, features=features(method)).fit(X, y)
    return plain, on_pytorch_s_cpu(config, features(method), task).fit(X, y)


def on_pytorch_s_cpu(config, features, task="classification"):
    return make_solver(config, task=task, features=features, device=HERE.type + ":0")


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("method", METHODS)
def test_a_device_fits_what_the_cpu_fits(method, dtype):
    # Eq. 14's scores are computed in single precision on the CPU, whatever the dtype.
    tolerance = TOLERANCE["float32" if method == "Ours" else dtype]
    X, y = problem(dtype)
    plain, other = fitted_both(method, X, y)
    # The same frequencies, drawn and chosen: equal numbers, not close ones.
    for name in ("frequencies_", "probabilities_", "offset_", "scale_", "weights_"):
        mine, theirs = getattr(plain.features_, name), getattr(other.features_, name)
        if mine is None:
            assert theirs is None
            continue
        exact = name in ("frequencies_", "offset_") or not method.startswith(("leverage", "Ours"))
        np.testing.assert_allclose(theirs, mine, rtol=0 if exact else 1e3 * tolerance)
    assert other.alpha_ == plain.alpha_
    np.testing.assert_allclose(
        other.cv_results_["fold_test_error"], plain.cv_results_["fold_test_error"], rtol=1e3 * tolerance
    )
    size = np.abs(plain.coef_).max()
    np.testing.assert_allclose(other.coef_, plain.coef_, rtol=0, atol=1e4 * tolerance * size)
    assert other.intercept_ == pytest.approx(plain.intercept_)
    X_new, y_new = problem(dtype, n=301)
    assert np.mean(other.predict(X_new) == y_new) == pytest.approx(np.mean(plain.predict(X_new) == y_new))
    assert np.mean(other.predict(X) == y) > 0.8


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("method", METHODS)
def test_features_equal_the_cpus_in_the_datas_dtype(method, dtype):
    X, y = problem(dtype)
    fitted = features(method).fit(X, y)
    Z = DeviceMap(fitted, fitted.n_components, X.dtype, HERE)(X)
    assert Z.dtype == getattr(torch, dtype)
    expected = fitted.transform(X)
    np.testing.assert_allclose(Z.numpy(), expected, rtol=0, atol=TOLERANCE[dtype] * np.abs(expected).max())


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_statistics_are_float64_sums_and_equal_the_cpus(dtype):
    X, y = problem(dtype)
    Z, Y = features("RFF").fit_transform(X), np.column_stack([y, 1 + y * X[:, 0]])
    plain, other = FoldStatistics(40, 3, 2), DeviceStatistics(40, 3, 2, HERE)
    for fold, (start, stop) in enumerate(pairwise(fold_bounds(len(X), 3))):
        plain.add(fold, Z[start:stop], Y[start:stop])
        other.add(fold, torch.tensor(Z[start:stop]).double(), Y[start:stop])
    gram, device_gram = TriangleStack(1, 40)[0], DeviceMatrix(40, HERE)
    plain.gram([0, 2], gram)
    other.gram([0, 2], device_gram)
    assert device_gram.values.dtype == torch.float64
    np.testing.assert_allclose(device_gram.values.numpy(), gram.full(), rtol=1e-12, atol=1e-12)
    for name, value in vars(plain.moments([0, 2])).items():
        np.testing.assert_allclose(getattr(other.moments([0, 2]), name), value, rtol=1e-12, atol=1e-11)
    coef = np.random.default_rng(0).standard_normal((40, 2))
    np.testing.assert_allclose(other.multiply(1, coef), plain.multiply(1, coef), rtol=1e-11)


@pytest.mark.parametrize("center", [True, "both", False])
@pytest.mark.parametrize("lambda_scale", ["n", 1])
def test_penalties_and_centring_are_the_cpus(center, lambda_scale):
    X, y = problem("float64")
    config = {"center": center, "lambda_scale": lambda_scale, "lambda": [1e-3, 0.1]}
    plain, other = fitted_both("RFF", X, 3 * X[:, 0] - X[:, 1] * y + 5, task="regression", **config)
    assert other.alpha_ == plain.alpha_
    np.testing.assert_allclose(other.predict(X), plain.predict(X), rtol=1e-8)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("method", METHODS)
def test_more_than_two_classes_are_told_apart_alike(method):
    X, y = problem("float64")
    labels = np.array(["a", "b", "c"])[(y > 0) + (X[:, 3] > 0.5).astype(int)]
    plain, other = fitted_both(method, X, labels)
    assert other.coef_.shape == plain.coef_.shape == (3, other.features_.n_components)
    assert other.alpha_ == plain.alpha_
    np.testing.assert_allclose(other.decision_function(X), plain.decision_function(X), atol=1e-7)
    np.testing.assert_array_equal(other.predict(X), plain.predict(X))


def test_one_lambda_is_fitted_without_folds():
    X, y = problem("float64")
    plain, other = fitted_both("RFF", X, y, **{"lambda": 0.01})
    np.testing.assert_allclose(other.coef_, plain.coef_, rtol=1e-8)


def test_a_matrix_is_used_like_a_triangle():
    rng = np.random.default_rng(1)
    Z, B = rng.standard_normal((90, 70)), rng.standard_normal((70, 2))
    triangle, matrix = TriangleStack(1, 70)[0], DeviceMatrix(70, HERE)
    for each in (triangle, matrix):
        each.add_gram(Z)
        each.add_gram(Z[:3], -0.5)
        each.diagonal[:] += 0.1
    np.testing.assert_allclose(matrix.multiply(B), triangle.multiply(B))
    triangle.cholesky()
    matrix.cholesky()
    np.testing.assert_allclose(matrix.solve(B), triangle.solve(B), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(matrix.inverse_diagonal(), triangle.inverse_diagonal(), rtol=1e-9)


def test_a_singular_matrix_is_refused_as_on_the_cpu():
    X, y = problem("float64")
    X[:, 1:] = 0
    X[:, 0] = 1
    config = {"lambda": 1e-30, "lambda_scale": 1}
    with pytest.raises(ValueError, match="larger lambda"):
        on_pytorch_s_cpu(config, features("RFF")).fit(X, y)


def test_a_fit_that_does_not_fit_the_devices_memory_is_refused_with_both_figures(monkeypatch):
    X, y = problem("float64")
    monkeypatch.setattr(torch_ridge, "free_bytes", lambda device: 20_000)
    ridge = on_pytorch_s_cpu({}, features("leverage-RFF"))
    with pytest.raises(MemoryBudgetError, match="40 columns with 5 folds on the device cpu:0"):
        ridge.fit(X, y)


# ---- a trial -----------------------------------------------------------------------------------------------


@pytest.fixture
def on_torch(monkeypatch, tmp_path):
    """Trials with ``device: cuda`` run on PyTorch's CPU device."""
    monkeypatch.setenv("RFFBENCH_CACHE", str(tmp_path))
    make = ridge_make.make_ridge_on_device

    @wraps(make)
    def there(device, **rest):
        return make(device="cpu", **rest)

    monkeypatch.setattr(ridge_make, "make_ridge_on_device", there)


@pytest.mark.usefixtures("on_torch")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_trial_has_the_cpus_scores_and_timing_of_every_part(dtype):
    from rffbench import data

    data.ensure("digits")
    for method in ("RFF", "QMC", "leverage-RFF", "Ours"):
        spec = TrialSpec(
            dataset="digits", data_hash="", method=method, n_features=64, trial=0, seed=1,
            features=METHODS[method], solver={**parameters("ridge"), **SOLVER}, preprocess=["minmax"],
            kernel={"name": "gaussian", "gamma": 0.05}, dtype=dtype, kernel_error_points=50,
        )  # fmt: skip
        plain, other = run_trial(spec), run_trial(replace(spec, device="cuda"))
        assert other.metrics["accuracy"] == pytest.approx(plain.metrics["accuracy"], abs=0.12)  # one of 899 rows
        assert other.metrics["kernel_error"] == pytest.approx(plain.metrics["kernel_error"], rel=1e-4)
        assert other.lambda_ == plain.lambda_
        assert all(other.seconds[part] > 0 for part in ("feature_s", "fit_s", "predict_s"))


def test_nothing_but_the_device_path_imports_torch():
    code = "import sys, rffbench.cli, rffbench.execution.run, rffbench.trials.single; print('torch' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "False"
