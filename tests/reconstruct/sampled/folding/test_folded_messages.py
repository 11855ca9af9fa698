"""Messages of a connection, out of the samples of all its iterations."""

from __future__ import annotations

import numpy as np
import pytest

from reconstruct.sampled.curves.progress_curves import ProgressCurves
from reconstruct.sampled.folding.folded_messages import messages
from reconstruct.sampled.jobs.sampled_recognition import SampledJob

PERIOD_NS, ITERATIONS, SAMPLES = 1e9, 28, 100
MESSAGE_BYTES = 1e6


def held_before_the_message(doubt_ratio: float) -> tuple[ProgressCurves, SampledJob]:
    """One message in the last two fifths of each iteration, and of each the first two samples dated long before it.

    Args:
        doubt_ratio: of the iteration, how far off these samples may be.
    """
    number = np.repeat(np.arange(ITERATIONS), SAMPLES)
    place = np.tile((np.arange(SAMPLES) + 1) / SAMPLES, ITERATIONS)
    early = np.tile(np.arange(SAMPLES) < 2, ITERATIONS)
    at = np.where(early, 0.3, 0.6 + 0.4 * place)
    time_ns = np.asarray((number + at) * PERIOD_NS, np.float64)
    points = len(time_ns)
    curves = ProgressCurves(
        src=np.array([0]),
        dst=np.array([1]),
        offsets=np.array([0, points]),
        time_ns=time_ns,
        earliest_ns=time_ns,
        doubt_ns=np.where(early, doubt_ratio * PERIOD_NS, 0.0),
        position_bytes=(number + place) * MESSAGE_BYTES,
        faint=np.zeros((0, 2), np.int64),
        packet_bytes=np.array([4096.0]),
        faint_packet_bytes=np.zeros(0),
        ambiguous=0,
        addresses=("a", "b"),
    )
    edges_ns = ((np.arange(ITERATIONS) + 1) * PERIOD_NS).astype(np.int64)
    nothing = np.zeros(ITERATIONS)
    job = SampledJob(
        endpoints=np.array([0, 1]),
        connections=np.array([0]),
        quantum_bytes=np.array([MESSAGE_BYTES]),
        origin_bytes=np.array([MESSAGE_BYTES]),
        edges_ns=edges_ns,
        edge_error_ns=nothing,
        edge_shared_ns=nothing,
        moving_ns=nothing,
        unresolved=0,
    )
    return curves, job


@pytest.mark.parametrize(("doubt_ratio", "count"), [(0.0, 2), (0.02, 2), (0.35, 1)])
def test_samples_that_were_held_as_long_as_a_pause_show_none(doubt_ratio: float, count: int) -> None:
    """Dated exactly they are a message of their own; held by an agent they may have been sent with the others."""
    curves, job = held_before_the_message(doubt_ratio)
    sent = messages(curves, job)
    assert len(sent) == count * (ITERATIONS - 1)
    assert sent["bytes"].sum() == pytest.approx(MESSAGE_BYTES * (ITERATIONS - 1), rel=1e-6)
