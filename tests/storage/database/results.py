"""Small results to keep."""

from __future__ import annotations

from datamodel.cluster.inventory import Endpoint as InventoryEndpoint
from datamodel.cluster.inventory import Host, Inventory
from datamodel.reports.findings import Subject
from datamodel.reports.layout import Groups, Layout
from datamodel.reports.report import Detectability, FeedSummary, JobReport, Window
from datamodel.reports.scan import Scan
from datamodel.service.incidents import Incident, IncidentChange
from datamodel.service.result_rows import Rollup, ScanRecord
from storage.database.scans.scan_records import ScanResult

HOUR_NS = 3_600_000_000_000


def job(name: str = "j1", tp: int = 8, tenant: str | None = "t1") -> JobReport:
    """A job with a layout."""
    return JobReport(
        id=name,
        label=f"label of {name}",
        tenant=tenant,
        endpoints=("10.0.0.1", "10.0.0.2"),
        hosts=("s1",),
        world_size=16,
        layout=Layout(tp=tp, dp=2, confidence=0.5),
        groups=Groups(dp=(("10.0.0.1", "10.0.0.2"),)),
        period_s=1.25,
        detectability=Detectability(timeline_error_ratio=None, smallest_slowdown_ratio=None),
    )


def incident(name: str = "i1", job_id: str | None = "j1", **changes: object) -> Incident:
    """An open incident."""
    said = Incident(
        id=name,
        job=job_id,
        kind="straggler",
        state="open",
        severity="warning",
        worst_severity="warning",
        subject=Subject(type="host", ids=("s1",)),
        start_ns=1,
        seen_ns=10,
        slowdown_ratio=1.1,
        worst_slowdown_ratio=1.2,
        confidence=0.9,
        summary="s1 starts late — always",
        action="look at s1",
    )
    return said.model_copy(update=changes)


def kept(end_ns: int = 100, policy: str = "all") -> ScanRecord:
    """A scan of the window that ends at this time."""
    feed = FeedSummary(records=5, bytes=7)
    scan = Scan(verdict="findings", window=Window(start_ns=end_ns - 100, end_ns=end_ns), feed=feed)
    return ScanRecord(policy, end_ns + 1, end_ns + 2, "0.1", scan)


def rollup(job_id: str = "j1", start_ns: int = 0) -> Rollup:
    """An hour of a job."""
    return Rollup(job_id, start_ns, HOUR_NS, 60, 75 * 10**9, 10**9, 2 * 10**9, 1 << 50, 1.2, "warning")


def result(end_ns: int = 100, policy: str = "all") -> ScanResult:
    """All that a scan leaves."""
    change = IncidentChange(incident="i1", time_ns=end_ns, kind="opened", detail="late")
    return ScanResult(kept(end_ns, policy), [job()], [incident(seen_ns=end_ns)], [change], [rollup(start_ns=end_ns)])


def inventory(*names: str) -> Inventory:
    """Hosts of these names with an endpoint each."""
    hosts = [Host(name=name, endpoints=(InventoryEndpoint(address=f"10.0.0.{n}"),)) for n, name in enumerate(names, 1)]
    return Inventory(hosts=tuple(hosts))
