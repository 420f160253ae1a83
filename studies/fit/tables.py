"""The eight tables: none is on the board with these inputs and this target.

They are made from files as RFFBENCH_MIRROR has them, ``<dataset>/<file>``, and from scikit-learn's. Two have the rows
of a dataset of the board: adult has the raw columns of a9a, and forest-distances asks another question of covtype.
There is none with dates: bike, which has them, is on the board.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from rffbench.errors import ConfigError


@dataclass(frozen=True)
class Table:
    """A table with the names of its ``targets``; words are classes. ``make`` gives its rows."""

    name: str
    targets: tuple[str, ...]
    make: Callable[[], pd.DataFrame]


def _source(dataset: str, file: str) -> Path:
    mirror = os.environ.get("RFFBENCH_MIRROR", "")
    path = Path(mirror) / dataset / file
    if not mirror or not path.is_file():
        raise ConfigError(f"{dataset}/{file}: not found; RFFBENCH_MIRROR must name the folder that has it")
    return path


def _numbered(frame: pd.DataFrame, *targets: str) -> pd.DataFrame:
    """Columns x1, x2, …, and the targets, which come last."""
    inputs = frame.shape[1] - len(targets)
    return frame.set_axis([*(f"x{i + 1}" for i in range(inputs)), *targets], axis="columns")


def _yacht() -> pd.DataFrame:
    return _numbered(pd.read_csv(_source("yacht", "data.csv.gz"), header=None), "resistance")


def _breast_cancer() -> pd.DataFrame:
    from sklearn.datasets import load_breast_cancer

    found = load_breast_cancer(as_frame=True)
    return found.data.assign(tumour=np.where(found.target == 0, "malignant", "benign"))


def _wine() -> pd.DataFrame:
    """Red and white wines without repeated rows; the target is whether the quality is 8 or more."""
    both = pd.concat(
        pd.read_csv(_source("wine", f"winequality-{colour}.csv"), sep=";").assign(colour=colour)
        for colour in ("red", "white")
    ).drop_duplicates(ignore_index=True)
    return both.drop(columns="quality").assign(top=np.where(both["quality"] >= 8, "yes", "no"))


def _pumadyn() -> pd.DataFrame:
    return _numbered(pd.read_csv(_source("pumadyn32nm", "data.csv.gz"), header=None), "acceleration")


def _naval() -> pd.DataFrame:
    return _numbered(pd.read_csv(_source("naval", "data.txt.gz"), sep=r"\s+", header=None), "compressor", "turbine")


ADULT = ["age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
         "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income"]  # fmt: skip


def _adult() -> pd.DataFrame:
    parts = [
        pd.read_csv(
            _source("adult", f"adult.{part}.gz"), names=ADULT, skipinitialspace=True, skiprows=skip, na_values="?"
        )
        for part, skip in (("data", 0), ("test", 1))
    ]
    both = pd.concat(parts, ignore_index=True)
    return both.assign(income=both["income"].str.rstrip("."))


def _skin() -> pd.DataFrame:
    """The different colours: four of five rows are repeats."""
    found = pd.read_csv(_source("skin", "Skin_NonSkin.txt.gz"), sep="\t", names=["blue", "green", "red", "kind"])
    found = found.drop_duplicates(["blue", "green", "red"], ignore_index=True)
    return found.assign(kind=np.where(found["kind"] == 1, "skin", "other"))


FOREST = ["elevation", "aspect", "slope", "across_to_water", "up_to_water", "to_road", "shade_9", "shade_12",
          "shade_15", "to_fire"]  # fmt: skip
FOREST_ROWS = 500_000


def _forest() -> pd.DataFrame:
    """500,000 rows of covtype; areas, soils and cover types are words, and two distances the targets."""
    found = pd.read_csv(_source("covtype", "covtype.data.gz"), header=None).sample(FOREST_ROWS, random_state=0)
    found = found.reset_index(drop=True)
    areas, soils = found.iloc[:, 10:14].to_numpy().argmax(axis=1), found.iloc[:, 14:54].to_numpy().argmax(axis=1)
    words = {"area": areas, "soil": soils, "cover": found.iloc[:, 54].to_numpy() - 1}
    frame = found.iloc[:, :10].set_axis(FOREST, axis="columns")
    frame = frame.assign(**{name: [f"{name} {code + 1}" for code in codes] for name, codes in words.items()})
    targets = ["to_road", "to_fire"]
    return frame[[*(name for name in frame if name not in targets), *targets]]


TABLES = (
    Table("yacht", ("resistance",), _yacht),
    Table("breast-cancer", ("tumour",), _breast_cancer),
    Table("wine-top", ("top",), _wine),
    Table("pumadyn32nm", ("acceleration",), _pumadyn),
    Table("naval", ("compressor", "turbine"), _naval),
    Table("adult", ("income",), _adult),
    Table("skin-colours", ("kind",), _skin),
    Table("forest-distances", ("to_road", "to_fire"), _forest),
)
