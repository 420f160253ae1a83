"""Eigenvectors by LAPACK, in place, while other threads go on."""

import threading

import numpy as np
import pytest

from rffbench.linalg.lapack import eigh

rng = np.random.default_rng(0)


def symmetric(p, order="C"):
    A = rng.normal(size=(p, p))
    return np.asarray(A + A.T, order=order)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("p", [1, 2, 57])
def test_eigenvectors_are_those_of_the_matrix_and_lie_in_its_memory(p, order):
    A = symmetric(p, order)
    copy = A.copy()
    values, Q = eigh(A)
    assert (np.diff(values) >= 0).all()
    np.testing.assert_allclose(copy @ Q, Q * values, atol=1e-12 * p)
    np.testing.assert_allclose(Q.T @ Q, np.eye(p), atol=1e-12 * p)
    assert np.shares_memory(A, Q)


def test_a_view_is_decomposed_and_left_as_it_is():
    A = symmetric(40)[::2, ::2]
    copy = A.copy()
    values, _ = eigh(A)
    np.testing.assert_array_equal(A, copy)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(copy), atol=1e-12)


def test_a_number_that_is_not_finite_is_refused():
    with pytest.raises(ValueError, match="not finite"):
        eigh(np.full((3, 3), np.nan))
    assert eigh(np.empty((0, 0)))[0].shape == (0,)


def test_other_threads_go_on_meanwhile():
    A = symmetric(900)
    worker = threading.Thread(target=eigh, args=(A,))
    worker.start()
    steps = 0
    while worker.is_alive():
        worker.join(0.001)
        steps += 1
    assert steps > 5
