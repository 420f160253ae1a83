"""Promises of the papers' numbers and of their registry."""

import hashlib
import json
from functools import cache
from pathlib import Path

import pandas as pd
import pytest

from rffbench.data.cards import load_card
from rffbench.errors import ConfigError
from rffbench.papers import FOLDER, load_reference, references
from rffbench.report.claims import load_claims
from rffbench.report.reference import read_reference
from tests.helpers.cases import slow

# All but our own, whose numbers are recorded and whose datasets are of several papers.
PAPERS = sorted({reference.paper for reference in references().values()} - {"rffbench"})

# Whose numbers are shown for their order of magnitude alone.
NEVER_JUDGED = {"potapczynski2021"}

# Where a card's rows are known not to be the paper's: another test part, rows the paper leaves out.
OTHER_ROWS = {"cod-rna", "cod-rna-paper"}


@cache
def whole(name):
    """The reference, its numbers and its claims."""
    return read_reference(name, Path())


@pytest.mark.parametrize(("name", "cells"), [("liu2020-table3", 116), ("yen2014-table1", 24), ("yen2014-table2", 27)])
def test_a_table_is_there_whole(name, cells):
    numbers = load_reference(name).numbers()
    assert len(numbers) == cells
    assert numbers["reported"].notna().all()
    assert not numbers.duplicated(["paper_dataset", "method", "multiple"]).any()


@pytest.mark.parametrize(
    ("name", "rows", "compared"),
    [
        ("wacker2022-gaussian", 1328, 1888),
        *slow(
            ("wacker2022-polynomial", 912, 720),
            ("wacker2022-polynomial-positive", 829, 628),
            ("wacker2022-polynomial-7", 1083, 825),
            ("wacker2022-polynomial-7-positive", 1002, 781),
            ("wacker2022-polynomial-20", 1711, 1350),
            ("wacker2022-complex-to-real-7", 392, 140),
        ),
        ("wacker2022-complex-to-real", 392, 140),
    ],
)
def test_every_released_row_is_a_cell_of_each_metric_that_is_compared_or_has_a_reason(name, rows, compared):
    _, numbers, _ = whole(name)
    assert set(numbers.groupby("line")["metric"].nunique()) == {2}  # the kernel's error and that of the predictions
    assert len(numbers) == 2 * rows
    assert (numbers["absent"] == "").sum() == compared
    assert ((numbers["absent"] == "") == (numbers["because"] == "")).all()


@pytest.mark.slow
def test_both_parts_of_the_stored_runs_of_wu2016_are_all_of_them():
    runs, *parts = (whole(f"wu2016-{part}")[1] for part in ("random-binning", "eight", "covtype"))
    assert sorted(runs["line"]) == sorted([*parts[0]["line"], *parts[1]["line"]])
    assert (runs["absent"] == "").sum() == sum((part["absent"] == "").sum() for part in parts) == 10 * 3 * 19 * 8


def test_numbers_are_in_the_suites_units_and_under_its_names():
    liu = load_reference("liu2020-table3").numbers().set_index(["paper_dataset", "multiple", "method"])
    assert liu.loc[("EEG", 128, "surrogate-RFF"), ["reported", "reported_std", "reported_trials"]].tolist() == [
        91.02,
        0.32,
        10,
    ]
    yen = load_reference("yen2014-table2").numbers().set_index(["paper_dataset", "method"])
    assert yen.loc[("Cod-RNA", "Sparse-RF laplacian"), "reported"] == pytest.approx(97.0)
    assert yen.loc[("Cod-RNA", "Sparse-RF laplacian"), "model_size"] == 1195


@pytest.mark.parametrize("name", sorted(references()))
def test_every_reference_is_right_as_a_whole(name):
    read, numbers, claims = whole(name)
    assert len(numbers) or claims or read.table is None
    assert read.dataset_statistics().index.is_unique
    if read.table and read.table.counts_all and (numbers["absent"] == "").any():
        assert read.methods  # all rows are counted, so that a misspelt method is found


def test_a_paper_is_a_reference_with_its_claims_and_no_numbers():
    assert load_reference("chen2015").numbers().empty
    assert load_reference("liu2020").claims == load_reference("liu2020-table3").claims


def test_an_unknown_reference_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match="did you mean 'yen2014-table1'"):
        load_reference("yen2014-tabel1")


@pytest.mark.parametrize("paper", PAPERS)
def test_every_paper_has_a_citation_and_claims_on_datasets_it_has(paper):
    (item,) = json.loads((FOLDER / f"{paper}.json").read_text())
    assert item["id"] == paper
    assert {"type", "title", "author"} <= item.keys()
    reference = load_reference(paper)
    assert item["title"] in reference.citation
    claims = load_claims(reference.claims)
    assert claims or paper in NEVER_JUDGED
    for claim in claims:
        assert set(claim.datasets) <= set(reference.datasets.values()), claim.claim


def test_every_file_of_numbers_is_in_the_registry():
    tables = {name.replace("-", "_") for name, reference in references().items() if reference.table}
    statistics = {f"{paper}_{what}" for paper in PAPERS for what in ("datasets", "hyperparameters")}
    assert {path.stem for path in FOLDER.glob("*.csv")} <= tables | statistics


@pytest.mark.parametrize(
    ("paper", "dataset"), [(paper, dataset) for paper in PAPERS for dataset in load_reference(paper).datasets]
)
def test_a_datasets_card_has_the_papers_dimension_and_rows(paper, dataset):
    reference = load_reference(paper)
    stated = reference.dataset_statistics().loc[reference.datasets[dataset]]
    card = load_card(dataset)
    assert card.columns == stated["n_features"] + stated.get("zero_columns", 0)
    if "n_train" in stated and dataset not in OTHER_ROWS:
        assert (card.n_train, card.n_test) == (stated["n_train"], stated["n_test"])


def test_the_files_end_as_they_were_printed():
    """The paper's own columns and names: what was typed off can be proofread against the page."""
    table = pd.read_csv(FOLDER / "yen2014_table1.csv")
    assert table.iloc[0].tolist() == ["CPU", "gaussian", "Kernel", "SV", 6554, 0.038, 154, 2.59, 1.36]


# One line per file: the checksum of all but its comments. Who changes a file has compared it with the paper again (or,
# rffbench_regression.csv, recorded it anew with scripts/record_regression.py), and then renews the list:
#   cd rffbench/papers; for f in *.csv *_claims.yaml; do sed '/^ *#/d' $f | sha256sum | sed "s/-/$f/"; done
PROOFREAD = dict(
    reversed(line.split()) for line in Path(__file__).with_name("proofread.sha256").read_text().splitlines()
)


def test_every_reported_number_and_claim_is_among_those_proofread():
    assert set(PROOFREAD) == {path.name for path in (*FOLDER.glob("*.csv"), *FOLDER.glob("*_claims.yaml"))}


@pytest.mark.parametrize("name", PROOFREAD)
def test_reported_numbers_and_the_margins_of_claims_are_as_proofread(name):
    lines = (FOLDER / name).read_bytes().splitlines(keepends=True)
    found = hashlib.sha256(b"".join(line for line in lines if not line.lstrip().startswith(b"#"))).hexdigest()
    assert found == PROOFREAD[name], f"{name} has changed: compare it with the paper, then renew proofread.sha256"


def test_a_metric_of_a_released_file_may_be_of_some_of_its_rows_alone():
    numbers = load_reference("wacker2022-gaussian").numbers()
    datasets = {metric: set(rows["paper_dataset"]) for metric, rows in numbers.groupby("metric")}
    assert datasets["mse"] & datasets["accuracy"] == set()
    assert datasets["mse"] | datasets["accuracy"] == datasets["frobenius_error"]
    one = numbers[(numbers["paper_dataset"] == "Magic") & (numbers["metric"] == "accuracy")]
    assert one["reported"].between(60, 90).all()  # an error rate in the file
