"""What one sampled packet says of congestion and RoCE, to columns of `FLOWS`."""

from __future__ import annotations

from collections.abc import Mapping

from capture.jit import jit, wide
from capture.packets.headers import is_congested
from capture.packets.packet_columns import ABSENT, Record
from capture.packets.roce import CNP, TRAITS, UNNUMBERED, is_negative
from capture.tables.row_blocks import Block
from datamodel.frame import Array

PACKET_COLUMNS = (
    "message_bytes", "ecn_ce_packets", "dst_qp", "psn_first", "roce_opcode_first", "cnp_packets", "nak_packets",
    "trimmed_packets", "network",
)  # fmt: skip


def last_as_first(columns: Mapping[str, Array]) -> dict[str, Array]:
    """Add the last-packet columns to records of a single packet: it is also the first."""
    return {**columns, "psn_last": columns["psn_first"], "roce_opcode_last": columns["roce_opcode_first"]}


@jit
def packet_row(packet: Record, block: Block, row: int) -> None:
    """Write what a packet says besides its flow; of one that is not RoCE, that it says nothing."""
    opcode = packet["opcode"]
    numbered = opcode >= 0 and TRAITS[opcode] & UNNUMBERED == 0 and not packet["trimmed"]
    number = packet["sequence"] if numbered else wide(ABSENT)
    block["message_bytes"][row] = packet["message_bytes"]
    block["ecn_ce_packets"][row] = 1 if is_congested(packet["tos"]) else 0
    block["dst_qp"][row] = packet["queue_pair"]
    block["psn_first"][row] = number
    block["roce_opcode_first"][row] = opcode
    block["cnp_packets"][row] = 1 if opcode == CNP else 0
    block["nak_packets"][row] = 1 if is_negative(packet["syndrome"]) else 0
    block["trimmed_packets"][row] = packet["trimmed"]
    block["network"][row] = packet["network"]


@jit
def no_packet(block: Block, row: int) -> None:
    """Write the columns of a row that no packet belongs to: their defaults."""
    block["message_bytes"][row] = 0
    block["ecn_ce_packets"][row] = 0
    block["dst_qp"][row] = ABSENT
    block["psn_first"][row] = ABSENT
    block["roce_opcode_first"][row] = ABSENT
    block["cnp_packets"][row] = 0
    block["nak_packets"][row] = 0
    block["trimmed_packets"][row] = 0
    block["network"][row] = 0
