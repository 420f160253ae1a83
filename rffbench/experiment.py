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
    ValidationError,
    model_validator,
)

from rffbench import yamlfile
from rffbench.configvalues import (
    DEFAULT,
    Bandwidths,
    Dataset,
    FeaturesName,
    KernelName,
    Label,
    MeasureName,
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
    listed_or_none,
    text_keys,
)
from rffbench.errors import ConfigError, unknown
from rffbench.spec import MEDIAN, TrialSpec
from rffbench.yamlfile import Misplaced

Value = TypeVar("Value")

# Maps that look at no data: what significance is tested against unless the config says otherwise.
BASELINE_FEATURES = ("fourier", "qmc")
SCALED_BY_DATA = ("perceptron",)  # kernels whose γ, where none is given, comes from the training rows


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Kernel(_Strict):
    """The kernel to approximate, its bandwidth as σ or as γ; of several the cross-validation chooses."""

    name: KernelName = Field(
        default="gaussian",
        description="gaussian exp(-γ‖Δ‖²), laplacian exp(-γ‖Δ‖₁), cauchy ∏ 1/(1+γΔⱼ²), perceptron 1-c·γ‖Δ‖.",
    )
    sigma: Bandwidths | None = Field(
        default=None,
        description="Bandwidth σ, γ = 1/(2σ²), 1/σ, 1/σ², 1/σ in turn; 1 where gamma is not given. median: the median "
        "distance between training rows.",
    )
    gamma: Bandwidths | None = Field(default=None, description="γ itself, instead of sigma.")

    @model_validator(mode="after")
    def _one_bandwidth(self) -> Kernel:
        if self.sigma is not None and self.gamma is not None:
            raise Misplaced("give sigma or gamma, not both", "gamma")
        if self.sigma is None and self.gamma is None and self.name not in SCALED_BY_DATA:
            self.sigma = 1.0
        if MEDIAN in (self.sigma, self.gamma) and self.name in SCALED_BY_DATA:
            raise Misplaced(f"{MEDIAN} is not for the {self.name} kernel, whose radius must reach all rows", "sigma")
        try:
            self.spec()
        except ValueError as error:
            raise Misplaced(str(error), "sigma") from None
        return self

    def spec(self) -> dict[str, Any]:
        """The name and γ: a number, a list of them, or what the data shall give: None, or median."""
        from rffbench.kernels import gamma_from_sigma

        if self.sigma is None or isinstance(self.sigma, str):
            return {"name": self.name, "gamma": self.sigma or self.gamma}
        if isinstance(self.sigma, list):
            return {"name": self.name, "gamma": [gamma_from_sigma(self.name, sigma) for sigma in self.sigma]}
        return {"name": self.name, "gamma": gamma_from_sigma(self.name, self.sigma)}


class Method(BaseModel):
    """A feature map by its registered name, with that map's parameters beside it, and what the method has of its
    own: a solver, a kernel, sizes."""

    model_config = ConfigDict(extra="allow")

    features: FeaturesName = Field(
        description="The feature map's name (see: rffbench methods), or none for solvers that need none."
    )
    solver: dict[str, Any] | None = Field(
        default=None, description="Solver settings that replace the experiment's, all of them with another name."
    )
    kernel: Kernel | None = Field(default=None, description="A kernel instead of the experiment's.")
    n_features: Annotated[Sizes | None, BeforeValidator(listed_or_none)] = Field(
        default=None, description="Sizes instead of the experiment's."
    )
    datasets: Annotated[list[Dataset] | None, Field(min_length=1)] = Field(
        default=None, description="Of the experiment's datasets those it is run on; all unless given."
    )

    @model_validator(mode="after")
    def _known_parameters(self) -> Method:
        from rffbench.features import parameters

        valid = list(parameters(self.features))
        for key in self.model_extra or {}:
            if key not in valid:
                keys = [*valid, *(name for name in type(self).model_fields if name != "features")]
                raise Misplaced(unknown(f"parameter of {self.features}", key, keys), key)
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
        """The name and every parameter the solver has, defaults included but those that stand for nothing (null,
        false): a parameter added later, and not used, leaves a trial's key as it was."""
        from rffbench.solvers import parameters

        defaults = parameters(self.name)
        values = {**defaults, **self.model_dump(by_alias=True, exclude_unset=True, exclude={"name"})}
        unused = [key for key, default in defaults.items() if not default and values[key] in (None, False)]
        return {"name": self.name, **{key: value for key, value in values.items() if key not in unused}}


class Significance(_Strict):
    """The "•" of the tables: a paired t-test over trials, better than every baseline."""

    baselines: list[StrictStr] | None = Field(
        default=None, description="Labels of the methods to beat; those of fourier and qmc unless given."
    )
    level: Annotated[Number, Field(gt=0, lt=1)] = Field(default=0.05, description="The test's level.")
    correction: Literal["none", "holm"] = Field(default="none", description="For many comparisons.")


PER_DATASET = ("preprocess", "n_features", "kernel_error_points", "train_rows")


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
        description="none, minmax, standard, clip, sample-minmax, sample-minmax01, sample-standard, sample-l2, or a "
        "list applied in order; or a mapping from dataset (or default) to these.",
    )
    preprocess_fit: Literal["train", "all"] = Field(
        default="train", description="The rows that column-wise preprocessing takes its statistics from."
    )
    train_rows: Annotated[
        dict[str, PositiveInt | None],
        BeforeValidator(by_default, json_schema_input_type=int | None | dict[str, int | None]),
    ] = Field(
        default={DEFAULT: None},
        description="Training rows of a trial: so many of the split's, in their random order, or all; per dataset too.",
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
    kernel_error_points: Annotated[
        dict[str, Annotated[StrictInt, Field(ge=0)]],
        BeforeValidator(by_default, json_schema_input_type=int | dict[str, int]),
    ] = Field(default={DEFAULT: 1000}, description="Points for ‖K−K̃‖₂/‖K‖₂; 0 leaves it out; per dataset too.")
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
    measures: list[MeasureName] = Field(
        default=["kernel_error"],
        description="What is measured of a map on kernel_error_points training rows.",
    )
    sweep: dict[StrictStr, Annotated[dict[StrictStr, dict[str, Any]], Field(min_length=1)]] = Field(
        default={},
        description="Axis → label → what it changes in this config: the experiment is done with every "
        "combination of one label an axis.",
    )

    @model_validator(mode="after")
    def _consistent(self) -> Experiment:
        for key in PER_DATASET:
            _check_mapping(key, getattr(self, key), self.datasets, "dataset of this experiment")
        sizes = [
            str(size) for dataset in self.datasets for label in self.methods for _, size in self.sizes(dataset, label)
        ]
        _check_mapping("trials", self.trials, sizes, "size of this experiment")
        if repeated := _repeated(self.datasets):
            raise Misplaced(f"{repeated!r} is given twice", "datasets")
        for dataset in self.datasets:
            if count := _repeated([n for n, _ in self.sizes(dataset)]):
                raise Misplaced(f"gives {count} features for {dataset} twice", "n_features", dataset)
        for label, method in self.methods.items():
            self._check_method(label, method)
        if self.significance.baselines is None:
            self.significance.baselines = [
                label for label, method in self.methods.items() if method.features in BASELINE_FEATURES
            ]
        for i, label in enumerate(self.significance.baselines):
            if label not in self.methods:
                raise Misplaced(unknown("method", label, self.methods), "significance", "baselines", i)
        self.protocols()  # every combination of a sweep is a valid experiment
        return self

    def _check_method(self, label: str, method: Method) -> None:
        """The method's map and solver are to be had with these parameters, at every size of every dataset."""
        from rffbench.data.cards import load_card
        from rffbench.features import make_features
        from rffbench.features.base import FourierFeatures
        from rffbench.measures import check_measurable
        from rffbench.solvers import make_solver

        solver, kernel = self.solver_of(label), self.kernel_of(label)
        own = ("methods", label, "solver") if method.solver else ("solver",)
        if self.device != "cpu" and solver["name"] != "ridge":
            raise Misplaced(f"{self.device} runs the solver ridge, not {solver['name']}", "device")
        if self.device != "cpu" and (extra := [key for key in ("scoring", "path") if key in solver]):
            raise Misplaced(f"{self.device} runs ridge without {extra[0]}", *own)
        if method.features == solver["name"] == "none":
            raise Misplaced("has neither a feature map nor a solver", "methods", label)
        if isinstance(kernel["gamma"], list) and len(solver.get("lambda", [])) < 2:
            message = "bandwidths are chosen by the cross-validation of a ridge solver over two λ or more"
            raise Misplaced(message, *(("methods", label, "kernel") if method.kernel else ("kernel",)))
        for index, dataset in enumerate(method.datasets or []):
            if dataset not in self.datasets:
                message = unknown("dataset of this experiment", dataset, self.datasets)
                raise Misplaced(message, "methods", label, "datasets", index)
        datasets = self.datasets_of(label)
        tasks: list[Any] = sorted({load_card(dataset).task for dataset in datasets})
        known = kernel["gamma"] if kernel["gamma"] not in (None, MEDIAN) else 1.0  # the data's may be any
        for gamma in known if isinstance(known, list) else [known]:
            for n in sorted({n for dataset in datasets for n, _ in self.sizes(dataset, label)}):
                try:
                    made = make_features(
                        method.spec(), kernel=kernel["name"], gamma=gamma, n_features=n, count=self.count
                    )
                except ConfigError as error:
                    raise Misplaced(str(error), "methods", label) from None
                for i, measure in enumerate(self.measures if made is not None else []):
                    try:
                        check_measurable(measure, made)
                    except ValueError as error:
                        raise Misplaced(str(error), "measures", i) from None
                if self.device != "cpu" and not isinstance(made, FourierFeatures):
                    message = f"device: {self.device} runs Fourier feature maps, not {method.features}"
                    raise Misplaced(message, "methods", label)
                for task in tasks if solver["name"] != "none" else []:
                    try:
                        make_solver(
                            solver, task=task, features=made, kernel=kernel["name"], gamma=gamma, n_features=n
                        )
                    except ConfigError as error:
                        raise Misplaced(str(error), *own) from None
        for dataset in datasets:
            folds, rows = solver.get("folds"), load_card(dataset).n_train
            rows = min(rows, self._at(self.train_rows, dataset) or rows)
            if folds and folds > rows:
                raise Misplaced(f"{folds} are more than the {rows} training rows of {dataset}", *own, "folds")

    def solver_of(self, label: str) -> dict[str, Any]:
        """The solver of one method: the experiment's, with the method's own settings in their place."""
        own = self.methods[label].solver
        if own is None:
            return self.solver.spec()
        if own.get("name", self.solver.name) != self.solver.name:
            return _placed(Solver.model_validate, own, "methods", label, "solver").spec()
        written = self.solver.model_dump(by_alias=True, exclude_unset=True)
        return _placed(Solver.model_validate, written | own, "methods", label, "solver").spec()

    def datasets_of(self, label: str) -> list[str]:
        """The datasets one method is run on."""
        return [dataset for dataset in self.datasets if dataset in (self.methods[label].datasets or self.datasets)]

    def kernel_of(self, label: str) -> dict[str, Any]:
        """The kernel of one method: its own, or the experiment's."""
        return (self.methods[label].kernel or self.kernel).spec()

    @staticmethod
    def _at(mapping: dict[str, Value], key: str) -> Value:
        return mapping[key] if key in mapping else mapping[DEFAULT]

    def sizes(self, dataset: str, method: str | None = None) -> list[tuple[int, str | int]]:
        """The dataset's sizes in order, each as (count, as written: ``"16d"`` or the count); those of a method
        where it has its own."""
        from rffbench.data.cards import load_card

        d = load_card(dataset).columns
        own = self.methods[method].n_features if method else None
        written = self._at(self.n_features, dataset) if own is None else own
        return [(size if isinstance(size, int) else int(size[:-1]) * d, size) for size in written]

    def protocols(self) -> list[tuple[dict[str, str], Experiment]]:
        """Every combination of the sweep: its labels, one an axis, and the experiment without a sweep that it
        stands for. Just this experiment, without labels, where nothing is swept."""
        if not self.sweep:
            return [({}, self)]
        base = self.model_dump(mode="json", by_alias=True, exclude={"sweep"}, exclude_unset=True)
        found = []
        for labels in itertools.product(*self.sweep.values()):
            config = base
            for axis, label in zip(self.sweep, labels, strict=True):
                config = patched(config, self.sweep[axis][label])
            try:
                experiment = Experiment.model_validate(config)
            except ValidationError as error:
                where = ", ".join(f"{axis}: {label}" for axis, label in zip(self.sweep, labels, strict=True))
                first = error.errors()[0]
                problem = f"{'.'.join(map(str, first['loc']))} {first['msg']}".strip()
                raise Misplaced(f"the combination {where} is no valid config: {problem}", "sweep") from None
            found.append((dict(zip(self.sweep, labels, strict=True)), experiment))
        return found

    def grid(self) -> list[TrialSpec]:
        """Every trial once, ordered by protocol of the sweep, dataset, trial, size, method."""
        specs = (
            spec for _, experiment in self.protocols() for dataset in experiment.datasets
            for spec in experiment._trials_of(dataset)
        )  # fmt: skip
        return list({spec.key: spec for spec in specs}.values()) if self.sweep else list(specs)

    def _trials_of(self, dataset: str) -> Iterator[TrialSpec]:
        from rffbench.data.cards import load_card

        data_hash = load_card(dataset).content_hash
        methods = {label: each for label, each in self.methods.items() if dataset in self.datasets_of(label)}
        solvers = {label: self.solver_of(label) for label in methods}
        kernels = {label: self.kernel_of(label) for label in methods}
        own = {label: dict(self.sizes(dataset, label)) for label in methods}
        sizes = dict(sorted({n: size for each in own.values() for n, size in each.items()}.items()))
        if not any(method.n_features for method in methods.values()):
            sizes = dict(self.sizes(dataset))
        trials = {n: self._at(self.trials, str(size)) for n, size in sizes.items()}
        for trial in range(max(trials.values())):
            for (n, size), (label, method) in itertools.product(sizes.items(), methods.items()):
                if trial < trials[n] and n in own[label]:
                    yield TrialSpec(
                        dataset=dataset,
                        data_hash=data_hash,
                        method=label,
                        n_features=n,
                        trial=trial,
                        seed=self.seed,
                        features=method.spec(),
                        solver=solvers[label],
                        kernel=kernels[label],
                        preprocess=self._at(self.preprocess, dataset),
                        preprocess_fit=self.preprocess_fit,
                        multiple=int(size[:-1]) if isinstance(size, str) else None,
                        count=self.count,
                        dtype=self.dtype,
                        device=self.device,
                        kernel_error_points=self._at(self.kernel_error_points, dataset),
                        exclusive=self.timing == "exclusive",
                        measures=self.measures,
                        train_rows=self._at(self.train_rows, dataset),
                    )

    def to_dict(self) -> dict[str, Any]:
        """The resolved config: as the YAML would say it, every default written out."""
        resolved = self.model_dump(mode="json", by_alias=True)
        for key in (*PER_DATASET, "trials"):
            if list(resolved[key]) == [DEFAULT]:
                resolved[key] = resolved[key][DEFAULT]
        resolved["solver"] = self.solver.spec()
        resolved["kernel"] = self.kernel.spec()
        for label, method in self.methods.items():
            written = resolved["methods"][label]
            written["solver"] = method.solver and self.solver_of(label)
            written["kernel"] = method.kernel and self.kernel_of(label)
            resolved["methods"][label] = {key: value for key, value in written.items() if value is not None}
        if self.measures == ["kernel_error"]:
            del resolved["measures"]
        if resolved["train_rows"] is None:
            del resolved["train_rows"]
        if not self.sweep:
            del resolved["sweep"]
        return resolved

    def to_yaml(self) -> str:
        """The resolved config as YAML that ``load_experiment`` reads back to an equal experiment."""
        return yaml.safe_dump(self.to_dict(), sort_keys=False, allow_unicode=True, default_flow_style=None)


def patched(config: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """``config`` with the values of ``patch`` in place of its own, mapping by mapping. A bandwidth replaces the
    one there was, be it written as σ or as γ; another solver's settings replace all of the former's."""
    result = dict(config)
    for key, value in patch.items():
        before = result.get(key)
        if not isinstance(value, dict) or not isinstance(before, dict):
            result[key] = value
            continue
        if key == "kernel" and {"sigma", "gamma"} & value.keys():
            before = {name: each for name, each in before.items() if name not in ("sigma", "gamma")}
        if key == "solver" and value.get("name", before.get("name", "ridge")) != before.get("name", "ridge"):
            before = {}
        result[key] = patched(before, value)
    return result


def _placed(check: Callable[[Any], Value], value: Any, *where: str | int) -> Value:
    """``check(value)``, whose complaints are about what is at ``where``."""
    try:
        return check(value)
    except ValidationError as error:
        first = error.errors()[0]
        cause = first.get("ctx", {}).get("error")
        inner = (*first["loc"], *getattr(cause, "where", ()))
        raise Misplaced(str(cause or first["msg"]), *where, *inner) from None


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
