"""What comes in at the sockets is in committed segments once, or counted."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from shutil import copytree

import pytest

from storage.lake.log import read_manifests
from tests.flowprism.collector.fake import datagram, records_of
from tests.flowprism.collector.running import Collector, sender

IPFIX = b"\0\x0a\0\x10" + bytes(12)


@dataclass(frozen=True)
class Stopped:
    """A collector that has ended, what it said, and what its first segment held of each exporter."""

    collector: Collector
    said: str
    exporters: Mapping[str, tuple[int, int]]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Stopped:
    """One that was sent 2,000 datagrams of three records, and another; SIGTERM comes right behind the last of them."""
    out = tmp_path_factory.mktemp("stopped")
    with Collector(out) as collector, sender() as sock:
        sock.sendto(datagram(0, 3), ("127.0.0.1", collector.port()))
        collector.until(lambda: len(collector.kept()) == 3)
        (manifest,) = read_manifests(out)
        (segment,) = manifest.commits[0].segments
        for number in range(1, 2000):
            sock.sendto(datagram(number, 3), ("127.0.0.1", collector.port()))
        sock.sendto(b"something else", ("127.0.0.1", collector.port()))
        return Stopped(collector, collector.stop(), segment.exporters)


def test_all_that_was_received_is_kept(stopped: Stopped) -> None:
    """All of it is stored, and the totals say so.

    Long before, records were readable soon after they had been sent; their sums by exporter are in the manifest.
    """
    assert stopped.exporters == {"": (3, sum(records_of(0, 3)))}
    assert stopped.collector.kept() == [record for number in range(2000) for record in records_of(number, 3)]
    assert "received 2001 datagrams, durable 2001, flow records 6000, lost by sequence number: none" in stopped.said
    assert "move along" not in stopped.said
    status = stopped.collector.status()
    assert status is not None
    assert status["rejected"] == {"not a fake": 1}
    assert [exporter["agent"] for exporter in status["exporters"]] == ["127.0.0.1"]


def test_overload_is_counted(tmp_path: Path) -> None:
    """More than can be decoded: memory stays what it is, and every datagram is either stored or counted as dropped."""
    options = {"ring_bytes": 1 << 20, "buffer_bytes": 1 << 18}
    with Collector(tmp_path, options=options) as collector, sender() as sock:
        for number in range(10_000):
            sock.sendto(datagram(number, padding=1300), ("127.0.0.1", collector.port()))
        collector.until(lambda: collector.totals()["received"] + collector.totals()["kernel_drops"] == 10_000)
        collector.stop()
    totals = collector.totals()
    kept = collector.kept()
    assert totals["kernel_drops"] > 0
    assert len(kept) == len(set(kept)) == totals["records"] == totals["received"] == totals["durable"]
    assert totals["lost"]["datagrams"] <= totals["kernel_drops"]


@pytest.mark.slow
def test_allow_list(tmp_path: Path) -> None:
    """Only networks that are allowed may send; others are counted by address.

    SIGTERM comes while the receiver still starts: the time in which it must end begins once it has come up, however
    long compiling takes before that, and it empties its sockets.
    """
    collector = Collector(tmp_path, options={"allow": ["127.0.0.0/24"], "receivers_end_s": 0.5})
    with collector, sender("127.0.0.9") as good, sender("127.0.7.1") as bad:
        for number in range(10):
            good.sendto(datagram(number), ("127.0.0.1", collector.port()))
            bad.sendto(datagram(number), ("127.0.0.1", collector.port()))
        collector.stop()
    status = collector.status()
    assert status is not None
    assert status["refused_sources"] == {"127.0.7.1": 10}
    assert (status["totals"]["refused"], len(collector.kept())) == (10, 10)


@pytest.mark.slow
def test_ipv6_and_tcp(tmp_path: Path) -> None:
    """Datagrams over IPv6 and IPFIX messages over TCP come the same way.

    SIGINT, which reaches all processes of a terminal, ends it too: only the supervisor acts on it, and nothing is lost.
    """
    with Collector(tmp_path, ("[::1]:0", "tcp:127.0.0.1:0")) as collector:
        with sender("::1") as sock:
            sock.sendto(datagram(1), ("::1", collector.port(0)))
        with socket.create_connection(("127.0.0.1", collector.port(1))) as connection:
            connection.sendall(IPFIX * 3)
            collector.until(lambda: collector.totals()["received"] == 4)
        assert collector.process is not None
        os.killpg(collector.process.pid, signal.SIGINT)
        collector.process.wait(60)
        assert collector.process.returncode == 0
    status = collector.status()
    assert status is not None
    assert collector.kept() == list(records_of(1))
    assert status["rejected"] == {"not a fake": 3}
    assert [exporter["agent"] for exporter in status["exporters"]] == ["::1"]
    assert status["workers"][0]["sessions"]["sessions"] == 1


def test_restarts(stopped: Stopped, tmp_path: Path) -> None:
    """What decoding must remember is there after a restart: the datagrams in between are known to be missing.

    With more workers than before exporters may move, and what is known of them moves along. Each exporter then has one
    worker, each worker some exporters, and both store into one folder.
    """
    copytree(stopped.collector.out, tmp_path, dirs_exist_ok=True)
    collector = Collector(tmp_path, options={"workers": 2})
    with collector:
        with sender() as sock:
            for number in range(2010, 2020):
                sock.sendto(datagram(number), ("127.0.0.1", collector.port()))
        for exporter in range(2, 22):
            with sender(f"127.0.0.{exporter}") as sock:
                for number in range(10):
                    sock.sendto(datagram(10_000 * exporter + number), ("127.0.0.1", collector.port()))
        collector.until(lambda: collector.totals()["received"] == 210)
        said = collector.stop()
    assert "there were 1 workers before, now 2: templates and counts move along" in said
    kept = collector.kept()
    assert len(kept) == len(set(kept)) == 6000 + 210
    assert {*stopped.collector.kept(), *(1000 * number for number in range(2010, 2020))} < set(kept)
    status = collector.status()
    assert status is not None
    assert all(worker["received"] > 0 and worker["is_decoding"] for worker in status["workers"])
    assert (status["totals"]["lost"], len(status["exporters"])) == ({"datagrams": 10}, 21)
