"""Whole runs by the command line: the same scores however they come about, a row for whatever happens."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
import yaml

from tests.helpers.processes import content, wait_for

CONFIG = """\
name: whole
datasets: [digits, breast-cancer]
preprocess: minmax
kernel: {name: gaussian, sigma: 2.0}
n_features: [8, 32]
methods:
  RFF: {features: fourier}
  QMC: {features: qmc}
  leverage-RFF: {features: leverage}
  Ours: {features: surrogate-leverage}
  offset: {features: fourier, form: offset}
solver: {name: ridge, lambda: [0.001, 0.01], folds: 3}
trials: 3
kernel_error_points: 100
"""
TRIALS = 2 * 2 * 5 * 3


def rows(folder):
    return [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]


def measured(folder):
    """Of every trial: what was measured, but for times and memory."""
    log = rows(folder)
    assert len({row["key"] for row in log}) == len(log), "a trial was done twice"
    return {row["key"]: (row["status"], row["lambda"], row["metrics"]) for row in log}


def equal(one, other):
    """Accuracies and choices of λ exactly, kernel errors to single precision: so the surrogate is scored alone."""
    assert one.keys() == other.keys()
    for key, (status, chosen, metrics) in one.items():
        assert (status, chosen, metrics["accuracy"]) == (*other[key][:2], other[key][2]["accuracy"])
        assert metrics["kernel_error"] == pytest.approx(other[key][2]["kernel_error"], rel=1e-5)


@pytest.fixture(scope="module")
def whole(tmp_path_factory, rffbench_in):
    """A finished run with two workers; its folder."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "whole.yaml").write_text(CONFIG)
    result = rffbench_in(folder, "run", "whole.yaml", "--workers", "2")
    # Nothing but the count: no bar without a terminal, no warning of a library.
    assert (result.returncode, result.stderr) == (0, f"{TRIALS} trials ok\n")
    return folder / "results" / "whole"


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "whole.yaml"
    path.write_text(CONFIG)
    return path


# ---- The same scores ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.slow
def test_scores_do_not_depend_on_the_number_of_workers(whole, rffbench, config, tmp_path, workers):
    result = rffbench("run", config, "--workers", workers)
    assert (result.returncode, result.stderr) == (0, f"{TRIALS} trials ok\n")
    equal(measured(tmp_path / "results" / "whole"), measured(whole))


@pytest.mark.slow
def test_interrupted_and_carried_on_a_run_equals_an_uninterrupted_one(whole, config, tmp_path, environment, rffbench):
    command = [sys.executable, "-m", "rffbench", "run", str(config), "--workers", "1"]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)  # fmt: skip
    log = tmp_path / "results" / "whole" / "trials.jsonl"
    wait_for(lambda: content(log))
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert errors.strip() == "interrupted; the same command carries on from here"
    before = rows(log.parent)
    assert 0 < len(before) < TRIALS
    carried_on = rffbench("run", config)
    assert (carried_on.returncode, carried_on.stderr) == (0, f"{TRIALS} trials ok\n")
    assert rows(log.parent)[: len(before)] == before
    equal(measured(log.parent), measured(whole))


@pytest.mark.slow
def test_trials_run_exclusively_score_as_those_that_share(whole, rffbench, config, tmp_path):
    config.write_text(CONFIG + "timing: exclusive\n")
    only = ["dataset=digits", "trial=0", "n_features=32"]
    result = rffbench("run", config, *(word for each in only for word in ("--only", each)))
    assert result.returncode == 0, result.stderr

    def cells(log):
        return {(row["method"], row["n_features"]): ("ok", row["lambda"], row["metrics"]) for row in log}

    exclusive = rows(tmp_path / "results" / "whole")
    assert {row["timing"]["shared"] for row in exclusive} == {False}
    shared = [
        row for row in rows(whole)
        if (row["dataset"], row["trial"], row["n_features"]) == ("digits", 0, 32)
    ]  # fmt: skip
    equal(cells(exclusive), cells(shared))


@pytest.mark.slow
def test_only_chooses_trials_and_a_dry_run_does_none(whole, rffbench, config, tmp_path):
    folder = tmp_path / "results" / "whole"
    rffbench("run", config, "--only", "method=RFF,Ours", "--only", "dataset=digits", "--only", "trial=1")
    assert {(row["dataset"], row["method"], row["trial"]) for row in rows(folder)} == {
        ("digits", "RFF", 1), ("digits", "Ours", 1),
    }  # fmt: skip
    assert len(rows(folder)) == 4
    dry = rffbench("run", config, "--dry-run")
    assert f"{TRIALS} trials, 4 already done" in dry.stdout
    assert len(rows(folder)) == 4
    before = measured(whole)
    equal(measured(folder), {key: before[key] for key in measured(folder)})


def test_another_config_of_that_name_is_refused_and_nothing_touched(whole, rffbench, tmp_path, config):
    folder = tmp_path / "results" / "whole"
    shutil.copytree(whole, folder)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    config.write_text(CONFIG.replace("sigma: 2.0", "sigma: 1.0"))
    result = rffbench("run", config)
    assert result.returncode == 2
    assert rffbench("run", config, "--dry-run").stderr == result.stderr
    assert f"{TRIALS} of these trials measured under another config" in result.stderr
    assert "with kernel gaussian, σ = 2 (γ = 0.125) instead of gaussian, σ = 1 (γ = 0.5)" in result.stderr
    assert "--fresh" in result.stderr
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


# ---- What is derived ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_everything_derived_is_made_anew_for_every_folder_in_a_folder(whole, rffbench, tmp_path):
    results = tmp_path / "results"
    shutil.copytree(whole, results / "whole")
    shutil.copytree(whole, results / "copy")
    settings = yaml.safe_load((whole / "config.yaml").read_text()) | {"name": "copy", "title": "A copy"}
    (results / "copy" / "config.yaml").write_text(yaml.safe_dump(settings, sort_keys=False))
    shutil.copytree(whole, results / "whole.old-20260101T000000")  # moved aside by --fresh: passed over
    derived = ["summary.csv", "table.csv", "table.md", "table.tex", "figures/digits.png"]
    for folder in results.iterdir():
        for name in derived:
            (folder / name).unlink()
    drawn = rffbench("plot", "results")
    assert (drawn.returncode, drawn.stderr) == (0, "")
    for name in derived:
        assert (results / "whole" / name).read_bytes() == (whole / name).read_bytes(), name
        assert (results / "copy" / name).is_file()
        assert not (results / "whole.old-20260101T000000" / name).exists()
        assert f"wrote results/copy/{name}" in drawn.stdout
    assert (results / "copy" / "summary.csv").read_bytes() == (whole / "summary.csv").read_bytes()
    tables = rffbench("table", "results")
    assert tables.returncode == 0
    assert tables.stdout.index("A copy") < tables.stdout.index("whole")


# ---- Whatever happens --------------------------------------------------------------------------------------


@pytest.fixture
def exclusive(config):
    """Write a config of trials measured alone: one of each method and size on digits."""

    def write(methods, sizes, limits):
        settings = yaml.safe_load(CONFIG) | {
            "datasets": ["digits"], "trials": 1, "n_features": sizes, "timing": "exclusive", **limits,
            "methods": {label: {"features": features} for label, features in methods.items()},
        }  # fmt: skip
        config.write_text(yaml.safe_dump(settings, sort_keys=False))
        return config

    return write


@pytest.mark.slow
def test_trials_beyond_their_time_leave_rows_and_are_tried_again_on_request(rffbench, tmp_path, exclusive):
    log = tmp_path / "results" / "whole"
    methods = {"RFF": "fourier", "Ours": "surrogate-leverage"}  # of a second each: the run may look seldom
    late = rffbench("run", exclusive(methods, [2500], {"time_limit": 0.001}))
    assert late.returncode == 1
    assert "2 × timeout: no result within 0.001 s" in late.stderr
    assert "Traceback" not in late.stderr
    assert [row["status"] for row in rows(log)] == ["timeout"] * 2
    config = exclusive(methods, [2500], {"time_limit": "5m"})
    assert rffbench("run", config).returncode == 1  # not tried again by itself
    assert len(rows(log)) == 2
    again = rffbench("run", config, "--retry-failed")
    assert (again.returncode, again.stderr) == (0, "2 trials ok\n")
    assert [row["status"] for row in rows(log)] == ["timeout", "timeout", "ok", "ok"]


@pytest.mark.slow
def test_a_trial_beyond_its_memory_leaves_its_row_and_the_others_go_on(rffbench, tmp_path, exclusive):
    # The larger one's Gram matrix alone takes 512 MB.
    config = exclusive({"leverage-RFF": "leverage"}, [8, 4000], {"memory": "400MB"})
    result = rffbench("run", config)
    assert result.returncode == 1
    assert "1 trial ok, 1 failed" in result.stderr
    assert "1 × out-of-memory: " in result.stderr
    small, large = rows(tmp_path / "results" / "whole")
    assert (small["n_features"], small["status"], small["error"]) == (8, "ok", None)
    assert (large["n_features"], large["status"], large["metrics"]) == (4000, "out-of-memory", {})
    assert "MB, more than the " in large["error"]["message"]
    assert "— (1 out-of-memory)" in result.stdout


@pytest.mark.slow
def test_data_that_cannot_be_had_is_told_in_good_time(rffbench, tmp_path):
    (tmp_path / "mirror").mkdir()
    config = tmp_path / "tiny.yaml"
    text = CONFIG.replace("[digits, breast-cancer]", "[cpu, digits]").replace("trials: 3", "trials: 1")
    config.write_text(text)
    started = time.monotonic()
    empty = {"RFFBENCH_MIRROR": str(tmp_path / "mirror"), "RFFBENCH_CACHE": str(tmp_path / "cache")}
    nothing = rffbench("run", config, "--only", "dataset=cpu", **empty)
    assert time.monotonic() - started < 60
    assert (nothing.returncode, nothing.stdout) == (3, "")
    assert "0 trials ok, 10 unavailable" in nothing.stderr
    assert "cpu.mat" in nothing.stderr
    assert {row["status"] for row in rows(tmp_path / "results" / "whole")} == {"unavailable"}
    some = rffbench("run", config, **empty)
    assert some.returncode == 1
    assert "10 trials ok, 10 unavailable" in some.stderr
    assert "digits" in some.stdout


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.skipif("RFFBENCH_MIRROR" not in os.environ, reason="RFFBENCH_MIRROR is not set")
def test_data_that_has_come_is_measured_by_the_same_command(rffbench, tmp_path):
    config = tmp_path / "tiny.yaml"
    text = CONFIG.replace("[digits, breast-cancer]", "[cpu]").replace("trials: 3", "trials: 1")
    config.write_text(text)
    arguments = "run", config, "--only", "method=RFF,Ours"
    own = {"RFFBENCH_CACHE": str(tmp_path / "cache")}
    assert rffbench(*arguments, **own).returncode == 3
    result = rffbench(*arguments, **own, RFFBENCH_MIRROR=os.environ["RFFBENCH_MIRROR"])
    assert (result.returncode, result.stderr) == (0, "4 trials ok\n")
    assert [row["status"] for row in rows(tmp_path / "results" / "whole")] == ["unavailable"] * 4 + ["ok"] * 4
    assert "test RMSE" in result.stdout
