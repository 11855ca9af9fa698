"""One FlowMessage of GoFlow2 (pb/flow.proto of version 3; version 2 has the same numbers) to one row of flow records.

Fields are taken whatever their order; the last of several of one number counts, as protocol buffers ask for. A field
whose number or wire type flow.proto does not know is stepped over and counted.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from capture.goflow2.protobuf import LENGTH, VARINT, field_value, varint
from capture.goflow2.protobuf import MALFORMED as BROKEN
from capture.jit import jit, wide
from capture.tables.address_book import Words, address_code
from capture.tables.addresses import MAPPED
from capture.tables.read_buffer import Bytes
from capture.tables.row_blocks import Block
from datamodel.durations import SECOND_NS

Ints = npt.NDArray[np.int64]

# Numbers of the fields that become columns.
TYPE, SAMPLING_RATE, SRC_ADDR, DST_ADDR, BYTES, PACKETS, SAMPLER_ADDRESS = 1, 3, 6, 7, 9, 10, 11
IN_IF, OUT_IF, PROTO, SRC_PORT, DST_PORT, IP_TOS, TCP_FLAGS = 18, 19, 20, 21, 22, 23, 26
FLOW_DIRECTION, OBSERVATION_DOMAIN_ID, LAYER_STACK = 42, 70, 103
TIME_RECEIVED_NS, TIME_FLOW_START_NS, TIME_FLOW_END_NS = 110, 111, 112
FIELDS = 113
HIGHEST_NUMBER = (1 << 29) - 1  # that protocol buffers allow
UNKNOWN_FIELDS = 0  # no field has this number; its place counts those that are not known

SFLOW_5, NETFLOW_V9, IPFIX = 1, 3, 4

# The fields above, which are looked at; what else stands in the scratch arrays is of earlier messages.
USED = (
    TYPE, SAMPLING_RATE, SRC_ADDR, DST_ADDR, BYTES, PACKETS, SAMPLER_ADDRESS, IN_IF, OUT_IF, PROTO, SRC_PORT, DST_PORT,
    IP_TOS, TCP_FLAGS, FLOW_DIRECTION, OBSERVATION_DOMAIN_ID, LAYER_STACK, TIME_RECEIVED_NS, TIME_FLOW_START_NS,
    TIME_FLOW_END_NS,
)  # fmt: skip

# The columns of `FLOWS` that `flow_row` writes.
COLUMNS = (
    "time_received_ns", "time_flow_start_ns", "time_flow_end_ns", "sampler_address", "observation_domain_id",
    "src_addr", "dst_addr", "src_port", "dst_port", "proto", "bytes", "packets", "sampling_rate", "in_if", "out_if",
    "flow_direction", "ip_tos", "tcp_flags",
)  # fmt: skip

# What flow.proto says of each number: 0 is not known, else 1 + the wire type. Repeated numbers come packed.
_VARINTS = (1, 3, 4, 9, 10, 13, 14, 15, 16, 17, *range(18, 39), 70, 71, 106, 110, 111, 112)
_STRINGS = (6, 7, 11, 12, 80, 81, 82, 100, 101, 102, 103, 104, 105)
KNOWN = np.zeros(FIELDS, np.int64)
KNOWN[list(_VARINTS)] = 1 + VARINT
KNOWN[list(_STRINGS)] = 1 + LENGTH
KNOWN[FLOW_DIRECTION] = 1 + VARINT  # not in flow.proto, but in the mapping.yaml that GoFlow2 ships

# Why a message gave no row; index into REASONS.
(
    FINE,
    MALFORMED,
    NO_SOURCE,
    NO_DESTINATION,
    BAD_SOURCE,
    BAD_DESTINATION,
    NO_START,
    BACKWARDS,
    HUGE,
    BAD_PORT,
    BAD_NUMBER,
) = range(11)
REASONS = (
    "",
    "message: malformed protobuf",
    "row: src_addr is missing",
    "row: dst_addr is missing",
    "row: src_addr is not an address",
    "row: dst_addr is not an address",
    "row: time_flow_start_ns is missing",
    "row: ends before it starts",
    "row: a time or a count is beyond 63 bits",
    "row: a port is out of range",
    "row: proto, ip_tos or tcp_flags is out of range",
)

# What `notes` counts of accepted messages.
FRAMES = "of sFlow count the bytes of whole frames, link header and checksum included"
EXPORT_SECOND = "of several packets have no times of their own, only the second of their export"
NOTE_FRAMES, NOTE_UNKNOWN_FIELDS, NOTE_BAD_SAMPLER, NOTE_EXPORT_SECOND, NOTES = 0, 1, 2, 3, 4


@jit
def fields(data: Bytes, start: int, end: int, known: Ints, values: Ints, lengths: Ints) -> bool:
    """Gather the fields of a message; False where it is malformed.

    Args:
        data: bytes.
        start: offset of the message.
        end: offset one past it.
        known: `KNOWN`.
        values: shape (FIELDS,); receives varints and offsets of strings by field number, and at 0 how many fields are
            not known.
        lengths: shape (FIELDS,); receives lengths of strings, -1 where a string is absent.
    """
    values[UNKNOWN_FIELDS] = 0
    for field in USED:
        values[field] = 0
        lengths[field] = -1
    values[FLOW_DIRECTION] = -1
    at = wide(start)
    while at < end:
        tag, at = varint(data, at, end)
        if at == BROKEN:
            return False
        wire_type, number = tag & 7, (tag >> 3) & 0x1FFFFFFFFFFFFFFF
        value, at = field_value(data, at, end, wire_type)
        if at == BROKEN or number == 0 or number > HIGHEST_NUMBER:
            return False
        if number >= FIELDS or known[number] != wire_type + 1:
            # A repeated number may also come one by one; none of those is carried.
            values[UNKNOWN_FIELDS] += number >= FIELDS or known[number] != 1 + LENGTH or wire_type != VARINT
        elif wire_type == VARINT:
            values[number] = value
        else:
            values[number] = at - value
            lengths[number] = value
    return True


@jit
def is_flow_message(data: Bytes, start: int, end: int, known: Ints, values: Ints, lengths: Ints) -> bool:
    """Whether these bytes are a FlowMessage beyond reasonable doubt: well formed, with times after 2001."""
    if not fields(data, start, end, known, values, lengths):
        return False
    return wide(min(values[TIME_FLOW_START_NS], values[TIME_FLOW_END_NS])) > 10**18


@jit
def word(data: Bytes, at: int) -> int:
    """Eight bytes, big-endian, as a signed 64-bit number."""
    value = wide(0)
    for i in range(8):
        value = (value << 8) | wide(data[at + i])
    return value


@jit
def code(data: Bytes, at: int, length: int, words: Words, slots: Words, used: Words) -> int:
    """The code of an address of 4 or 16 bytes; -1 for other lengths."""
    if length == 4:
        low = wide(data[at]) << 24 | wide(data[at + 1]) << 16 | wide(data[at + 2]) << 8 | wide(data[at + 3])
        return address_code(words, slots, used, wide(0), low | MAPPED)
    if length == 16:
        return address_code(words, slots, used, word(data, at), word(data, at + 8))
    return wide(-1)


@jit
def refusal(values: Ints, lengths: Ints) -> int:
    """Why the gathered fields make no flow record; FINE where they do."""
    if lengths[SRC_ADDR] <= 0:
        return NO_SOURCE
    if lengths[DST_ADDR] <= 0:
        return NO_DESTINATION
    if lengths[SRC_ADDR] != 4 and lengths[SRC_ADDR] != 16:
        return BAD_SOURCE
    if lengths[DST_ADDR] != 4 and lengths[DST_ADDR] != 16:
        return BAD_DESTINATION
    start, end = values[TIME_FLOW_START_NS], values[TIME_FLOW_END_NS]
    if start == 0:
        return NO_START
    signs = start | end | values[TIME_RECEIVED_NS] | values[BYTES] | values[PACKETS] | values[SAMPLING_RATE]
    if (signs | values[IN_IF] | values[OUT_IF]) < 0:
        return HUGE
    if end < start:
        return BACKWARDS
    if (values[SRC_PORT] | values[DST_PORT]) & ~wide(0xFFFF):
        return BAD_PORT
    if (values[PROTO] | values[IP_TOS]) & ~wide(0xFF) or values[TCP_FLAGS] & ~wide(0xFFFF):
        return BAD_NUMBER
    return FINE


@jit
def flow_row(
    data: Bytes,
    start: int,
    end: int,
    known: Ints,
    values: Ints,
    lengths: Ints,
    notes: Ints,
    words: Words,
    slots: Words,
    used: Words,
    block: Block,
    row: int,
) -> int:
    """Decode the message between two offsets into row `row` of `block`; FINE, or why there is none.

    Args:
        data: bytes.
        start: offset of the message.
        end: offset one past it.
        known: `KNOWN`.
        values: scratch, shape (FIELDS,).
        lengths: scratch, shape (FIELDS,).
        notes: shape (NOTES,); counts doubtful messages.
        words: the address book's addresses, with room for three more.
        slots: its hash table.
        used: how many it holds.
        block: the flow records under construction; columns no FlowMessage has keep their defaults.
        row: the row to write.
    """
    if not fields(data, start, end, known, values, lengths):
        return MALFORMED
    reason = refusal(values, lengths)
    if reason != FINE:
        return reason
    notes[NOTE_UNKNOWN_FIELDS] += values[UNKNOWN_FIELDS]
    notes[NOTE_FRAMES] += values[TYPE] == SFLOW_5 and lengths[LAYER_STACK] > 0
    notes[NOTE_EXPORT_SECOND] += (
        (values[TYPE] == NETFLOW_V9 or values[TYPE] == IPFIX)
        and values[PACKETS] > 1
        and values[TIME_FLOW_START_NS] == values[TIME_FLOW_END_NS]
        and values[TIME_FLOW_START_NS] % SECOND_NS == 0
    )
    sampler_bytes = lengths[SAMPLER_ADDRESS]
    sampler = code(data, values[SAMPLER_ADDRESS], sampler_bytes, words, slots, used)
    notes[NOTE_BAD_SAMPLER] += sampler_bytes > 0 and sampler < 0
    block["src_addr"][row] = code(data, values[SRC_ADDR], lengths[SRC_ADDR], words, slots, used)
    block["dst_addr"][row] = code(data, values[DST_ADDR], lengths[DST_ADDR], words, slots, used)
    block["sampler_address"][row] = sampler
    block["time_received_ns"][row] = values[TIME_RECEIVED_NS]
    block["time_flow_start_ns"][row] = values[TIME_FLOW_START_NS]
    block["time_flow_end_ns"][row] = values[TIME_FLOW_END_NS]
    block["observation_domain_id"][row] = values[OBSERVATION_DOMAIN_ID] & 0xFFFFFFFF
    block["src_port"][row] = values[SRC_PORT]
    block["dst_port"][row] = values[DST_PORT]
    block["proto"][row] = values[PROTO]
    block["bytes"][row] = values[BYTES]
    block["packets"][row] = values[PACKETS]
    block["sampling_rate"][row] = values[SAMPLING_RATE]
    block["in_if"][row] = values[IN_IF]
    block["out_if"][row] = values[OUT_IF]
    direction = values[FLOW_DIRECTION]
    block["flow_direction"][row] = direction if 0 <= direction <= 1 else 255
    block["ip_tos"][row] = values[IP_TOS]
    block["tcp_flags"][row] = values[TCP_FLAGS]
    return FINE
