"""Frequencies without those beyond a number of standard deviations."""

import numpy as np
import pytest
from scipy.stats import kstest, truncnorm

from rffbench import RandomFourierFeatures


@pytest.mark.parametrize("truncate", [0.5, 1.0, 2.0])
def test_truncated_frequencies_have_scipy_s_law_and_none_is_beyond(truncate):
    W = RandomFourierFeatures(4000, gamma=0.3, truncate=truncate, random_state=0).fit(np.zeros((1, 3))).frequencies_
    whitened = W.ravel() / np.sqrt(2 * 0.3)
    assert np.abs(whitened).max() <= truncate
    assert kstest(whitened, truncnorm(-truncate, truncate).cdf).pvalue > 0.01
