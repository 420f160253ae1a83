"""Every trial handed to the local executor comes back once, whatever it does to its worker."""

import contextlib
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from rffbench.errors import DataUnavailable, EnvironmentFault
from rffbench.execution import child, local, supervised
from rffbench.execution.child import CallFailed, call_alone, context
from rffbench.execution.environment import processors
from rffbench.execution.failure import Failure
from rffbench.execution.local import LocalExecutor
from tests.helpers.execution_workers import spec
from tests.helpers.faults import find
from tests.helpers.processes import content, descendants, gone, wait_for

ROOT = Path(__file__).parents[2]
WORKERS = "tests.helpers.execution_workers"


def run(tasks, function="do_all", workers=2, **limits):
    executor = LocalExecutor(work=f"{WORKERS}:{function}", workers=workers, threads=1, **limits)
    results = []
    executor.run(tasks, results.append)
    keys = [result.spec.key for result in results]
    assert len(keys) == len(set(keys)), "a trial came back twice"
    assert set(keys) == {spec.key for task in tasks for spec in task}, "a trial did not come back"
    return {result.spec.key: result for result in results}


def alone(do, **options):
    one = spec(do)
    return run([[one]], **options)[one.key]


@pytest.mark.parametrize(
    ("do", "status", "type_", "message"),
    [
        ("raise_value_error", "error", "ValueError", "the bandwidth is purple"),
        ("raise_memory_error", "out-of-memory", "MemoryError", "Unable to allocate"),
        ("lose_data", "unavailable", "DataUnavailable", "eeg: gone"),
        ("kill_itself", "killed", "WorkerDied", "SIGKILL"),
        ("segfault", "killed", "WorkerDied", "SIGSEGV"),
        ("interrupt", "error", "KeyboardInterrupt", "of its own"),
        ("cancel", "error", "CancelledError", "by itself"),
        ("exit_with_3", "killed", "WorkerDied", "status 3"),
        ("exit_with_0", "killed", "WorkerDied", "status 0"),
        ("close_the_pipe", "killed", "WorkerDied", "silent"),
        ("measure_nan", "error", "ValueError", "RFF: metrics: 'rmse' must be a finite number, not nan"),
        ("forget", "error", "NoResult", "without a result"),
    ],
)
def test_a_failure_is_a_result_that_says_how(do, status, type_, message, monkeypatch):
    for module in (child, supervised):
        monkeypatch.setattr(module, "REAP_S", 0.5)
    result = alone(do)
    assert (result.status, result.error["type"]) == (status, type_)
    assert message in result.error["message"]


def test_an_error_without_words_is_told_by_its_name():
    assert Failure.of(KeyboardInterrupt()).message == "raised KeyboardInterrupt"


def test_a_row_names_a_file_by_the_variable_that_says_where_it_is(tmp_path, monkeypatch):
    monkeypatch.setenv("RFFBENCH_MIRROR", f"{tmp_path}/")
    failure = Failure.of(DataUnavailable(f"eeg: no source: mirror {tmp_path}/eeg/a b.csv: no such file"))
    assert failure.message == "eeg: no source: mirror $RFFBENCH_MIRROR/eeg/a b.csv: no such file"
    assert str(tmp_path) not in failure.traceback


@pytest.mark.parametrize("do", ["raise_value_error", "segfault"])
def test_an_error_keeps_the_trace_to_its_line(do):
    assert do in alone(do).error["traceback"]
    assert str(Path(__file__).parent) not in alone(do).error["traceback"]  # it goes to other machines


@pytest.mark.parametrize("do", ["sleep_forever", "hang_in_c", "stop", "ignore_signals"])
def test_a_trial_that_hangs_is_killed_at_its_limit(do):
    start = time.monotonic()
    result = alone(do, time_limit=0.5)
    assert result.status == "timeout"
    assert "0.5 s" in result.error["message"]
    assert time.monotonic() - start < 60
    if do in ("sleep_forever", "hang_in_c"):
        assert do in result.error["traceback"]  # where it hung
        assert str(Path(__file__).parent) not in result.error["traceback"]


def test_a_trial_that_outgrows_its_memory_is_killed_and_says_how_much():
    result = alone("hog", memory_limit=500_000_000)
    assert result.status == "out-of-memory"
    assert "limit of 500 MB" in result.error["message"]
    assert 500_000_000 < result.peak_memory_bytes < 3_000_000_000  # it grows by 1.6 GB/s at most


@pytest.mark.slow
def test_mapped_files_do_not_count_as_the_worker_s_memory(tmp_path):
    np.save(tmp_path / "X.npy", np.ones(75_000_000))  # 600 MB
    one = spec("map_file", features={"name": "fourier", "do": "map_file", "path": str(tmp_path / "X.npy")})
    result = run([[one]], memory_limit=500_000_000)[one.key]
    assert result.status == "ok"
    assert result.peak_memory_bytes > 600_000_000  # resident, but not its own


@pytest.mark.parametrize("do", ["kill_itself", "sleep_forever", "raise_value_error", "exit_with_0"])
def test_a_lost_trial_costs_no_other_trial_of_its_task(do):
    specs = [spec("measure", 0), spec(do, 1), spec("measure", 2), spec("measure", 3)]
    results = run([specs], time_limit=1.0)
    assert [results[each.key].status == "ok" for each in specs] == [True, False, True, True]


def test_a_trial_whose_shared_work_dies_is_found_out_among_those_sharing_it():
    specs = [spec("measure", 0), spec("poison", 1), spec("measure", 2)]
    results = run([specs], function="shared_work_kills")
    assert [results[each.key].status for each in specs] == ["ok", "killed", "ok"]


# ---- Several short tasks in one worker ------------------------------------------------------------------------


def processes_of(tasks, **options):
    """The processes that ran these tasks, by one worker at a time, in the tasks' order."""
    results = run(tasks, workers=1, **options)
    return [results[task[0].key].metrics["process"] for task in tasks]


def test_short_tasks_have_one_process():
    assert len(set(processes_of([[spec("tell_process", trial)] for trial in range(5)]))) == 1


def test_a_process_of_some_age_gets_no_other_task(monkeypatch):
    monkeypatch.setattr(supervised, "YOUNG_S", 0.0)
    assert len(set(processes_of([[spec("tell_process", trial)] for trial in range(3)]))) == 3


def test_tasks_of_foreign_code_and_tasks_with_the_whole_machine_have_their_own_process():
    foreign = {"name": "mine.py:Map", "do": "tell_process"}
    assert len(set(processes_of([[spec(trial=trial, features=foreign)] for trial in range(3)]))) == 3
    large = [[spec("tell_process", trial)] for trial in range(3)]
    assert len(set(processes_of(large, needs_machine=lambda task: True))) == 3


def test_a_process_that_keeps_memory_gets_no_other_task():
    first, second, third = processes_of([[spec(do, n)] for n, do in enumerate(["tell_process", "leave_much"] * 2)])[:3]
    assert first == second != third


@pytest.mark.parametrize(
    "do",
    ["kill_itself", "segfault", "exit_with_0", "sleep_forever", "hog", "raise_value_error", "forget", "measure_nan"],
)
def test_a_lost_trial_costs_nothing_of_the_tasks_before_and_after_it(do):
    tasks = [[spec("measure", 0)], [spec("measure", 1), spec(do, 2), spec("measure", 3)], [spec("measure", 4)]]
    limits = {"time_limit": 1.0 if do == "sleep_forever" else None, "memory_limit": 500_000_000}
    results = run(tasks, workers=1, **limits)
    expected = alone(do, **limits)
    lost = results.pop(tasks[1][1].key)
    assert (lost.status, lost.error["type"]) == (expected.status, expected.error["type"])
    assert {result.status for result in results.values()} == {"ok"}


@pytest.mark.parametrize("do", ["raise_at_a_trace", "die_of_a_trace", "find_no_file_to_open"])
def test_what_fails_after_another_task_is_tried_again_in_a_new_process(do):
    """Something of the other task may be the cause."""
    tasks = [[spec("leave_a_trace", 0)], [spec("tell_process", 1), spec(do, 2)], [spec("tell_process", 3)]]
    results = run(tasks, workers=1)
    assert {result.status for result in results.values()} == {"ok"}
    process = {result.spec.trial: result.metrics["process"] for result in results.values()}
    assert process[0] == process[1] != process[2] == process[3]


def test_shared_work_that_dies_after_another_task_costs_its_culprit_alone():
    tasks = [[spec("measure", 0)], [spec("measure", 1), spec("poison", 2), spec("measure", 3)], [spec("measure", 4)]]
    results = run(tasks, function="shared_work_kills", workers=1)
    statuses = {result.spec.trial: result.status for result in results.values()}
    assert statuses == {0: "ok", 1: "ok", 2: "killed", 3: "ok", 4: "ok"}


def test_a_worker_that_dies_between_two_tasks_costs_neither(monkeypatch):
    go_on, killed = supervised.Worker.go_on, []

    def too_late(worker, task):
        if task and not killed:
            killed.append(worker.process.pid)
            os.kill(worker.process.pid, signal.SIGKILL)
            wait_for(lambda: not worker.process.is_alive())
        go_on(worker, task)

    monkeypatch.setattr(supervised.Worker, "go_on", too_late)
    processes = processes_of([[spec("tell_process", trial)] for trial in range(3)])
    assert processes[0] == killed[0] != processes[1] == processes[2]


def test_peak_memory_leaves_out_that_of_the_tasks_before():
    large, small = spec("report_memory", 0), spec("measure", 1)
    results = run([[large], [small]], workers=1)
    assert results[large.key].peak_memory_bytes - results[small.key].peak_memory_bytes > 100e6


def test_shared_work_may_take_the_time_of_all_that_share_it():
    specs = [spec("measure", trial) for trial in range(3)]
    results = run([specs], function="shared_work_takes", time_limit=0.8)
    assert [results[each.key].metrics.get("together") for each in specs] == [3, 3, 3]


def test_a_task_that_raises_before_its_trials_gives_each_its_error():
    specs = [spec("measure", trial) for trial in range(2)]
    results = run([specs], function="raises_before_its_trials")
    assert {(r.status, r.error["type"]) for r in results.values()} == {("error", "LookupError")}


def test_a_function_may_record_an_error_and_go_on():
    specs = [spec("measure", 0), spec("raise_value_error", 1), spec("measure", 2)]
    results = run([specs], function="goes_on_after_errors")
    assert [results[each.key].status for each in specs] == ["ok", "error", "ok"]
    assert "purple" in results[specs[1].key].error["traceback"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("do", "status"),
    [("leave_no_file_to_open", "ok"), ("open_files_without_end", "error"), ("map_opens_them", "error")],
)
def test_what_leaves_a_process_no_file_to_open_is_no_fault_of_the_next_trial_in_it(do, status):
    specs = [spec("open_a_file", 0), spec(do, 1), *(spec("open_a_file", trial) for trial in range(2, 6))]
    results = [run([specs], function="goes_on_after_errors")[each.key] for each in specs]
    assert [result.status for result in results] == ["ok", status, "ok", "ok", "ok", "ok"]
    if result := next((result for result in results if result.error), None):
        assert "Too many open files" in result.error["message"]
        assert result.error.get("environment", False) is (do != "map_opens_them"), "of the machine, or of the map"


@pytest.mark.slow
def test_time_in_which_the_parent_stood_still_counts_for_no_trial_s_limit(monkeypatch):
    """As where a container is paused, or a laptop's lid is shut: parent and workers stand still together."""
    step, wait, frozen = supervised.Worker.step, local.connection.wait, []

    def look(worker, now):
        results = step(worker, now)
        if worker.account.open and not frozen:
            frozen.append(worker)
        return results

    def pause(signs, timeout):
        if len(frozen) == 1:
            frozen.append(pid := frozen[0].process.pid)
            os.kill(pid, signal.SIGSTOP)
            time.sleep(7.0)
            os.kill(pid, signal.SIGCONT)
        return wait(signs, timeout)

    monkeypatch.setattr(supervised.Worker, "step", look)
    monkeypatch.setattr(local.connection, "wait", pause)
    assert alone("slow", time_limit=5.0).status == "ok"
    assert len(frozen) == 2


def test_seconds_leave_out_those_in_which_a_worker_was_made_to_stand_still():
    timed, other = spec("be_timed", 0), spec("take_the_machine", 1)
    metrics = run([[timed], [other]])[timed.key].metrics
    assert metrics["still"] > 0.8
    assert 0.8 * metrics["still"] < metrics["left_out"] <= metrics["still"]


def test_nor_is_it_the_fault_of_a_map_that_then_opens_one():
    specs = [spec("leave_no_file_to_open", 0), spec("map_opens_one", 1)]
    results = run([specs], function="goes_on_after_errors")
    assert [results[each.key].status for each in specs] == ["ok", "ok"]


@pytest.mark.slow
def test_maps_that_open_too_many_files_do_not_stop_a_run():
    specs = [spec("map_opens_them", trial) for trial in range(4)] + [spec("open_a_file", 4)]
    results = run([specs], function="goes_on_after_errors")
    assert [results[each.key].status for each in specs] == ["error"] * 4 + ["ok"]


def test_a_result_sent_twice_counts_once():
    assert alone("repeat").status == "ok"


@pytest.mark.parametrize("workers", [1, 4])
def test_as_many_workers_as_asked_for_and_no_more(tmp_path, workers):
    features = {"name": "fourier", "do": "meet", "path": str(tmp_path), "meets": workers}
    results = run([[spec(trial=trial, features=features)] for trial in range(4)], workers=workers).values()
    begun, ended = ([result.metrics[name] for result in results] for name in ("begun", "ended"))
    assert max(sum(b <= at < e for b, e in zip(begun, ended, strict=True)) for at in begun) == workers


@pytest.mark.parametrize(
    "threads", [1, pytest.param(2, marks=pytest.mark.skipif(processors() < 2, reason="one processor"))]
)
def test_blas_and_numba_are_held_to_the_worker_s_threads(threads):
    one = spec("report_threads")
    executor, results = LocalExecutor(work=f"{WORKERS}:do_all", workers=1, threads=threads), []
    executor.run([[one]], results.append)
    (result,) = results
    assert {result.metrics[name] for name in ("blas", "numba", "environment")} == {threads}
    assert threads > 1 or result.metrics["started"] == 1  # one that waits in a busy loop takes another's processor
    assert result.seconds["threads"] == threads


@pytest.mark.skipif(processors() < 2, reason="one processor")
@pytest.mark.slow
def test_threads_exported_for_numba_do_not_bind_the_workers():
    test = f"{__file__}::test_blas_and_numba_are_held_to_the_worker_s_threads[2]"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test]
    exported = {**os.environ, "NUMBA_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=exported, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def first_of_its_process(do, **settings):
    """The metrics of a trial of a process's first executor, which decides what workers start with."""
    script = (
        "import json\n"
        "from tests.helpers.execution_workers import spec\n"
        "from rffbench.execution.local import LocalExecutor\n"
        "if __name__ == '__main__':\n"
        f"    executor = LocalExecutor(work='{WORKERS}:do_all', workers=1, threads=1, **{settings})\n"
        f"    executor.run([[spec('{do}')]], lambda result: print(json.dumps(result.metrics)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_workers_start_with_their_libraries_loaded():
    """Otherwise each worker loads them again, which takes longer than most trials."""
    assert first_of_its_process("say_what_is_loaded", preload=("colorsys",))["colorsys"] == 1


@pytest.mark.slow
def test_workers_start_with_their_kernels_ready():
    """Otherwise each worker loads them from numba's cache again, which takes longer than small trials."""
    metrics = first_of_its_process("say_which_kernels_are_ready")
    assert metrics["ready"] >= 3
    assert metrics["frozen"] > 100_000
    assert metrics["late"] == 0  # of what estimators import only in a fit


@pytest.mark.parametrize("workers", [1, 2])
def test_seconds_measured_beside_other_workers_are_contended(workers):
    results = run([[spec("measure", trial)] for trial in range(2)], workers=workers)
    assert {result.seconds["contended"] for result in results.values()} == {True if workers > 1 else None}


def test_peak_memory_is_the_trial_s_own():
    large, small = spec("report_memory", 0), spec("measure", 1)
    results = run([[large, small]], workers=1)
    extra = results[large.key].peak_memory_bytes - results[small.key].peak_memory_bytes
    assert 100e6 < extra < 160e6


def test_an_error_of_the_receiver_ends_every_worker_and_what_it_started(tmp_path):
    path = tmp_path / "pid"
    hanging = spec(features={"name": "fourier", "do": "start_child", "path": str(path)})
    executor = LocalExecutor(work=f"{WORKERS}:do_all", workers=2, threads=1)
    processes = []

    def full_disk(result):
        pid = int(wait_for(lambda: content(path)))
        processes.extend([pid, int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])])
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        executor.run([[hanging], [spec("slow", 1)], [spec("slow", 2)]], full_disk)
    assert all(map(gone, processes))


@pytest.mark.parametrize("call", [lambda: run([[spec("sleep_forever")]]), lambda: call_alone("time:sleep", 60)])
def test_ctrl_c_while_a_worker_starts_does_not_lose_it(call, monkeypatch):
    process = context().Process
    start = process.start

    def interrupted(self):
        start(self)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(process, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        call()
    assert multiprocessing.active_children() == []


def test_a_trial_cannot_write_to_the_run_s_standard_output(capfd):
    assert alone("print_something").status == "ok"
    out, _ = capfd.readouterr()
    assert out == ""


def test_a_function_called_alone_returns_raises_and_dies_for_itself():
    assert call_alone("os:getpid") != os.getpid()
    with pytest.raises(CallFailed, match="no server answers") as caught:
        call_alone(f"{WORKERS}:ensure", "lost")
    assert caught.value.failure.status == "unavailable"
    with pytest.raises(CallFailed, match="SIGKILL"):
        call_alone(f"{WORKERS}:ensure", "deadly")


def test_memory_touched_before_a_trial_is_given_back_and_not_touched_again():
    from rffbench.io import process as measure

    size = 64 << 20
    before = measure.private_memory()
    measure.touch_memory(size)
    assert measure.private_memory() < before + size // 2
    measure.reset_peak()
    resident = measure.peak_memory()
    measure.touch_memory(size)
    assert measure.peak_memory() < resident + size // 2


@pytest.mark.slow
def test_own_memory_is_what_a_section_adds_whatever_was_held_before():
    from rffbench.io import process as measure

    held = np.ones(20_000_000)  # 160 MB
    with measure.OwnMemory() as own:
        measure.reset_peak()
        np.ones(10_000_000)
    assert 70e6 < own.bytes < 110e6
    with measure.OwnMemory() as own:
        measure.reset_peak()
    assert own.bytes < 20e6
    assert held[0] == 1


@pytest.mark.slow
def test_no_trial_is_blamed_for_the_death_of_the_process_that_forks_workers():
    results, server = [], []

    def done(result):
        results.append(result)
        if len(results) == 1:
            server.append(find(os.getpid(), descendants(os.getpid()), "forkserver"))
            os.kill(server[0], signal.SIGKILL)

    executor = LocalExecutor(work=f"{WORKERS}:do_all", workers=1, threads=1)
    with contextlib.suppress(EnvironmentFault):  # it may be met while a worker starts: the same command carries on
        executor.run([[spec("slow", trial) for trial in range(4)]], done)
    assert {result.status for result in results} == {"ok"}
    assert gone(server[0])  # the next test's executor starts another


def test_what_a_trial_starts_counts_in_its_memory():
    result = alone("hog_in_child", memory_limit=500_000_000)
    assert result.status == "out-of-memory"
    assert "limit of 500 MB" in result.error["message"]
    assert result.peak_memory_bytes > 500_000_000


def test_pages_that_a_trial_shares_with_what_it_forks_count_once():
    assert alone("fork_with_much", memory_limit=700_000_000).status == "ok"
