"""Progress curves from sequence numbers."""

from __future__ import annotations

import numpy as np
import pytest

from reconstruct.sampled.curves.progress_curves import has_sequence_number, progress
from tests.reconstruct.sampled.training import PACKET_BYTES, iteration_ends, ring, sampled


@pytest.mark.parametrize("tcp", [True, False])
def test_positions_are_exact_across_wraps(tcp: bool) -> None:
    """20 million packets of 4 kB wrap TCP's numbers nineteen times and RoCE's once; what lay between is not lost."""
    packets, count = 400_000, 50
    messages = ring([0, 1, 2], packets=packets)
    found = progress(sampled(messages, iteration_ends(count, 1000, 0.02, 1), 1000, 2, tcp=tcp))
    assert len(found) == 3
    sent = packets * count * PACKET_BYTES
    assert found.volume_bytes() == pytest.approx([sent] * 3, rel=5e-4)
    for n in range(3):
        time_ns, position = found.curve(n)
        assert (np.diff(time_ns) >= 0).all()
        assert (np.diff(position) >= 0).all()
        assert set(np.unique(position % PACKET_BYTES)) == {0.0}


def test_numbers_that_may_wrap_unseen_are_not_believed() -> None:
    """At 1 in 400,000 samples lie 1.6 GB apart: TCP's 4.3 GB tell nothing, RoCE's 69 GB do."""
    messages, ends = ring([0, 1, 2], packets=4_000_000), iteration_ends(4, 1000, 0.0, 1)
    tcp, roce = (progress(sampled(messages, ends, 400_000, 3, tcp=kind)) for kind in (True, False))
    assert (len(tcp), tcp.ambiguous) == (0, 3)
    assert (len(roce), roce.ambiguous) == (3, 0)


def test_control_packets_and_records_are_no_points() -> None:
    """An acknowledgement has a sequence number too; a record of many packets has none of its own."""
    flows = sampled(ring([0, 1]), iteration_ends(3, 1000, 0.0, 1), 1000, 4)
    assert has_sequence_number(flows).all()
    small, many = flows.frame["bytes"].copy(), flows.frame["packets"].copy()
    small[0], many[1] = 62, 9
    changed = type(flows)(flows.frame.replace(bytes=small, packets=many), flows.addresses)
    assert np.flatnonzero(~has_sequence_number(changed)).tolist() == [0, 1]


@pytest.mark.parametrize("tcp", [True, False])
def test_curves_are_the_same_whatever_the_order_of_rows(tcp: bool) -> None:
    """Also of samples that came at one time: their sequence numbers tell which was first."""
    flows = sampled(ring([0, 1, 2, 3]), iteration_ends(20, 1000, 0.02, 1), 1000, 2, tcp=tcp)
    coarse = flows.frame["time_flow_start_ns"] // 50_000_000 * 50_000_000
    flows = type(flows)(flows.frame.replace(time_flow_start_ns=coarse, time_flow_end_ns=coarse), flows.addresses)
    shuffled = progress(flows.take(np.random.default_rng(3).permutation(len(flows))))
    found = progress(flows)
    assert len(found) == 4
    for name in ("src", "dst", "offsets", "time_ns", "position_bytes", "packet_bytes"):
        np.testing.assert_array_equal(getattr(found, name), getattr(shuffled, name))
    for n in range(4):
        assert (np.diff(found.curve(n)[1]) > 0).all()
