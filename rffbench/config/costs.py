"""The cost of trials before they run: multiply-adds, other seconds, and bytes of memory. The formulas come from
``serves`` of the map and the solver (`rffbench.plugins.parts`).

Counts are in multiply-adds of a matrix product; a slower operation, such as a cosine, counts as several. A solver whose
work depends on the data's values has a usual count, or None.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Sequence
from functools import cache
from typing import Any, Literal

from rffbench.arguments.parameters import TIMES_MEDIAN, is_chosen, is_chosen_once
from rffbench.data.cards import Card, load_card, with_split
from rffbench.data.split import appended_rows, held_out_rows
from rffbench.errors import ConfigError
from rffbench.features import make_features
from rffbench.features.hooks import hook, makes_sparse
from rffbench.io.text import canonical_json
from rffbench.kernels import kernel_argument
from rffbench.linalg.hadamard import next_power_of_two
from rffbench.plugins.parts import TRIGONOMETRY, declared, evaluated
from rffbench.solvers import NONE, cross_validates, make_solver, served, uses_kernel
from rffbench.solvers.base import default_block_rows
from rffbench.trials.held_out import FOLDS
from rffbench.trials.metrics import COSTS, METRICS
from rffbench.trials.seconds import BRIEF_S
from rffbench.trials.shared import may_share, pool_size, shared_draw, worth_sharing
from rffbench.trials.spec import Key, TrialSpec
from rffbench.trials.tasks import tasks
from rffbench.trials.tuning import choosing_key, tuning_spec

EFFICIENCY = 0.6  # of a matrix product's speed that cosines, triangles and Cholesky factors have, measured

# Seconds of one processor, measured; they hardly depend on the sizes.
RUN_S = 5.0  # to start a run and its workers, and to draw its tables and figures
GROUP_S = 0.03  # to split and scale the rows of trials that are done together
TRIAL_S = 0.01  # of Python, a trial
USUAL_PACE = 3e-11  # seconds a multiply-add, of one processor: where only the shares of trials count
LONG_S = 200.0  # of one processor at the usual pace, which few have: a trial that takes longer is a long one
EXCLUSIVE_S = 0.08  # to find out what a trial by itself holds
TIMED = 2  # sections of BRIEF_S that a trial of `timing: features` is timed in, some of them again


def operations(spec: TrialSpec) -> float | None:
    """Multiply-adds of one trial alone, for the seconds in its row: the features of all rows, a Gram triangle, a
    Cholesky factorisation for each λ and fold."""
    own = _own_operations(spec)
    if own is None:
        return None
    n = train_rows(spec)
    return _bandwidths(spec) * (
        own + _fitting(spec, "fit_sums", "fit_cost") + _mapping(spec, n) + _sums(spec, n, _columns(spec))
    )


def group_operations(specs: Sequence[TrialSpec]) -> float:
    """Multiply-adds of trials that run together. For maps that are columns of one draw, the features and the Gram
    matrix of the largest are computed once, unless there are more than two classes. Trials without a count are left
    out."""
    counted = [(spec, alone) for spec in specs if (alone := operations(spec)) is not None]
    first = specs[0]
    card = load_card(first.dataset)
    tuning = _tuning_operations(specs)
    several = len(card.classes) > 2 and card.labels is None
    alone_each = several or first.timing == "exclusive" or not may_share(first)
    if alone_each or len(counted) < 2:
        return tuning + sum(alone for _, alone in counted)
    total, bases = tuning, dict[Hashable, list[tuple[Any, float, float]]]()
    for spec, alone in counted:
        features = _features(spec)
        base = shared_draw(features, train_rows(spec))
        if base is None:
            total += alone
        else:
            own = _bandwidths(spec) * (_own_operations(spec) or 0.0)
            if hook(features, "n_drawn"):  # what was chosen is mapped anew
                own += _bandwidths(spec) * (_mapping(spec, train_rows(spec)) + _fitting(spec, "fit_cost"))
            bases.setdefault(base, []).append((features, alone, own))
    pools = []
    for members in bases.values():
        members.sort(key=lambda member: pool_size(member[0]))
        together = worth_sharing([features for features, _, _ in members], inputs(first))
        total += sum(own for _, _, own in members[:together]) + sum(alone for _, alone, _ in members[together:])
        pools += [pool_size(members[together - 1][0])] if together else []
    n, d = train_rows(first), inputs(first)
    shared = sum(n * (d * pool + TRIGONOMETRY * 2 * pool) + _sums(first, n, 2 * pool) for pool in pools)
    return total + _bandwidths(first) * shared


def _tuning_operations(specs: Sequence[TrialSpec]) -> float:
    """Multiply-adds of choosing the bandwidth for all sizes of a method, or for all methods, or for each trial of a
    solver without held-out errors of its own (`rffbench.trials.tuning`)."""
    gamma, solver = specs[0].kernel["gamma"], specs[0].solver
    own = cross_validates(solver)
    if not is_chosen(gamma) or not uses_kernel(solver) or (own and not is_chosen_once(gamma)):
        return 0.0
    fits = len(gamma[TIMES_MEDIAN] if is_chosen_once(gamma) else gamma) * (1 if own else solver.get("folds") or FOLDS)
    firsts = {choosing_key(spec): tuning_spec(spec) for spec in specs}
    return fits * sum(operations(spec) or 0.0 for spec in firsts.values())


def measuring_operations(spec: TrialSpec) -> float:
    """Multiply-adds of the measures of the trial's map, which the seconds of its row do not include."""
    features = _features(spec)
    if features is None:
        return 0.0
    columns = _columns(spec)
    points = min(_rows_measured(spec), spec.kernel_error_points)
    root = 10.0 * points**3 if makes_sparse(features) else 0.0  # eigenvalues and vectors of ZZᵀ
    letters = {"n": points, "D": columns, "s": hook(features, "n_frequencies") or columns}
    return root + float(columns) * points**2 + sum(evaluated(COSTS[name], letters) for name in spec.measures)


def aside_seconds(specs: Sequence[TrialSpec], pace: float) -> float:
    """Seconds of one processor that trials which run together need beyond those in their rows, for starting and
    measuring, at ``pace`` seconds per multiply-add."""
    seconds = GROUP_S
    for spec in specs:
        seconds += TRIAL_S + _bandwidths(spec) * measuring_operations(spec) * pace
        if spec.timing == "exclusive":
            seconds += EXCLUSIVE_S
    return seconds


def timing_seconds(specs: Sequence[TrialSpec], pace: float) -> float:
    """The seconds for which trials of `timing: features` have the machine to themselves."""
    seconds = 0.0
    for spec in specs:
        if spec.timing == "features" and spec.features["name"] != NONE:
            rows = train_rows(spec) + test_rows(spec)
            once = pace * (_fitting(spec, "fit_sums", "fit_cost") + _mapping(spec, rows))
            seconds += TIMED * max(BRIEF_S, once)
    return seconds


def shares(specs: Iterable[TrialSpec]) -> dict[Key, float]:
    """By key, about the seconds of one processor that each trial takes, to estimate the progress of a run."""
    of_cell: dict[Key, float] = {}
    found: dict[Key, float] = {}
    for spec in specs:
        if spec.cell_key not in of_cell:
            of_cell[spec.cell_key] = _share(spec)
        found[spec.key] = of_cell[spec.cell_key]
    return found


def in_order(specs: Sequence[TrialSpec]) -> tuple[list[list[TrialSpec]], list[list[TrialSpec]]]:
    """The tasks of these trials, and the tasks of the long trials, which come last, so that most of a table is ready
    early."""
    seconds = shares(specs)
    brief, long = (
        [spec for spec in specs if (seconds[spec.key] > LONG_S) is is_long] for is_long in (False, True)
    )  # fmt: skip
    return tasks(brief), tasks(long)


def _share(spec: TrialSpec) -> float:
    """For a solver whose work depends on the data, the count as if it made a Gram matrix."""
    try:
        count = operations(spec)
        if count is None:
            n, columns = train_rows(spec), _columns(spec)
            count = _mapping(spec, n) + float(n) * columns * min(n, columns) / 2
        return count * USUAL_PACE + aside_seconds([spec], USUAL_PACE) + timing_seconds([spec], USUAL_PACE)
    except ConfigError:  # a map or dataset that is not there
        return TRIAL_S


def bytes_needed(spec: TrialSpec, memory: int | None = None) -> int | None:
    """About the bytes that one trial needs besides its process and the rows, within a budget of ``memory`` bytes.

    They are the solver's estimate for a fit, or the kernel matrix of the points on which the map is measured and the
    memory of the measures; a block of rows; the frequencies, as drawn and as kept; and what else the map keeps. None if
    the solver has no estimate, or if a GPU does the work. Raises MemoryBudgetError if the budget is too small.
    """
    if spec.device != "cpu":
        return None
    card, features = load_card(spec.dataset), _features(spec)
    n, d, columns = train_rows(spec), inputs(spec), _columns(spec)
    frequencies = 0 if features is None else hook(features, "n_frequencies") or columns
    fitting: int | None
    if spec.solver["name"] == NONE:
        rows = min(n, default_block_rows(columns))
        fitting = max(8 * rows * (columns + 2 * d), hook(features, "bytes_to_fit"))
    else:
        solver = make_solver(
            spec.solver, task=card.task, features=features, kernel=kernel_argument(spec.kernel), gamma=_gamma(spec),
            memory=memory, n_features=spec.n_features,
        )  # fmt: skip
        fitting = solver.bytes_to_fit(n, d) if declared(solver, "bytes_to_fit") else None
    if fitting is None:
        return None
    points = min(_rows_measured(spec), spec.kernel_error_points) if features is not None else 0
    of_frequencies = any(name in METRICS and METRICS[name].of_frequencies for name in spec.measures)
    projections = 5 * frequencies if of_frequencies else 0
    measuring = 8 * points * (2 * points + columns + projections)
    kept = hook(features, "bytes_kept")
    return int(max(fitting, measuring)) + 8 * 2 * d * frequencies + (kept(n) if kept else 0)


def card_of(spec: TrialSpec) -> Card:
    """The card of a trial's dataset, with the trial's split."""
    return with_split(load_card(spec.dataset), spec.split)


def inputs(spec: TrialSpec) -> int:
    """Columns of a trial's inputs."""
    return load_card(spec.dataset).columns_after(spec.preprocess)


def train_rows(spec: TrialSpec) -> int:
    """Training rows of a trial."""
    there = _parts(spec)[0] - _held_out(spec)
    return min(spec.train_rows or there, there)


def test_rows(spec: TrialSpec) -> int:
    """Rows that a trial is tested on."""
    return _held_out(spec) or _parts(spec)[1]


def _rows_measured(spec: TrialSpec) -> int:
    """The rows among which a map is measured."""
    return test_rows(spec) if spec.kernel_error_rows == "test" else train_rows(spec)


def _held_out(spec: TrialSpec) -> int:
    return held_out_rows(spec.held_out, _parts(spec)[0])


def _parts(spec: TrialSpec) -> tuple[int, int]:
    """The rows of the split for training, and for testing."""
    card = card_of(spec)
    return (
        appended_rows(card, spec.seed, spec.trial)
        if "test-rows-appended" in spec.flaws
        else (card.n_train, card.n_test)
    )


def _own_operations(spec: TrialSpec) -> float | None:
    """Multiply-adds of the work that a trial never shares, even if others share its draw: solve, map the test rows."""
    solver, sparse = served(spec.solver["name"]), makes_sparse(_features(spec))
    cost = solver.sparse_cost if sparse and spec.solver["name"] != NONE else solver.cost
    if _features(spec) is None and solver.without_map:
        cost = solver.without_map
    if cost is None:
        return None
    passes = test_rows(spec) + (train_rows(spec) if spec.solver.get("scoring") and not sparse else 0)
    return _mapping(spec, passes) + evaluated(cost, _letters(spec))


def _sums(spec: TrialSpec, n: int, columns: int) -> float:
    """Multiply-adds of the solver's sums over n rows, for features with this number of columns."""
    if makes_sparse(_features(spec)):  # all of it is in the cost
        return 0.0
    return evaluated(served(spec.solver["name"]).sums, {**_letters(spec), "n": n, "p": columns})


def is_usual(spec: TrialSpec) -> bool:
    """Whether the data decides the amount of work of a trial, so that its count is only a usual one."""
    return served(spec.solver["name"]).iterative or makes_sparse(_features(spec))


def _mapping(spec: TrialSpec, rows: int) -> float:
    """Multiply-adds of the features of this number of rows."""
    features = _features(spec)
    return 0.0 if features is None else rows * evaluated(hook(features, "serves").row_cost, _letters(spec))


def _fitting(spec: TrialSpec, *parts: Literal["fit_sums", "fit_cost"]) -> float:
    """Multiply-adds of these parts of fitting the map."""
    serves, letters = hook(_features(spec), "serves"), _letters(spec)
    return sum(evaluated(getattr(serves, part), letters) for part in parts) if _features(spec) is not None else 0.0


def _letters(spec: TrialSpec) -> dict[str, float]:
    """The letters of the formulas of the spec's map and solver (`rffbench.plugins.parts.LETTERS`)."""
    card, features, columns = load_card(spec.dataset), _features(spec), _columns(spec)
    penalties, folds = spec.solver.get("lambda", 1.0), spec.solver.get("folds", 1)
    values = len(penalties) if isinstance(penalties, list) else 1
    letters: dict[str, float] = {
        "n": train_rows(spec), "v": test_rows(spec), "d": inputs(spec), "N": next_power_of_two(inputs(spec)),
        "p": columns, "D": columns, "s": hook(features, "n_frequencies") or columns, "t": TRIGONOMETRY,
        "L": spec.n_features, "f": values * folds + 1, "k": values * folds if values > 1 else 0,
        "q": folds if values > 1 else 0, "R": columns,
        "c": len(card.classes) if len(card.classes) > 2 else 1,
    }  # fmt: skip
    if (own := hook(features, "letters")) is not None:
        letters |= own(inputs(spec))
    return letters | dict(served(spec.solver["name"]).letters(spec.solver))


def _bandwidths(spec: TrialSpec) -> int:
    """The fits that the seconds of a trial count."""
    gamma = spec.kernel["gamma"]
    return len(gamma) if isinstance(gamma, list) and cross_validates(spec.solver) and uses_kernel(spec.solver) else 1


def _columns(spec: TrialSpec) -> int:
    """The columns of the spec's features; of the inputs if it has no map."""
    return int(getattr(_features(spec), "n_components", inputs(spec)))


def map_columns(spec: TrialSpec) -> int | None:
    """The columns of the spec's features; None if it has no map, if the map does not say, or if the training rows
    decide."""
    columns = getattr(_features(spec), "n_components", None)
    return None if columns is None or rows_decide(spec) else int(columns)


def rows_decide(spec: TrialSpec) -> bool:
    """Whether the training rows decide how many columns the spec's features have."""
    return makes_sparse(_features(spec))


def _gamma(spec: TrialSpec) -> float:
    """An arbitrary γ: no cost depends on it."""
    gamma = spec.kernel["gamma"]
    return float(gamma) if isinstance(gamma, (int, float)) else 1.0


def _features(spec: TrialSpec) -> Any:
    """The spec's map, not fitted; None if it has none."""
    kernel = canonical_json({**spec.kernel, "gamma": 1.0})
    return _made(canonical_json(spec.features), kernel, _gamma(spec), spec.n_features, spec.count)


@cache
def _made(features: str, kernel: str, gamma: float, n_features: int, count: Any) -> Any:
    argument = kernel_argument(json.loads(kernel))
    return make_features(json.loads(features), kernel=argument, gamma=gamma, n_features=n_features, count=count)
