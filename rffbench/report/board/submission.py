"""A folder with your own map and its trials, as a pull request brings it: how it is written, and how it is checked.

A maintainer's check repeats a tenth of the folder's trials, drawn by a nonce that its author could not know, and holds
the scores against those of the folder. The folder's config is not run: the experiment is made anew from the board's,
so that nothing but the map's file is code of somebody else.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from rffbench import __version__, files, yamlfile
from rffbench.config.experiment import Experiment
from rffbench.config.loading import experiment_of, load_experiment
from rffbench.data.cards import Card, load_card
from rffbench.errors import ConfigError, ResultsError, unknown
from rffbench.execution.log import latest, log_files, read_rows
from rffbench.execution.row import Row
from rffbench.plugins import ownfile
from rffbench.report.board.entry import board_config, fitting, label_of
from rffbench.report.board.own_tables import map_tables
from rffbench.report.board.score import scored_by
from rffbench.report.frame import load_results
from rffbench.report.text_table import NOT_RUN, Table
from rffbench.trials.metrics import METRICS

SHARE = 0.1  # of the trials, that a check repeats
ROWS = 2  # test rows by which an accuracy may differ
RELATIVE = 1e-6  # by how much an error may differ
ROUNDING = 1e-3  # by how much a kernel error in single precision may differ
CARD, LOG, SECONDS = "card.yaml", "trials.jsonl", "seconds"


# ---- Written ---------------------------------------------------------------------------------------------------------


def save_entry(folder: Path, timed: Path | None, ref: str, tables: Sequence[Table], to: Path) -> list[Path]:
    """Copy what a pull request with the map ``ref`` holds into the folder ``to``: the map's file, the trials, the
    config and the manifest of its run in ``folder``, in ``to``/seconds those of its run in ``timed``, and a card
    with its gains; the paths written. ConfigError where ``to`` holds another map."""
    source = Path(ownfile.path_of(ref))
    card = {
        "map": source.name, "class": ref.rpartition(":")[2], "sha256": ownfile.source_hash(ref),
        "rffbench": __version__,
        "gains": _gains(tables, label_of(ref)),
    }  # fmt: skip
    to.mkdir(parents=True, exist_ok=True)
    if (old := to / CARD).exists() and yamlfile.read(old).get("class") != card["class"]:
        raise ConfigError(f"{to}: holds the map {yamlfile.read(old).get('class')}; name another folder")
    written = [to / CARD]
    files.replace(written[0], yamlfile.dump(card))
    for path, there in [(source, to), *_of_run(folder, to), *(_of_run(timed, to / SECONDS) if timed else ())]:
        there.mkdir(exist_ok=True)
        files.replace(there / path.name, path.read_bytes())
        written.append(there / path.name)
    return written


def _gains(tables: Sequence[Table], label: str) -> dict[str, list[dict[str, str]]]:
    """By the title of a table, its rows of the map called ``label``: at equal columns, time and memory."""
    found = {}
    for table in (each for each in tables if "map" in each.header):
        rows = (dict(zip(table.header, row, strict=True)) for row in table.rows)
        found[table.title] = [row for row in rows if row["map"].removesuffix(" *") == label]
    return found


def _of_run(folder: Path, to: Path) -> list[tuple[Path, Path]]:
    """The files of a run, each with the folder that its copy goes to."""
    return [(path, to) for path in (*log_files(folder), folder / "manifest.json", folder / "config.yaml")]


# ---- Checked ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Submission:
    """A folder that `save_entry` wrote: the experiment as the board has it, and the ``rows`` of its trials by key."""

    folder: Path
    card: Mapping[str, Any]
    experiment: Experiment
    rows: dict[str, Row]
    missing: int


@dataclass(frozen=True)
class Difference:
    """A trial whose second score is another one: ``off`` is how far, in words."""

    dataset: str
    method: str
    n_features: int
    trial: int
    off: str


def read_submission(folder: Path) -> Submission:
    """The submission in a folder. ConfigError or ResultsError, naming the file and what is wrong, where it is none, its
    map is not the one that was measured, or its trials are not the board's."""
    card = _card(folder)
    experiment = _experiment(folder, f"{folder / card['map']}:{card['class']}")
    grid = {spec.key for spec in experiment.grid()}
    rows = {str(row["key"]): row for row in latest(_rows(folder, card))}
    for row in rows.values():
        if wrong := _wrong(row, grid):
            cell = f"{row['dataset']} {row['method']} at {row['n_features']} columns, trial {row['trial']}"
            raise ResultsError(f"{folder / LOG}: {cell}: {wrong}; {_again(folder, card)}")
    return Submission(folder, card, experiment, rows, len(grid - rows.keys()))


def _rows(folder: Path, card: Mapping[str, Any]) -> list[Row]:
    """The rows of the submission's log. ResultsError if it has no row; it says what is wrong with the file."""
    if not (there := log_files(folder)):
        raise ResultsError(f"{folder / LOG}: there is no such file; {_again(folder, card)}")
    if rows := read_rows(folder / LOG):
        return rows
    wrong = "no line of it is a trial" if any(path.stat().st_size for path in there) else "is empty"
    raise ResultsError(f"{there[-1]}: holds no trials: {wrong}; {_again(folder, card)}")


def _wrong(row: Row, grid: Container[str]) -> str:
    """What keeps a row from being checked, in words; empty if nothing does."""
    if row["key"] not in grid:
        return "is no trial of the board with this map and this file"
    if row["status"] != "ok":
        return ""
    lacking = [name for name in scored_by(row["dataset"]) if name not in row["metrics"]]
    return f"its metrics lack {lacking[0]}, by which the board scores {row['dataset']}" if lacking else ""


def _again(folder: Path, card: Mapping[str, Any]) -> str:
    return f"run `rffbench board ./{card['map']}:{card['class']} --save {folder}` again"


def _card(folder: Path) -> Mapping[str, Any]:
    """The card, of this version and of the folder's map."""
    if not (path := folder / CARD).is_file():
        raise ConfigError(f"{path}: there is no such file; `rffbench board ./mine.py:MyMap --save {folder}` writes it")
    card = yamlfile.read(path)
    for key in ("map", "class", "sha256", "rffbench"):
        if not isinstance(card, dict) or not isinstance(card.get(key), str):
            raise ConfigError(f"{path}: {key}: must be text, as `rffbench board --save` writes it")
    if Path(card["map"]).name != card["map"] or not card["map"].endswith(".py"):
        raise ConfigError(f"{path}: map: must be the name of a .py file in this folder, got {card['map']!r}")
    if card["rffbench"] != __version__:
        raise ConfigError(f"{path}: made by rffbench {card['rffbench']}, this is {__version__}: {_again(folder, card)}")
    source = folder / card["map"]
    if (found := ownfile.source_hash(f"{source}:{card['class']}")) != card["sha256"]:
        raise ConfigError(
            f"{source}: its SHA-256 is {found}, and {CARD} says {card['sha256']}: put the file back that was measured, "
            f"or {_again(folder, card)}"
        )
    return dict(card)


def datasets_of(folder: Path) -> list[str]:
    """The datasets of the submission in a folder. The map's code is not run. ConfigError if the folder holds no
    submission."""
    _card(folder)
    return [str(name) for name in _config(folder)["datasets"]]


def _config(folder: Path) -> dict[str, Any]:
    given = yamlfile.read(folder / "config.yaml")
    if not isinstance(given, dict) or not isinstance(given.get("datasets"), list):
        raise ConfigError(f"{folder / 'config.yaml'}: is no config of a board")
    return given


def _experiment(folder: Path, ref: str) -> Experiment:
    """The experiment of the board whose seed the folder's config has, the whole or the small one, with that config's
    datasets, sizes and trials."""
    given = _config(folder)
    datasets = [str(name) for name in given["datasets"]]
    is_whole = given.get("seed") == load_experiment("board").seed
    config = board_config(ref, datasets, full=True) if is_whole else board_config(ref)
    if beyond := [name for name in datasets if name not in config["datasets"]]:
        what = unknown("dataset of the small board", beyond[0], config["datasets"])
        raise ConfigError(f"{folder / 'config.yaml'}: datasets: {what}")
    asked = {key: given[key] for key in ("n_features", "trials") if key in given}
    return experiment_of(fitting(config | {"name": "check", "datasets": datasets} | asked))


def drawn(submission: Submission, nonce: str) -> list[str]:
    """The keys of a tenth of the submission's trials, at least one of its own map: those whose hash with the nonce is
    smallest."""
    ranked = sorted(submission.rows, key=lambda key: hashlib.sha256(f"{nonce}:{key}".encode()).digest())
    count = math.ceil(SHARE * len(ranked))
    own = [key for key in ranked if submission.rows[key]["features"]["name"] != "fourier"]
    return list(dict.fromkeys([*own[:1], *ranked]))[:count]


def differences(submission: Submission, again: Iterable[Row]) -> list[Difference]:
    """The repeated trials whose status or score is another one: an accuracy by more than two test rows, an error by
    more than 1e-6 of it. All metrics count that the board's score comes from."""
    found = []
    for row in again:
        if off := other_score(submission.rows[row["key"]], row):
            found.append(Difference(row["dataset"], row["method"], row["n_features"], row["trial"], off))
    return found


def other_score(before: Row, now: Row) -> str:
    """How far the score of a trial's second row is from that of its first, in words; empty if that is let through."""
    if before["status"] != now["status"]:
        return f"{now['status']}, not {before['status']}"
    if now["status"] != "ok":
        return ""
    pairs = {name: (before["metrics"][name], now["metrics"][name]) for name in scored_by(now["dataset"])}
    found = (_apart(name, one, other, load_card(now["dataset"])) for name, (one, other) in pairs.items())
    return next(filter(None, found), "")


def other_numbers(before: Row, now: Row) -> str:
    """How far the numbers of a trial's second try on one machine are from those of the first, in words; empty if they
    are the same: the score, or the kernel error, which tells another draw where the scores are alike."""
    if (off := other_score(before, now)) or now["status"] != "ok":
        return off
    one, other = (row["metrics"].get("kernel_error") for row in (before, now))
    if one is None or other is None or abs(one - other) <= ROUNDING * abs(one):
        return ""
    return f"kernel error {other:.6g}, not {one:.6g}"


def _apart(metric: str, one: float, other: float, card: Card) -> str:
    """How far two values of a metric are apart, in words; empty if that is let through."""
    if metric == "rmse":
        apart = abs(one - other) / max(abs(one), 1e-300)
        return f"{apart:.1e}: RMSE {other:.9g}, not {one:.9g}" if apart > RELATIVE else ""
    rows = round(abs(one - other) / 100 * _rows_of_score(metric, card))
    named = "" if metric == "accuracy" else f" of {METRICS[metric].label}"
    return f"{rows} test rows{named}: {other:.4f} %, not {one:.4f} %" if rows > ROWS else ""


def _rows_of_score(metric: str, card: Card) -> float:
    """The number of which one test row is the share that it moves the metric by: all test rows; of a balanced accuracy,
    which a row of the rarest class moves most, those of that class, times the classes."""
    if metric == "accuracy":
        return card.n_test
    return len(card.classes) * min(card.classes.values()) * card.n_test / card.rows


def other_gains(submission: Submission) -> list[str]:
    """Where the gains on the card are not those that the folder's trials come to, in words."""
    label, beside = label_of(f"{submission.card['map']}:{submission.card['class']}"), submission.folder / SECONDS
    timed = load_results(beside) if beside.is_dir() else None
    now = _gains(map_tables(load_results(submission.folder), label, timed), label)
    before = submission.card.get("gains")
    if not isinstance(before, dict):
        return [f"{CARD}: gains: must have the map's rows by table; {_again(submission.folder, submission.card)}"]
    told = []
    for title in dict.fromkeys([*before, *now]):
        for given, found in zip_longest(before.get(title) or [], now.get(title, [])):
            if given != found:
                told.append(f"{CARD}: {title}: {_listed(given)} on the card; the trials come to {_listed(found)}")
    return told


def _listed(row: Any) -> str:
    """A row of the card in one line."""
    return (
        ", ".join(f"{key}: {value}" for key, value in row.items()) if isinstance(row, dict) and row else "no such row"
    )


def check_table(
    submission: Submission, again: Sequence[Row], found: Sequence[Difference], other: Sequence[str] = ()
) -> Table:
    """What a check came to: the trials that were repeated, the differences found, and the card's ``other`` gains."""
    table = Table(f"{submission.folder}: {len(again)} of {len(submission.rows)} trials repeated",
                  ["dataset", "map", "columns", "trial", "difference"], stub=1)  # fmt: skip
    table.rows = [[each.dataset, each.method, str(each.n_features), str(each.trial), each.off] for each in found]
    if not found:
        table.rows = [["all", "", "", "", NOT_RUN]]
    same = f"The others differ by at most {ROWS} test rows, or by {RELATIVE:g} of an error."
    table.notes = [same if found else same.replace("The others", "All scores")]
    if submission.missing:
        table.notes.append(f"{submission.missing} trials of its config are not in the folder.")
    table.notes += [f"{each}." for each in other]
    return table
