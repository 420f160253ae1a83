"""Another package's feature map and solver: scikit-learn's own, under the names that this suite asks for."""

from sklearn.kernel_approximation import RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline


class CosineFeatures(RBFSampler):
    """√(2/D)·cos(wᵀx + b), D = ``n_components``."""

    def __init__(self, n_components=100, kernel="gaussian", gamma=1.0, random_state=None):
        super().__init__(n_components=n_components, gamma=gamma, random_state=random_state)
        self.kernel = kernel


def make_ridge(*, task, features, kernel, gamma, n_features, random_state, memory, alpha=1.0):
    """Ridge regression on the features held whole."""
    return KernelRidge(alpha=alpha) if features is None else make_pipeline(features, KernelRidge(alpha=alpha))


make_ridge.parameters = {"alpha": 1.0}
