"""Ridge without a factorisation of all columns or rows: conjugate gradients, whose every step is a pass over the rows,
for all folds and all λ at once. See `rffbench.solvers.iterative.ridge_cv`."""
