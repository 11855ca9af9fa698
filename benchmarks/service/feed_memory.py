"""Whether the service's memory grows: a simulated feed of many hosts, played to it for as long as one likes.

usage: python -m benchmarks.service.feed_memory [--minutes M] [--hosts N] [--nics N] [--case DIR] [--folder DIR]
                                                [--csv FILE]
       python -m benchmarks.service.feed_memory --read FILE

The real command, `flowprism serve` with all of its parts, and over loopback the IPFIX of a meter beside each leaf. The
traffic is a simulated minute of a cluster of mixed jobs with faults (`flowprism simulate cluster`), of so many NICs of
each host, again and again and always dated now; at the seams iterations are torn, so that there is always something to
find. Raw records are kept for a quarter of the time, so that what is old is removed while it is measured.

Every ten seconds the memory of each process is written to the CSV: resident (`rss_bytes`, what several share counted
in each) and its share of what it has in common with others (`pss_bytes`). `--read` tells of such a file, whether it is
finished or not: for each process and for all together the most there was, and the slope over the second half with its
standard error. The slope is that of resident memory: a share grows without any doing of the service whenever a foreign
process that maps the same libraries ends. Samples of ten seconds follow one another too closely to be independent, so
it is that of twelve means.
"""

from __future__ import annotations

import argparse
import csv
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from capture.configured_rates import SamplingRates
from capture.exporters.datagram import Datagrams
from capture.reader import read_all
from datamodel.cluster.inventory import Inventory
from datamodel.reconstructed.streams import Float, Int
from flowprism.demo.demo_feed import DemoBursts, build_datagrams, export_flows
from flowprism.inputs.inventory_file import load_inventory
from flowprism.replay.send_schedule import SendPace
from flowprism.replay.sender import send
from storage.lake.snapshot import snapshot
from tests.flowprism.service.running import children, command, components, free_port, settings, wait_for

COLUMNS = ("seconds", "process", "pid", "rss_bytes", "pss_bytes")
SAMPLE_S = 10.0
BLOCKS = 12
GPUS_A_HOST = 8
PATIENCE_S = 1200.0  # nothing compiled may be on disk yet
DELAY_NS = 1_000_000_000  # what a meter takes until it tells
ALL = "all together"


def main() -> None:
    """Play and measure, then tell; or tell of what was measured before."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=4.0, help="how long")
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--nics", type=int, default=1, help="of each host")
    parser.add_argument("--case", type=Path, help="a simulated cluster, made unless it is there")
    parser.add_argument("--folder", type=Path, help="where the service keeps what it is told, on a disk with room")
    parser.add_argument("--csv", type=Path, help="where samples are kept")
    parser.add_argument("--read", type=Path, help="tell of this file of samples")
    asked = parser.parse_args()
    if asked.read:
        tell(asked.read)
        return
    with tempfile.TemporaryDirectory(dir=asked.folder) as name:
        folder = Path(name)
        feed = Feed(simulated(asked.case or folder / "case", asked.hosts), asked.hosts, asked.nics)
        print(f"{asked.hosts} hosts, {len(feed.bursts.rows) / feed.span_s:,.0f} records a second", flush=True)
        samples = asked.csv or folder / "memory.csv"
        measure(folder, feed, asked.minutes * 60, samples)
        tell(samples)


def simulated(case: Path, hosts: int) -> Path:
    """The folder of a simulated cluster of so many hosts or more."""
    if not (case / "truth" / "truth.json").exists():
        with command(case.parent / "simulate.log", "simulate", "cluster", "--gpus", str(hosts * GPUS_A_HOST),
                     "--out", str(case)) as simulating:  # fmt: skip
            simulating.wait()
    return case


class Feed:
    """What the meters beside the leaves export of the first NICs of some hosts, minute after minute.

    Attributes:
        fabric: file of the inventory.
        bursts: a minute of records.
        span_s: how long they last.
    """

    def __init__(self, case: Path, hosts: int, nics: int) -> None:
        self.fabric = case / "inventory.yaml"
        inventory = load_inventory(self.fabric)
        flows = read_all([case / "flows.parquet"], None, SamplingRates()).flows
        wanted = watched(inventory, hosts, nics)
        is_wanted = np.array([address in wanted for address in flows.addresses])
        kept = is_wanted[flows.frame["src_addr"]] & is_wanted[flows.frame["dst_addr"]]
        self.bursts: DemoBursts = export_flows(flows.frame.take(np.flatnonzero(kept)), flows.addresses, inventory)
        rows = self.bursts.rows
        self.span_s = float(rows["time_flow_end_ns"].max() - rows["time_flow_start_ns"].min()) / 1e9

    def batches(self, stop: threading.Event) -> Iterator[Datagrams]:
        """The minute again and again until told to stop, in parts of a second, dated a second before it is sent."""
        rows, numbers = self.bursts.rows, Counter[int]()
        end_ns, begin_ns = rows["time_flow_end_ns"], int(rows["time_flow_start_ns"].min())
        cuts = np.searchsorted(end_ns, begin_ns + np.arange(int(self.span_s) + 2) * 10**9).tolist()
        at_ns = time.time_ns() - DELAY_NS
        while not stop.is_set():
            for first, last in pairwise(cuts):
                if first < last and not stop.is_set():
                    part = self._part(np.arange(first, last))
                    yield build_datagrams(part, at_ns + int(part.rows["time_flow_start_ns"].min()) - begin_ns, numbers)
            at_ns += round(self.span_s * 1e9)

    def _part(self, chosen: Int) -> DemoBursts:
        whole = self.bursts
        return DemoBursts(whole.rows.take(chosen), whole.leaf[chosen], whole.port[chosen], whole.addresses)


def watched(inventory: Inventory, hosts: int, nics: int) -> frozenset[str]:
    """Addresses of the first NICs of the first hosts."""
    chosen = [endpoint for host in inventory.hosts[:hosts] for endpoint in host.endpoints[:nics]]
    return frozenset(address for endpoint in chosen for address in endpoint.all_addresses)


def measure(folder: Path, feed: Feed, seconds: float, samples: Path) -> None:
    """Run the service, play to it, and write a row for each process every ten seconds."""
    door = f"127.0.0.1:{free_port()}"
    file = settings(
        folder,
        store={"keep_every_s": 60, "keep": {"flows": {"age_h": seconds / 3600 / 4}}},
        collect={"listen": [door], "commit_every_s": 5},
        scans={"inventory": str(feed.fabric), "policies": [{"name": "minute", "every_s": 60, "window_s": 60}]},
    )
    stop = threading.Event()
    with command(folder / "log", "serve", str(file)) as service, samples.open("w", newline="") as out:
        lake = folder / "data" / "flows"
        wait_for(lambda: len(components(service.pid)) == 5 and (lake / "status.json").exists(), PATIENCE_S)
        port = int(door.rpartition(":")[2])
        playing = threading.Thread(target=send, args=(feed.batches(stop), "127.0.0.1", port, SendPace()), daemon=True)
        playing.start()
        wait_for(lambda: snapshot(lake).segments, PATIENCE_S)
        rows, began_s = csv.writer(out), time.monotonic()
        rows.writerow(COLUMNS)
        while (now_s := time.monotonic() - began_s) < seconds:
            rows.writerows((f"{now_s:.0f}", *row) for row in memory(service.pid, "serve"))
            out.flush()
            time.sleep(SAMPLE_S)
        stop.set()
        playing.join(60)
    if service.returncode:
        sys.exit((folder / "log").read_text())


def memory(pid: int, name: str) -> Iterator[tuple[str, int, int, int]]:
    """Name, process id, resident bytes and share of them, of a process and of all that it has started."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    except OSError:  # it has ended meanwhile
        return
    said = {words[0].rstrip(":"): int(words[1]) << 10 for line in lines if (words := line.split())}
    yield name, pid, said["Rss"], said["Pss"]
    for child in children(pid):
        yield from memory(child, name_of(child, name))


def name_of(pid: int, parent: str) -> str:
    """What a process is for: the part that it is, or whose it is and the module that it runs."""
    try:
        said = Path(f"/proc/{pid}/comm").read_text().strip()
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return parent
    if said.startswith("fp-"):
        return said.removeprefix("fp-")
    modules = [word.decode() for word in words if word.startswith(b"flowprism.")]
    return f"{parent}/{modules[0].rpartition('.')[2]}" if modules else parent


@dataclass(frozen=True, slots=True)
class Course:
    """Memory of one kind of processes over time, in bytes."""

    seconds: Float
    rss: Float
    pss: Float


def courses(samples: Path) -> dict[str, Course]:
    """The sums of each kind of processes, and of all together, at each time."""
    sums: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(lambda: [0.0, 0.0]))
    with samples.open(newline="") as file:
        for row in csv.DictReader(file):
            for name in (row["process"], ALL):
                found = sums[name][float(row["seconds"])]
                found[0] += float(row["rss_bytes"])
                found[1] += float(row["pss_bytes"])
    return {
        name: Course(np.array(list(by_time)), *np.array(list(by_time.values())).T) for name, by_time in sums.items()
    }


def tell(samples: Path) -> None:
    """A line for each kind of processes and one for all together."""
    found = courses(samples)
    end_s = max(course.seconds[-1] for course in found.values())
    print(f"{end_s / 60:.0f} minutes; slopes of resident memory over the second half of them")
    print(f"{'process':22}{'most MB':>10}{'share MB':>10}{'slope MB/h':>12}{'+-':>8}")
    for name, course in found.items():
        slope, error = slope_per_h(course.seconds, course.rss, end_s / 2)
        print(f"{name:22}{course.rss.max() / 1e6:10.0f}{course.pss.max() / 1e6:10.0f}{slope:12.2f}{error:8.2f}")


def slope_per_h(seconds: Float, size: Float, from_s: float) -> tuple[float, float]:
    """Slope of the means of equal stretches of time behind `from_s`, MB an hour, and its standard error."""
    chosen = seconds >= from_s
    means = [
        (at.mean(), part.mean() / 1e6)
        for at, part in zip(np.array_split(seconds[chosen], BLOCKS), np.array_split(size[chosen], BLOCKS), strict=True)
        if len(at)
    ]
    return fitted(*np.array(means).T) if len(means) > 2 else (float("nan"), float("nan"))


def fitted(seconds: Sequence[float], size: Sequence[float]) -> tuple[float, float]:
    """Least squares: slope and its standard error, in units of `size` an hour."""
    hours, level = np.asarray(seconds) / 3600, np.asarray(size)
    (slope, base), spread = np.polyfit(hours, level, 1), ((hours - hours.mean()) ** 2).sum()
    left = level - slope * hours - base
    return float(slope), float(np.sqrt((left**2).sum() / (len(hours) - 2) / spread))


if __name__ == "__main__":
    main()
