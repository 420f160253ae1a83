"""What came out of the papers, which ships with the package: of every experiment on one, how many of its numbers agree
and which of its claims hold. scripts/ship_claims.py writes it, from results/."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from rffbench.errors import ResultsError
from rffbench.io import files
from rffbench.io.text import plural
from rffbench.stats.verdicts import HOLDS

SHIPPED = Path(__file__).with_name("claims.json.gz")
REPRODUCTION = "reproduction"


@dataclass(frozen=True)
class Claim:
    """A claim of a paper on one dataset, about a ``method`` with the map ``features`` (empty if the experiment does not
    say); its verdict, and the verdict when all claims of the experiment are judged together."""

    claim: str
    where: str
    dataset: str
    method: str
    features: str
    verdict: str
    together: str
    evidence: str


@dataclass(frozen=True)
class Experiment:
    """An experiment on a ``paper``: ``agree`` of ``compared`` numbers are the paper's; its ``claims`` were judged, and
    ``not_measured`` others were not."""

    name: str
    title: str
    paper: str
    short: str
    citation: str
    role: str
    agree: int
    compared: int
    not_measured: int
    claims: tuple[Claim, ...]

    @property
    def is_reproduction(self) -> bool:
        """Whether its sums count: controls, studies and searches are in none."""
        return self.role == REPRODUCTION


@dataclass(frozen=True)
class OfPaper:
    """All experiments on a paper."""

    name: str
    experiments: tuple[Experiment, ...]

    @property
    def short(self) -> str:
        return self.experiments[0].short

    @property
    def citation(self) -> str:
        return self.experiments[0].citation

    @cached_property
    def counted(self) -> list[Experiment]:
        return [each for each in self.experiments if each.is_reproduction]

    @property
    def agree(self) -> int:
        return sum(each.agree for each in self.counted)

    @property
    def compared(self) -> int:
        return sum(each.compared for each in self.counted)

    @cached_property
    def verdicts(self) -> Counter[str]:
        """How often each verdict was reached, in its reproductions."""
        return Counter(claim.verdict for each in self.counted for claim in each.claims)

    @property
    def said(self) -> str:
        """What came out, in a sentence."""
        if self.compared:
            return f"{self.agree:,} of {self.compared:,} numbers of {self.short} come out here."
        if judged := self.verdicts.total():
            return f"{self.verdicts[HOLDS]} of {plural(judged, 'judged claim')} of {self.short} held here."
        return f"No number or claim of {self.short} could be judged here."


def write(experiments: Sequence[Experiment], path: Path) -> None:
    """Write experiments where `papers` finds them."""
    text = json.dumps([asdict(each) for each in experiments], ensure_ascii=False, separators=(",", ":"))
    files.replace(path, gzip.compress(text.encode(), mtime=0))


def papers(path: Path = SHIPPED) -> list[OfPaper]:
    """The papers with their experiments, by name; ResultsError where the file is not what `write` writes."""
    try:
        rows = json.loads(gzip.decompress(path.read_bytes()))
        found = [Experiment(**{**row, "claims": tuple(Claim(**each) for each in row["claims"])}) for row in rows]
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise ResultsError(f"{path}: is not what this version wrote ({error}); install rffbench again") from None
    by_paper: dict[str, list[Experiment]] = {}
    for each in found:
        by_paper.setdefault(each.paper, []).append(each)
    return [OfPaper(name, tuple(mine)) for name, mine in sorted(by_paper.items())]


def claims_on(features: str, found: Sequence[OfPaper]) -> list[tuple[OfPaper, Experiment, Claim]]:
    """The claims about methods with that feature map, of experiments that reproduce a paper."""
    return [
        (paper, each, claim)
        for paper in found
        for each in paper.counted
        for claim in each.claims
        if claim.features == features
    ]  # fmt: skip
