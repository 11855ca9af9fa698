"""Mirrored packets end as committed flow records: from an interface, from ERSPAN sessions, from a pipe."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from capture.reader import read_all
from datamodel.telemetry.flows import Flows
from storage.lake.lake_reader import read_lake
from storage.lake.log import read_manifests
from tests.capture.frames import pcap, tcp_frame
from tests.capture.live.arrivals import CAPTURES, NAMES, flows_of, frames_of, rows_from, rows_of
from tests.capture.live.gre import erspan_two
from tests.capture.live.namespaces import Namespace, joined_pair, why_not
from tests.capture.live.test_erspan import send
from tests.capture.sflow.wire import datagram, flow, header
from tests.flowprism.collector.running import Collector
from tests.flowprism.command_line import Run
from tests.house.checkout import ROOT

COMMAND = [sys.executable, "-c", "from flowprism.cli import main; main()", "collect", "--commit-every", "0.1"]
PATIENCE_S = 300.0  # where nothing compiled is on disk yet, that comes first
BURST = "tcp-burst-and-ack.pcap.gz"
MODULE = "collector.processes.mirror_process"


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Namespace, Namespace]]:
    """A sender and a receiver; skips, with the reason, where this machine gives us none."""
    if reason := why_not():
        pytest.skip(reason)
    with joined_pair() as ends:
        yield ends


class Mirrors(Collector):
    """A collector of mirrors, from the command line."""

    def sources(self) -> list[dict[str, Any]]:
        """What the status tells of the sources; nothing before the first."""
        status = self.status()
        return [] if status is None else list(status["sources"])

    def is_open(self) -> bool:
        """Whether all sources are being received."""
        return bool(self.sources()) and all(source["open"] for source in self.sources())


@contextmanager
def collecting(
    out: Path, *options: str, within: Namespace | None = None, stdin: int = subprocess.DEVNULL
) -> Iterator[Mirrors]:
    """A collector of mirrors, inside a namespace where there is one."""
    inside = [] if within is None else ["ip", "netns", "exec", within.name]
    command = [*inside, *COMMAND, "--out", str(out), *options]
    collector = Mirrors(out)
    collector.process = subprocess.Popen(
        command, cwd=ROOT, stdin=stdin, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        yield collector
    finally:
        collector.kill_all()


def until(collector: Mirrors, condition: Callable[[], bool]) -> None:
    """Wait for something to come true."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        collector.assert_alive()
        assert time.monotonic() < deadline, collector.status()
        time.sleep(0.02)


def until_open(collector: Mirrors) -> None:
    """Wait until every source is being received."""
    until(collector, collector.is_open)


def sums(flows: Flows) -> dict[tuple[object, ...], tuple[int, int]]:
    """Packets and bytes of every connection, whatever records they were cut into."""
    total: dict[tuple[object, ...], tuple[int, int]] = {}
    columns = ("src_addr", "dst_addr", "src_port", "dst_port", "proto", "dst_qp", "packets", "bytes")
    for source, destination, *rest, packets, size in zip(*(flows.frame[c].tolist() for c in columns), strict=True):
        key = (flows.addresses[source], flows.addresses[destination], *rest)
        before = total.get(key, (0, 0))
        total[key] = (before[0] + packets, before[1] + size)
    return total


def kept(out: Path) -> dict[tuple[object, ...], tuple[int, int]]:
    """Packets and bytes of every connection in committed records."""
    return sums(read_lake(out).flows)


def test_an_interface(tmp_path: Path, pair: tuple[Namespace, Namespace]) -> None:
    """What was mirrored to the interface by the time of SIGTERM is in committed records, and no port is open."""
    sender, receiver = pair
    frames = frames_of(BURST)
    with collecting(tmp_path, "--mirror", receiver.port, within=receiver) as collector:
        until_open(collector)
        sender.send(frames)
        assert receiver.run("ss", "-Hlnu").strip() == ""
        said = collector.stop()
    assert kept(tmp_path) == sums(flows_of(rows_of(BURST)))
    assert f"mirrored packets {len(frames)}" in said
    (source,) = collector.sources()
    assert (source["received"], source["durable"], source["kernel_drops"]) == (len(frames), len(frames), 0)


@pytest.mark.slow
def test_commits_come_while_packets_do(tmp_path: Path, pair: tuple[Namespace, Namespace]) -> None:
    """Records that are a second old are readable long before the end; in the end each packet is there once."""
    sender, receiver = pair
    frames = [tcp_frame(100 * n, 100) for n in range(400)]
    with collecting(tmp_path, "--mirror", receiver.port, within=receiver) as collector:
        until_open(collector)
        for at in range(0, len(frames), 10):
            sender.send(frames[at : at + 10])
            time.sleep(0.1)
        until(collector, lambda: len(read_lake(tmp_path).flows) > 5)
        collector.stop()
    assert len([c for m in read_manifests(tmp_path) for c in m.commits]) > 5
    assert kept(tmp_path) == sums(flows_of(rows_from(frames)))


def test_erspan(tmp_path: Path, pair: tuple[Namespace, Namespace]) -> None:
    """Sessions end at an address; what their numbers skip is lost, in the status and in the totals."""
    sender, receiver = pair
    frames = frames_of(BURST)
    allow = ("--allow", f"{sender.address}/32")
    with collecting(tmp_path, "--erspan", receiver.address, *allow, within=receiver) as collector:
        until_open(collector)
        send(sender, receiver, (erspan_two(frame, 7, 10 + n) for n, frame in enumerate(frames[:-1])))
        send(sender, receiver, [erspan_two(frames[-1], 7, 12 + len(frames))])
        said = collector.stop()
    assert kept(tmp_path) == sums(flows_of(rows_of(BURST)))
    assert "lost by sequence number: 3 packets" in said
    (source,) = collector.sources()
    assert [(s["source"], s["session"], s["missing"]) for s in source["sessions"]] == [(sender.address, 7, 3)]
    assert source["refused"] == 0
    assert read_lake(tmp_path).notes.rejected == {"lost between an ERSPAN source and here": 3}


@pytest.mark.slow
def test_mirror_and_exports_at_once(tmp_path: Path, pair: tuple[Namespace, Namespace]) -> None:
    """A port that is asked for is opened beside the mirror, and each writer has its own manifest."""
    sender, receiver = pair
    options = ("--mirror", receiver.port, "--listen", f"{receiver.address}:0")
    with collecting(tmp_path, *options, within=receiver) as collector:
        until_open(collector)
        sender.send(frames_of(BURST))
        (port,) = re.findall(rf"{re.escape(receiver.address)}:(\d+)", receiver.run("ss", "-Hlnu"))
        with sender.entered(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as exporter:
            exporter.sendto(datagram(flow(header(tcp_frame(1, 0)))), (receiver.address, int(port)))
        until(collector, lambda: len(list(read_manifests(tmp_path))) == 2)
        collector.stop()
    assert [manifest.writer.worker for manifest in read_manifests(tmp_path)] == [0, 2]


@pytest.mark.slow
def test_kill_9_costs_what_was_not_committed(tmp_path: Path, pair: tuple[Namespace, Namespace]) -> None:
    """A follower that is killed is started again; what it had committed is there once, what it had not is counted."""
    sender, receiver = pair
    before, during, after = ([tcp_frame(1000 * n + 100 * i, 100) for i in range(10)] for n in range(3))
    with collecting(tmp_path, "--mirror", receiver.port, within=receiver) as collector:
        until_open(collector)
        sender.send(before)
        until(collector, lambda: collector.sources()[0]["durable"] == len(before))
        sender.send(during)
        until(collector, lambda: collector.sources()[0]["received"] > len(before))
        (process,) = collector.children(MODULE)
        os.kill(process, signal.SIGKILL)
        until(collector, lambda: collector.sources()[0]["deaths"] == 1)
        until_open(collector)
        sender.send(after)
        said = collector.stop()
    (source,) = collector.sources()
    packets = sum(count for count, _ in kept(tmp_path).values())
    assert packets == source["durable"] == len(before) + len(after)
    assert source["lost_here"] == len(during)
    assert f"lost with a process {len(during)}" in said


@pytest.mark.slow
def test_the_supervisor_may_die(tmp_path: Path, pair: tuple[Namespace, Namespace]) -> None:
    """When the supervisor is killed its followers store what has arrived, and end."""
    sender, receiver = pair
    with collecting(tmp_path, "--mirror", receiver.port, within=receiver) as collector:
        until_open(collector)
        sender.send(frames_of(BURST))
        (process,) = collector.children(MODULE)
        assert collector.process is not None
        collector.process.kill()
        deadline = time.monotonic() + PATIENCE_S
        while Path(f"/proc/{process}").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
    assert kept(tmp_path) == sums(flows_of(rows_of(BURST)))


@pytest.mark.slow
def test_an_interface_that_goes_and_comes(tmp_path: Path, pair: tuple[Namespace, Namespace]) -> None:
    """What came until an interface was removed is stored; the follower is started again when it is back."""
    _, receiver = pair
    receiver.run("ip", "link", "add", "fpx", "type", "veth", "peer", "name", "fpy")
    for port in ("fpx", "fpy"):
        receiver.run("ip", "link", "set", port, "up")
    other = Namespace(receiver.name, "fpx", "", "")
    with collecting(tmp_path, "--mirror", "fpy", within=receiver) as collector:
        until_open(collector)
        other.send(frames_of(BURST))
        receiver.run("ip", "link", "del", "fpx")
        until(collector, lambda: collector.sources()[0]["deaths"] > 1)
        collector.stop()
    assert kept(tmp_path) == sums(flows_of(rows_of(BURST)))
    assert collector.sources()[0]["lost_here"] == 0


# Of the fast tests one capture is enough: how each is read from a pipe is shown in tests/capture/live.
@pytest.mark.parametrize("name", [BURST, *(pytest.param(n, marks=pytest.mark.slow) for n in NAMES if n != BURST)])
def test_a_stream_is_the_file(tmp_path: Path, name: str) -> None:
    """A capture through the pipe gives the records that the file gives; at its end the collector ends by itself.

    A mirror's writer comes behind the workers, also where no port is open, so that their state is not mistaken.
    """
    out = tmp_path / "out"
    content = subprocess.run(["gzip", "-dcf", str(CAPTURES / name)], check=True, capture_output=True).stdout
    command = [*COMMAND, "--out", str(out), "--mirror", "-", "--workers", "3"]
    done = subprocess.run(command, cwd=ROOT, input=content, capture_output=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    assert_same(read_lake(out).flows, read_all([CAPTURES / name]).flows)
    status = json.loads((out / "status.json").read_text())
    assert [source["worker"] for source in status["sources"]] == [4]
    (manifest,) = read_manifests(out)
    assert (manifest.writer.worker, manifest.commits[-1].workers) == (4, 3)


def assert_same(left: Flows, right: Flows) -> None:
    """Both hold the same records in the same order."""
    assert left.addresses == right.addresses
    for name, column in left.frame.columns().items():
        assert np.array_equal(column, right.frame[name]), name


def test_a_stream_that_goes_on(tmp_path: Path) -> None:
    """Records of a stream are committed while it is open; SIGTERM stores the rest of what was written."""
    frames = [(10**18 + n * 10**7, tcp_frame(100 * n, 100)) for n in range(300)]  # three seconds, years ago
    reading, writing = os.pipe()
    content = pcap(frames)
    with collecting(tmp_path, "--mirror", "-", stdin=reading) as collector, os.fdopen(writing, "wb", 0) as writer:
        os.close(reading)
        writer.write(content)
        until(collector, lambda: bool(collector.sources()) and collector.sources()[0]["durable"] > 0)
        assert collector.sources()[0]["finished"] is False
        collector.stop()
    assert sum(count for count, _ in kept(tmp_path).values()) == len(frames)


def test_a_stream_cannot_be_taken_up_again(tmp_path: Path) -> None:
    """The process that reads a stream is killed: the collector ends with exit code 2 and says why."""
    reading, writing = os.pipe()
    with collecting(tmp_path, "--mirror", "-", stdin=reading) as collector, os.fdopen(writing, "wb", 0) as writer:
        os.close(reading)
        writer.write(pcap([(1, tcp_frame(1, 100))]))
        until(collector, lambda: bool(collector.sources()) and collector.sources()[0]["received"] == 1)
        os.kill(collector.children(MODULE)[0], signal.SIGKILL)
        assert collector.process is not None
        said = collector.process.communicate(timeout=PATIENCE_S)[1]
        assert collector.process.returncode == 2
    assert "flowprism: standard input: its process ended (signal 9) before all was stored\n" in said


@pytest.mark.parametrize(("options", "complaint"), [
    (("--mirror", "nowhere0"), "nowhere0: no such interface"),
    (("--mirror", "-"), "standard input: ended before anything came"),
    pytest.param(
        ("--erspan", "192.0.2.9"), "192.0.2.9: no interface of this machine has this address", marks=pytest.mark.slow
    ),
    pytest.param(("--erspan", "leaf1"), "leaf1: not an IP address", marks=pytest.mark.slow),
])  # fmt: skip
def test_what_cannot_be_received(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], complaint: str
) -> None:
    """A source that cannot be opened is one line that names it, and exit code 2."""
    if os.geteuid() != 0 and "-" not in options:
        pytest.skip("receiving packets needs root")
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        done = run("collect", "--out", tmp_path, *options)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, f"flowprism: {complaint}")
