"""What README.md and docs/choose-a-map.md say of the board; docs/board/results.md is written from results/ by
scripts/board_page.py."""

import functools

import pandas as pd

from rffbench.config.dryrun import run_seconds
from rffbench.config.loading import load_experiment
from rffbench.data.cards import load_card
from rffbench.report.board import draws, kernels_or_maps, questions, tables
from rffbench.report.board.answers import Answer, Number
from rffbench.report.board.registered import COLUMNS, CONFIRMATORY, DRAWS
from rffbench.report.board.score import BASELINE
from rffbench.report.board.solvers import over_the_direct_solve
from rffbench.report.board.standing import Board, load_board, shape
from rffbench.report.board.summary import Summary, summaries
from rffbench.report.board.views import Cost, cost_ratios, outside
from rffbench.report.frame import load_protocols
from tests.helpers.budgets import RATE
from tests.helpers.findings import ROOT, finding, listed, span
from tests.helpers.findings import signed as with_sign

README, ADVICE, PAGE_OF_BOARD, SMALL = (
    "README.md",
    "docs/choose-a-map.md",
    "docs/board/results.md",
    "docs/board/small.md",
)
SAME = ("SORF", "orthogonal", "QMC", "quadrature")


@functools.cache
def board() -> Board:
    return load_board(ROOT / "results")


@functools.cache
def answer(number: int) -> Answer:
    asked = (questions.equal_seconds, questions.kernel_errors, questions.data_dependent, questions.nystroem,
             kernels_or_maps.kernels)  # fmt: skip
    found = asked[number - 1](board())
    assert not found.waits, found.waits
    return found


def gains(number: int, table: int) -> dict[str, Summary]:
    """The maps of a table of an answer."""
    return {each.method: each for each in answer(number).maps[table][1]}


def number(of: int, called: str) -> Number:
    (found,) = (each for each in answer(of).numbers if each.name == called)
    assert found.datasets == 28
    return found


@functools.cache
def at_512_columns() -> dict[str, Summary]:
    found = {each.method: each for each in board().at_each_size[COLUMNS]}
    assert all(found[name].datasets == 28 for name in found)
    assert not any(board().withheld(name, COLUMNS) for name in (*SAME, "Nyström", "Nyström RPCholesky"))
    return found


@functools.cache
def at_the_seconds_of(columns: int) -> dict[str, Summary]:
    """The maps that have a gain on more than half of the datasets at RFF's seconds with that many columns."""
    at = board().at_cost("fit", columns)
    assert at is not None
    return {each.method: each for each in summaries(at.trials, list(at_512_columns())) if 2 * each.datasets > 28}


def percent(value: float) -> str:
    return f"{100 * abs(value):.1f}"


def signed(value: float) -> str:
    return f"{100 * value:z.1f}".replace("-", "−")


def losing(found: Summary) -> str:
    """What a map loses, with its interval."""
    assert found.median < 0
    return f"{percent(found.median)} % ({signed(-found.high)} to {signed(-found.low)})"


def gaining(found: Summary) -> str:
    assert found.low > 0
    return f"{percent(found.median)} % ({percent(found.low)} to {percent(found.high)})"


def spread(found: Number, decimals: int = 2) -> str:
    shown = (f"{each:z.{decimals}f}" for each in (found.value, found.low, found.high))
    return "{} ({} to {})".format(*shown).replace("-", "−")


def share(found: Number, *, short: bool = False) -> str:
    of = "" if short else " of the datasets"
    return f"{100 * found.value:.0f} %{of} ({100 * found.low:.0f} to {100 * found.high:.0f})"


@finding(ADVICE)
def fourier_maps_are_the_same_at_512_columns_and_at_equal_seconds() -> str:
    found, timed, quick = at_512_columns(), gains(1, 0), gains(1, 1)
    for name in SAME:
        assert found[name].posterior.verdict == timed[name].posterior.verdict == "same"
        assert timed[name].datasets == 28
    verdicts = {name: quick[name].posterior.verdict for name in SAME}
    assert verdicts == {"SORF": "worse", "orthogonal": "same", "QMC": "same", "quadrature": "same"}
    sorf = quick["SORF"]
    assert sorf.outside == "1 cheaper"
    return (
        "SORF, orthogonal, QMC and quadrature features are as good as random Fourier features with 512 columns, and at "
        "the seconds of these for the map, one fit and prediction: the difference is below 1 %. By the seconds of map "
        f"and prediction alone it is so for all but SORF, which is worse: it loses {losing(sorf)}, on {sorf.datasets} "
        "datasets; on the other one it is cheaper at every size."
    )


@functools.cache
def seconds_of(method: str, clock: Cost) -> tuple[list[float], list[float]]:
    """A map's seconds over RFF's, both with 512 columns, on datasets from 100 inputs on, and up to 22."""
    ratios = cost_ratios(board().costs(clock).dropna(), COLUMNS).xs((method, COLUMNS), level=("method", "n_features"))
    inputs = {name: shape(name)[1] for name in board().datasets}
    many = [ratios[name] for name, d in inputs.items() if d >= 100]
    few = [ratios[name] for name, d in inputs.items() if d <= 22]
    assert len(many) == 5
    assert len(few) == 18
    assert max(many) < 1
    return many, few


@finding(ADVICE)
def sorf_and_fastfood_take_less_time_from_100_inputs_on() -> str:
    fit, alone = (seconds_of("SORF", clock) for clock in ("fit", "map"))
    of_fastfood = [span(seconds_of("Fastfood", clock)[0], 1) for clock in ("fit", "map")]
    assert min(alone[1]) > 1
    assert at_512_columns()["Fastfood"].posterior.verdict == "same"
    return (
        f"On the five datasets with 100 inputs or more, SORF with 512 columns takes {span(fit[0], 1)} times the seconds of "
        "random Fourier features for the map, one fit and prediction, the primary clock of the board. Without the fit it is "
        f"{span(alone[0], 1)} times. With up to 22 inputs it takes {span(fit[1], 1)} times, and {span(alone[1], 1)} times "
        f"without the fit. Fastfood, exploratory, is the same as random Fourier features with 512 columns, too. With 100 "
        f"inputs or more it takes {of_fastfood[0]} times the seconds, and {of_fastfood[1]} times without the fit."
    )


@finding(ADVICE)
def no_map_gains_with_tuning_included() -> str:
    at = board().at_cost("tuning", COLUMNS)
    assert at is not None
    found = {each.method: each for each in summaries(at.trials, board().compared) if each.is_enough}
    verdicts = {name: each.posterior.verdict for name, each in found.items()}
    assert "better" not in verdicts.values()
    assert {name for name in verdicts if verdicts[name] == "same"} == {"orthogonal", "moment matching", "SORF"}
    assert {name for name in verdicts if verdicts[name] == "worse"} == {"SRHT", "surrogate reweighted"}
    srht, reweighted = found["SRHT"], found["surrogate reweighted"]
    left = [name for name in board().compared if name not in found]
    beyond = at.trials.groupby(["outside", "method"])["dataset"].nunique()
    dearer, cheaper = (beyond[word].reindex(left, fill_value=0) for word in ("dearer", "cheaper"))
    on_most = set(dearer.index[dearer > 14])
    assert on_most == {
        "EERF", "compact", "TEFM", "complex-to-real", "TensorSketch", "Nyström", "Nyström k-means", "Nyström RPCholesky"
    }  # fmt: skip
    assert set(left) - on_most == {"surrogate"}
    assert cheaper["surrogate"] > 14
    return (
        "Exploratory: with the choice of σ and λ in the seconds, no map is seen to gain at those of 512 random Fourier "
        "features. Orthogonal, moment matching and SORF features are the same. SRHT loses "
        f"{losing(srht)} on {srht.datasets} datasets, reweighted surrogate features {losing(reweighted)} on "
        f"{reweighted.datasets}. EERF, compact, TEFM, complex-to-real, TensorSketch and all Nyström features cost more at "
        f"every size on more than half of the datasets. Surrogate ones cost less at every size on {cheaper['surrogate']}: "
        "what they gain at these seconds is not known."
    )


@finding(README)
def what_should_i_use() -> str:
    """Its five lines."""
    every, few = shares_of_kernels()
    found, trees = at_512_columns(), without_a_map()["boosted trees"]
    named = ("Nyström RPCholesky", "SORF", "Fastfood")
    assert [found[name].posterior.verdict for name in named] == ["better", "same", "same"]
    assert named[0] == tables.LANDMARKS
    assert {each.verdict for each in tables.over_advised(board())} == {"same"}
    fit, alone = (
        span([each for name in named[1:] for each in seconds_of(name, clock)[0]], 1) for clock in ("fit", "map")
    )
    losses, _ = worst_of_trees()
    timed = gains(4, 0)["Nyström RPCholesky"]
    (before,) = summaries(by_earlier_seconds().at_cost("fit", COLUMNS).trials, ["Nyström RPCholesky"])
    assert (timed.verdict, before.verdict) == ("worse", "undecided")
    on_w8a = gains_on_w8a(COLUMNS)
    assert on_w8a["Nyström RPCholesky"] < 0
    return (
        "If you begin, use random Fourier features, and choose kernel, σ and λ by cross-validation: over five kernels the "
        f"loss varies more than over five maps on {share(every)}; without the worst kernel and the worst map that is not "
        f"decided, {share(few, short=True)}. If later steps make columns dear, use Nyström with RPCholesky landmarks: 512 columns "
        f"gain {gaining(found['Nyström RPCholesky'])}. At equal seconds they lose {losing(timed)}, on {timed.datasets} datasets; on another processor "
        "that was not decided. If a class "
        f"is rare, use no uniform landmarks: on w8a ({positive_in_w8a()} positive) they lose {percent(on_w8a['Nyström'])} %, RPCholesky ones "
        f"{percent(on_w8a['Nyström RPCholesky'])} %. If there are 100 inputs or more, use SORF or, exploratory, Fastfood: as "
        f"good with 512 columns, for {fit} times the seconds of map, one fit and prediction, {alone} without the fit. If "
        f"you need no features, try boosted trees (exploratory, two trials): they gain {gaining(trees)}, but lose on "
        f"{losses} of {trees.datasets} datasets."
    )


def positive_in_w8a() -> str:
    classes = load_card("w8a").classes
    return f"{100 * classes['1'] / sum(classes.values()):.0f} %"


def gains_on_w8a(columns: int) -> dict[str, float]:
    """The mean gains of maps on w8a; uniform landmarks lose in each of five trials, but with 256 columns."""
    rows = board().at_columns(columns)
    rows = rows[rows["dataset"] == "w8a"]
    of_uniform = rows.loc[rows["method"] == "Nyström", "gain"]
    assert len(of_uniform) == 5
    assert columns == 256 or of_uniform.max() < -0.1
    return rows.groupby("method")["gain"].mean().to_dict()


@finding(ADVICE)
def few_columns_take_rpcholesky_landmarks() -> str:
    """The same advice as in README.md and in the first lines of the board's page, and why."""
    means, uniform = tables.over_advised(board())
    assert (means.method, uniform.method) == ("Nyström k-means", "Nyström")
    assert means.verdict == uniform.verdict == "same"
    at = board().at_cost("fit", COLUMNS)
    dearer = {name: outside(at.trials, name) for name in ("Nyström k-means", "Nyström RPCholesky", "Nyström")}
    assert dearer["Nyström"] == ""
    of_means, of_chosen = (dearer[f"Nyström {rule}"].removesuffix(" dearer") for rule in ("k-means", "RPCholesky"))
    return (
        "For few columns take landmarks by RPCholesky. They were named before the run; the other rules are exploratory. "
        f"Over RPCholesky landmarks with 512 columns, k-means ones gain {gaining(means)} and uniform ones "
        f"{signed(uniform.median)} % ({signed(uniform.low)} to {signed(uniform.high)}): both are the same to within 1 %. "
        f"k-means landmarks cost more than 512 random Fourier features at every size on {of_means} datasets, RPCholesky "
        f"ones on {of_chosen}, uniform ones on none. The first lines of the board name RPCholesky ones in all four classes of "
        "data. There k-means ones have the largest median in three, and uniform ones in one, without a test between landmarks."
    )


@finding(PAGE_OF_BOARD)
def first_lines_name_the_advised_landmarks_and_rff() -> str:
    rows = tables.first_lines(board()).rows
    named = [row[2] for row in rows]
    assert named == [*["Nyström RPCholesky"] * 4, BASELINE]
    assert [row[-1] for row in rows] == ["none", "none", "none", "w8a -4.1", "–"]
    return "Other landmarks have the largest median by classes: Nyström k-means in 3, Nyström in 1."


@finding(ADVICE)
def draws_by_scores_repeat_columns() -> str:
    found = draws.distinct(board())
    assert found.groupby("method")["dataset"].nunique().to_dict() == {"leverage": 28, "surrogate": 28}
    assert set(found["columns"]) == {COLUMNS}
    leverage, surrogate = (found.loc[found["method"] == name, "distinct"] for name in DRAWS)
    at = board().at_cost("memory", COLUMNS)
    of_memory = {each.method: each for each in summaries(at.trials, DRAWS)}
    assert [of_memory[name].verdict for name in DRAWS] == ["same", "same"]
    worst = [at.gains[name].idxmin() for name in DRAWS]
    assert len(set(worst)) == 1
    lost = [-100 * at.gains[name].min() for name in DRAWS]
    memory = cost_ratios(board().costs("memory").dropna(), COLUMNS)
    of_draws = [memory.xs((name, COLUMNS), level=("method", "n_features")).median() for name in DRAWS]
    return (
        f"Both draw frequencies with repeats: of 512 columns {leverage.median():.0f} are distinct for leverage scores and "
        f"{surrogate.median():.0f} for surrogate scores, in the median over datasets ({leverage.min()} to {leverage.max()}, "
        f"{surrogate.min()} to {surrogate.max()}). A repeat is computed once: they take {of_draws[0]:.2f} and {of_draws[1]:.2f} "
        "times the memory of random Fourier features. At equal memory they have more columns, and leverage scores lose "
        f"{losing(of_memory['leverage'])}, surrogate scores {losing(of_memory['surrogate'])}: by the rules of the board, "
        f"both are the same. But on {worst[0]} they lose {lost[0]:.0f} and {lost[1]:.0f} %."
    )


@finding(SMALL)
def the_small_board_takes_minutes() -> str:
    """By the dry run, at the speed for which the budgets are given; and by the seconds that the same maps took on the same datasets and sizes, with two trials, on the
    whole board."""
    small = load_experiment("board-small")
    specs = small.grid()
    assert {spec.trial for spec in specs} == {0, 1}
    estimate = run_seconds(specs, 2, rate=lambda: RATE)
    trials = board().scores.trials
    maps = [name for name, each in small.methods.items() if each.features != "none"]
    same = trials[
        trials["method"].isin(maps) & trials["dataset"].isin(small.datasets) & (trials["trial"] < 2)
        & trials["n_features"].isin({spec.n_features for spec in specs} - {1})
    ]  # fmt: skip
    seconds = same[["bandwidth_s", "feature_s", "fit_s", "predict_s"]].sum(axis=1)
    bandwidth_once = seconds - same["bandwidth_s"].where(same["n_features"] != COLUMNS, 0)
    assert set(maps) - set(same["method"]) == {"simplex"}
    assert len(same) == 9 * 2 * 2 * 6
    measured = bandwidth_once.sum() / 2
    assert measured < 300
    assert 110 < estimate < 125
    return (
        "The dry run estimates about two minutes with two workers. On the whole board, the same maps but for simplex took "
        f"{measured:.0f} s with two workers for as many trials on these datasets, while other work ran."
    )


@finding(ADVICE)
def uniform_landmarks_miss_a_rare_class() -> str:
    few, found, more = (gains_on_w8a(columns) for columns in (256, COLUMNS, 1024))
    chosen, by_means = (found[f"Nyström {rule}"] for rule in ("RPCholesky", "k-means"))
    assert chosen < 0 < by_means
    trials = board().at_columns(COLUMNS).query("dataset == 'w8a' and method == 'Nyström RPCholesky'")["gain"]
    leverage, surrogate, reweighted = (percent(found[name]) for name in (*DRAWS, tables.REWEIGHTED))
    return (
        f"Not on rare classes: on w8a, of whose rows {positive_in_w8a()} are positive, uniform landmarks lose "
        f"{percent(found['Nyström'])} % with 512 columns and {percent(more['Nyström'])} % with 1,024, in each of five "
        f"trials. With 512 RPCholesky landmarks lose {percent(chosen)} % there (in the five trials "
        f"{signed(trials.min())} to +{signed(trials.max())}), and k-means landmarks gain {percent(by_means)} %; "
        f"frequencies drawn by leverage scores lose {leverage} %, by surrogate scores "
        f"{surrogate} %, and reweighted surrogate features {reweighted} %. With 256 columns random Fourier features "
        f"learn little there; uniform landmarks gain {percent(few['Nyström'])} %, RPCholesky landmarks "
        f"{percent(few['Nyström RPCholesky'])} %."
    )


@functools.cache
def by_earlier_seconds() -> Board:
    """The board without the last timing of the named maps."""
    before = board().before
    assert before is not None
    left_out = set(board().again["board-seconds"]) - set(before.again["board-seconds"])
    assert [path.name for path in left_out] == ["board-seconds-again-named"]
    return before


@finding(ADVICE)
def nystroem_gains_at_equal_columns_alone() -> str:
    chosen, uniform = (at_512_columns()[name] for name in ("Nyström RPCholesky", "Nyström"))
    assert chosen.posterior.verdict == uniform.posterior.verdict == "better"
    timed = gains(4, 0)
    costly, cheap = timed["Nyström RPCholesky"], timed["Nyström"]
    assert (costly.verdict, cheap.verdict) == ("worse", "undecided")
    assert costly.outside == f"{28 - costly.datasets} dearer"
    (before,) = summaries(by_earlier_seconds().at_cost("fit", COLUMNS).trials, ["Nyström RPCholesky"])
    assert before.verdict == "undecided"
    more = at_the_seconds_of(1024)
    assert [name for name, each in more.items() if each.low > 0] == ["Nyström"]
    assert more["Nyström"].verdict == "undecided"
    return (
        f"At 512 columns Nyström features gain {gaining(chosen)} with RPCholesky landmarks and, exploratory, "
        f"{gaining(uniform)} with uniform ones. At the seconds of 512 random Fourier features they lose: with RPCholesky "
        f"landmarks {losing(costly)} on {costly.datasets} datasets, and on the other {28 - costly.datasets} they already cost "
        f"more with 128 columns; with uniform ones {losing(cheap)}, which is not decided. By the seconds measured before, on "
        f"another processor, RPCholesky ones lose {losing(before)} on {before.datasets} datasets, which is not decided. "
        f"At the seconds of 1,024, exploratory, uniform landmarks gain {gaining(more['Nyström'])}, which is not decided; no other "
        "map is seen to gain there."
    )


@finding(ADVICE)
def among_the_other_maps_some_gain_at_equal_columns() -> str:
    found = at_512_columns()
    others = {name: each for name, each in found.items() if name not in (*CONFIRMATORY, "Nyström", *DRAWS)}
    assert len(others) == 12
    assert {name for name, each in others.items() if each.posterior.verdict == "better"} == {"Nyström k-means"}
    assert others["TEFM"].posterior.verdict == "undecided"
    worse = ("SRHT", "TensorSketch", "complex-to-real")
    assert {name for name, each in others.items() if each.posterior.verdict == "worse"} == set(worse)
    srht, sketch, complex_ = (losing(found[name]) for name in worse)
    timed = {name: each for name, each in at_the_seconds_of(COLUMNS).items() if name in others}
    assert {*others} - {*timed} == {"Nyström k-means", "TEFM"}
    behind = ("SRHT", "EERF", "complex-to-real", "compact", "TensorSketch")
    assert {name for name, each in timed.items() if each.posterior.verdict == "worse"} == set(behind)
    assert not any(each.posterior.verdict == "better" for each in timed.values())
    at = board().at_cost("fit", COLUMNS)
    means, tefm = (outside(at.trials, name).removesuffix(" dearer") for name in ("Nyström k-means", "TEFM"))
    return (
        "Exploratory, at 512 columns: Nyström features with k-means landmarks gain "
        f"{gaining(found['Nyström k-means'])}, and TEFM {gaining(found['TEFM'])}, which is not decided. SRHT loses "
        f"{srht}, TensorSketch {sketch} and complex-to-real features {complex_}. At the seconds of random Fourier "
        "features no map is seen to gain. SRHT, TensorSketch, complex-to-real, compact and learnt features (EERF) are "
        f"worse there: they lose {span([100 * -timed[name].median for name in behind], 1)} %. k-means landmarks cost more "
        f"at every size on {means} datasets, TEFM on {tefm}."
    )


def with_the_sigma_of_fourier_features(method: str, columns: int) -> tuple[Summary, int]:
    """A map's gain over the trials in which it and RFF chose the same σ, and how many these are."""
    trials = board().scores.trials
    chosen = trials[trials["n_features"] == columns].set_index(["dataset", "method", "trial"])["times_median"]
    mine, of_rff = (chosen.xs(name, level="method") for name in (method, BASELINE))
    same = mine.index[mine == of_rff.reindex(mine.index)]
    rows = board().at_columns(columns)
    rows = rows[(rows["method"] == method) & pd.MultiIndex.from_frame(rows[["dataset", "trial"]]).isin(same)]
    (found,) = summaries(rows, [method])
    return found, len(rows)


@finding(ADVICE)
def with_few_columns_five_maps_gain_and_no_other_at_any_size() -> str:
    sizes = {size: {each.method: each for each in of_maps} for size, of_maps in board().at_each_size.items()}
    few, many = sizes[128], sizes[1024]
    of_rows = ("Nyström", "Nyström RPCholesky", "Nyström k-means")
    gain = {*of_rows, "positive", "TEFM"}
    assert all(each.datasets == 28 for each in few.values())
    assert {name for name, each in few.items() if each.low > 0} == gain
    assert {name for found in sizes.values() for name, each in found.items() if each.low > 0} == gain
    assert many["positive"].datasets == 28
    assert many["positive"].low < 0
    uniform, chosen, means = (gaining(few[name]) for name in of_rows)
    same, trials = with_the_sigma_of_fourier_features("positive", 128)
    assert few["positive"].median > same.median
    return (
        f"Exploratory, with 128 columns: Nyström features gain {uniform} with uniform landmarks, {chosen} with "
        f"RPCholesky ones and {means} with k-means ones. TEFM gains {gaining(few['TEFM'])}. "
        f"Positive features gain {gaining(few['positive'])}, and with 1,024 columns no more. A part of it is a larger σ, "
        f"as σ is chosen at 512 columns: in the {trials} trials of 140 with the σ of Fourier features it is "
        f"{signed(same.median)} % ({signed(same.low)} to {signed(same.high)}), on {same.datasets} datasets. No other map is seen to gain at any size from "
        "128 to 1,024 columns."
    )


@finding(ADVICE)
def with_2048_columns_landmarks_still_gain() -> str:
    found = {each.method: each for each in board().at_each_size[2048]}
    assert all(each.datasets == 28 for each in found.values())
    assert set(found) == set(board().compared)
    of_rows = [found.pop(name) for name in ("Nyström", "Nyström RPCholesky", "Nyström k-means", "TEFM")]
    assert {each.posterior.verdict for each in of_rows} == {"undecided"}
    uniform, chosen, means, tefm = map(gaining, of_rows)
    by_verdict: dict[str, list[Summary]] = {}
    for each in found.values():
        by_verdict.setdefault(each.posterior.verdict, []).append(each)
    assert set(by_verdict) == {"same", "undecided", "worse"}
    undecided = by_verdict["undecided"]
    lost = [-100 * each.median for each in undecided]
    (worse,) = by_verdict["worse"]
    return (
        f"Exploratory, with 2,048 columns: at equal columns uniform landmarks gain {uniform}, those by RPCholesky {chosen}, "
        f"those by k-means {means} and TEFM {tefm}, none of them decided. The same as random Fourier features to within 1 % are "
        f"{listed([each.method for each in by_verdict['same']])}. {listed([each.method for each in undecided])} lose "
        f"{min(lost):.1f} to {max(lost):.1f} %, which is not decided. {worse.method} is worse: it loses {losing(worse)}."
    )


@functools.cache
def without_a_map() -> dict[str, Summary]:
    found = {each.method: each for each in board().without_a_map(COLUMNS)}
    assert found["boosted trees"].datasets == found["linear"].datasets == 28
    assert found["kernel ridge"].datasets == 14
    assert [found[name].posterior.verdict for name in ("boosted trees", "linear")] == ["better", "worse"]
    return found


@finding(ADVICE)
def boosted_trees_are_ahead_of_rff() -> str:
    trees, linear = (without_a_map()[name] for name in ("boosted trees", "linear"))
    (wide,) = (each for each in board().without_a_map(2048) if each.method == "boosted trees")
    assert wide.datasets == 28
    trials = board().scores.trials
    assert set(trials.loc[trials["method"] == "boosted trees", "trial"]) == {0, 1}
    losses, worst = worst_of_trees()
    many, worst_of_many = worst_of_trees(2048)
    return (
        f"Exploratory, in two trials: boosted trees, with scikit-learn's defaults and no map, gain {gaining(trees)} over "
        f"random Fourier features with 512 columns. They lose on {losses} of 28 datasets, most on {worst}. Over those with "
        f"2,048 columns they gain {gaining(wide)} and lose on {many}, most on {worst_of_many}. A linear model loses "
        f"{losing(linear)} at 512 columns."
    )


@functools.cache
def worst_of_trees(columns: int = COLUMNS) -> tuple[int, str]:
    """On how many datasets boosted trees lose to RFF, and most on which two."""
    rows = tables.gains_of_learners(board(), columns)
    means = rows[rows["method"] == "boosted trees"].groupby("dataset")["gain"].mean().sort_values()
    first, second = (f"{name} ({percent(gain)} %)" for name, gain in means.head(2).items())
    return int((means < 0).sum()), f"{first} and {second}"


@finding(ADVICE)
def fourier_features_come_near_kernel_ridge() -> str:
    few = without_a_map()["kernel ridge"]
    (many,) = (each for each in board().without_a_map(2048) if each.method == "kernel ridge")
    assert few.posterior.verdict == "better"
    assert many.datasets == 14
    assert many.low < 0 < many.high
    trials = board().scores.trials
    rows = trials[trials["method"] == "kernel ridge"]
    assert set(rows["trial"]) == {0, 1}
    assert rows["model_size"].max() == 10_000  # a coefficient for each training row
    assert set(rows.loc[rows["times_median"] == 0.125, "dataset"]) == {"phoneme"}
    assert rows["times_median"].max() < 8
    assert 1e-9 < rows["lambda"].min() < rows["lambda"].max() < 1e-2
    return (
        "Exploratory: exact kernel ridge, on the 14 datasets of up to 10,000 training rows and in two trials, gains "
        f"{gaining(few)} over random Fourier features with 512 columns. Over those with 2,048 it is "
        f"{with_sign(100 * many.median, 1)} % ({with_sign(100 * many.low, 1)} to {with_sign(100 * many.high, 1)}), which is "
        "not decided. Its σ and λ are chosen on 3,000 rows; on phoneme σ is the smallest of the grid."
    )


@finding(ADVICE)
def smaller_lambdas_make_surrogate_reweighted_the_same() -> str:
    board_lambdas, smaller, of_rff = tables.with_smaller_lambdas(board())
    assert board_lambdas.posterior.verdict == "undecided"
    assert smaller.posterior.verdict == of_rff.posterior.verdict == "same"
    return (
        f"Reweighted surrogate features lose {losing(board_lambdas)} with the λ of the board, which is not decided. "
        f"With λ down to 1e-19 for both they are the same as random Fourier features: {with_sign(100 * smaller.median)} % "
        f"({with_sign(100 * smaller.low)} to {with_sign(100 * smaller.high)})."
    )


@finding(ADVICE)
def chosen_landmarks_are_not_worth_their_cost() -> str:
    columns, timed = gains(4, 1)["Nyström RPCholesky"], gains(4, 2)["Nyström RPCholesky"]
    assert (columns.posterior.verdict, timed.posterior.verdict) == ("same", "worse")
    return (
        "RPCholesky landmarks are as good as uniform ones at equal columns, and worse at equal seconds: they lose "
        f"{losing(timed)}."
    )


@finding(ADVICE)
def drawing_by_scores_does_not_pay() -> str:
    columns, timed = gains(3, 0), gains(3, 1)
    leverage, surrogate = columns["leverage"], columns["surrogate"]
    assert leverage.posterior.verdict == surrogate.posterior.verdict == "worse"
    assert not any(each.posterior.verdict == "better" for each in timed.values())
    return (
        f"Frequencies drawn by leverage scores lose {losing(leverage)} at equal columns, by surrogate scores "
        f"{losing(surrogate)}; neither gains at equal seconds."
    )


def shares_of_kernels() -> tuple[Number, Number]:
    """The share of datasets on which kernels vary more; and without the worst kernel and the worst map."""
    every = number(5, "share of datasets on which kernels vary more")
    few = number(5, "the same without the worst kernel and the worst map (exploratory)")
    assert every.low > 0.5
    assert few.low < 0.5 < few.high
    return every, few


@finding(ADVICE)
def kernels_vary_the_loss_more_than_maps() -> str:
    every, few = shares_of_kernels()
    at = {size: number(5, f"the share with {size} columns (exploratory)") for size in ("128", "256", "1,024", "2,048")}
    assert min(at[size].low for size in ("256", "1,024", "2,048")) > 0.5
    assert at["128"].low < 0.5 < at["128"].high
    few_wide = number(5, "the share with 2,048 columns without the worst of each (exploratory)")
    assert few_wide.low > 0.5
    of_maps, few_maps, of_kernels = (
        number(5, f"between five {what}: 2,048 over 128 columns (exploratory)")
        for what in ("maps of the Gaussian kernel", "maps of the Gaussian kernel without the worst", "kernels")
    )
    assert of_maps.high < 1 < few_maps.high
    assert of_kernels.low < 1 < of_kernels.high
    return (
        f"Over five kernels the loss varies more than over five maps of the "
        f"Gaussian kernel on {share(every)}. Without the worst kernel and the worst map that is not decided: it is so "
        f"on {share(few)}. These are numbers with 512 columns. Exploratory: with 256, 1,024 and 2,048 columns it varies "
        f"more over kernels, too, with 2,048 also without the worst of each, on {share(few_wide)}. With 128 columns that is "
        f"not decided: it does on {share(at['128'])}. The maps draw together: with 2,048 columns the standard deviation "
        f"of the loss between them is {of_maps.value:.2f} times that with 128 ({of_maps.low:.2f} to {of_maps.high:.2f}); "
        f"without the worst map, {few_maps.value:.2f} times ({few_maps.low:.2f} to {few_maps.high:.2f}), that is not decided. "
        f"Between kernels no change is seen: {of_kernels.value:.2f} times ({of_kernels.low:.2f} to {of_kernels.high:.2f})."
    )


@finding(ADVICE)
def a_smaller_kernel_error_predicts_between_kinds_of_maps_alone() -> str:
    delta, frobenius = number(2, "ridge Δ, over all maps"), number(2, "Frobenius error, over all maps")
    halves = number(2, "losses of half the trials with those of the rest, over Fourier maps (exploratory)")
    among = number(2, "ridge Δ, over Fourier maps"), number(2, "Frobenius error, over Fourier maps")
    assert delta.low > 0.5
    assert frobenius.value > 0.5
    assert frobenius.low > 0
    assert halves.value < 0.5
    assert among[0].low < 0 < among[0].high
    return (
        f"At one bandwidth and 512 columns, maps with a smaller kernel error have a smaller test error: over 22 maps "
        f"the rank correlation is {spread(delta)} for Δ at the λ of kernel ridge and {spread(frobenius)} for the Frobenius error. Among the ten "
        f"Fourier maps it is {spread(among[0])} and {spread(among[1])}. Their order by test error is mostly chance: "
        f"with half the trials it correlates with that of the other half by {spread(halves)}."
    )


@finding(ADVICE)
def seconds_of_solvers() -> str:
    """PCG with its defaults, λ and the kernel given; two trials."""
    found = over_the_direct_solve(load_protocols(ROOT / "results" / "board-solvers"))
    times = {solver: ratios for (solver, _), ratios in found.items()}
    assert len(times["RFF pcg"]) == len(times["Nyström pcg"]) == 5
    assert min(times["RFF pcg"] + times["Nyström pcg"]) > 2
    pol, elevators = times["kernel pcg"]
    return (
        "With 2,048 columns the direct solve is quicker than conjugate gradients (pcg): to come within 1 % of its "
        f"test error they take {span(times['RFF pcg'], 1)} times its seconds on random Fourier features, and "
        f"{span(times['Nyström pcg'], 1)} times on Nyström features. Falkon, with landmarks of its own, takes "
        f"{span(times['Nyström falkon'], 1)} times to its own error. With the whole kernel matrix of 13,500 and "
        f"14,939 rows pcg takes {pol:.1f} and {elevators:.1f} times the seconds."
    )
