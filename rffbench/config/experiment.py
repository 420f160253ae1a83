"""An experiment: the YAML config as pydantic models, and its grid of trials.

The models check every name and value, so that a wrong config is refused before anything starts. They know nothing about
how trials run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PrivateAttr,
    StrictInt,
    StrictStr,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_validator,
)

from rffbench.config import methodfiles
from rffbench.config.checks import check_fitted, check_grid, check_inputs, check_mapping
from rffbench.config.grid import OF_METHOD, Grid
from rffbench.config.places import located, misplaced, placed, under
from rffbench.config.sections import Kernel, Method, RunsOn, Significance, Solver, Strict
from rffbench.config.sweep import check_sweep, combinations, named_datasets, patched, spelled_out, swept
from rffbench.config.values import (
    DEFAULT,
    USUAL_FIGURES,
    Dataset,
    FigureName,
    FlawsByDataset,
    Label,
    MeasureName,
    Memory,
    Number,
    PositiveInt,
    Reference,
    ScoreName,
    Seconds,
    Sizes,
    Steps,
    by_default,
    by_key,
    check_parameters_from,
    once,
    registered,
    split_by_default,
    text_keys,
)
from rffbench.data.cards import Card, add_card, own_card
from rffbench.data.userfile import without_folders
from rffbench.errors import unknown
from rffbench.io import yamlfile
from rffbench.io.text import canonical_json
from rffbench.io.yamlfile import Misplaced, pattern
from rffbench.trials.spec import Timing, TrialSpec

# Maps that use no data: the default baselines of significance.
BASELINE_FEATURES = ("fourier", "qmc")


def known(cards: dict[str, Card]) -> dict[str, Card]:
    """Register the cards, so that they are found by their names."""
    for name, card in cards.items():
        if name != card.name:
            raise Misplaced(f"the card's name is {card.name!r}; it must be its key, {name!r}", name)
        if (other := own_card(name)) is None or other.content_hash != card.content_hash:
            with located(name):
                add_card(card)
    return cards


FOLDER_NAME = pattern(
    r"^[A-Za-z0-9][A-Za-z0-9._-]*$", "letters, digits, '.', '_' or '-', and begin with a letter or digit"
)
LONGEST_NAME = 100
AxisLabel = Annotated[StrictStr, pattern(r"\S", "text that is not blank")]
PER_DATASET = (
    "preprocess", "preprocess_fit", "n_features", "kernel_error_points", "kernel_error_draw", "train_rows", "split",
    "flaws",
)  # fmt: skip


# ---- The experiment ----------------------------------------------------------------------------------------


class Experiment(Strict):
    """One experiment: datasets × sizes × methods × trials, and how each trial is done."""

    name: Annotated[StrictStr, FOLDER_NAME, Field(max_length=LONGEST_NAME)] = Field(
        description="Names the results folder: letters, digits, '.', '_', '-'."
    )
    title: StrictStr = Field(default="", description="The heading of tables and figures.")
    cards: Annotated[dict[StrictStr, Card], AfterValidator(known)] = Field(
        default={}, description="Cards of own data, by name; a run writes them for the data that was given by path."
    )
    datasets: Annotated[list[Dataset], Field(min_length=1)] = Field(
        description="Names of datasets (see: rffbench datasets list), or paths of own data."
    )
    preprocess: Annotated[
        dict[str, Steps],
        BeforeValidator(by_default, json_schema_input_type=str | list[str] | dict[str, str | list[str]]),
    ] = Field(
        default={DEFAULT: ["none"]},
        description="none, impute-median, impute-most-frequent, onehot, minmax, minmax-symmetric, max-abs, from-zero, "
        "largest, standard-all, standard, clip, quantile, sample-minmax, sample-minmax01, sample-standard, "
        "sample-mapstd, sample-l2; or a list of them, in order; or a mapping from dataset (or default) to these.",
    )
    preprocess_fit: Annotated[
        dict[str, Literal["train", "all", "parts"]],
        BeforeValidator(by_default, json_schema_input_type=str | dict[str, str]),
    ] = Field(
        default={DEFAULT: "train"},
        description="The rows that column-wise preprocessing takes its statistics from: the training rows, all, or "
        "parts: training and test rows each their own. Per dataset too.",
    )
    target: Literal["given", "standard"] = Field(
        default="given",
        description="The target of a regression: as given, or standard: less its mean and over its standard deviation "
        "in the training rows. Errors are in the same unit.",
    )
    train_rows: Annotated[
        dict[str, PositiveInt | None],
        BeforeValidator(by_default, json_schema_input_type=int | None | dict[str, int | None]),
    ] = Field(
        default={DEFAULT: None},
        description="How many of the split's training rows a trial uses, in their random order; null: all. "
        "Per dataset too.",
    )
    held_out: Annotated[Number, Field(gt=0, lt=1)] | None = Field(
        default=None,
        description="Share of the training rows to test on in place of the test rows, so that a choice made by the "
        "scores has seen no test row.",
    )
    split: Annotated[
        dict[str, dict[str, Any] | None],
        BeforeValidator(split_by_default, json_schema_input_type=str | dict[str, Any] | None),
    ] = Field(
        default={DEFAULT: None},
        description="A split in place of the dataset's own: half, or {rule: random, given or given-sampled, train: …, "
        "test: …} in rows or shares of them; given: the first rows are for training, the last for testing. Per dataset "
        "too.",
    )
    flaws: FlawsByDataset = Field(
        default={DEFAULT: []},
        description="Flaws of a protocol, run on purpose, to be held to its numbers: last-class-lost (no row "
        "is given it), zero-scores-wrong (a row whose scores are all 0 is an error), test-rows-appended (to the rows "
        "that are split, a test part is added 1 to 20 times) and test-rows-scaled-apart (all numbers are "
        "standardised by one mean and deviation of their own part). Per dataset, and per method, too.",
    )
    kernel: Annotated[Kernel, BeforeValidator(by_key("name"))] = Field(
        default_factory=Kernel, description="The kernel to approximate."
    )
    n_features: Annotated[
        dict[str, Sizes],
        BeforeValidator(by_default, json_schema_input_type=list[str | int] | dict[str, list[str | int]]),
    ] = Field(description='Sizes: integers, or "16d" for 16 × the input dimension; per dataset too.')
    count: Literal["frequencies", "columns"] = Field(default="frequencies", description="What n_features counts.")
    methods: Annotated[dict[Label, Annotated[Method, BeforeValidator(by_key("features"))]], Field(min_length=1)] = (
        Field(description="Label → feature map and its parameters.")
    )
    solver: Annotated[Solver, BeforeValidator(by_key("name"))] = Field(
        default_factory=Solver, description="The learner on the features."
    )
    kernel_of: dict[StrictStr, dict[str, Any]] = Field(
        default={}, description="Dataset → parameters of the experiment's kernel that are others there."
    )
    parameters_from: Annotated[StrictStr, AfterValidator(registered(check_parameters_from))] | None = Field(
        default=None,
        description="A table of fitted parameters that ships with the package, such as lin2023-hyperparameters: of "
        "each dataset and fold the lengths of the kernel and λ, in place of the config's.",
    )
    solver_of: dict[StrictStr, dict[str, Any]] = Field(
        default={}, description="Dataset → parameters of the experiment's solver that are others there."
    )
    trials: Annotated[
        dict[str, PositiveInt],
        BeforeValidator(text_keys),
        BeforeValidator(by_default, json_schema_input_type=int | dict[str, int]),
    ] = Field(
        default={DEFAULT: 10}, description="How many trials per cell, or a mapping from size (or default) to that."
    )
    seed: Annotated[StrictInt, Field(ge=0)] = Field(default=0, description="All random numbers derive from it.")
    reference: Reference | None = Field(
        default=None,
        description="The reference to compare with: a paper's numbers, for example liu2020-table3, or a CSV file that "
        "`rffbench record` wrote, as a path relative to this config's folder.",
    )
    significance: Significance = Field(default_factory=Significance, description='The "•" of the tables.')
    kernel_error_points: Annotated[
        dict[str, Annotated[StrictInt, Field(ge=0)]],
        BeforeValidator(by_default, json_schema_input_type=int | dict[str, int]),
    ] = Field(
        default={DEFAULT: 1000},
        description="Points on which ‖K−K̃‖₂/‖K‖₂ is measured; 0: not measured. Per dataset too.",
    )
    kernel_error_rows: Literal["train", "test"] = Field(
        default="train", description="Whether these points are training rows or test rows."
    )
    kernel_error_draw: Annotated[
        dict[str, Literal["random", "first", "fixed"]],
        BeforeValidator(by_default, json_schema_input_type=str | dict[str, str]),
    ] = Field(
        default={DEFAULT: "random"},
        description="How the points are chosen from these rows: random, anew in each trial; the first in the data; "
        "or fixed: random, and the same in all trials as far as the split allows. Per dataset too.",
    )
    timing: Timing = Field(
        default="shared",
        description="shared: trials run at the same time and share work; their seconds cannot be compared. features: "
        "the same, but generating the features and predicting are timed alone, while all other trials pause. "
        "exclusive: one trial at a time, without shared work; a trial of less than half a second is repeated, up to "
        "five times, and the median counts.",
    )
    time_limit: Seconds | None = Field(
        default=None, description='The longest that a trial may take: seconds, or "30m".'
    )
    memory: Memory | None = Field(default=None, description='Memory budget of a trial: bytes, or "6GB".')
    dtype: Literal["float64", "float32"] = Field(default="float64", description="The features' dtype.")
    device: Literal["cpu", "cuda"] = Field(
        default="cpu", description="Where features, Gram matrices and factorisations are computed; cuda needs PyTorch."
    )
    measures: Annotated[list[MeasureName], AfterValidator(once)] = Field(
        default=["kernel_error"],
        description="What is measured of each map, on kernel_error_points rows.",
    )
    scores: Annotated[list[ScoreName], AfterValidator(once)] = Field(
        default=[],
        description="Scores of predictions besides accuracy or RMSE: auc, average_precision, "
        "balanced_accuracy, log_loss, brier, calibration_error, mae, mse, r2, nll, coverage_50, "
        "coverage_90, coverage_95.",
    )
    figures: Annotated[list[FigureName], AfterValidator(once), Field(min_length=1)] = Field(
        default=list(USUAL_FIGURES),
        description="The figures to draw, if measured: scores against the size, lambda (scores at every λ), "
        "progress of a solver, scores against time and cost, sweep (scores against a swept number).",
    )
    table: Literal["methods", "models"] = Field(
        default="methods",
        description="The layout of the table: methods, a column per method; models, a row per method, with the size of "
        "its model, score, times and memory.",
    )
    executor: Annotated[RunsOn | None, BeforeValidator(by_key("name"))] = Field(
        default=None, description="Where trials run, for example {name: slurm, partition: long}; --executor wins."
    )
    sweep: Annotated[
        dict[
            AxisLabel,
            Annotated[
                dict[AxisLabel, dict[str, Any]],
                Field(min_length=1),
                BeforeValidator(swept, json_schema_input_type=dict[AxisLabel, dict[str, Any]] | list[Any]),
            ],
        ],
        AfterValidator(named_datasets),
    ] = Field(
        default={},
        description="Axis → label → what it changes in this config; or a key of the config, with dots, and a list "
        "of its values: methods.Mine.depth: [1, 2]. The experiment is run for every combination of one label per axis.",
    )

    _protocols: list[tuple[dict[str, str], Experiment]] | None = PrivateAttr(default=None)

    @field_validator("datasets", mode="wrap")
    @classmethod
    def _by_different_names(cls, written: Any, names_of: ValidatorFunctionWrapHandler) -> list[str]:
        names: list[str] = names_of(written)
        for i, name in enumerate(names):
            if (first := names.index(name)) < i:
                one, other = (each["path"] if isinstance(each, dict) else each for each in (written[first], written[i]))
                both = f"{one} and {other} are both called {name!r}; name one otherwise: {{path: {other}, name: …}}"
                raise Misplaced(f"{other!r} is given twice" if one == other else both, i)
        return names

    @model_validator(mode="before")
    @classmethod
    def _with_paths(cls, config: Any, info: ValidationInfo) -> Any:
        """Make the paths of feature maps' files absolute: they start from the config's folder, or from the current one.
        Spell out plain lists of a sweep."""
        return methodfiles.found_from(spelled_out(config), (info.context or {}).get("folder", Path()))

    @model_validator(mode="after")
    def _consistent(self) -> Experiment:
        patches = [patch for labels in self.sweep.values() for patch in labels.values()]
        names = [*self.datasets, *(name for patch in patches for name in patch.get("datasets", []))]
        self.cards = {name: without_folders(card) for name in names if (card := own_card(name))}
        for key in PER_DATASET:
            check_mapping(key, getattr(self, key), self.datasets, "dataset of this experiment")
        for key, others in (("solver_of", self.solver_of), ("kernel_of", self.kernel_of)):
            for dataset in others:
                if dataset not in self.datasets:
                    raise Misplaced(unknown("dataset of this experiment", dataset, self.datasets), key, dataset)
        for label, method in self.methods.items():
            with under("methods", label):
                for key in ("n_features", "trials", "flaws"):
                    if isinstance(own := getattr(method, key), dict):
                        check_mapping(key, own, method.datasets or self.datasets, "dataset")
        check_grid(Grid(self.to_dict()))
        check_inputs(Grid(self.to_dict()))
        check_fitted(Grid(self.to_dict()))
        self.files()
        if self.significance.baselines is None:
            self.significance.baselines = [
                label for label, method in self.methods.items() if method.features in BASELINE_FEATURES
            ]
        for i, label in enumerate(self.significance.baselines):
            if label not in self.methods:
                raise Misplaced(unknown("method", label, self.methods), "significance", "baselines", i)
        self.protocols()  # every combination of a sweep is a valid experiment
        return self

    def protocols(self) -> list[tuple[dict[str, str], Experiment]]:
        """Every combination of the sweep: its labels, one per axis, and its experiment without a sweep. Only this
        experiment, without labels, if nothing is swept."""
        if not self.sweep:
            return [({}, self)]
        if self._protocols is None:
            self._protocols = self._combined()
        return self._protocols

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in type(self).model_fields:  # the combinations have it too
            self._protocols = None

    def _combined(self) -> list[tuple[dict[str, str], Experiment]]:
        check_sweep(self.sweep)
        base = self.model_dump(mode="json", by_alias=True, exclude={"sweep"}, exclude_unset=True)
        found = []
        for labels, config in combinations(base, self.sweep):
            try:
                found.append((labels, Experiment.model_validate(config)))
            except ValidationError as error:
                where = ", ".join(f"{axis}: {label}" for axis, label in labels.items())
                wrong = misplaced(error, model=Experiment)
                at = f"{yamlfile.dotted(yamlfile.counted(wrong.where))}: " if wrong.where else ""
                message = f"the combination {where} is not a valid config: {at}{wrong}"
                causes = [each for each in labels.items() if {*wrong.where[:1]} & self.sweep[each[0]][each[1]].keys()]
                raise Misplaced(message, "sweep", *(causes[-1] if causes else ())) from None
        return found

    def grid(self) -> list[TrialSpec]:
        """Every trial once, ordered by protocol of the sweep, dataset, trial, size, method."""
        specs = (spec for _, experiment in self.protocols() for spec in Grid(experiment.to_dict()).specs())
        return list({spec.key: spec for spec in specs}.values()) if self.sweep else list(specs)

    def with_trials(self, count: int) -> Experiment:
        """The same experiment with ``count`` trials in every cell."""
        config = self.model_dump(mode="json", by_alias=True, exclude_unset=True) | {"trials": count}
        for method in config["methods"].values():
            method.pop("trials", None)
        return Experiment.model_validate(config)

    def files(self) -> list[Path]:
        """The user's own files with feature maps."""
        return methodfiles.files(self.to_dict())

    def size(self) -> int:
        """The number of trials of the grid, counted by cells without making the trials."""
        cells: dict[str, int] = {}  # protocols of a sweep may share cells
        for first, count in self._cells():
            cells[first.key] = max(count, cells.get(first.key, 0))
        return sum(cells.values())

    def solvers(self) -> list[dict[str, Any]]:
        """The distinct solvers of the trials."""
        return list({canonical_json(first.solver): first.solver for first, _ in self._cells()}.values())

    def _cells(self) -> Iterator[tuple[TrialSpec, int]]:
        """The first trial of every cell, and the cell's number of trials."""
        for _, experiment in self.protocols():
            yield from Grid(experiment.to_dict()).cells()

    def firsts(self) -> Iterator[TrialSpec]:
        """The first trial of every cell."""
        return (first for first, _ in self._cells())

    def runs_on(self, executor: str | None = None) -> tuple[str, dict[str, Any]]:
        """The executor's name and its options: ``executor`` if given, with the config's options if it is the same;
        otherwise the config's executor, or ``local``."""
        if self.executor is None or executor not in (None, self.executor.name):
            return executor or "local", {}
        return self.executor.name, dict(self.executor.model_extra or {})

    def to_dict(self) -> dict[str, Any]:
        """The resolved config in the form of the YAML. All defaults are written out, except those of a foreign map,
        which its own code may change."""
        from rffbench.features import known_defaults

        resolved = self.model_dump(mode="json", by_alias=True)
        for key in (*PER_DATASET, "trials"):
            if list(resolved[key]) == [DEFAULT] and not isinstance(resolved[key][DEFAULT], dict):
                resolved[key] = resolved[key][DEFAULT]
        resolved["solver"] = self.solver.spec()
        resolved["kernel"] = self.kernel.spec()
        resolved["kernel_of"] = {dataset: self._kernel_there(dataset) for dataset in self.kernel_of}
        for label, method in self.methods.items():
            written = resolved["methods"][label]
            if method.solver is not None:
                written["solver"] = self._solver_of(label, method.solver)
            if method.kernel is not None:
                written["kernel"] = method.kernel.spec()
            left_out = [key for key in OF_METHOD if written[key] is None]
            given = {key: value for key, value in written.items() if key not in left_out}
            resolved["methods"][label] = {"features": method.features} | known_defaults(method.features) | given
        for key in ("sweep", "executor", "cards", "solver_of", "kernel_of"):
            if not resolved[key]:
                del resolved[key]
        if self.cards:
            resolved["cards"] = {
                name: card.model_dump(mode="json", exclude_defaults=True) for name, card in self.cards.items()
            }
        return resolved

    def _kernel_there(self, dataset: str) -> dict[str, Any]:
        """The values of the experiment's kernel that are different on a dataset, in the form of a trial's spec."""
        own = self.kernel.model_dump(by_alias=True, exclude_unset=True)
        given = patched({"kernel": own}, {"kernel": self.kernel_of[dataset]})["kernel"]
        there = placed(Kernel.model_validate, given, "kernel_of", dataset).spec()
        return {key: value for key, value in there.items() if self.kernel.spec().get(key) != value}

    def _solver_of(self, label: str, own: dict[str, Any]) -> dict[str, Any]:
        """A method's solver: its own settings replace the experiment's; with another name, they replace all of them."""
        if own.get("name", self.solver.name) != self.solver.name:
            return placed(Solver.model_validate, own, "methods", label, "solver").spec()
        written = self.solver.model_dump(by_alias=True, exclude_unset=True)
        return placed(Solver.model_validate, written | own, "methods", label, "solver").spec()

    def to_yaml(self, folder: Path | None = None) -> str:
        """The resolved config as YAML. ``load_experiment`` reads it back to an equal experiment if the ``files`` are
        beside it. The path of the user's own reference file is relative to ``folder``, the folder of the YAML."""
        resolved = methodfiles.portable(self.to_dict())
        if folder and self.reference and os.path.isabs(self.reference):
            resolved["reference"] = os.path.relpath(self.reference, folder.resolve())
        return yamlfile.dump(resolved)
