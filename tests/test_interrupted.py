"""Ctrl-C in the midst of a long fit ends a run within a second, and the same command does the trial again."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.helpers.processes import descendants, processor_s, wait_for

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no /proc to see a worker's seconds in"),
]
ATTEMPTS = 3  # one must be quick: other programs may need the processors
AT_WORK_S = 4.0  # of a processor, that a worker has used: by then it fits
CONFIG = """\
name: long
datasets: [generated]
train_rows: 20000
kernel: {{name: gaussian, sigma: 1.6}}
n_features: [{size}]
count: columns
methods: {{long: {{features: {features}}}}}
solver: {{{solver}}}
trials: 1
"""
FITS = {
    "pcg on the kernel": (1, "none", "name: pcg, lambda: 1.0e-6, budget: {passes: 12}"),
    "pcg on features": (2000, "fourier", "name: pcg, lambda: [1.0e-7, 1.0e-6], budget: {passes: 15}"),
    "falkon": (2500, "none", "name: falkon, lambda: 1.0e-7, budget: {passes: 12}"),
    "eigenpro": (1, "none", "name: eigenpro, lambda: 1.0e-6, budget: {passes: 5}"),
    "ridge on landmarks": (2500, "nystroem", "name: ridge, lambda: [1.0e-7, 1.0e-6]"),
}


def at_work(run):
    """The workers of a run that have begun to fit: they are forked from a server, which is its child."""
    return [pid for server in descendants(run) for pid in descendants(server) if processor_s(pid) > AT_WORK_S]


def started(fit, tmp_path, environment):
    """A run of one long fit."""
    size, features, solver = FITS[fit]
    (tmp_path / "long.yaml").write_text(CONFIG.format(size=size, features=features, solver=solver))
    command = [sys.executable, "-m", "rffbench", "run", "long.yaml", "--workers", "1"]
    return subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def interrupted(process):
    """The seconds that a run takes to end after Ctrl-C in the midst of its fit."""
    try:
        below = wait_for(lambda: at_work(process.pid), 120)
        at = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.wait(60)
        seconds = time.monotonic() - at
    finally:
        process.kill()
    said = process.communicate()[1].strip()
    assert (process.returncode, said) == (130, "interrupted; the same command carries on from here")
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in below))
    return seconds


@pytest.mark.parametrize("fit", FITS)
def test_a_long_fit_ends_within_a_second_and_leaves_no_process(fit, tmp_path, environment):
    assert any(interrupted(started(fit, tmp_path, environment)) < 1 for _ in range(ATTEMPTS))
    assert (tmp_path / "results" / "long" / "trials.jsonl").read_text() == ""


def test_the_trial_is_done_again_by_the_same_command(tmp_path, environment):
    interrupted(started("pcg on features", tmp_path, environment))
    again = started("pcg on features", tmp_path, environment)
    said = again.communicate(timeout=300)[1]
    assert again.returncode == 0, said
    (row,) = map(json.loads, (tmp_path / "results" / "long" / "trials.jsonl").read_text().splitlines())
    assert row["status"] == "ok"
    assert row["metrics"]["passes"] == 15
