"""What a trial is asked and what it answers: its key, its row, and how messages name it."""

import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from rffbench import __version__
from rffbench.trials.spec import TrialResult, TrialSpec, key_of, written_size

SPEC = TrialSpec(
    dataset="eeg", data_hash="0" * 64, method="Ours", n_features=224, trial=3, seed=0,
    features={"name": "surrogate-leverage"}, solver={"name": "ridge", "lambda": [0.05, 0.5]},
    kernel={"name": "gaussian", "gamma": 0.5}, preprocess=["minmax"], multiple=16,
)  # fmt: skip
KEY = "27019d1ec6bf6641b850420572978fa9ae2412cadf3b14ba3f6fb3fa551a3e2e"


def test_a_key_is_what_it_was_in_every_committed_log():
    """A key that changes makes every trial be measured again, unless the format does, with `rffbench migrate`."""
    assert SPEC.key == KEY
    assert TrialSpec.from_row(TrialResult(SPEC, "ok").to_row()).key == KEY


def by_hand(row):
    """The key as DESIGN has it: the SHA-256 of the JSON of a row's part that describes the trial."""
    stored = {name: row[name] for name in list(row)[2 : list(row).index("metrics")]}
    return hashlib.sha256(
        json.dumps(stored, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    ).hexdigest()


def test_the_key_of_a_row_is_that_of_its_fields_whatever_key_it_claims():
    rows = [TrialResult(replace(SPEC, trial=trial), "ok").to_row() for trial in (0, 3, 10, 123)]
    rows += [TrialResult(replace(SPEC, method="Fürs", **OTHERS), "ok").to_row(), {**rows[1], "n_features": 448}]
    assert [key_of({**row, "key": KEY}) for row in rows] == [by_hand(row) for row in rows]
    assert len({key_of(row) for row in rows}) == len(rows)
    assert key_of({**rows[1], "seed": 0.0}) != KEY  # another JSON


@pytest.mark.parametrize("part", ["features", "kernel"])
@pytest.mark.parametrize("value", [5, None, [], "gaussian"])
def test_a_row_whose_parts_are_no_trial_has_no_key(part, value):
    with pytest.raises(ValueError, match="its fields are not those of a trial"):
        key_of({**TrialResult(SPEC, "ok").to_row(), part: value})


@pytest.mark.parametrize(
    ("name", "values"),
    [("seed", (0, 0.0)), ("solver", ({"name": "ridge", "lambda": 1}, {"name": "ridge", "lambda": 1.0}))],
)
def test_the_difference_of_two_keys_is_found_where_the_values_are_equal_numbers(name, values):
    one, other = (replace(SPEC, **{name: value}) for value in values)
    assert one.key != other.key
    assert one.difference(other) == (name, *values)


OTHERS = {"measures": ["spectral_error"], "train_rows": 100, "held_out": 0.2, "dtype": "float32"}


@pytest.mark.parametrize("name", OTHERS)
def test_every_field_is_in_the_row_and_in_the_key(name):
    other = replace(SPEC, **{name: OTHERS[name]})
    assert SPEC.to_dict()[name] != other.to_dict()[name] == OTHERS[name]
    assert other.key != KEY
    assert TrialSpec.from_row(TrialResult(other, "ok").to_row()) == other


@pytest.mark.parametrize("name", OTHERS)
def test_a_row_without_a_field_has_no_key(name):
    row = {key: value for key, value in TrialResult(SPEC, "ok").to_row().items() if key != name}
    with pytest.raises(ValueError, match=name):
        key_of(row)


@pytest.mark.parametrize("timing", ["shared", "features", "exclusive"])
def test_which_seconds_are_comparable_is_stored_beside_the_seconds(timing):
    spec = replace(SPEC, timing=timing)
    row = TrialResult(spec, "ok", seconds={"fit_s": 0.5}).to_row()
    assert (row["timing_mode"], row["timing"]) == (timing, {"fit_s": 0.5})
    assert (spec.key == KEY) == (timing == "shared")
    assert TrialSpec.from_row(row) == spec
    if timing != "shared":
        assert SPEC.difference(spec) == ("timing", "shared", timing)


def test_the_first_field_in_which_two_trials_differ_is_named():
    other = replace(SPEC, trial=4, seed=1)
    assert SPEC.difference(other) == ("trial", 3, 4)
    assert SPEC.difference(replace(SPEC, kernel={"name": "cauchy", "gamma": 0.5})) == (
        "kernel", {"name": "gaussian", "gamma": 0.5}, {"name": "cauchy", "gamma": 0.5},
    )  # fmt: skip


def test_a_trial_is_named_by_its_size_as_the_config_writes_it():
    counted = replace(SPEC, multiple=None)
    assert (SPEC.label, SPEC.size) == ("eeg 16d Ours trial 3", "16d")
    assert replace(counted, count="columns").label == "eeg D=224 Ours trial 3"
    assert (counted.label, counted.size) == ("eeg s=224 Ours trial 3", "224")
    assert (written_size(28, 2), written_size(28, None)) == ("2d", "28")


def test_a_row_has_all_that_was_asked_and_measured():
    before = datetime.now(UTC).replace(microsecond=0)
    measured = TrialResult(SPEC, "ok", {"accuracy": 91.0}, {"fit_s": 0.5}, 10**9, 0.05)
    row = measured.to_row()
    assert before <= datetime.fromisoformat(row.pop("finished")) <= datetime.now(UTC)
    assert row == {
        "key": KEY, "status": "ok", **SPEC.to_dict(), "metrics": {"accuracy": 91.0}, "timing": {"fit_s": 0.5},
        "peak_memory_bytes": 10**9, "lambda": 0.05, "error": None, "rffbench": __version__,
    }  # fmt: skip


def test_curves_and_metrics_of_one_s_own_are_in_the_row_where_there_are_any():
    curves, own = {"time": [0.1, 0.2]}, {"sparsity": {"label": "share of zeros", "better": "greater"}}
    row = TrialResult(SPEC, "ok", curves=curves, own_metrics=own).to_row()
    assert (row["curves"], row["own_metrics"]) == (curves, own)
    assert not {"curves", "own_metrics"} & TrialResult(SPEC, "ok").to_row().keys()


def test_a_failure_says_what_where_and_how_much():
    lost = TrialResult.failed(SPEC, "out-of-memory", "MemoryError", "too large", "line 3", 10**9)
    assert (lost.spec, lost.status, lost.peak_memory_bytes) == (SPEC, "out-of-memory", 10**9)
    assert lost.error == {"type": "MemoryError", "message": "too large", "traceback": "line 3"}
    assert (lost.metrics, lost.seconds, lost.lambda_) == ({}, {}, None)
    silent = TrialResult.failed(SPEC, "killed", "WorkerDied", "SIGKILL")
    assert (silent.error["traceback"], silent.peak_memory_bytes) == ("", None)


def test_numbered_trials_are_the_same_trials_with_the_same_keys():
    first = replace(SPEC, features={"name": "leverage", "trial": 0, "text": '"trial":0'}, trial=7)
    numbered = list(first.numbered(120))
    assert numbered == [replace(first, trial=trial) for trial in range(120)]
    assert [each.key for each in numbered] == [replace(first, trial=trial).key for trial in range(120)]
    assert [replace(each, seed=5).key for each in numbered[:2]] == [
        replace(first, trial=trial, seed=5).key for trial in range(2)
    ]
