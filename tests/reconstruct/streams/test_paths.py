"""Where streams were seen between switches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from datamodel.cluster.inventory import Link
from datamodel.frame import Frame, concat
from datamodel.reconstructed.paths import Paths
from datamodel.telemetry.flows import FLOWS, TCP, UDP, Flows
from reconstruct.streams.paths import paths, select_uplink_records
from reconstruct.streams.stream_builder import build_streams

ADDRESSES = ("10.0.0.1", "10.0.0.2", "192.0.2.1", "192.0.2.2")
SWITCHES = {"192.0.2.1": "leaf1", "192.0.2.2": "leaf2"}
CABLES = (
    Link(a="leaf1", a_port=5, b="spine1", b_port=1),
    Link(a="leaf1", a_port=6, b="spine2", b_port=1),
    Link(a="leaf2", a_port=5, b="spine1", b_port=2),
    Link(a="leaf2", b="spine2"),
)


def records(ports: Sequence[int], *, qp: bool = False, at: int = 0) -> Frame:
    """What a mirror tells of connections from the first endpoint to the second: one train a port, or queue pair."""
    n = len(ports)
    columns: dict[str, list[int]] = _named(ports, qp) | {"src_addr": [0] * n, "dst_addr": [1] * n}
    sizes = {"bytes": [9000] * n, "payload_bytes": [8000] * n, "packets": [2] * n}
    return Frame(FLOWS, columns | sizes | {"time_flow_start_ns": [at] * n, "time_flow_end_ns": [at + 1] * n})


def samples(seen: Sequence[tuple[int, int, int, int, int]], *, qp: bool = False, size: int = 1500) -> Frame:
    """Sampled packets: time, port or queue pair, exporter, and the interfaces they came in and left by."""
    when, port, sampler, into, out = ([row[k] for row in seen] for k in range(5))
    n = len(seen)
    ends = {"src_addr": [0] * n, "dst_addr": [1] * n, "sampler_address": sampler, "in_if": into, "out_if": out}
    sizes = {"bytes": [size] * n, "packets": [1] * n, "sampling_rate": [1000] * n}
    return Frame(FLOWS, _named(port, qp) | ends | sizes | {"time_flow_start_ns": when, "time_flow_end_ns": when})


def _named(ports: Sequence[int], qp: bool) -> dict[str, list[int]]:
    named = {"dst_qp" if qp else "src_port": list(ports), "proto": [UDP if qp else TCP] * len(ports)}
    return named | {"dst_port": [4791 if qp else 29500] * len(ports)}


def found(mirror: Frame, sampled: Frame) -> Paths | None:
    """The paths that samples tell of the mirror's streams."""
    flow = build_streams(Flows(mirror, ADDRESSES))
    seen = select_uplink_records(Flows(concat(FLOWS, [mirror, sampled]), ADDRESSES), SWITCHES, CABLES)
    return None if seen is None else paths(seen, flow, SWITCHES, CABLES)


def told(these: Paths | None) -> list[tuple[int, str, int, bool, int, int, int]]:
    """Stays as stream, switch, interface, whether it left, first and last time, sightings."""
    assert these is not None
    rows = zip(*(these.stays[c.name].tolist() for c in these.stays.schema), strict=True)
    return [(stream, *these.doors[door], leaves, *rest) for stream, door, leaves, *rest in rows]


def test_samples_tell_the_ends_of_cables_of_each_connection() -> None:
    """Two connections between the same two endpoints go their own ways; ports of endpoints are no cables."""
    seen = samples([(1, 700, 2, 9, 5), (3, 700, 2, 9, 5), (2, 700, 3, 5, 9), (2, 800, 2, 9, 6)])
    assert told(found(records([700, 800]), seen)) == [
        (0, "leaf1", 5, True, 1, 3, 2),
        (0, "leaf2", 5, False, 2, 2, 1),
        (1, "leaf1", 6, True, 2, 2, 1),
    ]


def test_a_connection_that_is_moved_has_two_stays() -> None:
    """First by one cable, later by the other."""
    seen = samples([(1, 700, 2, 9, 5), (9, 700, 2, 9, 6), (2, 700, 2, 9, 5), (8, 700, 2, 9, 6)])
    assert told(found(records([700]), seen)) == [(0, "leaf1", 5, True, 1, 2, 2), (0, "leaf1", 6, True, 8, 9, 2)]


def test_acknowledgements_and_strangers_are_no_sightings() -> None:
    """The way back of another connection's acknowledgements says nothing; nor do other ports or other exporters."""
    assert told(found(records([700]), samples([(1, 700, 2, 9, 5)], size=60))) == []
    assert told(found(records([700]), samples([(1, 900, 2, 9, 5)]))) == []
    assert found(records([700]), samples([(1, 700, 1, 9, 5)])) is None
    assert found(records([700]), samples([(1, 700, 2, 9, 7)])) is None


def test_queue_pairs_that_take_turns_tell_of_one_connection() -> None:
    """Their stream has the name of one of them; whatever the others passed counts as well."""
    mirror = concat(FLOWS, [records([40 + n % 2], qp=True, at=10 * n) for n in range(12)])
    seen = samples([(1, 40, 2, 9, 5), (2, 41, 2, 9, 6)], qp=True)
    assert len(build_streams(Flows(mirror, ADDRESSES))) == 1
    assert [row[:3] for row in told(found(mirror, seen))] == [(0, "leaf1", 5), (0, "leaf1", 6)]


def test_a_job_takes_its_own_streams_along() -> None:
    """Stays of other streams are left out, the rest renumbered."""
    these = found(records([700, 800]), samples([(1, 700, 2, 9, 5), (2, 800, 2, 9, 6)]))
    assert these is not None
    assert told(these.of(np.array([1]))) == [(0, "leaf1", 6, True, 2, 2, 1)]
    assert told(these.of(np.array([], np.int64))) == []
