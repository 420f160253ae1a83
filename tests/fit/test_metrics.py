"""The scores of --metric are scikit-learn's."""

import numpy as np
import pytest
from sklearn import metrics as theirs

from rffbench.errors import ConfigError
from rffbench.fit.metrics import METRICS, metric_called

rng = np.random.default_rng(0)
CODES = rng.integers(0, 3, 200)
LABELS = np.where(rng.random(200) < 0.3, rng.integers(0, 3, 200), CODES)
P = rng.dirichlet(np.ones(3), 200) + np.eye(3)[CODES]
P /= P.sum(axis=1, keepdims=True)
TWO, P2 = CODES % 2, np.column_stack([1 - P[:, 0], P[:, 0]])
VALUES, FOUND = rng.normal(size=(200, 2)), rng.normal(size=(200, 2))

CONSTANT = np.column_stack([VALUES[:, 0], np.full(200, 2.0)])


@pytest.mark.parametrize(
    ("name", "y", "found", "expected"),
    [
        ("accuracy", CODES, LABELS, theirs.accuracy_score(CODES, LABELS)),
        ("balanced_accuracy", CODES, LABELS, theirs.balanced_accuracy_score(CODES, LABELS)),
        ("auc", CODES, P, theirs.roc_auc_score(CODES, P, multi_class="ovr", average="macro")),
        ("auc", TWO, P2, theirs.roc_auc_score(TWO, P2[:, 1])),
        ("average_precision", TWO, P2, theirs.average_precision_score(TWO, P2[:, 1])),
        ("log_loss", CODES, P, theirs.log_loss(CODES, P)),
        ("rmse", VALUES, FOUND, theirs.root_mean_squared_error(VALUES, FOUND)),
        ("mae", VALUES, FOUND, theirs.mean_absolute_error(VALUES, FOUND)),
        ("r2", VALUES, FOUND, theirs.r2_score(VALUES, FOUND)),
        ("r2", CONSTANT, FOUND, theirs.r2_score(CONSTANT, FOUND)),
        ("r2", CONSTANT, CONSTANT, theirs.r2_score(CONSTANT, CONSTANT)),
    ],
)
def test_a_score_is_scikit_learn_s(name, y, found, expected):
    assert METRICS[name].compute(y, found) == pytest.approx(expected)


def test_an_unknown_metric_names_the_nearest():
    with pytest.raises(ConfigError, match="--metric: unknown metric 'acuracy'; did you mean 'accuracy'"):
        metric_called("acuracy")
