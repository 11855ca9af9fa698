"""Ultra Ethernet Transport: what its public headers show of a packet.

Source: Ultra Ethernet Specification 1.0, 3.4 (semantic sublayer) and 3.5 (packet delivery sublayer); UDP port 4793.
Behind the UDP header stand five bits of packet type, four of next header, flags, and numbers of the packet and of the
contexts that the two ends keep for each other; then, of requests, the semantic header. What is encrypted (type TSS)
is not visible.
"""

from __future__ import annotations

import numpy as np

from capture.jit import jit, wide
from capture.packets.headers import be16, be32
from capture.packets.packet_columns import CUT_TRANSPORT, FINE, Record
from capture.tables.read_buffer import Bytes

# Packet types.
TSS, RUD_REQUEST, ROD_REQUEST, RUDI_REQUEST, RUDI_RESPONSE, UUD_REQUEST = range(1, 7)
ACK, ACK_CC, ACK_CCX, NACK, CONTROL, NACK_CCX, RUD_CC_REQUEST, ROD_CC_REQUEST = range(7, 15)
NUMBERED_REQUESTS = (RUD_REQUEST, ROD_REQUEST, RUD_CC_REQUEST, ROD_CC_REQUEST)
OTHER_DATA = (RUDI_REQUEST, RUDI_RESPONSE, UUD_REQUEST)
ACKS, OTHER_ANSWERS = (ACK, ACK_CC, ACK_CCX), (NACK, NACK_CCX, CONTROL)
# In `opcode`, beyond all of RoCE's: packet type, and with the second one those that end a message.
UET, UET_ENDS = 0x100, 0x110
NEGATIVE = 0x60  # as an AETH would say it

_STANDARD, _SMALL, _MEDIUM = 3, 1, 2
_STARTS, _ENDS = 0x01, 0x02
_NUMBERS = 0xFFFFFF  # records hold packet numbers modulo 2^24, RoCE's
_REQUEST_LENGTH_AT = 40


def _sizes() -> tuple[np.ndarray, np.ndarray]:
    """Bytes of the delivery header by packet type, 0 where there is none to read, and of the semantic one by kind."""
    delivery, semantic = np.zeros(32, np.uint8), np.zeros(16, np.uint8)
    delivery[[RUD_REQUEST, ROD_REQUEST, ACK]] = 12
    delivery[[RUD_CC_REQUEST, ROD_CC_REQUEST, NACK, CONTROL]] = 16
    delivery[[ACK_CC, ACK_CCX, NACK_CCX]] = 32
    delivery[[RUDI_REQUEST, RUDI_RESPONSE]] = 8
    delivery[UUD_REQUEST] = 4
    semantic[[_SMALL, _MEDIUM, _STANDARD]] = 20, 32, 44
    semantic[[4, 5, 6]] = 12, 20, 12  # responses: without data, with it, with little
    return delivery, semantic


DELIVERY_BYTES, SEMANTIC_BYTES = _sizes()


@jit
def is_uet(data: Bytes, at: int, end: int) -> bool:
    """Whether what stands at `at` begins like a packet that is not encrypted."""
    return at + 2 <= end and DELIVERY_BYTES[data[at] >> 3] > 0


@jit
def uet(data: Bytes, at: int, end: int, stop: int, packet: Record) -> int:
    """Fill `packet` from the delivery header at `at` and the semantic header behind it; FINE or the reason.

    The sender's context number stands for the queue pair: packets that open a context do not know the receiver's yet.
    """
    kind = wide(data[at]) >> 3
    body = at + wide(DELIVERY_BYTES[kind])
    if body > end:
        return CUT_TRANSPORT
    packet["opcode"] = UET + kind
    if kind in NUMBERED_REQUESTS:
        packet["sequence"] = be32(data, at + 4) & _NUMBERS
        packet["queue_pair"] = be16(data, at + 8)
    elif kind in ACKS:
        packet["sequence"] = be32(data, at + 4) & _NUMBERS  # all up to this one have come
        packet["queue_pair"] = be16(data, at + 10)
    elif kind in (NACK, NACK_CCX):
        packet["syndrome"] = NEGATIVE
        packet["queue_pair"] = be16(data, at + 10)
    if kind in NUMBERED_REQUESTS or kind in OTHER_DATA:
        semantic(data, body, end, stop, (be16(data, at) >> 7) & 15, packet)
    return FINE


@jit
def semantic(data: Bytes, at: int, end: int, stop: int, kind: int, packet: Record) -> None:
    """Fill payload, and where a message begins and ends, from the semantic header of this kind at `at`."""
    packet["payload_bytes"] = max(stop - at - wide(SEMANTIC_BYTES[kind]), 0)
    if kind in (_SMALL, _MEDIUM):
        packet["opcode"] += UET_ENDS - UET
        packet["message_bytes"] = packet["payload_bytes"]
    elif kind == _STANDARD:
        if at + _REQUEST_LENGTH_AT + 4 > end:
            packet["header_cut"] = 1
            return
        if data[at + 1] & _ENDS:
            packet["opcode"] += UET_ENDS - UET
        if data[at + 1] & _STARTS:
            packet["message_bytes"] = be32(data, at + _REQUEST_LENGTH_AT)
