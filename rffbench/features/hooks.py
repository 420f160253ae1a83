"""The attributes that a feature map may have besides scikit-learn's contract, with their defaults.

A map of any package may have them. Code reads them by `hook`, never by ``getattr`` with another default. The maps of
this package inherit most of them from `rffbench.features.base.FeatureMap`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from rffbench.arguments.arrays import FloatArray
from rffbench.plugins.parts import MapServes, declared

if TYPE_CHECKING:
    from rffbench.kernels.own import OwnBlocks
    from rffbench.linalg.equal_columns import EqualColumns
    from rffbench.linalg.kernel_blocks import KernelBlocks


class KernelValues(NamedTuple):
    """The columns of φ(x) = R⁻¹·k(x) before they are mixed: ``blocks`` makes the kernel values k(x), ``root`` is R
    (r, r), lower triangular; both in float64, or both in float32."""

    blocks: KernelBlocks | OwnBlocks
    root: FloatArray


@dataclass(frozen=True)
class Distinct:
    """A map without its equal columns, and the correspondence of the whole map's columns with its own."""

    features: Any
    columns: EqualColumns


class Hooks:
    """The hooks, each with its default."""

    serves: MapServes = MapServes()
    """Which kernels it serves, whether it is biased, what it fits on, its cost: `rffbench.plugins.parts.MapServes`."""
    n_columns_: int | None = None
    """The number of columns of a fitted map whose rows decide it; None: ``n_components``."""
    unbiased: bool = True
    """Whether E[φ(x)ᵀφ(x′)] = k(x, x′). If False, ``rffbench check-method`` does not judge the rate of the error."""
    columns_per_frequency: int = 1
    """Output columns of a frequency, and so of each of a config's ``n_features``, unless these count columns."""
    n_frequencies: int | None = None
    """s, the frequencies of its columns; None: one for each column."""
    n_drawn: int | None = None
    """l, the frequencies that it draws to choose s from; None: s."""
    n_expanded: int | None = None
    """m, the columns that it makes before it projects them; None: it does not project."""
    letters: Callable[[int], dict[str, float]] | None = None
    """For d input columns, the values of letters in ``serves`` that only this map's formulas have."""
    check_inputs: Callable[[int], object] | None = None
    """``check_inputs(d)`` raises ValueError if the map cannot map rows of d input columns, so that a config is refused
    before anything runs; None: it maps any number."""
    takes_targets: bool = False
    """Whether ``fit`` takes the targets (n, t) that a solver learns, and not the labels or values y (n,)."""
    accepts_sparse: bool = False
    """Whether ``fit`` and ``fill`` take CSR matrices."""
    fill: Callable[[FloatArray, FloatArray], object] | None = None
    """``fill(X, out)`` writes the features of X into ``out``, both of one dtype, without checks; None: only
    ``transform`` makes them."""
    unmixed: KernelValues | None = None
    """For a fitted map φ(x) = R⁻¹·k(x): the cheaper columns k(x), and R. Ridge then adds up KᵀK and applies R to the
    sums, not to every row."""
    bytes_to_fit: int = 0
    """The bytes that ``fit`` holds at once, besides the rows."""
    bytes_kept: Callable[[int], int] | None = None
    """``bytes_kept(n)``: the most that it keeps besides frequencies when fitted to n rows; None: nothing."""
    bytes_to_map: int = 0
    """The bytes that mapping a block of rows takes, besides the features."""
    base: Hashable | None = None
    """What its draw depends on besides kernel and stream. Fitted maps of equal ``base`` are columns of one draw, and
    share its features and Gram matrix. None: it shares nothing."""
    distinct: Callable[[], Distinct | None] | None = None
    """A fitted map without the copies of its repeated frequencies; None if no frequency is repeated."""


def hook(features: Any, name: str) -> Any:
    """The attribute ``name``, one of `Hooks`, of a map of any package; the default if it has none, or is None."""
    return declared(features, name, getattr(Hooks, name))


def bears_threads(features: Any) -> bool:
    """Whether several threads may call a map's ``fill`` at once, as they may in this package."""
    return getattr(hook(features, "fill"), "__module__", "").startswith(f"{__package__.partition('.')[0]}.")


def columns_of(features: Any) -> int:
    """The number of columns of a fitted map."""
    known = hook(features, "n_columns_")
    return int(features.n_components if known is None else known)


def most_columns(features: Any, n: int) -> int:
    """The largest number of columns that a map fitted to n rows may have."""
    return int(features.n_components) * (n if makes_sparse(features) else 1)


def makes_sparse(features: Any) -> bool:
    """Whether the features of a map are a CSR matrix; False for None."""
    serves = hook(features, "serves")
    return isinstance(serves, MapServes) and serves.sparse
