"""Ties are ties, what is advised is chosen by training rows alone, and nothing is advised that a constant equals."""

from types import SimpleNamespace

import numpy as np
import pytest

from rffbench.fit.advising import advise, standard_error
from rffbench.fit.candidates import CONSTANT, FOURIER, LAPLACIAN, LINEAR, NYSTROEM, TREES
from rffbench.fit.metrics import METRICS
from rffbench.fit.trying import Trial
from rffbench.fit.tuning import Tuned

FOLDS = np.array([-0.02, -0.01, 0.0, 0.01, 0.02])  # what every candidate has in common in a fold


def searched(inner, outer=None, splits=5, noise=0.01, sizes=(512,)):
    """A search with these mean scores within the training rows, and on test rows, the same unless given."""
    rng = np.random.default_rng(0)
    outer = inner | (outer or {})
    trials = {}
    for candidate, mean in {CONSTANT: 0.5, **inner}.items():
        for size in sizes if candidate.has_columns else (0,):
            trials[candidate, size] = [
                Trial(
                    candidate, size, split, Tuned({}, mean + FOLDS + noise * rng.normal(size=5)),
                    outer.get(candidate, 0.5) + 0.001 * split, 1.0,
                )
                for split in range(splits)
            ]  # fmt: skip
    split = SimpleNamespace(train=np.arange(80), test=np.arange(80, 100))
    found = SimpleNamespace(trials=trials, splits=[split] * splits, metric=METRICS["accuracy"])
    found.sizes = lambda candidate: sorted(size for each, size in trials if each == candidate)
    return found


ALL = (FOURIER, NYSTROEM, LAPLACIAN, TREES)


def test_of_equals_random_fourier_features_are_advised():
    found = searched(dict.fromkeys(ALL, 0.8) | {LINEAR: 0.7})
    assert advise(found).use == FOURIER


def test_a_small_lead_is_a_tie_and_a_large_one_is_not():
    assert advise(searched({FOURIER: 0.8, LAPLACIAN: 0.805}, noise=0.02)).use == FOURIER
    assert advise(searched({FOURIER: 0.8, LAPLACIAN: 0.9}, noise=0.02)).use == LAPLACIAN


def test_the_best_of_a_tie_is_advised_if_that_is_asked_for():
    assert advise(searched({FOURIER: 0.8, LAPLACIAN: 0.805}, noise=0.001), best=True).use == LAPLACIAN
    assert advise(searched({FOURIER: 0.8, TREES: 0.7}, noise=0.001), best=True).use == FOURIER
    assert advise(searched({FOURIER: 0.9, LINEAR: 0.9}, {LINEAR: 0.9}), best=True).use in (FOURIER, LINEAR)
    tie = searched({FOURIER: 0.8, LAPLACIAN: 0.802}, {FOURIER: 0.8, LAPLACIAN: 0.7}, noise=0.02)
    assert advise(tie).rows[0].score > advise(tie, best=True).rows[0].score  # what test rows say chooses nothing


def test_of_what_is_better_the_best_is_advised():
    assert advise(searched({FOURIER: 0.7, NYSTROEM: 0.8, LAPLACIAN: 0.85, TREES: 0.82})).use == LAPLACIAN


def test_a_linear_model_is_advised_if_it_is_as_good():
    assert advise(searched({FOURIER: 0.8, LINEAR: 0.8})).use == LINEAR
    assert advise(searched({FOURIER: 0.8, LINEAR: 0.75})).use == FOURIER


def test_nothing_is_advised_that_is_not_better_than_the_constant_on_test_rows():
    advice = advise(searched({FOURIER: 0.8, TREES: 0.9}, {FOURIER: 0.5, TREES: 0.5}))
    assert advice.use is None
    assert {row.candidate for row in advice.rows} == {FOURIER, TREES, CONSTANT}


def test_test_rows_choose_nothing():
    """The best on test rows is not advised if training rows say otherwise, and its score is not printed as advised."""
    advice = advise(searched({FOURIER: 0.8, LAPLACIAN: 0.7}, {FOURIER: 0.75, LAPLACIAN: 0.95}))
    assert advice.use == FOURIER
    assert advice.rows[0].score == pytest.approx(0.752)


def test_each_split_is_scored_by_its_own_choice():
    found = searched({FOURIER: 0.7, LAPLACIAN: 0.9}, {FOURIER: 0.6, LAPLACIAN: 0.8}, noise=0.001)
    last = found.trials[LAPLACIAN, 512][-1]
    worse = Tuned({}, last.chosen.scores - 0.3)
    found.trials[LAPLACIAN, 512][-1] = Trial(LAPLACIAN, 512, 4, worse, last.score, 1.0)
    advice = advise(found)
    assert advice.use == LAPLACIAN
    np.testing.assert_allclose(advice.rows[0].scores, [0.8, 0.801, 0.802, 0.803, 0.604])


def test_fewer_columns_are_taken_if_more_hardly_help():
    found = searched({FOURIER: 0.8}, sizes=(128, 256, 512), noise=0.0)
    assert advise(found).columns == 128
    for size, more in ((256, 0.05), (512, 0.1)):
        trials = found.trials[FOURIER, size]
        found.trials[FOURIER, size] = [
            Trial(FOURIER, size, each.split, Tuned({}, each.chosen.scores + more), each.score, 1.0) for each in trials
        ]
    assert advise(found).columns == 512


@pytest.mark.parametrize(("lead", "columns"), [(0.2, 128), (0.3, 256), (1.5, 256)])
def test_more_columns_help_if_they_lead_by_a_quarter_of_a_standard_error(lead, columns):
    found = searched({FOURIER: 0.8}, sizes=(128, 256))
    few, many = ([each.chosen.scores for each in found.trials[FOURIER, size]] for size in (128, 256))
    differences = np.subtract(many, few)
    error = np.sqrt(differences.var(axis=1, ddof=1).mean() / 5)
    for scores in many:
        scores += lead * error - differences.mean()
    assert advise(found).columns == columns


def test_the_standard_error_is_nadeau_and_bengio_s():
    values = [0.7, 0.8, 0.75, 0.9]
    assert standard_error(values, 0.25) == pytest.approx(np.sqrt(np.var(values, ddof=1) * (1 / 4 + 1 / 4)))
    assert np.isnan(standard_error([0.7], 0.25))
