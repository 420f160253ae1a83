"""What a trial is asked (TrialSpec) and what it answers (TrialResult): plain data, quick to import."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Literal

MEDIAN = "median"  # in γ's place: the bandwidth is the median distance between training rows
Status = Literal["ok", "error", "timeout", "out-of-memory", "killed", "unavailable"]


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values, equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


@dataclass(frozen=True)
class TrialSpec:
    """One cell of the grid, one trial: everything its result may depend on, and nothing else.

    ``features`` and ``solver`` hold a ``name`` and that class's parameters as the config gave them; either name
    may be ``none``. ``kernel`` holds a name and γ: a number, None for the one the rows give (perceptron),
    ``'median'`` for the one of the rows' median distance, or a list for cross-validation to choose from. ``measures``
    are taken of the feature map on ``kernel_error_points`` of the ``train_rows`` training rows (None: all).
    ``n_features`` counts frequencies, or output columns where ``count`` is ``'columns'``; ``data_hash`` is the
    dataset card's content hash; ``multiple`` is n_features/d where the config said e.g. ``16d``; ``exclusive``
    asks for the machine alone, so that its seconds are comparable.
    """

    dataset: str
    data_hash: str
    method: str
    n_features: int
    trial: int
    seed: int
    features: dict[str, Any]
    solver: dict[str, Any]
    kernel: dict[str, Any]  # {"name": "gaussian", "gamma": 0.5}
    preprocess: list[str] = field(default_factory=lambda: ["none"])
    preprocess_fit: Literal["train", "all"] = "train"
    multiple: int | None = None
    count: Literal["frequencies", "columns"] = "frequencies"
    dtype: Literal["float64", "float32"] = "float64"
    device: Literal["cpu", "cuda"] = "cpu"
    kernel_error_points: int = 1000
    exclusive: bool = False
    measures: list[str] = field(default_factory=lambda: ["kernel_error"])
    train_rows: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The fields, but those added since the first release where they say nothing new: so that a trial's key
        stays what it was in older logs."""
        values = asdict(self)
        return {name: value for name, value in values.items() if name not in ADDED or value != ADDED[name]}

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> TrialSpec:
        """The spec inside a row of trials.jsonl."""
        return cls(**{each.name: row[each.name] for each in fields(cls) if each.name in row})

    @cached_property
    def key(self) -> str:
        """SHA-256 of the spec's canonical JSON: the trial's identity in trials.jsonl."""
        return hashlib.sha256(canonical_json(self.to_dict()).encode()).hexdigest()

    @property
    def label(self) -> str:
        """How messages name the trial: ``eeg 16d Ours trial 3``."""
        size = f"{self.multiple}d" if self.multiple else f"s={self.n_features}"
        return f"{self.dataset} {size} {self.method} trial {self.trial}"


ADDED: dict[str, Any] = {"measures": ["kernel_error"], "train_rows": None}
"""Fields that came after the first release, and what a row without them means."""


@dataclass
class TrialResult:
    """One finished trial. ``metrics`` and ``timing`` are empty and ``error`` is set where status is not ok.

    ``curves`` are columns of equal length: how something went on while a solver ran, or over its λ.
    ``timing``: ``feature_s`` (draw, weigh and map the training rows), ``fit_s``, ``predict_s`` in seconds;
    ``contended`` (something else used the processors meanwhile), ``threads``, ``shared`` (the seconds are sums
    of parts, some of them measured once for several trials).
    """

    spec: TrialSpec
    status: Status
    metrics: dict[str, float] = field(default_factory=dict)
    timing: dict[str, Any] = field(default_factory=dict)
    peak_memory_bytes: int | None = None
    chosen_lambda: float | None = None
    error: dict[str, str] | None = None  # {"type", "message", "traceback"}
    curves: dict[str, list[float]] = field(default_factory=dict)

    @classmethod
    def failed(
        cls, spec: TrialSpec, status: Status, type_: str, message: str, traceback: str = "",
        peak_memory_bytes: int | None = None,
    ) -> TrialResult:
        error = {"type": type_, "message": message, "traceback": traceback}
        return cls(spec, status, error=error, peak_memory_bytes=peak_memory_bytes)

    def to_row(self) -> dict[str, Any]:
        """The line of trials.jsonl."""
        return {
            "key": self.spec.key,
            "status": self.status,
            **self.spec.to_dict(),
            "metrics": self.metrics,
            **({"curves": self.curves} if self.curves else {}),
            "timing": self.timing,
            "peak_memory_bytes": self.peak_memory_bytes,
            "lambda": self.chosen_lambda,
            "error": self.error,
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        }
