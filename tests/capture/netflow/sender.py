"""Exporters and a decoder: builds datagrams byte by byte and hands them over, and shows the rows that come out."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Any

import numpy as np

from capture.configured_rates import SamplingRates
from capture.exporters.datagram import Datagrams
from capture.netflow.netflow_decoder import NetflowDecoder
from capture.tables.address_book import AddressBook
from capture.tables.addresses import MAPPED
from datamodel.frame import Frame
from datamodel.telemetry.exporter_stats import ExporterStats
from tests.capture.batches import arrived

UNIX_S = 1_700_000_000
NOW_NS = UNIX_S * 10**9
VARIABLE = 0xFFFF
REVERSE = 29305

Field = tuple[int, int] | tuple[int, int, int]  # element, length and, where there is one, enterprise
Row = dict[str, Any]

FLOW: tuple[Field, ...] = ((8, 4), (12, 4), (7, 2), (11, 2), (4, 1), (1, 4), (2, 4), (152, 8), (153, 8))
FLOW_FORM = "!4s4sHHBIIQQ"


def flow(size: int = 1000, src: str = "10.0.0.1", dst: str = "10.0.0.2", start_ms: int = UNIX_S * 1000 - 500) -> bytes:
    """A record of `FLOW`."""
    ends = (ip_address(src).packed, ip_address(dst).packed)
    return struct.pack(FLOW_FORM, *ends, 4000, 80, 6, size, 3, start_ms, start_ms + 250)


def template(number: int, fields: Iterable[Field]) -> bytes:
    """A template record."""
    packed = [_specifier(field) for field in fields]
    return struct.pack("!HH", number, len(packed)) + b"".join(packed)


def options_template(number: int, scope: Iterable[Field], fields: Iterable[Field]) -> bytes:
    """An IPFIX options template record."""
    about, rest = [_specifier(f) for f in scope], [_specifier(f) for f in fields]
    return struct.pack("!HHH", number, len(about) + len(rest), len(about)) + b"".join(about + rest)


def options_template_9(number: int, scope: Iterable[Field], fields: Iterable[Field]) -> bytes:
    """A NetFlow v9 options template record."""
    about, rest = b"".join(map(_specifier, scope)), b"".join(map(_specifier, fields))
    return struct.pack("!HHH", number, len(about), len(rest)) + about + rest


def _specifier(field: Field) -> bytes:
    if len(field) == 2:
        return struct.pack("!HH", *field)
    return struct.pack("!HHI", field[0] | 0x8000, field[1], field[2])


def one_set(number: int, *content: bytes, padding: int = 0) -> bytes:
    """A set."""
    body = b"".join(content) + bytes(padding)
    return struct.pack("!HH", number, 4 + len(body)) + body


def ipfix(*sets: bytes, sequence: int = 0, domain: int = 1, export_s: int = UNIX_S) -> bytes:
    """An IPFIX message."""
    body = b"".join(sets)
    return struct.pack("!HHIII", 10, 16 + len(body), export_s, sequence, domain) + body


def netflow9(
    *sets: bytes, sequence: int = 0, source_id: int = 1, uptime_ms: int = 60_000, unix_s: int = UNIX_S, count: int = 1
) -> bytes:
    """A NetFlow v9 datagram."""
    return struct.pack("!HHIIII", 9, count, uptime_ms, unix_s, sequence, source_id) + b"".join(sets)


class Collector:
    """A decoder with its address book, as `capture.export_decoder` would drive it."""

    def __init__(self, rates: SamplingRates | None = None) -> None:
        self.book = AddressBook()
        self.decoder = NetflowDecoder(self.book, rates or SamplingRates())

    def rows(
        self,
        *payloads: bytes,
        source: str = "192.0.2.1",
        port: int = 5000,
        at_ns: int = NOW_NS,
        cut: bool = False,
        tcp: bool = False,
    ) -> list[Row]:
        """The rows that come out of these datagrams, or messages of a TCP session, fed as one batch."""
        return self.shown(self.decoder.feed(batch(payloads, source, port, at_ns, cut=cut, tcp=tcp)))

    def shown(self, frames: list[Frame]) -> list[Row]:
        """Rows as dicts, with addresses as text."""
        texts = self.book.texts()
        rows = []
        for frame in frames:
            for i in range(len(frame)):
                row: Row = {name: column[i].item() for name, column in frame.columns().items()}
                for name in ("src_addr", "dst_addr", "sampler_address"):
                    row[name] = texts[row[name]]
                rows.append(row)
        return rows

    def account(self, domain: int = 1, source: str = "192.0.2.1") -> ExporterStats:
        """The account of an exporter."""
        (found,) = [e for e in self.decoder.exporters() if e.domain == domain and e.agent == source]
        return found

    def rejected(self, domain: int = 1, source: str = "192.0.2.1") -> dict[str, int]:
        """What was left out of an exporter."""
        return dict(self.account(domain, source).rejected)


def batch(
    payloads: Iterable[bytes],
    source: str = "192.0.2.1",
    port: int = 5000,
    at_ns: int = NOW_NS,
    *,
    cut: bool = False,
    tcp: bool = False,
) -> Datagrams:
    """Datagrams of one source, received a microsecond apart."""
    parts = list(payloads)
    address = ip_address(source)
    value = int(address) if address.version == 6 else MAPPED | int(address)
    words = (_signed(value >> 64), _signed(value & (1 << 64) - 1))
    return arrived(parts, at_ns + 1000 * np.arange(len(parts)), words, port, cut, tcp)


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word
