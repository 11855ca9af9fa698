"""Sampled packets to rows of `FLOWS`."""

from __future__ import annotations

from capture.jit import jit, wide
from capture.packets.headers import MAPPED, be32, be64
from capture.packets.packet import clear, frame_packet
from capture.packets.packet_columns import ABSENT, BAD_TRANSPORT, CUT_TRANSPORT, Record
from capture.packets.packet_rows import PACKET_COLUMNS, packet_row
from capture.sflow.reasons import FINE, FIRST_PACKET_REASON, NO_PACKET, UNKNOWN_HEADER
from capture.sflow.sflow_layout import ETHERNET_HEADER, HEADER_FIELDS_BYTES, LINK_ETHERNET
from capture.sflow.walk import header_link
from capture.tables.key_table import Words
from capture.tables.read_buffer import Bytes
from capture.tables.row_blocks import Block
from datamodel.telemetry.flows import TCP

# What `flow_row` and `name_ends` write. A record is one packet, so its last packet is its first.
FLOW_COLUMNS = (
    "time_received_ns", "time_flow_start_ns", "time_uncertainty_ns", "sampler_address",
    "observation_domain_id", "sampling_rate", "in_if", "out_if", "flow_direction", "src_addr", "dst_addr", "src_port",
    "dst_port", "proto", "bytes", "ip_tos", "tcp_flags", "tcp_seq_first", *PACKET_COLUMNS,
)  # fmt: skip


@jit
def sampled_packet(data: Bytes, sample: Record, packet: Record, agent: Record) -> int:
    """Fill `packet` from a sample's header or, where that has no IP packet, from its IP data; FINE or the reason.

    A header that ends inside the transport header still has addresses and size. It counts in `agent`.
    """
    clear(packet)
    reason = wide(NO_PACKET)
    at = sample["header_at"]
    if at >= 0:
        begin, end = at + HEADER_FIELDS_BYTES, sample["header_end"]
        link, inside = wide(LINK_ETHERNET), begin
        if be32(data, at) != ETHERNET_HEADER:
            link, inside = header_link(data, be32(data, at), begin, end)
        if link < 0:
            reason = wide(UNKNOWN_HEADER)
        else:
            wire_end = max(end, begin + be32(data, at + 4) - be32(data, at + 8))
            why = frame_packet(data, inside, end, wire_end, link, packet)
            if why in (0, CUT_TRANSPORT, BAD_TRANSPORT):
                agent["cut_headers"] += 1 if why or packet["header_cut"] else 0
                return FINE
            reason = wide(FIRST_PACKET_REASON + why)
    if sample["ipv4_at"] >= 0:
        ipv4_data(data, sample["ipv4_at"], packet)
        return FINE
    if sample["ipv6_at"] >= 0:
        ipv6_data(data, sample["ipv6_at"], packet)
        return FINE
    return reason


@jit
def ipv4_data(data: Bytes, at: int, packet: Record) -> None:
    """Fill `packet` from a sampled_ipv4 structure."""
    clear(packet)
    packet["src_high"] = 0
    packet["src_low"] = MAPPED | be32(data, at + 8)
    packet["dst_high"] = 0
    packet["dst_low"] = MAPPED | be32(data, at + 12)
    ip_data(data, at, at + 16, packet)


@jit
def ipv6_data(data: Bytes, at: int, packet: Record) -> None:
    """Fill `packet` from a sampled_ipv6 structure."""
    clear(packet)
    packet["src_high"] = be64(data, at + 8)
    packet["src_low"] = be64(data, at + 16)
    packet["dst_high"] = be64(data, at + 24)
    packet["dst_low"] = be64(data, at + 32)
    ip_data(data, at, at + 40, packet)


@jit
def ip_data(data: Bytes, at: int, ports_at: int, packet: Record) -> None:
    """Fill `packet` from what sampled_ipv4 and sampled_ipv6 have in common."""
    packet["ip_bytes"] = be32(data, at) & 0x7FFFFFFF
    packet["sequence"] = ABSENT
    packet["proto"] = be32(data, at + 4) & 0xFF
    packet["src_port"] = be32(data, ports_at) & 0xFFFF
    packet["dst_port"] = be32(data, ports_at + 4) & 0xFFFF
    packet["tcp_flags"] = be32(data, ports_at + 8) & 0x1FF
    packet["tos"] = be32(data, ports_at + 12) & 0xFF


@jit
def note_ends(packet: Record, ends: Words, k: int) -> None:
    """Keep the addresses of a datagram's flow record `k` for when their codes are looked up."""
    ends[k, 0] = packet["src_high"]
    ends[k, 1] = packet["src_low"]
    ends[k, 2] = packet["dst_high"]
    ends[k, 3] = packet["dst_low"]


@jit
def flow_row(packet: Record, moment: Record, block: Block, row: int) -> None:
    """Write one sampled packet, but for its addresses.

    Args:
        packet: the packet at hand.
        moment: when and where it was sampled.
        block: of flow records.
        row: which one of it.
    """
    block["time_received_ns"][row] = moment["arrival_ns"]
    block["time_flow_start_ns"][row] = moment["time_ns"]
    block["time_uncertainty_ns"][row] = moment["uncertainty_ns"]
    block["sampler_address"][row] = moment["sampler"]
    block["observation_domain_id"][row] = moment["domain"]
    block["sampling_rate"][row] = moment["sampling_rate"]
    block["in_if"][row] = moment["in_if"]
    block["out_if"][row] = moment["out_if"]
    block["flow_direction"][row] = moment["direction"]
    block["src_port"][row] = packet["src_port"]
    block["dst_port"][row] = packet["dst_port"]
    block["proto"][row] = packet["proto"]
    block["bytes"][row] = packet["ip_bytes"]
    block["ip_tos"][row] = packet["tos"]
    block["tcp_flags"][row] = packet["tcp_flags"]
    numbered = packet["proto"] == TCP and packet["src_port"] > 0  # without ports the header was cut before its numbers
    block["tcp_seq_first"][row] = packet["sequence"] if numbered else wide(ABSENT)
    packet_row(packet, block, row)
