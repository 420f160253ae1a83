"""A feature map in a file of the user's own: named by a config, told apart by its source, not by where it lies."""

import json
import os
import re
import signal
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
from numpy.random import SeedSequence

from rffbench import RandomFourierFeatures
from rffbench.config.loading import load_experiment, load_resolved
from rffbench.errors import ConfigError
from rffbench.features import make_features
from tests.helpers.own_file import MINE, write


def key_of(path):
    (spec,) = [spec for spec in load_experiment(path).grid() if spec.method == "Mine"]
    return spec.key


def made(path, random_state=None):
    return make_features(
        {"name": f"{path}:MyFeatures"}, kernel="gaussian", gamma=0.5, n_features=4, random_state=random_state
    )


@pytest.mark.slow
def test_a_run_measures_a_map_in_a_file_found_from_the_config_s_folder(rffbench, tmp_path):
    write(tmp_path / "deep")
    done = rffbench("run", "deep/own.yaml")
    assert (done.returncode, done.stderr.splitlines()[-1]) == (0, "2 trials ok")
    assert (tmp_path / "results/own/mine.py").read_text() == MINE
    written = (tmp_path / "results/own/config.yaml").read_text() + (tmp_path / "results/own/trials.jsonl").read_text()
    assert str(tmp_path) not in written
    rows = [json.loads(line) for line in (tmp_path / "results/own/trials.jsonl").read_text().splitlines()]
    assert {"name": "./mine.py:MyFeatures", "scale": 2.0} in [row["features"] for row in rows]
    assert "Mine" in rffbench("table", "results/own").stdout
    again = rffbench("run", "results/own/config.yaml")  # the folder has all that it takes
    assert len((tmp_path / "results/own/trials.jsonl").read_text().splitlines()) == 2, again.stderr


@pytest.mark.slow
def test_versions_of_an_edited_map_are_compared_also_over_a_sweep_of_its_parameter(rffbench, tmp_path):
    write(tmp_path, trials=2, sweep={"methods.Mine.scale": [1.0, 2.0]})
    assert rffbench("run", "own.yaml").returncode == 0
    (tmp_path / "mine.py").write_text(MINE.replace("np.cos", "np.sign"))
    assert "./mine.py:MyFeatures has been edited; they are kept in" in rffbench("run", "own.yaml").stderr
    found = rffbench("diff", "results/own@source:1", "results/own")
    assert "The file ./mine.py differs between results/own@source:1" in " ".join(found.stdout.split())
    assert "2 are unchanged" in " ".join(found.stdout.split())
    missing = rffbench("diff", "results/own@source:3", "results/own")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "results/own has source:1 (./mine.py, " in missing.stderr


def test_a_key_depends_on_the_source_and_not_on_where_the_file_lies(tmp_path):
    assert key_of(write(tmp_path / "a")) == key_of(write(tmp_path / "b/c"))
    assert key_of(write(tmp_path / "a", MINE + "# edited\n")) != key_of(write(tmp_path / "b/c"))


def test_the_key_of_a_built_in_map_has_no_source(tmp_path):
    spec = load_experiment(write(tmp_path)).grid()[0]
    assert (spec.method, spec.to_dict()["source"]) == ("RFF", None)


def test_parameters_may_stand_with_the_name(tmp_path):
    beside = key_of(write(tmp_path / "a"))
    inside = {"RFF": {"features": "fourier"}, "Mine": {"features": {"name": "./mine.py:MyFeatures", "scale": 2.0}}}
    assert key_of(write(tmp_path / "b", methods=inside)) == beside


def test_a_resolved_config_beside_its_file_is_the_same_experiment(tmp_path):
    sweep = {"map": {"mine": {}, "other": {"methods": {"RFF": {"features": "./mine.py:MyFeatures"}}}}}
    experiment = load_experiment(write(tmp_path / "a", sweep=sweep))
    again = write(tmp_path / "b")
    again.write_text(experiment.to_yaml())
    assert str(tmp_path) not in experiment.to_yaml()
    assert [spec.key for spec in load_experiment(again).grid()] == [spec.key for spec in experiment.grid()]
    names = [config["methods"]["RFF"]["features"] for _, config in load_resolved(again)]
    assert names == ["fourier", "./mine.py:MyFeatures"]


def test_only_what_the_constructor_has_is_passed_and_seeds_are_whole_numbers(tmp_path):
    write(tmp_path)
    features = made(tmp_path / "mine.py", SeedSequence(3))
    assert (features.gamma, features.n_components, hasattr(features, "kernel")) == (0.5, 4, False)
    np.random.RandomState(features.random_state)
    assert features.random_state == made(tmp_path / "mine.py", SeedSequence(3)).random_state
    stream = make_features(
        {"name": "fourier"}, kernel="gaussian", gamma=1.0, n_features=4, random_state=SeedSequence(3)
    )
    assert isinstance(stream.random_state, SeedSequence)  # built-in maps are paired by the stream itself


def test_a_subclass_of_a_built_in_map_is_paired_with_it(tmp_path):
    source = "from rffbench import RandomFourierFeatures\n\nclass MyFeatures(RandomFourierFeatures):\n    pass\n"
    write(tmp_path, source)
    X = np.eye(3)
    mine = made(tmp_path / "mine.py", SeedSequence(3)).fit(X)
    theirs = RandomFourierFeatures(8, gamma=0.5, random_state=SeedSequence(3)).fit(X)
    np.testing.assert_array_equal(mine.frequencies_, theirs.frequencies_)


def line_of(text, source=MINE):
    return source[: source.index(text)].count("\n") + 1


INIT = "self.scale = scale"
RAISES = MINE.replace(INIT, f'{INIT}\n        raise KeyError("no such thing")')


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = 1\nimport nonesuch\n", r"mine\.py, line 2: ModuleNotFoundError: No module named 'nonesuch'"),
        ("x = 1\ndef f(:\n", r"mine\.py, line 2: SyntaxError: invalid syntax"),
        ("import sys\nsys.exit(3)\n", r"mine\.py, line 2: it ends the process when it is imported"),
        ("import os\nos._exit(0)\n", r"mine\.py, line 2: it ends the process when it is imported"),
        ("x = 1\nraise BaseException('stop')\n", r"mine\.py, line 2: BaseException: stop"),
        (MINE.replace("MyF", "MyOtherF"), r"unknown class 'MyFeatures'; did you mean 'MyOtherFeatures'"),
        ("def MyFeatures(): pass\n", r"that is not a class"),
        ("class MyFeatures:\n    pass\n", r"has no fit, transform, get_params, set_params: derive the class from"),
        (MINE.replace("n_components", "columns"), r"its constructor has no n_components"),
        (RAISES, rf"mine\.py, line {line_of('raise', RAISES)}: KeyError: 'no such thing'"),
        (MINE.replace("n_components=100, gamma=1.0,", "n_components, bias, gamma=1.0,"), r"bias must have a default"),
        (
            MINE.replace('    """Cosines', '    columns_per_frequency = 0\n    """Cosines'),
            r"columns_per_frequency must be a whole",
        ),
        (MINE.replace("scale", "size"), r"unknown parameter of feature map './mine\.py:MyFeatures': 'scale'"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_with_its_line_before_anything_runs(tmp_path, source, message):
    alone = {} if "size=1.0" in source else {"methods": {"Mine": {"features": "./mine.py:MyFeatures"}}}
    config = write(tmp_path, source, **alone)
    with pytest.raises(ConfigError, match=message) as caught:
        load_experiment(config)
    assert re.match(rf"{re.escape(str(config))}, line \d+: methods\.Mine", str(caught.value))


def test_a_missing_file_and_a_file_without_a_class_are_told(tmp_path):
    config = write(tmp_path, methods={"Mine": {"features": "./nine.py:MyFeatures"}})
    with pytest.raises(ConfigError, match=r"nine\.py: cannot be read: No such file"):
        load_experiment(config)
    config = write(tmp_path, methods={"Mine": {"features": "./mine.py"}})
    with pytest.raises(ConfigError, match=r"say which class of the file is meant, for example mine\.py:MyFeatures"):
        load_experiment(config)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_is_not_waited_for(tmp_path):
    config = write(tmp_path, methods={"Mine": {"features": "./pipe.py:MyFeatures"}})
    os.mkfifo(tmp_path / "pipe.py")
    with pytest.raises(ConfigError, match=r"pipe\.py: cannot be read: is not a regular file"):
        load_experiment(config)


def test_two_files_of_one_name_are_refused(tmp_path):
    write(tmp_path / "other")
    methods = {"A": {"features": "./mine.py:MyFeatures"}, "B": {"features": "other/mine.py:MyFeatures"}}
    with pytest.raises(ConfigError, match=r"have one name, by which results name them"):
        load_experiment(write(tmp_path, methods=methods))


@pytest.mark.slow
def test_a_failure_names_the_file_without_its_folder(rffbench, tmp_path):
    write(
        tmp_path / "deep",
        MINE.replace("return self.scale", 'raise ValueError(f"in {__file__}")\n        return self.scale'),
    )
    assert rffbench("run", "deep/own.yaml").returncode == 1
    log = (tmp_path / "results/own/trials.jsonl").read_text()
    assert 'File \\"mine.py\\", line' in log
    assert str(tmp_path) not in log


def test_an_edit_while_a_run_goes_on_fails_its_trials(tmp_path, embedded, one_thread):
    from rffbench.trials.single import run_trial

    spec = load_experiment(write(tmp_path)).grid()[1]
    Path(tmp_path / "mine.py").write_text(MINE + "# edited\n")
    with pytest.raises(ConfigError, match=r"\./mine\.py:MyFeatures has been edited since the run started"):
        run_trial(spec)


FAULTY = (
    MINE
    + """

def helper(X):
    return X / X.nonesuch


class FailsInFit(MyFeatures):
    def fit(self, X, y=None):
        return helper(np.asarray(X))


class FailsInTransform(MyFeatures):
    def transform(self, X):
        return {}["no such key"]


class ReturnsNothing(MyFeatures):
    def fit(self, X, y=None):
        super().fit(X, y)


class Ends(MyFeatures):
    def fit(self, X, y=None):
        raise SystemExit(0)


class TakesAllMemory(MyFeatures):
    def transform(self, X):
        return np.ones(2**50)


from rffbench import RandomFourierFeatures


class FailsDeepInside(RandomFourierFeatures):
    def draw(self, count, d):
        return 1 / 0
"""
)


def test_an_error_in_a_map_s_method_says_which_map_which_method_and_which_line(rffbench, tmp_path):
    names = ("FailsInFit", "FailsInTransform", "Ends", "TakesAllMemory", "FailsDeepInside", "ReturnsNothing")
    methods = {name: {"features": f"./mine.py:{name}"} for name in names}
    write(tmp_path / "deep", FAULTY, methods=methods)
    done = rffbench("run", "deep/own.yaml")
    assert done.returncode == 1
    rows = [json.loads(line) for line in (tmp_path / "results/own/trials.jsonl").read_text().splitlines()]
    errors = {row["method"]: row["error"] for row in rows}
    expected = {
        "FailsInFit": ("in fit", "X.nonesuch", "AttributeError: 'numpy.ndarray' object has no attribute 'nonesuch'"),
        "FailsInTransform": ("in transform", '["no such key"]', "KeyError: 'no such key'"),
        "Ends": ("in fit", "raise SystemExit", "it ends the process"),
        "FailsDeepInside": ("in fit", "1 / 0", "ZeroDivisionError: division by zero"),
    }
    for name, (method, text, said) in expected.items():
        message = f"feature map './mine.py:{name}': {method}, mine.py, line {line_of(text, FAULTY)}: {said}"
        assert (errors[name]["message"], errors[name]["type"] in (said, "SystemExit")) == (message, name == "Ends")
        assert message in done.stderr
    assert errors["ReturnsNothing"]["message"] == "ReturnsNothing.fit must return the fitted map, self, got NoneType"
    assert "in transform, mine.py, line" in errors["TakesAllMemory"]["message"]
    assert {row["method"]: row["status"] for row in rows}["TakesAllMemory"] == "out-of-memory"
    assert "Traceback" not in done.stderr


def test_what_a_file_prints_is_no_result_and_the_folder_it_changes_to_is_left(rffbench, tmp_path):
    noisy = "import os\nprint('imported')\nos.chdir('/')\n" + MINE.replace(INIT, f"{INIT}; print('made')")
    checked = rffbench("validate", write(tmp_path, noisy).name)
    assert checked.stdout == "own.yaml: OK; 2 trials\n"
    assert {"imported", "made"} <= set(checked.stderr.split())


def test_a_map_that_raises_what_ctrl_c_does_fails_its_trial_and_the_run_goes_on(rffbench, tmp_path):
    methods = {"Mine": {"features": "./mine.py:MyFeatures"}, "RFF": {"features": "fourier"}}
    write(tmp_path, MINE.replace("rng =", "raise KeyboardInterrupt\n        rng ="), methods=methods)
    done = rffbench("run", "own.yaml")
    assert done.returncode == 1
    assert "1 trial ok, 1 failed" in done.stderr
    line = line_of("raise KeyboardInterrupt", (tmp_path / "mine.py").read_text())
    where = f"feature map './mine.py:MyFeatures': in fit, mine.py, line {line}"
    assert f"1 × error: {where}: it raises KeyboardInterrupt (Mine on breast-cancer)\n" in done.stderr


def test_a_file_that_crashes_python_is_told_with_its_line(rffbench, tmp_path):
    write(tmp_path, "import os\n\nos.abort()\n")
    done = rffbench("validate", "own.yaml")
    assert done.returncode == -signal.SIGABRT
    assert f'File "{tmp_path / "mine.py"}", line 3 in <module>' in done.stderr


def test_what_a_file_forks_may_end_itself(rffbench, tmp_path):
    forks = "import os\nif not (child := os.fork()):\n    os._exit(7)\n"
    write(tmp_path, forks + "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7\n" + MINE)
    assert rffbench("validate", "own.yaml").returncode == 0


def test_an_error_in_a_plug_in_s_map_says_which_line_too(tmp_path, monkeypatch):
    from rffbench.plugins import registry as module

    (tmp_path / "faulty_package.py").write_text(FAULTY)
    monkeypatch.syspath_prepend(tmp_path)
    registry = module.Registry("feature map", {}, "", common=(), none="")
    monkeypatch.setattr(module, "entry_points", lambda group: [EntryPoint("fit", "faulty_package:FailsInFit", group)])
    recipe = registry.recipe("fit", {})
    features = recipe.make()
    with pytest.raises(AttributeError) as caught:
        features.fit(np.eye(2))
    assert recipe.blame(caught.value, features) == (
        f"feature map 'fit': in fit, {tmp_path / 'faulty_package.py'}, line {line_of('X.nonesuch', FAULTY)}: "
        "AttributeError: 'numpy.ndarray' object has no attribute 'nonesuch'"
    )
    with pytest.raises(KeyError) as elsewhere:
        {}["x"]
    assert recipe.blame(elsewhere.value, features) == ""


def test_checking_a_method_says_which_line_fails(rffbench, tmp_path):
    write(tmp_path, FAULTY)
    checked = rffbench("check-method", "./mine.py:FailsInFit")
    assert checked.returncode == 1
    assert f"in fit, {tmp_path / 'mine.py'}, line {line_of('X.nonesuch', FAULTY)}: AttributeError" in checked.stdout


def test_a_map_that_asks_other_processes_for_help_is_told_of_threads(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import pickle\n\nclass Mine:\n"
        "    def __init__(self, n_components=2):\n        raise pickle.PicklingError('Could not pickle the task')\n"
    )
    name = f"{tmp_path}/mine.py:Mine"
    with pytest.raises(ConfigError, match=r"PicklingError.*use threads, as joblib's Parallel\(prefer='threads'\)"):
        make_features({"name": name}, kernel="gaussian", gamma=0.5, n_features=4)
