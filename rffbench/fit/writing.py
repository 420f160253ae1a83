"""The model: fitted to all rows, and written with its code, its description and a page, all at once."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import shutil
import tempfile
import textwrap
import warnings
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rffbench.errors import ConfigError
from rffbench.fit.advising import Advice
from rffbench.fit.candidates import Candidate
from rffbench.fit.learners import few_threads, learner
from rffbench.fit.preparing import WORDS, preparation
from rffbench.fit.question import Question
from rffbench.fit.trying import Search
from rffbench.fit.tuning import MOST_TREES
from rffbench.io import files

MODEL, SKOPS, CARD, CODE, PAGE = "model.joblib", "model.skops", "model.json", "model.py", "README.md"
FORMAT = 1
LIBRARIES = ("rffbench", "scikit-learn", "skrub")
TRUSTED = (  # what a model holds beyond what skops trusts: names, or a package with a dot at its end
    "rffbench.features.", "rffbench.kernels.", "rffbench.linalg.", "rffbench.solvers.", "skrub.", "numpy.dtype",
    "numpy.random.bit_generator.SeedSequence", "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
)  # fmt: skip
TRIED_ROWS = 50
MANY_MORE = 2  # times the training rows of a split: what depends on their number is then chosen for all rows


@dataclass(frozen=True)
class Made:
    """A model that is fitted to all rows, and its last step as it was before the fit."""

    pipeline: Any
    learner: Any


def make(search: Search, advice: Advice) -> Made:
    """Fit what is advised to all rows, with the σ, λ and settings that the splits chose."""
    from sklearn.pipeline import Pipeline, make_pipeline

    asked, use = search.question, advice.use
    assert use is not None
    steps = make_pipeline(*preparation(asked.inputs))
    with warnings.catch_warnings(), few_threads(asked.rows * max(advice.columns, search.first_size) ** 2):
        warnings.simplefilter("ignore")
        X = steps.fit_transform(asked.frame)
        settings = settings_for_all_rows(search, use, advice.columns, X)
        share = float(asked.y.mean()) if asked.classes is not None and len(asked.classes) == 2 else 0.0
        unfitted = learner(use, settings, asked.metric, asked.class_weight, share, len(asked.targets))
        fitted = learner(use, settings, asked.metric, asked.class_weight, share, len(asked.targets))
        fitted.fit(X, asked.table.target)
    return Made(Pipeline([*steps.steps, ("model", fitted)]), unfitted)


def settings_for_all_rows(search: Search, use: Candidate, columns: int, X: Any) -> dict[str, Any]:
    """The settings for all rows: in the middle of what the splits chose; σ as a multiple of the median distance. With
    many more rows than a split has, λ is smaller, as 1/√n, and early stopping finds the number of trees anew."""
    chosen = [each.chosen for each in search.trials[use, columns]]
    more = search.question.rows / search.training_rows
    if use.kind == "trees":
        grown = chosen[int(np.argmax([each.mean for each in chosen]))].settings
        return {**grown, "max_iter": MOST_TREES, "early_stopping": True} if more > MANY_MORE else grown
    lambda_ = float(np.exp(np.median([np.log(each.settings["lambda"]) for each in chosen])))
    if more > MANY_MORE:
        lambda_ /= np.sqrt(more)
    settings: dict[str, Any] = {"lambda": float(f"{lambda_:.3g}"), "columns": columns or len(X), "gamma": None}
    if use.kind in ("map", "exact") and use.has_bandwidth:
        times = float(np.exp(np.median([np.log(each.times or 1.0) for each in chosen])))
        settings["gamma"] = float(f"{use.gamma(X, times):.6g}")
    return settings


# ---- The files ------------------------------------------------------------------------------------------------


def write(folder: Path, made: Made, question: Question, page: str) -> list[Path]:
    """Write the model, its code, description and page into ``folder``: into a new one beside it first."""
    import joblib

    check_folder(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        joblib.dump(made.pipeline, beside / MODEL, compress=3)
        (beside / CODE).write_text(code(made, question), encoding="utf-8")
        (beside / PAGE).write_text(page, encoding="utf-8")
        _write_skops(made.pipeline, question, beside / SKOPS)
        (beside / CARD).write_text(
            json.dumps(_card(made, question, beside), indent=2, ensure_ascii=False) + "\n", "utf-8"
        )
        beside.chmod(0o755)
        names = sorted(each.name for each in beside.iterdir())
        if folder.exists():
            shutil.rmtree(folder)
        files.move(beside, folder)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    return [folder / name for name in names]


def check_folder(folder: Path) -> None:
    """ConfigError if ``folder`` holds anything that `write` does not write, which would be lost."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise ConfigError(f"{folder}: is a file; give another folder with --output")
    strange = [each.name for each in folder.iterdir() if each.name not in (MODEL, SKOPS, CARD, CODE, PAGE)]
    if strange:
        raise ConfigError(f"{folder}: holds {strange[0]!r}, which is not of a model; give another folder with --output")


def _write_skops(pipeline: Any, question: Question, path: Path) -> None:
    """Write model.skops if skops can hold the model's classes, and gives the same predictions."""
    from skops import io

    some = question.frame.head(TRIED_ROWS)
    try:
        io.dump(pipeline, path, compression=zipfile.ZIP_DEFLATED)
        again = io.load(path, trusted=trusted_types(path))
        if not np.array_equal(again.predict(some), pipeline.predict(some)):
            raise ValueError("other predictions")
    except Exception:  # of what skops cannot hold
        path.unlink(missing_ok=True)


def trusted_types(path: Path) -> list[str]:
    """The classes in a skops file beyond those that skops trusts; ConfigError if one is of another package."""
    from skops import io

    found: list[str] = list(io.get_untrusted_types(file=path))
    packages = tuple(each for each in TRUSTED if each.endswith("."))
    if strange := [each for each in found if each not in TRUSTED and not each.startswith(packages)]:
        raise ConfigError(f"{path}: holds {strange[0]}, which is of no model of rffbench fit; nothing was loaded")
    return found


def versions() -> dict[str, str]:
    """The versions that a model depends on."""
    return {name: importlib.metadata.version(name) for name in LIBRARIES}


def _card(made: Made, question: Question, folder: Path) -> dict[str, Any]:
    """What `predict` checks before it loads the model."""
    models = [each for each in (folder / MODEL, folder / SKOPS) if each.exists()]
    return {
        "format": FORMAT,
        "versions": versions(),
        "sha256": {each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in models},
        "target": question.targets,
        "classes": None if question.classes is None else [str(each) for each in made.pipeline.classes_],
        "reading": question.table.reading,
    }


# ---- The code -------------------------------------------------------------------------------------------------


def code(made: Made, question: Question) -> str:
    """The model as a program that fits it, and predicts with it."""
    shown = made.learner.__repr__(N_CHAR_MAX=1_000_000).replace("\n", " ")
    shown = " ".join(shown.split())
    names = _names(made.learner)
    ours = sorted(name for name, module in names.items() if module.startswith("rffbench"))
    theirs = {name: module for name, module in sorted(names.items()) if name not in ours}
    imports = [f"from {_public(module)} import {name}" for name, module in theirs.items()]
    ours_line = [f"from rffbench import {', '.join(ours)}"] if ours else []
    given = ", ".join(
        [repr(str(question.path.absolute())), *(f"{key}={value!r}" for key, value in question.given.items())]
    )
    wrapped = textwrap.wrap(shown, 100, subsequent_indent=" " * 8, break_long_words=False, break_on_hyphens=False)
    return "\n".join([
        f'"""The model of `rffbench fit {question.path.name}`: python {CODE} NEW.csv prints predictions."""',
        "import sys",
        "",
        "from sklearn.impute import SimpleImputer",
        "from sklearn.pipeline import make_pipeline",
        "from sklearn.preprocessing import StandardScaler",
        "from skrub import DatetimeEncoder, SelectCols, SquashingScaler, StringEncoder, TableVectorizer",
        *imports,
        *ours_line,
        "from rffbench.data.tables import read_new_rows, read_table",
        "",
        f"table = read_table({given})",
        "model = make_pipeline(",
        "    SelectCols(list(table.frame.columns)),",
        "    TableVectorizer(",
        "        numeric=make_pipeline(SquashingScaler(), StandardScaler()),",
        "        datetime=make_pipeline(DatetimeEncoder(), SquashingScaler(), StandardScaler()),",
        f"        high_cardinality=StringEncoder({WORDS}, random_state=0),",
        "    ),",
        '    SimpleImputer(strategy="median", add_indicator=True),',
        *(f"    {line}" for line in [*wrapped[:-1], wrapped[-1] + ","]),
        ")",
        "model.fit(table.frame, table.target)",
        "new = read_new_rows(sys.argv[1], table.reading)[0] if len(sys.argv) > 1 else table.frame",
        "for row in model.predict(new):",
        "    print(row)",
        "",
    ])  # fmt: skip


def _names(estimator: Any) -> dict[str, str]:
    """The classes of an estimator and of those in its parameters, with their modules."""
    found = {type(estimator).__name__: type(estimator).__module__}
    for value in estimator.get_params(deep=False).values():
        if hasattr(value, "get_params"):
            found |= _names(value)
    return found


def _public(module: str) -> str:
    """The public module of one of scikit-learn's: sklearn.ensemble of sklearn.ensemble._hist…."""
    parts = module.split(".")
    return ".".join(parts[: next((at for at, part in enumerate(parts) if part.startswith("_")), len(parts))])


def page(lines: Sequence[str], question: Question, folder: str) -> str:
    """README.md of the folder: the advice as it was printed, and what to do with the files."""
    printed = "\n".join(lines)
    first = question.inputs[0]
    return f"""# A model that predicts {" and ".join(question.targets)}

Made by `rffbench fit {question.path.name}`. This is what it said:

```
{printed}
```

- **Use it:** `rffbench predict {folder}/{MODEL} NEW.csv --output scores.csv`. NEW.csv needs the columns that the model
  was fitted to, in any order; others are ignored. In Python: `joblib.load("{MODEL}").predict(table)`, with a
  pandas table that has the column {first!r} and the others as the file has them.
- `{CODE}` is the same model as code: it fits it anew, and prints predictions.
- `{MODEL}` is a pickle. Loading it runs code that it names, so load only files from people you trust. `{SKOPS}`, if it
  is here, is the same model in a format that runs no code of its own, and `rffbench predict` takes it first.
- `{CARD}` has the versions and the columns, which `rffbench predict` checks.

**How it was measured.** The rows were divided into training and test rows several times. Everything that can be
chosen was chosen within the training rows: the kernel, the map, the number of columns, the bandwidth and the
penalty. The score is that of the test rows, which chose nothing. "s.e." is its standard error, how far the score may be
off by chance. All rows of the table were measured in the same divisions. What leads by less than two standard errors
is a tie, and of a tie the simpler is advised, or with --best the better score.

**Words.** A kernel says how alike two rows are. A map turns a row into columns, numbers computed from it, so that a
linear model of these does what the kernel would do, for any number of rows. Random Fourier features are the plainest
map: cosines and sines of random combinations of the inputs. Nyström features compare a row with some chosen rows.
"""
