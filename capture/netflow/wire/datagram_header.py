"""Headers of export datagrams: whose it is, whether it came before, and what clock its records go by."""

from __future__ import annotations

from capture.exporters.datagram import IPFIX, NETFLOW5, NETFLOW9
from capture.exporters.exporter_table import REFUSED, digest, exporter_of, is_copy, may_forget, uptime_fell
from capture.jit import jit, wide
from capture.netflow.wire.exporter_uptime import CLOCK_SET_NS, MILLISECOND_NS, SECOND_MS, SECOND_NS, narrow
from capture.netflow.wire.netflow_layout import (
    IPFIX_HEADER_BYTES,
    V5_HEADER_BYTES,
    V5_RECORD_BYTES,
    V9_HEADER_BYTES,
    Row,
    Tables,
)
from capture.netflow.wire.reasons import BAD_COUNT, BAD_LENGTH, BYTES_LEFT, CAPTURE_CUT, CLOCK_UNSET
from capture.packets.headers import be16, be32
from capture.tables.address_book import code_of
from capture.tables.key_table import FULL
from capture.tables.read_buffer import Bytes

# Outcomes of `open_datagram`.
OPENED, SKIPPED, NEW_EXPORTER, CROWDED = range(4)

# Datagrams that belong to no exporter; places in `Tables.unplaced` and texts.
CUT_HEADER = 0
UNPLACED = ("NetFlow or IPFIX datagram cut off inside its header",)

_SAMPLING_INTERVAL = 0x3FFF  # lower bits of NetFlow v5's sampling field; the upper two are its mode
_BOOT_RESOLUTION_NS = MILLISECOND_NS // 2


@jit
def header_bytes(protocol: int) -> int:
    """Size of a protocol's datagram header."""
    if protocol == NETFLOW5:
        return wide(V5_HEADER_BYTES)
    return wide(V9_HEADER_BYTES) if protocol == NETFLOW9 else wide(IPFIX_HEADER_BYTES)


@jit
def domain_of(data: Bytes, at: int, protocol: int) -> int:
    """Engine type and id (NetFlow v5), source id (v9) or observation domain (IPFIX)."""
    if protocol == NETFLOW5:
        return be16(data, at + 20)
    return be32(data, at + 16) if protocol == NETFLOW9 else be32(data, at + 12)


@jit
def sequence_of(data: Bytes, at: int, protocol: int) -> int:
    """The sequence number in a datagram's header."""
    if protocol == NETFLOW5:
        return be32(data, at + 16)
    return be32(data, at + 12) if protocol == NETFLOW9 else be32(data, at + 8)


@jit
def open_datagram(data: Bytes, datagram: Row, tables: Tables) -> int:
    """Begin with a datagram: fill in `progress`.

    Returns:
        OPENED; SKIPPED (another protocol's, a duplicate, or without a header); NEW_EXPORTER: the driver must fill in
        its row of `sources` first; CROWDED: it must make room for another exporter.
    """
    progress, protocol = tables.progress[0], wide(datagram["protocol"])
    if protocol not in (NETFLOW5, NETFLOW9, IPFIX):
        return SKIPPED
    at, size, header = wide(datagram["offset"]), wide(datagram["bytes"]), header_bytes(protocol)
    if size < header:
        tables.unplaced[CUT_HEADER] += 1
        return SKIPPED
    domain = domain_of(data, at, protocol)
    exporter = exporter_of(
        tables.exporters, tables.exporter_keys, protocol, datagram["source_high"], datagram["source_low"], domain
    )
    if exporter == FULL:
        if may_forget(tables.full, wide(datagram["time_ns"])):
            return CROWDED
        tables.full[REFUSED] += 1
        return SKIPPED
    progress["exporter"] = exporter
    if not tables.sources[exporter]["ready"]:
        return NEW_EXPORTER
    progress["sequence"] = sequence_of(data, at, protocol)
    progress["uptime_ms"] = be32(data, at + 4) if protocol != IPFIX else wide(0)
    progress["began_anew"] = 0
    if not progress["again"]:
        row, check = tables.exporters[exporter], digest(data, at, at + size)
        if is_copy(row, progress["sequence"], datagram["time_ns"], size, check):
            return SKIPPED
        if protocol != IPFIX:
            clock_ms = be32(data, at + 8) * SECOND_MS
            if clock_ms * MILLISECOND_NS < CLOCK_SET_NS:
                clock_ms = datagram["time_ns"] // MILLISECOND_NS
            progress["began_anew"] = 1 if uptime_fell(row, progress["uptime_ms"], clock_ms) else 0
    progress["protocol"] = protocol
    progress["domain"] = domain
    progress["port"] = datagram["source_port"]
    progress["in_session"] = datagram["in_session"]
    progress["received_ns"] = datagram["time_ns"]
    progress["header_bytes"] = header
    progress["records"] = 0
    progress["set_end"] = 0
    progress["set_at"] = at
    progress["header_at"] = at
    progress["template"] = -1
    progress["header_rate"] = be16(data, at + 22) & _SAMPLING_INTERVAL if protocol == NETFLOW5 else 0
    progress["at"] = at + header
    progress["sampler"] = code_of(tables.book, datagram["source_high"], datagram["source_low"])
    set_end(data, at, datagram, progress, tables.exporters[exporter])
    set_clock(data, at, progress, tables.sources[exporter])
    return OPENED


@jit
def set_end(data: Bytes, at: int, datagram: Row, progress: Row, exporter: Row) -> None:
    """Find out where the datagram's records end, and count what is missing or left over."""
    rejected = exporter["rejected"]
    end = at + wide(datagram["bytes"])
    said = end
    if progress["protocol"] == IPFIX:
        said = at + max(be16(data, at + 2), wide(IPFIX_HEADER_BYTES))
    elif progress["protocol"] == NETFLOW5:
        records = be16(data, at + 2)
        said = at + V5_HEADER_BYTES + records * V5_RECORD_BYTES
        whole = (end - at - V5_HEADER_BYTES) // V5_RECORD_BYTES
        if whole < records:
            rejected[BAD_COUNT] += records - whole
        progress["set_id"] = 0
        progress["set_end"] = min(said, end)
    progress["end"] = min(said, end)
    if progress["again"]:
        return
    if datagram["cut"]:
        rejected[CAPTURE_CUT] += 1
    elif said > end and progress["protocol"] == IPFIX:
        rejected[BAD_LENGTH] += 1
    elif said < end:
        rejected[BYTES_LEFT] += 1
    if datagram["cut"] or said > end:
        progress["records"] = -1


@jit
def set_clock(data: Bytes, at: int, progress: Row, source: Row) -> None:
    """Find out when the datagram was exported and, from that, when the exporter's uptime began."""
    protocol = progress["protocol"]
    seconds = be32(data, at + 4) if protocol == IPFIX else be32(data, at + 8)
    fraction_ns = be32(data, at + 12) % SECOND_NS if protocol == NETFLOW5 else wide(0)
    # NetFlow v5 has ns, but not every exporter fills them in; seconds alone are cut off, not rounded.
    half_ns = wide(MILLISECOND_NS) if fraction_ns else wide(SECOND_NS // 2)
    header_ns = seconds * SECOND_NS + fraction_ns
    unset = header_ns < CLOCK_SET_NS
    if unset:
        source["doubts"][CLOCK_UNSET] += 1
        header_ns, half_ns, fraction_ns = wide(progress["received_ns"]), wide(SECOND_NS), wide(1)
    progress["export_ns"] = header_ns if fraction_ns else header_ns + half_ns
    progress["export_uncertainty_ns"] = half_ns
    if protocol == IPFIX:
        return
    if fraction_ns:
        progress["boot_ns"] = header_ns - progress["uptime_ms"] * MILLISECOND_NS
        progress["boot_uncertainty_ns"] = half_ns
        return
    narrow(source, seconds * SECOND_MS, progress["uptime_ms"], wide(SECOND_MS))
    low, high = source["boot_low_ms"], source["boot_high_ms"]
    progress["boot_ns"] = (low + high) * (MILLISECOND_NS // 2)
    progress["boot_uncertainty_ns"] = (high - low) * (MILLISECOND_NS // 2) + _BOOT_RESOLUTION_NS
