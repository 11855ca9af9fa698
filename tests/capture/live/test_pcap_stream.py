"""Captures that come through a pipe while they are being written."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest

from capture.ingest_log import IngestLog
from capture.live.pcap_stream import pcap_stream
from capture.packets.packet_columns import PACKET, Packets
from datamodel.errors import InputError
from tests.capture.frames import meaning, pcap, tcp_frame
from tests.capture.live.arrivals import NAMES, frames_of, rows_of, seen_like
from tests.capture.live.namespaces import Namespace
from tests.capture.pcapng_writer import Writer

PAGE = Path(__file__).parents[3] / "docs" / "live-mirror.md"


@pytest.fixture
def pipe() -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """The two ends of a pipe: one to read, one that writes at once."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as reader, os.fdopen(writing, "wb", buffering=0) as writer:
        yield reader, writer


def awaited(stream: Iterator[Packets], count: int) -> Packets:
    """The next `count` packets of a stream."""
    parts = [np.empty(0, PACKET)]
    while sum(map(len, parts)) < count:
        parts.append(next(stream).copy())
    return np.concatenate(parts)


def pcapng(frames: list[bytes]) -> list[bytes]:
    """A pcapng stream: what stands before the first packet, then a piece for every packet."""
    out = Writer().section().interface()
    pieces, done = [], 0
    for i, frame in enumerate(frames):
        out.packet(1000 + i, frame)
        pieces.append(bytes(out.out[done:]))
        done = len(out.out)
    return pieces


@pytest.mark.parametrize("form", ["pcap", "pcapng"])
def test_every_packet_comes_at_once(pipe: tuple[BinaryIO, BinaryIO], form: str) -> None:
    """A packet that was written is handed over before the next one is, whatever the form."""
    reader, writer = pipe
    frames = [tcp_frame(i, 100) for i in range(5)]
    pieces = [pcap([(i, f)])[0 if i == 0 else 24 :] for i, f in enumerate(frames)] if form == "pcap" else pcapng(frames)
    stream = pcap_stream(reader, IngestLog())
    for number, piece in enumerate(pieces):
        writer.write(piece)
        assert awaited(stream, 1)["sequence"].tolist() == [number]


@pytest.mark.parametrize("step", [1, 3, 1000])
def test_pieces_of_any_size(step: int) -> None:
    """Where the pieces are cut changes nothing."""
    content = pcap([(i, tcp_frame(i, 10)) for i in range(50)])

    class Dribble(BytesIO):
        """Hands out a few bytes at a time."""

        def read1(self, size: int | None = -1) -> bytes:
            return super().read1(min(step, size or step))

    rows = awaited(pcap_stream(Dribble(content), IngestLog()), 50)
    assert rows["sequence"].tolist() == list(range(50))


def test_idle_stream_lets_others_work(pipe: tuple[BinaryIO, BinaryIO]) -> None:
    """While nothing comes there are empty batches, before the first byte and between packets; nothing is lost."""
    reader, writer = pipe
    stream = pcap_stream(reader, IngestLog(), idle_s=0.01)
    assert len(next(stream)) == 0
    content = pcap([(1, tcp_frame(1, 1)), (2, tcp_frame(2, 1))])
    writer.write(content[:2])
    assert [len(next(stream)) for _ in range(2)] == [0, 0]
    writer.write(content[2:50])
    assert [len(next(stream)) for _ in range(3)] == [0, 0, 0]
    writer.write(content[50:])
    assert awaited(stream, 2)["sequence"].tolist() == [1, 2]


def test_idle_right_after_a_whole_packet(pipe: tuple[BinaryIO, BinaryIO]) -> None:
    """Also where nothing waits to be put together, silence gives empty batches."""
    reader, writer = pipe
    stream = pcap_stream(reader, IngestLog(), idle_s=0.01)
    writer.write(pcap([(1, tcp_frame(1, 1))]))
    assert awaited(stream, 1)["sequence"].tolist() == [1]
    assert [len(next(stream)) for _ in range(3)] == [0, 0, 0]


def test_end_inside_a_packet_is_told() -> None:
    """A stream that ends inside a packet gives what came before, and says so."""
    ingest_log = IngestLog()
    content = pcap([(1, tcp_frame(1, 1)), (2, tcp_frame(2, 1))])
    assert sum(len(batch) for batch in pcap_stream(BytesIO(content[:-5]), ingest_log, "the mirror")) == 1
    assert "the mirror: ends inside a packet" in ingest_log.warnings[0]


@pytest.mark.parametrize(
    ("content", "cause"),
    [(b"", "ended before anything came"), (b"tc", "neither"), (b"tcpdump: eth0: no such device", "neither")],
)
def test_something_else_is_refused(content: bytes, cause: str) -> None:
    """What is no capture, or nothing at all, is one line."""
    with pytest.raises(InputError, match=f"^standard input: {cause}"):
        list(pcap_stream(BytesIO(content), IngestLog()))


@pytest.mark.parametrize("name", NAMES)
def test_tcpdump_through_a_pipe(sender: Namespace, receiver: Namespace, name: str) -> None:
    """What tcpdump writes while it listens are the packets that were sent, as they come."""
    if shutil.which("tcpdump") is None:
        pytest.skip("no tcpdump")
    listen = ["tcpdump", "-i", receiver.port, "-s", "192", "-U", "--immediate-mode", "-Z", "root", "-w", "-"]
    with subprocess.Popen(
        ["ip", "netns", "exec", receiver.name, *listen], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as tcpdump:
        assert tcpdump.stdout
        assert tcpdump.stderr
        while b"listening on" not in tcpdump.stderr.readline():
            assert tcpdump.poll() is None
        stream = pcap_stream(tcpdump.stdout, IngestLog())
        for _ in range(2):  # the second time nothing is opened any more, and the first is not held back
            sender.send(frames_of(name))
            expected = rows_of(name)
            rows = awaited(stream, len(expected))
            assert meaning(seen_like(rows, expected)) == meaning(rows)
        tcpdump.terminate()
        assert sum(map(len, stream)) == 0


@pytest.mark.slow
def test_program_of_the_page(sender: Namespace, receiver: Namespace) -> None:
    """The scapy program on the page writes a stream that we read, packet by packet."""
    found = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found
    if subprocess.run([sys.executable, "-c", "import scapy"], capture_output=True, check=False).returncode:
        pytest.skip("no scapy")
    program = found[1].replace("en0", receiver.port)
    command = ["ip", "netns", "exec", receiver.name, sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as scapy:
        assert scapy.stdout
        stream = pcap_stream(scapy.stdout, IngestLog(), idle_s=0.2)
        until, batch = time.monotonic() + 30, np.empty(0, PACKET)
        while not len(batch) and time.monotonic() < until:  # until it listens, nothing that is sent is seen
            sender.send([tcp_frame(7, 10)])
            batch = next(stream)
        assert set(batch["sequence"].tolist()) == {7}
        scapy.terminate()
