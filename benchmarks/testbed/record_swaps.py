"""Record a drill: a training job whose slow host is replaced by a standby, again and again.

usage: PYTHON -m benchmarks.testbed.record_swaps --testbed FOLDER --out FOLDER [--live]

PYTHON has torch (gloo) and numpy, FOLDER is the testbed that made the captures. It needs root, network namespaces, Open
vSwitch, tcpdump, softflowd and mergecap. The job has eight ranks on eight of twelve hosts; each leaf has one standby.
In each attempt but the last, one rank begins to compute slowly. Then the job is drained at the end of an iteration, and
started again with the standby of the same leaf in the slow host's place: what an orchestrator would do with a plan.
Every process of the attempt ends, and a new one joins a new process group: all connections are new.

With --live the job is never drained: see `live_rank.py`.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.testbed.live_rank import Member, Swap, run_rank

# Servers of the job, and the standby that takes the place of each slow one: one a leaf, three servers a leaf.
SERVERS, SWAPS = (1, 2, 4, 5, 7, 8, 10, 11), ((2, 3), (5, 6), (8, 9))
GPUS_PER_SERVER = 1
ITERATIONS, SLOW_FROM, SLOW_FACTOR = 16, 8, 1.4
LAYOUT = {"tp": 1, "dp": 4, "pp": 2}
# What the leaver of a live migration copies to the standby: 2 s of a NIC.
STATE_BYTES = 100_000_000
# From the end of the last process to the start of the first one of the next attempt: what a queue takes.
REQUEUE_S = 5.0
READY_S, ATTEMPT_S = 120.0, 300.0


def attempts(scenarios: ModuleType) -> list[dict[str, Any]]:
    """The job before the first swap, and after each."""
    placement, found = list(SERVERS), []
    for number in range(len(SWAPS) + 1):
        slow = []
        if number < len(SWAPS):
            rank = GPUS_PER_SERVER * placement.index(SWAPS[number][0])
            slow = [{"rank": rank, "from": SLOW_FROM, "factor": SLOW_FACTOR}]
        servers = scenarios.by_server(placement, GPUS_PER_SERVER)
        found.append(
            scenarios.dense(f"job.{number}", servers, iters=ITERATIONS, stragglers=slow, seed=7 + number, **LAYOUT)
        )
        if number < len(SWAPS):
            placement[placement.index(SWAPS[number][0])] = SWAPS[number][1]
    return found


def live_job(scenarios: ModuleType) -> tuple[dict[str, Any], list[Swap]]:
    """The one job of a drill of live migrations, its standbys last in its placement, and when each takes a place."""
    servers = (*SERVERS, *(joins for _, joins in SWAPS))
    swaps = [Swap((n + 1) * ITERATIONS, SERVERS.index(leaves), len(SERVERS) + n) for n, (leaves, _) in enumerate(SWAPS)]
    slow = [
        {"rank": one.leaver, "from": one.iteration - SLOW_FROM, "to": one.iteration, "factor": SLOW_FACTOR}
        for one in swaps
    ]
    iterations = (len(SWAPS) + 1) * ITERATIONS
    placement = scenarios.by_server(servers, GPUS_PER_SERVER)
    return scenarios.dense("job.0", placement, iters=iterations, stragglers=slow, seed=7, **LAYOUT), swaps


def train(run: ModuleType, job: dict[str, Any], byname: dict[str, Any], work: Path, swaps: Sequence[Swap] = ()) -> None:
    """One attempt, from its first process to its last.

    Args:
        run: the testbed's module.
        job: its configuration.
        byname: hosts of the fabric.
        work: folder for logs.
        swaps: live migrations during it.

    Raises:
        RuntimeError: its ranks are not ready, or do not end, in time.
    """
    progress = run.Progress([job["job"]])
    server_of = [byname[name]["server"] for name in job["placement"]]
    paths = {"log": str(work), "run": str(work)}
    ranks = range(len(job["placement"]))
    given = [Member(job, rank, run.PREFIX + job["placement"][rank], server_of) for rank in ranks]
    pids = [
        run.fork(None, run_rank, run.trainer, swaps, STATE_BYTES, one, paths, progress)
        if swaps
        else run.fork(None, run.rank_main, *one, paths, progress)
        for one in given
    ]
    try:
        _wait(lambda: all(progress.get(job["job"], rank) is not None for rank in ranks), READY_S, "ranks not ready")
        progress.set_go()
        _wait(lambda: all((progress.get(job["job"], r) or 0) >= job["iters"] for r in ranks), ATTEMPT_S, "no end")
    finally:
        progress.set_stop()
        time.sleep(0.5)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _wait(ready: Callable[[], bool], most_s: float, otherwise: str) -> None:
    until = time.monotonic() + most_s
    while not ready():
        if time.monotonic() > until:
            raise RuntimeError(otherwise)
        time.sleep(0.01)


def inventory(topology: dict[str, Any]) -> dict[str, Any]:
    """All hosts of the fabric, those that stand by too."""
    index = {(leaf["name"], port["name"]): port["ifindex"] for leaf in topology["leaves"] for port in leaf["ports"]}
    hosts: dict[str, list[dict[str, Any]]] = {}
    for one in topology["hosts"]:
        leaf = f"leaf{one['leaf']}"
        hosts.setdefault(f"s{one['server']}", []).append(
            {
                "address": one["ip"], "gpu": one["gpu"], "rail": one["gpu"], "switch": leaf,
                "port": index[leaf, one["port"]], "speed_gbps": one["mbit"] / 1000,
            }
        )  # fmt: skip
    switches = [{"name": leaf["name"], "role": "leaf", "agent": leaf["exporter"]} for leaf in topology["leaves"]]
    found = [{"name": name, "endpoints": nics} for name, nics in hosts.items()]
    return {"schema": "flowprism.inventory/v1", "hosts": found, "switches": switches}


def record(testbed: Path, out: Path, *, live: bool) -> None:
    """Build the fabric, train, capture, and write the folder of a capture."""
    sys.path.insert(0, str(testbed))
    fabric, run, scenarios = map(importlib.import_module, ("fabric", "run", "scenarios"))
    jobs, swaps = attempts(scenarios), list[Swap]()
    if live:
        job, swaps = live_job(scenarios)
        jobs = [job]
    hosts = scenarios.gpus(12, GPUS_PER_SERVER)
    about = f"{len(SWAPS)} slow hosts replaced by standbys, one after the other"
    scenario = scenarios.base("swap-drill", about, hosts, jobs)
    scenario["name"] = "swap-drill"
    fabric.sweep()
    folder = Path(tempfile.mkdtemp(prefix="tb-"))
    work = folder / "w"
    work.mkdir()
    built = fabric.Fabric(str(folder / "fab"), hosts, scenario["leaves"], scenario["spines"], scenario["uplink_mbit"])
    byname = {host["name"]: host for host in hosts}
    captures: list[Any] = []
    try:
        built.build(**scenario["export"])
        ports = {host["name"]: str(work / f"port-{host['name']}.pcap") for host in hosts}
        for host in hosts:
            leaf = f"{run.PREFIX}leaf{host['leaf']}"
            captures.append(run.dump(leaf, host["port"], ports[host["name"]], snap=96, direction="in"))
        exported = {
            "sflow": fabric.SFLOW_PORT, "ipfix": fabric.IPFIX_PORT, "netflow5": fabric.NETFLOW_PORT,
            "nf9": fabric.SF_NF9_PORT, "ipfix-softflowd": fabric.SF_IPFIX_PORT,
        }  # fmt: skip
        sink = run.fork(run.PREFIX + "mgmt", run.background.udp_sink, list(exported.values()))
        for name, port in exported.items():
            captures.append(run.dump(run.PREFIX + "mgmt", "br0", str(work / f"{name}.pcap"), f"udp dst port {port}"))
        time.sleep(1)
        importlib.import_module("torch.distributed")  # once, before forking
        begin, busy = time.monotonic(), run.cpu()
        for number, job in enumerate(jobs):
            time.sleep(REQUEUE_S if number else 0)
            train(run, job, byname, work, swaps)
            print(f"attempt {number} ended after {time.monotonic() - begin:.1f} s", flush=True)
        later = run.cpu()
        scenario["cpu_busy"] = round((later[0] - busy[0]) / max(1, later[1] - busy[1]), 3)
        scenario["queue_drops"] = built.queue_drops()
        time.sleep(2)  # let the exporters' timeouts pass
        os.kill(sink, signal.SIGKILL)
        run.stop_dumps(captures)
        captures = []
        lost = {name: run.drops(path) for name, path in ports.items()}
        faults = run.Faults(scenario, built, None, {})
        run.write(
            scenario, built, faults, str(work), str(out), ports, exported, byname, {k: v for k, v in lost.items() if v}
        )
        topology = json.loads((out / "truth" / "topology.json").read_text())
        (out / "inventory.yaml").write_text(json.dumps(inventory(topology), indent=1))
    finally:
        for capture in captures:
            capture.terminate()
        built.destroy()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--testbed", type=Path, required=True, help="folder of the testbed")
    parser.add_argument("--out", type=Path, required=True, help="folder of the recording; it is replaced")
    parser.add_argument("--live", action="store_true", help="replace hosts by live migrations, not by restarts")
    given = parser.parse_args()
    record(given.testbed, given.out, live=given.live)
