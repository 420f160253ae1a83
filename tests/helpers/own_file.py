"""A map of a user's own in a file, and a config beside it."""

import yaml

MINE = '''
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state


class MyFeatures(TransformerMixin, BaseEstimator):
    """Cosines, without a kernel to choose.

    Parameters
    ----------
    scale : of the columns
    """

    def __init__(self, n_components=100, gamma=1.0, scale=1.0, random_state=None):
        self.n_components = n_components
        self.gamma = gamma
        self.scale = scale
        self.random_state = random_state

    def fit(self, X, y=None):
        rng = check_random_state(self.random_state)
        self.W_ = np.sqrt(2 * self.gamma) * rng.normal(size=(X.shape[1], self.n_components))
        self.b_ = rng.uniform(0, 2 * np.pi, self.n_components)
        return self

    def transform(self, X):
        return self.scale * np.sqrt(2 / self.n_components) * np.cos(X @ self.W_ + self.b_)
'''
MINE_SCALED = {"features": "./mine.py:MyFeatures", "scale": 2.0}
CONFIG = {
    "name": "own", "datasets": ["breast-cancer"], "n_features": [8], "trials": 1, "preprocess": "minmax",
    "methods": {"RFF": {"features": "fourier"}, "Mine": MINE_SCALED},
}  # fmt: skip


def write(folder, source=MINE, **changes):
    """mine.py and a config beside it; the config's path."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mine.py").write_text(source)
    (folder / "own.yaml").write_text(yaml.safe_dump(CONFIG | changes, sort_keys=False))
    return folder / "own.yaml"
