"""Rules that choose landmarks, rows S that approximate the kernel matrix: K ≈ K_nS·K_SS⁻¹·K_Sn.

Every rule reads the rows in blocks. For n rows and m landmarks it holds O(m² + n) numbers and a block, and computes
O(n·m) kernel values. A rule passes over all rows again only when its landmarks have doubled, when their residual has
fallen by a factor, or when a tenth of the rows have been proposed. Landmarks are in the order of the choice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, eigvalsh
from scipy.sparse import issparse, vstack

from rffbench.arguments.arrays import FloatArray
from rffbench.arguments.parameters import WrongParameter, check_choice
from rffbench.arguments.rowsource import BLOCK_ROWS, FiniteRows, dense_rows, is_row_source, row_blocks
from rffbench.arguments.seeds import generator
from rffbench.features.data_dependent.kmeans import STEP_ROWS, minibatch_centres
from rffbench.kernels import Kernel
from rffbench.kernels.bandwidth import chosen_rows
from rffbench.linalg import lapack
from rffbench.linalg.kernel_blocks import KernelBlocks
from rffbench.linalg.threads import blas_for, in_threads

Rule = Literal["uniform", "kmeans", "minibatch", "rls", "bless", "rpcholesky", "greedy"]
RULES: tuple[Rule, ...] = get_args(Rule)
CENTRES: tuple[Rule, ...] = ("kmeans", "minibatch")  # rules whose landmarks are no rows
VERSIONS: dict[Rule, int] = {"rpcholesky": 2}  # of rules by which a seed once gave other landmarks

EPSILON = float(np.finfo(np.float64).eps)
FIRST_BLOCK = 32  # pivots of the first round of a pivoted Cholesky factor
FEWEST_PROPOSED, MOST_PROPOSED = 32, 256  # rows at a time
WORTH_REFRESHING = 0.1  # once this share of all rows has been proposed, their residuals are computed again
WORTH_A_THREAD = 1 << 15  # numbers to solve for: fewer are not divided among threads
WEAK = 0.5  # a greedy pivot has at least this share of the largest residual
BLESS_STEP, BLESS_ROWS, BLESS_OVERSAMPLING = 2.0, 3.0, 3.0  # q, q₁ and q₂ of Rudi et al.
KMEANS_SAMPLE, KMEANS_PASSES = 3, 2  # rows that k-means starts with, in units of m; passes over all rows


class Landmarks(NamedTuple):
    """``points`` (m, d) float64, an array or a CSR matrix, and the ``numbers`` (m,) of these rows; None for centres."""

    points: Any
    numbers: NDArray[np.int64] | None


def choose_landmarks(rule: Rule, kernel: Kernel, X: Any, count: int, sequence: SeedSequence) -> Landmarks:
    """``count`` distinct landmarks of the rows X (n, d), an array, a CSR matrix or a row source, by a rule.

    'uniform': without replacement. 'kmeans': the centres of scikit-learn's MiniBatchKMeans, which are not rows (Zhang,
    Tsang and Kwok, ICML 2008). 'minibatch': such centres by this package's own k-means (`kmeans`), several times as
    fast. 'rls': by recursively estimated ridge leverage scores (Musco and Musco, NIPS 2017, Algorithm 3). 'bless': by
    leverage scores of falling λ, each for a part of the rows (Rudi et al., NeurIPS 2018, Algorithm 1). 'rpcholesky':
    randomly pivoted Cholesky, each row with a probability in proportion to its residual k(x, x) − k̂(x, x), in blocks by
    rejection, with the same distribution as one by one (Epperly, Tropp and Webber 2024; Chen, Epperly, Tropp and Webber
    2022). 'greedy': a row with at least half of the largest residual, a weak greedy pivot (DeVore, Petrova and
    Wojtaszczyk 2013).

    If the kernel matrix of the rows has a rank below ``count``, the missing landmarks are drawn uniformly. ValueError
    if X has fewer distinct rows than ``count``, or is a row source and a row that is read holds NaN or infinity.
    """
    check_choice("landmarks", rule, RULES)
    X = FiniteRows(X) if is_row_source(X) else X
    n, rng = X.shape[0], generator(sequence, "landmarks")
    if count > n:
        raise TooFewRows(count, n)
    if rule in CENTRES:
        return Landmarks(_centres(rule, kernel, X, count, rng, sequence), None)
    orders: dict[str, Callable[[Kernel, Any, int, Generator], NDArray[np.int64]]] = {
        "uniform": lambda kernel, X, count, rng: rng.permutation(n), "rls": _by_recursive_scores, "bless": _bless,
        "rpcholesky": randomly_pivoted, "greedy": greedily_pivoted,
    }  # fmt: skip
    return first_distinct(X, orders[rule](kernel, X, count, rng), count, rng)


def own_landmarks(X: Any, rows: Any) -> Landmarks:
    """Landmarks that the user gives: row numbers (m,), or points (m, d)."""
    given = rows if issparse(rows) else np.asarray(rows)
    n, d = X.shape
    if given.ndim == 2 and given.shape[1] == d and given.shape[0]:
        return Landmarks(given.astype(np.float64), None)
    if given.ndim != 1 or not given.size or given.dtype.kind not in "iu":
        problem = f"must be {', '.join(map(repr, RULES))}, row numbers (m,) or points (m, {d}), got shape {given.shape}"
        raise WrongParameter("landmarks", problem)
    index = given.astype(np.int64)
    if not (index.min() >= 0 and index.max() < n):
        raise WrongParameter("landmarks", f"must be row numbers from 0 to {n - 1}, got {index.min()} to {index.max()}")
    if len(np.unique(index)) < len(index):
        raise WrongParameter("landmarks", "must be distinct row numbers, got some twice")
    return Landmarks(rows_at(X, index), index)


class TooFewRows(ValueError):
    """There are fewer rows, or fewer ``distinct`` ones, than landmarks."""

    def __init__(self, count: int, distinct: int) -> None:
        super().__init__(
            f"{count} landmarks need as many distinct rows, and X has {distinct}; take fewer (n_components)"
        )
        self.distinct = distinct


# ---- Rows ----


def rows_at(X: Any, index: NDArray[np.int64]) -> Any:
    """The rows ``index`` of X, in that order, float64; a row source is read block by block."""
    if isinstance(X, np.ndarray) or issparse(X):
        return X[index].astype(np.float64)
    order = np.argsort(index)
    rows = chosen_rows(X, index[order]).astype(np.float64)
    rows[order] = rows.copy()
    return rows


def _blocks_at(X: Any, index: NDArray[np.int64] | None) -> Iterator[tuple[slice, Any]]:
    """The rows ``index``, ascending, of X, or all rows, in blocks, each with its place in ``index``."""
    for rows in row_blocks(X.shape[0]):
        if index is None:
            yield rows, X[rows]
            continue
        first, last = np.searchsorted(index, [rows.start, rows.stop])
        if last > first:
            yield slice(first, last), X[rows][index[first:last] - rows.start]


def first_distinct(X: Any, order: NDArray[np.int64], count: int, rng: Generator) -> Landmarks:
    """The first ``count`` distinct rows in the order of the row numbers ``order``, which the other rows follow in
    random order. ValueError if X has fewer distinct rows."""
    others = np.ones(X.shape[0], bool)
    others[order] = False
    order = np.concatenate([order, rng.permutation(np.flatnonzero(others))])
    seen: set[bytes] = set()
    parts, kept = [], []
    for start in range(0, len(order), count):
        index = order[start : start + count]
        rows = rows_at(X, index)
        new = []
        for at, content in enumerate(_contents(rows)):
            if content not in seen and len(seen) < count:
                seen.add(content)
                new.append(at)
        parts.append(rows[new])
        kept.append(index[new])
        if len(seen) == count:
            return Landmarks(_stacked(parts), np.concatenate(kept))
    raise TooFewRows(count, len(seen))


def _contents(rows: Any) -> Iterator[bytes]:
    """For each row, bytes that are equal for equal rows."""
    if not issparse(rows):
        yield from ((row + 0.0).tobytes() for row in rows)  # −0 is 0
        return
    rows = rows.copy()
    rows.sum_duplicates()
    rows.eliminate_zeros()
    for first, last in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        yield rows.indices[first:last].tobytes() + rows.data[first:last].tobytes()


def _stacked(parts: Sequence[Any]) -> Any:
    return vstack(parts, format="csr") if issparse(parts[0]) else np.concatenate(parts)


# ---- Residuals and leverage scores ----


def residuals(
    kernel: Kernel, X: Any, points: Any, root: NDArray[np.float64], index: NDArray[np.int64] | None = None
) -> NDArray[np.float64]:
    """The residuals k(x, x) − ‖R⁻¹k(S, x)‖² of the rows ``index`` (ascending; None: all) of X, (n,), 0 or more. S are
    the ``points`` (m, d); R, ``root`` (m, m), is lower triangular, RRᵀ = K_SS (+ a penalty).

    Residuals at the level of rounding are set to 0.
    """
    found = np.empty(X.shape[0] if index is None else len(index))
    blocks, m = KernelBlocks(kernel, points), len(root)
    for at, rows in _blocks_at(X, index):
        F = blocks(rows)
        solve_rows(root, F)
        diagonal = diagonal_of(kernel, rows)
        left = diagonal - np.einsum("ij,ij->i", F, F)
        found[at] = np.where(left > 10 * m * EPSILON * diagonal, left, 0)
    return found


def solve_rows(root: NDArray[np.float64], K: NDArray[np.float64]) -> None:
    """K ← K·R⁻ᵀ for rows K (n, m), contiguous, and R, ``root`` (m, m), lower triangular, a part of a larger matrix
    allowed. In threads, each with its rows."""
    m, root = len(root), root if root.strides[-1] == 8 else np.ascontiguousarray(root)

    def part(first: int, last: int) -> None:  # BLAS sees rows as columns, and R as Rᵀ
        lapack.call("dtrsm", b"L", b"U", b"T", b"N", m, last - first, 1.0, lapack.address(root), root.strides[0] // 8,
                    lapack.address(K[first:last]), m)  # fmt: skip

    if m:
        in_threads(part, len(K), worthwhile=K.size > WORTH_A_THREAD)


def diagonal_of(kernel: Kernel, rows: Any) -> NDArray[np.float64]:
    """k(x, x) of rows (n, d), an array or a CSR matrix."""
    if kernel.unit_diagonal:
        return np.ones(rows.shape[0])
    if not issparse(rows):
        return kernel.diagonal(rows)
    return np.array([float(kernel(row, row)[0, 0]) for row in (rows[[i]].toarray() for i in range(rows.shape[0]))])


def leverage_scores(
    kernel: Kernel, X: Any, points: Any, weights: NDArray[np.float64], penalty: float,
    index: NDArray[np.int64] | None = None,
) -> NDArray[np.float64]:  # fmt: skip
    """Estimates of the ridge leverage scores (K(K + penalty·I)⁻¹)_ii of the rows ``index`` (ascending; None: all) of X:
    (k(x, x) − k_xS(K_SS + penalty·W⁻¹)⁻¹k_Sx)/penalty. S are the ``points``, and W their ``weights`` (m,), one over the
    probability with which each was drawn. They are exact if S are all rows with weights of 1."""
    K = KernelBlocks(kernel, points)(points)
    K[np.diag_indices_from(K)] += penalty / weights
    return residuals(kernel, X, points, _root(K), index) / penalty


def _root(K: NDArray[np.float64]) -> NDArray[np.float64]:
    """The lower Cholesky factor of K, or of K plus a little of I if rounding makes K not positive definite."""
    for ridge in (0.0, 1e-14, 1e-12, 1e-10):
        try:
            raised = K + ridge * np.trace(K) * np.eye(len(K)) if ridge else K
            return np.asarray(cholesky(raised, lower=True, check_finite=False))
        except LinAlgError:
            continue
    raise ValueError(not_positive(float(eigvalsh(K)[0])))


def not_positive(eigenvalue: float) -> str:
    """The message for a kernel matrix with a negative eigenvalue."""
    return (
        "the kernel matrix of the landmarks is not positive semi-definite: its smallest eigenvalue is "
        f"{eigenvalue:.3g}; take a kernel that is, or another bandwidth"
    )


def _weighted_order(weights: NDArray[np.float64], rng: Generator) -> NDArray[np.int64]:
    """Row numbers drawn without replacement in proportion to ``weights``, without those of weight 0: the order of
    exponential variables with these rates (Efraimidis and Spirakis 2006)."""
    known = np.flatnonzero(weights > 0)
    return known[np.argsort(rng.exponential(size=len(known)) / weights[known])]


def _by_recursive_scores(kernel: Kernel, X: Any, count: int, rng: Generator) -> NDArray[np.int64]:
    """Musco and Musco's Algorithm 3: rows are halved at random until 2m are left. On the way back, the sample of each
    half estimates the scores of the next larger level. λ of a level is the sum of all but the k largest eigenvalues,
    over k = m/(4·log m), and rows are kept with probability min(1, log m·score)."""
    oversampling = max(1.0, np.log(count))
    k = int(np.ceil(count / (4 * oversampling)))
    levels = [np.arange(X.shape[0])]
    while len(levels[-1]) > 2 * count:
        half = rng.choice(levels[-1], -(-len(levels[-1]) // 2), replace=False)
        levels.append(np.sort(half))
    chosen = np.sort(rng.choice(levels[-1], min(count, len(levels[-1])), replace=False))
    weights = np.full(len(chosen), len(levels[-1]) / len(chosen))
    for level in reversed(levels):
        points = rows_at(X, chosen)
        penalty = _tail_mean(KernelBlocks(kernel, points)(points), weights, k)
        scores = leverage_scores(kernel, X, points, weights, penalty, None if level is levels[0] else level)
        if level is levels[0]:
            return _weighted_order(scores, rng)
        kept = np.minimum(1, oversampling * scores)
        kept *= min(1.0, 2 * count / max(kept.sum(), 1.0))  # no more than there is memory for
        drawn = np.flatnonzero(rng.uniform(size=len(level)) < kept)
        if len(drawn):
            chosen, weights = level[drawn], 1 / kept[drawn]
    raise AssertionError("the first level is all rows")


def _tail_mean(K: NDArray[np.float64], weights: NDArray[np.float64], k: int) -> float:
    """(tr K_w − Σ of its k largest eigenvalues)/k of K_w = W^½·K·W^½, but at least the level of rounding."""
    roots = np.sqrt(weights)
    values = eigvalsh(K * roots[:, None] * roots, check_finite=False)[::-1]
    least = len(K) * EPSILON * max(values[0], np.finfo(float).tiny)
    return float(max(values[k:].sum() / k, least))


def _bless(kernel: Kernel, X: Any, count: int, rng: Generator) -> NDArray[np.int64]:
    """Rudi et al.'s Algorithm 1: λ is halved, starting from κ². At each λ there is a uniform sample of q₁·κ²/λ rows, n
    at most. From it M = q₂·d_eff(λ) rows are drawn in proportion to their scores, which the draws of the λ before
    estimate. When M reaches m, the landmarks are drawn from that sample."""
    n = X.shape[0]
    chosen, weights, penalty = np.zeros(0, np.int64), np.zeros(0), n * _largest_diagonal(kernel, X)
    bound = penalty
    while True:
        penalty /= BLESS_STEP
        size = min(n, max(int(np.ceil(BLESS_ROWS * bound / penalty)), FIRST_BLOCK))
        last = size == n and penalty < 10 * n * EPSILON * bound
        rows = np.sort(rng.choice(n, size, replace=False))
        if len(chosen):
            scores = leverage_scores(kernel, X, rows_at(X, chosen), weights, penalty, rows)
        else:
            scores = np.full(size, 1 / size)
        effective = n / size * scores.sum()
        if last or (BLESS_OVERSAMPLING * effective >= count and size >= min(n, 2 * count)):
            return rows[_weighted_order(scores, rng)]
        if not scores.any():
            continue
        draws, p = int(np.clip(BLESS_OVERSAMPLING * effective, FIRST_BLOCK, 2 * count)), scores / scores.sum()
        drawn, often = np.unique(rng.choice(size, draws, p=p), return_counts=True)
        chosen, weights = rows[drawn], often * n / (size * draws * p[drawn])


def _largest_diagonal(kernel: Kernel, X: Any) -> float:
    """κ², the largest k(x, x) of the rows."""
    if kernel.unit_diagonal:
        return 1.0
    return max(float(diagonal_of(kernel, X[rows]).max()) for rows in row_blocks(X.shape[0]))


# ---- Pivoted Cholesky ----


class _Pivots:
    """A partial Cholesky factor of the kernel matrix of X's rows that grows by blocks of pivots."""

    def __init__(self, kernel: Kernel, X: Any, count: int) -> None:
        self.kernel, self.X, self.count = kernel, X, count
        self.index: list[int] = []
        self._root = np.zeros((count, count))  # of the pivots' own matrix, a row each
        self._points: list[Any] = []
        self.left = np.concatenate([diagonal_of(kernel, X[rows]) for rows in row_blocks(X.shape[0])])
        self._floor = 10 * count * EPSILON * self.left
        self._computed_at = 0  # the number of pivots when ``left`` was computed

    @property
    def full(self) -> bool:
        return len(self.index) == self.count

    @property
    def goal(self) -> int:
        """The number of pivots after this round: twice as many as before it, so that all rounds take O(n·m)."""
        return min(self.count, max(2 * len(self.index), FIRST_BLOCK))

    def refresh(self) -> None:
        """Compute the residuals k(x, x) − k̂(x, x) of all rows again. If no row was taken by those that are there,
        though they are of the present pivots, they are rounding, and become 0."""
        r = len(self.index)
        if r == self._computed_at:
            self.left[:] = 0
        elif not self.full:
            self._computed_at = r
            self.left = residuals(self.kernel, self.X, _stacked(self._points), self._root[:r, :r])
            self.left[self.left <= self._floor] = 0

    def grow(self, rows: NDArray[np.int64], wanted: int, choose: Callable[[NDArray[np.float64]], int | None]) -> int:
        """Take pivots among ``rows`` until there are ``wanted``, or until ``choose``, which gets their residuals each
        time, returns None. Returns how many were taken."""
        with blas_for(0):  # many small products
            return self._grow(rows, wanted, choose)

    def _grow(self, rows: NDArray[np.int64], wanted: int, choose: Callable[[NDArray[np.float64]], int | None]) -> int:
        points, r = rows_at(self.X, rows), len(self.index)
        own = KernelBlocks(self.kernel, points)(points)
        left, before = diagonal_of(self.kernel, points), np.zeros((len(rows), r))  # R's columns of earlier pivots
        if r:
            KernelBlocks(self.kernel, _stacked(self._points)).fill(points, before)
            solve_rows(self._root[:r, :r], before)
            own -= before @ before.T
            left -= np.einsum("ij,ij->i", before, before)
        new = np.zeros((len(rows), min(len(rows), wanted - r)))  # and of those that are taken here
        floor, taken = self._floor[rows], list[int]()
        while len(taken) < new.shape[1]:
            left[left <= floor] = 0
            at = choose(left)
            if at is None:
                break
            k = len(taken)
            new[:, k] = (own[:, at] - new[:, :k] @ new[at, :k]) / np.sqrt(left[at])
            left -= new[:, k] ** 2
            left[at] = 0
            taken.append(at)
        if taken:
            stop = r + len(taken)
            self._root[r:stop, :r] = before[taken]
            self._root[r:stop, r:stop] = np.tril(new[taken, : len(taken)])
            self._points.append(points[taken])
            self.index += rows[taken].tolist()
        return len(taken)


def randomly_pivoted(kernel: Kernel, X: Any, count: int, rng: Generator) -> NDArray[np.int64]:
    """Pivots of randomly pivoted Cholesky, ``count`` of them, or fewer if all residuals are 0. Rows are proposed by
    residuals of all rows that may be old, and accepted one by one with the probability of their present residual over
    the old one (Epperly, Tropp and Webber 2024). A proposed row costs a few times what a row costs whose residual is
    computed again, so that is done when a tenth of the rows have been proposed."""
    pivots = _Pivots(kernel, X, count)
    while not pivots.full and pivots.left.any():
        p, proposed, accepted = pivots.left / pivots.left.sum(), 0, 1.0
        while not pivots.full and proposed < WORTH_REFRESHING * len(p):
            wanted = (count - len(pivots.index)) / accepted
            rows = rng.choice(len(p), int(np.clip(wanted, FEWEST_PROPOSED, MOST_PROPOSED)), p=p)
            enough = rng.uniform(size=len(rows)) * pivots.left[rows]
            turns = iter(range(len(rows)))

            def choose(
                left: NDArray[np.float64], turns: Iterator[int] = turns, enough: FloatArray = enough
            ) -> int | None:
                return next((at for at in turns if left[at] > enough[at]), None)

            accepted = max(pivots.grow(rows, count, choose), 1) / len(rows)
            proposed += len(rows)
        pivots.refresh()
    return np.array(pivots.index, dtype=np.int64)


def greedily_pivoted(kernel: Kernel, X: Any, count: int, rng: Generator) -> NDArray[np.int64]:
    """Pivots with at least `WEAK` of the largest residual each, ``count`` of them, or fewer if all residuals are 0.
    Each is the largest in a random part of the rows above that bound. Pivoted Cholesky would take the largest of all
    rows, and so read all rows at every step."""
    pivots = _Pivots(kernel, X, count)
    while not pivots.full and pivots.left.any():
        least, goal = WEAK * pivots.left.max(), pivots.goal
        enough = np.flatnonzero(pivots.left >= least)
        rows = rng.choice(enough, min(len(enough), 2 * goal), replace=False)
        rows[0] = int(pivots.left.argmax()) if pivots.left.argmax() not in rows else rows[0]

        def choose(left: NDArray[np.float64], least: float = least) -> int | None:
            at = int(left.argmax())
            return at if left[at] >= least else None

        pivots.grow(rows, goal, choose)
        pivots.refresh()
    return np.array(pivots.index, dtype=np.int64)


# ---- k-means ----


def _centres(
    rule: Rule, kernel: Kernel, X: Any, count: int, rng: Generator, sequence: SeedSequence
) -> NDArray[np.float64]:
    """Centres (m, d) of the rows in units of the kernel's lengths, by k-means++ on a sample and passes over blocks.
    Repeated centres are replaced by rows."""
    n = X.shape[0]
    sample = np.sort(rng.choice(n, min(n, KMEANS_SAMPLE * count), replace=False))
    rows = first_distinct(X, sample, count, rng).points  # raises if there are too few
    scaled = kernel.scaled(rows_at(X, sample))
    if rule == "kmeans":
        centres = _centres_of_scikit_learn(kernel, X, scaled, count, sequence)
    else:

        def blocks() -> Iterator[NDArray[np.float64]]:
            for each in row_blocks(n, STEP_ROWS):
                yield dense_rows(kernel.scaled(X[each].astype(np.float64)))

        centres = minibatch_centres(blocks, dense_rows(scaled), count, rng, KMEANS_PASSES)
    if kernel.lengths is not None:
        centres = centres * np.asarray(kernel.lengths)
    if len(np.unique(centres, axis=0)) < count:
        both = np.concatenate([centres, dense_rows(rows)])
        centres = first_distinct(both, np.arange(len(both)), count, rng).points
    return np.asarray(centres)


def _centres_of_scikit_learn(
    kernel: Kernel, X: Any, sample: Any, count: int, sequence: SeedSequence
) -> NDArray[np.float64]:
    from sklearn.cluster import MiniBatchKMeans  # half a second, which every command that reads a config would take

    means = MiniBatchKMeans(count, random_state=int(sequence.generate_state(1)[0]), n_init=1)
    means.partial_fit(sample)
    for _ in range(KMEANS_PASSES):
        for block in row_blocks(X.shape[0], max(BLOCK_ROWS, count)):
            means.partial_fit(kernel.scaled(X[block].astype(np.float64)))
    return np.asarray(means.cluster_centers_)
