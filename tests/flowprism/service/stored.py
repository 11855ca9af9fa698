"""Stores to answer from: a real analysis of the bundled capture, and a large one of numbers made up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, fields, replace
from functools import cache
from importlib.resources import as_file, files
from itertools import groupby
from pathlib import Path

import numpy as np

from datamodel.cluster.inventory import Inventory, JobLabel
from datamodel.reports.analysis import Analysis
from datamodel.reports.findings import Event, Finding
from datamodel.reports.report import Detectability, FeedSummary, Iteration, JobReport, Window
from datamodel.reports.scan import JobScan, Scan
from datamodel.service.incidents import Incident
from datamodel.service.result_rows import FeedStatistics, Rollup, ScanRecord
from flowprism import pipeline
from flowprism.analysis.scan_verdict import judge_report
from flowprism.inputs.inventory_file import load_inventory
from flowprism.service.incidents.incident_lifecycle import IncidentOptions
from flowprism.service.incidents.scan_recorder import CompletedScan, record
from flowprism.service.stores import Stores
from storage.analyses import save_analysis
from storage.database.connection import Database, upsert
from storage.database.feed_statistics import save_feed_statistics, save_inventory
from storage.database.scans.scan_records import ScanResult, save_scan
from storage.database.tables import EVENTS, ROLLUPS
from storage.lake.lake_writer import LakeWriter
from storage.lake.object_names import Writer, make_folders
from tests.storage.database import results

MINUTE_NS = 60_000_000_000
HOUR_NS = 60 * MINUTE_NS
TENANT = "research"
TENANTS = ("research", "search", "speech", None)
MOST_ROWS = 20_000


def stored_demo(
    folder: Path, address: str | None = None, analysis: Analysis | None = None, inventory: Inventory | None = None
) -> Stores:
    """The bundled capture, analysed and scanned twice, so that its fault is an open incident.

    Args:
        folder: for the lake of analyses, and for the database where `address` is None.
        address: of an empty results database.
        analysis: what else is stored in place of the capture's.
        inventory: with it.
    """
    analysis, inventory = analysis or demo_analysis(), inventory or demo_inventory()
    report = analysis.report
    database = Database(address or f"sqlite:///{folder}/results.sqlite")
    save_inventory(database, inventory, "tests", report.window.start_ns)
    for policy in ("health", "nightly"):
        made = CompletedScan(policy, report.window.end_ns, report.window.end_ns + 10**9, report, judge_report(report))
        record(database, made, IncidentOptions(confirming_scans=1))
    rollups = [rollup for job in report.jobs for rollup in rollups_of(job, report.findings)]
    stretch = FeedStatistics("192.168.250.11:0", report.window.start_ns // MINUTE_NS * MINUTE_NS, MINUTE_NS, 200, 900)
    save_feed_statistics(database, [stretch, replace(stretch, exporter="192.168.250.12:0", lost=3, records=800)])
    started = Event(
        job=report.jobs[0].id, kind="start", start_ns=report.window.start_ns, end_ns=None, detail="first seen"
    )
    with database.writing() as connection:
        upsert(connection, ROLLUPS, [asdict(rollup) for rollup in rollups])
        upsert(connection, EVENTS, [event.model_dump() for event in (*report.events, started)])
    lake = folder / "analyses"
    make_folders(lake)
    save_analysis(LakeWriter(lake, Writer("scan", 0), 1), analysis)
    return Stores(database, None, str(lake))


def healthy_again(analysis: Analysis) -> Analysis:
    """A window right after one of the bundled capture: the iterations before its fault once more, and nothing slow."""
    report, (job,) = analysis.report, analysis.report.jobs
    begun_ns = min(finding.start_ns for finding in report.findings)
    quick = [one for one in job.iterations if one.end_ns <= begun_ns]
    later_ns = report.window.end_ns - quick[0].start_ns
    window = Window(start_ns=report.window.end_ns, end_ns=quick[-1].end_ns + later_ns + 1)
    first = job.iterations[-1].index + 1
    steps = tuple(
        Iteration(index=first + n, start_ns=one.start_ns + later_ns, end_ns=one.end_ns + later_ns)
        for n, one in enumerate(quick)
    )
    spans = analysis.timelines.spans
    spans = spans.take(spans["end_ns"] <= quick[-1].end_ns)
    moved = {name: spans[name] + later_ns for name in ("start_ns", "end_ns")}
    spans = spans.replace(**moved, iteration=spans["iteration"] + first - quick[0].index)
    even = {name: one.replace(late_ratio=np.ones(len(one))) for name, one in analysis.pairs.items()}
    changes = {"window": window, "jobs": (job.model_copy(update={"iterations": steps}),), "findings": ()}
    return Analysis(report.model_copy(update=changes), replace(analysis.timelines, spans=spans), even)


def record_later(stores: Stores, analysis: Analysis, policy: str = "health") -> None:
    """Keep a further window of the bundled capture's job, and carry its incidents over it."""
    report = analysis.report
    made = CompletedScan(policy, report.window.end_ns, report.window.end_ns + 10**9, report, judge_report(report))
    record(stores.database, made, IncidentOptions(confirming_scans=1))
    rollups = [rollup for job in report.jobs for rollup in rollups_of(job, report.findings)]
    with stores.database.writing() as connection:
        upsert(connection, ROLLUPS, [asdict(rollup) for rollup in rollups])
    save_analysis(LakeWriter(Path(str(stores.analyses)), Writer("scan", 1), 1), analysis)


@cache
def demo_analysis() -> Analysis:
    """What the bundled capture shows; analysed once."""
    with as_file(files("flowprism.demo") / "mirror.pcap.gz") as mirror:
        return pipeline.analyze([mirror], demo_inventory(), pipeline.AnalysisOptions())


@cache
def demo_inventory() -> Inventory:
    """The bundled inventory; its job has a name and a tenant."""
    with as_file(files("flowprism.demo") / "inventory.yaml") as path:
        inventory = load_inventory(path)
    label = JobLabel(name="llama-demo", tenant=TENANT, hosts=tuple(host.name for host in inventory.hosts))
    return inventory.model_copy(update={"jobs": (label,)})


def rollups_of(job: JobReport, findings: Iterable[Finding]) -> Iterator[Rollup]:
    """Minutes of a job, by its iterations' ends; with its findings' severities where they were on."""
    wrong = [one for one in findings if one.job == job.id]
    for start_ns, group in groupby(job.iterations, lambda one: one.end_ns // MINUTE_NS * MINUTE_NS):
        lengths = [one.end_ns - one.start_ns for one in group]
        on = [one for one in wrong if one.start_ns < start_ns + MINUTE_NS and (one.end_ns or start_ns) >= start_ns]
        worst = max(on, key=lambda one: one.slowdown_ratio, default=None)
        yield Rollup(
            job.id, start_ns, MINUTE_NS, len(lengths), sum(lengths), min(lengths), max(lengths), 1 << 30,
            worst.slowdown_ratio if worst else 1.0, worst.severity if worst else None,
        )  # fmt: skip


def stored_many(
    folder: Path,
    jobs: int,
    days: int,
    endpoints: int = 100,
    address: str | None = None,
    end_ns: int = 1_799_999_940 * 10**9,
) -> Stores:
    """Jobs made up, an incident for every fourth, hours of so many days and minutes of the last two hours.

    Args:
        folder: for the database where `address` is None.
        jobs: how many.
        days: of hours.
        endpoints: of each job.
        address: of an empty results database.
        end_ns: when the newest scan's window ends, UTC; a whole minute.
    """
    database = Database(address or f"sqlite:///{folder}/results.sqlite")
    made = [many_job(number, endpoints) for number in range(jobs)]
    window = Window(start_ns=end_ns - 5 * MINUTE_NS, end_ns=end_ns)
    cases = [many_incident(number, end_ns) for number in range(0, jobs, 4)]
    told = Scan(
        verdict="findings", window=window, feed=FeedSummary(records=1, bytes=1),
        jobs=tuple(JobScan(id=job.id, label=job.label, tenant=job.tenant, verdict="healthy") for job in made),
    )  # fmt: skip
    save_scan(database, ScanResult(ScanRecord("health", end_ns, end_ns + 1, "0", told), made, cases))
    rows = many_rollups(jobs, days, end_ns)
    while part := [row for row, _ in zip(rows, range(MOST_ROWS), strict=False)]:
        with database.writing() as connection:
            upsert(connection, ROLLUPS, part)
    return Stores(database)


def many_incident(number: int, end_ns: int) -> Incident:
    """The open incident of a job made up."""
    severity = ("info", "warning", "critical")[number // 4 % 3]
    times = {"seen_ns": end_ns - number * MINUTE_NS, "start_ns": end_ns - HOUR_NS}
    return results.incident(f"i{number:05}", f"j{number:05}", severity=severity, **times)


def many_job(number: int, endpoints: int) -> JobReport:
    """A job made up; every fourth belongs to nobody."""
    addresses = tuple(f"10.{number >> 8}.{number & 255}.{n}" for n in range(endpoints))
    return results.job(f"j{number:05}", tenant=TENANTS[number % 4]).model_copy(
        update={
            "endpoints": addresses,
            "hosts": tuple(f"h{number}-{n}" for n in range(max(endpoints // 8, 1))),
            "world_size": endpoints,
            "detectability": Detectability(timeline_error_ratio=0.001, smallest_slowdown_ratio=1.05),
        }
    )


def many_rollups(jobs: int, days: int, end_ns: int) -> Iterator[dict[str, object]]:
    """Rows of hours and of the last two hours' minutes; every fourth job is a fifth slower of late."""
    hours = range(end_ns // HOUR_NS * HOUR_NS - days * 24 * HOUR_NS, end_ns // HOUR_NS * HOUR_NS, HOUR_NS)
    minutes = range(end_ns - 2 * HOUR_NS, end_ns, MINUTE_NS)
    names = [one.name for one in fields(Rollup)]
    for length_ns, starts in ((HOUR_NS, hours), (MINUTE_NS, minutes)):
        for start_ns in starts:
            for number in range(jobs):
                slow = number % 4 == 0 and start_ns >= end_ns - HOUR_NS
                mean_ns = (1_000_000 + number) * (1200 if slow else 1000)
                count = length_ns // mean_ns
                values = (
                    f"j{number:05}", start_ns, length_ns, count, count * mean_ns, mean_ns, mean_ns, 1 << 40,
                    1.2 if slow else 1.0, "warning" if slow else None,
                )  # fmt: skip
                yield dict(zip(names, values, strict=True))
