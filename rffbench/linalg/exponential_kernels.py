"""The compiled part of `exponentials`."""

from rffbench.linalg.compiled import compiled


@compiled()
def add_exponents(of_rows, of_columns, sign, T, out):
    """out[i, j] ← of_rows[i] + of_columns[j] + sign·T[i, j]; the first sum in float64, the second in out's dtype."""
    for i in range(len(T)):
        for j in range(len(of_columns)):
            out[i, j] = out.dtype.type(of_rows[i] + of_columns[j]) + sign * T[i, j]
