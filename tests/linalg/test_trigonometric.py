"""The fused cosine and sine kernel gives what numpy gives, to the last digits it promises."""

import os
import subprocess
import sys
from functools import partial
from threading import get_ident

import numba
import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from rffbench.linalg import trigonometric as linalg
from rffbench.linalg.threads import in_threads, side_by_side, thread_count
from rffbench.linalg.trigonometric import FAR, fourier_columns, fourier_products

TOLERANCE = {"float64": 5e-16, "float32": 3e-7}


def columns_of(x):
    """cos and sin of x through the kernel: W is the number 1, so that the phase is x itself."""
    cos, sin = np.empty((len(x), 1), x.dtype), np.empty((len(x), 1), x.dtype)
    fourier_columns(x[:, None], np.ones((1, 1), x.dtype), cos, sin)
    return cos[:, 0], sin[:, 0]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("reach", [1.0, 30.0, 1e3, FAR])
def test_error_stays_within_the_promised_one_up_to_far_arguments(dtype, reach):
    near_zeros = np.pi / 2 * np.arange(-int(reach / 1.6), int(reach / 1.6) + 1)
    x = np.concatenate([np.linspace(-reach, reach, 40001), near_zeros]).astype(dtype)
    cos, sin = columns_of(x)
    exact = x.astype(np.longdouble)
    assert np.abs(cos - np.cos(exact)).max() < TOLERANCE[dtype]
    assert np.abs(sin - np.sin(exact)).max() < TOLERANCE[dtype]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_arguments_beyond_the_reduction_s_reach_are_still_right(dtype):
    x = np.array([1.01e5, -3e6, 7.7e8, 1e15, -2.5e30, 0.5], dtype)
    cos, sin = columns_of(x)
    np.testing.assert_allclose(cos, np.cos(x), rtol=0, atol=TOLERANCE[dtype])
    np.testing.assert_allclose(sin, np.sin(x), rtol=0, atol=TOLERANCE[dtype])


def test_what_is_not_a_number_stays_so_and_harms_no_neighbour():
    with np.errstate(invalid="ignore"):
        cos, sin = columns_of(np.array([0.25, np.nan, np.inf, -np.inf, 0.25]))
    assert np.isnan(cos[1:4]).all()
    assert np.isnan(sin[1:4]).all()
    assert cos[0] == cos[4] == pytest.approx(np.cos(0.25), abs=1e-15)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 2, 5), (300, 7, 33), (257, 5, 1300)])
def test_columns_equal_the_plain_formula_in_every_layout(dtype, shape):
    n, d, s = shape
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(n, d)).astype(dtype), rng.normal(size=(s, d)).astype(dtype).T
    offset, scale = rng.uniform(0, 6, s).astype(dtype), rng.uniform(0.5, 2, s).astype(dtype)
    phase = X @ W + offset
    Z = np.full((n, 2 * s + 1), 7, dtype)  # two blocks of a wider matrix, and a column that is nobody's
    fourier_columns(X, W, Z[:, :s], Z[:, s : 2 * s], offset=offset, scale=scale)
    atol = 1e-13 if dtype == "float64" else 2e-5
    np.testing.assert_allclose(Z[:, :s], scale * np.cos(phase), atol=atol)
    np.testing.assert_allclose(Z[:, s : 2 * s], scale * np.sin(phase), atol=atol)
    assert (Z[:, 2 * s] == 7).all()
    only = np.empty((n, s), dtype)
    fourier_columns(X, W, None, only, offset=offset, scale=scale)
    np.testing.assert_array_equal(only, Z[:, s : 2 * s])
    fourier_columns(X, W, only, scale=2.0)
    np.testing.assert_allclose(only, 2 * np.cos(X @ W), atol=atol)


def test_one_and_two_threads_give_the_same_columns(monkeypatch):
    monkeypatch.setattr(linalg, "WORTH_A_THREAD", 0)
    rng = np.random.default_rng(1)
    X, W = rng.normal(size=(1001, 9)), rng.normal(size=(9, 700))
    results = []
    for threads in (1, 2):
        monkeypatch.setattr(numba, "get_num_threads", lambda threads=threads: threads)
        Z = np.empty((1001, 1400))
        fourier_columns(X, W, Z[:, :700], Z[:, 700:])
        results.append(Z)
    np.testing.assert_allclose(results[0], results[1], rtol=0, atol=1e-13)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_products_are_the_same_digits_for_any_number_of_threads(monkeypatch, dtype):
    monkeypatch.setattr(linalg, "WORTH_A_THREAD", 0)
    monkeypatch.setattr(linalg, "TILE_BYTES", 1 << 14)
    rng = np.random.default_rng(1)
    X, W, y = rng.normal(size=(1001, 9)).astype(dtype), rng.normal(size=(9, 700)).astype(dtype), rng.normal(size=1001)
    phase = X @ W
    for threads in (1, 2, 5):
        monkeypatch.setattr(numba, "get_num_threads", lambda threads=threads: threads)
        cos, sin = fourier_products(X, W, y)
        if threads == 1:
            first = cos, sin
            error = 1e-6 if dtype == "float64" else 1e-5  # of X @ W in float32
            scale = error * np.sqrt(len(y)) * np.linalg.norm(y)
            np.testing.assert_allclose((cos, sin), (y @ np.cos(phase), y @ np.sin(phase)), rtol=0, atol=scale)
        np.testing.assert_array_equal((cos, sin), first)


def test_arguments_beyond_the_reduction_s_reach_are_right_in_products_too():
    x = np.array([1.01e5, 2.02e5, -3e6, 7.7e8, 0.5])
    y = np.array([1.0, 5.0, -2.0, 3.0, 4.0])
    cos, sin = fourier_products(x[:, None], np.ones((1, 1)), y)
    np.testing.assert_allclose([cos[0], sin[0]], [y @ np.cos(x), y @ np.sin(x)], rtol=0, atol=5e-6)


@pytest.mark.parametrize("unit", [1e-300, 1e-50, 1.0, 1e50, 1e150])
def test_products_take_targets_of_any_size(unit):
    rng = np.random.default_rng(2)
    X, W, y = rng.normal(size=(300, 3)), rng.normal(size=(3, 20)), rng.normal(size=300)
    cos, sin = fourier_products(X, W, y * unit)
    np.testing.assert_allclose((cos / unit, sin / unit), (y @ np.cos(X @ W), y @ np.sin(X @ W)), rtol=0, atol=1e-4)
    assert not np.any(fourier_products(X, W, np.zeros(300)))


def test_products_are_single_precision_wherever_the_angle_lies():
    x = np.linspace(-40.0, 40.0, 4001)
    cos, sin = fourier_products(np.ones((1, 1)), x[None, :], np.ones(1))
    np.testing.assert_allclose((cos, sin), (np.cos(x), np.sin(x)), rtol=0, atol=5e-7)


def test_work_is_covered_once_by_any_number_of_threads(monkeypatch):
    for threads in (1, 2, 3, 7):
        monkeypatch.setattr(numba, "get_num_threads", lambda threads=threads: threads)
        seen = np.zeros(10, int)

        def count(first, last, seen=seen):
            seen[first:last] += 1

        in_threads(count, 10)
        assert (seen == 1).all()


def test_an_error_in_a_thread_is_raised(monkeypatch):
    monkeypatch.setattr(numba, "get_num_threads", lambda: 2)

    def fail_late(first, last):
        if last == 4:
            raise RuntimeError("the second half")

    with pytest.raises(RuntimeError, match="the second half"):
        in_threads(fail_late, 4)


def blas_threads():
    return {library["num_threads"] for library in ThreadpoolController().info() if library["user_api"] == "blas"}


def test_tasks_are_done_once_each_on_one_blas_thread_and_start_no_more_threads(monkeypatch):
    monkeypatch.setattr(numba, "get_num_threads", lambda: 3)
    before = blas_threads()
    seen = []

    def task(number):
        side_by_side([lambda: seen.append((number, thread_count(), *blas_threads(), get_ident()))])

    for threads in (None, 2, 1):
        seen.clear()
        side_by_side([partial(task, number) for number in range(20)], threads)
        assert sorted(number for number, *_ in seen) == list(range(20))
        assert {tuple(counts) for _, *counts, _ in seen} == {(1, 1)}
        assert len({thread for *_, thread in seen}) <= (threads or 3)
        assert (thread_count(), blas_threads()) == (3, before)


def test_wrong_shapes_dtypes_and_layouts_are_refused():
    X, W = np.ones((4, 2)), np.ones((2, 3))
    for bad, message in [
        ({"cos": np.empty((4, 2))}, r"cos must be float64 \(4, 3\)"),
        ({"sin": np.empty((4, 3), np.float32)}, "sin must be float64"),
        ({"cos": np.empty((3, 4)).T}, "contiguous"),
    ]:
        with pytest.raises(ValueError, match=message):
            fourier_columns(X, W, **bad)
    with pytest.raises(ValueError, match="W must be float64 with 2 rows"):
        fourier_columns(X, W.T)
    with pytest.raises(ValueError, match="float32 or float64"):
        fourier_columns(X.astype(np.float16), W.astype(np.float16))


def test_no_rows_are_no_error():
    fourier_columns(np.empty((0, 2)), np.ones((2, 3)), np.empty((0, 3)), np.empty((0, 3)))


@pytest.mark.slow
def test_a_forked_child_can_map_after_its_parent_did():
    """numba's own thread pools abort here."""
    program = """
import multiprocessing, numpy as np
from rffbench.linalg.trigonometric import fourier_columns
def mapped():
    Z = np.empty((2000, 64))
    fourier_columns(np.ones((2000, 3)), np.ones((3, 64)), Z)
    return Z[0, 0]
if __name__ == "__main__":
    here = mapped()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        print(pool.apply(mapped) == here)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "NUMBA_NUM_THREADS": "2"}
    command = [sys.executable, "-W", "ignore", "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.strip() == "True", done.stderr
