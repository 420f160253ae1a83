"""The values a config may write: names looked up in their registries, sizes, times, amounts of memory.

Each is a pydantic type that refuses a wrong value and says what would be right. A registry is imported when a
name is looked up in it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args
from urllib.parse import unquote, urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    Tag,
    ValidationInfo,
)

from rffbench.errors import ConfigError, RffbenchError, unknown
from rffbench.io.text import BYTES, SECONDS, number, quantity
from rffbench.io.yamlfile import Misplaced, pattern, shown
from rffbench.trials.flaws import Flaw

MOST_FEATURES = 1_000_000  # 256 rows with this many columns are 4 GB
Value = TypeVar("Value", bound=Hashable)

DEFAULT = "default"  # the key for all other entries of a per-dataset or per-size mapping


def registered(check: Callable[[str], object]) -> Callable[[str], str]:
    """A validator of names: ``check`` looks the name up and raises ConfigError if it is unknown."""

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


def column(value: object) -> object:
    """A column's name, or its number."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise ValueError(f"must be a column's name or its number, counted from 0, not {shown(value)}")
    return value


def columns(value: object) -> object:
    """A column, or a list of them."""
    return [*map(column, value)] if isinstance(value, list) and value else column(value)


Column = Annotated[StrictStr | StrictInt, BeforeValidator(column)]
Columns = Annotated[StrictStr | StrictInt | list[StrictStr | StrictInt], BeforeValidator(columns)]
Number = Annotated[float, BeforeValidator(number), Field(allow_inf_nan=False)]
PositiveNumber = Annotated[Number, Field(gt=0)]
PositiveInt = Annotated[StrictInt, Field(gt=0)]


class OwnData(BaseModel):
    """A user's own data, with the details that its path leaves open."""

    model_config = ConfigDict(extra="forbid")

    path: StrictStr = Field(
        description="The file, from the config's folder: .csv, .tsv, .xlsx, .parquet, .arff, .npz, .svm, .libsvm, "
        ".txt, or one of these packed as .gz, .bz2 or .xz. Or a folder of .npy or .parquet shards, or its URL."
    )
    name: Annotated[StrictStr, pattern(r"^\w[\w.-]*$", "letters, digits, '_', '.' or '-'")] | None = Field(
        default=None, description="The name in tables. [default: the file's name]"
    )
    target: Columns | None = Field(
        default=None,
        description="The target's column by name, or counted from 0, negative from the end; a list for a regression of "
        "several targets. [default: the last]",
    )
    task: Literal["classification", "regression"] | None = Field(
        default=None, description="[default: classification for text, two values, or few whole numbers]"
    )
    split: StrictStr | dict[str, Any] | None = Field(
        default=None,
        description="half, or {rule: random or given, train: …, test: …} in rows or shares of them. [default: half]",
    )
    ignore: list[StrictStr | StrictInt] = Field(
        default=[], description="Columns that are neither input nor target, by name or number."
    )
    categories: list[StrictStr | StrictInt] = Field(
        default=[], description="Columns whose numbers are codes for words, by name or number; see the step onehot."
    )
    keep: list[StrictStr | StrictInt] = Field(
        default=[], description="Columns that are inputs although they look like IDs, or are constant."
    )
    dates: StrictStr = Field(
        default="ignore",
        description="ignore, or parts: dates are read as year, month, day, weekday and hour; or their format, such as "
        "'%d/%m/%Y', where the day may be the month.",
    )
    header: StrictBool | None = Field(
        default=None, description="Whether the first line has names. [default: by the content]"
    )
    delimiter: StrictStr | None = Field(default=None, description="Between cells. [default: by the content]")
    comment: StrictStr | None = Field(
        default=None,
        description="Lines that begin with it are skipped; '' for no such lines. [default: by the content]",
    )
    decimal: Literal[".", ","] | None = Field(default=None, description="The decimal mark. [default: by the content]")
    thousands: Literal["", ",", ".", " ", "'"] | None = Field(
        default=None, description="The mark between thousands. [default: by the content]"
    )
    missing: list[Annotated[str, BeforeValidator(str)]] | None = Field(
        default=None,
        description="The words for a missing value, beside an empty cell; [] keeps NA and None as words. "
        "[default: ?, NA, N/A, NaN, null, None]",
    )
    encoding: StrictStr | None = Field(default=None, description="The text's encoding. [default: by the content]")
    sheet: StrictStr | None = Field(default=None, description="The sheet of a workbook. [default: the first]")
    skip: Annotated[StrictInt, Field(ge=0)] | None = Field(
        default=None, description="How many lines come before the table. [default: by the content]"
    )


def dataset_name(value: Any, info: ValidationInfo) -> Any:
    """The name of a dataset, given by name or as the path of a user's own file. Such a file is read, and its card is
    registered under its name, which is then the dataset's. A path is relative to the config's folder."""
    from rffbench.data.cards import add_card, is_card, own_card, read_card
    from rffbench.data.openml import SCHEME
    from rffbench.data.shards import is_url
    from rffbench.data.shards import look as look_at_folder
    from rffbench.data.userfile import is_data_path, kind_of, look, openml_card

    if isinstance(value, str) and value.startswith(SCHEME):
        try:
            return add_card(openml_card(value))
        except ConfigError as error:
            raise ValueError(str(error)) from None
    folder = (info.context or {}).get("folder", Path())
    if isinstance(value, str) and own_card(value):
        return value
    if isinstance(value, str) and not is_data_path(value) and (is_card(value) or not os.path.isfile(folder / value)):
        return value
    if not isinstance(value, str | dict):
        raise ValueError(f"must be a dataset's name, a path, or {{path: …, target: …}}, not {shown(value)}")
    given = {"path": value} if isinstance(value, str) else value
    place = str(given.get("path"))
    if place.startswith("file://"):
        url = urlsplit(place)
        path = unquote(url.path)
        if not path or url.netloc not in ("", "localhost"):
            raise ValueError(f"{place}: must be a whole path, file:///…; from the config's folder it is ./mine.csv")
        given = given | {"path": path}
    elif is_url(place) and (kind_of(place) or place.startswith(("http:", "https:"))):  # the others: folders of shards
        raise ValueError(f"{place}: is a URL; download it and give the file, or write a card with the URL")
    for key in given:
        if key not in OwnData.model_fields:
            raise Misplaced(unknown("key", key, OwnData.model_fields), key)
    own = OwnData.model_validate(given)
    path = folder / Path(own.path).expanduser()
    try:
        if is_url(own.path) or path.is_dir():
            return add_card(look_at_folder(own.path if is_url(own.path) else str(path.resolve()), **_of_shards(own)))
        if path.suffix in (".yaml", ".yml"):
            if besides := [key for key in given if key != "path"]:
                raise Misplaced(f"{own.path} is a card, which says this itself: change it there", besides[0])
            return add_card(read_card(path))
        return add_card(look(path, **own.model_dump(exclude={"path"})).card())
    except RffbenchError as error:
        raise ValueError(str(error)) from None


def _of_shards(own: OwnData) -> dict[str, Any]:
    """Check the keys of a folder of shards, which has fewer than a file."""
    for key in sorted(own.model_fields_set - {"path", "name", "target", "task", "split"}):
        if getattr(own, key) != OwnData.model_fields[key].default:
            raise Misplaced(f"{own.path} is a folder of shards, for which there is no {key}", key)
    if isinstance(own.target, list):
        raise Misplaced(f"{own.path} is a folder of shards, which has one target", "target")
    split = {"rule": own.split} if isinstance(own.split, str) else own.split
    return {"name": own.name, "target": own.target, "task": own.task, "split": split}


def check_preprocess(step: str) -> None:
    from rffbench.data.preprocess import check_steps

    check_steps([step])


def check_kernel(name: str) -> None:
    from rffbench.kernels import kernel_class

    try:
        kernel_class(name)
    except ValueError as error:
        raise ConfigError(str(error)) from None


def check_features(name: str) -> None:
    from rffbench.features import MAPS

    MAPS.parameters(name)


def check_measure(name: str) -> None:
    from rffbench.trials.metrics import CURVES, MEASURES

    if name not in (names := [*MEASURES, *CURVES]):
        raise ConfigError(unknown("measure", name, names))


def check_score(name: str) -> None:
    from rffbench.trials.scores import score

    score(name)


def check_solver(name: str) -> None:
    from rffbench.solvers import SOLVERS

    SOLVERS.parameters(name)


def check_parameters_from(name: str) -> None:
    from rffbench.papers.hyperparameters import place

    place(name)


def check_reference(name: str) -> None:
    """A file is checked later, when the folder of its path is known: `rffbench.config.loading`."""
    from rffbench.papers import load_reference
    from rffbench.papers.recorded import is_path

    if not is_path(name):
        load_reference(name)


def once(value: list[Any]) -> list[Any]:
    """A list that names nothing twice."""
    if (twice := repeated(value)) is not None:
        raise ValueError(f"{twice!r} is given twice")
    return value


def none_alone(steps: list[str]) -> list[str]:
    """Steps of preprocessing, or only ``none``."""
    if "none" in steps and len(steps) > 1:
        raise ValueError("none means no step at all, and cannot be combined with others")
    return steps


def repeated(values: Iterable[Value]) -> Value | None:
    """The first value that occurs twice."""
    seen: set[Value] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


def check_registered_map(name: str) -> None:
    """A map that is not in the user's own file."""
    from rffbench.features import MAPS
    from rffbench.plugins.registry import NONE

    if name not in (names := [each for each in MAPS.names() if each != NONE]):
        raise ConfigError(unknown("feature map", name, names))


class ChosenBandwidth(BaseModel):
    """A bandwidth that held-out rows choose once for each map, dataset and trial, for all sizes alike."""

    model_config = ConfigDict(extra="forbid")

    times_median: Annotated[list[PositiveNumber], AfterValidator(once), Field(min_length=2)] = Field(
        description="The values of σ to choose from, in multiples of the median distance between training rows."
    )
    columns: PositiveInt = Field(default=512, description="The number of columns of the features for this choice.")
    rows: PositiveInt = Field(
        default=10_000, description="The most training rows for this choice; the first ones are used."
    )
    and_lambda: StrictBool = Field(
        default=False, description="Whether to keep the λ chosen with it, instead of choosing λ again on all rows."
    )
    features: Annotated[StrictStr, AfterValidator(registered(check_registered_map))] | None = Field(
        default=None,
        description="The registered name of a feature map to choose it with, so that all methods have the same "
        "bandwidth. [default: each method's own map]",
    )

    def spec(self) -> dict[str, Any]:
        """The form of a trial's spec, which has the columns and the rows even if they are the default ones."""
        always = {"columns": self.columns, "rows": self.rows}
        return self.model_dump(mode="json", exclude_defaults=True) | always


def bandwidths(*rules: str) -> Callable[[object], object]:
    """A validator of bandwidths: a positive number, the name of one of ``rules``, or several numbers for
    cross-validation to choose from."""

    def validate(value: object) -> object:
        if isinstance(value, str) and value in rules:
            return value
        if isinstance(value, dict):
            return ChosenBandwidth.model_validate(value)
        if isinstance(value, ChosenBandwidth):
            return value
        values = value if isinstance(value, list) else [value]
        wrong = [
            each for each in values
            if isinstance(each, bool) or not isinstance(each, (int, float)) or not 0 < each < float("inf")
        ]  # fmt: skip
        if wrong or not values:
            named = " or ".join(rules)
            raise ValueError(f"must be a positive number, or a list of them, or {named}, not {shown(value)}")
        once(values)
        return value

    return validate


def size(value: object) -> str | int:
    """``16d`` (16 × the input dimension) or a plain count, both positive."""
    plain = isinstance(value, int) and not isinstance(value, bool) and value > 0
    if plain or (isinstance(value, str) and re.fullmatch(r"[1-9]\d*d?", value)):
        text = str(value)
        count = int(text.removesuffix("d"))
        if count > MOST_FEATURES:
            raise ValueError(f"must be {MOST_FEATURES:,} at most, not {text}")
        return text if text.endswith("d") else count
    raise ValueError(f"must be a positive integer or a multiple of the dimension such as 16d, not {shown(value)}")


def listed(value: object) -> object:
    """A single value as a list of it; None and mappings are unchanged."""
    return value if value is None or isinstance(value, (list, dict)) else [value]


def by_default(value: object) -> object:
    """One value for all as the mapping ``{default: value}``."""
    return value if isinstance(value, dict) else {DEFAULT: value}


def split_by_default(value: object) -> object:
    """One split for all, a rule's name or a mapping with it, as the mapping ``{default: split}``. In a mapping by
    dataset, each bare rule becomes a mapping."""
    splits = value if isinstance(value, dict) and "rule" not in value else {DEFAULT: value}
    return {dataset: {"rule": split} if isinstance(split, str) else split for dataset, split in splits.items()}


def by_key(key: str) -> Callable[[object], object]:
    """A validator that rejects a bare value where a mapping is expected, and suggests ``{key: value}``."""

    def validate(value: object) -> object:
        if isinstance(value, str):
            raise ValueError(f"must be a mapping (key: value), not {shown(value)}; give {{{key}: {value}}}")
        return value

    return validate


def text_keys(value: object) -> object:
    return {str(key): each for key, each in value.items()} if isinstance(value, dict) else value


Sigmas = Annotated[float | list[float] | Literal["median"] | ChosenBandwidth, BeforeValidator(bandwidths("median"))]
Gammas = Annotated[
    float | list[float] | Literal["scale", "median"] | ChosenBandwidth, BeforeValidator(bandwidths("scale", "median"))
]
Size = Annotated[str | int, BeforeValidator(size, json_schema_input_type=str | PositiveInt)]
Sizes = Annotated[
    list[Size], BeforeValidator(listed, json_schema_input_type=list[str | PositiveInt]), Field(min_length=1)
]
OwnSizes = Annotated[  # the tags keep the message about a wrong list free of what a mapping would need
    Annotated[Sizes, Tag("list")] | Annotated[dict[str, Sizes], Tag("mapping")],
    Discriminator(lambda value: "mapping" if isinstance(value, dict) else "list"),
]
Dataset = Annotated[
    StrictStr,
    AfterValidator(registered(check_dataset)),
    BeforeValidator(dataset_name, json_schema_input_type=str | OwnData),
]
KernelName = Annotated[StrictStr, AfterValidator(registered(check_kernel))]
FeaturesName = Annotated[StrictStr, AfterValidator(registered(check_features))]
SolverName = Annotated[StrictStr, AfterValidator(registered(check_solver))]
MeasureName = Annotated[StrictStr, AfterValidator(registered(check_measure))]
ScoreName = Annotated[StrictStr, AfterValidator(registered(check_score))]
Reference = Annotated[StrictStr, AfterValidator(registered(check_reference))]
FigureName = Literal["scores", "lambda", "progress", "time", "cost", "sweep"]
USUAL_FIGURES: tuple[FigureName, ...] = get_args(FigureName)
Step = Annotated[StrictStr, AfterValidator(registered(check_preprocess))]
Steps = Annotated[
    list[Step],
    AfterValidator(once),
    AfterValidator(none_alone),
    BeforeValidator(listed, json_schema_input_type=str | list[str]),
    Field(min_length=1),
]
FlawNames = Annotated[
    list[Flaw], AfterValidator(once), BeforeValidator(listed, json_schema_input_type=Flaw | list[Flaw])
]
FlawsByDataset = Annotated[
    dict[str, FlawNames],
    BeforeValidator(by_default, json_schema_input_type=Flaw | list[Flaw] | dict[str, Flaw | list[Flaw]]),
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
Label = Annotated[  # --only separates labels by commas, and drops the blanks around them
    StrictStr,
    pattern(r"^[^,\s]([^,\n]*[^,\s])?$", "text in one line, without commas, that begins and ends with no blank"),
]
