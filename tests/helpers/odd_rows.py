"""Rows whose numbers are extreme."""

import numpy as np


def rows(n=40, d=3):
    X = np.random.default_rng(0).uniform(size=(n, d))
    return X, np.where(X[:, 0] > 0.4, 1.0, -1.0)


def changed(change, n=40, d=3):
    X, y = rows(n, d)
    change(X)
    return X, y


def sorted_by_class():
    X, y = rows()
    order = np.argsort(y)
    return X[order], y[order]  # most folds have one class


CASES = {
    "a constant column": lambda: changed(lambda X: X[:, 1].fill(7)),
    "nothing but constants": lambda: changed(lambda X: X.fill(7)),
    "nothing but zeros": lambda: changed(lambda X: X.fill(0)),
    "a column twice": lambda: changed(lambda X: np.copyto(X[:, 2], X[:, 0])),
    "rows twice": lambda: tuple(np.repeat(part[:20], 2, axis=0) for part in rows()),
    "one class in a fold": sorted_by_class,
    "two rows": lambda: (rows(2)[0], np.array([-1.0, 1.0])),
    "one column": lambda: rows(d=1),
    "a number of 1e300": lambda: changed(lambda X: X[3:4, 1].fill(1e300)),
    "numbers of 1e300": lambda: changed(lambda X: np.multiply(X, 1e300, out=X)),
    "float16": lambda: (rows()[0].astype(np.float16), rows()[1]),
    "one frequency": rows,
    "more frequencies than rows": lambda: rows(20),
}
