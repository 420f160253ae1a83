"""Exponents, crossovers and their figures."""

import math

import numpy as np
import pandas as pd
import pytest

import rffbench
from rffbench.config.experiment import Experiment
from rffbench.data.cards import load_card
from rffbench.trials.spec import TrialResult, TrialSpec
from studies.papers.lectures.bounds_figure import bound_figures
from studies.papers.lectures.crossover import crossovers, median_times, write_crossover
from studies.papers.lectures.crossover_figure import dimension_figure
from studies.papers.lectures.error_bounds import sup_error_bound
from studies.papers.lectures.error_slopes import slope_table, write_slopes
from tests.helpers import report_log as log


@pytest.fixture(autouse=True)
def _no_network(embedded):
    """Embedded and synthetic data only."""


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
    table = slope_table(rffbench.load(bound_results))
    found = {(row.bandwidth, row.method, row.error, row.points): (row.exponent, row.theory)
             for row in table.itertuples()}  # fmt: skip
    for method in ("RFF", "Fastfood"):
        assert found["sigma=1", method, "sup_error", "n = 500"] == (pytest.approx(-0.5), -0.5)
        assert found["sigma=1", method, "spectral_error", "n = 500"] == (pytest.approx(-1), -0.5)
        assert found["sigma=1", method, "spectral_error", "n = m"] == (pytest.approx(0), 0.5)
        assert found["sigma=1", method, "spectral_error", "n = m²"] == (pytest.approx(1), 1.0)
        assert found["sigma=2", method, "spectral_error", "n = m²"] == (pytest.approx(1.5), 1.0)
    assert not any(error == "sup_error" and points != "n = 500" for _, _, error, points in found)


@pytest.mark.slow
def test_measurement_and_bound_stand_in_one_log_log_figure(bound_results):
    figures = list(bound_figures(rffbench.load(bound_results)))
    assert [(dataset, labels) for dataset, labels, _ in figures] == [
        ("synthetic", {"bandwidth": "sigma=1"}),
        ("synthetic", {"bandwidth": "sigma=2"}),
    ]
    largest, _, _, per_root = figures[0][2].axes
    assert (largest.get_xscale(), largest.get_yscale()) == ("log", "log")
    lines = dict(zip(*reversed(largest.get_legend_handles_labels()), strict=True))
    measured_line = lines["RFF"][0]
    np.testing.assert_allclose(measured_line.get_ydata(orig=False), [1.05 / math.sqrt(m) for m in SIZES])
    uniform = lines["uniform bound (Rahimi & Recht)"]
    assert list(uniform.get_xdata(orig=False)) == SIZES
    assert (uniform.get_ydata(orig=False) > measured_line.get_ydata(orig=False)).all()
    for (_, _, figure), sigma in zip(figures, (1.0, 2.0), strict=True):
        bounds = dict(zip(*reversed(figure.axes[0].get_legend_handles_labels()), strict=True))
        drawn = bounds["uniform bound (Rahimi & Recht)"].get_ydata(orig=False)
        d = load_card("synthetic").columns  # σ_p² = E‖w‖² = d/σ², the diameter 1.7, δ 1 %
        np.testing.assert_allclose(drawn, sup_error_bound(SIZES, d, math.sqrt(d) / sigma, 1.7, 0.01))
    assert any("RFF: −0.50 (−0.50 to −0.50)" in text.get_text() for text in largest.texts)
    assert any("n = m²: +0.00" in text.get_text() for text in per_root.texts)  # n/m over √n = m


def test_slopes_are_written_of_maps_without_a_solver(bound_results):
    [path] = write_slopes(rffbench.load(bound_results))
    assert set(pd.read_csv(path)["theory"]) == {-0.5, 0.5, 1.0}


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
    fastfood, srht = crossovers(rffbench.load(dimension_results))
    # √2 times slower at 256 and 2 times quicker at 1024: a third of the way, on a log scale.
    assert (fastfood.method, fastfood.baseline, fastfood.faster_from) == ("Fastfood", "RFF", 1024)
    assert fastfood.at == pytest.approx(256 * 4 ** (1 / 3))
    assert (srht.faster_from, srht.at) == (64, None)
    slower = rffbench.load(dimension_results)
    slower.trials["feature_s"] *= np.where(slower.trials["method"] == "Fastfood", 100, 1)
    assert crossovers(slower)[0].faster_from is None


def test_a_trial_that_took_long_by_chance_does_not_count_at_a_dimension():
    trials = pd.DataFrame({"d": 64, "method": "RFF", "feature_s": [1.0, 1.2, 90.0]})
    assert median_times(trials).loc[64, "RFF"] == 1.2


@pytest.mark.slow
def test_the_figure_against_the_dimension_says_where_they_cross(dimension_results):
    figure = dimension_figure(rffbench.load(dimension_results))
    assert [axis.get_title() for axis in figure.axes] == [
        "(a) relative kernel error",
        "(b) Kolmogorov–Smirnov distance",
        "(c) energy distance",
        "(d) feature time (s)",
    ]
    assert {axis.get_xlabel() for axis in figure.axes} == {"dimension d"}
    seconds = figure.axes[-1].containers[1][0].get_ydata(orig=False)
    np.testing.assert_allclose(seconds, [quick for _, quick in DIMENSIONS.values()])
    assert "Fastfood: from\u00a0d\u00a0≈\u00a0406" in figure.axes[-1].texts[0].get_text()
    write_crossover(rffbench.load(dimension_results))
    assert (dimension_results / "crossover.csv").is_file()
