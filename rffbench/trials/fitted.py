"""Trials with parameters fitted by others: the kernel's lengths and λ come from a table, by dataset and fold."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from rffbench.data.cards import load_card
from rffbench.errors import ConfigError
from rffbench.papers import hyperparameters
from rffbench.trials.seconds import Timer
from rffbench.trials.spec import Channel, TrialResult, TrialSpec


def with_fitted(spec: TrialSpec) -> TrialSpec:
    """The trial with the kernel's lengths and λ from its table in place of the table's name; unchanged without one."""
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


class OfFitted:
    """Wraps a channel: it reports trials with fitted parameters under the trials that asked for them."""

    def __init__(self, specs: Sequence[TrialSpec], channel: Channel) -> None:
        self._channel = channel
        self._asked = {spec.cell: spec for spec in specs}
        self.memory_limit = channel.memory_limit

    def alone(self) -> AbstractContextManager[Timer]:
        return self._channel.alone()

    def begin(self, spec: TrialSpec) -> None:
        self._channel.begin(self._asked[spec.cell])

    def result(self, result: TrialResult) -> None:
        self._channel.result(replace(result, spec=self._asked[result.spec.cell]))

    def fail(self, spec: TrialSpec, error: BaseException) -> None:
        self._channel.fail(self._asked[spec.cell], error)
