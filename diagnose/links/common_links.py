"""Slow links of several jobs -> the one cable that they share: what is slow is slow for all that pass it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TypeAlias

from datamodel.cluster.endpoint_locations import EndpointLocations
from datamodel.cluster.inventory import Link
from datamodel.reports.findings import Evidence, Finding, Subject, Suspect
from diagnose.finding_text import finding_id, gbps, listed, percent, severity
from diagnose.options import MODEL

LEAST_PROBABILITY = 1e-4  # suspects' probabilities have four digits
SLOW = {"slow_link", "slow_uplink"}
COLLISION = "ecmp_collision"  # a cable that the job's own streams fill: not a slow one, whoever else passes it
# The cable between two switches; several between the same two are alike.
Cable: TypeAlias = frozenset[str]


def share_links(
    findings: Sequence[Finding], periods_ns: Mapping[str, int], fabric: EndpointLocations, names: Mapping[str, str]
) -> tuple[tuple[Finding, ...], list[frozenset[str]]]:
    """Findings of which those that one cable explains name that cable.

    A job with one stream over a cable cannot distinguish it from its sender's own link, which is likelier by itself.
    That two links fail at the same time is less likely by far than that one does. So findings of several jobs that
    begin together and can be the same cable are that cable. Where it is a cable for certain, or that of several jobs,
    what a job loses later on in streams over it is no second fault: jobs that share it meet otherwise in every
    iteration.

    Args:
        findings: of all jobs.
        periods_ns: iteration time of each job, by which the start of its findings is uncertain.
        fabric: cables between switches.
        names: of jobs that others go on as; those of no other job are their own.

    Returns:
        All findings in the order given, without those that are part of another; and the ids of those of one cable.
    """
    places = {f.id: _places(f, fabric) for f in findings if f.kind in SLOW and f.cause != COLLISION}
    ends = {end for of in places.values() for cable in of for end in cable}
    between = {frozenset((link.a, link.b)) for link in fabric.links if link.a in ends and link.b in ends}
    cables = {id_: {c: p for c, p in of.items() if c in between} for id_, of in places.items()}
    left = sorted((f for f in findings if cables.get(f.id)), key=lambda f: (f.start_ns, f.id))
    found: dict[str, Finding | None] = {}
    alike: list[frozenset[str]] = []
    while left:
        first, *others = left
        group = _sharing(first, [f for f in others if _together(first, f, periods_ns)], cables)
        if len(group) > 1 or len(cables[first.id]) == len(places[first.id]):
            group = _with_later(group, others, cables)
        left = [f for f in others if f not in group]
        if len(group) > 1:
            probable = _joint([cables[f.id] for f in group])
            jobs = {_final(f, names) for f in group}
            named = []
            for _, own in groupby(sorted(group, key=lambda f: (f.job or "", f.start_ns)), key=lambda f: f.job):
                begun, *later = own
                found |= dict.fromkeys((f.id for f in later), None)
                named.append(
                    _restated(
                        begun, later, probable, jobs - {_final(begun, names)}, _subject(group, probable, fabric), fabric
                    )
                )
                found[begun.id] = named[-1]
            alike.append(frozenset(f.id for f in named))
    return tuple(one for f in findings if (one := found.get(f.id, f)) is not None), alike


def _places(finding: Finding, fabric: EndpointLocations) -> dict[Cable, float]:
    """Ends of each link that a finding can be -> its probability; a switch stands for its cables alike."""
    found: dict[Cable, float] = {}
    for kind, ids, probability in [(s.type, s.ids, s.probability) for s in finding.suspects] or [
        (finding.subject.type, finding.subject.ids, 1.0)
    ]:
        uplinks = fabric.uplinks(ids[0]) if kind == "switch" else ()
        for ends in [frozenset((link.a, link.b)) for link in uplinks] or [frozenset(ids)]:
            found[ends] = found.get(ends, 0.0) + probability / max(len(uplinks), 1)
    return found


def _final(finding: Finding, names: Mapping[str, str]) -> str:
    """Name by which the report knows a finding's job."""
    job = finding.job or ""
    return names.get(job, job)


def _together(first: Finding, later: Finding, periods_ns: Mapping[str, int]) -> bool:
    """Whether findings of two jobs began together."""
    tolerance_ns = sum(periods_ns.get(f.job or "", 0) for f in (first, later))
    return first.job != later.job and later.start_ns - first.start_ns <= tolerance_ns and not _apart(first, later)


def _apart(one: Finding, other: Finding) -> bool:
    """Whether two findings are known to be different cables between the same two switches."""
    subjects = [f.subject for f in (one, other)]
    if any(s.type != "link" or s.a_port is None for s in subjects):
        return False
    ends, another = ({(s.ids[0], s.a_port), (s.ids[-1], s.b_port)} for s in subjects)
    return {name for name, _ in ends} == {name for name, _ in another} and ends != another


def _with_later(
    group: Sequence[Finding], others: Sequence[Finding], cables: Mapping[str, Mapping[Cable, float]]
) -> list[Finding]:
    """Findings of one cable, with those that can be it, of the same jobs and in the time of theirs."""
    found, able = list(group), set.intersection(*(set(cables[f.id]) for f in group))
    for later in others:
        own = [f for f in found if f.job == later.job and f.start_ns < later.start_ns]
        during = any(f.end_ns is None or later.start_ns < f.end_ns for f in own)
        if during and not any(_apart(f, later) for f in found) and able & cables[later.id].keys():
            found.append(later)
            able &= cables[later.id].keys()
    return found


def _sharing(first: Finding, mates: Sequence[Finding], cables: Mapping[str, Mapping[Cable, float]]) -> list[Finding]:
    """A finding and those that can be the same cable as it, one of each job: the cable of most, then the likeliest."""

    def able(cable: Cable) -> list[Finding]:
        likeliest: dict[str | None, Finding] = {}
        for f in sorted(mates, key=lambda f: -cables[f.id].get(cable, 0.0)):
            if cable in cables[f.id]:
                likeliest.setdefault(f.job, f)
        return [first, *(f for f in mates if f in likeliest.values())]

    def likely(cable: Cable) -> tuple[int, float, list[str]]:
        group = able(cable)
        return len(group), sum(cables[f.id][cable] for f in group), sorted(cable)

    return able(max(cables[first.id], key=likely))


def _joint(each: Sequence[Mapping[Cable, float]]) -> dict[Cable, float]:
    """Probability of each cable that all findings can be, the likeliest first."""
    shared = [c for c in each[0] if all(c in one for one in each)]
    log = {c: sum(math.log(max(one[c], LEAST_PROBABILITY)) for one in each) for c in shared}
    weight = {c: math.exp(one - max(log.values())) for c, one in log.items()}
    ordered = sorted(weight, key=lambda c: (-weight[c], sorted(c)))
    likely = [c for c in ordered if weight[c] * MODEL.rival_odds >= weight[ordered[0]]]
    return {c: weight[c] / sum(weight[n] for n in likely) for c in likely}


def _restated(
    finding: Finding,
    later: Sequence[Finding],
    probable: Mapping[Cable, float],
    others: set[str],
    subject: Subject,
    fabric: EndpointLocations,
) -> Finding:
    """A finding as a slow cable, with what the same job lost over it later on."""
    every = [finding, *later]
    links, ratio = _links(probable, fabric), max(f.slowdown_ratio for f in every)
    names = listed(tuple(f"{link.a} - {link.b}" for link in links))
    rates = next((e for f in every for e in f.evidence if " > " in e.where and e.unit == "bit/s"), None)
    pace = f": {rates.where} at {gbps(rates.value)} instead of {gbps(rates.baseline)}" if rates else ""
    jobs = f" Jobs {listed(tuple(sorted(others)))} lose time over it, too." if others else ""
    shared = Evidence(
        metric="other jobs that slowed down at the same time over the same cable",
        value=len(others), baseline=0.0, unit="jobs", where=names,
        window_ns=finding.evidence[0].window_ns if finding.evidence else (finding.start_ns, finding.start_ns),
    )  # fmt: skip
    which = "The uplink" if len(links) == 1 else "One of the uplinks"
    return finding.model_copy(
        update={
            "id": finding_id(finding.job or "", "slow_uplink", subject.identity, finding.start_ns),
            "kind": "slow_uplink",
            "cause": finding.cause if finding.cause not in {"tx", "rx"} else None,
            "severity": severity(ratio, list(probable.values())),
            "end_ns": None if any(f.end_ns is None for f in every) else max(f.end_ns or 0 for f in every),
            "confidence": MODEL.most_confidence,
            "slowdown_ratio": ratio,
            "subject": subject,
            "suspects": tuple(
                Suspect(type="link", ids=(link.a, link.b), probability=round(share, 4))
                for link, share in zip(links, probable.values(), strict=True)
                if len(links) > 1
            ),
            "evidence": (*([shared] if others else []), *(e for f in every for e in f.evidence)),
            "summary": f"{which} {names} is slow{pace}, and every iteration takes {percent(ratio)} longer.{jobs}",
            "action": f"Check errors, discards, speed and load at both ends of {names}.",
        }
    )


def _links(probable: Mapping[Cable, float], fabric: EndpointLocations) -> list[Link]:
    """One link of each cable."""
    return [next(n for n in fabric.links if {n.a, n.b} == cable) for cable in probable]


def _subject(group: Sequence[Finding], probable: Mapping[Cable, float], fabric: EndpointLocations) -> Subject:
    """The cable that all are certain of; else the only one; else the switch that holds most, rather with endpoints."""
    certain = {f.subject for f in group if f.subject.type == "link" and f.subject.a_port is not None}
    links = _links(probable, fabric)
    if len(links) == 1:
        same = {one for one in certain if {*one.ids} == {links[0].a, links[0].b}}
        if len(same) == 1:
            return same.pop()
        if sum({n.a, n.b} == {links[0].a, links[0].b} for n in fabric.links) == 1:
            (link,) = links
            return Subject(type="link", ids=(link.a, link.b), a_port=link.a_port, b_port=link.b_port)
    leaves = set(fabric.switch.values())
    ends = [end for link in links for end in (link.a, link.b)]
    return Subject(type="switch", ids=(max(sorted(set(ends)), key=lambda end: (ends.count(end), end in leaves)),))
