"""Every solver but the streamed ridge where numbers are extreme: a plain implementation's answer, or an error that says
what is wrong; where the next best is done, or not all of it, a warning."""

import re
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from rffbench.data import Rows
from rffbench.errors import Fallback
from rffbench.solvers import make_solver
from rffbench.solvers.sparse.l1 import Lasso, minimise
from rffbench.solvers.svm import libraries, primal_newton
from tests.helpers.every_solver import ALL, FEATURES, made, outputs
from tests.helpers.misbehaving import WellBehaved
from tests.helpers.odd_rows import CASES, rows

pytestmark = [pytest.mark.usefixtures("one_thread"), pytest.mark.slow]

HUGE = {
    "single precision's largest": lambda: (rows()[0].astype(np.float32) * np.float32(3e38), rows()[1]),
    "a number of 1e300": CASES["a number of 1e300"],  # all: no two ways to compute their cosines agree
}
ORDINARY = [name for name in CASES if "1e300" not in name and "frequenc" not in name]
TOLD = "scale (X|it|them) first|too large to be squared|is not positive definite"
every_solver = pytest.mark.parametrize(
    ("name", "promise", "task"), [each for each in ALL if each.values[0] not in ("ridge", "plug-in")]
)


@every_solver
@pytest.mark.parametrize("case", ORDINARY)
def test_it_gives_what_a_plain_implementation_gives_on_degenerate_rows(case, name, promise, task):
    X, y = CASES[case]()
    X.setflags(write=False)
    model = made(name, promise, task, FEATURES, **promise.tight).fit(X, y)
    np.testing.assert_allclose(outputs(model, X), promise.plain(model, X.astype(float), y), atol=2e-3)


@every_solver
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize("case", HUGE)
def test_huge_numbers_give_the_plain_answer_or_an_error_that_says_what_would_do(case, name, promise, task):
    X, y = HUGE[case]()
    model = made(name, promise, task, FEATURES, **promise.tight)
    try:
        model.fit(X, y)
        found = outputs(model, X)
    except ValueError as error:
        assert re.search(TOLD, str(error))  # noqa: PT017
        return
    np.testing.assert_allclose(found, promise.plain(model, X.astype(float), y), atol=2e-3)


@every_solver
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
def test_a_number_too_large_for_single_precision_is_no_label_s_reason(name, promise, task):
    X, y = rows()
    model = made(name, promise, task, FEATURES).fit(X, y)
    X[7] = 1e300
    with pytest.raises(ValueError, match=r"for row 7|rows 0 to 39|too far apart"):
        model.predict(Rows(X, np.arange(40), dtype=np.float32))


class Nan(WellBehaved):
    def transform(self, X):
        Z = super().transform(X)
        Z[len(X) // 2, 3] = np.nan
        return Z

    @staticmethod
    def misdeed(X, Z):
        return Z


@pytest.mark.parametrize("method", ["held", "streamed", "liblinear", "liblinear-dual"])
@pytest.mark.parametrize("n", [40, 2000])  # with 2000 a sample's Hessian preconditions the streamed one
def test_a_linear_machine_on_features_that_are_no_numbers_says_whose_they_are(method, n):
    X, y = rows(n)
    model = make_solver({"name": "linear-svm", "method": method}, task="classification", features=Nan(20))
    with pytest.raises(ValueError, match="the features of Nan hold NaN"):
        model.fit(X, y)


@pytest.mark.parametrize(
    "solver",
    [*({"name": "linear-svm", "method": each} for each in ("held", "streamed", "liblinear", "liblinear-dual")),
     *({"name": "logistic", "method": each, "lambda": 0.1} for each in ("held", "streamed"))],
)  # fmt: skip
@pytest.mark.parametrize("number", [1e200, -1e200, 1e308])
def test_finite_rows_whose_squares_are_not_are_refused(solver, number):
    X, y = rows()
    X[7, 1] = number
    with pytest.raises(ValueError, match="X holds NaN, infinity, or numbers too large to be squared"):
        make_solver(solver, task="classification").fit(X, y)


def test_points_that_single_precision_cannot_tell_apart_are_refused():
    X, y = rows()
    X[0, 0] = 1e6  # the mean is at 25 000: beside it the others' places are 0.002 apart
    for loss in ("squared-hinge", "hinge"):
        machine = make_solver({"name": "kernel-svm", "loss": loss}, task="classification", gamma=100.0)
        with pytest.raises(ValueError, match=r"9.7e\+05 from their column's mean; .* beyond 1e\+03: scale X first"):
            machine.fit(X, y)


def test_a_lambda_that_is_passed_over_is_told_of():
    X, y = CASES["rows twice"]()
    machine = make_solver({"name": "kernel-ridge", "lambda": [1e-300, 0.1], "folds": 5}, task="classification")
    with pytest.warns(Fallback, match=r"^passed over: .* of lambda=1e-300 is not positive definite"):
        machine.fit(X, y)
    assert machine.alpha_ == 0.1


def test_a_descent_that_ends_early_is_told_of(monkeypatch):
    X, y = rows()
    rng = np.random.default_rng(0)
    with pytest.warns(ConvergenceWarning, match="the descent ended with a duality gap above"):
        minimise(Lasso(y, 1e-6), rng.normal(size=(30, 40)), np.zeros(30), tol=1e-9, rng=rng, most_steps=0)
    monkeypatch.setattr(primal_newton, "MOST_STEPS", 1)
    with pytest.warns(ConvergenceWarning, match="the linear machine has not converged in 1 steps"):
        make_solver({"name": "linear-svm", "method": "held"}, task="classification", features=FEATURES).fit(X, y)


@pytest.mark.parametrize(
    ("loss", "words"),
    [("hinge", "reaching max number of iterations"),
     ("squared-hinge", "reaching max number of iterations, Switching to use -s 2")],
)  # fmt: skip
def test_liblinear_at_its_limit_is_told_of_in_its_words(loss, words, capfd):
    X, y = rows()
    settings = {"name": "linear-svm", "method": "liblinear-dual", "loss": loss}
    with pytest.warns(ConvergenceWarning, match=f"^LIBLINEAR has not converged: {words}$"):
        make_solver(settings | {"C": 1e8, "tolerance": 1e-12}, task="classification").fit(X, y)
    with warnings.catch_warnings(action="error"):
        make_solver(settings, task="classification").fit(X, y)
    assert capfd.readouterr().out == ""


def test_libsvm_at_its_limit_is_told_of(monkeypatch, capfd):
    X, y = rows()
    machine = make_solver({"name": "kernel-svm", "loss": "hinge"}, task="classification", gamma=1.0)
    with warnings.catch_warnings(action="error"):
        machine.fit(X, y)
    monkeypatch.setattr(libraries, "LIBSVM_MOST_STEPS", 1)
    monkeypatch.setattr(libraries, "LIBSVM_STEPS_A_ROW", 0)
    with pytest.warns(ConvergenceWarning, match=r"^LIBSVM has not converged in \d+ steps$"):
        machine.fit(X, y)
    assert capfd.readouterr().out == ""
