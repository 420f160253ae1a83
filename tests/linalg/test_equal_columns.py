"""Promises of merging equal columns."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from rffbench.linalg.equal_columns import EqualColumns

RNG = np.random.default_rng(0)


def with_copies(order):
    return RNG.standard_normal((30, 4))[:, order]


@pytest.mark.parametrize(
    ("merge", "order"),
    [(EqualColumns.side_by_side, [0, 0, 1, 2, 2, 2, 3]), (EqualColumns.anywhere, [2, 0, 1, 2, 0, 3, 2])],
)
def test_what_is_left_has_the_same_kernel_and_the_same_ridge(merge, order):
    Z = with_copies(order)
    merged = merge(Z)
    left = Z[:, merged.first] * merged.root
    assert left.shape == (30, 4)
    np.testing.assert_allclose(left @ left.T, Z @ Z.T, atol=1e-12)
    np.testing.assert_array_equal(Z[:, merged.first][:, merged.of], Z)
    y = RNG.standard_normal(30)
    whole = Ridge(0.1, fit_intercept=False, solver="cholesky").fit(Z, y).coef_
    fewer = Ridge(0.1, fit_intercept=False, solver="cholesky").fit(left, y).coef_
    np.testing.assert_allclose(merged.spread(fewer[:, None])[:, 0], whole, rtol=1e-9)
    np.testing.assert_allclose(merged.collapse(whole), fewer, rtol=1e-9)


def test_columns_that_all_differ_stay_as_they_are_side_by_side_and_are_sorted_from_anywhere():
    Z = with_copies([0, 1, 2, 3])
    for merged in (EqualColumns.side_by_side(Z), EqualColumns.anywhere(Z)):
        np.testing.assert_array_equal(merged.root, 1)
        np.testing.assert_array_equal(Z[:, merged.first][:, merged.of], Z)
    np.testing.assert_array_equal(EqualColumns.side_by_side(Z).first, range(4))
    np.testing.assert_array_equal(Z[:, EqualColumns.anywhere(Z).first], np.unique(Z, axis=1))
