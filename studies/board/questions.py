"""The board's five questions (docs/board/questions.md): what is measured for each, and what the answer is. The module
`kernels_or_maps` has the fifth.

A part without its trials has no answer. A map that is measured nowhere is left out of the numbers, and said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rffbench.stats import (
    BASELINE,
    Number,
    OfTrials,
    Posterior,
    Summary,
    at_columns,
    beside,
    by_trial,
    correlation,
    losses,
    mean_of,
    means_of,
    median,
    over_datasets,
    summaries,
)
from studies.board import draws
from studies.board.answers import Answer, correlated, strips, waiting
from studies.board.kernels_or_maps import kernels
from studies.board.registered import (
    COLUMNS,
    CONFIRMATORY,
    DRAWS,
    FAMILIES,
    OF_ANOTHER_KERNEL,
    POWER,
    SIZES_AT_COST,
)
from studies.board.run_tables import less_sure
from studies.board.standing import SECONDS, Board, shape

FEWEST_MAPS = 5  # of which a rank correlation says anything
AT_SECONDS = f"Gain over RFF at its seconds with {COLUMNS} columns"
RIDGE_DELTA, ROOT_DELTA = "ridge Δ", "root Δ"
"""‖(K + nλI)^−½(K̃ − K)(K + nλI)^−½‖₂, the first at the λ that kernel ridge chooses, the other at λ = 1/√n."""


# ---- 1, 3 and 4: gains -----------------------------------------------------------------------------------------------


def equal_seconds(board: Board) -> Answer:
    """Question 1."""
    answer = Answer(1, "At equal seconds, does any Gaussian map beat RFF?")
    at = board.at_cost("fit", COLUMNS)
    if at is None:
        return waiting(answer, "board-seconds")
    found = summaries(at.trials, CONFIRMATORY)
    maps = [(f"{AT_SECONDS}: map, one fit and prediction", found)]
    if (quick := board.at_cost("map", COLUMNS)) is not None:
        maps.append((f"{AT_SECONDS}: map and prediction alone", summaries(quick.trials, CONFIRMATORY)))
    verdicts = dict.fromkeys(CONFIRMATORY, "undecided") | {each.method: each.verdict for each in found}
    beside = {each.method: f" ({each.where})" for each in found if each.outside}
    of_verdict = {
        word: ", ".join(name + beside.get(name, "") for name in verdicts if verdicts[name] == word)
        for word in set(verdicts.values())
    }
    if "better" in of_verdict:
        said, fate = f"Yes: {of_verdict['better']}.", "is refuted"
    elif "undecided" in of_verdict:
        said, fate = f"Not decided, for {of_verdict['undecided']}.", "is not decided"
    else:
        said = "No: every confirmatory map is the same as RFF, or worse."
        fate = "is confirmed"
    if found:
        said += f" The largest median gain is {found[0].said}, of {found[0].method}."
    said += _cautions(board, found)
    hypothesis = f"The hypothesis, that no confirmatory map is better than RFF, {fate}."
    if "worse" in of_verdict:
        hypothesis += (
            f" Worse: {of_verdict['worse']}. So its registered words, that every gain is within ±1 %, do not hold; the "
            "registered thresholds ask for better alone."
        )
    depth = {name: np.log(shape(name)[1]) for name in board.datasets}
    numbers, moderator = _moderated(at.trials, CONFIRMATORY, depth, "log d")
    answer = Answer(
        1, answer.asked, said, hypothesis, moderator, maps=maps, numbers=numbers, notes=(POWER,),
        changes="Fits that cost less beside the map, as the second table shows, or another kernel.",
    )  # fmt: skip
    return _waits(answer, board, CONFIRMATORY)


def _cautions(board: Board, found: Sequence[Summary]) -> str:
    """Why verdicts over RFF at equal seconds are not sure, as sentences: what the seconds that were measured before say
    of maps whose verdict they change, and which verdicts simulated boards get wrong too often."""
    decided = {each.method: each.verdict for each in found if each.verdict in ("better", "worse")}
    before, said = board.before, list[str]()
    if before and (at := before.at_cost("fit", COLUMNS)):
        then, now = _processors(before), _processors(board)
        for each in summaries(at.trials, list(decided)):
            if each.verdict != decided[each.method]:
                where = ", on another processor" if then.get(each.method) != now.get(each.method) else ""
                said.append(f"By the seconds measured before{where}, {each.method} {_compared(each, 'RFF')}.")
    said.append(less_sure(board, list(decided)))
    return "".join(f" {each}" for each in said if each)


def _processors(board: Board) -> dict[str, str]:
    """By map, the processor that its seconds at the size of the questions were measured on."""
    of_size = (timing for timing in board.timings.get(SECONDS, []) if COLUMNS in timing.sizes)
    return {name: timing.processor for timing in of_size for name in timing.maps}


def data_dependent(board: Board) -> Answer:
    """Question 3."""
    asked = "Does a data-dependent draw pay once λ and σ are chosen?"
    maps = [(f"Gain over RFF at {COLUMNS} columns", summaries(board.at_columns(COLUMNS), DRAWS))]
    at = board.at_cost("fit", COLUMNS)
    if at is not None:
        maps.append((f"{AT_SECONDS}, the draw counted", summaries(at.trials, DRAWS)))
    said = []
    for where, (_, found) in zip(("columns", "seconds"), maps, strict=False):
        better = [each.method for each in found if each.verdict == "better"]
        pays = f"it pays for {', '.join(better)}" if better else "it does not pay"
        if found:
            said.append(f"At equal {where} {pays}: {', '.join(f'{each.method} {each.said}' for each in found)}.")
    if repeats := draws.in_words(board):
        said.append(repeats)
    verdicts = {each.method: each.verdict for each in maps[0][1]}
    fate = "does not hold" if {"better", "worse"} & set(verdicts.values()) else "is not decided"
    if set(verdicts.values()) == {"same"}:
        fate = "is confirmed"
    numbers: list[Number] = []
    moderator = ""
    if dimensions := _moderator(board, "ridge_dimension"):
        share = {name: value / min(shape(name)[0], 1000) for name, value in dimensions.items()}
        numbers, moderator = _moderated(board.at_columns(COLUMNS), DRAWS, share, "d_eff/n")
    of_maps = " and ".join(f"{name} {_AS[verdict].format('RFF')}" for name, verdict in verdicts.items())
    answer = Answer(
        3, asked, " ".join(said), f"The hypothesis, that both are the same as RFF at equal columns, {fate}: {of_maps}.",
        moderator, maps=maps, numbers=numbers,
        changes="Larger pools to draw from: here a pool has as many frequencies as are drawn.",
    )  # fmt: skip
    return _waits(answer, board, DRAWS)


_AS = {
    "better": "is better than {}",
    "same": "is the same as {}",
    "worse": "is worse than {}",
    "undecided": "is undecided",
}
"""A verdict in a sentence."""


def nystroem(board: Board) -> Answer:
    """Question 4."""
    asked = "Nyström or random features at equal time, and is RPCholesky worth its cost?"
    both = uniform, chosen = ("Nyström", "Nyström RPCholesky")
    at, own = board.at_cost("fit", COLUMNS), board.at_cost("fit", COLUMNS, baseline=uniform)
    if at is None or own is None:
        return waiting(Answer(4, asked), "board-seconds")
    columns = _over(board, uniform)
    maps = [
        (AT_SECONDS, summaries(at.trials, both)),
        (f"Gain of RPCholesky over uniform landmarks at {COLUMNS} columns", summaries(columns, both[1:])),
        (f"Gain of RPCholesky over uniform landmarks at their seconds with {COLUMNS}", summaries(own.trials, both[1:])),
    ]
    of_rff, of_columns, of_seconds = ({each.method: each for each in found} for _, found in maps)
    said = (
        f"At RFF's seconds Nyström with RPCholesky landmarks {_compared(of_rff.get(chosen), 'RFF')}. With uniform "
        f"landmarks it {_compared(of_rff.get(uniform), 'RFF')}. At equal columns RPCholesky "
        f"{_compared(of_columns.get(chosen), 'uniform landmarks')}. At equal seconds it "
        f"{_compared(of_seconds.get(chosen), 'these')}.{_cautions(board, maps[0][1])}"
    )
    of_uniform = of_rff[uniform].posterior if uniform in of_rff else Posterior(np.nan, np.nan, np.nan)
    verdicts = [found[chosen].verdict if chosen in found else "undecided" for found in (of_columns, of_seconds)]
    is_other = [verdict not in (expected, "undecided") for verdict, expected in zip(verdicts, _EXPECTED, strict=True)]
    hypothesis = (
        "Hypothesis (a), that Nyström with uniform landmarks is not better than RFF, is "
        f"{'refuted' if of_uniform.verdict == 'better' else 'not refuted'}: the probability of better is "
        f"{of_uniform.better:.2f}. Hypothesis (b), that RPCholesky is better than uniform landmarks at equal columns "
        "and the same at equal seconds, is "
        f"{'refuted' if any(is_other) else 'confirmed' if verdicts == _EXPECTED else 'not decided'}."
    )
    numbers: list[Number] = []
    moderator = ""
    if decay := _moderator(board, "spectral_decay"):
        numbers, moderator = _moderated(at.trials, both, decay, "the decay")
    answer = Answer(4, asked, said, hypothesis, moderator, maps=maps, numbers=numbers,
                    changes="Other sizes: more landmarks cost their square.")  # fmt: skip
    return _waits(answer, board, both)


_EXPECTED = ["better", "same"]
"""RPCholesky against uniform landmarks, by the hypothesis: at equal columns, and at equal seconds."""


def _compared(found: Summary | None, with_: str) -> str:
    """A verdict with its gain, in a sentence; and on how many datasets, where that is not all."""
    if found is None:
        return _AS["undecided"]
    return f"{_AS[found.verdict].format(with_)}: {found.said}" + (f", {found.where}" if found.outside else "")


def _over(board: Board, baseline: str) -> pd.DataFrame:
    return at_columns(board.losses_of_maps, board.known, COLUMNS, baseline)


# ---- 2: errors of the kernel -----------------------------------------------------------------------------------------

IS_RIDGE_DELTA = (
    f"The {RIDGE_DELTA} is the registered Δ: on 1,000 training rows, at the λ that kernel ridge chooses on them and at "
    f"the σ that RFF chose. The {ROOT_DELTA} beside the gains is another number, at λ = 1/√n and at each map's own σ."
)
KINDS = {
    "all": "over all maps", "Fourier": "over Fourier maps", "families": "between families",
    "estimates": "over maps that estimate this kernel (exploratory)",
}  # fmt: skip
"""Over which maps the errors and the losses are ranked."""


def kernel_errors(board: Board) -> Answer:
    """Question 2."""
    asked = "Does a smaller kernel error mean a smaller test error?"
    results = board.results.get("board-one-sigma")
    if results is None:
        return waiting(Answer(2, asked), "board-one-sigma")
    trials = results.trials.assign(loss=losses(results.trials)["loss"])
    found: dict[str, dict[tuple[str, str], OfTrials]] = {
        str(name): {(kind, error): _ranks(each, kind, error) for kind in KINDS
               for error in ("entry_error", "ridge_delta_error")}
        for name, each in trials.groupby("dataset", sort=False)
    }  # fmt: skip
    errors = {"ridge_delta_error": "Δ", "entry_error": "Frobenius error"}
    numbers = [
        _ridge(over_datasets({name: each[kind, error] for name, each in found.items()}, median, f"{sign}, {title}"))
        for kind, title in KINDS.items() for error, sign in errors.items()
    ]  # fmt: skip
    drawn = strips("Rank correlation of the error with the test loss", numbers, "Spearman's correlation", (-0.3, 0.3))
    pairs = {name: beside(each["all", "ridge_delta_error"], each["all", "entry_error"]) for name, each in found.items()}
    apart = over_datasets(pairs, lambda each: float(np.median(each[:, 0]) - np.median(each[:, 1])),
                          "Δ less the Frobenius error")  # fmt: skip
    apart = _ridge(apart)
    said = f"Over all maps {_predict(numbers[:2])}. Over Fourier maps {_predict(numbers[2:4])}. "
    better = "predicts" if apart.low > 0 else "is not shown to predict"
    said += f"The {RIDGE_DELTA} {better} better: the difference is {apart.said}."
    hypothesis = (
        f"The hypothesis has two parts. That the {RIDGE_DELTA}'s correlation is positive is "
        f"{'confirmed' if numbers[0].low > 0 else 'not shown'}; that it is larger than the Frobenius error's is "
        f"{'confirmed' if apart.low > 0 else 'not shown'}."
    )
    called = "losses of half the trials with those of the rest, {} (exploratory)"
    numbers += [
        over_datasets(_between_halves(trials, kind), median, called.format(KINDS[kind])) for kind in ("all", "Fourier")
    ]
    moderator = ""
    if dimensions := _moderator(board, "ridge_dimension"):
        share = {name: beside(means_of(value / COLUMNS), found[name]["all", "ridge_delta_error"])
                 for name, value in dimensions.items() if name in found}  # fmt: skip
        numbers.append(_ridge(over_datasets(share, correlation, "correlation of Δ's with d_eff over columns")))
        moderator = correlated(numbers[-1], "d_eff over columns", f"the {RIDGE_DELTA} predicts")
    done = board.progress("board-one-sigma")
    return Answer(
        2, asked, said, hypothesis, moderator, numbers=[*numbers[:2], apart, *numbers[2:]],
        notes=(IS_RIDGE_DELTA, "Between families: with five of them, a rank correlation has few possible values.",
               "The intervals of halves are over datasets alone: a trial that is drawn twice would be in both halves."),
        waits=f"{done.planned - done.done} trials to come" if done and not done.is_complete else "",
        changes="A σ of each map's own: maps whose errors are smallest at small σ would choose another kernel.",
        strips=(drawn,),
    )  # fmt: skip


def _ridge(number: Number) -> Number:
    """The number under the name that tells the two Δ apart. Its interval was drawn under the registered name."""
    return replace(number, name=number.name.replace("Δ", RIDGE_DELTA))


def _ranks(trials: pd.DataFrame, kind: str, error: str) -> OfTrials:
    """Spearman's correlation over maps of the log error with the loss, on one dataset."""
    tables = [by_trial(trials, of) for of in ("loss", error)]
    maps = tables[0].columns[_of_kind(tables[0].columns, kind)]
    losses_, errors = (table[maps].to_numpy(float) for table in tables)
    family = maps.map({name: family for family, names in FAMILIES.items() for name in names})
    groups = [family == each for each in FAMILIES] if kind == "families" else []

    def ranks(chosen: NDArray[np.int64]) -> float:
        pairs = np.column_stack([mean_of(errors[chosen]), mean_of(losses_[chosen])])
        pairs[np.isnan(pairs).any(axis=1)] = np.nan
        if groups:
            pairs[:, 0] = np.log(pairs[:, 0])
            pairs = np.array([mean_of(pairs[at]) for at in groups])
        pairs = pairs[~np.isnan(pairs).any(axis=1)]
        return correlation(pairs) if len(pairs) >= FEWEST_MAPS else np.nan

    return OfTrials(len(losses_), ranks)


def _of_kind(methods: pd.Index, kind: str) -> Any:
    """Which of the maps are of a kind of `KINDS`."""
    if kind == "Fourier":
        return methods.isin(FAMILIES["Fourier"])
    return ~methods.isin(OF_ANOTHER_KERNEL if kind == "estimates" else ())


def _between_halves(trials: pd.DataFrame, kind: str) -> dict[str, float]:
    """On each dataset, Spearman's correlation over maps of the mean loss of half the trials with that of the rest, the
    mean over all halves. It says how far the losses' ranks are more than chance: no error can predict chance."""
    found = {}
    for dataset, each in trials[_of_kind(pd.Index(trials["method"]), kind)].groupby("dataset", sort=False):
        table = each.pivot_table(index="method", columns="trial", values="loss").dropna()
        halves = combinations(table.columns, table.shape[1] // 2)
        pairs = [(table[list(half)].mean(axis=1), table.drop(columns=list(half)).mean(axis=1)) for half in halves]
        found[str(dataset)] = float(np.mean([correlation(np.column_stack(pair)) for pair in pairs]))
    return found


def _predict(pair: Sequence[Number]) -> str:
    """Whether Δ and the Frobenius error, in this order, predict the test error, by the registered thresholds."""
    of_delta, of_frobenius = map(_predicts, pair)
    if of_delta == of_frobenius:
        said = {"yes": "both errors predict the test error", "no": "neither error predicts the test error",
                "open": "it is not decided whether either error predicts the test error"}[of_delta]  # fmt: skip
    else:
        words = {"yes": "predicts the test error", "no": "does not predict it", "open": "is not decided"}
        said = f"the {RIDGE_DELTA} {words[of_delta]}, and the Frobenius error {words[of_frobenius]}"
    return f"{said}: {pair[0].said} for the {RIDGE_DELTA}, {pair[1].said} for the Frobenius error"


def _predicts(number: Number) -> str:
    if number.value >= 0.5 and number.low > 0:
        return "yes"
    return "no" if number.low >= -0.3 and number.high <= 0.3 else "open"


# ---- What they share -------------------------------------------------------------------------------------------------


def answers(board: Board) -> list[Answer]:
    """All five, in order."""
    return [each(board) for each in (equal_seconds, kernel_errors, data_dependent, nystroem, kernels)]


def _moderator(board: Board, measure: str) -> dict[str, pd.Series]:
    """A measure of the kernel matrix on each dataset, by trial, at the σ that RFF chose."""
    results = board.results.get("board-one-sigma")
    if results is None or measure not in results.trials:
        return {}
    known = results.trials.dropna(subset=[measure])
    return {str(name): each.groupby("trial")[measure].mean() for name, each in known.groupby("dataset")}


def _moderated(
    rows: pd.DataFrame, methods: Sequence[str], by: Mapping[str, float | pd.Series], called: str
) -> tuple[list[Number], str]:
    """The correlations over datasets of maps' gains with a moderator, a number or one a trial, and what they say."""
    numbers, said = [], []
    for method in methods:
        mine = rows[rows["method"] == method].groupby("dataset")
        pairs = {
            str(name): means_of(each.set_index("trial")[["gain"]].assign(by=by[str(name)]))
            for name, each in mine if str(name) in by
        }  # fmt: skip
        numbers.append(over_datasets(pairs, correlation, f"{method}: correlation of the gain with {called}"))
        if numbers[-1].is_apart:
            said.append(correlated(numbers[-1], called, f"{method} gains"))
    if len(said) < len(methods):
        said.append(f"No {'other ' if said else ''}correlation of a gain with {called} is seen.")
    return numbers, " ".join(said)


def _waits(answer: Answer, board: Board, maps: Sequence[str]) -> Answer:
    reasons = list(dict.fromkeys(filter(None, (board.withheld(name, COLUMNS) for name in maps))))
    if "board-seconds" not in board.results:
        reasons.append("board-seconds has not run")
    elif missing := sum(
        board.missing((BASELINE, *maps), size, part) for part in ("board", "board-seconds") for size in SIZES_AT_COST
    ):
        reasons.append(f"{missing} trials to come of those that equal seconds need")
    return Answer(**{**vars(answer), "waits": "; ".join(reasons)})
