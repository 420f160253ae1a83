"""Measures of maps: brute force, scipy's, and the rate at which marginals near the normal."""

import ast
import math
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy import linalg, optimize, stats
from sklearn.base import clone

import rffbench
from rffbench import RandomFourierFeatures, SRHTFeatures, SurrogateLeverageFeatures
from rffbench.config.loading import load_experiment
from rffbench.errors import ConfigError
from rffbench.kernels import make_kernel
from rffbench.trials.measuring import MapOnPoints, Points
from rffbench.trials.metrics import CURVES, MAP_MEASURES, MEASURES, METRICS, SAID, SCORES, TIMES, Metric

GAMMA = 0.8


@pytest.fixture(autouse=True)
def _no_network(embedded):
    """Embedded and synthetic data only."""


def rows(n=60, d=5, seed=0):
    return np.random.default_rng(seed).random((n, d))


def measured(features, X, gamma=GAMMA):
    return MapOnPoints(clone(features).fit(X), Points(X, make_kernel("gaussian", gamma)))


def test_errors_of_entries_and_the_diameter_are_those_of_all_pairs():
    X = rows(25)
    mapped = measured(RandomFourierFeatures(16, form="offset", random_state=0), X)
    difference = np.abs(mapped.points.kernel_matrix - mapped.Z @ mapped.Z.T)
    pairs = np.array([difference[i, j] for i in range(25) for j in range(i)])
    assert MEASURES["sup_error"](mapped) == pytest.approx(difference.max())
    assert MEASURES["entry_quantile"](mapped) == pytest.approx(np.quantile(pairs, 0.99))
    assert MEASURES["entry_error"](mapped) == pytest.approx(np.sqrt(np.mean(pairs**2)))
    assert MEASURES["diameter"](mapped) == pytest.approx(max(np.linalg.norm(a - b) for a in X for b in X))
    assert MEASURES["spectral_error"](mapped) == pytest.approx(
        np.linalg.norm(mapped.points.kernel_matrix - mapped.Z @ mapped.Z.T, 2), rel=1e-5
    )
    assert MEASURES["kernel_norm"](mapped) == pytest.approx(np.linalg.norm(mapped.points.kernel_matrix, 2), rel=1e-5)


def labels(n=60):
    return np.sign(np.random.default_rng(1).standard_normal(n))


RELEASED = SurrogateLeverageFeatures(40, variant="reweighted", gamma=GAMMA, random_state=0)
OF_ANY_SIZE = [
    RandomFourierFeatures(8, gamma=GAMMA, random_state=0),
    RandomFourierFeatures(400, gamma=GAMMA, random_state=0),
    RELEASED,
]


def on_points(features, X, y):
    return MapOnPoints(clone(features).fit(X, y), Points(X, make_kernel("gaussian", GAMMA), y))


@pytest.mark.parametrize("features", OF_ANY_SIZE)
def test_the_scaled_error_is_the_least_over_all_scales(features):
    mapped = on_points(features, rows(), labels())
    K, K_tilde = mapped.points.kernel_matrix, mapped.Z @ mapped.Z.T
    bound = 2 * np.linalg.norm(K, 2) / np.linalg.norm(K_tilde, 2)
    least = optimize.minimize_scalar(
        lambda c: np.linalg.norm(K - c * K_tilde, 2), bounds=(-bound, 2 * bound), options={"xatol": 1e-12}
    )
    found = MEASURES["scaled_error"](mapped)
    assert found == pytest.approx(least.fun / np.linalg.norm(K, 2), rel=1e-5)
    assert found <= min(1, MEASURES["kernel_error"](mapped)) + 1e-9


@pytest.mark.parametrize("features", OF_ANY_SIZE)
def test_the_scaled_error_does_not_change_with_the_length_of_the_features(features):
    mapped = on_points(features, rows(), labels())
    found = MEASURES["scaled_error"](mapped)
    for factor in (1e-6, 3.0, 1e6):
        other = MapOnPoints(mapped.features, mapped.points)
        other.Z = factor * mapped.Z
        assert MEASURES["scaled_error"](other) == pytest.approx(found, rel=1e-5)


def test_the_scaled_error_of_features_that_vanish_is_that_of_no_features():
    mapped = measured(RandomFourierFeatures(8, gamma=GAMMA, random_state=0), rows())
    mapped.Z = np.zeros((60, 8))
    assert MEASURES["scaled_error"](mapped) == pytest.approx(1)


@pytest.mark.parametrize("features", OF_ANY_SIZE)
def test_the_delta_error_and_the_dimensions_are_those_of_the_formulas(features):
    y = labels()
    mapped = on_points(features, rows(), y)
    K, K_tilde, n = mapped.points.kernel_matrix, mapped.Z @ mapped.Z.T, 60
    c = n / math.sqrt(n)  # nλ, λ = 1/√n
    root = linalg.fractional_matrix_power(K + c * np.eye(n), -0.5)
    assert MEASURES["delta_error"](mapped) == pytest.approx(np.linalg.norm(root @ (K_tilde - K) @ root, 2), rel=1e-5)
    for matrix, of in ((K, "kernel_"), (K_tilde, "")):
        dimension = np.trace(matrix @ np.linalg.inv(matrix + c * np.eye(n)))
        assert MEASURES[f"{of}effective_dimension"](mapped) == pytest.approx(dimension, rel=1e-6)
        surrogate = np.trace((np.outer(y, y) + n * np.eye(n)) @ matrix) / (n * c)
        assert MEASURES[f"{of}surrogate_dimension"](mapped) == pytest.approx(surrogate)


@pytest.mark.slow
def test_the_delta_error_of_random_features_falls_as_the_root_of_s():
    X, errors = rows(), {}
    for s in (64, 1024, 16384):
        maps = [RandomFourierFeatures(2 * s, gamma=GAMMA, random_state=seed) for seed in range(6)]
        errors[s] = np.mean([MEASURES["delta_error"](measured(each, X)) for each in maps])
    assert errors[64] / errors[1024] == pytest.approx(4, rel=0.3)
    assert errors[1024] / errors[16384] == pytest.approx(4, rel=0.3)


def test_the_spectrum_is_that_of_both_matrices_over_n():
    mapped = measured(RandomFourierFeatures(8, gamma=GAMMA, random_state=0), rows())
    curves = CURVES["spectrum"](mapped)
    at = np.array(curves["rank"], dtype=int) - 1
    assert (at[0], at[-1]) == (0, 59)
    for name, matrix in (("eigenvalue", mapped.points.kernel_matrix), ("map_eigenvalue", mapped.Z @ mapped.Z.T)):
        assert curves[name] == pytest.approx(np.linalg.eigvalsh(matrix)[::-1][at] / 60, abs=1e-12)


def test_distances_of_the_marginals_are_scipys():
    X = rows(6)
    mapped = measured(RandomFourierFeatures(2 * 70, gamma=GAMMA, random_state=0), X)
    U = X @ mapped.features.frequencies_ / (math.sqrt(2 * GAMMA) * np.linalg.norm(X, axis=1, keepdims=True))
    ks = np.mean([stats.kstest(u, "norm").statistic for u in U])
    assert MEASURES["marginal_ks"](mapped) == pytest.approx(ks)
    normal = stats.norm.ppf((np.arange(200_000) + 0.5) / 200_000)
    energy = np.mean([stats.energy_distance(u, normal) for u in U])
    assert MEASURES["marginal_energy"](mapped) == pytest.approx(energy, rel=1e-3)


def test_a_point_at_the_origin_has_no_marginal():
    X = rows(6)
    features = RandomFourierFeatures(20, gamma=GAMMA, random_state=0)
    with_origin = MEASURES["marginal_ks"](measured(features, np.vstack([X, np.zeros(5)])))
    assert with_origin == MEASURES["marginal_ks"](measured(features, X))


def test_marginals_near_the_normal_as_the_root_of_s_but_not_for_one_hadamard_transform_of_few_entries():
    X = np.eye(16)
    gaussian = [measured(RandomFourierFeatures(2 * s, gamma=GAMMA, random_state=0), X) for s in (256, 4096)]
    few, many = map(MEASURES["marginal_ks"], gaussian)
    assert few / many == pytest.approx(4, rel=0.35)
    assert many == pytest.approx(0.87 / math.sqrt(4096), rel=0.4)
    signs = measured(SRHTFeatures(2 * 4096, gamma=GAMMA, random_state=0), X)
    assert MEASURES["marginal_ks"](signs) == pytest.approx(stats.norm.cdf(1) - 0.5, abs=0.02)  # half are 1, half −1
    assert MEASURES["marginal_energy"](signs) > 20 * MEASURES["marginal_energy"](gaussian[1])


CONFIG = {
    "name": "maps", "datasets": ["synthetic-regression"], "n_features": [8],
    "methods": {"RFF": {"features": "fourier"}}, "solver": {"name": "none"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"methods": {"TEFM": {"features": "tefm"}}}, "is of a Fourier map's frequencies; Training.* has none"),
        ({"kernel": {"name": "laplacian", "sigma": 1.0}}, "needs the gaussian kernel, got laplacian"),
    ],
)
def test_marginals_of_what_has_no_gaussian_frequencies_are_refused_before_a_run(tmp_path, change, message):
    path = tmp_path / "maps.yaml"
    path.write_text(yaml.safe_dump({**CONFIG, "measures": ["kernel_error", "marginal_ks"], **change}))
    with pytest.raises(ConfigError, match=f"marginal_ks {message}"):
        load_experiment(path)


def test_two_curves_of_one_trial_are_refused_before_a_run(tmp_path):
    path = tmp_path / "maps.yaml"
    solver = {"name": "ridge", "lambda": [0.1, 1.0], "path": True}
    path.write_text(yaml.safe_dump({**CONFIG, "measures": ["spectrum"], "solver": solver}))
    with pytest.raises(ConfigError, match="spectrum keeps curves of its own"):
        load_experiment(path)


def test_every_measure_of_a_map_and_every_metric_of_a_built_in_solver_has_a_name_and_a_unit_for_readers():
    assert not MEASURES.keys() - METRICS.keys()
    assert {"objective", "model_size", "training_bytes", "newton_steps", "passes", "nonzeros"} <= METRICS.keys()
    assert METRICS["train_s"].label == "training time (s)"
    assert set(TIMES) == {"bandwidth_s", "feature_s", "fit_s", "train_s", "predict_s"}
    assert set(SCORES + MAP_MEASURES) <= {name for name, metric in METRICS.items() if metric.better}


def test_a_metric_is_better_greater_less_or_neither():
    with pytest.raises(ValueError, match="metric 'gap': better must be 'greater', 'less' or None, got 'smaller'"):
        Metric("gap", better="smaller")


def board_points(n=120):
    """Points with targets that a kernel learns, and a few features on them."""
    X = rows(n, 3)
    y = np.sin(3 * X[:, 0]) + 0.1 * np.random.default_rng(2).standard_normal(n)
    points = Points(X, make_kernel("gaussian", GAMMA), y, y[:, None])
    return MapOnPoints(RandomFourierFeatures(16, gamma=GAMMA, random_state=0).fit(X), points)


def test_kernel_ridge_s_lambda_on_the_points_is_that_of_its_cross_validation():
    mapped = board_points()
    X, y, K = mapped.points.X, mapped.points.y, mapped.points.kernel_matrix
    lambdas = [10.0**-power for power in range(9, 1, -1)]
    errors = []
    for lambda_ in lambdas:
        folds = np.array_split(np.arange(len(X)), 5)
        held = []
        for fold in folds:
            rest = np.setdiff1d(np.arange(len(X)), fold)
            mean = y[rest].mean()
            a = np.linalg.solve(K[np.ix_(rest, rest)] + len(rest) * lambda_ * np.eye(len(rest)), y[rest] - mean)
            held.append(np.mean((y[fold] - mean - K[np.ix_(fold, rest)] @ a) ** 2))
        errors.append(np.mean(held))
    best = lambdas[int(np.argmin(errors))]
    assert mapped.points.ridge_penalty == pytest.approx(len(X) * best)
    penalised = K + len(X) * best * np.eye(len(X))
    root = linalg.sqrtm(np.linalg.inv(penalised)).real
    difference = mapped.Z @ mapped.Z.T - K
    assert MEASURES["ridge_delta_error"](mapped) == pytest.approx(np.linalg.norm(root @ difference @ root, 2), rel=1e-4)
    assert MEASURES["ridge_dimension"](mapped) == pytest.approx(np.trace(K @ np.linalg.inv(penalised)), rel=1e-6)


def test_the_decay_of_eigenvalues_is_the_slope_of_their_law():
    mapped = board_points(700)
    ranks = np.arange(1.0, 701)
    mapped.points.__dict__["eigenvalues"] = 5 * ranks**-1.7
    assert MEASURES["spectral_decay"](mapped) == pytest.approx(1.7)
    mapped.points.__dict__["eigenvalues"] = np.where(ranks <= 40, ranks**-2.5, 1e-30)  # the rest is rounding
    assert MEASURES["spectral_decay"](mapped) == pytest.approx(2.5)


def test_kernel_ridge_on_the_points_needs_their_targets():
    X = rows()
    with pytest.raises(ValueError, match="needs their targets"):
        MEASURES["ridge_dimension"](measured(RandomFourierFeatures(8, random_state=0), X))


def test_what_a_map_or_solver_here_says_of_itself_reaches_the_row():
    """A name of METRICS that ``metrics_`` has is in SAID, else the row lacks it without a word."""
    told = set()
    package = Path(rffbench.__file__).parent
    for source in chain.from_iterable(package.glob(f"{part}/**/*.py") for part in ("solvers", "features")):
        for node in ast.walk(ast.parse(source.read_text())):
            for target in node.targets if isinstance(node, ast.Assign) else ():
                place = target.value if isinstance(target, ast.Subscript) else target
                if isinstance(place, ast.Attribute) and place.attr == "metrics_":
                    told |= {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)} & METRICS.keys()
    assert {"objective", "choice_fits", "rank"} <= told
    assert told <= set(SAID)
