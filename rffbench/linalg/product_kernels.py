"""The compiled part of `products`."""

from rffbench.linalg.compiled import compiled


@compiled()
def real_products(T, starts, scale, row_factors, out):
    """out[i, j] ← row_factors[i]·scale[j]·∏ T[i, starts[j]:starts[j + 1]]. From the left: 0 stays 0."""
    for i in range(len(T)):
        for j in range(len(scale)):
            product = row_factors[i] * scale[j]
            for k in range(starts[j], starts[j + 1]):
                product *= T[i, k]
            out[i, j] = product


@compiled()
def complex_products(T, starts, scale, row_factors, real, imaginary):
    """The same for complex numbers T[i, 2k] + 1j·T[i, 2k + 1]."""
    for i in range(len(T)):
        for j in range(len(scale)):
            a, b = row_factors[i] * scale[j], T.dtype.type(0)
            for k in range(starts[j], starts[j + 1]):
                c, d = T[i, 2 * k], T[i, 2 * k + 1]
                a, b = a * c - b * d, a * d + b * c
            real[i, j] = a
            imaginary[i, j] = b
