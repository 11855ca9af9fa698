"""sFlow datagrams as they were on the wire: header, samples and the structures inside, with uninterpreted values.

Every function takes the bytes and the positions [at, end) it may read; what does not fit is answered with a reason
code (`capture.sflow.reasons`). All lengths are checked here, and every step goes forward by at least eight bytes, so
that the time for a datagram is linear in its bytes whatever counts it claims. Source: sFlow version 5, section 5.
"""

from __future__ import annotations

import numpy as np

from capture.jit import jit, wide
from capture.packets.headers import ETHERNET, MAPPED, be16, be32, be64, beneath_labels
from capture.packets.packet_columns import Record
from capture.sflow.reasons import (
    CAPTURE_CUT,
    CUT_DATAGRAM,
    FINE,
    LONG_STRUCTURE,
    SHORT_SAMPLE,
    SHORT_STRUCTURE,
    STRUCTURES_MISSING,
    UNKNOWN_AGENT,
    UNKNOWN_STRUCTURE,
)
from capture.sflow.sflow_layout import (
    ADDRESS_IPV4,
    ADDRESS_IPV6,
    BROADCOM_EGRESS_QUEUE,
    COUNTER_SAMPLE,
    COUNTER_SAMPLE_BYTES,
    COUNTER_SAMPLE_EXPANDED_BYTES,
    DISCARDED_PACKET,
    DISCARDED_PACKET_BYTES,
    EGRESS_QUEUE,
    FLOW_SAMPLE,
    FLOW_SAMPLE_BYTES,
    FLOW_SAMPLE_EXPANDED_BYTES,
    HEADER,
    HEADER_FIELDS_BYTES,
    HOST_CPU,
    HOST_CPU_BYTES,
    HOST_MEMORY,
    HOST_MEMORY_BYTES,
    IF_COUNTERS,
    IF_COUNTERS_BYTES,
    IPV4_DATA,
    IPV4_DATA_BYTES,
    IPV4_HEADER,
    IPV6_DATA,
    IPV6_DATA_BYTES,
    IPV6_HEADER,
    KNOWN_COUNTER,
    KNOWN_COUNTER_ELSEWHERE,
    KNOWN_FLOW,
    LINK_ETHERNET,
    LINK_RAW,
    MPLS_HEADER,
    NVIDIA_GPU,
    NVIDIA_GPU_BYTES,
    PFC_COUNTERS,
    PFC_COUNTERS_BYTES,
    POS_HEADER,
    PPP_HEADER,
    QUEUE_DEPTH,
    TIMESTAMP,
)
from capture.tables.read_buffer import Bytes

ABSENT = -1  # in all positions and in `queue`, `queue_depth` and `stamp_ns`

HEAD = np.dtype(
    [
        ("agent_high", "i8"),  # address as two signed 64-bit words; IPv4 is IPv4-mapped
        ("agent_low", "i8"),
        ("sub_agent", "i8"),
        ("sequence", "i8"),
        ("uptime_ms", "i8"),
        ("samples", "i8"),  # as many as it says it holds
        ("at", "i8"),  # where the first one begins
    ]
)

SAMPLE = np.dtype(
    [
        ("sequence", "i8"),
        ("source_class", "i8"),
        ("source_index", "i8"),
        ("sampling_rate", "i8"),
        ("pool", "i8"),
        ("drops", "i8"),
        ("in_format", "i8"),
        ("in_value", "i8"),
        ("out_format", "i8"),
        ("out_value", "i8"),
        ("reason", "i8"),  # of a discarded packet
        ("structures", "i8"),  # as many as it says it holds
        ("at", "i8"),  # where the first one begins
        # Positions of structures' contents; the first of each kind.
        ("header_at", "i8"),
        ("header_end", "i8"),
        ("ipv4_at", "i8"),
        ("ipv6_at", "i8"),
        ("interface_at", "i8"),
        ("pause_at", "i8"),
        ("cpu_at", "i8"),
        ("memory_at", "i8"),
        ("gpu_at", "i8"),
        ("stamp_ns", "i8"),
        ("queue", "i8"),
        ("queue_depth", "i8"),
        ("fault", "i8"),  # why its structures could not all be walked; FINE where they could
        ("unknown", "i8"),  # structures of unknown type
        ("short", "i8"),  # structures too short for their own fields
    ]
)


@jit
def datagram_head(data: Bytes, at: int, end: int, head: Record) -> int:
    """Fill `head` (`HEAD`) from a datagram's header; the answer is FINE or the reason why nothing of it is known."""
    if at + 12 > end:
        return CUT_DATAGRAM
    kind = be32(data, at + 4)
    if kind == ADDRESS_IPV4:
        head["agent_high"] = 0
        head["agent_low"] = MAPPED | be32(data, at + 8)
        at += 12
    elif kind == ADDRESS_IPV6:
        if at + 24 > end:
            return CUT_DATAGRAM
        head["agent_high"] = be64(data, at + 8)
        head["agent_low"] = be64(data, at + 16)
        at += 24
    else:
        return UNKNOWN_AGENT
    if at + 16 > end:
        return CUT_DATAGRAM
    head["sub_agent"] = be32(data, at)
    head["sequence"] = be32(data, at + 4)
    head["uptime_ms"] = be32(data, at + 8)
    head["samples"] = be32(data, at + 12)
    head["at"] = at + 16
    return FINE


@jit
def compact_source(data: Bytes, at: int, sample: Record) -> None:
    """A data source as one word: eight bits of class, the others of index."""
    source = be32(data, at)
    sample["source_class"] = source >> 24
    sample["source_index"] = source & 0xFFFFFF


@jit
def expanded_source(data: Bytes, at: int, sample: Record) -> None:
    """A data source as two words."""
    sample["source_class"] = be32(data, at)
    sample["source_index"] = be32(data, at + 4)


@jit
def frame_fields(data: Bytes, at: int, size: int, sample: Record) -> None:
    """What the fields of every sample, `size` bytes of them, begin and end with."""
    sample["sequence"] = be32(data, at)
    sample["structures"] = be32(data, at + size - 4)
    sample["at"] = at + size


@jit
def flow_fields(data: Bytes, kind: int, at: int, end: int, sample: Record) -> int:
    """Fill `sample` from the fields of a flow sample, an expanded one or a discarded packet; FINE or the reason."""
    if kind == FLOW_SAMPLE:
        if at + FLOW_SAMPLE_BYTES > end:
            return SHORT_SAMPLE
        compact_source(data, at + 4, sample)
        inward, outward = be32(data, at + 20), be32(data, at + 24)
        sample["sampling_rate"] = be32(data, at + 8)
        sample["pool"] = be32(data, at + 12)
        sample["drops"] = be32(data, at + 16)
        sample["in_format"] = inward >> 30
        sample["in_value"] = inward & 0x3FFFFFFF
        sample["out_format"] = outward >> 30
        sample["out_value"] = outward & 0x3FFFFFFF
        size = wide(FLOW_SAMPLE_BYTES)
    elif kind == DISCARDED_PACKET:
        if at + DISCARDED_PACKET_BYTES > end:
            return SHORT_SAMPLE
        expanded_source(data, at + 4, sample)
        sample["drops"] = be32(data, at + 12)
        sample["in_format"] = 0
        sample["in_value"] = be32(data, at + 16)
        sample["out_format"] = 0
        sample["out_value"] = be32(data, at + 20)
        sample["reason"] = be32(data, at + 24)
        size = wide(DISCARDED_PACKET_BYTES)
    else:
        if at + FLOW_SAMPLE_EXPANDED_BYTES > end:
            return SHORT_SAMPLE
        expanded_source(data, at + 4, sample)
        sample["sampling_rate"] = be32(data, at + 12)
        sample["pool"] = be32(data, at + 16)
        sample["drops"] = be32(data, at + 20)
        sample["in_format"] = be32(data, at + 24)
        sample["in_value"] = be32(data, at + 28)
        sample["out_format"] = be32(data, at + 32)
        sample["out_value"] = be32(data, at + 36)
        size = wide(FLOW_SAMPLE_EXPANDED_BYTES)
    frame_fields(data, at, size, sample)
    return FINE


@jit
def counter_fields(data: Bytes, kind: int, at: int, end: int, sample: Record) -> int:
    """Fill `sample` from the fields of a counter sample or an expanded one; FINE or the reason."""
    if kind == COUNTER_SAMPLE:
        if at + COUNTER_SAMPLE_BYTES > end:
            return SHORT_SAMPLE
        compact_source(data, at + 4, sample)
        size = wide(COUNTER_SAMPLE_BYTES)
    else:
        if at + COUNTER_SAMPLE_EXPANDED_BYTES > end:
            return SHORT_SAMPLE
        expanded_source(data, at + 4, sample)
        size = wide(COUNTER_SAMPLE_EXPANDED_BYTES)
    frame_fields(data, at, size, sample)
    return FINE


@jit
def flow_structures(data: Bytes, end: int, cut: bool, sample: Record) -> None:
    """Walk the structures of a flow sample that ends at `end`, and note in `sample` where they lie.

    Args:
        data: the bytes.
        end: where the sample ends, or where the capture cut it.
        cut: whether the capture cut it.
        sample: its row, filled by `flow_fields`.
    """
    sample["header_at"] = ABSENT
    sample["ipv4_at"] = ABSENT
    sample["ipv6_at"] = ABSENT
    sample["stamp_ns"] = ABSENT
    sample["queue"] = ABSENT
    sample["queue_depth"] = ABSENT
    sample["fault"] = FINE
    sample["unknown"] = 0
    sample["short"] = 0
    at, left = sample["at"], sample["structures"]
    while left > 0 and at + 8 <= end:
        word, size = be32(data, at), be32(data, at + 4)
        at += 8
        stop = at + size
        if stop > end:
            sample["fault"] = CAPTURE_CUT if cut else LONG_STRUCTURE
            if cut and word == HEADER and sample["header_at"] < 0:
                sample_header(data, at, end, sample)
            return
        if word == HEADER:
            if sample["header_at"] < 0:
                sample_header(data, at, stop, sample)
        elif word > 0xFFF and word != BROADCOM_EGRESS_QUEUE:
            sample["unknown"] += 1
        elif word <= IPV6_DATA or word >= EGRESS_QUEUE:
            flow_structure(data, word, at, size, sample)
        elif not KNOWN_FLOW[word]:
            sample["unknown"] += 1
        at = stop + (-size & 3)
        left -= 1
    if left > 0:
        sample["fault"] = CAPTURE_CUT if cut else STRUCTURES_MISSING


@jit
def sample_header(data: Bytes, at: int, end: int, sample: Record) -> None:
    """Note where a sampled header lies; `header_end` is where its bytes end, of those before `end`."""
    if at + HEADER_FIELDS_BYTES > end:
        sample["short"] += 1
        return
    stop = at + HEADER_FIELDS_BYTES + be32(data, at + 12)
    if stop > end:
        sample["short"] += 1
        stop = end
    sample["header_at"] = at
    sample["header_end"] = stop


@jit
def flow_structure(data: Bytes, word: int, at: int, size: int, sample: Record) -> None:
    """Note what a structure of enterprise 0 other than a sampled header says, where something is made of it."""
    if size < needed_bytes(word):
        sample["short"] += 1
    elif word == IPV4_DATA:
        if sample["ipv4_at"] < 0:
            sample["ipv4_at"] = at
    elif word == IPV6_DATA:
        if sample["ipv6_at"] < 0:
            sample["ipv6_at"] = at
    elif word == TIMESTAMP:
        sample["stamp_ns"] = max(be64(data, at), wide(0))
    elif word in (EGRESS_QUEUE, BROADCOM_EGRESS_QUEUE):
        sample["queue"] = be32(data, at)
    elif word == QUEUE_DEPTH:
        sample["queue_depth"] = be32(data, at)
    elif not KNOWN_FLOW[word]:
        sample["unknown"] += 1


@jit
def needed_bytes(word: int) -> int:
    """Return the minimum size of a flow structure that is decoded; 0 for others."""
    if word == IPV4_DATA:
        return IPV4_DATA_BYTES
    if word == IPV6_DATA:
        return IPV6_DATA_BYTES
    if word == TIMESTAMP:
        return 8
    return 4 if word in (EGRESS_QUEUE, BROADCOM_EGRESS_QUEUE, QUEUE_DEPTH) else 0


@jit
def counter_structures(data: Bytes, end: int, cut: bool, sample: Record) -> None:
    """Walk the structures of a counter sample that ends at `end`; arguments as for `flow_structures`."""
    sample["interface_at"] = ABSENT
    sample["pause_at"] = ABSENT
    sample["cpu_at"] = ABSENT
    sample["memory_at"] = ABSENT
    sample["gpu_at"] = ABSENT
    sample["fault"] = FINE
    sample["unknown"] = 0
    sample["short"] = 0
    at, left = sample["at"], sample["structures"]
    while left > 0 and at + 8 <= end:
        word, size = be32(data, at), be32(data, at + 4)
        at += 8
        if at + size > end:
            sample["fault"] = CAPTURE_CUT if cut else LONG_STRUCTURE
            return
        needed = needed_counter_bytes(word)
        if size < needed:
            sample["short"] += 1
        elif needed:
            counter_structure(word, at, sample)
        elif not is_known_counter(word):
            sample["unknown"] += 1
        at += size + (-size & 3)
        left -= 1
    if left > 0:
        sample["fault"] = CAPTURE_CUT if cut else STRUCTURES_MISSING


@jit
def needed_counter_bytes(word: int) -> int:
    """Return the minimum size of a counter structure that is decoded; 0 for others."""
    if word == IF_COUNTERS:
        return IF_COUNTERS_BYTES
    if word == PFC_COUNTERS:
        return PFC_COUNTERS_BYTES
    if word == HOST_CPU:
        return HOST_CPU_BYTES
    if word == HOST_MEMORY:
        return HOST_MEMORY_BYTES
    return NVIDIA_GPU_BYTES if word == NVIDIA_GPU else 0


@jit
def counter_structure(word: int, at: int, sample: Record) -> None:
    """Note where the first structure of a kind that is decoded lies."""
    if word == IF_COUNTERS:
        if sample["interface_at"] < 0:
            sample["interface_at"] = at
    elif word == PFC_COUNTERS:
        if sample["pause_at"] < 0:
            sample["pause_at"] = at
    elif word == HOST_CPU:
        if sample["cpu_at"] < 0:
            sample["cpu_at"] = at
    elif word == HOST_MEMORY:
        if sample["memory_at"] < 0:
            sample["memory_at"] = at
    elif sample["gpu_at"] < 0:
        sample["gpu_at"] = at


@jit
def is_known_counter(word: int) -> bool:
    """Whether the type word of a counter structure is one of `COUNTER_STRUCTURES`."""
    if word <= 0xFFF:
        return bool(KNOWN_COUNTER[word])
    found = False
    for known in KNOWN_COUNTER_ELSEWHERE:
        found = found or word == known
    return found


@jit
def doubts(sample: Record, rejected: Record) -> None:
    """Count in an exporter's `rejected` what was wrong with a sample's structures."""
    if sample["fault"]:
        rejected[sample["fault"]] += 1
    if sample["unknown"]:
        rejected[UNKNOWN_STRUCTURE] += sample["unknown"]
    if sample["short"]:
        rejected[SHORT_STRUCTURE] += sample["short"]


@jit
def header_link(data: Bytes, protocol: int, at: int, end: int) -> tuple[int, int]:
    """The link type by which `capture.packets.packet` knows a header that is not Ethernet's, and where to begin; or -1.

    An MPLS label stack (RFC 3032) and PPP framing (RFC 1661, 1662) are stepped over here, for they are no link types
    there.
    """
    if protocol in (IPV4_HEADER, IPV6_HEADER):
        return LINK_RAW, at
    if protocol == MPLS_HEADER:
        for _ in range(8):
            if at + 4 > end:
                return -1, at
            at += 4
            if data[at - 2] & 1:
                kind, at = beneath_labels(data, at, end)
                return (LINK_ETHERNET if kind == ETHERNET else LINK_RAW), at
    elif protocol in (PPP_HEADER, POS_HEADER):
        if at + 2 <= end and be16(data, at) in (0xFF03, 0x0F00):  # address and control of PPP or Cisco HDLC
            at += 2
        if at + 2 <= end and be16(data, at) in (0x0021, 0x0057, 0x0800, 0x86DD):  # IPv4 and IPv6 by either's numbers
            return LINK_RAW, at + 2
    return -1, at
