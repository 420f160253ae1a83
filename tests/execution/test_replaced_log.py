"""No row of a run is lost where another program replaces the log while the run goes on."""

import errno
import lzma
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rffbench.errors import EnvironmentFault, ResultsError
from rffbench.execution import folders
from rffbench.execution.log import TrialLog, read_rows
from rffbench.execution.row import line_of
from rffbench.io import files
from rffbench.trials.spec import TrialResult
from tests.helpers.execution_workers import measured, spec

ROOT = Path(__file__).parents[2]


def row(trial):
    return measured(spec(trial=trial)).to_row()


def trials(folder):
    return sorted(each["trial"] for each in read_rows(folder / "trials.jsonl"))


def by_xz(path):
    path.with_name("trials.jsonl.xz").write_bytes(lzma.compress(path.read_bytes()))
    path.unlink()


def by_sed(path):
    """As ``sed -i``: a new file, renamed into place."""
    new = path.with_name("sedXYZ")
    new.write_bytes(path.read_bytes())
    new.rename(path)


def by_old_copy(path):
    """As an editor that saves what it has read when the run began."""
    new = path.with_name("trials.jsonl~")
    new.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
    new.rename(path)


def by_removal(path):
    path.unlink()


@pytest.mark.parametrize("replace", [by_xz, by_sed, by_old_copy, by_removal])
@pytest.mark.parametrize("last", [False, True])
def test_rows_are_in_the_log_that_is_there_now(tmp_path, replace, last):
    with TrialLog(tmp_path) as log:
        log.append(row(0))
    expected = [0, *range(1, 6)] if replace is not by_removal else list(range(1, 6))  # row 0 is of an earlier run
    said = []
    with TrialLog(tmp_path, said.append) as log:
        for trial in range(1, 4):
            log.append(row(trial))
        replace(tmp_path / "trials.jsonl")
        if not last:
            log.append(row(4))
            log.append(row(5))
    assert trials(tmp_path) == expected[: None if not last else -2]
    assert ("rows of this run are written again" in "".join(said)) is (replace in (by_old_copy, by_removal))


def test_a_log_replaced_again_and_again_has_every_row_and_few_files_are_open(tmp_path):
    before = len(os.listdir("/dev/fd"))
    with TrialLog(tmp_path) as log:
        for trial in range(60):
            log.append(row(trial))
            (by_xz, by_sed, by_old_copy)[trial % 3](tmp_path / "trials.jsonl")
        assert len(os.listdir("/dev/fd")) < before + 20
    assert sorted(set(trials(tmp_path))) == list(range(60))


def test_rows_lost_by_a_program_that_overwrites_the_log_in_its_place_stop_the_run(tmp_path):
    path = tmp_path / "trials.jsonl"

    def run():
        with TrialLog(tmp_path) as log:
            for trial in range(3):
                log.append(row(trial))
            path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
            log.append(row(3))

    with pytest.raises(ResultsError, match=r"overwritten it.*2 rows of this run are gone; the same command"):
        run()
    assert trials(tmp_path) == [0]


def test_a_folder_that_is_moved_stops_the_run(tmp_path):
    folder = tmp_path / "results"

    def run():
        with TrialLog(folder) as log:
            log.append(row(0))
            folder.rename(tmp_path / "elsewhere")
            log.append(row(1))

    with pytest.raises(ResultsError, match="was moved or removed while a run writes into it"):
        run()
    assert trials(tmp_path / "elsewhere") == [0]


@pytest.mark.skipif(shutil.which("xz") is None, reason="needs xz")
def test_xz_itself_loses_no_row_of_a_run(tmp_path):
    with TrialLog(tmp_path) as log:
        for trial in range(4):
            log.append(row(trial))
            if trial == 2:
                subprocess.run(["xz", "-9", tmp_path / "trials.jsonl"], check=True)
    assert trials(tmp_path) == [0, 1, 2, 3]


# ---- Two runs into one folder, on a file system that does not lock it ------------------------------------------


@pytest.fixture(params=["no flock", "no locks", "locks of one machine"])
def without_locks(request, monkeypatch):
    """As a system without flock, a network's file system without locks, and one whose locks other machines ignore."""
    if request.param == "no flock":
        monkeypatch.setattr(files, "fcntl", None)
        return

    def flock(*_):
        if request.param == "no locks":
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(files.fcntl, "flock", flock)


def as_another(monkeypatch, number):
    """From here on this process is another one to locks."""
    monkeypatch.setattr(folders, "this_process", lambda: f"process {number} on node{number}")


@pytest.mark.usefixtures("without_locks")
def test_two_runs_notice_each_other_at_the_first_row_and_double_none(tmp_path, monkeypatch):
    said, others = [], []
    with TrialLog(tmp_path, said.append) as first:
        as_another(monkeypatch, 2)
        with TrialLog(tmp_path, others.append) as second:
            second.append(row(0))
            second.append(row(1))
            as_another(monkeypatch, 1)
            for trial in (1, 2):  # it has measured one that the other has, and one that the other has not
                with pytest.raises(EnvironmentFault, match=r"process 2 on node2 runs into this folder, too"):
                    first.append(row(trial))
            as_another(monkeypatch, 2)
            for trial in (2, 3):
                second.append(row(trial))
            as_another(monkeypatch, 1)
        as_another(monkeypatch, 1)
    assert trials(tmp_path) == [0, 1, 2, 3]
    for messages in (said, others):
        (message,) = messages
        assert "another run or program adds rows to it" in message


@pytest.mark.usefixtures("without_locks")
def test_a_better_row_than_the_other_run_s_is_added(tmp_path, monkeypatch):
    failed = TrialResult.failed(spec(trial=0), "error", "Error", "a message").to_row()
    with TrialLog(tmp_path) as first:
        with (tmp_path / "trials.jsonl").open("ab") as other:
            other.write(line_of(failed))
        first.append(row(0))
    assert [each["status"] for each in read_rows(tmp_path / "trials.jsonl")] == ["error", "ok"]


@pytest.mark.usefixtures("without_locks")
def test_the_lock_file_of_the_other_run_stays(tmp_path, monkeypatch):
    first = TrialLog(tmp_path)
    as_another(monkeypatch, 1)
    with first:
        as_another(monkeypatch, 2)
        second = TrialLog(tmp_path)
        second.__enter__()
        as_another(monkeypatch, 1)
    assert (tmp_path / ".lock").read_text() == "process 2 on node2"
    as_another(monkeypatch, 2)
    second.__exit__(None, None, None)
    assert not (tmp_path / ".lock").exists()


RUN = """\
import sys
from rffbench.io import files
files.fcntl = None
from tests.helpers.execution_workers import FakeExperiment, serial, spec
from rffbench.execution.run import run_experiment
from pathlib import Path
experiment = FakeExperiment([spec("slow", trial) for trial in range(8)])
print("ready", flush=True)
input()
run_experiment(experiment, Path(sys.argv[1]), executor=serial(experiment), tell=print)
"""


@pytest.mark.slow
def test_of_two_processes_one_ends_and_the_other_has_all_rows_once(tmp_path):
    command = [sys.executable, "-c", RUN, str(tmp_path / "results")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    runs = [subprocess.Popen(command, cwd=ROOT, **pipes) for _ in range(2)]
    assert [each.stdout.readline() for each in runs] == ["ready\n"] * 2
    for each in runs:
        each.stdin.write("\n")
        each.stdin.flush()
    ends = [each.communicate(timeout=120) for each in runs]
    assert sorted(each.returncode for each in runs) == [0, 1], ends
    (said,) = [errors for each, (_, errors) in zip(runs, ends, strict=True) if each.returncode]
    assert "EnvironmentFault" in said
    assert "runs into this folder, too" in said
    assert trials(tmp_path / "results") == list(range(8))
