"""The machine for which the budgets of experiments are given."""

RATE = 4e10  # multiply-adds per second, as a dry run measures them on its two cores
