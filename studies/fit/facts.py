"""What the rows of results/studies/fit come to, for docs/fit.md.

A loss is one less the score, or a mean square. A gain is the loss of the best constant less that of a model, the mean
over trials; "within 1 %" is of the gain that an hour's best has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from studies.evidence import line, listed, signed, word
from studies.fit.measuring import PARTS, TEST_SHARE, Row, Study

WITHIN = 0.01  # of the gain of the hour's best
SMALLER_IS_BETTER = ("rmse", "mae")
SHOWN = {"accuracy": "accuracy, %", "auc": "AUC", "rmse": "RMSE", "mae": "mean abs. error", "r2": "R²"}


@dataclass(frozen=True)
class Measured:
    """A table's rows, by part, of the trials in which all parts are measured."""

    name: str
    rows: dict[str, list[Row]]

    @property
    def metric(self) -> str:
        return str(self.rows["fit"][0]["metric"])

    def scores(self, part: str) -> np.ndarray:
        """In percent where it is an accuracy."""
        return np.array([row["score"] for row in self.rows[part]]) * (100 if self.metric == "accuracy" else 1)

    def _loss(self, scores: Sequence[float]) -> float:
        values = np.asarray(scores)
        return float(np.mean(values**2 if self.metric == "rmse" else values if self.metric == "mae" else 1 - values))

    def loss(self, part: str) -> float:
        """The mean over trials."""
        return self._loss([row["score"] for row in self.rows[part]])

    @property
    def share(self) -> float:
        """What `fit` gains over the best constant, as a share of what the hour's best gains."""
        constant = self._loss([row["constant"] for row in self.rows["fit"]])
        return (constant - self.loss("fit")) / (constant - self.loss("hour"))

    def ahead(self, part: str) -> tuple[float, float]:
        """By how much `fit` is better than a part, paired by trial, and the standard error."""
        sign = -1 if self.metric in SMALLER_IS_BETTER else 1
        differences = sign * (self.scores("fit") - self.scores(part))
        return float(differences.mean()), standard_error(differences)


def standard_error(values: np.ndarray) -> float:
    """Of a mean over trials whose training rows overlap: √((1/J + n_test/n_train)·var) (Nadeau and Bengio 2003)."""
    if len(values) < 2:
        return float("nan")
    return float(np.sqrt((1 / len(values) + TEST_SHARE / (1 - TEST_SHARE)) * np.var(values, ddof=1)))


class Found:
    """The tables of a study that are measured, and what is missing."""

    def __init__(self, study: Study) -> None:
        self.study, done = study, study.measured()
        self.planned = len(study.tables) * study.trials * len(PARTS)
        self.missing = len([*study.missing()])
        self.tables: list[Measured] = []
        for table in study.tables:
            whole = [trial for trial in range(study.trials) if all((table.name, trial, part) in done for part in PARTS)]
            if whole:
                rows = {part: [done[table.name, trial, part] for trial in whole] for part in PARTS}
                self.tables.append(Measured(table.name, rows))

    def finding(self) -> str:
        """The first sentences: what came out, as far as it is measured."""
        runs = f"{self.planned - self.missing} of {self.planned} runs"
        if not self.tables:
            return f"**This is not measured yet: {runs} are done, and no table has all of its parts.**"
        near = sum(each.share >= 1 - WITHIN for each in self.tables)
        said = (
            f"**On {word(near)} of {word(len(self.tables))} tables `rffbench fit` came within 1 % of the best of an "
            f"hour, and on {self._behind('rff')} it was below random Fourier features tuned with scikit-learn by more "
            f"than the standard error.** Below boosted trees tuned alike it was on {self._behind('trees')}."
        )
        return f"**Not measured in full: {runs} are done.** So far: {said}" if self.missing else said

    def _behind(self, part: str) -> str:
        """The tables on which `fit` is worse than a part by more than the standard error."""
        ahead = {each.name: each.ahead(part) for each in self.tables}
        names = [name for name, (mean, error) in ahead.items() if -mean > error]
        return listed(names) if names else "none"

    def table(self) -> str:
        """A row for each table; in brackets by how much `fit` is better, and the standard error of that."""
        header = ["table", "rows", "columns", "metric", "minutes", "fit", "(a) Fourier features", "(b) trees",
                  "(c) an hour", "gain, % of (c)'s"]  # fmt: skip
        lines = [line(header), "|---|--:|--:|---|--:|--:|--:|--:|--:|--:|"]
        for each in self.tables:
            first = each.rows["fit"][0]
            alone = [row["seconds"] / 60 for row in each.rows["fit"] if row["alone"]]
            lines.append(line([
                each.name, f"{first['rows']:,}", str(first["columns"]), SHOWN[each.metric],
                f"{np.mean(alone):.1f}" if alone else "–", f"{each.scores('fit').mean():.4g}",
                *(_score(each, part) for part in PARTS[1:]), f"{100 * each.share:.1f}",
            ]))  # fmt: skip
        return "\n".join(lines) if self.tables else ""

    def advice(self) -> str:
        """What each trial of a table advised."""
        lines = []
        for each in self.tables:
            advised = dict.fromkeys(row["advice"] for row in each.rows["fit"])
            lines.append(f"- {each.name}: {' / '.join(advised)}")
        return "\n".join(lines)

    def notes(self) -> str:
        """The commits, trials beside other work, and choices at an end of their grid."""
        if not self.tables:
            return ""
        rows = [row for each in self.tables for part in PARTS for row in each.rows[part]]
        said = [f"Measured by {listed(sorted({row['commit'][:10] for row in rows}))} on {rows[0]['machine']['cpu']}."]
        fewest, most = (f(len(each.rows["fit"]) for each in self.tables) for f in (min, max))
        said.append(f"Trials: {fewest if fewest == most else f'{fewest} to {most}'}.")
        if beside := sum(not row["alone"] for row in rows):
            said.append(f"Beside {beside} of {len(rows)} runs the machine had other work; their minutes do not count.")
        if ends := sum(bool(row.get("at_end")) for row in rows):
            said.append(f"{ends} choices of the rivals are at an end of their grid.")
        return " ".join(said)


def _score(table: Measured, part: str) -> str:
    mean, error = table.ahead(part)
    decimals = max(0, 1 - math.floor(math.log10(error))) if error > 0 else 4
    spread = f" ± {error:.{decimals}f}" if math.isfinite(error) else ""
    return f"{table.scores(part).mean():.4g} ({signed(mean, decimals)}{spread})"


@cache
def study() -> Found:
    """What the committed rows come to."""
    return Found(Study())
