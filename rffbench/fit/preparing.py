"""The steps that make numbers of a table's columns: scikit-learn's and skrub's."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from rffbench.errors import ConfigError

WORDS = 10  # columns that a column of many different texts becomes


def check_libraries() -> None:
    """ConfigError if the libraries of the extra `fit` are missing."""
    if missing := [name for name in ("skrub", "skops") if find_spec(name) is None]:
        raise ConfigError(f"fit needs {' and '.join(missing)}: pip install 'rffbench[fit]'")


def preparation(inputs: Sequence[str]) -> list[Any]:
    """The unfitted steps before a learner, which take the columns ``inputs`` in any order, and leave others out.

    Numbers are scaled by their quartiles and squashed to ±3, so that outliers do no harm, and divided by their standard
    deviation; a category becomes a column for each value, a date its year, month, day and seconds, a text of many
    values ten numbers. A missing number becomes the median, with a column that says so. All but the first step are
    learnt from the training rows.
    """
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from skrub import DatetimeEncoder, SelectCols, SquashingScaler, StringEncoder, TableVectorizer

    return [
        SelectCols(list(inputs)),
        TableVectorizer(
            numeric=make_pipeline(SquashingScaler(), StandardScaler()),
            datetime=make_pipeline(DatetimeEncoder(), SquashingScaler(), StandardScaler()),
            high_cardinality=StringEncoder(WORDS, random_state=0),
        ),
        SimpleImputer(strategy="median", add_indicator=True),
    ]
