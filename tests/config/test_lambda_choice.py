"""The promise of Yen et al.'s tables: λN is the one whose held-out score is nearest to random features'."""

import re

import pytest

from rffbench.config.loading import load_experiment
from rffbench.execution.log import read_rows
from tests.helpers.places import results_of

SCORES = {"cpu-yen": "rmse", "cod-rna-yen": "accuracy", "ijcnn1": "accuracy", "covtype-yen": "accuracy"}
TABLES = {"cpu-yen": "sparse-rf-table1", **dict.fromkeys(["cod-rna-yen", "ijcnn1", "covtype-yen"], "sparse-rf-table2")}


def held_out_scores():
    """{(dataset, kernel): (RF's score, {λN: Sparse-RF's})} of what was measured."""
    found = {}
    for row in read_rows(results_of("sparse-rf-lambda") / "trials.jsonl"):
        if row["status"] == "ok":
            assert row["held_out"] == 0.1
            own = found.setdefault((row["dataset"], row["kernel"]["name"]), {})
            own[None if row["method"].startswith("RF") else row["lambda"]] = row["metrics"][SCORES[row["dataset"]]]
    return {cell: (scores.pop(None), scores) for cell, scores in found.items() if None in scores and len(scores) > 2}


@pytest.mark.parametrize("cell", held_out_scores(), ids=" ".join)
def test_the_tables_take_the_lambda_whose_held_out_score_is_nearest_to_rf(cell):
    dataset, kernel = cell
    target, scores = held_out_scores()[cell]
    table = load_experiment(TABLES[dataset])
    (taken,) = {
        spec.solver["lambda"][0]
        for spec in table.grid()
        if spec.dataset == dataset and re.match(f"Sparse-RF {kernel}", spec.method)
    }
    assert taken == min(scores, key=lambda value: abs(scores[value] - target))
