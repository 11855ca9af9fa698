"""Medians of runs and of groups, short and long."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from datamodel.reconstructed.streams import Float
from diagnose.patterns.run_medians import medians_of_peers, run_medians
from reconstruct.numeric.medians import medians_of_own_group


def drawn(seed: int, count: int) -> Float:
    """Values of which many are equal."""
    return np.random.default_rng(seed).integers(0, count, count) / 3


@given(st.lists(st.integers(1, 200), min_size=1, max_size=6), st.integers(0, 9))
def test_medians_are_those_of_each_run(sizes: list[int], seed: int) -> None:
    """Of even and of odd numbers."""
    values = drawn(seed, sum(sizes))
    first = np.cumsum([0, *sizes])
    expected = [np.median(values[begin:end]) for begin, end in pairwise(first)]
    assert run_medians(values, first[:-1]).tolist() == expected


@given(st.lists(st.integers(0, 5), min_size=1, max_size=300), st.integers(0, 9))
def test_medians_are_those_of_each_group(group: list[int], seed: int) -> None:
    """As of `medians_of_own_group`, whatever the order of rows."""
    values, of = drawn(seed, len(group)), np.array(group)
    assert medians_of_peers(values, of).tolist() == medians_of_own_group(values, of).tolist()


def test_no_runs_have_no_medians() -> None:
    """An empty table."""
    nothing = np.zeros(0)
    assert len(run_medians(nothing, np.zeros(0, np.int64))) == 0
    assert len(medians_of_peers(nothing, np.zeros(0, np.int64))) == 0
