"""Promises of every registered solver: scikit-learn's contract, a plain implementation's answer, float32, seeds."""

import numpy as np
import pytest

from tests.helpers import contract, plug_ins
from tests.helpers.cases import slow
from tests.helpers.every_solver import ALL, CONTRACT, FEATURES, OTHER_WAYS, REGISTERED, X, made, outputs, promises, rng

TARGET = np.sin(6 * X[:, 0]) + X[:, 1] ** 2 - 0.6 + 0.1 * rng.normal(size=200)
Y = {"regression": TARGET, "classification": np.sign(TARGET)}


# ---- Plain implementations: real outputs at X of a solver fitted to X, y ---------------------------------------------


every_solver = pytest.mark.parametrize(("name", "promise", "task"), ALL)


@pytest.fixture(autouse=True)
def _plug_in(one_thread):
    with plug_ins.installed():
        yield


@pytest.mark.parametrize("name", REGISTERED)
def test_every_registered_solver_says_what_it_promises(name):
    assert promises(name)


def test_a_solver_that_says_nothing_is_told_what_to_add():
    with pytest.raises(pytest.fail.Exception, match=r"'newcomer' is registered.*add 'newcomer': \[Promise\(…\)\] to"):
        promises("newcomer")


def expected_to_fail(estimator):
    """Where λ is chosen by folds of the rows, a row of weight 2 is in one fold and its copy may be in another. The two
    copies of LIBLINEAR stop as near the optimum as they were asked to, and not at the same place."""
    checks = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
    if "liblinear" in (getattr(estimator, "method", None) or ""):
        return {checks[0]: "another copy of LIBLINEAR has weights, and stops elsewhere"}
    if len(getattr(estimator, "alphas", [])) < 2:
        return {}
    return dict.fromkeys(checks, "folds are of rows, whatever their weights")


DEAR = (
    "ASkotch",
    "Boosted",
    "EigenPro",
    "Falkon",
    "Gradient",
    "Kernel",
    "Logistic",
    "PCG",
    "SparseRandom",
    "StreamedRidgeCl",
)  # over 0.3 s each


@pytest.mark.parametrize(
    "estimator",
    [slow(each)[0] if type(each).__name__.startswith(DEAR) else each for each in CONTRACT],
    ids=contract.name,
)
def test_scikit_learn_s_contract_is_kept(estimator):
    contract.keeps_the_contract(estimator, expected_to_fail(estimator))


@pytest.mark.slow
@pytest.mark.parametrize("estimator", OTHER_WAYS, ids=contract.name)
def test_scikit_learn_s_contract_is_kept_in_other_ways(estimator):
    contract.keeps_the_contract_in_another_way(estimator, expected_to_fail(estimator))


@every_solver
def test_it_gives_what_a_plain_implementation_gives(name, promise, task):
    model = made(name, promise, task, FEATURES, **promise.tight).fit(X, Y[task])
    found = outputs(model)
    assert np.std(found) > 0.05  # of something learnt
    np.testing.assert_allclose(found, promise.plain(model, X, Y[task]), atol=1e-3)


@every_solver
def test_float32_rows_give_the_same_to_their_precision(name, promise, task):
    double = made(name, promise, task, FEATURES, **promise.tight).fit(X, Y[task])
    single = made(name, promise, task, FEATURES, **promise.tight).fit(X.astype(np.float32), Y[task])
    np.testing.assert_allclose(outputs(single, X.astype(np.float32)), outputs(double), atol=5e-3)


@every_solver
def test_equal_seeds_give_equal_models_and_other_seeds_others_where_it_draws(name, promise, task):
    one, same, other = (outputs(made(name, promise, task, FEATURES, seed).fit(X, Y[task])) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert np.allclose(one, other, atol=1e-3) != promise.seeded
