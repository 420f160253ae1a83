"""The marginal likelihood of a Gaussian process on features, with its gradient.

The targets of each output are y ~ N(0, C), C = v·ZZᵀ + D. D is diagonal: the noise σ², plus v·(k(x, x) − ‖z(x)‖²) with
the diagonal correction (FITC). All follows from A = ZᵀD⁻¹Z + I/v (p, p), its Cholesky factor L, and μ = A⁻¹ZᵀD⁻¹y:

    log|C|  = Σ log D + p·log v + log|A|        (the matrix determinant lemma)
    yᵀC⁻¹y  = yᵀD⁻¹y − (ZᵀD⁻¹y)ᵀμ               (Woodbury)
    C⁻¹y    = D⁻¹(y − Zμ),   ZᵀC⁻¹y = μ/v,   C⁻¹Z = D⁻¹ZA⁻¹/v

Rows are passed over in blocks: O(np² + p³) for a value or a gradient, and no n × n matrix.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular
from scipy.optimize import minimize
from sklearn.base import clone

from rffbench.arguments.seeds import seed_sequence
from rffbench.errors import Fallback
from rffbench.features.base import FeatureMap, FourierFeatures, fitted_map, mapped
from rffbench.features.data_dependent.nystroem import NystroemFeatures
from rffbench.features.fourier.random_fourier import RandomFourierFeatures
from rffbench.features.structured.orthogonal import OrthogonalRandomFeatures
from rffbench.linalg.triangles import TriangleStack
from rffbench.solvers.base import checked_rows, default_block_rows
from rffbench.solvers.feature_rows import FeatureRows

Learn = Literal["noise", "gamma", "lengths"]
NOISES = (1e-6, 10.0)  # the range of the noise, in variances of the targets
START = 0.1  # the noise at the start, in variances of the targets
STARTS = (1.0, 1 / 3, 3.0, 10.0)  # times the given length: the likeliest is the start
TIMES = 1e6  # the prior variance lies within this factor of its start
LONGER = 1e3  # and so do lengths
UNLIKELY = 1e10  # the loss where it cannot be computed: a line search turns back
STEPS = 200


class NoiseWeighted(NamedTuple):
    """Sums over n rows, each divided by its noise D: ZᵀD⁻¹Z (p, p), ZᵀD⁻¹T (p, t), Σ T²/D, and Σ log D."""

    gram: NDArray[np.float64]
    right: NDArray[np.float64]
    square: float
    log_noise: float
    n: int


class Evidence(NamedTuple):
    """The logarithm of the density of the targets; μ (p, t) and L (p, p) of the posterior N(μ, (LLᵀ)⁻¹) of the weights;
    and the sums that they come from, whose ``gram`` is overwritten."""

    value: float
    coef: NDArray[np.float64]
    factor: NDArray[np.float64]
    sums: NoiseWeighted


def evidence(sums: NoiseWeighted, variance: float) -> Evidence:
    """The evidence for the prior variance v; LinAlgError if A is not positive to working precision."""
    A, p = sums.gram, len(sums.gram)
    A[np.diag_indices_from(A)] += 1 / variance
    factor = cholesky(A, lower=True, overwrite_a=True)
    coef = cho_solve((factor, True), sums.right)
    return Evidence(log_density(sums, coef, factor, variance), coef, factor, sums._replace(gram=np.empty((p, 0))))


def log_density(sums: NoiseWeighted, coef: NDArray[np.float64], factor: NDArray[np.float64], variance: float) -> float:
    """log N(T; 0, C), summed over the outputs, as in scikit-learn."""
    p, t = coef.shape
    determinant = sums.log_noise + p * np.log(variance) + 2 * np.log(factor.diagonal()).sum()
    squares = sums.square - (sums.right * coef).sum()
    return float(-(squares + t * (determinant + sums.n * np.log(2 * np.pi))) / 2)


def missing_variance(features: Any, X: Any, Z: NDArray) -> NDArray[np.float64]:
    """k(x, x) − ‖z(x)‖² ≥ 0 of the rows X (n, d), which a Nyström map leaves out, (n,)."""
    block = Z.astype(np.float64, copy=False)
    return np.maximum(features.kernel_.diagonal(X) - np.einsum("ij,ij->i", block, block), 0.0)


class MarginalLikelihood:
    """log p(T | θ) of targets T (n, t) and rows X, θ = log (σ², v), then log γ, or the logarithms of the d lengths, if
    they are learnt.

    ``features`` is the map fitted at the start. Its draws and landmarks stay the same for all θ. ``plain`` are its sums
    for a noise of 1. y and Y are for maps that learn from the targets.
    """

    def __init__(
        self, X: Any, targets: NDArray[np.float64], y: NDArray, Y: NDArray[np.float64], features: Any,
        plain: NoiseWeighted | None, *, learn: Learn | None, diagonal: bool,
    ) -> None:  # fmt: skip
        self.X, self.targets, self._y, self._Y = X, targets, y, Y
        self.learn, self.diagonal = learn, diagonal
        self.features, self._plain = features, plain
        self._template = _frozen(features) if learn in ("gamma", "lengths") else None
        self._fitted_at: bytes | None = None

    # ---- Parameters ----

    def start(self, noise: float, variance: float) -> NDArray[np.float64]:
        """θ of the given noise, prior variance and map."""
        bandwidths: Any = []
        if self._template is not None:
            kernel = self._template.kernel_
            bandwidths = [kernel.gamma] if self.learn == "gamma" else kernel.lengths or np.ones(self.X.shape[1])
        return np.log(np.concatenate([[noise, variance], np.asarray(bandwidths, dtype=np.float64)]))

    @property
    def names(self) -> list[str]:
        """What θ holds, in words."""
        lengths = [f"length of input {j}" for j in range(self.X.shape[1])] if self.learn == "lengths" else []
        return ["noise", "variance", *(["gamma"] if self.learn == "gamma" else lengths)]

    def map_at(self, theta: NDArray[np.float64]) -> Any:
        """The map with the bandwidth of θ, fitted."""
        if self._template is not None and self._fitted_at != theta[2:].tobytes():
            kernel, values = self._template.kernel_, [float(each) for each in np.exp(theta[2:])]
            kernel = replace(kernel, gamma=values[0]) if self.learn == "gamma" else replace(kernel, lengths=values)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", Fallback)  # the first fit has said it
                self.features = fitted_map(clone(self._template).set_params(kernel=kernel), self.X, self._y, self._Y)
            self._fitted_at, self._plain = theta[2:].tobytes(), None
        return self.features

    # ---- Value and gradient ----

    def at(self, theta: NDArray[np.float64]) -> Evidence:
        """The evidence at θ."""
        return self.of_map(self.map_at(theta), *map(float, np.exp(theta[:2])))

    def of_map(self, features: Any, noise: float, variance: float) -> Evidence:
        """The evidence of the map that was fitted last, with this noise and prior variance."""
        if self.diagonal:
            return evidence(self._sums(features, noise, variance), variance)
        if self._plain is None:
            self._plain = self._sums(features, 1.0, 0.0)
        gram, right, square, _, n = self._plain
        return evidence(NoiseWeighted(gram / noise, right / noise, square / noise, n * np.log(noise), n), variance)

    def gradient(self, theta: NDArray[np.float64], found: Evidence) -> NDArray[np.float64]:
        """The derivatives by θ (len(θ),) of the evidence ``found`` at θ: by σ² and v in closed form; by γ and lengths
        in closed form for random and orthogonal Fourier features, else by central differences."""
        features, variance = self.map_at(theta), float(np.exp(theta[1]))
        p, t = found.coef.shape
        inverse = cho_solve((found.factor, True), np.eye(p))
        weights = np.square(found.coef).sum() / variance
        used = p - inverse.trace() / variance  # the effective number of weights, tr(A⁻¹ZᵀD⁻¹Z)
        squares = found.sums.square - (found.sums.right * found.coef).sum() - weights
        out = np.zeros(len(theta))
        out[:2] = (squares - t * (found.sums.n - used)) / 2, (weights - t * used) / 2
        if self.diagonal:
            of_diagonal = self._by_diagonal(theta, features, found)
            out[:2] = of_diagonal[0], out[1] + of_diagonal[1]
        if self._template is None:
            return out
        if _scales_with_lengths(features):
            out[2:] = self._by_frequencies(theta, features, found, inverse)
        else:
            # Near-singular landmarks cost the value more digits than rounding, so the step is longer than ∛ε.
            step = float(np.finfo(self.X.dtype).eps ** 0.25)
            for j in range(2, len(theta)):
                sides = [self.at(theta + sign * step * (np.arange(len(theta)) == j)).value for sign in (1, -1)]
                out[j] = (sides[0] - sides[1]) / (2 * step)
        return out

    def _blocks(self, features: Any) -> Any:
        """Blocks of rows: their slice, and Z in float64."""
        p = int(mapped(features, self.X[:1]).shape[1]) if features is not None else self.X.shape[1]
        rows = FeatureRows(self.X, features, p, 0.0, hold=False, block_rows=default_block_rows(p))
        for part, Z, _ in rows.visit(np.arange(self.X.shape[0])):
            yield part, Z.astype(np.float64, copy=False)

    def _noises(self, features: Any, part: slice, Z: NDArray, noise: float, variance: float) -> NDArray[np.float64]:
        missing = missing_variance(features, checked_rows(self.X, part), Z) if self.diagonal else np.zeros(len(Z))
        return noise + variance * missing

    def _sums(self, features: Any, noise: float, variance: float) -> NoiseWeighted:
        t, triangles, right, square, log_noise = self.targets.shape[1], None, np.zeros((0, 0)), 0.0, 0.0
        for part, Z in self._blocks(features):
            if triangles is None:
                triangles, right = TriangleStack(1, Z.shape[1]), np.zeros((Z.shape[1], t))
            D = self._noises(features, part, Z, noise, variance)
            Z, T = Z / np.sqrt(D)[:, None], self.targets[part] / np.sqrt(D)[:, None]
            triangles[0].add_gram(Z)
            right += Z.T @ T
            square += float(np.square(T).sum())
            log_noise += float(np.log(D).sum())
        assert triangles is not None
        return NoiseWeighted(triangles[0].full(), right, square, log_noise, len(self.targets))

    def _by_diagonal(self, theta: NDArray[np.float64], features: Any, found: Evidence) -> NDArray[np.float64]:
        """Σᵢ (αᵢ² − [C⁻¹]ᵢᵢ)·dDᵢ/2, α = C⁻¹y, by log σ² and by log v, (2,)."""
        (noise, variance), out = np.exp(theta[:2]), np.zeros(2)
        for part, Z in self._blocks(features):
            D = self._noises(features, part, Z, noise, variance)
            alpha = (self.targets[part] - Z @ found.coef) / D[:, None]
            whitened = solve_triangular(found.factor, Z.T, lower=True, check_finite=False)
            inverse = 1 / D - np.square(whitened).sum(axis=0) / D**2
            slopes = (np.square(alpha).sum(axis=1) - self.targets.shape[1] * inverse) / 2
            out += noise * slopes.sum(), (D - noise) @ slopes
        return out

    def _by_frequencies(
        self, theta: NDArray[np.float64], features: Any, found: Evidence, inverse: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """By γ or the lengths, for Z = [cos XW | sin XW]/√s with W ∝ 1/ℓ, (1,) or (d,).

        dL/dZ = αμᵀ − D⁻¹ZA⁻¹ for each output. With H = dL/d(XW), dL/dlog ℓⱼ = −Σₖ Wⱼₖ·(XᵀH)ⱼₖ.
        """
        noise, s, t = float(np.exp(theta[0])), features.n_frequencies, self.targets.shape[1]
        moments = np.zeros((self.X.shape[1], s))
        for part, Z in self._blocks(features):
            alpha = (self.targets[part] - Z @ found.coef) / noise
            slopes = alpha @ found.coef.T - t / noise * (Z @ inverse)
            of_phases = Z[:, :s] * slopes[:, s:] - Z[:, s:] * slopes[:, :s]
            moments += checked_rows(self.X, part).T @ of_phases
        by_lengths = -(features.frequencies_ * moments).sum(axis=1)
        return by_lengths if self.learn == "lengths" else -by_lengths.sum(keepdims=True) / features.kernel_.power

    # ---- The largest value ----

    def _tried(self, theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]] | None:
        """Value and gradient at θ; None if numbers overflow there, or a matrix is not positive any more."""
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                found = self.at(theta)
                gradient = self.gradient(theta, found)
        except (LinAlgError, ValueError):
            return None
        return (found.value, gradient) if np.isfinite([found.value, *gradient]).all() else None

    def maximise(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """θ of a local maximum, by L-BFGS-B from ``theta``, with the noise START and the best of STARTS. It lies within
        NOISES, TIMES and LONGER of the targets' variance and the start. `Fallback` warns if the search ends early."""
        spread = float(np.square(self.targets).mean()) or 1.0
        within = np.log([spread * NOISES[0], spread * NOISES[1]])
        power = self._template.kernel_.power if self._template is not None and self.learn == "gamma" else 1
        bounds = [tuple(within), (theta[1] - np.log(TIMES), theta[1] + np.log(TIMES))]
        bounds += [(each - power * np.log(LONGER), each + power * np.log(LONGER)) for each in theta[2:]]
        # The start depends on the targets, so that the same maximum is found in every unit.
        theta = np.concatenate([[np.log(START * spread)], theta[1:]])
        if self._template is not None:  # where k(x, x′) is nearly 0 for all pairs, the likelihood is flat
            by_length = -power if self.learn == "gamma" else 1
            starts = [np.concatenate([theta[:2], theta[2:] + by_length * np.log(times)]) for times in STARTS]
            theta = max(starts, key=lambda start: (self._tried(start) or (-np.inf,))[0])
        best, size = (np.inf, theta), self.targets.size

        def loss(theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            nonlocal best
            found = self._tried(theta)
            if found is None:
                return UNLIKELY, np.zeros(len(theta))
            if -found[0] < best[0]:
                best = -found[0], theta.copy()
            return -found[0] / size, -found[1] / size

        options = {"maxiter": STEPS, "ftol": 1e-12, "gtol": 1e-7}
        done = minimize(loss, theta, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        if done.nit >= STEPS:
            warnings.warn(f"the search for the marginal likelihood ended after {STEPS} steps", Fallback, stacklevel=4)
        return best[1]


def has_bandwidth(features: Any) -> bool:
    """Whether a map has a kernel of this package, so that its γ and lengths can be learnt."""
    return isinstance(features, FeatureMap)


def _scales_with_lengths(features: Any) -> bool:
    """Whether the map is [cos XW | sin XW]/√s, and W is a fixed draw over the lengths."""
    known = type(features) in (RandomFourierFeatures, OrthogonalRandomFeatures)
    return known and isinstance(features, FourierFeatures) and features.offset_ is None and features.n_components > 1


def _frozen(features: Any) -> Any:
    """A map with the draws and landmarks of the fitted ``features``, and a bandwidth that can be set."""
    fixed = clone(features).set_params(kernel=features.kernel_, gamma=1.0)
    if isinstance(features, NystroemFeatures):
        landmarks = features.points_ if features.landmarks_ is None else features.landmarks_
        return fixed.set_params(landmarks=landmarks, n_components=len(landmarks))
    return fixed.set_params(random_state=seed_sequence(features.random_state))
