"""Every registered feature map, with what it promises."""

from dataclasses import dataclass, field

import pytest

from rffbench.features import MAPS, make_features
from rffbench.kernels import SPECTRAL_KERNELS
from rffbench.registry import NONE
from tests.helpers import plug_ins
from tests.helpers.kernel_rates import GAMMA

MONTE_CARLO, FASTER = "unbiased, error falls as 1/√s", "unbiased, error falls faster than 1/√s"
DRAWS, PHASED = ("frequencies_",), ("frequencies_", "offset_")


@dataclass(frozen=True)
class Promise:
    """What a feature map promises with these parameters of its own."""

    rate: str  # MONTE_CARLO or FASTER, on ``kernels``; else why its estimate has no such rate
    parameters: dict = field(default_factory=dict)
    kernels: tuple[str, ...] = ("gaussian",)
    gamma: float = GAMMA
    nests: tuple[str, ...] = ()  # learnt arrays, the last axis the draws, that begin with those of a smaller map
    seeded: bool = True  # another random_state is another map


RELEASED = {"variant": "as-released"}
CHOSEN = "biased: the columns of the largest scores are taken, with their phases"
FIXED = "one fixed sequence: there is nothing to average over"
FITTED = "of the data: its error is that of the best columns for the rows it was fitted to"
EVERY = tuple(SPECTRAL_KERNELS)
PROMISES = {
    "fourier": [
        Promise(MONTE_CARLO, kernels=EVERY, nests=DRAWS),
        Promise(MONTE_CARLO, {"form": "offset"}, kernels=EVERY, nests=PHASED),
    ],
    "qmc": [
        Promise(FASTER, kernels=EVERY, nests=DRAWS),
        Promise(FASTER, {"sequence": "sobol"}, kernels=EVERY, nests=DRAWS),
        Promise(FASTER, {"skip": 20, "leap": 30}, kernels=EVERY, nests=DRAWS),
        Promise(FIXED, {"scramble": False}, nests=DRAWS, seeded=False),
        Promise(FIXED, {"scramble": "rr2"}, nests=DRAWS, seeded=False),
        Promise(FIXED, {"sequence": "sobol", "scramble": False}, nests=DRAWS, seeded=False),
        Promise(FIXED, RELEASED, nests=DRAWS, seeded=False),
    ],
    "leverage": [
        Promise(MONTE_CARLO, kernels=EVERY),
        Promise(MONTE_CARLO, {"pool": 1.5}, kernels=EVERY),
        Promise(CHOSEN, RELEASED),
    ],
    "surrogate-leverage": [
        # Eq. 14's weights 1/pᵢ have no variance under a heavy-tailed spectral density, so there is no rate to test;
        # that they are unbiased is tested given the pool.
        Promise(MONTE_CARLO),
        Promise(MONTE_CARLO, {"form": "eq12"}, kernels=EVERY),
        Promise(CHOSEN, RELEASED),
    ],
    "orthogonal": [Promise(MONTE_CARLO, nests=DRAWS)],
    "sorf": [Promise("biased: all frequencies have the length √N/σ", nests=DRAWS)],
    "fastfood": [Promise(MONTE_CARLO, nests=DRAWS)],
    "srht": [Promise("biased: a frequency's entries are all ±1/σ", nests=DRAWS)],
    "countsketch-gaussian": [Promise("biased: the kernel of the sketched points", nests=DRAWS)],
    "compact": [
        Promise(MONTE_CARLO, kernels=EVERY, nests=("fourier_.frequencies_",)),
        Promise(MONTE_CARLO, {"expansion": 1}, kernels=EVERY, nests=("fourier_.frequencies_",)),
    ],
    "tefm": [
        Promise(FITTED, {"sketch": sketch, "power": power}, nests=("fourier_.frequencies_",))
        for sketch in ("gaussian", "srht", "countsketch") for power in (0, 1)
    ],
    "nystroem": [Promise(FITTED)],
    "perceptron": [
        Promise(MONTE_CARLO, kernels=("perceptron",), gamma=0.5, nests=("directions_", "thresholds_")),
    ],
    "plug-in": [Promise(MONTE_CARLO)],
}  # fmt: skip


def promises(name):
    """What is promised of the feature map ``name``."""
    if name not in PROMISES:
        pytest.fail(
            f"feature map {name!r} is registered, and nobody says what it promises: add {name!r}: [Promise(…)] to "
            f"PROMISES in tests/features/test_every_map.py, one for each way of drawing that its parameters choose, "
            f"with its rate (MONTE_CARLO, FASTER, or in words why there is none)",
            pytrace=False,
        )
    return PROMISES[name]


def made(name, promise, columns=100, random_state=None):
    """The feature map, not yet fitted."""
    return make_features(
        {"name": name, **promise.parameters}, kernel=promise.kernels[0], gamma=promise.gamma, n_features=columns,
        count="columns", random_state=random_state,
    )  # fmt: skip


def label(name, promise):
    return ", ".join([name, *(f"{key}={value}" for key, value in promise.parameters.items())])


with plug_ins.installed():
    REGISTERED = [name for name in MAPS.names() if name != NONE]
    ALL = [(name, promise) for name in REGISTERED if name in PROMISES for promise in promises(name)]
    CONTRACT = [made(name, promise) for name, promise in ALL]
