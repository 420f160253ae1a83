"""What kernels, maps and solvers are handed: arrays, rows that are served on demand, a random state, parameters. Their
types and checks are here, and nothing that needs another module of the package."""
