"""One trial: load, split, preprocess, map, solve, score. A pure function of its spec; no I/O but the data cache."""

from __future__ import annotations

from contextlib import nullcontext
from statistics import median
from time import sleep
from typing import Any

from numpy.typing import NDArray

from rffbench.arguments.rowsource import clock, since
from rffbench.errors import MemoryBudgetError
from rffbench.features.hooks import makes_sparse
from rffbench.io.process import Contention, OwnMemory, touch_memory
from rffbench.trials.foreign import ChangedRows, leaving_others_alone
from rffbench.trials.guards import against_faulty_parts, seconds_of
from rffbench.trials.memory import bytes_to_plan_with, check_measuring
from rffbench.trials.problem import Problem, warm_up
from rffbench.trials.results import FittedTrial, predicts_alone
from rffbench.trials.seconds import ENOUGH_S
from rffbench.trials.spec import Channel, TrialResult, TrialSpec

LONG_S = 0.5  # of fits and predictions; a trial alone on the machine is repeated until they take as long
MOST_FITS = 5  # of such a trial


def run_trial(spec: TrialSpec, problem: Problem | None = None, *, memory: int | None = None) -> TrialResult:
    """Run one trial by itself; return its result. It shares only the rows with others, and all its seconds are its own.

    ``problem`` is the spec's problem, if it is made already. ``memory`` is the limit of the process in bytes;
    MemoryBudgetError, before the solver starts, if it is too small.
    """
    problem = problem or Problem.of(spec)
    features, solver, free = _ready(spec, problem, memory)
    X, y = problem.split.X_train, problem.targets_of(spec)
    with against_faulty_parts(spec, features, solver, X, y, (memory, free)) as caught:
        if features is not None:
            check_measuring(spec, len(X), features.n_components, free)
        predicted, seconds = _fit(spec, problem, features, solver)
        result = FittedTrial(problem, spec, solver).result(predicted, seconds)
    result.warnings = caught
    return result


def _ready(spec: TrialSpec, problem: Problem, memory: int | None) -> tuple[Any, Any, int | None]:
    """The map and the solver of a trial, neither of them fitted, and the bytes to plan with."""
    features = problem.features(spec)
    free = bytes_to_plan_with(memory, getattr(features, "n_components", 0))
    return features, ready_solver(spec, problem, features, free), free


def _fit(spec: TrialSpec, problem: Problem, features: Any, solver: Any) -> tuple[NDArray | None, dict[str, Any]]:
    """Fit the solver, and predict the test rows if that is timed here; the predictions and the seconds."""
    split, seconds, predicted = problem.split, dict[str, Any](shared=False), None
    watched = {"eval_set": (split.X_test, split.y_test)} if spec.solver.get("record") else {}
    y = problem.targets_of(spec)
    with Contention() as contention:
        started = clock()
        solver.fit(split.X_train, y, **watched)
        whole_s = since(started)
        if spec.learner is not None and not predicts_alone(spec, features):
            predicted, seconds["predict_s"] = problem.predict(solver)
    return predicted, seconds | seconds_of(solver, whole_s) | {"contended": contention.contended}


def ready_solver(spec: TrialSpec, problem: Problem, features: Any, memory: int | None) -> Any:
    """The spec's solver, not yet fitted, with its map's code compiled."""
    if features is not None:
        warm_up(features, problem.split.X_train.dtype)
    return problem.solver(spec, features, memory)


def _ridge_bytes(spec: TrialSpec, problem: Problem, limit: int | None) -> int:
    """The bytes that ridge plans to use in a process with that limit. 0 for another solver, for sparse features (whose
    columns are not known yet), and if the trial will be refused."""
    if spec.solver["name"] != "ridge":
        return 0
    features = problem.features(spec)
    if makes_sparse(features):
        return 0
    solver = problem.solver(spec, features, bytes_to_plan_with(limit, features.n_components))
    try:
        return int(solver.bytes_to_fit(*problem.split.X_train.shape))
    except MemoryBudgetError:
        return 0


def run_single(spec: TrialSpec, problem: Problem, channel: Channel) -> None:
    """Run one trial and report it to ``channel``; with ``timing: exclusive``, also its own memory."""
    if spec.device == "cpu":
        touch_memory(_ridge_bytes(spec, problem, channel.memory_limit))
    try:
        with leaving_others_alone(spec, problem):
            result = _result(spec, problem, channel)
    except ChangedRows:
        raise
    except Exception as error:
        channel.fail(spec, error)
    else:
        channel.result(result)


def _result(spec: TrialSpec, problem: Problem, channel: Channel) -> TrialResult:
    # Not for other trials: only some rows of a table would have it, and the garbage collection takes time.
    around, own = (Contention(), OwnMemory()) if spec.timing == "exclusive" else (None, None)
    with around or nullcontext(), own or nullcontext():
        channel.begin(spec)
        result = run_trial(spec, problem, memory=channel.memory_limit)
    if own is not None and own.bytes is not None:
        result.metrics["own_memory_bytes"] = float(own.bytes)
    if around is not None:
        result.seconds |= _repeated(spec, problem, channel.memory_limit, result.seconds, around)
    return result


def _repeated(
    spec: TrialSpec, problem: Problem, memory: int | None, first: dict[str, Any], around: Contention
) -> dict[str, Any]:
    """The seconds of a trial alone on the machine, whose ``first`` fit was measured in ``around``. A short one is
    repeated from the start, and the median of each part counts: one fit may take several times what the next does."""
    every = [first]
    while spec.device == "cpu" and len(every) < MOST_FITS and sum(map(_whole, every)) < LONG_S:
        features, solver, free = _ready(spec, problem, memory)
        X, y = problem.split.X_train, problem.targets_of(spec)
        with around, against_faulty_parts(spec, features, solver, X, y, (memory, free)):
            every.append(_fit(spec, problem, features, solver)[1])
    parts = [name for name in first if name.endswith("_s")]
    seconds: dict[str, Any] = {name: float(median([each[name] for each in every])) for name in parts}
    if len(every) > 1:
        seconds["repeats"] = dict.fromkeys(parts, len(every))
        seconds["contended"] = around.contended
    if seconds.get("contended", first.get("contended", False)) is None:
        seconds["contended"] = _contended_around(around)
    return seconds


def _whole(seconds: dict[str, Any]) -> float:
    return sum(value for name, value in seconds.items() if name.endswith("_s"))


def _contended_around(trial: Contention) -> bool | None:
    """Whether others used the processors during a ``trial`` alone on the machine, if its timed parts are too short to
    show it: over the whole trial and, if that is short too, over some time after it."""
    if (left := ENOUGH_S - trial.seconds) > 0:
        with trial:
            sleep(left)
    return trial.contended
