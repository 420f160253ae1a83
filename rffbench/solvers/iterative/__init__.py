"""Ridge without factoring a matrix of all columns or rows: each step of conjugate gradients is a pass over the rows,
for all folds and λ together. See `rffbench.solvers.iterative.ridge_cv`."""
