"""On which side of a pause packets were sent whose datagram was held through it."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.frame import Frame
from datamodel.telemetry.flows import FLOWS, Flows
from reconstruct.clocks.buffered_datagrams import resolve_buffered_times

MS = 1_000_000
BEGIN_NS = 1_780_000_000_000_000_000

# Milliseconds: (connection, time that the decoder gave, half of the span, arrival of its datagram).
Packet = tuple[int, float, float, float]


def packets(*told: Packet) -> Flows:
    """Packets of two hosts, every one of them recorded."""
    queue_pair, at, half, arrival = (np.array(column) for column in zip(*told, strict=True))
    start_ns = BEGIN_NS + np.rint(at * MS).astype(np.int64)
    count = len(told)
    columns = {
        "time_flow_start_ns": start_ns,
        "time_flow_end_ns": start_ns,
        "time_received_ns": BEGIN_NS + np.rint(arrival * MS).astype(np.int64),
        "time_uncertainty_ns": np.rint(half * MS).astype(np.int64),
        "src_addr": np.zeros(count),
        "dst_addr": np.ones(count),
        "dst_qp": queue_pair,
        "proto": np.full(count, 17),
        "bytes": np.full(count, 4140),
        "packets": np.ones(count),
        "sampling_rate": np.ones(count),
        "psn_first": np.arange(count),
    }
    return Flows(Frame(FLOWS, columns), ("10.0.0.0", "10.0.0.1"))


def times_ms(flows: Flows) -> list[float]:
    """When packets were sent."""
    start_ns = flows.frame["time_flow_start_ns"]
    assert (start_ns == flows.frame["time_flow_end_ns"]).all()
    return [round(float(t), 3) for t in (start_ns - BEGIN_NS) / MS]


def test_the_last_packets_before_a_pause_and_the_first_behind_it_come_apart() -> None:
    """One datagram, filled from 10 ms on and sent at 110: a ring's last two packets, and a pipeline's first."""
    held = (7, 35.0, 50.0, 110.0), (7, 60.0, 50.0, 110.0), (9, 85.0, 50.0, 110.0)
    known = (7, 9.9, 0.0, 9.9), (7, 800.0, 0.0, 800.0), (9, -500.0, 0.0, -500.0), (9, 110.1, 0.0, 110.1)
    flows = packets(*held, *known)
    assert times_ms(resolve_buffered_times(flows)) == [10.0, 10.0, 110.0, 9.9, 800.0, -500.0, 110.1]
    first, second = resolve_buffered_times(flows).frame["time_flow_start_ns"][:2].tolist()
    assert first < second, "in their order"


@pytest.mark.parametrize(
    ("before_ms", "after_ms"),
    [
        pytest.param(9.0, 111.0, id="inside a burst"),
        pytest.param(-60.0, 111.0, id="it depends on the moment"),
        pytest.param(-900.0, 300.0, id="both are far"),
    ],
)
def test_what_its_neighbours_do_not_tell_stays_as_it_is(before_ms: float, after_ms: float) -> None:
    """Both are near, or far, or one is nearer only if the packet was sent early in its span."""
    flows = packets((7, before_ms, 0, before_ms), (7, 60, 50, 110), (7, after_ms, 0, after_ms))
    assert times_ms(resolve_buffered_times(flows))[1] == 60.0


def test_a_connection_of_its_own_is_no_neighbour() -> None:
    """What another queue pair sends at that time says nothing; who is alone has no neighbour at all."""
    flows = packets((7, 9.9, 0, 9.9), (8, 60, 50, 110), (7, 800, 0, 800))
    assert times_ms(resolve_buffered_times(flows))[1] == 60.0


def test_the_order_of_rows_does_not_matter() -> None:
    """Packets of many datagrams, with equal times among them."""
    random = np.random.default_rng(5)
    at = np.cumsum(random.choice([0.0, 1.0, 300.0], 400))
    told = [(int(q), float(t), float(h), float(t + h)) for q, t, h in zip(at % 3, at, at % 60, strict=True)]
    flows = packets(*told)
    shuffled = random.permutation(400)
    moved = resolve_buffered_times(flows).frame["time_flow_start_ns"]
    assert (moved != flows.frame["time_flow_start_ns"]).any()
    np.testing.assert_array_equal(
        resolve_buffered_times(flows.take(shuffled)).frame["time_flow_start_ns"], moved[shuffled]
    )


def test_a_feed_whose_times_are_known_is_left_alone() -> None:
    """Nothing is copied."""
    flows = packets((7, 0, 0, 0), (7, 1, 0, 1))
    assert resolve_buffered_times(flows) is flows
