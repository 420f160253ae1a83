"""Prepares workers: the process that they are forked from imports this once."""

import gc
import sys
import warnings
from collections import deque
from contextlib import suppress

from rffbench.execution.offspring import end_with_parent

if "multiprocessing.forkserver" in " ".join(sys.orig_argv):  # and not where a test imports it
    end_with_parent()
    warnings.filterwarnings("ignore", "forkserver: waitpid")  # of what dead workers have left, which ends here

with suppress(Exception):  # what fails here fails again in a worker, which can say so
    import numpy as np
    import pooch  # noqa: F401  it knows where the cache is
    import sklearn.metrics  # noqa: F401  with sklearn.preprocessing: what estimators import only when they need it
    from threadpoolctl import threadpool_limits

    from rffbench.data import Split, load_card
    from rffbench.data.rows import Rows
    from rffbench.linalg import threads, triangles, trigonometric
    from rffbench.solvers import spec as solver_spec
    from rffbench.trials import shared, tasks  # noqa: F401  what a worker runs
    from rffbench.trials.problem import Problem
    from rffbench.trials.single import run_trial
    from rffbench.trials.spec import TrialSpec

    def _small_trial() -> None:
        """Fill the caches that scikit-learn and this package fill at the first trial of a process."""
        X, y = np.linspace(0, 1, 32)[:, None], np.array([-1.0, 1.0] * 16)
        for array in (X, y):
            array.setflags(write=False)  # like a trial's rows: numba compiles other code for writable arrays
        rows, card = Rows(X, range(len(X))), load_card("breast-cancer")
        solver = solver_spec({"name": "ridge", "lambda": [0.1, 1.0], "folds": 2})
        spec = TrialSpec(
            card.name, "", method="", n_features=4, trial=0, seed=0, features={"name": "fourier"}, solver=solver,
            kernel={"name": "gaussian", "gamma": 1.0},
        )  # fmt: skip
        run_trial(spec, Problem(Split(rows, y, rows, y, "classification", card), "gaussian", 1.0, np.arange(16)))

    # The kernels are compiled, or loaded, on this one thread: numba's own threads would not outlive a fork, and it
    # starts them when it is asked how many there are. Nor would OpenMP's.
    with threadpool_limits(1):
        threads._work_off(deque([lambda: trigonometric.warm_up("float64"), triangles.warm_up, _small_trial]))
    threads._blas()

gc.collect()
gc.freeze()  # workers' collections, of which each trial makes one, then leave out what was here before them
