"""The executor slurm by submitit's own processes on this machine; nothing here needs SLURM."""

import json
import os
import shutil
import signal
import threading
from collections import Counter
from pathlib import Path

import pytest

from rffbench.errors import ConfigError, EnvironmentFault
from rffbench.execution import check_executor, make_executor
from rffbench.execution.log import TrialLog, read_rows
from rffbench.execution.run import run_experiment
from tests.helpers import execution_workers as workers
from tests.helpers.execution_workers import FakeExperiment, spec
from tests.helpers.processes import content, gone, wait_for

submitit = pytest.importorskip("submitit", reason="needs the extra slurm")
from rffbench.execution import slurm_cluster  # noqa: E402

pytestmark = pytest.mark.slow

slow = pytest.mark.slow
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _found_by_jobs(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def run(specs, tmp_path, work="do_all", ensure="ensure", **settings):
    experiment = FakeExperiment(specs, time_limit=settings.pop("time_limit", None))
    made = slurm_cluster.SlurmExecutor(
        experiment, folder=tmp_path / "jobs", workers=2, cluster="local", parameters={"timeout_min": 5},
        work=f"{workers.__name__}:{work}", ensure=f"{workers.__name__}:{ensure}", **settings,
    )  # fmt: skip
    try:
        run_experiment(experiment, tmp_path / "results", executor=made)
    finally:
        made.close()
    return read_rows(tmp_path / "results" / "trials.jsonl")


@slow
def test_every_task_is_a_job_whose_rows_come_once_each(tmp_path):
    features = {"name": "fourier", "do": "count", "path": str(tmp_path / "counted")}
    rows = run([spec(trial=trial, features=features) for trial in range(3)], tmp_path)
    assert sorted(row["trial"] for row in rows) == list(range(3))
    assert {row["status"] for row in rows} == {"ok"}
    assert set(Counter((tmp_path / "counted").read_text().split()).values()) == {1}
    assert len(json.loads((tmp_path / "results" / "manifest.json").read_text())["nodes"]) == 1
    assert list((tmp_path / "jobs").iterdir()) == []  # nothing was lost: the jobs' files are not needed


@slow
def test_jobs_whose_folder_is_gone_end_the_run_and_the_same_call_carries_on(tmp_path, monkeypatch):
    """The folder goes when the first row is written, while a job is still to begin."""
    append = TrialLog.append

    def lose(log, row):
        append(log, row)
        shutil.rmtree(tmp_path / "jobs", ignore_errors=True)

    monkeypatch.setattr(TrialLog, "append", lose)
    features = {"name": "fourier", "do": "count", "path": str(tmp_path / "counted")}
    specs = [spec(trial=trial, features=features) for trial in range(3)]
    with pytest.raises(
        EnvironmentFault, match=r"jobs.*cannot be (read|written): No such file.*The same command carries on"
    ):
        run(specs, tmp_path)
    monkeypatch.setattr(TrialLog, "append", append)
    assert {row["status"] for row in run(specs, tmp_path)} == {"ok"}


@slow
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_folder_that_is_lost_while_jobs_are_submitted_is_no_fault_of_the_config(tmp_path, monkeypatch, moment):
    """The folder goes when the message files of a submission are made, or when its jobs are submitted."""
    map_array = submitit.AutoExecutor.map_array

    def map_later(self, *arguments):
        if moment == "before":
            shutil.rmtree(tmp_path / "jobs")
        handles = map_array(self, *arguments)
        if moment == "after":
            shutil.rmtree(tmp_path / "jobs")
        return handles

    monkeypatch.setattr(submitit.AutoExecutor, "map_array", map_later)
    specs = [spec(trial=trial) for trial in range(2)]
    with pytest.raises(
        EnvironmentFault, match=r"jobs.*cannot be (read|written): No such file.*The same command carries on"
    ):
        run(specs, tmp_path)
    monkeypatch.undo()
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    assert {row["status"] for row in run(specs, tmp_path)} == {"ok"}


@slow
def test_a_group_is_one_job_so_that_its_shared_work_is_done_once(tmp_path):
    rows = run([spec(n_features=n) for n in (1, 2, 3)], tmp_path, work="shared_work_takes")
    assert [row["metrics"]["together"] for row in rows] == [3] * 3


@slow
def test_limits_kill_in_the_job_and_a_job_that_dies_three_times_makes_its_trial_lost(tmp_path):
    specs = [spec("sleep_forever", 0), spec("measure", 1), spec("kill_its_node", 2)]
    rows = {row["trial"]: row for row in run(specs, tmp_path, time_limit=1.0)}
    assert {trial: row["status"] for trial, row in rows.items()} == {0: "timeout", 1: "ok", 2: "lost"}
    assert "lost with its worker 3 times, the last time: job " in rows[2]["error"]["message"]
    assert list((tmp_path / "jobs").iterdir())  # kept, to see what happened


@slow
def test_data_that_the_nodes_lack_makes_trials_unavailable(tmp_path, monkeypatch):
    monkeypatch.setenv("LACKS", "digits")
    rows = run([spec(), spec(dataset="eeg", trial=1)], tmp_path, ensure="ensure_but_for")
    assert {row["dataset"]: row["status"] for row in rows} == {"digits": "unavailable", "eeg": "ok"}


@slow
def test_ctrl_c_ends_the_jobs_and_what_they_started(tmp_path):
    one = spec(features={"name": "fourier", "do": "start_child", "path": str(tmp_path / "child")})

    def interrupt():
        wait_for(lambda: content(tmp_path / "child"), 120)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        run([one], tmp_path)
    assert gone(int((tmp_path / "child").read_text()))


@slow
def test_by_the_command_the_scores_are_the_local_ones_to_the_last_digit(rffbench, tmp_path):
    (tmp_path / "tiny.yaml").write_text(
        "name: tiny\ndatasets: [digits]\nn_features: [8, 16]\nmethods: {RFF: {features: fourier}}\n"
        "trials: 2\nexecutor: {name: slurm, cluster: local, cpus: 1}\n"
    )
    scores = []
    for name in ("local", "slurm"):
        done = rffbench("run", "tiny.yaml", "--workers", 2, "--executor", name, "--results", name)
        assert done.returncode == 0, done.stderr
        rows = read_rows(tmp_path / name / "tiny" / "trials.jsonl")
        scores.append({row["key"]: row["metrics"] for row in rows})
    assert len(scores[0]) == 4
    assert scores[0] == scores[1]


# ---- What is passed to SLURM -------------------------------------------------------------------------------


class PlayedSlurm:
    """submitit's executor, with a sbatch that ``refuses``, or takes jobs that are carried out at once."""

    def __init__(self, folder, cluster):
        assert cluster == "slurm"

    def update_parameters(self, **parameters):
        self.passed.update(parameters)

    def map_array(self, function, jobs, paths, share):
        self.arrays.append(len(jobs))
        if self.refuses:
            raise submitit.core.utils.FailedJobError(f"sbatch: error: {self.refuses}")
        return [self.job(function, *each) for each in zip(jobs, paths, share, strict=True)]


class PlayedJob:
    job_id, state = "7_0", "NODE_FAIL"

    def __init__(self, do, job, path, share):
        path.write_bytes(self.left)
        if self.carries_out:
            do(job, path, share)

    def done(self):
        return True

    def stderr(self):
        return "cannot open the file\n"

    def cancel(self, check):
        pass


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """A SLURM that takes jobs; settings of it and of the executor."""
    (tmp_path / "sbatch").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.chdir(tmp_path)

    def make(specs, *, refuses="", carries_out=True, left=b"", **options):
        job = type("Job", (PlayedJob,), {"carries_out": carries_out, "left": left})
        played = type("Slurm", (PlayedSlurm,), {"refuses": refuses, "job": job, "arrays": [], "passed": {}})
        monkeypatch.setattr(submitit, "AutoExecutor", played)
        made = make_executor("slurm", FakeExperiment(specs), workers=3, options={"time": "2h", **options})
        made.settings |= {"work": f"{workers.__name__}:do_all", "ensure": f"{workers.__name__}:ensure"}
        return made, played

    return make


def test_options_reach_the_jobs_and_others_go_to_sbatch(slurm):
    made, played = slurm([], partition="long", memory="4GiB", cpus="8", account="physics")
    made.run([[spec()]], [].append)
    assert played.passed == {
        "name": "rffbench-fake", "timeout_min": 120, "mem_gb": 4.0, "cpus_per_task": 8, "slurm_partition": "long",
        "slurm_additional_parameters": {"account": "physics"}, "slurm_array_parallelism": 3,
    }  # fmt: skip
    made.run([[spec()]], [].append, timing="exclusive")
    assert played.passed["slurm_exclusive"] is True


def test_what_is_no_option_of_sbatch_reaches_submitit_and_what_submitit_does_not_know_reaches_sbatch(slurm):
    made, played = slurm([], setup=["module load x"], gres="gpu:1", additional_parameters={"reservation": "course"})
    made.run([[spec()]], [].append)
    assert played.passed["slurm_setup"] == ["module load x"]
    assert played.passed["slurm_additional_parameters"] == {"reservation": "course", "gres": "gpu:1"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"acount": "physics"}, "executor slurm: unknown option 'acount'; did you mean 'account'?"),
        ({"partiton": "long"}, "executor slurm: unknown option 'partiton'; did you mean 'partition'?"),
        ({"reservation": "x"}, r"goes into the config's executor as additional_parameters: \{reservation: x\}"),
        ({"cpus": "many"}, "executor slurm: option cpus: must be a whole number, not 'many'"),
        ({"cluster": "locl"}, "executor slurm: option cluster: must be slurm or local, not 'locl'"),
        ({"setup": "module load x"}, r"executor slurm: option setup: must be a list"),
    ],
)
def test_an_option_that_is_none_is_refused_by_check_and_by_make(options, message):
    with pytest.raises(ConfigError, match=message):
        check_executor("slurm", options)
    with pytest.raises(ConfigError, match=message):
        make_executor("slurm", FakeExperiment([]), options={"time": "1h", "cluster": "local", **options})


def test_without_submitit_the_check_says_what_it_leaves_out(monkeypatch):
    assert check_executor("slurm", {"account": "physics"}) == ""
    monkeypatch.setattr(slurm_cluster, "submitit", None)
    assert "whether sbatch has acount cannot be checked" in check_executor("slurm", {"acount": "x", "time": "1h"})
    assert check_executor("slurm", {"time": "1h"}) == ""
    with pytest.raises(ConfigError, match=r"needs the library submitit; pip install 'rffbench\[slurm\]'"):
        make_executor("slurm", FakeExperiment([]), options={"time": "1h"})


def test_tasks_go_in_arrays_of_at_most_so_many(slurm):
    made, played = slurm([], array=2)
    results = []
    made.run([[spec(trial=trial)] for trial in range(5)], results.append)
    assert played.arrays == [2, 2, 1]
    assert [result.status for result in results] == ["ok"] * 5


def test_a_refusal_quotes_sbatch(slurm):
    made, _ = slurm([], refuses="invalid partition specified: lomg")
    with pytest.raises(ConfigError, match="the jobs are refused: sbatch: error: invalid partition specified: lomg"):
        made.run([[spec()]], print)


def test_an_option_that_slurm_does_not_know_is_named(slurm):
    said = "unrecognized option '--acount'\nTry \"sbatch --help\" for more"
    made, _ = slurm([], additional_parameters={"acount": "physics"}, refuses=said)
    with pytest.raises(ConfigError, match=r"the jobs are refused: sbatch: error: unrecognized option '--acount'$"):
        made.run([[spec()]], print)


def test_a_full_queue_in_mid_run_keeps_what_was_measured(slurm):
    made, played = slurm([], array=1)

    def done(result):
        results.append(result)
        played.refuses = "Job violates accounting/QOS policy (job submit limit)"

    results = []
    with pytest.raises(EnvironmentFault, match=r"more jobs are refused: .*submit limit\); .*same command carries on"):
        made.run([[spec(trial=trial)] for trial in range(3)], done)
    assert [result.status for result in results] == ["ok"]


def test_a_folder_that_the_nodes_do_not_see_ends_the_run_and_is_named(slurm, tmp_path):
    made, _ = slurm([], carries_out=False)
    with pytest.raises(EnvironmentFault, match=f"NODE_FAIL before it began .cannot open.* see {tmp_path}/slurm-jobs"):
        made.run([[spec()]], print)


def test_without_a_time_limit_for_jobs_slurm_is_not_asked(slurm):
    with pytest.raises(ConfigError, match="needs how long a job may take, for example --executor-option time=2h"):
        slurm([], time=None)


def test_a_line_that_a_killed_job_left_half_written_costs_no_later_one(slurm):
    made, _ = slurm([], left=b"gASVFgAA")
    results = []
    made.run([[spec()]], results.append)
    assert [result.status for result in results] == ["ok"]
