"""Gaussian processes on features: regression, with uncertainty; classification, as regression on transformed labels.

The prior is f(x) = z(x)ᵀw, w ~ N(0, v·I): the kernel is v times the map's. The noise of a class takes two values, one
in its rows and one in all others. So the Gram matrices over the rows of each class give the normal equations of every
class. Computing them costs no more than one Gram matrix over all rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, eigh, solve_triangular
from scipy.special import expit, softmax
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rffbench.arguments.parameters import (
    WrongParameter,
    check_choice,
    check_count,
    check_map,
    check_memory,
    check_positive,
    is_number,
)
from rffbench.arguments.rowsource import Stopwatch
from rffbench.arguments.seeds import RandomState, generator, seed_sequence
from rffbench.errors import MemoryBudgetError
from rffbench.features.base import fitted_map, mapped
from rffbench.features.data_dependent.nystroem import NystroemFeatures
from rffbench.features.hooks import hook
from rffbench.kernels.own import is_own
from rffbench.linalg.triangles import TriangleStack
from rffbench.plugins.parts import SolverServes, serves
from rffbench.solvers.base import (
    Classifier,
    Regressor,
    checked_rows,
    default_block_rows,
    less_origin,
    no_singular,
)
from rffbench.solvers.feature_rows import FeatureRows
from rffbench.solvers.marginal_likelihood import (
    Learn,
    MarginalLikelihood,
    NoiseWeighted,
    has_bandwidth,
    missing_variance,
)

Variance = Literal["targets", "residuals"]
Pairs = Literal["real", "complex"]
USUAL_STEPS = 40  # of learning
NODES = 40  # of the quadrature for the probability of two classes
SAMPLED = 1 << 22  # numbers drawn at a time


class Sums(NamedTuple):
    """Sums over the rows of each group (the classes, or all rows): ZᵀZ as triangles, ZᵀT (groups, p, t) for targets T
    (n, t), and the number of rows (groups,)."""

    grams: TriangleStack
    moments: NDArray[np.float64]
    counts: NDArray[np.int64]


class Posterior(NamedTuple):
    """The coefficients (p, t), and the Cholesky factor L of A, where A⁻¹ is the posterior covariance of the weights:
    (p, p), or complex (p/2, p/2) if pairs of columns are complex features."""

    coef: NDArray[np.float64]
    factor: NDArray


class _FeatureGP:
    """Base of the regressor and the classifier."""

    noise: float
    variance: float | Variance
    pairs: Pairs
    features: Any
    memory: int | None
    samples: int = 0
    learn: Learn | None = None
    features_: Any
    timing_: dict[str, float]

    def check_parameters(self) -> None:
        """ValueError for a wrong parameter, naming it and what would be right."""
        check_positive("noise", self.noise)
        if self.variance not in get_args(Variance) and not (is_number(self.variance) and self.variance > 0):  # type: ignore[operator]
            problem = f"must be a positive number, 'targets' or 'residuals', got {self.variance!r}"
            raise WrongParameter("variance", problem)
        check_choice("pairs", self.pairs, get_args(Pairs))
        check_map(self.features)
        check_memory(self.memory)
        columns = getattr(self.features, "n_components", 2)
        if self.pairs == "complex" and columns % 2 and columns > 1:  # 1: for scikit-learn's tools
            raise WrongParameter("pairs", f"must be 'real' for an odd number of columns, got 'complex' and {columns}")

    def bytes_to_fit(self, n: int, d: int, groups: int = 2) -> int:
        """About the bytes that a fit to (n, d) rows with ``groups`` classes needs besides the rows."""
        p = d if self.features is None else int(self.features.n_components)
        dense = 8 * p * p * (3 + (groups if self.samples else 0) + (3 if self.learn else 0))
        block = 3 * 8 * p * min(n, default_block_rows(p))
        return max(TriangleStack.bytes_needed(groups, p) + dense + block, hook(self.features, "bytes_to_fit"))

    def _gather(
        self, X: Any, y: NDArray, Y: NDArray[np.float64], targets: NDArray[np.float64], group: NDArray[np.intp]
    ) -> Sums:
        """Fit the map to X and y, and sum over the rows of each ``group`` (n,), numbered from 0."""
        self.check_parameters()
        (n, d), groups = X.shape, int(group.max()) + 1
        if self.memory is not None and (needed := self.bytes_to_fit(n, d, groups)) > self.memory:
            raise MemoryBudgetError(f"a Gaussian process on features of {groups} groups of rows", needed, self.memory)
        self.__dict__.pop("features_", None)  # of an earlier fit
        with Stopwatch(X) as fitting:
            if self.features is not None:
                self.features_ = fitted_map(self.features, X, y, Y)
        p = d if self.features is None else int(mapped(self.features_, X[:1]).shape[1])
        rows, counts = self._rows(X, p), np.bincount(group, minlength=groups)
        found = Sums(TriangleStack(groups, p), np.zeros((groups, p, targets.shape[1])), counts)
        with Stopwatch(X) as gathering:
            for part, Z, _ in rows.visit(np.arange(n)):
                of_rows, T = group[part], targets[part]
                block = Z.astype(np.float64, copy=False)
                if groups > 1:
                    order = np.argsort(of_rows, kind="stable")
                    block, T, of_rows = block[order], T[order], of_rows[order]
                ends = np.searchsorted(of_rows, np.arange(groups + 1))
                for at, (start, end) in enumerate(pairwise(ends)):
                    found.grams[at].add_gram(block[start:end])
                    found.moments[at] += block[start:end].T @ T[start:end]
        mapping_s = rows.feature_s
        self.timing_ = {
            "feature_s": fitting.seconds + mapping_s, "gram_s": gathering.seconds - mapping_s, "solve_s": 0.0
        }  # fmt: skip
        return found

    def _rows(self, X: Any, p: int) -> FeatureRows:
        features = getattr(self, "features_", None)
        return FeatureRows(X, features, p, 0.0, hold=False, block_rows=default_block_rows(p))

    def _posterior(self, gram: NDArray[np.float64], right: NDArray[np.float64], variance: float) -> Posterior:
        """(G + I/v)⁻¹R and the factor; G (p, p) and R (p, t) are sums over rows, each divided by its noise.

        Complex features ψ = P + iQ, from the columns [P | Q], have the Gram matrix ψᴴψ = PᵀP + QᵀQ + i(PᵀQ − QᵀP). The
        real part of ψα is P·Re α − Q·Im α.
        """
        with no_singular():
            if self.pairs == "real":
                gram[np.diag_indices_from(gram)] += 1 / variance
                factor = cholesky(gram, lower=True, overwrite_a=True)
                return Posterior(cho_solve((factor, True), right), factor)
            s = len(gram) // 2
            crossed = gram[:s, s:]
            hermitian = gram[:s, :s] + gram[s:, s:] + 1j * (crossed - crossed.T)
            hermitian[np.diag_indices_from(hermitian)] += 1 / variance
            factor = cholesky(hermitian, lower=True, overwrite_a=True)
            alpha = cho_solve((factor, True), right[:s] - 1j * right[s:])
            return Posterior(np.concatenate([alpha.real, -alpha.imag]), factor)

    def _means(self, X: Any, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        """ZC, (n, t), for the rows X and coefficients C (p, t)."""
        out = np.empty((X.shape[0], coef.shape[1]))
        for part, Z, _ in self._rows(X, len(coef)).visit(np.arange(X.shape[0])):
            out[part] = Z @ coef
        return out

    def _deviations(self, X: Any, p: int, factors: list[NDArray]) -> NDArray[np.float64]:
        """The posterior standard deviation of f at the rows X, ‖L⁻¹z‖, for each of the factors, (n, factors)."""
        out = np.empty((X.shape[0], len(factors)))
        for part, Z, _ in self._rows(X, p).visit(np.arange(X.shape[0])):
            block = Z.astype(np.float64, copy=False)
            if self.pairs == "complex":
                block = block[:, : p // 2] - 1j * block[:, p // 2 :]
            for at, factor in enumerate(factors):
                whitened = solve_triangular(factor, block.T, lower=True, check_finite=False)
                out[part, at] = np.linalg.norm(whitened, axis=0)
        return out


class FeatureGPRegressor(_FeatureGP, Regressor):
    """Gaussian-process regression on features, streamed over row blocks.

    f(x) = z(x)ᵀw + ȳ, w ~ N(0, v·I), y = f(x) + ε, ε ~ N(0, σ²). The posterior mean is ridge regression on z with the
    penalty σ²/v. The posterior of w is N(μ, A⁻¹), A = ZᵀZ/σ² + I/v, μ = A⁻¹Zᵀ(y − ȳ)/σ²; the covariance of f at two
    rows is z(x)ᵀA⁻¹z(x′). ``predict`` gives it on demand, of f, without the noise σ².

    Far from the training rows, Nyström features of few landmarks go to 0, and so does that variance. With ``diagonal``,
    the noise of a training row is σ² + v·(k(x, x) − ‖z(x)‖²), and new rows have the covariance of the exact prior,
    v·(k(x, x′) − z(x)ᵀz(x′)) + z(x)ᵀA⁻¹z(x′): the FITC approximation with the exact test conditional.

    Parameters
    ----------
    noise : σ², in the target's unit squared.
    variance : v; or 'targets', the variance (with divisor n − 1) of all targets together; or 'residuals', that of the
        targets minus their means.
    pairs : 'real'; or 'complex': the columns [P | Q] are the features P + iQ, w is complex, and a prediction is the
        real part of a model whose imaginary part is fitted to 0. Then only the mean is known: there is no uncertainty.
    features : the feature map, or None for X itself.
    memory : None, or bytes that the fit may use besides X; MemoryBudgetError, before anything is computed, if that is
        too little.
    learn : None; or what to learn by the marginal likelihood: 'noise', σ² and v; 'gamma', these and the kernel's γ;
        'lengths', σ², v and a length ℓ for each input (ARD), with γ fixed. L-BFGS-B over logarithms finds a local
        maximum. It starts at the given v; at the given lengths or 1/3, 3 or 10 times these, whichever are likeliest;
        and at a tenth of the targets' variance for σ²: ``noise`` is not used. A step takes O(np² + p³) with p columns,
        the gradient by γ or all lengths included for random and orthogonal Fourier features. With other maps that is
        a central difference, two more passes for γ or each length. Draws and landmarks stay the same in the search.
        Maps that choose frequencies by the data may choose others for another γ, which gives the likelihood steps.
    diagonal : whether to correct the diagonal (FITC); for `NystroemFeatures` of this package's kernels.

    Attributes
    ----------
    coef_ : μ, (p,) or (targets, p) float64.
    intercept_ : ȳ, a float or (targets,).
    noise_, variance_ : σ² and v.
    theta_ : log (σ², v), then log γ or log ℓ if they were learnt; `log_marginal_likelihood` takes it.
    log_marginal_likelihood_value_ : log p(y − ȳ), summed over the targets; not with pairs='complex'.
    features_ : the fitted feature map, if there is one.
    timing_ : seconds in 'feature_s', 'gram_s' and 'solve_s'.

    References
    ----------
    C. Rasmussen and C. Williams, "Gaussian processes for machine learning", 2006, Sections 2.1, 2.2 and 5.4.1.

    E. Snelson and Z. Ghahramani, "Sparse Gaussian processes using pseudo-inputs", NIPS 18, 2006, for ``diagonal``.

    J. Quiñonero-Candela and C. Rasmussen, "A unifying view of sparse approximate Gaussian process regression", JMLR 6,
    2005, Section 6.
    """

    coef_: NDArray[np.float64]
    intercept_: float | NDArray[np.float64]
    theta_: NDArray[np.float64]
    log_marginal_likelihood_value_: float
    _factor: NDArray[np.float64]
    _likelihood: MarginalLikelihood

    def __init__(
        self, noise: float = 0.1, *, variance: float | Variance = "targets", pairs: Pairs = "real",
        features: Any = None, memory: int | None = None, learn: Learn | None = None, diagonal: bool = False,
    ) -> None:  # fmt: skip
        self.noise = noise
        self.variance = variance
        self.pairs = pairs
        self.features = features
        self.memory = memory
        self.learn = learn
        self.diagonal = diagonal

    def check_parameters(self) -> None:
        """ValueError for a wrong parameter, naming it and what would be right."""
        super().check_parameters()
        check_choice("learn", self.learn, (None, *get_args(Learn)))
        check_choice("diagonal", self.diagonal, (False, True))
        own = is_own(getattr(self.features, "kernel", None))
        if self.diagonal and (own or not isinstance(self.features, NystroemFeatures)):
            given = "a kernel of your own" if own else type(self.features).__name__
            raise WrongParameter("diagonal", f"must be False but for NystroemFeatures of a named kernel, got {given}")
        if self.learn in ("gamma", "lengths"):
            if own or not has_bandwidth(self.features):
                given = "a kernel of your own" if own else type(self.features).__name__
                problem = f"must be None or 'noise' without a map of rffbench and a named kernel, got {given}"
                raise WrongParameter("learn", problem)
            if self.learn == "gamma" and not self.features._check_kernel().has_bandwidth:
                raise WrongParameter("learn", "must not be 'gamma': the map's kernel has no bandwidth")
        if self.pairs == "complex" and (self.learn or self.diagonal):
            raise WrongParameter("pairs", "must be 'real' with learn or diagonal, got 'complex'")

    def _fit_targets(self, X: Any, Y: NDArray[np.float64], y: NDArray) -> None:
        origin = self._target_origin(Y)
        near = less_origin(Y, origin)
        mean = near.mean(axis=0)
        targets = near - mean
        found = self._gather(X, y, Y, targets, np.zeros(len(Y), dtype=np.intp))
        # The variance of all targets together includes the differences of their origins.
        of_all = near + (origin - origin[0]) if self.variance == "targets" else targets
        self.noise_, self.variance_ = float(self.noise), _variance_of(self.variance, of_all)
        with Stopwatch() as solving:
            gram, right = found.grams[0].full(), found.moments[0]
            del found
            if self.pairs == "complex":
                coef = self._posterior(gram / self.noise, right / self.noise, self.variance_).coef
            else:
                sums = NoiseWeighted(gram, right, float(np.square(targets).sum()), 0.0, len(targets))
                coef = self._fit_real(X, targets, y, Y, sums)
        self.timing_["solve_s"] = solving.seconds
        self.metrics_ = {"model_size": float(len(coef))}
        mean = origin + mean
        self.coef_, self.intercept_ = (coef[:, 0], float(mean[0])) if y.ndim == 1 else (coef.T, mean)

    def _fit_real(
        self, X: Any, targets: NDArray[np.float64], y: NDArray, Y: NDArray[np.float64], sums: NoiseWeighted
    ) -> NDArray[np.float64]:
        """Learn what is to be learnt, and keep the posterior; returns μ (p, t)."""
        features, plain = getattr(self, "features_", None), None if self.diagonal else sums
        likelihood = MarginalLikelihood(X, targets, y, Y, features, plain, learn=self.learn, diagonal=self.diagonal)
        self._likelihood, self.theta_ = likelihood, likelihood.start(self.noise_, self.variance_)
        with no_singular():
            if self.learn:
                self.theta_ = likelihood.maximise(self.theta_)
                self.noise_, self.variance_ = map(float, np.exp(self.theta_[:2]))
                if self.features is not None:
                    self.features_ = likelihood.map_at(self.theta_)
            found = likelihood.of_map(likelihood.features, self.noise_, self.variance_)
        self.log_marginal_likelihood_value_, self._factor = found.value, found.factor
        return found.coef

    def _linear(self, X: Any) -> NDArray[np.float64]:
        means = self._means(X, np.atleast_2d(self.coef_).T) + self.intercept_
        return means[:, 0] if self.coef_.ndim == 1 else means

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """The posterior mean of f at X, (n,) or (n, t); with one of the two, also a second array.

        ``return_std``: the standard deviation of f, of the mean's shape; `predict_deviations` has that of a new y.
        ``return_cov``: the covariance of f at the rows, (n, n) or (n, n, t).
        """
        if return_std and return_cov:
            raise ValueError("at most one of return_std and return_cov can be True")
        mean = self._outputs(X)
        if not return_std and not return_cov:
            return mean
        X = self._uncertain(X)
        if return_cov:
            Z = self._mapped(X)
            whitened = solve_triangular(self._factor, Z.T, lower=True, check_finite=False)
            return mean, _for_each_target(whitened.T @ whitened + self._missing_covariance(X, Z), mean, axes=2)
        deviations = self._deviations(X, len(self._factor), [self._factor])[:, 0]
        if self.diagonal:
            for part, Z, _ in self._rows(X, len(self._factor)).visit(np.arange(X.shape[0])):
                missing = missing_variance(self.features_, checked_rows(X, part), Z)
                deviations[part] = np.sqrt(deviations[part] ** 2 + self.variance_ * missing)
        return mean, _for_each_target(deviations, mean, axes=1)

    @available_if(lambda self: self.pairs == "real")
    def predict_deviations(self, X: Any) -> NDArray[np.float64]:
        """The standard deviation of a new y at X, √(std² + ``noise_``), (n,) or (n, t)."""
        found = np.sqrt(np.square(self.predict(X, return_std=True)[1]) + self.noise_)
        return np.asarray(found)

    def sample_y(self, X: Any, n_samples: int = 1, random_state: RandomState = 0) -> NDArray[np.float64]:
        """Draws of f at X from the posterior, without noise: (n, n_samples), or (n, t, n_samples) of several targets.

        It draws weights, which takes O(n·p) a draw; with ``diagonal`` it needs the (n, n) covariance, too.
        """
        check_count("n_samples", n_samples, least=1)
        mean = self._outputs(X)
        X, t = self._uncertain(X), 1 if mean.ndim == 1 else mean.shape[1]
        Z, rng = self._mapped(X), generator(seed_sequence(random_state), "posterior")
        drawn = rng.standard_normal((len(self._factor), t * n_samples))
        out = Z @ solve_triangular(self._factor, drawn, lower=True, trans="T", check_finite=False)
        if self.diagonal:
            values, vectors = eigh(self._missing_covariance(X, Z))
            out += (vectors * np.sqrt(np.maximum(values, 0))) @ rng.standard_normal((len(Z), t * n_samples))
        out = out.reshape(len(Z), t, n_samples)
        return out[:, 0] + mean[:, None] if mean.ndim == 1 else out + mean[:, :, None]

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False) -> Any:
        """log p(y − ȳ | θ), summed over the targets; with ``eval_gradient`` also its derivatives by θ, (len(θ),).

        θ is ordered as ``theta_``, its default. The map of θ is fitted to the training rows, which the model refers
        to and does not copy. They are not saved with a model: a loaded one knows the value of ``theta_`` only.
        """
        check_is_fitted(self)
        self._refuse_complex()
        if theta is None and not eval_gradient:
            return self.log_marginal_likelihood_value_
        if not hasattr(self, "_likelihood"):
            raise ValueError("a loaded model has no training rows to compute the likelihood from: fit it again")
        theta = self.theta_ if theta is None else np.asarray(theta, dtype=np.float64)
        if theta.shape != self.theta_.shape or not np.isfinite(theta).all():
            names = ", ".join(self._likelihood.names)
            raise ValueError(f"theta must be the logarithms of {names}: {len(self.theta_)} numbers, got {theta!r}")
        with no_singular():
            found = self._likelihood.at(theta)
            return (found.value, self._likelihood.gradient(theta, found)) if eval_gradient else found.value

    def _uncertain(self, X: Any) -> Any:
        self._refuse_complex()
        return self._validated(X)

    def _refuse_complex(self) -> None:
        if self.pairs == "complex":
            raise WrongParameter("pairs", "must be 'real' for uncertainty and the likelihood, got 'complex'")

    def _mapped(self, X: Any) -> NDArray[np.float64]:
        """Z (n, p)."""
        Z = np.empty((X.shape[0], len(self._factor)))
        for part, block, _ in self._rows(X, len(self._factor)).visit(np.arange(len(Z))):
            Z[part] = block
        return Z

    def _missing_covariance(self, X: Any, Z: NDArray[np.float64]) -> Any:
        """v·(k(x, x′) − z(x)ᵀz(x′)), (n, n); 0 without ``diagonal``."""
        if not self.diagonal:
            return 0.0
        rows = np.asarray(checked_rows(X, slice(0, len(Z))), dtype=np.float64)
        return self.variance_ * (self.features_.kernel_(rows) - Z @ Z.T)

    def __getstate__(self) -> dict[str, Any]:
        """Without the reference to the training rows."""
        return {name: value for name, value in super().__getstate__().items() if name != "_likelihood"}


def _for_each_target(spread: NDArray[np.float64], mean: NDArray[np.float64], axes: int) -> NDArray[np.float64]:
    """The spread, which all targets share, with a last axis for the targets if the mean has one."""
    return spread if mean.ndim == 1 else np.repeat(np.expand_dims(spread, axes), mean.shape[1], axis=axes)


class FeatureGPClassifier(_FeatureGP, Classifier):
    """Gaussian-process classification on features, as regression on transformed labels.

    Each class is a regression on the logarithm of a Gamma variable of shape y + α, where y is 1 for rows of the class
    and 0 for others: the target is log(y + α) − v/2, with the noise v = log(1 + 1/(y + α)). The prior mean of a class
    is the logarithm of its share of the rows, plus a number that is the same for all classes.

    Parameters
    ----------
    noise : α.
    variance : v of the prior w ~ N(0, v·I) of each class; or 'targets', the variance (with divisor n·classes − 1) of
        all transformed labels together; or 'residuals', that of these minus their prior means.
    pairs, features, memory : as in FeatureGPRegressor.
    samples : draws of the posterior for the probabilities, and so the labels, of more than two classes; for two classes
        a quadrature gives them. 0: no probabilities; the label is the class with the largest mean.
    random_state : the stream of the draws.

    Attributes
    ----------
    classes_ : the labels, sorted.
    coef_ : (classes, p) float64.
    intercept_ : the prior means, (classes,).
    variance_, features_, timing_ : as in FeatureGPRegressor.

    References
    ----------
    D. Milios, R. Camoriano, P. Michiardi, L. Rosasco and M. Filippone, "Dirichlet-based Gaussian processes for
    large-scale calibrated classification", NeurIPS 2018.
    """

    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]

    def __init__(
        self, noise: float = 0.01, *, variance: float | Variance = "targets", pairs: Pairs = "real", samples: int = 0,
        features: Any = None, memory: int | None = None, random_state: RandomState = None,
    ) -> None:  # fmt: skip
        self.noise = noise
        self.variance = variance
        self.pairs = pairs
        self.samples = samples
        self.features = features
        self.memory = memory
        self.random_state = random_state

    def check_parameters(self) -> None:
        """ValueError for a wrong parameter, naming it and what would be right."""
        super().check_parameters()
        check_count("samples", self.samples, least=0)

    def _fit_targets(self, X: Any, Y: NDArray[np.float64], y: NDArray) -> None:
        group = (Y[:, 0] > 0).astype(np.intp) if Y.shape[1] == 1 else Y.argmax(axis=1)
        found = self._gather(X, y, Y, np.ones((len(Y), 1)), group)
        own, other = _transformed(1 + self.noise), _transformed(self.noise)
        shares = found.counts / len(Y)
        targets = np.where(np.eye(len(shares), dtype=bool), own.target, other.target)  # [class of the row, output]
        # The added number makes the mean of all targets minus their prior means 0.
        self.intercept_ = np.log(shares) + float((shares @ (targets - np.log(shares))).mean())
        centred = targets - (self.intercept_ if self.variance == "residuals" else 0.0)
        self.variance_ = _variance_of(self.variance, centred, found.counts)
        with Stopwatch() as solving:
            moment, total = found.moments.sum(axis=0), np.zeros((len(found.moments[0]),) * 2)
            for gram in found.grams:
                total += gram.full()
            self._factors, coefs = [], []
            for at, gram in enumerate(found.grams):
                mine, ours = found.moments[at], moment - found.moments[at]
                right = (own.target - self.intercept_[at]) / own.noise * mine
                right += (other.target - self.intercept_[at]) / other.noise * ours
                weighted = total / other.noise + gram.full() * (1 / own.noise - 1 / other.noise)
                posterior = self._posterior(weighted, right, self.variance_)
                coefs.append(posterior.coef[:, 0])
                if self.samples:
                    self._factors.append(posterior.factor)
        self.timing_["solve_s"] = solving.seconds
        self.metrics_ = {"model_size": float(len(total))}
        self.coef_ = np.stack(coefs)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The posterior means (n, classes); for two classes the second's minus the first's, (n,)."""
        return super().decision_function(X)

    def _linear(self, X: Any) -> NDArray[np.float64]:
        means = self._means(X, self.coef_.T) + self.intercept_
        return means[:, 1] - means[:, 0] if means.shape[1] == 2 else means

    def predict(self, X: Any) -> NDArray:
        """The class with the largest probability if there are samples, else with the largest mean."""
        if self.samples and len(self.classes_) > 2:
            return self.classes_[self.predict_proba(X).argmax(axis=1)]
        return super().predict(X)

    @available_if(lambda self: self.samples)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The posterior mean of softmax f(x), (n, classes), in the order of ``classes_``."""
        decision, X = self.decision_function(X), self._validated(X)
        deviations = self._deviations(X, self.coef_.shape[1], self._factors)
        if decision.ndim == 1:  # E[sigmoid(f₁ − f₀)] by Gauss–Hermite quadrature
            at, weights = np.polynomial.hermite_e.hermegauss(NODES)
            spread = np.hypot(deviations[:, 0], deviations[:, 1])
            second = expit(decision[:, None] + spread[:, None] * at) @ weights / weights.sum()
            return np.column_stack([1 - second, second])
        rng, out = generator(seed_sequence(self.random_state), "posterior"), np.empty_like(decision)
        height = max(1, SAMPLED // (self.samples * decision.shape[1]))
        for start in range(0, len(out), height):
            rows = slice(start, start + height)
            drawn = rng.standard_normal((self.samples, *decision[rows].shape), dtype=np.float32)
            drawn *= deviations[rows]
            drawn += decision[rows]
            out[rows] = softmax(drawn, axis=2).mean(axis=0)
        return out


class Transformed(NamedTuple):
    """A label as a Gaussian variable, with mean and variance."""

    target: float
    noise: float


def _transformed(shape: float) -> Transformed:
    """The logarithm of a log-normal variable with the mean and variance of a Gamma variable of this shape."""
    noise = float(np.log1p(1 / shape))
    return Transformed(float(np.log(shape)) - noise / 2, noise)


def _variance_of(
    variance: float | Variance, targets: NDArray[np.float64], counts: NDArray[np.int64] | None = None
) -> float:
    """``variance``, or the variance of all ``targets`` (rows, outputs), in which row i counts counts_i times."""
    if not isinstance(variance, str):
        return float(variance)
    times = np.ones(len(targets)) if counts is None else counts
    number = float(times.sum()) * targets.shape[1]
    mean = float((times @ targets).sum()) / number
    found = float((times @ np.square(targets - mean)).sum()) / max(1.0, number - 1)
    return found or 1.0  # of targets that are all the same


def _letters(config: Mapping[str, Any]) -> dict[str, float]:
    """The steps of learning, and the passes over the rows: two of a step, if the sums change with what is learnt."""
    steps = USUAL_STEPS if config.get("learn") else 0
    return {"i": steps, "u": 2 * steps if config.get("diagonal") or config.get("learn") != "noise" else 0}


@serves(
    SolverServes(
        sums="n*p*p/2", cost="(c + 1)*p**3/3 + i*p**3 + u*n*p*p", letters=_letters,
        source="Rasmussen and Williams, 2006; Milios et al., NeurIPS 2018",
    )
)  # fmt: skip
def make_gp(
    *, task: str, features: Any, memory: int | None = None, random_state: RandomState = None,
    noise: float = 0.1, variance: float | Variance = "targets", pairs: Pairs = "real", samples: int = 0,
    learn: Learn | None = None, diagonal: bool = False,
) -> FeatureGPRegressor | FeatureGPClassifier:  # fmt: skip
    """A Gaussian process on the features; classification as regression on Dirichlet-transformed labels.

    Parameters
    ----------
    noise : for regression, the noise's variance σ²; for classification, the parameter α of the transformed labels.
    variance : the prior variance of the weights, which multiplies the kernel; or targets, the variance of all targets
        together; or residuals, that of the targets minus their prior means.
    pairs : complex: the columns are the real parts of complex features, then the imaginary parts; weights are complex.
    samples : draws of the posterior for probabilities of more than two classes; 0: no probabilities.
    learn : for regression, what the marginal likelihood chooses: null; noise, the noise and the prior variance; gamma,
        these and the kernel's bandwidth; lengths, these and a length for each input.
    diagonal : for regression on Nyström features, whether to add the variance that these lack (FITC).
    """
    if task == "classification":
        for name, value in (("learn", learn), ("diagonal", diagonal)):
            if value:
                raise WrongParameter(name, f"is for regression; for classification leave it out, got {value!r}")
        return FeatureGPClassifier(
            noise, variance=variance, pairs=pairs, samples=samples, features=features, memory=memory,
            random_state=random_state,
        )  # fmt: skip
    return FeatureGPRegressor(
        noise, variance=variance, pairs=pairs, features=features, memory=memory, learn=learn, diagonal=diagonal
    )
