"""Places of address codes among a job's endpoints."""

from __future__ import annotations

import numpy as np

from diagnose.endpoint_index import Numbering, group_numbers


def test_codes_have_the_place_they_were_given_in() -> None:
    """Codes that were not numbered, below, between and beyond, have none."""
    place = Numbering(np.array([7, 3, 9]))
    assert place.of(np.array([3, 7, 9, 0, 4, 10, 1_000_000, -1])).tolist() == [1, 0, 2, -1, -1, -1, -1, -1]


def test_of_no_codes_none_has_a_place() -> None:
    """An empty numbering answers all the same."""
    assert Numbering(np.zeros(0, np.int64)).of(np.array([0, 5])).tolist() == [-1, -1]


def test_the_first_group_counts() -> None:
    """4 is in two groups; 6 in none; 8 is no endpoint."""
    assert group_numbers(np.array([2, 4, 5, 6]), ((2, 4), (4, 5, 8))).tolist() == [0, 0, 1, -1]
    assert group_numbers(np.array([2, 4]), ()).tolist() == [-1, -1]
