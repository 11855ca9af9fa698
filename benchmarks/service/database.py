"""How long the results database takes to keep a scan and to answer what a dashboard asks, while scans are being kept.

usage: python -m benchmarks.service.database [--address URL] [--jobs N] [--days N]

By default SQLite in a temporary folder. Filled first: N jobs of 100 endpoints, an incident for every fourth one, and
rollups of an hour for so many days. Latencies are in milliseconds, wall time, one question at a time.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from datamodel.reports.report import JobReport
from datamodel.service.result_rows import Rollup
from storage.database.connection import Database
from storage.database.incidents.incident_records import history, incidents
from storage.database.scans.scan_records import ScanResult, job, jobs, layouts, rollups, save_scan, scans
from tests.storage.database import results

HOUR_NS, DAY_HOURS = results.HOUR_NS, 24
ENDPOINTS = 100
JOBS_A_SCAN = 50
QUESTIONS = 200


def main() -> None:
    """Fill a database and print a line for each question."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", help="of an empty database")
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--days", type=int, default=30)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        database = Database(arguments.address or f"sqlite:///{Path(name) / 'results.sqlite'}")
        fill(database, arguments.jobs, arguments.days)
        ask_all(database, arguments.jobs, arguments.days * DAY_HOURS * HOUR_NS)
        database.close()


def fill(database: Database, count: int, days: int) -> None:
    """Keep scans hour by hour until all is there; what that took is told."""
    made = [a_job(number) for number in range(count)]
    cases = [results.incident(f"i{number}", f"j{number:04}", seen_ns=number) for number in range(0, count, 4)]
    save_scan(database, ScanResult(results.kept(1, "first"), made, cases))
    rows, began, began_cpu = 0, time.perf_counter(), time.process_time()
    for day in range(days):
        hours = [day * DAY_HOURS + hour for hour in range(DAY_HOURS)]
        stretches = [hour_of(number, hour * HOUR_NS) for hour in hours for number in range(count)]
        save_scan(database, ScanResult(results.kept((day + 1) * DAY_HOURS * HOUR_NS, "first"), rollups=stretches))
        rows += len(stretches)
    seconds, cpu_s = time.perf_counter() - began, time.process_time() - began_cpu
    print(f"{rows:,} rollups kept in {seconds:.1f} s, {cpu_s:.1f} s cpu here")


def a_job(number: int) -> JobReport:
    """A job of many endpoints."""
    addresses = tuple(f"10.{number >> 8}.{number & 255}.{n}" for n in range(ENDPOINTS))
    return results.job(f"j{number:04}").model_copy(update={"endpoints": addresses})


def hour_of(number: int, start_ns: int) -> Rollup:
    """An hour of a job."""
    return replace(results.rollup(), job=f"j{number:04}", start_ns=start_ns)


def ask_all(database: Database, count: int, end_ns: int) -> None:
    """Ask while another thread keeps scans."""
    random = np.random.default_rng(1)
    names = [f"j{number:04}" for number in random.integers(0, count, QUESTIONS)]
    week = 7 * DAY_HOURS * HOUR_NS
    questions: dict[str, Callable[[str], object]] = {
        "a page of 100 jobs": lambda name: jobs(database, after=name, most=100),
        "one job": lambda name: job(database, name),
        "its layouts": lambda name: layouts(database, name),
        "its rollups of a week": lambda name: rollups(database, name, HOUR_NS, end_ns - week, end_ns),
        "its rollups of all days": lambda name: rollups(database, name, HOUR_NS, 0, end_ns),
        "open incidents, 100": lambda _: incidents(database, most=100),
        "incidents of a tenant, 100": lambda _: incidents(database, tenant="t1", most=100),
        "an incident's history": lambda name: history(database, f"i{int(name[1:]) // 4 * 4}"),
        "the newest 10 scans": lambda _: scans(database, most=10),
    }
    with scanning(database, count) as taken_ms:
        for what, ask in questions.items():
            tell(what, [timed_ms(ask, name) for name in names])
    tell(f"keep a scan of {JOBS_A_SCAN} jobs", taken_ms)


def timed_ms(ask: Callable[[str], object], name: str) -> float:
    """How long a question takes."""
    began = time.perf_counter()
    ask(name)
    return (time.perf_counter() - began) * 1000


@contextmanager
def scanning(database: Database, count: int) -> Iterator[list[float]]:
    """Scans are kept, one after the other, for the time of the block; how long each took."""
    taken_ms: list[float] = []
    stop = threading.Event()

    def keep() -> None:
        number = 0
        while not stop.wait(0.05):
            number += 1
            made = [a_job((number * JOBS_A_SCAN + n) % count) for n in range(JOBS_A_SCAN)]
            left = ScanResult(results.kept((1 << 60) + number, "now"), made, [results.incident("i0", "j0000")])
            taken_ms.append(timed_ms(lambda _, kept=left: save_scan(database, kept), ""))  # type: ignore[misc]

    thread = threading.Thread(target=keep)
    thread.start()
    yield taken_ms
    stop.set()
    thread.join()


def tell(what: str, taken_ms: list[float]) -> None:
    """One line of the table."""
    median, late = np.percentile(taken_ms, (50, 95)) if taken_ms else (np.nan, np.nan)
    print(f"{what:32}{len(taken_ms):6} times, median {median:8.2f} ms, p95 {late:8.2f} ms")


if __name__ == "__main__":
    main()
