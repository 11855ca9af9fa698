"""Captures of export datagrams of any numbering, made by the simulator's encoders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from capture.exporters.datagram import Datagrams
from capture.tables.addresses import MAPPED
from simulate.export.exported_feed import PROTOCOL
from simulate.export.feed_spec import Kind
from simulate.export.wire.netflow_wire import (
    BYTES,
    DST,
    END_MS,
    FIRST_UPTIME,
    LAST_UPTIME,
    OPTIONS_RECORDS,
    PACKETS,
    SRC,
    START_MS,
    Heads,
    flow_records,
    heads,
)
from simulate.export.wire.packet_headers import HEADER_BYTES
from simulate.export.wire.pcap import pcap_bytes
from simulate.export.wire.sflow_wire import FlowSamples, datagram_heads, flow_samples
from tests.capture.batches import arrived
from tests.capture.frames import ethernet, ip, tcp

EPOCH_S = 1_760_000_000
AGENT = 0x0AFF0001  # 10.255.0.1
RECORDS = 3  # in a datagram
ALL = range(1, RECORDS + 1)
FRAME = ethernet(ip(6, tcp(1000, 2000, 3, 4, 16, 1000)))


@dataclass(frozen=True, slots=True)
class Sent:
    """One datagram.

    Attributes:
        sequence: its number.
        at_s: when it was sent, since EPOCH_S.
        port: it was sent from.
        uptime_ms: it tells; None for one that began a thousand seconds before EPOCH_S.
        telling: it announces templates.
        records: which ones it holds; those of a number are alike.
    """

    sequence: int
    at_s: float = 0.0
    port: int = 40_000
    uptime_ms: int | None = None
    telling: bool = False
    records: range = ALL

    @property
    def own_uptime_ms(self) -> int:
        """What its header tells."""
        return int(1000 * (1000 + self.at_s)) if self.uptime_ms is None else self.uptime_ms


def payload(kind: Kind, sent: Sent, ahead_ms: int = 0) -> bytes:
    """A datagram's bytes.

    Args:
        kind: its protocol.
        sent: what it tells.
        ahead_ms: by which the uptimes of its records are ahead of its header's.
    """
    if kind == "sflow":
        return _sflow(sent)
    one, many = np.ones(1, np.int64), np.array(sent.records)
    now_ms = round(1000 * (EPOCH_S + sent.at_s))
    head = Heads(
        one * now_ms * 10**6, one * sent.own_uptime_ms, one * sent.sequence, one * len(many), one,
        np.array([sent.telling]),
    )  # fmt: skip
    rows, size = heads(kind, head)
    uptime = sent.own_uptime_ms + ahead_ms
    values = {
        SRC: 0x0A000000 + many, DST: 0x0A000100 + many, BYTES: 1000 * many + round(sent.at_s) % 977, PACKETS: many,
        FIRST_UPTIME: uptime - 900 * one, LAST_UPTIME: uptime - 400 * one,
        START_MS: now_ms - 900 * one, END_MS: now_ms - 400 * one,
    }  # fmt: skip
    records = flow_records(kind, {element: np.broadcast_to(v, many.shape) for element, v in values.items()}).tobytes()
    return rows[0, : size[0]].tobytes() + records + bytes(-len(records) % 4 if kind != "netflow5" else 0)


def _sflow(sent: Sent) -> bytes:
    many = np.arange(RECORDS)
    header = np.zeros((RECORDS, HEADER_BYTES), np.uint8)
    header[:, : len(FRAME)] = np.frombuffer(FRAME, np.uint8)[:HEADER_BYTES]
    number = sent.sequence * RECORDS + many
    same = np.ones(RECORDS, np.int64)
    samples = FlowSamples(
        number, same, 100 * same, 100 * number, same, 2 * same, None, (len(FRAME) + 4) * same, header,
        min(len(FRAME), HEADER_BYTES) * same,
    )  # fmt: skip
    rows, size = flow_samples(samples)
    one = np.ones(1, np.int64)
    head = datagram_heads(one * AGENT, one * sent.sequence, one * sent.own_uptime_ms, one * RECORDS)
    return head.tobytes() + b"".join(row[:n].tobytes() for row, n in zip(rows, size.tolist(), strict=True))


def datagrams(kind: Kind, sent: Sequence[Sent], ahead_ms: int = 0) -> Datagrams:
    """Datagrams as they arrive, in this order."""
    parts = [payload(kind, one, ahead_ms) for one in sent]
    times = np.array([round((EPOCH_S + one.at_s) * 10**9) for one in sent], np.int64)
    found = arrived(parts, times, (0, MAPPED | AGENT), 0, cut=False, in_session=False)
    found.index["source_port"] = [one.port for one in sent]
    found.index["destination_port"] = 6343 if kind == "sflow" else 4739
    assert set(found.index["protocol"].tolist()) == {PROTOCOL[kind]}
    return found


def capture(path: Path, kind: Kind, sent: Sequence[Sent], ahead_ms: int = 0) -> Path:
    """A pcap file of them."""
    path.write_bytes(pcap_bytes(datagrams(kind, sent, ahead_ms)))
    return path


def numbered(kind: Kind, count: int, first: int = 0, port: int = 40_000, from_s: float = 0.0) -> list[Sent]:
    """So many datagrams of one gapless counter, a second apart; the first one announces templates."""
    units = RECORDS if kind in ("ipfix", "netflow5") else 1
    told = OPTIONS_RECORDS if kind == "ipfix" else 0
    return [
        Sent((first + units * n + (told if n else 0)) % (1 << 32), from_s + n, port, telling=n == 0)
        for n in range(count)
    ]


def interleaved(*parts: Iterable[Sent]) -> list[Sent]:
    """The datagrams of several counters in order of time."""
    return sorted((one for part in parts for one in part), key=lambda one: one.at_s)
