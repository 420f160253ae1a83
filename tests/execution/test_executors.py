"""Executors by name, and what every one of them keeps to."""

import shutil
import subprocess
import sys
import tempfile
import types
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from rffbench import execution
from rffbench.errors import ConfigError, EnvironmentFault, ResultsError
from rffbench.execution import executor_names, make_executor, supervised
from rffbench.execution.local import LocalExecutor
from rffbench.execution.log import read_rows
from rffbench.execution.run import run_experiment
from rffbench.execution.serial import SerialExecutor
from tests.helpers import execution_workers as workers
from tests.helpers.execution_workers import FakeExperiment, local, spec

ROOT = Path(__file__).parents[2]


def serial(experiment, *, work="do_all"):
    return workers.serial(experiment, work=getattr(workers, work))


every_executor = pytest.mark.parametrize("make", [local, serial])


def carry_out(folder, deeds, make, **settings):
    """Run trials that do deeds; the latest rows by trial."""
    specs = [spec(do, trial) if isinstance(do, str) else do for trial, do in enumerate(deeds)]
    experiment = FakeExperiment(specs)
    run_experiment(experiment, folder, executor=make(experiment, **settings))
    return {row["trial"]: row for row in read_rows(folder / "trials.jsonl")}


def test_the_config_s_limits_and_the_workers_asked_for_reach_the_executor():
    experiment = FakeExperiment([spec()], time_limit=3.0, memory=10**9)
    executor = make_executor("local", experiment, workers=3)
    assert isinstance(executor, LocalExecutor)
    assert (executor.workers, executor.time_limit, executor.memory_limit) == (3, 3.0, 10**9)
    with pytest.raises(ConfigError, match="--workers 3: the executor serial has one worker, this process"):
        make_executor("serial", experiment, workers=3)
    executor = make_executor("serial", experiment, workers=1)
    assert isinstance(executor, SerialExecutor)
    assert (executor.workers, executor.memory_limit) == (1, 10**9)


def test_a_package_adds_an_executor_by_an_entry_point(monkeypatch, tmp_path):
    made = []
    module = types.ModuleType("cloud_of_mine")
    module.cloud = lambda experiment, *, workers: made.append((experiment, workers)) or "an executor"
    monkeypatch.setitem(sys.modules, "cloud_of_mine", module)
    points = [EntryPoint("cloud", "cloud_of_mine:cloud", "rffbench.executors")]
    points.append(EntryPoint("local", "cloud_of_mine:nothing", "rffbench.executors"))  # a built-in name stays
    monkeypatch.setattr(execution, "entry_points", lambda group: points if group == "rffbench.executors" else [])
    experiment = FakeExperiment([spec()])
    assert executor_names() == ["local", "serial", "dask", "slurm", "cloud"]
    assert make_executor("cloud", experiment, workers=7) == "an executor"
    assert made == [(experiment, 7)]
    with pytest.raises(ConfigError, match="executor cloud: unknown option 'region'; valid: none"):
        make_executor("cloud", experiment, options={"region": "north"})
    assert isinstance(make_executor("local", experiment), LocalExecutor)
    points[0] = EntryPoint("cloud", "cloud_of_mine:gone", "rffbench.executors")
    with pytest.raises(ConfigError, match="executor cloud: cannot be loaded from cloud_of_mine:gone"):
        make_executor("cloud", experiment)
    module.cloud = "no factory"
    points[0] = EntryPoint("cloud", "cloud_of_mine:cloud", "rffbench.executors")
    with pytest.raises(ConfigError, match="executor cloud: cloud_of_mine:cloud is neither a class nor a function"):
        make_executor("cloud", experiment)
    (tmp_path / "ends_the_process.py").write_text("raise SystemExit(3)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    points[0] = EntryPoint("cloud", "ends_the_process:cloud", "rffbench.executors")
    with pytest.raises(ConfigError, match="cannot be loaded from ends_the_process:cloud: it ends the process"):
        make_executor("cloud", experiment)


def test_an_unknown_executor_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match="executor seriell: unknown executor 'seriell'; did you mean 'serial'"):
        make_executor("seriell", FakeExperiment([spec()]))


@every_executor
def test_every_trial_leaves_one_row_and_a_failed_one_costs_no_other(tmp_path, make):
    deeds = ["measure", "raise_value_error", "measure", "measure_nan", "forget", "lose_data", "raise_memory_error"]
    rows = carry_out(tmp_path, deeds, make)
    statuses = ["ok", "error", "ok", "error", "error", "unavailable", "out-of-memory"]
    assert {trial: row["status"] for trial, row in rows.items()} == dict(enumerate(statuses))
    assert rows[1]["error"]["message"] == "the bandwidth is purple"
    assert "raise_value_error" in rows[1]["error"]["traceback"]
    assert str(ROOT) not in rows[1]["error"]["traceback"]  # it goes to other machines
    assert rows[3]["error"]["message"] == "RFF: metrics: 'rmse' must be a finite number, not nan"
    assert rows[4]["error"]["type"] == "NoResult"


@every_executor
@pytest.mark.parametrize("work", ["do_all", "goes_on_after_errors"])
def test_within_one_task_an_error_costs_its_trial_alone(tmp_path, make, work):
    group = [spec(do, features={"name": "fourier", "do": do, "n": n}, n_features=n)
             for n, do in enumerate(["measure", "raise_value_error", "measure"], 1)]  # fmt: skip
    experiment = FakeExperiment(group)
    run_experiment(experiment, tmp_path, executor=make(experiment, work=work))
    statuses = {row["n_features"]: row["status"] for row in read_rows(tmp_path / "trials.jsonl")}
    assert statuses == {1: "ok", 2: "error", 3: "ok"}


@every_executor
def test_a_task_that_raises_before_its_trials_gives_each_its_error(tmp_path, make):
    rows = carry_out(tmp_path, ["measure", "measure"], make, work="raises_before_its_trials")
    assert [(row["status"], row["error"]["type"]) for row in rows.values()] == [("error", "LookupError")] * 2


@every_executor
def test_data_that_cannot_be_had_costs_its_own_trials(tmp_path, make):
    rows = carry_out(tmp_path, [spec(dataset="lost", trial=0), spec(trial=1)], make)
    assert [rows[trial]["status"] for trial in (0, 1)] == ["unavailable", "ok"]
    assert "no server answers" in rows[0]["error"]["message"]


@every_executor
def test_a_log_that_cannot_be_written_stops_the_run_with_its_message(tmp_path, make, monkeypatch):
    def full(self, row):
        raise ResultsError("trials.jsonl: cannot write: No space left on device")

    monkeypatch.setattr("rffbench.execution.log.TrialLog.append", full)
    with pytest.raises(ResultsError, match="No space left"):
        carry_out(tmp_path, ["measure", "measure"], make, work="goes_on_after_errors")


@every_executor
def test_scores_do_not_depend_on_the_executor(tmp_path, make):
    deeds = ["measure"] * 4
    rows = carry_out(tmp_path / make.__name__, deeds, make)
    assert {trial: row["metrics"] for trial, row in rows.items()} == {
        trial: row["metrics"] for trial, row in carry_out(tmp_path / "other", deeds, serial).items()
    }


def test_serially_a_trial_runs_in_this_process_and_cannot_write_to_standard_output(tmp_path, capsys):
    rows = carry_out(tmp_path, ["print_something"], serial)
    assert rows[0]["status"] == "ok"
    assert capsys.readouterr() == ("", "a trial's chatter\n")


def test_serially_ctrl_c_keeps_what_was_done_and_the_same_call_carries_on(tmp_path):
    def interrupt(specs, channel):
        if specs[0].trial == 1:
            raise KeyboardInterrupt
        workers.do_all(specs, channel)

    experiment = FakeExperiment([spec(trial=trial) for trial in range(3)])
    with pytest.raises(KeyboardInterrupt):
        run_experiment(experiment, tmp_path, executor=workers.serial(experiment, work=interrupt))
    assert [row["trial"] for row in read_rows(tmp_path / "trials.jsonl")] == [0]
    assert not (tmp_path / ".lock").exists()
    assert run_experiment(experiment, tmp_path, executor=workers.serial(experiment)).run == 2


@pytest.mark.slow
def test_without_fork_a_serial_run_needs_nothing_that_only_unix_has(environment, tmp_path):
    """As on a platform without these modules, which are then not there to be imported."""
    (tmp_path / "tiny.yaml").write_text(
        "name: tiny\ndatasets: [digits]\nn_features: [8]\nmethods: {RFF: {features: fourier}}\ntrials: 1\n"
    )
    program = (
        "import asyncio, os, sys\n"  # asyncio, and psutil, have code of their own for each platform
        "sys.modules['fcntl'] = sys.modules['resource'] = sys.modules['psutil'] = None\n"
        "del os.fork, os.sysconf, os.sched_getaffinity\n"
        "sys.argv = ['rffbench', 'run', 'tiny.yaml', '--executor', 'serial']\n"
        "from rffbench.cli import main\nmain()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "1 trial ok" in done.stderr


# ---- Faults of the machine -----------------------------------------------------------------------------------


@every_executor
def test_a_fault_of_the_machine_is_done_again_by_a_plain_run(tmp_path, make):
    deeds = ["full_disk", "measure", "full_disk", "raise_value_error"]
    rows = carry_out(tmp_path, deeds, make)
    assert {trial: row["error"] and row["error"].get("environment") for trial, row in rows.items()} == {
        0: True, 1: None, 2: True, 3: None,
    }  # fmt: skip
    before = (tmp_path / "trials.jsonl").read_bytes()
    experiment = FakeExperiment([spec(do, trial) for trial, do in enumerate(deeds)])
    assert run_experiment(experiment, tmp_path, executor=make(experiment)).run == 2
    assert (tmp_path / "trials.jsonl").read_bytes() == before  # they failed in the same way


@every_executor
def test_the_third_fault_of_the_machine_in_a_row_stops_the_run(tmp_path, make):
    experiment = FakeExperiment([spec("full_disk", trial) for trial in range(9)])
    executor = make(experiment, workers=1) if make is local else make(experiment)
    with pytest.raises(EnvironmentFault, match=r"3 times in a row .*No space left.* the same command carries on"):
        run_experiment(experiment, tmp_path, executor=executor)
    assert len(read_rows(tmp_path / "trials.jsonl")) == 3


def test_workers_that_cannot_begin_stop_the_run_and_leave_no_row(tmp_path):
    experiment = FakeExperiment([spec(trial=trial) for trial in range(9)])
    with pytest.raises(EnvironmentFault, match=r"3 times in a row .*no_such_deed"):
        run_experiment(experiment, tmp_path, executor=local(experiment, work="no_such_deed"))
    assert read_rows(tmp_path / "trials.jsonl") == []


def test_a_temporary_folder_cleared_in_mid_run_costs_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(supervised, "YOUNG_S", 0.0)  # a new worker, with new files, for each task

    def clear(result):
        results.append(result)
        (folder,) = tmp_path.glob("rffbench-*")
        shutil.rmtree(folder)

    results = []
    executor = local(FakeExperiment([]), workers=1)
    executor.run([[spec(trial=trial)] for trial in range(4)], clear)
    assert [result.status for result in results] == ["ok"] * 4


def test_a_worker_killed_for_what_lies_behind_a_map_is_a_fault_of_the_machine(tmp_path):
    path = tmp_path / "X.npy"
    one = spec("read_cut_off_map", features={"name": "fourier", "do": "read_cut_off_map", "path": str(path)})
    rows = carry_out(tmp_path / "results", [one], local)
    assert rows[0]["status"] == "killed"
    assert "SIGBUS (a disk may be full" in rows[0]["error"]["message"]
    assert rows[0]["error"]["environment"] is True


@every_executor
def test_what_is_no_character_in_a_message_is_written_escaped(tmp_path, make):
    deeds = ["raise_half_a_character", "measure"]
    rows = carry_out(tmp_path, deeds, make)
    assert [rows[trial]["status"] for trial in (0, 1)] == ["error", "ok"]
    assert rows[0]["error"]["message"] == "half: \ud800"
    assert rb"\ud800" in (tmp_path / "trials.jsonl").read_bytes()
