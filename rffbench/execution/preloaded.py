"""What workers start with: done once, by the process that they are forked from, when it imports this."""

import gc
from collections import deque
from contextlib import suppress

with suppress(Exception):  # what fails here fails again in a worker, which can say so
    import numpy as np
    import sklearn.metrics  # noqa: F401  with sklearn.preprocessing: what estimators import only when they need it

    import rffbench.solvers.ridge.make
    import rffbench.trials.together  # noqa: F401
    from rffbench.features.fourier import RandomFourierFeatures
    from rffbench.linalg import threads, triangles, waves
    from rffbench.solvers.ridge.streamed import StreamedRidgeClassifierCV

    def _small_fit() -> None:
        """What scikit-learn and this package look up once a process, at a first fit."""
        X, y = np.linspace(0, 1, 8)[:, None], np.array([-1.0, 1.0] * 4)
        for array in (X, y):
            array.setflags(write=False)  # as a trial's are: code for arrays that can be written to is compiled apart
        features = RandomFourierFeatures(4, random_state=0)
        StreamedRidgeClassifierCV((0.1, 1.0), folds=2, features=features).fit(X, y).predict(X)

    # The kernels are compiled, or loaded, on this one thread: numba's own threads would not outlive a fork, and it
    # starts them when it is asked how many there are.
    threads._work_off(deque([lambda: waves.warm_up("float64"), triangles.warm_up, _small_fit]))
    threads._blas()

gc.collect()
gc.freeze()  # workers' collections, of which each trial makes one, then leave out what was here before them
