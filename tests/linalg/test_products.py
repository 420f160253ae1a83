"""Products of projections, tile by tile, are those of plain numpy."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array

from rffbench.linalg import products
from rffbench.linalg.products import projection_products

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


def test_of_no_rows_nothing_is_written():
    projection_products(
        np.zeros((0, 2)), np.zeros((2, 1)), np.zeros(1), np.array([1]), np.ones(1), np.ones(0), np.zeros((0, 1))
    )
