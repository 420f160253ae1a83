"""The base classes of feature maps: `FeatureMap` checks parameters and rows, and streams; `FourierFeatures` maps."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from rffbench.arguments.arrays import FloatArray
from rffbench.arguments.parameters import WrongParameter, check_choice, check_count
from rffbench.arguments.rowsource import float_rows, is_row_source, row_blocks
from rffbench.arguments.seeds import RandomState, generator, seed_sequence
from rffbench.features.hooks import hook, makes_sparse
from rffbench.kernels import Kernel, SpectralKernel, make_spectral_kernel
from rffbench.kernels.bandwidth import Bandwidth
from rffbench.kernels.served import check_kernel
from rffbench.linalg.sketches import Sketch
from rffbench.linalg.trigonometric import TILE_COLUMNS, Tiles, cos_sin_columns, fourier_columns, products
from rffbench.plugins.parts import MapServes, declared


def draw_frequencies(
    kernel: SpectralKernel, s: int, d: int, sequence: SeedSequence, order: Literal["C", "F"] = "F"
) -> NDArray[np.float64]:
    """The stream's base frequencies W (d, s), laid out in ``order``: the same for all maps of one stream and kernel.
    Sizes nest."""
    return kernel.sample(generator(sequence, "frequencies"), s, d, order=order)


def draw_phases(s: int, sequence: SeedSequence) -> NDArray[np.float64]:
    """The stream's phases b (s,), uniform on [0, 2π); sizes nest."""
    return generator(sequence, "phases").uniform(0, 2 * np.pi, s)


def mapped(features: Any, X: Any, columns: int | None = None) -> Any:
    """``features.transform(X)`` of a map of any package, (rows of X, ``columns``); None allows any number of columns.

    ValueError, naming the map, unless that is a real array, or a CSR matrix of a map of sparse features. Numbers longer
    than float64, such as ``np.longdouble``, are rounded to float64, because no solver takes them."""
    Z, sparse = features.transform(X), makes_sparse(features)
    is_one = issparse(Z) and Z.format == "csr" if sparse else isinstance(Z, np.ndarray)
    real = is_one and Z.ndim == 2 and Z.dtype.kind in "biuf"
    if not real or Z.shape != (X.shape[0], columns or Z.shape[1]):
        given = f"{Z.dtype} {Z.shape}" if is_one else type(Z).__name__
        wanted = f"({X.shape[0]}, {columns or 'columns'})"
        what = "a CSR matrix" if sparse else "an array of numbers"
        raise ValueError(f"{type(features).__name__}.transform must give {what} {wanted}, got {given}")
    return Z.astype(np.float64) if Z.dtype.itemsize > 8 else Z


def fitted_map(features: Any, X: Any, y: FloatArray, Y: NDArray[np.float64]) -> Any:
    """A fitted clone of the map ``features``. If its class says ``takes_targets``, it is fitted to the targets Y (n, t)
    that the solver learns, so that it need not guess whether numbers are classes; else to y, the labels or values."""
    return fitted(clone(features), X, Y if hook(features, "takes_targets") else y)


def fitted(features: Any, X: Any, y: FloatArray) -> Any:
    """What ``features.fit(X, y)`` returns, of a map of any package; ValueError, naming it, if that is not a map."""
    found = features.fit(X, y)
    if declared(found, "transform") is None:
        raise ValueError(f"{type(features).__name__}.fit must return the fitted map, self, got {type(found).__name__}")
    return found


@contextmanager
def naming_who_writes(features: Any, solver: Any = None) -> Iterator[None]:
    """In the block, an error from writing to a read-only array becomes a ValueError that names the map or solver."""
    try:
        yield
    except Exception as error:
        if not any(said in str(error) for said in ("read-only", "readonly", "WRITEABLE flag to True")):
            raise
        kinds, who, trace = (type(features), type(solver)), type(solver), error.__traceback__
        while trace is not None:  # blame the innermost of the two
            owner = type(trace.tb_frame.f_locals.get("self"))
            who, trace = owner if owner in kinds else who, trace.tb_next
        raise ValueError(
            f"{who.__name__} writes to an array of its input, which other methods use too; "
            "it must copy the array first (X = X.copy()) or compute into a new one"
        ).with_traceback(error.__traceback__) from error


def check_finite(features: Any, Z: Any) -> None:
    """ValueError, naming the map, if a block Z of its features holds NaN, infinity, or numbers whose squares overflow.
    It costs a sum over Z. With ``features`` None, Z are the rows themselves."""
    numbers = Z.data[:, None] if issparse(Z) else Z
    if not np.isfinite(np.einsum("ij,ij->", numbers, numbers)):
        raise ValueError(not_finite(features))


def not_finite(features: Any) -> str:
    """The message for numbers of the map ``features`` that are not finite, or whose squares are not."""
    subject = "X holds" if features is None else f"the features of {type(features).__name__} hold"
    return f"{subject} NaN, infinity, or numbers too large to be squared"


def held_bytes(features: Any) -> int:
    """The bytes of a fitted map's arrays, those of maps and sketches among its attributes included; 0 for None."""
    parts = vars(features).values() if isinstance(features, (BaseEstimator, Sketch)) else ()
    return sum(int(declared(part, "nbytes", 0)) or held_bytes(part) for part in parts)


class ColumnBlock(NamedTuple):
    """Columns that share phases t = XW + b: ``cos`` are those with scale·cos t, ``sin`` those with scale·sin t."""

    W: FloatArray
    offset: FloatArray | None
    scale: FloatArray | float
    cos: slice | None
    sin: slice | None


def write_columns(X: Any, blocks: list[ColumnBlock], out: FloatArray) -> None:
    """Write the columns of ``blocks`` for the rows X (n, d) into ``out`` (n, columns), both of one dtype."""
    for W, offset, scale, cos, sin in blocks:
        fourier_columns(
            X, W, cos=None if cos is None else out[:, cos], sin=None if sin is None else out[:, sin],
            offset=offset, scale=scale,
        )  # fmt: skip


class FeatureMap(Bandwidth, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of the maps φ, ``n_components`` columns, with φ(x)ᵀφ(x′) ≈ k(x, x′).

    A subclass implements ``fill``, and ``fit``, which calls ``check_parameters`` and ``_validated`` and then draws. Its
    ``serves`` says which kernels it serves and what it costs; `rffbench.features.hooks` lists its other attributes.
    """

    serves: ClassVar[MapServes] = MapServes()
    choices: ClassVar[dict[str, tuple[object, ...]]] = {}
    """The allowed values of parameters with a fixed list."""
    accepts_sparse: ClassVar[bool] = False
    """Whether ``fill`` and ``fit`` take a CSR matrix too, so that X is never made dense."""

    n_components: int
    n_features_in_: int
    _fitted_to_sparse = False

    def __init__(
        self, n_components: int = 100, *, kernel: str | Kernel = "gaussian", gamma: float | str = 1.0,
        random_state: RandomState = None,
    ) -> None:  # fmt: skip
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.random_state = random_state

    def check_parameters(self) -> None:
        """Raise ValueError for a wrong parameter, naming it and what would be right."""
        for name, allowed in self.choices.items():
            check_choice(name, getattr(self, name), allowed)
        check_kernel(type(self).__name__, self.serves.kernels, self.kernel)
        self._check_kernel()
        check_count("n_components", self.n_components, least=1)

    @property
    def unbiased(self) -> bool:
        """Whether, with these parameters, E[φ(x)ᵀφ(x′)] = k(x, x′)."""
        return not self.serves.bias

    def fill(self, X: FloatArray, out: FloatArray) -> None:
        """Write the features of X (n, d) into ``out`` (n, columns), both of one dtype; unvalidated."""
        raise NotImplementedError

    def transform(self, X: Any) -> FloatArray:
        """Map X (n, d) to the features (n, n_components), in X's dtype (float64 or float32)."""
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        out = np.empty((X.shape[0], self.n_components), dtype=X.dtype)
        if isinstance(X, np.ndarray) or issparse(X):
            self.fill(X, out)
        else:
            for rows in row_blocks(X.shape[0]):
                self.fill(X[rows], out[rows])
        return out

    def _validated(self, X: Any, *, reset: bool) -> Any:
        """X as an array, CSR matrix or row source of float64 or float32. With ``reset``, for the rows of a fit, γ is
        learnt too."""
        X = self._validated_rows(X, reset=reset)
        if reset:
            self._fitted_to_sparse = issparse(X)
            self._learn_gamma(X)
        return X

    def _validated_rows(self, X: Any, *, reset: bool) -> Any:
        if not is_row_source(X):
            sparse = "csr" if self.accepts_sparse else False
            return validate_data(self, X, reset=reset, dtype=[np.float64, np.float32], accept_sparse=sparse)
        X = float_rows(X)
        if reset:
            self.n_features_in_ = X.shape[1]
        elif X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return X

    @property
    def _n_features_out(self) -> int:
        return self.n_components

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.accepts_sparse
        tags.target_tags.required |= hook(self, "takes_targets")
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class FourierFeatures(FeatureMap):
    """Base class of maps φ with φ(x)ᵀφ(x′) ≈ k(x, x′), whose columns are cosines and sines of wᵀx.

    A paired map has the columns [cos block (s) | sin block (s)], s = ``n_components``/2, scaled by 1/√s. An odd
    ``n_components`` is refused, except 1, which scikit-learn's tools ask for: one cosine, which estimates nothing.

    A subclass implements ``fit``: it calls ``_validated``, then sets the learnt attributes or calls ``set_pairs``.

    Attributes
    ----------
    frequencies_ : (d, s) float64, or (d, n_components) where cosines and sines have different frequencies.
    weights_ : importance weights p/q, one per column of ``frequencies_``; ones when unweighted.
    probabilities_ : the probability with which each column of ``frequencies_`` was chosen among the drawn ones; 1/s if
        all are kept.
    offset_ : phase of each column of ``frequencies_`` in radians, or None.
    scale_ : factor of each column of ``frequencies_``, √(weight/s), or one number for all.
    n_features_in_ : d.
    """

    serves: ClassVar[MapServes] = MapServes(kernels=SpectralKernel)
    accepts_sparse = True

    frequencies_: NDArray[np.float64]
    weights_: NDArray[np.float64]
    probabilities_: NDArray[np.float64]
    offset_: NDArray[np.float64] | None
    scale_: NDArray[np.float64] | float

    @property
    def columns_per_frequency(self) -> int:
        """Output columns a frequency makes: a cosine and a sine."""
        return 2

    def check_parameters(self) -> None:
        """As for every map; columns must come in pairs."""
        super().check_parameters()
        if self.n_components % self.columns_per_frequency and self.n_components != 1:
            problem = f"must be even, a cosine and a sine for each frequency, got {self.n_components}"
            raise WrongParameter("n_components", problem)

    @property
    def base(self) -> Hashable | None:
        """What ``draw`` depends on besides kernel and stream. Maps of equal base draw the same frequencies: the smaller
        map has the first ones of the larger. None if the map's columns do not come from such a draw."""
        return None

    def draw(self, count: int, d: int) -> NDArray[np.float64]:
        """The first ``count`` base frequencies (d, count) of this map's kernel and stream."""
        kernel = make_spectral_kernel(self.kernel, self.bandwidth)
        order: Literal["C", "F"] = "C" if self._fitted_to_sparse else "F"
        return draw_frequencies(kernel, count, d, seed_sequence(self.random_state), order)

    @property
    def n_frequencies(self) -> int:
        """s, the number of frequencies for ``n_components`` columns."""
        return max(1, self.n_components // self.columns_per_frequency)

    def fill(self, X: FloatArray, out: FloatArray) -> None:
        """Write the features of X (n, d) into ``out`` (n, columns), both of one dtype; unvalidated."""
        write_columns(X, self.column_blocks(out.shape[1], X.dtype), out)

    def column_blocks(self, columns: int, dtype: np.dtype) -> list[ColumnBlock]:
        """The blocks from which `write_columns` computes the map's ``columns`` columns, in the data's dtype."""
        W, offset, scale = self._columns_in(dtype)
        half = max(1, columns // 2)
        cos, sin = slice(half), slice(half, columns) if columns > half else None
        if W.shape[1] == half:
            return [ColumnBlock(W, offset, scale, cos, sin)]

        def block(part: slice, cos: slice | None, sin: slice | None) -> ColumnBlock:
            return ColumnBlock(
                W[:, part], None if offset is None else offset[part],
                scale[part] if isinstance(scale, np.ndarray) else scale, cos, sin,
            )  # fmt: skip

        return [block(cos, cos, None)] + ([] if sin is None else [block(sin, None, sin)])

    def phase_tiles(self, X: Any) -> tuple[Tiles, int]:
        """A function that writes tiles of the phases XW of rows X (n, d), an array or CSR, in X's dtype; and a tile's
        number of columns. Tiles begin at multiples of that number."""
        return products(X, self.frequencies_.astype(X.dtype, copy=False)), TILE_COLUMNS

    def fill_by_tiles(self, X: Any, out: FloatArray) -> None:
        """``fill`` of a paired map, by its `phase_tiles`."""
        s, (phases, width) = self.n_frequencies, self.phase_tiles(X)
        cos_sin_columns(
            phases, out[:, :s], out[:, s:] if out.shape[1] > s else None, n=X.shape[0], s=s, dtype=X.dtype,
            scale=self.scale_, width=width,
        )  # fmt: skip

    def set_pairs(self, frequencies: NDArray[np.float64]) -> None:
        """Install an unweighted paired map of ``frequencies`` (d, s)."""
        self.frequencies_ = self.laid_out(frequencies)
        self.set_unweighted(frequencies.shape[1])

    def laid_out(self, frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
        """Frequencies (d, s) in the memory order of the product with the fitted rows. The product with a CSR matrix
        needs each row of W in one piece, and would otherwise copy W for each block."""
        return np.ascontiguousarray(frequencies) if self._fitted_to_sparse else frequencies

    def set_unweighted(self, s: int) -> None:
        """Set weights, probabilities, offset and scale of s frequencies with equal weights."""
        self.weights_ = np.ones(s)
        self.probabilities_ = np.full(s, 1 / s)
        self.offset_ = None
        self.scale_ = 1 / np.sqrt(s)

    def _columns_in(self, dtype: np.dtype) -> tuple[FloatArray, FloatArray | None, FloatArray | float]:
        """Frequencies, offset and scale, drawn in float64, in the data's dtype."""
        offset = None if self.offset_ is None else self.offset_.astype(dtype, copy=False)
        scale = self.scale_
        if isinstance(scale, np.ndarray):
            scale = scale.astype(dtype, copy=False)
        return self.frequencies_.astype(dtype, copy=False), offset, scale
