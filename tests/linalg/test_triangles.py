"""Symmetric matrices two to a square behave as the matrices they stand for."""

import numba
import numpy as np
import pytest
from scipy.linalg import LinAlgError

from rffbench.linalg import triangles
from rffbench.linalg.triangles import Triangle, TriangleStack, recombine_triangles, sum_triangles


def filled(count, p, rows=150, seed=0):
    rng = np.random.default_rng(seed)
    stack, dense = TriangleStack(count, p), []
    for triangle in stack:
        Z = rng.normal(size=(rows, p))
        triangle.add_gram(Z)
        dense.append(Z.T @ Z)
    return stack, dense


@pytest.mark.parametrize("p", [1, 2, 63, 64, 65, 130])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_neighbours_in_a_square_do_not_touch_each_other(p, count):
    stack, dense = filled(count, p)
    for triangle, matrix in zip(stack, dense, strict=True):
        np.testing.assert_allclose(triangle.full(), matrix, atol=1e-11)
        np.testing.assert_allclose(triangle.diagonal, np.diag(matrix), atol=1e-11)


def test_two_triangles_take_little_more_than_one_square():
    assert TriangleStack(2, 500).storage.nbytes == 500 * 501 * 8 == TriangleStack.bytes_needed(2, 500)
    assert TriangleStack.bytes_needed(5, 500) == TriangleStack(5, 500).storage.nbytes == 3 * 500 * 501 * 8


@pytest.mark.parametrize("order", ["C", "F"])
def test_gram_is_added_from_rows_or_columns_and_from_views(order):
    rng = np.random.default_rng(0)
    wide = np.asarray(rng.normal(size=(40, 30)), order=order)
    for Z in (wide, wide[5:17, 3:20], wide[:1], wide[:, :1], wide[:0]):
        for triangle in TriangleStack(2, Z.shape[1]):
            triangle.add_gram(Z)
            triangle.add_gram(Z, -0.5)
            np.testing.assert_allclose(triangle.full(), 0.5 * Z.T @ Z, atol=1e-12)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("which", [0, 1])
def test_tiles_of_a_gram_matrix_are_the_same_digits_for_any_number_of_threads(monkeypatch, order, which):
    monkeypatch.setattr(triangles, "GRAM_TILE", 16)
    monkeypatch.setattr(triangles, "GRAM_WORTH_A_THREAD", 0)
    Z = np.asarray(np.random.default_rng(0).normal(size=(50, 83)), order=order)
    first = None
    for threads in (1, 2, 4):
        monkeypatch.setattr(numba, "get_num_threads", lambda threads=threads: threads)
        triangle = TriangleStack(2, 83)[which]
        triangle.add_gram(Z, 0.5)
        first = triangle.full() if first is None else first
        np.testing.assert_array_equal(triangle.full(), first)
    np.testing.assert_allclose(first, 0.5 * Z.T @ Z, atol=1e-12)


def test_gram_of_the_wrong_shape_or_type_is_refused():
    triangle = TriangleStack(1, 4)[0]
    for Z in (np.ones((3, 5)), np.ones((3, 4), np.float32), np.ones((6, 8))[::2, ::2]):
        with pytest.raises(ValueError, match="float64 with 4 columns"):
            triangle.add_gram(Z)


@pytest.mark.parametrize("p", [1, 5, 130])
@pytest.mark.parametrize("which", [0, 1])
def test_sum_factor_solve_and_inverse_diagonal(p, which):
    stack, dense = filled(5, p)
    work: Triangle = TriangleStack(2, p)[which]
    A = dense[0] + dense[2] + dense[3] + np.eye(p)
    sum_triangles(work, [stack[0], stack[2], stack[3]])
    work.diagonal[:] += 1
    B = np.random.default_rng(1).normal(size=(p, 3))
    np.testing.assert_allclose(work.multiply(B), A @ B, rtol=1e-10, atol=1e-9)
    work.cholesky()
    np.testing.assert_allclose(work.solve(B), np.linalg.solve(A, B), rtol=1e-9, atol=1e-12)
    L = np.linalg.cholesky(A)
    np.testing.assert_allclose(work.solve_factor(B), np.linalg.solve(L, B), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(work.solve_factor(B, transposed=True), np.linalg.solve(L.T, B), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(work.inverse_diagonal(), np.diag(np.linalg.inv(A)), rtol=1e-9)


@pytest.mark.parametrize("which", [0, 1])
def test_recombined_gram_is_that_of_the_recombined_columns(which):
    p, q = 90, 70
    stack, dense = filled(4, p)
    rng = np.random.default_rng(2)
    first, second = rng.integers(p, size=(2, q))
    a, b = rng.normal(size=(2, q))
    b[::3] = 0
    T = np.zeros((p, q))
    np.add.at(T, (first, np.arange(q)), a)
    np.add.at(T, (second, np.arange(q)), b)
    out = TriangleStack(2, p)[which].leading(q)
    recombine_triangles(out, [stack[0], stack[1], stack[3]], first, second, a, b)
    np.testing.assert_allclose(out.full(), T.T @ (dense[0] + dense[1] + dense[3]) @ T, atol=1e-9)


def test_a_sum_of_triangles_of_different_stacks_is_refused():
    with pytest.raises(ValueError, match="one stack"):
        sum_triangles(TriangleStack(1, 3)[0], [TriangleStack(1, 3)[0], TriangleStack(1, 3)[0]])


def test_rows_are_set_up_to_the_diagonal():
    K = np.arange(36.0).reshape(6, 6)
    K += K.T
    for triangle in TriangleStack(2, 6):
        triangle.set_rows(0, K[:4, :4])
        triangle.set_rows(4, K[4:])
        np.testing.assert_array_equal(triangle.full(), K)


def test_a_matrix_that_is_not_positive_definite_has_no_factor():
    triangle = TriangleStack(1, 3)[0]
    triangle.add_gram(np.ones((2, 3)))
    triangle.diagonal[1] = -1
    with pytest.raises(LinAlgError, match="order 2"):
        triangle.cholesky()


@pytest.mark.parametrize("which", [0, 1])
def test_strips_of_a_gram_matrix_add_up_to_it(which):
    Z = np.random.default_rng(4).normal(size=(50, 40))[:, :37]
    whole, part = TriangleStack(2, 37)[which], TriangleStack(2, 37)[which]
    for start, stop in ((0, 5), (5, 5), (5, 20), (20, 37)):
        whole.add_gram_strip(Z, start, stop)
    np.testing.assert_allclose(whole.full(), Z.T @ Z, atol=1e-12)
    part.add_gram_strip(Z, 0, 5)
    part.add_gram_strip(Z, 5, 20)
    np.testing.assert_allclose(part.leading(20).full(), Z[:, :20].T @ Z[:, :20], atol=1e-12)
    assert not part.lower[20:, :20].any()


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("p", [33, 64, 101])
def test_a_large_matrix_is_factored_by_strips(monkeypatch, p, which):
    for name, value in (("CHOLESKY_AT_ONCE", 32), ("CHOLESKY_STEP", 16), ("GRAM_TILE", 7)):
        monkeypatch.setattr(triangles, name, value)
    stack, dense = filled(2, p)
    stack[which].cholesky()
    np.testing.assert_allclose(np.tril(stack[which].lower), np.linalg.cholesky(dense[which]), atol=1e-10)
    np.testing.assert_allclose(stack[1 - which].full(), dense[1 - which], atol=1e-11)


def test_a_strip_that_is_not_positive_definite_is_named_by_its_row(monkeypatch):
    monkeypatch.setattr(triangles, "CHOLESKY_AT_ONCE", 8)
    monkeypatch.setattr(triangles, "CHOLESKY_STEP", 8)
    triangle = TriangleStack(1, 20)[0]
    triangle.diagonal[:] = 1
    triangle.diagonal[13] = -1
    with pytest.raises(LinAlgError, match="order 14"):
        triangle.cholesky()
