"""Conjugate gradients whose passes are made by workers: the answer of those here, the same digits whoever adds."""

import random
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from rffbench import RandomFourierFeatures
from rffbench.errors import ConfigError
from rffbench.solvers import make_solver
from rffbench.solvers.iterative import blocks
from rffbench.solvers.iterative.falkon import FalkonCV
from rffbench.solvers.iterative.features import Product
from rffbench.solvers.iterative.pcg import PCGRidgeClassifierCV, PCGRidgeCV
from rffbench.solvers.iterative.problems import Problems
from rffbench.solvers.iterative.tiles import Tiles
from rffbench.solvers.ridge import tree
from tests.helpers.played_workers import Lazy, Played

rng = np.random.default_rng(0)
X, NEW = rng.uniform(size=(701, 4)), rng.uniform(size=(60, 4))
Y = np.sin(5 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=701)
ALPHAS = [1e-5, 1e-3]
SETTINGS = {
    "features": RandomFourierFeatures(80, gamma=1.0, random_state=0), "rank": 40, "folds": 3,
    "budget": {"tolerance": 1e-9}, "random_state": 1,
}  # fmt: skip
OF_FALKON = {"gamma": 1.0, "n_landmarks": 50, "folds": 3, "budget": {"tolerance": 1e-9}, "random_state": 1}


@pytest.fixture
def workers(monkeypatch):
    """Small leaves, on played workers."""
    played = Played()
    monkeypatch.setattr(blocks, "workers", lambda: played)
    monkeypatch.setattr(blocks, "leaves", lambda start, stop, most=60: tree.leaves(start, stop, most))
    return played


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("center", [True, "both", False])
def test_passes_by_workers_come_to_what_passes_here_do(workers, center, lazy):
    here = PCGRidgeCV(ALPHAS, center=center, **SETTINGS).fit(X, Y)
    there = PCGRidgeCV(ALPHAS, center=center, blocks="dask", **SETTINGS).fit(Lazy(X) if lazy else X, Y)
    assert workers.sent
    assert (there.alpha_, there.metrics_["passes"]) == (here.alpha_, here.metrics_["passes"])
    np.testing.assert_allclose(there.predict(NEW), here.predict(NEW), atol=1e-7)
    np.testing.assert_allclose(there.cv_results_["fold_test_error"], here.cv_results_["fold_test_error"], rtol=1e-4)
    assert there.timing_["feature_s"] > 0


def test_classes_and_accuracy_are_those_of_passes_here(workers):
    labels = np.array(["a", "b", "c"])[np.digitize(Y, [0.2, 0.8])]
    here, there = (
        PCGRidgeClassifierCV(ALPHAS, scoring="accuracy", blocks=each, **SETTINGS).fit(X, labels)
        for each in (None, "dask")
    )
    np.testing.assert_allclose(there.decision_function(NEW), here.decision_function(NEW), atol=1e-7)
    np.testing.assert_allclose(there.cv_results_["fold_test_error"], here.cv_results_["fold_test_error"], rtol=1e-12)


def test_falkon_is_that_of_passes_here(workers):
    here, there = (FalkonCV(ALPHAS, blocks=each, **OF_FALKON).fit(X, Y) for each in (None, "dask"))
    np.testing.assert_allclose(there.predict(NEW), here.predict(NEW), atol=1e-6)


@pytest.mark.parametrize("threads", [2, 100])
def test_no_digit_depends_on_how_many_workers_there_are(workers, threads):
    one = PCGRidgeCV(ALPHAS, blocks="dask", **SETTINGS).fit(X, Y)
    few = len(workers.sent)
    workers.threads = threads
    several = PCGRidgeCV(ALPHAS, blocks="dask", **SETTINGS).fit(X, Y)
    np.testing.assert_array_equal(several.coef_, one.coef_)
    assert len(workers.sent) - few > few


@pytest.mark.parametrize("count", range(1, 40))
def test_branches_are_added_as_the_tree_adds_their_leaves(count):
    def sum_of(numbers):
        found = list(numbers)
        for left, right in tree.pairs(len(found)):
            found.append((found[left], found[right]))
        return found[-1]

    cut = blocks.even_leaves(count)
    for threads in (1, 2, 3, 8):
        branches = blocks.branches(cut, threads)
        assert [leaf for branch in branches for leaf in branch] == cut
        assert repr(sum_of(map(sum_of, branches))) == repr(sum_of(cut))


@pytest.mark.parametrize(
    ("threads", "expected"), [(1, 1), (2, 2), (3, 8), (5, 4), (6, 16), (7, 32), (64, 64), (100, 256), (5000, 1024)]
)
def test_a_pass_has_as_few_tasks_as_keep_the_workers_busy(threads, expected):
    """Of six threads and eight tasks four would wait for the second round: six threads have sixteen."""
    assert len(blocks.branches(blocks.even_leaves(10**7), threads)) == expected


def test_leaves_of_many_rows_are_as_many_as_workers_can_share_evenly():
    cut = blocks.even_leaves(200_000)
    assert len(cut) == 16
    assert {leaf.stop - leaf.start for leaf in cut} == {12_500}


def test_no_digit_depends_on_who_is_done_first(workers):
    first = PCGRidgeCV(ALPHAS, blocks="dask", **SETTINGS).fit(X, Y)
    for seed in range(2):
        workers.order = random.Random(seed)
        again = PCGRidgeCV(ALPHAS, blocks="dask", **SETTINGS).fit(X, Y)
        np.testing.assert_array_equal(again.coef_, first.coef_)


def test_rows_and_map_are_sent_once_a_fit_and_a_pass_sends_vectors(workers):
    many = rng.uniform(size=(6000, 30))
    model = PCGRidgeCV([1e-3], blocks="dask", **SETTINGS).fit(many, many[:, 0])
    passes = model.metrics_["passes"]
    assert passes > 4
    assert sum(workers.kept) < 1.2 * many.nbytes + passes * 8 * 80 * 45


def test_targets_are_sent_with_their_rows_and_not_to_every_worker(workers):
    workers.threads, n = 8, 6000
    rows = rng.uniform(size=(n, 3))
    settings = {**SETTINGS, "rank": 4, "budget": {"passes": 4}}
    with pytest.warns(ConvergenceWarning):
        PCGRidgeCV(ALPHAS, blocks="dask", **settings).fit(rows, rows[:, 0])
    shared, *branches = workers.kept[:9]
    assert shared < 8 * n / 8
    assert max(branches) < 1.2 * 8 * n * 4 / 8  # three inputs and a target


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"name": "pcg", "preconditioner": "sketch"},
            "preconditioner must be null, nystroem or none with blocks: dask",
        ),
        ({"name": "falkon", "preconditioner": "krill"}, "preconditioner must be falkon or none with blocks: dask"),
        ({"name": "pcg", "on_kernel": True}, "blocks must be null without a feature map, got 'dask'"),
    ],
)
def test_what_workers_cannot_do_is_refused(settings, said):
    features = None if settings.pop("on_kernel", False) or settings["name"] == "falkon" else SETTINGS["features"]
    with pytest.raises(ConfigError, match=said):
        make_solver(
            settings | {"blocks": "dask"}, task="regression", features=features, kernel="gaussian", gamma=1.0,
            n_features=10,
        ).fit(X, Y)  # fmt: skip


def test_a_worker_s_passes_over_its_blocks_use_the_same_memory():
    rows = np.random.default_rng(2).uniform(size=(900, 4))
    features = RandomFourierFeatures(64, gamma=1.0, random_state=0).fit(rows)
    problems = Problems(rows[:, :1], [1e-3, 1e-2], 3, "n", True)
    work = Product(np.random.default_rng(3).normal(size=(64, len(problems))), np.arange(len(problems)))

    def total(part, keep):
        tiles = Tiles(rows[part], features, 64, part.start, keep=keep)
        return tiles.total(work, problems)[0], tiles.buffers_of_thread()

    first, buffers = total(slice(0, 500), True)
    second, again = total(slice(500, 900), True)
    assert all(one is other for one, other in zip(buffers, again, strict=True))
    np.testing.assert_array_equal(first, total(slice(0, 500), False)[0])
    np.testing.assert_array_equal(second, total(slice(500, 900), False)[0])


# ---- docs/scaling.md -------------------------------------------------------------------------------------------------


def test_the_plan_on_paper_is_what_the_code_comes_to():
    """Work: the map's cosines and its d/2 products, then two products for each problem. Sent: the vectors to each other
    worker, each sum once at most, and one to the command."""
    n, workers, p, problems, inputs, rank, folds = 10**9, 100, 4096, 6, 16, 1000, 2
    cut = blocks.even_leaves(n)
    parts = len(blocks.branches(cut, workers))
    busy = parts / (workers * -(-parts // workers))
    vectors = 8 * p * problems
    seconds = n * p * (20 + inputs / 2 + 2 * problems) / workers / 1e11 / busy
    page = (Path(__file__).parents[3] / "docs" / "scaling.md").read_text(encoding="utf-8")
    for row in (
        f"| leaves | {len(cut):,} |", f"| branches | {parts} |", f"are busy | {100 * busy:.0f} % |",
        f"| tasks, with sums and vectors | {parts + parts - 1 + 1} |",
        f"| sent in all | {(workers - 1 + parts) * vectors / 1e9:.2f} GB |",
        f"| time at 10¹¹ a second | {seconds:.1f} s |",
    ):  # fmt: skip
        assert row in page
    sums = 8 * p * (rank + (folds + 1) * 2)
    once = (workers - 1) * 8 * p * rank + parts * sums
    assert f"sends {once / 1e9:.1f} GB in all" in page
    assert f"Forty passes take {40 * seconds / 60:.0f} minutes" in page
