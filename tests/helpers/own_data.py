"""Small data files of a user's own."""

import numpy as np

X = np.array([[1.5, 0.0, -2.0], [0.0, 3.25, 1e-3], [4.0, 5.0, 6.0], [0.1, 0.2, 0.30000000000000004]])
ROWS = [",".join(map(repr, row.tolist())) for row in X]
YES = "".join(f"{row},{label}\n" for row, label in zip(ROWS, ["yes", "no", "yes", "no"], strict=True))
NUMBERS = "".join(f"{row},{target}\n" for row, target in zip(ROWS, [0.5, 1.25, -3, 7], strict=True))
