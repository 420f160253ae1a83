"""The compiled part of `triangles`: sums of tiles and columns."""

import numpy as np

from rffbench.linalg.compiled import compiled

TILE = 64  # rows and columns of a tile: two float64 tiles fit a level-1 cache


@compiled(fastmath=False)
def sum_tiles(out, target, storage, geometry, p, first, last):
    """Sum the tiles first…last−1, counted along the rows of the lower triangle of tiles."""
    start, row_step, column_step = target
    for tile in range(first, last):
        row = int((np.sqrt(8.0 * tile + 1.0) - 1.0) / 2.0)
        while (row + 1) * (row + 2) // 2 <= tile:
            row += 1
        while row * (row + 1) // 2 > tile:
            row -= 1
        column = tile - row * (row + 1) // 2
        i0, i1 = row * TILE, min(p, row * TILE + TILE)
        j0 = column * TILE
        for k in range(geometry.shape[0]):
            base, step_i, step_j = geometry[k]
            # The inner loop runs along the source's contiguous direction.
            if step_i == 1:
                for j in range(j0, min(p, j0 + TILE)):
                    source, sink = base + j * step_j, start + j * column_step
                    for i in range(max(i0, j), i1):
                        value = storage[source + i]
                        if k > 0:
                            value += out[sink + i * row_step]
                        out[sink + i * row_step] = value
            else:
                for i in range(i0, i1):
                    source, sink = base + i * step_i, start + i * row_step
                    for j in range(j0, min(i + 1, j0 + TILE)):
                        value = storage[source + j]
                        if k > 0:
                            value += out[sink + j * column_step]
                        out[sink + j * column_step] = value


@compiled(fastmath=False)
def _add_column(dense, storage, geometry, p, column, factor):
    """dense += factor · column ``column`` of the sum of the symmetric matrices."""
    for k in range(geometry.shape[0]):
        base, step_i, step_j = geometry[k]
        for i in range(column):
            dense[i] += factor * storage[base + column * step_i + i * step_j]
        for i in range(column, p):
            dense[i] += factor * storage[base + i * step_i + column * step_j]


@compiled(fastmath=False)
def recombine_columns(out, target, storage, geometry, p, first, second, a, b, order):
    start, row_step, column_step = target
    dense = np.empty(p)
    for j in order:
        dense[:] = 0.0
        if a[j] != 0.0:
            _add_column(dense, storage, geometry, p, first[j], a[j])
        if b[j] != 0.0:
            _add_column(dense, storage, geometry, p, second[j], b[j])
        sink = start + j * column_step
        for i in range(j, len(first)):
            out[sink + i * row_step] = a[i] * dense[first[i]] + b[i] * dense[second[i]]
