"""Products of projections, tile by tile, are those of plain numpy."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.linalg import hadamard
from scipy.sparse import csr_array

from rffbench.linalg import products
from rffbench.linalg.products import projection_products, transformed_products

pytestmark = pytest.mark.usefixtures("one_thread")
DEGREES = np.array([0, 3, 1, 0, 7, 2, 2, 30, 1])


@pytest.mark.parametrize("width", [1, 4, 512])
@pytest.mark.parametrize("tile", [64, 1 << 19])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("parts", [1, 2])
def test_products_of_tiles_are_those_of_numpy(monkeypatch, parts, sparse, tile, width):
    monkeypatch.setattr(products, "TILE_COLUMNS", width)
    monkeypatch.setattr(products, "TILE_BYTES", tile)
    rng = np.random.default_rng(0)
    X, factors, scale = rng.normal(size=(23, 5)), rng.uniform(size=23), rng.uniform(size=9)
    W, offset = rng.normal(size=(5, parts * 46)), rng.normal(size=parts * 46)
    out = np.full((23, 2 * 9), np.nan)
    into = [out[:, :9], out[:, 9:]][:parts]
    projection_products(csr_array(X) if sparse else X, W, offset, DEGREES, scale, factors, *into)
    T = X @ W + offset
    T = T if parts == 1 else T[:, ::2] + 1j * T[:, 1::2]
    starts = np.cumsum([0, *DEGREES])
    expected = np.stack([T[:, a:b].prod(axis=1) for a, b in pairwise(starts)], axis=1)
    expected = factors[:, None] * expected * scale
    np.testing.assert_allclose(into[0], expected.real, rtol=1e-9, atol=1e-12)
    if parts == 2:
        np.testing.assert_allclose(into[1], expected.imag, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("tile", [64, 1 << 19])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("parts", [1, 2])
def test_products_of_transforms_are_those_of_the_matrices_multiplied_out(monkeypatch, parts, sparse, tile):
    monkeypatch.setattr(products, "TILE_BYTES", tile)
    rng = np.random.default_rng(1)
    X, factors, scale = rng.normal(size=(23, 5)), rng.uniform(size=23), rng.uniform(size=9)
    signs, constants = rng.normal(size=(parts, 6, 8)), rng.normal(size=(parts, 6))
    places = rng.permutation(48)[:46]
    W = np.einsum("ak,pbk->kbap", hadamard(8), signs).reshape(8, 48, parts)[:5, places].reshape(5, -1)
    offset = (hadamard(8)[:, 5] * constants[:, :, None]).reshape(parts, 48)[:, places].T.ravel()
    expected, found = np.empty((2, 23, 2 * 9))
    into = [[out[:, :9], out[:, 9:]][:parts] for out in (expected, found)]
    rows = csr_array(X) if sparse else X
    projection_products(X, W, offset, DEGREES, scale, factors, *into[0])
    transformed_products(rows, signs, constants, places, DEGREES, scale, factors, *into[1])
    for own, others in zip(*into, strict=True):
        np.testing.assert_allclose(own, others, rtol=1e-9, atol=1e-12)


def test_of_no_rows_nothing_is_written():
    projection_products(
        np.zeros((0, 2)), np.zeros((2, 1)), np.zeros(1), np.array([1]), np.ones(1), np.ones(0), np.zeros((0, 1))
    )
