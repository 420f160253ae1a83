"""The numbers in docs/maps.md that say how far a map is from its kernel are measured here."""

import re
from pathlib import Path

import numpy as np
import pytest

from rffbench import (
    MomentMatchingFeatures,
    OrthogonalRandomFeatures,
    PositiveFeatures,
    QuadratureFeatures,
    QuasiMonteCarloFeatures,
    RandomFourierFeatures,
    StructuredOrthogonalFeatures,
)
from rffbench.kernels import CauchyKernel, GaussianKernel

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]
PAGE = (Path(__file__).parents[2] / "docs" / "maps.md").read_text(encoding="utf-8")


def numbers(pattern):
    found = re.search(pattern, PAGE)
    assert found, pattern
    return [float(number) for number in found.groups()]


def row(table, name):
    """The numbers of a row of the table with this heading."""
    lines = PAGE.partition(f"| {table} |")[2].partition("\n\n")[0].splitlines()
    (cells,) = [line.strip("|").split("|") for line in lines if line.startswith(f"| {name} |")]
    return [float(cell) for cell in cells[1:] if cell.strip()]


def bias_along_an_axis(lengths, inputs, frequencies=400_000):
    """Of SORF, the kernel being ½: its mean over blocks of frequencies, less ½."""
    X = np.zeros((2, inputs))
    X[1, 0] = np.sqrt(np.log(2))
    map_ = StructuredOrthogonalFeatures(2 * frequencies, lengths=lengths, rotation="structured", random_state=0)
    Z = map_.fit_transform(X)
    return Z[0] @ Z[1] - 0.5


def test_the_bias_of_sorf():
    chi = row("bias along an axis, where exp(−γ‖Δ‖²) is ½", "`chi`")
    (fixed,) = row("bias along an axis, where exp(−γ‖Δ‖²) is ½", "`fixed`")
    for expected, inputs in zip(chi, [2, 4, 8, 16], strict=True):
        assert abs(bias_along_an_axis("chi", inputs)) == pytest.approx(expected, abs=0.002)
    assert abs(bias_along_an_axis("fixed", 16)) == pytest.approx(fixed, abs=0.002)


def error_of_qmc(inputs, sequence, scramble):
    X, gamma = np.random.default_rng(0).normal(size=(12, inputs)), 0.5 / inputs
    K, pairs = GaussianKernel(gamma)(X), np.triu_indices(12, 1)
    squares = []
    for seed in range(40):
        map_ = QuasiMonteCarloFeatures(256, gamma=gamma, sequence=sequence, scramble=scramble, random_state=seed)
        Z = map_.fit_transform(X)
        squares.append(np.mean((Z @ Z.T - K)[pairs] ** 2))
    return np.sqrt(np.mean(squares))


def test_the_errors_of_sequences():
    least, most = numbers(r"a shift has ([\d.]+) to ([\d.]+) times the error of Owen's scrambling")
    ratios = []
    for inputs in (2, 5, 10, 20):
        scrambled = {sequence: error_of_qmc(inputs, sequence, True) for sequence in ("sobol", "halton")}
        shifted = {sequence: error_of_qmc(inputs, sequence, "shift") for sequence in ("sobol", "halton", "lattice")}
        assert scrambled["sobol"] < min(scrambled["halton"], *shifted.values())
        ratios += [shifted[sequence] / scrambled[sequence] for sequence in scrambled]
    assert least - 0.1 < min(ratios) < least + 0.1
    assert most - 0.5 < max(ratios) < most + 0.1


def error_at_the_median(kind, inputs, mean=0.0, columns=256, family=GaussianKernel, **given):
    X, pairs = np.random.default_rng(0).normal(size=(60, inputs)), np.triu_indices(60, 1)
    kernel = family(family.gamma_from_sigma(family.median_distance(X)))
    maps = (kind(columns, kernel=kernel, random_state=seed, **given) for seed in range(20))
    return np.sqrt(np.mean([(((Z := each.fit_transform(X + mean)) @ Z.T - kernel(X))[pairs]) ** 2 for each in maps]))


def test_the_errors_of_positive_features():
    table = "error over that of random Fourier features, 256 columns, 8 to 32 inputs, σ the median distance"
    uncentred = "the same with `center: false`, where every input has a mean of one standard deviation"
    fourier, positive, orthogonal, away = (
        np.array([error_at_the_median(kind, inputs, **given) for inputs in (8, 16, 32)])
        for kind, given in (
            (RandomFourierFeatures, {}), (PositiveFeatures, {}), (OrthogonalRandomFeatures, {}),
            (PositiveFeatures, {"center": False, "mean": 1.0}),
        )
    )  # fmt: skip
    for ratios, bounds in (
        (positive / fourier, row(table, "`oprf` with a simplex")),
        (orthogonal / fourier, row(table, "orthogonal Fourier features")),
        (away / fourier, row(table, uncentred)),
    ):
        assert (ratios.min(), ratios.max()) == pytest.approx(bounds, rel=0.05)


def test_the_errors_of_moment_matching():
    table = "error over that of random Fourier features, 64 columns, σ the median distance"
    gaussian = [number for name in ("moment matching", "orthogonal", "quadrature") for number in row(table, name)]

    def ratios(kind, family=GaussianKernel):
        given = {"columns": 64, "family": family}
        return [error_at_the_median(kind, d, **given) / error_at_the_median(RandomFourierFeatures, d, **given)
                for d in (10, 32)]  # fmt: skip

    kinds = MomentMatchingFeatures, OrthogonalRandomFeatures, QuadratureFeatures
    assert np.ravel([ratios(kind) for kind in kinds]) == pytest.approx(gaussian, rel=0.06)
    assert ratios(MomentMatchingFeatures, CauchyKernel) == pytest.approx(
        row(table, "moment matching, Cauchy kernel"), rel=0.06
    )
