"""A map in a sandbox gives the features that it gives here, and nothing else of it comes back."""

import inspect
import os
import pickle
import struct
import subprocess
import sys

import numpy as np
import pytest
import scipy.linalg
from numpy.random import SeedSequence

from rffbench.errors import ConfigError
from rffbench.execution.sandbox import sandbox
from rffbench.execution.sandbox_map import command_of, described, stand_in
from rffbench.features import make_features
from rffbench.trials import metrics
from tests.helpers.own_map import MINE
from tests.helpers.processes import comes

pytestmark = pytest.mark.slow

X = np.random.default_rng(0).normal(size=(60, 5))
Y = np.where(X[:, 0] > 0, 1, -1)
OURS = """
from rffbench import RandomFourierFeatures


class Mine(RandomFourierFeatures):
    def fit(self, X, y=None):
        super().fit(X)
        self.frequencies_ = self.frequencies_ * (1 + 0 * float(abs(y).sum()))
        return self
"""
OF_TARGETS = MINE.replace("class Mine", "import numpy as np\n\nclass Mine").replace(
    "        return self\n\n    def transform",
    "        self.W_ *= 1 + y.mean()\n        return self\n\n    def transform",
)


@pytest.fixture(scope="module")
def kind():
    if (found := sandbox()) is None:
        pytest.skip("this system does not let a process have namespaces of its own")
    return found


@pytest.fixture
def sandboxed(kind, tmp_path):
    """The unfitted stand-in for a map with this source; or, with ``kind`` None, without a sandbox."""

    def make(source, kind=kind, **options):
        for name in ("theirs", "ours", "root"):
            (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / "theirs/mine.py").write_text(source)
        command = command_of(tmp_path / "theirs/mine.py", "Mine", kind, tmp_path / "root")
        (tmp_path / "ours/mine.py").write_text(
            stand_in(command, "Mine", {"takes_targets": False, "fills": "(TransformerMixin" not in source})
        )
        return made(tmp_path / "ours/mine.py", **options)

    return make


def made(path, n_features=12, seed=3):
    state = SeedSequence(seed, spawn_key=(1, 2))
    return make_features(
        {"name": f"{path}:Mine"}, kernel="gaussian", gamma=0.3, n_features=n_features, count="columns",
        random_state=state,
    )  # fmt: skip


def doing(what):
    """A map that does this first of all in its fit, and is else as `MINE`."""
    lines = inspect.cleandoc(what).replace("\n", "\n        ")
    return MINE.replace(
        "    def fit(self, X, y=None):\n", f"    def fit(self, X, y=None):\n        {lines}\n"
    )  # fmt: skip


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(MINE, id="a transformer", marks=pytest.mark.slow),
        pytest.param(OURS, id="of this package", marks=pytest.mark.slow),
        pytest.param(OF_TARGETS, id="of targets"),
    ],
)
def test_the_features_are_the_same_to_the_last_bit(sandboxed, tmp_path, source):
    theirs = sandboxed(source)
    for dtype in (np.float64, np.float32):
        rows = X.astype(dtype)
        theirs.fit(rows, Y)
        here = made(tmp_path / "theirs/mine.py").fit(rows, Y)
        for some in (rows, rows[:1], rows[7:20]):
            assert np.array_equal(theirs.transform(some), here.transform(some))
            if theirs.fill is not None:
                out = np.empty((len(some), 12), dtype)
                theirs.fill(some, out)
                assert np.array_equal(out, here.transform(some))


def test_without_a_sandbox_it_is_another_process_all_the_same(sandboxed, tmp_path):
    theirs = sandboxed(doing("import sys; sys.modules['of_mine'] = sys; print('passed: it is I')"), kind=None)
    features = theirs.fit(X, Y).transform(X)
    assert "of_mine" not in sys.modules
    assert features.shape == (60, 12)


def test_what_a_map_changes_in_libraries_is_not_changed_here(sandboxed, capfd):
    before = np.linalg.norm(X), scipy.linalg.norm(X), metrics.SCORES, np.cos(1.0)
    features = sandboxed(doing(
        """
        import scipy.linalg, rffbench.trials.metrics, rffbench.solvers
        np.linalg.norm = scipy.linalg.norm = lambda *_: 0.0
        rffbench.trials.metrics.SCORES = ()
        print("passed: the repeated trials have the folder's scores")
        """
    ))  # fmt: skip
    features.fit(X, Y).transform(X)
    assert (np.linalg.norm(X), scipy.linalg.norm(X), metrics.SCORES, np.cos(1.0)) == before
    assert "passed" not in "".join(capfd.readouterr())


def test_an_answer_that_a_map_forges_is_an_error(sandboxed):
    write = "os.write(each, b'passed' * 9)"
    told = f"import os\nfor each in range(3, 20):\n    try:\n        {write}\n    except OSError:\n        pass"
    features = sandboxed(doing(told))
    with pytest.raises(ValueError, match="the process of the map"):
        features.fit(X, Y).transform(X)


@pytest.mark.parametrize(
    "answer",
    [
        b"passed: all is well\n" * 9,
        pickle.dumps(print),
        struct.pack(">Q", 2**60),
        struct.pack(">Q", 2) + b"[]",
        struct.pack(">Q", 31) + b'{"columns": 10000, "number": 1} '[:31],
        struct.pack(">Q", 2000) + b"[" * 2000,
        struct.pack(">Q", 2) + b"{}",
    ],
)
def test_bytes_that_are_no_answer_are_an_error(tmp_path, answer):
    """Of a process that says them, whatever it is asked."""
    says = f"import sys; sys.stdout.buffer.write({answer!r}); sys.stdout.flush(); sys.stdin.buffer.read()"
    about = {"takes_targets": False, "fills": False}
    (tmp_path / "mine.py").write_text(stand_in([sys.executable, "-I", "-S", "-c", says], "Mine", about))
    with pytest.raises(ValueError, match="the process of the map"):
        made(tmp_path / "mine.py").fit(X, Y).transform(X)


GIVEN = {
    "np.ones((3, 3))": r"ValueError: Mine.transform must give an array of numbers \(60, 12\)",
    "'passed'": "ValueError: Mine.transform must give an array",
    "np.full((len(X), 12), None)": "ValueError: Mine.transform must give an array",
    "[][1]": "IndexError: list index out of range",
    "__import__('os')._exit(0)": "the process of the map has ended",
}


def test_features_that_are_none_are_an_error_that_says_so(sandboxed):
    given = ", ".join(f"lambda: {each}" for each in GIVEN)
    features = sandboxed(
        MINE.replace("return np.hstack", f"return [{given}][int(self.gamma)]()\n        return np.hstack")
    )
    for number, said in enumerate(GIVEN.values()):
        features.set_params(gamma=number + 0.5)
        with pytest.raises(ValueError, match=said):
            features.fit(X, Y).transform(X)


def test_the_map_sees_its_own_file_and_no_other_of_the_submission(sandboxed, tmp_path):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs/trials.jsonl").write_text("claimed")
    look = f"""
    import os
    here = os.path.dirname(__file__)
    seen = [os.listdir(here), os.path.exists({str(tmp_path)!r}), os.path.exists(os.path.join(here, "trials.jsonl"))]
    raise ValueError(repr(seen))
    """
    with pytest.raises(ValueError, match=r"\[\['mine.py'\], False, False\]"):
        sandboxed(doing(look)).fit(X, Y)


def test_a_map_that_hangs_ends_with_the_process_that_asked(sandboxed, tmp_path):
    marker = f"6666{os.getpid()}"
    sandboxed(doing(f"import subprocess\nsubprocess.run(['sleep', '{marker}'])"))
    ask = (
        "import numpy as np, sys; from rffbench.features import make_features\n"
        f"make_features({{'name': '{tmp_path}/ours/mine.py:Mine'}}, kernel='gaussian', gamma=1.0, n_features=4,"
        " count='columns', random_state=1).fit(np.ones((5, 2)), np.ones(5))"
    )
    look = ["pgrep", "-f", f"^sleep {marker}$"]
    with subprocess.Popen([sys.executable, "-c", ask]) as process:
        assert comes(lambda: subprocess.run(look, capture_output=True).stdout != b"")
        process.kill()
    assert comes(lambda: subprocess.run(look, capture_output=True).stdout == b"")


def test_a_map_says_in_the_sandbox_what_it_takes(sandboxed, tmp_path, kind):
    for line, found in (("takes_targets = True", True), ("pass", False)):
        sandboxed(MINE.replace("    def __init__", f"    {line}\n\n    def __init__", 1))
        command = command_of(tmp_path / "theirs/mine.py", "Mine", kind, tmp_path / "root")
        assert described(command) == {"takes_targets": found, "fills": False, "sparse": False}
    sandboxed(OURS)
    assert described(command) == {"takes_targets": False, "fills": True, "sparse": False}
    (tmp_path / "theirs/mine.py").write_text("raise ValueError('no map')")
    with pytest.raises(ConfigError, match=r"the map cannot be loaded: .*no map"):
        described(command)
