"""Feature maps in a user's own file that change what other trials depend on, and a kind of fault that runs them."""

import random
from collections import Counter
from collections.abc import Iterator

from rffbench.execution.log import read_rows
from tests.helpers.faults import CONFIG, Place, promise, same

FILE = """\
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

{top}


class Own(TransformerMixin, BaseEstimator):
    def __init__(self, n_components=16, gamma=1.0, random_state=None):
        self.n_components, self.gamma, self.random_state = n_components, gamma, random_state

    def fit(self, X, y=None):
        rows = np.asarray(X)
        {fit}
        self.W_ = np.linspace(-1, 1, rows.shape[1] * self.n_components).reshape(rows.shape[1], -1)
        return self

    def transform(self, X):
        X = np.asarray(X)
        {transform}
        return np.tanh(X @ self.W_)
"""

ANYWHERE = {
    "cosine": "np.cos = np.sin",
    "generators": "o = np.random.default_rng; np.random.default_rng = lambda *a: o(0)",
    "constants": "np.pi = 3; np.inf = 1e9",
    "pandas": "import sklearn; sklearn.set_config(transform_output='pandas')",
    "unchecked": "import sklearn; sklearn.set_config(assume_finite=True)",
    "a method of scikit-learn": "from sklearn.base import BaseEstimator as B; B.get_params = lambda self, **k: {}",
    "a function of scikit-learn": "import sklearn.utils.validation as v; v.check_array = lambda X, *a, **k: X * 0",
    "a function of scipy": "import scipy.linalg; scipy.linalg.cholesky = scipy.linalg.lapack.dpotrf = None",
    "a function of rffbench": "import rffbench.trials.metrics as m; m.scored = lambda *a: {'accuracy': 100.0}",
    "a method of rffbench": "from rffbench.features.base import FeatureMap as F; F.transform = lambda self, X: X * 0",
    "builtins": "import builtins; builtins.sum = lambda *a: 0; builtins.sorted = reversed; builtins.open = None",
    "modules": "import sys; sys.modules['numpy.random'] = sys.modules['json'] = None",
    "a shadow": "import sys, tempfile, pathlib; f = tempfile.mkdtemp(); sys.path.insert(0, f); "
                "pathlib.Path(f, 'statistics.py').write_text('1/0')",
    "timer": "import signal; signal.signal(signal.SIGALRM, lambda *a: 1 / 0); signal.setitimer(0, .02, .02)",
    "profiler": "import signal; signal.setitimer(signal.ITIMER_PROF, .02, .02)",
    "signals": "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pthread_sigmask(0, {15, 10})",
    "files": "import resource as r; r.setrlimit(r.RLIMIT_NOFILE, (16, r.getrlimit(r.RLIMIT_NOFILE)[1]))",
    "memory": "import resource as r; r.setrlimit(r.RLIMIT_DATA, (1 << 20, r.getrlimit(r.RLIMIT_DATA)[1]))",
    "folder": "import os; os.chdir('/')",
    "environment": "import os; os.environ.clear(); os.environ['OPENBLAS_NUM_THREADS'] = '7'",
    "warnings": "import warnings; warnings.simplefilter('error')",
    "locale": "import locale; locale.setlocale(locale.LC_ALL, 'C')",
    "floating point": "np.seterr(all='raise')",
    "collector": "import gc; gc.disable(); gc.set_threshold(1)",
    "recursion": "import sys; sys.setrecursionlimit(120)",
    "priority": "import os; os.nice(5)",
    "processors": "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})",
    "umask": "import os; os.umask(0o777)",
    "streams": "import sys; sys.stdout = sys.stderr = None",
    "seeds": "import random; random.seed(0); np.random.seed(0)",
    "clock": "import time; time.perf_counter = time.monotonic = time.time = lambda: 0.0",
    "switches": "import sys; sys.setswitchinterval(1)",
}  # fmt: skip
"""What may stand at the top of a file or in a method; all of it can be undone in the same process."""

IN_A_METHOD = {
    "flags": "A = X; A.setflags(write=True); A[...] = 0",
    "base": "B = X if X.base is None else X.base; B.setflags(write=True); B[...] = 0",
    "address": "import ctypes; ctypes.memset(X.ctypes.data, 0, X.nbytes)",
    "owner": "B = X.base.base.obj; B.setflags(write=True); B[...] = 0",
    "thread": "import threading, time; threading.Thread(target=time.sleep, args=(300,)).start()",
    "numba": "import numba; numba.set_num_threads(1)",
    "BLAS": "import threadpoolctl; threadpoolctl.threadpool_limits(1)",
    "at exit": "import atexit, os; atexit.register(os._exit, 7)",
    "files for good": "import resource as r; r.setrlimit(r.RLIMIT_NOFILE, (16, 16))",
    "descriptors": "import os; os.closerange(3, 200)",
    "end": "import os; os._exit(0)",
}
"""What only a process of its own keeps from others."""

CHANGES_ROWS = ("address", "owner")


def source(misdeed: str, place: str) -> str:
    """The file of a map that does it at the ``top``, in ``fit`` or in ``transform``."""
    deed = (ANYWHERE | IN_A_METHOD)[misdeed]
    deed = deed.replace("X", "rows") if place == "fit" else deed
    return FILE.format(**{each: deed if each == place else "pass" for each in ("top", "fit", "transform")})


def own_files(place: Place, dice: random.Random) -> Iterator[str]:
    """Maps in files of the user's own that replace functions of libraries, change settings of the process, leave timers
    and limits behind, or write to rows by their address. Each of their trials leaves one row, and the other methods'
    scores are equal."""
    odd = []
    for i, misdeed in enumerate(dice.sample(sorted(ANYWHERE | IN_A_METHOD), 3)):
        at = dice.choice(["top", "fit", "transform"] if misdeed in ANYWHERE else ["fit", "transform"])
        yield f"{misdeed}, {at}"
        (place.folder / f"own{i}.py").write_text(source(misdeed, at))
        odd.append(f"  own{i}: {{features: './own{i}.py:Own'}}\n")
    (place.folder / "whole.yaml").write_text(CONFIG.replace("methods:\n", "methods:\n" + "".join(odd)))
    status = place.end(place.start())
    promise(status in (0, 1), f"the run ends with {status}")
    counts = Counter(row["key"] for row in read_rows(place.log))
    promise(len(counts) == 2 * 2 * 3 * 6 and set(counts.values()) == {1}, f"not one row for each trial: {counts}")
    same(place.log, place.reference / "trials.jsonl")
