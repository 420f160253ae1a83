"""The answers to the board's questions, from trials that are made up so that the answer is known."""

import numpy as np
import pandas as pd
import pytest

from rffbench.stats import losses
from rffbench.stats import numbers as of_numbers
from rffbench.stats.gain import Reference
from studies.board import kernels_or_maps, questions, tables
from studies.board.registered import COLUMNS, FAMILIES, OF_GAUSSIAN, OF_KERNEL
from studies.board.sessions import with_trials
from studies.board.standing import Board
from tests.helpers import report_log as log
from tests.helpers.of_study import of_study

DATASETS = ["eeg", "magic04", "phoneme", "spambase", "letter", "ring", "twonorm", "usps"]
KNOWN = {name: Reference(name, 0.5, 0.1, 0.001, 3) for name in DATASETS}
MAPS = [*FAMILIES["Fourier"], "Nyström", "TensorSketch", "TEFM", "leverage", "EERF"]
TRIALS = range(4)


@pytest.fixture(autouse=True)
def _few_draws(monkeypatch):
    """The answers are known, and far apart: their intervals need no fine ends."""
    monkeypatch.setattr(of_numbers, "BOOTSTRAPS", 400)


def made_up(methods, row, sizes=(COLUMNS,)):
    """Results of these maps at some sizes, a trial's metrics being ``row(dataset, method, trial)``."""
    rows = [(name, size, method, trial, row(name, method, trial))
            for name in DATASETS for size in sizes for method in methods for trial in TRIALS]  # fmt: skip
    features = {method: {"features": "fourier"} for method in methods}
    config = log.config(datasets=DATASETS, n_features=[*sizes], methods=features, trials=len(TRIALS))
    return of_study(log.results(rows, config))


def made_up_by_size(methods, rows):
    """`made_up` with a ``row`` for each size."""
    parts = [made_up(methods, row, [size]).trials for size, row in rows.items()]
    return with_trials(made_up(methods, rows[COLUMNS], [*rows]), pd.concat(parts, ignore_index=True))


def answer_2(errors, noise=0.01):
    """Question 2's numbers by name, where map number i has an accuracy of 90 − i; ``errors(rng, i)`` gives Δ and the
    other error."""
    rng = np.random.default_rng(0)

    def row(_, method, __):
        at = MAPS.index(method)
        delta, frobenius = errors(rng, at)
        accuracy = 90 - at + rng.normal(0, noise)
        return {"accuracy": accuracy, "ridge_delta_error": delta, "entry_error": frobenius, "ridge_dimension": 10.0}

    board = Board({"board": made_up(["RFF"], row), "board-one-sigma": made_up(MAPS, row)}, KNOWN)
    answer = questions.kernel_errors(board)
    return answer, {each.name: each for each in answer.numbers}


def test_an_error_that_ranks_maps_as_their_losses_predicts_and_noise_does_not():
    answer, numbers = answer_2(lambda rng, at: (1 + at, rng.uniform(1, 100)))
    assert numbers["ridge Δ, over all maps"].value == pytest.approx(1)
    assert numbers["ridge Δ, over Fourier maps"].value == pytest.approx(1)
    assert abs(numbers["Frobenius error, over all maps"].value) < 0.5
    assert numbers["ridge Δ less the Frobenius error"].low > 0
    assert not answer.waits


@pytest.mark.slow
def test_two_errors_alike_predict_alike():
    _, numbers = answer_2(lambda _, at: (1 + at, 2 + 3 * at))
    assert numbers["ridge Δ less the Frobenius error"].value == 0
    assert not numbers["ridge Δ less the Frobenius error"].is_apart
    assert numbers["ridge Δ, over all maps"].value == numbers["Frobenius error, over all maps"].value > 0.5


@pytest.mark.slow
def test_maps_that_change_the_kernel_are_left_out_of_a_number():
    """EERF has the largest error and the smallest loss; without it the ranks are the same."""
    found = answer_2(lambda _, at: (-at + 100 if at == len(MAPS) - 1 else 100 + at,) * 2)[1]
    name = "ridge Δ, over maps that estimate this kernel (exploratory)"
    assert found[name].value == pytest.approx(1)
    assert found["ridge Δ, over all maps"].value < 1


@pytest.mark.slow
def test_halves_of_the_trials_agree_on_ranks_as_far_as_these_are_more_than_chance():
    name = "losses of half the trials with those of the rest, over all maps (exploratory)"
    sure = answer_2(lambda _, at: (1.0 + at, 1.0 + at), noise=0.01)[1][name]
    chance = answer_2(lambda _, at: (1.0 + at, 1.0 + at), noise=1000)[1][name]
    assert sure.value == pytest.approx(1)
    assert abs(chance.value) < 0.5


@pytest.mark.parametrize(("kernels", "maps"), [(5, 0.5), (0.5, 5)])
def test_what_varies_more_is_said_to_matter_more(kernels, maps):
    """Five kernels whose accuracies lie ``kernels`` points apart, and five maps, ``maps`` points apart."""
    rng = np.random.default_rng(1)
    order = {method: at for at, names in enumerate(OF_KERNEL.values()) for method in names}

    def of_kernel(_, method, __):
        second = method in [names[1] for names in OF_KERNEL.values()]
        return {"accuracy": 80 - kernels * order[method] + rng.normal(0, 0.1), "cv_error": 0.3 - 0.1 * second}

    def of_map(_, method, __):
        return {"accuracy": 80 - maps * OF_GAUSSIAN.index(method) + rng.normal(0, 0.1)}

    board = Board({"board": made_up(OF_GAUSSIAN, of_map), "board-kernels": made_up(list(order), of_kernel)}, KNOWN)
    answer = kernels_or_maps.kernels(board)
    share, without_worst, *_ = answer.numbers
    assert (share.value, share.datasets) == (float(kernels > maps), len(DATASETS))
    assert without_worst.value == share.value
    assert not answer.waits


def test_one_poor_kernel_alone_does_not_matter_once_it_is_left_out():
    """Four kernels alike and one 20 points worse, and five maps a point apart."""
    poor = OF_KERNEL["polynomial"]
    rng = np.random.default_rng(2)

    def of_kernel(_, method, __):
        return {"accuracy": 80 - 20 * (method in poor) + rng.normal(0, 0.1), "cv_error": 0.1}

    def of_map(_, method, __):
        return {"accuracy": 80 - OF_GAUSSIAN.index(method) + rng.normal(0, 0.1)}

    methods = [name for names in OF_KERNEL.values() for name in names]
    board = Board({"board": made_up(OF_GAUSSIAN, of_map), "board-kernels": made_up(methods, of_kernel)}, KNOWN)
    answer = kernels_or_maps.kernels(board)
    share, without_worst, *_ = answer.numbers
    assert (share.value, without_worst.value) == (1, 0)


@pytest.mark.slow
def test_kernels_are_compared_at_every_size_that_has_run_whole():
    """At 1,024 columns, where a trial of one kernel is missing, nothing is said; the table leaves no kernel out."""
    rng = np.random.default_rng(3)

    def of_kernel(_, method, __):
        return {
            "accuracy": 80 - 5 * kernels_or_maps.METHODS_OF_KERNELS.index(method) + rng.normal(0, 0.1),
            "cv_error": 0.1,
        }

    def of_map(_, method, __):
        return {"accuracy": 80 - 0.1 * OF_GAUSSIAN.index(method) + rng.normal(0, 0.1)}

    sizes = (256, COLUMNS, 1024)
    of_kernels = made_up(kernels_or_maps.METHODS_OF_KERNELS, of_kernel, sizes)
    board = Board({"board": made_up(OF_GAUSSIAN, of_map, sizes), "board-kernels": of_kernels}, KNOWN)
    numbers = {each.name: each.value for each in kernels_or_maps.kernels(board).numbers}
    assert numbers["the share with 256 columns (exploratory)"] == 1
    assert numbers["the share with 1,024 columns without the worst of each (exploratory)"] == 1
    table = tables.kernels_by_columns(board)
    assert table.header == ["map", "256", "512", "1,024"]
    assert [row[0] for row in table.rows] == kernels_or_maps.METHODS_OF_KERNELS[1:]
    assert table.rows[0][1].startswith("-12.")  # 5 points less than RFF, of a unit of 40

    late = of_kernels.trials.query("n_features != 1024 or method != 'Matérn RFF' or dataset != 'eeg' or trial != 0")
    partly = Board({**board.results, "board-kernels": with_trials(of_kernels, late)}, KNOWN)
    assert "1,024" not in " ".join(each.name for each in kernels_or_maps.kernels(partly).numbers)
    assert tables.kernels_by_columns(partly).header == ["map", "256", "512"]
    small = with_trials(of_kernels, of_kernels.trials.query("n_features != 1024"))
    without = Board({**board.results, "board-kernels": small}, KNOWN)
    assert kernels_or_maps.kernels(partly).numbers == kernels_or_maps.kernels(without).numbers


def test_a_size_at_which_a_trial_of_one_kernel_is_missing_counts_for_nothing():
    of_kernels = made_up(kernels_or_maps.METHODS_OF_KERNELS, lambda *_: {"accuracy": 80}, (256, COLUMNS))
    maps = made_up(OF_GAUSSIAN, lambda *_: {"accuracy": 80}, (256, COLUMNS))
    last = "n_features == 256 and method == 'Matérn RFF' and dataset == 'usps' and trial == 3"
    partly = with_trials(of_kernels, of_kernels.trials.query(f"not ({last})"))
    boards = [Board({"board": maps, "board-kernels": each}, KNOWN) for each in (of_kernels, partly)]
    assert [kernels_or_maps.whole_sizes(each) for each in boards] == [[256, COLUMNS], [COLUMNS]]
    assert [tables.kernels_by_columns(each).header for each in boards] == [["map", "256", "512"], ["map", "512"]]


@pytest.mark.slow
def test_a_size_at_which_the_answer_is_another_is_named():
    """With 256 columns the kernels are alike."""
    rng = np.random.default_rng(4)

    def of_kernel(apart):
        methods = kernels_or_maps.METHODS_OF_KERNELS
        return lambda _, method, __: {
            "accuracy": 80 - apart * methods.index(method) + rng.normal(0, 0.1),
            "cv_error": 0.1,
        }

    def of_map(_, method, __):
        return {"accuracy": 80 - OF_GAUSSIAN.index(method) + rng.normal(0, 0.1)}

    of_kernels = made_up_by_size(kernels_or_maps.METHODS_OF_KERNELS, {256: of_kernel(0), COLUMNS: of_kernel(5)})
    board = Board({"board": made_up(OF_GAUSSIAN, of_map, (256, COLUMNS)), "board-kernels": of_kernels}, KNOWN)
    numbers = {each.name: each.value for each in kernels_or_maps.kernels(board).numbers}
    assert numbers["share of datasets on which kernels vary more"] == 1
    assert numbers["the share with 256 columns (exploratory)"] == 0


@pytest.mark.slow
def test_maps_that_draw_together_are_measured_on_each_dataset():
    """From 256 to 512 columns the maps come half as far apart and the kernels stay as they are."""

    def of(methods, apart):
        return lambda _, method, __: {"accuracy": 80 - apart * methods.index(method), "cv_error": 0.1}

    of_kernels = kernels_or_maps.METHODS_OF_KERNELS
    parts = {
        "board": made_up_by_size(OF_GAUSSIAN, {256: of(OF_GAUSSIAN, 2), COLUMNS: of(OF_GAUSSIAN, 1)}),
        "board-kernels": made_up_by_size(of_kernels, {256: of(of_kernels, 1), COLUMNS: of(of_kernels, 1)}),
    }
    numbers = {each.name: each.value for each in kernels_or_maps.kernels(Board(parts, KNOWN)).numbers}
    called = "between five {}: 512 over 256 columns (exploratory)".format
    assert numbers[called("maps of the Gaussian kernel")] == pytest.approx(0.5)
    assert numbers[called("kernels")] == pytest.approx(1)
    assert numbers[called("maps of the Gaussian kernel without the worst")] == pytest.approx(0.5)


def test_the_best_score_is_an_entrys_mean_and_of_a_regression_r2():
    """RFF is the best in one trial and SORF on average; on w8a the balanced accuracy counts; kin8nm is a regression,
    where a kernel has half the constant's error."""
    known = {name: Reference(name, 0.5, 0.1, 0.001, 2) for name in ("eeg", "w8a", "kin8nm")}

    def part(methods):
        rows = [(name, COLUMNS, method, trial, each) for (name, method), of_trials in methods.items()
                for trial, each in enumerate(of_trials)]  # fmt: skip
        features = {method: {"features": "fourier"} for _, method in methods}
        config = log.config(datasets=[*known], n_features=[COLUMNS], methods=features, trials=2)
        return of_study(log.results(rows, config))

    def accuracies(*values):
        return [{"accuracy": value, "balanced_accuracy": value - 20} for value in values]

    maps = part({
        ("eeg", "RFF"): accuracies(99, 61), ("eeg", "SORF"): accuracies(89, 91), ("w8a", "RFF"): accuracies(97, 97),
        ("kin8nm", "RFF"): [{"rmse": 0.6}, {"rmse": 0.6}],
    })  # fmt: skip
    of_kernels = part({("kin8nm", "Matérn RFF"): [{"rmse": 0.5}, {"rmse": 0.5}]})
    board = Board({"board": maps, "board-kernels": of_kernels}, known)
    found = kernels_or_maps.best_scores(board, losses(of_kernels.trials))
    assert {name: each.of_all for name, each in found.items()} == pytest.approx(
        {"eeg": 0.9, "w8a": 0.77, "kin8nm": 1 - 0.25 / 0.5}
    )
