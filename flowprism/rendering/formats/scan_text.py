"""A scan as text: a line a job, the worst first, and under it why."""

from __future__ import annotations

from collections.abc import Iterator

from datamodel.reports.scan import JobScan, Scan
from datamodel.service.incidents import IncidentUpdate
from flowprism.rendering import phrases, units

ORDER = ("findings", "unknown", "healthy")


def render_scan(scan: Scan) -> str:
    """The verdict, then jobs by verdict, then what concerns no single job."""
    return "".join(f"{line}\n" for line in _lines(scan))


def render_incidents(after: IncidentUpdate | None) -> str:
    """What the scan changed, and which incidents are open; that it was kept before, where `after` is None."""
    if after is None:
        return "incidents: this window was scanned before; nothing is changed\n"
    open_now = [incident for incident in after.incidents if incident.state == "open"]
    lines = [f"incidents: {len(open_now)} open"]
    lines += [f"{change.kind:<10} {change.incident}  {change.detail}" for change in after.changes]
    changed = {change.incident for change in after.changes}
    lines += [f"{'open':<10} {i.id}  {i.summary}" for i in open_now if i.id not in changed]
    return "".join(f"{line}\n" for line in lines)


def _lines(scan: Scan) -> Iterator[str]:
    span = units.duration((scan.window.end_ns - scan.window.start_ns) / 1e9)
    yield f"{scan.verdict}: {units.plural(len(scan.jobs), 'job')}, {span} from {units.utc(scan.window.start_ns)} UTC"
    for job in sorted(scan.jobs, key=lambda job: ORDER.index(job.verdict)):
        yield f"{job.verdict:<9} {_title(job)}"
        yield from (f"          {finding.severity}: {finding.summary}" for finding in job.findings)
        yield from (f"          {reason}" for reason in job.reasons)
        yield from (f"          {weights}" for weights in phrases.post_training(job.post_training))
    yield from (f"{finding.severity}: {finding.summary}" for finding in scan.findings)
    yield from scan.reasons


def _title(job: JobScan) -> str:
    name = job.label or f"job {job.id}"
    if job.id is None:
        return name
    facts = [f"{job.endpoints} endpoints", f"{job.iterations} iterations"]
    if job.period_s is not None:
        facts.append(f"one takes {units.duration(job.period_s)}")
    if job.smallest_slowdown_ratio is not None:
        facts.append(f"a slowdown of {units.share(job.smallest_slowdown_ratio - 1)} would show")
    return f"{name}: {', '.join(facts)}"
