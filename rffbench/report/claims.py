"""What a paper says in words, held against measurements: each claim with its verdict and the evidence.

Claims are declared in ``rffbench/papers/<paper>_claims.yaml`` in a vocabulary of three: ``compare`` (one method's
metric is greater than, less than or equal to another's, by a paired test over trials), ``ratio`` (a metric of one
method over that of another lies in an interval) and ``slope`` (a metric goes as a power of the size, the exponent in an
interval).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, model_validator

from rffbench import yamlfile
from rffbench.configvalues import Size
from rffbench.report.frame import METRICS, Results, size_label
from rffbench.report.significance import LEVEL, mean_interval, paired_p_value

HOLDS, REFUTED, NOT_MEASURED = "holds", "does not hold", "not measured"
TIMES = ("feature_s", "fit_s", "train_s", "predict_s")  # comparable only where nothing else used the processors

Interval = Annotated[list[float | None], Field(min_length=2, max_length=2)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Compare(_Strict):
    """``metric`` of ``method`` is greater or less than the baseline's by more than ``margin``, or equal within it."""

    metric: str
    method: str
    baseline: str
    relation: Literal["greater", "less", "equal"]
    margin: float = 0.0


class Ratio(_Strict):
    """``metric`` of ``method`` over the baseline's lies ``within`` [low, high]; null is no bound.

    What counts is the geometric mean over trials; its interval is evidence. The baseline is taken at ``baseline_size``
    times the size.
    """

    metric: str
    method: str
    baseline: str
    within: Interval
    baseline_size: int = 1


class Slope(_Strict):
    """log ``metric`` against log size has a slope ``within`` [low, high]."""

    metric: str
    method: str
    within: Interval


class Claim(_Strict):
    """A sentence of a paper and what measurements must show for it; exactly one of compare, ratio and slope."""

    claim: str = Field(description="the sentence; {name} stands for a value of each")
    where: str = Field(description="its place in the paper")
    datasets: list[str] = Field(default_factory=list, description="by the paper's names; else all measured")
    sizes: list[Size] = Field(default_factory=list, description="all measured unless given")
    each: dict[str, list[str]] = Field(default_factory=dict, description="one claim a combination of these values")
    compare: Compare | None = None
    ratio: Ratio | None = None
    slope: Slope | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Claim:
        if sum(kind is not None for kind in (self.compare, self.ratio, self.slope)) != 1:
            raise ValueError("a claim has one of compare, ratio and slope")
        if self.test.metric not in METRICS:
            raise ValueError(f"{self.test.metric!r} is no metric of trials")
        return self

    @property
    def test(self) -> Compare | Ratio | Slope:
        test = self.compare or self.ratio or self.slope
        assert test is not None
        return test


class _Claims(_Strict):
    claims: list[Claim]


@dataclass(frozen=True)
class Finding:
    """A claim's verdict on one dataset, and why."""

    claim: str
    where: str
    dataset: str
    method: str
    baseline: str
    metric: str
    verdict: str
    evidence: str


def load_claims(path: Path) -> list[Claim]:
    """The claims of a file; none where there is no such file."""
    return yamlfile.load(path, _Claims).claims if path.exists() else []


def judge(claims: Sequence[Claim], results: Results, names: Mapping[str, str]) -> list[Finding]:
    """Every claim on every dataset that it names (or the experiment has), and for every variant of its method.

    ``names`` maps datasets to what the paper calls them, as claims do. A method's name stands for itself and for its
    variants on that dataset, labels with something in brackets behind it: ``Ours`` for ``Ours (released)`` too, whose
    baseline is then the one with the same brackets, or else the plain one, or else the first.
    """
    findings: list[Finding] = []
    for claim in itertools.chain.from_iterable(map(_expanded, claims)):
        for called in claim.datasets or results.datasets:
            here = [name for name in results.datasets if called in (name, names.get(name))]
            for dataset in here or [called]:
                findings += _judged(claim, dataset, results)
    return findings


def _expanded(claim: Claim) -> Iterator[Claim]:
    for values in itertools.product(*claim.each.values()):
        names = dict(zip(claim.each, values, strict=True))
        kind = next(key for key in ("compare", "ratio", "slope") if getattr(claim, key))
        labels = {key: str(getattr(claim.test, key)).format(**names) for key in ("method", "baseline")
                  if hasattr(claim.test, key)}
        test = claim.test.model_copy(update=labels)
        yield claim.model_copy(update={"claim": claim.claim.format(**names), kind: test})


def _judged(claim: Claim, dataset: str, results: Results) -> Iterator[Finding]:
    test = claim.test
    baseline = getattr(test, "baseline", "")
    about = {"claim": claim.claim, "where": claim.where, "dataset": dataset, "metric": test.metric}
    methods = results.methods_on(dataset)
    missing = "" if dataset in results.datasets else f"no trial on {dataset}"
    missing = missing or _missing([test.method, *([baseline] if baseline else [])], methods)
    if missing:
        yield Finding(**about, method=test.method, baseline=baseline, verdict=NOT_MEASURED, evidence=missing)
        return
    for label in labelled(test.method, methods):
        against = _counterpart(label, baseline, methods) if baseline else ""
        verdict, evidence = _evaluate(claim, dataset, label, against, results)
        yield Finding(**about, method=label, baseline=against, verdict=verdict, evidence=evidence)


def _missing(names: Sequence[str], methods: Sequence[str]) -> str:
    absent = [name for name in names if not labelled(name, methods)]
    return f"no method {' nor '.join(absent)} in this experiment" if absent else ""


def labelled(name: str, labels: Sequence[str]) -> list[str]:
    """The labels that a paper's method goes by: its name, or its name and something in brackets."""
    return [label for label in labels if name in (label, paper_name(label))]


def paper_name(label: str) -> str:
    """``Ours`` for the label ``Ours (released)``."""
    return re.sub(r" \([^()]*\)$", "", label)


def _counterpart(label: str, baseline: str, labels: Sequence[str]) -> str:
    """The baseline's label that goes with a method's: the same brackets, else the plain name, else the first."""
    candidates = labelled(baseline, labels)
    same = baseline + label[len(paper_name(label)):]
    return next((name for name in (same, baseline) if name in candidates), candidates[0])


# ---- The three tests ---------------------------------------------------------------------------------------


def _evaluate(claim: Claim, dataset: str, method: str, baseline: str, results: Results) -> tuple[str, str]:
    test = claim.test
    labels = _size_labels(results, dataset)
    wanted = {str(size) for size in claim.sizes}
    values = {size: column for size, column in _values(results, dataset, method, test.metric).items()
              if not wanted or wanted & {str(size), labels[size]}}
    if isinstance(test, Slope):
        return _slope(test, values)
    against = _values(results, dataset, baseline, test.metric)
    times = test.baseline_size if isinstance(test, Ratio) else 1
    sizes = {size: size * times for size in values if size * times in against}
    if not (sizes or wanted) and times == 1 and values and against:  # methods with sizes of their own
        sizes = {max(values): max(against)}
    pairs = {labels[size]: pd.DataFrame({"method": values[size], "baseline": against[other]}).dropna()
             for size, other in sizes.items()}
    pairs = {label: pair for label, pair in pairs.items() if len(pair)}
    if not pairs:
        return NOT_MEASURED, _why_none(claim, dataset, method, baseline, results)
    verdict, evidence = _compare(test, pairs) if isinstance(test, Compare) else _ratio(test, pairs)
    left_out = len(wanted) - len(pairs) if wanted else 0
    return verdict, evidence + (f"; {left_out} of its {len(wanted)} sizes not measured" if left_out else "")


def _compare(test: Compare, pairs: Mapping[str, pd.DataFrame]) -> tuple[str, str]:
    """Holds where it does at every size: an intersection–union test, which needs no correction for their number."""
    pairs = {size: pair for size, pair in pairs.items() if len(pair) > 1}
    if not pairs:
        return NOT_MEASURED, "a paired test needs two trials of both methods"
    held, said = 0, []
    for size, pair in pairs.items():
        p = _p_value(test, pair["method"], pair["baseline"])
        low, high = mean_interval(differences := pair["method"] - pair["baseline"])
        held += p < LEVEL
        said.append(f"{size} {differences.mean():+.3g} ({low:+.3g} to {high:+.3g}; p {_p(p)})")
    trials = _span([len(pair) for pair in pairs.values()])
    return (HOLDS if held == len(pairs) else REFUTED,
            f"{_share(held, len(pairs))}difference (95 %; paired t, {trials} trials): {', '.join(said)}")


def _p_value(test: Compare, method: pd.Series, baseline: pd.Series) -> float:
    if test.relation == "equal":  # two one-sided tests
        return max(paired_p_value(method + test.margin, baseline, "greater"),
                   paired_p_value(method - test.margin, baseline, "less"))
    shift = test.margin if test.relation == "greater" else -test.margin
    return paired_p_value(method - shift, baseline, test.relation)


def _ratio(test: Ratio, pairs: Mapping[str, pd.DataFrame]) -> tuple[str, str]:
    held, said = 0, []
    for size, pair in pairs.items():
        logs = (pair["method"] / pair["baseline"]).apply(np.log)
        mean, (low, high) = np.exp(logs.mean()), np.exp(mean_interval(logs))
        held += _within(mean, test.within)
        said.append(f"{size} {mean:.3g}" + (f" ({low:.3g} to {high:.3g})" if len(pair) > 1 else ""))
    trials = _span([len(pair) for pair in pairs.values()])
    return (HOLDS if held == len(pairs) else REFUTED,
            f"{_share(held, len(pairs))}ratio (geometric mean, 95 %; {trials} trials): {', '.join(said)}; "
            f"asked for {_asked(test.within)}")


def _slope(test: Slope, values: Mapping[int, pd.Series]) -> tuple[str, str]:
    """A least-squares line through each trial's points: the sizes of a trial share their frequencies, trials do not."""
    table = pd.DataFrame(dict(values)).dropna()
    if table.shape[1] < 3 or table.empty:
        return NOT_MEASURED, "a slope needs three sizes of the same trials"
    sizes = table.columns.to_numpy(float)
    slopes = pd.Series(np.polyfit(np.log(sizes), np.log(table.to_numpy()).T, 1)[0])
    low, high = mean_interval(slopes)
    interval = f" ({low:.3f} to {high:.3f})" if len(slopes) > 1 else ""
    return (HOLDS if _within(float(slopes.mean()), test.within) else REFUTED,
            f"exponent {slopes.mean():.3f}{interval} over {len(sizes)} sizes, {sizes.min():g} to {sizes.max():g}, "
            f"{len(slopes)} trials; asked for {_asked(test.within)}")


# ---- Numbers and words -------------------------------------------------------------------------------------


def _values(results: Results, dataset: str, method: str, metric: str) -> dict[int, pd.Series]:
    """The metric by size, each a series over trials; times without those taken while others used the processors."""
    trials = results.trials
    trials = trials[(trials["dataset"] == dataset) & (trials["method"] == method)].dropna(subset=[metric])
    if metric in TIMES:
        trials = trials[~trials["contended"]]
    return {int(str(size)): rows.set_index("trial")[metric] for size, rows in trials.groupby("n_features")}


def _size_labels(results: Results, dataset: str) -> dict[int, str]:
    trials = results.trials[results.trials["dataset"] == dataset]
    sizes = trials[["n_features", "multiple"]].drop_duplicates("n_features")
    return {int(n): size_label(n, multiple) for n, multiple in sizes.itertuples(index=False)}


def _why_none(claim: Claim, dataset: str, method: str, baseline: str, results: Results) -> str:
    metric = claim.test.metric
    trials = results.trials[(results.trials["dataset"] == dataset) & results.trials["method"].isin([method, baseline])]
    if trials[metric].isna().all():
        return f"no trial has {METRICS[metric].label}"
    if metric in TIMES and trials.dropna(subset=[metric])["contended"].all():
        return "all seconds were taken while other work used the processors"
    sizes = f" at {', '.join(map(str, claim.sizes))}" if claim.sizes else ""
    alone = " that nothing else disturbed" if metric in TIMES else ""
    return f"no trial{alone} of both methods{sizes}"


def _within(value: float, interval: Sequence[float | None]) -> bool:
    low, high = interval
    return (low is None or value >= low) and (high is None or value <= high)


def _asked(interval: Sequence[float | None]) -> str:
    low, high = interval
    if low is None or high is None:
        return f"at most {high:g}" if low is None else f"at least {low:g}"
    return f"{low:g} to {high:g}"


def _share(held: int, sizes: int) -> str:
    return f"at {held} of {sizes} sizes; " if sizes > 1 else ""


def _p(p: float) -> str:
    return f"{p:.2g}" if p >= 1e-4 else "< 0.0001"


def _span(counts: Sequence[int]) -> str:
    return str(counts[0]) if len(set(counts)) == 1 else f"{min(counts)} to {max(counts)}"
