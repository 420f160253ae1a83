"""What maps and solvers say they serve, and the one refusal of what they do not."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from rffbench import QuasiMonteCarloFeatures, features, solvers
from rffbench.cli import cli
from rffbench.errors import ConfigError
from rffbench.features.hooks import Hooks, hook
from rffbench.kernels import KERNELS, ArcCosineKernel, MaternKernel
from rffbench.kernels.served import kernels_served
from rffbench.plugins.parts import LETTERS, SolverServes, evaluated, letters_of, printed
from rffbench.plugins.registry import NONE
from tests.helpers.tiny_config import TINY

PACKAGE = Path(features.__file__).parents[1]
MAPS = [name for name in features.FEATURES if name != NONE]
QMC_NEEDS = "needs a kernel with a product density; perceptron has none; gaussian, laplacian, cauchy have"


def test_one_sentence_refuses_a_kernel_in_python_validate_and_run(tmp_path):
    with pytest.raises(ValueError, match=f"^QuasiMonteCarloFeatures {QMC_NEEDS}"):
        QuasiMonteCarloFeatures(8, kernel="perceptron").fit([[0.0], [1.0]])
    config = tmp_path / "tiny.yaml"
    config.write_text(TINY.replace("{name: gaussian, sigma: 2.0}", "{name: perceptron}").replace("fourier", "qmc"))
    for command in (["validate", str(config)], ["run", str(config), "--results", str(tmp_path / "r")]):
        done = CliRunner().invoke(cli, command)
        assert isinstance(done.exception, ConfigError), done.output
        assert re.search(rf"tiny.yaml, line 7: methods.RFF: qmc {QMC_NEEDS}", str(done.exception))
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("name", MAPS)
def test_a_map_makes_features_for_just_the_kernels_that_it_says_it_serves(name):
    for kernel in KERNELS:
        parameters = {"name": name}
        if kernel in kernels_served(features.served(name).kernels):
            assert features.make_features(parameters, kernel=kernel, gamma=1.0, n_features=8) is not None
        else:
            with pytest.raises(ConfigError, match=rf"^{name} needs .*{kernel}") as refused:
                features.make_features(parameters, kernel=kernel, gamma=1.0, n_features=8)
            assert refused.value.parameter == "kernel"


def test_a_kernel_that_is_given_as_an_object_is_judged_by_its_traits():
    with pytest.raises(ValueError, match="needs a kernel with a product density; matern has none"):
        QuasiMonteCarloFeatures(8, kernel=MaternKernel(nu=1.5)).fit([[0.0], [1.0]])


def test_a_solver_refuses_a_task_and_a_kernel_that_it_does_not_serve():
    with pytest.raises(ConfigError, match="'kernel-svm' is for classification; for regression use 'kernel-ridge'"):
        solvers.make_solver({"name": "kernel-svm"}, task="regression")
    with pytest.raises(
        ConfigError, match="sparse-rf needs a kernel with a spectral density or random half-spaces; arc"
    ):
        solvers.make_solver({"name": "sparse-rf"}, task="regression", kernel=ArcCosineKernel(), n_features=100)


# ---- Costs -----------------------------------------------------------------------------------------------------------


def test_a_formula_is_evaluated_and_printed():
    assert evaluated("n*l**2 + 8*l**3/3 + log2(N)", {"n": 2, "l": 3, "N": 8}) == 18 + 72 + 3
    assert printed("n*l**2 + s*log2(N) - 1") == "n·l² + s·log₂ N − 1"
    with pytest.raises(ValueError, match="formula n\\*q has q, which has no value"):
        evaluated("n*q", {"n": 1})


@pytest.mark.parametrize("name", MAPS)
def test_every_letter_of_a_map_s_cost_is_explained(name):
    serves = features.served(name)
    kernel = kernels_served(serves.kernels)[0]
    made = features.make_features({"name": name}, kernel=kernel, gamma=1.0, n_features=8)
    own = hook(made, "letters")
    known = LETTERS.keys() | (own(3).keys() if own else set())
    assert letters_of(serves.row_cost) | letters_of(serves.fit_cost) <= known
    assert serves.source


@pytest.mark.parametrize("name", solvers.BUILT_IN)
def test_every_solver_says_what_it_serves(name):
    declared = solvers.SOLVERS.factory(name).serves
    assert isinstance(declared, SolverServes)
    needs = solvers.SOLVERS.needs(name, "features")  # None: it may have a map, and learns on the kernel without
    assert (declared.uses == "features") == (needs is not False)
    assert (declared.without_map is not None) == (needs is None)
    for formula in filter(None, (declared.sums, declared.cost, declared.sparse_cost, declared.without_map)):
        assert letters_of(formula) <= LETTERS.keys() | dict(declared.letters({})).keys()


# ---- Hooks -----------------------------------------------------------------------------------------------------------


def test_the_hooks_of_a_map_are_read_in_one_way_and_all_listed():
    listed = {name for name in vars(Hooks) if not name.startswith("_")}
    source = "\n".join(path.read_text() for path in PACKAGE.rglob("*.py"))
    assert set(re.findall(r'\bhook\([\w.]+(?:\([\w.]*\))?, "(\w+)"\)', source)) <= listed
    past = re.findall(rf'(?:getattr|hasattr)\([\w.]*(?:features|map|made)_?, "({"|".join(listed)})"', source)
    assert past == []


def test_a_map_without_hooks_has_their_defaults():
    class Plain:
        pass

    assert {name: hook(Plain(), name) for name in ("base", "fill", "bytes_to_fit", "unbiased")} == {
        "base": None, "fill": None, "bytes_to_fit": 0, "unbiased": True,
    }  # fmt: skip
    with pytest.raises(AttributeError):
        hook(Plain(), "no_such_hook")
