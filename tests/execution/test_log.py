"""The trial log keeps every whole line, and says which line it cannot read."""

import json
import lzma
import os
import shutil
import subprocess
import sys
import time

import pytest

from rffbench.errors import ResultsError
from rffbench.execution.channel import Channel
from rffbench.execution.folders import FolderLock, set_aside
from rffbench.execution.log import TrialLog, each_row, latest, log_files, read_rows
from rffbench.trials.spec import TrialResult
from tests.helpers.cases import others_slow
from tests.helpers.execution_workers import measured, spec


def row(do="measure", trial=0, status="ok", **changes):
    one = spec(do, trial, **changes)
    if status == "ok":
        return measured(one).to_row()
    return TrialResult.failed(one, status, "Error", "a message").to_row()


def filled(folder, count=3):
    with TrialLog(folder) as log:
        for trial in range(count):
            log.append(row(trial=trial))
    return folder / "trials.jsonl"


def compressed(folder):
    """As `xz` leaves it: trials.jsonl.xz in place of trials.jsonl."""
    path = folder / "trials.jsonl"
    packed = path.with_name("trials.jsonl.xz")
    packed.write_bytes(lzma.compress(path.read_bytes()))
    path.unlink()
    return packed


def test_rows_come_back_as_they_were_appended(tmp_path):
    rows = [row(trial=0), row(trial=1, status="timeout"), row(trial=2, method="σ-method")]
    for each in rows:  # a new run each time
        with TrialLog(tmp_path) as log:
            log.append(each)
    assert read_rows(tmp_path / "trials.jsonl") == rows
    assert len((tmp_path / "trials.jsonl").read_text().splitlines()) == 3


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n_features", 512),
        ("dataset", "other"),
        ("method", "Other"),
        ("trial", 7),
        ("data_hash", "1" * 64),
        ("seed", 0.0),
    ],
)
def test_a_row_whose_field_was_changed_is_refused_by_its_line(tmp_path, field, value):
    path = filled(tmp_path)
    rows = read_rows(path)
    rows[1] = {**rows[1], field: value}
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    with pytest.raises(ResultsError, match=r"trials.jsonl, line 2: .*: its key is not that of its fields: the row was"):
        read_rows(path)
    told = []
    assert list(each_row(path, told.append)) == [rows[0], rows[2]]
    assert len(told) == 1
    with TrialLog(tmp_path) as log:
        assert list(log.rows()) == rows  # a run keeps it aside


def test_rows_that_exchanged_their_sizes_are_refused(tmp_path):
    with TrialLog(tmp_path) as log:
        for size in (128, 512):
            log.append(row(n_features=size))
    path = tmp_path / "trials.jsonl"
    exchanged = [{**each, "n_features": {128: 512, 512: 128}[each["n_features"]]} for each in read_rows(path)]
    path.write_text("".join(json.dumps(each) + "\n" for each in exchanged))
    told = []
    assert list(each_row(path, told.append)) == []
    assert len(told) == 2


def test_no_log_no_rows(tmp_path):
    assert read_rows(tmp_path / "trials.jsonl") == []


@pytest.mark.parametrize("torn", [b'{"key": "ab', b"{", b"\0\0\0\0", '{"method": "σ'.encode()[:-1]])
def test_a_torn_last_line_is_dropped_and_cut_off(tmp_path, torn):
    path = filled(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    assert len(read_rows(path)) == 3
    with TrialLog(tmp_path) as log:
        log.append(row(trial=3))
    assert path.read_bytes().startswith(whole)
    assert [each["trial"] for each in read_rows(path)] == [0, 1, 2, 3]


def test_every_cut_of_the_last_line_leaves_a_log_that_goes_on(tmp_path):
    path = filled(tmp_path, 2)
    content = path.read_bytes()
    first = content.index(b"\n") + 1
    for cut in range(first, len(content) + 1, 7):
        path.write_bytes(content[:cut])
        with TrialLog(tmp_path) as log:
            log.append(row(trial=2))
        trials = [each["trial"] for each in read_rows(path)]
        assert trials in ([0, 2], [0, 1, 2])


def test_a_last_line_that_only_lacks_its_end_is_kept(tmp_path):
    path = filled(tmp_path)
    path.write_bytes(path.read_bytes()[:-1])
    with TrialLog(tmp_path) as log:
        log.append(row(trial=3))
    assert [each["trial"] for each in read_rows(path)] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{torn", "not JSON"),
        ("[1, 2]", "list"),
        ('{"key": "ab"}', "lacks .*dataset"),
        (json.dumps({**row(), "status": "fine"}), "'fine'"),
        (json.dumps({**row(), "trial": "zero"}), "trial must be int, not 'zero'"),
        (json.dumps({**row(), "metrics": [1]}), r"metrics must be dict, not \[1\]"),
    ],
)
def test_a_bad_line_elsewhere_is_named(tmp_path, line, message):
    path = filled(tmp_path)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], line, *lines[1:]]) + "\n")
    before = path.read_bytes()
    with pytest.raises(ResultsError, match=rf"trials\.jsonl, line 2: .*{message}"):
        read_rows(path)
    with pytest.raises(ResultsError, match="line 2"), TrialLog(tmp_path) as log:
        list(log.rows())
    assert path.read_bytes() == before
    assert not (tmp_path / ".lock").exists()


def test_a_zeroed_block_of_a_log_is_told_in_words(tmp_path):
    path = filled(tmp_path)
    content = bytearray(path.read_bytes())
    content[:300] = bytes(300)
    path.write_bytes(content)
    with pytest.raises(ResultsError, match=r"trials\.jsonl, line 1: not JSON: 300 of its [\d,]+ bytes are zero"):
        read_rows(path)


def test_an_unreadable_log_is_named(tmp_path):
    (tmp_path / "trials.jsonl").mkdir()
    with pytest.raises(ResultsError, match=r"trials\.jsonl: is not a regular file"):
        read_rows(tmp_path / "trials.jsonl")


def test_a_file_where_the_folder_should_be_is_named(tmp_path):
    folder = tmp_path / "results"
    folder.write_text("")
    with pytest.raises(ResultsError, match="results: cannot be a results folder"), TrialLog(folder):
        pass


def test_a_full_disk_leaves_no_half_of_a_line(tmp_path, monkeypatch):
    path = filled(tmp_path)
    before = path.read_bytes()
    write = os.write

    def full(file, data):
        if len(data) < 200:
            raise OSError(28, "No space left on device")
        return write(file, data[:200])

    with TrialLog(tmp_path) as log:
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(ResultsError, match="No space left"):
            log.append(row(trial=3))
        monkeypatch.undo()
    assert path.read_bytes() == before


def test_a_value_that_is_no_json_is_not_written(tmp_path):
    with TrialLog(tmp_path) as log, pytest.raises(ValueError, match="JSON"):
        log.append({**row(), "metrics": {"rmse": float("nan")}})
    assert read_rows(tmp_path / "trials.jsonl") == []


def test_the_last_row_of_a_cell_counts():
    rows = [row(status="timeout"), row(trial=1), row(status="ok")]
    assert [(each["trial"], each["status"]) for each in latest(rows)] == [(0, "ok"), (1, "ok")]


def test_an_unavailable_row_is_superseded_when_its_card_was_corrected():
    rows = [row(status="unavailable", data_hash="0"), row(data_hash="1")]
    assert [each["status"] for each in latest(rows)] == ["ok"]


@pytest.mark.parametrize("changes", [{"dataset": "eeg"}, {"method": "QMC"}, {"n_features": 32}, {"trial": 1}])
def test_rows_of_other_cells_all_count(changes):
    assert len(latest([row(), row(**changes)])) == 2


def test_a_second_run_in_the_folder_is_refused_with_the_first_one_s_process(tmp_path):
    with TrialLog(tmp_path) as log:
        log.append(row())
        code = (
            "import sys; from pathlib import Path; from rffbench.execution.log import TrialLog\n"
            f"with TrialLog(Path({str(tmp_path)!r})): pass"
        )
        second = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert second.returncode == 1
        assert f"process {os.getpid()} " in second.stderr
        with pytest.raises(ResultsError, match="running into this folder"):
            set_aside(tmp_path)
    assert not (tmp_path / ".lock").exists()
    with TrialLog(tmp_path):
        pass


def test_the_lock_of_a_killed_run_is_free(tmp_path):
    code = (
        "import os, signal; from pathlib import Path; from rffbench.execution.folders import FolderLock\n"
        f"FolderLock(Path({str(tmp_path)!r})).acquire(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == -9
    assert (tmp_path / ".lock").exists()
    with FolderLock(tmp_path):
        assert str(os.getpid()) in (tmp_path / ".lock").read_text()


def test_setting_aside_keeps_everything(tmp_path):
    folder = tmp_path / "table3"
    content = filled(folder).read_bytes()
    first = set_aside(folder)
    filled(folder, 1)
    second = set_aside(folder)
    assert not folder.exists()
    assert first != second
    assert first.name.startswith("table3.old-")
    assert (first / "trials.jsonl").read_bytes() == content
    assert sorted(path.name for path in first.iterdir()) == ["trials.jsonl"]
    assert set_aside(folder) is None


def test_a_whole_last_line_that_is_damaged_is_kept_aside(tmp_path):
    path = filled(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"key": "a", \0\0\0}\n')
    with TrialLog(tmp_path) as log:
        assert len(list(log.rows())) == 3
    assert path.read_bytes() == whole
    assert (tmp_path / "trials.damaged").read_bytes() == b'{"key": "a", \0\0\0}\n'


def test_a_report_is_told_of_what_cannot_be_read_and_given_the_rest(tmp_path):
    path = filled(tmp_path)
    lines = path.read_text().splitlines()
    deep = "[" * 100_000
    huge = json.dumps({**row(trial=7), "metrics": {"accuracy": 0}}).replace(
        '"accuracy": 0', f'"accuracy": 1{"0" * 400}'
    )
    path.write_text("\n".join([lines[0], "{torn", deep, lines[1], huge, "", lines[2]]) + "\n")
    (tmp_path / "trials.jsonl.xz").write_bytes(b"not xz")
    told = []
    assert [each["trial"] for each in each_row(path, told.append)] == [0, 1, 2]
    assert [message.partition(" ")[2][:14] for message in told] == [
        "damaged, it ca", "line 2: not JS", "line 3: not JS", "line 5: RFF: m",
    ]  # fmt: skip


def test_lines_longer_than_what_is_read_at_a_time_are_read_and_mended(tmp_path, monkeypatch):
    monkeypatch.setattr("rffbench.execution.log.CHUNK", 100)
    path = filled(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:300])
    with TrialLog(tmp_path) as log:
        assert len(list(log.rows())) == 3
    assert path.read_bytes() == whole
    compressed(tmp_path)
    assert len(read_rows(path)) == 3


# ---- compressed logs ---------------------------------------------------------------------------------------


def test_a_compressed_log_is_read_as_the_log_it_was_made_from(tmp_path):
    path = filled(tmp_path)
    rows = read_rows(path)
    packed = compressed(tmp_path)
    assert read_rows(path) == rows
    assert log_files(tmp_path) == [packed]


def test_rows_appended_to_a_compressed_log_come_after_its_own_and_leave_it_as_it_is(tmp_path):
    path = filled(tmp_path)
    packed = compressed(tmp_path)
    before = packed.read_bytes()
    with TrialLog(tmp_path) as log:
        assert len(list(log.rows())) == 3
        log.append(row(trial=3))
        assert [each["trial"] for each in log.rows()] == [0, 1, 2, 3]
    assert packed.read_bytes() == before
    assert log_files(tmp_path) == [packed, path]
    path.write_bytes(path.read_bytes() + b'{"torn')
    assert [each["trial"] for each in read_rows(path)] == [0, 1, 2, 3]


def test_a_run_that_adds_nothing_to_a_compressed_log_leaves_no_empty_file(tmp_path):
    filled(tmp_path)
    packed = compressed(tmp_path)
    with TrialLog(tmp_path) as log:
        assert len(list(log.rows())) == 3
    assert list(tmp_path.iterdir()) == [packed]


def test_what_xz_appends_to_a_compressed_log_is_read(tmp_path):
    path = filled(tmp_path)
    packed = compressed(tmp_path)
    with TrialLog(tmp_path) as log:
        log.append(row(trial=3))
    packed.write_bytes(packed.read_bytes() + lzma.compress(path.read_bytes()))  # xz -9c trials.jsonl >> trials.jsonl.xz
    path.unlink()
    assert [each["trial"] for each in read_rows(path)] == [0, 1, 2, 3]


def test_a_run_adds_parts_to_a_compressed_log_and_leaves_those_before_as_they_are(tmp_path):
    path = filled(tmp_path)
    before = compressed(tmp_path).read_bytes()
    for number, trial in ((2, 3), (3, 4)):
        with TrialLog(tmp_path) as log:
            log.append(row(trial=trial))
        path.with_name(f"trials-{number:04}.jsonl.xz").write_bytes(lzma.compress(path.read_bytes()))
        path.unlink()
    with TrialLog(tmp_path) as log:
        log.append(row(trial=5))
    assert [each["trial"] for each in read_rows(path)] == [0, 1, 2, 3, 4, 5]
    names = ["trials.jsonl.xz", "trials-0002.jsonl.xz", "trials-0003.jsonl.xz", "trials.jsonl"]
    assert [file.name for file in log_files(tmp_path)] == names
    assert path.with_name("trials.jsonl.xz").read_bytes() == before
    for lost in names[:2]:
        kept = path.with_name(lost).read_bytes()
        path.with_name(lost).unlink()
        with pytest.raises(ResultsError, match=f"{lost}: is missing, and later parts"):
            read_rows(path)
        assert [each["trial"] for each in each_row(path, lambda _: None)][-1] == 5
        path.with_name(lost).write_bytes(kept)


def test_a_bad_line_of_a_compressed_log_has_its_line_number(tmp_path):
    path = filled(tmp_path)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:2], "{torn", lines[2]]) + "\n")
    compressed(tmp_path)
    with pytest.raises(ResultsError, match=r"trials\.jsonl\.xz, line 3: not JSON"):
        read_rows(path)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda content: b"", id="empty"),
        pytest.param(lambda content: b"not xz", id="another format"),
        pytest.param(lambda content: content[:-10], id="cut off"),
        pytest.param(lambda content: content[:60] + b"\0\0\0\0" + content[64:], id="overwritten"),
        pytest.param(lambda content: content + b"\xfd7zXZ, but no more", id="a damaged second part"),
    ],
)
def test_a_damaged_compressed_log_is_named_and_nothing_is_run(tmp_path, damage):
    path = filled(tmp_path)
    packed = compressed(tmp_path)
    packed.write_bytes(damage(packed.read_bytes()))
    before = packed.read_bytes()
    with pytest.raises(ResultsError, match=r"trials\.jsonl\.xz: damaged"):
        read_rows(path)
    with pytest.raises(ResultsError, match="damaged"), TrialLog(tmp_path) as log:
        list(log.rows())
    assert packed.read_bytes() == before


PADDED = {
    "at the end": lambda content: content + bytes(4),
    "longer than what is read at a time": lambda content: content + bytes(200_000),
    "between streams": lambda content: content + bytes(8) + lzma.compress(b"\n") + bytes(12) + lzma.compress(b"\n"),
}


@pytest.mark.parametrize("how", PADDED)
def test_a_padded_compressed_log_is_read(tmp_path, how):
    path = filled(tmp_path)
    packed = compressed(tmp_path)
    packed.write_bytes(PADDED[how](packed.read_bytes()))
    if xz := shutil.which("xz"):  # says so too
        assert subprocess.run([xz, "--test", packed]).returncode == 0
    assert [each["trial"] for each in read_rows(path)] == [0, 1, 2]


@pytest.mark.parametrize("zeros", [1, 3, 6])
def test_zeros_that_are_no_padding_are_a_damage(tmp_path, zeros):
    path = filled(tmp_path)
    packed = compressed(tmp_path)
    packed.write_bytes(packed.read_bytes() + bytes(zeros))
    with pytest.raises(ResultsError, match=r"trials\.jsonl\.xz: damaged, .* beyond line 3 .*zeros are no padding"):
        read_rows(path)


# ---- lines without end -------------------------------------------------------------------------------------


def packed_repeatedly(path, piece, times, before=b""):
    """An .xz file that holds ``before`` and then the piece that many times."""
    packing = lzma.LZMACompressor(preset=1)
    parts = [packing.compress(before), *(packing.compress(piece) for _ in range(times)), packing.flush()]
    path.write_bytes(b"".join(parts))


ENDLESS = {  # what a small packed file holds, and what is said of it
    "a line of blanks": (b" " * 1_000_000, r"line 1: has more than 64 MB"),
    "a line of zeros": (bytes(1_000_000), r"line 1: has more than 64 MB"),
    "a row of blanks after rows": (b'{"a": ' + b" " * 999_994, r"line 1: has more than 64 MB"),
    "blank lines": (b"\n" * 1_000_000, r"line 1000002: 1,000,001 lines have no row"),
    "lines of blanks": (b" " * 999_999 + b"\n", r"beyond line \d+ \(it holds more than 1,000 times its size"),
}


@pytest.mark.parametrize("what", others_slow(ENDLESS, ["a row of blanks after rows"]))
def test_a_small_compressed_log_that_unpacks_to_endless_lines_is_refused_in_seconds(tmp_path, what):
    piece, said = ENDLESS[what]
    megabytes = 150 if what == "lines of blanks" else 70
    packed_repeatedly(tmp_path / "trials.jsonl.xz", piece, megabytes)
    started = time.process_time()
    with pytest.raises(ResultsError, match=rf"trials\.jsonl\.xz.*{said}"):
        read_rows(tmp_path / "trials.jsonl")
    assert time.process_time() - started < 10
    told = []
    assert list(each_row(tmp_path / "trials.jsonl", told.append)) == []
    assert len(told) == 1


def test_a_line_in_many_pieces_is_read_in_time_that_grows_with_its_length(tmp_path):
    line = json.dumps({**row(), "warnings": ["x" * 30_000_000]}).encode() + b"\n"
    (tmp_path / "trials.jsonl.xz").write_bytes(lzma.compress(line, preset=0) + bytes(4))
    with open(os.open(tmp_path / "trials.jsonl.xz", os.O_RDWR | os.O_APPEND), "ab") as packed:
        for _ in range(20_000):  # streams of nothing
            packed.write(lzma.compress(b"", preset=0))
    started = time.process_time()
    assert len(read_rows(tmp_path / "trials.jsonl")) == 1
    assert time.process_time() - started < 5


def test_a_plain_log_with_an_endless_line_is_refused_by_readers_and_runs(tmp_path):
    path = filled(tmp_path)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size + 200_000_000_000)  # a sparse file of zeros
    with pytest.raises(ResultsError, match=r"trials\.jsonl, line 4: has more than 64 MB"):
        read_rows(path)
    with pytest.raises(ResultsError, match=r"trials\.jsonl: .*last line has more than 64 MB"), TrialLog(tmp_path):
        pass


@pytest.mark.slow
def test_a_result_too_long_for_the_log_is_its_trials_error(tmp_path):
    sent = []
    result = measured(spec("measure", 0))
    result.curves = {"loss": [1 / 3] * 2_000_000}
    Channel(sent.append, workers=1, threads=1, memory_limit=None).result(result)
    ((_, told),) = sent
    assert told.status == "error"
    assert "more than a row's 32 MB" in told.error["message"]
