"""The mappings in a config that name one thing each: kernel, method, solver, significance, executor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PositiveInt,
    StrictStr,
    model_validator,
)

from rffbench.arguments.parameters import TIMES_MEDIAN
from rffbench.config.grid import OF_METHOD
from rffbench.config.places import located
from rffbench.config.values import (
    ChosenBandwidth,
    Dataset,
    FeaturesName,
    FlawsByDataset,
    Gammas,
    KernelName,
    Number,
    OwnSizes,
    Sigmas,
    SolverName,
    by_default,
    by_key,
    once,
)
from rffbench.io.yamlfile import Misplaced

if TYPE_CHECKING:
    from rffbench.kernels import Kernel as ExactKernel


class Strict(BaseModel):
    """Refuses unknown keys."""

    model_config = ConfigDict(extra="forbid")


class Kernel(BaseModel):
    """The kernel to approximate, with its parameters beside its name. Its bandwidth is given as σ or as γ; held-out
    rows choose among several."""

    model_config = ConfigDict(extra="allow")

    name: KernelName = Field(
        default="gaussian",
        description="The kernel's name (see: rffbench methods), or ./mine.py:MyKernel for a class in your own file, "
        "relative to the config's folder.",
    )
    sigma: Sigmas | None = Field(
        default=None,
        description="Bandwidth σ, from which the kernel computes γ, 1/(2σ²) for the gaussian. 1 if gamma is not "
        "given. median: the median distance between training rows. {times_median: […], columns: …, rows: …}: "
        "held-out rows choose σ once for all sizes, by 512 columns and 10,000 rows unless said otherwise.",
    )
    gamma: Gammas | None = Field(
        default=None,
        description="γ itself, instead of sigma; or scale, 1/(d·Var X) of the training rows, if γ is one over a "
        "squared length; or median, as for sigma.",
    )

    @model_validator(mode="before")
    @classmethod
    def _under_its_own_name(cls, kernel: Any) -> Any:
        """Replace an alias by the name of its kernel."""
        if not isinstance(kernel, dict):
            return kernel
        from rffbench.kernels import ALIASES

        name = kernel.get("name")
        if isinstance(name, str) and name in ALIASES:
            own, given = ALIASES[name]
            if twice := [key for key in given if key in kernel]:
                raise Misplaced(f"is set by the name {name}; write name: {own} to choose it", twice[0])
            return {**kernel, "name": own, **given}
        return kernel

    @model_validator(mode="after")
    def _one_bandwidth(self) -> Kernel:
        from rffbench.kernels.bandwidth import no_rule

        if self.sigma is not None and self.gamma is not None:
            raise Misplaced("give sigma or gamma, not both", "gamma")
        made = self._made()
        for key in ("sigma", "gamma"):
            rule = getattr(self, key)
            if isinstance(rule, str) and rule not in made.rules:
                raise Misplaced(f"{key} {no_rule(made, rule)}", key)
            if isinstance(rule, ChosenBandwidth) and "median" not in made.rules:
                raise Misplaced(f"{key} {no_rule(made, 'median')}", key, TIMES_MEDIAN)
        for key, given in (("sigma", self.sigma), ("gamma", self.gamma)):
            for value in given if isinstance(given, list) else [given]:
                try:
                    if isinstance(value, (int, float)):
                        made.with_gamma(made.gamma_from_sigma(value) if key == "sigma" else value)
                except ValueError as error:
                    raise Misplaced(str(error), key) from None
        return self

    def _made(self) -> ExactKernel:
        """The kernel with γ = 1; Misplaced, at the parameter, where it cannot be made."""
        from rffbench.kernels import NAMED, make_kernel

        with located():
            NAMED.check_names(self.name, self.model_extra or {}, besides=("sigma", "gamma"))
            with NAMED.recipe(self.name, {}).refusing():
                return make_kernel(self.name, **(self.model_extra or {}))

    def spec(self) -> dict[str, Any]:
        """The name, γ, and the other parameters except null ones. γ is a number, a list of numbers, or, if it comes
        from the data, None, the name of a rule, or a mapping (`rffbench.config.values.ChosenBandwidth`)."""
        made = self._made()
        gamma: Any = self.gamma
        if isinstance(self.gamma, ChosenBandwidth):
            gamma = self.gamma.spec()
        elif isinstance(self.sigma, ChosenBandwidth):
            gamma = self.sigma.spec()
        elif isinstance(self.sigma, list):
            gamma = [made.gamma_from_sigma(sigma) for sigma in self.sigma]
        elif self.sigma is not None:
            gamma = self.sigma if isinstance(self.sigma, str) else made.gamma_from_sigma(self.sigma)
        elif gamma is None and not made.scaled_by_data:
            gamma = made.gamma_from_sigma(1.0) if made.has_bandwidth else 1.0
        return {"name": self.name, "gamma": gamma, **made.parameters}


class Method(BaseModel):
    """A feature map by its registered name, with that map's parameters, and the method's own solver, kernel and
    sizes, if it has any."""

    model_config = ConfigDict(extra="allow")

    features: FeaturesName = Field(
        description="The feature map's name (see: rffbench methods), ./mine.py:MyFeatures for a class in your own "
        "file, relative to the config's folder, or none for solvers that need no map."
    )
    solver: Annotated[dict[str, Any] | None, BeforeValidator(by_key("name"))] = Field(
        default=None,
        description="Settings that replace those of the experiment's solver; with another name, all of them.",
    )
    kernel: Annotated[Kernel | None, BeforeValidator(by_key("name"))] = Field(
        default=None, description="A kernel instead of the experiment's."
    )
    n_features: OwnSizes | None = Field(default=None, description="Sizes instead of the experiment's; per dataset too.")
    datasets: Annotated[list[Dataset] | None, Field(min_length=1)] = Field(
        default=None, description="The datasets it is run on, if not all of the experiment's."
    )
    trials: Annotated[
        dict[str, PositiveInt] | None, BeforeValidator(by_default, json_schema_input_type=int | dict[str, int])
    ] = Field(default=None, description="Trials per cell instead of the experiment's; per dataset too.")
    flaws: FlawsByDataset | None = Field(
        default=None, description="Flaws instead of the experiment's; per dataset too."
    )

    @model_validator(mode="before")
    @classmethod
    def _parameters_beside_the_name(cls, method: Any) -> Any:
        """``features: {name: …, parameters}`` is ``features: …`` with the parameters beside it."""
        if not isinstance(method, dict) or not isinstance(features := method.get("features"), dict):
            return method
        if "name" not in features:
            raise Misplaced("has no name", "features")
        own = {key: value for key, value in features.items() if key != "name"}
        if twice := [key for key in own if key in (*OF_METHOD, *method)]:
            place = "a method's key" if twice[0] in OF_METHOD else "given beside features too"
            raise Misplaced(f"{twice[0]} is {place}", "features", twice[0])
        return {**method, **own, "features": features["name"]}

    @model_validator(mode="after")
    def _known_parameters(self) -> Method:
        from rffbench.features import MAPS

        with located():
            own = [key for key in OF_METHOD if key != "features"]
            MAPS.check_names(self.features, self.model_extra or {}, besides=own)
        return self

    def spec(self) -> dict[str, Any]:
        return {"name": self.features, **(self.model_extra or {})}


class Solver(BaseModel):
    """The learner on the features: a solver by its registered name, with that solver's parameters beside it."""

    model_config = ConfigDict(extra="allow")

    name: SolverName = Field(default="ridge", description="The solver's name (see: rffbench methods).")

    @model_validator(mode="after")
    def _known_parameters(self) -> Solver:
        with located():
            self.spec()
        return self

    def spec(self) -> dict[str, Any]:
        """The solver in the form of a trial's spec: `rffbench.solvers.spec`."""
        from rffbench.solvers import spec

        return spec({"name": self.name, **(self.model_extra or {})})


class Significance(Strict):
    """The "•" of the tables: a paired t-test over trials, better than every baseline."""

    baselines: Annotated[list[StrictStr], AfterValidator(once)] | None = Field(
        default=None, description="Labels of the methods to beat. [default: the methods with features fourier and qmc]"
    )
    level: Annotated[Number, Field(gt=0, lt=1)] = Field(default=0.05, description="The level of the test.")
    correction: Literal["none", "holm"] = Field(default="none", description="The correction for many comparisons.")


class RunsOn(BaseModel):
    """Where trials run, unless the command overrides it: the name of an executor and its options. Results do not depend
    on it."""

    model_config = ConfigDict(extra="allow")

    name: StrictStr = Field(description="The executor's name, as for --executor.")
