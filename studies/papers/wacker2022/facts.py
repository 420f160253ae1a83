"""What the released files of Wacker et al. 2022 and the runs here say of the flaws of their scripts."""

from dataclasses import dataclass

from studies.evidence import Cells, Claims, cells, claims, of_paper

HERE = tuple(of_paper("wacker2022", "reproductions"))
GAUSSIAN, CUBIC, SEVENTH, POSITIVE = HERE[0], HERE[1], HERE[3], HERE[4]
TO_REAL = tuple(name for name in HERE if "complex-to-real" in name)
HIGHER = ("wacker2022-polynomial-positive", SEVENTH, POSITIVE, "wacker2022-polynomial-20")
SHORT = {
    "wacker2022-gaussian": "Gaussian", "wacker2022-polynomial": "3", "wacker2022-polynomial-positive": "3, positive",
    "wacker2022-polynomial-7": "7", "wacker2022-polynomial-7-positive": "7, positive",
    "wacker2022-polynomial-20": "20", "wacker2022-polynomial-20-cod-rna": "20 again",
    "wacker2022-complex-to-real": "3, to real", "wacker2022-complex-to-real-7": "7, to real",
}  # fmt: skip


def errors(experiment: str, *datasets: str) -> Cells:
    """Its squared errors and accuracies."""
    return cells(experiment, dataset=list(datasets), metric=["mse", "accuracy"])


def appended(where: str) -> Cells:
    """The errors of five datasets of degree 7, run without appended rows and with them."""
    with_rows = cells("wacker2022-appended-7", metric=["mse", "accuracy"])
    if where == "with":
        return with_rows
    place = ["dataset", "method", "n_features", "metric"]
    pairs = with_rows.compared[place]
    return Cells(cells(SEVENTH).compared.merge(pairs, on=place))


def smaller(method: str, baseline: str, *experiments: str) -> Claims:
    """The claims that a map has the smaller kernel error."""
    return claims(*experiments, method=method, baseline=baseline)


@dataclass(frozen=True)
class Share:
    number: int
    of: int

    @property
    def share(self) -> float:
        return self.number / self.of

    @property
    def said(self) -> str:
        return f"{self.number} of {self.of}"


def products(*experiments: str, side: str = "measured") -> Share:
    """In how many cells products of Hadamard projections have a smaller kernel error than products of signs."""
    rows = cells(*experiments, metric="frobenius_error").compared
    errors = rows.pivot_table(side, ["experiment", "dataset", "n_features"], "method")
    pairs = errors[["product srht", "product signs"]].dropna()
    return Share(int((pairs["product srht"] < pairs["product signs"]).sum()), len(pairs))
