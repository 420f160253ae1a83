"""Measures one part of one table after the other, and appends a row for each to the log, so that it can be carried on.

The parts are ``fit``, `rffbench fit` in its five minutes; ``rff`` and ``trees``, those of `studies.fit.rivals`; and
``hour``, the best that `rffbench fit --best` finds in an hour. In each trial all parts have the same rows to learn from
and the same fifth of the table to predict, and are judged by the metric that ``fit`` chose.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score, mean_absolute_error, r2_score, roc_auc_score, root_mean_squared_error
from sklearn.model_selection import train_test_split

from rffbench.errors import ConfigError
from rffbench.plugin import Contention
from studies.fit import rivals
from studies.fit.tables import TABLES, Table

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "results" / "studies" / "fit"
LOG = "trials.jsonl"
PARTS = ("fit", "rff", "trees", "hour")
TRIALS = 3
TEST_SHARE = 0.2
MINUTES = {"fit": 5.0, "hour": 60.0}
METRICS = {"accuracy (%)": "accuracy", "AUC": "auc", "RMSE": "rmse", "mean abs. error": "mae", "R²": "r2"}

Row = dict[str, Any]


@dataclass(frozen=True)
class Split:
    """The rows of a trial."""

    table: Table
    trial: int
    train: pd.DataFrame
    test: pd.DataFrame

    @classmethod
    def of(cls, table: Table, trial: int) -> Split:
        frame = table.make()
        target = frame[table.targets[0]]
        classes = None if pd.api.types.is_numeric_dtype(target) else target
        train, test = train_test_split(frame, test_size=TEST_SHARE, random_state=trial, stratify=classes)
        return cls(table, trial, train.reset_index(drop=True), test.reset_index(drop=True))

    def inputs(self, frame: pd.DataFrame) -> pd.DataFrame:
        return frame.drop(columns=[*self.table.targets])

    def answers(self, frame: pd.DataFrame) -> pd.DataFrame:
        return frame[[*self.table.targets]]


@dataclass
class Study:
    """The rows in ``folder``, and what is missing of ``tables``. ``minutes`` are those of `rffbench fit`."""

    folder: Path = FOLDER
    tables: Sequence[Table] = TABLES
    trials: int = TRIALS
    minutes: dict[str, float] = field(default_factory=lambda: dict(MINUTES))

    def rows(self) -> list[Row]:
        """What was measured. A last line that is torn does not count."""
        path = self.folder / LOG
        found = []
        for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
        return found

    def measured(self) -> dict[tuple[str, int, str], Row]:
        """The last row of each table, trial and part that did not fail."""
        return {(row["table"], row["trial"], row["part"]): row for row in self.rows() if row["status"] == "ok"}

    def missing(self, table: str | None = None, part: str | None = None) -> Iterator[tuple[Table, int, str]]:
        """What is to be measured, a trial of all tables before the next one; the hours come last."""
        done = self.measured()
        for late in (False, True):
            for trial in range(self.trials):
                for each in self.tables:
                    for name in PARTS:
                        wanted = table in (None, each.name) and part in (None, name) and (name == "hour") == late
                        if wanted and (each.name, trial, name) not in done:
                            yield each, trial, name

    def run(self, table: str | None, part: str | None, tell: Callable[[str], object]) -> int:
        """Measure what is missing, one after the other; the number of parts that failed, or could not be begun."""
        failed = 0
        for each, trial, name in [*self.missing(table, part)]:
            tell(f"{each.name}, trial {trial + 1} of {self.trials}: {name}")
            try:
                row = self.measure(each, trial, name)
            except ConfigError as error:  # its data is not here, or its metric is not known: the others go on
                tell(f"  {error}")
                failed += 1
                continue
            self.append(row)
            failed += row["status"] != "ok"
            tell(
                f"  {row['error']}"
                if "error" in row
                else f"  {row['metric']} {row['score']:.5g}, {row['seconds']:.0f} s"
            )
        return failed

    def measure(self, table: Table, trial: int, part: str) -> Row:
        """The row of a part, also of one that failed; ConfigError if it cannot be begun."""
        row: Row = {"table": table.name, "trial": trial, "part": part, "status": "ok", **environment()}
        try:
            split = Split.of(table, trial)
            metric = self._metric(table) if part != "fit" else ""
            with _observed(row):
                if part in self.minutes:
                    found = by_command(split, self.minutes[part], best=part == "hour")
                else:
                    found = by_rival(split, part, metric)
        except ConfigError:
            raise
        except Exception as error:  # the other parts go on
            return row | {"status": "error", "error": f"{type(error).__name__}: {error}"}
        metric = metric or found["metric"]
        if found["metric"] != metric:
            return row | {"status": "error", "error": f"fit chose {found['metric']} now, and {metric} before"}
        inputs = len(split.inputs(split.train).columns)
        return row | {"rows": len(split.train) + len(split.test), "columns": inputs, **found}

    def _metric(self, table: Table) -> str:
        """The metric that `rffbench fit` chose for a table."""
        chosen = [
            row["metric"] for (name, _, part), row in self.measured().items() if (name, part) == (table.name, "fit")
        ]
        if not chosen:
            raise ConfigError(
                f"{table.name}: its metric is the one that fit chose; run --table {table.name} --part fit"
            )
        return str(chosen[0])

    def append(self, row: Row) -> None:
        """Write a row at the end of the log, on a line of its own even after a torn one."""
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / LOG
        torn = path.is_file() and not path.read_bytes().endswith(b"\n")
        with open(path, "a", encoding="utf-8") as log:
            log.write("\n" * torn + json.dumps(row, ensure_ascii=False) + "\n")
            log.flush()
            os.fsync(log.fileno())


# ---- The parts -------------------------------------------------------------------------------------------------


def by_command(split: Split, minutes: float, *, best: bool) -> Row:
    """`rffbench fit` on the training rows, and `rffbench predict` on the test rows."""
    with tempfile.TemporaryDirectory() as scratch:
        train, test = Path(scratch) / "train.csv", Path(scratch) / "test.csv"
        split.train.to_csv(train, index=False)
        split.inputs(split.test).to_csv(test, index=False)
        model, scores = Path(scratch) / "model", Path(scratch) / "scores.csv"
        asked = ["--target", ",".join(split.table.targets), "--minutes", str(minutes), "--output", str(model)]
        began = time.monotonic()
        said = command("fit", str(train), *asked, *["--best"] * best)
        seconds = time.monotonic() - began
        advice = next(line for line in said.splitlines() if line.startswith("Advice: ")).removeprefix("Advice: ")
        title = next(line for line in said.splitlines() if " ± s.e." in line)
        metric = next(name for shown, name in METRICS.items() if f"  {shown} ± s.e." in title)
        if model.is_dir():
            command("predict", str(model), str(test), "--output", str(scores))
            score = scored(split, metric, pd.read_csv(scores, keep_default_na=False))
        else:
            score = constant_score(split, metric)
    return {
        "metric": metric, "score": score, "constant": constant_score(split, metric), "seconds": seconds,
        "advice": advice, "minutes_given": minutes,
    }  # fmt: skip


def command(*arguments: str) -> str:
    """What a command prints; RuntimeError, with its last line, if it fails."""
    done = subprocess.run(
        [sys.executable, "-m", "rffbench", *arguments], capture_output=True, text=True, encoding="utf-8", check=False
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"rffbench {arguments[0]} ended with {done.returncode}: {last}")
    return done.stdout


def by_rival(split: Split, part: str, metric: str) -> Row:
    """A rival, tuned by and fitted to the training rows."""
    tune = {"rff": rivals.fourier, "trees": rivals.trees}[part]
    began = time.monotonic()
    tuned = tune(split.inputs(split.train), split.answers(split.train), metric, split.trial)
    seconds = time.monotonic() - began
    X = split.inputs(split.test)
    found = np.asarray(tuned.model.predict(X)).reshape(len(X), -1)
    frame = pd.DataFrame(found, columns=[*split.table.targets])
    if metric == "auc":
        of_classes = zip(tuned.model.classes_, tuned.model.predict_proba(X).T, strict=True)
        frame = frame.assign(**{f"prob_{label}": p for label, p in of_classes})
    return {
        "metric": metric, "score": scored(split, metric, frame), "constant": constant_score(split, metric),
        "seconds": seconds, "settings": {name: float(value) for name, value in tuned.settings.items()},
        "at_end": tuned.at_end,
    }  # fmt: skip


def scored(split: Split, metric: str, found: pd.DataFrame) -> float:
    """The score of predictions as `rffbench predict` writes them."""
    y = split.answers(split.test)
    if metric == "auc":
        last = sorted(y.iloc[:, 0].unique())[-1]
        return float(roc_auc_score(y.iloc[:, 0] == last, found[f"prob_{last}"]))
    if metric == "accuracy":
        return float(accuracy_score(y.iloc[:, 0].astype(str), found[split.table.targets[0]].astype(str)))
    score = {"rmse": root_mean_squared_error, "mae": mean_absolute_error, "r2": r2_score}[metric]
    return float(score(y, found[[*split.table.targets]]))


def constant_score(split: Split, metric: str) -> float:
    """The score of the most frequent class, or of the mean, of the training rows."""
    if metric == "auc":
        return 0.5
    y = split.answers(split.train)
    constants = {name: y[name].mode()[0] if metric == "accuracy" else y[name].mean() for name in y}
    return scored(split, metric, pd.DataFrame(constants, index=range(len(split.test))))


# ---- The machine -----------------------------------------------------------------------------------------------


def environment() -> Row:
    """The machine, the versions and the commit."""
    found = json.loads(command("environment"))
    done = subprocess.run(
        ["git", "status", "--porcelain", "--", "rffbench", "studies"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    commit = found["git_commit"].removesuffix("-dirty") + " and changes" * bool(done.stdout.strip())
    return {
        "started": found["time"], "commit": commit,
        "machine": {name: found[name] for name in ("cpu", "processors", "memory_bytes", "os")},
        "packages": found["packages"],
    }  # fmt: skip


@contextmanager
def _observed(row: Row) -> Iterator[None]:
    """Adds the load at start and end, and whether this program and its children were ``alone`` on the processors."""
    row["load_at_start"] = _load()
    with Contention(own=lambda: sum(os.times()[:4])) as contention:
        yield
    row["load_at_end"] = _load()
    row["alone"] = contention.contended is False


def _load() -> float | None:
    """The load average of the last minute."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None
