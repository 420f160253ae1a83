"""What workers start with: done once, by the process that they are forked from, when it imports this."""

import gc
from collections import deque
from contextlib import suppress
from functools import partial

with suppress(Exception):  # what fails here fails again in a worker, which can say so
    import rffbench.features.fourier
    import rffbench.solvers.ridge.make
    import rffbench.trials.together  # noqa: F401
    from rffbench.linalg import threads, waves

    # The kernels are compiled, or loaded, on this one thread: numba's own threads would not outlive a fork, and it
    # starts them when it is asked how many there are.
    threads._work_off(deque([partial(waves.warm_up, "float64")]))

gc.collect()
gc.freeze()  # workers' collections, of which each trial makes one, then leave out what was here before them
