"""Evicts records and flows from the mirror's memory while it runs: updates references, closes gaps."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capture.jit import jit, wide
from capture.mirror.flow_table import EXPORTER_ENTRY, NONE, PAIR_ENTRY, Table
from capture.packets.packet_columns import Record

Places = npt.NDArray[np.int32]


@jit
def release_rows(flows: Table, flows_used: int, rows: Table, rows_used: int, before_ns: int, places: Places) -> int:
    """Drop the records that ended before `before_ns`, open ones included; the others keep their order.

    Args:
        flows: the flow table; its entries get the new places of their records.
        flows_used: entries in use.
        rows: the record table.
        rows_used: records in use.
        before_ns: see above.
        places: (rows_used,), filled: where every record went, NONE for those dropped.

    Returns:
        Records left.
    """
    left = 0
    for r in range(rows_used):
        places[r] = NONE
        if rows[r]["end_ns"] >= before_ns:
            places[r] = left
            left += 1
    for f in range(flows_used):
        flow = flows[f]
        flow["data_row"] = place_of(flow["data_row"], places)
        flow["control_row"] = place_of(flow["control_row"], places)
        unlink_rows(flow, rows, places)
    for r in range(rows_used):
        if places[r] >= 0:
            rows[places[r]] = rows[r]
    return left


@jit
def place_of(r: int, places: Places) -> int:
    """Where record `r` went; NONE for no record."""
    return wide(places[r]) if r >= 0 else wide(NONE)


@jit
def unlink_rows(flow: Record, rows: Table, places: Places) -> None:
    """Take the records that are dropped out of the list of those that wait for an acknowledgement."""
    r = wide(flow["pending_first"])
    flow["pending_first"] = NONE
    last = wide(NONE)
    while r >= 0:
        following = wide(rows[r]["next_pending"])
        if places[r] >= 0:
            rows[r]["next_pending"] = NONE
            if last >= 0:
                rows[last]["next_pending"] = places[r]
            else:
                flow["pending_first"] = places[r]
            last = r
        r = following
    flow["pending_last"] = place_of(last, places)


@jit
def evict_flows(flows: Table, flows_used: int, keep: Places, places: Places) -> int:
    """Drop the flows that are not to be kept; the others keep their order and what links them to one another.

    Args:
        flows: the flow table.
        flows_used: entries in use.
        keep: (flows_used,), 1 for flows to keep. Entries that are no flows are not concerned: exporters stay, and pairs
            of addresses for as long as a flow refers to them.
        places: (flows_used,), filled: where every entry went, NONE for those dropped.

    Returns:
        Entries left. The hash index must be rebuilt.
    """
    for f in range(flows_used):
        if flows[f]["ports"] == EXPORTER_ENTRY:
            keep[f] = 1
        elif flows[f]["ports"] == PAIR_ENTRY:
            keep[f] = 1 if thin_siblings(flows, f, keep) else 0
    for f in range(flows_used):
        if keep[f] and flows[f]["ports"] >= 0 and flows[f]["opposite"] >= 0 and is_response(flows[f]):
            keep[flows[f]["opposite"]] = 1
    left = 0
    for f in range(flows_used):
        places[f] = left if keep[f] else NONE
        left += 1 if keep[f] else 0
    for f in range(flows_used):
        if keep[f]:
            flow = flows[f]
            flow["opposite"] = place_of(flow["opposite"], places)
            flow["sibling"] = place_of(flow["sibling"], places)
            flow["partner"] = place_of(flow["partner"], places)
            flows[places[f]] = flow
    return left


@jit
def is_response(flow: Record) -> bool:
    """Whether the flow is of RoCE responses (see `port_key`); its `opposite` is then a pair of addresses."""
    return bool((flow["ports"] >> 40) & 1)


@jit
def thin_siblings(flows: Table, pair: int, keep: Places) -> bool:
    """Take the flows that are dropped out of a pair's list; whether any is left."""
    last = wide(pair)
    f = wide(flows[pair]["sibling"])
    while f >= 0:
        if keep[f]:
            flows[last]["sibling"] = f
            last = f
        f = wide(flows[f]["sibling"])
    flows[last]["sibling"] = NONE
    return last != pair
