"""Connections by five-tuple: what each shows of queue pairs, and what it carried."""

from __future__ import annotations

import numpy as np
import pytest

from datamodel.frame import Frame
from datamodel.telemetry.flows import FLOWS, Flows
from reconstruct.paths.connection_table import connections

ADDRESSES = tuple(f"10.0.0.{n}" for n in range(4))
# (source, source port, queue pair or context of UET, which are of any size; -1 none)
ROWS = (
    (0, 7, 5),
    (0, 7, 3),
    (0, 7, 5),
    (0, 7, -1),
    (0, 8, 1 << 40),
    (0, 8, 1 << 40 | 1),
    (2, 7, -1),
    (2, 7, -1),
)


@pytest.mark.parametrize("seed", range(4))
def test_queue_pairs_of_each_connection_are_counted_and_the_smallest_named(seed: int) -> None:
    """Whatever the order of records: each pair once, contexts of 64 bits too, and none where records name none."""
    order = np.random.default_rng(seed).permutation(len(ROWS))
    src, port, pair = np.array(ROWS)[order].T
    rows = {"src_addr": src, "src_port": port, "dst_qp": pair, "time_flow_start_ns": order, "time_flow_end_ns": order}
    same = {name: np.full(len(ROWS), value) for name, value in (("dst_addr", 1), ("bytes", 1000), ("proto", 17))}
    frame = Frame(FLOWS, rows | same)
    found = connections(Flows(frame, ADDRESSES), np.ones(len(frame), np.bool_), {}, ()).table
    names = ("src_addr", "src_port", "queue_pairs", "dst_qp")
    assert list(zip(*(found[name].tolist() for name in names), strict=True)) == [
        (0, 7, 2, 3),
        (0, 8, 2, 1 << 40),
        (2, 7, 0, -1),
    ]
