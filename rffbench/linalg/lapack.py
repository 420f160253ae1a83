"""BLAS and LAPACK through the function pointers that scipy exports: with any leading dimension, in place, and without
the interpreter's lock, which scipy's wrappers keep."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cython_blas, cython_lapack

from rffbench.linalg.threads import interruptibly


@cache
def _routine(name: str) -> Any:
    """The double-precision BLAS or LAPACK routine ``name`` (every argument a pointer, as in Fortran)."""
    for module in (cython_blas, cython_lapack):
        capsule = module.__pyx_capi__.get(name)
        if capsule is not None:
            break
    get_name, get_pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.CFUNCTYPE(None)(get_pointer(capsule, get_name(capsule)))


def call(name: str, *arguments: Any) -> int:
    """Call ``name`` with bytes, ints, floats and addresses. Returns the value of a last int (LAPACK's info)."""
    passed: list[Any] = []
    for argument in arguments:
        if isinstance(argument, bytes):
            passed.append(ctypes.c_char_p(argument))
        elif isinstance(argument, float):
            passed.append(ctypes.byref(ctypes.c_double(argument)))
        elif isinstance(argument, ctypes.c_void_p):
            passed.append(argument)
        else:
            passed.append(ctypes.c_int(argument))
    last = passed[-1]
    _routine(name)(*(ctypes.byref(value) if isinstance(value, ctypes.c_int) else value for value in passed))
    return last.value if isinstance(last, ctypes.c_int) else 0


def address(array: NDArray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def eigh(A: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Eigenvalues (p,), ascending, and eigenvectors Q (p, p), in columns, of a symmetric A (p, p).

    Only the lower triangle is read. Divide and conquer holds 2p² numbers besides A. If A is contiguous, Q overwrites
    it. LinAlgError if the iteration does not converge, ValueError if A has a number that is not finite.
    """
    if not np.isfinite(A).all():
        raise ValueError("the matrix to decompose has numbers that are not finite")
    p = len(A)
    rows = A.flags.c_contiguous  # LAPACK sees its lower triangle as an upper one
    if p == 0:
        return np.empty(0), np.empty((0, 0))
    work = A if rows or A.flags.f_contiguous else np.asfortranarray(A)
    values, numbers, integers = np.empty(p), np.empty(1 + 6 * p + 2 * p**2), np.empty(3 + 5 * p, np.int32)
    info = interruptibly(
        lambda: call(
            "dsyevd", b"V", b"U" if rows else b"L", p, address(work), p, address(values), address(numbers),
            len(numbers), address(integers), len(integers), 0,
        ),
        9 * p**3,
    )  # fmt: skip
    if info:
        raise LinAlgError(f"the eigenvalues of a {p} × {p} matrix do not converge")
    return values, work.T if rows else work
