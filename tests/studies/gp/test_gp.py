"""What studies.gp reads from trials, and the exact process beside them."""

import numpy as np
import pandas as pd
import pytest

from rffbench import FeatureGPRegressor, NystroemFeatures
from rffbench.kernels import MaternKernel
from studies import pages
from studies.gp import facts
from studies.gp.__main__ import fitted

SOURCE = pages.ROOT / "studies" / "gp" / "gp.md"


@pytest.fixture
def measured(monkeypatch):
    """Two trials of one map on two datasets, and the exact process on one."""
    cells = [(name, rows, trial) for name in "ab" for trial in (0, 1) for rows in ("3000", "all")]
    trials = pd.DataFrame(cells, columns=["dataset", "rows", "trial"]).assign(
        method="FITC", n_features=512, rmse=lambda of: 0.2 + of["trial"] / 10, nll=lambda of: 1.0 + of["trial"],
        coverage_50=50.0, coverage_90=90.0,
        coverage_95=lambda of: 90.0 + 4 * of["trial"] + of["dataset"].map({"a": 2.0, "b": 20.0}),
    )  # fmt: skip
    exact = pd.DataFrame([{"dataset": "b", "rmse": 0.1, "nll": 0.5, "coverage_50": 51.0, "coverage_90": 89.0,
                           "coverage_95": 95.5}])  # fmt: skip
    monkeypatch.setattr(facts, "trials", lambda: trials)
    monkeypatch.setattr(facts, "exact", lambda: exact)


def test_the_page_s_numbers_are_means_over_trials_and_medians_over_datasets(measured):
    assert facts.medians() == [
        ["FITC", "512", "0.250", "1.50", "50.0", "90.0", "103.0"],
        ["exact process", "–", "0.100", "0.50", "51.0", "89.0", "95.5"],
    ]
    assert facts.rows_of_datasets(512)[1:] == [
        ["b", "FITC", "0.250", "1.50", "50.0", "90.0", "112.0"],
        ["b", "exact process", "0.100", "0.50", "51.0", "89.0", "95.5"],
    ]
    assert facts.covered("FITC", 512) == 1  # 94 and 112


def of_five(monkeypatch, coverage, nll):
    """Five datasets on which each method covers and is as likely as these say, at 128 and 2,048 columns."""
    cells = [(name, method, columns) for name in "abcde" for method in coverage for columns in (128, 2048)]
    trials = pd.DataFrame(cells, columns=["dataset", "method", "n_features"]).assign(
        rows="3000", trial=0, rmse=0.5, coverage_50=50.0, coverage_90=90.0,
        coverage_95=lambda of: of["method"].map(coverage), nll=lambda of: of["method"].map(nll),
    )  # fmt: skip
    exact = pd.DataFrame([{"dataset": name, "rmse": 0.1, "nll": 0.5, **dict.fromkeys(facts.SCORES[1:], 90.0)}
                          for name in "abcde"])  # fmt: skip
    monkeypatch.setattr(facts, "trials", lambda: trials)
    monkeypatch.setattr(facts, "exact", lambda: exact)
    monkeypatch.setattr(facts, "constant", lambda: exact.assign(coverage_95=[94.0, 100.0, 92.9, 95.0, 99.0]))
    return pages.filled(SOURCE, SOURCE.read_text(encoding="utf-8"), pages.public(facts))


def test_the_page_says_which_registered_sentence_holds(monkeypatch):
    page = of_five(
        monkeypatch, {"RFF": 94.0, "FITC": 96.0, "Nyström": 90.0}, {"RFF": 1.0, "FITC": 0.54, "Nyström": 0.4}
    )
    assert "**Yes, for random Fourier features" in page
    assert "Not measured yet" not in page
    found = [
        line.split(" | ")[1:] for line in page.splitlines() if line.startswith(("| 1 ", "| 2 ", "| 3 ", "| | FITC"))
    ]
    assert [line[-1].strip(" |") for line in found] == ["holds"] * 4
    assert found[2][1] == "FITC on 0, plain on 5"
    assert "| | a constant with the deviation of the targets, not registered | on 2 | |" in page
    assert found[3][1] == "on 5"  # .54 is within .05 of .5


def test_no_sentence_is_made_where_other_intervals_hold(monkeypatch):
    with pytest.raises(SystemExit, match="write another sentence"):
        of_five(monkeypatch, {"RFF": 80.0, "FITC": 96.0, "Nyström": 90.0}, {"RFF": 1.0, "FITC": 0.6, "Nyström": 0.7})


def test_without_results_the_page_says_so(monkeypatch):
    monkeypatch.setattr(facts, "trials", lambda: pd.DataFrame())
    page = pages.filled(SOURCE, SOURCE.read_text(encoding="utf-8"), pages.public(facts))
    assert "**Not measured yet.**" in page
    assert "|" not in page


def test_the_exact_process_is_ours_with_every_row_as_a_landmark(one_thread):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=120)
    y = (y - y.mean()) / y.std()
    theirs = fitted(X, y)
    length = theirs.kernel_.k1.k2.length_scale
    kernel = MaternKernel(MaternKernel.gamma_from_sigma(length), 1.5)
    ours = FeatureGPRegressor(
        theirs.kernel_.k2.noise_level, variance=theirs.kernel_.k1.k1.constant_value, diagonal=True,
        features=NystroemFeatures(120, kernel=kernel, random_state=0),
    ).fit(X, y)  # fmt: skip
    new = rng.normal(size=(20, 2))
    mean, deviation = theirs.predict(new, return_std=True)
    np.testing.assert_allclose(ours.predict(new), mean, atol=1e-6)
    np.testing.assert_allclose(ours.predict_deviations(new), deviation, atol=1e-6)
    learnt = FeatureGPRegressor(features=ours.features, learn="gamma", diagonal=True).fit(X, y)
    assert learnt.log_marginal_likelihood() == pytest.approx(theirs.log_marginal_likelihood_value_, abs=1e-3)
