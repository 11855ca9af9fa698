"""How much a collector takes over loopback into durable segments, and what becomes of what it cannot take.

usage: python -m benchmarks.service.collector [--seconds S] [--rates N,N] [--no-thinning]

The real commands: `flowprism collect` as a process with its workers, and the sender of `flowprism replay` in this one.
The input is sFlow, six samples of RoCEv2 headers a datagram. `uncounted` is what was sent and is neither stored nor
counted as dropped; it must be 0 at any rate. `volume` is what stored samples stand for, by their rates, over what was
sent in stored datagrams; `full in s` is how long after the rate has fallen to a sixth all samples are kept again.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
from typing import Any

from benchmarks.decoding.export_inputs import datagrams
from capture.exporters.datagram import SFLOW5, Datagrams
from flowprism.replay.send_schedule import SendPace
from flowprism.replay.sender import send
from storage.lake.lake_reader import read_kind
from storage.lake.object_names import SEGMENTS
from storage.lake.object_store import LocalStore
from storage.lake.selection import Selection

SAMPLES_A_DATAGRAM, EXPORTED_RATE = 6, 4096  # of `export_inputs`
RELIEF, LONGEST_RELIEF_S = 6, 60.0  # the rate falls to such a part afterwards, for so long at most
PATIENCE_S = 600.0  # nothing compiled may be on disk yet
COLLECT = "from flowprism.cli import main; main()"


def main() -> None:
    """Print a line for each rate."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0, help="how long to send at each rate")
    parser.add_argument("--rates", default="60000,120000,170000,300000", help="datagrams a second")
    parser.add_argument("--no-thinning", action="store_true", help="keep all samples whatever comes")
    arguments = parser.parse_args()
    batch = datagrams(SFLOW5, 300_000 * SAMPLES_A_DATAGRAM)
    heads = ("datagrams/s", "samples/s", "sent", "stored", "dropped", "uncounted", "cores: rx", "decode", "MB", "B/row",
             "thinned", "volume", "full in s")  # fmt: skip
    further = ["--no-thinning"] if arguments.no_thinning else []
    print("".join(f"{head:>12}" for head in heads))
    for rate in map(int, arguments.rates.split(",")):
        print("".join(f"{value:>12}" for value in measured(batch, rate, arguments.seconds, further)), flush=True)


def measured(batch: Datagrams, rate: int, seconds: float, further: list[str]) -> tuple[object, ...]:
    """One run at one rate: the columns of its line."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with collecting(folder, further) as process:
            port = int(status(folder)["sockets"][0]["listen"].rpartition(":")[2])
            send([Datagrams(batch.data, batch.index[:1])], "127.0.0.1", port, SendPace())
            until(lambda: status(folder)["totals"]["durable"] == 1)
            before = cpu_s(process)
            turns = max(1, round(rate * seconds / len(batch)))
            sent = send(repeat(batch, turns), "127.0.0.1", port, SendPace(per_s=rate))
            after, memory = cpu_s(process), memory_mb(process)
            relieved, full_s = relief(batch, rate // RELIEF, folder, port)
        totals = status(folder)["totals"]
        frame, _ = read_kind(folder, "flows", Selection(columns=("sampling_rate",)))
        volume = frame["sampling_rate"].sum() / (EXPORTED_RATE * SAMPLES_A_DATAGRAM * totals["durable"])
        stored = sum(found.size_bytes for found in LocalStore(folder).list(SEGMENTS))
    shares = [f"{(after[part] - before[part]) / sent.seconds:.2f}" for part in ("receiver_process", "decoder_process")]
    reached = sent.datagrams / sent.seconds
    all_sent = sent.datagrams + relieved + 1
    uncounted = all_sent - totals["durable"] - totals["kernel_drops"]
    counts = (all_sent, totals["durable"], totals["kernel_drops"], uncounted)
    size = f"{stored / max(1, totals['records']):.1f}"
    share = f"{volume:.4f}"
    relief_of = (totals["thinned"], share, f"{full_s:.1f}")
    return (f"{reached:.0f}", f"{reached * SAMPLES_A_DATAGRAM:.0f}", *counts, *shares, memory, size, *relief_of)


def relief(batch: Datagrams, rate: int, folder: Path, port: int) -> tuple[int, float]:
    """(datagrams, seconds) sent at a lower rate until no samples are thinned out."""
    began, count = time.monotonic(), 0
    part = Datagrams(batch.data, batch.index[: max(rate // 2, 1)])
    while status(folder)["workers"][0]["thinning"] > 1 and time.monotonic() - began < LONGEST_RELIEF_S:
        count += send([part], "127.0.0.1", port, SendPace(per_s=rate)).datagrams
    return count, time.monotonic() - began


@contextmanager
def collecting(folder: Path, further: Sequence[str] = ()) -> Iterator[subprocess.Popen[bytes]]:
    """A collector for the time of the block; at its end all that was received is stored."""
    command = [sys.executable, "-c", COLLECT, "collect", "--out", str(folder), "--listen", "127.0.0.1:0", *further]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        until((folder / "status.json").exists)
        yield process
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)


def status(folder: Path) -> dict[str, Any]:
    """The collector's newest status."""
    found: dict[str, Any] = json.loads((folder / "status.json").read_text())
    return found


def until(condition: Callable[[], bool]) -> None:
    """Wait for something to come true."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            sys.exit("the collector does not come up")
        time.sleep(0.1)


def workers(process: subprocess.Popen[bytes]) -> dict[str, int]:
    """Process ids of a collector's one worker, by what they do."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    names = {int(child): Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")[3].decode() for child in children}
    return {name.rpartition(".")[2]: child for child, name in names.items()}


def cpu_s(process: subprocess.Popen[bytes]) -> dict[str, float]:
    """Processor time that the worker's processes have used."""
    tick = os.sysconf("SC_CLK_TCK")
    used = {}
    for name, child in workers(process).items():
        parts = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
        used[name] = (int(parts[11]) + int(parts[12])) / tick
    return used


def memory_mb(process: subprocess.Popen[bytes]) -> int:
    """Memory of the worker's processes, the ring not counted."""
    lines = [line for pid in workers(process).values() for line in Path(f"/proc/{pid}/status").read_text().splitlines()]
    return sum(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) // 1024


if __name__ == "__main__":
    main()
