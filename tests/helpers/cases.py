"""Cases of a family of tests: a few are quick, of different kinds, and .ci/run does the others too."""

import pytest


def others_slow(cases, quick):
    """The cases, of which those that ``quick`` does not hold are marked slow; each is a value or a tuple of values."""
    return [case if case in quick else _slow(case) for case in cases]


def slow(*cases):
    """The cases, each marked slow."""
    return [_slow(case) for case in cases]


def _slow(case):
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
