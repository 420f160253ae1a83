"""What docs/board/questions.md registers, as far as code has it: the maps that it names beforehand."""

from __future__ import annotations

CONFIRMATORY = ("SORF", "orthogonal", "QMC", "quadrature", "surrogate reweighted", "Nyström RPCholesky")
"""The maps that are tested against RFF at 512 columns with a correction; the others are exploratory."""
COLUMNS = 512
"""The size of the confirmatory tests."""
TIMES_MEDIAN = "times_median"
"""The column of trials with σ over the median distance."""
SIZES_AT_COST = (128, 256, 512, 1024)
"""The sizes that a verdict at RFF's cost with 512 columns needs."""
MARK = "†"
"""Of a map that was named beforehand."""
DRAWS = ("leverage", "surrogate")
"""The data-dependent draws of question 3."""
OF_KERNEL = {
    "Gaussian": ("RFF", "Nyström"),
    "Laplacian": ("Laplacian RFF", "Laplacian Nyström"),
    "Matérn-3/2": ("Matérn RFF", "Matérn Nyström"),
    "arc-cosine": ("arc-cosine random layer", "arc-cosine Nyström"),
    "polynomial": ("polynomial Maclaurin", "polynomial Nyström"),
}
"""The levels of the kernel in question 5, with the methods of board-kernels that each has."""
OF_GAUSSIAN = ("RFF", "SORF", "QMC", "quadrature", "Nyström")
"""The levels of the map in question 5: as many."""
FAMILIES = {
    "Fourier": (
        "RFF", "orthogonal", "moment matching", "SORF", "Fastfood", "SRHT", "QMC", "Sobol", "quadrature",
        "Gauss-Hermite",
    ),
    "data-dependent": ("leverage", "surrogate", "surrogate reweighted", "EERF"),
    "projected": ("compact", "TEFM"),
    "Nyström": ("Nyström", "Nyström k-means", "Nyström RPCholesky"),
    "dot product": ("complex-to-real", "TensorSketch", "positive"),
}  # fmt: skip
"""The maps of the board by what they are made of, for question 2."""
OF_ANOTHER_KERNEL = ("surrogate reweighted", "EERF", "compact")
"""Maps that change the kernel, by weights, the targets or frequencies that are learnt. Question 2 is answered without
them, too, which was not registered."""
POWER = (
    "With 28 datasets, a correlation over datasets is seen with probability .8 where it is about .5. A smaller one "
    "may be missed."
)
"""What the board can see of its moderators."""
SECOND = {"board-choice": 1820, "board-learners": 345, "board-rare": 350, "board-landmarks": 798}
"""The configs of the second edition, and how many trials each has: questions-2.md. The last was added later."""
