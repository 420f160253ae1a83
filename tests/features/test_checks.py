"""``rffbench check-method`` finds what is wrong with a map, and nothing wrong with one that keeps its promises."""

import pytest

from rffbench.features import FEATURES, checks
from rffbench.features.checks import check_map
from tests.helpers.own_file import MINE, write

RETURN = "return self.scale"


def failed(tmp_path, monkeypatch, source, only):
    """What the check ``only`` found wrong with a map; None where nothing."""
    write(tmp_path, source)
    if only != "contract":  # it takes a second
        monkeypatch.setattr(checks, "_contract", lambda features: (True, ""))
    if only != "rate":
        monkeypatch.setattr(checks, "_rate", lambda features, kernel: (True, ""))
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
        ("columns", "return self\n", "X *= 2\n        return self\n", "in fit, "),
        ("seed", RETURN, "X -= 1\n        return self.scale", "ValueError: output array is read-only"),
        ("global seeds", RETURN, "np.random.seed(0)\n        return self.scale", "MyFeatures changes numpy's global"),
        ("global seeds", "rng =", "import random; random.seed(3)\n        rng =", "MyFeatures changes Python's global"),
        ("seed", "(self.random_state)", "(None)", "two fits with random_state=1 give different features"),
        ("dtype", RETURN, "return self.scale", "float32 gives float64; the dtype of X must be kept"),
        ("rate", "np.sqrt(2 * self.gamma)", "2 * np.sqrt(2 * self.gamma)", "the largest bias"),
        ("contract", RETURN, "return self.scale", "of scikit-learn's"),
    ],
)
def test_what_is_wrong_with_a_map_is_found(tmp_path, monkeypatch, one_thread, check, before, after, message):
    assert message in failed(tmp_path, monkeypatch, MINE.replace(before, after), check)


def test_a_rate_is_not_judged_where_the_map_says_that_it_is_biased(tmp_path, monkeypatch, one_thread):
    wrong = MINE.replace("np.sqrt(2 * self.gamma)", "2 * np.sqrt(2 * self.gamma)")
    biased = wrong.replace("    def __init__", "    unbiased = False\n\n    def __init__")
    assert failed(tmp_path, monkeypatch, biased, "rate") is None


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
def test_every_built_in_map_passes(name, one_thread):
    assert [check.name for check in check_map(name) if not check.ok] == []
