"""The compiled part of `row_gram`. The entries of a tile are given by their rows, columns and values."""

from rffbench.linalg.compiled import compiled


@compiled()
def sort_by_tile(starts, columns, data, width, places, rows, within, values):
    """The entries of a CSR matrix, sorted by tile of ``width`` columns and then by row: their row, their column within
    the tile, and their value unless ``values`` is empty. ``places``: each tile's first place, moved to its end."""
    for i in range(len(starts) - 1):
        for k in range(starts[i], starts[i + 1]):
            tile = columns[k] // width
            at = places[tile]
            places[tile] += 1
            rows[at], within[at] = i, columns[k] - tile * width
            if len(values):
                values[at] = data[k]


@compiled()
def add_product(to, at, values, V, out):
    """out[to[k]] ← out[to[k]] + values[k]·V[at[k]] for each entry k: the product of a tile, or of its transpose."""
    if V.shape[1] == 1:  # the inner loop takes longer than its work
        for k in range(len(to)):
            out[to[k], 0] += values[k] * V[at[k], 0]
        return
    for k in range(len(to)):
        i, j, value = to[k], at[k], values[k]
        for c in range(V.shape[1]):
            out[i, c] += value * V[j, c]
