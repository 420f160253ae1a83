"""A run leaves a row for every trial, and can be stopped at any time and carried on."""

import itertools
import json
import lzma
import os
import signal
import subprocess
import sys
import tempfile
import weakref
from dataclasses import replace
from pathlib import Path

import pytest

from rffbench import data
from rffbench.config import costs
from rffbench.errors import ResultsError
from rffbench.execution import local as local_module
from rffbench.execution import run
from rffbench.execution.log import TrialLog, read_rows
from rffbench.execution.serial import SerialExecutor
from rffbench.io.process import Contention
from rffbench.trials.spec import TrialSpec
from tests.helpers.cases import slow
from tests.helpers.execution_workers import FakeExperiment, local, measured, spec
from tests.helpers.processes import alive, descendants, processor_s, wait_for

ROOT = Path(__file__).parents[2]


def carry_out(experiment, folder, *, executor=None, workers=2, **options):
    """Run an experiment whose trials do deeds, with worker processes unless told otherwise."""
    return run.run_experiment(experiment, folder, executor=executor or local(experiment, workers=workers), **options)


def rows(folder):
    return read_rows(folder / "trials.jsonl")


def scores(folder):
    return {row["key"]: row["metrics"] for row in rows(folder)}


GRID = [spec(trial=trial, n_features=size) for trial in range(3) for size in (4, 8)]


def test_a_run_writes_config_manifest_and_a_row_for_every_trial(tmp_path):
    folder = tmp_path / "results" / "fake"
    summary = carry_out(FakeExperiment(GRID), folder, workers=2)
    assert (summary.total, summary.ok, summary.failed, summary.unavailable, summary.run) == (6, 6, 0, 0, 6)
    assert sorted(path.name for path in folder.iterdir()) == ["config.yaml", "manifest.json", "trials.jsonl"]
    assert {row["key"] for row in rows(folder)} == {one.key for one in GRID}
    assert (folder / "config.yaml").read_text() == "name: fake\ntrials: 6\n"
    manifest = json.loads((folder / "manifest.json").read_text())
    for name in ("python", "cpu", "processors", "memory_bytes", "os", "git_commit", "started", "finished"):
        assert name in manifest
    assert manifest["packages"]["numpy"]
    assert manifest["blas"][0]["num_threads"] >= 1
    assert manifest["datasets"] == {"digits": "0"}
    assert manifest["only"] == []


def test_the_manifest_has_the_checksum_of_the_numbers_that_were_measured_on(tmp_path, monkeypatch):
    monkeypatch.setenv("RFFBENCH_CACHE", str(tmp_path / "cache"))
    experiment = FakeExperiment([spec()])
    carry_out(experiment, tmp_path / "none")
    assert json.loads((tmp_path / "none" / "manifest.json").read_text())["data_checksums"] == {"digits": None}
    serial = SerialExecutor(work=lambda task, channel: None)  # it fetches and parses
    run.run_experiment(experiment, tmp_path / "some", executor=serial)
    checksums = json.loads((tmp_path / "some" / "manifest.json").read_text())["data_checksums"]
    assert checksums == {"digits": data.data_hash("digits")}
    assert checksums["digits"].startswith("sha256:")


def test_a_row_gives_back_the_spec_it_is_of(tmp_path):
    carry_out(FakeExperiment(GRID), tmp_path)
    assert all(TrialSpec.from_row(row).key == row["key"] for row in rows(tmp_path))


@pytest.mark.slow
def test_a_run_leaves_nothing_for_the_system_to_complain_of(tmp_path, script):
    process = script(tmp_path, 2, "use_a_lock", "use_a_lock")
    _, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (0, "")
    assert len(rows(tmp_path)) == 2


@pytest.mark.slow
def test_every_outcome_leaves_its_row_and_the_rest_goes_on(tmp_path):
    deeds = {
        "measure": "ok", "raise_value_error": "error", "sleep_forever": "timeout", "hog": "out-of-memory",
        "kill_itself": "killed",
    }  # fmt: skip
    grid = [spec(do, trial) for trial, do in enumerate(deeds)]
    grid.append(spec(trial=9, dataset="lost", data_hash="1"))
    experiment = FakeExperiment(grid, time_limit=6.0, memory=400_000_000)  # a loaded machine takes 3 s to fill it
    summary = carry_out(experiment, tmp_path, workers=2)
    assert {row["trial"]: row["status"] for row in rows(tmp_path)} == {
        **dict(enumerate(deeds.values())),
        9: "unavailable",
    }
    assert (summary.ok, summary.failed, summary.unavailable) == (1, 4, 1)


def test_a_finished_run_is_not_done_again(tmp_path):
    carry_out(FakeExperiment(GRID), tmp_path)
    before = (tmp_path / "trials.jsonl").read_bytes()
    summary = carry_out(FakeExperiment(GRID), tmp_path)
    assert (summary.run, summary.ok) == (0, 6)
    assert (tmp_path / "trials.jsonl").read_bytes() == before


def test_rows_of_earlier_runs_are_not_held(tmp_path, monkeypatch):
    """Their number is bounded by the disk alone; what is asked of them is a status by trial."""
    held = []

    def rows():
        for one in GRID * 50:
            row = measured(one).to_row()
            row["metrics"] = Held(row["metrics"])
            held.append(weakref.ref(row["metrics"]))
            yield row
            assert sum(ref() is not None for ref in held) <= 2  # this one, and the one before in the reader's hand

    monkeypatch.setattr(TrialLog, "rows", lambda self: rows())
    summary = carry_out(FakeExperiment(GRID), tmp_path)
    assert (summary.run, summary.ok) == (0, 6)
    assert len(held) == 300


class Held(dict):
    """A dict that can be referred to weakly."""


@pytest.mark.parametrize("workers", [*slow(1), 4])
def test_a_run_carried_on_equals_an_uninterrupted_one(tmp_path, workers):
    carry_out(FakeExperiment(GRID), tmp_path / "whole", workers=2)
    carry_out(FakeExperiment(GRID[:2]), tmp_path / "parts", workers=1)
    with (tmp_path / "parts" / "trials.jsonl").open("a") as log:
        log.write('{"key": "torn')
    summary = carry_out(FakeExperiment(GRID), tmp_path / "parts", workers=workers)
    assert summary.run == 4
    assert scores(tmp_path / "parts") == scores(tmp_path / "whole")


def test_a_run_carries_on_beside_a_compressed_log(tmp_path):
    carry_out(FakeExperiment(GRID[:2]), tmp_path, workers=1)
    path = tmp_path / "trials.jsonl"
    packed = tmp_path / "trials.jsonl.xz"
    packed.write_bytes(lzma.compress(path.read_bytes()))
    path.unlink()
    before = packed.read_bytes()
    summary = carry_out(FakeExperiment(GRID), tmp_path, workers=1)
    assert (summary.run, summary.ok) == (4, 6)
    assert packed.read_bytes() == before
    assert len(path.read_text().splitlines()) == 4
    assert len(rows(tmp_path)) == 6
    assert carry_out(FakeExperiment(GRID), tmp_path).run == 0


def test_failed_trials_are_tried_again_only_on_request(tmp_path):
    experiment = FakeExperiment([spec(), spec("kill_itself", 1)])
    carry_out(experiment, tmp_path)
    assert carry_out(experiment, tmp_path).run == 0
    summary = carry_out(experiment, tmp_path, retry_failed=True)
    assert (summary.run, summary.ok, summary.failed) == (1, 1, 1)
    assert len(rows(tmp_path)) == 3


def test_unavailable_data_is_always_tried_again_and_logged_once_a_reason(tmp_path):
    experiment = FakeExperiment([spec(dataset="lost"), spec(dataset="deadly"), spec()])
    for _ in range(2):
        summary = carry_out(experiment, tmp_path)
        assert (summary.ok, summary.unavailable, summary.failed) == (1, 1, 1)
    statuses = {row["dataset"]: row["status"] for row in rows(tmp_path)}
    assert statuses == {"lost": "unavailable", "deadly": "killed", "digits": "ok"}
    assert len(rows(tmp_path)) == 3
    carry_out(experiment, tmp_path, executor=local(experiment, ensure="tests.helpers.execution_workers:ensure_later"))
    lost = [row["error"]["message"] for row in rows(tmp_path) if row["dataset"] == "lost"]
    assert lost == ["lost: no server answers", "lost: its checksum is wrong"]
    everything_is_there = local(experiment, ensure="builtins:len")
    assert carry_out(experiment, tmp_path, executor=everything_is_there).ok == 3


def test_what_goes_wrong_while_data_is_made_ready_is_no_trial_s_fault_and_is_tried_again(tmp_path):
    experiment = FakeExperiment([spec(), spec(trial=1)])
    broken = local(experiment, ensure="tests.helpers.execution_workers:ensure_on_a_broken_disk")
    for _ in range(2):
        assert carry_out(experiment, tmp_path, executor=broken).failed == 2
        assert {row["status"] for row in rows(tmp_path)} == {"error"}
        assert len(rows(tmp_path)) == 2
    assert carry_out(experiment, tmp_path).ok == 2


def test_cells_measured_under_another_config_are_never_mixed_in(tmp_path):
    carry_out(FakeExperiment(GRID), tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    other = FakeExperiment([replace(one, seed=7) for one in GRID])
    with pytest.raises(ResultsError, match=r"6 of these trials .* seed 0 instead of 7.*--fresh"):
        carry_out(other, tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_rows_with_other_measures_are_another_config_s_unless_their_trials_have_rows_of_this_one(tmp_path):
    carry_out(FakeExperiment(GRID), tmp_path)
    wider = FakeExperiment([replace(one, measures=["kernel_error", "sup_error"]) for one in GRID])
    with pytest.raises(ResultsError, match=r"6 of these .* measures \[\"kernel_error\"\] instead of \["):
        carry_out(wider, tmp_path)
    carry_out(wider, tmp_path / "wider")
    with (tmp_path / "trials.jsonl").open("a") as log:
        log.write((tmp_path / "wider" / "trials.jsonl").read_text())
    assert carry_out(wider, tmp_path).run == 0


def test_a_larger_grid_carries_on_in_the_same_folder(tmp_path):
    carry_out(FakeExperiment(GRID), tmp_path)
    larger = [*GRID, *[replace(one, method="QMC") for one in GRID]]
    summary = carry_out(FakeExperiment(larger), tmp_path)
    assert (summary.run, summary.ok) == (6, 12)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["statuses"] == {"ok": 12}
    assert [earlier["statuses"] for earlier in manifest["earlier_runs"]] == [{"ok": 6}]


def test_a_failed_cell_may_be_tried_under_a_corrected_config(tmp_path):
    carry_out(FakeExperiment([spec("raise_value_error")]), tmp_path)
    assert carry_out(FakeExperiment([spec("measure")]), tmp_path).ok == 1


def test_fresh_moves_the_old_folder_aside(tmp_path):
    folder = tmp_path / "fake"
    carry_out(FakeExperiment(GRID), folder)
    summary = carry_out(FakeExperiment([replace(one, seed=7) for one in GRID]), folder, fresh=True)
    assert summary.run == 6
    (old,) = tmp_path.glob("fake.old-*")
    assert {row["seed"] for row in rows(old)} == {0}
    assert {row["seed"] for row in rows(folder)} == {7}


def test_progress_counts_earlier_trials_and_estimates_the_rest(tmp_path):
    seen = []
    carry_out(FakeExperiment(GRID[:2]), tmp_path)
    grid = [*GRID[:4], spec("kill_itself", 7)]
    experiment = FakeExperiment(grid)
    carry_out(experiment, tmp_path, workers=1, progress=lambda *counts: seen.append(counts))
    assert seen[0] == (2, 5, 2, 0, None)
    assert [counts[:2] for counts in seen] == [(2, 5), (3, 5), (4, 5), (5, 5)]
    assert seen[-1][2:] == (4, 1, 0.0)
    assert all(counts[4] > 0 for counts in seen[1:-1])


def test_exclusive_trials_run_one_at_a_time_with_all_threads(tmp_path, monkeypatch):
    monkeypatch.setattr(local_module, "processors", lambda: 2)
    grid = [spec("slow", trial, timing="exclusive" if trial < 3 else "shared") for trial in range(5)]
    carry_out(FakeExperiment(grid), tmp_path, workers=2)
    timing = {row["trial"]: (row["timing"]["contended"], row["timing"]["threads"]) for row in rows(tmp_path)}
    assert timing == {0: (None, 2), 1: (None, 2), 2: (None, 2), 3: (True, 1), 4: (True, 1)}


def test_long_trials_run_after_all_others(tmp_path, monkeypatch):
    monkeypatch.setattr(costs, "shares", lambda specs: {one.key: 1000.0 * (one.n_features > 4) for one in specs})
    grid = [spec(trial=trial, n_features=size) for trial in range(3) for size in (8, 4)]
    carry_out(FakeExperiment(grid), tmp_path, workers=1)
    assert [(row["n_features"], row["trial"]) for row in rows(tmp_path)] == [
        (4, 0), (4, 1), (4, 2), (8, 0), (8, 1), (8, 2),
    ]  # fmt: skip


def test_default_workers_fit_the_memory(monkeypatch):
    monkeypatch.setattr(local_module, "processors", lambda: 8)
    monkeypatch.setattr(local_module, "total_memory", lambda: 20 * 10**9)
    assert local_module.default_workers(GRID, None) == 8
    assert local_module.default_workers(GRID, 6 * 10**9) == 3
    assert local_module.default_workers(GRID, 60 * 10**9) == 1


def test_one_worker_is_the_default_where_all_gram_matrices_are_large_and_on_a_gpu(monkeypatch):
    monkeypatch.setattr(local_module, "processors", lambda: 8)
    assert local_module.default_workers([spec(n_features=local_module.LARGE)], None) == 1
    assert local_module.default_workers([spec(device="cuda")], None) == 1
    assert local_module.default_workers([*GRID, spec(n_features=local_module.LARGE)], None) == 8


# ---- Ctrl-C, and the death of the parent -------------------------------------------------------------------


@pytest.fixture
def script(tmp_path_factory):
    """Starts a run of its own in a session of its own, and leaves no process behind."""
    started = []
    below = []

    def start(folder, workers, *deeds):
        marks = tmp_path_factory.mktemp("hanging")
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "HANGING": str(marks)}
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.helpers.execution_script", str(folder), str(workers), *deeds],
            env=environment, start_new_session=True, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        started.append(process)

        def hanging(count):
            """Wait until ``count`` trials are done and the others hang; the processes below the run's."""
            wait_for(lambda: len(rows(folder)) == count and len(list(marks.iterdir())) == len(deeds) - count, 120)
            below.extend(descendants(process.pid))
            return below

        process.hanging = hanging
        return process

    yield start
    for pid in below:
        if alive(pid):
            os.kill(pid, signal.SIGKILL)
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_ctrl_c_ends_the_run_and_the_same_call_carries_on(tmp_path, script):
    process = script(tmp_path, 2, "measure", "measure", "sleep_forever", "sleep_forever")
    below = process.hanging(2)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    assert process.wait(60) == 130
    wait_for(lambda: not any(map(alive, below)))
    assert "Traceback" not in process.stderr.read()
    assert not (tmp_path / ".lock").exists()
    assert [row["status"] for row in rows(tmp_path)] == ["ok", "ok"]
    deeds = ["measure", "measure", "sleep_forever", "sleep_forever"]
    experiment = FakeExperiment([spec(do, trial) for trial, do in enumerate(deeds)], time_limit=1.0)
    assert carry_out(experiment, tmp_path).run == 2


@pytest.mark.slow
def test_what_a_killed_worker_left_is_put_away_in_silence(tmp_path, script):
    process = script(tmp_path, 1, "die_with_a_semaphore", "measure")
    said = process.communicate(timeout=120)[1]
    assert [row["status"] for row in rows(tmp_path)] == ["killed", "ok"]
    assert "semaphore" not in said, said  # of which Python would tell as the last line of the run


@pytest.mark.slow
@pytest.mark.parametrize("hang", ["sleep_forever", "hang_in_c", "ignore_signals"])
def test_a_killed_parent_leaves_no_orphan(tmp_path, script, hang):
    process = script(tmp_path, 2, "measure", hang, hang)
    below = process.hanging(1)
    assert len(below) >= 3  # two workers and what starts them
    process.send_signal(signal.SIGKILL)
    process.wait(60)
    wait_for(lambda: not any(map(alive, below)))
    assert len(rows(tmp_path)) == 1


@pytest.fixture
def short_folder():
    """A folder for sockets, whose paths are 107 characters at most."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.slow
def test_the_next_run_removes_what_killed_ones_left_and_nothing_else(tmp_path, short_folder, script, monkeypatch):
    for name in ("rffbench-of-another-program", "pymp-of-another-program"):
        (short_folder / name).mkdir()
    monkeypatch.setenv("TMPDIR", str(short_folder))
    living = script(tmp_path / "living", 1, "sleep_forever")
    wait_for(lambda: len(set(short_folder.iterdir())) == 4)
    of_the_living = set(living.hanging(0))  # they end with the test
    others = set(short_folder.iterdir())
    killed = script(tmp_path / "killed", 1, "measure", "sleep_forever")
    below = set(killed.hanging(1)) - of_the_living
    killed.send_signal(signal.SIGKILL)
    killed.wait(60)
    wait_for(lambda: not any(map(alive, below)))
    assert len(set(short_folder.iterdir()) - others) == 2
    assert script(tmp_path / "next", 1, "measure").wait(120) == 0
    assert set(short_folder.iterdir()) == others


# ---- Contention --------------------------------------------------------------------------------------------


class Clocks:
    """A clock, a system's busy seconds and a process's own, set by hand."""

    def __init__(self):
        self.wall = self.busy = self.own = 0.0

    def measure(self, *sections):
        contention = Contention(lambda: self.busy, lambda: self.own, lambda: self.wall)
        for wall, busy, own in sections:
            with contention:
                self.wall, self.own = self.wall + wall, self.own + own
                self.busy = None if busy is None else self.busy + busy
        return contention.contended


@pytest.mark.parametrize(
    ("sections", "contended"),
    [
        ([(10, 10, 10)], False),
        ([(10, 20, 20)], False),  # two threads of our own
        ([(10, 10.4, 10)], False),  # under 5 % of a processor
        ([(10, 11, 10)], True),
        ([(10, 1, 0.0)], True),
        ([(0.01, 0.05, 0.01)], None),  # too short for ticks
        ([(0.2, 0.23, 0.2)], False),  # two ticks may be misplaced
        ([(0.2, 0.24, 0.2)], None),
        ([(1, 1.08, 1)] * 5, True),  # sections add up
        ([(1, None, 1)], None),
    ],
)
def test_contention_is_work_of_others(sections, contended):
    assert Clocks().measure(*sections) is contended


def test_contention_sees_another_process_at_work():
    contention = Contention()
    with contention:
        other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        wait_for(lambda: processor_s(other.pid) > 0.4)
        other.kill()
    other.wait()
    assert contention.contended is (True if Path("/proc/stat").exists() else None)


def test_the_time_left_leaves_out_what_the_first_trial_took_to_compile(tmp_path, monkeypatch):
    experiment = FakeExperiment([replace(spec(), trial=trial) for trial in range(27)])
    now, moments, told = [0.0], itertools.count(30.0, 2.0), []  # the first takes 30 s, of which it compiles 29

    def work(specs, channel):
        for each in specs:
            channel.begin(each)
            now[0] = next(moments)
            channel.result(measured(each))

    monkeypatch.setattr(run.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(costs, "shares", lambda pending: {each.key: 1.0 for each in pending})
    executor = SerialExecutor(work=work, ensure=lambda dataset: None)
    carry_out(experiment, tmp_path, executor=executor, progress=lambda *counts: told.append(counts[-1]))
    assert told[1] == 26  # as trials cost, as long as nothing else is known; it was 780
    assert told[10] == pytest.approx(17 * 2, rel=0.1)
    assert told[-1] == 0
