"""An experiment: the YAML config as pydantic models, and the grid of trials it stands for.

It checks every name and value, so that a wrong config is refused before anything starts; it knows nothing of
how trials run.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    model_validator,
)

from rffbench import yamlfile
from rffbench.configvalues import (
    DEFAULT,
    Dataset,
    FeaturesName,
    KernelName,
    Label,
    Memory,
    Number,
    PositiveInt,
    PositiveNumber,
    Reference,
    Seconds,
    Sizes,
    SolverName,
    Steps,
    by_default,
    listed,
    text_keys,
)
from rffbench.errors import ConfigError, unknown
from rffbench.spec import TrialSpec
from rffbench.yamlfile import Misplaced

Value = TypeVar("Value")

# Maps that look at no data: what significance is tested against unless the config says otherwise.
BASELINE_FEATURES = ("fourier", "qmc")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Kernel(_Strict):
    """The kernel to approximate, its bandwidth as σ or as γ."""

    name: KernelName = Field(
        default="gaussian", description="gaussian exp(-γ‖Δ‖²), laplacian exp(-γ‖Δ‖₁), cauchy ∏ 1/(1+γΔⱼ²)."
    )
    sigma: PositiveNumber | None = Field(
        default=None, description="Bandwidth σ, γ = 1/(2σ²), 1/σ, 1/σ² in turn; 1 where gamma is not given."
    )
    gamma: PositiveNumber | None = Field(default=None, description="γ itself, instead of sigma.")

    @model_validator(mode="after")
    def _one_bandwidth(self) -> Kernel:
        if self.sigma is not None and self.gamma is not None:
            raise Misplaced("give sigma or gamma, not both", "gamma")
        if self.sigma is None and self.gamma is None:
            self.sigma = 1.0
        try:
            self.spec()
        except ValueError as error:
            raise Misplaced(str(error), "sigma") from None
        return self

    def spec(self) -> dict[str, Any]:
        from rffbench.kernels import gamma_from_sigma

        gamma = self.gamma if self.sigma is None else gamma_from_sigma(self.name, self.sigma)
        return {"name": self.name, "gamma": gamma}


class Method(BaseModel):
    """A feature map by its registered name, with that map's parameters beside it."""

    model_config = ConfigDict(extra="allow")

    features: FeaturesName = Field(
        description="The feature map's name (see: rffbench methods)."
    )

    @model_validator(mode="after")
    def _known_parameters(self) -> Method:
        from rffbench.features import parameters

        valid = list(parameters(self.features))
        for key in self.model_extra or {}:
            if key not in valid:
                raise Misplaced(unknown(f"parameter of {self.features}", key, valid), key)
        return self

    def spec(self) -> dict[str, Any]:
        return {"name": self.features, **(self.model_extra or {})}


class Solver(BaseModel):
    """The learner on the features, with the ridge parameter λ chosen by cross-validation."""

    model_config = ConfigDict(extra="allow")

    name: SolverName = Field(
        default="ridge", description="The solver's name (see: rffbench methods)."
    )
    lambda_: Annotated[
        list[PositiveNumber],
        BeforeValidator(listed, json_schema_input_type=float | list[float]),
        Field(min_length=1),
    ] = Field(
        default=[0.05, 0.1, 0.5, 1.0],
        alias="lambda",
        description="λ, or values for cross-validation to choose from.",
    )
    folds: Annotated[StrictInt, Field(ge=2)] = Field(default=5, description="Folds of the cross-validation.")
    lambda_scale: Literal["n", 1] = Field(default="n", description="The penalty: n·λ, or λ itself.")
    center: StrictBool | Literal["target", "both"] = Field(
        default=True, description="true or target: centre y; both: an unpenalised intercept; false: neither."
    )

    @model_validator(mode="after")
    def _known_parameters(self) -> Solver:
        from rffbench.solvers import parameters

        valid = list(parameters(self.name))
        written = {"lambda" if key == "lambda_" else key for key in self.model_fields_set} - {"name"}
        for key in (*written, *(self.model_extra or {})):
            if key not in valid:
                raise Misplaced(unknown(f"parameter of {self.name}", key, valid), key)
        return self

    def spec(self) -> dict[str, Any]:
        """The name and every parameter the solver has, defaults included."""
        from rffbench.solvers import parameters

        written = self.model_dump(by_alias=True, exclude_unset=True, exclude={"name"})
        return {"name": self.name, **parameters(self.name), **written}


class Significance(_Strict):
    """The "•" of the tables: a paired t-test over trials, better than every baseline."""

    baselines: list[StrictStr] | None = Field(
        default=None, description="Labels of the methods to beat; those of fourier and qmc unless given."
    )
    level: Annotated[Number, Field(gt=0, lt=1)] = Field(default=0.05, description="The test's level.")
    correction: Literal["none", "holm"] = Field(default="none", description="For many comparisons.")


# ---- The experiment ----------------------------------------------------------------------------------------


class Experiment(_Strict):
    """One experiment: datasets × sizes × methods × trials, and how each trial is done."""

    name: Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")] = Field(
        description="Names the results folder: letters, digits, '.', '_', '-'."
    )
    title: StrictStr = Field(default="", description="The heading of tables and figures.")
    datasets: Annotated[list[Dataset], Field(min_length=1)] = Field(
        description="Dataset names (see: rffbench datasets list)."
    )
    preprocess: Annotated[
        dict[str, Steps],
        BeforeValidator(by_default, json_schema_input_type=str | list[str] | dict[str, str | list[str]]),
    ] = Field(
        default={DEFAULT: ["none"]},
        description="none, minmax, standard, sample-minmax, sample-standard, sample-l2, or a list applied in "
        "order; or a mapping from dataset (or default) to these.",
    )
    preprocess_fit: Literal["train", "all"] = Field(
        default="train", description="The rows that column-wise preprocessing takes its statistics from."
    )
    kernel: Kernel = Field(default_factory=Kernel, description="The kernel to approximate.")
    n_features: Annotated[
        dict[str, Sizes],
        BeforeValidator(by_default, json_schema_input_type=list[str | int] | dict[str, list[str | int]]),
    ] = Field(description='Sizes: integers, or "16d" for 16 × the input dimension; per dataset too.')
    count: Literal["frequencies", "columns"] = Field(
        default="frequencies", description="Counted by n_features."
    )
    methods: Annotated[dict[Label, Method], Field(min_length=1)] = Field(
        description="Label → feature map and its parameters."
    )
    solver: Solver = Field(default_factory=Solver, description="The learner on the features.")
    trials: Annotated[
        dict[str, PositiveInt],
        BeforeValidator(text_keys),
        BeforeValidator(by_default, json_schema_input_type=int | dict[str, int]),
    ] = Field(
        default={DEFAULT: 10}, description="Trials of a cell; a mapping from size (or default) to that."
    )
    seed: Annotated[StrictInt, Field(ge=0)] = Field(default=0, description="All random numbers come from it.")
    reference: Reference | None = Field(
        default=None, description="The paper's numbers to compare with, e.g. liu2020-table3."
    )
    significance: Significance = Field(default_factory=Significance, description='The "•" of the tables.')
    kernel_error_points: Annotated[StrictInt, Field(ge=0)] = Field(
        default=1000, description="Points for ‖K−K̃‖₂/‖K‖₂; 0 leaves it out."
    )
    timing: Literal["shared", "exclusive"] = Field(
        default="shared", description="exclusive: one trial at a time, so that seconds are comparable."
    )
    time_limit: Seconds | None = Field(
        default=None, description='Longest a trial may take: seconds, or "30m".'
    )
    memory: Memory | None = Field(default=None, description='Memory budget of a trial: bytes, or "6GB".')
    dtype: Literal["float64", "float32"] = Field(default="float64", description="Of the features.")
    device: Literal["cpu", "cuda"] = Field(
        default="cpu", description="Computes features, Gram matrices and factorisations; cuda needs PyTorch."
    )

    @model_validator(mode="after")
    def _consistent(self) -> Experiment:
        for key in ("preprocess", "n_features"):
            _check_mapping(key, getattr(self, key), self.datasets, "dataset of this experiment")
        sizes = [str(size) for dataset in self.datasets for size in self._at(self.n_features, dataset)]
        _check_mapping("trials", self.trials, sizes, "size of this experiment")
        if repeated := _repeated(self.datasets):
            raise Misplaced(f"{repeated!r} is given twice", "datasets")
        for dataset in self.datasets:
            if count := _repeated([n for n, _ in self.sizes(dataset)]):
                raise Misplaced(f"gives {count} features for {dataset} twice", "n_features", dataset)
        for dataset in self.datasets:
            self._check_folds(dataset)
        if self.device != "cpu" and self.solver.name != "ridge":
            raise Misplaced(f"{self.device} runs the solver ridge, not {self.solver.name}", "device")
        for label, method in self.methods.items():
            self._check_method(label, method)
        if self.significance.baselines is None:
            self.significance.baselines = [
                label for label, method in self.methods.items() if method.features in BASELINE_FEATURES
            ]
        for i, label in enumerate(self.significance.baselines):
            if label not in self.methods:
                raise Misplaced(unknown("method", label, self.methods), "significance", "baselines", i)
        return self

    def _check_folds(self, dataset: str) -> None:
        from rffbench.data.cards import load_card

        folds, rows = self.solver.spec().get("folds"), load_card(dataset).n_train
        if folds and folds > rows:
            raise Misplaced(f"{folds} are more than the {rows} training rows of {dataset}", "solver", "folds")

    def _check_method(self, label: str, method: Method) -> None:
        """The method's parameters have values that its feature map takes, at every size."""
        from rffbench.features import make_features
        from rffbench.features.base import FourierFeatures

        counts = {n for dataset in self.datasets for n, _ in self.sizes(dataset)}
        kernel = self.kernel.spec()
        for n in sorted(counts):
            try:
                made = make_features(
                    method.spec(), kernel=kernel["name"], gamma=kernel["gamma"],
                    n_features=n, count=self.count,
                )  # fmt: skip
            except ConfigError as error:
                raise Misplaced(str(error), "methods", label) from None
            if self.device != "cpu" and not isinstance(made, FourierFeatures):
                message = f"device: {self.device} runs Fourier feature maps, not {method.features}"
                raise Misplaced(message, "methods", label)

    @staticmethod
    def _at(mapping: dict[str, Value], key: str) -> Value:
        return mapping[key] if key in mapping else mapping[DEFAULT]

    def sizes(self, dataset: str) -> list[tuple[int, str | int]]:
        """The dataset's sizes in order, each as (count, as written: ``"16d"`` or the count)."""
        from rffbench.data.cards import load_card

        d = load_card(dataset).columns
        written = self._at(self.n_features, dataset)
        return [(size if isinstance(size, int) else int(size[:-1]) * d, size) for size in written]

    def grid(self) -> list[TrialSpec]:
        """Every trial, ordered by dataset, trial, size, method."""
        return [spec for dataset in self.datasets for spec in self._trials_of(dataset)]

    def _trials_of(self, dataset: str) -> Iterator[TrialSpec]:
        from rffbench.data.cards import load_card

        data_hash = load_card(dataset).content_hash
        kernel, solver = self.kernel.spec(), self.solver.spec()
        sizes = [(n, size, self._at(self.trials, str(size))) for n, size in self.sizes(dataset)]
        for trial in range(max(trials for *_, trials in sizes)):
            for (n, size, trials), (label, method) in itertools.product(sizes, self.methods.items()):
                if trial < trials:
                    yield TrialSpec(
                        dataset=dataset,
                        data_hash=data_hash,
                        method=label,
                        n_features=n,
                        trial=trial,
                        seed=self.seed,
                        features=method.spec(),
                        solver=solver,
                        kernel=kernel,
                        preprocess=self._at(self.preprocess, dataset),
                        preprocess_fit=self.preprocess_fit,
                        multiple=int(size[:-1]) if isinstance(size, str) else None,
                        count=self.count,
                        dtype=self.dtype,
                        device=self.device,
                        kernel_error_points=self.kernel_error_points,
                        exclusive=self.timing == "exclusive",
                    )

    def to_dict(self) -> dict[str, Any]:
        """The resolved config: as the YAML would say it, every default written out."""
        resolved = self.model_dump(mode="json", by_alias=True)
        for key in ("preprocess", "n_features", "trials"):
            if list(resolved[key]) == [DEFAULT]:
                resolved[key] = resolved[key][DEFAULT]
        resolved["solver"] = self.solver.spec()
        resolved["kernel"] = self.kernel.spec()
        return resolved

    def to_yaml(self) -> str:
        """The resolved config as YAML that ``load_experiment`` reads back to an equal experiment."""
        return yaml.safe_dump(self.to_dict(), sort_keys=False, allow_unicode=True, default_flow_style=None)


def _check_mapping(field: str, mapping: dict[str, Any], keys: Sequence[str], what: str) -> None:
    """Every key of a per-dataset or per-size mapping exists, and every key has a value or the default."""
    for key in mapping:
        if key != DEFAULT and key not in keys:
            raise Misplaced(unknown(what, key, [*dict.fromkeys(keys), DEFAULT]), field, key)
    if missing := [key for key in keys if key not in mapping and DEFAULT not in mapping]:
        raise Misplaced(f"says nothing for {missing[0]}; add it, or {DEFAULT}", field)


def _repeated(values: Iterable[Value]) -> Value | None:
    seen: set[Value] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


# ---- Loading and choosing ----------------------------------------------------------------------------------


def load_experiment(config: str | Path) -> Experiment:
    """The experiment of a YAML file, or of a config that ships with the package, by its name.

    ConfigError names the file and line, what is wrong and the nearest valid name.
    """
    return yamlfile.load(_find(config), Experiment)


def _find(config: str | Path) -> Path:
    from rffbench.resources import resource_folder

    path = Path(config)
    if path.is_file():
        return path
    if path.is_dir():
        raise ConfigError(f"{path}: is a folder; a config is a YAML file")
    folder = resource_folder("configs")
    names = sorted(each.stem for each in folder.glob("*.yaml"))
    if str(config) in names:
        return folder / f"{config}.yaml"
    if path.stem in names:
        raise ConfigError(f"{config}: no such file; the config of that name that ships here is {path.stem!r}")
    raise ConfigError(f"{config}: no such file; {unknown('config', path.stem, names)}")


def filter_specs(specs: Iterable[TrialSpec], only: Iterable[str]) -> list[TrialSpec]:
    """The specs that meet every ``KEY=VALUE[,VALUE…]`` of ``only``.

    Keys: dataset, method, n_features (``16d`` or a count), trial. ConfigError for another key, a value that
    occurs nowhere in ``specs``, or where nothing is left.
    """
    chosen = every = list(specs)
    for condition in only:
        key, equals, text = condition.partition("=")
        if not equals or not text:
            raise ConfigError(f"--only {condition}: must be KEY=VALUE, for example dataset=eeg")
        if key not in _SELECTORS:
            raise ConfigError(f"--only {condition}: {unknown('key', key, _SELECTORS)}")
        names = _SELECTORS[key]
        valid = list(dict.fromkeys(name for spec in every for name in names(spec)))
        values = {value.strip() for value in text.split(",")}
        for value in sorted(values.difference(valid)):
            raise ConfigError(f"--only {condition}: {unknown(key, value, valid)}")
        chosen = [spec for spec in chosen if values.intersection(names(spec))]
        if not chosen:
            raise ConfigError(f"--only {condition}: no trial meets it and the conditions before it")
    return chosen


_SELECTORS: dict[str, Callable[[TrialSpec], tuple[str, ...]]] = {
    "dataset": lambda spec: (spec.dataset,),
    "method": lambda spec: (spec.method,),
    "n_features": lambda spec: (
        *((f"{spec.multiple}d",) if spec.multiple else ()),
        str(spec.n_features),
    ),
    "trial": lambda spec: (str(spec.trial),),
}
