"""Who computes longer by its own time, as findings."""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Int
from datamodel.reports.findings import Evidence, Finding, Subject, Suspect
from diagnose.finding_text import finding_id, listed, percent, severity
from diagnose.job_view import JobView
from diagnose.model.compute import ComputeHypothesis, Explanation, Grown
from diagnose.options import MODEL

Span = tuple[int, int | None]
# So many of those who compute longer are shown in the evidence.
SHOWN = 4


def computes_longer_finding(
    job: JobView, cell: Int, seen: Grown, late: Explanation, span_ns: Span, slowdown_ratio: float
) -> Finding:
    """Describe a cell or a host that computes longer than it did, or than its peers do.

    Args:
        job: theirs.
        cell: (e,) number of each endpoint's cell.
        seen: own time of all cells.
        late: who, and who may be instead.
        span_ns: how long they compute longer, so far.
        slowdown_ratio: what the job pays.
    """
    places = _places(late)
    members = job.endpoints[np.any([h.own for h, _ in places], axis=0)[cell]]
    subject = _subject(job, cell, late.best) if len(places) == 1 else _holding(job, members)
    names = job.names(members)
    hosts = tuple(sorted({job.fabric.host[e] for e in members.tolist() if e in job.fabric.host}))
    where = listed(names) + (f" on {listed(hosts)}" if hosts else "")
    lost_ms = float(np.nanmax(seen.lost_ns[late.best.own])) / 1e6
    one_of, verb = ("One of ", "computes") if len(places) > 1 else ("", "compute" if len(names) > 1 else "computes")
    together = " The ranks may share a tensor group: from the fabric they look alike." if len(names) > 1 else ""
    return Finding(
        id=finding_id(job.id, "straggler", subject.ids, span_ns[0]),
        job=job.id,
        kind="straggler",
        severity=severity(slowdown_ratio, [share for _, share in places]),
        start_ns=span_ns[0],
        end_ns=span_ns[1],
        confidence=round(min(late.near[0][1], MODEL.most_confidence), 4),
        slowdown_ratio=round(slowdown_ratio, 4),
        subject=subject,
        suspects=_suspects(job, cell, late),
        evidence=_evidence(job, cell, late.best, seen, span_ns),
        summary=f"{one_of}{where} {verb} too long: {lost_ms:.0f} ms more per iteration lie between what "
        f"reaches it and what it does next, and every iteration takes {percent(slowdown_ratio)} longer.",
        action="Check the GPU's clocks, temperature and power, and other processes on the host; "
        "replace the rank if it does not recover." + together,
    )


def _members(job: JobView, cell: Int, who: ComputeHypothesis) -> Int:
    return job.endpoints[who.own[cell]]


def _subject(job: JobView, cell: Int, who: ComputeHypothesis) -> Subject:
    members = _members(job, cell, who)
    hosts = {job.fabric.host.get(int(e)) for e in members}
    if who.who == "host" and len(hosts) == 1:
        return Subject(type="host", ids=(job.fabric.host[int(members[0])],))
    names = job.names(members)
    if len(names) == 1:
        return Subject(type="endpoint", ids=names)
    return Subject(type="group", ids=names, group="tp" if who.own.sum() == 1 else None)  # a cell is one tensor group


def _places(late: Explanation) -> list[tuple[ComputeHypothesis, float]]:
    """What may be at fault that somebody can be sent to."""
    return [(h, share) for h, share in late.near if h.who in {"cell", "host"}]


def _holding(job: JobView, members: Int) -> Subject:
    """The smallest thing that holds all suspects: their host, if it is one."""
    hosts = {job.fabric.host.get(e) for e in members.tolist()}
    host = hosts.pop() if len(hosts) == 1 else None
    return Subject(type="host", ids=(host,)) if host else Subject(type="group", ids=job.names(members))


def _suspects(job: JobView, cell: Int, late: Explanation) -> tuple[Suspect, ...]:
    """All cells and hosts that are as likely; of a tensor group its hosts, or its endpoints if one host holds them."""
    near = [(_subject(job, cell, h), share) for h, share in _places(late)]
    if len(near) > 1:
        return tuple(Suspect(type=s.type, ids=s.ids, probability=round(share, 4)) for s, share in near)
    if near[0][0].type != "group":
        return ()
    ids, hosts = near[0][0].ids, {job.fabric.host.get(int(e), "") for e in _members(job, cell, late.best)}
    if len(hosts) > 1 and "" not in hosts:
        return tuple(Suspect(type="host", ids=(h,), probability=round(1 / len(hosts), 4)) for h in sorted(hosts))
    return tuple(Suspect(type="endpoint", ids=(name,), probability=round(1 / len(ids), 4)) for name in ids)


def _evidence(job: JobView, cell: Int, who: ComputeHypothesis, seen: Grown, span_ns: Span) -> tuple[Evidence, ...]:
    """Own time of who computes longer, and of the others."""
    window = job.measured_ns(span_ns)

    def row(metric: str, value_ns: float, normal_ns: float, where: str) -> Evidence:
        value, baseline = round(value_ns / 1e9, 6), round(normal_ns / 1e9, 6)
        return Evidence(metric=metric, value=value, baseline=baseline, unit="s", where=where, window_ns=window)

    first = job.endpoints[np.unique(cell, return_index=True)[1]]
    found = [
        row("own time, per iteration", seen.now_ns[c], seen.normal_ns[c], job.name(int(first[c])))
        for c in np.flatnonzero(who.own)[:SHOWN].tolist()
    ]
    others = np.flatnonzero(~who.own & np.isfinite(seen.now_ns) & np.isfinite(seen.normal_ns))
    if len(others):
        value, normal = float(np.median(seen.now_ns[others])), float(np.median(seen.normal_ns[others]))
        found.append(row("own time, median of the others", value, normal, f"{len(others)} others of {job.id}"))
    return tuple(found)
