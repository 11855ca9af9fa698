"""Flow records: source, destination, volume, time span, observation point, sampling rate.

Column names are GoFlow2's, so that its dumps load as they are. Addresses are text in files and, in memory, codes
into the frame's address book.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from datamodel.frame import Column, Frame, Schema

TCP, UDP = 6, 17
ROCE_V2_PORT, UET_PORT = 4791, 4793

# Columns, of flow records and of other tables, whose codes point into an address book.
ADDRESS_COLUMNS = ("src_addr", "dst_addr", "sampler_address")

FLOWS = Schema(
    "flows",
    (
        Column("time_received_ns", "i8", "ns", "when the record or packet reached the collector, UTC", False),
        Column("time_flow_start_ns", "i8", "ns", "first packet, UTC"),
        Column("time_flow_end_ns", "i8", "ns", "last packet, UTC"),
        Column("sampler_address", "i4", "code", "exporter's agent address; -1 unknown", False, -1),
        Column("observation_domain_id", "u4", "", "observation domain, source id, engine or sub-agent", False),
        Column("src_addr", "i4", "code", "sender"),
        Column("dst_addr", "i4", "code", "receiver"),
        Column("network", "i8", "", "VXLAN, Geneve or NVGRE network, or VRF, of the addresses; 0 none known", False),
        Column("src_port", "u2", "", "transport source port", False),
        Column("dst_port", "u2", "", "transport destination port", False),
        Column("proto", "u1", "", "IP protocol number", False),
        Column("bytes", "i8", "B", "IP bytes as exported, not scaled by the sampling rate"),
        Column("packets", "i8", "", "packets as exported, not scaled", False),
        Column("sampling_rate", "i8", "", "1 in N; 0 unknown, 1 unsampled or already scaled", False, 1),
        Column("prescaled", "?", "", "bytes and packets were scaled by the sender", False),
        Column("in_if", "i8", "", "input interface index", False),
        Column("out_if", "i8", "", "output interface index", False),
        Column("flow_direction", "u1", "", "0 ingress, 1 egress, 255 unknown", False, 255),
        Column("ip_tos", "u1", "", "DSCP and ECN of the first packet", False),
        Column("tcp_flags", "u2", "", "union of the TCP flags seen", False),
        Column("src_qp", "i8", "", "source queue pair; -1 unknown (it is not on the wire)", False, -1),
        Column("dst_qp", "i8", "", "destination queue pair, or UET context of the sender; -1 none", False, -1),
        Column("psn_first", "i8", "", "packet sequence number of the first packet, modulo 2^24; -1 none", False, -1),
        Column("psn_last", "i8", "", "packet sequence number of the last packet; -1 none", False, -1),
        Column("tcp_seq_first", "i8", "", "TCP sequence number of the first packet, modulo 2^32; -1 none", False, -1),
        Column(
            "roce_opcode_first",
            "i2",
            "",
            "BTH opcode of the first packet, or 256 + UET type; -1 none",
            False,
            -1,
        ),
        Column("roce_opcode_last", "i2", "", "BTH opcode of the last packet; -1 none", False, -1),
        Column("message_bytes", "i8", "B", "RETH DMA lengths that begin in this record, summed", False),
        Column("ecn_ce_packets", "i8", "", "packets that carry congestion experienced", False),
        Column("cnp_packets", "i8", "", "congestion notification packets", False),
        Column("nak_packets", "i8", "", "negative acknowledgements", False),
        Column("trimmed_packets", "i8", "", "packets whose payload a switch cut off instead of dropping them", False),
        Column("retransmitted_packets", "i8", "", "packets whose payload had all been seen before", False),
        Column("time_uncertainty_ns", "i8", "ns", "half width of what the two times may be off", False),
        Column(
            "payload_bytes",
            "i8",
            "B",
            "transport payload seen for the first time (retransmissions left out); -1 not known (not a packet feed)",
            False,
            -1,
        ),
        Column(
            "time_acknowledged_ns",
            "i8",
            "ns",
            "when the receiver acknowledged the record's last payload byte, as seen next to the receiver; 0 unknown",
            False,
        ),
        Column("metered", "?", "", "a meter put packets that followed within its timeouts into this record", False),
    ),
)


@dataclass(frozen=True, slots=True)
class Flows:
    """Flow records and the address book that their address codes point into.

    `addresses` is sorted and holds each address once, in canonical text form, so that equal sets of records give
    equal codes whatever the order of rows.
    """

    frame: Frame
    addresses: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.frame)

    def take(self, rows: npt.ArrayLike) -> Flows:
        """Some of the rows; the address book stays whole."""
        return Flows(self.frame.take(rows), self.addresses)


@dataclass(frozen=True, slots=True)
class IngestNotes:
    """What reading the inputs left to say: counts by reason, and warnings for people."""

    rejected: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def mark_metered(frame: Frame) -> Frame:
    """Records of exporters, marked where a meter made them: of several packets, which no mirror cut, only meters do."""
    return frame.replace(metered=(frame["packets"] > 1) & (frame["payload_bytes"] < 0))


def recode(frame: Frame, addresses: tuple[str, ...]) -> Flows:
    """Flows in canonical form: address book sorted and without unused or repeated entries.

    Args:
        frame: rows of `FLOWS` whose address columns are codes into `addresses`.
        addresses: address of each code; may be unsorted and may repeat.
    """
    met = np.zeros(len(addresses) + 1, np.bool_)  # the last entry serves the code -1
    for name in ADDRESS_COLUMNS:
        met[frame[name]] = True
    used = np.flatnonzero(met[:-1]).tolist()
    book = tuple(sorted({addresses[i] for i in used}))
    place = {a: i for i, a in enumerate(book)}
    table = np.full(len(addresses) + 1, -1, np.int32)
    table[used] = [place[addresses[i]] for i in used]
    return Flows(frame.recoded(table, ADDRESS_COLUMNS), book)
