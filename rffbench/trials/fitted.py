"""Trials with parameters that others have fitted: the kernel's lengths and λ come from a table, by dataset and fold."""

from __future__ import annotations

from dataclasses import replace

from rffbench.data.cards import load_card
from rffbench.errors import ConfigError
from rffbench.papers import hyperparameters
from rffbench.trials.spec import TrialSpec


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
