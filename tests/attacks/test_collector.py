"""The real collector over loopback: a good feed beside invented exporters, wrong clocks, noise and repetition."""

from __future__ import annotations

import socket
import struct
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from capture.exporters.forgetting import FORGOTTEN
from flowprism.demo.demo_feed import build_datagrams
from storage.lake.lake_reader import read_lake
from storage.lake.snapshot import snapshot
from tests.flowprism.collector.running import Collector, sender
from tests.flowprism.service.running import memory_bytes, wait_for
from tests.flowprism.service.scans.feeding import parts

pytestmark = pytest.mark.slow

S = 1_000_000_000
INVENTED, MOST_EXPORTERS = 100_000, 1 << 16
NOISE = 20_000
HOURS = {900_001: 7, 900_002: -5, 900_003: 24 * 365 * 40}  # domain -> its clock
FIELDS = ((8, 4), (12, 4), (1, 8), (2, 8), (156, 8), (157, 8))
UNTIMED = FIELDS[:4]
NTP_S = 2_208_988_800
PATIENCE_S = 300.0  # on a machine that is busy with other things


def message(domain: int, number: int, time_ns: int, fields: tuple[tuple[int, int], ...], record: bytes) -> bytes:
    """An IPFIX message: a template and one record of it."""
    template = struct.pack("!HH", 256, len(fields)) + b"".join(struct.pack("!HH", *field) for field in fields)
    sets = struct.pack("!HH", 2, 4 + len(template)) + template + struct.pack("!HH", 256, 4 + len(record)) + record
    return struct.pack("!HHIII", 10, 16 + len(sets), time_ns // S & 0xFFFFFFFF, number, domain) + sets


def invented(domain: int) -> bytes:
    """What an exporter that nobody has sends, once."""
    return message(domain, 0, time.time_ns(), UNTIMED, struct.pack("!IIQQ", 1, 2, 1, 1))


def clocked(domain: int, number: int) -> bytes:
    """A record that ended a second ago, by a clock that is hours off."""
    now_ns = time.time_ns() + HOURS[domain] * 3600 * S
    ends = [((n // S + NTP_S) & 0xFFFFFFFF) << 32 for n in (now_ns - 2 * S, now_ns - S)]
    return message(domain, number, now_ns, FIELDS, struct.pack("!IIQQQQ", 3, 4, 1000, 1, *ends))


def good(begin_ns: int) -> list[bytes]:
    """A few seconds of four leaves beside a job, by the bundled capture."""
    sent = build_datagrams(parts()["h"][0], begin_ns, Counter[int]())
    starts = sent.index["offset"].tolist()
    return [bytes(sent.data[a : a + n]) for a, n in zip(starts, sent.index["bytes"].tolist(), strict=True)]


@dataclass
class Attacked:
    """What came of it.

    Attributes:
        offered: datagrams sent.
        status: the collector's, at the end.
        lake: folder.
        good: records of the good feed that were sent: bytes, begin and end, sorted.
        grown: bytes of memory that the collector has more than when the good feed alone was there.
        until_ns: when the last datagram was sent.
    """

    offered: int
    status: dict[str, Any]
    lake: Path
    good: list[tuple[int, int, int]]
    grown: int
    until_ns: int


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Attacked:
    """One collector for all: the good feed's first half, everything else, and the second half twice."""
    lake = tmp_path_factory.mktemp("attacked") / "lake"
    options = {
        "decoder": "capture.export_decoder:ExportDecoder", "corrects_clocks": True,
        "ring_bytes": 64 << 20, "commit_every_s": 5.0,
    }  # fmt: skip
    begin_ns = time.time_ns() - 20 * S
    feed = good(begin_ns)
    half = len(feed) // 2
    with Collector(lake, options=options) as collector, sender() as honest, sender("127.0.0.66") as other:
        wait_for(lambda: (collector.status() or {})["workers"][0]["is_decoding"], PATIENCE_S)
        sent = Sending(collector)
        sent.send(honest, feed[:half])
        before = memory_bytes(collector.process.pid)  # type: ignore[union-attr]
        sent.send(other, (clocked(domain, n) for n in range(20) for domain in HOURS))
        sent.send(other, (invented(1_000_000 + n) for n in range(INVENTED)))
        random = np.random.default_rng(7)
        sent.send(other, (b"\xff" * 4 + random.bytes(200) for _ in range(NOISE)))
        sent.send(honest, (each for each in feed[half:] for _ in range(2)))
        wait_for(lambda: int(collector.totals()["durable"]) >= sent.offered, PATIENCE_S)
        grown = memory_bytes(collector.process.pid) - before  # type: ignore[union-attr]
        collector.stop()
        status = collector.status()
    assert status is not None
    rows = parts()["h"][0].rows
    moved = begin_ns - int(rows["time_flow_start_ns"].min())
    columns = (rows["bytes"], rows["time_flow_start_ns"] + moved, rows["time_flow_end_ns"] + moved)
    expected = sorted(zip(*(column.tolist() for column in columns), strict=True))
    return Attacked(sent.offered, status, lake, expected, grown, time.time_ns())


@dataclass
class Sending:
    """Sends as fast as the collector takes it, so that the kernel drops nothing."""

    collector: Collector
    offered: int = 0

    def send(self, sock: socket.socket, content: Iterable[bytes]) -> None:
        """Send all, and wait until it has been received."""
        port = self.collector.port()
        for part in _groups(content, 1000):
            for each in part:
                sock.sendto(each, ("127.0.0.1", port))
            self.offered += len(part)
            wait_for(lambda: int(self.collector.totals()["received"]) >= self.offered - 4000)
        wait_for(lambda: int(self.collector.totals()["received"]) >= self.offered)


def _groups(content: Iterable[bytes], size: int) -> Iterator[list[bytes]]:
    part: list[bytes] = []
    for each in content:
        part.append(each)
        if len(part) == size:
            yield part
            part = []
    yield part


def test_everything_is_accounted_for(attacked: Attacked) -> None:
    """What was offered was received and is durable; noise and exporters beyond the bound are counted by reason."""
    status = attacked.status
    totals, rejected = status["totals"], status["rejected"]
    assert (totals["received"], totals["durable"], totals["kernel_drops"]) == (attacked.offered, attacked.offered, 0)
    assert rejected["not an export datagram of a protocol that is decoded"] == NOISE
    assert "datagram of one exporter too many" not in rejected
    known = status["exporters_known"]
    assert known <= MOST_EXPORTERS
    assert rejected[FORGOTTEN] == INVENTED + 4 + len(HOURS) - known
    (worker,) = status["workers"]
    assert (worker["receiver_deaths"], worker["decoder_deaths"]) == (0, 0)


def test_the_good_feed_is_stored_once_and_unchanged(attacked: Attacked) -> None:
    """Every record of the good feed, with its own times to the nanosecond, though a part came twice."""
    flows = read_lake(attacked.lake).flows
    frame = flows.frame
    own = np.isin(frame["observation_domain_id"], [1, 2, 3, 4])
    columns = (frame[name][own].tolist() for name in ("bytes", "time_flow_start_ns", "time_flow_end_ns"))
    assert sorted(zip(*columns, strict=True)) == attacked.good


def test_memory_is_bounded(attacked: Attacked) -> None:
    """A full table of exporters takes what the page says, and no more."""
    assert attacked.grown < 500 << 20


def test_wrong_clocks_move_nothing(attacked: Attacked) -> None:
    """Their records are dated by when they came, to seconds, and the warnings name the exporters."""
    frame = read_lake(attacked.lake).flows.frame
    for domain in HOURS:
        own = frame["observation_domain_id"] == domain
        assert own.sum() == 20
        late = frame["time_received_ns"][own] - frame["time_flow_end_ns"][own]
        assert np.abs(late).max() < 60 * S
    warnings = "\n".join(attacked.status["warnings"])
    assert "7.0 h ahead" in warnings
    assert "5.0 h behind" in warnings
    now = snapshot(attacked.lake)
    assert max(segment.end_ns for segment in now.of_kind("flows")) <= attacked.until_ns
    (head,) = now.heads.values()
    assert head.reached_ns <= attacked.until_ns
