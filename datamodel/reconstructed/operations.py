"""Operations: transfers with what they are part of, a message between stages or a share of a collective."""

from __future__ import annotations

from datamodel.frame import Column, Schema

# Slots of a group's second collective, on connections of its own, begin here; those of its third at twice that.
FAMILY_SLOTS = 1000

OPERATIONS = Schema(
    "operations",
    (
        Column("endpoint", "i4", "code", "sender"),
        Column("peer", "i4", "code", "receiver"),
        Column("stream", "i4", "code", "the connection"),
        Column("role", "i1", "code", "what it is part of, an index into ROLES"),
        Column("group", "i4", "code", "process group among those of its role; -1 none"),
        Column("iteration", "i4", "", "counted on after the last complete iteration; -1 before the first"),
        Column("slot", "i4", "", "which of the stream's operations of an iteration, in order of time"),
        Column("start_ns", "i8", "ns", "first byte left the sender"),
        Column("end_ns", "i8", "ns", "last byte left the sender"),
        Column("delivered_ns", "i8", "ns", "the receiver had the last byte"),
        Column("bytes", "i8", "B", "bytes moved"),
        Column("busy_ns", "i8", "ns", "time with bytes under way, from sent to delivered, pauses left out"),
        Column("sending_ns", "i8", "ns", "time spent sending, pauses left out"),
        Column("retransmitted_packets", "i8", "", "packets sent again"),
        Column("packets", "i8", "", "packets seen, those sent again included", False),
        Column("ecn_ce_packets", "i8", "", "packets that carry congestion experienced", False),
    ),
)
