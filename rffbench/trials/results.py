"""What a trial's row has of it once its solver is fitted: scores of the predictions, measures of the map, and seconds
that are measured alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError

from rffbench.arguments.parameters import is_rule
from rffbench.arguments.rowsource import Stopwatch, row_blocks
from rffbench.data.split import held_out_rows
from rffbench.features.base import fitted, mapped
from rffbench.features.hooks import columns_of, hook, makes_sparse
from rffbench.linalg.triangles import TriangleStack
from rffbench.plugins.parts import declared
from rffbench.solvers.base import default_block_rows
from rffbench.solvers.platt import by_class
from rffbench.solvers.ridge.fold_statistics import Accuracy, penalty
from rffbench.solvers.ridge.settings import CHOLESKY_FLOOR
from rffbench.trials import flaws
from rffbench.trials.edges import chosen_fold_errors, edges_of_solver
from rffbench.trials.guards import check_map, check_predictions
from rffbench.trials.measuring import MapOnPoints
from rffbench.trials.memory import EFFECTIVE_ROWS
from rffbench.trials.metrics import CURVES, MEASURES, described, metrics_of, scored
from rffbench.trials.problem import Problem, warm_up
from rffbench.trials.scores import Predictions, Score, computed, described_scores, platt
from rffbench.trials.seconds import either
from rffbench.trials.spec import TrialResult, TrialSpec

LEAST_LENGTH = 1e-100  # the mean of ‖z‖² over some rows, below which all rows count
CALIBRATED_ON = 0.2  # the share of the training rows, the last of them, to which a sigmoid is fitted


def predicts_alone(spec: TrialSpec, features: Any) -> bool:
    """Whether a trial predicts only where that is timed, in `FittedTrial.seconds_alone`."""
    return spec.timing == "features" and features is not None


class FittedTrial:
    """A trial of a ``problem`` whose ``solver`` is fitted to the training rows."""

    def __init__(self, problem: Problem, spec: TrialSpec, solver: Any) -> None:
        self.problem, self.spec, self.solver = problem, spec, solver
        self.features = declared(solver, "features_")
        self.X, self.X_test = problem.split.X_train, problem.split.X_test

    def result(self, predicted: NDArray | None, seconds: dict[str, Any]) -> TrialResult:
        """The result: the scores of the predictions, the solver's own metrics, and the measures of its map. ``seconds``
        are those of the fit."""
        spec, solver, features = self.spec, self.solver, self.features
        if features is not None:
            check_map(features, self.X)
        own = metrics_of(features) | metrics_of(solver)
        numbers, measured_curves = self.measures()
        if predicts_alone(spec, features):
            alone, predicted = self.seconds_alone()
            seconds = seconds | alone
        wanted = spec.further_scores(self.problem.split.task)
        scores = {} if predicted is None else self.scores(self._flawed(predicted), wanted)
        scores = scores | own | numbers
        if len(cv_error := declared(solver, "cv_results_", {}).get("mean_test_error", [])):
            scores["cv_error"] = float(min(cv_error))
        if is_rule(spec.kernel["gamma"]):
            scores["gamma"] = self.problem.gamma
        lambda_ = declared(solver, "alpha_")
        if (scale := self._effective()) and lambda_ is not None:
            scores["effective_lambda"] = lambda_ * scale
        curves = declared(solver, "curves_", {}) or measured_curves
        if declared(solver, "path_", []):
            curves = self._path_curves(scale)
        return TrialResult(
            spec, "ok", scores, seconds, lambda_=lambda_, curves=curves,
            own_metrics=described(features) | described(solver) | described_scores(wanted, scores),
            solved=_how_solved(solver),
            edges=edges_of_solver(solver), fold_errors=chosen_fold_errors(solver),
            columns=None if features is None else columns_of(features),
        )  # fmt: skip

    # ---- Scores of the predictions ---------------------------------------------------------------------------

    def scores(self, predicted: NDArray, wanted: Mapping[str, Score]) -> dict[str, float]:
        """The test metrics of the task, and the ``wanted`` scores, by name."""
        needs = {each.needs for each in wanted.values()}
        y, solver = self.problem.split.y_test, self.solver
        found = Predictions(np.asarray(y), predicted, self.problem.labels)
        if "deviations" in needs:
            found.deviations = solver.predict_deviations(self.X_test)
        elif declared(solver, "predict_proba") and needs - {"labels"}:
            found.scores = found.probabilities = solver.predict_proba(self.X_test)
        elif needs - {"labels"}:
            found.scores = by_class(solver.decision_function(self.X_test))
            if "probabilities" in needs:
                found.probabilities = self._calibrated()(found.scores)
        more = {each.metric.name: computed(name, each, found) for name, each in wanted.items()}
        return self._scored(predicted) | more

    def _scored(self, predicted: NDArray) -> dict[str, float]:
        return scored(self.problem.split.task, self.problem.split.y_test, predicted)

    def _flawed(self, predicted: NDArray) -> NDArray:
        """The predictions with the spec's flaws of the scores of classes."""
        if not set(self.spec.flaws) & set(flaws.OF_SCORES):
            return predicted
        found = by_class(self.solver.decision_function(self.X_test))
        return flaws.with_flawed_scores(self.spec.flaws, predicted, found, np.asarray(self.problem.labels))

    def _calibrated(self) -> Callable[[NDArray], NDArray[np.float64]]:
        """Platt's sigmoid for the solver's scores. The solver is fitted again, with the λ that it chose if it did,
        without the last fifth of the training rows, and the sigmoid to its scores of these. The row's seconds do not
        include this."""
        problem, X, y = self.problem, self.X, np.asarray(self.problem.split.y_train)
        kept = len(y) - held_out_rows(CALIBRATED_ON, len(y))
        lambda_ = declared(self.solver, "alpha_")
        chosen = replace(self.spec, solver=self.spec.solver | ({} if lambda_ is None else {"lambda": [lambda_]}))
        again = problem.solver(chosen, problem.features(self.spec)).fit(X.part(slice(0, kept)), y[:kept])
        return platt(by_class(again.decision_function(X.part(slice(kept, len(y))))), y[kept:, None] == problem.labels)

    # ---- Measures of the map ---------------------------------------------------------------------------------

    def measures(self) -> tuple[dict[str, float], dict[str, list[float]]]:
        """(numbers, curves) of the spec's measures of the fitted map on the subsample; empty without map or
        measures."""
        if self.features is None or not len(self.problem.subsample):
            return {}, {}
        mapped = MapOnPoints(self.features, self.problem.points)
        curves: dict[str, list[float]] = {}
        for name in self.spec.measures:
            curves |= CURVES[name](mapped) if name in CURVES else {}
        return {name: MEASURES[name](mapped) for name in self.spec.measures if name in MEASURES}, curves

    # ---- Seconds that are measured alone ---------------------------------------------------------------------

    def seconds_alone(self) -> tuple[dict[str, Any], NDArray | None]:
        """For ``timing: features``, measured while the rest of the run is paused: the seconds to generate the features,
        and to predict; and the predictions."""
        problem, predicted = self.problem, None

        def predict() -> float:
            nonlocal predicted
            predicted, seconds = problem.unchecked(self.solver)
            return seconds

        buffers: dict[tuple[int, int], NDArray] = {}
        warm_up(self.features, self.X.dtype)
        with problem.alone() as timer:
            works = {"feature_s": lambda: self._generate(buffers)}
            if self.spec.learner is not None:
                works["predict_s"] = predict
            parts = dict(zip(works, timer.timed(*works.values()), strict=True))
        if predicted is not None:
            check_predictions(predicted, self.solver, problem.split.y_test.shape, problem.labels)
        seconds = {
            **{name: part.seconds for name, part in parts.items()},
            "contended": either(*(part.contended for part in parts.values())),
            "repeats": {name: part.repeats for name, part in parts.items()},
            "spread": {name: part.spread for name, part in parts.items()},
        }
        return seconds, predicted

    def _generate(self, buffers: dict[tuple[int, int], NDArray]) -> float:
        """Generate the training features without keeping them; return the seconds to draw, weigh and map all rows.

        ``buffers`` are for `mapping_seconds`.
        """
        features, targets = self.problem.features(self.spec), self.problem.targets
        with Stopwatch(self.X) as fitting:
            made = fitted(features, self.X, targets)
        distinct = None if hook(made, "distinct") is None else made.distinct()
        return fitting.seconds + mapping_seconds(made if distinct is None else distinct.features, self.X, buffers)

    # ---- λ in other scales -----------------------------------------------------------------------------------

    def _effective(self) -> float | None:
        """The factor from λ to the effective λ, the λ of features that are scaled to k̃(x, x) = 1 on average.

        The effective λ is the penalty, n·λ or λ, over n times the mean of ‖z(x)‖², which is the sum of the columns'
        mean squares. A map whose columns are c times as large has the same effective λ at a λ that is c² times as
        large.
        """
        if self.features is None or "lambda_scale" not in self.spec.solver:
            return None
        length = float(self._mean_squares().sum())
        if length < LEAST_LENGTH:  # of a narrow kernel, for rows that are no landmarks
            blocks = [self.X[rows] for rows in row_blocks(len(self.X))]
            lengths = [float(self._mean_squares(block).sum()) for block in blocks]
            length = float(np.average(lengths, weights=[len(block) for block in blocks]))
        if length < LEAST_LENGTH:
            vanishing = f"the features of {type(self.features).__name__} are 0, or too small to be squared"
            raise ValueError(f"{vanishing}: a wider kernel would reach the rows")
        return self._penalty(1.0) / (len(self.X) * length)

    def _mean_squares(self, X: Any = None) -> NDArray[np.float64]:
        """The mean square of each column of the features over X, by default EFFECTIVE_ROWS training rows, (p,)."""
        X = self.X[: min(EFFECTIVE_ROWS, len(self.X))] if X is None else X
        Z = mapped(self.features, X, columns_of(self.features))
        if makes_sparse(self.features):
            return np.asarray(Z.power(2).sum(axis=0), dtype=np.float64).ravel() / Z.shape[0]
        return np.einsum("ij,ij->j", Z, Z, dtype=np.float64) / len(Z)

    def _penalty(self, lambda_: float) -> float:
        scale = self.spec.solver["lambda_scale"]
        return lambda_ * self.solver.accuracy_.unit if scale == "trace" else penalty(lambda_, len(self.X), scale)

    def _path_curves(self, scale: float | None) -> dict[str, list[Any]]:
        """The test score at every λ, and other scales of λ: over the mean ‖z(x)‖², over p times the median of the
        columns' mean squares, and the effective dimension of the training rows' features."""
        lambdas, outputs = self.solver.predict_path(self.X_test)
        classes = declared(self.solver, "classes_")
        scores = [self._scored(each if classes is None else classes[(each > 0).astype(int)]) for each in outputs.T]
        curves = {"lambda": lambdas, "effective_lambda": [lambda_ * (scale or 1.0) for lambda_ in lambdas]}
        if self.features is not None:
            squares = self._mean_squares()
            median = len(squares) * float(np.median(squares)) * len(self.X)
            penalties = [self._penalty(lambda_) for lambda_ in lambdas]
            curves["median_lambda"] = [each / median for each in penalties]
            curves["effective_dimension"] = effective_dimensions(
                self.features, self.X, penalties, self.solver.accuracy_
            )  # fmt: skip
        return curves | {name: [score[name] for score in scores] for name in scores[0]}


def effective_dimensions(features: Any, X: Any, penalties: Iterable[float], accuracy: Accuracy) -> list[float | None]:
    """tr(K̃(K̃ + cI)⁻¹) for each penalty c, K̃ = ZZᵀ over all training rows. None if rounding makes ZᵀZ + cI not positive
    definite, or if a solution by singular values depends on a c that is lost in the rounding of ZᵀZ.

    It is p − c·tr((ZᵀZ + cI)⁻¹), by one Cholesky factorisation per c, with an error of about p times machine epsilon,
    even if columns differ by orders of magnitude. The eigenvalues of ZᵀZ would not be that exact.
    """
    found = list[float | None]()
    gram, work = TriangleStack(2, features.n_components)
    for rows in row_blocks(len(X)):
        gram.add_gram(features.transform(X[rows]).astype(np.float64, copy=False))
    least = CHOLESKY_FLOOR * float(gram.diagonal.sum()) if accuracy.method == "svd" else 0.0
    for each in penalties:
        if each < least:
            found.append(None)
            continue
        work.copy_from(gram)
        work.diagonal[:] += each
        try:
            work.cholesky()
            found.append(features.n_components - each * float(work.inverse_diagonal().sum()))
        except LinAlgError:
            found.append(None)
    return found


def _how_solved(solver: Any) -> dict[str, Any]:
    accuracy = declared(solver, "accuracy_")
    return {"method": accuracy.method, "smallest_lambda": accuracy.smallest_alpha} if accuracy else {}


def mapping_seconds(features: Any, X: Any, buffers: dict[tuple[int, int], NDArray] | None = None) -> float:
    """The seconds to map all rows of X, block by block, into one buffer if the map can fill it. ``buffers`` keeps
    buffers by shape for later calls."""
    fill = hook(features, "fill")
    rows = default_block_rows(features.n_components)
    shape, buffers = (min(rows, X.shape[0]), features.n_components), {} if buffers is None else buffers
    if fill is not None and shape not in buffers:
        buffers[shape] = np.empty(shape, dtype=X.dtype)
        buffers[shape].fill(0)  # the first touch of memory is not part of mapping
    watch = Stopwatch()
    for start in range(0, X.shape[0], rows):
        block = X[start : start + rows]
        with watch:
            if fill is None:
                mapped(features, block, columns_of(features))
            else:
                fill(block, buffers[shape][: len(block)])
    return watch.seconds
