"""Plain prototypes of maps that were left out; left-out-gaussian.yaml, left-out-resampling.yaml and
left-out-laplacian.yaml measure them."""

import numba
import numpy as np
from scipy.linalg import solve
from scipy.sparse import csr_array
from sklearn.utils.validation import validate_data

from rffbench.arguments.seeds import generator, seed_sequence
from rffbench.kernels import GaussianKernel, LaplacianKernel
from rffbench.plugin import FourierFeatures
from rffbench.plugins.parts import MapServes


class ModifiedLeverageFeatures(FourierFeatures):
    """Half of the frequencies are uniform on a box of ``width`` standard deviations, the others are those of the
    Gaussian kernel; each has the weight p/q, q the mixture's density. (H. Avron et al., ICML 2017, Section 5.)"""

    serves = MapServes(kernels=GaussianKernel, source="Avron et al., ICML 2017")

    def __init__(self, n_components=100, *, width=10.0, kernel="gaussian", gamma=1.0, random_state=None):
        self.n_components, self.width, self.kernel, self.gamma = n_components, width, kernel, gamma
        self.random_state = random_state

    def fit(self, X, y=None):
        self.check_parameters()
        X = self._validated(X, reset=True)
        s, d = self.n_frequencies, X.shape[1]
        deviation, rng = np.sqrt(2 * self.bandwidth), generator(seed_sequence(self.random_state), "box")
        W = self.draw(s, d)
        W[:, ::2] = deviation * self.width * rng.uniform(-1, 1, (d, (s + 1) // 2))
        unit = W / deviation
        log_p = -(unit**2).sum(axis=0) / 2 - d / 2 * np.log(2 * np.pi)
        box = np.where((np.abs(unit) <= self.width).all(axis=0), -d * np.log(2 * self.width), -np.inf)
        weights = np.exp(log_p - (np.logaddexp(log_p, box) - np.log(2)))
        self.set_pairs(W)
        self.weights_, self.scale_ = weights, np.sqrt(weights / s)
        return self


class ResampledFeatures(FourierFeatures):
    """Frequencies that move to where the targets need them: ``steps`` times, ridge regression with the penalty λ (of
    the features' mean square) gives each frequency an amplitude; s are drawn anew with chances in proportion to it, and
    each takes a random step of ``walk`` standard deviations of the spectral density. (A. Kammonen et al.,
    arXiv:2509.03151, Algorithm 1.) Up to 10,000 rows are used."""

    serves = MapServes(kernels=GaussianKernel, source="Kammonen et al., arXiv:2509.03151")
    unbiased = False
    takes_targets = True

    def __init__(
        self, n_components=100, *, steps=20, walk=0.5, penalty=1e-4, kernel="gaussian", gamma=1.0, random_state=None
    ):
        self.n_components, self.steps, self.walk, self.penalty = n_components, steps, walk, penalty
        self.kernel, self.gamma, self.random_state = kernel, gamma, random_state

    def fit(self, X, y):
        self.check_parameters()
        X = np.asarray(self._validated(X, reset=True), np.float64)[:10_000]
        s, rng = self.n_frequencies, generator(seed_sequence(self.random_state), "steps")
        W = self.draw(s, X.shape[1])
        Y = np.asarray(y, np.float64)[: len(X)].reshape(len(X), -1)  # values, or a column of ±1 for each class
        Y = Y - Y.mean(axis=0)
        for _ in range(self.steps):
            Z = np.hstack([np.cos(X @ W), np.sin(X @ W)])
            Z -= Z.mean(axis=0)
            gram = Z.T @ Z
            gram.flat[:: 2 * s + 1] += self.penalty * np.trace(gram) / (2 * s)
            amplitudes = np.sqrt((solve(gram, Z.T @ Y, assume_a="pos") ** 2).reshape(2, s, -1).sum(axis=(0, 2)))
            W = W[:, rng.choice(s, size=s, p=amplitudes / amplitudes.sum())]
            W += self.walk * np.sqrt(2 * self.bandwidth) * rng.normal(size=W.shape)
        self.set_pairs(W)
        return self


class MondrianFeatures(FourierFeatures):
    """A column for each leaf of ``n_components`` Mondrian trees of the lifetime γ on the box of the training rows: two
    rows share a leaf with probability exp(−γ‖Δ‖₁). Cells without training rows are not cut. (M. Balog et al., UAI
    2016.)"""

    serves = MapServes(kernels=LaplacianKernel, sparse=True, source="Balog et al., UAI 2016")
    columns_per_frequency = 1
    accepts_sparse = False
    fill = None

    def __init__(self, n_components=100, *, kernel="laplacian", gamma=1.0, random_state=None):
        self.n_components, self.kernel, self.gamma, self.random_state = n_components, kernel, gamma, random_state

    def fit(self, X, y=None):
        X = np.asarray(validate_data(self, X, dtype=[np.float64, np.float32]), np.float64)
        sequence = seed_sequence(self.random_state)
        self.trees_ = [
            grown(X, float(self.gamma), int(generator(sequence, f"tree {i}").integers(2**31)))
            for i in range(self.n_components)
        ]
        self.n_columns_ = sum(int(tree[-1]) for tree in self.trees_)
        return self

    def transform(self, X):
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        columns, first = np.empty((len(X), self.n_components), np.int64), 0
        for i, (axes, cuts, children, leaves, count) in enumerate(self.trees_):
            columns[:, i] = first + found(X.astype(np.float64), axes, cuts, children, leaves)
            first += int(count)
        n, trees = columns.shape
        data = np.full(n * trees, trees**-0.5, X.dtype)
        return csr_array((data, columns.ravel(), np.arange(n + 1) * trees), shape=(n, self.n_columns_))

    @property
    def _n_features_out(self):
        return self.n_columns_


@numba.njit
def grown(X, lifetime, seed):
    """A tree: of each node the axis that it cuts, −1 of a leaf, where, its two children, and the leaf's number."""
    np.random.seed(seed)
    n, d = X.shape
    axes, cuts, born = [-1], [0.0], [0.0]
    children, bounds, rows = [(-1, -1)], [(0, n)], np.arange(n)
    lower, upper = [X[0].copy()], [X[0].copy()]
    for j in range(d):
        lower[0][j], upper[0][j] = X[:, j].min(), X[:, j].max()
    node = 0
    while node < len(axes):
        first, last = bounds[node]
        extents = upper[node] - lower[node]
        total = extents.sum()
        time = born[node] + (np.random.exponential(1 / total) if total > 0 else np.inf)
        if time < lifetime and last > first:
            axis, left = 0, np.random.uniform(0, total)
            while axis < d - 1 and left > extents[axis]:
                left -= extents[axis]
                axis += 1
            cut = np.random.uniform(lower[node][axis], upper[node][axis])
            middle = first
            for i in range(first, last):
                if X[rows[i], axis] <= cut:
                    rows[i], rows[middle] = rows[middle], rows[i]
                    middle += 1
            axes[node], cuts[node], children[node] = axis, cut, (len(axes), len(axes) + 1)
            for side in range(2):
                axes.append(-1)
                cuts.append(0.0)
                born.append(time)
                children.append((-1, -1))
                bounds.append((first, middle) if side == 0 else (middle, last))
                lower.append(lower[node].copy())
                upper.append(upper[node].copy())
                if side == 0:
                    upper[-1][axis] = cut
                else:
                    lower[-1][axis] = cut
        node += 1
    leaves, count = np.full(len(axes), -1), 0
    for node in range(len(axes)):
        if axes[node] < 0:
            leaves[node] = count
            count += 1
    return np.array(axes), np.array(cuts), np.array(children), leaves, count


@numba.njit
def found(X, axes, cuts, children, leaves):
    """The number of each row's leaf."""
    out = np.empty(len(X), np.int64)
    for i in range(len(X)):
        node = 0
        while axes[node] >= 0:
            node = children[node, 0 if X[i, axes[node]] <= cuts[node] else 1]
        out[i] = leaves[node]
    return out
