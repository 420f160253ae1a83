"""Flaws of released protocols: what each does to the rows or to the predictions, and where it has no meaning."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rffbench import data
from rffbench.config.costs import test_rows as rows_to_test
from rffbench.config.costs import train_rows as rows_to_train
from rffbench.config.experiment import Experiment
from rffbench.data.cards import load_card, with_split
from rffbench.errors import ConfigError
from rffbench.io.yamlfile import Misplaced
from rffbench.trials.flaws import NAMES, with_flawed_scores
from rffbench.trials.problem import Problem
from rffbench.trials.single import run_trial
from tests.helpers.small_trials import spec

pytestmark = pytest.mark.usefixtures("embedded")

TENTH = {"rule": "random", "train": 0.9}
PCG = {"name": "pcg", "lambda": [0.01], "lambda_scale": 1, "center": False, "preconditioner": "none", "budget": None}


def fitted(asked):
    """The problem of a trial, and its fitted solver."""
    problem = Problem.of(asked)
    solver = problem.solver(asked, problem.features(asked))
    return problem, solver.fit(problem.split.X_train, problem.split.y_train)


def test_the_last_class_is_never_predicted(tmp_path):
    rng = np.random.default_rng(0)
    classes = rng.integers(3, size=300)
    X = rng.standard_normal((300, 2)) + 3 * classes[:, None]
    lines = [f"{a},{b},{'xyz'[each]}" for (a, b), each in zip(X, classes, strict=True)]
    (tmp_path / "three.csv").write_text("\n".join(["a,b,class", *lines]))
    config = CONFIG | {"datasets": [{"path": str(tmp_path / "three.csv")}], "n_features": [64]}
    found = {}
    for flaws in ([], ["last-class-lost"]):
        (asked,) = Experiment.model_validate(config | {"flaws": flaws}).grid()
        found[len(flaws)] = run_trial(asked).metrics["accuracy"]
    problem, solver = fitted(asked)
    y, scores = problem.split.y_test, solver.decision_function(problem.split.X_test)
    assert found[0] == pytest.approx(100 * np.mean(scores.argmax(axis=1) == y))
    assert found[1] == pytest.approx(100 * np.mean(scores[:, :2].argmax(axis=1) == y))
    assert found[1] <= 100 * np.mean(y != 2) < 75 < 85 < found[0]


def test_a_row_whose_bins_are_empty_is_an_error_whatever_its_class():
    narrow = {"name": "laplacian", "gamma": 3.0}
    asked = spec(features={"name": "random-binning"}, kernel=narrow, n_features=4)
    asked = replace(asked, solver=PCG)
    problem, solver = fitted(asked)
    Z = solver.features_.transform(np.asarray(problem.split.X_test))
    empty = Z.sum(axis=1) == 0
    assert 0.02 < empty.mean() < 0.98
    scores = solver.decision_function(problem.split.X_test)
    assert (scores[empty] == 0).all()
    right = (solver.predict(problem.split.X_test) == problem.split.y_test) & (scores != 0)
    flawed = run_trial(replace(asked, flaws=["zero-scores-wrong"])).metrics["accuracy"]
    assert flawed == pytest.approx(100 * right.mean())
    assert flawed < run_trial(asked).metrics["accuracy"] - 1


def test_both_flaws_of_scores_together():
    scores, classes = np.array([[0.0, 0, 0], [1, 2, 3], [2, 1, 0]]), np.array([4.0, 5, 6])
    found = with_flawed_scores(NAMES, np.array([4.0, 6, 4]), scores, classes)
    np.testing.assert_array_equal(found, [np.nan, 5, 4])


def test_test_rows_are_appended_and_split_again():
    card = with_split(load_card("breast-cancer"), TENTH)
    added = set()
    for trial in range(12):
        asked = spec(split=TENTH, trial=trial, flaws=["test-rows-appended"])
        split = data.train_test(
            "breast-cancer", seed=0, trial=trial, split=TENTH, flaws=["test-rows-appended"], preprocess=["minmax"]
        )
        rows = np.concatenate([split.X_train.index, split.X_test.index])
        found, times = np.unique(rows, return_counts=True)
        assert len(found) == card.rows
        assert (times == 1).sum() in (card.n_train, card.rows)  # all rows, if the part was added once
        assert len({*times} - {1}) <= 1
        added.add(times.max())
        assert len(split.X_train) == int(card.n_train / card.rows * len(rows))
        assert (len(split.X_train), len(split.X_test)) == (rows_to_train(asked), rows_to_test(asked))
    assert len(added) > 5
    assert max(added) <= 20


def test_test_rows_are_scaled_apart():
    name, asked = "digits", {"seed": 0, "trial": 0, "preprocess": ["standard"]}
    plain = data.train_test(name, **{**asked, "preprocess": ["none"]})
    train, test = np.asarray(plain.X_train), np.asarray(plain.X_test)
    train, test = ((part - part.mean()) / part.std() for part in (train, test))
    varies = np.ptp(train, axis=0) > 0  # the others become 0
    test = np.where(varies, (test - train.mean(axis=0)) / np.where(varies, train.std(axis=0), 1), 0)
    split = data.train_test(name, **asked, flaws=["test-rows-scaled-apart"])
    np.testing.assert_allclose(np.asarray(split.X_test), test, atol=1e-10)
    alike = data.train_test(name, **asked)
    np.testing.assert_allclose(np.asarray(split.X_train), np.asarray(alike.X_train), atol=1e-10)
    assert np.abs(np.asarray(alike.X_test) - test).max() > 1e-3


def test_with_each_part_fitted_by_itself_all_steps_of_the_test_rows_are():
    asked = {"seed": 0, "trial": 0, "preprocess": ["standard"], "preprocess_fit": "parts"}
    flawed, alike = (data.train_test("digits", **asked, flaws=flaws) for flaws in (["test-rows-scaled-apart"], []))
    np.testing.assert_allclose(np.asarray(flawed.X_test), np.asarray(alike.X_test), atol=1e-10)


CONFIG = {
    "name": "flawed",
    "datasets": ["digits", "breast-cancer"],
    "n_features": [8],
    "methods": {"RFF": {"features": "fourier"}},
    "trials": 1,
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"flaws": "last-class-lost"}, "last-class-lost needs three classes or more; digits has 2"),
        ({"flaws": {"digits": "test-rows-appended", "default": []}, "split": {"rule": "given", "train": 1000}},
         "test-rows-appended needs a split at random; that of digits is given"),
        ({"flaws": "zero-scores-wrong", "solver": {"name": "none"}},
         "zero-scores-wrong is a flaw of the scores of classes; the solver has no decision scores"),
        ({"flaws": "zero-scores-wrong", "datasets": ["synthetic-regression"]},
         "zero-scores-wrong is a flaw of the scores of classes; synthetic-regression is a regression"),
        ({"flaws": "test-rows-scaled-apart", "datasets": ["adult"], "preprocess": ["impute-most-frequent", "onehot"]},
         "test-rows-scaled-apart scales numbers, before all steps; adult has missing values and columns of words"),
        ({"flaws": {"mnist": "zero-scores-wrong", "default": []}}, "unknown dataset of this experiment 'mnist'"),
        ({"flaws": "last-class-lots"}, "last-class-lots"),
    ],
)  # fmt: skip
def test_a_flaw_without_a_meaning_is_refused(change, message):
    with pytest.raises((Misplaced, ConfigError, ValueError)) as refused:
        Experiment.model_validate(CONFIG | change)
    assert message in str(refused.value)


def test_flaws_are_per_dataset_and_per_method():
    config = CONFIG | {
        "split": TENTH,
        "flaws": {"digits": ["zero-scores-wrong"], "default": []},
        "methods": {
            "RFF": {"features": "fourier"},
            "own": {"features": "fourier", "flaws": {"digits": [], "default": ["test-rows-appended"]}},
        },
    }
    experiment = Experiment.model_validate(config)
    found = {(each.dataset, each.method): each.flaws for each in experiment.grid()}
    assert found == {
        ("digits", "RFF"): ["zero-scores-wrong"], ("breast-cancer", "RFF"): [],
        ("digits", "own"): [], ("breast-cancer", "own"): ["test-rows-appended"],
    }  # fmt: skip
    assert Experiment.model_validate(experiment.to_dict()).to_dict() == experiment.to_dict()
    plain = {each.dataset: each.key for each in Experiment.model_validate(CONFIG | {"split": TENTH}).grid()}
    same = {each.dataset: each.key for each in experiment.grid() if each.method == "RFF"}
    assert plain["breast-cancer"] == same["breast-cancer"]
    assert plain["digits"] != same["digits"]


def test_the_page_of_configs_names_every_flaw():
    text = (Path(__file__).parents[2] / "docs" / "config.md").read_text(encoding="utf-8")
    assert [f"| `{name}` |" in text for name in NAMES] == [True] * len(NAMES)
