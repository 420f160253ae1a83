"""Ridge by preconditioned conjugate gradients: the direct solve's answer, in passes over blocks, within a budget."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from rffbench import RandomFourierFeatures, StreamedRidgeClassifierCV, StreamedRidgeCV
from rffbench.arguments.rowsource import clock
from rffbench.errors import ConfigError, Fallback, MemoryBudgetError
from rffbench.solvers import make_solver
from rffbench.solvers.iterative.pcg import PCGRidgeClassifierCV, PCGRidgeCV

rng = np.random.default_rng(0)
X, NEW = rng.uniform(size=(500, 4)), rng.uniform(size=(60, 4))
Y = np.sin(5 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=500)
FEATURES = RandomFourierFeatures(80, gamma=1.0, random_state=0)
RANKS = {"nystroem": 40, "sketch": 60, "none": None}
TIGHT = {"tolerance": 1e-9}


@pytest.mark.parametrize("center", [True, "both", False])
@pytest.mark.parametrize("preconditioner", RANKS)
def test_it_agrees_with_the_direct_solve_and_chooses_as_that_does(preconditioner, center):
    alphas = [1e-6, 1e-4, 1e-2]
    settings = {"features": FEATURES, "center": center, "folds": 3}
    direct = StreamedRidgeCV(alphas, **settings).fit(X, Y)
    ours = PCGRidgeCV(
        alphas, preconditioner=preconditioner, rank=RANKS[preconditioner], budget=TIGHT, random_state=1, **settings
    ).fit(X, Y)
    np.testing.assert_allclose(ours.predict(NEW), direct.predict(NEW), atol=1e-6)
    assert ours.alpha_ == direct.alpha_
    errors, wanted = (each.cv_results_["fold_test_error"] for each in (ours, direct))
    np.testing.assert_allclose(errors, wanted, rtol=1e-2)


def test_several_targets_and_classes_are_solved_side_by_side():
    targets = np.column_stack([Y, X[:, 2], np.cos(4 * X[:, 3])])
    settings = {"features": FEATURES, "folds": 3, "lambda_scale": 1}
    direct = StreamedRidgeCV([1e-2, 1.0], **settings).fit(X, targets)
    ours = PCGRidgeCV([1e-2, 1.0], rank=40, budget=TIGHT, random_state=1, **settings).fit(X, targets)
    np.testing.assert_allclose(ours.predict(NEW), direct.predict(NEW), atol=1e-6)
    one = PCGRidgeCV([1e-2, 1.0], rank=40, budget=TIGHT, random_state=1, **settings).fit(X, Y)
    assert ours.metrics_["passes"] < 2 * one.metrics_["passes"]
    labels = np.array(["a", "b", "c"])[np.digitize(Y, [0.2, 0.8])]
    direct = StreamedRidgeClassifierCV([1e-5, 1e-3], scoring="accuracy", features=FEATURES).fit(X, labels)
    ours = PCGRidgeClassifierCV(
        [1e-5, 1e-3], scoring="accuracy", features=FEATURES, rank=40, budget=TIGHT, random_state=1
    ).fit(X, labels)
    np.testing.assert_allclose(ours.decision_function(NEW), direct.decision_function(NEW), atol=1e-5)
    np.testing.assert_allclose(ours.cv_results_["fold_test_error"], direct.cv_results_["fold_test_error"], atol=1e-2)


class Counted:
    """Rows that count how often they are read, and never give many at a time."""

    shape, dtype = (6000, 4), np.dtype(np.float64)

    def __init__(self, X):
        self.X, self.read, self.most = X, 0, 0

    def __getitem__(self, rows):
        part = self.X[rows]
        self.read += len(part)
        self.most = max(self.most, len(part))
        return part


def test_a_step_is_one_pass_over_blocks_for_all_folds_and_alphas():
    many = np.random.default_rng(1).uniform(size=(6000, 4))
    rows, target = Counted(many), np.sin(5 * many[:, 0])
    model = PCGRidgeCV([1e-5, 1e-4, 1e-3], features=FEATURES, rank=40, budget={"tolerance": 1e-4}, random_state=1).fit(
        rows, target
    )
    assert model.metrics_["passes"] == model.n_iter_ + 2
    assert rows.read == 6000 * model.metrics_["passes"] + 1  # a row to see how many columns the map makes
    assert rows.most <= 4096
    assert model.n_iter_ < 20


def test_a_preconditioner_takes_fewer_passes_and_a_larger_rank_fewer_still():
    def passes(kind, rank=None):
        model = PCGRidgeCV([1e-6], features=FEATURES, preconditioner=kind, rank=rank, random_state=1)
        return model.fit(X, Y).metrics_["passes"]

    plain, few, many = passes("none"), passes("nystroem", 20), passes("nystroem", 60)
    assert many < few < plain
    assert passes("sketch", 300) < plain / 3


def test_a_budget_of_passes_is_kept_and_what_has_not_converged_says_so():
    model = PCGRidgeCV([1e-6], features=FEATURES, preconditioner="none", budget={"passes": 5})
    with pytest.warns(ConvergenceWarning, match=r"lambda=1e-06 has not converged: .* after 5 passes, not 1e-06; give"):
        model.fit(X, Y)
    assert model.metrics_["passes"] == 5
    assert model.metrics_["residual"] > 1e-6


def test_a_budget_of_seconds_is_kept():
    slow = Counted(np.random.default_rng(1).uniform(size=(6000, 4)))
    model = PCGRidgeCV(
        [1e-9], features=FEATURES, preconditioner="none", budget={"seconds": 0.3, "tolerance": 1e-14}
    )  # fmt: skip
    started = clock()
    with pytest.warns(ConvergenceWarning, match="has not converged"):
        model.fit(slow, np.sin(9 * slow.X[:, 0]))
    assert clock() - started < 5  # of the thousand passes that it would take


def test_a_tolerance_beyond_the_precision_is_told_with_the_smallest_that_can_be_had():
    single = X.astype(np.float32)
    model = PCGRidgeCV([1e-2], features=FEATURES, rank=40, budget={"tolerance": 1e-8}, random_state=1)
    with pytest.warns(Fallback, match="1e-08 is below the precision of float32: 1e-06, the smallest"):
        model.fit(single, Y)
    np.testing.assert_allclose(model.predict(NEW.astype(np.float32)), model.fit(X, Y).predict(NEW), atol=1e-3)


def test_what_rounding_keeps_from_converging_is_told():
    model = PCGRidgeCV([1e-12], features=FEATURES, rank=80, budget={"tolerance": 1e-14}, random_state=1)
    with pytest.warns(ConvergenceWarning, match="rounding prevents a smaller one: take a larger tolerance or lambda"):
        model.fit(X, Y)


def test_a_preconditioner_larger_than_the_memory_is_refused_before_anything_is_read():
    model = PCGRidgeCV([1e-3], features=RandomFourierFeatures(4000, gamma=1.0), rank=2000, memory=10**8)
    with pytest.raises(MemoryBudgetError, match="a preconditioner of rank 2000 for 4000 columns needs 256 MB"):
        model.fit(X, Y)
    assert model.bytes_to_fit(*X.shape) > 10**8
    assert model.set_params(rank=50).bytes_to_fit(*X.shape) < 10**8


def test_curves_of_residual_and_test_error_run_to_what_was_found():
    test = np.sin(5 * NEW[:, 0]) + NEW[:, 1] ** 2
    model = PCGRidgeCV([1e-6, 1e-4], features=FEATURES, preconditioner="none", record=True, random_state=1)
    model.fit(X, Y, eval_set=(NEW, test))
    curves = model.curves_
    assert set(curves) == {"passes", "time", "residual", "test_error"}
    assert len({len(each) for each in curves.values()}) == 1
    assert len(curves["passes"]) == model.n_iter_
    assert curves["time"] == sorted(curves["time"])
    assert curves["residual"][-1] <= 1e-6 < curves["residual"][0]
    assert curves["test_error"][-1] == pytest.approx(np.sqrt(np.mean((model.predict(NEW) - test) ** 2)), rel=1e-6)
    assert not hasattr(PCGRidgeCV([1e-4], features=FEATURES, rank=40).fit(X, Y), "curves_")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"budget": {"passes": 2}}, r"budget passes must be a whole number, 3 or more, got 2"),
        ({"budget": {"pases": 9}}, r"budget has an unknown entry 'pases'; did you mean 'passes'"),
        ({"budget": 7}, r"budget must be null or \{passes, seconds, tolerance\}, got 7"),
        ({"budget": {"tolerance": 0}}, r"budget tolerance must be a positive number, got 0"),
        ({"preconditioner": "nystrom"}, r"must be one of nystroem, sketch, none on features, got 'nystrom'"),
        ({"preconditioner": "none", "rank": 5}, r"rank must be null without a preconditioner, got 5"),
        ({"rank": 0}, r"rank must be a whole number, 1 or more, got 0"),
        ({"lambda": 0}, r"lambda must be a positive number"),
        ({"record": 3}, r"record must be one of True, False"),
    ],
)  # fmt: skip
def test_wrong_parameters_are_refused_by_name(wrong, message):
    with pytest.raises(ConfigError, match=message):
        make_solver({"name": "pcg", **wrong}, task="regression", features=FEATURES)
