"""Why a datagram, a sample or a structure was left out; codes into `EXPORTER["rejected"]`."""

from __future__ import annotations

from capture.packets.packet_columns import REASONS as PACKET_REASONS

(
    FINE,
    CUT_DATAGRAM,
    UNKNOWN_AGENT,
    TOO_LONG,
    CAPTURE_CUT,
    SAMPLES_MISSING,
    BYTES_LEFT,
    LONG_SAMPLE,
    SHORT_SAMPLE,
    UNKNOWN_SAMPLE,
    STRUCTURES_MISSING,
    LONG_STRUCTURE,
    SHORT_STRUCTURE,
    UNKNOWN_STRUCTURE,
    NO_PACKET,
    UNKNOWN_HEADER,
    NO_COUNTED_INTERFACE,
    SOURCES_FULL,
    THINNED,
    FIRST_PACKET_REASON,
) = range(20)

# Of samples that a collector leaves out on purpose (`capture.sflow.thinning`): rates of the others make up for them.
THINNED_SAMPLES = "sFlow flow sample thinned out, since the collector could not keep up"

REASONS = (
    "",
    "sFlow datagram cut off before its samples",
    "sFlow agent address that is neither IPv4 nor IPv6",
    "sFlow datagram longer than UDP can carry; the rest was not read",
    "sFlow datagram cut by the capture; samples behind the cut are missing",
    "sFlow datagram that ends before the samples it announces",
    "sFlow datagram with bytes behind its last sample",
    "sFlow sample longer than its datagram",
    "sFlow sample too short for its own fields",
    "sFlow sample of unknown type",
    "sFlow sample that ends before the structures it announces",
    "sFlow structure longer than its sample",
    "sFlow structure too short for its own fields",
    "sFlow structure carried nowhere (unknown type)",
    "sFlow flow sample without packet header or IP data",
    "sFlow sampled header of a protocol that is not decoded",
    "sFlow pause counters of what is no interface",
    "sFlow data source of one too many; its rate is not checked",
    THINNED_SAMPLES,
    *(f"sFlow sampled header: {reason}" if reason else "sFlow sampled header" for reason in PACKET_REASONS),
)
