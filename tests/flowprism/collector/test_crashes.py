"""Whatever dies, and whenever: what was received is stored once, and what cannot be decoded is set aside."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from storage.lake.log import read_manifests
from storage.lake.object_store import LocalStore
from tests.flowprism.collector.fake import HANGS, KILLS, ONCE, RAISES, datagram
from tests.flowprism.collector.running import Collector, sender

# Decoders that are killed before they come to anything let the ring fill up; what is dropped then would be counted,
# but these tests want to see every datagram stored.
RING_BYTES, RING_DATAGRAMS = 64 << 20, 110_000
# A busy machine keeps the receiver waiting for seconds: the kernel holds as much for it as in earnest.
BUFFER_BYTES = 64 << 20


class Load:
    """Numbered datagrams, sent as long as the `with` block lasts."""

    def __init__(self, per_s: int, first: int = 0) -> None:
        self.first = self.next = first
        self._per_s = per_s

    @contextmanager
    def on(self, collector: Collector) -> Iterator[None]:
        """Send to a collector."""
        stop = threading.Event()
        thread = threading.Thread(target=self._send, args=(collector.port(), stop))
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _send(self, port: int, stop: threading.Event) -> None:
        with sender() as sock:
            while not stop.is_set():
                for _ in range(self._per_s // 100):
                    sock.sendto(datagram(self.next, 2), ("127.0.0.1", port))
                    self.next += 1
                time.sleep(0.01)

    def records(self) -> list[int]:
        """The records of all that was sent."""
        return [1000 * number + k for number in range(self.first, self.next) for k in range(2)]


def kill_decoders(folder: Path, rounds: int, seed: int) -> None:
    """Kill the decoder under load so many times; in the end all is there once."""
    chance = random.Random(seed)  # noqa: S311 - a fixed seed is the point
    load = Load(2000)
    with Collector(folder, options={"ring_bytes": RING_BYTES, "buffer_bytes": BUFFER_BYTES}) as collector:
        with load.on(collector):
            for _ in range(rounds):
                collector.until(lambda: len(collector.children("collector.processes.decoder_process")) == 1)
                collector.until(lambda: waiting(collector) < RING_DATAGRAMS // 2)
                time.sleep(chance.random() * 3)
                for process in collector.children("collector.processes.decoder_process"):
                    os.kill(process, signal.SIGKILL)
        collector.stop()
        totals = collector.totals()
    assert (totals["kernel_drops"], totals["set_aside"], totals["lost"]) == (0, 0, {"datagrams": 0})
    assert totals["received"] == totals["durable"] == load.next
    assert collector.kept() == load.records()


def waiting(collector: Collector) -> int:
    """Datagrams that are received and not stored yet."""
    totals = collector.totals()
    return int(totals["received"]) - int(totals["durable"])


def kill_everything(folder: Path, rounds: int, seed: int) -> None:
    """Kill supervisor and workers under load so many times; after each every committed record is there once."""
    chance = random.Random(seed)  # noqa: S311 - a fixed seed is the point
    load = Load(2000)
    committed, collector = 0, Collector(folder)
    for _ in range(rounds):
        with collector, load.on(collector):
            collector.until(lambda: collector.totals()["durable"] > 0)
            time.sleep(chance.random())
            collector.kill_all()
        kept = collector.kept()
        rows = sum(s.rows for m in read_manifests(folder) for c in m.commits for s in c.segments)
        assert len(kept) == len(set(kept)) == rows > committed
        assert set(kept) <= set(load.records())
        committed = rows
    with collector:
        collector.stop()
    named = {s.file for m in read_manifests(folder) for c in m.commits for s in c.segments}
    assert {found.name for found in LocalStore(folder).list("segments")} == named


@pytest.mark.slow
def test_killed_decoders(tmp_path: Path) -> None:
    """A decoder killed at 15 random moments under load costs nothing: every record is stored once."""
    kill_decoders(tmp_path, 15, 2)


@pytest.mark.slow
def test_killed_collectors(tmp_path: Path) -> None:
    """When all processes are killed at once, 10 times, what the manifest names is there once, and leftovers go."""
    kill_everything(tmp_path, 10, 2)


@pytest.mark.slow
def test_killed_receivers(tmp_path: Path) -> None:
    """While a receiver is started again datagrams wait in the kernel; at most those in its hands are missing."""
    load = Load(2000)
    with Collector(tmp_path) as collector:
        with load.on(collector):
            # before the first one is stored no number shows that datagrams are missing
            collector.until(lambda: collector.totals()["durable"] > 0)
            for _ in range(3):
                collector.until(lambda: len(collector.children("collector.processes.receiver_process")) == 1)
                time.sleep(1.2)
                for process in collector.children("collector.processes.receiver_process"):
                    os.kill(process, signal.SIGKILL)
            time.sleep(1)
        collector.stop()
        totals = collector.totals()
    kept = collector.kept()
    assert len(kept) == len(set(kept))
    missing = load.next - len(kept) // 2
    assert totals["kernel_drops"] == 0
    assert missing == totals["lost"]["datagrams"] <= 3 * 512


def test_a_killed_supervisor(tmp_path: Path) -> None:
    """The workers of a supervisor that was killed store what they have; the next one waits for them."""
    with Collector(tmp_path, options={"commit_every_s": 60}) as first, sender() as sock:
        for number in range(500):
            sock.sendto(datagram(number), ("127.0.0.1", first.port()))
        first.until(lambda: first.totals()["received"] == 500)
        assert first.process is not None
        first.process.kill()
        first.process.wait()
        with Collector(tmp_path) as second:
            assert second.kept() == [1000 * number for number in range(500)]
            second.stop()


@pytest.mark.slow
@pytest.mark.parametrize(("deed", "padding"), [(KILLS, 0), (RAISES, 1000)])
def test_poison_is_set_aside(tmp_path: Path, deed: bytes, padding: int) -> None:
    """Datagrams that end their decoder are kept in files of their own, as they came; all others are decoded once."""
    poison = {20: datagram(20, 1, deed, padding), 21: datagram(21, 1, deed), 70: datagram(70, 1, deed)}
    with Collector(tmp_path, options={"commit_every_s": 1}) as collector, sender("127.0.0.5") as sock:
        for number in range(100):
            sock.sendto(poison.get(number, datagram(number)), ("127.0.0.1", collector.port()))
        collector.until(lambda: collector.totals()["durable"] == 100)
        said = collector.stop()
    assert collector.kept() == [1000 * number for number in range(100) if number not in poison]
    assert collector.totals()["set_aside"] == 3
    assert "set aside 3" in said
    packets = [packet_of(path) for path in sorted((tmp_path / "quarantine").iterdir(), key=number_of)]
    assert packets == [("127.0.0.5", payload) for payload in poison.values()]
    aside = [name for m in read_manifests(tmp_path) for c in m.commits for name in c.set_aside]
    assert sorted(aside) == sorted(path.name for path in (tmp_path / "quarantine").iterdir())


def number_of(path: Path) -> int:
    """The datagram's number in the name of its file."""
    return int(path.stem.rpartition("-")[2])


def packet_of(path: Path) -> tuple[str, bytes]:
    """Source address and UDP payload in a pcap file of one bare IPv4 packet."""
    packet = path.read_bytes()[24 + 16 :]
    assert packet[0] == 0x45
    assert int.from_bytes(packet[2:4], "big") == len(packet)
    return ".".join(map(str, packet[12:16])), packet[28:]


@pytest.mark.slow
def test_a_death_from_outside_sets_nothing_aside(tmp_path: Path) -> None:
    """A decoder that something else ends while it has a datagram in hand decodes it at the second attempt."""
    with Collector(tmp_path) as collector, sender() as sock:
        for number in range(50):
            deed = datagram(number, 1, ONCE) + str(tmp_path / "done").encode()
            sock.sendto(deed if number == 25 else datagram(number), ("127.0.0.1", collector.port()))
        collector.until(lambda: collector.totals()["durable"] == 50)
        collector.stop()
    assert collector.kept() == [1000 * number for number in range(50)]
    assert (tmp_path / "done").exists()
    assert not (tmp_path / "quarantine").exists()


@pytest.mark.slow
def test_a_datagram_without_end_is_set_aside(tmp_path: Path) -> None:
    """A decoder that hangs is ended, and the datagram it hangs on is set aside."""
    with Collector(tmp_path, options={"stall_s": 1.0}) as collector, sender() as sock:
        for number in range(50):
            sock.sendto(datagram(number, 1, HANGS if number == 25 else b"."), ("127.0.0.1", collector.port()))
        collector.until(lambda: collector.totals()["durable"] == 50)
        collector.stop()
    assert len(collector.kept()) == 49
    assert collector.totals()["set_aside"] == 1


def test_records_that_cannot_be_stored_wait(tmp_path: Path) -> None:
    """While the folder cannot be written the ring keeps what was received; afterwards all of it is stored once."""
    with Collector(tmp_path) as collector, sender() as sock:
        (tmp_path / "segments").rename(tmp_path / "elsewhere")
        for number in range(200):
            sock.sendto(datagram(number), ("127.0.0.1", collector.port()))
        collector.until(lambda: deaths(collector) >= 2)
        assert collector.totals()["durable"] == 0
        (tmp_path / "elsewhere").rename(tmp_path / "segments")
        collector.until(lambda: collector.totals()["durable"] == 200)
        said = collector.stop()
    assert "records cannot be stored: No such file or directory" in said
    assert collector.kept() == [1000 * number for number in range(200)]


def deaths(collector: Collector) -> int:
    """How often the decoder of worker 0 has died."""
    status = collector.status()
    assert status is not None
    return int(status["workers"][0]["decoder_deaths"])
