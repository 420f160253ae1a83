"""Low-discrepancy sequences: known points, scipy's own, skips, leaps, and edges."""

import tracemalloc

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import qmc

from rffbench import QuasiMonteCarloFeatures
from rffbench.features import make_features
from rffbench.features.quadrature import qmc as features_qmc
from rffbench.features.quadrature.qmc import generating_vector, low_discrepancy_points
from rffbench.kernels import ProductKernel, with_trait


def points(s, d, **settings):
    return low_discrepancy_points(
        s,
        d,
        **{"sequence": "halton", "scramble": False, "skip": 0, "leap": 0, **settings},
        rng=np.random.default_rng(0),
    )


def scipy_points(count, d, sequence, scramble):
    engine_class = {"halton": qmc.Halton, "sobol": qmc.Sobol}[sequence]
    engine = engine_class(d, scramble=scramble, seed=np.random.default_rng(0))
    return np.concatenate([engine.random(1), engine.random(count - 1)])


def test_reverse_radix_points_have_values_computed_by_hand():
    # 999 is 1111100111 in base 2, 1101000 in base 3, 12444 in base 5; the digits of base 3 are permuted
    # 0 2 1 and those of base 5 0 4 2 1 3, lowest digit first after the point.
    by_hand = [
        0.5 + 0.25 + 0.125 + sum(2.0**-k for k in (6, 7, 8, 9, 10)),
        2 / 3**4 + 2 / 3**6 + 2 / 3**7,
        3 / 5 + 3 / 25 + 3 / 125 + 2 / 625 + 4 / 3125,
    ]
    np.testing.assert_allclose(points(1, 3, scramble="rr2", skip=999)[0], by_hand, rtol=1e-13)


def test_permuted_digits_are_one_permutation_of_each_base_at_every_place():
    """Points of one digit c are π(c)/b, those of index c·b are π(c)/b², and π(0) = 0."""
    found = points(60, 4, scramble="digits")  # from index 1
    for j, base in enumerate((2, 3, 5, 7)):
        permuted = np.round(base * found[: base - 1, j]).astype(int)
        assert sorted(permuted) == list(range(1, base))
        np.testing.assert_allclose(found[: base - 1, j], permuted / base)
        np.testing.assert_allclose(found[base * np.arange(1, base) - 1, j], permuted / base**2)
        assert found[base * (base - 1) + base - 2, j] == pytest.approx((base * permuted[-1] + permuted[-1]) / base**2)
    assert not np.array_equal(found, points(60, 4))


@pytest.mark.slow
def test_scrambled_points_of_many_columns_take_little_more_memory_than_themselves():
    tracemalloc.start()
    points(4, 1500, scramble=True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4e6  # scipy's engine holds 250 MB


@pytest.mark.parametrize("d", [4, 60])
def test_they_are_those_of_few_columns_to_the_digit(d, monkeypatch):
    few = points(50, d, scramble=True, skip=7, leap=3)
    monkeypatch.setattr(features_qmc, "FEW_COLUMNS", 0)
    np.testing.assert_array_equal(points(50, d, scramble=True, skip=7, leap=3), few)


@pytest.mark.parametrize(("skip", "leap"), [(1, 0), (5, 0), (3, 2), (1000, 700)])
@pytest.mark.parametrize("scramble", [False, True])
@pytest.mark.parametrize("sequence", ["halton", "sobol"])
def test_points_are_scipys_at_skip_and_every_leap_plus_one(sequence, scramble, skip, leap):
    s = 6
    expected = scipy_points(skip + s * (leap + 1), 4, sequence, scramble)[skip :: leap + 1][:s]
    found = points(s, 4, sequence=sequence, scramble=scramble, skip=skip, leap=leap)
    np.testing.assert_allclose(found, expected, atol=1e-15)


@pytest.mark.parametrize("scramble", [False, "rr2"])
def test_origin_is_left_out_of_a_sequence_that_starts_there(scramble):
    np.testing.assert_array_equal(points(5, 3, scramble=scramble), points(5, 3, scramble=scramble, skip=1))
    assert points(5, 3, scramble=scramble).min() > 0


@pytest.mark.parametrize("kernel", with_trait(ProductKernel))
@pytest.mark.parametrize("sequence", ["halton", "sobol"])
@pytest.mark.parametrize("scramble", [False, True])
def test_frequencies_are_finite(sequence, scramble, kernel):
    X = np.zeros((2, 30))
    for seed in range(5):
        map_ = QuasiMonteCarloFeatures(200, sequence=sequence, scramble=scramble, kernel=kernel, random_state=seed).fit(
            X
        )
        assert np.isfinite(map_.frequencies_).all()


def test_as_released_is_the_fixed_halton_set_whatever_the_other_parameters():
    X = np.zeros((2, 5))
    gamma = 2.0
    released = QuasiMonteCarloFeatures(
        16, variant="as-released", sequence="sobol", skip=3, gamma=gamma, random_state=1
    ).fit(X)
    expected = points(8, 5, scramble="rr2", skip=1000, leap=700)
    np.testing.assert_allclose(ndtr(released.frequencies_.T / np.sqrt(2 * gamma)), expected, atol=1e-12)


@pytest.mark.parametrize("scramble", [True, False])
def test_the_digital_net_stays_one_in_the_784_columns_of_the_widest_dataset(scramble):
    """Of 64 points from the first on, each 1/64 of each coordinate holds one."""
    features = make_features(
        {"name": "qmc", "sequence": "sobol", "scramble": scramble, "skip": 0 if scramble else 64}, n_features=64,
        kernel="gaussian", gamma=0.5, random_state=0,
    )  # fmt: skip
    points = ndtr(features.fit(np.zeros((2, 784))).frequencies_)
    np.testing.assert_array_equal(np.sort(np.floor(64 * points), axis=1), np.tile(np.arange(64), (784, 1)))


def lattice(s, d, seed=0):
    return low_discrepancy_points(
        s, d, sequence="lattice", scramble=True, skip=0, leap=0, rng=np.random.default_rng(seed)
    )


@pytest.mark.parametrize("d", [1, 3, 40])
def test_a_power_of_two_of_lattice_points_is_a_whole_lattice(d):
    """Its points are closed under addition, but for the shift, and equidistant in every coordinate."""
    N = 64
    points = np.round(N * (lattice(N, d) - lattice(1, d))).astype(int) % N
    members = {tuple(point) for point in points}
    assert len(members) == N
    assert {tuple((a + b) % N) for a, b in zip(points, points[::-1], strict=True)} <= members
    np.testing.assert_array_equal(np.sort(points, axis=0), np.tile(np.arange(N)[:, None], d))


def test_a_generating_vector_begins_with_that_of_fewer_coordinates_and_points():
    z = generating_vector(12, 10)
    np.testing.assert_array_equal(generating_vector(5, 10), z[:5])
    np.testing.assert_array_equal(generating_vector(12, 6), z % 64)


def test_the_generating_vector_is_better_than_random_ones():
    """The worst-case error, at each number of points that the sequence passes through."""
    rng, d = np.random.default_rng(0), 10

    def error(z, bits):
        x = np.outer(np.arange(1 << bits), z) % (1 << bits) / (1 << bits)
        return np.prod(1 + 0.03 * 2 * np.pi**2 * (x**2 - x + 1 / 6), axis=1).mean() - 1

    for bits in (5, 7, 9):
        random = [error(2 * rng.integers(0, 1 << (bits - 1), d) + 1, bits) for _ in range(40)]
        assert error(generating_vector(d, bits), bits) < np.quantile(random, 0.1)


@pytest.mark.parametrize("sequence", ["halton", "sobol"])
def test_a_shift_moves_all_points_of_the_plain_sequence_alike(sequence):
    plain, shifted = scipy_points(16, 3, sequence, scramble=False), points(16, 3, sequence=sequence, scramble="shift")
    moved = (shifted - plain) % 1
    np.testing.assert_allclose(moved, np.tile(moved[0], (16, 1)), atol=1e-12)
    assert moved[0].min() > 0.01


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"scramble": False}, "scramble must be True with sequence='lattice': without a shift half of the points"),
        ({"skip": 3}, "skip must be 0 with sequence='lattice', whose first points are whole lattices, got 3"),
        ({"leap": 1}, "leap must be 0 with sequence='lattice'"),
    ],
)
def test_what_a_lattice_cannot_have_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        QuasiMonteCarloFeatures(8, sequence="lattice", **given).fit(np.zeros((2, 2)))
