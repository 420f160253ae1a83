"""What is told of leverage sampling's theory: dimensions against n, decay of eigenvalues, Lemma 1's bound."""

import numpy as np
import pandas as pd
import pytest

import rffbench
from rffbench import report
from rffbench.config.experiment import Experiment
from studies.papers.liu2020.leverage_figure import leverage_figures
from studies.papers.liu2020.leverage_theory import decay, delta_error_bound, leverage_table, write_leverage
from tests.helpers import report_log as log

POINTS, SIZES = (100, 200, 400), (16, 32, 64)
MEASURES = [
    "delta_error",
    "effective_dimension",
    "kernel_effective_dimension",
    "kernel_surrogate_dimension",
    "spectrum",
]
SETTINGS = {"solver": {"name": "none"}, "measures": MEASURES, "n_features": list(SIZES), "trials": 2}


def folder(tmp_path):
    """d = n^0.25, D = 3√n, eigenvalues i^−2; ‖Δ‖ falls as the root of s."""
    ranks = [1, 2, 4, 8, 16, 32, 64]
    sweep = {"points": {f"n = {n}": {"kernel_error_points": n} for n in POINTS}}
    sweep["points"]["n = 400"]["methods"] = {"surrogate-RFF": log.METHODS["surrogate-RFF"]}
    config = log.config(**SETTINGS, methods={"RFF": log.METHODS["RFF"]}, sweep=sweep)
    experiment = Experiment.model_validate(config)
    rows = []
    for spec in experiment.grid():
        if spec.method == "RFF":
            n = spec.kernel_error_points
            row = log.ok(spec, 1 / np.sqrt(spec.n_features), metric="delta_error")
            row["metrics"] |= {"kernel_effective_dimension": n**0.25, "kernel_surrogate_dimension": 3 * n**0.5,
                               "effective_dimension": n**0.25, "surrogate_dimension": 3 * n**0.5}  # fmt: skip
            row["curves"] = {"rank": ranks, "eigenvalue": [i**-2.0 for i in ranks], "map_eigenvalue": [1.0] * 7}
            rows.append(row)
    return log.write(tmp_path / "run", experiment.to_dict(), rows)


def test_the_table_has_both_dimensions_their_exponents_in_n_and_the_decay(tmp_path):
    table = leverage_table(rffbench.load(folder(tmp_path)))
    [row] = table.rows
    told = dict(zip(table.header, row, strict=True))
    assert (told["n"], told["d"], told["D"], told["2/λ"]) == ("400", "4.5", "60.0", "40.0")
    assert told["d ∝ n^"].startswith("+0.25")
    assert told["D ∝ n^"].startswith("+0.50")
    assert (told["i^−2t: 2t"], told["R²"]) == ("2.0", "1.000")


@pytest.mark.slow
def test_protocols_with_other_methods_stand_in_one_table(tmp_path):
    path = folder(tmp_path)
    report.redraw(path)
    table = pd.read_csv(path / "table.csv", dtype=str, keep_default_na=False)
    assert list(table.columns) == ["points: dataset", "s", "RFF", "surrogate-RFF"]
    assert table["surrogate-RFF"].tolist() == 6 * [""] + 3 * ["–"]


@pytest.mark.slow
def test_the_figure_is_of_the_kernel_against_n_and_of_maps_against_s(tmp_path):
    protocols = rffbench.load(folder(tmp_path))
    [(dataset, figure)] = leverage_figures(protocols)
    assert (dataset, len(figure.axes)) == ("eeg", 5)
    assert [axis.get_xlabel() for axis in figure.axes[1:]] == ["points n"] + 3 * ["frequencies s"]
    (legend,) = figure.legends
    assert [text.get_text().split()[0] for text in legend.get_texts()] == ["RFF", "of"]  # theory comes last
    assert [path.name for path in write_leverage(protocols)] == ["leverage.csv", "leverage.md"]


@pytest.mark.parametrize("name", ["polynomial", "exponential", "root"])
def test_the_decay_that_fits_best_is_the_one_it_is(name):
    rank = np.arange(1.0, 40.0)
    exponents = {"polynomial": -3 * np.log(rank), "exponential": -0.4 * rank, "root": -2 * np.sqrt(rank)}[name]
    found = decay(pd.DataFrame({"rank": rank, "eigenvalue": np.exp(exponents)}))
    lines = {each: getattr(found, each) for each in ("polynomial", "exponential", "root")}
    assert max(lines, key=lines.get) == name
    assert lines[name] == pytest.approx(1)


def test_the_bound_on_the_delta_error_solves_the_lemma():
    s, D, d, delta = np.array([10.0, 1e3, 1e6]), 30.0, 3.0, 0.01
    epsilon = delta_error_bound(s, D, d, delta)
    assert D * (1 / epsilon**2 + 2 / (3 * epsilon)) * np.log(16 * d / delta) == pytest.approx(s)
