"""A result that a report could not read is refused when it is accepted, in words that name the method and the value."""

import json
from contextlib import suppress

import numpy as np
import pytest

from rffbench.errors import ResultsError
from rffbench.execution.channel import Channel
from rffbench.execution.log import each_row
from rffbench.execution.row import check_row
from rffbench.trials.spec import key_of
from tests.helpers.execution_workers import measured, spec


def accepted(**changes):
    """What a channel passes on of a measured result with these changes."""
    result, sent = measured(spec()), []
    for name, value in changes.items():
        setattr(result, name, value)
    Channel(sent.append, workers=1, threads=1, memory_limit=None).result(result)
    return sent[0][1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metrics": {"gap": "big"}}, "RFF: metrics: 'gap' must be a finite number, not 'big'"),
        ({"metrics": {"gap": {"mean": 1.0}}}, "RFF: metrics: 'gap' must be a finite number, not {'mean': 1.0}"),
        ({"metrics": {"gap": True}}, "RFF: metrics: 'gap' must be a finite number, not True"),
        ({"metrics": {"gap": 10**400}}, "RFF: metrics: 'gap' must be a finite number, not 1000"),
        ({"seconds": {"fit_s": -0.1}}, "RFF: timing: 'fit_s' must be a number, 0 or more, not -0.1"),
        ({"seconds": {"fit_s": "0.1 s"}}, "RFF: timing: 'fit_s' must be a number, 0 or more, not '0.1 s'"),
        ({"seconds": {"fit_s": None}}, "RFF: timing: 'fit_s' must be a number, 0 or more, not None"),
        ({"seconds": {"accuracy": {"a": 1}}}, "RFF: timing: 'accuracy' must be a number, 0 or more, not {'a': 1}"),
        ({"curves": {"time": [1.0, 2.0], "objective": [3.0]}}, "RFF: curves must be of equal length: 'time' has 2, "),
        ({"curves": {"time": ["soon"]}}, "RFF: curves: 'time' must hold finite numbers, not 'soon'"),
        ({"curves": {"time": 3.0}}, "RFF: curves: 'time' must be a list of numbers, not 3.0"),
        ({"curves": {"method": [1.0]}}, "RFF: curves: 'method' means something else in a trial's row"),
        ({"lambda_": "small"}, "RFF: lambda must be a finite number, not 'small'"),
        (
            {"own_metrics": {"gap": {"title": 5}}},
            "RFF: own_metrics: the title of 'gap' must be text that can be printed, not 5",
        ),
        ({"own_metrics": {"gap": {"title": "\x1b[31m"}}}, "RFF: own_metrics: the title of 'gap' must be text"),
        ({"metrics": {"a\ud800": 1.0}}, r"RFF: metrics: a name must be text that can be printed, not 'a\ud800'"),
        ({"metrics": {"a\nb": 1.0}}, "RFF: metrics: a name must be text that can be printed"),
        ({"metrics": {"": 1.0}}, "RFF: metrics: a name must be text that can be printed"),
        ({"metrics": {5: 1.0}}, "RFF: metrics: a name must be text that can be printed, not 5"),
        ({"curves": {1: [1.0]}}, "RFF: curves: a name must be text that can be printed, not 1"),
        ({"metrics": {"size": 1e308}}, "RFF: metrics: 'size' must be 1e+150 at most, or its spread has no number"),
        ({"metrics": {"size": -(10**200)}}, "RFF: metrics: 'size' must be 1e+150 at most, or its spread has no number"),
        ({"seconds": {"fit_s": 1e308}}, "RFF: timing: 'fit_s' must be a number, 0 or more, not 1e+308"),
        ({"own_metrics": {"gap": {"better": "more"}}}, "RFF: own_metrics: better of 'gap' must be 'greater'"),
        ({"own_metrics": {"gap": ["a title"]}}, "RFF: own_metrics: 'gap' must have title, unit and better"),
        ({"seconds": {"fit_s": np.float32(0.5)}}, "RFF: timing: 'fit_s' must be a number, 0 or more, not np.float32"),
    ],
)
def test_a_result_that_could_not_be_read_again_is_an_error_of_its_trial(changes, message):
    result = accepted(**changes)
    assert result.status == "error"
    assert result.error["message"].startswith(message)
    assert not result.metrics
    check_row(result.to_row())


def test_what_trials_measure_is_accepted():
    seconds = {
        "feature_s": 0, "fit_s": 0.5, "contended": None, "threads": 2, "shared": False,
        "repeats": {"feature_s": 5}, "spread": {"feature_s": None},
    }  # fmt: skip
    curves = {"lambda": [0.1, 1.0], "effective_dimension": [None, 3]}
    own = {"gap": {"title": "duality gap", "unit": "", "better": None}}
    result = accepted(metrics={"gap": 1}, seconds=seconds, curves=curves, own_metrics=own)
    assert result.status == "ok", result.error


ODD = (None, 5, "x", [], {}, [1], {"name": 5}, 1.5, True, 10**30)
FIELDS = {
    "made_by": (5, "x", [1], {"name": "x"}, {"features": [1]}, {"solver": {}}),
    "features": ODD, "solver": ODD, "kernel": (*ODD, {"name": "gaussian"}), "seed": (None, "x", []),
    "data_hash": (None, 5, {}), "preprocess": (None, 5, "minmax", [1], {}), "measures": (5, [5]), "scores": (5, [{}]),
    "flaws": ({}, [1]), "train_rows": ("x", [], 10**30), "held_out": ("x", {}), "split": (5, "x", []),
    "dtype": (5, "float16", []), "device": (None, {}), "count": ("d", 3), "timing_mode": ("yes", [], {}, True),
    "multiple": ("4d", 10**30, {}), "source": (5, {}), "parameters_from": ([], 3), "target": (None, "x"),
    "rffbench": (5, {}), "finished": (5, []), "kernel_error_points": (None, "x"), "columns": ({}, 10**30),
}  # fmt: skip


def test_a_row_with_an_odd_value_is_refused_in_words_wherever_it_is_read(tmp_path):
    row = {**measured(spec()).to_row(), "made_by": {"features": 1, "solver": 1}}
    check_row(row)
    log = tmp_path / "trials.jsonl"
    for name, values in FIELDS.items():
        for value in values:
            changed = {**row, name: value}
            with suppress(ValueError):
                changed["key"] = key_of(changed)
            with pytest.raises(ValueError, match=name):
                check_row(changed)
            log.write_text(json.dumps(row) + "\n" + json.dumps(changed) + "\n")
            with pytest.raises(ResultsError, match=r"trials\.jsonl, line 2: "):
                list(each_row(log))
