"""When the receiver had it: acknowledgements matched to the records whose last payload they cover.

A mirror is next to the receiver, so the first acknowledgement that covers a record's last byte shows when the
receiver had all of it. RoCE's acknowledgement names the sender's queue pair, which no data packet carries; which
flow it answers is learnt.
"""

from __future__ import annotations

from capture.jit import jit, wide
from capture.mirror.flow_table import NONE, Table
from capture.mirror.sequence_numbers import unwrapped
from capture.packets.packet_columns import Record
from capture.packets.roce import PSN_BITS, is_negative

_TCP_FAR = 1 << 30
_LONGEST_SEARCH = 256  # request flows of one address pair looked at for one acknowledgement
_MAX_DOUBTS = 8


@jit
def acknowledge(flow: Record, rows: Table, upto: int, time_ns: int) -> None:
    """All units below `upto` of `flow` had reached the receiver at `time_ns`."""
    if upto <= flow["acknowledged"]:
        return
    flow["acknowledged"] = upto
    flow["acknowledged_ns"] = time_ns
    r = flow["pending_first"]
    while r >= 0 and rows[r]["last_unit"] <= upto:
        rows[r]["acknowledged_ns"] = max(time_ns, rows[r]["end_ns"])
        r = rows[r]["next_pending"]
    flow["pending_first"] = r
    r = flow["data_row"]
    if r >= 0 and rows[r]["acknowledged_ns"] == 0 and rows[r]["last_unit"] <= upto:
        rows[r]["acknowledged_ns"] = max(time_ns, rows[r]["end_ns"])


@jit
def tcp_acknowledges(flow: Record, rows: Table, number: int, time_ns: int) -> None:
    """Enter TCP acknowledgement `number`, seen on the way back, into the flow it answers."""
    if flow["started"]:
        upto = unwrapped(flow["next"], number, wide(32))
        if upto - flow["next"] <= _TCP_FAR:
            acknowledge(flow, rows, upto, time_ns)


@jit
def roce_acknowledges(packet: Record, f: int, flows: Table, rows: Table) -> None:
    """Enter an ACK or NAK into the flow it answers, once that is known.

    An ACK covers its PSN and all before it; a NAK covers all before it.
    """
    response = flows[f]
    negative = is_negative(packet["syndrome"])
    if response["partner"] >= 0:
        reconsider(packet, response, flows)
    if response["partner"] < 0 and response["opposite"] >= 0 and not negative:
        pair_with_request(packet, f, response, flows)
    if response["partner"] >= 0:
        flow = flows[response["partner"]]
        upto = unwrapped(flow["next"], packet["sequence"], wide(PSN_BITS)) + (0 if negative else 1)
        if upto <= flow["next"]:
            acknowledge(flow, rows, upto, packet["time_ns"])


@jit
def reconsider(packet: Record, response: Record, flows: Table) -> None:
    """Give up a partner that has not sent what is being acknowledged several times in a row: the pairing was wrong."""
    partner = flows[response["partner"]]
    if unwrapped(partner["next"], packet["sequence"], wide(PSN_BITS)) < partner["next"]:
        response["doubts"] = 0
        return
    response["doubts"] += 1
    if response["doubts"] >= _MAX_DOUBTS:
        partner["partner"] = NONE
        response["partner"] = NONE
        response["doubts"] = 0


@jit
def pair_with_request(packet: Record, f: int, response: Record, flows: Table) -> None:
    """Find the request flow that `response` answers: the only one of its address pair that awaits this very PSN."""
    found = wide(NONE)
    candidate = wide(flows[response["opposite"]]["sibling"])
    for _ in range(_LONGEST_SEARCH):
        if candidate < 0:
            break
        flow = flows[candidate]
        if flow["started"] and flow["partner"] < 0:
            at = unwrapped(flow["next"], packet["sequence"], wide(PSN_BITS))
            if flow["acknowledged"] <= at < flow["next"]:
                if found >= 0:
                    return
                found = candidate
        candidate = wide(flow["sibling"])
    if found >= 0:
        response["partner"] = found
        flows[found]["partner"] = f
