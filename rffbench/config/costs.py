"""What trials cost, told beforehand: multiply-adds, seconds besides them, and bytes of memory. The map and the solver
are asked.

Counts are in multiply-adds of a matrix product; what is slower than one, such as a cosine, is worth several. Of solvers
whose work depends on the data's values there is a usual count, or where that says nothing, none: None.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Sequence
from functools import cache
from typing import Any

from rffbench.data.cards import load_card
from rffbench.data.split import held_out_rows
from rffbench.errors import ConfigError
from rffbench.features import make_features
from rffbench.features.leverage import PooledFeatures
from rffbench.identity import canonical_json
from rffbench.solvers import NONE, make_solver
from rffbench.solvers.base import default_block_rows
from rffbench.trials.metrics import OF_GAUSSIAN_FREQUENCIES
from rffbench.trials.seconds import ENOUGH_S
from rffbench.trials.spec import TrialSpec
from rffbench.trials.tasks import tasks
from rffbench.trials.together import may_share, pool_size

COUNTED = ("ridge", "kernel-ridge", NONE)  # solvers whose work does not depend on the data's values
# What a fit usually takes for a number of Z, of solvers that take as many steps as the data makes them: half to twice
# of it in most of the results that ship, and ten times where the classes hardly part.
USUAL = {"linear-svm": 1500, "logistic": 1700}
LIBLINEAR = 3600  # of linear-svm, where that is asked to do it
USUAL_KERNEL = 7000  # of kernel-svm, for n^1.5·√d of n rows of d columns: 0.4 to 1.8 of it, and a fifth on ijcnn1
DATA_DECIDES = (*USUAL, "kernel-svm")
TRIGONOMETRY = 20  # a cosine or a sine
MEASURE = 450  # one number of the matrix that a measure of a map looks at: its share of a norm by Lanczos, or a sort
DECOMPOSED = ("scaled_error", "delta_error", "effective_dimension", "kernel_effective_dimension", "spectrum")
DECOMPOSITION = 3  # n³ times this: the eigenvalues or factors that these measures take

EFFICIENCY = 0.6  # of a matrix product's speed that cosines, triangles and Cholesky factors have, measured

# Seconds of one processor, measured; they hardly depend on the sizes.
RUN_S = 5.0  # to start a run and its workers, and to draw its tables and figures
GROUP_S = 0.03  # to split and scale the rows of trials that are done together
TRIAL_S = 0.01  # of Python, a trial
USUAL_PACE = 3e-11  # seconds a multiply-add, of one processor: where only the shares of trials count
LONG_S = 200.0  # of one processor at the usual pace, which few have: a trial that takes longer is a long one
EXCLUSIVE_S = 0.08  # to find out what a trial by itself holds
TIMED = 4  # sections of ENOUGH_S that a trial of `timing: features` is timed in, some of them again


def operations(spec: TrialSpec) -> float | None:
    """Multiply-adds of one trial alone, as its row's seconds have them: all rows' features, a Gram triangle, a Cholesky
    for each λ and fold."""
    own = _own_operations(spec)
    if own is None or spec.solver["name"] == "kernel-ridge":
        return own
    features, n = _features(spec), train_rows(spec)
    gram = 0.0 if spec.solver["name"] in (NONE, *DATA_DECIDES) else _gram(n, _columns(spec))
    if isinstance(features, PooledFeatures):
        pool = 2 * pool_size(features)
        scored = _gram(n, pool) if "gram" in features.needs else 0.0
        return _bandwidths(spec) * (own + gram + _waves(spec, n, pool // 2, pool) + scored)
    return _bandwidths(spec) * (own + gram + _mapping(spec, n))


def group_operations(specs: Sequence[TrialSpec]) -> float:
    """Multiply-adds of trials that are done together: of maps that are columns of one draw, the features and the Gram
    matrix of the largest are made once, unless there are more than two classes. Trials without a count are left out."""
    counted = [(spec, alone) for spec in specs if (alone := operations(spec)) is not None]
    first = specs[0]
    card = load_card(first.dataset)
    several = len(card.classes) > 2 and card.labels is None
    alone_each = several or first.exclusive is True or not may_share(first)
    if alone_each or len(counted) < 2:
        return sum(alone for _, alone in counted)
    total, pools = 0.0, dict[Hashable, int]()
    for spec, alone in counted:
        features = _features(spec)
        base = getattr(features, "base", None)
        if base is None:
            total += alone
        else:
            total += _bandwidths(spec) * (_own_operations(spec) or 0.0)
            pools[base] = max(pools.get(base, 0), pool_size(features))
    n = train_rows(first)
    shared = sum(_waves(first, n, pool, 2 * pool) + _gram(n, 2 * pool) for pool in pools.values())
    return total + _bandwidths(first) * shared


def measuring_operations(spec: TrialSpec) -> float:
    """Multiply-adds of the measures of the trial's map, which no seconds of its row have."""
    features = _features(spec)
    if features is None:
        return 0.0
    columns = _columns(spec)
    points = min(train_rows(spec), spec.kernel_error_points)
    frequencies = getattr(features, "n_frequencies", columns)
    sizes = [frequencies if name in OF_GAUSSIAN_FREQUENCIES else points for name in spec.measures]
    decomposed = len(set(spec.measures) & set(DECOMPOSED))
    return float(points) * (MEASURE * sum(sizes) + columns * points + DECOMPOSITION * decomposed * points**2)


def aside_seconds(specs: Sequence[TrialSpec], pace: float) -> float:
    """Seconds of one processor, at ``pace`` seconds a multiply-add, that trials done together take besides what their
    rows say: starting and measuring; of `timing: features` timing again, one trial at a time."""
    seconds = GROUP_S
    for spec in specs:
        seconds += TRIAL_S + _bandwidths(spec) * measuring_operations(spec) * pace
        if spec.exclusive is True:
            seconds += EXCLUSIVE_S
        elif spec.exclusive == "features" and spec.features["name"] != NONE:
            mapping = (operations(spec) or 0.0) * pace
            seconds += TIMED * max(ENOUGH_S, mapping)
    return seconds


def shares(specs: Iterable[TrialSpec]) -> dict[str, float]:
    """By trial's key, about the seconds of one processor that it takes, for how much of a run is done."""
    seconds: dict[Hashable, float] = {}
    found = {}
    for spec in specs:
        alike = spec.dataset, spec.method, spec.n_features, spec.train_rows, spec.kernel_error_points, spec.exclusive
        if alike not in seconds:
            seconds[alike] = _share(spec)
        found[spec.key] = seconds[alike]
    return found


def in_order(specs: Sequence[TrialSpec]) -> tuple[list[list[TrialSpec]], list[list[TrialSpec]]]:
    """The tasks of these trials, and those of the long among them, which come last: most of a table is there soon."""
    seconds = shares(specs)
    brief, long = (
        [spec for spec in specs if (seconds[spec.key] > LONG_S) is is_long] for is_long in (False, True)
    )  # fmt: skip
    return tasks(brief), tasks(long)


def _share(spec: TrialSpec) -> float:
    """Of a solver whose work depends on the data as if it made a Gram matrix."""
    try:
        count = operations(spec)
        if count is None:
            count = _mapping(spec, train_rows(spec)) + _gram(train_rows(spec), _columns(spec))
        return count * USUAL_PACE + aside_seconds([spec], USUAL_PACE)
    except ConfigError:  # a map or dataset that is not there
        return TRIAL_S


def bytes_needed(spec: TrialSpec, memory: int | None = None) -> int | None:
    """About what one trial comes to hold besides its process and the rows, within a budget of ``memory`` bytes.

    It is what the solver says of a fit, or the kernel matrix of the points on which the map is measured and what the
    measures take; a block of rows; and the frequencies, as drawn and as kept. None of a solver that cannot say, and
    where a GPU does the work. Raises MemoryBudgetError where the budget is too small.
    """
    if spec.device != "cpu":
        return None
    card, features = load_card(spec.dataset), _features(spec)
    n, d, columns = train_rows(spec), card.columns, _columns(spec)
    frequencies = getattr(features, "n_frequencies", columns if features is not None else 0)
    fitting: int | None
    if spec.solver["name"] == NONE:
        rows = min(n, default_block_rows(columns))
        fitting = max(8 * rows * (columns + 2 * d), getattr(features, "bytes_to_fit", 0))
    else:
        solver = make_solver(
            spec.solver, task=card.task, features=features, kernel=spec.kernel["name"], gamma=_gamma(spec),
            memory=memory, n_features=spec.n_features,
        )  # fmt: skip
        fitting = solver.bytes_to_fit(n, d) if hasattr(solver, "bytes_to_fit") else None
    if fitting is None:
        return None
    points = min(n, spec.kernel_error_points) if features is not None else 0
    projections = 5 * frequencies if set(spec.measures) & set(OF_GAUSSIAN_FREQUENCIES) else 0
    measuring = 8 * points * (2 * points + columns + projections)
    return int(max(fitting, measuring)) + 8 * 2 * d * frequencies


def train_rows(spec: TrialSpec) -> int:
    """Training rows of a trial."""
    there = load_card(spec.dataset).n_train - _held_out(spec)
    return min(spec.train_rows or there, there)


def test_rows(spec: TrialSpec) -> int:
    """Rows that a trial is tested on."""
    return _held_out(spec) or load_card(spec.dataset).n_test


def _held_out(spec: TrialSpec) -> int:
    return held_out_rows(spec.held_out, load_card(spec.dataset).n_train)


def _own_operations(spec: TrialSpec) -> float | None:
    """What a trial does by itself also where others share its draw: solve, map the test rows."""
    card, n, solver = load_card(spec.dataset), train_rows(spec), spec.solver
    if solver["name"] in DATA_DECIDES:
        return _usual(spec) + _mapping(spec, test_rows(spec))
    if solver["name"] not in COUNTED:
        return None
    factorisations = len(solver.get("lambda", [1])) * solver.get("folds", 1) + 1
    if solver["name"] == "kernel-ridge":
        return (n + test_rows(spec)) * n * card.columns + factorisations * n**3 / 6
    features, columns = _features(spec), _columns(spec)
    if solver["name"] == NONE:
        return 0.0
    again = n if isinstance(features, PooledFeatures) else 0  # what was chosen is mapped anew
    passes = again + test_rows(spec) + (n if solver.get("scoring") else 0)
    return _mapping(spec, passes) + factorisations * min(n, columns) ** 3 / 6


def _usual(spec: TrialSpec) -> float:
    """Multiply-adds of all fits, each on all rows or all but a fold's."""
    solver, card, n = spec.solver, load_card(spec.dataset), train_rows(spec)
    problems = len(card.classes) if len(card.classes) > 2 else 1
    if solver["name"] == "kernel-svm":
        return problems * USUAL_KERNEL * n**1.5 * card.columns**0.5
    penalties = solver.get("lambda", 1.0)
    folds = len(penalties) * solver["folds"] if isinstance(penalties, list) and len(penalties) > 1 else 0
    each = LIBLINEAR if str(solver.get("method")).startswith("liblinear") else USUAL[solver["name"]]
    return float(folds + 1) * problems * n * _columns(spec) * each


def _mapping(spec: TrialSpec, rows: int) -> float:
    """Multiply-adds of the features of so many rows."""
    features, columns = _features(spec), _columns(spec)
    if features is None:
        return 0.0
    if (expanded := getattr(features, "n_expanded", None)) is not None:
        return _waves(spec, rows, expanded // 2, expanded) + rows * expanded * columns
    return _waves(spec, rows, getattr(features, "n_frequencies", columns), columns)


def _waves(spec: TrialSpec, rows: int, frequencies: int, columns: int) -> float:
    return float(rows) * (load_card(spec.dataset).columns * frequencies + TRIGONOMETRY * columns)


def _gram(rows: int, columns: int) -> float:
    return float(rows) * columns * min(rows, columns) / 2


def _bandwidths(spec: TrialSpec) -> int:
    gamma = spec.kernel["gamma"]
    return len(gamma) if isinstance(gamma, list) else 1


def _columns(spec: TrialSpec) -> int:
    """The columns of the spec's features; of the inputs where it has no map."""
    return int(getattr(_features(spec), "n_components", load_card(spec.dataset).columns))


def _gamma(spec: TrialSpec) -> float:
    """Some γ: no cost depends on it."""
    gamma = spec.kernel["gamma"]
    return float(gamma) if isinstance(gamma, (int, float)) else 1.0


def _features(spec: TrialSpec) -> Any:
    """The spec's map, not fitted; None where it has none."""
    return _made(canonical_json(spec.features), spec.kernel["name"], _gamma(spec), spec.n_features, spec.count)


@cache
def _made(features: str, kernel: str, gamma: float, n_features: int, count: Any) -> Any:
    return make_features(json.loads(features), kernel=kernel, gamma=gamma, n_features=n_features, count=count)
