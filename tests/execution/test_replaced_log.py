"""No row of a run is lost where another program replaces the log while the run goes on."""

import lzma
import os
import shutil
import subprocess

import pytest

from rffbench.errors import ResultsError
from rffbench.execution.log import TrialLog, read_rows
from tests.helpers.execution_workers import measured, spec


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
