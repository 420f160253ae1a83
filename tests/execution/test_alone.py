"""Where a trial times something, nothing else of the run is at work: the others stand still, with their clocks."""

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from rffbench.execution import local, worker
from rffbench.execution.environment import processors
from rffbench.execution.local import LocalExecutor
from rffbench.execution.supervised import Worker
from rffbench.execution.worker import BUSY_S, Settings
from rffbench.trials.seconds import Timer
from tests.helpers.alone_runs import WORKERS, run, trials
from tests.helpers.execution_workers import spec
from tests.helpers.processes import alive, descendants, wait_for

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(not local.CAN_PAUSE, reason="workers pause on Linux alone")


@pytest.mark.slow
def test_while_one_worker_times_the_others_do_nothing(tmp_path):
    results = run(trials("work_and_time", 4, tmp_path), workers=3)
    assert [result.status for result in results] == ["ok"] * 4
    told = [json.loads((tmp_path / str(n)).read_text()) for n in range(4)]
    for one, other in itertools.permutations(told, 2):
        for start, end in one["alone"]:
            at_work = [moment for moment in other["at_work"] if start < moment < end]
            assert len(at_work) <= 1, "it takes a moment to stand still, and no more"
    assert {result.seconds["threads"] for result in results} == {processors()}
    assert {result.seconds["contended"] for result in results} == {None}  # of a trial that does not say


@pytest.mark.slow
def test_the_timer_goes_from_one_worker_to_the_next(tmp_path):
    results = run(trials("count_who_timed", 4, tmp_path))
    assert sorted(result.metrics["counted"] for result in results) == [1, 2, 3, 4]


def test_a_worker_asks_for_the_machine_when_its_threads_have_fallen_asleep(monkeypatch):
    did, limits = [], []
    pipe = SimpleNamespace(send=did.append, recv=Timer)
    monkeypatch.setattr(worker, "limit_threads", lambda threads, _=None: limits.append(threads))  # not of this process
    monkeypatch.setattr(worker, "sleep", did.append)
    monkeypatch.setattr(worker, "monotonic", lambda: 10.0)
    for started, sleeps in ((10.0, BUSY_S), (9.0, 0)):
        did.clear()
        limits.clear()
        with worker.the_machine(pipe, 1, started) as (_, timer):
            did.append("times")
        assert did == [pytest.approx(sleeps), ("alone", None), "times", ("alone", timer)]
        assert limits == [processors(), 1]


def test_a_worker_may_time_again_before_its_parent_has_heard_that_it_had_timed(tmp_path):
    """As where the parent writes its log to a slow disk."""
    started = time.monotonic()

    def watch():
        assert time.monotonic() - started < 60, "they all stand still"
        time.sleep(0.2)

    results = run(trials("time_again_at_once", 2, tmp_path), watch=watch)
    assert [result.status for result in results] == ["ok", "ok"]


def test_a_worker_may_be_stopped_in_the_middle_of_what_it_tells(tmp_path):
    settings = Settings(f"{WORKERS}:do_all", 2, 1, None, True, tmp_path / "stack", tmp_path / "still")
    one = Worker(trials("tell_much", 1, tmp_path)[0], settings, None)
    try:
        wait_for(lambda: one.step(time.monotonic()) == [] and one.account.open, 60)
        (tmp_path / "0").touch()
        wait_for(one.pipe.poll, 60)  # the pipe holds a part of what it tells
        one.pause(True)
        with within(60):
            assert one.step(time.monotonic()) == []
        one.pause(False)
        with within(60):
            results = wait_for(lambda: one.step(time.monotonic()))
        assert len(results[0].curves["error"]) == 200_000
    finally:
        one.kill()


@contextlib.contextmanager
def within(seconds):
    """TimeoutError where the block takes longer."""

    def late(number, frame):
        raise TimeoutError(f"not within {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.slow
def test_the_clock_of_a_time_limit_stands_still_too(tmp_path):
    results = run([*trials("time_long", 1, tmp_path), *trials("work_long", 2, tmp_path)[1:]], time_limit=6.0)
    assert [result.status for result in results] == ["ok", "ok"]
    assert results[1].metrics["took_s"] > 6, "so that it has stood still"


@pytest.mark.slow
def test_a_time_limit_holds_for_what_times(tmp_path):
    results = run([*trials("time_forever", 1, tmp_path), *trials("work_and_time", 3, tmp_path)[1:]], time_limit=4.0)
    assert [result.status for result in results] == ["timeout", "ok", "ok"]


def test_a_worker_that_dies_while_it_times_lets_the_others_go_on(tmp_path):
    results = run([*trials("die_while_timing", 1, tmp_path), *trials("work_and_time", 3, tmp_path)[1:]])
    assert [result.status for result in results] == ["killed", "ok", "ok"]


def test_a_large_trial_has_the_machine_after_the_others(tmp_path):
    tasks = [[spec("say_threads", n, n_features=size)] for n, size in enumerate([local.LARGE, 8, 8])]
    executor = LocalExecutor(work=f"{WORKERS}:do_all", workers=2, threads=None, needs_machine=local.is_large)
    results = []
    executor.run(tasks, results.append)
    assert results[-1].spec.n_features == local.LARGE
    assert results[-1].metrics["threads"] == processors()
    assert {result.metrics["threads"] for result in results[:2]} == {max(1, processors() // 2)}


SCRIPT = """
import sys
import time
from pathlib import Path
from tests.helpers.alone_runs import run, trials

folder = Path(sys.argv[1])
run([*trials("time_forever", 1, folder), *trials("work_long", 2, folder)[1:]])
"""


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_what_stands_still_ends_with_its_parent(tmp_path, ending):
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path)], env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=ROOT,
        start_new_session=True, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    below = []
    try:
        below = wait_for(lambda: any(map(stopped, found := descendants(process.pid))) and found, 60)
        os.kill(process.pid, ending)
        process.wait(60)
        wait_for(lambda: not any(map(alive, below)), 60)
    finally:
        for pid in [process.pid, *below]:
            if alive(pid):
                os.kill(pid, signal.SIGKILL)
        process.wait()


def stopped(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    except OSError:
        return False
