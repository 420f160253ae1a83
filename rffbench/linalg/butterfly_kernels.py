"""The compiled part of `butterflies`: as many rows as a vector register has lanes are rotated together.

Each coordinate of these rows is one vector, so that all layers work on whole vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types

from rffbench.linalg.compiled import compiled
from rffbench.linalg.hadamard_kernels import VECTOR_BYTES, intrinsic, vector_at


@intrinsic
def _turn_back(typing: Any, x: Any, i: Any, j: Any, cosine: Any, sine: Any) -> Any:
    """The vectors a at x[i] and b at x[j] ← c·a + s·b and c·b − s·a."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array_type, size = signature.args[0], signature.args[0].dtype.bitwidth // 8
        array, at_a, at_b, *turn = arguments
        width = VECTOR_BYTES // size
        places = [vector_at(builder, context, array_type, array, at, width) for at in (at_a, at_b)]
        a, b = (builder.load(place, align=size) for place in places)
        c, s = (_in_every_lane(builder, number, width) for number in turn)
        fused = ("contract",)
        first = builder.fadd(builder.fmul(c, a, flags=fused), builder.fmul(s, b, flags=fused), flags=fused)
        second = builder.fsub(builder.fmul(c, b, flags=fused), builder.fmul(s, a, flags=fused), flags=fused)
        for vector, place in zip((first, second), places, strict=True):
            builder.store(vector, place, align=size)
        return context.get_dummy_value()

    return types.void(x, i, j, cosine, sine), generate


def _in_every_lane(builder: Any, number: Any, width: int) -> Any:
    vector = ir.VectorType(number.type, width)
    lane = builder.insert_element(ir.Constant(vector, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    first = ir.Constant(ir.VectorType(ir.IntType(32), width), [0] * width)
    return builder.shuffle_vector(lane, ir.Constant(vector, ir.Undefined), first)


@compiled()
def rotate_back(A, B, permutations, turns, d):
    """A ← Bᵀ·a for the vectors a in A, B the product of the butterflies; the last one is undone first. A and B have d
    vectors each, B for work. Both are returned, the one with the result first."""
    lanes, highest = VECTOR_BYTES // A.itemsize, 1
    while 2 * highest < d:
        highest *= 2
    for k in range(len(permutations) - 1, -1, -1):
        permutation, cosines, sines = permutations[k], turns[k, :, 0], turns[k, :, 1]
        layer, h = len(cosines), highest
        while h >= 1:
            layer -= d // (2 * h) * h + max(0, d % (2 * h) - h)
            pair = layer
            for first in range(0, d - h, 2 * h):
                for i in range(first, min(first + h, d - h)):
                    _turn_back(A, i * lanes, (i + h) * lanes, cosines[pair], sines[pair])
                    pair += 1
            h //= 2
        for i in range(d):
            to, at = permutation[i] * lanes, i * lanes
            for r in range(lanes):
                B[to + r] = A[at + r]
        A, B = B, A
    return A, B


@compiled()
def simplex_phases(X, scale, permutations, turns, weights, lengths, first, out):
    """out ← the phases of X·scale with the corners of the rotated simplices from the corner ``first`` on; 0 before
    corner 0. ``weights`` (2, d): for each row of V its equal entries, and minus the entry after them."""
    lanes = VECTOR_BYTES // X.itemsize
    n, d = X.shape
    corners, stop = d + 1, first + out.shape[1]
    rows = np.zeros(d * lanes, X.dtype)
    A, B = np.empty(corners * lanes, X.dtype), np.empty(corners * lanes, X.dtype)
    sums = np.empty(lanes, X.dtype)
    for start in range(0, n, lanes):
        count = min(lanes, n - start)
        for j in range(d):
            for r in range(count):
                rows[j * lanes + r] = X[start + r, j] * scale[j]
        out[start : start + count, : max(0, -first)] = 0
        for simplex in range(max(0, first) // corners, -(-stop // corners)):
            for place in range(d * lanes):  # a slice takes numba 1.5 s more to compile, for the words of its error
                A[place] = rows[place]
            A, B = rotate_back(A, B, permutations[simplex], turns[simplex], d)
            sums[:] = 0
            for j in range(d - 1, -1, -1):  # B ← Vᵀ·A
                equal, after = weights[0, j], weights[1, j]
                for r in range(lanes):
                    a = A[j * lanes + r]
                    B[(j + 1) * lanes + r] = sums[r] - after * a
                    sums[r] += equal * a
            for r in range(lanes):
                B[r] = sums[r]
            begin = simplex * corners
            for corner in range(max(first, begin), min(stop, begin + corners)):
                for r in range(count):
                    out[start + r, corner - first] = B[(corner - begin) * lanes + r] * lengths[corner]
