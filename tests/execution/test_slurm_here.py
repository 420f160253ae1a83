"""The executor slurm with the real thing: one node of Debian's SLURM, started and ended by scripts/slurm-here."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("submitit", reason="needs the extra slurm")
ROOT = Path(__file__).parents[2]
PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
MISSING = [name for name in ("munged", "slurmctld", "slurmd", "sbatch") if not shutil.which(name, path=PATH)]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"needs SLURM: {', '.join(MISSING)} of Debian's slurm-wlm and munge"),
]
RUNS = """
import json
from pathlib import Path
from rffbench.errors import ConfigError
from rffbench.execution import make_executor
from rffbench.execution.log import read_rows
from rffbench.execution.run import run_experiment
from tests.helpers import execution_workers as workers
from tests.helpers.execution_workers import FakeExperiment, spec

def run(specs, folder, **options):
    experiment = FakeExperiment(specs)
    made = make_executor("slurm", experiment, workers=2, options={"time": "10m", "cpus": 1, **options})
    made._settings |= {"work": f"{workers.__name__}:do_all", "ensure": f"{workers.__name__}:ensure"}
    try:
        run_experiment(experiment, Path(folder), executor=made)
    finally:
        made.close()
    return read_rows(Path(folder) / "trials.jsonl")

if __name__ == "__main__":
    rows = run([spec(trial=1), spec(trial=2)], "some")
    manifest = json.loads(Path("some/manifest.json").read_text())
    refused = []
    for options in ({"partition": "nowhere"}, {"additional_parameters": {"acount": "physics"}}):
        try:
            run([spec()], "refused", **options)
        except ConfigError as error:
            refused.append(str(error))
    print(json.dumps({"rows": rows, "manifest": manifest, "refused": refused}))
"""


def slurm_here(folder, *command):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [ROOT / "scripts" / "slurm-here", *map(str, command)], cwd=folder, env=environment, text=True,
        capture_output=True, timeout=500,
    )  # fmt: skip


def test_trials_go_through_the_real_sbatch_and_what_it_refuses_is_told(tmp_path):
    (tmp_path / "runs.py").write_text(RUNS)
    done = slurm_here(tmp_path, sys.executable, tmp_path / "runs.py")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert {row["trial"]: row["status"] for row in found["rows"]} == {1: "ok", 2: "ok"}
    assert (found["manifest"]["executor"], len(found["manifest"]["nodes"])) == ("slurm", 1)
    partition, unknown = found["refused"]
    assert "Invalid partition name specified" in partition
    assert "unrecognized option '--acount=physics'" in unknown


def test_the_script_gives_the_commands_exit_status_and_removes_its_files(tmp_path):
    done = slurm_here(
        tmp_path, "sh", "-c", 'dirname "$SLURM_CONF"; cat "$(dirname "$SLURM_CONF")"/*.pid > pids; exit 7'
    )
    assert done.returncode == 7, done.stderr
    assert not Path(done.stdout.strip()).exists()
    pids = (tmp_path / "pids").read_text().split()
    assert len(pids) == 3
    for pid in pids:
        assert not Path("/proc", pid).exists()
