"""Products with ZZᵀ in tiles of columns: those of dense matrices."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from rffbench.linalg import row_gram
from rffbench.linalg.row_gram import RowGram


@pytest.mark.parametrize("vectors", [1, 3])
@pytest.mark.parametrize("columns_of_a_tile", [0, 1, 7, 1000])  # 0: no tiles
@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_are_those_of_the_dense_matrix(monkeypatch, vectors, columns_of_a_tile, same, dtype):
    monkeypatch.setattr(row_gram, "WORTH_TILES", 8 * vectors * (90 if columns_of_a_tile else 91))
    monkeypatch.setattr(row_gram, "TILE_BYTES", 8 * vectors * columns_of_a_tile)
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(20, 90)) * (rng.uniform(size=(20, 90)) < 0.2)
    dense[:, :2], dense[:, -1], dense[3] = 0, 0, 0
    if same:
        dense[dense != 0] = 0.25
    Z, V = csr_array(dense.astype(dtype)), rng.normal(size=(20, vectors))
    gram, exact = RowGram(Z, vectors), Z.toarray().astype(np.float64)
    np.testing.assert_allclose(gram.times(V), exact @ (exact.T @ V), atol=1e-12)
    np.testing.assert_allclose(gram.transposed_times(V), exact.T @ V, atol=1e-12)
    np.testing.assert_allclose(gram.times(V[:, ::-1]), exact @ (exact.T @ V[:, ::-1]), atol=1e-12)


@pytest.mark.parametrize("worth", [0, 1000])
def test_a_matrix_without_entries_gives_zeros(monkeypatch, worth):
    monkeypatch.setattr(row_gram, "WORTH_TILES", worth)
    gram = RowGram(csr_array((4, 9)))
    assert not gram.times(np.ones((4, 2))).any()
    assert gram.transposed_times(np.ones((4, 2))).shape == (9, 2)
