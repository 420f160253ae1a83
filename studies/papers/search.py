"""Which protocol gives a paper's numbers? python -m studies.papers.search [RESULTS ...]

Ranks the protocols of a sweep by their distance to the reported rows, and writes search.csv and search.md into the
folder. Without RESULTS, all searches of experiments.yaml are ranked.

The distance of a protocol on a dataset is the root mean square, over sizes and methods, of its mean scores less the
reported ones, in points (or percent, if the reference's tolerance is in percent). Trials are resampled with
replacement, the same ones for every protocol. The resamples give a 95 % interval of each distance, and the share in
which each protocol is the nearest.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import rffbench
from rffbench import Results, Table
from rffbench.errors import ResultsError, RffbenchError
from rffbench.stats import stream
from studies.evidence import folder_of, searches

ALL = "all datasets"
RESAMPLES = 2000
SHOWN = 10  # protocols per dataset in text and Markdown


class NoSweep(ResultsError):
    """The experiment has no protocols to choose from."""


@dataclass(frozen=True)
class Search:
    """The ranking of a sweep's protocols.

    ``ranking`` has one row per dataset (and ``ALL``) and protocol: dataset, rank, one column per axis, distance, low,
    high (its 95 % interval), first (the share of resamples in which it is the nearest), cells, trials, stated (whether
    the paper's text states this protocol). ``left_out`` are sentences on datasets and protocols that are not ranked.
    """

    title: str
    citation: str
    unit: str
    axes: list[str]
    ranking: pd.DataFrame
    left_out: list[str]

    def to_csv(self) -> str:
        """The text of search.csv."""
        return self.ranking.to_csv(index=False, lineterminator="\n", float_format="%.6g")

    def table(self) -> Table:
        """The table of the nearest ``SHOWN`` protocols of each dataset, and of the stated protocol at any rank."""
        table = Table(
            f"{self.title}: protocols by distance to {self.citation}",
            ["dataset", "rank", *self.axes, f"distance ({self.unit})", "95 %", "first"],
        )
        for dataset, ranked in self.ranking.groupby("dataset", sort=False):
            for row in ranked[(ranked["rank"] <= SHOWN) | (ranked["stated"] == 1)].to_dict("records"):
                table.rows.append([
                    str(dataset), f"{row['rank']}{' ‡' if row['stated'] else ''}", *(row[axis] for axis in self.axes),
                    f"{row['distance']:.2f}", f"{row['low']:.2f} to {row['high']:.2f}", f"{row['first']:.0%}",
                ])  # fmt: skip
        counts = self.ranking[self.ranking["dataset"] != ALL].groupby("dataset", sort=False)
        sizes = [
            f"{name} {len(rows)} protocols over {rows['cells'].iloc[0]} cells and {rows['trials'].iloc[0]} trials"
            for name, rows in counts
        ]
        table.notes = [
            f"Distance: root mean square of measured less reported: {'; '.join(sizes)}.",
            "95 %: resampling trials; first: share of resamples in which the protocol is nearest.",
            "‡ as the paper's text states it."
            if self.ranking["stated"].any()
            else "The protocol that the paper's text states is not among them.",
            *self.left_out,
        ]
        return table


def search(results: Results) -> Search:
    """Rank the protocols of one experiment.

    On every dataset, protocols are ranked by the cells that all of them have. Protocols with too few cells, so that
    less than half of the cells would be common, are left out, with a note. The distance over all datasets is the root
    mean square of a protocol's distances.

    Raises NoSweep if nothing was swept, ConfigError if the config names no reference with numbers, ResultsError if no
    reported cell was measured.
    """
    protocols = results.protocols
    axes = list(protocols[0][0])
    where = results.folder / "config.yaml"
    if not axes:
        raise NoSweep(f"{where}: sweeps nothing; a search is over the protocols of an experiment with sweep")
    labels = [tuple(labels.values()) for labels, _ in protocols]
    stated = {key for key, (_, each) in zip(labels, protocols, strict=True) if each.as_stated}
    reference, measured = results.reported, _measured(results)
    parts: dict[str, pd.DataFrame] = {}
    distances: dict[str, pd.DataFrame] = {}
    left_out: list[str] = []
    for dataset in dict.fromkeys(name for _, each in protocols for name in each.datasets):
        reported = reference.numbers[reference.numbers["dataset"] == dataset]
        here = measured[measured["dataset"] == dataset]
        scores = dict(zip(labels, _differences(reference.unit, reported, here, len(protocols)), strict=True))
        kept, cells = _common({key: table for key, table in scores.items() if not table.empty})
        if not cells:
            left_out.append(f"{dataset}: no cell that is both measured and reported.")
            continue
        if few := len(protocols) - len(kept):
            left_out.append(f"{dataset}: {few} of {len(protocols)} protocols have too few finished cells to be ranked.")
        distances[dataset] = pd.DataFrame({key: _distances(table, cells, dataset) for key, table in kept.items()})
        trials = max(len(table) for table in kept.values())
        parts[dataset] = _ranked(distances[dataset], dataset, len(cells), trials, stated, axes)
    if not parts:
        raise ResultsError(f"{where}: no cell of {results.config['reference']} is measured: {' '.join(left_out)}")
    if len(parts) > 1:
        parts[ALL] = _overall(distances, parts, stated, axes)
    ranking = pd.concat(parts.values(), ignore_index=True)
    return Search(results.title, reference.citation, reference.unit, axes, ranking, left_out)


def _measured(results: Results) -> pd.DataFrame:
    """Every trial with a score: protocol (its number), dataset, trial, multiple, n_features, method without what
    its label adds in brackets, measured. The score is the first metric that is reported. One frame for all protocols is
    much faster to join and select than one for each."""
    metrics = results.reported.numbers.groupby("dataset")["metric"].first()
    parts = []
    for place, (_, each) in enumerate(results.protocols):
        trials = each.trials[["dataset", "trial", "multiple", "n_features", "method"]].assign(
            protocol=place, measured=np.nan
        )
        for name in metrics.unique():
            here = trials["dataset"].map(metrics) == name
            trials["measured"] = trials["measured"].where(~here, each.trials.get(name))
        parts.append(trials)
    every = pd.concat(parts, ignore_index=True).dropna(subset=["measured"])
    return every.assign(method=every["method"].str.replace(r" \([^()]*\)$", "", regex=True))


def _differences(unit: str, reported: pd.DataFrame, measured: pd.DataFrame, count: int) -> Iterator[pd.DataFrame]:
    """For each of ``count`` protocols, measured less reported on one dataset: one row per trial, one column per cell
    (multiple, method) that the protocol has."""
    reported = reported[reported["metric"] == reported["metric"].head(1).squeeze()]
    sizes = [name for name in ("multiple", "n_features") if reported[name].notna().any()]
    keys = [*sizes[:1], "method"]
    both = measured.merge(reported[[*keys, "reported"]], on=keys)
    both["difference"] = both["measured"] - both["reported"]
    if unit == "%":
        both["difference"] *= 100 / both["reported"]
    every = both.pivot_table(index=["protocol", "trial"], columns=keys, values="difference")
    values = every.to_numpy(float)
    protocol, trial = (every.index.get_level_values(level) for level in range(2))
    for place in range(count):
        rows = np.flatnonzero(protocol == place)
        has = ~np.isnan(values[rows]).all(axis=0)
        yield pd.DataFrame(values[rows][:, has], trial[rows], every.columns[has])


def _common(tables: dict[Any, pd.DataFrame]) -> tuple[dict[Any, pd.DataFrame], list[Any]]:
    """The protocols that can be ranked together, and the cells that all of them have."""
    every = {cell for table in tables.values() for cell in table.columns}
    kept = dict(sorted(tables.items(), key=lambda item: -item[1].shape[1]))
    while kept:
        cells = [cell for cell in next(iter(kept.values())).columns if all(cell in table for table in kept.values())]
        if len(cells) >= len(every) / 2:
            return {key: table for key, table in tables.items() if key in kept}, cells
        kept.popitem()
    return {}, []


def _distances(table: pd.DataFrame, cells: Sequence[Any], dataset: str) -> np.ndarray:
    """The distance over the cells (the root mean square of their means over trials), then those of the resamples.

    A resample draws trial numbers, the same ones for all protocols. A cell without a trial in a resample keeps its mean
    over all trials.
    """
    places = {cell: place for place, cell in enumerate(table.columns)}
    values = table.to_numpy(float)[:, [places[cell] for cell in cells]]
    count = int(table.index.max()) + 1
    draws = np.random.default_rng(stream("protocol search", dataset)).integers(count, size=(RESAMPLES, count))
    weights = np.stack([(draws == trial).sum(axis=1) for trial in table.index], axis=1)
    weights = np.concatenate([np.ones((1, len(values)), int), weights])
    total = weights @ np.nan_to_num(values)
    present = weights @ np.isfinite(values).astype(int)
    means = np.where(present > 0, total / np.maximum(present, 1), total[0] / present[0])
    return np.sqrt(np.mean(means**2, axis=1))


def _ranked(
    distances: pd.DataFrame, dataset: str, cells: int, trials: int, stated: set[Any], axes: Sequence[str]
) -> pd.DataFrame:
    """One row per protocol, the nearest first; protocols at the same distance share a rank."""
    resamples = distances.iloc[1:]
    low, high = resamples.quantile([0.025, 0.975]).to_numpy()
    nearest = resamples.eq(resamples.min(axis=1), axis=0)
    rows = pd.DataFrame([dict(zip(axes, key, strict=True)) for key in distances.columns])
    rows.insert(0, "dataset", dataset)
    rows.insert(1, "rank", distances.iloc[0].rank(method="min").astype(int).to_numpy())
    rows["distance"], rows["low"], rows["high"] = distances.iloc[0].to_numpy(), low, high
    rows["first"] = nearest.div(nearest.sum(axis=1), axis=0).mean().to_numpy()
    rows["cells"], rows["trials"] = cells, trials
    rows["stated"] = [int(tuple(key) in stated) for key in distances.columns]
    return rows.sort_values("rank", kind="stable")


def _overall(
    distances: Mapping[str, pd.DataFrame], parts: Mapping[str, pd.DataFrame], stated: set[Any], axes: Sequence[str]
) -> pd.DataFrame:
    shared = [key for key in next(iter(distances.values())).columns if all(key in each for each in distances.values())]
    mean_square = pd.concat([each[shared] ** 2 for each in distances.values()], keys=distances).groupby(level=1).mean()
    cells = sum(int(part["cells"].iloc[0]) for part in parts.values())
    trials = min(int(part["trials"].iloc[0]) for part in parts.values())
    return _ranked(mean_square**0.5, ALL, cells, trials, stated, axes)


def write(folders: Iterable[Path] = ()) -> list[Search]:
    """Rank the protocols of each folder, and write its search.csv and search.md. Without ``folders``, those of all
    searches."""
    found = []
    for folder in folders or map(folder_of, searches()):
        found.append(search(rffbench.load(folder)))
        (folder / "search.csv").write_text(found[-1].to_csv(), encoding="utf-8")
        (folder / "search.md").write_text(found[-1].table().to_markdown(), encoding="utf-8")
    return found


def main() -> None:
    about = "Rank the protocols of a sweep by their distance to a paper's numbers."
    parser = argparse.ArgumentParser(prog="python -m studies.papers.search", description=about)
    parser.add_argument("results", nargs="*", type=Path, help="folders of sweeps [default: all searches]")
    try:
        for found in write(parser.parse_args().results):
            print(found.table().to_text())
    except RffbenchError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
