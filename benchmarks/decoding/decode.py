"""How fast mirrored packets are decoded and followed, against a plain dpkt loop over the same file.

usage: python -m benchmarks.decoding.decode [--packets N] [CAPTURE]

Without CAPTURE a seeded one is made: RoCEv2 writes of 64 packets on 2,048 queue pairs, their acknowledgements, and
TCP streams, each frame cut at 96 bytes. Every figure is taken in a process of its own, so that its peak memory is its
own; `decode` and `follow` hold the file in memory, `read_flows` streams it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import dpkt
import numpy as np
import numpy.typing as npt

from capture.files.capture_file import batches
from capture.files.decompression import read_blocks
from capture.ingest_log import IngestLog
from capture.mirror.mirror import Mirror
from capture.reader import read_flows

SNAP_BYTES = 96
MESSAGE_PACKETS = 64
QUEUE_PAIRS = 2048
DPKT_BLOCKS = 20  # about 190,000 packets; the loop's rate does not depend on the length

Matrix = npt.NDArray[np.uint8]
Measure = Callable[[Path], tuple[int, float]]  # packets, seconds


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("capture", type=Path, nargs="?", help="a capture; classic pcap, as dpkt is to read it too")
    parser.add_argument("--packets", type=int, default=4_000_000, help="how many to generate")
    parser.add_argument("--measure", choices=MEASURES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        packets, seconds = MEASURES[arguments.measure](arguments.capture)
        peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(json.dumps([packets, seconds, peak_bytes]))
        return
    with tempfile.TemporaryDirectory() as folder:
        capture = arguments.capture or generate(Path(folder) / "generated.pcap", arguments.packets)
        report(capture, Path(folder))


def report(capture: Path, folder: Path) -> None:
    """Take every measure on `capture` and print it; compiled code is kept in `folder`, where there is none at first."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "jit"), "PYTHONPATH": str(Path(__file__).parents[2])}
    small = str(generate(folder / "small.pcap", 1000))
    for name in ("cold start", "cached start"):
        before = time.perf_counter()
        subprocess.run([sys.executable, "-c", START, small], env=environment, check=True)
        print(f"{name:14s} {time.perf_counter() - before:7.2f} s (interpreter, imports, 1,000 packets)")
    print(f"{capture.name}: {capture.stat().st_size / 1e6:.1f} MB")
    rates = {}
    for name in MEASURES:
        command = [sys.executable, "-m", "benchmarks.decoding.decode", "--measure", name, str(capture)]
        output = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout
        packets, seconds, peak_bytes = json.loads(output)
        rates[name] = packets / seconds / 1e6
        print(f"{name:14s} {seconds:7.2f} s {rates[name]:8.3f} M packets/s   peak {peak_bytes / 1e6:6.0f} MB")
    print(f"decode is {rates['decode'] / rates['dpkt loop']:.0f} times as fast as the dpkt loop")


def decode(capture: Path) -> tuple[int, float]:
    """Containers and headers to wire columns, from memory."""
    held = list(read_blocks(capture, IngestLog()))
    count, seconds = 0, 0.0
    for part in (held[:1], held):  # the first loads the compiled code
        before = time.perf_counter()
        count = sum(len(batch.packets) for batch in batches(part, capture.name, IngestLog()))
        seconds = time.perf_counter() - before
    return count, seconds


def follow(capture: Path) -> tuple[int, float]:
    """Containers and headers to wire columns to flow records, from memory."""
    held = list(read_blocks(capture, IngestLog()))
    count, seconds = 0, 0.0
    for part in (held[:1], held):
        before = time.perf_counter()
        mirror = Mirror()
        for batch in batches(part, capture.name, IngestLog()):
            mirror.feed(batch.packets)
        mirror.flows()
        count, seconds = mirror.packets, time.perf_counter() - before
    return count, seconds


def read(capture: Path) -> tuple[int, float]:
    """The public face, from file to flow records, streaming."""
    before = time.perf_counter()
    return read_flows(capture).records, time.perf_counter() - before


def dpkt_loop(capture: Path) -> tuple[int, float]:
    """A plain loop: dpkt decodes the same headers, struct the BTH."""
    with tempfile.TemporaryFile() as file:
        file.write(b"".join(islice(read_blocks(capture, IngestLog()), DPKT_BLOCKS)))
        file.seek(0)
        rows: list[tuple[object, ...]] = []
        before = time.perf_counter()
        with contextlib.suppress(
            dpkt.UnpackError, struct.error, AttributeError
        ):  # where the blocks end inside a record
            for stamp, frame in dpkt.pcap.Reader(file):
                packet = dpkt.ethernet.Ethernet(frame).data
                inner = packet.data
                if isinstance(inner, dpkt.udp.UDP):
                    fields = struct.unpack_from("!BBHII", inner.data)
                else:
                    fields = (inner.seq, inner.ack, inner.flags)
                rows.append((stamp, packet.src, packet.dst, packet.len, packet.p, inner.sport, inner.dport, *fields))
        return len(rows), time.perf_counter() - before


MEASURES: dict[str, Measure] = {"decode": decode, "follow": follow, "read_flows": read, "dpkt loop": dpkt_loop}
START = "import sys, pathlib, capture.reader as r; r.read_flows(pathlib.Path(sys.argv[1]))"


def generate(path: Path, packets: int) -> Path:
    """Write a seeded capture of `packets` frames: 6 in 8 RoCEv2 writes, 1 RoCEv2 acknowledgement, 1 TCP segment."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, SNAP_BYTES, 1))
        for first in range(0, packets, 1 << 16):
            file.write(frames(np.arange(first, min(first + (1 << 16), packets))).tobytes())
    return path


def frames(number: npt.NDArray[np.int64]) -> Matrix:
    """One pcap record a row, for packets of these running numbers."""
    kind, turn = number % 8, number // 8
    tcp, answer = kind == 7, kind == 6
    # Six queue pairs send side by side, a message each; answers go to the first of the six.
    train = turn // MESSAGE_PACKETS * 6 + np.where(kind < 6, kind, 0)
    flow = train % QUEUE_PAIRS
    step = train // QUEUE_PAIRS * MESSAGE_PACKETS + turn % MESSAGE_PACKETS
    position = turn % MESSAGE_PACKETS
    opcode = np.where(position == 0, 6, np.where(position == MESSAGE_PACKETS - 1, 8, 7))
    ip_bytes = np.where(tcp, 1500, np.where(answer, 48, 1068))
    records = np.zeros((len(number), 16 + SNAP_BYTES), np.uint8)
    time_ns = 1_700_000_000_000_000_000 + number * 100
    for at, value in ((0, time_ns // 10**9), (4, time_ns % 10**9), (8, SNAP_BYTES), (12, 14 + ip_bytes)):
        put(records, at, value, "<u4")
    frame = records[:, 16:]
    host, peer = 0x0A000000 + flow, 0x0A010000 + flow
    for at, value, form in (
        (12, 0x0800, ">u2"), (14, 0x4500, ">u2"), (16, ip_bytes, ">u2"), (18, number & 0xFFFF, ">u2"),
        (22, 0x4000 + np.where(tcp, 6, 17), ">u2"),
        (26, np.where(answer, peer, host), ">u4"), (30, np.where(answer, host, peer), ">u4"),
        (34, 49152 + flow, ">u2"), (36, np.where(tcp, 50000, 4791), ">u2"),
        (38, np.where(tcp, step * 1448, (ip_bytes - 20) << 16), ">u4"),
        (42, np.where(tcp, 1, np.where(answer, 0x11, opcode) << 24 | 0x40FFFF), ">u4"),
        (46, np.where(tcp, 0x80100000, flow + np.where(answer, 0x8000, 0x100)), ">u4"),
        (50, np.where(tcp, 0, step & 0xFFFFFF), ">u4"),
        (66, np.where(tcp | answer, 0, MESSAGE_PACKETS * 1024), ">u4"),
    ):  # fmt: skip
        put(frame, at, value, form)
    return records


def put(rows: Matrix, at: int, value: npt.NDArray[np.int64] | int, form: str) -> None:
    """Write an integer field, in the byte order and width of `form`, into every row."""
    field = np.broadcast_to(value, len(rows)).astype(form)
    rows[:, at : at + field.itemsize] = field.view(np.uint8).reshape(len(rows), -1)


if __name__ == "__main__":
    main()
