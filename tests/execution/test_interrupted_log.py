"""Ctrl-C at any moment while a row is written: no row is lost or doubled, and nothing is said of another run."""

import lzma
import sys

import pytest

from rffbench.errors import ResultsError
from rffbench.execution import folders, log
from rffbench.execution.log import TrialLog, read_rows
from rffbench.io import files
from tests.helpers.execution_workers import measured, spec

slow = pytest.mark.slow
FILES = {module.__file__ for module in (files, folders, log)}


def interrupted_at(moment, do):
    """Call ``do()``; raise KeyboardInterrupt at one moment, counted from 0, of the modules that write a log. A signal
    is heard where a function begins or has returned. Whether there was such a moment."""
    passed = 0

    def hear(frame, event, argument):
        nonlocal passed
        if event != "c_call" and frame.f_code.co_filename in FILES:
            passed += 1
            if passed == moment + 1:
                raise KeyboardInterrupt

    before = sys.getprofile()
    sys.setprofile(hear)
    try:
        do()
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(before)
    return False


def row(trial):
    return measured(spec(trial=trial)).to_row()


def trials(folder):
    return sorted(each["trial"] for each in read_rows(folder / "trials.jsonl"))


def nothing(path):
    pass


def by_removal(path):
    path.unlink()


def by_xz(path):
    path.with_name("trials.jsonl.xz").write_bytes(lzma.compress(path.read_bytes()))
    path.unlink()


@pytest.mark.parametrize("replace", [nothing, pytest.param(by_removal, marks=slow), pytest.param(by_xz, marks=slow)])
def test_at_any_moment_of_a_row_no_other_is_lost_and_no_other_run_is_seen(tmp_path, replace, monkeypatch):
    """``replace``: what another program does to the log before that row."""
    monkeypatch.setattr(log, "PATIENCE_S", 0.0)

    def run(folder, moment):
        with TrialLog(folder, said.append) as opened:
            opened.append(row(0))
            replace(folder / "trials.jsonl")
            return interrupted_at(moment, lambda: opened.append(row(1)))

    moment, came = 0, True
    while came:
        folder, said = tmp_path / str(moment), []
        came = run(folder, moment)
        assert not [each for each in said if "another run" in each], moment
        assert trials(folder) in ([0], [0, 1]), moment
        with TrialLog(folder, said.append) as opened:
            if trials(folder) == [0]:
                opened.append(row(1))
            opened.append(row(2))
        assert trials(folder) == [0, 1, 2], moment
        moment += 1
    assert moment > 40


def test_at_any_moment_of_opening_the_folder_is_free_afterwards(tmp_path):
    with TrialLog(tmp_path) as opened:
        opened.append(row(0))
    for moment in range(1000):
        opened = TrialLog(tmp_path)
        if not interrupted_at(moment, opened.__enter__):
            break
        try:
            with TrialLog(tmp_path):
                pass
        except ResultsError:  # the interrupt came when it had just returned, so that it is open
            break
    opened.__exit__()
    assert trials(tmp_path) == [0]
    assert moment > 20
