"""The values a config may write: names looked up in their registries, sizes, times, amounts of memory.

Each is a pydantic type that refuses a wrong value and says what would be right. A registry is imported when a
name is looked up in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, StrictInt, StrictStr

from rffbench.errors import ConfigError, unknown
from rffbench.spec import MEDIAN

DEFAULT = "default"  # the key of a per-dataset or per-size mapping that stands for all the others
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
BYTES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def registered(check: Callable[[str], object]) -> Callable[[str], str]:
    """A validator of names: ``check`` looks the name up and raises ConfigError where it is unknown."""

    def validate(name: str) -> str:
        try:
            check(name)
        except ConfigError as error:
            raise ValueError(str(error)) from None
        return name

    return validate


def check_dataset(name: str) -> None:
    from rffbench.data.cards import load_card

    load_card(name)


def check_preprocess(step: str) -> None:
    from rffbench.data.preprocess import check_steps

    check_steps([step])


def check_kernel(name: str) -> None:
    from rffbench.kernels import KERNELS

    if name not in KERNELS:
        raise ConfigError(unknown("kernel", name, KERNELS))


def check_features(name: str) -> None:
    from rffbench.features import parameters

    parameters(name)


def check_measure(name: str) -> None:
    from rffbench.measures import MEASURES

    if name not in MEASURES:
        raise ConfigError(unknown("measure", name, MEASURES))


def check_solver(name: str) -> None:
    from rffbench.solvers import parameters

    parameters(name)


def check_reference(name: str) -> None:
    from rffbench.papers import load_reference

    load_reference(name)


def number(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError(f"must be a number, not {str(value).lower()}")
    return value


def bandwidths(value: object) -> object:
    """A positive number, ``median``, or several numbers for cross-validation to choose from."""
    if value == MEDIAN:
        return value
    values = value if isinstance(value, list) else [value]
    wrong = [
        each for each in values
        if isinstance(each, bool) or not isinstance(each, (int, float)) or not 0 < each < float("inf")
    ]  # fmt: skip
    if wrong or not values:
        raise ValueError(f"must be a positive number, or a list of them, or {MEDIAN}, not {value!r}")
    return value


def size(value: object) -> str | int:
    """``16d`` (16 × the input dimension) or a plain count, both positive."""
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    if isinstance(value, str) and re.fullmatch(r"[1-9]\d*d?", value):
        return value if value.endswith("d") else int(value)
    raise ValueError(f"must be a positive integer or a multiple of the dimension such as 16d, not {value!r}")


def quantity(units: dict[str, int], example: str) -> Callable[[object], object]:
    """A validator of numbers with a unit, such as ``30m``; a bare number is in the first of ``units``."""

    def validate(value: object) -> object:
        if isinstance(value, str):
            match = re.fullmatch(r"(\d+(?:\.\d*)?)\s*([A-Za-z]*)", value.strip())
            base = next(iter(units))
            if not match or (match[2] or base) not in units:
                raise ValueError(f"must be such as {example} (units: {', '.join(units)}), not {value!r}")
            return float(match[1]) * units[match[2] or base]
        return number(value)

    return validate


def listed(value: object) -> object:
    return value if isinstance(value, list) else [value]


def listed_or_none(value: object) -> object:
    return value if value is None else listed(value)


def by_default(value: object) -> object:
    """One value for all as the mapping ``{default: value}``."""
    return value if isinstance(value, dict) else {DEFAULT: value}


def text_keys(value: object) -> object:
    return {str(key): each for key, each in value.items()} if isinstance(value, dict) else value


Number = Annotated[float, BeforeValidator(number), Field(allow_inf_nan=False)]
PositiveNumber = Annotated[Number, Field(gt=0)]
Bandwidths = Annotated[float | list[float] | Literal["median"], BeforeValidator(bandwidths)]
PositiveInt = Annotated[StrictInt, Field(gt=0)]
Size = Annotated[str | int, BeforeValidator(size, json_schema_input_type=str | PositiveInt)]
Sizes = Annotated[list[Size], Field(min_length=1)]
Dataset = Annotated[StrictStr, AfterValidator(registered(check_dataset))]
KernelName = Annotated[StrictStr, AfterValidator(registered(check_kernel))]
FeaturesName = Annotated[StrictStr, AfterValidator(registered(check_features))]
SolverName = Annotated[StrictStr, AfterValidator(registered(check_solver))]
MeasureName = Annotated[StrictStr, AfterValidator(registered(check_measure))]
Reference = Annotated[StrictStr, AfterValidator(registered(check_reference))]
Step = Annotated[StrictStr, AfterValidator(registered(check_preprocess))]
Steps = Annotated[
    list[Step], BeforeValidator(listed, json_schema_input_type=str | list[str]), Field(min_length=1)
]
Seconds = Annotated[
    PositiveNumber, BeforeValidator(quantity(SECONDS, "90s or 30m"), json_schema_input_type=float | str)
]
Memory = Annotated[
    int,
    AfterValidator(int),
    BeforeValidator(quantity(BYTES, "6GB"), json_schema_input_type=int | str),
    Field(gt=0),
]
Label = Annotated[StrictStr, Field(pattern=r"^[^,\n]+$")]  # --only separates labels by commas
