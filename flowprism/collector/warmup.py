"""Datagrams of every protocol, decoded once before the first real one: decoders are compiled when they are first used.

Compiling takes up to minutes where nothing compiled is on disk yet. What comes meanwhile waits in the ring.
"""

from __future__ import annotations

import struct

import numpy as np

from capture.exporters.datagram import DATAGRAM, Datagrams, announced
from capture.ingest_log import IngestLog
from flowprism.collector.decoder_interface import Decoder

_ADDRESS = bytes((192, 0, 2, 1))
_OTHER = bytes((192, 0, 2, 2))


def warm_up(decoder: Decoder) -> None:
    """Have `decoder`, which is of no use for anything else afterwards, decode some of everything."""
    payloads = (_sflow(), _netflow5(), _netflow9(), _ipfix(), b"none")
    data = np.frombuffer(b"".join(payloads), np.uint8).copy()
    index = np.zeros(len(payloads), DATAGRAM)
    index["bytes"] = [len(payload) for payload in payloads]
    index["offset"] = np.cumsum(index["bytes"]) - index["bytes"]
    index["time_ns"] = 1
    index["protocol"] = [announced(data, int(row["offset"]), int(row["offset"] + row["bytes"])) for row in index]
    decoder.feed(Datagrams(data, index))
    decoder.account(IngestLog())
    decoder.exporters()
    decoder.lost()
    decoder.take()
    decoder.state()


def _sflow() -> bytes:
    """A flow sample of a sampled TCP packet, and a counter sample (sFlow version 5 specification, section 5)."""
    tcp = struct.pack("!HHIIBBHHH", 1, 2, 3, 4, 0x50, 0x10, 5, 0, 0)
    packet = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 40, 0, 0, 64, 6, 0, _ADDRESS, _OTHER) + tcp
    frame = bytes(12) + b"\x08\0" + packet
    frame += bytes(-len(frame) % 4)
    header = struct.pack("!IIIIII", 1, 16 + len(frame), 1, len(frame), 0, len(frame)) + frame
    flow = struct.pack("!IIIIIIII", 1, 1, 1000, 1000, 0, 1, 2, 1) + header
    interface = struct.pack("!II", 1, 88) + bytes(88)
    counters = struct.pack("!III", 1, 1, 1) + interface
    samples = struct.pack("!II", 1, len(flow)) + flow + struct.pack("!II", 2, len(counters)) + counters
    return struct.pack("!II4sIIII", 5, 1, _ADDRESS, 0, 1, 1000, 2) + samples


def _netflow5() -> bytes:
    """One record."""
    record = _ADDRESS + _OTHER + struct.pack("!4sHHIIIIHHBBBBHHBBH", bytes(4), 1, 2, 1, 40, 1, 2, 3, 4, *(0,) * 9)
    return struct.pack("!HHIIIIBBH", 5, 1, 1000, 1, 0, 0, 0, 0, 0) + record


# Source, destination, bytes, packets, protocol; first and last in sysUpTime (RFC 3954 section 8, RFC 7012).
_FIELDS = ((8, 4), (12, 4), (1, 4), (2, 4), (4, 1), (22, 4), (21, 4))
_RECORD = _ADDRESS + _OTHER + struct.pack("!IIBII", 40, 1, 6, 1, 2)


def _template(fields: tuple[tuple[int, int], ...]) -> bytes:
    return struct.pack("!HH", 256, len(fields)) + b"".join(struct.pack("!HH", *field) for field in fields)


def _set(number: int, content: bytes) -> bytes:
    return struct.pack("!HH", number, 4 + len(content)) + content


def _netflow9() -> bytes:
    """A template and a record of it."""
    return struct.pack("!HHIIII", 9, 2, 1000, 1, 0, 0) + _set(0, _template(_FIELDS)) + _set(256, _RECORD)


def _ipfix() -> bytes:
    """A template and a record of it, with an interface name of variable length at the end."""
    sets = _set(2, _template((*_FIELDS, (82, 65535)))) + _set(256, _RECORD + b"\x03eth")
    return struct.pack("!HHIII", 10, 16 + len(sets), 1, 0, 0) + sets
