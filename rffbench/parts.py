"""What a part says it serves: a feature map which kernels, a solver which kernels and tasks. It says so once, on its
class or factory, as the attribute ``serves``; here it is read, and a request that it does not serve is refused."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from rffbench.parameters import WrongParameter

if TYPE_CHECKING:
    from rffbench.kernels import Kernel

Task = Literal["classification", "regression"]
TASKS: tuple[Task, ...] = get_args(Task)
Traits = type | tuple[type, ...] | None
"""The trait, or the traits of which a kernel must have one (`rffbench.kernels`; a kernel's own class is one, too);
None: every kernel will do."""

TRIGONOMETRY = 20
"""Multiply-adds that a cosine or a sine takes as long as."""

LETTERS = {
    "n": "training rows", "v": "rows predicted", "d": "input columns", "s": "frequencies", "D": "output columns",
    "t": "a cosine, sine or exponential", "N": "d, padded to a power of two", "l": "frequencies drawn to choose from",
    "m": "columns before a projection", "B": "buckets", "p": "columns that are learnt on",
    "f": "matrices factored: one for each λ and fold, and one more",
    "k": "fits in the cross-validation, one for each λ and fold; 0 of a single λ",
    "L": "landmarks, which n_features counts", "h": "the degree of a column",
    "c": "problems: the classes, or 1 of two classes and of a regression", "R": "grids, and non-zeros of a row",
    "o": "1 where directions are made orthogonal, else 0", "r": "the multiply-adds of a projection",
    "q": "folds of the cross-validation; 0 of a single λ",
}  # fmt: skip
"""What the letters of formulas stand for. A map or a solver may add some of its own."""


FUNCTIONS = {"log2": math.log2, "min": min, "max": max}


def evaluated(formula: str, letters: Mapping[str, float]) -> float:
    """The multiply-adds of a ``formula``, Python arithmetic over `LETTERS`, such as ``n*l**2``. ValueError, naming the
    letter, where one has no value."""
    if missing := letters_of(formula) - letters.keys():
        raise ValueError(f"the formula {formula} has {', '.join(sorted(missing))}, which has no value")
    return float(eval(compile(formula, "<formula>", "eval"), {"__builtins__": {}}, {**letters, **FUNCTIONS}))


def letters_of(formula: str) -> set[str]:
    """The letters in a formula."""
    nodes = ast.walk(ast.parse(formula, mode="eval"))
    return {node.id for node in nodes if isinstance(node, ast.Name)} - FUNCTIONS.keys()


def printed(formula: str) -> str:
    """A formula as a reader writes it: ``n·l²``."""
    text = re.sub(r"log2\((\w)\)", r"log₂ \1", formula).replace("**2", "²").replace("**3", "³").replace("**", "^")
    return text.replace("*", "·").replace("-", "−")


@dataclass(frozen=True)
class MapServes:
    """What a feature map serves, and what it costs.

    ``kernels`` is the trait that a kernel must have. ``bias`` says in words what is wrong with the estimate of the
    kernel; empty: E[φ(x)ᵀφ(x′)] = k(x, x′). ``unbiased_if`` says with which parameters it has no bias; the map's
    ``unbiased`` is a property then. ``faster``: the error falls faster than 1/√s. ``fits_on`` is what ``fit`` looks at.
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

    ``uses``: what it learns on: the features of a map, rows of the exact kernel matrix, functions of the kernel that
    it draws itself, or the inputs as they are. ``kernels``: of rows and functions of a kernel, the trait that it must
    have. ``iterative``: the data decides
    how many steps it takes, and ``cost`` is a usual count. ``sums`` are the multiply-adds of sums over the rows which
    methods of one draw may share, ``cost`` all others; None: unknown, and the dry run says so. ``letters`` finds more
    letters of the formulas in the solver's parameters. ``libraries`` it may ask for besides this package's own.
    ``without_map`` are those of a solver that learns on the kernel where it has no map; None: the same.
    ``sparse_cost`` are the multiply-adds of a fit to sparse features (`MapServes.sparse`), R numbers in a row; None: it
    does not take them.
    """

    uses: Literal["features", "kernel rows", "own functions", "inputs"] = "features"
    kernels: Traits = None
    tasks: tuple[Task, ...] = TASKS
    iterative: bool = False
    sums: str = "0"
    cost: str | None = None
    without_map: str | None = None
    sparse_cost: str | None = None
    letters: Callable[[Mapping[str, Any]], Mapping[str, float]] = lambda config: {}
    libraries: tuple[str, ...] = ()
    source: str = ""


class NotServed(WrongParameter):
    """A part does not serve the value of ``parameter``; the message is a sentence of its own."""

    def __str__(self) -> str:
        return str(self.args[1])


Factory = TypeVar("Factory")


def serves(declared: SolverServes) -> Callable[[Factory], Factory]:
    """Decorate a solver's factory with what it serves."""

    def declare(factory: Factory) -> Factory:
        factory.serves = declared  # type: ignore[attr-defined]
        return factory

    return declare


def serves_kernel(traits: Traits, kernel: str | Kernel) -> bool:
    """Whether ``kernel`` has the trait, or one of the traits, that a part needs. ValueError for an unknown name."""
    from rffbench.kernels import make_kernel

    return traits is None or isinstance(make_kernel(kernel), traits)


def kernels_served(traits: Traits) -> list[str]:
    """The names of the built-in kernels that have the trait, or one of the traits."""
    from rffbench.kernels import KERNELS

    return [name for name, kernel in KERNELS.items() if traits is None or issubclass(kernel, traits)]


def check_kernel(part: str, traits: Traits, kernel: str | Kernel) -> None:
    """NotServed where ``part``, so called, needs a kernel with other traits; ValueError for an unknown ``kernel``."""
    if serves_kernel(traits, kernel):
        return
    name, having = kernel if isinstance(kernel, str) else kernel.called(), kernels_served(traits)
    if not (words := needed(traits)):
        raise NotServed("kernel", f"{part} needs the {' or '.join(having)} kernel, got {name}")
    have = f"{', '.join(having)} {'has' if len(having) == 1 else 'have'}" if having else "no kernel has"
    raise NotServed("kernel", f"{part} needs a kernel with {words}; {name} has none; {have}")


def check_task(part: str, tasks: Iterable[str], task: str, instead: Iterable[str] = ()) -> None:
    """NotServed where ``part``, so called, is not for ``task``; ``instead`` are parts that are."""
    if task not in tasks:
        others = f"; for {task} use {' or '.join(map(repr, instead))}" if instead else f", and not for {task}"
        raise NotServed("task", f"{part} is for {' and '.join(tasks)}{others}")


def check_sparse(part: str, takes: bool, features: str, instead: Iterable[str]) -> None:
    """NotServed where ``part``, so called, does not take the sparse features of the map ``features``; ``instead`` are
    parts that do."""
    if not takes:
        message = f"{part} takes no sparse features, as {features} makes; use {' or '.join(instead)}"
        raise NotServed("features", message)


def needed(traits: Traits) -> str:
    """The traits in words: "a product density"; empty of kernels by name, and where every kernel will do."""
    listed = () if traits is None else traits if isinstance(traits, tuple) else (traits,)
    from rffbench.kernels import TRAITS

    return " or ".join(each.trait for each in TRAITS.values() if each in listed)
