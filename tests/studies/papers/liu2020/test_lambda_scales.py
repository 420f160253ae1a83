"""By which measure of λ curves are compared, and the λ figure that shows two of them."""

import numpy as np
import pandas as pd
import pytest

import rffbench
from studies.papers.liu2020.lambda_scales import LAMBDA_SCALES, distances, write_lambda_scales
from tests.helpers.lambda_paths import LAMBDAS, LENGTH, folder


def test_curves_that_depend_on_one_scale_alone_are_no_distance_apart_by_it_and_some_by_the_others(tmp_path):
    found = distances(rffbench.load(folder(tmp_path)))
    assert list(found["method"]) == ["surrogate-RFF"]
    [row] = found.to_dict("records")
    assert (row["against"], row["trials"]) == ("RFF", 3)
    assert row["effective_lambda"] == pytest.approx(0, abs=0.02)  # linear between two λ
    assert row["effective_dimension"] == pytest.approx(0, abs=0.02)
    assert row["lambda"] > 1
    assert row["median_lambda"] > 1


def test_only_what_every_scale_can_compare_is_compared(tmp_path):
    [row] = distances(rffbench.load(folder(tmp_path))).to_dict("records")
    within = (LAMBDAS[0] <= LAMBDAS / LENGTH**2 * (1 + 1e-9)) & (LAMBDAS[0] <= LAMBDAS / LENGTH * (1 + 1e-9))
    assert row["compared"] == within.sum()


def test_a_lambda_of_0_has_no_part_in_a_distance(tmp_path):
    results = rffbench.load(folder(tmp_path))
    first = results.curves.groupby(["method", "trial"]).head(1)
    at_zero = first.assign(
        **dict.fromkeys(("lambda", "effective_lambda", "median_lambda"), 0.0), effective_dimension=20
    )
    at_zero["accuracy"] = np.where(at_zero["method"] == "RFF", 10.0, 80.0)
    with_zero = rffbench.load(results.folder)
    with_zero.curves = pd.concat([at_zero, results.curves], ignore_index=True)
    pd.testing.assert_frame_equal(distances(with_zero), distances(results))


def test_the_table_is_written_where_trials_kept_the_effective_dimension(tmp_path):
    protocols = rffbench.load(folder(tmp_path))
    data, page = write_lambda_scales(protocols)
    assert set(LAMBDA_SCALES) <= set(pd.read_csv(data).columns)
    assert page.read_text().startswith("**A synthetic experiment: distance to the curve of RFF**")


def test_a_path_of_an_older_log_has_no_table(tmp_path):
    assert write_lambda_scales(rffbench.load(folder(tmp_path, dimension=False))) == []
