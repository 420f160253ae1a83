"""Rows for LIBSVM and LIBLINEAR: nodes of an index and a value, 16 bytes each; the index −1 ends a row."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

NODE = np.dtype([("index", np.int32), ("value", np.float64)], align=True)


def dense_nodes(n: int, columns: int, first_index: int = 1) -> NDArray:
    """Nodes (n, columns + 1) with indices from ``first_index`` on; the caller sets the values of the first ``columns``.
    LIBLINEAR and LIBSVM read them in place, without a copy."""
    nodes = np.empty((n, columns + 1), NODE)
    nodes["index"][:, :columns] = np.arange(first_index, first_index + columns)
    nodes["index"][:, columns] = -1
    return nodes


def problem_of(kind: type[ctypes.Structure], nodes: NDArray, y: NDArray[np.float64], **fields: Any) -> Any:
    """A ``kind`` (``libsvm.svm.svm_problem`` or ``liblinear.liblinear.problem``) of the rows ``nodes`` and labels."""
    types: dict[str, Any] = dict(field[:2] for field in kind._fields_)
    y = np.ascontiguousarray(y, dtype=np.float64)
    rows = nodes.ctypes.data + nodes.strides[0] * np.arange(len(nodes), dtype=np.uintp)
    problem = kind.__new__(kind)  # its __init__ would copy the rows
    problem.l = len(y)
    problem.y = y.ctypes.data_as(types["y"])
    problem.x = rows.ctypes.data_as(types["x"])
    for name, value in fields.items():
        setattr(problem, name, value)
    problem.kept = (nodes, y, rows)  # keeps them alive: the C library has only their addresses
    return problem
