"""Lanes: no overlap, and no lane more than needed."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from flowprism.rendering.lanes import assign_lanes

intervals = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), max_size=40)


@given(intervals)
def test_no_two_spans_of_a_lane_overlap(rows: list[tuple[int, int]]) -> None:
    """Each lane's spans follow one another; they may touch."""
    start = np.array([begin for begin, _ in rows], np.int64)
    end = start + np.array([length for _, length in rows], np.int64)
    lanes, count = assign_lanes(start, end)
    assert len(set(lanes.tolist())) == count
    for lane in range(count):
        own = sorted((start[n], end[n]) for n in np.flatnonzero(lanes == lane))
        assert all(first[1] <= second[0] for first, second in pairwise(own))


@given(intervals)
def test_lanes_are_as_few_as_the_deepest_overlap(rows: list[tuple[int, int]]) -> None:
    """As many as spans that are open at one time (the greedy choice is optimal for intervals)."""
    spans = [(begin, begin + 1 + length) for begin, length in rows]
    deepest = max((sum(s <= t < e for s, e in spans) for t in range(80)), default=0)
    _, count = assign_lanes(np.array([s for s, _ in spans], np.int64), np.array([e for _, e in spans], np.int64))
    assert count == deepest
