"""gamma='scale' and gamma='median' are the formulas that they say."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from rffbench import (
    BoostedFeaturesClassifier,
    BoostedFeaturesRegressor,
    CompactFeatures,
    LeverageScoreFeatures,
    NystroemFeatures,
    PerceptronFeatures,
    QuasiMonteCarloFeatures,
    RandomFourierFeatures,
    SparseRandomFeaturesClassifier,
    SparseRandomFeaturesRegressor,
)
from rffbench.kernels.bandwidth import MEDIAN_ROWS
from rffbench.solvers.ridge.exact import ExactKernelRidgeClassifierCV, ExactKernelRidgeCV
from rffbench.solvers.svm.kernel import KernelSVM
from tests.helpers.kernel_rates import ServedRows

X = np.random.default_rng(0).normal(size=(300, 4)) * [1, 2, 3, 0] + 5


def gamma_of(rule, kernel="gaussian", rows=X):
    return RandomFourierFeatures(2, kernel=kernel, gamma=rule, random_state=0).fit(rows).gamma_


def test_scale_is_scikit_learn_s():
    theirs, ours = (SVC(gamma=gamma).fit(X, X[:, 0] > 5).decision_function(X) for gamma in ("scale", gamma_of("scale")))
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_scale_has_the_units_of_each_kernel():
    variance = X.var()
    assert gamma_of("scale", "cauchy") == pytest.approx(1 / (4 * variance))
    assert gamma_of("scale", "laplacian") == pytest.approx(1 / (4 * np.sqrt(variance)))
    for kernel, power in (("gaussian", -2), ("cauchy", -2), ("laplacian", -1)):
        for rule in ("scale", "median"):
            assert gamma_of(rule, kernel, 10 * X) == pytest.approx(10.0**power * gamma_of(rule, kernel))


def test_median_is_sigma_of_all_pairs_of_few_rows():
    assert len(X) < MEDIAN_ROWS
    assert gamma_of("median") == pytest.approx(1 / (2 * np.median(pdist(X)) ** 2))
    assert gamma_of("median", "cauchy") == pytest.approx(1 / np.median(pdist(X)) ** 2)
    assert gamma_of("median", "laplacian") == pytest.approx(1 / np.median(pdist(X, "cityblock")))


def test_many_rows_are_sampled_by_the_stream():
    many = np.random.default_rng(1).normal(size=(MEDIAN_ROWS + 2000, 3))
    assert gamma_of("median", rows=many) == pytest.approx(1 / (2 * np.median(pdist(many)) ** 2), rel=0.1)
    assert gamma_of("median", rows=many) == gamma_of("median", rows=ServedRows(many))


@pytest.mark.parametrize("rule", ["scale", "median"])
@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "cauchy"])
def test_sparse_served_and_dense_rows_have_the_same(rule, kernel):
    holes = np.where(np.random.default_rng(2).uniform(size=X.shape) < 0.6, 0, X)
    expected = gamma_of(rule, kernel, holes)
    assert gamma_of(rule, kernel, csr_array(holes)) == pytest.approx(expected, rel=1e-12)
    assert gamma_of(rule, kernel, ServedRows(holes)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("cls", [RandomFourierFeatures, QuasiMonteCarloFeatures, LeverageScoreFeatures, CompactFeatures,
                                 NystroemFeatures])  # fmt: skip
@pytest.mark.parametrize("rule", ["scale", "median"])
def test_a_map_by_rule_is_the_map_of_that_number(cls, rule):
    by_rule = cls(20, gamma=rule, random_state=0).fit(X)
    by_number = cls(20, gamma=by_rule.gamma_, random_state=0).fit(X)
    np.testing.assert_array_equal(by_rule.transform(X), by_number.transform(X))


SPARSE = {"kernel": "gaussian", "steps": 1, "alpha": 0.1}
MACHINES = [
    ExactKernelRidgeCV([0.1]), ExactKernelRidgeClassifierCV([0.1]), KernelSVM(),
    SparseRandomFeaturesRegressor(**SPARSE), SparseRandomFeaturesClassifier(**SPARSE),
    BoostedFeaturesRegressor(**SPARSE), BoostedFeaturesClassifier(**SPARSE),
]  # fmt: skip


@pytest.mark.parametrize("machine", MACHINES, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize(("rule", "kernel"), [("scale", "laplacian"), ("median", "gaussian")])
def test_a_kernel_machine_has_the_maps_gamma_and_is_the_machine_of_that_number(machine, rule, kernel, monkeypatch):
    monkeypatch.setattr("rffbench.kernels.bandwidth.MEDIAN_ROWS", 30)  # so that random_state chooses the rows
    rows, y = X[:50] / 10, np.sign(X[:50, 0] - 5)
    machine = clone(machine).set_params(kernel=kernel, random_state=7)
    by_rule = clone(machine).set_params(gamma=rule).fit(rows, y)
    features = RandomFourierFeatures(2, kernel=kernel, gamma=rule, random_state=7).fit(rows)
    assert by_rule.gamma_ == features.gamma_
    by_number = clone(machine).set_params(gamma=features.gamma_).fit(rows, y)
    np.testing.assert_array_equal(by_rule.predict(rows), by_number.predict(rows))
    served = clone(machine).set_params(gamma=rule).fit(ServedRows(rows), y)
    assert served.gamma_ == pytest.approx(by_rule.gamma_, rel=1e-12)


def test_a_saved_model_has_the_number(tmp_path):
    y = np.sign(X[:, 0] - 5)
    model = SparseRandomFeaturesClassifier(gamma="scale", steps=3, alpha=0.1, random_state=0).fit(X, y)
    model.save(tmp_path / "model.npz")
    loaded = SparseRandomFeaturesClassifier.load(tmp_path / "model.npz")
    assert loaded.gamma == model.gamma_
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


def test_the_kernel_is_the_one_scikit_learn_has_at_that_gamma():
    features = RandomFourierFeatures(20_000, gamma="scale", random_state=0)
    Z = features.fit(X).transform(X[:20])
    np.testing.assert_allclose(Z @ Z.T, rbf_kernel(X[:20], gamma=features.gamma_), atol=0.05)


def test_rows_without_any_difference_have_gamma_one():
    assert gamma_of("scale", rows=np.full((5, 3), 7.0)) == gamma_of("median", rows=np.full((5, 3), 7.0)) == 1


def test_what_no_rule_can_do_is_refused():
    rows = np.zeros((9, 2))
    rows[0] = 1
    with pytest.raises(ValueError, match="median distance between n_samples = 9 rows is 0; give a number in its place"):
        gamma_of("median", rows=rows)
    with pytest.raises(ValueError, match="gamma must be a number, 1/R"):
        PerceptronFeatures(4, gamma="scale").fit(X)
    with pytest.raises(ValueError, match="gamma must be a positive number, or 'scale' or 'median', got 'auto'"):
        gamma_of("auto")
    labels = np.arange(len(X)) % 2
    for machine in (KernelSVM, SparseRandomFeaturesClassifier, ExactKernelRidgeClassifierCV):
        with pytest.raises(ValueError, match="gamma must be a positive number, or 'scale' or 'median', got 'auto'"):
            machine(gamma="auto").fit(X, labels)
        with pytest.raises(ValueError, match="gamma must be a number, 1/R"):
            machine(kernel="perceptron", gamma="median").fit(X, labels)
    with pytest.raises(ValueError, match="the rule 'median' squares the numbers of X"):
        gamma_of("median", rows=ServedRows(np.where(X > 5, np.nan, X)))
    for rule in ("scale", "median"):
        with pytest.raises(ValueError, match=f"the rule '{rule}' squares the numbers of X"):
            gamma_of(rule, rows=ServedRows(1e300 * (1 + X)))
