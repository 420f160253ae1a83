"""Every registered feature map, and the ways of drawing that its parameters choose. What each promises is on its class
(`rffbench.plugins.parts.MapServes`)."""

from dataclasses import dataclass, field

from rffbench.features import MAPS, make_features, served
from rffbench.features.activation.random_layer import DRAWN_BY
from rffbench.features.data_dependent.landmarks import RULES
from rffbench.features.hooks import hook
from rffbench.kernels import ProductKernel, with_trait
from rffbench.kernels.served import kernels_served
from rffbench.plugins.registry import NONE
from tests.helpers import plug_ins
from tests.helpers.contract import first_of_class
from tests.helpers.kernel_rates import GAMMA

MONTE_CARLO, FASTER = "unbiased, error falls as 1/√s", "unbiased, error falls faster than 1/√s"
FITTED = served("tefm").bias


@dataclass(frozen=True)
class Way:
    """Parameters of a map's own that choose a way of drawing, and what a test has to know of it."""

    parameters: dict = field(default_factory=dict)
    kernels: tuple[str, ...] = ()  # on which the rate is tested; empty: on all that the map serves
    gamma: float = GAMMA
    seeded: bool = True  # another random_state is another map
    faster: bool = False  # the error falls faster than 1/√s, where not every way of the map is so


@dataclass(frozen=True)
class Promise(Way):
    """What a feature map promises with these parameters."""

    rate: str = ""  # MONTE_CARLO or FASTER, on ``kernels``; else what the bias is
    nests: tuple[str, ...] = ()  # learnt arrays, the last axis the draws, that begin with those of a smaller map


EVERY = tuple(with_trait(ProductKernel))
FIXED = {"kernels": ("gaussian",), "seeded": False}
AS_RELEASED, REWEIGHTED = {"variant": "as-released"}, {"variant": "reweighted"}
TRUNCATED = Way({"degrees": "truncated"}, gamma=0.3)
LEAST_ERROR = Way({"degrees": "least-error"}, gamma=0.3)
POWER = Way({"degrees": "power"}, ("exponential",), 0.3)
GEOMETRIC = Way({"degrees": "geometric"}, ("exponential",), 0.3)
LINEAR = Way({"linear": "exact"}, ("gaussian",), 0.3)
PRODUCT = Way({"degrees": "product"}, ("polynomial",))
PROJECTIONS = [
    Way({"projection": "gaussian"}, ("gaussian", "polynomial"), 0.1), Way({"projection": "srht"}, ("gaussian",), 0.3),
    Way({"projection": "srht", "degrees": "product"}, ("polynomial",)),
]  # fmt: skip
WAYS = {
    "fourier": [Way(), Way({"form": "offset"}, EVERY), Way({"truncate": 3.0}, ("gaussian",))],
    "low-precision": [Way(), Way({"bits": 1})],
    "qmc": [
        Way(), Way({"sequence": "sobol"}), Way({"skip": 20, "leap": 30}), Way({"scramble": False}, **FIXED),
        Way({"scramble": "rr2"}, **FIXED), Way({"sequence": "sobol", "scramble": False}, **FIXED),
        Way(AS_RELEASED, **FIXED), Way({"scramble": "shift"}), Way({"sequence": "sobol", "scramble": "shift"}),
        Way({"sequence": "lattice"}), Way({"scramble": "digits"}, ("gaussian",)),
    ],
    "quadrature": [
        Way(), Way({"radii": "independent"}), Way({"radii": "truncated"}), Way({"rotation": "butterfly"}),
    ],
    "leverage": [Way({}, EVERY), Way({"pool": 1.5}, EVERY), Way(REWEIGHTED)],
    "surrogate-leverage": [
        # Eq. 14's weights 1/pᵢ have no variance under a heavy-tailed spectral density, so there is no rate to test;
        # that they are unbiased is tested given the pool.
        Way({}, ("gaussian",)), Way({"form": "eq12"}, EVERY), Way(REWEIGHTED),
    ],
    "sorf": [
        Way(), Way({"rotation": "structured"}), Way({"lengths": "fixed", "rotation": "structured"}, ("gaussian",)),
        Way({"transposed": True, "rotation": "structured"}, ("gaussian",)),
    ],
    "orthogonal": [
        Way(), Way({"signs": "lapack"}, ("gaussian",)), Way({"lengths": "coupled"}, ("gaussian",)),
    ],
    "rom": [
        Way(), Way({"products": 1, "rotation": "structured"}),
        Way({"lengths": "fixed", "rotation": "structured"}, ("gaussian",)),
    ],
    "compact": [Way({}, EVERY), Way({"expansion": 1}, EVERY)],
    "tefm": [Way({"sketch": sketch, "power": q}) for sketch in ("gaussian", "srht", "countsketch") for q in (0, 1)],
    "nystroem": [Way({"landmarks": rule}) for rule in RULES],
    "activation": [
        Way({"weights": weights}, gamma=1.0, faster=weights == "qmc")
        for weights in DRAWN_BY if weights != "tall-orthogonal"  # of which sizes do not nest
    ],
    "positive": [
        Way(gamma=0.4), Way({"form": "hyperbolic"}, gamma=0.4), Way({"form": "exp"}, gamma=0.4),
        Way({"weights": "iid"}, gamma=0.4),
    ],
    "perceptron": [Way(gamma=0.5)],
    "maclaurin": [Way(gamma=0.3), TRUNCATED, LEAST_ERROR, POWER, GEOMETRIC, PRODUCT, LINEAR, *PROJECTIONS],
    "complex-to-real": [Way(gamma=0.3), TRUNCATED, LEAST_ERROR, POWER, GEOMETRIC, PRODUCT, LINEAR, *PROJECTIONS],
    # Of 3 inputs hardly any two share a bucket of hundreds; its own tests have the rate with 8.
    "tensor-sketch": [Way({}, ("gaussian",), 0.3), TRUNCATED, LEAST_ERROR, POWER, GEOMETRIC, PRODUCT, LINEAR],
    "plug-in": [Way({}, ("gaussian",))],
}  # fmt: skip
"""Of maps with more ways than that of their defaults, or kernels and a γ of their own."""


def promises(name):
    """What is promised of the feature map ``name``."""
    serves = served(name)
    return [
        Promise(
            way.parameters, way.kernels or tuple(kernels_served(serves.kernels)), way.gamma, way.seeded, way.faster,
            _rate(name, way, serves), serves.nests,
        )
        for way in WAYS.get(name, [Way()])
    ]  # fmt: skip


def _rate(name, way, serves):
    kernel = (*way.kernels, *kernels_served(serves.kernels))[0]
    if not hook(make_features({"name": name, **way.parameters}, kernel=kernel, gamma=1.0, n_features=8), "unbiased"):
        return serves.bias or "biased"
    return FASTER if serves.faster or way.faster else MONTE_CARLO


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
    ALL = [(name, promise) for name in REGISTERED for promise in promises(name)]
    CONTRACT, OTHER_WAYS = first_of_class([made(name, promise) for name, promise in ALL])
