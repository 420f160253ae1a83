"""A run of its own, for tests that interrupt or kill it.

python -m tests.helpers.execution_script FOLDER WORKERS DO...
"""

import sys
from pathlib import Path

from rffbench.execution.run import run_experiment
from tests.helpers.execution_workers import FakeExperiment, local, spec


def main(folder: str, workers: str, *deeds: str) -> None:
    experiment = FakeExperiment([spec(do, trial) for trial, do in enumerate(deeds)])
    executor = local(experiment, workers=int(workers), preload=())  # these trials need no library: start quickly
    try:
        run_experiment(experiment, Path(folder), executor=executor)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main(*sys.argv[1:])
