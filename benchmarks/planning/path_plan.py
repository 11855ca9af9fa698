"""Time and memory of one plan of paths: many equal connections between leaves, each seen once at its first switch.

usage: python -m benchmarks.planning.path_plan [--connections N] [--leaves N] [--spines N]

Leaves hash with CRC. The clock runs from tables of connections to the document, on one thread; memory is the
process's peak, interpreter and libraries included.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from datamodel.cluster.inventory import Endpoint, Host, Inventory, Link, Switch
from datamodel.frame import Frame
from datamodel.reconstructed.connections import CABLE_SIGHTINGS, CONNECTIONS, PAYLOADS, ConnectionTables
from datamodel.reports.layout import Groups, Layout
from datamodel.reports.report import Detectability, FeedSummary, Iteration, JobReport, Provenance, Report, Window
from datamodel.telemetry.flows import ROCE_V2_PORT, UDP
from diagnose.paths.plan import plan_paths
from simulate.network.hashing import FiveTuples, hash_tuples

ENDPOINTS = 64  # of a leaf
ITERATIONS, PERIOD_NS = 8, 1_000_000_000
SPEED_GBPS = 400.0
FIRST_ADDRESS = 10 << 24


def main() -> None:
    """Print seconds, memory and what the plan saves."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connections", type=int, default=65_536)
    parser.add_argument("--leaves", type=int, default=128)
    parser.add_argument("--spines", type=int, default=32)
    wanted = parser.parse_args()
    inputs = drawn(wanted.connections, wanted.leaves, wanted.spines)
    plan_paths(*drawn(200, 4, 4))  # compiles kernels, or loads them
    began = time.perf_counter(), time.process_time()
    plan = plan_paths(*inputs)
    seconds = time.perf_counter() - began[0], time.process_time() - began[1]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    job = plan.jobs[0]
    print(f"{job.connections:,} connections, {job.elephants:,} long: {seconds[0]:.1f} s, {seconds[1]:.1f} s processor")
    print(f"peak memory {peak:,.0f} MiB; saves {job.gain_ratio:.1%}; {len(plan.collisions):,} collisions")


def drawn(count: int, leaves: int, spines: int) -> tuple[ConnectionTables, Report, Inventory]:
    """Connections of one job, each from an endpoint to one behind another leaf."""
    random = np.random.default_rng(65)
    src = np.arange(count) % (leaves * ENDPOINTS)
    dst = (src + ENDPOINTS * random.integers(1, leaves, count) + random.integers(0, ENDPOINTS, count)) % (
        leaves * ENDPOINTS
    )
    dst = np.where(dst // ENDPOINTS == src // ENDPOINTS, (src + ENDPOINTS) % (leaves * ENDPOINTS), dst)
    port = 0xC000 + random.integers(0, 0x4000, count)
    leaf = src // ENDPOINTS
    door = hash_tuples("crc", FiveTuples(FIRST_ADDRESS + src, FIRST_ADDRESS + dst, port), leaf) % spines
    addresses = tuple(f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}" for n in range(leaves * ENDPOINTS))
    table = {
        "src_addr": src, "dst_addr": dst, "src_port": port, "dst_port": np.full(count, ROCE_V2_PORT),
        "proto": np.full(count, UDP), "queue_pairs": np.ones(count), "dst_qp": np.arange(count),
    }  # fmt: skip
    begin = np.repeat(np.arange(ITERATIONS) * PERIOD_NS + PERIOD_NS // 2, count)
    sent = int(SPEED_GBPS * 1e9 / 8 * 0.3 * leaves * spines / count)
    payloads = {
        "connection": np.tile(np.arange(count), ITERATIONS), "start_ns": begin,
        "end_ns": begin + PERIOD_NS * 45 // 100, "bytes": np.full(len(begin), sent),
    }  # fmt: skip
    seen = {"connection": np.arange(count), "cable": 2 * (leaf * spines + door), "records": np.ones(count)}
    tables = ConnectionTables(
        Frame(CONNECTIONS, {c.name: table[c.name].astype(c.dtype) for c in CONNECTIONS.columns}),
        Frame(PAYLOADS, {c.name: payloads[c.name].astype(c.dtype) for c in PAYLOADS.columns}),
        Frame(CABLE_SIGHTINGS, {c.name: seen[c.name].astype(c.dtype) for c in CABLE_SIGHTINGS.columns}),
        (),
        addresses,
    )
    return tables, _report(addresses), _inventory(addresses, leaves, spines)


def _inventory(addresses: tuple[str, ...], leaves: int, spines: int) -> Inventory:
    names = [f"leaf{n}" for n in range(leaves)]
    hosts = tuple(
        Host(name=f"h{n}", endpoints=(Endpoint(address=address, switch=names[n // ENDPOINTS]),))
        for n, address in enumerate(addresses)
    )
    links = tuple(
        Link(a=name, a_port=1 + s, b=f"spine{s}", b_port=1 + n, speed_gbps=SPEED_GBPS)
        for n, name in enumerate(names)
        for s in range(spines)
    )
    switches = [Switch(name=name, role="leaf") for name in names]
    switches += [Switch(name=f"spine{s}", role="spine") for s in range(spines)]
    return Inventory(hosts=hosts, switches=tuple(switches), links=links)


def _report(addresses: tuple[str, ...]) -> Report:
    steps = tuple(Iteration(index=n, start_ns=n * PERIOD_NS, end_ns=(n + 1) * PERIOD_NS) for n in range(ITERATIONS))
    job = JobReport(
        id="job0", endpoints=addresses, layout=Layout(confidence=1.0), groups=Groups(), iterations=steps,
        detectability=Detectability(timeline_error_ratio=None, smallest_slowdown_ratio=None),
    )  # fmt: skip
    window = Window(start_ns=0, end_ns=ITERATIONS * PERIOD_NS)
    return Report(
        provenance=Provenance(version="benchmark"), window=window, feed=FeedSummary(records=0, bytes=0), jobs=(job,)
    )


if __name__ == "__main__":
    main()
