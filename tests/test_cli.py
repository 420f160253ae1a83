"""Every command through a real subprocess: what it prints where, what it writes, how it exits."""

import fcntl
import json
import os
import pty
import shutil
import struct
import subprocess
import sys
import termios

import pytest
import report_log as log
import yaml

TINY = """\
name: tiny
datasets: [digits]
preprocess: minmax
kernel: {name: gaussian, sigma: 2.0}
n_features: [8, 16]
methods:
  RFF: {features: fourier}
  Ours: {features: surrogate-leverage}
solver: {name: ridge, lambda: [0.001, 0.01], folds: 3}
trials: 2
kernel_error_points: 100
"""


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


def test_help_names_every_command(rffbench):
    result = rffbench("--help")
    assert result.returncode == 0
    commands = {"run", "plot", "table", "compare", "datasets", "methods", "validate", "schema", "environment"}
    assert commands <= {line.split()[0] for line in result.stdout.splitlines() if line.startswith("  ")}


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
        ("{features: surrogate-leverage}", "{features: surrogate-leverage, varient: as-written}", 8,
         "did you mean 'variant'?"),
        ("folds: 3", "fold: 3", 9, "did you mean 'folds'?"),
        ("name: gaussian", "name: gausian", 4, "did you mean 'gaussian'?"),
        ("trials: 2", "trials: two", 10, "should be a valid integer, not 'two'"),
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
        (["--executor", "slurm"], "--executor slurm: not available in this version"),
        (["--executor", "dask://localhost:8786"], "not available in this version"),
        (["--executor", "cloud"], "must be local"),
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


def test_an_unknown_format_is_refused(rffbench):
    refused(rffbench("plot", "results", "--format", "png,gif"), "'gif' is none of png, pdf, svg")


def test_a_defect_is_told_briefly_and_in_full_on_request(environment, tmp_path):
    code = (
        "import sys, rffbench.cli as cli; cli._check_executor = lambda _: 1 / 0; "
        "sys.argv = ['rffbench', 'run', 'x']; cli.main()"
    )

    def defect(**extra):
        return subprocess.run([sys.executable, "-c", code], env={**environment, **extra}, cwd=tmp_path,
                              capture_output=True, text=True)  # fmt: skip

    refused(defect(), "ZeroDivisionError", status=70)
    assert "Traceback" in defect(RFFBENCH_DEBUG="1").stderr


# ---- Running -----------------------------------------------------------------------------------------------


def test_a_dry_run_prints_the_grid_and_starts_nothing(rffbench, tiny, tmp_path):
    result = rffbench("run", tiny, "--dry-run", "--only", "n_features=16")
    assert (result.returncode, result.stderr) == (0, "")
    for piece in ("digits", "RFF, Ours", "4 trials, 0 already done", "time: about", "memory: about"):
        assert piece in result.stdout
    assert not (tmp_path / "results").exists()


def test_a_run_prints_its_table_and_writes_files_that_can_be_made_anew(rffbench, tiny, tmp_path):
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

    table = rffbench("table", "results")
    assert table.returncode == 0
    assert "RFF" in table.stdout
    drawn = rffbench("plot", folder, "--format", "pdf,svg")
    assert drawn.returncode == 0
    assert {path.suffix for path in (folder / "figures").iterdir()} == {".png", ".pdf", ".svg"}
    refused(rffbench("compare", folder), "names no reference")

    fresh = rffbench("run", tiny, "--fresh", "--only", "n_features=8", "--only", "trial=0")
    assert fresh.returncode == 0, fresh.stderr
    assert len(rows(folder)) == 2
    (aside,) = (path for path in folder.parent.iterdir() if path != folder)
    assert len(rows(aside)) == 8


def test_compare_exits_by_tolerance(rffbench, tiny, tmp_path):
    reference = TINY.replace("[digits]", "[digits, eeg]").replace("[8, 16]", "[1d]")
    tiny.write_text(reference + "reference: liu2020-table3\n")
    rffbench("run", tiny, "--only", "dataset=digits")
    folder = tmp_path / "results" / "tiny"
    with (folder / "trials.jsonl").open("a") as log:  # cells of the paper, 5 points above what it reports
        for row in rows(folder):
            eeg = {**row, "dataset": "eeg", "n_features": 14, "key": "0" * 64}
            reported = {"RFF": 68.45, "Ours": 68.62}[row["method"]]
            log.write(json.dumps({**eeg, "metrics": {"accuracy": reported + 5}}) + "\n")
    assert rffbench("compare", folder).returncode == 1  # the reference's own tolerance is a point
    near = rffbench("compare", "results", "--tolerance", "6")
    assert (near.returncode, near.stderr) == (0, "")
    assert "2 of 2 within 6 points" in near.stdout
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
    refused(rffbench("compare", folder, "--search"), "sweeps nothing")


def test_compare_says_by_its_exit_status_that_a_claim_fails_or_that_nothing_could_be_measured(rffbench, tmp_path):
    config = log.config(n_features=["16d"], reference="liu2020")
    better = [log.ok(log.spec(method=method, multiple=16, trial=trial), score + trial)
              for method, score in (("RFF", 90.0), ("Ours", 75.0)) for trial in range(3)]
    refuted = rffbench("compare", log.write(tmp_path / "refuted", config, better))
    assert refuted.returncode == 1
    assert "does not hold Ours beats RFF at 16d" in refuted.stdout
    lost = [log.lost(log.spec(method=method, multiple=16), "unavailable") for method in ("RFF", "Ours")]
    nothing = rffbench("compare", log.write(tmp_path / "nothing", config, lost))
    assert nothing.returncode == 3
    assert "Fewer trials than planned: eeg 16d RFF (0 of 3, 1 unavailable)" in nothing.stdout
    digits = [log.ok(log.spec("digits", multiple=16), 90.0)]
    other = log.write(tmp_path / "other", {**config, "datasets": ["digits"]}, digits)
    refused(rffbench("compare", other), "this experiment is of digits")


def test_on_a_terminal_a_bar_counts_on_stderr(tiny, tmp_path, environment):
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    command = [sys.executable, "-m", "rffbench", "run", str(tiny), "--only", "trial=0"]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=child)
    os.close(child)
    shown = b""
    while True:
        try:
            shown += (piece := os.read(parent, 4096))
        except OSError:  # the other end is closed
            break
        if not piece:
            break
    os.close(parent)
    assert process.wait(timeout=60) == 0
    assert b"4/4" in shown
    assert b"4 ok, 0 failed" in shown
