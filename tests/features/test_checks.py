"""``rffbench check-method`` finds what is wrong with a map, and nothing wrong with one that keeps its promises."""

import numpy as np
import pytest

from rffbench.features import FEATURES, checks
from rffbench.features.base import mapped
from rffbench.features.checks import check_map
from tests.helpers.own_file import MINE, write

RETURN = "return self.scale"


def failed(tmp_path, monkeypatch, source, only):
    """What the check ``only`` found wrong with a map; None where nothing."""
    write(tmp_path, source)
    if only != "contract":  # it takes a second
        monkeypatch.setattr(checks, "check_estimator", lambda *_, **__: [])
    if only != "rate":
        monkeypatch.setattr(checks, "errors", lambda *_: np.zeros((2, 1, 1)))
    (check,) = [each for each in check_map(f"{tmp_path}/mine.py:MyFeatures") if each.name == only]
    return None if check.ok else check.found


@pytest.mark.parametrize(
    ("check", "before", "after", "message"),
    [
        ("columns", RETURN, "return np.ones((len(X), 3))  #", "MyFeatures.transform must give an array of numbers"),
        (
            "columns",
            RETURN,
            "self.W_[0, 0] = np.nan\n        return self.scale",
            "MyFeatures.transform gives 640 numbers, of which 40 are not finite",
        ),
        ("columns", "return self\n", "return None\n", "MyFeatures.fit must return the fitted map, self, got NoneType"),
        (
            "columns",
            RETURN,
            "from scipy import sparse; return sparse.csr_array(X) #",
            "numbers (40, 16), got csr_array",
        ),
        ("columns", RETURN, "return X[:, 0] #", "an array of numbers (40, 16), got float64 (40,)"),
        ("columns", "return self\n", "X *= 2\n        return self\n", "in fit, "),
        (
            "columns",
            RETURN,
            "X -= 1\n        return self.scale",
            "MyFeatures writes to an array of its input",
        ),
        ("global seeds", RETURN, "np.random.seed(0)\n        return self.scale", "MyFeatures changes numpy's global"),
        ("global seeds", "rng =", "import random; random.seed(3)\n        rng =", "MyFeatures changes Python's global"),
        ("seed", "(self.random_state)", "(None)", "two fits with random_state=1 give different features"),
        ("dtype", RETURN, "return self.scale", "float32 gives float64; the dtype of X must be kept"),
        ("rate", "np.sqrt(2 * self.gamma)", "2 * np.sqrt(2 * self.gamma)", "a bias below 4.5 standard errors"),
        (
            "rate",
            "np.sqrt(2 * self.gamma)",
            "2 * np.sqrt(2 * self.gamma)",
            "biased by design has `unbiased = False`",
        ),
        ("rate", "(self.random_state)", "(7)", "the same for every seed, so it is all bias; required"),
        ("contract", RETURN, "return self.scale", "of scikit-learn's"),
    ],
)
def test_what_is_wrong_with_a_map_is_found(tmp_path, monkeypatch, one_thread, check, before, after, message):
    assert message in failed(tmp_path, monkeypatch, MINE.replace(before, after), check)


def test_a_rate_is_not_judged_where_the_map_says_that_it_is_biased(tmp_path, monkeypatch, one_thread):
    wrong = MINE.replace("np.sqrt(2 * self.gamma)", "2 * np.sqrt(2 * self.gamma)")
    biased = wrong.replace("    def __init__", "    unbiased = False\n\n    def __init__")
    assert failed(tmp_path, monkeypatch, biased, "rate") is None


def test_a_map_that_gives_what_cannot_be_judged_gets_one_line_about_it(tmp_path):
    spoilt = "Z = np.cos(X @ self.W_ + self.b_)\n        Z[0, 0] = np.nan\n        return Z"
    write(tmp_path, MINE.replace(RETURN, f"{spoilt} #"))
    first, *others = check_map(f"{tmp_path}/mine.py:MyFeatures")
    assert (first.ok, first.found) == (False, "MyFeatures.transform gives 640 numbers, of which 1 are not finite")
    assert [(each.ok, each.found) for each in others] == [(None, "skipped: columns must be ok first")]


def test_a_map_whose_features_no_seed_changes_is_told_so(tmp_path, monkeypatch, one_thread):
    write(tmp_path, MINE.replace("(self.random_state)", "(7)"))
    monkeypatch.setattr(checks, "check_estimator", lambda *_, **__: [])
    monkeypatch.setattr(checks, "errors", lambda *_: np.zeros((2, 1, 1)))
    (seed,) = [each for each in check_map(f"{tmp_path}/mine.py:MyFeatures") if each.name == "seed"]
    assert (seed.ok, seed.found[:39]) == (True, "every seed gives the same features: rig")


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fit", "transform"])
@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("__import__('sys').exit(0)", "it ends the process"),
        ("__import__('os')._exit(0)", "it ends the process"),
        ("raise KeyboardInterrupt", "it raises KeyboardInterrupt"),
    ],
)
def test_a_map_that_ends_the_command_is_told_so(rffbench, tmp_path, method, does, said):
    begins = {"fit": "rng =", "transform": RETURN}[method]
    write(tmp_path, MINE.replace(begins, f"{does}\n        {begins}"))
    done = rffbench("check-method", "./mine.py:MyFeatures")
    assert (done.returncode, done.stdout.count("FAILED"), done.stderr) == (1, 1, "")
    assert f"FAILED  columns       feature map './mine.py:MyFeatures': in {method}, " in done.stdout
    assert f": {said}\n" in done.stdout


@pytest.mark.slow
def test_the_command_prints_a_line_for_each_check_and_exits_with_1_where_one_fails(rffbench, tmp_path):
    write(tmp_path)
    done = rffbench("check-method", "fourier")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 7)
    done = rffbench("check-method", "./mine.py:MyFeatures")
    assert done.returncode == 1
    assert "FAILED  dtype" in done.stdout
    assert rffbench("check-method", "./nine.py:MyFeatures").returncode == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", FEATURES)
def test_every_built_in_map_passes(name, monkeypatch, one_thread):
    if name != "fourier":  # the contract takes longest, and test_every_map.py has each class keep it
        monkeypatch.setattr(checks, "check_estimator", lambda *_, **__: [])
    assert [check.name for check in check_map(name) if not check.ok] == []


def test_columns_of_longdouble_are_rounded_to_float64():
    class Long:
        def transform(self, X):
            return X.astype(np.longdouble) / 3

    Z = mapped(Long(), np.ones((2, 1)))
    assert Z.dtype == np.float64
    assert (Z == 1 / 3).all()
