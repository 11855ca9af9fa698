"""sFlow version 5 on the wire: samples and the heads of datagrams as rows of bytes, big-endian."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from capture.sflow.counter_structures import COUNTER_STRUCTURES
from capture.sflow.flow_structures import FLOW_STRUCTURES
from capture.sflow.sflow_layout import (
    ADDRESS_IPV4,
    COUNTER_SAMPLE,
    ETHERNET_HEADER,
    FLOW_SAMPLE,
    HEADER,
    IF_COUNTERS,
    TIMESTAMP,
    UNKNOWN_COUNTER,
)
from capture.sflow.structures import Member
from datamodel.reconstructed.streams import Int
from simulate.export.wire.packet_headers import CHECKSUM_BYTES, HEADER_BYTES, Rows

VERSION = 5
MASK32 = (1 << 32) - 1
# IANAifType of Ethernet; full duplex, and up by administration and in operation (section 5).
_ETHERNET_TYPE, _FULL_DUPLEX, _UP = 6, 1, 3
_TAG_BYTES = 8  # type and length before a sample or structure
_WORDS = {"u32": ">u4", "u64": ">u8"}

Layout = np.dtype[np.void]


def _layout(*names: str, members: tuple[Member, ...] = ()) -> Layout:
    """Words of the given names, then members of fixed length as `capture.sflow.structures` declares them."""
    fixed = [(name, _WORDS[kind]) for name, kind in members if isinstance(kind, str) and kind in _WORDS]
    return np.dtype([*((name, ">u4") for name in names), *fixed])


DATAGRAM_HEAD = _layout("version", "address_type", "agent", "sub_agent", "sequence", "uptime_ms", "samples")
FLOW_HEAD = _layout(
    "type", "size", "sequence", "source", "rate", "pool", "drops", "in_if", "out_if", "structures"
)  # fmt: skip
STAMP = _layout("type", "size", members=FLOW_STRUCTURES[0, TIMESTAMP][1])
SAMPLED_HEADER = _layout("type", "size", members=(*FLOW_STRUCTURES[0, HEADER][1], ("captured", "u32")))
COUNTER_HEAD = _layout("type", "size", "sequence", "source", "structures", "structure", "structure_size")
INTERFACE = _layout(members=COUNTER_STRUCTURES[0, IF_COUNTERS][1])


@dataclass(frozen=True, slots=True)
class FlowSamples:
    """Flow samples to be written; (n,) each.

    Attributes:
        sequence, source, rate, pool, in_if, out_if: fields of the sample.
        stamp_ns: of extended_timestamp; None where agents do not send it.
        frame_bytes: of the sampled packet's frame with its checksum.
        headers, header_bytes: (n, HEADER_BYTES) its first bytes, and how many of them there are.
    """

    sequence: Int
    source: Int
    rate: Int
    pool: Int
    in_if: Int
    out_if: Int
    stamp_ns: Int | None
    frame_bytes: Int
    headers: Rows
    header_bytes: Int


@dataclass(frozen=True, slots=True)
class PortCounters:
    """Interface counters to be written; (n,) each, as `if_counters` of the specification names them."""

    sequence: Int
    port: Int
    speed_bps: Int
    in_bytes: Int
    in_packets: Int
    out_bytes: Int
    out_packets: Int


def flow_samples(s: FlowSamples) -> tuple[Rows, Int]:
    """Rows of bytes, and how many of each count."""
    count = len(s.sequence)
    padded = s.header_bytes + (-s.header_bytes & 3)
    stamped = s.stamp_ns is not None
    before = STAMP.itemsize if stamped else 0
    held = SAMPLED_HEADER.itemsize + padded
    head = _filled(
        FLOW_HEAD, count, type=FLOW_SAMPLE, size=FLOW_HEAD.itemsize - _TAG_BYTES + before + held, sequence=s.sequence,
        source=s.source, rate=s.rate, pool=s.pool, in_if=s.in_if, out_if=s.out_if, structures=1 + stamped,
    )  # fmt: skip
    parts = [head]
    if s.stamp_ns is not None:
        parts.append(_filled(STAMP, count, type=TIMESTAMP, size=STAMP.itemsize - _TAG_BYTES, nanoseconds=s.stamp_ns))
    parts.append(
        _filled(
            SAMPLED_HEADER, count, type=HEADER, size=held - _TAG_BYTES, protocol=ETHERNET_HEADER,
            frame_length=s.frame_bytes, stripped=CHECKSUM_BYTES, captured=s.header_bytes,
        )
    )  # fmt: skip
    return np.concatenate([*parts, s.headers[:, :HEADER_BYTES]], axis=1), FLOW_HEAD.itemsize + before + held


def counter_samples(c: PortCounters) -> tuple[Rows, Int]:
    """Rows of bytes, and how many of each count."""
    count = len(c.port)
    size = COUNTER_HEAD.itemsize + INTERFACE.itemsize
    head = _filled(
        COUNTER_HEAD, count, type=COUNTER_SAMPLE, size=size - _TAG_BYTES, sequence=c.sequence, source=c.port,
        structures=1, structure=IF_COUNTERS, structure_size=INTERFACE.itemsize,
    )  # fmt: skip
    body = _filled(
        INTERFACE, count, ifIndex=c.port, ifType=_ETHERNET_TYPE, ifSpeed=c.speed_bps, ifDirection=_FULL_DUPLEX,
        ifStatus=_UP, ifInOctets=c.in_bytes, ifInUcastPkts=c.in_packets, ifInMulticastPkts=0, ifInBroadcastPkts=0,
        ifInUnknownProtos=UNKNOWN_COUNTER, ifOutOctets=c.out_bytes, ifOutUcastPkts=c.out_packets,
    )  # fmt: skip
    return np.concatenate([head, body], axis=1), np.full(count, size)


def datagram_heads(agent: Int, sequence: Int, uptime_ms: Int, samples: Int) -> Rows:
    """Heads of datagrams."""
    return _filled(
        DATAGRAM_HEAD, len(agent), version=VERSION, address_type=ADDRESS_IPV4, agent=agent, sequence=sequence,
        uptime_ms=uptime_ms, samples=samples,
    )  # fmt: skip


def _filled(layout: Layout, count: int, **fields: npt.NDArray[np.int64] | int) -> Rows:
    """Rows of a layout with the fields given, others zero; 32-bit counters wrap."""
    rows = np.zeros(count, layout)
    for name, values in fields.items():
        rows[name] = values if layout[name].itemsize > 4 else np.asarray(values) & MASK32
    return rows.view(np.uint8).reshape(count, layout.itemsize)
