"""A trial's request (TrialSpec) and its result (TrialResult): plain data, quick to import."""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal, NewType, Protocol

from numpy.random import SeedSequence

from rffbench import __version__
from rffbench.arguments.seeds import feature_stream
from rffbench.features import map_recipe
from rffbench.io.text import canonical_json
from rffbench.kernels import kernel_in_words
from rffbench.plugins import ownfile
from rffbench.plugins.later import in_rows, of_row
from rffbench.plugins.parts import Task
from rffbench.plugins.recipe import Recipe
from rffbench.solvers import NONE, solver_recipe
from rffbench.trials.flaws import Flaw
from rffbench.trials.scores import Score, score

if TYPE_CHECKING:
    from rffbench.trials.seconds import Timer

Timing = Literal["shared", "exclusive", "features"]
"""The seconds of a trial that are measured while the rest of the run is paused, so that they are comparable: none, all,
or those to generate the features and to predict."""
Status = Literal["ok", "error", "timeout", "out-of-memory", "killed", "unavailable", "lost"]


Key = NewType("Key", str)
"""A trial's identity: results, choices and rows are matched by it, and by nothing else. A label and a size are not
enough, since the variants of a sweep have them in common."""


def written_size(n_features: int, multiple: int | None) -> str:
    """A size as configs write it: ``16d`` for a multiple of the input dimension, or the count itself."""
    return f"{multiple}d" if multiple else str(n_features)


@dataclass(frozen=True)
class TrialSpec:
    """One trial of one cell of the grid: exactly the values on which its result may depend.

    - ``features``, ``solver``: a ``name`` (or ``none``) and the parameters of that class; of a built-in one all of
      them, with their defaults.
    - ``kernel``: a name, the kernel's other parameters and γ, which is a number; None if the rows determine it
      (perceptron); the name of a rule that finds it in the training rows (`rffbench.arguments.parameters.GAMMA_RULES`);
      a list from which cross-validation chooses; or a mapping, if it chooses once for all sizes
      (`rffbench.trials.tuning`).
    - ``n_features``: the number of frequencies or of output columns, by ``count``; ``multiple`` is n_features/d if the
      config has e.g. ``16d``.
    - ``data_hash``: the content hash of the dataset's card. ``split`` replaces the card's rule (`rffbench.data.cards`).
    - ``train_rows``: the number of training rows (None: all). ``held_out``: the share of the training rows that
      replaces the test rows (None: no).
    - ``measures``: measures of the feature map on ``kernel_error_points`` rows of the training part, or of the test
      part if ``kernel_error_rows`` is 'test'. ``scores``: further scores of the predictions (`rffbench.trials.scores`).
    - ``parameters_from``: the table of the kernel's lengths and λ (`rffbench.trials.tasks.with_fitted`), and
      ``parameters_hash`` the SHA-256 of its content.
    - ``flaws``: flaws of a protocol that are run on purpose (`rffbench.trials.flaws`).
    - ``timing``: the comparable seconds. Keys and rows have it as ``timing_mode``: their ``timing`` are the seconds.
    - ``source``, ``kernel_source``, ``score_sources``: the SHA-256 of a user's own file with the map, kernel or scores.
      ``features``, ``kernel`` and ``scores`` have the file's path; the key and the row have its name.
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
    measures: list[str] = field(default_factory=lambda: ["kernel_error"])
    train_rows: int | None = None
    held_out: float | None = None
    split: dict[str, Any] | None = None
    kernel_error_rows: Literal["train", "test"] = "train"
    parameters_from: str | None = None
    parameters_hash: str | None = None
    target: Literal["given", "standard"] = "given"
    kernel_error_draw: Literal["random", "first", "fixed"] = "random"
    source: str | None = None
    kernel_source: str | None = None
    scores: list[str] = field(default_factory=list)
    score_sources: list[str] = field(default_factory=list)
    flaws: list[Flaw] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """All fields, as in keys and rows (`rffbench.plugins.later`). Values are the spec's own, not copies."""
        values = vars(self)
        found = {there: values[name] for name, there in _IN_ROWS.items()}
        found["features"], found["solver"] = in_rows(self.features), in_rows(self.solver)
        for part in ("features", "kernel"):
            if ownfile.is_own(name := values[part].get("name")):
                found[part] = {**found[part], "name": ownfile.portable(str(name))}
        if self.scores:
            found["scores"] = [ownfile.portable(name) for name in self.scores]
        return found

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> TrialSpec:
        """The spec inside a row of trials.jsonl. KeyError if the row lacks a field."""
        found = {name: row[there] for name, there in _IN_ROWS.items()}
        return cls(**{**found, "features": of_row(row["features"]), "solver": of_row(row["solver"])})

    @cached_property
    def map(self) -> Recipe | None:
        """What builds the feature map; None without one. Found and checked once; ConfigError if the user's own file was
        edited since the run started."""
        ownfile.check_unedited(str(self.features["name"]), [self.source])
        return map_recipe(self.features)

    @cached_property
    def learner(self) -> Recipe | None:
        """What builds the solver; None without one. Found and checked once."""
        return None if self.solver["name"] == NONE else solver_recipe(self.solver, self.device)

    @cached_property
    def _scores(self) -> dict[str, Score]:
        for name in self.scores:
            ownfile.check_unedited(name, self.score_sources)
        return {name: score(name) for name in self.scores}

    def further_scores(self, task: Task) -> dict[str, Score]:
        """The ``scores`` that are for ``task``, by name. Found and checked once, as the map is."""
        return {name: each for name, each in self._scores.items() if each.task == task}

    @property
    def stream(self) -> SeedSequence:
        """The random stream that pairs the methods: maps and solvers of one kernel and trial draw the same numbers."""
        return feature_stream(self.seed, self.dataset, self.trial, ownfile.portable(str(self.kernel["name"])))

    def __getstate__(self) -> dict[str, Any]:  # a process that gets the spec finds a user's class by itself
        return {name: value for name, value in vars(self).items() if name not in ("map", "learner", "_scores")}

    @cached_property
    def key(self) -> Key:
        """SHA-256 of the spec's canonical JSON: the trial's identity in trials.jsonl."""
        return Key(hashlib.sha256(canonical_json(self.to_dict()).encode()).hexdigest())

    @cached_property
    def cell_key(self) -> Key:
        """The key of the trial 0: what trials that differ only in their number have in common."""
        return self.key if self.trial == 0 else replace(self, trial=0).key

    @property
    def cell(self) -> tuple[str, str, int, int]:
        """The cell of a grid without a sweep, and the trial in it. It is no identity: see `Key`."""
        return self.dataset, self.method, self.n_features, self.trial

    def numbered(self, count: int) -> Iterator[TrialSpec]:
        """The trials 0 to count − 1 that differ from this one only in their number."""
        keys = _Keys(self)
        common = {**vars(replace(self)), "key": "", "cell_key": keys.of(0)}  # in the places of cached properties
        for trial in range(count):
            spec, own = object.__new__(TrialSpec), dict(common)
            own["trial"], own["key"] = trial, keys.of(trial)
            object.__setattr__(spec, "__dict__", own)  # a sixth of the constructor's time
            yield spec

    def difference(self, other: TrialSpec) -> tuple[str, Any, Any]:
        """The first field in which two specs of different keys differ, its value here and in ``other``. Values differ
        as in keys: 1 is not 1.0."""
        here, there = self.to_dict(), other.to_dict()
        return next(
            (name, here[key], there[key])
            for name, key in _IN_ROWS.items()
            if canonical_json(here[key]) != canonical_json(there[key])
        )

    @property
    def size(self) -> str:
        """The size as the config writes it: ``16d``, or the count."""
        return written_size(self.n_features, self.multiple)

    @property
    def label(self) -> str:
        """The trial's name in messages: ``eeg 16d Ours trial 3``, or with ``s=224`` frequencies or ``D=224``
        columns."""
        size = self.size if self.multiple else f"{'D' if self.count == 'columns' else 's'}={self.n_features}"
        return f"{self.dataset} {size} {self.method} trial {self.trial}"


def in_words(name: str, value: Any) -> str:
    """The value of a field in messages: a kernel with its σ, anything else as JSON."""
    return kernel_in_words(value, digits=12) if name == "kernel" else canonical_json(value)


_IN_ROWS = {each.name: "timing_mode" if each.name == "timing" else each.name for each in fields(TrialSpec)}
"""The fields by their names in rows, whose ``timing`` is the measured seconds."""
FIELDS = tuple(_IN_ROWS.values())
"""The fields of a spec as in rows."""


class _Keys:
    """The keys of the trials that differ from a spec only in their number. The rest of their JSON is made and hashed
    once."""

    def __init__(self, spec: TrialSpec) -> None:
        before, name, after = canonical_json({**spec.to_dict(), "trial": 0}).rpartition('"trial":')  # sorted: the last
        self._before, self._after = hashlib.sha256((before + name).encode()), after[1:].encode()

    def of(self, trial: int) -> Key:
        hashed = self._before.copy()
        hashed.update(b"%d" % trial + self._after)
        return Key(hashed.hexdigest())


_BUT_TRIAL = tuple(name for name in FIELDS if name != "trial")


def key_of(row: dict[str, Any]) -> Key:
    """The key of the spec inside a row of trials.jsonl, whatever key the row claims. ValueError if the row's parts are
    no spec.

    A log has many rows that differ in their trial only: 80,000 of them take 0.3 s, and 2 s by `TrialSpec.from_row`.
    """
    try:
        return _keys_of(marshal.dumps([row[name] for name in _BUT_TRIAL], 2)).of(row["trial"])
    except KeyError as missing:
        raise ValueError(f"its fields are not those of a trial, {missing} is missing") from None


@lru_cache(maxsize=4096)
def _keys_of(stored: bytes) -> _Keys:
    """The keys of the rows whose other values are ``stored``, as marshal writes them."""
    row = dict(zip(_BUT_TRIAL, marshal.loads(stored), strict=True))
    try:
        return _Keys(TrialSpec.from_row({**row, "trial": 0}))
    except (AttributeError, TypeError) as error:
        raise ValueError(f"its fields are not those of a trial ({error})") from None


@dataclass
class TrialResult:
    """One finished trial. ``metrics`` and ``seconds`` are empty and ``error`` is set if the status is not ok.

    - ``curves``: columns of equal length, over a solver's progress or its λ.
    - ``own_metrics``: title, unit and better direction of metrics that only a map or solver of another package has.
    - ``solved``: the ``method`` by which ridge was solved, and its ``smallest_lambda`` that differs from 0 after
      rounding.
    - ``edges``: for each tuned value at an end of its grid, the gain over its neighbour
      (`rffbench.trials.edges.gain_at_edge`). ``fold_errors``: the errors at the chosen λ, for a choice between results.
    - ``warnings``: fallbacks of a solver, and solvers that did not converge.
    - ``seconds``, in rows ``timing``: ``feature_s`` (draw, weigh and map the training rows), ``fit_s``, ``predict_s``;
      ``bandwidth_s`` (choose the bandwidth of several sizes); ``contended`` (something else used the processors; None:
      unknown), ``threads``, ``shared`` (the seconds are sums of parts, some of them measured once for several trials).
      With ``timing: features``, ``contended``, ``threads``, ``repeats`` and ``spread`` are about ``feature_s`` and
      ``predict_s``. With ``exclusive``, ``repeats`` are those of a short trial, whose medians these are.
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
    columns: int | None = None  # of the features, if there is a map

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
    """The interface through which a task reports to its parent; see execution.channel.Channel."""

    memory_limit: int | None

    def begin(self, spec: TrialSpec) -> None: ...

    def alone(self) -> AbstractContextManager[Timer]: ...

    def result(self, result: TrialResult) -> None: ...

    def fail(self, spec: TrialSpec, error: BaseException) -> None: ...


class Relay:
    """A channel that passes on to another. A trial that is ``run`` has values instead of the rules for them; it is
    reported under the trial that was ``asked`` for.

    ``pairs`` are (run, asked), and have every trial that is run.
    """

    def __init__(self, pairs: Iterable[tuple[TrialSpec, TrialSpec]], channel: Channel) -> None:
        self._asked: dict[Key, TrialSpec] = {run.key: asked for run, asked in pairs}
        self._channel = channel
        self.memory_limit = channel.memory_limit

    def alone(self) -> AbstractContextManager[Timer]:
        return self._channel.alone()

    def begin(self, spec: TrialSpec) -> None:
        self._channel.begin(self._asked[spec.key])

    def result(self, result: TrialResult) -> None:
        self._channel.result(replace(result, spec=self._asked[result.spec.key]))

    def fail(self, spec: TrialSpec, error: BaseException) -> None:
        self._channel.fail(self._asked[spec.key], error)
