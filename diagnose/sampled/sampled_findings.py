"""What samples show to be slow, as findings: with suspects where the evidence leaves several."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from datamodel.reconstructed.streams import Int
from datamodel.reports.findings import Evidence, Finding, FindingKind, Subject, Suspect
from diagnose.compute.own_time_findings import computes_longer_finding
from diagnose.endpoint_index import Numbering
from diagnose.finding_text import finding_id, gbps, listed, percent, severity
from diagnose.model.compute import ComputeHypothesis, Explanation, Grown
from diagnose.model.own_time import cells
from diagnose.options import MODEL
from diagnose.sampled.late_senders import Late
from diagnose.sampled.ring_pace import MOST_EVIDENCE, RingPace
from diagnose.sampled.sampled_job_view import SampledView
from diagnose.sampled.suspect_links import SuspectLinks
from reconstruct.numeric.medians import group_medians

# Since when, until when (None: still on), and how many times as long iterations take.
Span = tuple[tuple[int, int | None], float]
# One link is named when it is at least so probable; else all that are at least so probable may be it.
NAMED, LEAST_PROBABLE = 0.8, 0.05
# Where it is not so probable that it is an endpoint's link, or that it is not, nobody is woken up.
LOCATED = 0.75
_SIDES = {"tx": " in the sending direction", "rx": " in the receiving direction"}


def ring_finding(
    view: SampledView, slow: Sequence[RingPace], rings: Sequence[RingPace], found: SuspectLinks, span: Span
) -> Finding:
    """Describe the slow link that one or several rings pass: one where it stands out, else those it may be."""
    job, (span_ns, ratio) = view.job, span
    likely = [n for n, p in enumerate(found.probability.tolist()) if p >= LEAST_PROBABLE]
    links, odds = [found.links[n] for n in likely], found.probability[likely] / found.probability[likely].sum()
    named = bool(odds[0] >= NAMED)
    subject = links[0] if named else _holding(found, likely)
    own = float(found.probability[found.own].sum())
    kind: FindingKind = "slow_link" if own > 0.5 else "slow_uplink"
    side = found.side if named else None
    now, before = (_rate_bps(view, slow, field) for field in ("now", "before"))
    moves = "its gradient ring moves" if len(slow) == 1 else f"{len(slow)} gradient rings move"
    name = "The link" if named else "One of the links"
    return Finding(
        id=finding_id(job.id, kind, subject.identity, span_ns[0]),
        job=job.id,
        kind=kind,
        cause=side,
        severity=severity(ratio) if max(own, 1 - own) >= LOCATED else "info",
        start_ns=span_ns[0],
        end_ns=span_ns[1],
        confidence=round(MODEL.most_confidence * float(odds[0]), 2),
        slowdown_ratio=round(ratio, 4),
        subject=subject,
        suspects=()
        if named
        else tuple(
            Suspect(type=link.type, ids=link.ids, probability=round(float(p), 4))
            for link, p in zip(links, odds, strict=True)
        ),
        evidence=_evidence(view, slow, rings, span_ns),
        summary=f"{name} {listed(tuple(_called(view, link) for link in (links[:1] if named else links)))} is slow"
        f"{_SIDES.get(side or '', '')}: {moves} at {gbps(now)} instead of {gbps(before)}, and every iteration takes "
        f"{percent(ratio)} longer.",
        action="Check negotiated speed, errors and optics at both ends of the link"
        + ("; move the rank or drain the host if it does not recover." if named else "s, the likeliest first."),
    )


def _holding(found: SuspectLinks, likely: Sequence[int]) -> Subject:
    """What holds several links: a switch that all are plugged into, the group of their ends, or all their switches."""
    links = [found.links[n] for n in likely]
    shared = set(links[0].ids).intersection(*(link.ids for link in links[1:]))
    if shared and all(link.type == "link" for link in links):
        return Subject(type="switch", ids=(min(shared),))
    ends = sorted(found.links[n].ids[-1] for n in likely if found.own[n])
    if ends:
        return Subject(type="group", ids=tuple(ends), group="dp")
    return Subject(type="switch", ids=tuple(sorted({name for link in links for name in link.ids})))


def _called(view: SampledView, link: Subject) -> str:
    """A link in a sentence: an endpoint's own by its address and host."""
    code = {name: n for n, name in enumerate(view.job.fabric.addresses)}.get(link.ids[-1])
    host = view.job.fabric.host.get(code) if code is not None else None
    return " - ".join(link.ids) + (f" ({host})" if host else "")


def _rate_bps(view: SampledView, rings: Sequence[RingPace], which: str) -> float:
    """What each member of rings sends at their pace, median."""
    rates = [float(np.median(view.quantum_bytes[r.ring])) * 8e9 / getattr(r, which).value for r in rings]
    return float(np.median(rates))


def _evidence(
    view: SampledView, slow: Sequence[RingPace], rings: Sequence[RingPace], span_ns: tuple[int, int | None]
) -> tuple[Evidence, ...]:
    window = view.job.measured_ns(span_ns)
    others = [r for r in rings if not any(r is s for s in slow)]
    found = [
        Evidence(
            metric=metric,
            value=round(_rate_bps(view, some, "now")),
            baseline=round(_rate_bps(view, some, "before")),
            unit="bit/s",
            where=_members(view, np.unique(np.concatenate([view.src[r.ring] for r in some]))),
            window_ns=window,
        )
        for metric, some in (("rate of the slow ring", slow), ("rate of the other rings, median", others))
        if some
    ]
    return (*found, *(_certainty(view, r, window) for r in slow))


def _members(view: SampledView, endpoints: Int) -> str:
    """Hosts of a ring where they are known, else addresses; as many as a line holds."""
    host = view.job.fabric.host
    return listed(tuple(dict.fromkeys(host.get(e, view.job.fabric.addresses[e]) for e in endpoints.tolist())), 16)


def _certainty(view: SampledView, ring: RingPace, window_ns: tuple[int, int]) -> Evidence:
    return Evidence(
        metric="time for the ring's bytes: longer by, in standard errors",
        value=round(ring.longer_ns / ring.error_ns, 2) if ring.error_ns else 0.0,
        baseline=0.0,
        unit="",
        where=_members(view, view.src[ring.ring]),
        window_ns=window_ns,
    )


def late_finding(view: SampledView, members: Int, late: Late, span: Span) -> Finding:
    """Describe endpoints that send late after all they waited for; `members` are their address codes."""
    job, own = view.job, np.isin(late.endpoints, members)
    cell = cells(job.endpoints, job.groups.get("tp", ()))
    number = cell[Numbering(job.endpoints).of(late.endpoints)]
    count = int(cell.max()) + 1
    before, excess, error = (group_medians(v, number, count) for v in (late.before_ns, late.excess_ns, late.error_ns))
    with np.errstate(invalid="ignore", divide="ignore"):
        sigma = float(np.nanmin(np.where(own, late.excess_ns / late.error_ns, np.nan)))
        now = before + np.maximum(excess, 0.0)
        seen = Grown(now, before, error**2, np.log(now / before), error / before)
    which = np.isin(np.arange(count), number[own])
    lost_ns = float(seen.lost_ns[which].max())
    best = ComputeHypothesis("cell", which, np.zeros(count, np.bool_), 0.0, 0.0, lost_ns, 1.0)
    known = Explanation(best, ((best, _late_probability(view, late, sigma)),))
    return computes_longer_finding(job, cell, seen, known, *span)


def _late_probability(view: SampledView, late: Late, sigma: float) -> float:
    """How likely those are late that are by so many standard errors, before all that compute together."""
    others = len(np.unique(view.computing()[late.endpoints]))
    odds = float(np.exp(min(sigma**2 / 2, MOST_EVIDENCE))) / others
    return min(odds / (1 + odds), MODEL.most_confidence)
