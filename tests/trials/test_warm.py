"""Compiling, or loading what was compiled, is in no trial's seconds: told by what numba compiles while a watch runs."""

import sys
from dataclasses import replace

import pytest
from numba.core.dispatcher import Dispatcher

from rffbench.arguments.rowsource import Stopwatch
from rffbench.features import MAPS
from rffbench.kernels import KERNELS
from rffbench.kernels.served import kernels_served
from rffbench.linalg import triangles, trigonometric
from rffbench.plugins.registry import NONE
from rffbench.solvers import spec as solver_spec
from rffbench.solvers.sparse import fully_corrective
from rffbench.trials import problem as trial_problem
from rffbench.trials.problem import Problem
from rffbench.trials.single import run_trial
from rffbench.trials.tasks import run_group
from tests.helpers.small_trials import METHODS, RIDGE, Heard, spec

pytestmark = pytest.mark.usefixtures("embedded", "one_thread")


def compiled():
    """Every compiled function of this package."""
    return {
        value
        for name, module in list(sys.modules.items())
        if name.startswith("rffbench")
        for value in vars(module).values()
        if isinstance(value, Dispatcher)
    }


@pytest.fixture
def late(monkeypatch):
    """A process that has compiled nothing yet: what it compiles while a watch runs."""
    for function in compiled():
        function._reset_overloads()
    for cached in (trigonometric.warm_up, triangles.warm_up, fully_corrective.warm_up):
        cached.cache_clear()
    trial_problem._warm.clear()
    found = []

    def signatures():
        return {(function.__name__, str(each)) for function in compiled() for each in function.signatures}

    def enter(self, original=Stopwatch.__enter__):
        self.before = signatures()
        return original(self)

    def leave(self, *error, original=Stopwatch.__exit__):
        original(self, *error)
        found.extend(sorted(signatures() - self.before))

    monkeypatch.setattr(Stopwatch, "__enter__", enter)
    monkeypatch.setattr(Stopwatch, "__exit__", leave)
    return found


def in_each_dtype(names, cases, quick):
    """The cases with float64, and with float32: the ``quick`` ones here, the others among the slow tests."""
    slow = pytest.mark.slow
    return pytest.mark.parametrize(
        (names, "dtype"),
        [
            *((each, "float64") for each in cases),
            *(pytest.param(each, "float32", marks=[] if each in quick else slow) for each in cases),
        ],
    )


def a_trial(features, solver, dtype="float64", **changes):
    solver = solver_spec(solver)
    if features != NONE and "gaussian" not in (served := kernels_served(MAPS.factory(features).serves.kernels)):
        changes["kernel"] = {"name": served[0], "gamma": 0.3 if KERNELS[served[0]].has_bandwidth else 1.0}
    return replace(spec(dtype=dtype, **changes), features={"name": features}, solver=solver)


@in_each_dtype("features", [name for name in MAPS.names() if name != NONE], ["complex-to-real"])
def test_no_map_compiles_while_it_is_timed(late, features, dtype):
    run_trial(a_trial(features, RIDGE, dtype))
    assert not late


HELD = {"name": "linear-svm", "method": "held"}
SPARSE = {"name": "sparse-rf", "steps": 2}


@pytest.mark.parametrize("dataset", ["breast-cancer", "synthetic-regression"])
@in_each_dtype(
    "solver",
    [
        RIDGE, RIDGE | {"folds": 4}, RIDGE | {"center": "both"}, RIDGE | {"lambda": [0.1]}, {"name": "kernel-ridge"},
        {"name": "kernel-svm"}, HELD, {"name": "linear-svm", "method": "streamed"}, SPARSE,
        {"name": "boosting", "steps": 3},
    ],
    [HELD, SPARSE],
)  # fmt: skip
def test_no_solver_compiles_while_it_is_timed(late, solver, dataset, dtype):
    if "svm" in solver["name"] and dataset == "synthetic-regression":
        pytest.skip("for classification")
    features = "fourier" if solver["name"] in ("ridge", "linear-svm") else NONE
    run_trial(a_trial(features, solver, dtype, dataset=dataset))
    assert not late


@pytest.mark.parametrize(
    ("library", "features", "solver"),
    [
        ("liblinear.liblinear", "fourier", {"name": "linear-svm", "method": "liblinear"}),
        ("libsvm.svm", NONE, {"name": "kernel-svm", "loss": "hinge"}),
    ],
)
def test_no_library_is_loaded_while_a_solver_is_timed(monkeypatch, library, features, solver):
    monkeypatch.delitem(sys.modules, library, raising=False)
    found = []

    def leave(self, *error, original=Stopwatch.__exit__):
        original(self, *error)
        found.append(library in sys.modules)

    def enter(self, original=Stopwatch.__enter__):
        found.append(library in sys.modules)
        return original(self)

    monkeypatch.setattr(Stopwatch, "__enter__", enter)
    monkeypatch.setattr(Stopwatch, "__exit__", leave)
    run_trial(a_trial(features, solver))
    assert found[::2] == found[1::2]


def test_trials_that_share_work_compile_nothing_while_they_are_timed(late):
    heard = Heard()
    run_group([spec(method) for method in METHODS], heard)
    assert {result.status for result in heard.results.values()} == {"ok"}
    assert not late


def test_warming_up_is_done_once_a_process(late, monkeypatch):
    fits = []
    original = Problem.features
    problem = Problem.of(spec("Ours"))
    run_trial(spec("Ours"), problem)
    monkeypatch.setattr(trial_problem, "clone", lambda features: fits.append(features))
    monkeypatch.setattr(Problem, "features", original)
    run_trial(spec("Ours", n_features=4), problem)
    assert not fits
