"""Files of bare export datagrams: UDP payloads one after the other, or an IPFIX file (RFC 5655).

Nothing in such a file says where a datagram ends, except the datagrams themselves: IPFIX by its length, NetFlow v5
by its count, v9 and sFlow by the sets and samples they are made of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from capture.exporters.datagram import (
    DATAGRAM,
    IPFIX,
    NETFLOW5,
    NETFLOW9,
    SFLOW5,
    Datagrams,
    Index,
    announced,
    plausible,
)
from capture.ingest_log import IngestLog
from capture.jit import jit, wide
from capture.packets.headers import be16, be32
from capture.tables.read_buffer import Bytes, ReadBuffer, as_array

_BATCH_DATAGRAMS = 2048
_LONGEST_BYTES = 65_535  # no UDP payload is longer
_NANOSECONDS = 1_000_000_000
_MOST_SAMPLES = 10_000
_SFLOW_V4_HEADER_BYTES, _SFLOW_V6_HEADER_BYTES = 28, 40
_NETFLOW9_HEADER_BYTES = 20
_MORE = 0  # answer of `payload_bytes`: the datagram goes on beyond the bytes at hand


def is_payload(head: bytes) -> bool:
    """Whether a file that begins with `head` is one of bare export datagrams."""
    data = as_array(head)
    return bool(plausible(data, 0, len(data), max(len(data), _LONGEST_BYTES)))


def payloads(blocks: Iterable[bytes], name: str, ingest_log: IngestLog) -> Iterator[Datagrams]:
    """The datagrams of a file, in batches; each batch overwrites the one before.

    The time of receipt is taken from the datagrams' own headers; sFlow has no clock but the agent's uptime, which
    then stands for the time since 1970.
    """
    window, index = ReadBuffer(), np.zeros(_BATCH_DATAGRAMS, DATAGRAM)
    source = iter(blocks)
    for block in source:
        window.append(block)
        count = len(index)
        while count == len(index):
            count, window.start = scan(window.data, window.start, window.end, index, last=False)
            _warn_of_time(index[:count], name, ingest_log)
            yield Datagrams(window.data, index[:count])
        if window.end - window.start > _LONGEST_BYTES:
            break
    count = 1
    while count and window.start < window.end:
        count, window.start = scan(window.data, window.start, window.end, index, last=True)
        _warn_of_time(index[:count], name, ingest_log)
        yield Datagrams(window.data, index[:count])
    rest = window.end - window.start + sum(len(block) for block in source)
    if rest:
        ingest_log.warn(f"{name}: its last {rest} bytes are no export datagrams")
        ingest_log.reject("bytes that are no export datagram", rest)


def _warn_of_time(index: Index, name: str, ingest_log: IngestLog) -> None:
    if (index["protocol"] == SFLOW5).any():
        ingest_log.warn(f"{name}: holds no times of receipt; sFlow samples are dated by their agents' uptime")


@jit
def scan(data: Bytes, start: int, end: int, index: Index, last: bool) -> tuple[int, int]:
    """Index the whole datagrams of `data[start:end]`; with `last`, also one that ends early.

    Returns:
        How many rows of `index` were filled, and where the first byte not consumed lies.
    """
    count = 0
    while count < len(index) and start + 4 <= end:
        protocol = announced(data, start, end)
        if protocol == 0:
            break
        size = payload_bytes(data, start, end, protocol)
        if size == _MORE or start + size > end:
            if not last:
                break
            size = min(end - start, wide(_LONGEST_BYTES))
        row = index[count]
        row["offset"] = start
        row["time_ns"] = header_time_ns(data, start, end, protocol)
        row["source_high"] = 0
        row["source_low"] = 0
        row["bytes"] = size
        row["source_port"] = 0
        row["destination_port"] = 0
        row["protocol"] = protocol
        row["cut"] = 0
        row["in_session"] = 0
        start += size
        count += 1
    return count, start


@jit
def payload_bytes(data: Bytes, at: int, end: int, protocol: int) -> int:
    """How long the datagram at `at` is; `_MORE` where that lies beyond `end`."""
    if protocol == IPFIX:
        return max(be16(data, at + 2), 16)
    if protocol == NETFLOW5:
        return 24 + 48 * be16(data, at + 2)
    if protocol == NETFLOW9:
        return netflow9_bytes(data, at, end)
    return sflow_bytes(data, at, end)


@jit
def netflow9_bytes(data: Bytes, at: int, end: int) -> int:
    """Length of a NetFlow v9 datagram: its header and the sets up to the next header, whose 9 is no set's id."""
    place = at + _NETFLOW9_HEADER_BYTES
    while place + 4 <= end:
        set_id = be16(data, place)
        size = be16(data, place + 2)
        if (set_id > 1 and set_id < 256) or size < 4 or announced(data, place, end) == SFLOW5:
            # Some exporters fill up with zeros; only where another datagram begins does this one end.
            return place - at if announced(data, place, end) else _MORE
        place += size
    return _MORE


@jit
def sflow_bytes(data: Bytes, at: int, end: int) -> int:
    """Length of an sFlow v5 datagram: its header and as many samples as it says (section 5 of its specification)."""
    if at + _SFLOW_V6_HEADER_BYTES > end:
        return _MORE
    header = _SFLOW_V6_HEADER_BYTES if be32(data, at + 4) == 2 else _SFLOW_V4_HEADER_BYTES
    samples = min(be32(data, at + header - 4), wide(_MOST_SAMPLES))
    place = at + header
    for _ in range(samples):
        if place + 8 > end:
            return _MORE
        place += 8 + be32(data, place + 4)
        if place > at + _LONGEST_BYTES:
            return end - at  # a length is wrong; nothing behind it can be decoded
    return place - at


@jit
def header_time_ns(data: Bytes, at: int, end: int, protocol: int) -> int:
    """Read the export time of a datagram's header."""
    if at + 28 > end:
        return 0
    if protocol == IPFIX:
        return be32(data, at + 4) * _NANOSECONDS
    if protocol == NETFLOW5:
        return be32(data, at + 8) * _NANOSECONDS + be32(data, at + 12) % _NANOSECONDS
    if protocol == NETFLOW9:
        return be32(data, at + 8) * _NANOSECONDS
    uptime_at = at + (28 if be32(data, at + 4) == 2 else 16) + 4
    return be32(data, uptime_at) * 1_000_000 if uptime_at + 4 <= end else 0
