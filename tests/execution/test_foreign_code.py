"""What code of a user's own does in its trials, or when it is loaded, changes no trial of another method."""

import locale
import math
import os
import resource
import signal
import sys
import time
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
import sklearn
import yaml
from sklearn.base import BaseEstimator

from rffbench.config.loading import load_experiment
from rffbench.execution.local import LocalExecutor
from rffbench.execution.log import read_rows
from rffbench.execution.run import run_experiment
from rffbench.execution.serial import SerialExecutor
from rffbench.kernels import ALIASES
from rffbench.trials.foreign import foreign_code
from rffbench.trials.tasks import run_group, tasks
from tests.helpers.cases import others_slow
from tests.helpers.misdeeds import ANYWHERE, CHANGES_ROWS, IN_A_METHOD, source
from tests.helpers.small_trials import Heard, spec

CONFIG = {
    "name": "foreign", "datasets": ["breast-cancer"], "preprocess": "minmax", "count": "columns",
    "kernel": {"name": "gaussian", "sigma": 2.0}, "n_features": [16, 32], "trials": 1,
    "solver": {"name": "ridge", "lambda": [1e-4, 1e-2], "folds": 3},
}  # fmt: skip
BUILT_IN = {
    "RFF": {"features": "fourier"}, "SORF": {"features": "sorf"}, "Nyström": {"features": "nystroem"},
    "SVM": {"features": "fourier", "solver": {"name": "linear-svm"}},
}  # fmt: skip
PLACES = [(deed, place) for deed in ANYWHERE for place in ("top", "fit", "transform")] + [
    (deed, place) for deed in IN_A_METHOD for place in ("fit", "transform")
]
pytestmark = pytest.mark.usefixtures("embedded")


def run(folder, methods, executor, **changes):
    """The rows of a run of these methods."""
    folder.mkdir(exist_ok=True)
    (folder / "c.yaml").write_text(yaml.safe_dump({**CONFIG, **changes, "methods": methods}))
    run_experiment(load_experiment(folder / "c.yaml"), folder / "results", executor=executor)
    return read_rows(folder / "results" / "trials.jsonl")


def scores(rows, methods=BUILT_IN):
    return {
        (row["method"], row["n_features"]): (row["status"], row["metrics"], row["lambda"])
        for row in rows if row["method"] in methods
    }  # fmt: skip


def own(folder, places):
    """A method for each misdeed, in a file of its own."""
    folder.mkdir(exist_ok=True)
    methods = {}
    for number, (deed, place) in enumerate(places):
        (folder / f"own{number}.py").write_text(source(deed, place))
        methods[f"{deed} ({place})"] = {"features": f"./own{number}.py:Own"}
    (folder / "good.py").write_text(source("cosine", "nowhere"))
    return {**methods, "good": {"features": "./good.py:Own"}}


def surroundings():
    """What this process's later work depends on."""
    return {
        "functions": [np.cos, np.random.default_rng, scipy.linalg.cholesky, BaseEstimator.get_params, sum, sorted, open,
                      time.perf_counter, time.time, sys.modules["numpy.random"], sys.modules["json"]],
        "constants": (np.pi, np.inf), "sklearn": sklearn.get_config(), "folder": os.getcwd(),
        "environment": dict(os.environ), "locale": locale.setlocale(locale.LC_ALL), "errors": np.geterr(),
        "recursion": sys.getrecursionlimit(), "streams": (sys.stdout, sys.stderr),
        "files": resource.getrlimit(resource.RLIMIT_NOFILE), "processors": os.sched_getaffinity(0),
        "handlers": [signal.getsignal(each) for each in (signal.SIGALRM, signal.SIGTERM)],
        "timers": [signal.getitimer(each) for each in (signal.ITIMER_REAL, signal.ITIMER_PROF)],
        "blocked": signal.pthread_sigmask(signal.SIG_BLOCK, ()),
    }  # fmt: skip


@pytest.fixture(scope="module")
def alone(tmp_path_factory, cache):
    """The scores of the built-in methods, and of the good map, each in a run without the others."""
    os.environ["RFFBENCH_CACHE"] = str(cache)
    folder = tmp_path_factory.mktemp("alone")
    built_in = scores(run(folder / "built-in", BUILT_IN, LocalExecutor(workers=2)))
    methods = own(folder / "good", [])
    return built_in | scores(run(folder / "good", methods, LocalExecutor(workers=2)), methods)


def judged(rows, alone, places):
    """Fails unless all other methods' trials are as alone, and each misdeed's trials have one row."""
    assert scores(rows, [*BUILT_IN, "good"]) == alone
    assert set(Counter(row["key"] for row in rows).values()) == {1}
    assert len(rows) == 2 * (len(BUILT_IN) + 1 + len(places))


@pytest.mark.long
def test_in_workers_a_misdeed_changes_no_other_method(alone, tmp_path):
    before = surroundings()
    rows = run(tmp_path, {**own(tmp_path, PLACES), **BUILT_IN}, LocalExecutor(workers=2, time_limit=60))
    assert surroundings() == before, "loading the files has changed this process"
    judged(rows, alone, PLACES)
    for row in rows:
        if row["method"].partition(" (")[0] in CHANGES_ROWS:
            assert (row["status"], row["error"]["type"]) == ("error", "ChangedRows"), row["method"]


@pytest.mark.slow
@pytest.mark.parametrize("place", ["top", "fit", "transform"])
def test_in_one_process_what_can_be_undone_is_undone(alone, tmp_path, place):
    places, before = [(deed, place) for deed in ANYWHERE], surroundings()
    rows = run(tmp_path, {**own(tmp_path, places), **BUILT_IN}, SerialExecutor())
    assert surroundings() == before
    judged(rows, alone, places)


@pytest.mark.parametrize("deed", others_slow(CHANGES_ROWS, ["owner"]))
def test_a_map_that_changes_its_rows_gets_an_error_and_its_next_size_the_right_rows(tmp_path, deed):
    once = source(deed, "transform").replace("        X = np", "        if self.n_components > 16: return X[:, :1] * 0 "
                                             "+ np.tanh(X @ self.W_)\n        X = np")  # fmt: skip
    methods = own(tmp_path, [])
    (tmp_path / "once.py").write_text(once)
    rows = run(tmp_path, {**methods, "once": {"features": "./once.py:Own"}}, LocalExecutor(workers=2))
    found = {(row["method"], row["n_features"]): row for row in rows}
    assert found["once", 16]["error"]["type"] == "ChangedRows"
    assert "once.py:Own changes the rows or targets" in found["once", 16]["error"]["message"]
    assert found["once", 32]["metrics"]["accuracy"] == found["good", 32]["metrics"]["accuracy"]


def test_a_map_that_closes_all_files_has_a_row_and_no_traceback_is_shown(rffbench, tmp_path):
    (tmp_path / "own.py").write_text(source("descriptors", "transform"))
    (tmp_path / "whole.yaml").write_text(
        "name: whole\ndatasets: [breast-cancer]\nn_features: [8]\n"
        "methods: {own: {features: './own.py:Own'}}\ntrials: 1\n"
    )
    done = rffbench("run", "whole.yaml", "--workers", 1)
    assert done.returncode in (1, 3)
    assert "1 × killed: the worker exited with status 1" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_map_cannot_make_its_rows_writable(tmp_path):
    (tmp_path / "own.py").write_text(source("flags", "transform"))
    rows = run(tmp_path, {"own": {"features": "./own.py:Own"}}, LocalExecutor(workers=1))
    assert {row["error"]["type"] for row in rows} == {"ValueError"}
    assert all("own.py, line" in row["error"]["message"] for row in rows)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"features": {"name": "/a/mine.py:Own"}}, ["./mine.py:Own"]),
        ({"features": {"name": "of-a-package"}}, ["of-a-package"]),
        ({"solver": {"name": "of-a-package"}}, ["of-a-package"]),
        ({"kernel": {"name": "/a/k.py:Mine", "gamma": 1.0}}, ["./k.py:Mine"]),
        ({"kernel": {"name": "gaussian", "gamma": {"features": "/a/mine.py:Own"}}}, ["./mine.py:Own"]),
        ({"scores": ["auc", "/a/s.py:Mine"]}, ["./s.py:Mine"]),
        ({"kernel": {"name": next(iter(ALIASES)), "gamma": 1.0}, "scores": ["auc"]}, []),
    ],
)
def test_trials_of_foreign_code_are_tasks_of_one_method(change, named):
    built_in, first = spec("RFF", n_features=8), replace(spec("RFF", n_features=8), **change)
    second = replace(first, method="other")
    third = replace(first, n_features=16)
    assert foreign_code(first) == named
    grouped = [sorted(each.key for each in task) for task in tasks([built_in, first, second, third])]
    if named:
        assert grouped == [[built_in.key], sorted([first.key, third.key]), [second.key]]


@pytest.mark.parametrize("setting", [{"transform_output": "pandas"}, {"assume_finite": True}])
def test_scores_do_not_depend_on_the_configuration_of_scikit_learn(setting):
    asked = [spec("RFF"), spec("QMC"), spec("offset", solver={"name": "linear-svm"})]
    usual, other = Heard(), Heard()
    for each in asked:
        run_group([each], usual)
    with sklearn.config_context(**setting):
        for each in asked:
            run_group([each], other)
        assert sklearn.get_config().items() >= setting.items()
    assert {key: each.metrics for key, each in other.results.items()} == {
        key: each.metrics for key, each in usual.results.items()
    }
    assert math.isfinite(usual.results[asked[0].key].metrics["accuracy"])


@pytest.mark.slow
def test_a_method_alone_has_the_same_threads_and_last_digits_beside_a_map_of_ones_own(tmp_path):
    one, sizes = {"RFF": {"features": "fourier"}}, {"n_features": [64, 512]}
    executor = LocalExecutor(workers=2)
    without = run(tmp_path / "without", one, executor, **sizes)
    beside = run(tmp_path / "beside", {**own(tmp_path / "beside", []), **one}, executor, **sizes)
    assert scores(beside, one) == scores(without, one)
    threads = {row["timing"]["threads"] for row in without}
    assert {row["timing"]["threads"] for row in beside if row["method"] == "RFF"} == threads
