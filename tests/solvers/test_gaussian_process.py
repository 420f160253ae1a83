"""Gaussian processes on features, against the formulas of Rasmussen & Williams and of Milios et al. as written."""

import numpy as np
import pytest
from scipy.special import softmax

from rffbench import RandomFourierFeatures
from rffbench.solvers.gaussian_process import FeatureGPClassifier, FeatureGPRegressor
from tests.helpers.cases import slow

MAP = RandomFourierFeatures(24, gamma=0.5, random_state=0)
rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(150, 2))
NEW = rng.uniform(-1, 1, size=(40, 2))
VALUES = np.sin(3 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=150)
LABELS = np.digitize(VALUES, [-0.7, 0.6])  # three classes, of different sizes


def posterior(K, K_new, k_new, noise, targets):
    """Mean and variance of f at new rows: Rasmussen & Williams, Eqs. 2.25 and 2.26, in the kernel's form."""
    inverse = np.linalg.inv(K + np.diag(noise))
    return (K_new @ inverse @ targets).real, k_new - np.einsum("ij,jk,ik->i", K_new, inverse, K_new.conj()).real


def kernels(variance, pairs):
    Z, Z_new = MAP.fit_transform(X), MAP.fit(X).transform(NEW)
    if pairs == "complex":
        Z, Z_new = (each[:, :12] + 1j * each[:, 12:] for each in (Z, Z_new))
    parts = Z @ Z.conj().T, Z_new @ Z.conj().T, np.square(np.abs(Z_new)).sum(axis=1)
    return [variance * part for part in parts]


def transformed(labels, alpha):
    """Targets and noise (n, classes): Milios et al. 2018, Section 4."""
    shape = (labels[:, None] == np.arange(labels.max() + 1)) + alpha
    noise = np.log(1 + 1 / shape)
    return np.log(shape) - noise / 2, noise


@pytest.mark.parametrize("far", [0.0, 50.0])
def test_the_variance_is_that_of_the_targets_together_or_of_what_is_left_of_their_means(far):
    Y = np.column_stack([VALUES, 2 * VALUES + far])
    for variance, of in (("targets", Y), ("residuals", Y - Y.mean(axis=0))):
        model = FeatureGPRegressor(0.1, variance=variance, features=MAP).fit(X, Y)
        assert model.variance_ == pytest.approx(np.var(of, ddof=1), rel=1e-9)


@pytest.mark.parametrize("pairs", ["real", "complex"])
def test_a_regression_is_the_textbook_s_posterior_mean(pairs):
    model = FeatureGPRegressor(0.3, pairs=pairs, features=MAP).fit(X, VALUES)
    assert model.variance_ == pytest.approx(VALUES.var(ddof=1))
    expected, _ = posterior(*kernels(model.variance_, pairs), np.full(150, 0.3), VALUES - VALUES.mean())
    np.testing.assert_allclose(model.predict(NEW), expected + VALUES.mean(), atol=1e-10)


@pytest.mark.parametrize(
    ("pairs", "variance"),
    [
        ("real", "targets"), ("complex", "residuals"),
        *slow(("real", "residuals"), ("real", 2.5), ("complex", "targets"), ("complex", 2.5)),
    ],
)  # fmt: skip
def test_a_classification_is_a_regression_of_each_class_on_transformed_labels(pairs, variance):
    model = FeatureGPClassifier(0.01, variance=variance, pairs=pairs, samples=20_000, features=MAP, random_state=0)
    model.fit(X, LABELS)
    targets, noise = transformed(LABELS, 0.01)
    shares = np.bincount(LABELS) / 150
    prior = np.log(shares) + (targets - np.log(shares)).mean()
    known = {"targets": targets.var(ddof=1), "residuals": (targets - prior).var(ddof=1)}
    assert model.variance_ == pytest.approx(known.get(variance, variance))
    np.testing.assert_allclose(model.intercept_, prior)
    K = kernels(model.variance_, pairs)
    found = [posterior(*K, noise[:, c], targets[:, c] - prior[c]) for c in range(3)]
    means, deviations = np.transpose([mean for mean, _ in found]) + prior, np.sqrt([spread for _, spread in found]).T
    np.testing.assert_allclose(model.decision_function(NEW), means, atol=1e-8)
    draws = np.random.default_rng(1).normal(size=(20_000, *means.shape)) * deviations + means
    np.testing.assert_allclose(model.predict_proba(NEW), softmax(draws, axis=2).mean(axis=0), atol=0.01)
    np.testing.assert_array_equal(model.predict(NEW), model.predict_proba(NEW).argmax(axis=1))


def test_of_two_classes_probabilities_are_computed():
    labels = np.where(LABELS > 0, "yes", "no")
    model = FeatureGPClassifier(0.05, samples=1, features=MAP, random_state=0).fit(X, labels)
    targets, noise = transformed((LABELS > 0).astype(int), 0.05)
    K, means = kernels(model.variance_, "real"), []
    for c in range(2):
        mean, spread = posterior(*K, noise[:, c], targets[:, c] - model.intercept_[c])
        draws = np.random.default_rng(c).normal(size=(40_000, len(mean))) * np.sqrt(spread) + mean
        means.append(draws + model.intercept_[c])
    expected = softmax(np.stack(means), axis=0).mean(axis=1)
    np.testing.assert_allclose(model.predict_proba(NEW), expected.T, atol=0.01)
    np.testing.assert_array_equal(model.predict(NEW), np.where(expected[1] > 0.5, "yes", "no"))


def test_without_samples_there_are_no_probabilities_and_the_largest_mean_decides():
    model = FeatureGPClassifier(0.01, features=MAP).fit(X, LABELS)
    assert not hasattr(model, "predict_proba")
    np.testing.assert_array_equal(model.predict(NEW), model.decision_function(NEW).argmax(axis=1))


@pytest.mark.parametrize("parameters", [{"noise": 0}, {"variance": "most"}, {"variance": -1}, {"pairs": "both"}])
def test_a_wrong_parameter_is_named(parameters):
    with pytest.raises(ValueError, match=next(iter(parameters))):
        FeatureGPRegressor(**parameters).fit(X, VALUES)


def test_complex_pairs_need_an_even_number_of_columns():
    with pytest.raises(ValueError, match="pairs must be 'real'"):
        FeatureGPRegressor(pairs="complex", features=RandomFourierFeatures(25, form="offset")).fit(X, VALUES)
