"""Ridge on every map where numbers are extreme: the three ways to solve agree, or an error says what is wrong."""

from unittest.mock import patch

import numpy as np
import pytest

from rffbench import StreamedRidgeClassifierCV
from rffbench.features import MAPS, make_features
from rffbench.kernels import KERNELS
from rffbench.kernels.served import kernels_served
from rffbench.plugins.registry import NONE
from rffbench.solvers.ridge import streaming
from rffbench.solvers.ridge.plan import Plan
from tests.helpers.odd_rows import CASES

pytestmark = [pytest.mark.usefixtures("one_thread"), pytest.mark.slow]

VARIANTS = {
    "leverage": ({}, {"variant": "reweighted"}),
    "surrogate-leverage": ({}, {"variant": "reweighted"}, {"form": "eq12"}),
}
DENSE = [name for name in MAPS.names() if name != NONE and not MAPS.factory(name).serves.sparse]
EVERY_MAP = [(name, own) for name in DENSE for own in VARIANTS.get(name, ({},))]
UNBOUNDED = ("activation", "maclaurin", "complex-to-real", "tensor-sketch")  # their numbers grow with the rows'
WAYS = ("in_one_pass", "in_passes", "dual")


FREQUENCIES = {"one frequency": 1, "more frequencies than rows": 64}


def made(name, own, s):
    served = kernels_served(MAPS.factory(name).serves.kernels)
    kernel = "gaussian" if "gaussian" in served else served[0]
    gamma = 0.5 if KERNELS[kernel].has_bandwidth else 1.0
    return make_features({"name": name, **own}, kernel=kernel, gamma=gamma, n_features=s, random_state=0)


def outputs(way, X, y, features, center, alphas=(1e-2, 0.1)):
    """The decision values of ridge solved in one of the three ways."""
    model = StreamedRidgeClassifierCV(alphas, folds=min(5, len(X)), features=features, center=center)
    with patch.object(streaming, "streaming_plan", lambda *_, **__: Plan(way, 16, None, 0)):
        return model.fit(X, y).decision_function(X)


@pytest.mark.parametrize("center", [True, "both"])
@pytest.mark.parametrize("case", CASES)
def test_the_ways_to_solve_agree(case, center):
    X, y = CASES[case]()
    X.setflags(write=False)
    for name, own in EVERY_MAP:
        features = made(name, own, FREQUENCIES.get(case, 6))
        if name in ("nystroem", "positive") and "1e300" in case:
            with pytest.raises(ValueError, match="squares overflow; scale it first"):
                features.set_params(n_components=40).fit(X)
            continue
        if name in UNBOUNDED and "1e300" in case:
            with pytest.raises(ValueError, match="or numbers too large to be squared"):
                outputs(WAYS[0], X, y, features, center)
            continue
        if own.get("variant") == "reweighted" and case.startswith("nothing but"):
            continue  # columns that vanish get factors of 1e16: see the next test
        first, *others = (outputs(way, X, y, features, center) for way in WAYS)
        assert np.isfinite(first).all(), (name, own)
        for other in others:
            np.testing.assert_allclose(other, first, rtol=1e-5, atol=1e-6, err_msg=f"{name} {own}")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("center", [True, "both"])
def test_a_lambda_too_small_for_a_singular_gram_matrix_is_passed_over_for_one_that_is_not(way, center):
    X, y = CASES["rows twice"]()
    features = made("fourier", {}, 64)
    taken = outputs(way, X, y, features, center, [1e-300, 0.1])
    np.testing.assert_allclose(taken, outputs(way, X, y, features, center, [0.1, 1.0]), rtol=1e-9)
    with pytest.raises(ValueError, match=r"lambda=1e-300 is not positive definite; take a larger lambda"):
        outputs(way, X, y, features, center, [1e-300, 1e-299])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["leverage", "surrogate-leverage"])
def test_released_factors_of_columns_that_vanish_give_numbers_or_an_error_that_says_what_to_do(name, way):
    X, y = CASES["nothing but zeros"]()
    features = made(name, {"variant": "reweighted"}, 6)
    try:
        assert np.isfinite(outputs(way, X, y, features, "both")).all()
    except ValueError as error:
        assert "take a larger lambda" in str(error)  # noqa: PT017


@pytest.mark.parametrize("own", VARIANTS["surrogate-leverage"][:2], ids=str)
def test_targets_that_no_feature_has_anything_of_are_told_of(own):
    X, y = CASES["nothing but zeros"]()
    balanced = np.where(np.arange(len(y)) % 2, 1.0, -1.0)
    for targets in (balanced if not own else 0 * y, 0 * y):
        with pytest.raises(ValueError, match=r"targets are orthogonal to every feature .* nothing to choose by"):
            made("surrogate-leverage", own, 6).fit(X, targets)
