"""How fast export datagrams become flow records, from memory on one core, beside GoFlow2 and nfdump in the same run.

usage: python -m benchmarks.decoding.feeds [--records N]

Ours does all it does in service: sequence numbers, templates, sampling rates, times, addresses, flow record columns.
GoFlow2's decoders stop at wire structures. They are built from the Go module proxy where Go is at hand; otherwise the
column says so. nfcapd and sfcapd read no captures: they receive over the loopback device and write files, which is
part of their time, and get fewer records, for those must be sent slowly. Time is that of the processor, for other work
on the machine must not count; memory is the most in use beyond the input.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.decoding.capturing import stored_rate
from benchmarks.decoding.export_inputs import datagrams
from capture.export_decoder import ExportDecoder
from capture.exporters.datagram import IPFIX, NETFLOW5, NETFLOW9, PROTOCOLS, SFLOW5, Datagrams

BATCH_DATAGRAMS = 1024  # as the collector decodes them: what comes out of one batch stays in the cache
STORED_RECORDS = 500_000  # sent to nfdump's collectors
PEER = Path(__file__).parent / "goflow2"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=3_000_000, help="how many to decode of each protocol")
    parser.add_argument("--measure", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        records, seconds, resident_bytes = decode(datagrams(arguments.measure, arguments.records))
        print(json.dumps([records, seconds, resident_bytes]))
        return
    with tempfile.TemporaryDirectory() as folder:
        peer = built(Path(folder))
        titles = f"{'GoFlow2':>12s}{'ratio':>8s}{'nf/sfcapd':>12s}{'ratio':>8s}{'memory':>10s}"
        print(f"{'':12s}{'records':>11s}{'flowprism':>12s}{'':10s}{titles}")
        for protocol in (SFLOW5, NETFLOW5, NETFLOW9, IPFIX):
            report(protocol, arguments.records, peer, Path(folder))


def report(protocol: int, records: int, peer: Path | None, folder: Path) -> None:
    """Measure one protocol and print its line."""
    command = [sys.executable, "-m", "benchmarks.decoding.feeds", "--measure", str(protocol), "--records", str(records)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]).stdout
    count, seconds, peak_bytes = json.loads(output)
    rate = count / seconds / 1e6
    decoders = None if peer is None else peer_rate(peer, datagrams(protocol, records), folder)
    collector = stored_rate(protocol, datagrams(protocol, min(records, STORED_RECORDS)), folder)
    line = f"{PROTOCOLS[protocol]:12s}{count:11,d}{rate:10.2f} M{seconds / count * 1e9:7.0f} ns"
    print(f"{line}{beside(rate, decoders)}{beside(rate, collector)}{peak_bytes / 1e6:7.0f} MB", flush=True)


def beside(ours: float, theirs: float | None) -> str:
    """A peer's rate and how many times ours is as much."""
    return f"{'not there':>12s}{'-':>8s}" if theirs is None else f"{theirs:10.2f} M{ours / theirs:7.1f}x"


def decode(batch: Datagrams) -> tuple[int, float, int]:
    """Records, seconds of processor time, and bytes of memory beyond the input."""
    warm = Datagrams(batch.data, batch.index[:BATCH_DATAGRAMS])
    ExportDecoder().feed(warm)
    before_bytes = most_bytes = resident_bytes()
    exports, rows = ExportDecoder(), 0
    began = time.thread_time()
    for first in range(0, len(batch), BATCH_DATAGRAMS):
        exports.feed(Datagrams(batch.data, batch.index[first : first + BATCH_DATAGRAMS]))
        rows += len(exports.take().flows)
        if first % (64 * BATCH_DATAGRAMS) == 0:
            most_bytes = max(most_bytes, resident_bytes())
    seconds = time.thread_time() - began
    if rows != exports.records or any(e.lost or e.duplicates or e.rejected for e in exports.exporters()):
        raise AssertionError(f"the input was not decoded whole: {exports.exporters()[0]}")
    return rows, seconds, most_bytes - before_bytes


def resident_bytes() -> int:
    """Memory in use; the peak of the whole process would be that of making the input."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def built(folder: Path) -> Path | None:
    """The peer's program, where it can be built."""
    go = shutil.which("go")
    if go is None:
        return None
    made = subprocess.run([go, "build", "-o", str(folder / "peer"), "."], cwd=PEER, check=False, capture_output=True)
    return folder / "peer" if made.returncode == 0 else None


def peer_rate(peer: Path, batch: Datagrams, folder: Path) -> float:
    """Million records a second of the peer's decoders over the same datagrams, on one core."""
    path = folder / "datagrams"
    with path.open("wb") as file:
        for row in batch.index:
            payload = batch.data[row["offset"] : row["offset"] + row["bytes"]]
            file.write(np.array([len(payload)], ">u4").tobytes() + payload.tobytes())
    output = subprocess.run([str(peer), str(path)], check=True, stdout=subprocess.PIPE, env={"GOMAXPROCS": "1"}).stdout
    records, seconds = output.split()
    return int(records) / float(seconds) / 1e6


if __name__ == "__main__":
    main()
