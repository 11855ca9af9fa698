"""The rate of a whole analysis and of each of its stages, on one core, on a capture of some minutes of training.

usage: python -m benchmarks.analysis.pipeline [--packets N] [CAPTURE]

The packets of CAPTURE (the bundled one unless given; classic little-endian pcap, also .gz) are repeated, time stamps
and TCP sequence numbers carried on, until there are N; so the job goes on for as many iterations more. Every figure is
taken in a process of its own on one core, and its peak memory is its own. Imports, 0.3 GB, are in it; compiling is not
but in the cold start.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
from isal import igzip

from benchmarks.analysis.stages import timed
from benchmarks.decoding.decode import decode, dpkt_loop, follow
from capture.files.decompression import read_blocks
from capture.ingest_log import IngestLog
from flowprism import pipeline

ROOT = Path(__file__).resolve().parents[2]
BUNDLED = ROOT / "flowprism" / "demo" / "mirror.pcap.gz"
PAUSE_NS = 1_000_000  # between one repetition and the next
# Ethernet, IPv4 without options, TCP: offsets inside a pcap record, its header of 16 bytes included.
ETHERTYPE, IP_BYTES, PROTOCOL, SOURCE, TARGET, PORTS, SEQUENCE, ACKNOWLEDGE, LENGTH = 28, 32, 39, 42, 46, 50, 54, 58, 62

Bytes = npt.NDArray[np.uint8]
Int = npt.NDArray[np.int64]
Figures = dict[str, float]


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("capture", type=Path, nargs="?", default=BUNDLED, help="what to repeat")
    parser.add_argument("--packets", type=int, default=4_000_000, help="least number of packets")
    parser.add_argument("--measure", choices=MEASURES, help=argparse.SUPPRESS)
    parser.add_argument("--repeat-to", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.repeat_to:
        print(repeat(arguments.capture, arguments.packets, arguments.repeat_to))
        return
    if arguments.measure:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        figures = MEASURES[arguments.measure](arguments.capture)
        print(json.dumps(figures | {"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))
        return
    with tempfile.TemporaryDirectory() as folder:
        report(arguments.capture, arguments.packets, Path(folder))


def report(capture: Path, packets: int, folder: Path) -> None:
    """Take every measure; compiled code is kept in `folder`, where there is none at first.

    A process inherits the peak memory of the one that starts it, so this one must not do the work itself.
    """
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "jit"), "PYTHONPATH": str(ROOT)}
    starts(environment)
    plain, packed = folder / "long.pcap", folder / "long.pcap.gz"
    command = [
        sys.executable,
        "-m",
        "benchmarks.analysis.pipeline",
        "--packets",
        str(packets),
        "--repeat-to",
        str(plain),
        str(capture),
    ]
    count = int(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout)
    sizes = plain.stat().st_size / 1e6, packed.stat().st_size / 1e6
    print(f"{count:,} packets, {sizes[0]:.0f} MB, {sizes[1]:.0f} MB packed")
    once = measured("analyze", capture, environment)
    expected = once["iterations"] * count / once["packets"]
    rates = {}
    for name in MEASURES:
        file_of = plain if name in {"decode", "decode, follow", "dpkt loop"} else packed
        figures = measured(name, file_of, environment)
        rates[name] = row(name, figures.pop("packets", count), figures.pop("seconds"), figures.pop("peak"))
        found = figures.pop("iterations", None)
        for stage, seconds in figures.items():
            row(f"  {stage}", count, seconds)
        if found is not None:
            print(f"  {found:.0f} iterations recognised in the longest job; {expected:.0f} by those of {capture.name}")
    print(f"decode is {rates['decode'] / rates['dpkt loop']:.0f} times as fast as the dpkt loop")


def measured(name: str, capture: Path, environment: dict[str, str]) -> Figures:
    """One measure, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.analysis.pipeline", "--measure", name, str(capture)]
    figures: Figures = json.loads(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout)
    return figures


def row(name: str, packets: float, seconds: float, peak_bytes: float | None = None) -> float:
    """Print one line; returns packets per second."""
    peak = "" if peak_bytes is None else f"   peak {peak_bytes / 1e6:6.0f} MB"
    print(f"{name:20s} {seconds:7.2f} s {packets / max(seconds, 1e-9) / 1e6:9.3f} M packets/s{peak}")
    return packets / seconds


def starts(environment: dict[str, str]) -> None:
    """Print how long `flowprism analyze` of the bundled capture takes without and with compiled code at hand."""
    command = [sys.executable, "-c", "from flowprism.cli import main; main()", "analyze", str(BUNDLED)]
    for name in ("cold start", "cached start"):
        before = time.perf_counter()
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        print(f"{name:20s} {time.perf_counter() - before:7.2f} s (flowprism analyze of the bundled capture)")


def gunzip(capture: Path) -> Figures:
    """Unpack and throw away."""
    before = time.perf_counter()
    for _ in read_blocks(capture, IngestLog()):
        pass
    return {"seconds": time.perf_counter() - before}


def analyze(capture: Path) -> Figures:
    """The whole pipeline, from the packed file to the report, and what its stages took of it."""
    spent = timed()
    before = time.perf_counter()
    found = pipeline.analyze([capture], None, pipeline.AnalysisOptions()).report
    seconds = time.perf_counter() - before
    iterations = max((len(job.iterations) for job in found.jobs), default=0)
    return {"packets": found.feed.records, "seconds": seconds, "iterations": iterations} | spent


def _pair(measure: Callable[[Path], tuple[int, float]]) -> Callable[[Path], Figures]:
    def measured(capture: Path) -> Figures:
        packets, seconds = measure(capture)
        return {"packets": packets, "seconds": seconds}

    return measured


MEASURES: dict[str, Callable[[Path], Figures]] = {
    "dpkt loop": _pair(dpkt_loop),
    "gunzip": gunzip,
    "decode": _pair(decode),
    "decode, follow": _pair(follow),
    "analyze": analyze,
}


def repeat(capture: Path, packets: int, target: Path) -> int:
    """Write `capture` again and again as one of at least `packets`, plain and packed; returns how many they are."""
    data = np.frombuffer(b"".join(read_blocks(capture, IngestLog())), np.uint8)
    header, body = data[:24], data[24:]
    fractions = {0xA1B2C3D4: 10**6, 0xA1B23C4D: 10**9}[int(header[:4].view("<u4")[0])]
    at = np.fromiter(_offsets(body.tobytes()), np.int64)
    body = np.concatenate([body, np.zeros(LENGTH + 1, np.uint8)])  # short last records may be looked at as if whole
    stamp_ns = _field(body, at, "<u4") * 10**9 + _field(body, at + 4, "<u4") * (10**9 // fractions)
    segment = at[_is_tcp(body, at)]
    carried, answered = _carried(body, segment)
    span_ns = int(stamp_ns.max() - stamp_ns.min()) + PAUSE_NS
    times = -(-packets // len(at))
    with target.open("wb") as file, target.with_suffix(".pcap.gz").open("wb") as packed:
        file.write(header.tobytes())
        packed.write(igzip.compress(header.tobytes()))
        for turn in range(times):
            copy, now = body.copy(), stamp_ns + turn * span_ns
            _put(copy, at, now // 10**9, "<u4")
            _put(copy, at + 4, now % 10**9 // (10**9 // fractions), "<u4")
            for field, step in ((SEQUENCE, carried), (ACKNOWLEDGE, answered)):
                _put(copy, segment + field, _field(body, segment + field, ">u4") + turn * step, ">u4")
            file.write(copy[: -LENGTH - 1].tobytes())
            packed.write(igzip.compress(copy[: -LENGTH - 1].tobytes()))
    return times * len(at)


def _offsets(body: bytes) -> Iterator[int]:
    """Where the whole records of a little-endian pcap begin."""
    at = 0
    while at + 16 <= len(body):
        (captured_bytes,) = struct.unpack_from("<I", body, at + 8)
        if at + 16 + captured_bytes > len(body):
            return
        yield at
        at += 16 + captured_bytes


def _is_tcp(body: Bytes, at: Int) -> npt.NDArray[np.bool_]:
    ipv4 = (_field(body, at + ETHERTYPE, ">u2") == 0x0800) & (body[at + ETHERTYPE + 2] == 0x45)
    return np.asarray(ipv4 & (body[at + PROTOCOL] == 6) & (_field(body, at + 8, "<u4") > LENGTH - 16))


def _carried(body: Bytes, segment: Int) -> tuple[Int, Int]:
    """For each segment: sequence numbers its connection runs through in one repetition, and those of the way back."""
    address = [_field(body, segment + field, ">u4") for field in (SOURCE, TARGET)]
    ports = _field(body, segment + PORTS, ">u4")
    swapped = (ports & 0xFFFF) << 16 | ports >> 16
    keys = np.stack([np.concatenate(k) for k in ((address[0], address[1]), (address[1], address[0]), (ports, swapped))])
    _, flow = np.unique(keys, axis=1, return_inverse=True)
    own, back = np.split(flow.ravel(), 2)
    payload = _field(body, segment + IP_BYTES, ">u2") - 20 - 4 * (body[segment + LENGTH] >> 4).astype(np.int64)
    sequence = _field(body, segment + SEQUENCE, ">u4")
    first = np.zeros(int(flow.max()) + 1, np.int64)
    first[own[::-1]] = sequence[::-1]
    ahead = (sequence - first[own]).astype(np.int32).astype(np.int64)
    low, high = np.zeros_like(first), np.zeros_like(first)
    np.minimum.at(low, own, ahead)
    np.maximum.at(high, own, ahead + payload)
    return (high - low)[own], (high - low)[back]


def _field(body: Bytes, at: Int, form: str) -> Int:
    """An integer field at each offset."""
    width = np.dtype(form).itemsize
    return np.asarray(body[at[:, None] + np.arange(width)].view(form).ravel(), np.int64)


def _put(body: Bytes, at: Int, value: Int, form: str) -> None:
    width = np.dtype(form).itemsize
    body[at[:, None] + np.arange(width)] = (value & 0xFFFFFFFF).astype(form).view(np.uint8).reshape(-1, width)


if __name__ == "__main__":
    main()
