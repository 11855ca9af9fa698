"""Who stalls between the steps of a ring."""

from __future__ import annotations

import numpy as np

from reconstruct.sampled.folding.folded_samples import Points, pace_ns, passing_ns, places
from reconstruct.sampled.folding.ring_stalls import stalls

MS = 1e6


def member(
    rest_ms: float, seed: int, steps: int = 6, iterations: int = 20, samples: int = 12, doubt_ms: float = 0.0
) -> Points:
    """A member whose steps of 50 ms end with a rest; samples may lie in spans of `doubt_ms`."""
    chance = np.random.default_rng(seed)
    x = chance.random(iterations * samples)
    within = x * steps % 1
    after = 700 + (x * steps - within) * 50 + within * (50 - rest_ms) + chance.normal(0, 4, len(x))
    return Points(np.repeat(np.arange(1, iterations + 1), samples), x, after * MS, np.full(len(x), doubt_ms * MS))


def test_the_member_that_does_not_rest_swings_least() -> None:
    """40 of 50 ms of rest are a saw whose first wave swings by 13 ms; who sends all the time has none."""
    found = stalls([member(40, 1), member(0, 2), member(40, 3), member(40, 4)], np.arange(1, 21), 300 * MS)
    assert found is not None
    assert int(np.argmin(np.abs(found.swing_ns))) == 1
    assert (found.swing_ns[[0, 2, 3]] > 8 * MS).all()
    assert abs(found.swing_ns[1]) < 3 * found.error_ns[1]


def test_a_ring_in_which_nobody_rests_shows_no_wave() -> None:
    """What chance makes of stamps is no stall."""
    assert stalls([member(0, n) for n in range(4)], np.arange(1, 21), 300 * MS) is None


def test_few_samples_tell_nothing() -> None:
    """A handful of samples has no spectrum."""
    assert stalls([member(40, n, samples=1) for n in range(4)], np.arange(1, 21), 300 * MS) is None


def test_samples_that_may_lie_anywhere_in_a_step_tell_no_stall() -> None:
    """Steps of 50 ms: spans of 40 ms still tell them, those of 60 ms do not, whatever they seem to show."""
    some, many = ([member(40, n, steps=20, doubt_ms=doubt) for n in range(4)] for doubt in (40, 60))
    assert stalls(some, np.arange(1, 21), 1000 * MS) is not None
    assert stalls(many, np.arange(1, 21), 1000 * MS) is None


def test_the_pace_of_a_ring_and_when_its_bytes_pass() -> None:
    """300 ms for all bytes; the middle of the second half passes at three quarters of it."""
    members = [member(0, n) for n in range(4)]
    pace = pace_ns(members, np.arange(1, 21))
    assert abs(pace.value - 300 * MS) < 4 * pace.error
    assert pace.error < 10 * MS
    late = passing_ns(members[0], 0.5, 1.0, np.arange(1, 21))
    assert abs(late.value - (700 + 0.75 * 300) * MS) < 20 * MS


def test_connections_that_act_alike_agree_on_where_messages_part() -> None:
    """A pause after half of the bytes, in each of four connections."""
    chance = np.random.default_rng(5)
    rows = []
    for _ in range(4):
        x = chance.random(300)
        rows.append(
            Points(np.repeat(np.arange(1, 21), 15), x, (100 + np.where(x > 0.5, 300, 0) + 20 * x) * MS, np.zeros(300))
        )
    found = places(rows, np.arange(1, 21), 1000 * MS)
    assert len(found) == 3
    assert abs(found[1] - 0.5) < 0.02
