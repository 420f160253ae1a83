"""The Walsh–Hadamard transform is scipy's matrix product, at every length, dtype and number of threads."""

import platform
import re

import numba
import numpy as np
import pytest
from scipy.linalg import hadamard

from rffbench.linalg import hadamard as module
from rffbench.linalg.hadamard import next_power_of_two, walsh_hadamard
from rffbench.linalg.hadamard_kernels import transform
from tests.helpers.cases import slow

DTYPES = ["float64", "float32"]


def rows(n, N, dtype, seed=0):
    return np.random.default_rng(seed).normal(size=(n, N)).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("levels", [*range(12), *slow(12)])
@pytest.mark.parametrize("n", [1, 3, 37])
def test_transform_is_the_product_with_the_hadamard_matrix(n, levels, dtype):
    A = rows(n, 1 << levels, dtype)
    expected = A.astype(np.float64) @ hadamard(1 << levels, dtype=np.float64)
    assert walsh_hadamard(A) is A
    np.testing.assert_allclose(A, expected, rtol=0, atol=np.finfo(dtype).eps * 4 * (1 << levels))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("levels", [13, 14, 15, 16, 17])
def test_a_long_transform_is_that_of_its_halves_combined(levels, dtype):
    """H_{2N}[a, b] = [H_N a + H_N b, H_N a − H_N b]; whole numbers, so that nothing is rounded."""
    whole = np.random.default_rng(1).integers(-3, 4, size=(2, 1 << levels)).astype(dtype)
    a, b = (walsh_hadamard(half.copy()) for half in np.split(whole, 2, axis=1))
    np.testing.assert_array_equal(walsh_hadamard(whole), np.hstack([a + b, a - b]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_twice_the_transform_is_the_length_times_the_rows(dtype):
    A = rows(3, 1 << 14, dtype)
    twice = walsh_hadamard(walsh_hadamard(A.copy()))
    np.testing.assert_allclose(twice / (1 << 14), A, atol=np.finfo(dtype).eps * 50)


def test_leading_axes_are_a_batch():
    A = rows(6, 32, "float64")
    np.testing.assert_array_equal(walsh_hadamard(A.reshape(2, 3, 32).copy()).reshape(6, 32), walsh_hadamard(A))
    one = rows(1, 64, "float64")[0]
    np.testing.assert_allclose(walsh_hadamard(one.copy()), hadamard(64) @ one)


def test_no_rows_are_no_error():
    assert walsh_hadamard(np.empty((0, 8))).shape == (0, 8)


def test_one_and_three_threads_give_the_same_numbers(monkeypatch):
    monkeypatch.setattr(module, "WORTH_A_THREAD", 0)
    results = []
    for threads in (1, 3):
        monkeypatch.setattr(numba, "get_num_threads", lambda threads=threads: threads)
        results.append(walsh_hadamard(rows(10, 256, "float32")))
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize(
    ("A", "message"),
    [
        (np.ones((2, 12)), r"length of rows must be a power of two, got shape \(2, 12\); pad with zeros"),
        (np.ones((2, 0)), "must be a power of two"),
        (np.ones(()), "must be a power of two"),
        (np.ones((2, 8), np.int64), "float32 or float64, got int64"),
        (np.ones((2, 8), np.float16), "float32 or float64, got float16"),
        (np.ones((8, 2)).T, "C-contiguous and writable"),
        (np.broadcast_to(1.0, (2, 8)), "C-contiguous and writable"),
    ],
)
def test_what_cannot_be_transformed_in_place_is_refused(A, message):
    with pytest.raises(ValueError, match=message):
        walsh_hadamard(A)


def test_a_length_is_padded_to_the_power_of_two_that_holds_it():
    assert [next_power_of_two(n) for n in (0, 1, 2, 3, 4, 5, 784, 1024, 1025)] == [1, 1, 2, 4, 4, 8, 1024, 1024, 2048]


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="reads x86 assembly")
@pytest.mark.parametrize(("dtype", "packed", "scalar"), [("float64", "pd", "sd"), ("float32", "ps", "ss")])
def test_the_compiled_code_adds_vectors(dtype, packed, scalar):
    compiled = numba.njit(nogil=True)(transform.py_func)  # code from numba's cache cannot be looked at
    compiled(np.zeros(16, dtype), 16)
    code = "".join(compiled.inspect_asm().values())
    found = {kind: len(re.findall(rf"\bv?(?:add|sub){kind}\b", code)) for kind in (packed, scalar)}
    assert found[packed] > 100
    assert found[scalar] < found[packed] / 10  # the ends of rows shorter than a register
