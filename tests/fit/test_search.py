"""The search keeps to its time, gives every row the same trials, and what it finds can be written and run."""

import runpy
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegressionCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

pytest.importorskip("skrub", reason="pip install 'rffbench[fit]'")
pytest.importorskip("skops", reason="pip install 'rffbench[fit]'")

from rffbench.fit import writing
from rffbench.fit.advising import Advice, advise
from rffbench.fit.candidates import CONSTANT, EXACT, FIRST, FOURIER, KERNELS, LINEAR, TREES
from rffbench.fit.question import ask
from rffbench.fit.saying import lines
from rffbench.fit.trying import Search
from rffbench.fit.tuning import Tuned

rng = np.random.default_rng(0)


def table(rows=120):
    """Inputs of three kinds, and targets of each kind."""
    x = rng.uniform(-2, 2, size=(rows, 2)).round(3)
    city = rng.choice(["Rome", "Oslo", "Bonn"], rows)
    z = np.sin(3 * x[:, 0]) + 0.1 * rng.normal(size=rows)
    rare = np.zeros(rows, dtype=bool)
    rare[np.argsort(z)[-8:]] = True
    return pd.DataFrame({
        "a": x[:, 0], "b": x[:, 1], "city": city,
        "number": z.round(4), "other": (z * x[:, 1]).round(4), "rare": np.where(rare, "yes", "no"),
        "three": np.array(["low", "mid", "high"])[np.digitize(z, [-0.5, 0.5])],
    })  # fmt: skip


TABLE = table()
TARGETS = {"number": "number", "several": "number,other", "rare": "rare", "three": "three"}


@pytest.fixture(
    scope="module",
    params=["number", *(pytest.param(each, marks=pytest.mark.slow) for each in TARGETS if each != "number")],
)
def search(request, tmp_path_factory):
    """A search of the first candidates, kernel ridge and kernels of other forms, in three divisions."""
    targets = TARGETS[request.param].split(",")
    path = tmp_path_factory.mktemp("search") / "table.csv"
    TABLE[["a", "b", "city", *targets]].to_csv(path, index=False)
    found = Search(ask(path, ",".join(targets)), 0.01)
    found.run()
    tried = {candidate for candidate, _ in found.trials}
    for candidate in (each for each in CANDIDATES if each not in tried):
        for split in range(len(found.splits)):
            found.try_one(candidate, split)
    return found


def test_every_row_of_the_table_has_the_same_trials(search):
    counts = {key: [trial.split for trial in trials] for key, trials in search.trials.items()}
    assert set(map(tuple, counts.values())) == {tuple(range(len(search.splits)))}
    assert {candidate for candidate, _ in counts} >= {*FIRST, EXACT}
    advice = advise(search)
    assert {len(row.scores) for row in advice.rows} == {len(search.splits)}
    assert len(advice.rows) <= 8
    assert advice.rows[-1].candidate == CONSTANT


def test_the_last_lines_are_twelve_at_most_of_80_characters(search):
    found = lines(search, advise(search))
    assert len(found) <= 12
    assert max(map(len, found)) <= 80


def test_test_rows_are_never_training_rows_and_all_are_tested(search):
    for split in search.splits:
        assert not set(split.train) & set(split.test)
    tested = np.concatenate([split.test for split in search.splits])
    assert len(set(tested)) == len(tested)


CANDIDATES = (LINEAR, FOURIER, FIRST[3], TREES, EXACT, *KERNELS[:1], *KERNELS[3:4], *KERNELS[5:6])


@pytest.mark.slow
@pytest.mark.parametrize("candidate", CANDIDATES, ids=lambda each: each.name)
def test_what_is_written_predicts_the_same_in_every_form(candidate, search, tmp_path, monkeypatch, capsys):
    import joblib
    from skops import io

    size = search.sizes(candidate)[-1]
    made = writing.make(search, Advice(candidate, size, [], None, ""))
    paths = writing.write(tmp_path / "model", made, search.question, "page")
    assert {path.name for path in paths} == {"README.md", "model.joblib", "model.json", "model.py", "model.skops"}
    rows = search.question.frame
    expected = made.pipeline.predict(rows)
    loaded = joblib.load(tmp_path / "model" / "model.joblib")
    np.testing.assert_array_equal(loaded.predict(rows[rows.columns[::-1]]), expected)
    skops = tmp_path / "model" / "model.skops"
    np.testing.assert_array_equal(io.load(skops, trusted=writing.trusted_types(skops)).predict(rows), expected)
    if search.question.classes is not None:
        assert loaded.predict_proba(rows).sum(axis=1) == pytest.approx(1)
    assert len((tmp_path / "model" / "model.py").read_text().splitlines()) <= 40
    monkeypatch.setattr(sys, "argv", ["model.py"])
    found = runpy.run_path(str(tmp_path / "model" / "model.py"))["model"].predict(rows)
    if search.question.classes is None:
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    else:
        np.testing.assert_array_equal(found, expected)
    assert len(capsys.readouterr().out.splitlines()) >= len(rows)


class Stop:
    """Interrupts a search when it reports for the n-th time."""

    def __init__(self, n):
        self.left = n

    def __call__(self, seconds, doing):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.fixture(scope="module")
def question(tmp_path_factory):
    path = tmp_path_factory.mktemp("question") / "table.csv"
    TABLE[["a", "b", "city", "number"]].to_csv(path, index=False)
    return ask(path)


def test_ctrl_c_gives_advice_from_the_divisions_that_are_whole(question):
    search = Search(question, 1.0, report=Stop(40))
    search.run()
    assert search.interrupted
    assert len(search.splits) >= 1
    assert {len(trials) for trials in search.trials.values()} == {len(search.splits)}
    assert "Stopped by Ctrl-C" in lines(search, advise(search))[-1]


def test_ctrl_c_before_anything_is_measured_gives_none(question):
    with pytest.raises(KeyboardInterrupt):
        Search(question, 1.0, report=Stop(1)).run()


def test_a_candidate_that_fails_is_left_out_and_named(question, monkeypatch):
    def fail(*_):
        raise ValueError("no convergence")

    monkeypatch.setattr("rffbench.fit.trying.tune_trees", fail)
    search = Search(question, 0.01)
    search.run()
    assert TREES not in {candidate for candidate, _ in search.trials}
    assert "boosted trees (failed)" in search.not_tried
    assert TREES not in {row.candidate for row in advise(search).rows}


@pytest.mark.parametrize("times_the_rows", [1, 9])
def test_the_model_s_settings_are_in_the_middle_of_what_the_splits_chose(times_the_rows):
    X = rng.normal(size=(40, 2)).astype(np.float32)
    chosen = [(1e-6, 0.5), (1e-5, 1.0), (1e-3, 8.0)]
    trials = [SimpleNamespace(chosen=Tuned({"lambda": lambda_}, np.zeros(5), times)) for lambda_, times in chosen]
    found = SimpleNamespace(
        trials={(FOURIER, 512): trials}, training_rows=100, question=SimpleNamespace(rows=100 * times_the_rows)
    )
    settings = writing.settings_for_all_rows(found, FOURIER, 512, X)
    assert settings["lambda"] == pytest.approx(1e-5 / np.sqrt(times_the_rows), rel=0.01)
    assert settings["gamma"] == pytest.approx(1 / (2 * np.median(pdist(X)) ** 2), rel=1e-4)


class Clock:
    """``step`` seconds go by at each look."""

    def __init__(self, step):
        self.now, self.step = 0.0, step

    def __call__(self):
        self.now += self.step
        return self.now


def test_a_search_ends_in_its_time_and_says_what_was_not_tried(question):
    search = Search(question, 20.0, clock=Clock(2.0))
    search.run()
    assert search.gone < 20 * 60
    assert search.not_tried
    assert set(FIRST) <= {candidate for candidate, _ in search.trials}


@pytest.mark.slow
def test_of_classes_the_linear_model_is_a_logistic_regression_as_good_as_scikit_learns(tmp_path):
    frame = load_iris(as_frame=True).frame
    frame["target"] = np.array(["setosa", "versicolor", "virginica"])[frame["target"]]
    frame.to_csv(tmp_path / "iris.csv", index=False)
    search = Search(ask(tmp_path / "iris.csv"), 0.01)
    found = []
    for split in range(3):
        search.try_one(LINEAR, split)
        train, test = search.splits[split].train, search.splits[split].test
        X, y = frame.iloc[:, :4].to_numpy(), frame["target"].to_numpy()
        theirs = make_pipeline(StandardScaler(), LogisticRegressionCV(cv=5, max_iter=1000)).fit(X[train], y[train])
        found.append(search.trials[LINEAR, 0][split].score - theirs.score(X[test], y[test]))
    assert np.mean(found) > -0.03
