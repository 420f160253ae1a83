"""What docs/board/questions.md registers, as far as code has it: the grid's hash, and the maps named beforehand."""

from __future__ import annotations

import hashlib

from rffbench.config.experiment import Experiment

CONFIRMATORY = ("SORF", "orthogonal", "QMC", "quadrature", "surrogate", "Nyström RPCholesky")
"""The maps that are tested against RFF at 512 columns with a correction; the others are exploratory."""
SEEDS = {"board": 31, "board-reference": 4096, "board-small": 0}


def grid_hash(experiment: Experiment) -> str:
    """SHA-256 (hex) of the keys of an experiment's trials, in ascending order, one a line: of every map with its
    parameters, dataset with its content, size, seed, and of the protocol."""
    keys = sorted(spec.key for spec in experiment.grid())
    return hashlib.sha256("\n".join(keys).encode()).hexdigest()
