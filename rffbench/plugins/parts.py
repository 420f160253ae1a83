"""What a part serves: the kernels of a feature map, the kernels and tasks of a solver. A part declares this once, in
the attribute ``serves`` of its class or factory. This module reads it, and refuses everything else."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args

from rffbench.arguments.parameters import WrongParameter

Task = Literal["classification", "regression"]
TASKS: tuple[Task, ...] = get_args(Task)
Traits = type | tuple[type, ...] | None
"""The trait that a kernel must have, or several of which it must have one (`rffbench.kernels`; the class of a kernel
counts as a trait); None: every kernel is served."""

TRIGONOMETRY = 20
"""The time of a cosine or a sine, in multiply-adds."""

LETTERS = {
    "a": "the multiply-adds, for a pair of rows, of choosing the degrees; 0 where pairs do not choose them",
    "n": "training rows", "v": "rows predicted", "d": "input columns", "s": "frequencies", "D": "output columns",
    "t": "a cosine, sine or exponential", "N": "d, padded to a power of two", "l": "frequencies drawn to choose from",
    "m": "columns before a projection", "B": "buckets", "p": "columns that are learnt on",
    "f": "matrices factored: one for each λ and fold, and one more; at most, where folds share factors",
    "k": "fits in the cross-validation, one for each λ and fold; 0 of a single λ",
    "L": "landmarks, which n_features counts", "h": "the degree of a column",
    "c": "problems: the classes, or 1 of two classes and of a regression", "R": "grids, and non-zeros of a row",
    "o": "1 where directions are made orthogonal, else 0", "r": "the multiply-adds of a projection",
    "q": "folds of the cross-validation; 0 of a single λ",
    "i": "passes, steps or trees: a usual number, or the budget's if that is less",
    "e": "fits that choose settings", "w": "the most rows on which settings are chosen",
    "u": "passes over the rows in which parameters are learnt: a usual number",
}  # fmt: skip
"""The meaning of the letters in formulas. A map or a solver may add letters."""


def declared(part: Any, name: str, default: Any = None) -> Any:
    """The attribute ``name`` of a map or solver of any package, or of its class, if its class, a base class or the
    object itself has it; else ``default``. Every optional attribute is read by this, because a class with a
    ``__getattr__``, such as one that passes on to another map, may answer to names that it does not mean."""
    kinds = part.__mro__ if isinstance(part, type) else type(part).__mro__
    own = getattr(part, "__dict__", None)
    if (isinstance(own, Mapping) and name in own) or any(name in vars(kind) for kind in kinds):
        return getattr(part, name, default)
    return default


FUNCTIONS = {"log2": math.log2, "min": min, "max": max}


def evaluated(formula: str, letters: Mapping[str, float]) -> float:
    """The multiply-adds of a ``formula``, Python arithmetic over `LETTERS`, such as ``n*l**2``. ValueError if a letter
    has no value."""
    if missing := letters_of(formula) - letters.keys():
        raise ValueError(f"the formula {formula} has {', '.join(sorted(missing))}, which has no value")
    return float(eval(compile(formula, "<formula>", "eval"), {"__builtins__": {}}, {**letters, **FUNCTIONS}))


def letters_of(formula: str) -> set[str]:
    """The letters in a formula."""
    nodes = ast.walk(ast.parse(formula, mode="eval"))
    return {node.id for node in nodes if isinstance(node, ast.Name)} - FUNCTIONS.keys()


def printed(formula: str) -> str:
    """A formula in the usual notation: ``n·l²``."""
    text = re.sub(r"log2\((\w)\)", r"log₂ \1", formula).replace("**2", "²").replace("**3", "³").replace("**", "^")
    return text.replace("*", "·").replace("-", "−")


@dataclass(frozen=True)
class MapServes:
    """What a feature map serves, and what it costs.

    ``kernels`` is the trait that a kernel must have. ``bias`` describes the bias of the kernel estimate; if it is
    empty, E[φ(x)ᵀφ(x′)] = k(x, x′). ``unbiased_if`` says for which parameters there is no bias; the map's ``unbiased``
    is then a property. ``faster``: the error falls faster than 1/√s. ``fits_on`` names the data that ``fit`` uses.
    ``row_cost`` is the multiply-adds of mapping a row, ``fit_sums`` those of sums over the training rows in ``fit``,
    which maps of one draw may share, and ``fit_cost`` those of the rest of ``fit``. ``nests`` names the learnt arrays
    whose last axis begins with that of a smaller map. ``sparse``: its features are a CSR matrix, of ``n_components``
    numbers in a row at most, and of ``n_columns_`` columns, which the training rows decide. ``source`` is the paper.
    """

    kernels: Traits = None
    sparse: bool = False
    bias: str = ""
    unbiased_if: str = ""
    faster: bool = False
    fits_on: Literal["nothing", "the rows' radius", "inputs", "inputs and targets"] = "nothing"
    row_cost: str = "d*s + t*D"
    fit_sums: str = "0"
    fit_cost: str = "0"
    nests: tuple[str, ...] = ()
    source: str = ""


@dataclass(frozen=True)
class SolverServes:
    """What a solver serves, and what it costs once the features are made.

    ``uses`` is what it learns on: the features of a map, rows of the exact kernel matrix, functions of the kernel that
    it draws itself, or the inputs. ``kernels`` is the trait that the kernel must have, for rows and functions of a
    kernel. ``iterative``: the number of steps depends on the data, and ``cost`` is a usual count. ``sums`` are the
    multiply-adds of sums over the rows, which methods of one draw may share, ``cost`` all others; None: unknown, and
    the dry run says so. ``letters`` finds more letters of the formulas in the solver's parameters. ``libraries`` are
    the optional libraries that it may need. ``without_map`` is the declaration for learning on the kernel without a
    map; None: the same. ``sparse_cost`` are the multiply-adds of a fit to sparse features (`MapServes.sparse`) with R
    numbers per row; None: it does not take them. ``cross_validates``: with several λ, a fit chooses λ by k-fold
    cross-validation, and has its errors in ``cv_results_``; they choose the bandwidth, too.
    """

    uses: Literal["features", "kernel rows", "own functions", "inputs"] = "features"
    kernels: Traits = None
    tasks: tuple[Task, ...] = TASKS
    iterative: bool = False
    sums: str = "0"
    cost: str | None = None
    without_map: str | None = None
    sparse_cost: str | None = None
    cross_validates: bool = False
    letters: Callable[[Mapping[str, Any]], Mapping[str, float]] = lambda config: {}
    libraries: tuple[str, ...] = ()
    source: str = ""


class NotServed(WrongParameter):
    """A part does not serve the value of ``parameter``; the message is a whole sentence."""

    def __str__(self) -> str:
        return str(self.args[1])


Factory = TypeVar("Factory")


def serves(
    declared: SolverServes, *, versions: Mapping[str, Mapping[Any, int]] | None = None
) -> Callable[[Factory], Factory]:
    """Decorator that declares what a solver's factory serves, and the ``versions`` of values of its parameters
    (`rffbench.plugins.registry.Registry.made_by`)."""

    def declare(factory: Factory) -> Factory:
        factory.serves = declared  # type: ignore[attr-defined]
        factory.versions = versions or {}  # type: ignore[attr-defined]
        return factory

    return declare


def check_task(part: str, tasks: Iterable[str], task: str, instead: Iterable[str] = ()) -> None:
    """NotServed if the part called ``part`` is not for ``task``; ``instead`` names parts that are."""
    if task not in tasks:
        others = f"; for {task} use {' or '.join(map(repr, instead))}" if instead else f", and not for {task}"
        raise NotServed("task", f"{part} is for {' and '.join(tasks)}{others}")


def check_sparse(part: str, takes: bool, features: str, instead: Iterable[str]) -> None:
    """NotServed if the part called ``part`` does not take the sparse features of the map ``features``; ``instead``
    names parts that do."""
    if not takes:
        message = f"{part} takes no sparse features, as {features} makes; use {' or '.join(instead)}"
        raise NotServed("features", message)
