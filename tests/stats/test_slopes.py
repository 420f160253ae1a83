"""Exponents of measurements as powers of the size."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from rffbench.stats.slopes import fitted_slope


def trials_of(values, trials=3, metric="sup_error"):
    """Trials whose metric at each size is the value, times a factor of the trial."""
    return pd.DataFrame([
        {"trial": trial, "n_features": m, metric: value * (1 + 0.1 * trial)}
        for trial in range(trials) for m, value in values.items()
    ])  # fmt: skip


def test_a_slope_is_the_mean_over_trials_with_students_interval():
    exact = fitted_slope(trials_of({m: 3 * m**-0.5 for m in (10, 30, 100)}), "sup_error")
    assert (exact.exponent, exact.sizes, exact.trials) == (pytest.approx(-0.5), 3, 3)
    assert exact.high - exact.low < 1e-9
    rng = np.random.default_rng(0)
    slopes = rng.normal(-0.5, 0.1, 8)
    noisy = pd.DataFrame([{"trial": t, "n_features": m, "sup_error": m**p}
                          for t, p in enumerate(slopes) for m in (4, 16, 64)])  # fmt: skip
    fitted = fitted_slope(noisy, "sup_error")
    half = stats.t.ppf(0.975, 7) * stats.sem(slopes)
    assert (fitted.low, fitted.high) == pytest.approx((slopes.mean() - half, slopes.mean() + half))
    assert fitted_slope(trials_of({10: 1.0, 20: 0.5}), "sup_error") is None  # two sizes are no line
    assert fitted_slope(trials_of({10: 1.0, 20: 0.5, 40: 0.2}, trials=1), "sup_error") is None
