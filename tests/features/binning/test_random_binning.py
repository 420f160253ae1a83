"""Random binning: grids and their columns, by hand, nested and paired; bins of the training rows alone; memory."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.sparse import csr_array
from sklearn.linear_model import Ridge

from rffbench import RandomBinningFeatures
from rffbench.cli import cli
from rffbench.data import train_test
from rffbench.data.cards import load_card
from rffbench.errors import ConfigError
from rffbench.features.base import held_bytes, mapped
from rffbench.kernels import LaplacianKernel
from rffbench.linalg.bins import Grids
from rffbench.trials.measuring import MapOnPoints, Points, kernel_error
from tests.helpers.cases import slow
from tests.helpers.kernel_rates import ServedRows
from tests.helpers.tiny_config import TINY

X = np.random.default_rng(0).uniform(-1, 2, size=(60, 3))


def test_bins_of_one_grid_are_numbered_in_the_order_in_which_rows_fall_into_them():
    grids = Grids(np.array([[0.5]]), np.array([[0.2]]), np.array([7], np.uint64))  # edges at … -0.3, 0.2, 0.7, 1.2 …
    grids.add(np.array([[1.0], [0.3], [0.69], [-0.1]]))
    out = np.empty((6, 1), np.int32)
    grids.cells(np.array([[0.71], [0.2], [0.19], [-0.3], [1.2], [-0.31]]), out)
    assert out.ravel().tolist() == [0, 1, 2, 2, -1, -1]
    assert grids.n_cells == 3


def test_columns_are_the_bins_that_the_formula_says():
    features = RandomBinningFeatures(20, gamma=0.8, random_state=3).fit(X)
    cells = np.floor((X[:, :, None] - features.shifts_) / features.pitches_)  # (n, d, D)
    Z = features.transform(X)
    assert (
        Z.shape == (60, features.n_columns_) == (60, sum(len(np.unique(c, axis=0)) for c in cells.transpose(2, 0, 1)))
    )
    np.testing.assert_array_equal(np.diff(Z.indptr), 20)
    np.testing.assert_allclose(Z.data, 1 / np.sqrt(20))
    same = (cells[:, None] == cells).all(axis=2).mean(axis=2)
    np.testing.assert_allclose((Z @ Z.T).toarray(), same, atol=1e-14)


def test_pitches_are_gamma_variables_of_shape_two_and_shifts_uniform_within_them():
    features = RandomBinningFeatures(20_000, gamma=0.5, random_state=0).fit(X[:2])
    assert features.pitches_.mean() == pytest.approx(2 / 0.5, rel=0.02)
    assert features.pitches_.var() == pytest.approx(2 / 0.5**2, rel=0.05)
    assert (features.shifts_ / features.pitches_).mean() == pytest.approx(0.5, rel=0.02)
    assert np.corrcoef(features.shifts_[0] / features.pitches_[0], features.pitches_[0])[0, 1] == pytest.approx(
        0, abs=0.03
    )


def test_the_variance_of_an_estimate_is_k_times_one_less_k_over_the_grids():
    k = LaplacianKernel(0.7)(X[:2])[0, 1]
    found = [(Z @ Z.T)[0, 1] for Z in (RandomBinningFeatures(25, gamma=0.7, random_state=i).fit_transform(X[:2])
                                       for i in range(800))]  # fmt: skip
    assert np.mean(found) == pytest.approx(k, abs=4 * np.sqrt(k * (1 - k) / 25 / 800))
    assert np.var(found) == pytest.approx(k * (1 - k) / 25, rel=0.2)


def test_a_smaller_map_is_the_first_columns_of_a_larger_one_and_gamma_scales_the_grids_of_one_stream():
    small, large = (RandomBinningFeatures(D, gamma=0.8, random_state=3).fit(X) for D in (8, 30))
    first = large.transform(X)[:, : small.n_columns_]
    assert ((first > 0) != (small.transform(X) > 0)).nnz == 0
    wide = RandomBinningFeatures(8, gamma=0.2, random_state=3).fit(X)
    np.testing.assert_allclose(wide.pitches_, 4 * small.pitches_)


def test_lengths_are_units_of_the_inputs():
    lengths = [0.5, 2.0, 1.0]
    scaled = RandomBinningFeatures(15, random_state=1).fit_transform(X / lengths)
    given = RandomBinningFeatures(15, kernel=LaplacianKernel(lengths=lengths), random_state=1).fit_transform(X)
    assert (scaled != given).nnz == 0


def test_a_new_row_has_no_column_for_a_bin_without_training_rows():
    features = RandomBinningFeatures(40, gamma=2.0, random_state=0).fit(X)
    far = features.transform(np.full((2, 3), 50.0))
    assert far.shape == (2, features.n_columns_)
    assert far.nnz == 0
    near = features.transform(X[:5] + 0.05)
    assert (np.diff(near.indptr) < 40).any()
    both = RandomBinningFeatures(40, gamma=2.0, random_state=0).fit(np.vstack([X, X[:5] + 0.05]))
    wanted = both.transform(X[:5] + 0.05) @ both.transform(X).T  # products with training rows lack nothing
    np.testing.assert_allclose((near @ features.transform(X).T).toarray(), wanted.toarray(), atol=1e-14)


@pytest.mark.parametrize(("grids", "share"), [(10, 0.3), (40, 0.1)])  # the latter are hashed by their non-zeros alone
def test_sparse_and_served_rows_and_other_blocks_have_the_same_columns(grids, share):
    rows = np.random.default_rng(1).uniform(size=(5000, 6)) * (np.random.default_rng(2).uniform(size=(5000, 6)) < share)
    features = RandomBinningFeatures(grids, gamma=0.5, random_state=0)
    wanted = features.fit(rows).transform(rows)
    among_others = np.vstack([rows[:20], np.ones((100, 6))])  # few zeros
    assert (features.transform(among_others)[:20] != wanted[:20]).nnz == 0
    assert (features.fit(csr_array(rows)).transform(csr_array(rows)) != wanted).nnz == 0
    assert (features.fit(ServedRows(rows)).transform(ServedRows(rows)) != wanted).nnz == 0
    twice = csr_array((np.full(2, 0.25), np.zeros(2, int), [0, 2]), shape=(1, 6))  # 0.25 + 0.25, not summed
    assert (features.transform(twice) != features.transform([[0.5, 0, 0, 0, 0, 0]])).nnz == 0


def test_memory_is_linear_in_the_numbers_that_are_stored():
    rows, grids = np.random.default_rng(0).uniform(size=(20_000, 3)), 64
    features = RandomBinningFeatures(grids, gamma=5.0, random_state=0).fit(rows[:100])
    tracemalloc.start()
    Z = features.fit(rows).transform(rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    held = held_bytes(features)
    assert 24 * features.n_columns_ < held < 64 * features.n_columns_ + 10**6
    assert peak < held + 20 * Z.nnz  # an index and a number each, and which of them are known
    assert Z.shape[0] * Z.shape[1] > 200 * Z.nnz


def test_the_kernel_error_is_that_of_the_products_without_a_dense_matrix():
    features = RandomBinningFeatures(300, gamma=3.0, random_state=0).fit(X)
    Z, K = features.transform(X).toarray(), LaplacianKernel(3.0)(X)
    wanted = np.linalg.norm(K - Z @ Z.T, 2) / np.linalg.norm(K, 2)
    on_points = MapOnPoints(features, Points(X, LaplacianKernel(3.0)))
    assert on_points.Z.shape == (60, 60)
    assert kernel_error(on_points) == pytest.approx(wanted, rel=1e-4)


def test_columns_for_the_bins_of_test_rows_change_no_prediction():
    new = np.random.default_rng(5).uniform(-1, 2, size=(30, 3))
    y = np.sin(3 * X[:, 0]) + X[:, 1]
    features = {"n_components": 20, "gamma": 2.0, "random_state": 0}
    alone, with_new = (RandomBinningFeatures(**features).fit(rows) for rows in (X, np.vstack([X, new])))
    assert with_new.n_columns_ > 1.2 * alone.n_columns_
    wanted, found = (Ridge(0.3).fit(each.transform(X), y).predict(each.transform(new)) for each in (alone, with_new))
    np.testing.assert_allclose(found, wanted, atol=1e-6)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "gamma", "counts"), [("penbased", 1.5, (77_849, 91_692)), *slow(("letter", 4.0, (268_006, 408_934)))]
)
def test_the_page_says_how_many_columns_the_test_rows_add(name, gamma, counts):
    card = load_card(name)
    split = train_test(
        name, data_hash=card.content_hash, seed=0, trial=0, preprocess=["minmax"], preprocess_fit="train",
        dtype="float64", train_rows=None, held_out=None,
    )  # fmt: skip
    train, test = np.array(split.X_train), np.array(split.X_test)
    maps = (RandomBinningFeatures(64, gamma=gamma, random_state=0).fit(X) for X in (train, np.vstack([train, test])))
    assert tuple(each.n_columns_ for each in maps) == counts
    page = (Path(__file__).parents[3] / "docs" / "maps.md").read_text()
    assert all(f"{count:,}" in page for count in counts)


# ---- What it is not for ----------------------------------------------------------------------------------------------


def test_a_kernel_without_pitches_is_refused_with_the_one_that_has_them(tmp_path):
    wanted = "needs a kernel with a pitch density; gaussian has none; laplacian has"
    with pytest.raises(ValueError, match=f"RandomBinningFeatures {wanted}"):
        RandomBinningFeatures(kernel="gaussian").fit(X)
    config = tmp_path / "tiny.yaml"
    config.write_text(TINY.replace("fourier", "random-binning"))
    done = CliRunner().invoke(cli, ["validate", str(config)])
    assert isinstance(done.exception, ConfigError)
    assert f"tiny.yaml, line 7: methods.RFF: random-binning {wanted}" in str(done.exception)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components must be a whole number, 1 or more"),
        ({"gamma": -1}, "gamma must be a positive"),
    ],
)
def test_wrong_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        RandomBinningFeatures(**parameters).fit(X)


def test_numbers_without_a_bin_are_refused_also_where_rows_are_served():
    rows = X.copy()
    rows[7, 1] = np.nan
    with pytest.raises(ValueError, match="contains NaN or infinity"):
        RandomBinningFeatures().fit(ServedRows(rows))
    with pytest.raises(ValueError, match="NaN"):
        RandomBinningFeatures().fit(rows)


def test_a_map_that_says_its_features_are_sparse_must_make_a_csr_matrix():
    class Dense(RandomBinningFeatures):
        def transform(self, X):
            return super().transform(X).toarray()

    with pytest.raises(ValueError, match=r"Dense.transform must give a CSR matrix \(60, columns\), got ndarray"):
        mapped(Dense(5).fit(X), X)
