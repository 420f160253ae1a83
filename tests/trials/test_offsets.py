"""A dataset in other units is the same dataset: its trials choose the same λ and have the same relative error."""

import numpy as np
import pytest

import rffbench

rng = np.random.default_rng(0)
# Multiples of 2⁻¹⁰ lose no digit in what is added to them.
X = np.round(rng.normal(size=(400, 3)) * 2**10) / 2**10
Y = np.round((np.sin(X[:, 0]) * 2 + 0.1 * rng.normal(size=400)) * 2**10) / 2**10
METHODS = {
    "RFF": {"features": "fourier"}, "chosen": {"features": "leverage"}, "Nystroem": {"features": "nystroem"},
    "binning": {"features": "random-binning", "kernel": {"name": "laplacian", "gamma": "median"}},
    "not centred": {"features": "orthogonal", "solver": {"name": "ridge", "lambda": 1e-3, "center": False}},
    "trees": {"features": "none", "solver": {"name": "gradient-boosting", "trees": 20}},
}  # fmt: skip


def measured(folder, X, y):
    folder.mkdir()
    rows = "\n".join(",".join(map(repr, [*map(float, row), float(target)])) for row, target in zip(X, y, strict=True))
    (folder / "data.csv").write_text(f"a,b,c,y\n{rows}\n", encoding="utf-8")
    config = {
        "name": "offsets", "datasets": [{"path": str(folder / "data.csv"), "target": "y", "task": "regression"}],
        "kernel": {"name": "gaussian", "sigma": "median"}, "preprocess": "standard", "n_features": [16],
        "methods": METHODS, "solver": {"name": "ridge", "lambda": [1e-6, 1e-2]}, "trials": 1,
    }  # fmt: skip
    trials = rffbench.run(config, results=folder / "results", workers=1).trials
    assert (trials["status"] == "ok").all(), [path.read_text() for path in folder.rglob("trials.jsonl")]
    return trials.set_index(["method", "n_features"]).sort_index()


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return measured(tmp_path_factory.mktemp("plain") / "data", X, Y)


@pytest.mark.slow
@pytest.mark.parametrize(("offset", "factor", "shift", "scale"), [
    (1.6e9, 1.0, 1e12, 1.0), (0.0, 1e12, [1e12, 0, 0], [1, 1e12, 1e-12]),
])  # fmt: skip
def test_units_and_offsets_of_targets_and_inputs_change_no_choice_and_no_relative_error(
    plain, tmp_path, offset, factor, shift, scale
):
    moved = measured(tmp_path / "data", X * scale + shift, Y * factor + offset)
    if offset:
        plain, moved = (trials.drop(index="not centred") for trials in (plain, moved))
    assert plain["lambda"].equals(moved["lambda"])
    binning = plain.index.get_level_values("method") == "binning"  # by conjugate gradients, which end at a tolerance
    change = np.abs(moved["rmse"] / factor / plain["rmse"] - 1)
    # The prediction rounds like the target: by 10⁻⁷ at 1.6·10⁹.
    assert not (change > np.where(binning, 1e-7, 1e-9) + np.spacing(offset)).any()
    change = np.abs(moved["cv_error"] / factor**2 / plain["cv_error"] - 1)
    assert not (change > np.where(binning, 1e-3, 1e-9)).any()
    assert change.notna().sum() == 4
