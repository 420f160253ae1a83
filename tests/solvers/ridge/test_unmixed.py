"""Ridge on landmarks whose sums are of kernel values, not of features, gives what ridge on the features gives."""

import numpy as np
import pytest

from rffbench import NystroemFeatures, StreamedRidgeClassifierCV, StreamedRidgeCV
from rffbench.features.data_dependent.nystroem import NystroemFeatures as Map
from rffbench.solvers.ridge import streaming

RNG = np.random.default_rng(0)
X = RNG.normal(size=(900, 6))
Y = np.sin(X[:, 0]) + X[:, 1] ** 2 / 3 + 0.1 * RNG.normal(size=900)
ALPHAS = [1e-6, 1e-4, 1e-2]
MAPS = {
    "laplacian": NystroemFeatures(60, kernel="laplacian", gamma=0.1, random_state=0),
    "gaussian": NystroemFeatures(60, kernel="gaussian", gamma=0.3, landmarks="rpcholesky", random_state=0),
}


class Mixed(Map):
    """The same map, of which nothing is known but its features."""

    unmixed = None


def mixed(features):
    return Mixed(**features.get_params())


def weighted(model, y):
    return model.fit(X, y, sample_weight=np.arange(1.0, 901) / 450)


@pytest.mark.parametrize("center", [True, "both", False])
@pytest.mark.parametrize("features", MAPS.values(), ids=MAPS)
@pytest.mark.parametrize("settings", [{}, {"lambda_scale": 1}, {"lambda_scale": "trace"}, {"path": True}], ids=str)
def test_folds_lambdas_and_coefficients_are_those_of_the_features(center, features, settings, unmixed):
    ours, plain = (
        StreamedRidgeCV(ALPHAS, center=center, features=each, **settings).fit(X, Y)
        for each in (features, mixed(features))
    )
    assert unmixed.call_count == 1  # ours alone
    assert ours.alpha_ == plain.alpha_
    np.testing.assert_allclose(ours.cv_results_["fold_test_error"], plain.cv_results_["fold_test_error"], rtol=1e-6)
    np.testing.assert_allclose(ours.predict(X), plain.predict(X), atol=1e-6)
    np.testing.assert_allclose(ours.coef_, plain.coef_, atol=1e-4 * np.abs(plain.coef_).max())
    if settings.get("path"):
        np.testing.assert_allclose(ours.predict_path(X)[1], plain.predict_path(X)[1], atol=1e-6)


@pytest.mark.parametrize("settings", [{"scoring": "accuracy"}, {"center": "both"}, {}], ids=str)
@pytest.mark.parametrize("passes", [False, True])
def test_classes_weights_and_little_memory_make_no_difference(settings, passes, monkeypatch, unmixed):
    if passes:
        plan = streaming.streaming_plan
        in_passes = lambda *given, **more: plan(*given, **more)._replace(way="in_passes")  # noqa: E731
        monkeypatch.setattr(streaming, "streaming_plan", in_passes)
    labels = np.digitize(Y, [0.0, 1.0])
    ours, plain = (
        weighted(StreamedRidgeClassifierCV(ALPHAS, features=each, **settings), labels)
        for each in (MAPS["laplacian"], mixed(MAPS["laplacian"]))
    )
    assert unmixed.call_count == 1
    np.testing.assert_allclose(ours.decision_function(X), plain.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(ours.cv_results_["mean_test_error"], plain.cv_results_["mean_test_error"], rtol=1e-5)


def test_float32_rows_are_summed_in_float64(unmixed):
    ours, plain = (
        StreamedRidgeCV(ALPHAS, features=each).fit(X.astype(np.float32), Y)
        for each in (MAPS["laplacian"], mixed(MAPS["laplacian"]))
    )
    assert unmixed.call_count == 1
    np.testing.assert_allclose(ours.predict(X.astype(np.float32)), plain.predict(X.astype(np.float32)), atol=1e-3)


def test_landmarks_that_nearly_agree_leave_sums_of_the_features(unmixed):
    """Their kernel matrix has eigenvalues that rounding in KᵀK would drown at this λ."""
    smooth = NystroemFeatures(60, gamma=1e-3, random_state=0)
    StreamedRidgeCV(ALPHAS, features=smooth).fit(X, Y)
    assert not unmixed.called
    StreamedRidgeCV([1e3], features=MAPS["gaussian"]).fit(X, Y)
    assert unmixed.called


def test_few_rows_are_mixed_one_by_one(unmixed):
    StreamedRidgeCV(ALPHAS, features=MAPS["laplacian"]).fit(X[:300], Y[:300])
    assert not unmixed.called


def test_a_second_fit_forgets_how_the_first_went():
    model = StreamedRidgeCV(ALPHAS, features=MAPS["laplacian"]).fit(X, Y)
    plain = StreamedRidgeCV(ALPHAS, features=mixed(MAPS["laplacian"]))
    np.testing.assert_allclose(model.fit(X[:300], Y[:300]).predict(X), plain.fit(X[:300], Y[:300]).predict(X))
    np.testing.assert_allclose(model.partial_fit(X, Y).predict(X), plain.partial_fit(X, Y).predict(X), atol=1e-8)


@pytest.mark.parametrize("alpha", [1e-12, 1e-6, 1.0])
@pytest.mark.parametrize("gamma", [1e-3, 0.3])
@pytest.mark.parametrize("targets", [Y, np.column_stack([Y, -Y, Y**2])], ids=["one target", "three"])
def test_predictions_of_a_fit_to_mixed_columns_do_not_mix_rows(alpha, gamma, targets, monkeypatch):
    """With γ = 0.001 the landmarks nearly agree, so that R is singular but for rounding."""
    features = NystroemFeatures(60, gamma=gamma, random_state=0)
    model = StreamedRidgeCV([alpha], features=features).fit(X[:100], targets[:100])
    expected = model.features_.transform(X) @ model.coef_.T + model.intercept_
    monkeypatch.setattr(Map, "fill", None)  # which mixes every row
    np.testing.assert_allclose(model.predict(X), expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def test_a_row_of_many_targets_is_mixed_as_before(monkeypatch):
    model = StreamedRidgeCV([1e-3], features=MAPS["gaussian"]).fit(X[:100], np.column_stack([Y, -Y])[:100])
    both = model.predict(X[:2])
    monkeypatch.setattr(streaming.UnmixedColumns, "collapse", None)
    np.testing.assert_allclose(model.predict(X[:1]), both[:1], atol=1e-10)
