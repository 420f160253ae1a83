"""A config from Python may have NumPy's and pandas' values, ranges, tuples and paths, as if YAML had said them."""

import enum
import itertools
import re
from collections import OrderedDict
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest

from rffbench.config.loading import experiment_of
from rffbench.config.plain import plain
from rffbench.errors import ConfigError

CONFIG = {
    "name": "n", "datasets": ["digits"], "n_features": [4, 8], "methods": {"R": {"features": "fourier"}},
    "solver": {"name": "ridge", "lambda": [0.01, 0.1, 1.0], "folds": 3, "center": True}, "trials": 2,
}  # fmt: skip


class Word(str, enum.Enum):  # noqa: UP042
    NAME = "digits"


class Number(enum.IntEnum):
    TWO = 2


SAME = {  # what is said in another way, and how YAML says it
    "whole numbers": (np.arange(4, 9, 4), [4, 8]),
    "small whole numbers": (np.array([4, 8], dtype=np.uint8), [4, 8]),
    "a list of NumPy's": (list(np.arange(4, 9, 4)), [4, 8]),
    "range": (range(4, 9, 4), [4, 8]),
    "tuple": ((4, 8), [4, 8]),
    "series": (pd.Series([4, 8]), [4, 8]),
    "index": (pd.Index([4, 8]), [4, 8]),
    "generator": ((n for n in (4, 8)), [4, 8]),
    "views": ({4: None, 8: None}.keys(), [4, 8]),
    "masked": (np.ma.array([4, 8]), [4, 8]),
    "two dimensions": (np.eye(2, dtype=int), [[1, 0], [0, 1]]),
    "objects": (np.array(["4d", 8], dtype=object), ["4d", 8]),
    "one value": (np.array(8), 8),
    "scalar": (np.int64(8), 8),
    "enumerated": (Number.TWO, 2),
    "half": (np.float16(0.5), 0.5),
    "long double": (np.longdouble(0.5), 0.5),
    "true": (np.bool_(True), True),
    "booleans": (np.array([True, False]), [True, False]),
    "text": (np.str_("digits"), "digits"),
    "an enumerated text": (Word.NAME, "digits"),
    "texts": (np.array(["a", "bc"]), ["a", "bc"]),
    "categories": (pd.Series(["a", "b"], dtype="category"), ["a", "b"]),
    "a path": (Path("a/d.csv"), "a/d.csv"),
    "a path that could be a name": (Path("digits"), "./digits"),
    "keys": ({np.str_("a"): 1, np.int64(2): 3}, {"a": 1, 2: 3}),
    "ordered": (OrderedDict(b=1, a=(2,)), {"b": 1, "a": [2]}),
    "read only": (MappingProxyType({"a": 1}), {"a": 1}),
    "nothing": (None, None),
}


@pytest.mark.parametrize("what", SAME)
def test_values_of_other_types_are_those_that_yaml_has(what):
    given, meant = SAME[what]
    found = plain(given)
    assert found == meant

    def kinds(value):
        if isinstance(value, dict):
            return {key: (type(key), kinds(each)) for key, each in value.items()}
        return [kinds(each) for each in value] if isinstance(value, list) else type(value)

    assert kinds(found) == kinds(meant)


REFUSED = {
    "decimal": (Decimal("0.1"), "is of the type decimal.Decimal, .*float"),
    "fraction": (Fraction(1, 10), "fractions.Fraction, .*float"),
    "complex": (1j, "of the type complex,"),
    "NumPy's complex": (np.complex128(1), "of the type complex,"),
    "set": ({1, 2}, "a set has no order; give a list"),
    "bytes": (b"digits", "of the type bytes,"),
    "frame": (pd.DataFrame({"a": [1]}), "give one of its columns, or a list"),
    "time": (pd.Timestamp(0), "Timestamp,"),
    "NumPy's time": (np.datetime64("2026-01-01"), "of the type datetime.date,"),
    "a span": (np.timedelta64(3, "s"), "of the type datetime.timedelta,"),
    "nothing of pandas'": (pd.NA, "NAType,"),
    "function": (len, "of the type builtin_function_or_method,"),
    "class": (dict, "of the type type,"),
    "object": (object(), "of the type object,"),
    "without end": (itertools.count(), "it has more than 50,000 values"),
    "path of bytes": (type("B", (), {"__fspath__": lambda self: b"x"})(), "a path must be text"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_other_types_are_refused_with_their_place(what):
    given, said = REFUSED[what]
    for place, changed in {
        "solver.lambda.2": {"solver": {"name": "ridge", "lambda": [0.1, given]}},
        "methods.R.features": {"methods": {"R": {"features": given}}},
        "trials": {"trials": given},
    }.items():
        with pytest.raises(ConfigError, match=rf"the config's {place}: is of the type .*|has more") as error:
            experiment_of({**CONFIG, **changed})
        assert re.search(said, str(error.value))


def test_a_config_inside_itself_is_refused():
    config = {**CONFIG}
    config["solver"] = config
    with pytest.raises(ConfigError, match="is nested deeper than"):
        experiment_of(config)


def test_a_config_of_numpy_s_values_has_the_trials_of_the_one_in_yaml_s():
    other = {
        "name": np.str_("n"), "datasets": np.array(["digits"]), "n_features": np.arange(4, 9, 4),
        "methods": {np.str_("R"): {"features": np.str_("fourier")}},
        "solver": {"name": "ridge", "lambda": np.logspace(-2, 0, 3), "folds": np.int64(3), "center": np.bool_(True)},
        "trials": np.int16(2),
    }  # fmt: skip
    meant = [spec.key for spec in experiment_of(CONFIG).grid()]
    assert [spec.key for spec in experiment_of(other).grid()] == meant
    assert experiment_of(other).to_yaml() == experiment_of(CONFIG).to_yaml()
