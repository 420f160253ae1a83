"""Converters of skl2onnx for maps whose columns are cosines and sines of Wᵀx, and for ridge regression on them.

After ``rffbench.onnx.register()``, ``skl2onnx.to_onnx`` takes a pipeline of scikit-learn with these steps. It needs the
extra ``onnx``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import rffbench
from rffbench.errors import ConfigError
from rffbench.features.base import FourierFeatures, write_columns

MAPS = (
    "RandomFourierFeatures", "QuasiMonteCarloFeatures", "QuadratureFeatures", "GaussHermiteFeatures",
    "MomentMatchingFeatures", "LeverageScoreFeatures", "SurrogateLeverageFeatures", "EnergyBasedFeatures",
    "KernelAlignmentFeatures", "AdaptiveResamplingFeatures", "OrthogonalRandomFeatures", "SimplexRandomFeatures",
)  # fmt: skip
LEARNERS = ("StreamedRidge", "StreamedRidgeCV")
TRIED_ROWS, AGREEMENT = 4, 1e-9  # rows on which the product and cosine must be what the map computes


def register() -> None:
    """Make skl2onnx know the maps ``MAPS`` and the learners ``LEARNERS``; ConfigError without skl2onnx."""
    try:
        from skl2onnx import update_registered_converter
    except ImportError:
        raise ConfigError("rffbench.onnx needs skl2onnx: pip install 'rffbench[onnx]'") from None
    for name in MAPS:
        update_registered_converter(getattr(rffbench, name), f"Rffbench{name}", _shape_of_map, _convert_map)
    for name in LEARNERS:
        update_registered_converter(getattr(rffbench, name), f"Rffbench{name}", _shape_of_values, _convert_ridge)


def _shape_of_map(operator: Any) -> None:
    given = operator.inputs[0].type
    operator.outputs[0].type = type(given)([given.shape[0], operator.raw_operator._n_features_out])


def _shape_of_values(operator: Any) -> None:
    given = operator.inputs[0].type
    operator.outputs[0].type = type(given)([given.shape[0], _weights(operator.raw_operator).shape[1]])


def _convert_map(scope: Any, operator: Any, container: Any) -> None:
    """[scale·cos(XW + b) | scale·sin(XW + b)], block by block."""
    from skl2onnx.algebra.onnx_ops import OnnxAdd, OnnxConcat, OnnxCos, OnnxMatMul, OnnxMul, OnnxSin
    from skl2onnx.common.data_types import guess_numpy_type

    features, X, version = operator.raw_operator, operator.inputs[0], container.target_opset
    check_blocks(features)
    dtype = np.dtype(guess_numpy_type(X.type))
    columns: dict[int, Any] = {}
    for W, offset, scale, cos, sin in features.column_blocks(features._n_features_out, dtype):
        phases = OnnxMatMul(X, np.ascontiguousarray(W), op_version=version)
        if offset is not None:
            phases = OnnxAdd(phases, offset[None], op_version=version)
        for place, function in ((cos, OnnxCos), (sin, OnnxSin)):
            if place is not None:
                scaled = np.broadcast_to(np.asarray(scale, dtype), (1, W.shape[1])).copy()
                columns[place.start or 0] = OnnxMul(function(phases, op_version=version), scaled, op_version=version)
    parts = [columns[start] for start in sorted(columns)]
    OnnxConcat(*parts, axis=1, op_version=version, output_names=operator.outputs[:1]).add_to(scope, container)


def check_blocks(features: FourierFeatures) -> None:
    """ConfigError unless the map's columns are what its blocks say, as those of a subclass need not be."""
    X = np.random.default_rng(0).normal(size=(TRIED_ROWS, features.n_features_in_))
    Z = features.transform(X)
    found = np.zeros_like(Z)
    write_columns(X, features.column_blocks(Z.shape[1], X.dtype), found)
    if not np.allclose(Z, found, atol=AGREEMENT):
        raise ConfigError(f"{type(features).__name__} computes more than cosines of Wᵀx, which ONNX export is for")


def _convert_ridge(scope: Any, operator: Any, container: Any) -> None:
    from skl2onnx.algebra.onnx_ops import OnnxAdd, OnnxMatMul
    from skl2onnx.common.data_types import guess_numpy_type

    ridge, Z, version = operator.raw_operator, operator.inputs[0], container.target_opset
    if getattr(ridge, "features", None) is not None:
        raise ConfigError("a learner with features=… cannot be exported: put the map before it in a pipeline")
    dtype = guess_numpy_type(Z.type)
    intercept = np.broadcast_to(np.asarray(ridge.intercept_), (_weights(ridge).shape[1],))[None].astype(dtype)
    product = OnnxMatMul(Z, np.ascontiguousarray(_weights(ridge).astype(dtype)), op_version=version)
    OnnxAdd(product, intercept, op_version=version, output_names=operator.outputs[:1]).add_to(scope, container)


def _weights(ridge: Any) -> np.ndarray:
    """(columns, targets)"""
    return np.atleast_2d(np.asarray(ridge.coef_)).T
