"""Types of arrays in signatures."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.floating[Any]]
"""An array of float32 or float64."""

Floats = TypeVar("Floats", bound=FloatArray)
"""In a signature that returns the same type of array as it takes."""
