"""Workers added and taken while datagrams arrive: every one is stored once, and what exporters sent once is known."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import pytest

from storage.lake.lake_reader import read_lake
from storage.lake.log import read_manifests
from tests.capture.netflow.sender import (
    FLOW,
    ipfix,
    netflow9,
    one_set,
    options_template,
    options_template_9,
    template,
)
from tests.capture.netflow.sender import flow as record
from tests.capture.sflow.wire import datagram as sampled
from tests.flowprism.collector.fake import datagram
from tests.flowprism.collector.running import PATIENCE_S, Collector, sender
from tests.flowprism.collector.test_thinning import SLOW, sample

SOURCES = 12
RATE = 512
REAL = {"decoder": "capture.export_decoder:ExportDecoder"}
DECODER = "decoder_process"


class Exporter:
    """One address that sends NetFlow v9 and IPFIX; each record has another number of bytes."""

    def __init__(self, number: int) -> None:
        self.socket = sender(f"127.0.0.{number + 1}")
        self.number, self._v9, self._ipfix = number, 0, 0
        self.sent: list[int] = []

    def announce(self) -> Iterator[bytes]:
        """Templates and the sampling rate, which are never sent again."""
        rate = RATE.to_bytes(4, "big")
        yield netflow9(
            one_set(0, template(256, FLOW)),
            one_set(1, options_template_9(300, ((1, 4),), ((34, 4),))),
            one_set(300, bytes(4) + rate),
        )
        self._v9 += 1
        yield ipfix(
            one_set(2, template(256, FLOW)),
            one_set(3, options_template(300, ((302, 4),), ((34, 4),))),
            one_set(300, bytes(4) + rate),
        )
        self._ipfix += 1

    def export(self) -> Iterator[bytes]:
        """A datagram of each protocol with a record."""
        size = 1_000_000 * (self.number + 1) + len(self.sent)
        self.sent += [size, size + 1]
        yield netflow9(one_set(256, record(size)), sequence=self._v9)
        yield ipfix(one_set(256, record(size + 1)), sequence=self._ipfix)
        self._v9, self._ipfix = self._v9 + 1, self._ipfix + 1


def send(collector: Collector, exporters: list[Exporter], rounds: int) -> None:
    """Every exporter sends so many datagrams of each protocol."""
    target = ("127.0.0.1", collector.port())
    for _ in range(rounds):
        for exporter in exporters:
            for content in exporter.export():
                exporter.socket.sendto(content, target)


def workers(collector: Collector) -> int:
    """How many share the exporters now."""
    status = collector.status()
    assert status is not None
    return len(status["workers"])


def ask_for(collector: Collector, count: int) -> None:
    """Ask for so many workers, one signal after another: the kernel makes one of two that come at once."""
    assert collector.process is not None
    while (now := wanted(collector)) != count:
        collector.process.send_signal(signal.SIGTTIN if now < count else signal.SIGTTOU)
        collector.until(lambda now=now: wanted(collector) != now)  # type: ignore[misc]


def wanted(collector: Collector) -> int:
    """How many workers there are to be."""
    status = collector.status()
    assert status is not None
    return int(status["workers_wanted"])


def known(collector: Collector) -> list[dict[str, Any]]:
    """The accounts of the exporters."""
    status = collector.status()
    assert status is not None
    found: list[dict[str, Any]] = status["exporters"]
    return found


def writers(folder: Path) -> list[int]:
    """How many workers committed in each session, in order."""
    count = Counter(manifest.writer.session for manifest in read_manifests(folder))
    return [count[session] for session in sorted(count)]


class Numbered:
    """Sources that send numbered datagrams with a record each."""

    def __init__(self, sources: int) -> None:
        self.sockets = [sender(f"127.0.0.{n + 2}") for n in range(sources)]
        self.sent: set[int] = set()
        self._next = [100_000 * n for n in range(sources)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for sock in self.sockets:
            sock.close()

    def send(self, collector: Collector, each: int) -> None:
        """So many datagrams from each source."""
        target = ("127.0.0.1", collector.port())
        for _ in range(each):
            for n, sock in enumerate(self.sockets):
                sock.sendto(datagram(self._next[n]), target)
                self.sent.add(1000 * self._next[n])
                self._next[n] += 1

    def send_until(self, collector: Collector, condition: Callable[[], bool]) -> None:
        """Keep sending."""
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            collector.assert_alive()
            assert time.monotonic() < deadline, collector.status()
            self.send(collector, 1)
            time.sleep(0.04)  # the kernel has room for minutes of it


@pytest.mark.slow
def test_a_worker_is_added(tmp_path: Path) -> None:
    """1 -> 2 workers while datagrams arrive: each is stored once, no number is missing, both workers take part.

    A change that has taken no effect when the collector is ended is undone.
    """
    with Collector(tmp_path) as collector, Numbered(12) as sources:
        collector.until(lambda: is_decoding(collector))
        ask_for(collector, 2)
        sources.send_until(collector, lambda: workers(collector) == 2)
        sources.send(collector, 3)
        collector.until(lambda: collector.totals()["durable"] == len(sources.sent))
        ask_for(collector, 1)
        said = collector.stop()
    assert collector.kept() == sorted(sources.sent)
    totals = collector.totals()
    assert (totals["received"], totals["lost"]) == (len(sources.sent), {"datagrams": 0})
    assert writers(tmp_path)[:2] == [1, 2]
    assert "2 workers have taken over" in said


def is_decoding(collector: Collector) -> bool:
    """Whether all decoders have come up."""
    status = collector.status()
    assert status is not None
    return all(worker["is_decoding"] for worker in status["workers"])


def test_requests_stop_no_other_process(tmp_path: Path) -> None:
    """`kill -TTIN %1` reaches a job's whole group of processes: all but the supervisor ignore such signals."""
    with Collector(tmp_path) as collector:
        collector.until(lambda: is_decoding(collector))
        for child in collector.children("_process"):
            state = Path(f"/proc/{child}/status").read_text()
            ignored = int(state.partition("SigIgn:")[2].split()[0], 16)
            assert all(ignored >> number - 1 & 1 for number in (signal.SIGTTIN, signal.SIGTTOU)), state


@pytest.mark.slow
def test_exporters_move_with_what_is_known_of_them(tmp_path: Path) -> None:
    """1 -> 2 -> 4 -> 2 workers while v9 and IPFIX arrive whose templates and rates came once, before.

    All records are stored once, with their rates, and no number is missing.
    """
    exporters = [Exporter(n) for n in range(SOURCES)]
    with Collector(tmp_path, options=REAL) as collector, ExitStack() as sockets:
        for exporter in exporters:
            sockets.enter_context(exporter.socket)
            for content in exporter.announce():
                exporter.socket.sendto(content, ("127.0.0.1", collector.port()))
        for count in (2, 4, 2):
            ask_for(collector, count)
            while workers(collector) != count:
                collector.assert_alive()
                send(collector, exporters, 1)
                time.sleep(0.05)
            send(collector, exporters, 3)
        sent = sorted(size for exporter in exporters for size in exporter.sent)
        collector.until(lambda: collector.totals()["durable"] == len(sent) + 2 * SOURCES)
        said = collector.stop()
    accounts = known(collector)
    frame = read_lake(tmp_path).flows.frame
    assert sorted(frame["bytes"].tolist()) == sent
    assert set(frame["sampling_rate"].tolist()) == {RATE}
    assert len(accounts) == 2 * SOURCES
    assert all((e["lost"], e["late"], e["duplicates"], e["restarts"]) == (0, 0, 0, 0) for e in accounts)
    assert sum(e["records"] for e in accounts) == len(sent)
    totals = collector.totals()
    assert (totals["received"], totals["records"], totals["kernel_drops"]) == (len(sent) + 2 * SOURCES, len(sent), 0)
    assert "lost by sequence number: none" in said
    assert writers(tmp_path)[0] == 1
    assert max(writers(tmp_path)) == 4


@pytest.mark.slow
def test_decoders_that_die_during_a_change(tmp_path: Path) -> None:
    """In each of three changes a decoder is killed: nothing is lost.

    One to come as soon as it is there, one of before when its successors may have taken over, and any one at any time.
    """
    chance = random.Random(24)  # noqa: S311 - moments, no secrets
    with Collector(tmp_path) as collector, Numbered(12) as sources:
        collector.until(lambda: is_decoding(collector))
        for count, first_s, last_s, victim in ((2, 0.0, 0.0, -1), (1, 1.0, 2.0, 0), (2, 0.0, 2.0, chance.randrange(3))):
            before = workers(collector)
            ask_for(collector, count)
            sources.send_until(collector, lambda: len(collector.children(DECODER)) > before)  # noqa: B023 - called at once
            moment_s = time.monotonic() + chance.uniform(first_s, last_s)
            sources.send_until(collector, lambda: time.monotonic() > moment_s)  # noqa: B023 - called at once
            if children := collector.children(DECODER):  # oldest first
                os.kill(children[victim % len(children)], signal.SIGKILL)
            sources.send_until(collector, lambda: workers(collector) == count)  # noqa: B023 - called at once
        collector.until(lambda: collector.totals()["durable"] == len(sources.sent))
        collector.stop()
    assert collector.kept() == sorted(sources.sent)
    totals = collector.totals()
    assert (totals["received"], totals["lost"]) == (len(sources.sent), {"datagrams": 0})


@pytest.mark.slow
def test_everything_dies_during_a_change(tmp_path: Path) -> None:
    """All processes are killed, each time later in a change, and started again with another number of workers.

    What was committed stays, once; what was not is known as missing, no more and no less.
    """
    chance = random.Random(24)  # noqa: S311 - moments, no secrets
    collector, committed = Collector(tmp_path), set[int]()
    with Numbered(12) as sources:
        with collector:
            sources.send(collector, 2)
            collector.stop()
        for turn, (count, wanted_count) in enumerate(((1, 2), (2, 1), (3, 2), (1, 3))):
            collector.options = {"workers": count}
            with collector:
                assert committed <= set(collector.kept())
                ask_for(collector, wanted_count)
                moment_s = time.monotonic() + 0.6 * turn + chance.uniform(0, 0.6)
                sources.send_until(collector, lambda: time.monotonic() > moment_s)  # noqa: B023 - called at once
                collector.kill_all()
                committed |= set(collector.kept())
        with collector:
            sources.send(collector, 2)
            collector.stop()
    kept = collector.kept()
    assert len(kept) == len(set(kept))
    assert committed <= set(kept) <= sources.sent
    assert collector.totals()["lost"] == {"datagrams": len(sources.sent) - len(kept)}


@pytest.mark.slow
def test_load_adds_a_worker(tmp_path: Path) -> None:
    """A worker that has more to do than it can gets another one next to it, where the range allows that."""
    options = SLOW | {"most_workers": 2, "free_cores": 0.0, "thins": False}
    with Collector(tmp_path, options=options) as collector, ExitStack() as sockets:
        collector.until(lambda: is_decoding(collector))
        switches = [sockets.enter_context(sender(f"127.0.0.{n + 2}")) for n in range(8)]
        sent, deadline = 0, time.monotonic() + PATIENCE_S
        while wanted(collector) < 2:
            collector.assert_alive()
            assert time.monotonic() < deadline, collector.status()
            for n, switch in enumerate(switches):
                content = sampled(*(sample(6 * sent + k) for k in range(6)), agent=f"10.0.0.{n}", sequence=sent)
                switch.sendto(content, ("127.0.0.1", collector.port()))
            sent += 1
            time.sleep(0.015)
        collector.until(lambda: workers(collector) == 2)
        collector.until(lambda: collector.totals()["durable"] == 8 * sent)
        said = collector.stop()
    assert "2 workers have taken over" in said
    totals = collector.totals()
    assert (totals["received"], totals["records"], totals["kernel_drops"]) == (8 * sent, 48 * sent, 0)
    assert totals["lost"]["datagrams"] == 0
