"""Is a map better than RFF over datasets? The dataset is the unit: a map has one gain on each, the mean over trials.

- Wilcoxon's signed-rank test of the gains, with Holm's correction over the maps named beforehand.
- The Bayesian signed-rank test (Benavoli, Corani, Demšar & Zaffalon, JMLR 18(77), 2017, Section 4.2): the
  probabilities that the map is better, the same to within `REGION`, or worse. It decides for one whose probability is
  at least `SURE`.
- A bootstrap over groups of datasets and over trials, for every interval.
- Performance profiles (Dolan & Moré, Mathematical Programming 91, 2002) of costs.

No verdict comes from mean ranks: those of two maps depend on the others (Benavoli, Corani & Mangili, JMLR 17(5), 2016).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import wilcoxon

from rffbench.arguments.seeds import generator, stream
from rffbench.stats.intervals import LEVEL, holm

REGION = 0.01  # a gain of less is as good as none
SURE = 0.95
FEWEST = 3  # datasets, below which nothing is said of all of them
DRAWS = 20_000  # of the Dirichlet process, and of the bootstrap a tenth
POWER = 0.8  # of the boards, that must call a gain better which can be decided
PRIOR = 0.5  # the weight of the one pseudo-observation, at 0
GROUPS = {
    "digits": ("mnist", "usps", "optdigits", "penbased"),
    "kin": ("kin40k", "kin8nm"),
    "synthetic": ("ring", "twonorm"),
    "adult": ("a9a", "a8a", "adult"),
}
"""Datasets of one origin, which the bootstrap draws together; every other is a group of its own."""
Groups = Mapping[str, Sequence[str]]
Verdict = Literal["better", "same", "worse", "undecided"]


@dataclass(frozen=True)
class Posterior:
    """The probabilities that a map is better than RFF, the same to within the region, or worse."""

    better: float
    same: float
    worse: float

    @property
    def verdict(self) -> Verdict:
        """The one that is at least `SURE`."""
        found: dict[Verdict, float] = {"better": self.better, "same": self.same, "worse": self.worse}
        return next((name for name, probability in found.items() if probability >= SURE), "undecided")


def signed_rank(gains: ArrayLike, region: float = REGION, draws: int = DRAWS, seed: int = 0) -> Posterior:
    """The Bayesian signed-rank test of gains (n,), one a dataset.

    With weights w of the gains and of a pseudo-observation at 0, from a Dirichlet law of parameters 1, …, 1 and
    `PRIOR`, θ_better is the weight Σ wᵢwⱼ of the pairs whose mean (zᵢ + zⱼ)/2 is above the region, θ_worse of those
    below it, θ_same of the rest. The posterior's probabilities are how often each is the largest. NaN
    of fewer than `FEWEST` gains.
    """
    z = np.asarray(gains, float)
    z = np.append(z[~np.isnan(z)], 0.0)
    if len(z) <= FEWEST:
        return Posterior(np.nan, np.nan, np.nan)
    means = (z[:, None] + z) / 2
    weights = _weights(len(z), draws, seed)
    better = np.einsum("rj,rj->r", weights @ (means > region).astype(float), weights)
    worse = np.einsum("rj,rj->r", weights @ (means < -region).astype(float), weights)
    winner = np.stack([better, 1 - better - worse, worse]).argmax(axis=0)
    return Posterior(*(np.bincount(winner, minlength=3) / draws).tolist())


@cache
def _weights(count: int, draws: int, seed: int) -> np.ndarray:
    """The draws of the weights of ``count`` gains, the last of them the pseudo-observation's (draws, count)."""
    weights = generator(stream("signed rank", seed), "weights").dirichlet([*[1.0] * (count - 1), PRIOR], draws)
    weights.flags.writeable = False
    return weights


def wilcoxon_holm(gains: pd.DataFrame) -> pd.DataFrame:
    """Wilcoxon's signed-rank test of each column, a map's gains by dataset: p, and p_holm over all columns.

    NaN where fewer than two datasets have a gain that is not 0.
    """
    p = []
    for name in gains:
        values = gains[name].dropna().to_numpy()
        p.append(float(wilcoxon(values).pvalue) if np.count_nonzero(values) > 1 else np.nan)
    return pd.DataFrame({"p": p, "p_holm": holm(p)}, index=gains.columns)


def groups_of(datasets: Sequence[str], groups: Groups = GROUPS) -> list[list[str]]:
    """The datasets of each group, in the order of the ``datasets``; one that is in none of the ``groups``, names of
    datasets by group, is a group of its own."""
    origin = {name: group for group, names in groups.items() for name in names}
    found: dict[str, list[str]] = {}
    for name in datasets:
        found.setdefault(origin.get(name, name), []).append(name)
    return list(found.values())


def bootstrap(
    trials: Mapping[str, ArrayLike],
    draws: int = DRAWS // 10,
    seed: int = 0,
    level: float = LEVEL,
    groups: Groups = GROUPS,
) -> tuple[float, float, float]:
    """The median over datasets of a method's mean gain over trials, and its interval at 1 − ``level``.

    ``trials`` are the gains of each dataset's trials. A draw takes as many groups of datasets as there are, with
    replacement, and of every dataset in them as many trials as it has; ``groups`` are names of datasets by group. NaN
    trials are left out, and datasets without any; all three are NaN where none is left.
    """
    values = {name: np.asarray(each, float) for name, each in trials.items()}
    values = {name: each[~np.isnan(each)] for name, each in values.items()}
    values = {name: each for name, each in values.items() if len(each)}
    if not values:
        return np.nan, np.nan, np.nan
    rng = generator(stream("bootstrap", seed), "draws")
    parts = groups_of(list(values), groups)
    drawn = {name: rng.choice(each, (draws, len(each))).mean(axis=1) for name, each in values.items()}
    chosen = rng.integers(len(parts), size=(draws, len(parts)))
    of_group = np.full((len(parts), draws, max(map(len, parts))), np.nan)  # the mean gains of its datasets
    for at, group in enumerate(parts):
        of_group[at, :, : len(group)] = np.transpose([drawn[name] for name in group])
    means = of_group[chosen, np.arange(draws)[:, None]].reshape(draws, -1)
    means.sort(axis=1)  # NaN last
    count = np.isfinite(means).sum(axis=1)
    middle = np.take_along_axis(means, np.stack([(count - 1) // 2, count // 2], axis=1), axis=1)
    low, high = np.quantile(middle.mean(axis=1), [level / 2, 1 - level / 2])
    return float(np.median([each.mean() for each in values.values()])), float(low), float(high)


def performance_profile(costs: pd.DataFrame) -> pd.DataFrame:
    """For every factor (rows) and map (columns), the share of datasets on which the map costs at most that factor times
    what the cheapest map does. ``costs`` are by dataset (rows) and map, infinite or NaN where a map has none. The
    factors are those at which a share changes, from 1."""
    ratios = costs.div(costs.min(axis=1), axis=0)
    factors = np.unique(ratios.to_numpy()[np.isfinite(ratios.to_numpy())])
    shares = {name: [(ratios[name] <= factor).mean() for factor in factors] for name in ratios}
    return pd.DataFrame(shares, index=factors)


def noise(trials: Mapping[str, ArrayLike], region: float = REGION) -> pd.Series:
    """The standard error of each dataset's mean gain over trials, in units of the region; NaN of a single trial."""
    found = {}
    for name, each in trials.items():
        values: NDArray[np.float64] = np.asarray(each, float)
        values = values[~np.isnan(values)]
        found[name] = values.std(ddof=1) / np.sqrt(len(values)) / region if len(values) > 1 else np.nan
    return pd.Series(found, dtype=float)


def calibration(
    noise: ArrayLike, true_gain: float, simulations: int = 200, spread: float = 0.0, seed: int = 0, draws: int = 2_000
) -> dict[Verdict, float]:
    """How often each verdict is reached by simulated boards: datasets whose true gains are
    N(``true_gain``, ``spread``²), measured with a normal error of standard deviation ``noise`` (n,), of a gain."""
    errors = np.asarray(noise, float)
    rng = generator(stream("calibration", seed), "boards")
    counts: dict[Verdict, int] = {"better": 0, "same": 0, "worse": 0, "undecided": 0}
    for number in range(simulations):
        measured = rng.normal(true_gain, spread, len(errors)) + errors * rng.normal(size=len(errors))
        counts[signed_rank(measured, draws=draws, seed=number).verdict] += 1
    return {verdict: count / simulations for verdict, count in counts.items()}


def smallest_gain(errors: ArrayLike, spread: float, simulations: int = 100) -> float:
    """The smallest gain that at least `POWER` of simulated boards call better (`calibration`), of the gains from
    `REGION` on by a quarter more each; NaN of fewer than `FEWEST` datasets, and where no gain up to 1 is."""
    if len(np.atleast_1d(errors)) < FEWEST:
        return np.nan
    for gain in REGION * 1.25 ** np.arange(1, 21):
        if calibration(errors, float(gain), simulations, spread, draws=1_000)["better"] >= POWER:
            return float(gain)
    return np.nan
