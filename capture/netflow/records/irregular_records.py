"""Peculiar records, settled in the matrix: two address families, two directions, events, packet sections."""

from __future__ import annotations

from capture.jit import jit, wide
from capture.netflow.wire.netflow_layout import (
    BIFLOW,
    BOTH_FAMILIES,
    BYTES,
    BYTES_OUT,
    DESTINATION,
    DESTINATION_OTHER,
    DIRECTION,
    DST_PORT,
    DURATION,
    END,
    EVENTS,
    IN_IF,
    IP_SECTION,
    OUT_IF,
    PACKETS,
    PACKETS_OUT,
    PROTO,
    REVERSE_BYTES,
    REVERSE_DURATION,
    REVERSE_END,
    REVERSE_PACKETS,
    REVERSE_START,
    REVERSE_TCP_FLAGS,
    REVERSE_TOS,
    SECTION,
    SECTION_BYTES,
    SECTIONED,
    SOURCE,
    SOURCE_OTHER,
    SRC_PORT,
    START,
    TARGETS,
    TCP_FLAGS,
    TOS,
    Row,
    Tables,
    Words,
)
from capture.netflow.wire.reasons import EVENT, FIRST_PACKET_REASON, NO_SECTION
from capture.packets.packet import clear, frame_packet
from capture.packets.packet_columns import Packets
from capture.packets.packet_rows import no_packet, packet_row
from capture.tables.read_buffer import Bytes
from capture.tables.row_blocks import Block

# Columns of a flow that a packet section fills.
SECTION_TELLS = (
    1 << SOURCE | 1 << DESTINATION | 1 << SRC_PORT | 1 << DST_PORT | 1 << PROTO | 1 << BYTES | 1 << PACKETS
    | 1 << TOS | 1 << TCP_FLAGS
)  # fmt: skip
_BACK = (
    (BYTES, REVERSE_BYTES), (PACKETS, REVERSE_PACKETS), (START, REVERSE_START), (END, REVERSE_END),
    (DURATION, REVERSE_DURATION), (TOS, REVERSE_TOS), (TCP_FLAGS, REVERSE_TCP_FLAGS),
)  # fmt: skip
COUNTED_BACK = 1 << BYTES | 1 << PACKETS  # what rows of both directions have, whichever of them is counted
_EXCHANGED = ((SOURCE, DESTINATION), (SOURCE + 1, DESTINATION + 1), (SRC_PORT, DST_PORT), (IN_IF, OUT_IF))
_LINK_ETHERNET, _LINK_RAW = 1, 101
_UNKNOWN_DIRECTION = 255


@jit
def expand_record(data: Bytes, tables: Tables, template: Row, column: int) -> int:
    """Settle the record loaded into `column`; how many columns from there on hold rows then: 0, 1 or 2."""
    matrix, flags = tables.matrix, template["flags"]
    rejected = tables.exporters[tables.progress[0]["exporter"]]["rejected"]
    if flags & EVENTS and not counted(matrix, template["present"], column):
        rejected[EVENT] += 1
        return 0
    if flags & BOTH_FAMILIES:
        choose_family(matrix, column)
    if flags & SECTIONED:
        reason = section(data, tables, template, column)
        if reason:
            rejected[reason] += 1
            return 0
    if flags & BIFLOW:
        present = wide(template["present"])
        return both_ways(matrix, present | SECTION_TELLS if flags & SECTIONED else present, column)
    return 1


@jit
def both_ways(matrix: Words, present: int, column: int) -> int:
    """Lay out the flows of a record that counts both directions; how many there are, one at least."""
    there = wide(0)
    for target in (BYTES, PACKETS):
        if present >> target & 1:
            there |= matrix[target, column]
        else:
            matrix[target, column] = 0
    if not reverse_flow(matrix, present, column):
        return 1
    if there:
        return 2
    for target in range(TARGETS):
        matrix[target, column] = matrix[target, column + 1]
    return 1


@jit
def counted(matrix: Words, present: int, column: int) -> bool:
    """Whether a record counts anything, in either direction."""
    for target in (BYTES, PACKETS, REVERSE_BYTES, REVERSE_PACKETS, BYTES_OUT, PACKETS_OUT):
        if present >> target & 1 and matrix[target, column]:
            return True
    return False


@jit
def choose_family(matrix: Words, column: int) -> None:
    """Take the IPv4 addresses of a record unless they are empty.

    Where both families are filled in, IPv4 travelled inside IPv6 (Cisco's SRv6 records).
    """
    if (matrix[SOURCE_OTHER + 1, column] | matrix[DESTINATION_OTHER + 1, column]) & 0xFFFFFFFF == 0:
        return
    for offset in range(2):
        matrix[SOURCE + offset, column] = matrix[SOURCE_OTHER + offset, column]
        matrix[DESTINATION + offset, column] = matrix[DESTINATION_OTHER + offset, column]


@jit
def reverse_flow(matrix: Words, present: int, column: int) -> bool:
    """Make the next column the flow in the reverse direction (RFC 5103); False where nothing went that way."""
    back_bytes = matrix[REVERSE_BYTES, column] if present >> REVERSE_BYTES & 1 else wide(0)
    back_packets = matrix[REVERSE_PACKETS, column] if present >> REVERSE_PACKETS & 1 else wide(0)
    if not back_bytes and not back_packets:
        return False
    for target in range(TARGETS):
        matrix[target, column + 1] = matrix[target, column]
    for one, other in _EXCHANGED:
        matrix[one, column + 1] = matrix[other, column]
        matrix[other, column + 1] = matrix[one, column]
    matrix[BYTES, column + 1] = 0
    matrix[PACKETS, column + 1] = 0
    for target, reverse in _BACK:
        if present >> reverse & 1:
            matrix[target, column + 1] = matrix[reverse, column]
    matrix[DIRECTION, column + 1] = _UNKNOWN_DIRECTION
    return True


@jit
def section(data: Bytes, tables: Tables, template: Row, column: int) -> int:
    """Fill a column from a packet's first bytes (dataLinkFrameSection, ipHeaderPacketSection); 0 or the reason."""
    matrix, packet, present = tables.matrix, tables.packets[column], template["present"]
    at, size = matrix[SECTION, column], matrix[SECTION + 1, column]
    if size == 0:
        return NO_SECTION
    sent = matrix[SECTION_BYTES, column] & 0xFFFF if present >> SECTION_BYTES & 1 else wide(0)
    link = _LINK_RAW if template["flags"] & IP_SECTION else _LINK_ETHERNET
    clear(packet)
    reason = frame_packet(data, at, at + size, at + max(size, sent), link, packet)
    if reason:
        return FIRST_PACKET_REASON + reason
    matrix[SOURCE, column] = packet["src_high"]
    matrix[SOURCE + 1, column] = packet["src_low"]
    matrix[DESTINATION, column] = packet["dst_high"]
    matrix[DESTINATION + 1, column] = packet["dst_low"]
    matrix[SRC_PORT, column] = packet["src_port"]
    matrix[DST_PORT, column] = packet["dst_port"]
    matrix[PROTO, column] = packet["proto"]
    matrix[TOS, column] = packet["tos"]
    matrix[TCP_FLAGS, column] = packet["tcp_flags"]
    if not present >> BYTES & 1:
        matrix[BYTES, column] = packet["ip_bytes"]
    if not present >> PACKETS & 1:
        matrix[PACKETS, column] = 1
    return 0


@jit
def section_rows(packets: Packets, block: Block, row: int, rows: int) -> None:
    """Write what the packets of `rows` rows say besides their flows."""
    for i in range(rows):
        packet_row(packets[i], block, row + i)


@jit
def rows_without_section(block: Block, row: int, rows: int) -> None:
    """Write that `rows` rows, which share the block with some of packet sections, have no packet."""
    for i in range(row, row + rows):
        no_packet(block, i)
