"""What skl2onnx exports predicts what the pipeline does."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rffbench
import rffbench.onnx
from rffbench.errors import ConfigError

onnxruntime = pytest.importorskip("onnxruntime")
skl2onnx = pytest.importorskip("skl2onnx")

rng = np.random.default_rng(0)
X = rng.normal(size=(100, 5))
y = np.sin(X[:, 0]) + X[:, 1]


@pytest.fixture(autouse=True)
def _registered():
    rffbench.onnx.register()


def run(pipeline, rows):
    """What the exported pipeline gives, computed by onnxruntime."""
    exported = skl2onnx.to_onnx(pipeline, rows[:1]).SerializeToString()
    session = onnxruntime.InferenceSession(exported, providers=["CPUExecutionProvider"])
    return session.run(None, {"X": rows})


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("name", "settings"), [*((name, {}) for name in rffbench.onnx.MAPS),
                                                ("RandomFourierFeatures", {"form": "offset"}),
                                                ("RandomFourierFeatures", {"kernel": "laplacian"})])  # fmt: skip
def test_a_map_with_ridge_regression_predicts_the_same_in_onnx(name, settings, dtype):
    features = getattr(rffbench, name)(60, gamma=0.1, random_state=0, **settings)
    rows = X.astype(dtype)
    pipeline = make_pipeline(StandardScaler(), features, rffbench.StreamedRidge(1e-3)).fit(rows, y)
    (found,) = run(pipeline, rows)
    assert found[:, 0] == pytest.approx(pipeline.predict(rows), abs=1e-5 if dtype == np.float32 else 1e-9)


def test_learners_of_scikit_learn_and_several_targets_go_with_a_map():
    features = rffbench.RandomFourierFeatures(60, gamma=0.1, random_state=0)
    classifier = make_pipeline(features, LogisticRegression()).fit(X, (y > 0).astype(int))
    rows = X.astype(np.float32)  # of a classifier skl2onnx exports no float64
    labels, _ = run(classifier, rows)
    assert (labels == classifier.predict(rows)).all()
    both = make_pipeline(features, rffbench.StreamedRidgeCV(alphas=[1e-4, 1e-2])).fit(X, np.column_stack([y, -2 * y]))
    (found,) = run(both, X)
    assert found == pytest.approx(both.predict(X), abs=1e-9)


def test_what_is_more_than_a_product_and_a_cosine_is_refused_by_name():
    class Squared(rffbench.RandomFourierFeatures):
        def fill(self, rows, out):
            super().fill(rows, out)
            out *= out

    squared = Squared(20, random_state=0).fit(X)
    with pytest.raises(ConfigError, match="Squared computes more than cosines"):
        rffbench.onnx.check_blocks(squared)
    inside = make_pipeline(
        StandardScaler(), rffbench.StreamedRidge(features=rffbench.RandomFourierFeatures(20, random_state=0))
    )
    with pytest.raises(ConfigError, match="put the map before it in a pipeline"):
        run(inside.fit(X, y), X)
