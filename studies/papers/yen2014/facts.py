"""What two choices by closeness to the paper's numbers are worth in Yen et al. 2014."""

from studies.evidence import Claims, cells, claims, mean

COVTYPE = "covtype-yen"


def fewer_features() -> Claims:
    """The claims that Sparse-RF has fewer features than RF."""
    return claims("sparse-rf-table1", "sparse-rf-table2", claim=lambda claim: "fewer features" in claim)


def _accuracy(experiment: str, method: str) -> float:
    return mean(experiment, "accuracy", dataset=COVTYPE, method=method)


def gaussian(bandwidth: str) -> list[str]:
    """The accuracies of kernel machine, RF and Sparse-RF on Covtype with this bandwidth, or the paper's."""
    rf, sparse = "RF gaussian", "Sparse-RF gaussian"
    table, other = "sparse-rf-table2", "sparse-rf-bandwidth"
    names = ["Kernel gaussian", f"{rf} (σ=1)", f"{sparse} (σ=1; λN=100)"]
    if bandwidth == "paper":
        reported = cells(table, dataset=COVTYPE).rows.set_index("method")["reported"]
        return [f"{reported[name]:.1f}" for name in names]
    if bandwidth == "σ = 1":
        found = [_accuracy(other, "Kernel gaussian (σ=1)"), *(_accuracy(table, name) for name in names[1:])]
    else:
        found = [_accuracy(table, names[0]), *(_accuracy(other, name) for name in (rf, f"{sparse} (λN=100)"))]
    return [f"{value:.1f}" for value in found]


def by_lambda(method: str) -> str:
    """The accuracy on Covtype with a λN that was held fixed."""
    return f"{_accuracy('sparse-rf-lambda', method):.1f}"
