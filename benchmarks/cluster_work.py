"""What the trials of bench_cluster.py do, in a module that a trial's process has soon loaded."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
from threadpoolctl import threadpool_limits

from rffbench.execution.channel import Channel
from rffbench.trials.spec import TrialResult, TrialSpec

TRIAL_S = 0.02
BUSY, BUSY_SIZE = 60, 400  # products of square matrices in a trial that computes


def have_it(dataset: str) -> None:
    """No data is needed."""


def wait(specs: Sequence[TrialSpec], channel: Channel) -> None:
    """Trials that take TRIAL_S each, and no processor."""
    _do(specs, channel, lambda: time.sleep(TRIAL_S))


def compute(specs: Sequence[TrialSpec], channel: Channel) -> None:
    """Trials that keep one thread busy."""
    A = np.random.default_rng(0).random((BUSY_SIZE, BUSY_SIZE))
    with threadpool_limits(1):
        _do(specs, channel, lambda: [A @ A for _ in range(BUSY)])


def nothing(specs: Sequence[TrialSpec], channel: Channel) -> None:
    """Trials that do nothing."""
    _do(specs, channel, lambda: None)


def _do(specs: Sequence[TrialSpec], channel: Channel, trial: Callable[[], object]) -> None:
    for spec in specs:
        channel.begin(spec)
        trial()
        channel.result(TrialResult(spec, "ok"))
