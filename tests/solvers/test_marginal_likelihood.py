"""Uncertainty and the marginal likelihood of Gaussian processes on features, against scikit-learn's exact process,
dense n × n formulas, and finite differences."""

import pickle

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from rffbench import (
    FeatureGPRegressor,
    MaclaurinFeatures,
    NystroemFeatures,
    OrthogonalRandomFeatures,
    QuasiMonteCarloFeatures,
    RandomFourierFeatures,
)
from rffbench.kernels import GaussianKernel
from tests.helpers.cases import slow

rng = np.random.default_rng(0)
N, NOISE, V, GAMMA = 200, 0.04, 1.5, 0.8
X = rng.uniform(-2, 2, size=(N, 2))
NEW = rng.uniform(-3, 3, size=(30, 2))
Y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.2 * rng.normal(size=N)
CENTRED = Y - Y.mean()
ALL_ROWS = NystroemFeatures(N, gamma=GAMMA, random_state=0)
FEW = NystroemFeatures(12, gamma=GAMMA, random_state=0)
FOURIER = RandomFourierFeatures(40, gamma=GAMMA, random_state=0)


def k(A, B, gamma=GAMMA):
    return np.exp(-gamma * np.square(A[:, None] - B).sum(axis=2))


def exact(noise=NOISE, variance=V, gamma=GAMMA, **options):
    kernel = ConstantKernel(variance) * RBF(1 / np.sqrt(2 * gamma)) + WhiteKernel(noise)
    return GaussianProcessRegressor(kernel, alpha=0, **{"optimizer": None, **options}).fit(X, CENTRED)


def dense(features, diagonal, noise=NOISE, variance=V):
    """Mean, covariance at NEW, and the log density, from the n × n matrix (Quiñonero-Candela & Rasmussen)."""
    Z, Z_new = features.fit_transform(X), features.fit(X).transform(NEW)
    Q, Q_new, prior = Z @ Z.T, Z_new @ Z.T, Z_new @ Z_new.T
    if diagonal:
        Q, prior = Q + np.diag(1 - Q.diagonal()), k(NEW, NEW)
    C = variance * Q + noise * np.eye(N)
    solved = np.linalg.solve(C, np.column_stack([CENTRED, variance * Q_new.T]))
    mean, cov = variance * Q_new @ solved[:, 0], variance * prior - variance * Q_new @ solved[:, 1:]
    return mean + Y.mean(), cov, multivariate_normal(np.zeros(N), C).logpdf(CENTRED)


def agrees(model, expected):
    mean, cov, density = expected
    np.testing.assert_allclose(model.predict(NEW), mean, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(model.predict(NEW, return_cov=True)[1], cov, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(model.predict(NEW, return_std=True)[1], np.sqrt(cov.diagonal()), rtol=1e-6)
    assert model.log_marginal_likelihood() == pytest.approx(density, rel=1e-6)
    assert model.log_marginal_likelihood(model.theta_) == pytest.approx(density, rel=1e-6)


def test_with_all_rows_as_landmarks_it_is_scikit_learn_s_process():
    model = FeatureGPRegressor(NOISE, variance=V, features=ALL_ROWS, diagonal=True).fit(X, Y)
    theirs = exact()
    mean, cov = theirs.predict(NEW, return_cov=True)  # with the noise of a WhiteKernel, which std of f has not
    agrees(model, (mean + Y.mean(), cov - NOISE * np.eye(30), theirs.log_marginal_likelihood_value_))


@pytest.mark.parametrize(("features", "diagonal"), [(FEW, True), (FEW, False), (FOURIER, False)])
def test_mean_covariance_and_likelihood_are_those_of_the_dense_formulas(features, diagonal):
    model = FeatureGPRegressor(NOISE, variance=V, features=features, diagonal=diagonal).fit(X, Y)
    agrees(model, dense(features, diagonal))


LEARNT = [
    (FEW, "noise", False), (FEW, "noise", True), (FEW, "gamma", False), *slow((FEW, "lengths", True)),
    (NystroemFeatures(12, landmarks="kmeans", gamma=GAMMA, random_state=0), "gamma", True),
    (FOURIER, "gamma", False), (FOURIER, "lengths", False), (None, "noise", False),
    (RandomFourierFeatures(40, kernel="laplacian", gamma=GAMMA, random_state=0), "gamma", False),
    (RandomFourierFeatures(40, kernel="matern", gamma=GAMMA, random_state=0), "lengths", False),
    (RandomFourierFeatures(40, form="offset", gamma=GAMMA, random_state=0), "gamma", False),
    (OrthogonalRandomFeatures(40, gamma=GAMMA, random_state=0), "lengths", False),
    (QuasiMonteCarloFeatures(40, gamma=GAMMA, random_state=0), "gamma", False),
]  # fmt: skip


@pytest.mark.parametrize(("features", "learn", "diagonal"), LEARNT)
def test_gradients_are_those_of_finite_differences(features, learn, diagonal):
    targets = np.column_stack([Y, X[:, 0] ** 2])
    model = FeatureGPRegressor(NOISE, features=features, learn=learn, diagonal=diagonal).fit(X, targets)
    theta = model.theta_ + 0.3
    value, gradient = model.log_marginal_likelihood(theta, eval_gradient=True)
    assert value < model.log_marginal_likelihood_value_  # θ of the fit is a maximum, and this is another
    for j in range(len(theta)):
        step = 1e-4 * (np.arange(len(theta)) == j)
        sides = [model.log_marginal_likelihood(theta + sign * step) for sign in (1, -1)]
        assert gradient[j] == pytest.approx((sides[0] - sides[1]) / 2e-4, rel=1e-4, abs=5e-3)


def test_with_all_rows_gradients_and_what_is_learnt_are_scikit_learn_s():
    model = FeatureGPRegressor(NOISE, variance=V, features=ALL_ROWS, learn="gamma", diagonal=True).fit(X, Y)
    at = np.log([NOISE, V, GAMMA])
    value, by_noise, by_variance, by_gamma = np.hstack(model.log_marginal_likelihood(at, eval_gradient=True))
    theirs = exact()
    kernel = theirs.kernel_.theta  # of v, ℓ and σ², with γ = 1/(2ℓ²)
    expected, gradient = theirs.log_marginal_likelihood(kernel, eval_gradient=True)
    assert value == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose([by_variance, -2 * by_gamma, by_noise], gradient, rtol=1e-5)
    best = exact(optimizer="fmin_l_bfgs_b", n_restarts_optimizer=2, random_state=0)
    assert model.log_marginal_likelihood_value_ == pytest.approx(best.log_marginal_likelihood_value_, rel=1e-6)
    v, length, noise = np.exp(best.kernel_.theta)
    np.testing.assert_allclose(np.exp(model.theta_), [noise, v, 1 / (2 * length**2)], rtol=1e-2)
    assert (model.noise_, model.variance_) == pytest.approx(tuple(np.exp(model.theta_[:2])))
    assert model.features_.kernel_.gamma == pytest.approx(np.exp(model.theta_[2]))


def test_lengths_tell_inputs_that_matter_from_those_that_do_not():
    wide = np.column_stack([X, rng.uniform(-2, 2, size=(N, 1))])
    model = FeatureGPRegressor(features=RandomFourierFeatures(200, gamma=0.5, random_state=0), learn="lengths")
    lengths = np.exp(model.fit(wide, Y).theta_[2:])
    assert lengths[0] < lengths[1] < lengths[2]
    np.testing.assert_allclose(model.features_.kernel_.lengths, lengths)


def test_a_bandwidth_far_too_small_is_left_behind():
    wide = rng.normal(size=(300, 8))
    y = np.sin(wide[:, 0]) + 0.1 * rng.normal(size=300)
    features = RandomFourierFeatures(200, gamma=1.0, random_state=0)  # k(x, x′) is nearly 0 for all pairs
    assert FeatureGPRegressor(features=features).fit(wide[:200], y[:200]).score(wide[200:], y[200:]) < 0.2
    model = FeatureGPRegressor(features=features, learn="gamma").fit(wide[:200], y[:200])
    assert model.score(wide[200:], y[200:]) > 0.6


@pytest.mark.parametrize("random_state", [None, np.random.RandomState(0), np.random.default_rng(0)])
def test_draws_stay_the_same_while_the_bandwidth_is_learnt(random_state):
    features = RandomFourierFeatures(40, gamma=GAMMA, random_state=random_state)
    model = FeatureGPRegressor(features=features, learn="gamma").fit(X, Y)
    assert model.log_marginal_likelihood(model.theta_) == pytest.approx(model.log_marginal_likelihood(), rel=1e-9)
    assert np.abs(model.log_marginal_likelihood(eval_gradient=True)[1]).max() < 0.05


@pytest.mark.parametrize(("features", "diagonal"), [(FEW, True), (FEW, False), (FOURIER, False)])
def test_samples_have_the_posterior_s_mean_and_covariance(features, diagonal):
    model = FeatureGPRegressor(NOISE, variance=V, features=features, diagonal=diagonal).fit(X, Y)
    drawn = model.sample_y(NEW, 40_000, random_state=1)
    mean, cov = model.predict(NEW, return_cov=True)
    largest = np.sqrt(cov.diagonal().max())
    assert drawn.shape == (30, 40_000)
    np.testing.assert_allclose(drawn.mean(axis=1), mean, atol=5 * largest / 200)
    np.testing.assert_allclose(np.cov(drawn), cov, atol=7 * largest**2 / 200)
    np.testing.assert_array_equal(drawn, model.sample_y(NEW, 40_000, random_state=1))


@pytest.mark.parametrize("diagonal", [True, False])
def test_several_targets_have_scikit_learn_s_shapes_and_the_numbers_of_each(diagonal):
    both = np.column_stack([Y, 3 - X[:, 0]])
    model = FeatureGPRegressor(NOISE, variance=V, features=FEW, diagonal=diagonal).fit(X, both)
    mean, std = model.predict(NEW, return_std=True)
    cov, drawn = model.predict(NEW, return_cov=True)[1], model.sample_y(NEW, 5)
    assert (mean.shape, std.shape, cov.shape, drawn.shape) == ((30, 2), (30, 2), (30, 30, 2), (30, 2, 5))
    densities = []
    for at in range(2):
        alone = FeatureGPRegressor(NOISE, variance=V, features=FEW, diagonal=diagonal).fit(X, both[:, at])
        np.testing.assert_allclose(std[:, at], alone.predict(NEW, return_std=True)[1])
        np.testing.assert_allclose(cov[:, :, at], alone.predict(NEW, return_cov=True)[1])
        densities.append(alone.log_marginal_likelihood())
    assert model.log_marginal_likelihood() == pytest.approx(sum(densities))


@pytest.mark.parametrize(("features", "learn"), [(FEW, "gamma"), (FOURIER, "lengths")])
def test_float32_rows_give_nearly_the_same(features, learn):
    diagonal = features is FEW
    full = FeatureGPRegressor(features=features, learn=learn, diagonal=diagonal).fit(X, Y)
    short = FeatureGPRegressor(features=features, learn=learn, diagonal=diagonal).fit(X.astype(np.float32), Y)
    assert short.log_marginal_likelihood() == pytest.approx(full.log_marginal_likelihood(), abs=0.05)
    std = [model.predict(NEW.astype(kind), return_std=True)[1] for model, kind in ((full, "f8"), (short, "f4"))]
    np.testing.assert_allclose(std[1], std[0], rtol=0.05)


@pytest.mark.parametrize(("features", "learn", "diagonal"), [(FEW, "gamma", True), (FOURIER, "lengths", False)])
@pytest.mark.parametrize(("scale", "offset"), [(1, 1e6), *slow((1e4, 0), (1e-4, 0)), (-100, 1e5)])
def test_a_target_in_another_unit_has_the_same_model_in_that_unit(features, learn, diagonal, scale, offset):
    def fitted(targets):
        return FeatureGPRegressor(features=features, learn=learn, diagonal=diagonal).fit(X, targets)

    here, there = fitted(Y), fitted(scale * Y + offset)
    np.testing.assert_allclose(
        there.predict(NEW), scale * here.predict(NEW) + offset, rtol=1e-3, atol=2e-3 * abs(scale)
    )
    std = [model.predict(NEW, return_std=True)[1] for model in (here, there)]
    np.testing.assert_allclose(std[1], abs(scale) * std[0], rtol=1e-2)
    expected = here.log_marginal_likelihood() - N * np.log(abs(scale))
    assert there.log_marginal_likelihood() == pytest.approx(expected, abs=1e-2)


def test_intervals_hold_what_they_say_far_from_the_data_only_if_the_diagonal_is_corrected():
    """Functions drawn from the prior, learnt on [−4, 0]. Rows far from all others, with the opposite targets, make the
    mean of the targets that of the prior, 0."""
    draws = np.random.default_rng(1)
    x, near, far = draws.uniform(-4, 0, (150, 1)), np.linspace(-4, 0, 30)[:, None], np.linspace(3, 20, 30)[:, None]
    rows = np.vstack([x, near, far])
    f = np.linalg.cholesky(k(rows, rows, 1.0) + 1e-9 * np.eye(210)) @ draws.normal(size=(210, 400))
    y = f[:150] + 0.1 * draws.normal(size=(150, 400))
    features = NystroemFeatures(12, landmarks=draws.choice(150, 12, replace=False), gamma=1.0)
    for diagonal in (True, False):
        model = FeatureGPRegressor(0.01, variance=1.0, features=features, diagonal=diagonal)
        model.fit(np.vstack([x, x + 1000]), np.vstack([y, -y]))
        for place, at in ((near, slice(150, 180)), (far, slice(180, 210))):
            mean, std = model.predict(place, return_std=True)
            for level in (0.5, 0.9, 0.95):
                share = np.mean(np.abs(f[at] - mean) <= norm.ppf((1 + level) / 2) * std)
                if diagonal:
                    # near landmarks it is a little too careful
                    assert level - 0.03 < share < level + (0.03 if place is far else 0.1), (place[0], level)
                elif place is far:
                    assert share < level / 4


def test_the_uncorrected_deviation_goes_to_0_far_away_and_the_corrected_one_to_the_prior_s():
    far = np.full((1, 2), 50.0)
    plain, corrected = (
        FeatureGPRegressor(NOISE, variance=V, features=FEW, diagonal=each).fit(X, Y) for each in (False, True)
    )
    assert plain.predict(far, return_std=True)[1] < 1e-6
    assert corrected.predict(far, return_std=True)[1] == pytest.approx(np.sqrt(V))


def test_a_loaded_model_predicts_and_does_not_carry_the_training_rows():
    model = FeatureGPRegressor(features=FOURIER, learn="gamma").fit(X, Y)
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict(NEW, return_std=True)[1], model.predict(NEW, return_std=True)[1])
    assert loaded.log_marginal_likelihood() == model.log_marginal_likelihood()
    with pytest.raises(ValueError, match="fit it again"):
        loaded.log_marginal_likelihood(model.theta_)


@pytest.mark.parametrize(("parameters", "named"), [
    ({"learn": "everything"}, "learn must be one of"),
    ({"learn": "gamma"}, "learn must be None or 'noise'"),
    ({"learn": "gamma", "features": MaclaurinFeatures(20, kernel="exponential")}, None),
    ({"learn": "gamma", "features": NystroemFeatures(5, kernel="precomputed")}, "learn must be None or 'noise'"),
    ({"diagonal": 2}, "diagonal must be one of"),
    ({"diagonal": True, "features": FOURIER}, "diagonal must be False but for NystroemFeatures"),
    ({"learn": "noise", "pairs": "complex", "features": FOURIER}, "pairs must be 'real'"),
])  # fmt: skip
def test_what_cannot_be_learnt_or_corrected_is_refused_by_name(parameters, named):
    model = FeatureGPRegressor(**parameters)
    if named is None:
        assert np.isfinite(model.fit(X, Y).log_marginal_likelihood())
        return
    with pytest.raises(ValueError, match=named):
        model.fit(X, Y)


def test_wrong_calls_are_refused():
    model = FeatureGPRegressor(features=FEW, learn="lengths").fit(X, Y)
    with pytest.raises(ValueError, match="at most one"):
        model.predict(NEW, return_std=True, return_cov=True)
    with pytest.raises(ValueError, match="noise, variance, length of input 0, length of input 1: 4 numbers"):
        model.log_marginal_likelihood([0.0, 0.0])
    with pytest.raises(ValueError, match="n_samples"):
        model.sample_y(NEW, 0)
    mixed = FeatureGPRegressor(pairs="complex", features=FOURIER).fit(X, Y)
    with pytest.raises(ValueError, match="pairs must be 'real'"):
        mixed.predict(NEW, return_std=True)


def test_a_kernel_given_with_lengths_is_learnt_from_these():
    features = NystroemFeatures(12, kernel=GaussianKernel(lengths=(1.0, 3.0)), gamma=GAMMA, random_state=0)
    start = FeatureGPRegressor(features=features).fit(X, Y)
    model = FeatureGPRegressor(features=features, learn="lengths").fit(X, Y)
    assert model.log_marginal_likelihood() > start.log_marginal_likelihood()
    at = np.concatenate([start.theta_, np.log([1.0, 3.0])])
    assert model.log_marginal_likelihood(at) == pytest.approx(start.log_marginal_likelihood())
