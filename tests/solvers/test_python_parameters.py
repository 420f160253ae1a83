"""A parameter that is wrong in Python is told by its name, by every learner alike."""

import numpy as np
import pytest

import rffbench

LEARNERS = [kind for name in rffbench.__all__ if hasattr(kind := getattr(rffbench, name), "predict")]
X, Y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("memory", ["2GB", True])
def test_a_budget_of_memory_is_a_number_of_bytes(learner, memory):
    with pytest.raises(ValueError, match=f"memory must be None or a number of bytes, .* got {memory!r}"):
        learner(memory=memory).fit(X, Y)


@pytest.mark.parametrize("learner", [kind for kind in LEARNERS if "features" in kind().get_params()])
@pytest.mark.parametrize("features", ["fourier", 100, rffbench.RandomFourierFeatures])
def test_the_features_are_a_map_not_its_name_nor_its_class(learner, features):
    got = "the class RandomFourierFeatures" if isinstance(features, type) else repr(features)
    with pytest.raises(ValueError, match=f"features must be None or a feature map, .* got {got}"):
        learner(features=features).fit(X, Y)


@pytest.mark.parametrize("learner", [kind for kind in LEARNERS if "alphas" in kind().get_params()])
@pytest.mark.parametrize(
    ("alphas", "message"), [(0.1, "alphas must be a list of numbers, got 0.1"), (["x"], "every alpha")]
)
def test_what_to_choose_from_is_a_list_of_numbers(learner, alphas, message):
    with pytest.raises(ValueError, match=message):
        learner(alphas=alphas).fit(X, Y)
