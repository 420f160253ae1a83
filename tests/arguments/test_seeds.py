"""Where random numbers come from: streams by name, the same on every machine and in any order."""

import numpy as np
import pytest
from numpy.random import SeedSequence

from rffbench.arguments.seeds import feature_stream, generator, seed_sequence, split_stream, stream

DRAWN = {
    np.random.default_rng: [3120047950, 4050395131, 3785566645, 2196135116],
    np.random.RandomState: [4153361530, 3868139694, 2350344631, 741720773],
}


def first(sequence, purpose="frequencies"):
    return int(generator(sequence, purpose).integers(2**62))


def test_streams_are_what_they_were_in_every_committed_result():
    """Changing any of these makes all results unrepeatable."""
    assert first(split_stream(0, "eeg", 3), "kernel error") == 96084525569121668
    assert first(feature_stream(0, "eeg", 3, "gaussian")) == 1063524315218313267
    assert first(seed_sequence(7), "phases") == 4567269124201526022


@pytest.mark.parametrize("other", [(1, "eeg", 0, "gaussian"), (0, "magic04", 0, "gaussian"), (0, "eeg", 1, "gaussian"),
                                   (0, "eeg", 0, "cauchy")])  # fmt: skip
def test_features_are_drawn_anew_for_another_seed_dataset_trial_or_kernel(other):
    assert first(feature_stream(*other)) != first(feature_stream(0, "eeg", 0, "gaussian"))


@pytest.mark.parametrize("other", [(1, "eeg", 0), (0, "magic04", 0), (0, "eeg", 1)])
def test_a_split_is_drawn_anew_for_another_seed_dataset_or_trial(other):
    assert first(split_stream(*other)) != first(split_stream(0, "eeg", 0))


def test_splits_and_features_have_streams_of_their_own():
    assert first(stream("split", 0, "eeg", 0)) != first(stream("features", 0, "eeg", 0))


def test_a_number_is_itself_and_no_name():
    assert first(stream(5)) == first(SeedSequence([5])) != first(stream("5"))
    assert first(stream(np.int64(5))) == first(stream(5))


def test_each_purpose_has_numbers_of_its_own_however_often_it_is_asked():
    sequence = seed_sequence(3)
    frequencies = first(sequence)
    assert first(sequence, "phases") != frequencies
    assert first(sequence) == frequencies
    spawned = [first(child) for child in sequence.spawn(2)]
    assert len({*spawned, frequencies}) == 3
    assert first(sequence) == frequencies


def test_whatever_scikit_learn_takes_as_random_state_is_a_seed():
    sequence = SeedSequence(9)
    assert seed_sequence(sequence) is sequence
    assert first(seed_sequence(4)) == first(seed_sequence(np.int32(4))) == first(SeedSequence(4))
    assert first(seed_sequence(None)) != first(seed_sequence(None))
    for make, words_of_4 in DRAWN.items():
        state = make(4)
        one, next_ = first(seed_sequence(state)), first(seed_sequence(state))
        assert one == first(seed_sequence(make(4))) != next_
        words = np.array([seed_sequence(make(seed)).entropy for seed in range(10)])
        assert words.shape == (10, 4)
        assert words[4].tolist() == words_of_4
    with pytest.raises(ValueError, match=r"random_state must be None, an integer, a SeedSequence, .*, got 'four'"):
        seed_sequence("four")
