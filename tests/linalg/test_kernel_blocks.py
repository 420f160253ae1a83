"""Blocks of a kernel matrix are the kernel's own values, of every kernel, kind of rows and precision."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from rffbench.kernels import KERNELS, make_kernel
from rffbench.linalg.kernel_blocks import WORTH_A_THREAD, KernelBlocks

RNG = np.random.default_rng(0)
X, POINTS = 0.3 * RNG.normal(size=(300, 7)) + 2, 0.3 * RNG.normal(size=(90, 7)) + 2
TOLERANCE = {"float64": 1e-12, "float32": 2e-5}


def kernels():
    for name, cls in KERNELS.items():
        plain = make_kernel(name, 0.1 if cls.has_bandwidth else 1.0)
        yield plain
        yield replace(plain, lengths=tuple(np.linspace(0.5, 2, 7)))


@pytest.mark.parametrize("kernel", list(kernels()), ids=lambda kernel: f"{kernel.called()} {bool(kernel.lengths)}")
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_blocks_are_the_kernel_of_dense_and_sparse_rows(kernel, dtype):
    exact = kernel(X, POINTS)
    for points in (POINTS, csr_matrix(POINTS)):
        blocks = KernelBlocks(kernel, points, dtype)
        for rows in (X, csr_matrix(X)):
            found = blocks(rows)
            assert found.dtype == dtype
            np.testing.assert_allclose(found, exact, atol=TOLERANCE[dtype] * np.abs(exact).max())


@pytest.mark.parametrize("name", ["gaussian", "laplacian", "matern"])
def test_a_view_is_filled_and_nothing_beside_it(name):
    kernel, out = make_kernel(name, 0.1), np.full((300, 95), -1.0)
    KernelBlocks(kernel, POINTS).fill(X, out[:, 2:92])
    np.testing.assert_allclose(out[:, 2:92], kernel(X, POINTS), atol=1e-12)
    assert (out[:, :2] == -1).all()
    assert (out[:, 92:] == -1).all()


def test_values_of_many_rows_and_points_are_those_of_few():
    rows, points = RNG.normal(size=(700, 3)), RNG.normal(size=(2500, 3))  # several tiles, and threads
    assert WORTH_A_THREAD < 700 * 2500
    kernel = make_kernel("gaussian", 0.2)
    np.testing.assert_allclose(KernelBlocks(kernel, points)(rows), kernel(rows, points), atol=1e-13)


def test_rows_far_from_the_origin_lose_no_digits():
    kernel, far = make_kernel("gaussian", 0.5), 1e6
    np.testing.assert_allclose(KernelBlocks(kernel, POINTS + far)(X + far), kernel(X + far, POINTS + far), atol=1e-12)


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_rows_too_far_to_be_squared_have_a_kernel_of_0(dtype):
    rows = np.array([[1e300, 0.0], [0.0, 0.0]])
    found = KernelBlocks(make_kernel("gaussian", 0.5), np.zeros((2, 2)), dtype)(rows)
    np.testing.assert_array_equal(found, [[0, 0], [1, 1]])


def test_a_kernel_whose_values_overflow_is_refused():
    with pytest.raises(ValueError, match="values of the exponential kernel overflow"):
        KernelBlocks(make_kernel("exponential", 1.0), np.full((2, 2), 1e3))(np.full((2, 2), 1e3))
