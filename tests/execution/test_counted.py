"""Which rows of a log count, where the variants of a sweep have labels and sizes in common."""

import json

import pytest

import rffbench
from rffbench.cli.running import reasons_of_failures
from rffbench.execution.counted import counted_rows
from rffbench.execution.log import read_rows
from rffbench.report.diff import diff
from rffbench.trials.spec import key_of
from tests.helpers.own_map import MINE

FAILS = MINE.replace("random_state=None):", "random_state=None, depth=1):\n        self.depth = depth").replace(
    "        rng =", "        if self.depth > 1:\n            raise ValueError(f'depth {self.depth}')\n        rng ="
)
CONFIG = {
    "name": "swept", "datasets": ["breast-cancer"], "preprocess": "minmax", "n_features": [4, 8], "count": "columns",
    "trials": 1, "methods": {"Mine": {"features": "./mine.py:Mine", "depth": 1}, "RFF": {"features": "fourier"}},
    "solver": {"name": "ridge", "lambda": [0.001, 0.1], "folds": 2}, "sweep": {"methods.Mine.depth": [3, 2, 1]},
}  # fmt: skip
FAILED = [("3", 4), ("3", 8), ("2", 4), ("2", 8)]


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """A sweep of which two variants fail, and the last one does not."""
    folder = tmp_path_factory.mktemp("swept")
    (folder / "mine.py").write_text(FAILS)
    (folder / "swept.yaml").write_text(json.dumps(CONFIG))
    return rffbench.run(folder / "swept.yaml", results=folder / "results", executor="serial", progress=False)


@pytest.mark.slow
def test_every_variant_that_failed_is_among_the_failures(swept):
    found = swept.failures
    assert sorted(zip(found["methods.Mine.depth"], found["n_features"], strict=True)) == sorted(FAILED)
    assert {message[-7:] for message in found["message"]} == {"depth 2", "depth 3"}


def test_every_variant_that_failed_is_counted_with_its_reason(swept):
    found = {reason[-7:]: places for reason, places in reasons_of_failures(swept.folder).items()}
    assert found == dict.fromkeys(["depth 3", "depth 2"], [("Mine", "breast-cancer")] * 2)


def test_a_trial_of_several_protocols_counts_once_and_every_trial_does(swept):
    keys = [row["key"] for _, row in counted_rows(swept.folder)]
    assert sorted(keys) == sorted({row["key"] for row in read_rows(swept.folder / "trials.jsonl")})
    assert len(keys) == 2 * (3 + 1)  # RFF is in every protocol


def test_of_a_trial_that_was_run_again_after_its_data_had_changed_the_last_row_counts(swept, tmp_path):
    rows = read_rows(swept.folder / "trials.jsonl")
    old = [{**row, "key": key_of({**row, "data_hash": "0" * 64}), "data_hash": "0" * 64} for row in rows]
    (tmp_path / "config.yaml").write_text((swept.folder / "config.yaml").read_text())
    (tmp_path / "mine.py").write_text(FAILS)
    (tmp_path / "trials.jsonl").write_text("".join(json.dumps(row) + "\n" for row in [*old, *rows]))
    assert {row["key"] for _, row in counted_rows(tmp_path)} == {row["key"] for row in rows}


def test_a_diff_names_the_code_of_every_variant(swept, tmp_path):
    """The solver of all but the last variant was other code in the other folder."""
    config = {**CONFIG, "sweep": {"solver.folds": [2, 3]}, "methods": {"RFF": {"features": "fourier"}}}
    now = rffbench.run(config, results=tmp_path, executor="serial", progress=False)
    then = tmp_path / "then"
    then.mkdir()
    (then / "config.yaml").write_text((now.folder / "config.yaml").read_text())
    rows = read_rows(now.folder / "trials.jsonl")
    for row in rows:
        row["made_by"]["solver"] = 0 if row["solver"]["folds"] == 2 else row["made_by"]["solver"]
    (then / "trials.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert any("ridge" in note and "0" in note for note in diff(then, now.folder).notes)
