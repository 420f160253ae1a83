"""The compiled part of `hadamard`: the levels of the transform.

Memory limits its speed, so there are few passes over a row: four levels within a register, then up to three levels at a
time across eight vectors, first inside blocks that stay in a level-1 cache. Compilers do not find these vectors (levels
below a vector's width shuffle within it), so both steps are vector operations in LLVM's language.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import extending
from numba.core import types

from rffbench.linalg.compiled import compiled

WITHIN = 16  # numbers transformed in registers: one vector of float32, two of float64
VECTOR_BYTES = 64
BLOCK_BYTES = 1 << 14  # half of a small level-1 cache

intrinsic: Any = extending.intrinsic  # Any: its functions are called without their first parameter


def vector_at(builder: Any, context: Any, array_type: Any, array: Any, index: Any, width: int) -> Any:
    """A pointer to the ``width`` numbers from array[index] on, as one vector."""
    first = builder.gep(context.make_array(array_type)(context, builder, array).data, [index])
    return builder.bitcast(first, ir.VectorType(context.get_data_type(array_type.dtype), width).as_pointer())


@intrinsic
def _transform_within(typing: Any, x: Any, i: Any, N: Any) -> Any:
    """Transform every N numbers of x[i : i + WITHIN], or all of them if N is larger."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = vector_at(builder, context, signature.args[0], arguments[0], arguments[1], WITHIN)
        vector = builder.load(pointer, align=signature.args[0].dtype.bitwidth // 8)
        contract = ("contract",)  # allows fused instructions; the result is the same, since multiplying by ±1 is exact
        for level in range(WITHIN.bit_length() - 1):
            bit = 1 << level
            partners = ir.Constant(ir.VectorType(ir.IntType(32), WITHIN), [j ^ bit for j in range(WITHIN)])
            signs = ir.Constant(vector.type, [-1.0 if j & bit else 1.0 for j in range(WITHIN)])
            partner = builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), partners)
            combined = builder.fadd(partner, builder.fmul(vector, signs, flags=contract), flags=contract)
            is_level = builder.icmp_signed(">", arguments[2], ir.Constant(arguments[2].type, bit))
            vector = builder.select(is_level, combined, vector)
        builder.store(vector, pointer, align=signature.args[0].dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(x, i, N), generate


def _across(radix: int) -> Any:
    """The intrinsic (x, i, h): the vectors at i, i + h, …, i + (radix − 1)·h ← H_radix of them."""

    @intrinsic
    def transform_across(typing: Any, x: Any, i: Any, h: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array, start, step = arguments
            size = signature.args[0].dtype.bitwidth // 8
            pointers = [
                vector_at(
                    builder, context, signature.args[0], array,
                    builder.add(start, builder.mul(step, ir.Constant(step.type, k))), VECTOR_BYTES // size,
                )
                for k in range(radix)
            ]  # fmt: skip
            v = [builder.load(pointer, align=size) for pointer in pointers]
            for level in range(radix.bit_length() - 1):
                bit = 1 << level
                for k in range(radix):
                    if not k & bit:
                        v[k], v[k | bit] = builder.fadd(v[k], v[k | bit]), builder.fsub(v[k], v[k | bit])
            for vector, pointer in zip(v, pointers, strict=True):
                builder.store(vector, pointer, align=size)
            return context.get_dummy_value()

        return types.void(x, i, h), generate

    return transform_across


_across_2, _across_4, _across_8 = _across(2), _across(4), _across(8)


@compiled()
def _levels(x, first, last, h, top):
    """The levels h, 2h, … below ``top`` of x[first:last], whose length is a multiple of ``top``."""
    width = VECTOR_BYTES // x.itemsize
    while h < top:
        left = top // h
        if left >= 8 and left != 16:  # 16 is 4·4: better than 8·2
            for i in range(first, last, 8 * h):
                for j in range(i, i + h, width):
                    _across_8(x, j, h)
            h *= 8
        elif left >= 4:
            for i in range(first, last, 4 * h):
                for j in range(i, i + h, width):
                    _across_4(x, j, h)
            h *= 4
        else:
            for i in range(first, last, 2 * h):
                for j in range(i, i + h, width):
                    _across_2(x, j, h)
            h *= 2


@compiled()
def transform(x, N):
    """Transform every N numbers of x, one after another."""
    block = BLOCK_BYTES // x.itemsize  # of one long row, or of several short ones
    whole = x.size // WITHIN * WITHIN
    for start in range(0, whole, max(N, block)):
        stop = min(whole, start + max(N, block))
        for first in range(start, stop, block):
            last = min(stop, first + block)
            for i in range(first, last, WITHIN):
                _transform_within(x, i, N)
            _levels(x, first, last, WITHIN, min(N, block))
        _levels(x, start, stop, block, N)
    h = 1
    while h < N and whole < x.size:  # short rows that do not fill a register
        for i in range(whole, x.size, 2 * h):
            for j in range(i, i + h):
                a, b = x[j], x[j + h]
                x[j], x[j + h] = a + b, a - b
        h *= 2
