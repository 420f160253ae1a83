"""The error of RFF here and in Potapczynski et al. 2021, in units of the target's spread."""

from studies.evidence import chosen, mean, released, trials

NAME = "potapczynski2021"


def datasets() -> list[str]:
    return [card.removesuffix("-gp") for card in trials(NAME)["dataset"].unique()]


def here(dataset: str) -> float:
    return mean(NAME, "relative_rmse", dataset=f"{dataset}-gp", method="RFF")


def there(dataset: str) -> float:
    """The mean over the released runs."""
    return float(chosen(released("potapczynski2021_rtgps.csv"), dataset=dataset, method="RFF")["rmse"].mean())


def times() -> list[float]:
    return [here(name) / there(name) for name in datasets()]
