"""What the lectures and TEFM ask for: measures of maps, the median bandwidth, fewer rows, exponents, crossings."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import report_log as log
import yaml
from scipy import stats
from scipy.spatial.distance import pdist
from sklearn.base import clone
from trials import spec

from rffbench import CountSketchGaussianFeatures, RandomFourierFeatures, SRHTFeatures, data, report
from rffbench.data.cards import load_card
from rffbench.errors import ConfigError
from rffbench.experiment import Experiment, load_experiment
from rffbench.kernels import make_kernel, median_distance
from rffbench.measures import MEASURES, MapOnPoints, Points
from rffbench.report import figures, frame, summary
from rffbench.report.bounds import bound_figures
from rffbench.report.crossover import crossovers
from rffbench.report.curves import score_time_figure
from rffbench.report.dimension import dimension_figure
from rffbench.report.slopes import fitted_slope, slope_table
from rffbench.seeds import generator, split_stream
from rffbench.spec import TrialResult, TrialSpec
from rffbench.trial import MEDIAN_ROWS, Problem, run_trial

GAMMA = 0.8


@pytest.fixture(autouse=True)
def _no_network(embedded):
    """Embedded and synthetic data only."""


def rows(n=60, d=5, seed=0):
    return np.random.default_rng(seed).random((n, d))


def measured(features, X, gamma=GAMMA):
    return MapOnPoints(clone(features).fit(X), Points(X, make_kernel("gaussian", gamma)))


# ---- The lectures' features ----------------------------------------------------------------------------------


def test_complex_and_real_features_have_the_same_gram_matrix():
    """Meilă, "From Bochner to RFF"; Musco, Section 4.1: Re ZZ* of e^{-iwᵀx}/√s is that of [cos | sin]/√s."""
    X = rows()
    real = RandomFourierFeatures(40, gamma=GAMMA, random_state=3).fit(X)
    Z = np.exp(-1j * X @ real.frequencies_) / np.sqrt(20)
    complex_gram = Z @ Z.conj().T
    assert np.abs(complex_gram.imag).max() > 0.01  # it is the real part that agrees
    np.testing.assert_allclose(real.transform(X) @ real.transform(X).T, complex_gram.real, atol=1e-14)


@pytest.mark.parametrize("cls", [SRHTFeatures, CountSketchGaussianFeatures])
@pytest.mark.parametrize(("d", "s"), [(5, 12), (1, 3), (16, 8)])
def test_the_quick_product_is_that_with_the_frequencies(cls, d, s):
    X = rows(30, d)
    features = cls(2 * s, gamma=GAMMA, random_state=1).fit(X)
    T = X @ features.frequencies_
    assert T.shape == (30, s)
    np.testing.assert_allclose(features.transform(X), np.hstack([np.cos(T), np.sin(T)]) / np.sqrt(s), atol=1e-12)
    single = features.transform(X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, features.transform(X), atol=1e-5)


def test_an_srhts_frequencies_are_signs_and_a_countsketchs_are_equal_within_a_bucket():
    W = SRHTFeatures(2 * 50, gamma=GAMMA, random_state=0).fit(rows(d=6)).frequencies_
    np.testing.assert_allclose(np.abs(W), math.sqrt(2 * GAMMA), rtol=1e-12)
    W = CountSketchGaussianFeatures(2 * 50, buckets=3, gamma=GAMMA, random_state=0).fit(rows(d=6)).frequencies_
    assert len(np.unique(np.abs(W[:, 0]).round(12))) <= 3
    assert np.linalg.matrix_rank(W) <= 3


def test_a_countsketchs_estimate_is_the_kernel_of_the_sketched_points_and_nears_the_kernel_with_more_buckets():
    X = rows(40, 30)

    def error(buckets, s=4000):
        maps = [CountSketchGaussianFeatures(2 * s, buckets=buckets, gamma=GAMMA, random_state=i) for i in range(8)]
        return np.mean([MEASURES["entry_error"](measured(features, X)) for features in maps])

    few, many = error(8), error(128)
    assert 2.5 < few / many < 6.5  # √(2/B): a factor of 4
    features = CountSketchGaussianFeatures(2 * 4000, buckets=8, gamma=GAMMA, random_state=0).fit(X)
    sketched = make_kernel("gaussian", GAMMA)(features.sketch_.columns(X))
    assert np.abs(features.transform(X) @ features.transform(X).T - sketched).max() < 0.08


def test_buckets_must_be_a_count():
    with pytest.raises(ValueError, match="buckets must be a whole number, 1 or more, got 0"):
        CountSketchGaussianFeatures(8, buckets=0).fit(rows())


# ---- Measures of maps ------------------------------------------------------------------------------------------


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
    "change",
    [{"methods": {"TEFM": {"features": "tefm"}}}, {"kernel": {"name": "laplacian", "sigma": 1.0}}],
)
def test_marginals_of_what_has_no_gaussian_frequencies_are_refused_before_a_run(tmp_path, change):
    path = tmp_path / "maps.yaml"
    path.write_text(yaml.safe_dump({**CONFIG, "measures": ["kernel_error", "marginal_ks"], **change}))
    with pytest.raises(ConfigError, match="marginal_ks compares frequencies with the Gaussian kernel's"):
        load_experiment(path)


# ---- The median bandwidth, and fewer rows -----------------------------------------------------------------------


def test_the_median_distance_is_in_the_kernels_norm():
    X = rows(20)
    pairs = [X[i] - X[j] for i in range(20) for j in range(i)]
    assert median_distance("gaussian", X) == pytest.approx(np.median([np.linalg.norm(pair) for pair in pairs]))
    assert median_distance("laplacian", X) == pytest.approx(np.median([np.abs(pair).sum() for pair in pairs]))


def test_the_median_bandwidth_is_taken_from_the_training_rows_and_told():
    one = spec("RFF", dataset="digits", kernel={"name": "gaussian", "gamma": "median"})
    result = run_trial(one)
    problem = Problem.of(one)
    X = problem.split.X_train[:]
    rng = generator(split_stream(one.seed, one.dataset, one.trial), "median distance")
    chosen = rng.choice(len(X), min(MEDIAN_ROWS, len(X)), replace=False)
    assert result.metrics["gamma"] == pytest.approx(1 / (2 * np.median(pdist(X[chosen])) ** 2))
    known = run_trial(replace(one, kernel={"name": "gaussian", "gamma": result.metrics["gamma"]}))
    assert known.metrics["accuracy"] == result.metrics["accuracy"]
    assert known.metrics["kernel_error"] == result.metrics["kernel_error"]
    assert "gamma" not in known.metrics


def test_a_config_asks_for_the_median_as_sigma_and_reads_its_resolved_form_again():
    experiment = Experiment.model_validate({**CONFIG, "kernel": {"sigma": "median"}})
    assert {one.kernel["gamma"] for one in experiment.grid()} == {"median"}
    again = Experiment.model_validate(yaml.safe_load(experiment.to_yaml()))
    assert [one.key for one in again.grid()] == [one.key for one in experiment.grid()]


def test_alike_rows_have_no_median_bandwidth(monkeypatch):
    monkeypatch.setattr("rffbench.trial.median_distance", lambda kernel, X: 0.0)
    with pytest.raises(data.DataError, match="median distance between training rows is 0"):
        Problem.of(spec("RFF", kernel={"name": "gaussian", "gamma": "median"}))


@pytest.mark.parametrize(("kernel", "message"), [
    ({"name": "perceptron", "sigma": "median"}, "median is not for the perceptron kernel"),
    ({"sigma": "mean"}, "must be a positive number, or a list of them, or median, not 'mean'"),
])  # fmt: skip
def test_wrong_bandwidths_by_name_are_refused(tmp_path, kernel, message):
    path = tmp_path / "maps.yaml"
    path.write_text(yaml.safe_dump({**CONFIG, "kernel": kernel}))
    with pytest.raises(ConfigError, match=message):
        load_experiment(path)


def test_fewer_training_rows_are_the_first_of_a_trials_and_tested_alike():
    one = spec("RFF", dataset="digits", preprocess=["standard"])
    whole, part = Problem.of(one).split, Problem.of(replace(one, train_rows=100)).split
    assert part.X_train.shape == (100, whole.X_train.shape[1])
    assert np.array_equal(part.X_train.index, whole.X_train.index[:100])
    assert np.array_equal(part.X_test.index, whole.X_test.index)
    np.testing.assert_allclose(part.X_train[:].mean(axis=0), 0, atol=1e-9)  # scaled by its own rows
    more = Problem.of(replace(one, train_rows=10**6)).split
    assert len(more.X_train) == len(whole.X_train)


def test_train_rows_go_by_dataset_and_leave_other_trials_keys_as_they_were():
    base = {**CONFIG, "datasets": ["digits", "synthetic-regression"]}
    plain, fewer = (Experiment.model_validate({**base, **more})
                    for more in ({}, {"train_rows": {"default": None, "digits": 50}}))  # fmt: skip
    keys = [[one.key for one in each.grid()] for each in (plain, fewer)]
    same = [one.dataset for one, key in zip(fewer.grid(), keys[1], strict=True) if key in keys[0]]
    assert set(same) == {"synthetic-regression"}
    assert "train_rows" not in plain.grid()[0].to_dict()
    assert Experiment.model_validate(yaml.safe_load(fewer.to_yaml())).grid() == fewer.grid()
    with pytest.raises(ValueError, match="greater than 0"):
        Experiment.model_validate({**base, "train_rows": 0})


def test_results_of_fewer_rows_are_not_taken_for_those_of_all(tmp_path):
    whole, part = log.spec(), log.spec(train_rows=50)
    rows = [log.ok(whole, 80.0), log.ok(part, 60.0)]
    for config, score in ((log.config(), 80.0), (log.config(train_rows={"default": None, "eeg": 50}), 60.0)):
        trials = frame.load_results(log.write(tmp_path / str(score), config, rows)).trials
        assert trials["accuracy"].tolist() == [score]


# ---- Exponents, crossovers and their figures ----------------------------------------------------------------------


def trials_of(values, trials=3, metric="sup_error"):
    """Trials whose metric at each size is the value, times a factor of the trial."""
    return pd.DataFrame([
        {"trial": trial, "n_features": m, metric: value * (1 + 0.1 * trial)}
        for trial in range(trials) for m, value in values.items()
    ])  # fmt: skip


def test_a_slope_is_the_mean_over_trials_with_students_interval():
    exact = fitted_slope(trials_of({m: 3 * m**-0.5 for m in (10, 30, 100)}), "sup_error")
    assert (exact.exponent, exact.sizes, exact.trials) == (pytest.approx(-0.5), 3, 3)
    assert exact.high - exact.low < 1e-9
    rng = np.random.default_rng(0)
    slopes = rng.normal(-0.5, 0.1, 8)
    noisy = pd.DataFrame([{"trial": t, "n_features": m, "sup_error": m**p}
                          for t, p in enumerate(slopes) for m in (4, 16, 64)])  # fmt: skip
    fitted = fitted_slope(noisy, "sup_error")
    half = stats.t.ppf(0.975, 7) * stats.sem(slopes)
    assert (fitted.low, fitted.high) == pytest.approx((slopes.mean() - half, slopes.mean() + half))
    assert fitted_slope(trials_of({10: 1.0, 20: 0.5}), "sup_error") is None  # two sizes are no line
    assert fitted_slope(trials_of({10: 1.0, 20: 0.5, 40: 0.2}, trials=1), "sup_error") is None


SIZES = [16, 32, 64]
BOUND_CONFIG = {
    "name": "bounds", "datasets": ["synthetic"], "preprocess": "minmax",
    "kernel": {"name": "gaussian", "sigma": 1.0}, "n_features": SIZES, "trials": 2, "kernel_error_points": 500,
    "methods": {"RFF": {"features": "fourier"}, "Fastfood": {"features": "fastfood"}}, "solver": {"name": "none"},
    "measures": ["sup_error", "entry_quantile", "spectral_error", "kernel_norm", "diameter"],
    "sweep": {
        "bandwidth": {"sigma=1": {}, "sigma=2": {"kernel": {"sigma": 2.0}}},
        "points": {
            "n = 500": {},
            **{f"n = m = {m}": {"n_features": [m], "kernel_error_points": m} for m in SIZES},
            **{f"n = {m}²": {"n_features": [m], "kernel_error_points": m * m} for m in (8, 16, 32)},
        },
    },
}  # fmt: skip


@pytest.fixture
def bound_results(tmp_path):
    """Made-up errors: of m features on n points n/m at σ = 1, n/√m at σ = 2; of an entry 1/√m."""
    experiment = Experiment.model_validate(BOUND_CONFIG)
    lines = []
    for one in experiment.grid():
        m, n = one.n_features, one.kernel_error_points
        spectral = n / m if one.kernel["gamma"] == 0.5 else n / math.sqrt(m)
        entry = (1 + 0.1 * one.trial) / math.sqrt(m)
        lines.append(TrialResult(one, "ok", {
            "sup_error": entry, "entry_quantile": entry / 2, "spectral_error": spectral, "kernel_norm": float(n),
            "diameter": 1.7,
        }, {"feature_s": 0.1, "fit_s": 0.0}).to_row())  # fmt: skip
    folder = log.write(tmp_path / "bounds", {}, lines)
    (folder / "config.yaml").write_text(experiment.to_yaml(), encoding="utf-8")
    return folder


def test_exponents_are_told_for_n_points_for_n_equal_m_and_for_its_square(bound_results):
    table = slope_table(frame.load_protocols(bound_results))
    found = {(row.bandwidth, row.method, row.error, row.points): (row.exponent, row.theory)
             for row in table.itertuples()}  # fmt: skip
    for method in ("RFF", "Fastfood"):
        assert found["sigma=1", method, "sup_error", "n = 500"] == (pytest.approx(-0.5), -0.5)
        assert found["sigma=1", method, "spectral_error", "n = 500"] == (pytest.approx(-1), -0.5)
        assert found["sigma=1", method, "spectral_error", "n = m"] == (pytest.approx(0), 0.5)
        assert found["sigma=1", method, "spectral_error", "n = m²"] == (pytest.approx(1), 1.0)
        assert found["sigma=2", method, "spectral_error", "n = m²"] == (pytest.approx(1.5), 1.0)
    assert not any(error == "sup_error" and points != "n = 500" for _, _, error, points in found)


def test_measurement_and_bound_stand_in_one_log_log_figure(bound_results):
    figures = list(bound_figures(frame.load_protocols(bound_results)))
    assert [(dataset, labels) for dataset, labels, _ in figures] == [
        ("synthetic", {"bandwidth": "sigma=1"}), ("synthetic", {"bandwidth": "sigma=2"})]
    largest, _, _, per_root = figures[0][2].axes
    assert (largest.get_xscale(), largest.get_yscale()) == ("log", "log")
    lines = dict(zip(*reversed(largest.get_legend_handles_labels()), strict=True))
    measured_line = lines["RFF"][0]
    np.testing.assert_allclose(measured_line.get_ydata(orig=False), [1.05 / math.sqrt(m) for m in SIZES])
    uniform = lines["uniform bound (Rahimi & Recht)"]
    assert list(uniform.get_xdata(orig=False)) == SIZES
    assert (uniform.get_ydata(orig=False) > measured_line.get_ydata(orig=False)).all()
    assert any("RFF: -0.50 (-0.50 to -0.50)" in text.get_text() for text in largest.texts)
    assert any("n = m²: +0.00" in text.get_text() for text in per_root.texts)  # n/m over √n = m
    written = [path.name for path in report.redraw(bound_results)]
    assert written[-3:] == ["slopes.csv", "synthetic-sigma_1-bounds.png", "synthetic-sigma_2-bounds.png"]


DIMENSIONS = {64: (1.0, 2.0), 256: (4.0, 4.0 * 2**0.5), 1024: (16.0, 8.0)}  # seconds of the dense map, and of another


@pytest.fixture
def dimension_results(tmp_path):
    config = log.config(
        datasets=[f"synthetic-{d}" for d in DIMENSIONS], n_features=[16, 32], trials=2, solver={"name": "none"},
        methods={"RFF": {"features": "fourier"}, "Fastfood": {"features": "fastfood"}, "SRHT": {"features": "srht"}},
    )  # fmt: skip
    lines = []
    for d, (dense, quick) in DIMENSIONS.items():
        for method, seconds in (("RFF", dense), ("Fastfood", quick), ("SRHT", dense / 2)):
            for n in (16, 32):
                for trial in range(2):
                    one = TrialSpec(
                        dataset=f"synthetic-{d}", data_hash="0", method=method, n_features=n, trial=trial, seed=0,
                        features={"name": config["methods"][method]["features"]}, solver={"name": "none"},
                        kernel={"name": "gaussian", "gamma": 0.5}, preprocess=["minmax"],
                    )  # fmt: skip
                    scores = {"kernel_error": 0.1, "marginal_ks": 0.05, "marginal_energy": 0.02}
                    lines.append(TrialResult(one, "ok", scores, {"feature_s": seconds * n / 32, "fit_s": 0.0}).to_row())
    return log.write(tmp_path / "dimension", config, lines)


def test_the_dimension_from_which_a_map_is_quicker_is_where_the_lines_cross(dimension_results):
    fastfood, srht = crossovers(frame.load_results(dimension_results))
    # √2 times slower at 256 and 2 times quicker at 1024: a third of the way, on a log scale.
    assert (fastfood.method, fastfood.baseline, fastfood.faster_from) == ("Fastfood", "RFF", 1024)
    assert fastfood.at == pytest.approx(256 * 4 ** (1 / 3))
    assert (srht.faster_from, srht.at) == (64, None)
    slower = frame.load_results(dimension_results)
    slower.trials["feature_s"] *= np.where(slower.trials["method"] == "Fastfood", 100, 1)
    assert crossovers(slower)[0].faster_from is None


def test_the_figure_against_the_dimension_says_where_they_cross(dimension_results):
    figure = dimension_figure(frame.load_results(dimension_results))
    assert [axis.get_title() for axis in figure.axes] == [
        "(a) relative kernel error", "(b) Kolmogorov–Smirnov distance", "(c) energy distance", "(d) feature time (s)"]
    assert {axis.get_xlabel() for axis in figure.axes} == {"dimension d"}
    seconds = figure.axes[-1].containers[1][0].get_ydata(orig=False)
    np.testing.assert_allclose(seconds, [quick for _, quick in DIMENSIONS.values()])
    assert "Fastfood: from d ≈ 406" in figure.axes[-1].texts[0].get_text()
    assert "crossover.csv" in [path.name for path in report.redraw(dimension_results)]


def test_a_map_alone_is_judged_by_its_kernel_error_in_one_panel(dimension_results):
    results = frame.load_results(dimension_results)
    assert results.score("synthetic-64").name == "kernel_error"
    rows = summary.summarise(results)
    figure = figures.dataset_figure(results, rows[rows["dataset"] == "synthetic-64"], "synthetic-64")
    assert [axis.get_title() for axis in figure.axes] == [
        "(a) relative kernel error", "(b) Kolmogorov–Smirnov distance", "(c) energy distance", "(d) feature time (s)"]
    report.redraw(dimension_results)
    assert "(no score)" not in (dimension_results / "table.md").read_text()


def test_the_score_stands_against_training_time_where_seconds_are_comparable(tmp_path, monkeypatch):
    monkeypatch.setattr("rffbench.data.cards.load_card", lambda name: SimpleNamespace(mark="", task="regression"))
    lines = [log.ok(log.spec(multiple=size, trial=trial), 0.5 / size, metric="relative_rmse", feature_s=0.1 * size)
             for size in (1, 2, 4) for trial in range(3)]  # fmt: skip
    settings = {"n_features": ["1d", "2d", "4d"]}
    exclusive = frame.load_results(log.write(tmp_path / "a", log.config(timing="exclusive", **settings), lines))
    panel = score_time_figure(exclusive, "eeg").axes[0]
    np.testing.assert_allclose(panel.containers[0][0].get_xdata(orig=False), [0.3, 0.4, 0.6])  # fit_s 0.2 in each
    np.testing.assert_allclose(panel.containers[0][0].get_ydata(orig=False), [0.5, 0.25, 0.125])
    assert panel.get_ylabel() == "relative test RMSE"
    shared = frame.load_results(log.write(tmp_path / "b", log.config(timing="shared", **settings), lines))
    assert score_time_figure(shared, "eeg") is None


def test_a_method_without_features_is_a_line_across(tmp_path, monkeypatch):
    from test_report_figures import drawn

    monkeypatch.setattr("rffbench.data.cards.load_card", lambda name: SimpleNamespace(mark="", task="classification"))
    methods = {"RFF": {"features": "fourier"}, "exact": {"features": "none", "n_features": [1]}}
    exact = replace(log.spec(), method="exact", features={"name": "none"}, n_features=1, multiple=None)
    lines = [log.ok(log.spec(multiple=size), 80.0 + size) for size in (1, 2)]
    lines.append(TrialResult(exact, "ok", {"accuracy": 85.0}, {"feature_s": 0.0, "fit_s": 1.0}).to_row())
    panel = drawn(log.write(tmp_path / "run", log.config(methods=methods, n_features=["1d", "2d"]), lines)).axes[1]
    handles, labels = panel.get_legend_handles_labels()
    across = handles[labels.index("exact")]
    assert set(across.get_ydata(orig=False)) == {85.0}
    assert list(panel.get_xticks()) == [14, 28]


def test_the_synthetic_cards_differ_in_their_dimension_alone():
    cards = [load_card(f"synthetic-{d}") for d in (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)]
    assert [card.columns for card in cards] == [16, 32, 64, 128, 256, 512, 1024, 2048, 4096]
    wide = [math.sqrt(card.columns / 6) for card in cards]
    assert [card.format.sigma for card in cards] == pytest.approx(wide, abs=0.05)
    own = {"name", "title", "columns", "format", "folder"}
    assert len({card.model_dump_json(exclude=own) for card in cards}) == 1
