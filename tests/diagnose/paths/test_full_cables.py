"""Which links with a finding are slow because they are full."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.frame import Frame
from datamodel.reconstructed.connections import PAYLOADS
from diagnose.paths.full_cables import are_full
from tests.diagnose.paths.fabrics import BYTES_PER_S, cables

SECOND_NS = 1_000_000_000


def payloads(share: float, connections: int) -> Frame:
    """Ten seconds in which connections send together at a share of a cable's speed, every other second."""
    start = np.repeat(np.arange(0, 10, 2) * SECOND_NS, connections)
    each = np.full(len(start), share * BYTES_PER_S / connections)
    connection = np.tile(np.arange(connections), 5)
    columns = {"connection": connection, "start_ns": start, "end_ns": start + SECOND_NS, "bytes": each.astype(np.int64)}
    return Frame(PAYLOADS, columns)


@pytest.mark.parametrize(
    ("share", "connections", "full"),
    [(0.97, 3, True), (0.5, 3, False), (0.97, 1, False)],
    ids=["shared and full", "at half its speed", "filled by one alone"],
)
def test_a_shared_cable_that_carries_what_it_can_is_not_at_fault(share: float, connections: int, full: bool) -> None:
    """Pauses do not count; a cable that has become slower never carries so much; one connection shares with nobody."""
    fabric = cables(2, 2)
    suspects = np.isin(np.arange(len(fabric.tail)), [0, 1, 2, 3])
    hops = np.zeros((connections, 1), np.int64)
    found = are_full(payloads(share, connections), hops, fabric, suspects)
    assert found.tolist() == [full, full, *[False] * (len(fabric.tail) - 2)]
