"""What a flaw of a paper's released protocol is worth: paired runs, without it and with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from rffbench.stats import interval_of


class Flaw(NamedTuple):
    """``run`` gives pairs of scores, without the flaw and with it, of independent draws."""

    flaw: str
    dataset: str
    metric: str
    run: Callable[[], Iterator[tuple[float, float]]]


def measured(flaw: Flaw, source: str) -> dict[str, Any]:
    """Its row of results/papers/protocol-flaws.csv; ``source`` is the paper."""
    without, with_it = np.array(list(flaw.run())).T
    in_points = flaw.metric == "accuracy"
    effects = with_it - without if in_points else 100 * (with_it / without - 1)
    low, high = interval_of(float(effects.mean()), float(effects.std(ddof=1)), len(effects))
    return {
        "flaw": flaw.flaw, "source": source, "dataset": flaw.dataset, "metric": flaw.metric,
        "runs": len(effects),
        "without": f"{without.mean():.6g}", "with": f"{with_it.mean():.6g}", "unit": "points" if in_points else "%",
        "effect": f"{effects.mean():.4g}", "low": f"{low:.4g}", "high": f"{high:.4g}",
    }  # fmt: skip
