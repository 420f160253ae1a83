"""How often `rffbench diff` calls a map worse that has not changed, but draws without a seed:

    python scripts/unseeded.py [--pairs N] [--tolerance POINTS]

Each pair is two runs of one config, on real data: four datasets, two sizes, five trials, 280 training rows. The map is
random Fourier features, in a file of one's own, that take no notice of `random_state`. Prints the verdicts of each
pair's cells, and of how many pairs any cell was worse; docs/ci.md has the promise.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from pathlib import Path

from rffbench.config.loading import load_experiment
from rffbench.execution.run import run_experiment
from rffbench.execution.serial import SerialExecutor
from rffbench.report.diff import diff

MAP = """\
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin


class Unseeded(TransformerMixin, BaseEstimator):
    def __init__(self, n_components=100, gamma=1.0):
        self.n_components = n_components
        self.gamma = gamma

    def fit(self, X, y=None):
        rng = np.random.default_rng()
        self.W_ = np.sqrt(2 * self.gamma) * rng.normal(size=(X.shape[1], self.n_components))
        self.b_ = rng.uniform(0, 2 * np.pi, self.n_components)
        return self

    def transform(self, X):
        return np.sqrt(2 / self.n_components) * np.cos(X @ self.W_ + self.b_)
"""
CONFIG = """\
name: unseeded
datasets: [eeg, magic04, breast-cancer, digits]
preprocess: standard
kernel: {name: gaussian, sigma: 3.0}
n_features: [2d, 8d]
count: columns
methods: {Mine: {features: ./map.py:Unseeded}}
solver: {name: ridge, lambda: [1.0e-4, 1.0e-3, 1.0e-2], folds: 3}
train_rows: 280
kernel_error_points: 100
trials: 5
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--tolerance", type=float, default=0.5)
    asked = parser.parse_args()
    alarms = 0
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "map.py").write_text(MAP)
        (place / "unseeded.yaml").write_text(CONFIG)
        for pair in range(asked.pairs):
            folders = [place / f"{pair}-{which}" for which in ("old", "new")]
            for each in folders:
                run_experiment(load_experiment(place / "unseeded.yaml"), each, executor=SerialExecutor())
            cells = diff(*folders, asked.tolerance).cells
            verdicts = Counter(cells["verdict"])
            alarms += verdicts["worse"] > 0
            print(f"pair {pair + 1}: {', '.join(f'{count} {name}' for name, count in verdicts.items())}", flush=True)
    print(f"{alarms} of {asked.pairs} pairs have a cell that is worse")


if __name__ == "__main__":
    main()
