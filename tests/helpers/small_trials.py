"""Small trials on embedded data, and a channel that keeps what a task says."""

from __future__ import annotations

from contextlib import nullcontext

from rffbench.data.cards import load_card
from rffbench.trials.seconds import Timer
from rffbench.trials.spec import TrialResult, TrialSpec

METHODS = {
    "RFF": {"name": "fourier"},
    "QMC": {"name": "qmc"},
    "QMC fixed": {"name": "qmc", "variant": "as-released"},
    "leverage": {"name": "leverage", "score_lambda": 0.001},
    "leverage released": {"name": "leverage", "variant": "reweighted"},
    "leverage pool": {"name": "leverage", "pool": 2.0},
    "Ours": {"name": "surrogate-leverage"},
    "Ours eq12": {"name": "surrogate-leverage", "form": "eq12"},
    "Ours released": {"name": "surrogate-leverage", "variant": "reweighted"},
    "Ours released pool": {"name": "surrogate-leverage", "variant": "reweighted", "pool": 2.0},
    "Ours pool": {"name": "surrogate-leverage", "pool": 2},
    "offset": {"name": "fourier", "form": "offset"},  # shares nothing: its columns are no pairs
}
RIDGE = {"name": "ridge", "lambda": [1e-4, 1e-3, 1e-2], "folds": 3, "lambda_scale": "n", "center": True}


def spec(method: str = "RFF", **changes: object) -> TrialSpec:
    """A trial of one of METHODS; ``solver`` changes what it gives of RIDGE."""
    dataset = str(changes.get("dataset", "breast-cancer"))
    fields: dict = {
        "dataset": dataset, "data_hash": load_card(dataset).content_hash, "method": method, "n_features": 20,
        "trial": 0, "seed": 0, "features": METHODS[method], "kernel": {"name": "gaussian", "gamma": 0.3},
        "preprocess": ["minmax"], "kernel_error_points": 60,
    }  # fmt: skip
    solver = {**RIDGE, **changes.pop("solver", {})}  # type: ignore[dict-item]
    return TrialSpec(**{**fields, **changes, "solver": solver})


class Heard:
    """A task's channel: which trials it began, in order, and the result of each."""

    def alone(self):
        return nullcontext(Timer())

    def __init__(self, memory_limit: int | None = None) -> None:
        self.memory_limit = memory_limit
        self.begun: list[TrialSpec] = []
        self.results: dict[str, TrialResult] = {}

    def begin(self, spec: TrialSpec) -> None:
        self.begun.append(spec)

    def result(self, result: TrialResult) -> None:
        assert result.spec.key not in self.results, "a trial was done twice"
        assert self.begun[-1] == result.spec, "a trial ended that had not begun"
        self.results[result.spec.key] = result

    def fail(self, spec: TrialSpec, error: BaseException) -> None:
        self.result(TrialResult.failed(spec, "error", type(error).__name__, str(error)))
