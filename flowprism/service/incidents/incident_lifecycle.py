"""Findings of successive scans -> incidents. Plain functions: what is known and what is new in, what is known out."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from datamodel.reports.findings import Finding
from datamodel.reports.scan import Scan
from datamodel.service.incidents import ChangeKind, Incident, IncidentChange, IncidentState, IncidentUpdate
from flowprism.analysis.scan_verdict import SEVERITIES
from flowprism.service.incidents.incident_matcher import match_findings


@dataclass(frozen=True, slots=True)
class IncidentOptions:
    """When a finding becomes an incident, and when that is over.

    Attributes:
        confirming_scans: scans that must have seen a finding before its incident opens, however bad it is.
        quiet_scans: scans in a row that could have seen it and did not, after which an incident is over.
        reopen_within_s: an incident that comes back within this time of its resolution is the same one; one whose job
            is gone for this time is over.
    """

    confirming_scans: int = 2
    quiet_scans: int = 3
    reopen_within_s: float = 1800.0


MOST_STRETCHES = 100  # of one incident that comes and goes; the oldest are joined
_NOTHING: Mapping[str, str] = {}


def after_scan(
    known: Sequence[Incident],
    scan: Scan,
    now_ns: int,
    options: IncidentOptions,
    present: Collection[str],
    closed: Mapping[str, str] = _NOTHING,
) -> IncidentUpdate:
    """Carry incidents over one scan.

    1. Findings of one window about the same thing are one: a link that flapped twice in it flaps.
    2. Each finding is matched with an incident that is not over, or was resolved recently (`match_findings`).
    3. A finding without an incident is suspected. Seen by enough scans its incident opens; one that was resolved
       reopens at once. However bad it looks, one window alone opens nothing: what it cuts off at its ends may look
       like a fault.
    4. An incident without a finding is quiet, if the scan could judge its job. Quiet often enough, an open one is
       resolved; a suspected one is dismissed and forgotten.
    5. Where the job is gone while others are still seen, nothing more can be seen of its incident. A suspected one is
       quiet, but for a hang: that the job stays silent confirms it. An open one is resolved when it was last seen
       longer ago than one is reopened.
    6. A window that ends before an incident was last seen, or was resolved, says nothing new of it: with several
       policies, or after a stop, windows are not scanned in order of time.
    7. A finding that ended before its incident was resolved says nothing new either, however long ago that was: the
       longer windows of another policy still hold it.
    8. What is in `closed` is over at once: a new baseline of the job accepts it, or another incident explains it.

    Args:
        known: incidents so far; those resolved long ago come back unchanged.
        scan: the verdict of one window.
        now_ns: when the scan was made.
        options: how patient to be.
        present: ids of all jobs that the window shows, whether or not the scan is about them; empty where it shows
            none, or is not trusted.
        closed: incidents that ended without a fix, by id, and why.
    """
    findings = _each_once([*(f for job in scan.jobs for f in job.findings), *scan.findings])
    living = [incident for incident in known if _may_be_seen(incident, now_ns, options)]
    findings = _without_past(findings, living, known)
    partner = match_findings(living, findings)
    steps: list[tuple[Incident | None, Incident | None]] = []
    for n, finding in enumerate(findings):
        before = living[partner[n]] if n in partner else None
        fresh = _first(finding, scan.window.end_ns, now_ns, options)
        is_old = before is not None and _is_ahead(before, scan.window.end_ns)
        steps.append((before, before if is_old else fresh if before is None else _seen(before, fresh, options)))
    judged = {None, *(job.id for job in scan.jobs if job.verdict != "unknown")}
    for n, incident in enumerate(living):
        if n in partner.values():
            continue
        if incident.id in closed and incident.state != "resolved":
            steps.append((incident, _over(incident, now_ns)))
        elif _is_ahead(incident, scan.window.end_ns):
            steps.append((incident, incident))
        elif incident.job in judged:
            steps.append((incident, _quiet(incident, now_ns, options)))
        else:
            is_gone = len(present) > 0 and incident.job not in present
            steps.append((incident, _without_job(incident, now_ns, options) if is_gone else incident))
    over = [incident for incident in known if not _may_be_seen(incident, now_ns, options)]
    incidents = [*over, *(after for _, after in steps if after is not None)]
    changes = [change for before, after in steps for change in _changes(before, after, now_ns, closed)]
    return IncidentUpdate(
        tuple(sorted(incidents, key=lambda i: i.id)), tuple(sorted(changes, key=lambda c: (c.incident, c.kind)))
    )


def _may_be_seen(incident: Incident, now_ns: int, options: IncidentOptions) -> bool:
    return incident.resolved_ns is None or now_ns - incident.resolved_ns <= options.reopen_within_s * 1e9


def _is_ahead(incident: Incident, window_end_ns: int) -> bool:
    """Whether something is known of an incident that is newer than a window."""
    return window_end_ns < max(incident.seen_ns, incident.resolved_ns or 0)


def _each_once(findings: Sequence[Finding]) -> list[Finding]:
    """The last finding about each thing, begun when the first one did."""
    last: dict[tuple[str | None, str, str, frozenset[tuple[str, int | None]]], Finding] = {}
    for finding in sorted(findings, key=lambda f: (f.start_ns, f.id)):
        about = (finding.job, finding.kind, finding.subject.type, finding.subject.ends)
        begun_ns = last[about].start_ns if about in last else finding.start_ns
        last[about] = finding.model_copy(update={"start_ns": begun_ns})
    return list(last.values())


def _without_past(findings: Sequence[Finding], living: Sequence[Incident], known: Sequence[Incident]) -> list[Finding]:
    """The findings without those that ended before an incident like them was resolved, and that no living one is."""
    active = match_findings([incident for incident in living if incident.state != "resolved"], findings)
    resolved = [incident for incident in known if incident.state == "resolved"]
    partner = match_findings(resolved, findings)
    return [
        finding
        for n, finding in enumerate(findings)
        if n in active or n not in partner or not _ended_before(finding, resolved[partner[n]])
    ]


def _ended_before(finding: Finding, incident: Incident) -> bool:
    return finding.end_ns is not None and incident.resolved_ns is not None and finding.end_ns <= incident.resolved_ns


def _seen(before: Incident, fresh: Incident, options: IncidentOptions) -> Incident:
    """A known incident that a finding, `fresh` by itself, shows again."""
    reopened = before.state == "resolved"
    scans_seen = 1 if reopened else before.scans_seen + 1
    is_open = "open" in {before.state, fresh.state} or reopened or scans_seen >= options.confirming_scans
    earlier_ns, since_ns = _stretches(before, fresh.start_ns)
    return fresh.model_copy(
        update={
            "id": before.id,
            "state": "open" if is_open else "suspected",
            "worst_severity": max(before.worst_severity, fresh.severity, key=SEVERITIES.index),
            "start_ns": min(before.start_ns, fresh.start_ns),
            "opened_ns": before.opened_ns or (fresh.seen_ns if is_open else None),
            "scans_seen": scans_seen,
            "times_reopened": before.times_reopened + reopened,
            "since_ns": since_ns,
            "earlier_ns": earlier_ns,
            "worst_slowdown_ratio": max(before.worst_slowdown_ratio, fresh.slowdown_ratio),
        }
    )


def _stretches(before: Incident, start_ns: int) -> tuple[tuple[tuple[int, int], ...], int | None]:
    """When an incident was so before it came back, and since when it is so again, if a finding begins at `start_ns`."""
    earlier, since_ns = before.earlier_ns, before.since_ns
    if before.state == "resolved":
        begun_ns = since_ns or before.start_ns
        earlier = (*earlier, (begun_ns, max(before.over_ns or before.seen_ns, begun_ns)))
        if len(earlier) > MOST_STRETCHES:
            earlier = ((earlier[0][0], earlier[1][1]), *earlier[2:])
        since_ns = start_ns
    if since_ns is None:
        return earlier, None
    return earlier, max(min(since_ns, start_ns), earlier[-1][1])


def _first(finding: Finding, window_end_ns: int, now_ns: int, options: IncidentOptions) -> Incident:
    """The incident of a finding that nothing is known of."""
    is_open = options.confirming_scans <= 1
    return Incident(
        id=_name(finding, window_end_ns),
        job=finding.job,
        kind=finding.kind,
        cause=finding.cause,
        state="open" if is_open else "suspected",
        severity=finding.severity,
        worst_severity=finding.severity,
        subject=finding.subject,
        suspects=finding.suspects,
        start_ns=finding.start_ns,
        end_ns=finding.end_ns,
        opened_ns=now_ns if is_open else None,
        seen_ns=now_ns,
        slowdown_ratio=finding.slowdown_ratio,
        worst_slowdown_ratio=finding.slowdown_ratio,
        confidence=finding.confidence,
        evidence=finding.evidence,
        summary=finding.summary,
        action=finding.action,
    )


def _quiet(incident: Incident, now_ns: int, options: IncidentOptions) -> Incident | None:
    """An incident that a scan could have seen and did not; None where it was only suspected, and that is over."""
    if incident.state == "resolved":
        return incident
    quiet = incident.model_copy(update={"scans_quiet": incident.scans_quiet + 1})
    if quiet.scans_quiet < options.quiet_scans:
        return quiet
    if quiet.state == "suspected":
        return None
    return quiet.model_copy(update={"state": "resolved", "resolved_ns": now_ns})


def _over(incident: Incident, now_ns: int) -> Incident | None:
    """An incident that is over now; None where it was only suspected."""
    if incident.state == "suspected":
        return None
    return incident.model_copy(update={"state": "resolved", "resolved_ns": now_ns, "scans_quiet": 0})


def _without_job(incident: Incident, now_ns: int, options: IncidentOptions) -> Incident | None:
    """An incident whose job a scan does not see any more, though it sees others."""
    if incident.state == "suspected" and incident.kind != "hang":
        return _quiet(incident, now_ns, options)
    if incident.state == "suspected":
        scans_seen = incident.scans_seen + 1
        is_open = scans_seen >= options.confirming_scans
        state: IncidentState = "open" if is_open else "suspected"
        opened_ns = now_ns if is_open else None
        return incident.model_copy(update={"state": state, "scans_seen": scans_seen, "opened_ns": opened_ns})
    if incident.state == "open" and now_ns - incident.seen_ns > options.reopen_within_s * 1e9:
        return _over(incident, now_ns)
    return incident


def _name(finding: Finding, window_end_ns: int) -> str:
    """An id that the finding of this window gets again, from whichever replica made the scan."""
    ends = sorted(name if port is None else f"{name} {port}" for name, port in finding.subject.ends)
    said = (finding.job, finding.kind, finding.subject.type, *ends, window_end_ns)
    return hashlib.sha256("|".join(map(str, said)).encode()).hexdigest()[:12]


def _changes(
    before: Incident | None, after: Incident | None, now_ns: int, closed: Mapping[str, str]
) -> Iterator[IncidentChange]:
    """What a scan changed of one incident, as entries of its history."""
    either = after or before
    if either is None:
        return
    for kind, detail in _what_changed(before, after, closed.get(either.id, "its job is gone")):
        yield IncidentChange(incident=either.id, time_ns=now_ns, kind=kind, detail=detail)


def _what_changed(before: Incident | None, after: Incident | None, over: str) -> Iterator[tuple[ChangeKind, str]]:
    """What changed; `over` is why an incident ends that no scans have missed."""
    if after is None:
        yield "dismissed", "not seen again"
        return
    if before is None:
        yield ("opened" if after.state == "open" else "suspected"), after.summary
        return
    if before.state != after.state:
        if after.state == "resolved":
            yield "resolved", f"not seen by {after.scans_quiet} scans" if after.scans_quiet else over
        else:
            yield ("reopened" if before.state == "resolved" else "opened"), after.summary
    if before.severity != after.severity:
        worse = SEVERITIES.index(after.severity) > SEVERITIES.index(before.severity)
        yield ("escalated" if worse else "eased"), f"{before.severity} -> {after.severity}: {after.summary}"
    if before.subject != after.subject:
        yield "relocated", after.summary
