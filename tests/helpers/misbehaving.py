"""Feature maps and solvers of another package that each do one thing wrong, from a raised exception to a dead process.

A map is a well-behaved one whose output goes through a misdeed ``(X, Z)``; a solver, one whose predictions do.
"""

import ctypes
import os
import signal
import sys
import threading
import warnings

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import Ridge

from tests.helpers.processes import hang


class WellBehaved(TransformerMixin, BaseEstimator):
    """√(2/D)·cos(wᵀx + b), D = ``n_components``."""

    def __init__(self, n_components=100, kernel="gaussian", gamma=1.0, random_state=None):
        self.n_components, self.kernel, self.gamma, self.random_state = n_components, kernel, gamma, random_state

    def fit(self, X, y=None):
        generator = np.random.default_rng(0)
        self.w_ = generator.normal(scale=np.sqrt(2 * self.gamma), size=(X.shape[1], self.n_components))
        self.b_ = generator.uniform(0, 2 * np.pi, self.n_components)
        return self

    def transform(self, X):
        return self.misdeed(X, np.sqrt(2 / self.n_components) * np.cos(X @ self.w_ + self.b_))


# ---- What a map does in place of returning its columns -----------------------------------------------------


def raises(X, Z):
    raise ValueError("the bandwidth is purple")


def raises_what_has_no_words(X, Z):
    class Wordless(Exception):
        def __str__(self):
            raise RuntimeError("no words")

    raise Wordless


def raises_half_a_character(X, Z):
    raise ValueError("half: \ud800")


def raises_at_length(X, Z):
    raise ValueError("σ" * 10**7)


def raises_what_cannot_be_sent(X, Z):
    raise type("Local", (Exception,), {"lock": threading.Lock()})(threading.Lock())


def calls_itself(X, Z):
    return calls_itself(X, Z)


def interrupts(X, Z):
    raise KeyboardInterrupt


def ends(X, Z):
    sys.exit("enough")


def ends_at_once(X, Z):
    os._exit(0)


def is_killed(X, Z):
    os.kill(os.getpid(), signal.SIGKILL)


def aborts(X, Z):
    os.abort()


def reads_address_0(X, Z):
    ctypes.string_at(0)


def hangs(X, Z):
    hang()


def hangs_in_c_deaf_to_signals(X, Z):
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    ctypes.PyDLL(None).pause()


def leaves_a_thread(X, Z):
    threading.Thread(target=hang).start()
    return Z


def leaves_a_process(X, Z):
    if os.fork() == 0:
        hang()
    return Z


def comes_back_twice(X, Z):
    if "TWICE" not in os.environ:  # once: two processes of each would be as many as there are soon
        os.environ["TWICE"] = "yes"
        os.fork()
    return Z


def takes_all_memory(X, Z):
    blocks = []
    while True:
        blocks.append(np.ones(2**21))


def asks_for_more_memory_than_there_is(X, Z):
    return np.ones(2**60)


def closes_every_file(X, Z):
    os.closerange(0, 256)
    return Z


def opens_files_without_end(X, Z):
    files = []
    while True:
        files.append(open(os.devnull))  # noqa: SIM115


def leaves_the_folder(X, Z):
    os.chdir("/")
    return Z


def clears_the_environment(X, Z):
    os.environ.clear()
    return Z


def prints_much(X, Z):
    print("chatter\n" * 10_000, flush=True)
    return Z


def warns(X, Z):
    warnings.warn("odd", RuntimeWarning, stacklevel=1)
    return Z


def seeds_everybody(X, Z):
    np.random.seed(0)  # noqa: NPY002
    np.seterr(all="raise")
    return Z


def overwrites_its_rows(X, Z):
    X[:] = 0
    return Z


def gives_nan(X, Z):
    return Z * np.nan


def gives_infinity(X, Z):
    return Z + np.inf


def gives_huge_numbers(X, Z):
    return Z * 1e300


def gives_zeros(X, Z):
    return Z * 0


def gives_nothing(X, Z):
    return None


def gives_a_row_less(X, Z):
    return Z[:-1]


def gives_a_column_less(X, Z):
    return Z[:, :-1]


def gives_another_width_each_time(X, Z):
    return Z[:, : 1 + len(X) % Z.shape[1]]


def gives_one_axis(X, Z):
    return Z[:, 0]


def gives_text(X, Z):
    return Z.astype(str)


def gives_complex_numbers(X, Z):
    return Z + 1j


def gives_half_precision(X, Z):
    return Z.astype(np.float16)


def gives_a_sparse_matrix(X, Z):
    return sparse.csr_array(Z)


def gives_lists(X, Z):
    return Z.tolist()


def gives_objects(X, Z):
    return Z.astype(object)


MAPS = {
    name.replace("_", "-"): type(name.title().replace("_", ""), (WellBehaved,), {"misdeed": staticmethod(deed)})
    for name, deed in list(globals().items())
    if callable(deed) and getattr(deed, "__code__", None) and deed.__code__.co_varnames[:2] == ("X", "Z")
}


# ---- Solvers that say something odd of themselves, or predict it -------------------------------------------


class OddRidge(Ridge):
    """Ridge on the map's columns."""

    said, misdeed = {}, staticmethod(lambda predicted: predicted)

    def __init__(self, features=None):
        super().__init__()
        self.features = features

    def fit(self, X, y):
        self.map_ = self.features.fit(X, y)
        super().fit(self.map_.transform(X), y)
        for name, value in self.said.items():
            setattr(self, name, value)
        return self

    def predict(self, X):
        return self.misdeed(super().predict(self.map_.transform(X)))


SAYINGS = {
    "text-for-a-metric": {"metrics_": {"model_size": "large"}},
    "a-mapping-for-a-metric": {"metrics_": {"model_size": {"a": 1}}},
    "nan-for-a-metric": {"metrics_": {"model_size": float("nan")}},
    "its-own-accuracy": {"metrics_": {"accuracy": 100.0}},
    "ragged-curves": {"curves_": {"time": [0.0, 1.0], "objective": [1.0]}},
    "text-in-curves": {"curves_": {"time": ["soon"]}},
    "negative-seconds": {"timing_": {"solve_s": -1.0}},
    "text-for-seconds": {"timing_": {"solve_s": "quick"}},
    "text-for-lambda": {"alpha_": "small"},
    "no-mapping": {"metrics_": [1], "timing_": 3, "curves_": "none"},
}
PREDICTIONS = {
    "predicts-a-column": lambda predicted: predicted[:, None],
    "predicts-nan": lambda predicted: predicted * np.nan,
    "predicts-too-few": lambda predicted: predicted[1:],
    "predicts-text": lambda predicted: predicted.astype(str),
    "predicts-nothing": lambda predicted: None,
}


def make(**attributes):
    """The factory of such a solver."""
    kind = type("OddRidge", (OddRidge,), attributes)

    def factory(*, features):
        """A solver that misbehaves."""
        return kind(features)

    return factory


SOLVERS = {name: make(said=said) for name, said in SAYINGS.items()} | {
    name: make(misdeed=staticmethod(deed)) for name, deed in PREDICTIONS.items()
}
globals().update({name.replace("-", "_"): made for name, made in (MAPS | SOLVERS).items()})  # what entry points name


def install(folder):
    """Write the entry points of all of them to ``folder``: on the path it is a package that is installed."""
    about = folder / "rffbench_misbehaving-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: rffbench-misbehaving\nVersion: 1.0\n")
    lines = []
    for group, made in (("features", MAPS), ("solvers", SOLVERS)):
        lines += [f"[rffbench.{group}]", *(f"{name} = {__name__}:{name.replace('-', '_')}" for name in made)]
    (about / "entry_points.txt").write_text("\n".join(lines) + "\n")
