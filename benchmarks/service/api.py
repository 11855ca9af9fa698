"""How long the HTTP API takes for requests about jobs and incidents, while scans are being kept.

usage: python -m benchmarks.service.api [--address URL] [--jobs N] [--days N]

A real server in a process of its own, over SQLite in a temporary folder and, where its programs are there, over a
private PostgreSQL; or over `--address`, an empty database. Filled first: N jobs of 100 endpoints, an incident for every
fourth one, rollups of an hour for so many days and of a minute for the last two hours. Another process keeps a scan of
50 jobs with their rollups twice a second. Latencies are wall time as a client sees it, one request at a time; "cpu"
is the server's mean processor time for one.
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from pathlib import Path

import httpx
import numpy as np

from flowprism.service.access.access_settings import AccessSettings
from flowprism.service.app import application
from flowprism.service.config.log_setup import LogSettings, configure_logs
from flowprism.service.config.settings import Settings
from flowprism.service.http import responses
from flowprism.service.stores import Stores
from storage.database.connection import Database
from storage.database.scans.scan_records import ScanResult, save_scan
from tests.flowprism.service.serving import serving
from tests.flowprism.service.stored import MINUTE_NS, many_incident, many_job, stored_many
from tests.storage.conftest import Cluster, program
from tests.storage.database import results

REQUESTS = 200
ENDPOINTS = 100
JOBS_A_SCAN = 50
SCAN_EVERY_S = 0.5
TARGET_MS = 100.0


def main() -> None:
    """Fill a database of each kind, ask, and print a line for each kind of request."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", help="of an empty database")
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--days", type=int, default=30)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, opened in databases(asked.address, Path(folder)):
            with opened as address:
                began_s = time.perf_counter()
                stored_many(Path(folder), asked.jobs, asked.days, ENDPOINTS, address).database.close()
                print(f"{name}: {asked.jobs} jobs of {ENDPOINTS} endpoints, {asked.days} days, "
                      f"filled in {time.perf_counter() - began_s:.0f} s")  # fmt: skip
                measure(address, asked.jobs)


def databases(address: str | None, folder: Path) -> Iterator[tuple[str, nullcontext[str]]]:
    """Names and addresses of empty databases, each there for the time of its block."""
    if address is not None:
        yield "given", nullcontext(address)
        return
    yield "SQLite", nullcontext(f"sqlite:///{folder}/results.sqlite")
    if all(program(name) for name in ("initdb", "pg_ctl", "postgres")):
        with tempfile.TemporaryDirectory(prefix="flowprism-pg-") as place:
            cluster = Cluster(Path(place))
            try:
                yield "PostgreSQL", nullcontext(cluster.new())
            finally:
                cluster.stop()


def measure(address: str, jobs: int) -> None:
    """Serve a filled database, keep scans in it, and ask."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    stop = context.Event()
    server = context.Process(target=serve, args=(address, theirs, stop))
    writer = context.Process(target=write, args=(address, jobs, stop))
    server.start()
    writer.start()
    try:
        with httpx.Client(base_url=ours.recv(), timeout=30) as asking:
            for what, ask in questions(asking, jobs).items():
                began_s = spent_s(ours)
                taken_ms = [timed_ms(ask, number) for number in range(REQUESTS)]
                tell(what, taken_ms, (spent_s(ours) - began_s) / REQUESTS * 1000)
    finally:
        stop.set()
        server.join()
        writer.join()


def spent_s(server: Connection) -> float:
    """Processor time of the server so far."""
    server.send("?")
    spent: float = server.recv()
    return spent


def serve(address: str, told: Connection, stop: Event) -> None:
    """The application over a database, until `stop`; tells how much processor time it took, whenever it is asked."""
    settings = Settings(log=LogSettings(level="warning"))
    configure_logs(settings.log, "api")
    app = application(Stores(Database(address)), settings, AccessSettings(requests_per_minute=10**9))
    with serving(app) as url:
        told.send(url)
        while not stop.is_set():
            if told.poll(0.1):
                told.recv()
                told.send(time.process_time())


def write(address: str, jobs: int, stop: Event) -> None:
    """Keep scans, one after the other, each of some of the jobs, a minute further on."""
    database, number = Database(address), 0
    end_ns = 1_799_999_940 * 10**9
    while not stop.wait(SCAN_EVERY_S):
        number += 1
        members = [(number * JOBS_A_SCAN + n) % jobs for n in range(JOBS_A_SCAN)]
        newest_ns = end_ns + number // (jobs // JOBS_A_SCAN) * MINUTE_NS
        rollups = [replace(results.rollup(f"j{one:05}", newest_ns - MINUTE_NS), length_ns=MINUTE_NS) for one in members]
        kept = results.kept(newest_ns, f"policy {number % 20}")
        incident = many_incident(number * 4 % jobs // 4 * 4, newest_ns)
        made = [many_job(one, ENDPOINTS) for one in members]
        save_scan(database, ScanResult(kept, made, [incident], rollups=rollups))
    database.close()


def questions(asking: httpx.Client, jobs: int) -> dict[str, Callable[[int], httpx.Response]]:
    """What is asked, by what it is; each takes a running number."""
    chosen = np.random.default_rng(1).integers(0, jobs, REQUESTS)
    months = {"start_ns": 1_797_400_000 * 10**9, "end_ns": 1_799_999_940 * 10**9}
    return {
        "50 jobs": lambda _: asking.get("/api/v1/jobs"),
        "50 jobs, the worst first": lambda _: asking.get("/api/v1/jobs", params={"order": "worst"}),
        "a later page of them": lambda n: asking.get("/api/v1/jobs", params={"order": "worst", "cursor": cursor(n)}),
        "jobs by a part of an address": lambda n: asking.get("/api/v1/jobs", params={"text": f"10.0.{n}.7"}),
        "one job": lambda n: asking.get(f"/api/v1/jobs/j{chosen[n]:05}"),
        "its pace of 30 days": lambda n: asking.get(f"/api/v1/jobs/j{chosen[n]:05}/trend", params=months),
        "100 open incidents": lambda _: asking.get("/api/v1/incidents"),
        "incidents by text, not muted": lambda n: asking.get(
            "/api/v1/incidents", params={"text": f"label of j{chosen[n]:05}", "muted": False}
        ),
        "one incident": lambda n: asking.get(f"/api/v1/incidents/i{chosen[n] // 4 * 4:05}"),
        "a comment": lambda n: asking.post(
            f"/api/v1/incidents/i{chosen[n] // 4 * 4:05}/comment", json={"text": f"number {n}"}
        ),
        "100 scans": lambda _: asking.get("/api/v1/scans"),
    }


def cursor(number: int) -> str:
    """The cursor of a page somewhere in the list."""
    return responses.cursor(f"j{number:05}")


def timed_ms(ask: Callable[[int], httpx.Response], number: int) -> float:
    """How long an answer takes; any but a good one ends the benchmark."""
    began_s = time.perf_counter()
    answer = ask(number)
    taken_ms = (time.perf_counter() - began_s) * 1000
    answer.raise_for_status()
    return taken_ms


def tell(what: str, taken_ms: list[float], cpu_ms: float) -> None:
    """One line of the table."""
    median, late, last = np.percentile(taken_ms, (50, 95, 100))
    missed = "" if late < TARGET_MS else f"  over {TARGET_MS:.0f} ms"
    print(
        f"  {what:30} median {median:6.1f} ms, p95 {late:6.1f} ms, longest {last:6.1f} ms, cpu {cpu_ms:5.1f} ms{missed}"
    )


if __name__ == "__main__":
    main()
