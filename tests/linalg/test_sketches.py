"""Sketches: what each is made of, that it keeps inner products on average and at its rate, from either side."""

import numpy as np
import pytest
from scipy.linalg import hadamard

from rffbench.linalg.sketches import SRHT, CountSketch, CountSketchGaussian, GaussianSketch
from tests.helpers.cases import slow

pytestmark = pytest.mark.usefixtures("one_thread")

MAKE = {
    "gaussian": GaussianSketch,
    "srht": SRHT,
    "count": CountSketch,
    "count, gaussian": lambda n, k, seed: CountSketchGaussian(n, k, 4 * k, seed),
}


def dense(sketch):
    """Θ, (n, k)."""
    return sketch.columns(np.eye(sketch.n))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", MAKE)
def test_both_sides_multiply_by_one_matrix_that_the_seed_gives_again(name, dtype):
    A = np.random.default_rng(0).normal(size=(300, 7)).astype(dtype)
    Theta = dense(MAKE[name](300, 20, 5))
    sketch = MAKE[name](300, 20, 5)
    left, right = sketch.rows(A), sketch.columns(np.asfortranarray(A).T)
    assert (left.shape, right.shape, left.dtype, right.dtype) == ((20, 7), (7, 20), dtype, dtype)
    np.testing.assert_allclose(left, Theta.T @ A, atol=1e-5 if dtype == np.float32 else 1e-12)
    np.testing.assert_allclose(right, A.T @ Theta, atol=1e-5 if dtype == np.float32 else 1e-12)
    assert not np.allclose(dense(MAKE[name](300, 20, 6)), Theta)


@pytest.mark.parametrize("length", [1, 64, 256, 2048])
@pytest.mark.parametrize("name", MAKE)
def test_blocks_of_rows_that_share_a_buffer_give_the_product_of_the_whole(name, length):
    A = np.random.default_rng(1).normal(size=(2500 if length > 1 else 50, 5))
    sketch = MAKE[name](len(A), 12, 3)
    buffer = np.empty((length, 5))

    def blocks():
        for start in range(0, len(A), length):
            part = A[start : start + length]
            buffer[: len(part)] = part
            yield buffer[: len(part)]

    np.testing.assert_allclose(sketch.row_blocks(blocks(), 5), sketch.rows(A), atol=1e-12)


@pytest.mark.parametrize("n", [37, *slow(64)])
@pytest.mark.parametrize("name", MAKE)
def test_products_are_kept_on_average_with_an_error_that_falls_as_one_over_the_root_of_the_size(name, n):
    rng = np.random.default_rng(2)
    a, b = (v / np.linalg.norm(v) for v in rng.normal(size=(2, n)))
    sizes, repetitions = (4, 16, 64), 600
    error = np.empty((len(sizes), repetitions))
    for i, k in enumerate(sizes):
        for seed in range(repetitions):
            # A sample of all coordinates has no error: of a transform of n only n/8 and fewer show the rate.
            pair = MAKE[name](n * 8, k, 1000 * i + seed).columns(np.tile(np.stack([a, b]), 8) / np.sqrt(8))
            error[i, seed] = pair[0] @ pair[1] - a @ b
    spread = error.std(axis=1)
    assert np.abs(error.mean(axis=1) / (spread / np.sqrt(repetitions))).max() < 4
    slope = np.polyfit(np.log(sizes), np.log(spread), 1)[0]
    assert abs(slope + 0.5) < 0.08  # a standard error of about 0.02 from these repetitions


def test_srht_is_signs_hadamard_sample_and_scale():
    sketch = SRHT(50, 10, 4)
    H = hadamard(64) / np.sqrt(64)
    padded = np.vstack([np.diag(sketch.signs), np.zeros((14, 50))])  # D, on numbers padded with zeros
    np.testing.assert_allclose(dense(sketch), np.sqrt(64 / 10) * (padded.T @ H)[:, sketch.sampled], atol=1e-14)
    assert len(set(sketch.sampled)) == 10
    assert set(sketch.signs) == {-1, 1}


def test_srht_of_all_coordinates_is_orthogonal():
    Theta = dense(SRHT(64, 64, 0))
    np.testing.assert_allclose(Theta.T @ Theta, np.eye(64), atol=1e-14)
    padded = dense(SRHT(50, 64, 0))  # the coordinates beyond 50 are sampled too
    np.testing.assert_allclose(padded @ padded.T, np.eye(50), atol=1e-14)


def test_count_sketch_has_one_sign_a_row():
    Theta = dense(CountSketch(200, 8, 1))
    assert (np.abs(Theta).sum(axis=1) == 1).all()
    assert ((Theta != 0).sum(axis=1) == 1).all()
    assert ((Theta != 0).sum(axis=0) > 10).all()


def test_the_faked_gaussian_is_a_count_sketch_then_a_gaussian():
    sketch = CountSketchGaussian(100, 6, 30, 2)
    np.testing.assert_allclose(dense(sketch), dense(sketch.count) @ dense(sketch.gaussian), atol=1e-13)
    entries = np.concatenate([dense(CountSketchGaussian(50, 10, 40, seed)).ravel() for seed in range(50)])
    assert entries.var() == pytest.approx(1 / 10, rel=0.05)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: SRHT(50, 65, 0), "k must be at most 64, the length that n = 50 is padded to, got 65"),
        (lambda: GaussianSketch(0, 3, 0), "a row and a column, got n=0, k=3"),
        (lambda: CountSketch(3, 0, 0), "a row and a column, got n=3, k=0"),
        (lambda: SRHT(50, 5, 0).rows(np.ones((49, 2))), "is for 50 numbers, got 49"),
        (lambda: CountSketch(50, 5, 0).columns(np.ones((2, 51))), "is for 50 numbers, got 51"),
        (lambda: SRHT(50, 5, 0).columns(np.ones((2, 49))), "is for 50 numbers, got 49"),
        (
            lambda: SRHT(50, 5, 0).row_blocks([np.ones((20, 2)), np.ones((30, 2))], 2),
            "a power of two of rows, got 30 rows from row 20 on",
        ),
    ],
)
def test_wrong_sizes_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()
