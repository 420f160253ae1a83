"""Trials that share work: one pass over the training rows serves every size and method of a base draw.

Sizes nest and methods are paired: in one (dataset, trial), the map of s frequencies has the first s of a larger draw,
and leverage sampling chooses columns of that draw, with other phases and scales. With B₀ = [cos W′x | sin W′x], the
plain features of the largest draw, each map is Z = B₀T with at most two non-zeros in a column of T, so Z′Z = T′(B₀′B₀)T
and Z′y = T′(B₀′y): the Gram matrices of B₀, one per cross-validation fold, are accumulated once.

The reported seconds are still those of a trial without sharing. They are the sum of parts that were all timed: drawing
and mapping strip by strip in the shared pass (the strips up to size s are the map of size s), the Gram matrix likewise,
scoring, mapping the chosen columns, and solving.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rffbench.arguments.rowsource import Stopwatch
from rffbench.arguments.seeds import seed_sequence
from rffbench.features.hooks import hook
from rffbench.features.weighted.pool import PooledFeatures, Selection, whole_pool
from rffbench.io.process import Contention, free_memory
from rffbench.linalg.equal_columns import EqualColumns
from rffbench.linalg.triangles import TriangleStack, blas_bytes
from rffbench.linalg.trigonometric import fourier_columns
from rffbench.plugins.parts import TRIGONOMETRY
from rffbench.solvers import check_solver
from rffbench.solvers.base import default_block_rows, less_origin, target_origin
from rffbench.solvers.ridge.cross_validation import solve_ridge_cv
from rffbench.solvers.ridge.fold_statistics import FoldStatistics, RecombinedStatistics, fold_bounds
from rffbench.solvers.ridge.settings import chosen_method
from rffbench.trials.foreign import ChangedRows, leaving_others_alone
from rffbench.trials.guards import against_faulty_parts
from rffbench.trials.memory import measuring_bytes
from rffbench.trials.problem import Problem
from rffbench.trials.results import FittedTrial, mapping_seconds, predicts_alone
from rffbench.trials.seconds import either
from rffbench.trials.spec import Channel, TrialResult, TrialSpec

Member = tuple[TrialSpec, Any]  # a trial and its feature map, not yet fitted


def may_share(spec: TrialSpec) -> bool:
    """Whether trials like this one can share work, by solver and device. With weights of the rows they cannot, because
    maps choose by the pool's statistics, which have no weights. Neither can a solver by singular values, which differ
    between maps and are most of the work."""
    solver = spec.solver
    if solver["name"] != "ridge" or spec.device != "cpu":
        return False
    by_svd = chosen_method(solver.get("method"), solver["lambda"], solver["lambda_scale"]) == "svd"
    return not (by_svd or any(solver.get(key) for key in ("blocks", "class_weight", "partitions")))


def shared_draw(features: Any, rows: int) -> Hashable | None:
    """The larger draw that a map's columns are of, by which trials share work; None if it is done alone. With more
    columns than ``rows`` it is: a trial alone is then solved in the rows, without a Gram matrix of the columns."""
    base: Hashable | None = hook(features, "base")
    return None if base is not None and features.n_components > rows else base


def run_shared(specs: Sequence[TrialSpec], problem: Problem, channel: Channel) -> list[TrialSpec]:
    """Run the trials of ``problem`` that can share work, and return the others."""
    refused = problem.n_classes > 2 and specs[0].solver.get("path")  # each trial says so itself
    if refused or not may_share(specs[0]):
        return list(specs)
    bases: dict[Hashable, list[Member]] = {}
    alone = []
    rows = len(problem.split.X_train)
    for spec in specs:
        features = problem.features(spec)
        base = shared_draw(features, rows)
        if base is None or not _fits_as_its_base(features):
            alone.append(spec)
        else:
            bases.setdefault(base, []).append((spec, features))
    for members in bases.values():
        members.sort(key=lambda member: pool_size(member[1]))
        paying = worth_sharing([features for _, features in members], problem.split.X_train.shape[1])
        alone += [spec for spec, _ in members[paying:]]
        members = members[:paying]
        fitting = _fitting(members, problem, specs[0].solver["folds"], channel.memory_limit)
        alone += [spec for spec, _ in members[fitting:]]
        members = members[:fitting]
        if members:
            pool = SharedPool(problem, members)
            for spec, features in members:
                channel.begin(spec)
                try:
                    split = problem.split
                    with (
                        leaving_others_alone(spec, problem),
                        against_faulty_parts(spec, features, pool, split.X_train, split.y_train) as caught,
                    ):
                        result = pool.measure(spec, features, channel.memory_limit)
                    result.warnings = caught
                    channel.result(result)
                except ChangedRows:
                    raise
                except Exception as error:
                    channel.fail(spec, error)
            del pool  # before the next one is made
    return alone


def _fits_as_its_base(features: Any) -> bool:
    """Whether one class defines both the map's base (or its choice) and its ``fit``. A derived class with its own
    ``fit`` may be a different map."""
    line = type(features).__mro__

    def depth(*names: str) -> int:
        return next(index for index, cls in enumerate(line) if any(name in vars(cls) for name in names))

    return depth("base", "column_scores") <= depth("fit")


def pool_size(features: Any) -> int:
    """The number of frequencies that a map draws: l for maps that choose from a pool, else s."""
    return int(hook(features, "n_drawn") or features.n_frequencies)


def worth_sharing(maps: Sequence[Any], d: int) -> int:
    """The number of ``maps``, sorted by pool size, that should share work, by multiply-adds per row of d inputs.

    Sharing costs the largest pool's Gram matrix, which surrogate scores do not need. If few frequencies are chosen from
    many, a single trial is quicker: it maps the pool and the chosen columns, and computes the Gram matrix of these.
    """
    count = len(maps)
    while count:
        size = pool_size(maps[count - 1])
        first = next(index for index, each in enumerate(maps) if pool_size(each) == size)
        largest, smaller = maps[first:count], pool_size(maps[first - 1]) if first else 0
        if any(not isinstance(each, PooledFeatures) or "gram" in each.needs for each in largest):
            break
        alone = sum(
            (size + chosen) * (d + 2 * TRIGONOMETRY) + 2 * chosen**2
            for chosen in (each.n_frequencies for each in largest)
        )
        if alone >= 2 * (size**2 - smaller**2):
            break
        count = first
    return count


def _fitting(members: list[Member], problem: Problem, folds: int, memory: int | None) -> int:
    """The number of ``members``, sorted by size, that can share one pool within ``memory`` bytes."""
    if (free := free_memory(memory)) is None:
        return len(members)
    n, d = problem.split.X_train.shape
    for count in range(len(members), 0, -1):
        columns = 2 * pool_size(members[count - 1][1])
        block = default_block_rows(columns) * (2 * columns + 3 * d) * 8
        work = 0 if folds % 2 else TriangleStack.bytes_needed(1, columns)
        most = max(members[:count], key=lambda member: member[1].n_components)
        measuring = measuring_bytes(most[0], n, most[1].n_components)
        held = FoldStatistics.bytes_needed(columns, folds, problem.learnt.shape[1]) + work + blas_bytes(columns)
        if held + max(block, measuring) <= free:
            return count
    return 0


class SharedPool:
    """The plain features B₀ of a pool of frequencies over the training rows, as Gram matrices of folds.

    The columns of B₀ are in strips, one per size: [cos | sin] of the first size's frequencies, then of those the
    second adds, and so on, so that every size is a leading block.
    """

    def __init__(self, problem: Problem, members: list[Member]) -> None:
        self.problem = problem
        X, Y = problem.split.X_train, problem.learnt
        # As in a trial alone, but for one without an intercept in the same pool.
        centred = not problem.n_classes and all(check_solver(spec.solver)["center"] for spec, _ in members)
        self.y_origin = target_origin(Y) if centred else np.zeros(Y.shape[1])
        Y = less_origin(Y, self.y_origin)
        sizes = sorted({pool_size(features) for _, features in members})
        self.edges = [0, *sizes]
        strips = list(zip(self.edges[:-1], self.edges[1:], strict=True))
        W = members[-1][1].draw(sizes[-1], X.shape[1]).astype(X.dtype)
        parts = [np.ascontiguousarray(W[:, a:b]) for a, b in strips]
        # Where column j of [cos W′x | sin W′x] is: a strip's cosines begin at twice its first frequency.
        j = np.arange(sizes[-1])
        strip = np.searchsorted(self.edges, j, side="right") - 1
        self.cos_at = np.asarray(self.edges)[strip] + j
        self.sin_at = np.asarray(self.edges)[strip + 1] + j

        columns = 2 * sizes[-1]
        folds = members[0][0].solver["folds"]
        self.statistics = FoldStatistics(columns, folds, Y.shape[1])
        self.map_s = np.zeros(len(strips))
        self.gram_s = np.zeros(len(strips))
        bounds = fold_bounds(len(Y), folds)
        buffer = np.empty((default_block_rows(columns), columns), dtype=X.dtype)
        buffer.fill(0)  # the first touch of memory is not part of mapping
        self.contention = Contention()
        with self.contention:
            for fold in range(folds):
                for start in range(bounds[fold], bounds[fold + 1], len(buffer)):
                    rows = slice(start, min(start + len(buffer), bounds[fold + 1]))
                    block = X[rows]
                    Z = buffer[: len(block)]
                    for index, ((a, b), part) in enumerate(zip(strips, parts, strict=True)):
                        with Stopwatch() as watch:
                            fourier_columns(block, part, cos=Z[:, 2 * a : a + b], sin=Z[:, a + b : 2 * b])
                        self.map_s[index] += watch.seconds
                    self.gram_s += self.statistics.add(fold, Z, Y[rows], edges=[2 * edge for edge in self.edges])

    def measure(self, spec: TrialSpec, features: Any, memory: int | None) -> TrialResult:
        """Run one trial of the pool; return its result."""
        split = self.problem.split
        n, d = split.X_train.shape
        size = pool_size(features)
        strips = self.edges.index(size)
        alone = predicts_alone(spec, features)
        predicted, predict_s = None, 0.0
        with Contention() as contention:
            with Stopwatch() as drawing:
                W = features.draw(size, d)
            feature_s = drawing.seconds + self.map_s[:strips].sum()
            features.n_features_in_ = d
            if isinstance(features, PooledFeatures):
                if "gram" in features.needs:
                    feature_s += self.gram_s[:strips].sum()
                with Stopwatch() as selecting:
                    selection = self.select(features, size, n)
                features.set_selection(W, selection)
                distinct = features.distinct()
                mapped = features if distinct is None else distinct.features
                feature_s += selecting.seconds
                if not alone:  # there it is timed, too
                    feature_s += mapping_seconds(mapped, split.X_train)
            else:
                selection = whole_pool(size)
                features.set_pairs(W)

            settings = check_solver(spec.solver)
            lambdas = settings["lambda"]
            X = split.X_train
            solver = self.problem.solver(spec, features)
            solver.set_features(features)
            with Stopwatch(X) as solving:
                view, spread = self.view(selection, size)
                free = free_memory(memory)
                rows = default_block_rows(features.n_components)
                solution = solve_ridge_cv(
                    view, lambdas, lambda_scale=settings["lambda_scale"], center=settings["center"], memory=free,
                    path=settings["path"],
                    held_out=solver.held_out(  # of labels, whose origin is 0
                        X, self.problem.learnt, self.statistics.folds, rows, lambda coef: solver.collapse(spread(coef))
                    ),
                ).for_targets_at(self.y_origin)  # fmt: skip
                solution.coef = spread(solution.coef)
                solution.path = [each and (spread(each[0]), each[1]) for each in solution.path]
                own_strips = int(np.searchsorted(self.edges, features.n_frequencies))
            fit_s = solving.seconds + float(self.gram_s[:own_strips].sum())
            solver.set_solution(lambdas, solution, np.asarray(split.y_train))
            if not alone:
                predicted, predict_s = self.problem.predict(solver)
        seconds = {
            "feature_s": float(feature_s),
            "fit_s": fit_s,
            "predict_s": predict_s,
            "contended": either(self.contention.contended, contention.contended),
            "shared": True,
        }
        return FittedTrial(self.problem, spec, solver).result(predicted, seconds)

    def select(self, features: PooledFeatures, size: int, n: int) -> Selection:
        """The map's choice from the pool's first ``size`` frequencies, by the shared statistics."""
        base = self._recombined(whole_pool(size, features.pool_phases(size)), size)
        statistics: dict[str, Any] = {}
        if "right_side" in features.needs:
            moments = base.moments(range(base.folds))
            right = moments.right + np.outer(moments.sums, self.y_origin)
            statistics["right_side"] = right[:, 0] if right.shape[1] == 1 else right
        if "squared_norms" in features.needs or "gram" in features.needs:
            gram = base.spare() or TriangleStack(1, base.columns)[0]
            base.gram(range(base.folds), gram)
            statistics["gram"] = gram
            statistics["squared_norms"] = gram.diagonal
        scores = features.column_scores(n, **{name: statistics[name] for name in features.needs})
        sequence = seed_sequence(features.random_state)
        return features.choose(scores, features.n_frequencies, sequence)

    def _recombined(self, selection: Selection, size: int) -> RecombinedStatistics:
        at = np.concatenate([self.cos_at[:size], self.sin_at[:size]])
        first, second, a, b = selection.recombination(size)
        return self.statistics.recombined(at[first], at[second], a, b)

    def view(
        self, selection: Selection, size: int
    ) -> tuple[RecombinedStatistics, Callable[[NDArray[np.float64]], NDArray[np.float64]]]:
        """The statistics of the chosen columns, in the pool's order and with equal columns merged, and the matrix that
        distributes their coefficients over the map's columns."""
        whole = self._recombined(selection, size)
        merged = EqualColumns.anywhere(np.stack([whole.first, whole.second, whole.a, whole.b]))
        at, root = merged.first, merged.root
        view = self.statistics.recombined(whole.first[at], whole.second[at], whole.a[at] * root, whole.b[at] * root)
        return view, merged.spread
