"""Pieces of a ring's fit, against what they say in words."""

from __future__ import annotations

import numpy as np
import pytest

from reconstruct.sampled.rings.ring_fits import centres, ends_of_members, halves, lines, shapes


def test_a_centre_is_the_weighted_mean_without_what_is_far_off() -> None:
    """One of each iteration; 0 of one without samples, or with none that is dated at all."""
    off = np.array([1.0, 2.0, 3.0, 900.0, 5.0, 7.0])
    weight = np.array([1.0, 2.0, 1.0, 1.0, 0.0, 0.0])
    np.testing.assert_allclose(centres(off, weight, np.array([0, 4, 4, 6])), [2.0, 0.0, 0.0])


def test_halves_are_datagrams_members_and_agents_in_turn() -> None:
    """What an iteration rests on, and how far halves are apart over what these rest on; nan where one is empty."""
    earliest_ns, member = np.array([5.0, 5.0, 8.0, 8.0, 9.0]), np.array([0, 3, 0, 3, 1])
    off, weight = np.array([1.0, 1.0, 2.0, 2.0, 1.0]), np.full(5, 4.0)
    held, by_time, by_member, by_agent = halves(earliest_ns, member, 1.0, off, weight, np.array([0, 5, 5]))
    np.testing.assert_allclose(held, [20.0, 0.0])
    np.testing.assert_allclose(by_time, [1.0 / np.sqrt(1 / 12 + 1 / 8), np.nan])
    np.testing.assert_allclose(by_member, [(1.5 - 4 / 3) / np.sqrt(1 / 8 + 1 / 12), np.nan])
    np.testing.assert_allclose(by_agent, [(1.5 - 4 / 3) / np.sqrt(1 / 8 + 1 / 12), np.nan])


def test_every_iteration_has_a_line_of_its_own() -> None:
    """Of many points a few are enough; of too few there is none, and time does not run backwards."""
    left = np.concatenate([np.linspace(0.2, 0, 100), np.linspace(0.2, 0, 5), [0.1, 0.0]])
    slopes = np.repeat([-50.0, 20.0, -50.0], [100, 5, 2])
    ends, moving = lines(left, 7.0 + slopes * left, np.array([0, 100, 105, 107]))
    np.testing.assert_allclose(ends, [7.0, 9.0, np.nan])
    np.testing.assert_allclose(moving, [50.0, 0.0, np.nan], atol=1e-9)


def test_a_member_of_many_samples_has_its_own_shape_and_end() -> None:
    """The others have that of all."""
    left = np.tile(np.linspace(0.0, 0.2, 40), 2)
    own = np.repeat([3.0, 5.0], 40)
    by_left = np.argsort(left, kind="stable")
    np.testing.assert_allclose(shapes(by_left, np.arange(80), np.array([0, 40, 80]), own), own)
    few = shapes(by_left, np.arange(80), np.array([0, 70, 80]), own)
    assert few[-1] == pytest.approx(5.0)
    middle, scatter = ends_of_members(left, own - 9.0 * left, np.ones(80), np.arange(80), np.array([0, 40, 75, 80]))
    np.testing.assert_allclose(middle, [3.0, 5.0])
    np.testing.assert_allclose(scatter, 0.0, atol=1e-9)
