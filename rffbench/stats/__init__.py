"""Statistics of studies: numbers in, numbers out, without a config or a folder of results.

What is measured has a row for every trial in a DataFrame, as `rffbench.load(folder).trials` has it.

=============================  =======================================================================================
losses, constant_loss          the test loss of every trial; that of the best constant
Reference, reference_of        a dataset's unit: what a reference gains over the best constant
gains, at_columns, left_out    every trial's gain over a baseline, in that unit; the datasets that have none, and why
cost, with_cost, cost_ratios   what trials cost, of seconds or memory; as ratios to the baseline's
at_cost, cost_to_reach         methods at the baseline's cost, read from their curves; the cost to come to its loss
sessions, joined               which seconds may be compared: those of one session of measuring
summaries, summary_of          what gains come to over datasets: median, interval, verdict
signed_rank, wilcoxon_holm     is a method better, the same to within a region, or worse? With Holm's correction
bootstrap, over_datasets       intervals over groups of datasets and over trials: of a gain, of any number
calibration, smallest_gain     how often a verdict is right; the smallest gain that the datasets at hand can show
Estimate, Range                does the mean over trials lie in a range? Equivalence, by two one-sided tests
paired_p_value, mean_interval  paired tests and Student's intervals over trials
fitted_slope, exponents        measurements as powers of the number of features, with an interval
columns_needed                 how many columns are enough
stream, generator              random numbers named by words, the same on every machine: of resampling, for example
=============================  =======================================================================================

The names load on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rffbench.arguments.seeds import generator as generator
    from rffbench.arguments.seeds import stream as stream
    from rffbench.stats.columns import CALIBRATION as CALIBRATION
    from rffbench.stats.columns import Calibration as Calibration
    from rffbench.stats.columns import ColumnsNeeded as ColumnsNeeded
    from rffbench.stats.columns import columns_needed as columns_needed
    from rffbench.stats.columns import enough as enough
    from rffbench.stats.columns import limit as limit
    from rffbench.stats.columns import why_not as why_not
    from rffbench.stats.costs import CLOCKS as CLOCKS
    from rffbench.stats.costs import MEMORY as MEMORY
    from rffbench.stats.costs import SESSION as SESSION
    from rffbench.stats.costs import AtCost as AtCost
    from rffbench.stats.costs import Cost as Cost
    from rffbench.stats.costs import at_columns as at_columns
    from rffbench.stats.costs import at_cost as at_cost
    from rffbench.stats.costs import cost as cost
    from rffbench.stats.costs import cost_curves as cost_curves
    from rffbench.stats.costs import cost_ratios as cost_ratios
    from rffbench.stats.costs import cost_to_reach as cost_to_reach
    from rffbench.stats.costs import outside as outside
    from rffbench.stats.costs import with_cost as with_cost
    from rffbench.stats.datasets import FEWEST as FEWEST
    from rffbench.stats.datasets import GROUPS as GROUPS
    from rffbench.stats.datasets import POWER as POWER
    from rffbench.stats.datasets import REGION as REGION
    from rffbench.stats.datasets import SURE as SURE
    from rffbench.stats.datasets import Posterior as Posterior
    from rffbench.stats.datasets import Verdict as Verdict
    from rffbench.stats.datasets import bootstrap as bootstrap
    from rffbench.stats.datasets import calibration as calibration
    from rffbench.stats.datasets import groups_of as groups_of
    from rffbench.stats.datasets import noise as noise
    from rffbench.stats.datasets import performance_profile as performance_profile
    from rffbench.stats.datasets import signed_rank as signed_rank
    from rffbench.stats.datasets import smallest_gain as smallest_gain
    from rffbench.stats.datasets import wilcoxon_holm as wilcoxon_holm
    from rffbench.stats.gain import BALANCED as BALANCED
    from rffbench.stats.gain import BASELINE as BASELINE
    from rffbench.stats.gain import CELL as CELL
    from rffbench.stats.gain import MSE as MSE
    from rffbench.stats.gain import Reference as Reference
    from rffbench.stats.gain import constant_loss as constant_loss
    from rffbench.stats.gain import gains as gains
    from rffbench.stats.gain import left_out as left_out
    from rffbench.stats.gain import losses as losses
    from rffbench.stats.gain import reference_of as reference_of
    from rffbench.stats.intervals import LEVEL as LEVEL
    from rffbench.stats.intervals import holm as holm
    from rffbench.stats.intervals import interval_of as interval_of
    from rffbench.stats.intervals import mean_interval as mean_interval
    from rffbench.stats.intervals import paired_p_value as paired_p_value
    from rffbench.stats.intervals import welch_interval as welch_interval
    from rffbench.stats.numbers import Number as Number
    from rffbench.stats.numbers import OfTrials as OfTrials
    from rffbench.stats.numbers import beside as beside
    from rffbench.stats.numbers import by_trial as by_trial
    from rffbench.stats.numbers import correlation as correlation
    from rffbench.stats.numbers import mean_of as mean_of
    from rffbench.stats.numbers import means_of as means_of
    from rffbench.stats.numbers import median as median
    from rffbench.stats.numbers import over_datasets as over_datasets
    from rffbench.stats.session import beside_baseline as beside_baseline
    from rffbench.stats.session import joined as joined
    from rffbench.stats.session import sessions as sessions
    from rffbench.stats.slopes import FEWEST_SIZES as FEWEST_SIZES
    from rffbench.stats.slopes import Slope as Slope
    from rffbench.stats.slopes import exponents as exponents
    from rffbench.stats.slopes import fitted_slope as fitted_slope
    from rffbench.stats.summary import NOT_RUN as NOT_RUN
    from rffbench.stats.summary import Gains as Gains
    from rffbench.stats.summary import Summary as Summary
    from rffbench.stats.summary import gains_of as gains_of
    from rffbench.stats.summary import in_percent as in_percent
    from rffbench.stats.summary import interval as interval
    from rffbench.stats.summary import odds as odds
    from rffbench.stats.summary import percent as percent
    from rffbench.stats.summary import signed as signed
    from rffbench.stats.summary import summaries as summaries
    from rffbench.stats.summary import summary_of as summary_of
    from rffbench.stats.units import REFERENCE_COLUMNS as REFERENCE_COLUMNS
    from rffbench.stats.units import REFERENCES as REFERENCES
    from rffbench.stats.units import loss_name as loss_name
    from rffbench.stats.units import references as references
    from rffbench.stats.verdicts import Estimate as Estimate
    from rffbench.stats.verdicts import Judgement as Judgement
    from rffbench.stats.verdicts import Range as Range

_NAMES = {
    "columns": ("CALIBRATION", "Calibration", "ColumnsNeeded", "columns_needed", "enough", "limit", "why_not"),
    "costs": (
        "CLOCKS", "MEMORY", "SESSION", "AtCost", "Cost", "at_columns", "at_cost", "cost", "cost_curves", "cost_ratios",
        "cost_to_reach", "outside", "with_cost",
    ),
    "datasets": (
        "FEWEST", "GROUPS", "POWER", "Posterior", "REGION", "SURE", "Verdict", "bootstrap", "calibration", "groups_of",
        "noise", "performance_profile", "signed_rank", "smallest_gain", "wilcoxon_holm",
    ),
    "gain": (
        "BALANCED", "BASELINE", "CELL", "MSE", "Reference", "constant_loss", "gains", "left_out", "losses",
        "reference_of",
    ),
    "intervals": ("LEVEL", "holm", "interval_of", "mean_interval", "paired_p_value", "welch_interval"),
    "numbers": (
        "Number", "OfTrials", "beside", "by_trial", "correlation", "mean_of", "means_of", "median", "over_datasets",
    ),
    "slopes": ("FEWEST_SIZES", "Slope", "exponents", "fitted_slope"),
    "session": ("beside_baseline", "joined", "sessions"),
    "summary": (
        "NOT_RUN", "Gains", "Summary", "gains_of", "in_percent", "interval", "odds", "percent", "signed", "summaries",
        "summary_of",
    ),
    "units": ("REFERENCES", "REFERENCE_COLUMNS", "loss_name", "references"),
    "verdicts": ("Estimate", "Judgement", "Range"),
}  # fmt: skip
_HOME = {name: f"rffbench.stats.{module}" for module, names in _NAMES.items() for name in names}
_HOME |= dict.fromkeys(("generator", "stream"), "rffbench.arguments.seeds")

__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'rffbench.stats' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
