"""On a GPU, where there is one: features and Gram matrices against the rate that a large product reaches there.

The operations that count are those of X·W and of ZᵀZ. Seconds of the features include copying the rows to the device;
cosines, sines and the conversion to float64 come on top.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.measure import compare, single
from rffbench import RandomFourierFeatures

ROWS, INPUTS, COLUMNS, SQUARE = 65_536, 1_024, 8_192, 8_192
GOAL = 0.5  # of the product's rate
REPEATS = 5


def run(quick: bool = False) -> Iterator[dict[str, Any]]:
    """Both in float64 and in float32; on a machine without a GPU one line that says so."""
    if (why := missing()) is not None:
        yield single(f"no GPU ({why})", [], np.nan, goal=None, peer="a product of large matrices", unit="s")
        return
    yield from shares("cuda", *((2_048, 64, 256, 512) if quick else (ROWS, INPUTS, COLUMNS, SQUARE)))


def missing() -> str | None:
    """Why nothing can be measured."""
    try:
        import torch
    except ImportError:
        return "PyTorch is not installed"
    return None if torch.cuda.is_available() else "PyTorch finds none"


def shares(device: str, rows: int, inputs: int, columns: int, square: int) -> Iterator[dict[str, Any]]:
    """On a PyTorch device, the shares of the rate of a product of two matrices, ``square`` × ``square``."""
    import torch

    from rffbench.solvers.ridge.torch import DeviceMap, DeviceMatrix, synchronise, warm_up

    there = torch.device(device)
    X = np.random.default_rng(0).normal(size=(rows, inputs))
    features = RandomFourierFeatures(columns, gamma=1 / inputs, random_state=0).fit(X[:2])
    for dtype in (np.dtype("float64"), np.dtype("float32")):
        warm_up(there, dtype)
        Y, made = X.astype(dtype), DeviceMap(features, columns, dtype, there)
        A = torch.tensor(np.random.default_rng(1).normal(size=(square, square)).astype(dtype), device=there)

        def product(A: Any = A) -> None:
            A @ A
            synchronise(there)

        def mapped(Y: Any = Y, made: Any = made) -> None:
            made(Y)
            synchronise(there)

        yield _share(f"features, {dtype}", mapped, product, rows * inputs * columns // 2 / square**3)
        if dtype == np.float64:  # of every dtype's features, the sums are in float64
            Z, gram = made(Y), DeviceMatrix(columns, there)

            def summed(Z: Any = Z, gram: Any = gram) -> None:
                gram.add_gram(Z)
                synchronise(there)

            yield _share("Gram matrix, float64", summed, product, rows * columns**2 / square**3)


def _share(what: str, ours: Any, product: Any, times: float) -> dict[str, Any]:
    """``times``: how many times the product's operations ours takes."""
    return compare(
        f"share of the product's rate: {what}", ours, product, goal=GOAL, repeats=REPEATS, scale_peer=times,
        peer_name="a product of large matrices, as many operations",
    )  # fmt: skip
