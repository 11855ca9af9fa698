"""The mirror's memory: one row a flow, found by hash, and one row a flow record being built.

Both tables are plain arrays that the driver enlarges between batches, so that no kernel ever allocates.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capture.jit import jit, wide
from capture.packets.packet_columns import Record

Table = npt.NDArray[np.void]
Slots = npt.NDArray[np.int32]

NONE = -1
HOLES = 4
# Packets of RoCE and UET that are remembered one by one, in words of so many bits.
BITS, WORDS = 62, 8
MISSING = BITS * WORDS
FIRST_SPACING_NS = 2500  # of a flow not seen before; quickly outgrown where it is too short

# Entries of the flow table that are no flow; these values stand where a flow has its ports.
PAIR_ENTRY, EXPORTER_ENTRY = -1, -2

FLOW = np.dtype(
    [
        ("src_high", "i8"),
        ("src_low", "i8"),
        ("dst_high", "i8"),
        ("dst_low", "i8"),
        ("ports", "i8"),  # see `port_key`
        ("queue_pair", "i8"),  # and the overlay's network: see `pair_key`
        ("twin", "i8"),  # the same for a flow of equal addresses, ports and queue pair in any network
        ("src_port", "i8"),  # of the first packet: of RoCE it is no part of the key, each packet may have another one
        # Transport sequence, unwrapped to 64 bits: bytes of TCP, packets of RoCE.
        ("next", "i8"),  # one past the highest unit seen
        ("acknowledged", "i8"),  # one past the highest unit the receiver acknowledged
        ("acknowledged_ns", "i8"),
        ("holes", "i8", (HOLES, 2)),  # TCP: ranges below `next` not seen yet
        ("missing", "i8", (WORDS,)),  # RoCE: which of the last packets below `next` were not seen yet
        ("last_ns", "i8"),  # last packet with new payload
        ("spacing_ns", "i8"),  # running packet spacing within trains
        ("data_row", "i4"),  # record that takes new payload; NONE where none is open
        ("control_row", "i4"),  # record that takes everything else
        ("pending_first", "i4"),  # closed records whose last unit is not acknowledged, oldest first
        ("pending_last", "i4"),
        ("opposite", "i4"),  # TCP: the flow the other way; RoCE responses: the entry of the reverse address pair
        ("sibling", "i4"),  # next in the list of an address pair's RoCE request flows, which begins at its entry
        ("partner", "i4"),  # RoCE responses: the request flow they answer; requests: the flow of their responses
        ("doubts", "i4"),  # successive responses that do not fit the partner
        ("started", "u1"),  # `next` means something
    ],
    align=True,
)

ROW = np.dtype(
    [
        ("start_ns", "i8"),
        ("end_ns", "i8"),
        ("bytes", "i8"),
        ("payload_bytes", "i8"),
        ("message_bytes", "i8"),
        ("acknowledged_ns", "i8"),
        ("last_unit", "i8"),  # one past the highest new unit in the record
        ("flow", "i4"),
        ("sampler", "i4"),  # exporter's entry in the flow table; NONE where there is none
        ("session", "i4"),
        ("next_pending", "i4"),
        ("packets", "i4"),
        ("psn_first", "i4"),
        ("psn_last", "i4"),
        ("ecn_ce", "i4"),
        ("cnp", "i4"),
        ("nak", "i4"),
        ("retransmitted", "i4"),
        ("trimmed", "i4"),
        ("opcode_first", "i2"),
        ("opcode_last", "i2"),
        ("tcp_flags", "u2"),
        ("tos", "u1"),
    ],
    align=True,
)


@jit
def port_key(src_port: int, dst_port: int, proto: int, response: int) -> int:
    """Ports, protocol and (RoCE) whether the packets answer requests, as one non-negative number.

    Requests and responses of a queue pair count in different sequence spaces, so they are different flows here.
    """
    return wide(src_port) << 16 | wide(dst_port) | wide(proto) << 32 | wide(response) << 40


@jit
def pair_key(queue_pair: int, network: int) -> int:
    """Queue pair (-1 for none) and overlay network as one non-negative number: equal addresses of two are two flows."""
    return (wide(queue_pair) & 0xFFFFFFFF) | wide(network) << 32


@jit
def mixed(state: int, word: int) -> int:
    """`state` (31 bits) stirred with a signed 64-bit word.

    Products stay below 2^63, so that the result is the same compiled and not.
    """
    for half in (word & 0xFFFFFFFF, (word >> 32) & 0xFFFFFFFF):
        state = ((state ^ half ^ (half >> 31)) & 0x7FFFFFFF) * 0x9E3779B1
        state = (state ^ (state >> 29)) & 0x7FFFFFFF
    return state


@jit
def slot_of(
    flows: Table, slots: Slots, src_high: int, src_low: int, dst_high: int, dst_low: int, ports: int, queue_pair: int
) -> int:
    """The slot that holds the entry of this key, or the empty one where it belongs. `slots` has a power-of-two size."""
    state = mixed(mixed(mixed(wide(0x5BD1E995), src_low), dst_low), ports ^ ((queue_pair & 0xFFFFFFFF) << 20))
    if queue_pair >> 32:
        state = mixed(state, queue_pair)
    if src_high | dst_high:
        state = mixed(mixed(state, src_high), dst_high)
    mask = len(slots) - 1
    slot = state & mask
    while slots[slot] >= 0:
        flow = flows[slots[slot]]
        if (
            flow["src_low"] == src_low
            and flow["dst_low"] == dst_low
            and flow["ports"] == ports
            and flow["queue_pair"] == queue_pair
            and flow["src_high"] == src_high
            and flow["dst_high"] == dst_high
        ):
            break
        slot = (slot + 1) & mask
    return slot


@jit
def open_flow(
    flow: Record, src_high: int, src_low: int, dst_high: int, dst_low: int, ports: int, queue_pair: int
) -> None:
    """Write a new entry of the flow table."""
    flow["src_high"] = src_high
    flow["src_low"] = src_low
    flow["dst_high"] = dst_high
    flow["dst_low"] = dst_low
    flow["ports"] = ports
    flow["queue_pair"] = queue_pair
    flow["src_port"] = ports >> 16 & 0xFFFF
    named = mixed(mixed(mixed(mixed(wide(0x1B873593), src_high), src_low), dst_high), dst_low)
    flow["twin"] = mixed(mixed(named, ports), queue_pair & 0xFFFFFFFF)
    flow["next"] = 0
    flow["acknowledged"] = 0
    flow["acknowledged_ns"] = 0
    for i in range(HOLES):
        flow["holes"][i, 0] = 0
        flow["holes"][i, 1] = 0
    for i in range(WORDS):
        flow["missing"][i] = 0
    flow["last_ns"] = 0
    flow["spacing_ns"] = FIRST_SPACING_NS
    flow["data_row"] = NONE
    flow["control_row"] = NONE
    flow["pending_first"] = NONE
    flow["pending_last"] = NONE
    flow["opposite"] = NONE
    flow["sibling"] = NONE
    flow["partner"] = NONE
    flow["doubts"] = 0
    flow["started"] = 0


@jit
def rehash(flows: Table, count: int, slots: Slots) -> None:
    """Enter the first `count` flows into `slots`, which are all empty."""
    for i in range(count):
        flow = flows[i]
        slot = slot_of(
            flows,
            slots,
            flow["src_high"],
            flow["src_low"],
            flow["dst_high"],
            flow["dst_low"],
            flow["ports"],
            flow["queue_pair"],
        )
        slots[slot] = i


@jit
def open_row(row: Record, flow: int, sampler: int, packet: Record) -> None:
    """Begin a flow record with nothing counted yet, at `packet`."""
    row["start_ns"] = packet["time_ns"]
    row["end_ns"] = packet["time_ns"]
    row["bytes"] = 0
    row["payload_bytes"] = 0
    row["message_bytes"] = 0
    row["acknowledged_ns"] = 0
    row["last_unit"] = 0
    row["flow"] = flow
    row["sampler"] = sampler
    row["session"] = packet["session"]
    row["next_pending"] = NONE
    row["packets"] = 0
    row["psn_first"] = NONE
    row["psn_last"] = NONE
    row["ecn_ce"] = 0
    row["cnp"] = 0
    row["nak"] = 0
    row["retransmitted"] = 0
    row["trimmed"] = 0
    row["opcode_first"] = packet["opcode"]
    row["opcode_last"] = NONE
    row["tcp_flags"] = 0
    row["tos"] = packet["tos"]
