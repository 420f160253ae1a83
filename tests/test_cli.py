"""Every command in a process of its own: what it prints where, what it writes, how it exits."""

import fcntl
import itertools
import json
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import termios
import time
from types import SimpleNamespace

import pytest
import yaml

from rffbench.cli import cli, output, running
from tests.helpers import report_log as log
from tests.helpers.cases import slow
from tests.helpers.tiny_config import TINY


@pytest.fixture
def tiny(tmp_path):
    """A config of 8 small trials on embedded data."""
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY)
    return path


def rows(folder):
    return [json.loads(line) for line in (folder / "trials.jsonl").read_text().splitlines()]


def refused(result, message, status=2):
    assert result.returncode == status, result.stderr
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert not result.stdout


# ---- Starting ----------------------------------------------------------------------------------------------


def test_help_imports_nothing_heavy(environment):
    heavy = ("numpy", "scipy", "sklearn", "numba", "pandas", "matplotlib", "pydantic", "yaml", "pooch")
    code = f"import sys, rffbench.cli; print([name for name in {heavy} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert result.stdout.strip() == "[]"


@pytest.mark.slow
def test_a_config_is_read_without_what_only_a_fit_needs(environment):
    """Each takes as long to import as to read thousands of rows."""
    heavy = ("sklearn.metrics", "sklearn.preprocessing", "matplotlib", "numba", "rich")
    code = f"""
import sys
from rffbench.config.loading import load_experiment
load_experiment("quickstart").grid()
print([name for name in {heavy} if name in sys.modules])
"""
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert result.stdout.strip() == "[]", result.stderr


def test_help_names_every_command_under_what_it_is_for(rffbench):
    result = rffbench("--help")
    assert result.returncode == 0
    lines = result.stdout.splitlines()
    headings = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert headings == ["Options:", "Begin:", "Your data:", "Your work:", "Results:", "Papers:", "Maintenance:"]
    named = [line.split()[0] for line in lines[lines.index("Begin:") :] if line.startswith("  ")]
    assert sorted(named) == sorted(cli.commands)


@pytest.mark.parametrize("group", [(), ("datasets",), ("new",)])
def test_help_says_what_a_command_does_without_cutting_it_off(group, rffbench):
    assert "..." not in rffbench(*group, "--help").stdout.replace("COMMAND [ARGS]...", "")


# ---- Looking -----------------------------------------------------------------------------------------------


def test_validate_says_ok_and_the_size_of_the_grid(rffbench, tiny):
    result = rffbench("validate", tiny)
    assert (result.returncode, result.stderr) == (0, "")
    assert "OK; 8 trials" in result.stdout


def test_schema_is_json_that_describes_the_config(rffbench):
    result = rffbench("schema")
    assert result.returncode == 0
    assert set(yaml.safe_load(TINY)) <= set(json.loads(result.stdout)["properties"])


def test_methods_lists_maps_solvers_and_kernels_with_parameters(rffbench):
    result = rffbench("methods")
    assert result.returncode == 0
    for name in ("fourier", "qmc", "leverage", "surrogate-leverage", "ridge", "kernel-ridge", "laplacian"):
        assert f"  {name} " in result.stdout
    assert "scramble" in result.stdout


def test_environment_is_the_manifests_record(rffbench):
    result = rffbench("environment")
    assert result.returncode == 0
    assert {"python", "cpu", "blas", "memory_bytes"} <= set(json.loads(result.stdout))


def test_a_run_of_more_than_a_million_trials_asks_for_yes_at_once(rffbench, tmp_path):
    (tmp_path / "large.yaml").write_text(TINY.replace("trials: 2", "trials: 1000000000"))
    validated = rffbench("validate", "large.yaml")
    assert (validated.returncode, validated.stdout) == (0, "large.yaml: OK; 4000000000 trials\n")
    for extra in ([], ["--dry-run"]):
        refused(rffbench("run", "large.yaml", *extra), "large.yaml: has 4,000,000,000 trials; --yes")
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("command", "status", "message"),
    [
        ("datasets info digts | true", 2, "error: unknown dataset 'digts'; did you mean 'digits'?\n"),
        ("--help | true", 0, ""),
        ("datasets info digits >/dev/full", 2, "error: standard output: No space left on device\n"),
        *slow(
            ("datasets info digits | true", 0, ""),
            ("--help 2>&1 | true", 0, ""),
            ("datasets --help | true", 0, ""),
            ("datasets info digits >&-", 0, ""),
            ("validate none.yaml >&- 2>&-", 2, ""),
        ),
    ],
)
def test_output_that_cannot_be_written_is_no_defect(command, status, message, environment, tmp_path):
    line = f"{sys.executable} -m rffbench {command}; exit ${{PIPESTATUS[0]}}"  # true is gone before a line is written
    done = subprocess.run(["bash", "-c", line], env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (status, message)


@pytest.mark.slow
def test_head_does_not_change_the_exit_status_nor_what_is_written(environment, tmp_path):
    """A comparison out of tolerance, whose output is closed before its first line."""
    config = log.config(n_features=["1d"], reference="liu2020-table3")
    folder = log.write(tmp_path / "off", config, [log.ok(log.spec(trial=trial), 50.0 + trial) for trial in range(3)])
    line = f"{sys.executable} -m rffbench compare off | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "")
    assert (folder / "compare.md").is_file()


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "cp1252", "utf-8"])
def test_a_terminal_of_any_encoding_gets_the_table(rffbench, tmp_path, encoding):
    title = "λ, σ² ≤ 1 — ‖K−K̃‖₂ 中"
    folder = log.write(tmp_path / "run", log.config(title=title), [log.ok(log.spec(trial=t), 80.0) for t in range(3)])
    shown = rffbench("table", folder, PYTHONIOENCODING=encoding)
    assert (shown.returncode, "defect" in shown.stderr) == (0, False)
    assert "eeg" in shown.stdout
    assert title in json.loads(rffbench("table", folder, "--json", PYTHONIOENCODING=encoding).stdout)[0]["title"]


INTERRUPTED_TWICE = """
import signal, sys
from rffbench import cli

@cli.cli.command()
def wait():
    try:
        signal.raise_signal(signal.SIGINT)
    finally:
        if "again" in sys.argv[0]:
            signal.raise_signal(signal.SIGINT)

cli.main()
"""


@pytest.mark.parametrize(
    ("name", "message"),
    [("once", "interrupted; the same"), ("again", "interrupted again: stopped at once; the same")],
)
def test_ctrl_c_once_or_twice_is_status_130_with_a_message(name, message, environment, tmp_path):
    (tmp_path / f"{name}.py").write_text(INTERRUPTED_TWICE)
    command = [sys.executable, f"{name}.py", "wait"]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.strip() == f"{message} command carries on from here"


# ---- Datasets ----------------------------------------------------------------------------------------------


def test_datasets_list_and_info_need_no_data(rffbench):
    listed = rffbench("datasets", "list")
    assert listed.returncode == 0
    line = next(line for line in listed.stdout.splitlines() if line.startswith("eeg "))
    assert {"14980", "14", "44.9%"} <= set(line.split())
    about = rffbench("datasets", "info", "eeg")
    assert about.returncode == 0
    for piece in ("0: 8257, 1: 6723", "CC BY 4.0", "Roesler", "cached        no"):
        assert piece in about.stdout


def test_datasets_fetch_and_verify_without_a_network(rffbench):
    fetched = rffbench("datasets", "fetch", "breast-cancer")
    assert (fetched.returncode, fetched.stdout) == (0, "breast-cancer: ready\n")
    verified = rffbench("datasets", "verify", "breast-cancer")
    assert (verified.returncode, verified.stdout) == (0, "breast-cancer: agrees with its card\n")


def test_a_dataset_that_cannot_be_had_is_status_3_alone_and_1_among_others(rffbench):
    refused(rffbench("datasets", "fetch", "cpu"), "cpu.mat", status=3)
    mixed = rffbench("datasets", "fetch", "cpu", "breast-cancer")
    assert mixed.returncode == 1
    assert "breast-cancer: ready" in mixed.stdout
    assert "error: cpu" in mixed.stderr


def test_a_misspelt_dataset_is_refused(rffbench):
    for command in ("fetch", "verify", "info"):
        refused(rffbench("datasets", command, "magic4"), "did you mean 'magic04'?")


def test_a_damaged_mirror_is_told_not_believed(rffbench, tmp_path):
    (tmp_path / "mirror" / "cpu").mkdir(parents=True)
    (tmp_path / "mirror" / "cpu" / "cpu.mat").write_text("no data")
    result = rffbench("datasets", "fetch", "cpu", RFFBENCH_MIRROR=str(tmp_path / "mirror"))
    refused(result, "cpu.mat", status=3)
    assert "checksum" in result.stderr or "sha256" in result.stderr


# ---- Bad input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("trials: 2", "trails: 2", 10, "did you mean 'trials'?"),
        ("[digits]", "[digit]", 2, "did you mean 'digits'?"),
        ("[8, 16]", "[8, -16]", 5, "must be a positive integer"),
        ("features: fourier", "features: fourrier", 7, "did you mean 'fourier'?"),
        (
            "{features: surrogate-leverage}",
            "{features: surrogate-leverage, varient: as-written}",
            8,
            "did you mean 'variant'?",
        ),
        ("folds: 3", "fold: 3", 9, "did you mean 'folds'?"),
        ("name: gaussian", "name: gausian", 4, "did you mean 'gaussian'?"),
        ("trials: 2", "trials: two", 10, "must be a whole number, not 'two'"),
        ("[digits]", "[digits", 3, ""),
    ],
)
def test_a_wrong_config_is_refused_before_anything_runs(rffbench, tiny, tmp_path, old, new, line, message):
    tiny.write_text(TINY.replace(old, new))
    result = rffbench("run", tiny)
    refused(result, message)
    assert f"tiny.yaml, line {line}: " in result.stderr
    assert not (tmp_path / "results").exists()


def test_a_missing_config_is_refused(rffbench):
    refused(rffbench("run", "nowhere.yaml"), "nowhere.yaml: no such file")
    refused(rffbench("validate", "tabel3"), "did you mean 'table3'?")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--only", "dataset=digit"], "did you mean 'digits'?"),
        (["--only", "data=digits"], "did you mean 'dataset'?"),
        (["--workers", "0"], "--workers"),
        (["--executor-option", "partition"], "--executor-option partition: must be KEY=VALUE"),
        (["--executor-option", "partition=long"], "executor local: unknown option 'partition'; valid: none"),
        (["--scheduler-file", "x.json"], "executor local: unknown option 'scheduler_file'; valid: none"),
        (["--executor", "locl"], "unknown executor 'locl'; did you mean 'local'?"),
        (["--worker", "2"], "--worker"),
    ],
)
def test_a_wrong_option_is_refused_before_anything_runs(rffbench, tiny, tmp_path, options, message):
    refused(rffbench("run", tiny, *options), message)
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("command", ["plot", "table", "compare"])
def test_results_that_are_none_are_refused(rffbench, tmp_path, command):
    refused(rffbench(command, "nowhere"), "nowhere")
    (tmp_path / "empty").mkdir()
    refused(rffbench(command, "empty"), "empty")


def test_an_unreadable_log_is_refused_with_its_line(rffbench, tmp_path):
    folder = tmp_path / "damaged"
    folder.mkdir()
    (folder / "config.yaml").write_text(TINY)
    (folder / "trials.jsonl").write_text("not json\n{}\n")
    result = rffbench("table", folder)
    refused(result, "trials.jsonl")
    assert "line 1" in result.stderr


@pytest.mark.slow
def test_what_cannot_be_read_stops_no_report_and_is_named(rffbench, tiny, tmp_path):
    """One line among others, and one folder among others, whatever is wrong with it."""
    assert rffbench("run", tiny).returncode == 0
    folder = tmp_path / "results" / "tiny"
    with (folder / "trials.jsonl").open("r+", encoding="utf-8") as file:
        lines = file.readlines()
        file.seek(0)
        file.writelines([lines[0], '{"key": 1}\n', *lines[1:]])
    spoilt = tmp_path / "results" / "a-spoilt"
    shutil.copytree(folder, spoilt)
    (spoilt / "config.yaml").write_text("datasets: [digits]\nmethods: 5\n")
    (folder / "table.md").unlink()
    for command in ("plot", "table"):
        result = rffbench(command, "results")
        assert result.returncode == 1
        assert "passed over: results/a-spoilt/config.yaml: not an experiment: datasets must be" in result.stderr
        assert result.stderr.count("left out: results/tiny/trials.jsonl, line 2: not a trial, it lacks") == 1
        assert "Traceback" not in result.stderr
    assert (folder / "table.md").is_file()


def test_a_terminal_gets_no_control_characters_of_a_config(rffbench, tiny):
    tiny.write_text(TINY.replace("RFF:", r'"R\eFF":').replace("name: tiny", 'name: tiny\ntitle: "a \\e[2J title"'))
    dry = rffbench("run", tiny, "--dry-run")
    assert dry.returncode == 0, dry.stderr
    assert r"R\x1bFF" in dry.stdout
    refused = rffbench("run", tiny, "--only", "method=R\x1b")
    assert refused.returncode == 2
    assert "\x1b" not in dry.stdout + dry.stderr + refused.stdout + refused.stderr


def test_an_unknown_format_is_refused(rffbench):
    refused(rffbench("plot", "results", "--format", "png,gif"), "'gif' is not one of png, pdf, svg")


@pytest.mark.slow
def test_a_defect_is_told_briefly_and_in_full_on_request(environment, tmp_path):
    code = (
        "import sys, rffbench.cli as cli, rffbench.config.loading as loading; "
        "loading.load_experiment = lambda _: 1 / 0; "
        "sys.argv = ['rffbench', 'run', 'x']; cli.main()"
    )

    def defect(**extra):
        return subprocess.run([sys.executable, "-c", code], env={**environment, **extra}, cwd=tmp_path,
                              capture_output=True, text=True)  # fmt: skip

    refused(defect(), "ZeroDivisionError", status=70)
    assert "Traceback" in defect(RFFBENCH_DEBUG="1").stderr


@pytest.mark.slow
def test_a_command_without_memory_says_so_and_is_no_defect(environment, tmp_path):
    code = (
        "import sys, rffbench.cli as cli, rffbench.config.loading as loading; "
        "loading.load_experiment = lambda _: bytearray(1 << 60); "
        "sys.argv = ['rffbench', 'run', 'x']; cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True)
    refused(done, "error: there is no memory left for this command; end other programs", status=1)


# ---- Running -----------------------------------------------------------------------------------------------


def test_a_dry_run_prints_the_grid_and_starts_nothing(rffbench, tiny, tmp_path):
    result = rffbench("run", tiny, "--dry-run", "--only", "n_features=16")
    assert (result.returncode, result.stderr) == (0, "")
    for piece in ("digits", "RFF, Ours", "4 trials, 0 already done", "time: about", "memory: about"):
        assert piece in result.stdout
    assert not (tmp_path / "results").exists()


def test_a_run_prints_its_table_and_one_with_nothing_left_to_do_changes_no_file(rffbench, tiny, tmp_path):
    folder = tmp_path / "results" / "tiny"
    run = rffbench("run", tiny)
    assert run.returncode == 0, run.stderr
    assert "\r" not in run.stderr  # no bar without a terminal
    assert [row["status"] for row in rows(folder)] == ["ok"] * 8
    for piece in ("digits", "RFF", "Ours", "±", "wrote results/tiny/table.md", "wrote results/tiny/figures/"):
        assert piece in run.stdout
    for name in ("config.yaml", "manifest.json", "summary.csv", "table.csv", "table.md", "table.tex"):
        assert (folder / name).stat().st_size
    assert "8 trials, 8 already done" in rffbench("run", tiny, "--dry-run").stdout

    written = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    again = rffbench("run", tiny)
    assert (again.returncode, again.stderr) == (0, "nothing was left to do\n8 trials ok\n")
    assert again.stdout.strip() in run.stdout
    assert rffbench("run", tiny, COLUMNS="400").stdout == (folder / "table.md").read_text() + "\n"
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()} == written


@pytest.mark.slow
def test_what_a_run_wrote_can_be_made_anew(rffbench, tiny, tmp_path):
    folder = tmp_path / "results" / "tiny"
    assert rffbench("run", tiny).returncode == 0
    (folder / "table.tex").unlink()  # as where a run was killed before it had drawn everything
    assert "wrote results/tiny/figures/" in rffbench("run", tiny).stdout
    assert (folder / "table.tex").is_file()

    table = rffbench("table", "results")
    assert table.returncode == 0
    assert "RFF" in table.stdout
    drawn = rffbench("plot", folder, "--format", "pdf,svg")
    assert drawn.returncode == 0
    assert {path.suffix for path in (folder / "figures").iterdir()} == {".png", ".pdf", ".svg"}
    refused(rffbench("compare", folder, "--tolerance", "1"), "names no reference")
    compared = rffbench("compare", folder)
    assert (compared.returncode, compared.stdout.count("Wilcoxon")) == (0, 1)
    assert "names no reference" in compared.stderr
    assert (folder / "statistics.csv").exists()

    fresh = rffbench("run", tiny, "--fresh", "--only", "n_features=8", "--only", "trial=0")
    assert fresh.returncode == 0, fresh.stderr
    assert len(rows(folder)) == 2
    (aside,) = (path for path in folder.parent.iterdir() if path != folder)
    assert len(rows(aside)) == 8


@pytest.mark.slow
def test_compare_exits_by_tolerance(rffbench, tiny, tmp_path):
    reference = TINY.replace("[digits]", "[digits, eeg]").replace("[8, 16]", "[1d]")
    tiny.write_text(reference + "reference: liu2020-table3\n")
    rffbench("run", tiny, "--only", "dataset=digits")
    folder = tmp_path / "results" / "tiny"
    with (folder / "trials.jsonl").open("a") as file:  # cells of the paper, 5 points above what it reports
        for row in rows(folder):
            eeg = log.keyed({**row, "dataset": "eeg", "n_features": 14})
            reported = {"RFF": 68.45, "Ours": 68.62}[row["method"]]
            file.write(json.dumps({**eeg, "metrics": {"accuracy": reported + 5}}) + "\n")
    assert rffbench("compare", folder).returncode == 1  # the reference's own tolerance is a point
    near = rffbench("compare", "results", "--tolerance", "6")
    assert (near.returncode, near.stderr) == (0, "")
    assert "2 of 2 cells come out. The tolerance is 6 points" in near.stdout
    assert "wrote results/tiny/compare.csv" in near.stdout
    shutil.copytree(folder, folder.with_name("another"))  # an experiment of no paper, beside it
    resolved = (folder / "config.yaml").read_text().replace("reference: liu2020-table3", "reference: null")
    (folder.with_name("another") / "config.yaml").write_text(resolved)
    beside = rffbench("compare", "results", "--tolerance", "6")
    assert beside.returncode == 0
    assert beside.stderr.startswith("passed over: results/another/config.yaml: names no reference")
    far = rffbench("compare", folder, "--tolerance", "4")
    assert far.returncode == 1
    assert "differs" in far.stdout


@pytest.mark.slow
def test_compare_says_by_its_exit_status_that_a_claim_fails_or_that_nothing_could_be_measured(rffbench, tmp_path):
    config = log.config(n_features=["16d"], reference="liu2020")
    better = [
        log.ok(log.spec(method=method, multiple=16, trial=trial), score + trial)
        for method, score in (("RFF", 90.0), ("surrogate-RFF", 75.0))
        for trial in range(3)
    ]
    refuted = rffbench("compare", log.write(tmp_path / "refuted", config, better))
    assert refuted.returncode == 1
    assert re.search("does not hold +surrogate-RFF beats RFF at 16d", refuted.stdout)
    for row, score in zip(better, (90, 91, 92, 91, 90, 93), strict=True):  # a gain of 1, −1 and 1
        row["metrics"]["accuracy"] = float(score)
    unsure = rffbench("compare", log.write(tmp_path / "unsure", config, better))
    assert unsure.returncode == 0
    assert re.search("not enough evidence +surrogate-RFF beats RFF at 16d", unsure.stdout)
    lost = [log.lost(log.spec(method=method, multiple=16), "unavailable") for method in ("RFF", "surrogate-RFF")]
    nothing = rffbench("compare", log.write(tmp_path / "nothing", config, lost))
    assert nothing.returncode == 3
    assert "Fewer trials than planned: eeg 16d RFF (0 of 3, 1 unavailable)" in nothing.stdout
    digits = [log.ok(log.spec("digits", multiple=16), 90.0)]
    other = log.write(tmp_path / "other", {**config, "datasets": ["digits"]}, digits)
    refused(rffbench("compare", other), "this experiment is of digits")


def read_all(terminal):
    """What was written to a terminal until its other end was closed."""
    shown = b""
    while True:
        try:
            shown += (piece := os.read(terminal, 4096))
        except OSError:  # the other end is closed
            break
        if not piece:
            break
    os.close(terminal)
    return shown


BESIDE_A_BAR = """
import os, subprocess, sys, warnings
from rffbench.cli import output
with output.Progress("bar") as progress:
    progress(1, 4, 1, 0, None)
    output.say("a message")
    output.echo("a result")
    warnings.warn("a warning")
    os.write(2, b"a line of C\\rbegun \\x1b[2Aand ")
    subprocess.run("echo ended; echo of another process >&2; printf unended", shell=True, stdout=2)
    print("a plug-in's", file=sys.stderr)
    progress(2, 4, 2, 0, None)
print("after", file=sys.stderr)
"""


def test_messages_results_and_warnings_stand_on_lines_without_the_bar(environment):
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    command = [sys.executable, "-c", BESIDE_A_BAR]
    process = subprocess.Popen(command, env=environment, stdout=child, stderr=child)
    os.close(child)
    shown = read_all(parent)
    assert process.wait(timeout=60) == 0
    lines = [line.rstrip(b"\r").rpartition(b"\r")[2] for line in shown.split(b"\n")]  # as left on the screen
    above = (
        "a message", "a result", "a line of C", r"begun \x1b[2Aand ended", "of another process", "unendeda plug-in's",
        "after",
    )  # fmt: skip
    for text in above:
        assert text.encode() in lines
    assert any(line.endswith(b"UserWarning: a warning") and b"bar" not in line for line in lines)
    assert [b"2/4" in line for line in lines[-3:]] == [True, False, False]
    assert lines[-2:] == [b"after", b""]


def test_without_a_terminal_a_line_a_minute_says_how_far_it_is(capsys, monkeypatch):
    now = iter([0.0, 59.0, 61.0, 61.0, 100.0, 130.0, 130.0, 500.0])
    monkeypatch.setattr(output.time, "monotonic", lambda: next(now))
    with output.Progress("tiny") as progress:
        for done in (1, 2, 3, 1_000, 1_200):
            progress(done, 1_200, done - 1, 1, None if done < 3 else 90.0)
    assert capsys.readouterr().err.splitlines() == [
        "tiny: 2 of 1,200 trials, 1 ok, 1 failed",
        "tiny: 1,000 of 1,200 trials, 999 ok, 1 failed, about 2 min left",
    ]


def test_several_runs_of_a_command_are_counted_together(capsys, monkeypatch):
    now = itertools.count(0.0, 61.0)
    monkeypatch.setattr(output.time, "monotonic", lambda: next(now))
    with output.Progress("tiny") as progress:
        progress.begin(to_come=24, seconds=120.0)
        progress(12, 48, 12, 0, 60.0)
        progress(48, 48, 46, 2, 0.0)
        progress.begin(to_come=0, seconds=None)
        progress(12, 24, 12, 0, 60.0)
        progress(24, 24, 24, 0, 0.0)
    assert capsys.readouterr().err.splitlines() == [
        "tiny: 12 of 72 trials, 12 ok, 0 failed, about 3 min left",
        "tiny: 48 of 72 trials, 46 ok, 2 failed, about 2 min left",
        "tiny: 60 of 72 trials, 58 ok, 2 failed",
    ]


@pytest.mark.slow
def test_on_a_terminal_a_bar_counts_on_stderr(tiny, tmp_path, environment):
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    command = [sys.executable, "-m", "rffbench", "run", str(tiny), "--only", "trial=0"]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=child)
    os.close(child)
    shown = read_all(parent)
    assert process.wait(timeout=60) == 0
    assert b"4/4" in shown


@pytest.mark.slow
@pytest.mark.parametrize("command", [["methods"], ["datasets", "list"]], ids=" ".join)
def test_a_list_is_no_wider_than_the_terminal_and_whole_without_one(command, rffbench, environment):
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "rffbench", *command], env=environment, stdout=child, stderr=child
    )
    os.close(child)
    shown = read_all(parent).decode().splitlines()
    assert process.wait(timeout=60) == 0
    whole = rffbench(*command).stdout.splitlines()
    assert max(map(len, shown)) <= 80 < max(map(len, whole))


# ---- Output of a table --------------------------------------------------------------------------------------


@pytest.fixture
def wide(tmp_path):
    """Results whose table is wider than a terminal, in two datasets."""
    specs = [
        log.spec(name, method, trial=trial) for name in ("eeg", "magic04") for method in log.METHODS for trial in (0, 1)
    ]
    rows = [log.ok(each, 80.0 + each.trial, contended=True) for each in specs]
    return log.write(tmp_path / "results" / "wide", log.config(datasets=["eeg", "magic04"], trials=2), rows)


def test_a_table_is_as_wide_as_the_terminal_and_80_columns_without_one(rffbench, wide):
    for columns, expected in ((None, 80), ("50", 50), ("200", 200)):
        shown = rffbench("table", wide, **({"COLUMNS": columns} if columns else {}))
        assert shown.returncode == 0
        assert expected / 2 < max(map(len, shown.stdout.splitlines())) <= expected
        assert all(method in shown.stdout for method in log.METHODS)


def test_a_table_in_a_format_is_printed_and_writes_no_other_file(rffbench, wide, tmp_path):
    before = sorted(wide.iterdir())
    tex = rffbench("table", wide, "--format", "tex", "--columns", "1", "--metric", "time", "--caption", "R&D",
                   "--label", "tab:a", "--best", "bold")  # fmt: skip
    assert tex.returncode == 0
    assert tex.stdout.startswith("% needs")
    for piece in (r"\begin{table}[tp]", r"\caption{R\&D}", r"\label{tab:a}", "EEG"):
        assert piece in tex.stdout
    assert "table.kind" not in rffbench("table", wide, "--format", "typst").stdout
    assert rffbench("table", wide, "--format", "md", "--no-seconds").stdout.count("(") == 1  # the unit
    written = rffbench("table", wide, "--format", "csv", "--output", "mine.csv")
    assert (written.returncode, written.stdout) == (0, "wrote mine.csv\n")
    assert "magic04" in (tmp_path / "mine.csv").read_text()
    assert rffbench("table", wide, "--format", "csv", "--output", "a/new/folder/mine.csv").returncode == 0
    assert (tmp_path / "a/new/folder/mine.csv").read_text() == (tmp_path / "mine.csv").read_text()
    assert sorted(wide.iterdir()) == before
    refused(rffbench("table", wide, "--metric", "acuracy"), "did you mean 'accuracy'?")
    refused(rffbench("table", wide, "--metric", "rmse"), "no trial has rmse; measured: accuracy")
    refused(rffbench("table", wide, "--format", "tex", "--label", "a}b"), "'a}b' must be a letter, then")
    refused(rffbench("table", wide, "--format", "tex", "--columns", "3"), "--columns")
    shutil.copytree(wide, wide.with_name("another"))
    refused(rffbench("table", "results", "--format", "tex", "--output", "x.tex"), "holds 2 experiments")


def test_why_trials_failed_is_said_with_their_methods_and_datasets(tmp_path, capsys):
    def failed(method, trial, message):
        row = log.lost(log.spec(method=method, trial=trial), "error")
        return {**row, "error": {"type": "E", "message": f"{message}\nmore"}}

    some = [failed(method, trial, "it is odd") for method in log.METHODS for trial in (0, 1)]
    some += [failed("RFF", 2, "no source has it:\n  mirror: no such file")]
    some += [failed("RFF", trial, f"reason {trial}") for trial in range(3, 13)]
    folder = log.write(tmp_path / "run", log.config(trials=13), some)
    running.finish(folder, SimpleNamespace(ok=0, run=19, failed=19, unavailable=0), None)
    said = capsys.readouterr().err.splitlines()
    assert said[1:3] == [
        "  8 × error: it is odd (RFF, QMC, leverage-RFF and 1 more on eeg)",
        "  1 × error: no source has it: mirror: no such file; more (RFF on eeg)",
    ]
    assert said[10:12] == ["  1 × error: reason 10 (RFF on eeg)", "  2 × 2 other reasons"]


@pytest.mark.parametrize(("command", "file"), [("table", "summary.csv"), ("compare", "statistics.csv")])
@pytest.mark.slow
def test_what_is_found_in_a_folder_that_cannot_be_written_is_printed(environment, wide, command, file):
    """As on a file system that is mounted read-only; root may write wherever permissions alone forbid it."""
    code = (
        "import errno, pathlib, sys; import rffbench.cli as cli\n"
        "def refuse(path, *_, **__): raise OSError(errno.EROFS, 'Read-only file system', str(path))\n"
        "import rffbench.io.files as files; files.replace = refuse\n"
        "pathlib.Path.write_text = refuse; sys.argv = ['rffbench', *sys.argv[1:]]; cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", code, command, wide], env=environment, capture_output=True, text=True)
    assert done.returncode == 0
    assert "leverage-RFF" in done.stdout
    assert f"not written: {wide}/{file}: Read-only file system\n" in done.stderr


@pytest.mark.slow
def test_quiet_prints_nothing_and_json_nothing_else(rffbench, wide, tiny, tmp_path):
    assert [getattr(rffbench("table", wide, "--quiet"), name) for name in ("stdout", "stderr")] == ["", ""]
    assert (wide / "table.md").is_file()
    refused(rffbench("table", "nowhere", "--quiet"), "nowhere: no such results folder")
    (found,) = json.loads(rffbench("table", wide, "--json").stdout)
    assert (found["name"], len(found["cells"])) == ("wide", 2 * 4 * 8)
    beside = rffbench("table", wide, "--json", "out.json")
    assert "leverage-RFF" in beside.stdout
    assert json.loads((tmp_path / "out.json").read_text()) == [found]
    assert {row["name"] for row in json.loads(rffbench("datasets", "list", "--json").stdout)} >= {"eeg", "digits"}
    run = rffbench("run", tiny, "--only", "trial=0", "--quiet", "--json")
    assert (run.returncode, run.stderr) == (0, "")
    assert {name: json.loads(run.stdout)[name] for name in ("ok", "failed", "run")} == {"ok": 4, "failed": 0, "run": 4}


def test_compare_prints_what_was_measured_and_a_line_for_the_rest(rffbench, tmp_path):
    config = log.config(n_features=["1d"], reference="liu2020-table3")
    rows = [
        log.ok(log.spec(method=name, trial=t), 68.6 + t / 10, kernel_error=None)
        for name in ("RFF", "QMC")
        for t in range(3)
    ]
    folder = log.write(tmp_path / "part", config, rows)
    compared = rffbench("compare", folder)
    assert compared.returncode == 0
    cells = [line for line in compared.stdout.splitlines() if "68.70±0.10" in line]
    assert len(cells) == 2
    first = compared.stdout.partition("\n\n")[0]
    assert "2 of 2 cells come out. The tolerance is 1 point. 30 are not measured." in " ".join(first.split())
    assert "not measured: 30 cells" in compared.stdout
    assert max(len(line) for line in compared.stdout.splitlines() if not line.startswith("wrote ")) <= 80
    assert (folder / "compare.md").read_text().count("not measured") > 30
    (found,) = json.loads(rffbench("compare", folder, "--json").stdout)
    assert (found["compared"], found["outside"], len(found["cells"])) == (2, 0, 32)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["run", "quickst"], ["quickstart"]),
        (["datasets", "fetch", "breast"], ["breast-cancer"]),
        (["check-method", "surr"], ["surrogate-leverage"]),
        (["table", "x", "--metric", "feature_"], ["feature_s"]),
        (["run", "quickstart", "--only", "da"], ["dataset="]),
        (["run", "quickstart", "--only", "method=RFF,surr"], ["method=RFF,surrogate-RFF"]),
        (["run", "no-such-config", "--only", "method="], []),
        (["run", "./mine"], ["./mine"]),  # a file's name, which the shell completes
    ],
)
def test_completion_knows_configs_datasets_and_methods(environment, words, expected):
    code = "import sys; sys.argv = ['rffbench']; from rffbench.cli import main; main()"
    asked = {
        "_RFFBENCH_COMPLETE": "fish_complete",
        "COMP_WORDS": " ".join(["rffbench", *words]),
        "COMP_CWORD": words[-1],
    }
    done = subprocess.run([sys.executable, "-c", code], env={**environment, **asked}, capture_output=True, text=True)
    assert done.stderr == ""
    given = [line.partition(",")[2].partition("\t")[0] for line in done.stdout.split()]
    assert given == expected


class Shell:
    """A folder with a config, and the command rffbench on the path."""

    def __init__(self, folder, environment):
        self.folder = folder
        path = f"{folder / 'bin'}{os.pathsep}{environment['PATH']}"
        self.environment = {
            **environment, "PATH": path, "HOME": str(folder), "ZDOTDIR": str(folder), "XDG_CONFIG_HOME": str(folder),
            "TERM": "dumb",
        }  # fmt: skip
        (folder / "two.yaml").write_text(
            "name: two\ndatasets: [digits]\nn_features: [8]\nmethods: {Two words: {features: fourier}}\n"
        )
        (folder / "bin").mkdir()
        start = "import sys; sys.argv[0] = 'rffbench'; from rffbench.cli import main; main()"
        (folder / "bin/rffbench").write_text(f'#!/bin/sh\nexec {sys.executable} -c "{start}" "$@"\n')
        (folder / "bin/rffbench").chmod(0o755)

    def run(self, *command):
        return subprocess.run(command, env=self.environment, cwd=self.folder, capture_output=True, text=True)


@pytest.fixture
def shell(tmp_path, environment):
    return Shell(tmp_path, environment)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("rffbench run quickst", ["quickstart"]),
        ("rffbench run quickstart --only d", ["dataset="]),
        ("rffbench run quickstart --only dataset=", ["digits", "breast-cancer"]),
        ("rffbench run quickstart --only dataset=br", ["breast-cancer"]),
        ("rffbench run quickstart --only=dataset=digits,br", ["digits,breast-cancer"]),
        ("rffbench run two.yaml --only method=Two", [r"Two\ words"]),
        ("rffbench run two.yaml --only 'method=Two w", ["method=Two words"]),
        ("rffbench table x --metric feature_", ["feature_s"]),
    ],
)
def test_in_bash_what_stands_behind_an_equals_sign_is_completed(shell, line, expected):
    command = shell.folder / "bin/rffbench"
    script = f"""
compopt() {{ :; }}  # which bash has while it completes alone
eval "$({command} completion bash)"
COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:' COMP_LINE="$1" COMP_POINT=${{#1}}
_rffbench_completion {command}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = shell.run("bash", "-c", script, "bash", line)
    assert (done.stdout.splitlines(), done.stderr) == (expected, "")


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("fish"), reason="needs fish")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("rffbench run quickst", ["quickstart"]),
        ("rffbench datasets info breast", ["breast-cancer"]),
        ("rffbench run quickstart --only dataset=digits,br", ["dataset=digits,breast-cancer"]),
        ("rffbench run quickstart --only=dataset=digits,br", ["--only=dataset=digits,breast-cancer"]),
        ("rffbench run two.yaml --only 'method=Two w", ["method=Two words"]),
    ],
)
def test_fish_completes_words_as_they_begin(shell, line, expected):
    script = shell.run("bin/rffbench", "completion", "fish").stdout
    (completions := shell.folder / "fish/completions").mkdir(parents=True)
    (completions / "rffbench.fish").write_text(script)  # as the command's help says
    done = shell.run("fish", "-c", "complete -C $argv[1]", line)
    assert [given.partition("\t")[0] for given in done.stdout.splitlines()] == expected


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("zsh"), reason="needs zsh")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("rffbench run quickst", "rffbench run quickstart "),
        ("rffbench check-method surr", "rffbench check-method surrogate-leverage "),
        ("rffbench run quickstart --only d", "rffbench run quickstart --only dataset="),
        ("rffbench run quickstart --only=dataset=b", "rffbench run quickstart --only=dataset=breast-cancer "),
        ("rffbench run two.yaml --only method=Two", r"rffbench run two.yaml --only method=Two\ words "),
    ],
)
def test_zsh_completes_a_line(shell, line, expected):
    (shell.folder / ".zshrc").write_text("""
autoload -U compinit && compinit -u -D
eval "$(rffbench completion zsh)"
tell() { print -r -- "$BUFFER" > told.part; mv told.part told }
zle -N tell && bindkey '^X' tell
""")
    typed = shell.folder / "told"
    terminal, theirs = pty.openpty()
    with subprocess.Popen(
        ["zsh", "-d", "-i"], cwd=shell.folder, env=shell.environment, stdin=theirs, stdout=theirs, stderr=theirs,
        start_new_session=True,
    ) as process:  # fmt: skip
        os.close(theirs)
        os.write(terminal, f"{line}\t\x18".encode())
        until, shown = time.monotonic() + 120, b""
        while not typed.exists() and time.monotonic() < until:
            if select.select([terminal], [], [], 0.05)[0]:
                shown += os.read(terminal, 4096)
        process.kill()
    os.close(terminal)
    assert typed.exists(), shown.decode(errors="replace")
    assert typed.read_text() == f"{expected}\n"


def test_completion_prints_a_script_for_each_shell_and_refuses_others(rffbench):
    for shell in ("bash", "zsh", "fish"):
        assert "_RFFBENCH_COMPLETE" in rffbench("completion", shell).stdout
    refused(rffbench("completion", "csh"), "'csh' is not one of")


# ---- An own baseline ---------------------------------------------------------------------------------------


def test_diff_exits_by_tolerance_and_writes_json_and_junit(rffbench, tmp_path):
    for name, score in (("old", 70.0), ("new", 69.0)):
        log.write(tmp_path / name, log.config(), [log.ok(log.spec(trial=trial), score) for trial in range(3)])
    worse = rffbench("diff", "old", "new", "--tolerance", "0.5", "--json", "d.json", "--junit", "d.xml")
    assert (worse.returncode, worse.stderr) == (1, "")
    assert "worse by more than 0.5 points (1)" in worse.stdout
    assert json.loads((tmp_path / "d.json").read_text())[0]["outside"] == 1
    assert 'failures="1"' in (tmp_path / "d.xml").read_text()
    assert rffbench("diff", "old", "new", "--tolerance", "1").returncode == 0
    assert rffbench("diff", "new", "old").returncode == 0
    refused(rffbench("diff", "old", "new", "--tolerance", "nan"), "must be a number, not nan")
    with (tmp_path / "new" / "trials.jsonl").open("a") as damaged:
        damaged.write('{"key": "\n')
        damaged.write(json.dumps(log.ok(log.spec(trial=2), float("nan"))) + "\n")
    for command in (("diff", "new", "new"), ("history", "old", "new")):
        unread = rffbench(*command)
        assert unread.returncode == 1
        broken, not_a_number = unread.stderr.splitlines()
        assert broken.startswith("left out: new/trials.jsonl, line 4: not JSON")
        assert (
            not_a_number
            == "left out: new/trials.jsonl, line 5: RFF: metrics: 'accuracy' must be a finite number, not nan"
        )
    refused(rffbench("diff", "old@HEAD", "new"), "is in no git repository")
    refused(rffbench("diff", "old", "nowhere"), "nowhere: no such results folder")


@pytest.mark.slow
def test_an_experiment_of_no_paper_is_recorded_and_compared_with_itself(rffbench, tiny, tmp_path):
    assert rffbench("run", tiny).returncode == 0
    recorded = rffbench("record", "results/tiny")
    assert (recorded.returncode, recorded.stdout) == (0, "wrote tiny_reference.csv: 4 cells\n")
    tiny.write_text(TINY + "reference: ./tiny_reference.csv\n")
    again = rffbench("run", tiny, "--results", "results")
    assert again.returncode == 0, again.stderr
    assert "reference: ../../tiny_reference.csv" in (tmp_path / "results" / "tiny" / "config.yaml").read_text()
    compared = rffbench("compare", "results/tiny")
    assert (compared.returncode, compared.stderr) == (0, "")
    assert "4 of 4 cells come out." in compared.stdout
    reference = tmp_path / "tiny_reference.csv"
    reference.write_text(re.sub(r"(accuracy,)[\d.]+", r"\g<1>10", reference.read_text()))
    assert rffbench("compare", "results/tiny").returncode == 1
    refused(rffbench("record", "results/tiny"), "error: tiny_reference.csv: is there already, and this would change")
    reference.write_text(reference.read_text().replace("accuracy,10", "accuracy,ten"))
    wrong = rffbench("validate", tiny)
    refused(wrong, "tiny_reference.csv, line 2, column 'expected': must be a number, not 'ten'")
    assert "tiny.yaml, line 12: reference: " in wrong.stderr
    reference.unlink()
    refused(rffbench("run", tiny), "`rffbench record RESULTS` writes one")


@pytest.mark.slow
def test_two_shards_merged_are_the_whole_run(rffbench, tiny, tmp_path):
    for trial in (0, 1):
        assert rffbench("run", tiny, "--only", f"trial={trial}", "--results", f"shard{trial}").returncode == 0
    merged = rffbench("merge", "shard0", "shard1", "--into", "results")
    assert (merged.returncode, merged.stdout, merged.stderr) == (0, "wrote results/tiny: 8 trials\n", "")
    assert "8 trials, 8 already done" in rffbench("run", tiny, "--dry-run").stdout
    assert rffbench("table", "results").returncode == 0
    refused(rffbench("merge", "shard0", "shard1", "--into", "results"), "results/tiny: is there already")
