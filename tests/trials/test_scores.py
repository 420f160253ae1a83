"""Scores of predictions are those of scikit-learn or of their formula, and what a solver cannot give is refused."""

import numpy as np
import pytest
import sklearn.metrics
from scipy.special import expit

import rffbench
from rffbench.errors import ConfigError
from rffbench.trials.metrics import METRICS
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
    assert all(METRICS[name].better for name in SCORES)


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


def test_several_classes_and_values_have_their_scores(tmp_path):
    letters = run(tmp_path, datasets=["digits"], n_features=[8]).trials
    assert letters["auc"].between(0.5, 1).all()
    values = run(
        tmp_path / "values", datasets=["synthetic-regression"], scores=["mae", "r2"],
        solver={"name": "ridge", "lambda": [1e-3]},
    ).trials  # fmt: skip
    assert (values["mae"] < values["rmse"]).all()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"scores": ["auk"]}, "unknown score 'auk'; did you mean 'auc'"),
        (
            {"solver": {"name": "ridge"}},
            "log_loss needs probabilities, which the solver ridge does not give; write calibrate: platt",
        ),
        ({"solver": {"name": "linear-svm"}}, "log_loss needs probabilities, which the solver linear-svm does not give"),
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


def test_a_trial_without_scores_has_the_key_that_it_had():
    from tests.helpers.small_trials import spec

    assert "scores" not in spec().to_dict()
    assert spec(scores=["auc"]).to_dict()["scores"] == ["auc"]


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
        ('needs = "scores"', 'needs = "votes"', "needs must be one of labels, scores, probabilities, not 'votes'"),
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
