"""What comes in at the sockets is in committed segments once, or counted."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import pytest

from storage.lake.log import read_manifests
from tests.flowprism.collector.fake import datagram, records_of
from tests.flowprism.collector.running import Collector, sender

IPFIX = b"\0\x0a\0\x10" + bytes(12)


def test_all_that_was_received_is_kept(tmp_path: Path) -> None:
    """SIGTERM comes right behind the last datagram: all of them are stored, and the totals say so.

    Long before, records are readable soon after they were sent; their sums by exporter are in the manifest.
    """
    with Collector(tmp_path) as collector, sender() as sock:
        sock.sendto(datagram(0, 3), ("127.0.0.1", collector.port()))
        collector.until(lambda: len(collector.kept()) == 3)
        (manifest,) = read_manifests(tmp_path)
        (segment,) = manifest.commits[0].segments
        assert segment.exporters == {"": (3, sum(records_of(0, 3)))}
        for number in range(1, 2000):
            sock.sendto(datagram(number, 3), ("127.0.0.1", collector.port()))
        sock.sendto(b"something else", ("127.0.0.1", collector.port()))
        said = collector.stop()
    assert collector.kept() == [record for number in range(2000) for record in records_of(number, 3)]
    assert "received 2001 datagrams, durable 2001, flow records 6000, lost by sequence number: none" in said
    status = collector.status()
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


def test_restarts(tmp_path: Path) -> None:
    """What decoding must remember is there after a restart: the datagrams in between are known to be missing.

    With more workers than before exporters may move, and what is known of them moves along. Each exporter then has one
    worker, each worker some exporters, and both store into one folder.
    """
    collector = Collector(tmp_path)
    with collector, sender() as sock:
        for number in range(10):
            sock.sendto(datagram(number), ("127.0.0.1", collector.port()))
        assert "move along" not in collector.stop()
    collector.options = {"workers": 2}
    with collector:
        with sender() as sock:
            for number in range(20, 30):
                sock.sendto(datagram(number), ("127.0.0.1", collector.port()))
        for exporter in range(2, 22):
            with sender(f"127.0.0.{exporter}") as sock:
                for number in range(10):
                    sock.sendto(datagram(100 * exporter + number), ("127.0.0.1", collector.port()))
        collector.until(lambda: collector.totals()["received"] == 210)
        said = collector.stop()
    assert "there were 1 workers before, now 2: templates and counts move along" in said
    assert len(collector.kept()) == len(set(collector.kept())) == 220
    assert {1000 * number for number in (*range(10), *range(20, 30))} < set(collector.kept())
    status = collector.status()
    assert status is not None
    assert all(worker["received"] > 0 and worker["is_decoding"] for worker in status["workers"])
    assert (status["totals"]["lost"], len(status["exporters"])) == ({"datagrams": 10}, 21)
