"""A slow link as a finding: subject, suspects, evidence and what to do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from datamodel.cluster.inventory import Link
from datamodel.reconstructed.transfers import ROLES, rate_name
from datamodel.reports.findings import Evidence, Finding, FindingKind, Subject, Suspect
from diagnose.finding_text import finding_id, gbps, listed, percent, severity
from diagnose.job_view import JobView
from diagnose.links.link_causes import Cause
from diagnose.links.slow_links import SlowLink
from diagnose.measures.congestion_notifications import Notified
from diagnose.measures.stream_rates import Rates
from diagnose.options import MODEL

_SIDES = {"tx": " in the sending direction", "rx": " in the receiving direction"}


def link_finding(
    job: JobView, link: SlowLink, rates: Rates, span_ns: tuple[int, int | None], slowdown_ratio: float
) -> Finding:
    """Describe a slow link of a job."""
    kind: FindingKind = "slow_link" if link.endpoint is not None else "slow_uplink"
    subject = _subject(job, link, rates)
    suspects = _suspects(job, link)
    name = _place(job, link)
    worst = int(np.argmax(link.lost_ns))
    where = f"{job.name(int(rates.src[worst]))} > {job.name(int(rates.dst[worst]))}"
    side = _SIDES.get(link.direction or "", "") if link.endpoint is not None else ""
    are = "are" if link.endpoint is None and link.among else "is"
    return Finding(
        id=finding_id(job.id, kind, subject.identity, span_ns[0]),
        job=job.id,
        kind=kind,
        cause=link.direction if link.endpoint is not None else None,
        severity=severity(slowdown_ratio, [s.probability for s in link.suspects]) if _located(link) else "info",
        start_ns=span_ns[0],
        end_ns=span_ns[1],
        confidence=_confidence(link),
        slowdown_ratio=round(slowdown_ratio, 4),
        subject=subject,
        suspects=suspects,
        evidence=_evidence(job, link, rates, span_ns),
        summary=f"{name} {are} slow{side}: {where} runs at {gbps(link.rate_bps[worst])} instead of "
        f"{gbps(_usual_bps(job, link, rates, worst))}, and every iteration takes {percent(slowdown_ratio)} longer."
        f"{_seen(link)}{_rivals(job, link)}",
        action=_action(link, name, job.names(link.rivals)),
    )


def with_cause(finding: Finding, cause: Cause | None, window_ns: tuple[int, int]) -> Finding:
    """The finding with why the link is slow, where packet counts say so; the counts are its first evidence."""
    if cause is None:
        return finding
    said = {
        "loss": f"It loses packets: {100 * cause.value:.1f} % are sent again.",
        "congestion": f"It is congested: {100 * cause.value:.0f} % of the packets carry a queue's mark.",
        "ecmp_collision": f"The flows fill one cable together ({gbps(cause.value)}) where there are others.",
    }[cause.name]
    evidence = Evidence(
        metric=cause.metric,
        value=round(cause.value, 6),
        baseline=round(cause.baseline, 6),
        unit=cause.unit,
        where="the slow streams",
        window_ns=window_ns,
    )
    return finding.model_copy(
        update={"cause": cause.name, "evidence": (evidence, *finding.evidence), "summary": f"{finding.summary} {said}"}
    )


def _usual_bps(job: JobView, link: SlowLink, rates: Rates, stream: int) -> float:
    """What a stream is told to have run at before: what was measured, or the speed of its ends' links.

    Packets that were seen in front of a queue may come many times as fast as any link carries them away.
    """
    speed_bps, measured_bps = _port_bps(job, rates, stream), float(link.normal_bps[stream])
    return speed_bps if speed_bps and rate_name(measured_bps, speed_bps) == "burst rate" else measured_bps


def _port_bps(job: JobView, rates: Rates, stream: int) -> float | None:
    """Speed of the slower port of a stream's ends; None where the inventory gives neither."""
    speed_bps = job.fabric.speed_bps
    return min((speed_bps[e] for e in (int(rates.src[stream]), int(rates.dst[stream])) if e in speed_bps), default=None)


def _located(link: SlowLink) -> bool:
    """Whether somebody can be sent somewhere: flows that share an unknown link wake nobody."""
    return link.endpoint is not None or link.switch is not None


def _confidence(link: SlowLink) -> float:
    """How likely the subject is it; nothing is surer than measurements of one window make it."""
    return round(MODEL.most_confidence * link.suspects[0].probability, 2)


def own_link(job: JobView, endpoint: int) -> Subject:
    """An endpoint's link to its switch; the endpoint itself where the switch is not known."""
    switch = job.fabric.switch.get(endpoint)
    if switch is None:
        return Subject(type="endpoint", ids=(job.name(endpoint),))
    return Subject(type="link", ids=(switch, job.name(endpoint)), a_port=job.fabric.port.get(endpoint))


def _subject(job: JobView, link: SlowLink, rates: Rates) -> Subject:
    if link.endpoint is not None:
        return own_link(job, link.endpoint)
    if link.switch is not None:
        return _uplink(job, link, link.switch)
    ends = np.unique(np.concatenate([rates.src[link.slow], rates.dst[link.slow]]))
    return Subject(type="group", ids=job.names(ends))


def _alone(link: SlowLink) -> bool:
    """Whether sightings leave one cable."""
    return len(link.cables) == 1 and not link.rivals


def _cable(link: Link) -> Subject:
    return Subject(type="link", ids=(link.a, link.b), a_port=link.a_port, b_port=link.b_port)


def _uplink(job: JobView, link: SlowLink, switch: str) -> Subject:
    if link.cables:
        return _cable(link.cables[0].link) if _alone(link) else Subject(type="switch", ids=(switch,))
    links = job.fabric.uplinks(switch)
    if len(links) == 1 and not link.rivals and not link.among:
        return _cable(links[0])
    return Subject(type="switch", ids=(switch,))


def _suspects(job: JobView, link: SlowLink) -> tuple[Suspect, ...]:
    """All links it may be, with probabilities; the cables of a single switch apart, as far as they are known."""
    likely: list[tuple[Subject, float]] = []
    for suspect in link.suspects:
        if suspect.endpoint is not None:
            likely.append((own_link(job, suspect.endpoint), suspect.probability))
        elif suspect.switch is not None:
            likely += _between_switches(job, link, suspect.switch, suspect.probability)
    if len(likely) < 2:
        return ()
    return tuple(Suspect(type=s.type, ids=s.ids, probability=round(share, 4)) for s, share in likely)


def _between_switches(job: JobView, link: SlowLink, switch: str, share: float) -> list[tuple[Subject, float]]:
    """A switch's cables, if it is the only one suspected, or those that were seen; else the switch."""
    cables = [c.link for c in link.cables] or list(job.fabric.uplinks(switch))
    several = sum(s.switch is not None for s in link.suspects) > 1
    if several or not cables:
        return [(Subject(type="switch", ids=(switch,)), share)]
    return [(_cable(cable), share / len(cables)) for cable in cables]


def _seen(link: SlowLink) -> str:
    """What sightings tell of the slow streams, as a sentence."""
    if not link.cables:
        return ""
    told = listed(tuple(f"{c.streams} on {_called(c.link)}" for c in link.cables))
    return f" Of the {int(link.slow.sum())} slow flows, switches saw {told}."


def _rivals(job: JobView, link: SlowLink) -> str:
    """What else it may be, as a sentence."""
    others = [f"the link of {job.name(e)}" for e in link.rivals]
    if link.endpoint is not None:
        others += [f"an uplink of {name}" for name in link.among]
    return f" It may also be {listed(tuple(others))}." if others else ""


def _called(link: Link) -> str:
    """A cable in a sentence, with the interface indices of its ends."""
    ends = ((link.a, link.a_port), (link.b, link.b_port))
    return " - ".join(name if port is None else f"{name} ({port})" for name, port in ends)


def _place(job: JobView, link: SlowLink) -> str:
    if link.cables:
        which = "The uplink" if _alone(link) else "One of the uplinks"
        return f"{which} {listed(tuple(_called(c.link) for c in link.cables))}"
    if link.endpoint is None and link.among:
        return f"Uplinks of {listed((link.switch or '', *link.among))}"
    if link.endpoint is None:
        return f"An uplink of {link.switch}" if link.switch else f"A link that {int(link.slow.sum())} flows share"
    switch = job.fabric.switch.get(link.endpoint)
    host = job.fabric.host.get(link.endpoint)
    owner = f" ({host})" if host else ""
    return f"The link of {job.name(link.endpoint)}{owner}" + (f" to {switch}" if switch else "")


def _action(link: SlowLink, name: str, owners: tuple[str, ...]) -> str:
    if link.cables:
        also = f", and of the link of {listed(owners)}" if owners else ""
        cables = listed(tuple(_called(c.link) for c in link.cables))
        return f"Check errors, discards, speed and load at both ends of {cables}{also}."
    if link.endpoint is None and link.switch is None:
        return "Give an inventory with switches and links: it names the link that these flows share."
    if link.endpoint is None:
        also = f", and the link of {listed(owners)}" if owners else ""
        return (
            f"Check load, errors, discards and speed of the uplinks of {listed((link.switch or '', *link.among))}{also}"
            "; which one it is shows once the switch exports interface indices."
        )
    ends = "Check negotiated speed, errors and optics at both ends"
    direction = {"tx": " (transmit side of the NIC)", "rx": " (switch port towards the NIC)"}.get(
        link.direction or "", ""
    )
    return f"{ends}{direction}; move the rank or drain the host if it does not recover." if name else ends


def _evidence(job: JobView, link: SlowLink, rates: Rates, span_ns: tuple[int, int | None]) -> tuple[Evidence, ...]:
    window = job.measured_ns(span_ns)
    found: list[Evidence] = []
    for s in np.argsort(-link.lost_ns, kind="stable")[:6]:
        if not link.slow[s]:
            continue
        pair = f"{job.name(int(rates.src[s]))} > {job.name(int(rates.dst[s]))} ({ROLES[rates.role[s]]})"
        found += _rates_of(pair, (float(link.rate_bps[s]), float(link.normal_bps[s])), _port_bps(job, rates, s), window)
    if link.notified is not None:
        found.append(_notified(job, link.notified, rates, window))
    found += [
        Evidence(
            metric="slow streams that were seen to pass the cable, of all slow ones",
            value=cable.streams,
            baseline=int(link.slow.sum()),
            unit="streams",
            where=f"{_called(cable.link)}, {cable.sightings} sightings",
            window_ns=window,
        )
        for cable in link.cables
    ]
    others = ~link.slow & np.isfinite(link.rate_bps) & np.isfinite(link.normal_bps)
    if others.any():
        now, before = (round(float(np.median(bps[others]))) for bps in (link.rate_bps, link.normal_bps))
        ports = [port for s in np.flatnonzero(others).tolist() if (port := _port_bps(job, rates, s)) is not None]
        found.append(
            Evidence(
                metric=f"{rate_name(now, max(ports, default=None))}, median of the other streams",
                value=now,
                baseline=before,
                unit="bit/s",
                where=f"{int(others.sum())} streams of {listed((job.id,))}",
                window_ns=window,
            )
        )
    return tuple(found)


def _rates_of(
    pair: str, measured_bps: tuple[float, float], port_bps: float | None, window: tuple[int, int]
) -> Iterator[Evidence]:
    """A slow stream's rate, now and before; a burst rate before is compared with no link rate, but with the port."""

    def row(metric: str, value: float, baseline: float) -> Evidence:
        numbers = {"value": round(value), "baseline": round(baseline)}
        return Evidence(metric=metric, **numbers, unit="bit/s", where=pair, window_ns=window)

    now, before = measured_bps
    if port_bps is None or rate_name(now, port_bps) == rate_name(before, port_bps):
        yield row(rate_name(now, port_bps), now, before)
        return
    yield row("link rate, against the port speed", now, port_bps)
    yield row("burst rate before, against the port speed", before, port_bps)


def _notified(job: JobView, notified: Notified, rates: Rates, window_ns: tuple[int, int]) -> Evidence:
    """What told on which side of a slow stream its bytes wait."""
    stream, now, usual = notified
    return Evidence(
        metric="congestion notifications to the sender, per iteration",
        value=round(now, 1),
        baseline=round(usual, 1),
        unit="",
        where=f"{job.name(int(rates.src[stream]))} > {job.name(int(rates.dst[stream]))}",
        window_ns=window_ns,
    )
