"""Cables that connections were seen to pass."""

from __future__ import annotations

import numpy as np

from datamodel.cluster.inventory import Link
from datamodel.frame import Frame
from datamodel.telemetry.flows import FLOWS, Flows
from reconstruct.sampled.uplinks_passed import find_uplinks

CABLES = (
    Link(a="leaf1", a_port=5, b="spine1", b_port=1),
    Link(a="leaf1", a_port=6, b="spine2", b_port=1),
    Link(a="leaf2", a_port=5, b="spine1", b_port=2),
)


def test_interface_indices_name_the_cables() -> None:
    """Out of leaf1 by port 5 and into leaf2 by port 5 is by way of spine1; ports of hosts are no cables."""
    rows = [(2, 0, 1, 7, 5), (3, 0, 1, 5, 8), (2, 1, 0, 6, 7)]
    sampler, src, dst, into, out = (np.array(column) for column in zip(*rows, strict=True))
    stamp = np.arange(3)
    columns = {"sampler_address": sampler, "src_addr": src, "dst_addr": dst, "in_if": into, "out_if": out}
    times = dict.fromkeys(("time_received_ns", "time_flow_start_ns", "time_flow_end_ns", "bytes", "packets"), stamp)
    flows = Flows(Frame(FLOWS, columns | times), ("10.0.0.1", "10.0.0.2", "192.0.2.1", "192.0.2.2"))
    names = {"192.0.2.1": "leaf1", "192.0.2.2": "leaf2"}
    found = find_uplinks(flows, names, CABLES, np.array([0, 1]), np.array([1, 0]))
    assert found.tolist() == [[True, False, True], [False, True, False]]
    assert not find_uplinks(flows, {}, CABLES, np.array([0]), np.array([1])).any()
