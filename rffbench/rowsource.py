"""Row sources: matrices that serve their rows on demand, so that nothing of size n×d need be in memory."""

from __future__ import annotations

from typing import Any

import numpy as np


def is_row_source(X: Any) -> bool:
    """Whether X is a lazy 2-D array (``shape``, ``dtype``, ``X[a:b]``), to be streamed as it is, unchecked.

    Arrays, sparse matrices and data frames are none: they are validated as scikit-learn does it.
    """
    return (
        not isinstance(X, np.ndarray)
        and not hasattr(X, "toarray")
        and not hasattr(X, "iloc")
        and all(hasattr(X, name) for name in ("shape", "dtype", "__getitem__"))
    )
