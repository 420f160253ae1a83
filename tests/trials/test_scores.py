"""Scores of predictions are those of scikit-learn or of their formula, and what a solver cannot give is refused."""

import warnings

import numpy as np
import pytest
import sklearn.metrics
from scipy.special import expit

import rffbench
from rffbench import FeatureGPRegressor
from rffbench.errors import ConfigError
from rffbench.trials.metrics import METRICS, Metric
from rffbench.trials.scores import BINS, SCORES, Predictions, platt


def of_classes(c, n=400, seed=0):
    """Labels 0 … c − 1, their codes as learnt, and probabilities that know something of them."""
    rng = np.random.default_rng(seed)
    labels = np.array([-1.0, 1.0]) if c == 2 else np.arange(c, dtype=float)
    place = rng.integers(c, size=n)
    P = rng.dirichlet(np.ones(c), n) + 0.5 * np.eye(c)[place]
    P /= P.sum(axis=1, keepdims=True)
    return Predictions(labels[place], labels[P.argmax(axis=1)], labels, P, P)


@pytest.mark.parametrize("c", [2, 5])
def test_scores_of_classes_are_scikit_learns(c):
    found = of_classes(c)
    y, P = found.y, found.probabilities
    one = P[:, 1] if c == 2 else P
    peers = {
        "balanced_accuracy": 100 * sklearn.metrics.balanced_accuracy_score(y, found.predicted),
        "auc": sklearn.metrics.roc_auc_score(y, one, multi_class="ovr"),
        "log_loss": sklearn.metrics.log_loss(y, P),
        "average_precision": np.mean(
            [sklearn.metrics.average_precision_score(y == found.classes[k], P[:, k]) for k in found.of_classes]
        ),
    }
    for name, value in peers.items():
        assert SCORES[name].compute(found) == pytest.approx(value, rel=1e-9), name
    if c == 2:
        assert SCORES["brier"].compute(found) == pytest.approx(sklearn.metrics.brier_score_loss(y, one, pos_label=1))
    else:
        assert SCORES["brier"].compute(found) == pytest.approx(
            np.square(P - np.eye(c)[y.astype(int)]).sum(axis=1).mean()
        )


def test_the_calibration_error_is_the_gap_between_confidence_and_accuracy_by_bin():
    found = of_classes(3)
    P = found.probabilities
    confidence, right = P.max(axis=1), P.argmax(axis=1) == found.y
    gap = 0.0
    for b in range(BINS):
        inside = (confidence >= b / BINS) & ((confidence < (b + 1) / BINS) | (b == BINS - 1))
        if inside.any():
            gap += inside.mean() * abs(right[inside].mean() - confidence[inside].mean())
    assert SCORES["calibration_error"].compute(found) == pytest.approx(100 * gap)


def test_scores_of_values_are_scikit_learns():
    rng = np.random.default_rng(1)
    y = rng.standard_normal(50)
    found = Predictions(y, y + 0.1 * rng.standard_normal(50))
    assert SCORES["mae"].compute(found) == pytest.approx(sklearn.metrics.mean_absolute_error(y, found.predicted))
    assert SCORES["r2"].compute(found) == pytest.approx(sklearn.metrics.r2_score(y, found.predicted))


def test_scores_of_intervals_are_those_by_hand():
    """Errors of 0, ½, 1, 2, 3 and −4 of deviations 1, 1, 1, 1, 2 and 2: in units of them 0, ½, 1, 2, 1½ and 2."""
    errors, s = np.array([0.0, 0.5, 1.0, 2.0, 3.0, -4.0]), np.array([1.0, 1.0, 1.0, 1.0, 2.0, 2.0])
    found = Predictions(5 + errors, np.full(6, 5.0), deviations=s)
    squares = 0 + 0.25 + 1 + 4 + 2.25 + 4
    expected = np.log(2 * np.pi) / 2 + (2 * np.log(2) + squares / 2) / 6
    assert SCORES["nll"].compute(found) == pytest.approx(expected, rel=1e-12)
    for name, inside in {"coverage_50": 2, "coverage_90": 4, "coverage_95": 4}.items():  # 0.674, 1.645 and 1.960
        assert SCORES[name].compute(found) == pytest.approx(100 * inside / 6), name


def test_a_class_without_test_rows_is_left_out_of_balanced_accuracy():
    y, predicted = np.array([0.0, 0.0, 1.0, 1.0, 1.0]), np.array([0.0, 2.0, 1.0, 1.0, 0.0])
    found = Predictions(y, predicted, np.array([0.0, 1.0, 2.0]))
    with warnings.catch_warnings(action="ignore"):  # scikit-learn's, of the class that is only predicted
        expected = 100 * sklearn.metrics.balanced_accuracy_score(y, predicted)
    assert SCORES["balanced_accuracy"].compute(found) == pytest.approx(expected)
    assert expected == pytest.approx(100 * (1 / 2 + 2 / 3) / 2)


@pytest.mark.parametrize("constant", [3.0, 0.1, 1.6e9 + 0.1])
def test_r2_of_a_constant_target_is_a_number_as_in_scikit_learn(constant):
    y = np.full(7, constant)
    for predicted, expected in ((y, 1.0), (y + 1.0, 0.0)):
        with warnings.catch_warnings(action="error"):
            assert SCORES["r2"].compute(Predictions(y, predicted)) == expected
        if constant == 3.0:  # the mean of the others is rounded, so that scikit-learn finds a variance
            assert sklearn.metrics.r2_score(y, predicted) == expected


def test_r2_far_from_zero_is_that_of_the_same_numbers_near_it():
    y = np.round(np.random.default_rng(3).normal(size=50) * 256) / 256
    predicted = y + np.round(np.random.default_rng(4).normal(size=50) * 64) / 256
    near, far = (SCORES["r2"].compute(Predictions(y + offset, predicted + offset)) for offset in (0.0, 2.0**40))
    assert far == pytest.approx(near, rel=1e-12)


def test_a_probability_on_the_edge_of_a_bin_belongs_to_the_upper_one_and_one_to_the_last():
    """By hand: 3/5 = 9/15 is the lower edge of the tenth of 15 bins; 0.99 and 1 are in the last, together."""
    classes = np.array([-1.0, 1.0])
    P = np.array([[0.4, 0.6], [0.35, 0.65], [0.01, 0.99], [0.0, 1.0]])
    y = np.array([1.0, -1.0, 1.0, -1.0])
    assert BINS == 15
    gap = abs(1 - 0.6 - 0.65) + abs(1 - 0.99 - 1.0)  # 0.6 and 0.65 are in one bin, [9/15, 10/15)
    found = SCORES["calibration_error"].compute(Predictions(y, classes[[1, 1, 1, 1]], classes, P, P))
    assert found == pytest.approx(100 * gap / 4)
    # In bins of their own, opposite gaps would add up; within one they cancel.
    halves = np.array([[0.3, 0.7], [0.28, 0.72]])  # [10/15, 11/15)
    one = SCORES["calibration_error"].compute(Predictions(y[:2], classes[[1, 1]], classes, halves, halves))
    assert one == pytest.approx(100 * abs(1 - 0.7 - 0.72) / 2)


def test_a_probability_of_zero_for_the_right_class_costs_what_the_smallest_number_above_it_does():
    classes = np.array([-1.0, 1.0])
    P = np.array([[1.0, 0.0], [0.25, 0.75]])
    found = Predictions(np.array([1.0, 1.0]), classes[[0, 1]], classes, P, P)
    expected = -(np.log(2.0**-52) + np.log(0.75)) / 2
    assert SCORES["log_loss"].compute(found) == pytest.approx(expected, rel=1e-12)
    assert expected == pytest.approx(sklearn.metrics.log_loss([1, 1], P, labels=[0, 1]), rel=1e-12)


def test_the_area_is_the_mean_over_the_classes_with_test_rows_each_with_its_own_scores():
    found = of_classes(4, seed=5)
    scores = found.scores * [1.0, 3.0, 0.2, 7.0]  # decision scores need not sum to 1
    kept = found.y != 2
    y, scores = found.y[kept], scores[kept]
    expected = np.mean(
        [sklearn.metrics.roc_auc_score(y == label, scores[:, at]) for at, label in ((0, 0), (1, 1), (3, 3))]
    )
    without = Predictions(y, found.predicted[kept], found.classes, scores)
    assert SCORES["auc"].compute(without) == pytest.approx(expected, rel=1e-12)
    two = of_classes(2)
    mine = Predictions(two.y, two.predicted, two.classes, two.scores[:, ::-1] * [1.0, -2.0])
    assert SCORES["auc"].compute(mine) == pytest.approx(
        sklearn.metrics.roc_auc_score(two.y == 1, -2 * two.scores[:, 0])
    )


def test_a_direction_that_is_none_is_refused():
    from rffbench.report.pareto import pareto_front
    from rffbench.stats.intervals import paired_p_value

    for compare in (lambda: pareto_front([1, 2], [1, 2], "lesser"), lambda: paired_p_value([1, 2], [2, 3], "grater")):
        with pytest.raises(ValueError, match="better must be 'greater' or 'less', got"):
            compare()
    with pytest.raises(ValueError, match="metric 'x': better must be 'greater', 'less' or None, got 'higher'"):
        Metric("x", better="higher")


def test_platts_sigmoid_finds_the_probabilities_that_made_the_labels():
    rng = np.random.default_rng(2)
    s = rng.normal(size=20_000)
    y = rng.random(20_000) < expit(3 * s - 1)
    P = platt(np.column_stack([-s, s]), np.column_stack([~y, y]))(np.array([[0.5, -0.5], [0.0, 0.0], [-1.0, 1.0]]))
    np.testing.assert_allclose(P[:, 1], expit(3 * np.array([-0.5, 0.0, 1.0]) - 1), atol=0.02)
    np.testing.assert_allclose(P.sum(axis=1), 1)


def test_platts_sigmoid_stays_finite_where_the_scores_part_the_classes():
    s = np.linspace(-1, 1, 40)
    P = platt(np.column_stack([-s, s]), np.column_stack([s < 0, s > 0]))(np.array([[1.0, -1.0], [-1.0, 1.0]]))
    assert 0.001 < P[0, 1] < 0.1
    assert 0.9 < P[1, 1] < 0.999


def test_every_score_has_a_title_and_a_better_direction():
    assert all(METRICS[name].better or name.startswith("coverage") for name in SCORES)


CONFIG = {
    "name": "scored",
    "datasets": ["breast-cancer"],
    "preprocess": "minmax",
    "n_features": [16],
    "methods": {"RFF": {"features": "fourier"}},
    "solver": {"name": "ridge", "lambda": [1e-3, 1e-2], "folds": 3, "calibrate": "platt"},
    "trials": 2,
    "scores": ["auc", "log_loss", "brier", "balanced_accuracy"],
}


def run(tmp_path, **changes):
    return rffbench.run({**CONFIG, **changes}, results=tmp_path, executor="serial", progress=False)


def test_a_config_asks_for_scores_and_ridge_has_probabilities_by_platt(tmp_path):
    ridge = run(tmp_path).trials
    assert ridge["status"].eq("ok").all()
    assert ridge["auc"].between(0.97, 1).all()
    assert ridge["log_loss"].between(0.02, 0.3).all()
    logistic = run(tmp_path / "logistic", solver={"name": "logistic", "lambda": [1e-3, 1e-2], "folds": 3}).trials
    assert abs(ridge["log_loss"].mean() - logistic["log_loss"].mean()) < 0.1
    plain = run(tmp_path / "plain", scores=[], solver={**CONFIG["solver"], "calibrate": None}).trials
    np.testing.assert_array_equal(plain["accuracy"], ridge["accuracy"])


@pytest.mark.parametrize("solver", ["linear-svm", "kernel-svm"])
def test_machines_have_probabilities_by_platt(solver, tmp_path):
    features = {"features": "none", "n_features": [1]} if solver == "kernel-svm" else {"features": "fourier"}
    found = run(
        tmp_path, methods={"machine": features}, solver={"name": solver, "C": 10.0, "calibrate": "platt"},
        kernel={"name": "gaussian", "sigma": {"times_median": [0.5, 1], "columns": 16, "rows": 100}},
    ).trials  # fmt: skip
    assert found["status"].eq("ok").all()
    assert found["log_loss"].between(0.02, 0.3).all()
    assert found["auc"].between(0.97, 1).all()
    # What the choice of σ has seen on its folds: by it a study may choose C.
    assert found["cv_error"].between(0, 0.2).all()


def test_several_classes_and_values_have_their_scores(tmp_path):
    letters = run(tmp_path, datasets=["digits"], n_features=[8]).trials
    assert letters["auc"].between(0.5, 1).all()
    values = run(
        tmp_path / "values", datasets=["synthetic-regression"], scores=["mae", "r2"],
        solver={"name": "ridge", "lambda": [1e-3]},
    ).trials  # fmt: skip
    assert (values["mae"] < values["rmse"]).all()


def test_a_gaussian_process_has_the_scores_of_its_intervals(tmp_path):
    """Those of the trial's model, built again from its split: no score is of f without the noise."""
    solver = {"name": "gp", "learn": "noise", "diagonal": True}
    found = run(
        tmp_path, datasets=["synthetic-regression"], scores=["nll", "coverage_50", "coverage_90", "coverage_95"],
        methods={"Nyström": {"features": "nystroem"}}, count="columns", n_features=[40], solver=solver,
    ).trials  # fmt: skip
    assert found["status"].eq("ok").all()
    for _, row in found.iterrows():
        assert row["coverage_50"] < row["coverage_90"] <= row["coverage_95"]
        # Of a Gaussian whose deviation is the RMSE, the score is at least this.
        assert row["nll"] > np.log(2 * np.pi) / 2 + np.log(row["rmse"])
        assert row["nll"] < np.log(2 * np.pi) / 2 + np.log(row["rmse"]) + 1


def test_the_deviations_are_those_of_a_new_y():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    model = FeatureGPRegressor(0.3).fit(X, X @ [1.0, 2.0] + rng.normal(size=50))
    np.testing.assert_allclose(model.predict_deviations(X) ** 2, model.predict(X, return_std=True)[1] ** 2 + 0.3)
    assert not hasattr(FeatureGPRegressor(pairs="complex"), "predict_deviations")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"datasets": ["synthetic-regression"], "scores": ["nll"], "solver": {"name": "ridge"}},
            "nll needs deviations, which the solver ridge does not give; use gp",
        ),
        ({"solver": {"name": "gp", "learn": "noise"}, "scores": []}, "solver 'gp': learn is for regression"),
        (
            {"datasets": ["synthetic-regression"], "scores": [], "solver": {"name": "gp", "diagonal": True}},
            "diagonal must be False but for NystroemFeatures of a named kernel, got RandomFourierFeatures",
        ),
        ({"scores": ["auk"]}, "unknown score 'auk'; did you mean 'auc'"),
        (
            {"solver": {"name": "ridge"}},
            "log_loss needs probabilities, which the solver ridge does not give; write calibrate: platt",
        ),
        (
            {"solver": {"name": "linear-svm"}},
            "log_loss needs probabilities, which the solver linear-svm does not give; write calibrate: platt",
        ),
        (
            {"datasets": ["synthetic-regression"], "scores": ["mae"]},
            "must be null for regression, which has no probabilities",
        ),
    ],
)
def test_what_a_solver_cannot_give_is_refused_before_anything_runs(changes, said, tmp_path):
    with pytest.raises(ConfigError) as refused:
        run(tmp_path, **changes)
    assert said in str(refused.value)
    assert not (tmp_path / "scored").exists()


OWN = """
from rffbench.plugin import Metric, Score


class Gini(Score):
    needs = "scores"
    metric = Metric("gini", "Gini coefficient", better="greater")

    def compute(self, found):
        from sklearn.metrics import roc_auc_score

        return 2 * roc_auc_score(found.y, found.scores[:, 1]) - 1
"""


def test_a_score_of_your_own_is_named_by_its_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(OWN)
    scored = run(tmp_path / "results", scores=["auc", "./mine.py:Gini"])
    np.testing.assert_allclose(scored.trials["gini"], 2 * scored.trials["auc"] - 1)
    assert (scored.folder / "mine.py").read_text() == OWN
    assert "Gini coefficient" in str(scored.table("gini"))
    key = scored.summary.query("metric == 'gini'")
    assert key["mean"].between(0.9, 1).all()
    (tmp_path / "mine.py").write_text(OWN.replace("2 *", "4 *").replace("- 1", "- 2"))
    edited = run(tmp_path / "results", scores=["auc", "./mine.py:Gini"])
    np.testing.assert_allclose(edited.trials["gini"], 4 * edited.trials["auc"] - 2)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("(Score)", "", "must derive from rffbench.plugin.Score"),
        ('Metric("gini"', 'Metric("accuracy"', "its metric 'accuracy' has the name of another"),
        (
            'needs = "scores"',
            'needs = "votes"',
            "probabilities, deviations, not 'votes'",
        ),
        ("compute", "calculate", "and have compute(found)"),
        ("Gini(", "Jini(", "unknown class 'Gini'"),
    ],
)
def test_a_wrong_score_of_your_own_is_refused(old, new, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(OWN.replace(old, new))
    with pytest.raises(ConfigError) as refused:
        run(tmp_path / "results", scores=["./mine.py:Gini"])
    assert said in str(refused.value)
    assert "mine.py" in str(refused.value)


def test_a_score_that_is_no_number_fails_the_trial_by_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(OWN.replace("- 1", "- float('nan')"))
    failed = run(tmp_path / "results", scores=["./mine.py:Gini"]).failures
    assert len(failed) == 2
    assert "the score ./mine.py:Gini must be a finite number, got nan" in failed["message"][0]
