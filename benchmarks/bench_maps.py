"""Every feature map: the time to map rows, against the least that it needs, and against a public implementation.

The least, a map's bound, is the part of its work that no code can leave out, done by itself with the same numbers: the
matrix products, the Walsh–Hadamard or Fourier transforms, or the hashing. Cosines, sines, scales, and the writing of Z
come on top. Peers run in environments of their own (peers.py); no package that installs has random binning, so its peer
is ten lines of NumPy and SciPy. Maps and their peers have equally many columns, the same rows, dtype and threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, rfft
from scipy.sparse import csr_array, issparse

from benchmarks.bench_structured import crossing
from benchmarks.measure import compare, single, thread_counts, threads, triad_seconds
from benchmarks.peers import PeerError, peer
from rffbench.features import MAPS
from rffbench.linalg.hadamard import walsh_hadamard
from rffbench.linalg.threads import in_threads
from rffbench.linalg.trigonometric import cos_sin_columns

Work = Callable[[], object]
ROWS, COLUMNS, INPUTS = 4_096, 2_048, 256
BOUND, PEER, FAR_PEER = 2.0, 1.0, 3.0  # goals: at most twice the bound; no slower than a peer; three times as fast
PARTS = 1.3  # a goal, too: what maps whose bound is short take of all their parts, each done by itself
DTYPES = ("float64", "float32")


# ---- What no code can leave out ----------------------------------------------------------------------------


def product(made: Any, X: NDArray) -> Work:
    """The product X·W: two columns a frequency."""
    return _products(X, [made.n_components // 2])


def product_of_columns(made: Any, X: NDArray) -> Work:
    """The product X·W: a column each."""
    return _products(X, [made.n_components])


def product_of_pool(made: Any, X: NDArray) -> Work:
    """The product X·W: of all frequencies that are then projected."""
    return _products(X, [made.expansion * made.n_components // 2])


def products_of_degrees(made: Any, X: NDArray) -> Work:
    """The products with X: one for each factor of each column, and two for a complex one."""
    degrees = np.asarray(made.degrees_)
    return _products(X, [made.parts * int((degrees >= n).sum()) for n in range(1, int(degrees.max()) + 1)])


def product_and_projection(made: Any, X: NDArray) -> Work:
    """The products X·W and F·Q."""
    inner = made.expansion * made.n_components
    W, Q = (np.ones(shape, X.dtype) for shape in [(X.shape[1], inner // 2), (inner, made.n_components)])
    F = np.ones((len(X), inner), X.dtype)
    return lambda: (X @ W, F @ Q)


def landmarks_and_whitening(made: Any, X: NDArray) -> Work:
    """The products of rows and landmarks, and of K and K_ll^(−1/2)."""
    m = made.n_components
    L, Q, K = np.ones((X.shape[1], m), X.dtype), np.ones((m, m), X.dtype), np.ones((len(X), m), X.dtype)
    return lambda: (X @ L, K @ Q)


def three_transforms(made: Any, X: NDArray) -> Work:
    """Three Walsh–Hadamard transforms of the rows: for every block of frequencies."""
    return _transforms(made, X, 3)


def two_transforms(made: Any, X: NDArray) -> Work:
    """Two Walsh–Hadamard transforms of the rows: for every block of frequencies."""
    return _transforms(made, X, 2)


def one_transform(made: Any, X: NDArray) -> Work:
    """A Walsh–Hadamard transform of the rows: for every block of frequencies."""
    return _transforms(made, X, 1)


def butterflies(made: Any, X: NDArray) -> Work:
    """The rotations: of the rows, by three butterflies for every simplex; of few inputs, which are multiplied out, the
    product X·W."""
    if made._butterflies is None:
        return product(made, X)
    from numba import njit, prange

    from rffbench.linalg.butterfly_kernels import VECTOR_BYTES, rotate_back

    rotations = made._butterflies
    permutations, turns = rotations.permutations, rotations.turns.astype(X.dtype)
    d, lanes = X.shape[1], VECTOR_BYTES // X.itemsize
    found = np.empty((-(-len(X) // lanes), d * lanes), X.dtype)

    @njit(parallel=True)
    def rotate(permutations: NDArray, turns: NDArray, d: int, found: NDArray) -> None:
        for batch in prange(len(found)):
            A, B = np.ones_like(found[batch]), np.empty_like(found[batch])
            for simplex in range(len(permutations)):
                A, B = rotate_back(A, B, permutations[simplex], turns[simplex], d)
            found[batch] = A

    return lambda: rotate(permutations, turns, d, found)


def fourier_transforms(made: Any, X: NDArray) -> Work:
    """The Fourier transforms: one for each factor of each degree's columns, and one back."""
    counts = [(n, int((np.asarray(made.degrees_) == n).sum())) for n in sorted(set(made.degrees_.tolist())) if n > 1]
    rows = [(n, np.ones((64, count), X.dtype)) for n, count in counts]  # a tile, as cache holds

    def work() -> None:
        for _ in range(len(X) // 64):
            for n, tile in rows:
                spectra = [rfft(tile) for _ in range(n)]
                irfft(spectra[0], tile.shape[1])

    return work


def hashing(made: Any, X: NDArray) -> Work:
    """The hashing: ⌊(x − u)/δ⌋·h, summed over coordinates, for every row and grid, without a look into a table."""
    from numba import njit, prange

    pitches, shifts = (np.ascontiguousarray(each.T) for each in (made.pitches_, made.shifts_))
    hashes = np.random.default_rng(0).integers(2**63, size=X.shape[1])
    found = np.empty((len(X), len(pitches)), np.int64)

    @njit(parallel=True)
    def cells(X: NDArray, inverse: NDArray, offset: NDArray, hashes: NDArray, found: NDArray) -> None:
        for i in prange(X.shape[0]):
            for g in range(inverse.shape[0]):
                code = 0
                for j in range(X.shape[1]):
                    code += int(np.floor(X[i, j] * inverse[g, j] - offset[g, j])) * hashes[j]
                found[i, g] = code

    return lambda: cells(X, 1 / pitches, shifts / pitches, hashes, found)


def _transforms(made: Any, X: NDArray, count: int) -> Work:
    frequencies = made.n_components // 2
    length = 1 << (X.shape[1] - 1).bit_length()
    rows = np.ones((len(X) * -(-frequencies // length), length), X.dtype)

    def work() -> None:
        rows[:] = 1.0
        for _ in range(count):
            walsh_hadamard(rows)

    return work


def _products(X: NDArray, columns: list[int]) -> Work:
    factors = [np.ones((X.shape[1], count), X.dtype) for count in columns]
    found = [np.empty((len(X), count), X.dtype) for count in columns]
    return lambda: [np.matmul(X, W, out=Z) for W, Z in zip(factors, found, strict=True)]


def cosines(made: Any, X: NDArray) -> Work:
    """The cosines and sines of every frequency, and the writing of Z."""
    s = made.n_components // 2
    F, Z = np.ones((len(X), s), X.dtype), np.empty((len(X), 2 * s), X.dtype)

    def phases(rows: slice, columns: slice, out: NDArray) -> None:
        out[:] = F[rows, columns]

    return lambda: cos_sin_columns(phases, Z[:, :s], Z[:, s:], n=len(X), s=s, dtype=X.dtype)


def exponentials(made: Any, X: NDArray) -> Work:
    """The exponentials of every column, and the writing of Z."""
    exponents, Z = np.full((2, len(X), made.n_components), -1.0, X.dtype)
    return lambda: in_threads(lambda first, last: np.exp(exponents[first:last], out=Z[first:last]), len(X))


def looks(made: Any, X: NDArray) -> Work:
    """The look for each hash in its grid's table, and the writing of Z's columns and values."""
    from rffbench.linalg.bin_kernels import look_up

    grids, n = made.grids_, len(X)
    hashes = np.empty((grids.count, n), np.uint64)

    def keep(first: int, found: NDArray[np.uint64]) -> None:
        hashes[first : first + len(found)] = found

    grids._each_group(X, keep)
    cells, columns = np.empty((grids.count, n), np.int64), np.empty((n, grids.count), np.int32)
    values = np.empty(columns.size, X.dtype)

    def look(first: int, last: int) -> None:
        for grid in range(first, last):
            look_up(hashes[grid], grids._keys[grid], grids._numbers[grid], 0, cells[grid])
        columns[:, first:last] = cells[first:last].T

    return lambda: (in_threads(look, grids.count), values.fill(1.0))


def plain_binning(made: Any, X: NDArray) -> Work:
    """Random binning with NumPy and SciPy: the cells of a grid by ``numpy.unique``, a grid at a time."""

    def work() -> object:
        columns, seen = [], 0
        for pitches, shifts in zip(made.pitches_.T, made.shifts_.T, strict=True):
            cells = np.floor((X - shifts) / pitches).astype(np.int64)
            _, found = np.unique(cells, axis=0, return_inverse=True)
            columns.append(found.ravel() + seen)
            seen = int(columns[-1].max()) + 1
        indices = np.stack(columns, axis=1)
        n, grids = indices.shape
        data = np.full(n * grids, grids**-0.5, X.dtype)
        return csr_array((data, indices.ravel(), np.arange(n + 1) * grids), shape=(n, seen))

    return work


# ---- The maps ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A map with its parameters; ``peers`` map package names to the ratio that is the goal."""

    name: str
    bound: Callable[[Any, NDArray], Work] | None = product
    parameters: dict[str, Any] = field(default_factory=dict)
    peers: dict[str, float] = field(default_factory=dict)
    inputs: int = INPUTS
    columns: int = COLUMNS
    asked: str = ""  # of the peers, where they call it otherwise
    plain: Callable[[Any, NDArray], Work] | None = None
    rest: Callable[[Any, NDArray], Work] | None = None  # what comes on top of the bound, where that is most of the work

    def __str__(self) -> str:
        given = [f"{key} {value}" for key, value in self.parameters.items() if key != "gamma"]
        return f"{', '.join([self.name, *given])}, d={self.inputs}, {self.columns:,} columns"


POLYNOMIAL = {"kernel": "polynomial", "gamma": 1.0}
CASES = [
    Case("fourier", peers={"scikit-learn": PEER, "rfflearn": PEER, "gpytorch": PEER}),
    Case("low-precision"),
    Case("moment-matching"),
    Case("qmc"),
    Case("orthogonal"),
    Case("simplex"),
    Case("quadrature"),
    Case("quadrature", butterflies, {"rotation": "butterfly"}, inputs=1_024),
    Case("gauss-hermite"),
    Case("leverage"),
    Case("surrogate-leverage"),
    Case("eerf"),
    Case("kernel-alignment"),
    Case("adaptive-resampling", parameters={"steps": 1}),
    Case("sorf", three_transforms, peers={"xGPR": PEER}, rest=cosines),
    Case("sorf", three_transforms, {"kernel": "matern"}, {"xGPR": PEER}, asked="sorf-matern"),
    Case("rom", three_transforms, rest=cosines),
    Case("fastfood", two_transforms, peers={"scikit-learn-extra": PEER}, rest=cosines),
    Case("srht", one_transform, rest=cosines),
    Case("countsketch-gaussian"),
    Case("compact", product_of_pool, columns=512),
    Case("tefm", product_and_projection, columns=512),
    Case("nystroem", landmarks_and_whitening, columns=1_024, peers={"scikit-learn": 1.3}),
    Case("activation", product_of_columns, {"kernel": "arc-cosine", "gamma": 1.0}),
    Case("positive", product_of_columns, {"kernel": "exponential", "form": "exp"}, {"performer-pytorch": PEER},
         rest=exponentials),
    Case("perceptron", product_of_columns, {"kernel": "perceptron", "gamma": 0.3}),
    Case("maclaurin", products_of_degrees),
    Case("complex-to-real", products_of_degrees),
    Case("tensor-sketch", fourier_transforms, {**POLYNOMIAL, "degrees": "product"}, {"scikit-learn": FAR_PEER}),
    Case("random-binning", hashing, {"kernel": "laplacian"}, inputs=16, columns=512, plain=plain_binning, rest=looks),
]  # fmt: skip
_COSINES = "The bound leaves out the cosines and sines and the writing of Z, which take longer than the transforms."
_SAME_CODE = (
    "It runs the code of `fourier` on other frequencies. On two threads that code's seconds differ by more than half "
    "from case to case."
)
MISSES = {
    "low-precision": "Each number is rounded by a random one of its own. Making these takes as long as the cosines, or "
    "longer; the bound has neither.",
    "moment-matching": _SAME_CODE,
    "qmc": _SAME_CODE,
    "orthogonal": _SAME_CODE,
    "quadrature": _SAME_CODE,
    "gauss-hermite": _SAME_CODE,
    "sorf": _COSINES,
    "rom": _COSINES,
    "fastfood": _COSINES,
    "srht": _COSINES,
    "compact": "The bound has the product alone. The cosines of all 2,048 columns, and the transform that makes 512 of "
    "them, come on top.",
    "nystroem": "Up to version 0.2.0 float32 rows were mapped in float64, as they still are where R⁻¹ multiplies "
    "rounding errors too much. scikit-learn computes float32 rows in float32.",
    "positive": "The bound leaves out the exponentials and the sums before them. Up to commit 102b52c BLAS's idle "
    "threads also took a processor from those that map.",
    "complex-to-real": "Up to commit 00b4216 the bound counted one product for each complex factor, which takes two: "
    "a ratio measured then is twice what it should be.",
    "tensor-sketch": "Hashing the rows and multiplying the transforms take half as long as the transforms.",
    "random-binning": "The bound is the hashing alone. The map then looks each hash up in its grid's table, which "
    "takes longer than the hashing, and writes Z.",
}
"""Why a map is behind a goal, for the page."""
DIMENSIONS = [32, 64, 128, 256, 512, 1024]
STRUCTURED = ["sorf", "fastfood"]


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Every case in both precisions, on one thread and on all; and from which dimension on a transform pays."""
    results: list[dict[str, Any]] = []
    rows, repeats = (ROWS // 4, 1) if quick else (ROWS, 3)
    for count in thread_counts():
        with threads(count):
            for dtype in DTYPES:
                for case in CASES:
                    results += measured(case, rows, dtype, count, repeats)
                for name in STRUCTURED:
                    results += _crossing(name, DIMENSIONS[:2] if quick else DIMENSIONS, rows, dtype, count, repeats)
    return results


def measured(case: Case, n: int, dtype: str, count: int, repeats: int) -> Iterator[dict[str, Any]]:
    where = f"{case}, {dtype}, {count} thread{'s' * (count > 1)}"
    details: dict[str, Any] = {
        "map": case.name, "n": n, "d": case.inputs, "columns": case.columns, "dtype": dtype, "threads": count,
    }  # fmt: skip
    X = _rows(n, case.inputs, dtype)
    made = _made(case.name, case.columns, **case.parameters).fit(X, np.where(X[:, 0] > 0, 1.0, -1.0))
    if case.bound is not None:
        about = (case.bound.__doc__ or "").split(":")[0].rstrip(".")
        yield compare(where, lambda: made.transform(X), case.bound(made, X), goal=BOUND, bound="at most",
                      repeats=repeats, peer_name=f"bound: {about[0].lower()}{about[1:]}", **details)  # fmt: skip
    if case.bound is not None and case.rest is not None:
        first, then = case.bound(made, X), case.rest(made, X)
        found = compare(f"{where}: its parts", lambda: made.transform(X), lambda: (first(), then()), goal=PARTS,
                        bound="at most", repeats=repeats, peer_name="the bound, then the rest", parts=True,
                        **details)  # fmt: skip
        Z = made.transform(X)
        moved = X.nbytes + (Z.data.nbytes + Z.indices.nbytes if issparse(Z) else Z.nbytes)
        yield found | {"traffic": triad_seconds(moved) / median(found["ours_s"])}
    if case.plain is not None:  # finds its cells anew, as a fit does
        again = _made(case.name, case.columns, **case.parameters)
        yield compare(f"{where}, fitted and mapped", lambda: again.fit_transform(X), case.plain(made, X), goal=FAR_PEER,
                      repeats=min(repeats, 3), peer_name="NumPy and SciPy", **details)  # fmt: skip
    for package, goal in case.peers.items():
        if package == "scikit-learn-extra" and dtype != "float64":
            continue  # computes in float64 alone
        with ExitStack() as stack:
            asked = {**details, "map": case.asked or case.name}
            try:
                theirs = stack.enter_context(peer(package, **asked))
            except PeerError as error:
                yield single(f"{where}: no comparison ({error})", [], np.nan, goal=None, peer=package, unit="s")
                continue
            yield compare(where, lambda: made.transform(X), theirs, goal=goal, repeats=repeats, peer_name=package,
                          **details)  # fmt: skip


def _crossing(
    name: str, dimensions: list[int], n: int, dtype: str, count: int, repeats: int
) -> Iterator[dict[str, Any]]:
    """The dense map's seconds over the structured one's, by dimension, with twice as many columns as inputs."""
    ratios = {}
    where = f"{dtype}, {count} thread{'s' * (count > 1)}"
    for d in dimensions:
        columns = max(COLUMNS, 2 * d)
        X = _rows(n, d, dtype)
        structured, dense = (_made(each, columns).fit(X) for each in (name, "fourier"))
        found = compare(
            f"{name}, d={d}, {columns:,} columns, {where}", lambda made=structured, X=X: made.transform(X),
            lambda made=dense, X=X: made.transform(X), goal=None, repeats=repeats, peer_name="the dense map",
            map=name, n=n, d=d, columns=columns, dtype=dtype, threads=count,
        )  # fmt: skip
        ratios[d] = found["ratio"]
        yield found
    first = crossing(ratios)
    goal = 128 if dtype == "float64" else 256
    yield single(f"{name} is ahead from this dimension on, {where}", [first], first, goal=goal, peer="the dense map",
                 unit="columns", dtype=dtype, threads=count)  # fmt: skip


def _rows(n: int, d: int, dtype: str) -> NDArray:
    return (np.random.default_rng(0).normal(size=(n, d)) / np.sqrt(d)).astype(dtype)


def _made(name: str, columns: int, **parameters: Any) -> Any:
    return MAPS.factory(name)(columns, **{"gamma": 0.5, "random_state": 0, **parameters})
