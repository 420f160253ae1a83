"""Kernels of the user's own, of texts, graphs and vectors: callables, scikit-learn's kernel objects, and matrices."""

import pickle
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, DotProduct, Matern
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import rffbench
from rffbench import NystroemFeatures, RandomFourierFeatures, SparseRandomFeaturesRegressor, StreamedRidgeCV
from rffbench.solvers.iterative.eigenpro import EigenProRegressor
from rffbench.solvers.iterative.falkon import FalkonClassifierCV, FalkonCV
from rffbench.solvers.ridge.exact import ExactKernelRidgeClassifierCV, ExactKernelRidgeCV
from rffbench.solvers.svm.kernel import KernelSVM

rng = np.random.default_rng(0)
N, M = 60, 25
OFTEN = ([0.5, 0.3, 0.1, 0.1], [0.1, 0.1, 0.3, 0.5])  # of the letters, in each class
TEXTS = ["".join(rng.choice(list("abcd"), rng.integers(5, 15), p=p)) for p in OFTEN
         for _ in range(40)]  # fmt: skip
ORDER = rng.permutation(80)
TEXTS, LABELS = [TEXTS[at] for at in ORDER], ORDER >= 40
VALUES = np.array([text.count("a") / len(text) for text in TEXTS])
RULES = ("uniform", "rls", "bless", "rpcholesky", "greedy")
calls = Counter()


def grams(text, other):
    """The 2-spectrum kernel (Leslie et al. 2002), normalised."""
    calls["grams"] += 1
    counts = [Counter(pairwise(each)) for each in (text, other)]
    norms = [sum(value**2 for value in count.values()) ** 0.5 for count in counts]
    return sum(counts[0][key] * counts[1][key] for key in counts[0]) / (norms[0] * norms[1])


def grams_of_all(texts, others):
    return np.array([[grams(text, other) for other in others] for text in texts])


def graph(p):
    edges = rng.random((8, 8)) < p
    return {"edges": np.triu(edges, 1) | np.triu(edges, 1).T}


def walks(one, other):
    """Common walks of up to 3 steps, by their numbers: a product of features."""
    numbers = []
    for each in (one, other):
        A, power = each["edges"].astype(float), np.eye(8)
        numbers.append([float((power := power @ A).sum()) / 8 ** (k + 1) for k in range(3)])
    return 1.0 + float(np.dot(*numbers))


GRAM = grams_of_all(TEXTS, TEXTS)
TRAIN, TEST = slice(0, N), slice(N, 80)
VECTORS = rng.normal(size=(80, 3))


@pytest.mark.parametrize("rule", RULES)
def test_features_of_texts_have_the_kernels_values_at_the_landmarks(rule):
    of_texts = NystroemFeatures(M, landmarks=rule, kernel=grams, random_state=0).fit(TEXTS[TRAIN])
    of_matrix = NystroemFeatures(M, landmarks=rule, kernel="precomputed", random_state=0).fit(GRAM[TRAIN, TRAIN])
    np.testing.assert_array_equal(of_texts.landmarks_, of_matrix.landmarks_)
    Z = of_texts.transform(TEXTS)
    np.testing.assert_allclose(of_matrix.transform(GRAM[:, TRAIN]), Z, atol=1e-9)
    at = of_texts.landmarks_
    np.testing.assert_allclose(Z @ Z[at].T, GRAM[:, at], atol=1e-6)
    assert list(of_texts.points_) == [TEXTS[number] for number in at] or of_texts.rank_ < M or rule != "uniform"


def test_a_fit_takes_m_squared_values_and_m_of_each_new_row():
    map_ = NystroemFeatures(M, kernel=grams, random_state=0)
    calls.clear()
    map_.fit(TEXTS[TRAIN])
    assert calls["grams"] == M * M
    calls.clear()
    map_.transform(TEXTS[TEST])
    assert calls["grams"] == 20 * map_.rank_


def test_kernel_ridge_takes_each_pair_of_texts_about_once():
    model = ExactKernelRidgeCV([1e-2], kernel=grams)
    calls.clear()
    model.fit(TEXTS[TRAIN], VALUES[TRAIN])
    assert calls["grams"] == N * N  # one block, whose two halves are compared
    calls.clear()
    model.predict(TEXTS[TEST])
    assert calls["grams"] == 20 * N


def test_graphs_are_rows_too():
    graphs = [graph(p) for p in np.linspace(0.2, 0.8, 40)]
    y = np.linspace(0.2, 0.8, 40)
    gram = np.array([[walks(one, other) for other in graphs] for one in graphs])
    model = make_pipeline(NystroemFeatures(15, landmarks="rpcholesky", kernel=walks, random_state=0),
                          StreamedRidgeCV([1e-6, 1e-4], center="both"))  # fmt: skip
    assert model.fit(graphs, y).score(graphs, y) > 0.8
    exact = ExactKernelRidgeCV([1e-3], kernel=walks, lambda_scale=1).fit(graphs, y)
    peer = KernelRidge(1e-3, kernel="precomputed").fit(gram, y - y.mean())
    np.testing.assert_allclose(exact.predict(graphs), peer.predict(gram) + y.mean(), rtol=1e-6)


@pytest.mark.parametrize("kernel", [RBF(0.7), Matern(1.3, nu=1.5) + 0.5 * DotProduct(), "function"], ids=str)
def test_vectors_give_what_scikit_learn_gives(kernel):
    def of_pair(x, other):
        return float(np.exp(-np.abs(x - other).sum()))

    def of_matrices(A, B):
        return np.exp(-np.abs(A[:, None] - B[None]).sum(axis=2))

    pair, whole = (of_pair, of_matrices) if kernel == "function" else (kernel, kernel)
    y, labels = np.sin(VECTORS[:, 0]), VECTORS[:, 0] > 0
    K = pairwise_kernels(VECTORS, VECTORS[TRAIN], metric=pair)
    ridge = ExactKernelRidgeCV([0.1], kernel=pair, lambda_scale=1, center=False).fit(VECTORS[TRAIN], y[TRAIN])
    np.testing.assert_allclose(
        ridge.predict(VECTORS), KernelRidge(0.1, kernel="precomputed").fit(K[TRAIN], y[TRAIN]).predict(K), rtol=1e-7
    )
    machine = KernelSVM("hinge", 1.0, kernel=whole, tolerance=1e-6).fit(VECTORS[TRAIN], labels[TRAIN])
    peer = SVC(C=1.0, kernel=whole, tol=1e-6).fit(VECTORS[TRAIN], labels[TRAIN])
    np.testing.assert_allclose(machine.decision_function(VECTORS), peer.decision_function(VECTORS), atol=1e-4)
    chosen = NystroemFeatures(20, kernel=pair, random_state=0).fit(VECTORS[TRAIN])
    Z, at = chosen.transform(VECTORS), chosen.landmarks_
    theirs = Nystroem(pair, n_components=20, random_state=0)
    theirs.fit(VECTORS[at])  # all of these are its landmarks
    np.testing.assert_allclose(Z @ Z.T, theirs.transform(VECTORS) @ theirs.transform(VECTORS).T, atol=1e-6)


@pytest.mark.parametrize("make", [
    lambda kernel: ExactKernelRidgeClassifierCV([1e-2, 1e-1], kernel=kernel),
    lambda kernel: KernelSVM(kernel=kernel, C=10),
    lambda kernel: KernelSVM("hinge", kernel=kernel, C=10),
    lambda kernel: FalkonClassifierCV([1e-3], kernel=kernel, n_landmarks=30, landmarks="rpcholesky", random_state=0),
])  # fmt: skip
def test_learners_of_texts_and_of_their_matrix_agree(make):
    own = grams_of_all if isinstance(make("precomputed"), KernelSVM) else grams
    of_texts = make(own).fit(TEXTS[TRAIN], LABELS[TRAIN])
    of_matrix = make("precomputed").fit(GRAM[TRAIN, TRAIN], LABELS[TRAIN])
    np.testing.assert_allclose(
        of_matrix.decision_function(GRAM[:, TRAIN]), of_texts.decision_function(TEXTS), atol=1e-5, rtol=1e-5
    )
    assert np.mean(of_texts.predict(TEXTS[TEST]) == LABELS[TEST]) > 0.7
    again = pickle.loads(pickle.dumps(of_texts))
    np.testing.assert_array_equal(again.predict(TEXTS[TEST]), of_texts.predict(TEXTS[TEST]))
    assert len(pickle.dumps(of_matrix)) < 20_000  # without the matrix


def test_falkon_agrees_with_ridge_on_features_of_the_same_landmarks():
    model = FalkonCV([1e-3], kernel=grams, n_landmarks=30, landmarks="greedy", random_state=0, center=False,
                     budget={"tolerance": 1e-9})  # fmt: skip
    model.fit(TEXTS[TRAIN], VALUES[TRAIN])
    K, L = (
        GRAM[rows][:, model.landmarks_[:, 0].astype(int)] for rows in (slice(N), model.landmarks_[:, 0].astype(int))
    )
    alpha = np.linalg.lstsq(K.T @ K + N * 1e-3 * L, K.T @ VALUES[TRAIN], rcond=1e-12)[0]
    np.testing.assert_allclose(model.predict(TEXTS[TRAIN]), K @ alpha, atol=1e-5)


def test_a_precomputed_kernel_can_be_cross_validated_by_scikit_learn():
    for model in (ExactKernelRidgeClassifierCV([1e-2], kernel="precomputed"), KernelSVM(kernel="precomputed")):
        assert cross_val_score(clone(model), GRAM, LABELS, cv=4).min() > 0.8
    features = make_pipeline(NystroemFeatures(20, kernel="precomputed", random_state=0), StreamedRidgeCV([1e-3]))
    assert np.isfinite(cross_val_score(features, GRAM, VALUES, cv=4)).all()


# ---- What is refused ----


@pytest.mark.parametrize("name", [name for name in rffbench.__all__ if name.endswith("Features") and "Nys" not in name])
@pytest.mark.parametrize(
    ("kernel", "takes"), [(grams, "a callable"), (RBF(), "a callable"), ("precomputed", "a precomputed")]
)
def test_other_maps_refuse_it_by_name(name, kernel, takes):
    made = getattr(rffbench, name)(16, kernel=kernel)
    with pytest.raises(ValueError, match=f"{name} needs .* kernel.*; NystroemFeatures takes {takes}"):
        made.fit(VECTORS, VECTORS[:, 0])


def test_the_spectral_density_is_what_fourier_features_need():
    with pytest.raises(
        ValueError,
        match=r"^RandomFourierFeatures needs a kernel with a spectral density; NystroemFeatures takes a callable$",
    ):
        RandomFourierFeatures(kernel=grams).fit(VECTORS)


@pytest.mark.parametrize("model", [SparseRandomFeaturesRegressor(kernel=grams), EigenProRegressor(kernel=grams)])
def test_other_learners_refuse_it_by_name(model):
    with pytest.raises(
        ValueError, match=f"{type(model).__name__} must be a name or a Kernel; NystroemFeatures, .* take"
    ):
        model.fit(VECTORS, VECTORS[:, 0])


def takes_rows(kernel, **more):
    return NystroemFeatures(10, kernel=kernel, random_state=0, **more)


@pytest.mark.parametrize(("model", "X", "said"), [
    (takes_rows(lambda x, other: float(len(x))), TEXTS, "not symmetric: .* of rows"),
    (takes_rows(lambda x, other: np.ones(2)), VECTORS, r"a number for two rows, got an array \(2,\); KernelSVM"),
    (takes_rows(lambda x, other: np.nan), TEXTS, "gives NaN"),
    (takes_rows(lambda x, other: -float(np.dot(x, other))), VECTORS, "not positive semi-definite.*eigenvalue -"),
    (KernelSVM(kernel=lambda A, B: np.ones(3)), VECTORS, r"a matrix \(\d+, \d+\).*got an array \(3,\)"),
    (takes_rows("precomputed"), GRAM[:, :30], "needs a square matrix in fit.*got 80 × 30"),
    (takes_rows("precomputed"), GRAM + np.triu(np.ones((80, 80)), 1), "precomputed matrix is not symmetric"),
    (takes_rows("precomputed"), GRAM - 2 * np.eye(80), "precomputed matrix is not positive.*eigenvalue -"),
    (ExactKernelRidgeClassifierCV([1.0], kernel="precomputed"), GRAM - 2 * np.eye(80), "not positive"),
    (KernelSVM(kernel="precomputed"), GRAM[:, :30], "square"),
    (takes_rows("precomputed"), TEXTS, "square matrix.*80 rows that are no numbers"),
    (takes_rows(grams, gamma=2.0), TEXTS, "gamma must be 1 with a kernel of your own"),
    (takes_rows(grams, landmarks="kmeans"), TEXTS, "must be one of uniform, rls, bless, rpcholesky, greedy"),
    (takes_rows(3), TEXTS, "kernel must be a name or a Kernel, got 3"),
])  # fmt: skip
def test_a_kernel_that_is_none_is_named_with_what_would_do(model, X, said):
    with pytest.raises(ValueError, match=said):
        model.fit(X, LABELS)


def test_rows_of_another_width_are_refused_at_prediction():
    model = KernelSVM(kernel="precomputed").fit(GRAM[TRAIN, TRAIN], LABELS[TRAIN])
    with pytest.raises(
        ValueError, match=r"X has 20 columns; this kernel needs 60, k.*of each row x and each of the rows"
    ):
        model.predict(GRAM[TEST, TEST])
    map_ = NystroemFeatures(5, kernel=RBF(), random_state=0).fit(VECTORS)
    with pytest.raises(ValueError, match="X has 2 columns; this kernel needs 3"):
        map_.transform(VECTORS[:, :2])
