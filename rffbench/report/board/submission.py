"""A folder with your own map and its trials, as a pull request brings it: how it is written, and how it is checked.

A maintainer's check repeats a tenth of the folder's trials, drawn by a nonce that its author could not know, and holds
the scores against those of the folder. The folder's config is not run: the experiment is made anew from the board's,
so that nothing but the map's file is code of somebody else. That file is not imported here, either: `repeated` takes a
file that stands for it (`rffbench.execution.sandbox_map`).
"""

from __future__ import annotations

import hashlib
import keyword
import math
import os
import re
import tempfile
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path
from typing import Any

from rffbench import __version__
from rffbench.config.experiment import Experiment
from rffbench.config.loading import experiment_of, load_experiment
from rffbench.data.cards import Card, load_card
from rffbench.errors import ConfigError, ResultsError, unknown
from rffbench.execution.log import cell, line_of, log_files, read_rows
from rffbench.execution.row import Row
from rffbench.io import files, yamlfile
from rffbench.plugins import ownfile
from rffbench.report.board.entries import NO, Checked
from rffbench.report.board.entry import BASELINE, PLANS_FULL, board_config, cost_of, fitting, label_of
from rffbench.report.board.own_tables import map_tables
from rffbench.report.frame import Results, load_results
from rffbench.report.text_table import Table
from rffbench.stats.gain import BALANCED
from rffbench.trials.metrics import METRICS
from rffbench.trials.spec import TrialSpec

SHARE = 0.1  # of the trials, that a check repeats
ROWS = 2  # test rows by which an accuracy may differ
RELATIVE = 1e-6  # by how much an error may differ
ROUNDING = 1e-3  # by how much a kernel error in single precision may differ
CARD, LOG, SECONDS, CONFIG, MANIFEST = "card.yaml", "trials.jsonl", "seconds", "config.yaml", "manifest.json"


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
    return [(path, to) for path in (*log_files(folder), folder / MANIFEST, folder / CONFIG)]


# ---- Checked ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Submission:
    """A folder that `save_entry` wrote: the config of its experiment as the board has it with RFF alone, the trials of
    that experiment with the map, and the ``rows`` of those trials by key; the map's ``source``, and the rows in the
    folder's `SECONDS`. ``missing`` is the number of trials without a row."""

    folder: Path
    card: Mapping[str, Any]
    source: bytes
    config: dict[str, Any]
    specs: dict[str, TrialSpec]
    rows: dict[str, Row]
    timed: list[Row]

    @property
    def missing(self) -> int:
        return len(self.specs.keys() - self.rows.keys())

    @property
    def ref(self) -> str:
        """The map as keys and rows have it."""
        return f"./{self.card['map']}:{self.card['class']}"

    @property
    def datasets(self) -> list[str]:
        return list(self.config["datasets"])


@dataclass(frozen=True)
class Difference:
    """A trial whose second score is another one: ``off`` is how far, in words."""

    dataset: str
    method: str
    n_features: int
    trial: int
    off: str


def read_submission(folder: Path) -> Submission:
    """The submission in a folder. The map's code is not run. ConfigError or ResultsError, naming the file and what is
    wrong, where it is none, its map is not the one that was measured, or its trials are not the board's."""
    _refuse_other_files(folder)
    card = _card(folder)
    source = _source(folder, card)
    config = _config(folder, f"./{card['map']}:{card['class']}")
    experiment = experiment_of(config)
    specs = _trials(experiment, card)
    rows = _checked_rows(folder, card, specs)
    timed = []
    if (folder / SECONDS).is_dir():
        timed = list(_checked_rows(folder / SECONDS, card, _trials(cost_of(experiment), card)).values())
    return Submission(folder, card, source, config, specs, rows, timed)


def _refuse_other_files(folder: Path) -> None:
    """ConfigError for a link, a pipe or a file that --save does not write: a check reads nothing outside the folder."""
    if folder.is_symlink():
        raise ConfigError(f"{folder}: is a link; give the folder itself")
    known = {CARD, CONFIG, MANIFEST}
    for place, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = Path(place, name)
            if path.is_symlink() or not (path.is_file() or path.is_dir()):
                raise ConfigError(f"{path}: is a link or no regular file; `--save` writes files")
        inner = Path(place) == folder / SECONDS
        if others := [each for each in folders if inner or each != SECONDS]:
            raise ConfigError(f"{Path(place, others[0])}: `--save` writes no such folder; leave it out")
        logs = {path.name for path in log_files(Path(place))}
        if others := [each for each in names if each not in known | logs and (inner or not each.endswith(".py"))]:
            raise ConfigError(f"{Path(place, others[0])}: `--save` writes no such file; leave it out")
    if len(sources := sorted(folder.glob("*.py"))) > 1:
        raise ConfigError(f"{sources[1]}: `--save` writes one .py file, the map's; leave the others out")


def _trials(experiment: Experiment, card: Mapping[str, Any]) -> dict[str, TrialSpec]:
    """The trials of an experiment of RFF alone, and the same of the card's map, by key."""
    ref, baseline = f"./{card['map']}:{card['class']}", experiment.grid()
    own = {"method": label_of(ref), "features": {"name": ref}, "source": card["sha256"]}
    return {spec.key: spec for spec in (*baseline, *(replace(spec, **own) for spec in baseline))}


def _checked_rows(folder: Path, card: Mapping[str, Any], specs: Mapping[str, TrialSpec]) -> dict[str, Row]:
    """The rows of the log in a folder by key. ResultsError for a row of another trial, for one that a report could not
    score, and for a trial that has two rows with scores."""
    rows: dict[str, Row] = {}
    for row in _rows(folder, card):
        place = f"{row['dataset']} {row['method']} at {row['n_features']} columns, trial {row['trial']}"
        wrong = _wrong(row, specs)
        if not wrong and rows.get(row["key"], {}).get("status") == "ok":
            wrong = "has two rows, and a trial with a score is not measured again"
        if wrong:
            raise ResultsError(f"{folder / LOG}: {place}: {wrong}; {_again(folder, card)}")
        rows[row["key"]] = row
    return rows


def _rows(folder: Path, card: Mapping[str, Any]) -> list[Row]:
    """The rows of a log of the submission. ResultsError if it has no row; it says what is wrong with the file."""
    if not (there := log_files(folder)):
        raise ResultsError(f"{folder / LOG}: there is no such file; {_again(folder, card)}")
    if rows := read_rows(folder / LOG):
        return rows
    wrong = "no line of it is a trial" if any(path.stat().st_size for path in there) else "is empty"
    raise ResultsError(f"{there[-1]}: holds no trials: {wrong}; {_again(folder, card)}")


def _wrong(row: Row, specs: Container[str]) -> str:
    """What keeps a row from being checked, in words; empty if nothing does."""
    if row["key"] not in specs:
        return "is no trial of the board with this map and this file"
    if row["status"] != "ok":
        return ""
    for name in scored_by(row["dataset"]):
        if name not in row["metrics"]:
            return f"its metrics lack {name}, by which the board scores {row['dataset']}"
        if not 0 <= (value := row["metrics"][name]) <= (math.inf if name == "rmse" else 100):
            return f"{value:g} is no {METRICS[name].label}"
    return ""


def _again(folder: Path, card: Mapping[str, Any]) -> str:
    to = folder.parent if folder.name == SECONDS else folder
    return f"run `rffbench board ./{card['map']}:{card['class']} --save {to}` again"


def _card(folder: Path) -> Mapping[str, Any]:
    """The card, of this version."""
    if not (path := folder / CARD).is_file():
        raise ConfigError(f"{path}: there is no such file; `rffbench board ./mine.py:MyMap --save {folder}` writes it")
    card = yamlfile.read(path)
    for key in ("map", "class", "sha256", "rffbench"):
        if not isinstance(card, dict) or not isinstance(card.get(key), str):
            raise ConfigError(f"{path}: {key}: must be text, as `rffbench board --save` writes it")
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_. -]*\.py", card["map"]):
        raise ConfigError(f"{path}: map: must be the name of a .py file in this folder, got {card['map']!r}")
    if not card["class"].isidentifier() or keyword.iskeyword(card["class"]):
        raise ConfigError(f"{path}: class: must be the name of a class in {card['map']}, got {card['class']!r}")
    if card["rffbench"] != __version__:
        raise ConfigError(f"{path}: made by rffbench {card['rffbench']}, this is {__version__}: {_again(folder, card)}")
    return dict(card)


def _source(folder: Path, card: Mapping[str, Any]) -> bytes:
    """The content of the folder's map, which is what was measured."""
    path = folder / card["map"]
    if not path.is_file():
        raise ConfigError(f"{path}: there is no such file, and {CARD} names it: {_again(folder, card)}")
    source = path.read_bytes()
    if (found := hashlib.sha256(source).hexdigest()) != card["sha256"]:
        raise ConfigError(
            f"{path}: its SHA-256 is {found}, and {CARD} says {card['sha256']}: put the file back that was measured, "
            f"or {_again(folder, card)}"
        )
    return source


def _config(folder: Path, ref: str) -> dict[str, Any]:
    """The config of the board whose seed the folder's config has, the whole or the small one, with RFF alone, and that
    config's datasets, sizes and trials, which must be among the board's."""
    given, path = yamlfile.read(folder / CONFIG), folder / CONFIG
    if not isinstance(given, dict) or not isinstance(given.get("datasets"), list):
        raise ConfigError(f"{path}: is no config of a board")
    datasets = [str(name) for name in given["datasets"]]
    is_whole = given.get("seed") == load_experiment("board").seed
    config = board_config(ref, datasets, full=True) if is_whole else board_config(ref)
    if beyond := [name for name in datasets if name not in config["datasets"]]:
        what = unknown("dataset of the small board", beyond[0], config["datasets"])
        raise ConfigError(f"{path}: datasets: {what}")
    asked = {key: given[key] for key in ("n_features", "trials") if key in given}
    most_trials = max(map(int, _values(config["trials"])), default=1)
    most_trials = max(most_trials, *(trials for _, trials in PLANS_FULL))
    for key, valid in (
        ("n_features", _values(config["n_features"])),
        ("trials", {*map(str, range(1, most_trials + 1))}),
    ):
        if key in asked and not set() < _values(asked[key]) <= valid:
            there = ", ".join(sorted(valid, key=int))
            raise ConfigError(f"{path}: {key}: must be of the board's, {there}; got {asked[key]!r}")
    methods = {BASELINE: config["methods"][BASELINE]}
    return fitting(config | {"datasets": datasets, "methods": methods} | asked)


def _values(given: Any) -> set[str]:
    """The values of a setting that may be one for all, a list, or by dataset or size."""
    if isinstance(given, dict | list):
        return set().union(*map(_values, given.values() if isinstance(given, dict) else given))
    return {str(given)}


def repeated(submission: Submission, stand_in: str) -> Experiment:
    """The submission's experiment with the map ``stand_in``, a class in a file, in place of its own. Its trials are
    told by their cells."""
    label = label_of(submission.ref)
    config = submission.config | {"methods": {**submission.config["methods"], label: {"features": stand_in}}}
    return experiment_of(config)


def drawn(submission: Submission, nonce: str) -> list[str]:
    """The keys of a tenth of the submission's trials, at least one of its map and one of RFF: those whose hash with the
    nonce is smallest."""
    ranked = sorted(submission.rows, key=lambda key: hashlib.sha256(f"{nonce}:{key}".encode()).digest())
    count = math.ceil(SHARE * len(ranked))
    by_method = {submission.rows[key]["method"]: key for key in reversed(ranked)}
    first = [key for key in ranked if key in by_method.values()]
    own = label_of(submission.ref)
    first.sort(key=lambda key: submission.rows[key]["method"] != own)
    return list(dict.fromkeys([*first, *ranked]))[: max(count, len(first))]


def differences(submission: Submission, again: Iterable[Row]) -> list[Difference]:
    """The repeated trials whose status or score is another one: an accuracy by more than two test rows, an error by
    more than 1e-6 of it. All metrics count that the board's score comes from."""
    found, before = [], {cell(row): row for row in submission.rows.values()}
    for row in again:
        if off := other_score(before[cell(row)], row):
            found.append(Difference(row["dataset"], row["method"], row["n_features"], row["trial"], off))
    return found


def scored_by(dataset: str) -> tuple[str, ...]:
    """The metrics of a trial's row that the board's score of a dataset comes from, and those that it shows as test
    error."""
    if load_card(dataset).task == "regression":
        return ("rmse",)
    return ("balanced_accuracy", "accuracy") if dataset in BALANCED else ("accuracy",)


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
    label = label_of(submission.ref)
    with tempfile.TemporaryDirectory(prefix="rffbench-check-") as place:
        scores = _loaded(Path(place, "scores"), submission, submission.rows.values())
        timed = _loaded(Path(place, "seconds"), submission, submission.timed) if submission.timed else None
        now = _gains(map_tables(scores, label, timed), label)
    before = submission.card.get("gains")
    if not isinstance(before, dict):
        return [f"{CARD}: gains: must have the map's rows by table; {_again(submission.folder, submission.card)}"]
    told = []
    for title in dict.fromkeys([*before, *now]):
        for given, found in zip_longest(before.get(title) or [], now.get(title, [])):
            if given != found:
                told.append(f"{CARD}: {title}: {_listed(given)} on the card; the trials come to {_listed(found)}")
    return told


def _loaded(folder: Path, submission: Submission, rows: Iterable[Row]) -> Results:
    """Results of the submission's rows, which were checked, under the board's config: nothing of the folder's own."""
    experiment = experiment_of(submission.config)
    config = (experiment if folder.name == "scores" else cost_of(experiment)).to_dict()
    config["methods"] = {**config["methods"], label_of(submission.ref): {"features": submission.ref}}
    folder.mkdir()
    files.replace(folder / CONFIG, yamlfile.dump(config))
    files.replace(folder / LOG, map(line_of, rows))
    return load_results(folder)


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
        table.rows = [["all", "", "", "", "none that counts"]]
    same = f"The others differ by at most {ROWS} test rows, or by {RELATIVE:g} of an error."
    table.notes = [same if found else same.replace("The others", "All scores")]
    if left := len(submission.rows) - len(again):
        table.notes.append(
            f"The scores of the other {left} trials are as the folder has them: another nonce draws others."
        )
    table.notes.append("Seconds and memory are as the folder has them: they are not measured again.")
    if submission.missing:
        table.notes.append(f"{submission.missing} trials of its config are not in the folder.")
    table.notes += [f"{each}." for each in other]
    return table


def checked_entry(submission: Submission, repeated: int, nonce: str, authors: str | None = None) -> tuple[str, Checked]:
    """The map's label, and what a check that passed says of it: when how many trials were repeated, and where its
    ``authors`` said that they checked it."""
    today = datetime.now(UTC).date().isoformat()
    said = f"{repeated} of {len(submission.rows)} trials on {today}, drawn by --nonce {nonce}"
    return label_of(submission.ref), Checked(repeated=said, authors=authors or NO, sha256=submission.card["sha256"])


def verdict(submission: Submission, again: Sequence[Row], keys: Sequence[str], found: Sequence[Difference],
            other: Sequence[str]) -> str:  # fmt: skip
    """Why the submission is refused, in words; empty if it is not."""
    reasons = [
        (len(found), "{} of its repeated trials have another score"),
        (len(other), "{} of the card's gains are not those of its trials"),
        (len(keys) - len(again), "{} trials could not be repeated"),
        (submission.missing, "{} trials are missing"),
    ]
    return "; ".join(said.format(count) for count, said in reasons if count)
