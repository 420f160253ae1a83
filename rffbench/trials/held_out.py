"""The errors held out on folds of the training rows, by which a bandwidth is chosen.

A solver that chooses λ by its own cross-validation has them. Any other is fitted once for each fold, to the rows of the
others, and its predictions are scored by the config's metric: the first of ``scores`` for the task, else the accuracy
or the RMSE.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rffbench.plugins.parts import Task
from rffbench.solvers import cross_validates
from rffbench.trials.edges import chosen_fold_errors
from rffbench.trials.foreign import leaving_others_alone
from rffbench.trials.guards import against_faulty_parts, read_only
from rffbench.trials.metrics import METRICS, PERCENT
from rffbench.trials.problem import Problem
from rffbench.trials.results import FittedTrial
from rffbench.trials.scores import score
from rffbench.trials.single import ready_solver
from rffbench.trials.spec import TrialSpec

FOLDS = 5  # for a solver that has no number of folds
_USUAL: dict[Task, str] = {"classification": "accuracy", "regression": "rmse"}


def chooses_by(spec: TrialSpec) -> list[str]:
    """The ``scores`` of a spec of which the first for its task scores the folds; none if the solver has errors of its
    own."""
    if cross_validates(spec.solver):
        return []
    return [name for name in spec.scores if score(name).metric.better is not None]


def held_out_errors(spec: TrialSpec, problem: Problem, memory: int | None) -> tuple[list[float], float | None]:
    """The error held out on each fold, at the λ that the solver's own cross-validation chooses; and that λ, else
    None."""
    if cross_validates(spec.solver):
        solver = _fitted(spec, problem, memory)
        return chosen_fold_errors(solver), float(solver.alpha_)
    if errors := [_error(spec, part, memory) for part in _parts(spec, problem)]:
        return errors, None
    raise ValueError("no bandwidth can be chosen by held-out rows: the rows outside each fold are of one class")


def _error(spec: TrialSpec, part: Problem, memory: int | None) -> float:
    """The error of a fit to one part's training rows: a score of which less is better, or what another score lacks of
    1, or of 100 %."""
    solver, task = _fitted(spec, part, memory), part.split.task
    predicted, _ = part.predict(solver)
    choosing = chooses_by(spec)
    first = dict([each for each in spec.further_scores(task).items() if each[0] in choosing][:1])
    metric = next((each.metric for each in first.values()), METRICS[_USUAL[task]])
    found = FittedTrial(part, spec, solver).scores(predicted, first)[metric.name]
    if metric.better == "less":
        return found
    return 1 - found / (100 if metric.unit == PERCENT else 1)


def _fitted(spec: TrialSpec, problem: Problem, memory: int | None) -> Any:
    """The solver, fitted to the problem's training rows."""
    split, features = problem.split, problem.features(spec)
    solver = ready_solver(spec, problem, features, memory)
    with (
        leaving_others_alone(spec, problem),  # the trial that has the chosen bandwidth warns of what concerns it
        against_faulty_parts(spec, features, solver, split.X_train, split.y_train),
    ):
        solver.fit(split.X_train, split.y_train)
    return solver


def _parts(spec: TrialSpec, problem: Problem) -> Iterator[Problem]:
    """For each fold, the problem with the fold's rows in place of the test rows. Rows of a class that the others lack
    are left out."""
    split, y = problem.split, np.asarray(problem.split.y_train)
    X, count = split.X_train, int(spec.solver.get("folds") or FOLDS)
    streamed = isinstance(X.index, range)
    for there, held in _last(len(y), count) if streamed else _folds(split.task, y, count):
        if split.task == "classification":
            classes = np.unique(y[there])
            held = held if streamed else held[np.isin(y[held], classes)]
            if len(classes) < 2 or not len(held):
                continue
        part = replace(
            split, X_train=X.part(there), y_train=read_only(y[there]), X_test=X.part(held), y_test=read_only(y[held])
        )
        yield replace(problem, split=part, subsample=np.empty(0, dtype=np.int64))


def _folds(task: Task, y: NDArray, count: int) -> Iterable[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """(the other rows, the fold's rows) of each fold, as of scikit-learn's KFold, or StratifiedKFold for classes. Of
    two classes, each fold has some rows of either, if it can."""
    from sklearn.model_selection import KFold, StratifiedKFold

    if task == "regression":
        return list(KFold(min(count, len(y))).split(y))
    sizes = np.unique(y, return_counts=True)[1]
    most = int(sizes.min() if len(sizes) == 2 else sizes.max())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a class has fewer rows than there are folds
        return list(StratifiedKFold(min(count, max(2, most))).split(y, y))


def _last(n: int, count: int) -> Iterable[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """The last fold alone: for a stream, whose rows are read in order."""
    kept = n - max(1, n // count)
    return [(np.arange(kept), np.arange(kept, n))]
