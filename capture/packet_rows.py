"""What one sampled packet says of congestion and RoCE, to columns of `FLOWS`."""

from __future__ import annotations

from collections.abc import Mapping

from capture.blocks import Block
from capture.compiled import compiled, wide
from capture.headers import is_congested
from capture.roce import CNP, is_negative
from capture.wire import ABSENT, Record
from datamodel.frame import Array

PACKET_COLUMNS = (
    "message_bytes", "ecn_ce_packets", "dst_qp", "psn_first", "roce_opcode_first", "cnp_packets", "nak_packets",
)  # fmt: skip


def last_as_first(columns: Mapping[str, Array]) -> dict[str, Array]:
    """The columns of records of which one packet is known, with what tells of the last packet: it is the first."""
    return {**columns, "psn_last": columns["psn_first"], "roce_opcode_last": columns["roce_opcode_first"]}


@compiled
def packet_row(packet: Record, block: Block, row: int) -> None:
    """Write what a packet says besides its flow; of one that is not RoCE, that it says nothing."""
    opcode = packet["opcode"]
    number = packet["sequence"] if opcode >= 0 and opcode != CNP else wide(ABSENT)  # a CNP's number says nothing
    block["message_bytes"][row] = packet["message_bytes"]
    block["ecn_ce_packets"][row] = 1 if is_congested(packet["tos"]) else 0
    block["dst_qp"][row] = packet["queue_pair"]
    block["psn_first"][row] = number
    block["roce_opcode_first"][row] = opcode
    block["cnp_packets"][row] = 1 if opcode == CNP else 0
    block["nak_packets"][row] = 1 if is_negative(packet["syndrome"]) else 0


@compiled
def no_packet(block: Block, row: int) -> None:
    """Write the columns of a row that no packet belongs to: their defaults."""
    block["message_bytes"][row] = 0
    block["ecn_ce_packets"][row] = 0
    block["dst_qp"][row] = ABSENT
    block["psn_first"][row] = ABSENT
    block["roce_opcode_first"][row] = ABSENT
    block["cnp_packets"][row] = 0
    block["nak_packets"][row] = 0
