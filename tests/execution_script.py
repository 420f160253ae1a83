"""A run of its own, for tests that interrupt or kill it: execution_script.py FOLDER WORKERS DO..."""

import sys
from pathlib import Path

from execution_workers import FakeExperiment, spec

from rffbench.execution import local, run

local.PRELOAD.clear()  # these trials need no library: start quickly


def main(folder: str, workers: str, *deeds: str) -> None:
    run.GROUP, run.WORK, run.PREPARE = (
        f"execution_workers:{name}" for name in ("tasks", "do_all", "ensure")
    )
    experiment = FakeExperiment([spec(do, trial) for trial, do in enumerate(deeds)])
    try:
        run.run_experiment(experiment, Path(folder), workers=int(workers))
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main(*sys.argv[1:])
