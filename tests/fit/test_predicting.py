"""What is said beside predictions, where they alone would mislead."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rffbench.data.tables import read_table
from rffbench.fit.predicting import predict

rng = np.random.default_rng(0)


@pytest.mark.parametrize("weights", ["balanced", None])
def test_labels_of_a_rare_class_that_is_not_the_likeliest_are_explained(weights, tmp_path):
    x = rng.normal(size=1000)
    rare = x + rng.normal(size=1000) > 2.5
    path = tmp_path / "rare.csv"
    pd.DataFrame({"x": x, "z": rng.normal(size=1000), "y": np.where(rare, "ja", "nein")}).to_csv(path, index=False)
    table = read_table(path)

    class OfPlainRows(LogisticRegression):
        """Labels by weighted rows, and probabilities of the rows as they are, as models of `fit` have them."""

        def predict_proba(self, X):
            return LogisticRegression().fit(X_scaled, table.target).predict_proba(X)

    model = make_pipeline(StandardScaler(), OfPlainRows(class_weight=weights))
    X_scaled = StandardScaler().fit_transform(table.frame)
    model.fit(table.frame, table.target)
    said = []
    card = {"reading": table.reading, "classes": ["ja", "nein"], "target": ["y"]}
    found = predict(model, card, path, said.append)
    likeliest = np.where(found["prob_ja"] > found["prob_nein"], "ja", "nein")
    assert (found["y"] != likeliest).any() == (weights == "balanced")
    assert any("rare" in line for line in said) == (weights == "balanced")
