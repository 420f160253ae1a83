"""Experiments from Python: run one, load its results, and look at them as tables, comparisons and figures.

    import rffbench

    results = rffbench.run("quickstart")
    results.summary          # a DataFrame: mean and standard deviation of every metric
    results.table()          # the table of the command line, or of a notebook

What the command line prints, these functions return. Errors are those of :mod:`rffbench.errors`: ConfigError for a
wrong config, ResultsError for a folder that can't be read.
"""

from __future__ import annotations

import base64
import html
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rffbench.errors import ConfigError, unknown
from rffbench.io.terminal import is_terminal

if TYPE_CHECKING:
    import pandas as pd

    from rffbench.data import Dataset, Split
    from rffbench.papers import Reference
    from rffbench.report.compare import Comparison as Compared
    from rffbench.report.frame import Protocols
    from rffbench.report.statistics import Statistics
    from rffbench.report.text_table import Table
    from rffbench.trials.metrics import Metric

__all__ = ["Comparison", "Difference", "Figures", "Results", "load", "load_dataset", "run"]

Progress = Callable[[int, int, int, int, float | None], None]
WIDTH = 120  # of tables printed from Python
MIME = {".png": "image/png", ".svg": "image/svg+xml"}


def run(
    config: str | PathLike[str] | Mapping[str, Any],
    *,
    results: str | PathLike[str] = "results",
    workers: int | None = None,
    only: Mapping[str, Any] | Sequence[str] = (),
    trials: int | None = None,
    fresh: bool = False,
    retry_failed: bool = False,
    executor: str | None = None,
    executor_options: Mapping[str, Any] | None = None,
    progress: bool | Progress = True,
) -> Results:
    """Run an experiment, or carry on with it, as ``rffbench run`` does; its results.

    Parameters
    ----------
    config : str, path or dict
        The name of a config that ships with the package, the path of a YAML file, or the config itself. A dictionary's
        paths start from the current folder. Its values may be NumPy's numbers, arrays, ranges, tuples and `Path`.
    results : path
        The folder that holds the experiment's folder, which is called like the experiment.
    workers : int or None
        Worker processes; None: as many as processors and memory allow.
    only : dict or sequence of str
        The part of the grid to run: ``{"dataset": ["eeg", "magic04"], "trial": 0}``, or as ``--only`` has it,
        ``["dataset=eeg,magic04", "trial=0-2"]``.
    trials : int or None
        How many trials every cell has; None: the config's number.
    fresh, retry_failed, executor, executor_options
        As the command's options.
    progress : bool or function
        True: a bar, if standard error is a terminal; a function is called with (done, total, ok, failed, seconds left
        or None) after every trial.

    Returns
    -------
    Results
        Of all trials in the folder. Failed trials raise nothing: ``results.failures`` has them.

    Raises
    ------
    ConfigError
        The config is wrong; nothing was run.
    ResultsError
        The folder holds other trials, or another run writes to it; or no trial has a result.
    """
    from rffbench.config.loading import experiment_of, load_experiment
    from rffbench.execution import make_executor
    from rffbench.execution.places import folder_of
    from rffbench.execution.run import run_experiment

    workers, trials = _given("workers", workers), _given("trials", trials)
    experiment = experiment_of(config) if isinstance(config, Mapping) else load_experiment(Path(config))
    if trials is not None:
        experiment = experiment.with_trials(trials)
    check_reference(experiment.reference)
    name, options = experiment.runs_on(executor)
    options = {**options, **(_given("executor_options", executor_options) or {})}
    runs_on = make_executor(name, experiment, workers=workers, options=options)
    folder = folder_of(results, experiment.name)
    try:
        with _shown(progress, experiment.name) as told:
            run_experiment(
                experiment, folder, executor=runs_on, fresh=fresh, retry_failed=retry_failed,
                only=_conditions(only), progress=told, tell=_warn,
            )  # fmt: skip
    finally:
        getattr(runs_on, "close", lambda: None)()
    return load(folder)


def check_reference(name: str | None) -> None:
    """Read all of the reference that a config names, if it names one; ConfigError, with file and line, if any of it is
    wrong."""
    if name:
        from rffbench.report.reference import read_reference

        read_reference(name, Path())


def load(folder: str | PathLike[str]) -> Results:
    """The results of one experiment's folder, as ``run`` left them there; one in a group is found by its name, too
    (``results/wu2016``). ResultsError where no such folder has any."""
    from rffbench.execution.places import experiment_folder

    return Results(experiment_folder(folder))


def load_dataset(name: str) -> Dataset:
    """A dataset by its name, fetched if need be: its ``card``, inputs ``X`` (n, d) and targets ``y`` (n,) or (n,
    targets) as float64, mapped from the cache; two classes are −1 and +1. `rffbench.train_test` splits and scales it.

    ConfigError for an unknown name, DataError if it cannot be had.
    """
    from rffbench.data import load as load_data

    return load_data(name)


def _given(argument: str, value: Any) -> Any:
    """An argument as plain data: its numbers may be NumPy's."""
    from rffbench.config.plain import plain
    from rffbench.io.yamlfile import Misplaced, dotted

    try:
        return plain(value)
    except Misplaced as error:
        raise ConfigError(f"{dotted([argument, *error.where])}: {error}") from None


def _conditions(only: Mapping[str, Any] | Sequence[str]) -> list[str]:
    """The conditions as the command line has them: ``dataset=eeg,magic04``."""
    if isinstance(only, str):
        return [only]
    if not isinstance(only, Mapping):
        return list(only)
    given = _given("only", only)
    texts = {key: value if isinstance(value, list) else [value] for key, value in given.items()}
    return [f"{key}={','.join(map(str, values))}" for key, values in texts.items()]


@contextmanager
def _shown(progress: bool | Progress, name: str) -> Iterator[Progress | None]:
    if not isinstance(progress, bool):
        yield progress
        return
    if not (progress and is_terminal(sys.stderr)):
        yield None
        return
    from tqdm import tqdm

    with tqdm(desc=name, unit="trial", dynamic_ncols=True) as bar:

        def show(done: int, total: int, ok: int, failed: int, seconds_left: float | None) -> None:
            bar.total = total
            bar.update(done - bar.n)
            bar.set_postfix_str(f"{ok} ok, {failed} failed")

        yield show


def _warn(message: str) -> None:
    warnings.warn(message, stacklevel=2)


class Results:
    """The results of one experiment.

    Everything is derived from the folder's config and trials, when it is first asked for.

    Attributes
    ----------
    folder : Path
    name, title : str
    config : dict
        The config with every default written out.
    """

    def __init__(self, folder: Path, protocols: Protocols | None = None) -> None:
        from rffbench.report.frame import load_protocols

        self.folder = folder
        self._protocols: Protocols = load_protocols(folder) if protocols is None else protocols

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def title(self) -> str:
        return self._protocols[0][1].title

    @property
    def config(self) -> dict[str, Any]:
        return self._protocols[0][1].config

    @property
    def methods(self) -> list[str]:
        """The labels of the methods, in the config's order."""
        return self._protocols[0][1].methods

    @property
    def datasets(self) -> list[str]:
        """The datasets that have trials, in the config's order."""
        return self._protocols[0][1].datasets

    @property
    def protocols(self) -> list[tuple[dict[str, str], Results]]:
        """The results of each combination of a sweep's values, with its label by axis; without a sweep, these alone."""
        return [(labels, Results(self.folder, [(labels, results)])) for labels, results in self._protocols]

    @property
    def protocol(self) -> str:
        """A hash of what the config says but for datasets, methods, sizes and trials. Where two results have the same,
        their scores and seconds can be compared."""
        from rffbench.report.board.shipped import protocol

        return protocol(self.config)

    @property
    def runs(self) -> list[dict[str, Any]]:
        """The record of every run in manifest.json, the oldest first: when, by which version, on which machine."""
        from rffbench.execution.manifest import runs_of

        return runs_of(self.folder)

    @cached_property
    def trials(self) -> pd.DataFrame:
        """One row per trial: dataset, n_features, method, multiple, trial, status, contended, finished, and a column
        per metric that was measured.

        Accuracy is in %, times in seconds, memory in bytes; NaN where a trial has no such number. Of a sweep, one more
        column per axis. ``contended`` is True where other work disturbed the seconds, or where that is unknown.
        ``finished`` is when it was, ISO text.
        """
        import pandas as pd

        from rffbench.report.frame import with_labels

        frames = [
            with_labels(results.trials.assign(finished=results.finished or None), labels)
            for labels, results in self._protocols
        ]
        every = pd.concat(frames, ignore_index=True)
        return every.loc[:, every.notna().any() | (every.columns == "multiple")]

    @cached_property
    def curves(self) -> pd.DataFrame:
        """What iterative solvers record as they go: dataset, method, n_features, trial, and a row per point. Of a
        sweep, one more column per axis."""
        import pandas as pd

        from rffbench.report.frame import with_labels

        return pd.concat([with_labels(results.curves, labels) for labels, results in self._protocols])

    @cached_property
    def planned(self) -> pd.DataFrame:
        """What the config asks for, whether it has run or not: dataset, method, n_features, and how many trials."""
        import pandas as pd

        rows = [
            (first.dataset, first.method, first.n_features, count)
            for _, results in self._protocols for first, count in results.grid.cells()
        ]  # fmt: skip
        return pd.DataFrame(rows, columns=["dataset", "method", "n_features", "trials"])

    @cached_property
    def edges(self) -> pd.DataFrame:
        """Where cross-validation chose the end of a grid in more than a fifth of a cell's trials: dataset, n_features,
        method, ``tuned`` (λ, γ or σ/median), the ``end`` of its grid, the value ``at`` it, and in how many of the
        finished ``trials``. Cells are left out if the held-out score does not move there."""
        import pandas as pd

        from rffbench.report.edges import Edge, edges

        names = [each.name for each in fields(Edge)]
        return pd.DataFrame([vars(each) for _, of in self._protocols for each in edges(of)], columns=names)

    @property
    def baselines(self) -> list[str]:
        """The methods with which the config has all others compared."""
        from rffbench.report.significance import significance_settings

        return list(significance_settings(self._protocols[0][1])["baselines"])

    @property
    def metrics(self) -> dict[str, Metric]:
        """What is known of every metric, by its column of ``trials``: its ``label``, unit and better direction."""
        return self._protocols[0][1].metrics

    def score(self, dataset: str) -> Metric:
        """The metric that a dataset is judged by: the accuracy, else the RMSE; of maps alone, the first measure."""
        return self._protocols[0][1].score(dataset)

    def called(self, dataset: str) -> str:
        """A dataset's name as people write it."""
        return self._protocols[0][1].called(dataset)

    def setting(self, name: str, dataset: str | None = None, method: str | None = None) -> Any:
        """What the config says of ``name``, such as ``preprocess``, ``kernel`` or ``solver``, for a dataset and a
        method; None if it says nothing."""
        grid = self._protocols[0][1].grid
        return grid.setting(name, method=method) if dataset is None else grid.setting(name, dataset, method)

    def features(self, method: str) -> dict[str, Any]:
        """The feature map of a method: its ``name``, "none" of a learner without a map, and its options."""
        return self._protocols[0][1].grid.features(method)

    @cached_property
    def reported(self) -> Reported:
        """What the config's ``reference`` reports. ConfigError if it names none, or one without numbers."""
        import pandas as pd

        from rffbench.papers import references

        found = self._reference
        if found is None or found.table is None:
            tables = [name for name, reference in references().items() if reference.table]
            where = self.folder / "config.yaml"
            raise ConfigError(f"{where}: names no reference with numbers; known: {', '.join(tables)}")
        called = pd.DataFrame([*found.datasets.items()], columns=["dataset", "paper_dataset"])
        numbers = called.merge(found.numbers(), on="paper_dataset")
        usual = {name: found.table.metric or self.score(name).name for name in called["dataset"]}
        numbers["metric"] = numbers["metric"].fillna(numbers["dataset"].map(usual))
        columns = ["dataset", "method", "multiple", "n_features", "metric", "reported", "reported_std", "tolerance"]
        here = numbers.loc[numbers["absent"] == "", numbers.columns.intersection(columns)]
        return Reported(found.citation, found.difference_unit, here.reset_index(drop=True))

    @cached_property
    def sessions(self) -> list[Results]:
        """The results of each session of measuring, in the order of the log; of a sweep, of its first protocol.

        Seconds can be compared within one session. Another begins where no trial finished for an hour
        (`rffbench.stats.sessions`). Of trials that were measured in several, ``trials`` has the last row.
        """
        from rffbench.report.frame import load_sessions

        return [Results(self.folder, [(self._protocols[0][0], each)]) for each in load_sessions(self.folder)]

    @property
    def as_stated(self) -> bool:
        """Whether the config is the protocol that the text of its reference states."""
        return self._reference is not None and self._protocols[0][1].grid.states(self._reference.stated)

    @cached_property
    def _reference(self) -> Reference | None:
        from rffbench.papers.recorded import find_reference

        name = self.config.get("reference")
        return find_reference(name, self.folder).called_as_in(self.methods) if name else None

    def refit(self, dataset: str, method: str, n_features: int, trial: int) -> tuple[Split, Any]:
        """The rows of a trial and its feature map, fitted to the training rows again, from the same random numbers.

        Where the trial chose γ, the map has that one. KeyError if the config asks for no such cell.
        """
        from rffbench.arguments.parameters import is_chosen
        from rffbench.features.base import fitted_map
        from rffbench.trials.problem import Problem

        results = self._protocols[0][1]
        cells = {(first.dataset, first.method, first.n_features): first for first, _ in results.grid.cells()}
        spec = replace(cells[dataset, method, n_features], trial=trial, measures=[])
        if is_chosen(spec.kernel["gamma"]):
            rows = results.trials.set_index(["dataset", "method", "n_features", "trial"])["gamma"]
            spec = replace(spec, kernel={**spec.kernel, "gamma": float(rows[dataset, method, n_features, trial])})
        problem = Problem.of(spec)
        split = problem.split
        return split, fitted_map(problem.features(spec), split.X_train, problem.targets, problem.learnt)

    def tuned(self, method: str) -> dict[str, list[float]]:
        """The values that cross-validation chooses from for a method, by column of ``trials``: lambda, gamma, or
        times_median, σ over the median distance. Those that it does not choose are left out."""
        from rffbench.report.edges import TUNED, grid_of

        found = {name: grid_of(self._protocols[0][1], method, name) for name in TUNED}
        return {name: values for name, values in found.items() if values}

    @cached_property
    def summary(self) -> pd.DataFrame:
        """summary.csv: one row per cell and metric, with mean, std, n_ok, n_failed and significant."""
        import pandas as pd

        from rffbench.report.frame import with_labels
        from rffbench.report.summary import summarise

        frames = [with_labels(summarise(results), labels) for labels, results in self._protocols]
        return pd.concat(frames, ignore_index=True)

    @cached_property
    def failures(self) -> pd.DataFrame:
        """One row per trial without a result: dataset, method, n_features, trial, status, type and message, and a
        column per axis of a sweep."""
        import pandas as pd

        from rffbench.execution.counted import counted_rows

        columns, axes = ["dataset", "method", "n_features", "trial", "status"], list(self._protocols[0][0])
        rows = [
            [row[name] for name in columns]
            + [(row.get("error") or {}).get(name) for name in ("type", "message")]
            + [labels[axis] for axis in axes]
            for labels, row in counted_rows(self.folder, left_out=lambda _: None)  # that of which loading has warned
            if row["status"] != "ok"
        ]
        names = [*columns, "type", "message"]
        return pd.DataFrame(rows, columns=[*names, *(f"{axis} (axis)" if axis in names else axis for axis in axes)])

    def table(self, metric: str | None = None, *, seconds: bool = True, bold: bool = False) -> Table:
        """The table of ``rffbench table``: one row per dataset and size, one column per method.

        ``metric`` is a column of ``trials``, ``time`` or ``memory``; None: what each dataset is judged by. ``bold``
        marks the best method of a row.
        """
        from rffbench.report import Shown, make_table

        return make_table(self.folder, Shown(metric, seconds, bold))

    def gains(self) -> Table:
        """The maps' gains over RFF at every size, in the units of the board's datasets: medians over datasets with
        their intervals, and the probabilities that a map is better, the same or worse."""
        from rffbench.report.board.own_tables import map_tables

        return map_tables(self._protocols[0][1])[0]

    def compare(self, tolerance: float | None = None) -> Comparison:
        """These results against the paper or file that the config names as its ``reference``, and its methods with each
        other; without a reference and ``tolerance`` the methods alone.

        ``tolerance``: how far a mean may be from the reported one, in points; None: as the reference says. ConfigError
        if there is nothing to compare with, ResultsError if nothing can be compared.
        """
        import pandas as pd

        from rffbench.report import compare_methods, compare_with_reference
        from rffbench.report.compare import NoReference
        from rffbench.report.summary import records

        try:
            found = compare_with_reference(self.folder, tolerance, self._protocols)
        except NoReference:
            statistics = compare_methods(self.folder) if tolerance is None else None
            if statistics is None:
                raise
            none = pd.DataFrame()
            return Comparison(none, none, none, 0, 0, None, statistics)
        claims = _frame(records(pd.DataFrame(map(vars, found.findings))))
        return Comparison(found.cells, found.costs, claims, found.outside, found.refuted, found)

    def diff(self, other: Results | str | PathLike[str], tolerance: float = 0.0, *, strict: bool = False) -> Difference:
        """What changed from ``other``, older results of the same experiment, to these, cell by cell.

        ``other`` is `Results`, a folder, ``folder@REVISION``, the folder as a git commit has it, or
        ``folder@source:1``, with the first version of your own file. ``strict``: all cells count as outside that are
        neither unchanged nor shown to be within the ``tolerance``. ResultsError if the two have no cell in common.
        """
        from rffbench.report.diff import diff
        from rffbench.report.diff_writeup import to_text
        from rffbench.report.revision import results_at

        name = str(other.folder if isinstance(other, Results) else other)
        with results_at(name) as folder:
            found = diff(Path(folder), self.folder, tolerance, (name, str(self.folder)), strict)
        return Difference(found.cells, found.costs, found.notes, found.outside, to_text(found))

    def plot(
        self, formats: Sequence[str] = ("png",), *, style: Literal["screen", "paper"] = "screen",
        columns: Literal[1, 2] | None = None, panels: Sequence[str] = (),
    ) -> Figures:  # fmt: skip
        """Draw the figures into the folder's ``figures`` and write its tables again; the files. A notebook shows them.

        ``formats``: png, pdf and svg. ``style='paper'``: in 8 pt, as wide as ``columns`` of an article.
        ``panels``: the metrics that have a panel, `time`, `memory` or columns of ``summary``.
        """
        from rffbench.report import redraw

        known = ("png", "pdf", "svg")
        formats = [formats] if isinstance(formats, str) else list(formats)
        for each in formats:
            if each not in known:
                raise ValueError(unknown("format", each, known))
        if style not in ("screen", "paper"):
            raise ValueError(unknown("style", style, ("screen", "paper")))
        if columns is not None and (style != "paper" or columns not in (1, 2)):
            raise ValueError(f"columns must be 1 or 2, with style='paper', got {columns!r} with style={style!r}")
        drawn = redraw(self.folder, formats, style, columns, panels)
        return Figures(path for path in drawn if path.suffix[1:] in known)

    def __repr__(self) -> str:
        ok = int((self.trials["status"] == "ok").sum())
        return f"<Results {self.name}: {ok} of {len(self.trials)} trials ok, in {self.folder}>"

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


@dataclass(frozen=True)
class Reported:
    """The numbers of a reference, which ``citation`` names. ``numbers`` has a row per cell that can be measured here,
    with the names of datasets and methods that the config has: dataset, method, multiple, n_features (missing where the
    reference has none), metric, reported, reported_std and tolerance. ``unit`` is that of tolerances: points, or % of
    the reported number."""

    citation: str
    unit: str
    numbers: pd.DataFrame


class _Written:
    """A finding with the text that the command line prints."""

    text: str

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


@dataclass(frozen=True, repr=False)
class Comparison(_Written):
    """Measured against reported, and methods against each other.

    ``cells`` has a row per cell with the reported and measured mean, their difference and its interval (low, high), and
    the verdict; ``costs`` the ratios of times and memory; ``claims`` what the paper says in words, each with its
    verdict; all three are empty without a reference. ``methods`` has a row for every two methods, by dataset and over
    all: the mean difference, its interval and p-values. ``outside`` counts the cells out of tolerance, ``refuted`` the
    claims that don't hold. ``methods`` and the text are made when first asked for.
    """

    cells: pd.DataFrame
    costs: pd.DataFrame
    claims: pd.DataFrame
    outside: int
    refuted: int
    _found: Compared | None
    _of_methods: Statistics | None = None

    @cached_property
    def methods(self) -> pd.DataFrame:
        import pandas as pd

        return self._statistics.pairs if self._statistics else pd.DataFrame()

    @cached_property
    def text(self) -> str:  # type: ignore[override]
        from rffbench.report.writeup import to_text

        of_reference = [to_text(self._found, WIDTH)] if self._found else []
        of_methods = [self._statistics.table().to_text(WIDTH)] if self._statistics else []
        return "\n".join([*of_reference, *of_methods])

    @cached_property
    def _statistics(self) -> Statistics | None:
        from rffbench.report.statistics import compute_statistics

        return compute_statistics(self._found.results) if self._found else self._of_methods


@dataclass(frozen=True, repr=False)
class Difference(_Written):
    """New results against old ones.

    ``cells`` has a row per cell with the old and new mean, their difference, its interval (low, high) and the verdict;
    ``costs`` the ratios of times and memory; ``notes`` say what else a reader must know. ``outside`` counts the cells
    that got worse or lost trials; of a strict difference, those that are not shown to be alike.
    """

    cells: pd.DataFrame
    costs: pd.DataFrame
    notes: list[str]
    outside: int
    text: str


class Figures(list[Path]):
    """The paths of figures, which a notebook shows."""

    def _repr_html_(self) -> str:
        shown = []
        for path in self:
            if (kind := MIME.get(path.suffix)) is None:
                shown.append(f"<p>{html.escape(str(path))}</p>")
                continue
            data = base64.b64encode(path.read_bytes()).decode()
            shown.append(f'<img alt="{html.escape(path.stem)}" src="data:{kind};base64,{data}">')
        return "\n".join(shown)


def _frame(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(list(rows))
