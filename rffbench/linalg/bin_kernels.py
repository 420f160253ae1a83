"""The compiled part of `bins`: hashes of points' cells, and tables that number the cells."""

import numpy as np

from rffbench.linalg.compiled import compiled

FARTHEST_CELL = 2.0**62  # cells beyond count as one: the spacing of floats there is wider than a cell
MIXER = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ over the golden ratio


@compiled()
def _cell(x, per_pitch, offset):
    """The cell of a coordinate, ⌊x/δ − u/δ⌋, as 64 bits."""
    cell = np.floor(x * per_pitch - offset)
    return np.uint64(np.int64(min(max(cell, -FARTHEST_CELL), FARTHEST_CELL)))


@compiled()
def hash_rows(columns, per_pitch, offsets, multipliers, out):
    """out[i] ← Σⱼ rⱼ·cⱼ mod 2⁶⁴ for the points ``columns`` (d, m), in one grid."""
    out[:] = 0
    for j in range(len(columns)):
        for i in range(len(out)):
            out[i] += multipliers[j] * _cell(columns[j, i], per_pitch[j], offsets[j])


@compiled()
def hash_sparse_rows(indptr, indices, data, per_pitch, offsets, multipliers, out):
    """The same for CSR rows: the hash at 0, changed by the stored numbers."""
    at_zero, zeros = np.uint64(0), np.empty(len(offsets), np.uint64)
    for j in range(len(offsets)):
        zeros[j] = _cell(0.0, per_pitch[j], offsets[j])
        at_zero += multipliers[j] * zeros[j]
    for i in range(len(out)):
        total = at_zero
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            total += multipliers[j] * (_cell(data[k], per_pitch[j], offsets[j]) - zeros[j])
        out[i] = total


@compiled()
def _slot(key, keys, numbers):
    """The slot of ``key`` in an open-addressing table with a power of two of slots, or a free slot for it."""
    last = len(keys) - 1
    mixed = (key ^ (key >> np.uint64(32))) * MIXER
    slot = np.int64(mixed >> np.uint64(32)) & last
    while numbers[slot] >= 0 and keys[slot] != key:
        slot = (slot + 1) & last
    return slot


@compiled()
def number_keys(found, keys, numbers, count):
    """Give every new key of ``found`` the next number. Returns the table, which doubles when half full, and its number
    of keys."""
    for key in found:
        slot = _slot(key, keys, numbers)
        if numbers[slot] >= 0:
            continue
        if 2 * (count + 1) > len(keys):
            old_keys, old_numbers = keys, numbers
            keys = np.empty(2 * len(old_keys), np.uint64)
            numbers = np.full(2 * len(old_keys), -1, old_numbers.dtype)
            for old in range(len(old_keys)):
                if old_numbers[old] >= 0:
                    at = _slot(old_keys[old], keys, numbers)
                    keys[at], numbers[at] = old_keys[old], old_numbers[old]
            slot = _slot(key, keys, numbers)
        keys[slot], numbers[slot] = key, count
        count += 1
    return keys, numbers, count


@compiled()
def look_up(found, keys, numbers, first, out):
    """out[i] ← ``first`` plus the number of the key found[i]; −1 if the table does not have it."""
    for i in range(len(found)):
        slot = _slot(found[i], keys, numbers)
        out[i] = first + numbers[slot] if numbers[slot] >= 0 else -1
