"""EigenPro beside what is released of other solvers, in Ma and Belkin 2017 and 2019."""

from studies.evidence import chosen, mean, released

NAME = "ma2017-eigenpro"
FILE = "ma2017_eigenpro_mnist.csv"


def plain_steps() -> float:
    """The released error of plain gradient steps after 20 passes, in %."""
    (error,) = chosen(released(FILE), method="kernel pegasos (sgd)", epochs=20)["test_error_percent"]
    return float(error)


def of_features() -> tuple[float, float]:
    """The accuracy of ridge on Fourier features here, and the best released of steps on 60,000 features, in %."""
    best = 100 - chosen(released(FILE), method="rff eigenpro")["test_error_percent"].min()
    return mean(NAME, "accuracy", method="RFF"), float(best)
