"""Groups trials into tasks for an executor, and runs a task in a worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rffbench.arguments.parameters import is_chosen
from rffbench.data.cards import load_card
from rffbench.errors import ConfigError
from rffbench.io.process import peak_memory
from rffbench.io.text import canonical_json
from rffbench.papers import hyperparameters
from rffbench.solvers import NONE, cross_validates, uses_kernel
from rffbench.trials.edges import gain_at_edge
from rffbench.trials.foreign import foreign_code
from rffbench.trials.seconds import either
from rffbench.trials.spec import Channel, Key, Relay, TrialResult, TrialSpec

# Fields on which the rows, their split and scaling do not depend: trials that are equal otherwise are one task.
_OWN = ("method", "features", "source", "n_features", "multiple")


def tasks(specs: Sequence[TrialSpec]) -> list[list[TrialSpec]]:
    """The trials in groups that share their rows, in order of first appearance. Trials of foreign code share them with
    the other sizes of their method only."""
    groups: dict[str, list[TrialSpec]] = {}
    for spec in specs:
        common = {key: value for key, value in spec.to_dict().items() if key not in _OWN}
        if foreign_code(spec):
            common |= {name: spec.to_dict().get(name) for name in ("method", "features", "source")}
        groups.setdefault(canonical_json(common), []).append(spec)
    return list(groups.values())


def run_group(specs: Sequence[TrialSpec], channel: Channel) -> None:
    """Run one task, and send its trials' results to ``channel`` one by one.

    Trials share work if they can, unless their ``timing`` is exclusive: then each is run by itself.
    """
    from rffbench.trials.problem import Problem
    from rffbench.trials.shared import run_shared
    from rffbench.trials.single import run_single

    if specs[0].parameters_from is not None:
        fitted = [with_fitted(spec) for spec in specs]
        run_group(fitted, Relay(zip(fitted, specs, strict=True), channel))
        return
    gamma = specs[0].kernel["gamma"]
    if is_chosen(gamma) and not uses_kernel(specs[0].solver):
        given = [with_gamma(spec, 1.0) for spec in specs]
        run_group(given, Relay(zip(given, specs, strict=True), channel))
        return
    if isinstance(gamma, list) and cross_validates(specs[0].solver):
        best = BestBandwidth(specs, channel)
        for each in gamma:
            if left := best.unfailed():
                run_group([with_gamma(spec, each) for spec in left], best)
        best.tell()
        return
    if is_chosen(gamma):
        from rffbench.trials.tuning import tuned

        found = tuned(specs, channel)
        for group in tasks(found.chosen):
            run_group(group, found)
        return
    problem = Problem.of(specs[0])
    problem.alone = channel.alone
    if problem.labels is not None and len(problem.labels) == 1 and specs[0].solver["name"] != NONE:
        one = f"{problem.labels[0]:g}"
        for spec in specs:
            channel.begin(spec)
            channel.fail(spec, ValueError(f"the training rows of {spec.dataset} are all of one class, {one}"))
        return
    if len(specs) > 1 and specs[0].timing != "exclusive":
        specs = run_shared(specs, problem, channel)
    for spec in specs:
        run_single(spec, problem, channel)


class BestBandwidth(Relay):
    """A channel that collects the results of each bandwidth, and passes on each trial's result with the least
    cross-validation error, with the seconds of all."""

    def __init__(self, specs: Sequence[TrialSpec], channel: Channel) -> None:
        super().__init__(((with_gamma(spec, gamma), spec) for spec in specs for gamma in spec.kernel["gamma"]), channel)
        self._specs = specs
        self._results: dict[Key, list[TrialResult]] = {spec.key: [] for spec in specs}
        self._failed: set[Key] = set()

    def unfailed(self) -> list[TrialSpec]:
        return [spec for spec in self._specs if spec.key not in self._failed]

    def result(self, result: TrialResult) -> None:
        result.peak_memory_bytes = peak_memory()
        self._results[self._asked[result.spec.key].key].append(result)

    def fail(self, spec: TrialSpec, error: BaseException) -> None:
        self._failed.add(self._asked[spec.key].key)
        super().fail(spec, error)

    def tell(self) -> None:
        for spec in self.unfailed():
            results = self._results[spec.key]
            best = min(results, key=lambda result: result.metrics["cv_error"])
            seconds = dict(best.seconds)
            for part in ("feature_s", "fit_s"):
                seconds[part] = sum(result.seconds[part] for result in results)
            seconds["contended"] = either(*(result.seconds["contended"] for result in results))
            peaks = [result.peak_memory_bytes for result in results if result.peak_memory_bytes]
            gamma = best.spec.kernel["gamma"]
            scores, edges = best.metrics | {"gamma": gamma}, dict(best.edges)
            grid = [result.spec.kernel["gamma"] for result in results]
            if found := gain_at_edge(grid, [result.fold_errors for result in results], gamma):
                edges["gamma"] = found
            self._channel.begin(spec)
            self._channel.result(
                replace(
                    best, spec=spec, metrics=scores, seconds=seconds, peak_memory_bytes=max(peaks, default=None),
                    edges=edges,
                )
            )  # fmt: skip


def with_gamma(spec: TrialSpec, gamma: float) -> TrialSpec:
    """The trial with γ in place of the rule for it."""
    return replace(spec, kernel={**spec.kernel, "gamma": gamma})


def with_fitted(spec: TrialSpec) -> TrialSpec:
    """The trial with parameters that others have fitted: the kernel's lengths and λ, by dataset and fold, in place of
    the name of their table; unchanged without one."""
    if spec.parameters_from is None:
        return spec
    if spec.parameters_hash != hyperparameters.content_hash(spec.parameters_from):
        raise ConfigError(f"{spec.parameters_from} has been edited since the run started")
    card = load_card(spec.dataset)
    columns, folds = card.columns_after(spec.preprocess), round(card.rows / card.n_test)
    found = hyperparameters.fitted(spec.parameters_from, spec.dataset, spec.trial % folds, columns)
    solver = dict(spec.solver)
    if "lambda" in solver:
        solver["lambda"] = [found.lambda_] if isinstance(solver["lambda"], list) else found.lambda_
    kernel = {**spec.kernel, "lengths": list(found.lengths)}
    return replace(spec, kernel=kernel, solver=solver, parameters_from=None, parameters_hash=None)
