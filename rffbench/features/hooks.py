"""All that a feature map may say of itself besides scikit-learn's contract, with the defaults.

A map of any package may have these attributes; they are read by `hook`, never by ``getattr`` with a default of its own.
The maps of this package have most of them from `rffbench.features.base.FeatureMap`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from rffbench.parts import MapServes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rffbench.features.data_dependent.nystroem import KernelValues
    from rffbench.features.weighted.pool import Distinct


class Hooks:
    """The hooks, each with its default."""

    serves: MapServes = MapServes()
    """Which kernels it serves, whether it is biased, what it fits on, what it costs: `rffbench.parts.MapServes`."""
    n_columns_: int | None = None
    """Of a fitted map whose rows decide how many columns it has: how many; None: ``n_components``."""
    unbiased: bool = True
    """Whether E[φ(x)ᵀφ(x′)] = k(x, x′); False, by design: ``rffbench check-method`` then doesn't judge its rate."""
    columns_per_frequency: int = 1
    """Output columns of a frequency, and so of each of a config's ``n_features`` where these don't count columns."""
    n_frequencies: int | None = None
    """s, the frequencies of its columns; None: as many as columns."""
    n_drawn: int | None = None
    """l, the frequencies it draws to choose s from; None: s."""
    n_expanded: int | None = None
    """m, the columns it makes before it projects them; None: it does not project."""
    letters: Callable[[int], dict[str, float]] | None = None
    """Letters of the formulas in ``serves`` that only this map has, for d input columns."""
    check_inputs: Callable[[int], object] | None = None
    """``check_inputs(d)`` raises ValueError where it cannot map rows of d input columns, so that a config is refused
    before anything runs; None: it maps any."""
    takes_targets: bool = False
    """Whether ``fit`` takes the targets (n, t) that a solver learns, and not the labels or values y (n,)."""
    accepts_sparse: bool = False
    """Whether ``fit`` and ``fill`` take CSR matrices."""
    fill: Callable[[NDArray, NDArray], object] | None = None
    """``fill(X, out)`` writes the features of X into ``out``, both of one dtype, without checks; None: ``transform``
    makes them."""
    unmixed: KernelValues | None = None
    """Of a fitted map φ(x) = R⁻¹·k(x): the cheaper columns k(x), and R. Ridge then adds up KᵀK and applies R to the
    sums, not to every row."""
    bytes_to_fit: int = 0
    """What ``fit`` holds at once, besides the rows."""
    bytes_kept: Callable[[int], int] | None = None
    """``bytes_kept(n)``: what it keeps at most, fitted to n rows, besides frequencies; None: nothing."""
    bytes_to_map: int = 0
    """What mapping a block of rows holds, besides its features."""
    base: Hashable | None = None
    """What its draw depends on besides kernel and stream: fitted maps of equal ``base`` are columns of one draw, and
    share its features and Gram matrix. None: it shares nothing."""
    distinct: Callable[[], Distinct | None] | None = None
    """Of a fitted map: itself without the copies of frequencies that it has more than once; None without such."""


def hook(features: Any, name: str) -> Any:
    """The attribute ``name``, one of `Hooks`, of a map of any package, its default where it has none, and of None."""
    return getattr(features, name, getattr(Hooks, name))


def bears_threads(features: Any) -> bool:
    """Whether the ``fill`` of a map may be called by several threads at once, as those of this package may."""
    return getattr(hook(features, "fill"), "__module__", "").startswith(f"{__package__.partition('.')[0]}.")


def columns_of(features: Any) -> int:
    """How many columns a fitted map has."""
    known = hook(features, "n_columns_")
    return int(features.n_components if known is None else known)


def most_columns(features: Any, n: int) -> int:
    """How many columns a map, fitted to n rows, has at most."""
    return int(features.n_components) * (n if makes_sparse(features) else 1)


def makes_sparse(features: Any) -> bool:
    """Whether the features of a map are a CSR matrix; not of None."""
    serves = hook(features, "serves")
    return isinstance(serves, MapServes) and serves.sparse
