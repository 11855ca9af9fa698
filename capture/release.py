"""The mirror's records leave its memory while it goes on: what refers to them is mended, what stays moves up."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capture.compiled import compiled, wide
from capture.flow_table import NONE, Table
from capture.wire import Record

Places = npt.NDArray[np.int32]


@compiled
def release_rows(flows: Table, flows_used: int, rows: Table, rows_used: int, before_ns: int, places: Places) -> int:
    """Drop the records that ended before `before_ns`, open ones included; the others keep their order.

    Args:
        flows: the flow table; its entries are told where their records are now.
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
        thin_out(flow, rows, places)
    for r in range(rows_used):
        if places[r] >= 0:
            rows[places[r]] = rows[r]
    return left


@compiled
def place_of(r: int, places: Places) -> int:
    """Where record `r` went; NONE for no record."""
    return wide(places[r]) if r >= 0 else wide(NONE)


@compiled
def thin_out(flow: Record, rows: Table, places: Places) -> None:
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
