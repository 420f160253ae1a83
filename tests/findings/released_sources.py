"""Notes of docs/reproduction.yaml on the experiments that are held to numbers which others released."""

import csv
import functools

import numpy as np
import pandas as pd
import yaml
from scipy.stats import spearmanr

from rffbench.report.board.views import cost
from scripts.reproduction import STANDS_OPEN, Experiment, different
from tests.helpers.findings import ROOT, finding, mean_of, results, span

PAGE_OF_NOTES = "docs/reproduction.yaml"


def released(file: str, **cell: str) -> list[dict[str, str]]:
    """The rows of a file of ``rffbench/papers`` that have these values."""
    with open(ROOT / "rffbench" / "papers" / file, encoding="utf-8", newline="") as lines:
        return [row for row in csv.DictReader(lines) if all(row[key] == value for key, value in cell.items())]


def read_compared(experiment: str, kind: str) -> pd.DataFrame:
    """The cells or the claims of an experiment, as `rffbench compare` judged them: ``kind`` is cell or claim."""
    compared = pd.read_csv(ROOT / "results" / experiment / "compare.csv", low_memory=False)
    return compared[compared["kind"] == kind]


@finding(PAGE_OF_NOTES)
def one_map_behind_all_released_runs() -> str:
    cells = read_compared("li2019-distributed", "cell").dropna(subset="difference").set_index(["method", "n_features"])
    gaps, one_column = cells["difference"], cells.loc[("features 500", 1)]
    by_size = gaps["features 500"].drop(1)
    by_parts = gaps.drop("features 500", level="method")
    assert len(by_size) == 60
    assert len(by_parts) == 61
    assert (cells["verdict"] == "differs").sum() == (cells.loc["features 500", "verdict"] == "differs").sum() == 11
    assert abs(by_size.mean()) < by_size.std() / 5
    assert by_parts.std() < by_size.std() / 2
    return (
        "Each size has a map of its own there, and all numbers of parts share one. Over sizes our accuracy less theirs "
        f"has both signs, {by_size.mean():+.2f} ± {by_size.std():.2f} points over {len(by_size)} sizes, and over numbers "
        f"of parts it is nearly the same everywhere, {by_parts.mean():+.2f} ± {by_parts.std():.2f} points. All cells that "
        f"differ are among the sizes. With 1 column our {one_column['n_ok']:.0f} maps differ by "
        f"{one_column['measured_std']:.1f} points (standard deviation), their runs by {one_column['reported_std']:.2f}."
    )


@finding(PAGE_OF_NOTES)
def rff_by_order_of_magnitude() -> str:
    names = {"pol-gp": "pol", "elevators-gp": "elevators", "kin40k-gp": "kin40k", "protein-gp": "protein"}
    parts, times = [], []
    for card, name in names.items():
        rows = released("potapczynski2021_rtgps.csv", dataset=name, method="RFF")
        theirs = np.mean([float(row["rmse"]) for row in rows])
        ours = mean_of("potapczynski2021", card, "RFF", "relative_rmse")
        parts.append(f"{ours:.3f} against {theirs:.3f} on {name}")
        times.append(ours / theirs)
    return f"The error of RFF, in units of the target's spread, is {', '.join(parts)}. That is {span(times, 1)} times as much."


@finding(PAGE_OF_NOTES)
def what_few_bits_lose_on_covtype() -> str:
    means = results("zhang2019").trials.groupby(["method", "n_features"])["accuracy"].mean().unstack("method")
    lost = {bits: (means["FP-RFF"] - means[f"LP-RFF {bits}"]).dropna() for bits in (8, 4, 2, 1)}
    assert lost[8].abs().max() < 0.1
    assert (lost[4] > 0.5).all()
    assert (lost[2] > 2 * lost[4].max()).all()
    parts = [f"{bits} bit{'s' * (bits > 1)} {span(list(lost[bits]), 1)}" for bits in (4, 2, 1)]
    return f"Less accurate than full precision at equal columns, in points: {', '.join(parts)}."


def _correlations(table: list[tuple[float, ...]]) -> str:
    """Of the test error with Δ, the Frobenius and the spectral error."""
    error, *others = zip(*table, strict=True)
    return "{:.2f}, {:.2f} and {:.2f}".format(*(spearmanr(error, each).statistic for each in others))


@finding(PAGE_OF_NOTES)
def what_goes_with_the_test_error_on_covtype() -> str:
    rows = released("zhang2019_lprff.csv", dataset="covtype-sub", study="kernel-error")
    draft = [tuple(float(row[key]) for key in ("value", "delta", "frobenius", "spectral")) for row in rows]
    names = ["accuracy", "delta_error", "frobenius_error", "spectral_error"]
    cells = results("zhang2019").trials.groupby(["method", "n_features"])[names].mean()
    here = [(100 - accuracy, *errors) for accuracy, *errors in cells.itertuples(index=False)]
    return (
        f"The Spearman correlation of the test error with Δ, the Frobenius and the spectral error is "
        f"{_correlations(here)} over the {len(here)} cells here, and {_correlations(draft)} over the {len(draft)} of the "
        f"draft."
    )


@finding(PAGE_OF_NOTES)
def whose_scaling_it_is_not() -> str:
    cell = {"dataset": "covtype-sub", "study": "kernel-error", "method": "FP-RFF", "n_features": "500"}
    (row,) = released("zhang2019_lprff.csv", **cell)
    here = results("zhang2019").trials.query("method == 'FP-RFF' and n_features == 612")["accuracy"].mean()
    return (
        f"LIBSVM's file with γ = 0.6 is not what the draft's numbers are of: FP-RFF has {100 - here:.1f} % errors here "
        f"with 612 columns, and {100 * float(row['value']):.1f} % there with 500."
    )


@finding(PAGE_OF_NOTES)
def what_the_rules_of_landmarks_leave() -> str:
    trials = results("diaz2023").trials
    left = (
        trials.assign(log=np.log(trials["residual_norm"]))
        .groupby(["method", "dataset"])["log"]
        .mean()
        .unstack("method")
    )
    parts = []
    for steps in (50, 100):
        ratios = np.exp(left[f"rpcholesky {steps}"] - left[f"uniform {steps}"])
        parts.append(f"after {steps} steps {span(list(ratios), 2)}")
    return f"Randomly pivoted landmarks leave, of what uniform ones do, {' and '.join(parts)}."


@finding(PAGE_OF_NOTES)
def where_the_order_of_landmarks_is_reproduced() -> str:
    claims = read_compared("diaz2023", "claim")
    held = claims[claims["verdict"] == "holds"]
    ahead = {
        steps: [set(held[(held["method"] == f"{method} {steps}") & (held["baseline"] == f"{other} {steps}")]["dataset"])
                for method, other in (("rpcholesky", "uniform"), ("uniform", "greedy"))]
        for steps in ("50", "100")
    }  # fmt: skip
    both = {"california", "protein"}
    assert ahead == {"50": [both, both], "100": [both, set()]}
    assert not (claims["verdict"] == "does not hold").any()
    corrected = held[(held["verdict_adjusted"] == "holds") & held["method"].str.startswith("rpcholesky")]
    assert corrected[["method", "dataset"]].to_numpy().tolist() == [["rpcholesky 50", "protein"]]
    return (
        "After 50 steps the whole order is reproduced on protein and california. After 100 steps randomly pivoted landmarks "
        "are ahead of uniform ones there, and uniform ones are not shown to be ahead of greedy ones. On kin40k no order of "
        "the three is shown. With Holm's correction randomly pivoted landmarks are ahead of uniform ones on protein alone, "
        "after 50 steps."
    )


@finding(PAGE_OF_NOTES)
def owens_scramble_against_permuted_digits() -> str:
    means = results("munkhoeva2018").trials.groupby(["dataset", "n_features", "method"])["cross_error"].mean().unstack()
    kernels = ("gaussian", "arccos0", "arccos1")
    ratios = pd.DataFrame({name: means[f"Owen {name}"] / means[f"QMC {name}"] for name in kernels}).dropna()
    letter, powerplant = (span(ratios.loc[name].to_numpy().ravel(), 2) for name in ("letter-uci", "powerplant"))
    return (
        f"Owen's permutations of the same Halton sequence give {letter} of the generalised sequence's error on letter, and "
        f"{powerplant} of it on powerplant."
    )


@finding(PAGE_OF_NOTES)
def signs_of_lapack_on_skin() -> str:
    here, there = {}, {}
    for method in ("orf", "rff"):
        (row,) = released("buchel2024_ridge.csv", dataset="skin", precision="fp", method=method, kernel="arccos0",
                          n_features="91")  # fmt: skip
        there[method] = float(row["error_mean"])
        trials = results("buchel2024").trials
        mine = trials[(trials["dataset"] == "skin") & (trials["method"] == f"{method} arccos0")]
        here[method] = mine[mine["n_features"] == 91]["frobenius_error"].mean()
    return (
        f"On skin, with 91 frequencies, the arc-cosine kernel's error is {here['orf']:.3f} with LAPACK's signs and "
        f"{there['orf']:.3f} released; with independent frequencies it is {here['rff']:.3f} and {there['rff']:.3f}."
    )


WU = ("binning", "RFF", "Nyström")
WITH_CV = {name: (8, 16) if name == "letter-libsvm" else (16, 64) for name in (
    "penbased", "california", "cpu-small", "letter-libsvm", "a9a", "cod-rna", "ijcnn1")}  # fmt: skip


CELL = ["dataset", "map", "n_features"]


def of_wu(experiment: str) -> pd.DataFrame:
    """Its trials, with the ``map`` and the ``score``: accuracy, or the relative error, negative, in percent."""
    trials = results(experiment).trials
    score = trials["accuracy"].fillna(-100 * trials["relative_rmse"])
    return trials.assign(map=trials["method"].str.partition(" ")[0], score=score)


@functools.cache
def by_rank() -> pd.DataFrame:
    """A row for each dataset and rank of wu2016-cv and each of its maps: the mean score with σ of the best mean test
    score, with σ by cross-validation, both with λ = 0.01, and with σ and λ by cross-validation. Random binning is solved
    to rounding in all three; in `wu2016` it is not."""
    rows = []
    every = of_wu("wu2016")
    trials = pd.concat([every[every["map"] != "binning"], of_wu("wu2016-solved")])
    means = trials.groupby([*CELL, "method"])["score"].mean().groupby(CELL).max()
    of_sigma, by_cv = (of_wu(name).groupby(CELL)["score"].mean() for name in ("wu2016-sigma", "wu2016-cv"))
    for name, ranks in WITH_CV.items():
        for rank in ranks:
            rows += [
                {"dataset": name, "rank": rank, "map": each, "on test": means[name, each, rank],
                 "sigma by cv": of_sigma[name, each, rank], "by cv": by_cv[name, each, rank]}
                for each in WU
            ]  # fmt: skip
    return pd.DataFrame(rows)


@finding(PAGE_OF_NOTES)
def what_it_is_worth_to_choose_sigma_on_the_test_part() -> str:
    rows = by_rank()

    def less(other: str) -> str:
        gains = (rows["on test"] - rows[other]).groupby(rows["map"])
        parts = [f"{gains.get_group(name).median():.1f} ({span(list(gains.get_group(name)), 1)})" for name in WU]
        return f"{parts[0]} for random binning, {parts[1]} for Fourier features and {parts[2]} for Nyström"

    told = (
        "To choose σ on the test part and not by cross-validation, all else the same, is worth in points of accuracy or of "
        f"relative error, in the median over {len(rows) // len(WU)} cases of a dataset and a rank (smallest to largest), "
        f"{less('sigma by cv')}. If λ is chosen by cross-validation too, in place of 0.01, it is {less('by cv')}."
    )
    return told.replace(" -", " −").replace("(-", "(−")


@finding(PAGE_OF_NOTES)
def accuracies_on_mnist_scaled_apart() -> str:
    below = {}
    for kernel in ("gaussian", "polynomial"):
        cells = read_compared(f"wacker2022-{kernel}", "cell")
        below[kernel] = cells.query("dataset == 'mnist' and metric == 'accuracy'")["difference"].dropna()
    assert min(map(min, below.values())) > 0
    return (
        "On MNIST they scaled the test images apart from the training images. Their accuracies there are "
        f"{span(list(below['gaussian']))} points below ours with the Gaussian kernel, and {span(list(below['polynomial']))} "
        "with the polynomial one."
    )


@finding(PAGE_OF_NOTES)
def what_is_open_of_wu2016() -> str:
    papers = yaml.safe_load((ROOT / PAGE_OF_NOTES).read_text(encoding="utf-8"))
    (element,) = (each for paper in papers for each in paper["elements"] if each["results"] == "wu2016")
    wu = Experiment(element)
    datasets = wu.cells.loc[wu.cells["difference"].notna(), "dataset"].value_counts()
    stand_open = pd.Series([row["dataset"] for row in different(wu)[STANDS_OPEN]]).value_counts()
    shares = 100 * (stand_open / datasets).sort_values(ascending=False)
    assert list(shares.index[:2]) == ["cod-rna", "california"]
    return (
        f"Of the cells that differ {stand_open.sum()} have no known cause. They are "
        f"{100 * stand_open.sum() / datasets.sum():.1f} % of the cells: {shares.iloc[0]:.0f} % of those of cod-RNA, "
        f"{shares.iloc[1]:.0f} % of california's, of both of which the rows used are not known, and {span(list(shares[2:]), 0)} "
        "% of the other datasets'. Of cells that are right 5 % would differ by chance."
    )


@finding(PAGE_OF_NOTES)
def what_it_is_worth_to_stop() -> str:
    cells = ["dataset", "method", "n_features"]
    stopped, solved = (of_wu(name).groupby(cells)["score"].mean() for name in ("wu2016", "wu2016-solved"))
    gains = (stopped - solved).dropna().rename("gain").reset_index()
    assert len(gains) == len(solved) == 513
    most = gains.groupby("dataset")["gain"].max()
    assert gains["gain"].max() == most["california"]
    told = (
        f"To stop conjugate gradients as their script does, and not to solve, is worth {gains['gain'].median():.1f} points of "
        f"accuracy or of relative error in the median over {len(gains)} cells of random binning "
        f"({span(list(gains['gain']), 1)}): at most {most['a9a']:.1f} on a9a, {most['ijcnn1']:.1f} on ijcnn1 and "
        f"{most['california']:.1f} on california."
    )
    return told.replace("(-", "(−")


@finding(PAGE_OF_NOTES)
def which_wins_survive_at_equal_rank() -> str:
    told = []
    for how in ("on test", "by cv"):
        table = by_rank().pivot(index=["dataset", "rank"], columns="map", values=how)
        ahead = [int((table["binning"] > table[other]).sum()) for other in ("RFF", "Nyström")]
        told.append(f"{ahead[0]} and {ahead[1]}")
        assert len(table) == 14
    return (
        f"At equal rank, by the means of three trials, random binning is ahead of Fourier features and of Nyström in "
        f"{told[0]} of 14 cases with σ chosen on the test part, and in {told[1]} with cross-validation."
    )


@functools.cache
def at_equal_seconds() -> dict[str, dict[str, list[str]]]:
    """The cases of a dataset and a rank in which random binning is ahead of another map, behind it, or neither. It is
    behind where a size of the other map takes no longer and scores no less. It is ahead where all such sizes score less
    and the largest size takes longer; else more columns of the other map might be ahead."""
    trials = of_wu("wu2016-seconds")
    assert not trials["contended"].any()
    seconds = trials.assign(cost=cost(trials, "fit")).groupby(CELL)["cost"].median()
    scores = of_wu("wu2016-cv").groupby(CELL)["score"].mean()
    assert sorted({size for _, name, size in seconds.index if name == "RFF"}) == [8, 16, 64, 256, 1024]
    cases: dict[str, dict[str, list[str]]] = {}
    for other in ("RFF", "Nyström"):
        cases[other] = {"ahead": [], "behind": [], "not decided": []}
        for name, ranks in WITH_CV.items():
            for rank in ranks:
                time, score = seconds[name, "binning", rank], scores[name, "binning", rank]
                fits = [size for size in seconds[name, other].index if seconds[name, other, size] <= time]
                best = max((scores[name, other, size] for size in fits), default=-np.inf)
                largest = seconds[name, other].index.max()
                verdict = "behind" if best >= score else "not decided" if largest in fits else "ahead"
                cases[other][verdict].append(f"{name.removesuffix('-libsvm').removesuffix('-small')} {rank}")
    return cases


@finding(PAGE_OF_NOTES, "docs/choose-a-map.md")
def which_wins_survive_at_equal_seconds() -> str:
    told = []
    for cases in at_equal_seconds().values():
        *first, last = [f"{verdict} in {len(each)}" for verdict, each in cases.items() if each]
        told.append(f"{', '.join(first)} and {last}")
    return (
        f"At the seconds of random binning (map, one fit and prediction), against Fourier features of 8, 16, 64, 256 or "
        f"1,024 columns it is {told[0]} of 14 cases, and against Nyström {told[1]}. Not decided: more columns would fit into "
        f"its seconds. Columns between these could only take away cases in which it is ahead."
    )


@finding(PAGE_OF_NOTES)
def where_wins_survive_at_equal_seconds() -> str:
    named = [cases["ahead"] for cases in at_equal_seconds().values()]
    of_rff, of_nystroem = (f"{', '.join(cases[:-1])} and {cases[-1]}" for cases in named)
    return (
        "The cases in which random binning is ahead at its seconds, a dataset and a rank: of Fourier features on "
        f"{of_rff}, of Nyström on {of_nystroem}."
    )


@finding(PAGE_OF_NOTES)
def released_solvers_of_one_system() -> str:
    def apart(*datasets: str) -> list[float]:
        """How far the larger of the two errors is above the other, in percent, by dataset and fold."""
        pairs = (
            [
                float(row["rmse"])
                for method in ("cg", "precondcg")
                for row in released("lin2023_rmse.csv", method=method, dataset=each, split=fold)
            ]
            for each in datasets
            for fold in "01234"
        )
        return [100 * (max(pair) / min(pair) - 1) for pair in pairs]

    seconds = {round(float(row["seconds"])) for row in released("lin2023_rmse.csv", method="precondcg", dataset="bike")}
    assert seconds == {200}
    return (
        f"Their errors differ by {span(apart('pol', 'elevators'), 1)} % on pol and elevators, and by {span(apart('bike'), 0)} % on "
        "bike, where all five runs of the preconditioned one end after 200 s."
    )


@finding(PAGE_OF_NOTES)
def error_of_maps_over_that_of_the_exact_solution() -> str:
    trials = results("lin2023").trials.set_index(["dataset", "trial"])
    exact = trials[trials["method"] == "exact"]["rmse"]
    maps = trials[trials["n_features"] == 2048]
    ratios = (
        (maps["rmse"] / exact.reindex(maps.index))
        .groupby([maps.index.get_level_values("dataset"), maps["method"]])
        .mean()
    )
    parts = []
    for dataset in ("pol", "elevators", "bike"):
        found = ratios[f"{dataset}-gp"]
        parts.append((dataset, f"{found['Nystroem']:.2f}", span(list(found.drop("Nystroem")), 2)))
    (first, *rest) = parts
    return (
        "The error with 2,048 columns, as a multiple of the exact solution's: "
        f"on {first[0]} {first[1]} for Nyström features and {first[2]} for the others, "
        + ", ".join(f"on {name} {nystroem} and {others}" for name, nystroem, others in rest)
        + "."
    )
