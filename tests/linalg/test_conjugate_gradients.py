"""Conjugate gradients of many right sides: against a direct solve, for shifts, with and without a preconditioner."""

import numpy as np
import pytest

from rffbench.linalg.conjugate_gradients import NotPositive, conjugate_gradients


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def test_one_sequence_of_products_serves_every_shift(rng):
    root = rng.normal(size=(60, 20))
    A, B = root @ root.T, rng.normal(size=(60, 3))
    shifts = np.array([10.0, 0.3, 1e-3])
    products = []

    def multiply(V, columns):
        products.append(V.shape)
        return A @ V

    found, left, steps = conjugate_gradients(multiply, B, shifts, tolerance=1e-10, most_steps=100)
    for x, shift, missing in zip(found, shifts, left, strict=True):
        np.testing.assert_allclose(x, np.linalg.solve(A + shift * np.eye(60), B), atol=1e-6)
        exact = np.linalg.norm(B - A @ x - shift * x, axis=0) / np.linalg.norm(B, axis=0)
        np.testing.assert_allclose(missing, exact, atol=2e-10)
    assert len(products) == steps < 60
    zero, left, _ = conjugate_gradients(multiply, 0 * B, shifts, tolerance=1e-10, most_steps=100)
    assert not zero.any()
    assert not left.any()


def test_each_column_has_its_own_matrix_and_is_left_alone_once_it_is_solved(rng):
    root = rng.normal(size=(80, 80))
    A, B, own = root @ root.T, rng.normal(size=(80, 4)), np.array([1e-1, 10.0, 1e3, 1e5])
    sizes = []

    def multiply(V, columns):
        sizes.append(len(columns))
        return A @ V + own[columns] * V

    X, left, steps = conjugate_gradients(multiply, B, tolerance=np.array([1e-9, 1e-9, 1e-9, 1e-2]), most_steps=500)
    assert left.max() <= 1e-2
    for column in range(3):
        exact = np.linalg.solve(A + own[column] * np.eye(80), B[:, column])
        np.testing.assert_allclose(X[0, :, column], exact, rtol=1e-5, atol=1e-7)
    assert sizes[0] == 4
    assert sizes[-1] == 1
    assert sizes == sorted(sizes, reverse=True)
    assert len(sizes) == steps


def test_the_inverse_as_a_preconditioner_solves_in_a_step_and_a_poor_one_still_solves(rng):
    root = rng.normal(size=(50, 50)) * 0.7 ** np.arange(50)
    A, B = root @ root.T + 1e-4 * np.eye(50), rng.normal(size=(50, 2))
    exact, inverse = np.linalg.solve(A, B), np.linalg.inv(A)
    diagonal = np.diag(A)[:, None]
    one = conjugate_gradients(
        lambda V, _: A @ V, B, tolerance=1e-6, most_steps=9, precondition=lambda R, _: inverse @ R
    )
    assert one.steps == 1
    np.testing.assert_allclose(one.X[0], exact, rtol=1e-4, atol=1e-4 * abs(exact).max())
    poor = conjugate_gradients(
        lambda V, _: A @ V, B, tolerance=1e-10, most_steps=500, precondition=lambda R, _: R / diagonal
    )
    np.testing.assert_allclose(poor.X[0], exact, rtol=1e-6, atol=1e-6 * abs(exact).max())
    with pytest.raises(ValueError, match="several shifts cannot be preconditioned"):
        conjugate_gradients(
            lambda V, _: A @ V, B, [0.0, 1.0], tolerance=1, most_steps=1, precondition=lambda R, _: inverse @ R
        )


def test_it_stops_when_it_is_told_to_and_says_what_is_left(rng):
    root = rng.normal(size=(50, 50))
    A, B = root @ root.T, rng.normal(size=(50, 2))
    seen = []

    def after_step(X, left):
        seen.append(left.max())
        return len(seen) == 4

    found = conjugate_gradients(lambda V, _: A @ V, B, tolerance=1e-12, most_steps=100, after_step=after_step)
    assert found.steps == len(seen) == 4
    assert found.left.max() == seen[-1] > 1e-12


def test_a_matrix_that_is_not_positive_names_an_eigenvalue(rng):
    Q = np.linalg.qr(rng.normal(size=(30, 30)))[0]
    A = Q * np.append(np.ones(29), -0.25) @ Q.T
    with pytest.raises(NotPositive, match=r"has an eigenvalue of -0.* or below") as caught:
        conjugate_gradients(lambda V, _: A @ V, rng.normal(size=(30, 1)), tolerance=1e-9, most_steps=30)
    assert -0.2501 <= caught.value.eigenvalue <= 0


def test_reorthogonalized_what_is_left_after_a_step_does_not_depend_on_the_order_of_sums(rng):
    Q, _ = np.linalg.qr(rng.normal(size=(200, 200)))
    A = Q * np.geomspace(1, 1e-6, 200) @ Q.T
    B, order = rng.normal(size=(200, 2)), rng.permutation(200)
    curves = {}
    for name, rows in (("in order", np.arange(200)), ("in another", order)):
        matrix = A[np.ix_(rows, rows)]
        for reorthogonalize in (False, True):
            found = []
            conjugate_gradients(
                lambda V, _, M=matrix: M @ V, B[rows], tolerance=1e-12, most_steps=120,
                precondition=lambda R, _: 2 * R, reorthogonalize=reorthogonalize,
                after_step=lambda X, left, found=found: bool(found.append(left[0].copy())),
            )  # fmt: skip
            curves[name, reorthogonalize] = np.array(found)
    np.testing.assert_allclose(curves["in order", True], curves["in another", True], rtol=1e-6)
    ratios = curves["in order", False] / curves["in another", False]
    assert np.abs(np.log(ratios)).max() > 100 * 1e-6
    assert (curves["in order", True][-1] < 0.5 * curves["in order", False][-1]).all()


def test_several_shifts_are_not_reorthogonalized(rng):
    with pytest.raises(ValueError, match="several shifts"):
        conjugate_gradients(
            lambda V, _: V, rng.normal(size=(3, 1)), [0.0, 1.0], tolerance=0.1, most_steps=2, reorthogonalize=True
        )
