"""The compiled part of `sketches`: sums into buckets."""

from rffbench.linalg.compiled import compiled


@compiled()
def add_to_buckets(block, signs, buckets, total):
    """total[buckets[i]] += signs[i]·block[i]."""
    for i in range(len(block)):
        row, sign = total[buckets[i]], signs[i]
        for j in range(len(row)):
            row[j] += sign * block[i, j]


@compiled()
def add_columns_to_buckets(A, signs, buckets, out):
    """out[i, buckets[j]] += signs[j]·A[i, j]."""
    for i in range(len(A)):
        for j in range(len(signs)):
            out[i, buckets[j]] += signs[j] * A[i, j]
