"""What is said of a feature map or a solver is what it does: every one there is, built in or another package's."""

import inspect
import signal
import sys
from importlib.metadata import EntryPoint
from types import ModuleType
from typing import Literal

import pytest
import yaml
from click.testing import CliRunner
from sklearn.base import BaseEstimator

from rffbench import RandomFourierFeatures, features, solvers
from rffbench.cli import cli
from rffbench.config.experiment import Experiment
from rffbench.config.loading import load_experiment
from rffbench.config.schema import OWN_FILE, json_schema
from rffbench.errors import ConfigError
from rffbench.features.hooks import hook
from rffbench.io.resources import shipped_configs
from rffbench.kernels import KERNELS
from rffbench.kernels.served import kernels_served
from rffbench.plugins import guarded, registry
from rffbench.plugins.registry import NONE, Registry
from tests.helpers.own_file import MINE, write

SHIPPED = shipped_configs()


class AddedMap(BaseEstimator):
    """A map of another package.

    Parameters
    ----------
    depth : how deep.
    """

    def __init__(self, n_components=2, *, depth: int = 3, kernel="gaussian", gamma=1.0, random_state=None):
        self.n_components = n_components
        self.depth = depth
        self.kernel = kernel
        self.gamma = gamma
        self.random_state = random_state


class AddedSolver(BaseEstimator):
    """Made by the factory below."""

    def __init__(self, **made):
        self.__dict__ |= made


def added_solver(*, task, features=None, lambda_: list[float] = (0.5,), mode: Literal["fast", "exact"] = "fast"):
    """A solver of another package.

    Parameters
    ----------
    mode : how it goes about it,
        in two lines.
    """
    return AddedSolver(**{"lambda": lambda_, "mode": mode})


def needless_solver(*, task, kernel):
    """One that takes no map."""
    return AddedSolver()


def listing_solver(**given):
    return AddedSolver(**given)


listing_solver.parameters = {"depth": 3, "lambda": [0.1, 1.0]}

SOLVERS = {"added": "added_solver", "needless": "needless_solver", "listing": "listing_solver"}


@pytest.fixture(autouse=True)
def plug_ins(monkeypatch):
    """A package with a map and three solvers, and one that is broken."""
    package = ModuleType("a_package")
    package.__dict__.update(AddedMap=AddedMap, **{each: globals()[each] for each in SOLVERS.values()})
    monkeypatch.setitem(sys.modules, "a_package", package)
    found = {
        "rffbench.features": {"added": "a_package:AddedMap"},
        "rffbench.solvers": {name: f"a_package:{each}" for name, each in SOLVERS.items()},
    }

    def entry_points(group):
        points = {**found.get(group, {}), "broken": "no_such_package:thing"}
        return [EntryPoint(name, value, group) for name, value in points.items()]

    monkeypatch.setattr(registry, "entry_points", entry_points)


def alternatives(schema, what, key):
    named = [each for each in schema["$defs"][what]["oneOf"] if each != OWN_FILE]
    return {each["properties"][key]["const"]: each for each in named}


def in_use(known: Registry, added):
    return [name for name in [*known.names(), *added] if name != NONE]


MAPS = in_use(features.MAPS, ["added"])
LEARNERS = in_use(solvers.SOLVERS, SOLVERS)


@pytest.mark.parametrize("name", MAPS)
def test_the_defaults_that_are_listed_are_those_of_a_map_that_is_given_none(name):
    kernel = kernels_served(features.served(name).kernels)[0]
    given = {"name": name}  # as a config has it
    made = features.make_features(
        given, kernel=kernel, gamma=0.5 if KERNELS[kernel].has_bandwidth else 1.0, n_features=16
    )
    listed = next(row for row in features.describe() if row["name"] == name)["parameters"]
    assert {key: getattr(made, key) for key in listed} == listed
    assert set(listed) == set(made.get_params(deep=False)) - {"n_components", "kernel", "gamma", "random_state"}


@pytest.mark.parametrize("name", LEARNERS)
def test_the_defaults_that_are_listed_are_those_of_a_solver_that_is_given_none(name):
    listed = next(row for row in solvers.describe() if row["name"] == name)["parameters"]
    wanted = {"task": "classification", "n_features": 200}
    made, told = (vars(solvers.make_solver({"name": name, **given}, **wanted)) for given in ({}, listed))
    assert made == told
    called = {"lambda": "alphas" if "alphas" in made else "alpha"}
    for key, value in listed.items():
        if key in made or called.get(key) in made:
            assert made[key if key in made else called[key]] == value
    full = {"name": name, **listed}
    assert solvers.spec({"name": name}) == full


@pytest.mark.parametrize("name", ["ridge", "kernel-ridge", "kernel-svm", "linear-svm", "sparse-rf", "boosting"])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_built_in_solver_s_defaults_are_those_of_its_estimator_in_python(name, task):
    try:
        made = solvers.make_solver({"name": name}, task=task, n_features=1000)
    except ConfigError as error:
        assert "is for classification" in str(error)  # noqa: PT017
        return
    own = {key: each.default for key, each in inspect.signature(type(made)).parameters.items()}
    listed = solvers.parameters(name)
    for key in listed.keys() & own.keys():
        assert own[key] == listed[key] == getattr(made, key)


@pytest.mark.parametrize(
    ("what", "key", "known"), [("Method", "features", features.MAPS), ("Solver", "name", solvers.SOLVERS)]
)
def test_the_schema_lists_every_one_with_its_own_keys_defaults_and_values(what, key, known):
    listed = alternatives(json_schema(), what, key)
    assert list(listed) == known.names()
    for row in known.describe():
        each = listed[row["name"]]
        assert each["description"] == row["summary"]
        assert each["additionalProperties"] is False
        own = {name: value for name, value in each["properties"].items() if name in row["parameters"]}
        assert {name: value["default"] for name, value in own.items()} == row["parameters"]
        if not row["name"].startswith(("added", "needless", "listing", "broken")):
            assert all(value.get("description") for value in own.values())
            assert all(set(value) & {"type", "enum", "anyOf", "const"} for value in own.values())


def test_the_schema_tells_a_plug_in_s_types_values_and_descriptions():
    schema = json_schema()
    mode = alternatives(schema, "Solver", "name")["added"]["properties"]["mode"]
    assert mode["enum"] == ["fast", "exact"]
    assert mode["description"] == "how it goes about it, in two lines."
    depth = alternatives(schema, "Method", "features")["added"]["properties"]["depth"]
    assert depth == {"description": "how deep.", "type": "integer", "default": 3}
    assert alternatives(schema, "Solver", "name")["listing"]["properties"]["depth"] == {"default": 3}
    assert "cannot be loaded" in alternatives(schema, "Solver", "name")["broken"]["description"]


def written(config):
    """The raw settings of every map and of every solver in a shipped config, with what they are settings of."""
    for method in config["methods"].values():
        yield "Method", method["features"], method
        if method.get("solver"):
            yield "MethodSolver", method["solver"].get("name"), method["solver"]
    if "solver" in config:
        yield "Solver", config["solver"].get("name", "ridge"), config["solver"]


def unknown(settings, keys):
    return [key for key, value in settings.items() if key not in keys or value not in keys[key].get("enum", [value])]


def test_the_schema_takes_the_keys_of_every_config_that_ships():
    schema, wrong = json_schema(), {}
    for config, path in SHIPPED.items():
        raw = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
        for what, name, settings in written(raw):
            (keys,) = (
                each["properties"] for each in schema["$defs"][what]["oneOf"]
                if each["properties"].get("features" if what == "Method" else "name", {}).get("const") == name
            )  # fmt: skip
            assert "lamda" not in keys
            if found := unknown(settings, keys):
                wrong[config, what, name] = found
    assert not wrong


CONFIG = {
    "name": "x", "datasets": ["digits"], "n_features": [100], "trials": 1, "methods": {"A": {"features": "added"}},
}  # fmt: skip


def experiment(**changes):
    return Experiment.model_validate({**CONFIG, **changes})


@pytest.mark.parametrize(
    ("features", "solver", "message"),
    [
        ("added", "needless", "the solver needless takes no feature map"),
        ("none", "needless", None),
        ("added", "added", None),
        ("none", "added", None),
        ("fourier", "listing", None),
        ("none", "listing", None),
        ("fourier", "boosting", "the solver boosting takes no feature map"),
        ("none", "linear-svm", "the solver linear-svm needs a feature map, not none"),
    ],
)
def test_a_solver_s_factory_says_whether_it_takes_a_map(features, solver, message):
    asked = {"methods": {"A": {"features": features}}, "solver": {"name": solver}}
    if message is None:
        (spec,) = experiment(**asked).grid()
        assert (spec.features["name"], spec.solver["name"]) == (features, solver)
        return
    with pytest.raises(ValueError, match=message):
        experiment(**asked)


def test_a_wrong_name_or_key_of_a_plug_in_gets_the_nearest():
    for known in (features.MAPS, solvers.SOLVERS):
        with pytest.raises(ConfigError, match=r"unknown .* 'aded'; did you mean 'added'"):
            known.factory("aded")
    with pytest.raises(ConfigError, match="unknown parameter of solver 'added': 'mod'; did you mean 'mode'") as error:
        solvers.check_solver({"name": "added", "mod": 1})
    assert error.value.parameter == "mod"


def test_a_factory_s_parameter_without_a_default_is_named():
    known = Registry("solver", {"x": "inspect:signature"}, "", common=(), none="")
    with pytest.raises(ConfigError, match="solver 'x' cannot be used in a config: its obj has no default"):
        known.defaults("x")


BREAKS = {
    "raises": ("raise RuntimeError('no driver')", "RuntimeError: no driver"),
    "is_no_python": ("def", "SyntaxError"),
    "leaves": ("import sys; sys.exit()", "it ends the process when it is imported"),
    "stops": ("raise BaseException('stop')", "BaseException: stop"),
    "waits": (
        "import signal\nwhile True:\n    try: signal.pause()\n    except Exception: pass",
        "it is not imported after",
    ),
    "is_text": ("factory = 'text'", "is neither a class nor a function"),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_package_that_cannot_be_loaded_is_named_where_it_is_used_and_in_listings_alone(name, tmp_path, monkeypatch):
    code, problem = BREAKS[name]
    (tmp_path / f"{name}.py").write_text(code)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(guarded, "IMPORT_S", 0.2)
    point = EntryPoint("broken", f"{name}:factory", "rffbench.features")
    monkeypatch.setattr(registry, "entry_points", lambda group: [point] if group == point.group else [])
    with pytest.raises(ConfigError, match=rf"'broken'.* {name}:factory.*{problem}"):
        features.MAPS.factory("broken")
    rows = {row["name"]: row for row in features.describe()}
    assert problem in rows["broken"]["summary"]
    assert rows["fourier"]["parameters"]
    assert features.MAPS.recipe("fourier", {}).make(n_components=4).n_components == 4


def test_a_class_whose_objects_are_never_put_away_is_waited_for_once_and_refused(tmp_path, monkeypatch):
    (tmp_path / "stays.py").write_text(
        "import signal\nclass Stays:\n    def __init__(self, n_components=1): pass\n"
        "    def __del__(self): signal.pause()\n"
        "class Kept(Stays): pass\nclass Goes(Stays):\n    gone = []\n    def __del__(self): Goes.gone.append(1)\n"
    )
    monkeypatch.setattr(guarded, "PUT_AWAY_S", 0.2)
    for name in ("Stays", "Kept"):
        reference = f"{tmp_path / 'stays.py'}:{name}"
        for _ in range(2):
            with pytest.raises(
                ConfigError, match=rf"'./stays.py:{name}': in __del__: .*, line 4: it is not done after"
            ):
                features.MAPS.recipe(reference, {}).make()
    assert features.MAPS.recipe(f"{tmp_path / 'stays.py'}:Goes", {}).make().gone == [1]


@pytest.mark.slow
def test_a_package_that_describes_itself_wrongly_does_not_stop_the_listing(monkeypatch, tmp_path):
    (tmp_path / "odd_maps.py").write_text(
        "class Odd:\n    choices = 5\n    def __init__(self, n_components=1, depth=3): pass\n"
        "class Object:\n    def __init__(self, n_components=1, model=object): pass\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    points = [EntryPoint(name, f"odd_maps:{name}", "rffbench.features") for name in ("Odd", "Object")]
    monkeypatch.setattr(registry, "entry_points", lambda group: points if group == "rffbench.features" else [])
    rows = {row["name"]: row for row in features.describe()}
    assert rows["Odd"]["summary"] == "cannot be described: AttributeError: 'int' object has no attribute 'get'"
    listed = CliRunner().invoke(cli, ["methods"], standalone_mode=False)
    assert listed.return_value == 0, listed.exception
    assert "model: \"<class 'object'>\"" in listed.output


def test_a_timer_that_was_running_goes_on_after_a_package_is_loaded(tmp_path, monkeypatch):
    (tmp_path / "in_time.py").write_text("factory = dict")
    monkeypatch.syspath_prepend(str(tmp_path))
    signal.setitimer(signal.ITIMER_REAL, 60)
    try:
        registry.load_added(EntryPoint("some", "in_time:factory", "rffbench.features"))
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 60
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


ANSWERS = {
    "gives 5": "return 5",
    "gives None": "return None",
    "gives <function": "return lambda *a, **k: self",
    "raises KeyError": "return self.__dict__[name]",
    "raises RecursionError": "return getattr(self, name)",
}


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("of", ["object", "class"])
def test_a_class_that_answers_to_every_name_is_refused(tmp_path, answer, of):
    other = f"    def __getattr__(self, name):\n        {ANSWERS[answer]}\n"
    source = (
        MINE.replace("BaseEstimator):", "BaseEstimator, metaclass=Meta):") if of == "class" else MINE + "\n" + other
    )
    source = source.replace("\n\nclass MyFeatures", f"\n\nclass Meta(type):\n{other}\n\nclass MyFeatures")
    with pytest.raises(ConfigError, match=rf"__getattr__ of MyFeatures {answer}.* must raise AttributeError"):
        load_experiment(write(tmp_path, source)).grid()


def test_the_hooks_of_a_wrapped_map_are_not_those_of_its_wrapper():
    class Wrapper:
        def __init__(self, inner):
            self.inner = inner

        def __getattr__(self, name):
            return getattr(self.inner, name)

    inner = RandomFourierFeatures(8)
    assert hook(inner, "base") is not None
    assert hook(Wrapper(inner), "base") is None
    assert Wrapper(inner).n_components == 8
