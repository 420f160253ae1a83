"""A CSR matrix gives what its dense copy gives, and is never made dense."""

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix, random_array
from sklearn.pipeline import make_pipeline

from rffbench import RandomFourierFeatures, StreamedRidgeClassifierCV, StreamedRidgeCV
from rffbench.arguments.rowsource import dense_rows
from rffbench.features.hooks import columns_of
from rffbench.solvers.svm.linear import LinearSVM
from tests.helpers.cases import slow
from tests.helpers.feature_maps import ALL, label, made

rng = np.random.default_rng(0)
S = csr_array(random_array((90, 40), density=0.1, rng=rng, data_sampler=lambda size: rng.uniform(size=size)))
DENSE = S.toarray()
Y = np.where(DENSE[:, :20].sum(axis=1) > DENSE[:, 20:].sum(axis=1), 1.0, -1.0)
BUILT_IN = [each for each in ALL if each[0] != "plug-in" and each[1].parameters.get("sequence") != "sobol"]
ESTIMATORS = [
    StreamedRidgeCV([1e-3, 1.0], center="both"), StreamedRidgeClassifierCV([1e-3, 1.0]),
    StreamedRidgeClassifierCV([1e-3, 1.0], scoring="accuracy"), LinearSVM(C=10.0, tolerance=1e-9),
]  # fmt: skip


@pytest.mark.parametrize(("name", "promise"), BUILT_IN, ids=[label(*each) for each in BUILT_IN])
@pytest.mark.parametrize("dtype", [np.float64, *slow(np.float32)])
def test_every_map_gives_the_same_of_sparse_rows(name, promise, dtype):
    sparse, dense = S.astype(dtype), DENSE.astype(dtype)
    features = made(name, promise, 24, random_state=3)
    expected = dense_rows(features.fit(dense, Y).transform(dense))
    found = dense_rows(features.fit(sparse, Y).transform(sparse))
    assert found.dtype == dtype
    scale, tolerance = np.abs(expected).max(), 1e-4 if dtype == np.float32 else 1e-9
    if name in ("tefm", "nystroem"):  # a basis that rounding may turn
        expected, found, scale = expected @ expected.T, found @ found.T, scale**2 * 24
    np.testing.assert_allclose(found, expected, atol=tolerance * scale)
    assert features.transform(csr_matrix(sparse)[:7]).shape == (7, columns_of(features))


@pytest.mark.parametrize("features", [None, RandomFourierFeatures(30, gamma="scale", random_state=0)])
@pytest.mark.parametrize("rows", [90, 25])  # also fewer rows than columns
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
def test_every_learner_gives_the_same_of_sparse_rows(estimator, features, rows):
    estimator.set_params(features=features)
    outputs = "predict" if isinstance(estimator, StreamedRidgeCV) else "decision_function"
    expected = getattr(estimator.fit(DENSE[:rows], Y[:rows]), outputs)(DENSE)
    found = getattr(estimator.fit(S[:rows], Y[:rows]), outputs)(S)
    np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize("estimator", [StreamedRidgeClassifierCV([0.1, 1.0]), LinearSVM()])
def test_no_row_becomes_dense(monkeypatch, estimator):
    toarray = csr_array.toarray

    def refuse(self, *arguments, **named):
        assert self.shape[1] != S.shape[1], "rows of X were made dense"
        return toarray(self, *arguments, **named)

    monkeypatch.setattr(csr_array, "toarray", refuse)
    monkeypatch.setattr(csr_array, "todense", refuse)
    features = RandomFourierFeatures(30, gamma="scale", random_state=0)
    make_pipeline(features, estimator).fit(S, Y).predict(S)
    estimator.set_params(features=features).fit(S, Y).predict(S)
    if isinstance(estimator, LinearSVM):
        estimator.set_params(features=None).fit(S, Y).predict(S)


def test_a_sparse_x_without_features_is_not_handed_to_liblinear():
    with pytest.raises(ValueError, match="method must be 'auto' or 'held' for a sparse X without features"):
        LinearSVM(method="liblinear").fit(S, Y)
    with pytest.raises(ValueError, match="loss must be 'squared-hinge' for a sparse X without features"):
        LinearSVM(loss="hinge", method="liblinear-dual").fit(S, Y)


def test_a_budget_counts_the_entries_of_sparse_rows_not_their_columns():
    wide = csr_array(random_array((3000, 30_000), density=1e-3, rng=rng, format="csr"))
    features = RandomFourierFeatures(20, gamma=1.0, random_state=0)
    budget = 8 * 30_000 * 20 + 10_000_000  # the frequencies, and some blocks: a dense block would take 100 times more
    StreamedRidgeCV([0.1, 1.0], features=features, memory=budget).fit(wide, np.arange(3000.0))
