"""What is new in a packet: transport sequence numbers, unwrapped, with the ranges that have not been seen yet.

One unit is a byte of TCP or a packet of RoCE. All positions are unwrapped 64-bit numbers.
"""

from __future__ import annotations

from capture.jit import jit, wide
from capture.mirror.flow_table import BITS, HOLES, MISSING
from capture.packets.packet_columns import Record


@jit
def unwrapped(near: int, raw: int, bits: int) -> int:
    """The position closest to `near` whose lowest `bits` bits are `raw` (serial number arithmetic, RFC 1982)."""
    half = 1 << (bits - 1)
    return near + ((raw - near + half) & ((1 << bits) - 1)) - half


@jit
def restart(flow: Record, position: int, before: int) -> None:
    """Begin (again) to follow the flow at `position`, with nothing owed.

    The `before` units that precede it count as not seen yet: the first packet a mirror shows need not be the oldest.
    """
    flow["next"] = position
    flow["acknowledged"] = position
    flow["acknowledged_ns"] = 0
    flow["pending_first"] = -1
    flow["pending_last"] = -1
    for i in range(HOLES):
        flow["holes"][i, 0] = 0
        flow["holes"][i, 1] = 0
    if before:
        add_hole(flow, position - before, position)
    flow["started"] = 1


@jit
def take_packet(flow: Record, number: int) -> int:
    """1 where the packet of this number was never seen before, else 0; it counts as seen from now on.

    Packets sprayed over many paths come far out of order, so of the last MISSING numbers each is remembered by itself;
    a packet that is later still passes as retransmitted.
    """
    known = flow["next"]
    if number >= known:
        for skipped in range(max(known, number - MISSING), number):
            mark(flow, skipped, 1)
        mark(flow, number, 0)
        flow["next"] = number + 1
        return 1
    if number < known - MISSING or not is_missing(flow, number):
        return 0
    mark(flow, number, 0)
    return 1


@jit
def await_packets(flow: Record, first: int, end: int) -> None:
    """Remember that the packets [first, end) before the next one are missing, and no others."""
    for number in range(end - MISSING, end):
        mark(flow, number, 1 if number >= first else 0)


@jit
def is_missing(flow: Record, number: int) -> bool:
    """Whether a packet of the last MISSING was not seen yet."""
    place = number % MISSING
    return bool((flow["missing"][place // BITS] >> (place % BITS)) & 1)


@jit
def mark(flow: Record, number: int, missing: int) -> None:
    """Note whether a packet is missing."""
    place = number % MISSING
    bit = wide(1) << (place % BITS)
    if missing:
        flow["missing"][place // BITS] |= bit
    else:
        flow["missing"][place // BITS] &= ~bit


@jit
def count_new_units(flow: Record, first: int, units: int) -> int:
    """How many of the units [first, first + units) were never seen before; they count as seen from now on.

    Reordered packets fill the holes they left. Of the holes only the four most recent are remembered: units of an
    older one, should they ever come, pass as retransmitted.
    """
    end, known = first + units, flow["next"]
    if first >= known:
        if first > known:
            add_hole(flow, known, first)
        flow["next"] = end
        return units
    new = 0
    if end > known:
        new = end - known
        flow["next"] = end
    for i in range(HOLES):
        low, high = flow["holes"][i, 0], flow["holes"][i, 1]
        a, b = max(low, first), min(high, end)
        if a < b:
            new += b - a
            if a > low and b < high:
                flow["holes"][i, 0] = b
                add_hole(flow, low, a)  # the hole fell in two
            elif a > low:
                flow["holes"][i, 1] = a
            else:
                flow["holes"][i, 0] = b
            if flow["holes"][i, 0] >= flow["holes"][i, 1]:
                flow["holes"][i, 0] = 0
                flow["holes"][i, 1] = 0
    return new


@jit
def add_hole(flow: Record, low: int, high: int) -> None:
    """Remember that [low, high) is missing, in an empty place or in that of the lowest hole if that is lower still."""
    place = 0
    for i in range(HOLES):
        if flow["holes"][i, 1] < flow["holes"][place, 1]:
            place = i
    if flow["holes"][place, 1] < high:
        flow["holes"][place, 0] = low
        flow["holes"][place, 1] = high
