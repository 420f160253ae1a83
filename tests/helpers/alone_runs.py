"""Trials that time alone, run by workers."""

from rffbench.execution.local import LocalExecutor
from tests.helpers.execution_workers import spec

WORKERS = "tests.helpers.execution_workers"


def trials(do, count, folder):
    """Trials that are tasks of their own, each with a file to write to."""
    return [
        [spec(trial=n, timing="features", features={"name": "fourier", "do": do, "path": str(folder / str(n))})]
        for n in range(count)
    ]


def run(tasks, workers=2, **limits):
    executor = LocalExecutor(work=f"{WORKERS}:do_all", workers=workers, **limits)
    results = []
    executor.run(tasks, results.append, timing="features")
    return sorted(results, key=lambda result: result.spec.trial)
