"""What was written stays after a power cut at any moment, and no other user's file is written to."""

import errno
import gzip
import json
import os
import resource
import stat
from pathlib import Path

import numpy as np
import pytest

from rffbench import data
from rffbench.cli.output import message_of
from rffbench.config.methodfiles import numbers_of
from rffbench.data import store, unpack
from rffbench.data.userfile import look
from rffbench.errors import ConfigError, DataError, ResultsError
from rffbench.execution import manifest, run
from rffbench.execution.folders import FolderLock, set_aside
from rffbench.execution.log import TrialLog, latest, read_rows
from rffbench.io import files
from rffbench.io.yamlfile import Misplaced
from rffbench.papers import csvfile
from rffbench.report.frame import load_protocols
from rffbench.report.merge import merge
from tests.helpers.execution_workers import FakeExperiment, serial, spec
from tests.helpers.powercut import recorded, restore

GRID = [spec(trial=trial) for trial in range(3)]


@pytest.fixture(autouse=True)
def short_record(monkeypatch):
    """Of the machine nothing is found out, which takes long."""
    monkeypatch.setattr(manifest, "record", dict)


def carry_out(folder, only_first=None, **options):
    experiment = FakeExperiment(GRID[:only_first])
    return run.run_experiment(experiment, folder, executor=serial(experiment), **options)


def keys(folder):
    return [row["key"] for row in latest(read_rows(folder / "trials.jsonl")) if row["status"] == "ok"]


def test_a_recorder_of_writes_notices_what_is_not_synced(tmp_path):
    with recorded(tmp_path) as disk:
        (tmp_path / "new").write_text("content")
        os.rename(tmp_path / "new", tmp_path / "file")
    states = [state for _, state in disk.states]
    assert {"file": b""} in states
    assert {} in states


def test_a_run_cut_off_at_any_write_keeps_each_row_it_has_told_of_and_carries_on(tmp_path):
    told, disk_folder = [], tmp_path / "disk"
    disk_folder.mkdir()
    results = Path("results", "fake")
    with recorded(disk_folder) as disk:

        def progress(done, *_):
            told.append((len(disk.states), done))

        carry_out(disk_folder / results, progress=progress)
    assert len(disk.states) > 20
    for number, (before, state) in enumerate(disk.states):
        left = restore(state, tmp_path / "left")
        promised = max((done for at, done in told if at <= number), default=0)
        rows = read_rows(left / results / "trials.jsonl")
        assert len(rows) >= promised, f"before {before}, state {number}: a row is lost that was told of"
        summary = carry_out(left / results)
        assert (summary.ok, summary.failed) == (3, 0)
        assert sorted(keys(left / results)) == sorted(one.key for one in GRID)
        assert json.loads((left / results / "manifest.json").read_text())["started"]


def test_a_run_carried_on_keeps_the_manifest_of_the_one_before(tmp_path):
    results = tmp_path / "disk" / "fake"
    results.parent.mkdir()
    carry_out(results, only_first=2)
    with recorded(results.parent) as disk:
        carry_out(results)
    for _, state in disk.states:
        text = json.loads(state["fake/manifest.json"])
        assert len(text["earlier_runs"]) in (0, 1)
        assert text["started"]


def test_rows_set_aside_are_in_one_of_both_files_at_any_moment(tmp_path):
    carry_out(tmp_path)
    with recorded(tmp_path) as disk, TrialLog(tmp_path) as log:
        log.keep_aside(lambda row: row["trial"] == 1)
    for number, (_, state) in enumerate(disk.states):
        left = restore(state, tmp_path.with_name(f"left-{number}"))
        rows = [*read_rows(left / "trials.jsonl"), *read_rows(left / "trials.aside.jsonl")]
        assert {row["trial"] for row in rows} == {0, 1, 2}


def test_a_folder_set_aside_is_there_under_one_of_both_names(tmp_path):
    carry_out(tmp_path / "fake")
    with recorded(tmp_path) as disk:
        set_aside(tmp_path / "fake")
    for _, state in disk.states:
        assert any(path.endswith("/trials.jsonl") and content for path, content in state.items())


def test_what_is_merged_is_there_whole_or_not_at_all_and_whole_once_merge_has_ended(tmp_path):
    shards = [tmp_path / "a", tmp_path / "b"]
    for shard, grid in zip(shards, (GRID[:2], GRID[2:]), strict=True):
        shard.mkdir()
        experiment = FakeExperiment(grid)
        run.run_experiment(experiment, shard, executor=serial(experiment))
        (shard / "config.yaml").write_text("name: fake\ndatasets: [digits]\n")
    disk_folder = tmp_path / "disk"
    disk_folder.mkdir()
    with recorded(disk_folder) as disk:
        merge(shards, disk_folder / "deep" / "whole")
    wholes = []
    for number, (_, state) in enumerate(disk.states):
        left = restore(state, tmp_path / f"left-{number}") / "deep" / "whole"
        wholes.append(left.exists())
        if left.exists():
            assert len(keys(left)) == 3
            assert json.loads((left / "manifest.json").read_text())["earlier_runs"]
            assert (left / "config.yaml").read_text().startswith("name: fake")
    ended = {path: content for path, content in disk.states[-1][1].items() if path.startswith("deep/whole")}
    assert wholes[-2:] == [True, True]
    assert all(content for path, content in ended.items() if content is not None)


def test_a_cache_cut_off_at_any_write_gives_the_right_numbers(tmp_path, monkeypatch):
    monkeypatch.setenv("RFFBENCH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir()
    with recorded(tmp_path / "cache") as disk:
        data.ensure("breast-cancer")
    right = np.array(data.load("breast-cancer").X)
    for number, (_, state) in enumerate(disk.states):
        left = restore(state, tmp_path / f"left-{number}")
        monkeypatch.setenv("RFFBENCH_CACHE", str(left))
        data.ensure("breast-cancer")
        np.testing.assert_array_equal(data.load("breast-cancer").X, right)


@pytest.mark.parametrize("content", [b"", b"\0" * 700, b"\n"])
def test_an_empty_manifest_is_set_aside_with_a_word(tmp_path, content):
    (tmp_path / "manifest.json").write_bytes(content)
    said = []
    assert carry_out(tmp_path, tell=said.append).ok == 3
    assert (tmp_path / "manifest.damaged.json").read_bytes() == content
    assert "manifest.json: is empty, as a power cut may leave it; it is kept as manifest.damaged.json" in said[0]


def test_results_of_another_format_are_refused_by_runs_and_reports_and_stay_as_they_are(tmp_path):
    assert carry_out(tmp_path).ok == 3
    path = tmp_path / "manifest.json"
    written = json.loads(path.read_text())
    assert written["format"] == 2
    first = {name: value for name, value in written.items() if name != "format"}  # the first manifests had no format
    older, newer = r"format 1; rewrite them once with: rffbench migrate", "format 3, and .* reads format 2"
    for content, said in ((first, older), ({**written, "format": 1}, older), ({**written, "format": 3}, newer)):
        path.write_text(json.dumps(content))
        before = {each.name: each.read_bytes() for each in tmp_path.iterdir() if each.is_file()}
        for read in (carry_out, manifest.runs_of, load_protocols):
            with pytest.raises(ResultsError, match=rf"manifest\.json: the results have {said}"):
                read(tmp_path)
        assert {each.name: each.read_bytes() for each in tmp_path.iterdir() if each.is_file()} == before


@pytest.mark.parametrize("text", ["[" * 100_000 + "]" * 100_000, '{"cpu": ' + "[" * 300 + "]" * 300 + "}"])
def test_a_deeply_nested_manifest_is_refused_with_its_name(tmp_path, text):
    (tmp_path / "manifest.json").write_text(text)
    message = r"manifest\.json: is not the manifest of a run \(nested deeper than 40 levels\)"
    with pytest.raises(ResultsError, match=message):
        carry_out(tmp_path)
    with pytest.raises(ResultsError, match=message):
        manifest.runs_of(tmp_path)


# ---- Other users in the same folder --------------------------------------------------------------------------


def link(victim, path):
    path.symlink_to(victim)


def hard_link(victim, path):
    os.link(victim, path)


def pipe(victim, path):
    os.mkfifo(path)


@pytest.mark.parametrize("trap", [link, hard_link, pipe])
@pytest.mark.parametrize("name", [".lock", "trials.jsonl", "trials.damaged"])
def test_nothing_is_written_through_what_another_user_has_put_in_the_results_folder(tmp_path, trap, name):
    if trap is hard_link and name != ".lock":
        pytest.skip("a copy of a results folder by hard links is a folder like others")
    victim = tmp_path / "victim"
    victim.write_text("precious")
    folder = tmp_path / "shared"
    folder.mkdir()
    if name == "trials.damaged":
        (folder / "trials.jsonl").write_text("no JSON\n")
    trap(victim, folder / name)
    what = {link: "is a symbolic link", hard_link: "is a second name of another file", pipe: "is not a regular file"}[
        trap
    ]
    with pytest.raises(ResultsError, match=f"{name}: .*{what}"):
        carry_out(folder)
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("trap", [link, hard_link, pipe])
def test_nothing_is_written_through_a_lock_in_a_shared_cache(tmp_path, monkeypatch, trap):
    monkeypatch.setenv("RFFBENCH_CACHE", str(tmp_path / "cache"))
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "cache" / "breast-cancer").mkdir(parents=True)
    trap(victim, tmp_path / "cache" / "breast-cancer" / ".lock")
    with pytest.raises(DataError, match=r"breast-cancer: .*\.lock"):
        data.ensure("breast-cancer")
    assert victim.read_text() == "precious"


def test_the_name_of_a_temporary_file_is_known_to_nobody_before(tmp_path, monkeypatch):
    names = []
    real = os.replace
    monkeypatch.setattr(os, "replace", lambda source, target: (names.append(Path(source).name), real(source, target)))
    for _ in range(2):
        files.replace(tmp_path / "file", "text")
    assert len(set(names)) == 2
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o666 & ~_umask()


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_lock_is_taken_and_left(tmp_path):
    with FolderLock(tmp_path):
        assert (tmp_path / ".lock").is_file()
    assert not (tmp_path / ".lock").exists()


def test_arrays_that_another_user_owns_are_compared_with_their_checksum_by_whoever_opens_them(tmp_path, monkeypatch):
    monkeypatch.setenv("RFFBENCH_CACHE", str(tmp_path))
    data.ensure("breast-cancer")
    (arrays,) = (tmp_path / "breast-cancer" / "parsed").iterdir()
    about = (arrays / "X.npy").stat()
    content = bytearray((arrays / "X.npy").read_bytes())
    content[-1] ^= 1
    (arrays / "X.npy").write_bytes(content)
    os.utime(arrays / "X.npy", ns=(about.st_atime_ns, about.st_mtime_ns))  # its owner may set size and time at will
    assert data.is_cached("breast-cancer"), "with files of one's own, size and time are enough"
    monkeypatch.setattr(os, "geteuid", lambda: about.st_uid + 1)
    monkeypatch.setattr(store, "TRUSTED", ())
    assert not data.is_cached("breast-cancer")


@pytest.mark.parametrize("name", ["X.npy", "y.npy", "meta.json"])
def test_a_pipe_in_place_of_cached_arrays_is_not_waited_for(tmp_path, monkeypatch, name):
    monkeypatch.setenv("RFFBENCH_CACHE", str(tmp_path))
    data.ensure("breast-cancer")
    (arrays,) = (tmp_path / "breast-cancer" / "parsed").iterdir()
    (arrays / name).unlink()
    os.mkfifo(arrays / name)
    assert not data.is_cached("breast-cancer")
    data.ensure("breast-cancer")  # made anew
    assert data.load("breast-cancer").X.shape == (569, 30)


# ---- The disk, or the network to it, fails ---------------------------------------------------------------------


class Failing:
    """An open file of which nothing can be read."""

    def __init__(self, number):
        self.number = number

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False

    def fileno(self):
        return self.number[1].fileno()

    def read(self, *_):
        raise OSError(self.number[0], os.strerror(self.number[0]))

    readline = readinto = read


@pytest.fixture(params=[errno.EIO, errno.ESTALE, errno.ENOTCONN, errno.ETIMEDOUT, errno.EREMOTEIO])
def failing_disk(request, monkeypatch):
    """Files of this name can be opened, and not read."""

    def fail(name):
        opened = {}

        def opening(file, *arguments, **options):
            real = open(file, *arguments, **options)  # noqa: SIM115
            path = os.readlink(f"/proc/self/fd/{real.fileno()}")
            return Failing((request.param, real)) if path.endswith(name) else real

        opened["open"] = opening
        for module in (files, unpack):
            monkeypatch.setattr(module, "open", opening, raising=False)
        return os.strerror(request.param)

    return fail


def test_a_manifest_that_the_disk_does_not_give_is_not_to_be_moved_away(tmp_path, failing_disk):
    carry_out(tmp_path, 1)
    before = (tmp_path / "manifest.json").read_bytes()
    why = failing_disk("manifest.json")
    for reading in (lambda: carry_out(tmp_path), lambda: manifest.runs_of(tmp_path)):
        with pytest.raises(ResultsError, match=f"manifest.json: cannot be read: {why}; the disk.*try again") as error:
            reading()
        assert "move it" not in str(error.value)
    assert (tmp_path / "manifest.json").read_bytes() == before
    assert not list(tmp_path.glob("manifest.damaged*"))


def test_data_that_the_disk_does_not_give_are_not_said_to_be_damaged(tmp_path, failing_disk):
    for name, content in {"a.csv": b"1,2\n" * 9, "b.csv.gz": gzip.compress(b"1,2\n" * 9), "c.npz": b"PK"}.items():
        (tmp_path / name).write_bytes(content)
        why = failing_disk(name)
        with pytest.raises(DataError, match=f"{name}: cannot be read: {why}; the disk.*try again") as error:
            look(tmp_path / name)
        assert "damaged" not in str(error.value)


def test_other_files_that_the_disk_does_not_give_say_so(tmp_path, failing_disk):
    (tmp_path / "n.csv").write_text("1,2")
    why = failing_disk("n.csv")
    with pytest.raises(Misplaced, match=f"n.csv: cannot be read: {why}; the disk.*try again"):
        numbers_of(tmp_path / "n.csv", ("lengths",))
    with pytest.raises(ConfigError, match=f"n.csv: cannot be read: {why}; the disk.*try again"):
        csvfile.load(tmp_path / "n.csv", text=(), numbers=())


def write_whole(path, content):
    manifest.write_whole(path, content.decode())


@pytest.mark.parametrize("write", [files.replace, files.append, write_whole])
def test_a_file_that_grows_too_large_is_named(tmp_path, write):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50, hard))
    try:
        with pytest.raises((OSError, ResultsError)) as error:
            write(tmp_path / "f", b"x" * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    said = message_of(error.value)
    assert said.startswith(str(tmp_path / "f"))
    assert said.endswith("File too large")
