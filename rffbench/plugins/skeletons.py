"""What ``rffbench new`` writes: a feature map, a dataset or an experiment that works as it is, to be changed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path

from rffbench.errors import ConfigError

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,60}")

METHOD = '''\
"""Your own feature map. A config measures it by `features: ./{name}.py:{class_name}`.

`rffbench check-method ./{name}.py:{class_name}` checks the rules for feature maps.
"""

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data


class {class_name}(TransformerMixin, BaseEstimator):
    """What the map is, in one line: here random Fourier features of the Gaussian kernel.

    Parameters
    ----------
    scale : what a parameter does; a config sets it beside `features`, and `rffbench methods` shows this text
    """

    # unbiased = False    # for a map that is biased by design: check-method shows its rate without judging it

    # Of these n_components is a must. kernel (a name), gamma (exp(-gamma*|x-x'|^2)) and random_state are given where
    # the constructor has them; all others are parameters of the map, with defaults. The constructor only stores.
    def __init__(self, n_components=100, gamma=1.0, scale=1.0, random_state=None):
        self.n_components = n_components
        self.gamma = gamma
        self.scale = scale
        self.random_state = random_state

    def fit(self, X, y=None):
        """Draw what is random, and learn what is learnt, from the training rows X (n, d)."""
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        rng = check_random_state(self.random_state)  # never numpy's global generator
        frequencies = rng.normal(size=(self.n_components, X.shape[1])).T  # a smaller map begins a larger one
        self.frequencies_ = np.sqrt(2 * self.gamma) * frequencies
        self.phases_ = rng.uniform(0, 2 * np.pi, self.n_components)
        return self

    def transform(self, X):
        """The features (n, n_components) of the rows X (n, d), in the dtype of X."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        waves = np.cos(X @ self.frequencies_.astype(X.dtype) + self.phases_.astype(X.dtype))
        return X.dtype.type(self.scale * np.sqrt(2 / self.n_components)) * waves

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
'''

CARD = """\
# Your own dataset. A config takes it as `datasets: [./{name}.yaml]`, its path from the config's folder, or by its
# name where RFFBENCH_DATASETS names this folder. {name}.csv is an example; put your own file in its place.
name: {name}                # as this file's
title: {name}
task: classification        # or regression, then without classes and labels
rows: {rows}                # what is stated here must be true of the file, or it is refused
columns: {columns}          # inputs, the target not counted
classes: {{a: {a}, b: {b}}} # label: how many rows; `rffbench datasets describe {name}.csv` counts them
labels: {{positive: [b]}}   # which of two classes is +1
split: {{rule: half}}       # or {{rule: random, train: 80, test: 40}}, or given: the first rows are for training
format:
  kind: csv                 # or libsvm, arff, npz, parquet, idx, mat
  header: true
  target: -1                # its column, counted from 0, or from the end as here
files:
  - name: {name}.csv
    checksum: sha256:{checksum} # sha256sum {name}.csv
    urls: ["file:{name}.csv"]   # from this card's folder; https://... too
licence: not stated
citation: own data
"""

EXPERIMENT = """\
# An experiment: datasets x sizes x methods x trials. `rffbench validate {name}.yaml` checks it, `rffbench run
# {name}.yaml` runs it, --dry-run says beforehand how long that takes; `rffbench schema` has every key and its meaning.
name: {name}                # of the folder of its results
title: "{name}"
datasets: [digits]          # names (rffbench datasets list), or paths of own files: ./mine.csv
preprocess: minmax          # none, minmax, standard, clip, sample-l2, ...; a list of them; per dataset too
kernel: {{name: gaussian, sigma: 2.0}}   # exp(-|x-x'|^2/(2*sigma^2)); median: from the data
n_features: [32, 2d, 4d]    # columns; 2d is twice the input dimension
count: columns              # every method gets as many; without it, frequencies: RFF makes two columns of each
methods:                    # label: feature map (rffbench methods), or your own: ./mine.py:MyFeatures
  RFF: {{features: fourier}}
  QMC: {{features: qmc}}
solver:
  name: ridge
  lambda: [0.001, 0.01, 0.1]  # cross-validation chooses one
  folds: 3
trials: 3                   # each with its own split and draws; methods are paired within a trial
seed: 0
# reference: ./{name}_reference.csv   # what `rffbench compare` holds the results against; `rffbench record` writes one
"""


def write_skeleton(kind: str, name: str, folder: Path) -> list[Path]:
    """Write the skeleton called ``name`` of a method, a dataset or an experiment into ``folder``; the files written.

    ConfigError for a name that cannot be one, and where a file is there already.
    """
    if not NAME.fullmatch(name):
        raise ConfigError(f"{name}: must be letters, digits, '_' or '-', and begin with a letter; no folder, no ending")
    texts = KINDS[kind](name)
    paths = {folder / file: text for file, text in texts.items()}
    for path in paths:
        if path.exists():
            raise ConfigError(f"{path}: is there already; remove it, or give another name")
    for path, text in paths.items():
        path.write_text(text, encoding="utf-8")
    return list(paths)


def class_name(name: str) -> str:
    """``my-features`` as a class is called: ``MyFeatures``."""
    return "".join(part[:1].upper() + part[1:] for part in re.split("[-_]+", name))


def _method(name: str) -> dict[str, str]:
    return {f"{name}.py": METHOD.format(name=name, class_name=class_name(name))}


def _dataset(name: str) -> dict[str, str]:
    rows = [(i % 12, i // 12, "ab"[i % 12 + i // 12 > 10]) for i in range(120)]  # a grid of points, cut in two
    text = "".join([f"{','.join(map(str, row))}\n" for row in [("x", "y", "class"), *rows]])
    counts = {label: sum(row[-1] == label for row in rows) for label in "ab"}
    checksum = hashlib.sha256(text.encode()).hexdigest()
    card = CARD.format(name=name, rows=len(rows), columns=len(rows[0]) - 1, checksum=checksum, **counts)
    return {f"{name}.csv": text, f"{name}.yaml": card}


def _experiment(name: str) -> dict[str, str]:
    return {f"{name}.yaml": EXPERIMENT.format(name=name)}


KINDS: dict[str, Callable[[str], dict[str, str]]] = {
    "method": _method,
    "dataset": _dataset,
    "experiment": _experiment,
}
