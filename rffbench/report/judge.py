"""Judges a paper's claims by measurements; each claim gets a verdict and the evidence for it.

A claim is judged on all its sizes together. A trial's number is the mean over sizes of its differences, or of the
logarithms of its ratios, because the sizes of a trial share rows and frequencies. Trials do not share frequencies, and
given the dataset their splits are independent, so their mean has Student's interval (verdicts.py, which also says what
the interval covers). Ratios are judged as logarithms: then half is as far from one as twice, and a heavy tail cannot
hide an effect that every trial shows. A claim with ``every_size`` is judged at each of its sizes, and also in the mean.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from rffbench.config.values import Size
from rffbench.io.text import canonical_json
from rffbench.papers.table import NOT_MEASURED
from rffbench.report import edges
from rffbench.report.claims import (
    CLAIMED,
    OF_TEST_ROWS,
    Claim,
    Difference,
    Ratio,
    Slope,
    Test,
    labelled,
    paper_name,
)
from rffbench.report.frame import Protocols, Results, find_card, size_label
from rffbench.solvers import NONE
from rffbench.stats.intervals import LEVEL
from rffbench.stats.slopes import FEWEST_SIZES, fitted_slope
from rffbench.stats.verdicts import DRAWS, MOST_TRIALS, NEW_ROWS, OPEN, THIS_DATASET, Estimate, adjusted, judge_every
from rffbench.trials.metrics import MAP_MEASURES, SCORES, TIMES

LEARNT = ("fit_s", "train_s", "predict_s")  # metrics that need a solver
OF_SCORES = (*SCORES, "error_rate")  # metrics that depend on tuned values
ERRORS_OF_MAPS = (*MAP_MEASURES, "entry_quantile")  # metrics that depend on the kernel's bandwidth
OF_MAPS = (*ERRORS_OF_MAPS, "feature_s")  # metrics that do not depend on the solver


@dataclass(frozen=True)
class Finding:
    """A claim's verdict on one dataset, with the evidence.

    ``measured``, with its interval ``low`` to ``high`` over ``trials``, is a difference in points, a ratio or an
    exponent over ``sizes``; NaN if nothing was measured. ``covers`` is what that interval covers (verdicts.py).
    ``asked`` is the claim's range, ``because`` the reason for it. ``protocol`` is the protocol of a sweep.
    ``stands_in_for`` lists the claim's datasets that this dataset replaces.

    ``p`` is the verdict's p-value, ``p_adjusted`` the same after Benjamini and Yekutieli's correction over all
    findings, ``verdict_adjusted`` the verdict by it. ``verdict_in_mean`` is the verdict on the mean over sizes, if the
    claim is for every size; ``verdict_new_rows`` the verdict by the interval for new rows, if there is one; else they
    are empty.

    ``at_edge``: a tuned value of these cells lies on the edge of its grid (edges.py).
    """

    claim: str
    where: str
    dataset: str
    method: str
    baseline: str
    metric: str
    asked: str
    because: str
    verdict: str
    evidence: str
    protocol: str = ""
    sizes: str = ""
    measured: float = np.nan
    low: float = np.nan
    high: float = np.nan
    trials: int = 0
    covers: str = ""
    stands_in_for: str = ""
    p: float = np.nan
    p_adjusted: float = np.nan
    verdict_adjusted: str = ""
    verdict_in_mean: str = ""
    verdict_new_rows: str = ""
    at_edge: bool = False


# ---- Datasets, protocols and methods of a claim ------------------------------------------------------------


def judge(claims: Sequence[Claim], protocols: Protocols, names: Mapping[str, str]) -> list[Finding]:
    """Judge every claim on each of its datasets (without any: the experiment's), for every variant of its method, under
    every protocol of a sweep. Of protocols that differ only in their sizes, the one with the most sizes is used.

    ``names`` maps datasets to the paper's names, which claims use. The name of a method also means its variants, whose
    labels add something in brackets: ``Ours`` also means ``Ours (released)``. Such a variant is compared with the
    baseline that has the same brackets, else with the plain one, else with each variant of it. A metric of a map alone
    is judged once per map, even if several methods use the map with different solvers.
    """
    findings = [
        replace(finding, protocol="" if finding.verdict == NOT_MEASURED else protocol)
        for protocol, measured in _settings(protocols)
        for claim in itertools.chain.from_iterable(claim.expanded() for claim in claims)
        for finding in _on_datasets(claim, measured, names)
    ]
    return _adjusted(list({repr(finding): finding for finding in findings}.values()))


def _adjusted(findings: list[Finding]) -> list[Finding]:
    """The findings with p-values and verdicts that are corrected for all their tests together."""
    judged = [index for index, finding in enumerate(findings) if finding.verdict != NOT_MEASURED]
    for index, p in zip(judged, adjusted([findings[index].p for index in judged]), strict=True):
        verdict = findings[index].verdict if p < LEVEL else OPEN
        findings[index] = replace(findings[index], p_adjusted=p, verdict_adjusted=verdict)
    return findings


class _Measured:
    """One protocol's results, with a cache of the selections that claims ask for repeatedly."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self._trials = dict(iter(results.trials.groupby(["dataset", "method"], sort=False)))
        self._sizes = {str(dataset): _size_labels(trials) for dataset, trials in results.trials.groupby("dataset")}
        self._values: dict[tuple[str, str, str], pd.DataFrame] = {}

    def trials(self, dataset: str, method: str) -> pd.DataFrame:
        """A method's trials on a dataset."""
        return self._trials.get((dataset, method), self.results.trials.iloc[:0])

    def sizes(self, dataset: str) -> dict[int, str]:
        """A dataset's sizes, each with its label."""
        return self._sizes[dataset]

    def values(self, dataset: str, method: str, metric: str) -> pd.DataFrame:
        """The metric by trial (rows) and size (columns); contended times are left out."""
        if (dataset, method, metric) not in self._values:
            mine = self.trials(dataset, method)[["trial", "n_features", "contended", metric]].dropna(subset=[metric])
            if metric in TIMES:
                mine = mine[~mine["contended"]]
            self._values[dataset, method, metric] = mine.pivot(index="trial", columns="n_features", values=metric)
        return self._values[dataset, method, metric]


_OF_SIZES = ("n_features", "kernel_error_points", "trials")


def _settings(protocols: Protocols) -> Iterator[tuple[str, _Measured]]:
    """The protocols, each with its label; one for those that differ only in their sizes."""
    groups: dict[str, list[tuple[str, Results]]] = {}
    for labels, results in protocols:
        label = ", ".join(f"{axis}: {value}" for axis, value in labels.items())
        results = replace(results, trials=_with_claimed(results))
        groups.setdefault(results.grid.identity(without=_OF_SIZES), []).append((label, results))
    for members in groups.values():
        protocol, results = max(members, key=lambda member: member[1].trials["n_features"].nunique())
        yield protocol, _Measured(results)


def _with_claimed(results: Results) -> pd.DataFrame:
    """The trials with two metrics that claims use and rows lack: the error rate, and the model size of a learner that
    keeps every column of its map."""
    trials = results.trials.assign(error_rate=100 - results.trials["accuracy"])
    maps = [label for label, method in results.config["methods"].items() if method.get("features", "none") != "none"]
    if results.config.get("count") == "columns":
        keeps = trials["method"].isin(maps) & (trials["status"] == "ok")
        trials["model_size"] = trials["model_size"].fillna(trials["n_features"].where(keeps))
    return trials


def _on_datasets(claim: Claim, measured: _Measured, names: Mapping[str, str]) -> Iterator[Finding]:
    results = measured.results
    for called in claim.datasets or results.datasets:
        here = [name for name in results.datasets if called in (name, names.get(name))]
        for dataset in here or [called]:
            yield from _judged(claim, dataset, measured)
    for dataset in results.datasets:
        if names.get(dataset, dataset) in claim.stand_ins:
            for finding in _judged(claim, dataset, measured):
                for_ = ", ".join(claim.datasets)
                yield replace(finding, evidence=f"{finding.evidence}; stands in for {for_}", stands_in_for=for_)


def _judged(claim: Claim, dataset: str, measured: _Measured) -> Iterator[Finding]:
    test, results = claim.test, measured.results
    baseline = getattr(test, "baseline", "")
    finding = Finding(
        claim.claim, claim.where, dataset, test.method, baseline, test.metric, test.asked(), claim.because,
        NOT_MEASURED, "",
    )  # fmt: skip
    methods = results.grid.methods_on(dataset)
    absent = [name for name in (test.method, baseline) if name and not labelled(name, methods)]
    if dataset not in results.datasets:
        yield replace(finding, evidence=f"no trial on {dataset}")
    elif absent:
        yield replace(finding, evidence=f"no method {' nor '.join(absent)} in this experiment")
    else:
        for method, other in _pairs(test, methods, results):
            try:
                found = _evaluated(claim, dataset, method, other, measured)
                found |= _at_edges(claim, dataset, [method, other], measured, found["evidence"])
                yield replace(finding, method=method, baseline=other, **found)
            except _NotMeasured as reason:
                yield replace(finding, method=method, baseline=other, evidence=str(reason))


def _pairs(test: Test, labels: Sequence[str], results: Results) -> list[tuple[str, str]]:
    """(label of the method, label of the baseline) for each comparison; ``""`` for a test without a baseline."""
    of_map = test.metric in OF_MAPS
    methods = _distinct(labelled(test.method, labels), results) if of_map else labelled(test.method, labels)
    if not isinstance(test, Difference | Ratio):
        return [(label, "") for label in methods]
    candidates = _distinct(labelled(test.baseline, labels), results) if of_map else labelled(test.baseline, labels)
    pairs = []
    for label in methods:
        preferred = [test.baseline + label[len(paper_name(label)) :], test.baseline]
        against = next(([name] for name in preferred if name in candidates), candidates)
        pairs += [(label, other) for other in against]
    return pairs


def _distinct(labels: Sequence[str], results: Results) -> list[str]:
    """The first label of each map."""
    first: dict[str, str] = {}
    for label in labels:
        its_map = {key: value for key, value in results.config["methods"][label].items() if key != "solver"}
        first.setdefault(canonical_json(its_map), label)
    return list(first.values())


# ---- A claim's measurements --------------------------------------------------------------------------------


class _NotMeasured(Exception):
    """The reason why a claim cannot be judged."""


def _evaluated(claim: Claim, dataset: str, method: str, baseline: str, measured: _Measured) -> dict[str, Any]:
    """The fields of a Finding that come from measurements. Raises _NotMeasured without them."""
    test, sizes = claim.test, measured.sizes(dataset)
    labels = [method, baseline] if baseline else [method]
    trials_of = {label: measured.trials(dataset, label) for label in labels}
    _check_finished(dataset, trials_of)
    _check_measured(test.metric, trials_of, measured.results)
    _check_same_kernel(test.metric, trials_of)
    values = {label: measured.values(dataset, label, test.metric) for label in labels}
    shared = _Shared.of(claim, dataset, labels, measured.results)
    if isinstance(test, Slope):
        chosen, trials = _chosen(claim, _sizes(values[method]), sizes), measured.trials(dataset, method)
        return _of_slope(claim, trials[trials["n_features"].isin(chosen)], chosen, shared)
    table = _effects(claim, sizes, values[method], values[baseline])
    effects = table.dropna() if claim.sizes else largest_block(table)
    if len(effects) < 2:
        raise _NotMeasured(_too_few(test, table, sizes))
    found = _of_effects(claim, effects, sizes, shared)
    if left_out := [sizes[size] for size in _sizes(table) if size not in effects]:
        found["evidence"] += f"; {', '.join(left_out)} left out, with fewer trials"
    return found


@dataclass(frozen=True)
class _Shared:
    """What the trials of a claim share, which decides what their interval covers (``covers``). ``test_over_train`` is
    n_test/n_train of random splits, None if there is no interval for new rows. ``fixed`` are the methods with the same
    frequencies in all trials."""

    covers: str
    test_over_train: float | None
    fixed: Sequence[str]

    @classmethod
    def of(cls, claim: Claim, dataset: str, methods: Sequence[str], results: Results) -> _Shared:
        card = find_card(dataset)
        prescribed = card is not None and card.split_is_prescribed
        if prescribed and claim.covers == NEW_ROWS:
            raise _NotMeasured("its split is given: trials differ in their draws alone, and say nothing of new rows")
        ratio = None
        if card is not None and not prescribed and claim.test.metric in OF_TEST_ROWS:
            fewer = results.grid.setting("train_rows", dataset)
            ratio = card.n_test / min(card.n_train, fewer or card.n_train)
        covers = DRAWS if prescribed else claim.covers
        return cls(covers, ratio, [label for label in methods if _is_fixed(results.config["methods"][label])])

    def estimate(self, estimate: Estimate) -> Estimate:
        """The estimate with the interval by which the claim is judged."""
        if self.covers != NEW_ROWS:
            return estimate
        if self.test_over_train is None:
            raise _NotMeasured("without the dataset's card nothing is known of its splits")
        return estimate.of_new_rows(self.test_over_train)


def _is_fixed(method: Mapping[str, Any]) -> bool:
    """Whether a method has the same frequencies in every trial, which a quasi-random sequence without scrambling
    has."""
    if method.get("features") != "qmc":
        return False
    from rffbench.features.quadrature.qmc import QuasiMonteCarloFeatures

    names = {"sequence", "scramble", "variant"} & method.keys()
    return not QuasiMonteCarloFeatures(**{name: method[name] for name in names}).unbiased  # a fixed sequence is not


def _at_edges(claim: Claim, dataset: str, methods: Sequence[str], measured: _Measured, evidence: str) -> dict[str, Any]:
    """The fields ``at_edge`` and ``evidence`` of a claim about scores, if a tuned value of its cells is on the edge of
    its grid; else empty."""
    if claim.test.metric not in OF_SCORES:
        return {}
    labels = measured.sizes(dataset)
    found = edges.at_cells(measured.results, dataset, methods, _chosen(claim, labels, labels))
    if not found:
        return {}
    moving = [edge for edge in found if edge.moves]
    said = "where the score still moves" if moving else "whether the score moves there is unknown"
    return {
        "at_edge": True,
        "evidence": f"on the edge of the grid, {said}: {'; '.join(edges.listed(moving or found))}; {evidence}",
    }


def _check_finished(dataset: str, trials: Mapping[str, pd.DataFrame]) -> None:
    """_NotMeasured if one of the methods (label → trials) has no finished trial."""
    if lost := [label for label, mine in trials.items() if not (mine["status"] == "ok").any()]:
        statuses = dict.fromkeys(status for label in lost for status in trials[label]["status"])
        ended = f" came to an end ({', '.join(statuses)})" if statuses else ""
        raise _NotMeasured(f"no trial{_of(lost, trials)} on {dataset}{ended}")


def _of(labels: Sequence[str], trials: Mapping[str, pd.DataFrame]) -> str:
    """`` of RFF``; empty if these are all methods."""
    return "" if len(labels) == len(trials) else f" of {', '.join(labels)}"


def _check_measured(metric: str, trials: Mapping[str, pd.DataFrame], results: Results) -> None:
    """_NotMeasured if one of the methods (label → trials) has no usable number."""
    solvers = [results.grid.setting("solver", method=label) or {} for label in trials]
    if metric in LEARNT and any(solver.get("name") == NONE for solver in solvers):
        raise _NotMeasured(f"nothing is trained, so there is no {CLAIMED[metric].title}")
    if without := [label for label, mine in trials.items() if mine[metric].isna().all()]:
        raise _NotMeasured(f"no trial{_of(without, trials)} has {CLAIMED[metric].label}")
    disturbed = [label for label, mine in trials.items() if mine.loc[~mine["contended"], metric].isna().all()]
    if metric in TIMES and disturbed:
        raise _NotMeasured(f"all seconds{_of(disturbed, trials)} were taken while other work used the processors")


def _check_same_kernel(metric: str, trials: Mapping[str, pd.DataFrame]) -> None:
    """_NotMeasured for errors to kernels of different bandwidths, which cannot be compared."""
    if metric not in ERRORS_OF_MAPS or len(trials) < 2:
        return
    first, second = (mine.set_index(["n_features", "trial"])["gamma"] for mine in trials.values())
    both = pd.concat([first, second], axis=1).dropna()
    if (differ := both.iloc[:, 0] != both.iloc[:, 1]).any():
        raise _NotMeasured(
            f"each method has chosen its own bandwidth, another one in {differ.sum()} of {len(both)} trials: "
            f"the {CLAIMED[metric].label} is to different kernels"
        )


def _sizes(table: pd.DataFrame) -> list[int]:
    return [int(str(size)) for size in table.columns]


def _size_labels(trials: pd.DataFrame) -> dict[int, str]:
    sizes = trials[["n_features", "multiple"]].drop_duplicates("n_features")
    return {int(size): size_label(size, multiple) for size, multiple in sizes.itertuples(index=False)}


def _chosen(claim: Claim, measured: Collection[int], labels: Mapping[int, str]) -> list[int]:
    """The measured sizes that the claim is about. _NotMeasured if a size that it names is missing."""
    wanted = [str(size) for size in claim.sizes]
    chosen = sorted(size for size in measured if not wanted or {str(size), labels[size]} & set(wanted))
    missing = [each for each in wanted if each not in {name for size in chosen for name in (str(size), labels[size])}]
    if missing:
        quiet = " undisturbed" if claim.test.metric in TIMES else ""
        raise _NotMeasured(f"{', '.join(missing)} of its sizes not measured{quiet}")
    if claim.sizes_from is not None:
        least = next((size for size in sorted(labels) if _at_least(size, labels[size], claim.sizes_from)), np.inf)
        chosen = [size for size in chosen if size >= least]
        if not chosen:
            raise _NotMeasured(f"no size from {claim.sizes_from} on measured")
    return chosen


def _at_least(size: int, label: str, least: Size) -> bool:
    if isinstance(least, str):  # 4d
        return label.endswith("d") and int(label[:-1]) >= int(least[:-1])
    return size >= least


def _effects(claim: Claim, labels: Mapping[int, str], method: pd.DataFrame, baseline: pd.DataFrame) -> pd.DataFrame:
    """The differences, or logarithms of ratios, by trial (rows) and size (columns); NaN if either number is missing."""
    test = claim.test
    times = test.baseline_size if isinstance(test, Ratio) else 1
    sizes = {size: int(size * times) for size in _sizes(method) if size * times in baseline}
    plain = not claim.sizes and claim.sizes_from is None and times == 1
    if not sizes and plain:  # methods with sizes of their own
        sizes = {max(_sizes(method)): max(_sizes(baseline))}
    sizes = {size: sizes[size] for size in _chosen(claim, sizes, labels)}
    if not sizes:
        raise _NotMeasured("no size that both methods have")
    if isinstance(test, Ratio):
        if min(method[[*sizes]].min().min(), baseline[[*sizes.values()]].min().min()) <= 0:
            raise _NotMeasured(f"a {CLAIMED[test.metric].label} of 0 has no ratio")
        effects = {size: np.log(method[size]) - np.log(baseline[other]) for size, other in sizes.items()}
    else:
        effects = {size: method[size] - baseline[other] for size, other in sizes.items()}
    return pd.DataFrame(effects)


def largest_block(table: pd.DataFrame) -> pd.DataFrame:
    """The largest part of the table (sizes × trials) without a gap. Large sizes often have fewer trials; then either
    those sizes or the other trials are left out, whichever leaves more cells. The values do not affect the choice."""
    counts = table.count()
    blocks = [table.loc[:, counts >= least].dropna() for least in sorted(set(counts)) if least >= 2]
    return max((block for block in blocks if len(block) >= 2), key=lambda block: block.size, default=table.iloc[:0])


def _too_few(test: Test, table: pd.DataFrame, labels: Mapping[int, str]) -> str:
    few = [size for size in _sizes(table) if table[size].count() < 2] or _sizes(table)
    names = ", ".join(labels[size] for size in few)
    seen = table[few].dropna(how="all")
    at = f" at {names}" if len(labels) > 1 else ""
    trial = "undisturbed trial" if test.metric in TIMES else "trial"
    if seen.empty:
        return f"no {trial} of both methods{at}"
    if len(seen) > 1:
        return f"no two {trial}s of both methods have all of {names}"
    return f"a single {trial} of both methods{at} ({_shown(test, float(np.nanmean(seen)))}) has no interval"


def _of_effects(claim: Claim, effects: pd.DataFrame, labels: Mapping[int, str], shared: _Shared) -> dict[str, Any]:
    by_size = {labels[size]: Estimate.of(effects[size]) for size in _sizes(effects)}
    return _found(claim, Estimate.of(effects.mean(axis=1)), [labels[size] for size in _sizes(effects)], shared, by_size)


def _of_slope(claim: Claim, trials: pd.DataFrame, sizes: Sequence[int], shared: _Shared) -> dict[str, Any]:
    if len(sizes) < FEWEST_SIZES:
        raise _NotMeasured(f"a slope needs {FEWEST_SIZES} sizes of the same trials")
    slope = fitted_slope(trials, claim.test.metric)
    if slope is None:
        raise _NotMeasured(f"a slope needs {FEWEST_SIZES} sizes of the same trials, and two trials")
    estimate = Estimate.from_interval(slope.exponent, slope.low, slope.high, slope.trials)
    return _found(claim, estimate, [str(size) for size in sizes], shared, {})


def _found(
    claim: Claim, plain: Estimate, sizes: Sequence[str], shared: _Shared, by_size: Mapping[str, Estimate]
) -> dict[str, Any]:
    """The fields of a Finding, from ``plain``, the estimate of the mean over sizes on this dataset, and ``by_size``."""
    test, claimed = claim.test, claim.test.range()
    every = {size: shared.estimate(each) for size, each in by_size.items()} if claim.every_size else {}
    estimate = shared.estimate(plain)
    in_mean = estimate.judge(claimed)
    judged, wrong = judge_every(every, claimed) if every else (in_mean, [])
    low, high = estimate.interval()
    said = [
        f"{_shown(test, estimate.mean)} over {_span(sizes)} ({_number(test, low)} to {_number(test, high)}; "
        f"95 %, {shared.covers}, {estimate.trials} trials)"
    ]
    if len(by_size) > 1:
        said.append("by size " + ", ".join(f"{size} {_number(test, each.mean)}" for size, each in by_size.items()))
    if wrong:
        said.append(f"wrong at {', '.join(wrong)}")
    if in_mean.verdict != judged.verdict:
        said.append(f"in the mean: {in_mean.verdict}")
    if judged.verdict == OPEN and shared.covers != NEW_ROWS:
        needed = [each.trials_to_settle(claimed) for each in every.values() or [estimate]]
        counts = [count for count in needed if count]
        how_many = f"about {max(counts)}" if len(counts) == len(needed) else f"more than {MOST_TRIALS:,}"
        said.append(f"{how_many} trials with this mean and spread would settle it")
    new_rows = ""
    if shared.covers == THIS_DATASET and shared.test_over_train is not None:
        anew = {size: each.of_new_rows(shared.test_over_train) for size, each in (every or {"": plain}).items()}
        new_rows = judge_every(anew, claimed)[0].verdict
        if new_rows != judged.verdict:
            least, most = plain.of_new_rows(shared.test_over_train).interval()
            said.append(f"{NEW_ROWS}: {new_rows} ({_number(test, least)} to {_number(test, most)})")
    if shared.fixed:
        said.append(f"the frequencies of {', '.join(shared.fixed)} are the same in all trials")
    as_measured = np.exp if isinstance(test, Ratio) else float
    return {
        "verdict": judged.verdict, "evidence": "; ".join(said), "sizes": _span(sizes), "trials": estimate.trials,
        "measured": float(as_measured(estimate.mean)), "low": float(as_measured(low)), "high": float(as_measured(high)),
        "covers": shared.covers, "p": judged.p, "verdict_in_mean": in_mean.verdict if every else "",
        "verdict_new_rows": new_rows,
    }  # fmt: skip


# ---- Numbers and words -------------------------------------------------------------------------------------


def _number(test: Test, value: float) -> str:
    match test:
        case Ratio():
            return f"{np.exp(value):.3g}"
        case Difference():
            return f"{value + 0.0:+.2f}"
        case _:
            return f"{value:+.3f}"


def _shown(test: Test, value: float) -> str:
    match test:
        case Ratio():
            return f"{_number(test, value)} times"
        case Difference():
            return f"{_number(test, value)} points"
        case _:
            return f"exponent {_number(test, value)}"


def _span(labels: Sequence[str]) -> str:
    """``4d to 128d (6 sizes)``."""
    return labels[0] if len(labels) == 1 else f"{labels[0]} to {labels[-1]} ({len(labels)} sizes)"
