"""Unions, cuts and nesting against counting moment by moment."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from diagnose.profiles.intervals import outermost_of_name, parents, trimmed, union_of

INTERVALS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10)), max_size=12)


def moments(starts: list[int], ends: list[int]) -> set[int]:
    """Whole moments that intervals cover."""
    return {moment for start, end in zip(starts, ends, strict=True) for moment in range(start, end)}


@given(INTERVALS, INTERVALS)
def test_covered_counts_moments(some: list[tuple[int, int]], asked: list[tuple[int, int]]) -> None:
    """What a union covers of any interval."""
    starts, ends = ([s for s, _ in some], [s + length for s, length in some])
    inside = moments(starts, ends)
    union = union_of(np.array(starts, np.int64), np.array(ends, np.int64))
    begin, lasting = np.array([s for s, _ in asked], np.int64), np.array([n for _, n in asked], np.int64)
    expected = [len(inside & set(range(s, s + n))) for s, n in asked]
    assert union.covered(begin, begin + lasting).tolist() == expected


@given(INTERVALS)
def test_trimmed_covers_the_same_once(some: list[tuple[int, int]]) -> None:
    """Every moment belongs to one interval, the one that began first."""
    ordered = sorted(some)
    starts, ends = np.array([s for s, _ in ordered], np.int64), np.array([s + n for s, n in ordered], np.int64)
    begin, end = trimmed(starts, ends)
    assert int((end - begin).sum()) == len(moments(starts.tolist(), ends.tolist()))
    assert (begin >= starts).all()


def test_nesting_counts_recursion_once() -> None:
    """The innermost interval around each, and the outermost of a name."""
    starts, ends = np.array([0, 1, 2, 6, 12]), np.array([10, 5, 4, 9, 13])
    parent = parents(starts, ends)
    assert parent.tolist() == [-1, 0, 1, 0, -1]
    assert outermost_of_name(parent, np.array([1, 2, 1, 3, 1])).tolist() == [True, True, False, True, True]
