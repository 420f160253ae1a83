"""A bandwidth that cross-validation chooses once for each map, dataset and trial, for all sizes alike.

The spec's γ is a mapping. σ is chosen from ``times_median``, multiples of the median distance between training rows,
with features of ``columns`` columns, on at most ``rows`` training rows. With ``and_lambda``, the best λ is kept too;
else the trial chooses its own. ``features`` is a map that replaces the spec's own in the choice, so that all methods
have the same σ. The choice depends only on the spec without its size, not on the sizes that run together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rffbench.kernels.bandwidth import gamma_of_rows
from rffbench.parameters import TIMES_MEDIAN
from rffbench.process import Contention
from rffbench.rowsource import Stopwatch
from rffbench.seeds import split_stream
from rffbench.trials.edges import chosen_fold_errors, gain_at_edge
from rffbench.trials.foreign import ChangedRows, leaving_others_alone
from rffbench.trials.guards import keeping_warnings, leaving_global_seeds, naming_whose_code
from rffbench.trials.problem import Problem
from rffbench.trials.seconds import either
from rffbench.trials.single import ready_solver
from rffbench.trials.spec import Channel, Key, Relay, TrialResult, TrialSpec


@dataclass(frozen=True)
class Choice:
    """γ, σ over the median distance, the best λ with them, the seconds of all fits, and `gain_at_edge` if the multiple
    is an end of its grid."""

    gamma: float
    times: float
    lambda_: float
    seconds: float
    contended: bool | None
    edge: dict[str, float] | None

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Choice:
        """The choice of a trial whose row is in a log."""
        metrics, timing, edge = row["metrics"], row["timing"], row.get("edges", {}).get(TIMES_MEDIAN)
        found = metrics["gamma"], metrics[TIMES_MEDIAN], row["lambda"], timing["bandwidth_s"], timing.get("contended")
        return cls(*found, edge)


def tuning_spec(spec: TrialSpec) -> TrialSpec:
    """The trial whose cross-validation chooses a spec's bandwidth, without γ: one for all sizes of a method, or for all
    methods."""
    asked = spec.kernel["gamma"]
    rows = min(asked["rows"], spec.train_rows or asked["rows"])
    if of_all := asked.get("features"):
        spec = replace(spec, method=of_all, features={"name": of_all}, source=None)
    return replace(
        spec, n_features=asked["columns"], multiple=None, count="columns", train_rows=rows, measures=[], scores=[],
        score_sources=[], kernel_error_points=0, timing="shared", kernel={**spec.kernel, "gamma": "median"},
    )  # fmt: skip


def choosing_key(spec: TrialSpec) -> Key:
    """What the choice of a spec's bandwidth depends on: trials that have it in common have one choice."""
    return replace(tuning_spec(spec), kernel=spec.kernel).key


def choose(spec: TrialSpec, problem: Problem, memory: int | None = None) -> Choice:
    """Choose the bandwidth of ``spec`` on ``problem``, the problem of its `tuning_spec`."""
    grid: Sequence[float] = spec.kernel["gamma"][TIMES_MEDIAN]
    asked, split = tuning_spec(spec), problem.split
    stream = split_stream(spec.seed, spec.dataset, spec.trial)
    gammas = [gamma_of_rows(problem.kernel, "median", split.X_train, stream, times) for times in grid]
    folds: list[list[float]] = []
    lambdas: list[float] = []
    with Contention() as contention, Stopwatch(split.X_train) as watch:
        for gamma in gammas:
            with_gamma = replace(problem, gamma=gamma)
            features = with_gamma.features(asked)
            solver = ready_solver(asked, with_gamma, features, memory)
            with (
                leaving_others_alone(asked, problem),
                keeping_warnings(),  # the trial that has the chosen σ warns of what concerns it
                naming_whose_code(asked, features, solver),
                leaving_global_seeds(features, split.X_train, split.y_train),
            ):
                solver.fit(split.X_train, split.y_train)
            folds.append(chosen_fold_errors(solver))
            lambdas.append(float(solver.alpha_))
    best = int(np.argmin([np.mean(errors) for errors in folds]))
    edge = gain_at_edge(grid, folds, grid[best])
    return Choice(gammas[best], grid[best], lambdas[best], watch.seconds, contention.contended, edge)


def with_choice(result: TrialResult, choice: Choice) -> TrialResult:
    """The result of a trial with a chosen γ, with the choice and its seconds."""
    contended = either(result.seconds.get("contended"), choice.contended)
    return replace(
        result, metrics=result.metrics | {"gamma": choice.gamma, TIMES_MEDIAN: choice.times},
        seconds=result.seconds | {"bandwidth_s": choice.seconds, "contended": contended},
        edges=result.edges | ({TIMES_MEDIAN: choice.edge} if choice.edge else {}),
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
    if spec.kernel["gamma"].get("and_lambda"):
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
