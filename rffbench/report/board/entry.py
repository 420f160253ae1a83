"""One's own map, or one's own data, on the board: the experiment that is run, and what it comes to."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rffbench import __version__, files, yamlfile
from rffbench.config.dryrun import run_seconds
from rffbench.config.experiment import Experiment
from rffbench.config.loading import experiment_of, load_experiment
from rffbench.data.userfile import look
from rffbench.errors import ConfigError, ResultsError, unknown
from rffbench.execution.log import log_files
from rffbench.plugins import ownfile
from rffbench.report.board.score import BASELINE, Reference, gains, left_out, loss_name, losses, references
from rffbench.report.board.statistics import bootstrap, signed_rank
from rffbench.report.board.views import Clock, at_cost, cost
from rffbench.report.frame import Results
from rffbench.report.significance import mean_interval
from rffbench.report.text_table import Table
from rffbench.text import canonical_json, duration

SHIPPED = Path(__file__).with_name("small.csv.gz")
OTHERS = ("name", "title", "methods", "datasets", "n_features", "trials", "preprocess", "significance", "time_limit")
"""What an entry has of its own, and the board otherwise."""
SPOILING = ("columns", "global seeds", "seed")  # checks of a map without which its scores mean nothing
MOST_ROWS = 100_000  # of one's own data
LONGEST_S = 600.0  # a trial of one's own map, or on one's own data
PLANS: tuple[tuple[tuple[int, ...], int], ...] = (
    ((128, 512, 2048), 5), ((128, 512, 2048), 3), ((128, 512), 5), ((128, 512), 2), ((128,), 2), ((128,), 1),
)  # fmt: skip
"""Sizes and trials on one's own data, from the dearest down."""
USUAL = ((128, 512), 3)


# ---- What is run -----------------------------------------------------------------------------------------------------


def label_of(ref: str) -> str:
    """How tables call the map ``ref``: its class, or its registered name."""
    label = ref.rpartition(":")[2] if ownfile.is_own(ref) else ref
    return f"{label} (own)" if label == BASELINE else label


def own_map(ref: str, datasets: Sequence[str] = (), full: bool = False) -> Experiment:
    """The experiment that puts the map ``ref`` beside RFF: on the small board, on the whole one if ``full``, or on some
    ``datasets`` of that."""
    board = load_experiment("board" if full or datasets else "board-small")
    for name in datasets:
        if name not in board.datasets:
            raise ConfigError(f"--datasets: {unknown('dataset of the board', name, board.datasets)}")
    config = board.to_dict()
    if datasets and not full:
        small = load_experiment("board-small").to_dict()
        config |= {key: small[key] for key in ("n_features", "trials", "seed")}
    chosen = list(datasets) or board.datasets
    config |= {
        "name": f"board-{_slug(label_of(ref))}", "title": f"{label_of(ref)} on the board", "datasets": chosen,
        "methods": {BASELINE: {"features": "fourier"}, label_of(ref): {"features": ref}},
    }  # fmt: skip
    return experiment_of(_fitting(config))


def own_data(path: str, ref: str | None = None, minutes: float | None = None, workers: int = 1) -> Experiment:
    """The experiment that puts the small board's maps, and the map ``ref``, on the data of a file; within about
    ``minutes`` where they are given. ConfigError where that is too little."""
    card = look(Path(path).expanduser()).card()
    small = load_experiment("board-small")
    maps = {label: {"features": each.features} | each.spec() for label, each in small.methods.items()}
    methods: dict[str, Any] = {
        label: {key: value for key, value in each.items() if key != "name"}
        for label, each in maps.items() if each["features"] != "none"
    }  # fmt: skip
    if ref:
        methods[label_of(ref)] = {"features": ref}
    words = card.missing.keys() & card.categories.keys()
    steps = ["impute-median"] * bool(card.missing.keys() - words) + ["impute-most-frequent"] * bool(words)
    steps += ["onehot"] * bool(card.categories)
    few = card.n_train > MOST_ROWS
    config = small.to_dict() | {
        "name": f"board-on-{_slug(card.name)}", "title": f"Maps on {card.name}", "datasets": [path],
        "methods": methods, "preprocess": [*steps, "clip", "standard"],
        "train_rows": MOST_ROWS if few else None,
    }  # fmt: skip
    for sizes, trials in [USUAL] if minutes is None else PLANS:
        experiment = experiment_of(_fitting(config | {"n_features": list(sizes), "trials": trials}))
        seconds = run_seconds(experiment.grid(), workers)
        if minutes is None or seconds <= 60 * minutes:
            return experiment
    raise ConfigError(f"--minutes {minutes:g}: the least that there is to run takes about {duration(seconds)}")


def _fitting(config: dict[str, Any]) -> dict[str, Any]:
    """The config without what is for methods, datasets and sizes that it does not have."""
    config = {key: value for key, value in config.items() if key != "significance"}
    datasets = config["datasets"]
    for key in ("preprocess", "train_rows", "n_features", "kernel_error_points"):
        if isinstance(value := config.get(key), dict):
            config = {**config, key: {name: each for name, each in value.items() if name in (*datasets, "default")}}
    sizes = {str(size) for size in config["n_features"]} if isinstance(config["n_features"], list) else set()
    if isinstance(trials := config["trials"], dict):
        config = {**config, "trials": {size: each for size, each in trials.items() if size in {*sizes, "default"}}}
    return {"time_limit": LONGEST_S} | {key: value for key, value in config.items() if value is not None}


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.").lower() or "own"


def protocol(config: dict[str, Any]) -> str:
    """What the trials of two boards must have in common for their gains to be compared, as a hash."""
    common = {key: value for key, value in config.items() if key not in OTHERS}
    return hashlib.sha256(canonical_json(common).encode()).hexdigest()


# ---- The rows that ship with the package -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Shipped:
    """The losses of the small board's trials, and the `protocol` by which they were measured."""

    rows: pd.DataFrame
    protocol: str


def ship(results: Results, path: Path = SHIPPED) -> None:
    """Write the losses of the small board's trials where `shipped` finds them."""
    head = pd.DataFrame([{"dataset": protocol(results.config)}])
    columns = ["dataset", "n_features", "method", "trial", "loss", "failed"]
    pd.concat([head, losses(results)])[columns].to_csv(
        path, index=False, compression={"method": "gzip", "mtime": 0}, lineterminator="\n"
    )


def shipped(path: Path = SHIPPED) -> Shipped:
    """The rows that ship with the package; ResultsError where the file is not what `ship` writes."""
    try:
        whole = pd.read_csv(path)
        rows = whole.iloc[1:].astype({"n_features": int, "trial": int})
        return Shipped(rows.assign(failed=rows["failed"].astype(str) == "True"), str(whole["dataset"].iloc[0]))
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise ResultsError(f"{path}: is no board that this version wrote ({error}); install rffbench again") from None


# ---- What it comes to ------------------------------------------------------------------------------------------------


def map_tables(results: Results, label: str | None = None) -> list[Table]:
    """Where the map called ``label`` lies: its gains over RFF beside those of the maps that ship with the package, on
    each dataset, and what it costs. Without a label, the gains of all maps of the results."""
    known = references()
    found = losses(results)
    own = [label] if label else [name for name in results.methods if results.grid.features(name)["name"] != "none"]
    others = None
    notes = [f"{name} {why}: left out." for name, why in left_out(results.datasets, known).items()]
    if label:
        try:
            others = shipped()
        except ResultsError as error:
            notes.append(str(error))
    if others and others.protocol != protocol(results.config):
        notes.append("The maps that ship with the package were measured by another protocol, and are not shown.")
        others = None
    tables = [_gain_table(results, found, own, known, others, notes)]
    if label:
        tables += [_dataset_table(found, label, known), _cost_table(results, found, label, known)]
    return tables


def _gain_table(
    results: Results, found: pd.DataFrame, own: Sequence[str], known: dict[str, Reference], others: Shipped | None,
    notes: list[str],
) -> Table:  # fmt: skip
    """Each map's gain at each size: median over datasets, interval, and the probabilities."""
    table = Table(
        f"{results.title}: gain over RFF at equal columns, in % of what RFF at 4,096 columns gains over a constant",
        ["columns", "map", "gain", "95 %", "better | same | worse", "datasets", "failures"], stub=1,
    )  # fmt: skip
    for columns in sorted(found["n_features"].unique()):
        rows = []
        at = found[found["n_features"] == columns]
        here = {name: at for name in own if name != BASELINE}
        if others:
            there = others.rows[(others.rows["n_features"] == columns) & others.rows["dataset"].isin(results.datasets)]
            here |= {name: there for name in there["method"].unique() if name not in (BASELINE, *here)}
        for name, trials in here.items():
            mine = gains(trials, known)
            mine = mine[mine["method"] == name]
            by_dataset = {str(dataset): each["gain"].to_numpy() for dataset, each in mine.groupby("dataset")}
            median, low, high = bootstrap(by_dataset)
            if np.isnan(median):
                continue
            odds = signed_rank([np.nanmean(each) for each in by_dataset.values() if not np.isnan(each).all()])
            shown = f"{odds.better:.2f} | {odds.same:.2f} | {odds.worse:.2f}"
            cells = [
                str(columns), f"{name} *" if name in own and others else name, f"{100 * median:+.1f}",
                f"{100 * low:+.1f} to {100 * high:+.1f}", shown, str(len(by_dataset)), str(int(mine["failed"].sum())),
            ]  # fmt: skip
            rows.append((median, cells))
        table.rows += [cells for _, cells in sorted(rows, key=lambda each: -each[0])]
    table.notes = [
        "Median over datasets of the mean over trials, with its interval by a bootstrap over datasets and trials; then "
        "the probabilities that the map is better than RFF, the same to within 1 %, or worse. A failed trial counts as "
        "a constant.",
        *(["* the map that was run now; the other rows ship with the package."] if others else []),
        *notes,
    ]
    return table


def _dataset_table(found: pd.DataFrame, label: str, known: dict[str, Reference]) -> Table:
    table = Table("On each dataset", ["dataset", "columns", "loss", "RFF", label, "gain, %", "± s.e."])
    rows = gains(found, known)
    rows = rows[rows["method"] == label]
    of_rff = found[found["method"] == BASELINE].groupby(["dataset", "n_features"])["loss"].mean().to_dict()
    for (dataset, columns), each in rows.groupby(["dataset", "n_features"], sort=False):
        error = each["gain"].std(ddof=1) / np.sqrt(each["gain"].count())
        table.rows.append([
            str(dataset), str(columns), loss_name(str(dataset)), f"{of_rff[dataset, columns]:.4g}",
            "failed" if each["loss"].isna().all() else f"{each['loss'].mean():.4g}",
            f"{100 * each['gain'].mean():+.1f}", "" if np.isnan(error) else f"{100 * error:.1f}",
        ])  # fmt: skip
    return table


def _cost_table(results: Results, found: pd.DataFrame, label: str, known: dict[str, Reference]) -> Table:
    """What the map costs, in ratios to RFF of the same trials, and its gain at RFF's cost."""
    header = ["columns", "map and prediction", "tuning too", "gain at RFF's time, %"]
    table = Table(f"What {label} costs, RFF being 1", header, stub=1)
    disturbed = bool(results.trials["contended"].any())
    trials = results.trials.assign(contended=False)  # in ratios of one run, and said
    for columns in sorted(found["n_features"].unique()):
        cells = [str(columns)]
        clocks: tuple[Clock, ...] = ("map", "tuning")
        for clock in clocks:
            seconds = trials.assign(cost=cost(trials, clock))
            wide = seconds[seconds["n_features"] == columns].pivot_table(
                index=["dataset", "trial"], columns="method", values="cost"
            )
            ratio = (wide[label] / wide[BASELINE]).median() if {label, BASELINE} <= set(wide) else np.nan
            cells.append("not measured" if np.isnan(ratio) else f"{ratio:.2f}")
        costs = trials.assign(cost=cost(trials, "map"))
        at = at_cost(found, costs, known, int(columns))
        read = at.gains[label].dropna() if label in at.gains else pd.Series(dtype=float)
        outside = int(at.out_of_range.get(label, 0))
        gain = f"{100 * read.median():+.1f}" if len(read) else "–"
        table.rows.append([*cells, f"{gain} ({len(read)} datasets, {outside} out of range)"])
    table.notes = [
        "Medians over datasets and trials. The last column reads the loss from the map's own curve where map and "
        "prediction take as long as RFF's with so many columns; out of range: it was measured at no such time.",
        *(["Other work used the processors, or it cannot be told: the ratios are rough."] if disturbed else []),
    ]
    return table


def data_tables(results: Results) -> list[Table]:
    """Which map is best on one's own data: every map at every size, by its score, and the difference to RFF."""
    (dataset,) = results.datasets
    metric = results.score(dataset)
    sign = 1 if metric.better == "greater" else -1
    header = ["columns", "map", "score", "better than RFF by", "95 %", "failures"]
    table = Table(f"{results.title}: {metric.label}", header, stub=1)
    best: tuple[float, str, int] | None = None
    for columns, of_size in results.trials.groupby("n_features"):
        rows = []
        base = of_size[of_size["method"] == BASELINE].set_index("trial")[metric.name]
        for method, trials in of_size.groupby("method", sort=False):
            scores = trials.set_index("trial")[metric.name]
            failed, mean = int((trials["status"] != "ok").sum()), float(scores.mean())
            difference = (sign * (scores - base)).dropna()
            low, high = mean_interval(difference)
            interval = "" if method == BASELINE or not np.isfinite(low) else f"{low:+.3g} to {high:+.3g}"
            gain = "" if method == BASELINE or difference.empty else f"{difference.mean():+.3g}"
            shown = "failed" if np.isnan(mean) else f"{mean:.4g}"
            cells = [str(columns), str(method), shown, gain, interval, str(failed)]
            rows.append((np.inf if np.isnan(mean) else -sign * mean, cells))
            if not np.isnan(mean) and (best is None or sign * mean > best[0]):
                best = sign * mean, str(method), int(str(columns))
        table.rows += [cells for _, cells in sorted(rows, key=lambda each: each[0])]
    if best:
        table.notes.append(
            f"The best mean has {best[1]} with {best[2]} columns. An interval that holds 0 tells no map from RFF."
        )
    table.notes.append("σ and λ are chosen for each map by cross-validation; the differences are paired by the split.")
    return [table]


def save_entry(folder: Path, ref: str, tables: Sequence[Table], to: Path) -> list[Path]:
    """Copy what a pull request with the map ``ref`` holds into the folder ``to``: the map's file, the trials, the
    config and the manifest of its run in ``folder``, and a card with its gains; the paths written. ConfigError
    where ``to`` holds another map."""
    source = Path(ownfile.path_of(ref))
    card = {
        "map": source.name, "class": ref.rpartition(":")[2], "sha256": ownfile.source_hash(ref),
        "rffbench": __version__,
        "gains": [dict(zip(tables[0].header, row, strict=True)) for row in tables[0].rows],
    }  # fmt: skip
    to.mkdir(parents=True, exist_ok=True)
    if (there := to / "card.yaml").exists() and yamlfile.read(there).get("class") != card["class"]:
        raise ConfigError(f"{to}: holds the map {yamlfile.read(there).get('class')}; name another folder")
    written = [to / "card.yaml"]
    files.replace(written[0], yamlfile.dump(card))
    for path in (source, *log_files(folder), folder / "manifest.json", folder / "config.yaml"):
        files.replace(to / path.name, path.read_bytes())
        written.append(to / path.name)
    return written
