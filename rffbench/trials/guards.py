"""Guards around maps and solvers: they get read-only rows, their faults are named, and their results are checked.

Trials of one task share their rows, and a class of another package might change them.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from numbers import Real
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from rffbench.arguments.seeds import watching_global_generators
from rffbench.data import Rows, Split
from rffbench.errors import DataError, Fallback, MemoryBudgetError, OwnCodeError, RffbenchError, is_ctrl_c
from rffbench.features.base import mapped, naming_who_writes
from rffbench.features.hooks import columns_of
from rffbench.kernels import Kernel
from rffbench.plugins.parts import declared
from rffbench.trials.spec import TrialSpec

TRIED_ROWS = 100  # rows of another fit of a map, which shows whether it uses a global generator
FEW_NUMBERS = 1 << 22  # rows with at most this many numbers are kept in memory: 34 MB in float64
MEGABYTE = 10**6
SHOWN = 5  # labels that a message lists
PARTS_OF_A_FIT = ("feature_s", "gram_s", "solve_s")
OF_NUMBERS = (Fallback, ConvergenceWarning)  # warnings that are kept in a trial's row


class GuardedRows(Rows):
    """Rows with read-only blocks; ``numpy.array(rows)`` is a writable copy.

    DataError at a number beyond ``farthest``, where rounding is coarser than the kernel's width. A small number of rows
    is fetched and scaled only once: a task's trials read them many times, and scaling takes as long as a small map.
    """

    farthest: float
    _held: NDArray | None = None  # all rows, if they are few

    def kept(self) -> list[NDArray]:
        """The arrays that are in memory between two calls."""
        steps = [] if self.preprocess is None else self.preprocess.steps
        arrays = [self.base, self.index, self._held, *(value for step in steps for value in vars(step).values())]
        return [each for each in arrays if isinstance(each, np.ndarray)]

    @classmethod
    def of(cls, rows: Rows, kernel: Kernel) -> GuardedRows:
        guarded = cls(rows.base, rows.index, rows.preprocess, rows.dtype, rows.card)
        guarded.farthest = 1 / (float(np.finfo(rows.dtype).eps) * kernel.unit_scale)
        if isinstance(rows.base, np.ndarray) and rows.shape[0] * rows.shape[1] <= FEW_NUMBERS:
            with suppress(DataError):  # each trial will raise it again
                guarded._held = guarded[:]
        return guarded

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_held"}

    def part(self, rows: slice | NDArray) -> GuardedRows:
        part = cast(GuardedRows, super().part(rows))
        part.farthest = self.farthest
        return part

    def __getitem__(self, rows: slice | NDArray) -> NDArray:
        if self._held is not None and isinstance(rows, slice) and rows.step in (None, 1):
            return self._held[rows]
        with np.errstate(over="ignore"):  # of float64 that becomes float32
            block = super().__getitem__(rows)
        if not max(block.max(initial=0), -block.min(initial=0)) <= self.farthest:  # NaN is not, either
            raise DataError(
                f"rows hold numbers beyond {self.farthest:.1g}, where those of {self.dtype} are farther apart than the "
                "kernel is wide; scale them by a preprocess step (minmax, standard), or take a larger sigma"
            )
        return read_only(block)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        array = super().__array__(dtype, copy)
        return array.copy() if copy and not array.flags.writeable else array


def guarded(split: Split, kernel: Kernel) -> Split:
    """``split`` with read-only rows and targets, whose numbers ``kernel`` can distinguish; blocks of streamed targets
    are new arrays anyway."""
    y = read_only(split.y_train) if isinstance(split.y_train, np.ndarray) else split.y_train
    return replace(
        split, y_train=y, y_test=read_only(split.y_test), X_train=GuardedRows.of(split.X_train, kernel),
        X_test=GuardedRows.of(split.X_test, kernel),
    )  # fmt: skip


def read_only(array: NDArray) -> NDArray:
    """The same numbers, which nobody can write to by ``setflags(write=True)``."""
    return np.asarray(array.data.toreadonly())


@contextmanager
def against_faulty_parts(
    spec: TrialSpec, features: Any, solver: Any, X: Rows, y: Any, memory: tuple[int | None, int | None] = (None, None)
) -> Iterator[list[str]]:
    """Guard a trial's fit to the rows X and targets y, and the trials after it, against what its map or solver may do.

    An error of code that is not built in becomes an `OwnCodeError`, with its owner, method and line. Writing to the
    shared rows is a ValueError that names who writes; so is a map that sets or draws from a global generator. A
    MemoryBudgetError gives figures of the whole process, whose limit and free bytes are ``memory``. Yields a list
    that collects warnings about numbers: a `Fallback`, or a solver without convergence.
    """
    with (
        _in_figures_of_the_process(*memory),
        _naming_whose_code(spec, features, solver),
        naming_who_writes(features, solver),
        _leaving_global_generators(features, X, y),
        _keeping_warnings() as kept,
    ):
        yield kept


@contextmanager
def _in_figures_of_the_process(limit: int | None, free: int | None) -> Iterator[None]:
    try:
        yield
    except MemoryBudgetError as error:
        if limit is None or free is None:
            raise
        needed = -(-(error.needed + limit - free) // MEGABYTE) * MEGABYTE  # rounded up, as it will be written
        raise MemoryBudgetError(f"{error.what}, with all that its process holds,", needed, limit) from error


@contextmanager
def _naming_whose_code(spec: TrialSpec, features: Any, solver: Any) -> Iterator[None]:
    try:
        yield
    except RffbenchError:
        raise
    except (Exception, SystemExit, KeyboardInterrupt) as error:  # a map may call exit() by mistake
        if is_ctrl_c(error):
            raise
        parts = ((spec.map, features), (spec.learner, solver))
        blamed = next((said for recipe, part in parts if recipe and (said := recipe.blame(error, part))), "")
        if not blamed:
            raise
        raise OwnCodeError(blamed) from error


@contextmanager
def _leaving_global_generators(features: Any, X: Rows, y: Any) -> Iterator[None]:
    """A second fit of the map alone, to some rows, confirms that it uses one, so that it is not blamed for a solver or
    a thread."""
    with watching_global_generators() as changed:
        yield
    if not changed or features is None:
        return
    for _ in range(2):  # another thread may interfere again, by chance
        with watching_global_generators() as changed:
            clone(features).fit(X[:TRIED_ROWS], y[:TRIED_ROWS]).transform(X[:TRIED_ROWS])
        if not changed:
            return
    raise ValueError(
        f"{type(features).__name__} sets or draws from {' and '.join(changed)} global generator, on which other "
        "methods may depend; it must draw from its random_state alone, by numpy.random.default_rng(random_state)"
    )


@contextmanager
def _keeping_warnings() -> Iterator[list[str]]:
    kept: list[str] = []
    with warnings.catch_warnings():
        show = warnings.showwarning

        def keep(message: Warning | str, category: type[Warning], *where: Any) -> None:
            if not issubclass(category, OF_NUMBERS):
                show(message, category, *where)
            elif (text := str(message).partition("\n")[0]) not in kept:
                kept.append(text)

        warnings.showwarning = keep  # type: ignore[assignment]
        for category in OF_NUMBERS:
            warnings.simplefilter("always", category)
        yield kept


def seconds_of(solver: Any, whole: float) -> dict[str, Any]:
    """The seconds of the parts of a fit that took ``whole`` seconds: the solver's ``timing_``, or only 'train_s'
    without it. ValueError, naming the solver, if they are not seconds."""
    said = declared(solver, "timing_")
    if said is None:
        return {"train_s": whole}
    parts: list[Any] = [said.get(name) for name in PARTS_OF_A_FIT] if isinstance(said, Mapping) else [None]
    if not all(isinstance(each, Real) and 0 <= float(each) < math.inf for each in parts):
        raise ValueError(
            f"timing_ of {type(solver).__name__} must have seconds, 0 or more, in {', '.join(PARTS_OF_A_FIT)}, "
            f"got {said!r}"
        )
    features, *others = map(float, parts)
    return {"feature_s": features, "fit_s": sum(others)}


def check_map(features: Any, X: Rows) -> None:
    """ValueError if the fitted map does not make the requested number of columns."""
    mapped(features, X[:1], columns_of(features))


def check_predictions(predicted: Any, solver: Any, due: tuple[int, ...], labels: NDArray | None) -> None:
    """ValueError, naming the solver, unless ``predicted`` is finite numbers of the shape ``due``, (n,) or (n, targets),
    and each one of the ``labels`` of the training rows if there are labels."""
    who = f"{type(solver).__name__}.predict"
    shape = getattr(predicted, "shape", None)
    if not isinstance(predicted, np.ndarray) or shape != due:
        what = type(predicted).__name__ if shape is None else f"shape {shape}"
        hint = "; predicted.ravel() would be right" if shape == (*due, 1) else ""
        each = "one number" if len(due) == 1 else f"{due[1]} numbers"
        raise ValueError(f"{who} must give an array of {each} per row, shape {due}, got {what}{hint}")
    if predicted.dtype.kind not in "biuf":
        raise ValueError(f"{who} must give real numbers, got dtype {predicted.dtype}")
    if not np.isfinite(predicted).all():
        row = int(np.argwhere(~np.isfinite(predicted))[0][0])
        raise ValueError(f"{who} gives {predicted[row]} for row {row} of the test rows; it must give finite numbers")
    if labels is not None and not (known := np.isin(predicted, labels)).all():
        listed = ", ".join(f"{label:g}" for label in labels[:SHOWN]) + (", …" if len(labels) > SHOWN else "")
        wrong = float(predicted[np.flatnonzero(~known)[0]])
        raise ValueError(f"{who} gives {wrong:g}, which is not a label of the training rows ({listed})")
