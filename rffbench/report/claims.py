"""A paper's claims in words, as ranges for measured numbers.

Claims are declared in ``rffbench/papers/<paper>_claims.yaml``. Each is one of three kinds, with the range that its
words imply: ``difference`` (a score of one method less another's, in points), ``ratio`` (an error, a time or a size of
one method over another's) and ``slope`` (the exponent of a metric as a power of the size). judge.py judges them by
trials.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from string import Formatter
from typing import Annotated, Literal

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from rffbench.config.values import Number, Size
from rffbench.errors import ConfigError, unknown
from rffbench.io import yamlfile
from rffbench.papers import BRACKETS, renamed
from rffbench.stats.verdicts import NEW_ROWS, Range
from rffbench.trials.metrics import METRICS, PERCENT, SCORES, Metric

ERROR_RATE = Metric("error_rate", "test error", PERCENT, "less")  # 100 % less the accuracy
CLAIMED = {**METRICS, ERROR_RATE.name: ERROR_RATE}
OF_TEST_ROWS = (*SCORES, ERROR_RATE.name)  # the metrics that depend on the test rows


def _two(bounds: list[float | None]) -> list[float | None]:
    if len(bounds) != 2:
        raise ValueError(f"must be two bounds, [low, high], not {bounds}")
    return bounds


Bounds = Annotated[list[Number | None], AfterValidator(_two)]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


# ---- The vocabulary ----------------------------------------------------------------------------------------


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Test(_Strict):
    """The claim that ``metric`` of ``method`` lies strictly ``within`` (low, high); null means no bound."""

    metric: str
    method: str
    within: Bounds

    @model_validator(mode="after")
    def _bounded(self) -> Test:
        if self.metric not in CLAIMED:
            raise yamlfile.Misplaced(unknown("metric", self.metric, CLAIMED), "metric")
        low, high = self.within
        if low is None and high is None:
            raise yamlfile.Misplaced("one bound at least must be a number", "within")
        if low is not None and high is not None and low >= high:
            raise yamlfile.Misplaced(f"the lower bound, {low:g}, must be below the upper, {high:g}", "within")
        return self

    def asked(self) -> str:
        """The range in words."""
        low, high = self.within
        if low is None or high is None:
            return f"less than {high:g}" if low is None else f"more than {low:g}"
        return f"{low:g} to {high:g}"

    def range(self) -> Range:
        """The range of the number that a trial measures."""
        low, high = self.within
        return Range(-np.inf if low is None else low, np.inf if high is None else high)


class Difference(Test):
    """``metric``, a score, of ``method`` less the baseline's, in points."""

    baseline: str

    @model_validator(mode="after")
    def _of_scores(self) -> Difference:
        if CLAIMED[self.metric].better != "greater":
            raise yamlfile.Misplaced(f"{self.metric} is not a score; compare it as a ratio", "metric")
        return self


class Ratio(Test):
    """``metric`` of ``method`` over the baseline's, the baseline having ``baseline_size`` times the size: 0.5 against
    complex features, which have two columns each."""

    baseline: str
    baseline_size: Annotated[float, Field(gt=0)] = 1

    @model_validator(mode="after")
    def _positive(self) -> Ratio:
        if any(bound is not None and bound <= 0 for bound in self.within):
            raise yamlfile.Misplaced("the bounds of a ratio must be positive", "within")
        return self

    def range(self) -> Range:
        """The range of the ratio's logarithm."""
        low, high = self.within
        return Range(-np.inf if low is None else np.log(low), np.inf if high is None else np.log(high))


class Slope(Test):
    """The exponent p of ``metric`` ∝ size^p."""


class Claim(_Strict):
    """A sentence of a paper and what measurements must show for it; exactly one of difference, ratio and slope."""

    claim: Text = Field(description="the sentence; {name} stands for a value of each")
    where: Text = Field(description="its place in the paper")
    because: Text = Field(description="why the range is this: the paper's own words")
    datasets: list[str] = Field(default_factory=list, description="by the paper's names; else all measured")
    stand_ins: list[str] = Field(default_factory=list, description="measured where a dataset cannot be had")
    sizes: list[Size] = Field(default_factory=list, description="those the sentence names, all of them; else measured")
    sizes_from: Size | None = Field(default=None, description="of the sizes measured, those from here on")
    every_size: bool = Field(default=False, description="must hold at each of the sizes, and not on average alone")
    covers: Literal["this dataset", "new rows"] = Field(
        default="this dataset",
        description="what the interval covers: other splits and draws, or other rows of this kind",
    )
    each: dict[str, Annotated[list[str], Field(min_length=1)]] = Field(
        default_factory=dict, description="one claim a combination of these values"
    )
    difference: Difference | None = None
    ratio: Ratio | None = None
    slope: Slope | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Claim:
        kinds = [kind for kind in ("difference", "ratio", "slope") if getattr(self, kind) is not None]
        if len(kinds) != 1:
            raise ValueError("a claim has one of difference, ratio and slope")
        if self.sizes and self.sizes_from:
            raise yamlfile.Misplaced("a claim has sizes, or sizes_from", "sizes_from")
        if self.every_size and self.slope is not None:
            raise yamlfile.Misplaced("a slope is over sizes; it has none at a size", "every_size")
        if self.covers == NEW_ROWS and self.test.metric not in OF_TEST_ROWS:
            raise yamlfile.Misplaced(f"{self.test.metric} is not measured on test rows", "covers")
        for where, text in (("claim",), self.claim), *(((kinds[0], key), text) for key, text in self._labels().items()):
            for _, name, _, _ in Formatter().parse(text):
                if name is not None and name not in self.each:
                    raise yamlfile.Misplaced(unknown("placeholder", name, self.each), *where)
        self._says_something(kinds[0])
        return self

    def _says_something(self, kind: str) -> None:
        """Raises Misplaced for a claim that would be judged twice, or would hold for any measurement."""
        for name in self.each:
            if not any(f"{{{name}}}" in label for label in self._labels().values()):
                raise yamlfile.Misplaced(f"{{{name}}} occurs in no method: all its values are one claim", "each", name)
        for claim in self.expanded():
            if (test := claim.test).method == getattr(test, "baseline", "") and getattr(test, "baseline_size", 1) == 1:
                raise yamlfile.Misplaced(f"{test.method} is compared with itself", kind, "baseline")
        if unmeasured := set(self.stand_ins) & set(self.datasets):
            raise yamlfile.Misplaced(f"{', '.join(sorted(unmeasured))} cannot stand in for itself", "stand_ins")
        if self.stand_ins and not self.datasets:
            raise yamlfile.Misplaced("there is nothing to stand in for: the claim names no datasets", "stand_ins")

    def _labels(self) -> dict[str, str]:
        return {key: str(getattr(self.test, key)) for key in ("method", "baseline") if hasattr(self.test, key)}

    @property
    def test(self) -> Difference | Ratio | Slope:
        test = self.difference or self.ratio or self.slope
        assert test is not None
        return test

    def expanded(self) -> Iterator[Claim]:
        """One claim for every combination of the values of ``each``."""
        kind = next(key for key in ("difference", "ratio", "slope") if getattr(self, key))
        for values in itertools.product(*self.each.values()):
            names = dict(zip(self.each, values, strict=True))
            labels = {key: label.format(**names) for key, label in self._labels().items()}
            test = self.test.model_copy(update=labels)
            yield self.model_copy(update={"claim": self.claim.format(**names), kind: test})


class _Claims(_Strict):
    claims: list[Claim]


def load_claims(
    path: Path, datasets: Collection[str] | None = None, methods: Mapping[str, str] | None = None
) -> list[Claim]:
    """The claims of a file; an empty list if the file does not exist.

    ``datasets`` are the paper's datasets, if known. ConfigError, with the line, for a claim on another one. Methods
    that have another name in ``methods`` get that.
    """
    if not path.exists():
        return []
    claims = yamlfile.load(path, _Claims).claims
    for i, claim in enumerate(claims):
        for key in ("datasets", "stand_ins"):
            for j, name in enumerate(getattr(claim, key)):
                if datasets is not None and name not in datasets:
                    place = yamlfile.place(path, "claims", i, key, j)
                    raise ConfigError(f"{place}: {unknown('dataset', name, datasets)}")
    if methods:
        claims = [Claim.model_validate(renamed(each.model_dump(exclude_unset=True), methods)) for each in claims]
    return claims


def labelled(name: str, labels: Sequence[str]) -> list[str]:
    """The labels of a paper's method: its name, and its name with something in brackets."""
    return [label for label in labels if name in (label, paper_name(label))]


def paper_name(label: str) -> str:
    """``Ours`` for the label ``Ours (released)``."""
    return BRACKETS.sub("", label)
