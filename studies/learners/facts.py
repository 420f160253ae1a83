"""What docs/learners.md says: the registered hypotheses, with what their configs came to so far."""

from __future__ import annotations

import re
from functools import cache

import pandas as pd

from rffbench import load_card
from studies.evidence import ROOT, folder_of, is_finished, line, results, signed
from studies.learners.hypotheses import (
    ASKED,
    FEWEST,
    MEASURED,
    TITLES,
    WAYS,
    beyond,
    chosen_scaling,
    coupled_gains,
    coupled_part,
    scaling_parts,
)
from studies.learners.judged import Hypothesis, Part, means, p_values

REGISTRATION = ROOT / "docs" / "board" / "learners.md"
GRID = re.compile(r"^\| `([\w-]+)` \| (\d+) \| `\w+` \|", re.MULTILINE)
"""A row of its table of grids: the config and its number of trials."""


@cache
def planned() -> dict[str, int]:
    """By config, how many trials were registered."""
    return {name: int(trials) for name, trials in GRID.findall(REGISTRATION.read_text(encoding="utf-8"))}


def done(config: str) -> int:
    """How many of a config's trials have run. Learners that a sweep leaves alone have their row in each protocol."""
    if not (folder_of(config) / "config.yaml").exists():
        return 0
    trials, axes = results(config).trials, {axis for labels, _ in results(config).protocols for axis in labels}
    return len(trials[trials["status"] != "unavailable"].drop(columns=[*axes]).drop_duplicates())


@cache
def hypotheses(config: str) -> list[Hypothesis]:
    """Those that a config answers; without a number and a verdict until all its trials have run."""
    if is_finished(config):
        return MEASURED[config](results(config))
    waits = f"{done(config):,} of {planned()[config]:,} trials"
    return [Hypothesis(name, *TITLES[name], waits=waits) for name in ASKED[config]]


def verdict(name: str) -> str:
    """Of one hypothesis."""
    return _hypothesis(name).verdict


def number(name: str, part: int = 0) -> str:
    """A number of a measured hypothesis, with its interval."""
    return _hypothesis(name).parts[part].said


def _hypothesis(name: str) -> Hypothesis:
    (config,) = (config for config, names in ASKED.items() if name in names)
    return next(each for each in hypotheses(config) if each.name == name)


def waiting() -> list[str]:
    """The configs that have not finished."""
    return [config for config in ASKED if not is_finished(config)]


def failures() -> int:
    """How many trials of finished configs failed."""
    return sum(int((results(config).trials["status"] != "ok").sum()) for config in ASKED if is_finished(config))


def rows_of_hypotheses() -> list[str]:
    """A row for each part of each hypothesis: measure, number with interval, p by Holm, verdict."""
    found = []
    for config in ASKED:
        p = p_values(hypotheses(config))
        for each in hypotheses(config):
            for at, part in enumerate(each.parts or [Part("", "–", False)]):
                title = f"{each.name}: {each.sentence}" if at == 0 else ""
                measure = f"{each.measure}: {part.of}" if at == 0 and part.of else each.measure if at == 0 else part.of
                tested = f"{p[each.name, part.of]:.2g}" if (each.name, part.of) in p else "–"
                found.append(line([title, measure, part.said, tested, each.said if at == 0 else ""]))
    return found


@cache
def scaled(method: str) -> pd.DataFrame:
    """The mean relative gains of S1 to S3 by dataset, in %."""
    return 100 * pd.DataFrame(
        {name: means(part.gains) for name, part in scaling_parts(results("scaling"), method).items()}
    )


def rows_of_scaling() -> list[str]:
    """A row for each dataset: the gains of S1 to S3 with RFF, Nyström and the linear learner."""
    tables = [scaled(method) for method in ("RFF", "Nyström", "linear")]
    return [
        line([name, *(signed(table[which][name], 1) for which in WAYS for table in tables)])
        for name in results("scaling").datasets
    ]


def sets(name: str, least: float = 0.05) -> tuple[int, int]:
    """On how many sets the error of RFF is more than ``least`` smaller in S1, S2 or S3, and on how many larger."""
    return beyond(scaling_parts(results("scaling"), "RFF")[name].gains, least)


def same_by_root() -> bool:
    """Whether root mean squared errors meet and miss the same rules of S1 to S3 as mean squared ones."""
    by_error = [
        [(part.is_met, part.is_sure) for part in scaling_parts(results("scaling"), "RFF", root).values()]
        for root in (False, True)
    ]
    return by_error[0] == by_error[1]


def chosen_sets(over: str, method: str = "RFF", least: float = 0.05) -> tuple[int, int]:
    """On how many sets the scaling chosen by cross-validation gains more than ``least`` over one way of scaling, and on
    how many it loses more."""
    return beyond(chosen_scaling(results("scaling"), method, over).gains, least)


def rows_of_choice() -> list[str]:
    """A row for each way of scaling: what the chosen one gains over it, and on how many sets more than 5 %."""
    found = []
    for over in ("none", "minmax", "standard", "quantile"):
        cells = [over]
        for method in ("RFF", "Nyström"):
            part = chosen_scaling(results("scaling"), method, over)
            gains, loses = beyond(part.gains, 0.05)
            cells += [part.said, f"{gains}, {loses}"]
        found.append(line(cells))
    return found


def at_largest_sigma(config: str, least: float = 0.0) -> list[str]:
    """The datasets on which a share of the trials of maps, larger than ``least``, has the largest σ of its grid."""
    trials = results(config).trials.dropna(subset=["times_median"])
    largest = max(results(config).tuned("RFF")["times_median"])
    share = trials["times_median"].eq(largest).groupby(trials["dataset"]).mean()
    return [name for name in results(config).datasets if share.get(name, 0.0) > least]


def at_smallest_lambda() -> dict[str, int]:
    """By way of scaling, on how many sets more than half of the trials of maps have the smallest λ of its grid."""
    trials = results("scaling").trials.dropna(subset=["times_median"])
    smallest = min(results("scaling").tuned("RFF")["lambda"])
    share = trials["lambda"].eq(smallest).groupby([trials["preprocess"], trials["dataset"]]).mean()
    counts = (share > 0.5).groupby("preprocess").sum()
    return {str(way): int(count) for way, count in counts.items()}


def coupled(of: str, columns: int = FEWEST) -> str:
    """On how many sets coupled lengths have less of an error of the kernel, with the median."""
    return coupled_part(results("board-coupled"), of, columns).said


def coupled_with_inputs(least: int, most: int) -> tuple[int, float]:
    """Counts the sets that have ``least`` to ``most`` inputs. Beside the count is their median gain in kernel error, in
    %."""
    gains = means(coupled_gains(results("board-coupled"), "kernel_error", FEWEST))
    mine = gains[[least <= load_card(name).columns_after(()) <= most for name in gains.index]]
    return len(mine), 100 * float(mine.median())
