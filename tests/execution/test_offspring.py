"""What a trial starts ends with its worker or its run, also in a session of its own."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rffbench.execution import offspring
from rffbench.execution.local import LocalExecutor
from tests.helpers.execution_workers import spec
from tests.helpers.processes import alive, content, gone, wait_for

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux has subreapers")


def deed(do, file):
    return spec(do, features={"name": "fourier", "do": do, "pids": str(file)})


def lines(file):
    return content(Path(file)).splitlines()


def started(file):
    return [int(line) for line in lines(file)]


@pytest.mark.slow
@pytest.mark.parametrize("do", ["start_a_daemon", "start_a_daemon_and_die", "start_a_daemon_and_hang"])
def test_a_child_in_a_session_of_its_own_ends_with_the_task(do, tmp_path):
    executor = LocalExecutor(work="tests.helpers.execution_workers:do_all", workers=1, threads=1, time_limit=10.0)
    results = []
    executor.run([[deed(do, tmp_path / "pids")]], results.append)
    assert len(results) == 1
    daemons = started(tmp_path / "pids")
    assert len(daemons) == 2  # one forked, one that has lost its parent
    assert [pid for pid in daemons if not gone(pid)] == []


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("strike", [os.kill, os.killpg])
def test_a_child_in_a_session_of_its_own_ends_with_a_run_that_is_struck(number, strike, tmp_path):
    code = (
        "from tests.helpers.execution_workers import FakeExperiment, local;"
        "from tests.execution.test_offspring import deed;"
        f"one = deed('start_a_daemon_and_hang', {str(tmp_path / 'pids')!r});"
        "local(FakeExperiment([]), workers=1).run([[one]], print)"
    )
    run = subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, start_new_session=True, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    daemons = wait_for(lambda: len(started(tmp_path / "pids")) == 2 and started(tmp_path / "pids"), 120)
    assert all(map(alive, daemons))
    strike(run.pid, number)
    run.wait(60)
    assert [lines(f"/proc/{pid}/status") for pid in daemons if not gone(pid)] == []


def test_a_child_that_moves_while_the_tree_is_read_is_ended_too(monkeypatch):
    """The first look down the tree finds a dead process alone, as its child has moved up meanwhile."""
    dead, child = (subprocess.Popen(["sleep", seconds]) for seconds in ("0", "60"))
    wait_for(lambda: not alive(dead.pid))
    looks = iter([[dead.pid], [dead.pid, child.pid]])
    monkeypatch.setattr(offspring, "descendants", lambda pid: next(looks, [dead.pid, child.pid]))
    try:
        offspring.end_below(os.getpid())
        assert not alive(child.pid)
    finally:
        child.kill()
