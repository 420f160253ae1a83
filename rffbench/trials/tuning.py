"""A bandwidth that held-out rows choose before the trials that have it are run.

Mostly the spec's γ is a mapping: one choice for each map, dataset and trial, for all sizes alike. σ is chosen from
``times_median``, multiples of the median distance between training rows, with features of ``columns`` columns, on at
most ``rows`` training rows. With ``and_lambda``, the best λ is kept too; else the trial chooses its own. ``features``
is a map that replaces the spec's own in the choice, so that all methods have the same σ. The choice depends only on the
spec without its size, not on the sizes that run together.

Else γ is a list, and the solver has no held-out errors of its own: each trial chooses its γ on its own rows. With such
errors, see `rffbench.trials.tasks.BestBandwidth`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rffbench.arguments.parameters import TIMES_MEDIAN, is_chosen_once
from rffbench.arguments.rowsource import Stopwatch
from rffbench.arguments.seeds import split_stream
from rffbench.io.process import Contention
from rffbench.kernels.bandwidth import gamma_of_rows
from rffbench.trials.edges import gain_at_edge
from rffbench.trials.foreign import ChangedRows
from rffbench.trials.held_out import chooses_by, held_out_errors
from rffbench.trials.problem import Problem
from rffbench.trials.seconds import either
from rffbench.trials.spec import Channel, Key, Relay, TrialResult, TrialSpec


@dataclass(frozen=True)
class Choice:
    """γ, σ over the median distance (None: γ is of a list), the best λ with them (None: the solver chooses none), the
    seconds of all fits, `gain_at_edge` if the multiple or γ is an end of its grid, and the held-out error."""

    gamma: float
    times: float | None
    lambda_: float | None
    seconds: float
    contended: bool | None
    edge: dict[str, float] | None
    error: float | None = None

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Choice:
        """The choice of a trial whose row is in a log."""
        metrics, timing, edge = row["metrics"], row["timing"], row.get("edges", {}).get(TIMES_MEDIAN)
        found = metrics["gamma"], metrics[TIMES_MEDIAN], row["lambda"], timing["bandwidth_s"], timing.get("contended")
        return cls(*found, edge, metrics.get("cv_error") if row["lambda"] is None else None)


def tuning_spec(spec: TrialSpec) -> TrialSpec:
    """The trial whose held-out errors choose a spec's bandwidth, without γ: one for all sizes of a method, or for all
    methods; of a list, the trial itself."""
    asked = spec.kernel["gamma"]
    spec = replace(
        spec, measures=[], scores=chooses_by(spec), score_sources=spec.score_sources if chooses_by(spec) else [],
        kernel_error_points=0, timing="shared",
    )  # fmt: skip
    if not is_chosen_once(asked):
        return replace(spec, kernel={**spec.kernel, "gamma": asked[0]})
    rows = min(asked["rows"], spec.train_rows or asked["rows"])
    if of_all := asked.get("features"):
        spec = replace(spec, method=of_all, features={"name": of_all}, source=None)
    return replace(
        spec, n_features=asked["columns"], multiple=None, count="columns", train_rows=rows,
        kernel={**spec.kernel, "gamma": "median"},
    )  # fmt: skip


def choosing_key(spec: TrialSpec) -> Key:
    """What the choice of a spec's bandwidth depends on: trials that have it in common have one choice."""
    return replace(tuning_spec(spec), kernel=spec.kernel).key


def choose(spec: TrialSpec, problem: Problem, memory: int | None = None) -> Choice:
    """Choose the bandwidth of ``spec`` on ``problem``, the problem of its `tuning_spec`."""
    rule, asked, X = spec.kernel["gamma"], tuning_spec(spec), problem.split.X_train
    grid: Sequence[float] = rule[TIMES_MEDIAN] if is_chosen_once(rule) else rule
    gammas = grid
    if is_chosen_once(rule):
        stream = split_stream(spec.seed, spec.dataset, spec.trial)
        gammas = [gamma_of_rows(problem.kernel, "median", X, stream, times) for times in grid]
    with Contention() as contention, Stopwatch(X) as watch:
        found = [held_out_errors(asked, replace(problem, gamma=gamma), memory) for gamma in gammas]
    folds = [errors for errors, _ in found]
    means = [float(np.mean(errors)) for errors in folds]
    best = int(np.argmin(means))
    edge = gain_at_edge(grid, folds, grid[best])
    times = grid[best] if is_chosen_once(rule) else None
    return Choice(gammas[best], times, found[best][1], watch.seconds, contention.contended, edge, means[best])


def with_choice(result: TrialResult, choice: Choice) -> TrialResult:
    """The result of a trial with a chosen γ, with the choice and its seconds."""
    contended = either(result.seconds.get("contended"), choice.contended)
    metrics, grid = {"gamma": choice.gamma}, "gamma"
    if choice.times is not None:
        metrics, grid = {**metrics, TIMES_MEDIAN: choice.times}, TIMES_MEDIAN
    # a trial with a λ has the error with which that was chosen, if it was
    if choice.error is not None and (choice.times is None or result.lambda_ is None):
        metrics["cv_error"] = choice.error
    return replace(
        result, metrics=result.metrics | metrics,
        seconds=result.seconds | {"bandwidth_s": choice.seconds, "contended": contended},
        edges=result.edges | ({grid: choice.edge} if choice.edge else {}),
    )  # fmt: skip


class OfChoice(Relay):
    """Reports trials with a chosen γ under the requested trials, and adds the choice to their results.

    ``chosen`` are the trials to run, with γ as a number.
    """

    def __init__(self, found: Sequence[tuple[TrialSpec, Choice]], channel: Channel) -> None:
        self.chosen = [_with_values(spec, choice) for spec, choice in found]
        super().__init__(((run, spec) for run, (spec, _) in zip(self.chosen, found, strict=True)), channel)
        self._choices = {run.key: choice for run, (_, choice) in zip(self.chosen, found, strict=True)}

    def result(self, result: TrialResult) -> None:
        super().result(with_choice(result, self._choices[result.spec.key]))


def _with_values(spec: TrialSpec, choice: Choice) -> TrialSpec:
    """The trial with the chosen γ, and with the chosen λ if that is kept."""
    solver: dict[str, Any] = dict(spec.solver)
    if is_chosen_once(spec.kernel["gamma"]) and spec.kernel["gamma"].get("and_lambda"):
        solver["lambda"] = [choice.lambda_]
    return replace(spec, kernel={**spec.kernel, "gamma": choice.gamma}, solver=solver)


def tuned(specs: Sequence[TrialSpec], channel: Channel) -> OfChoice:
    """Choose the bandwidth of every map among ``specs``, which differ only in map and size, and report failures to
    ``channel``."""
    problem = Problem.of(tuning_spec(specs[0]))
    alike: dict[Key, list[TrialSpec]] = {}
    for spec in specs:
        alike.setdefault(choosing_key(spec), []).append(spec)
    found: list[tuple[TrialSpec, Choice]] = []
    for mine in alike.values():
        channel.begin(mine[0])
        try:
            choice = choose(mine[0], problem, channel.memory_limit)
        except ChangedRows:
            raise
        except Exception as error:
            for spec in mine:
                if spec is not mine[0]:
                    channel.begin(spec)
                channel.fail(spec, error)
            continue
        found += [(spec, choice) for spec in mine]
    return OfChoice(found, channel)
