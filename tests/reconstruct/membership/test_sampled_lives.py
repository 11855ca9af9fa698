"""When connections lived, as their samples show it."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.telemetry.flows import Flows
from reconstruct.membership.connection_lives import SILENCE
from reconstruct.membership.sampled_lives import sampled_lives
from tests.reconstruct.sampled.training import iteration_ends, ring, sampled


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_life_goes_from_the_first_sample_to_the_last(shuffled: bool) -> None:
    """Whatever the order of rows; the longest silence in between says how long to wait for more."""
    flows = sampled(ring([0, 1, 2]), iteration_ends(12, 2000.0, 0.05, 1), 2000, 2)
    order = np.random.default_rng(3).permutation(len(flows)) if shuffled else np.arange(len(flows))
    found = sampled_lives(flows.take(order))
    assert len(found.lives.src) == 3
    for n in range(3):
        times = own_times(flows, int(found.lives.src[n]))
        assert (found.lives.start_ns[n], found.lives.end_ns[n]) == (times.min(), times.max())
        assert found.patience_ns[n] == SILENCE * np.diff(np.sort(times)).max()
        assert found.lives.bytes[n] == len(times) * int(flows.frame["bytes"][0]) * 2000


def own_times(flows: Flows, src: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Times of the samples that one sent."""
    return np.asarray(flows.frame["time_flow_start_ns"][flows.frame["src_addr"] == src], np.int64)
