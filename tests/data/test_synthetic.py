"""The synthetic datasets."""

import math

import pytest

from rffbench.data.cards import load_card


def test_the_synthetic_cards_differ_in_their_dimension_alone():
    cards = [load_card(f"synthetic-{d}") for d in (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)]
    assert [card.columns for card in cards] == [16, 32, 64, 128, 256, 512, 1024, 2048, 4096]
    wide = [math.sqrt(card.columns / 6) for card in cards]
    assert [card.format.sigma for card in cards] == pytest.approx(wide, abs=0.05)
