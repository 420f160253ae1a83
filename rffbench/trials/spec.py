"""What a trial is asked (TrialSpec) and what it answers (TrialResult): plain data, quick to import."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import MISSING, dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol

from rffbench import __version__
from rffbench.plugins import ownfile
from rffbench.text import canonical_json

if TYPE_CHECKING:
    from rffbench.trials.seconds import Timer

Timing = Literal["shared", "exclusive", "features"]
"""Which seconds of a trial are taken with nothing else at work, so that they are comparable: none, all, or those to
generate the features and to predict."""
_STORED: dict[Timing, bool | str] = {"shared": False, "exclusive": True, "features": "features"}  # in keys and rows
Status = Literal["ok", "error", "timeout", "out-of-memory", "killed", "unavailable", "lost"]


_SINCE = {"later": True}  # marks a field that came after the first release


def written_size(n_features: int, multiple: int | None) -> str:
    """A size as configs write it: ``16d`` for a multiple of the input dimension, or the count itself."""
    return f"{multiple}d" if multiple else str(n_features)


@dataclass(frozen=True)
class TrialSpec:
    """One cell of the grid, one trial: everything its result may depend on, and nothing else.

    ``features`` and ``solver`` hold a ``name`` and that class's parameters as the config gave them; either name
    may be ``none``. ``kernel`` holds a name, the kernel's other parameters and γ: a number, None for the one the rows
    give (perceptron), a rule's name for the one that it finds in the training rows
    (`rffbench.parameters.GAMMA_RULES`), a list for cross-validation to choose from, or a mapping for it to choose once
    for all sizes (`rffbench.trials.tuning`). ``measures``
    are taken of the feature map on ``kernel_error_points`` of the training rows, or of the ``kernel_error_rows``
    'test'; ``train_rows`` is how many rows are trained on (None: all); ``scores`` are of the predictions, besides the
    task's own (`rffbench.trials.scores`). ``parameters_from`` is the table, and ``parameters_hash`` the SHA-256 of its
    content, that the kernel's lengths and λ come from (`rffbench.trials.fitted`). ``split`` takes the place of the
    card's rule (`rffbench.data.cards`).
    ``held_out`` is the share of the training rows that is tested on in place of the test rows (None: those).
    ``n_features`` counts what ``count`` says, a map's frequencies or its output columns; ``data_hash`` is the
    dataset card's content hash; ``multiple`` is n_features/d where the config said e.g. ``16d``; ``timing``
    says which seconds are comparable; keys and rows have it as ``exclusive``: false, true or ``features``. Of a map in
    a file of the user's own ``features`` names the file by its path, the key and the row by its name, and ``source`` is
    the SHA-256 of its content; of a kernel in such a file, ``kernel`` and ``kernel_source`` do, of scores ``scores``
    and ``score_sources``.
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
    preprocess_fit: Literal["train", "all", "parts"] = "train"
    multiple: int | None = None
    count: Literal["frequencies", "columns"] = "frequencies"
    dtype: Literal["float64", "float32"] = "float64"
    device: Literal["cpu", "cuda"] = "cpu"
    kernel_error_points: int = 1000
    timing: Timing = "shared"
    measures: list[str] = field(default_factory=lambda: ["kernel_error"], metadata=_SINCE)
    train_rows: int | None = field(default=None, metadata=_SINCE)
    held_out: float | None = field(default=None, metadata=_SINCE)
    split: dict[str, Any] | None = field(default=None, metadata=_SINCE)
    kernel_error_rows: Literal["train", "test"] = field(default="train", metadata=_SINCE)
    parameters_from: str | None = field(default=None, metadata=_SINCE)
    parameters_hash: str | None = field(default=None, metadata=_SINCE)
    target: Literal["given", "standard"] = field(default="given", metadata=_SINCE)
    kernel_error_draw: Literal["random", "first", "fixed"] = field(default="random", metadata=_SINCE)
    source: str | None = field(default=None, metadata=_SINCE)
    kernel_source: str | None = field(default=None, metadata=_SINCE)
    scores: list[str] = field(default_factory=list, metadata=_SINCE)
    score_sources: list[str] = field(default_factory=list, metadata=_SINCE)

    def to_dict(self) -> dict[str, Any]:
        """The fields, but those added since the first release where they say nothing new: so that a trial's key
        stays what it was in older logs. Values are the spec's own, not copies."""
        values = {**vars(self), "exclusive": _STORED[self.timing]}
        later = {name: values[name] for name, default in LATER.items() if values[name] != default}
        found = {name: values[name] for name in FIRST} | later
        for part in ("features", "kernel"):
            if ownfile.is_own(name := values[part].get("name")):
                found[part] = {**values[part], "name": ownfile.portable(str(name))}
        if self.scores:
            found["scores"] = [ownfile.portable(name) for name in self.scores]
        return found

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> TrialSpec:
        """The spec inside a row of trials.jsonl."""
        stored = {name: row[name] for name in (*FIRST, *LATER) if name in row}
        exclusive = stored.pop("exclusive", False)
        timing: Timing = next((timing for timing, value in _STORED.items() if value == exclusive), "shared")
        return cls(**stored, timing=timing)

    @cached_property
    def key(self) -> str:
        """SHA-256 of the spec's canonical JSON: the trial's identity in trials.jsonl."""
        return hashlib.sha256(canonical_json(self.to_dict()).encode()).hexdigest()

    @property
    def cell(self) -> tuple[str, str, int, int]:
        """The cell of the grid, and the trial in it."""
        return self.dataset, self.method, self.n_features, self.trial

    def numbered(self, count: int) -> Iterator[TrialSpec]:
        """The trials 0 to count − 1 that differ from this one in their number alone; the rest of their keys' JSON is
        made and hashed once."""
        first, second = (canonical_json(replace(self, trial=trial).to_dict()) for trial in (0, 1))
        place = next(at for at, (one, other) in enumerate(zip(first, second, strict=True)) if one != other)
        before, after = hashlib.sha256(first[:place].encode()), first[place + 1 :].encode()
        common = vars(replace(self))
        for trial in range(count):
            spec, own, hashed = object.__new__(TrialSpec), common.copy(), before.copy()
            hashed.update(b"%d" % trial + after)
            own["trial"], own["key"] = trial, hashed.hexdigest()  # where it would be kept once it is asked for
            object.__setattr__(spec, "__dict__", own)  # a sixth of the time that its constructor takes
            yield spec

    def difference(self, other: TrialSpec) -> tuple[str, Any, Any]:
        """The first field in which two specs of different keys differ, its value here and in ``other``."""
        here, there = ({**LATER, **spec.to_dict(), "timing": spec.timing} for spec in (self, other))
        return next(
            (each.name, here[each.name], there[each.name])
            for each in fields(self)
            if here[each.name] != there[each.name]
        )

    @property
    def size(self) -> str:
        """The size as the config writes it: ``16d``, or the count."""
        return written_size(self.n_features, self.multiple)

    @property
    def label(self) -> str:
        """How messages name the trial: ``eeg 16d Ours trial 3``, or with ``s=224`` frequencies or ``D=224`` columns."""
        size = self.size if self.multiple else f"{'D' if self.count == 'columns' else 's'}={self.n_features}"
        return f"{self.dataset} {size} {self.method} trial {self.trial}"


FIRST = tuple("exclusive" if each.name == "timing" else each.name for each in fields(TrialSpec) if not each.metadata)
LATER: dict[str, Any] = {
    each.name: each.default if each.default_factory is MISSING else each.default_factory()
    for each in fields(TrialSpec)
    if each.metadata
}
"""Fields that came after the first release, and what a row or a config without them means."""


@dataclass
class TrialResult:
    """One finished trial. ``metrics`` and ``seconds`` are empty and ``error`` is set where status is not ok.

    ``curves`` are columns of equal length: how something went on while a solver ran, or over its λ.
    ``own_metrics`` says of metrics that only a map or solver of another package has what they are called and which
    direction is better.
    ``solved`` says of ridge by which ``method`` it was solved, and the ``smallest_lambda`` that rounding leaves apart
    from 0 there. ``edges`` say of each tuned value that is an end of its grid what it gains over its neighbour
    (`rffbench.trials.edges.gain_at_edge`). ``fold_errors``, at the chosen λ, are for who chooses among several results.
    ``warnings`` say where a solver did the next best to what it was asked for, or did not converge.
    ``seconds``, which a row calls ``timing``: ``feature_s`` (draw, weigh and map the training rows), ``fit_s``,
    ``predict_s``; ``bandwidth_s`` (choose the bandwidth that several sizes have); ``contended`` (something else used
    the processors meanwhile; None: it cannot be told), ``threads``,
    ``shared`` (the seconds are sums of parts, some of them measured once for several trials). With ``timing: features``
    ``contended`` and ``threads`` are about ``feature_s`` and ``predict_s`` alone, and ``repeats`` and ``spread`` are
    theirs.
    """

    spec: TrialSpec
    status: Status
    metrics: dict[str, float] = field(default_factory=dict)
    seconds: dict[str, Any] = field(default_factory=dict)
    peak_memory_bytes: int | None = None
    lambda_: float | None = None
    error: dict[str, Any] | None = None  # {"type", "message", "traceback"}; "environment": the machine's fault
    curves: dict[str, list[float]] = field(default_factory=dict)
    own_metrics: dict[str, dict[str, Any]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    solved: dict[str, Any] = field(default_factory=dict)
    edges: dict[str, dict[str, float]] = field(default_factory=dict)
    fold_errors: list[float] = field(default_factory=list)
    columns: int | None = None  # of the features, where there is a map

    @classmethod
    def failed(
        cls,
        spec: TrialSpec,
        status: Status,
        type_: str,
        message: str,
        traceback: str = "",
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
            **({"own_metrics": self.own_metrics} if self.own_metrics else {}),
            **({"warnings": self.warnings} if self.warnings else {}),
            **({"solved": self.solved} if self.solved else {}),
            **({"edges": self.edges} if self.edges else {}),
            **({"columns": self.columns} if self.columns else {}),
            "timing": self.seconds,
            "peak_memory_bytes": self.peak_memory_bytes,
            "lambda": self.lambda_,
            "error": self.error,
            "rffbench": __version__,
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        }


class Channel(Protocol):
    """How a task tells its parent what it does; see execution.channel.Channel."""

    memory_limit: int | None

    def begin(self, spec: TrialSpec) -> None: ...

    def alone(self) -> AbstractContextManager[Timer]: ...

    def result(self, result: TrialResult) -> None: ...

    def fail(self, spec: TrialSpec, error: BaseException) -> None: ...


class Relay:
    """A channel in front of another. It reports a trial under the spec of the same cell that asked for it: the one that
    is run may have values in place of the rule that they come from."""

    def __init__(self, asked: Iterable[TrialSpec], channel: Channel) -> None:
        self._asked = {spec.cell: spec for spec in asked}
        self._channel = channel
        self.memory_limit = channel.memory_limit

    def alone(self) -> AbstractContextManager[Timer]:
        return self._channel.alone()

    def begin(self, spec: TrialSpec) -> None:
        self._channel.begin(self._asked[spec.cell])

    def result(self, result: TrialResult) -> None:
        self._channel.result(replace(result, spec=self._asked[result.spec.cell]))

    def fail(self, spec: TrialSpec, error: BaseException) -> None:
        self._channel.fail(self._asked[spec.cell], error)
