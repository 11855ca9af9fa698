"""Where a stream pauses in its cycle."""

from __future__ import annotations

import numpy as np

from reconstruct.periods.folding import find_recurring_pauses, remainder


def test_a_place_is_where_its_longest_pause_is() -> None:
    """Short pauses beside the gap between two iterations neither shorten it nor move it."""
    cycle = np.arange(1, 11) * 1000.0
    at = np.sort(np.concatenate([cycle - 500, cycle - 3, cycle, cycle + 2, cycle + 4]))
    length = np.where(at % 1000 == 0, 9e8, np.where(at % 1000 == 500, 3e6, 1e6))
    places, pauses = find_recurring_pauses(at, length, 1000.0, 10.0)
    assert places.tolist() == [0.0, 500.0]
    assert pauses.tolist() == [9e8, 3e6]


def test_a_remainder_is_that_of_the_language_to_the_last_bit() -> None:
    """Whatever the number of turns, on both sides of each whole one, below 0 and beyond what the short way serves."""
    random = np.random.default_rng(1)
    for modulus in np.exp(random.uniform(0, 28, 40)).tolist():
        whole = random.integers(0, 1 << 28, 20) * modulus
        near = [np.nextafter(whole, 0), whole, np.nextafter(whole, np.inf), random.uniform(-2, 200, 20) * modulus]
        for value in np.concatenate(near).tolist():
            assert remainder(value, modulus) == value % modulus
