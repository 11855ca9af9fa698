"""Findings of all jobs + everybody's streams -> which slow uplinks are not slow but shared with others' traffic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.fabric import Fabric
from datamodel.findings import Evidence, Finding
from datamodel.streams import Bool, Float, Int, Streams
from diagnose.numbering import Numbering
from diagnose.wording import finding_id, gbps, listed, percent

# Others' traffic that is this share of the job's own over the same switch can hold it up ...
WORTH_IT = 0.2
# ... and did, when outside the finding's time it was at most this share of what it was inside.
ELSEWHERE = 0.5
# The time outside must be this share of that inside, or there is nothing to compare with.
COMPARABLE = 0.1


@dataclass(frozen=True, slots=True)
class _Load:
    """Mean rates over one switch's uplinks, bit/s.

    Attributes:
        own: the job's, in the finding's time.
        inside, outside: (jobs + 1,) every job's, and last that of no job, inside and outside that time; outside only
            while the job runs.
    """

    own: float
    inside: Float
    outside: Float


def contended(
    findings: Sequence[Finding], jobs: Mapping[str, Int], streams: Streams, fabric: Fabric
) -> tuple[Finding, ...]:
    """Call slow uplinks contention where others' traffic came over the same switch with the slowness.

    A cable that two share gives each less, and is as fast as ever. The sign is the time: another job, or a service,
    sends over the switch's uplinks while the job is slow, and hardly does while it is not.

    Args:
        findings: of all jobs.
        jobs: job id -> its endpoints.
        streams: everybody's, the traffic of no job included.
        fabric: which switch each endpoint is behind.

    Returns:
        All findings in the order given; those of kind `slow_uplink` that others' traffic explains are `contention`.
    """
    if not fabric.switch or not any(f.kind == "slow_uplink" for f in findings):
        return tuple(findings)
    codes = sorted(fabric.switch)
    names = sorted(set(fabric.switch.values()))
    of = {name: n for n, name in enumerate(names)}
    table = np.append([of[fabric.switch[c]] for c in codes], -1)
    place = Numbering(np.array(codes, np.int64))
    ends = table[place.of(streams.src)], table[place.of(streams.dst)]
    owner = _owners(streams, list(jobs.values()))
    across = (ends[0] != ends[1]) & (ends[0] >= 0) & (ends[1] >= 0)
    return tuple(
        _relabelled(f, list(jobs), streams, owner, across, {n: (ends[0] == k) | (ends[1] == k) for n, k in of.items()})
        if f.kind == "slow_uplink" and f.job in jobs
        else f
        for f in findings
    )


def _owners(streams: Streams, jobs: list[Int]) -> Int:
    """(n,) number of the job that both ends of each stream are in; the number of jobs where they are in none."""
    endpoints = np.concatenate([*jobs, np.zeros(0, np.int64)])
    number = np.append(np.repeat(np.arange(len(jobs)), [len(j) for j in jobs]), len(jobs))
    place = Numbering(endpoints)
    src, dst = number[place.of(streams.src)], number[place.of(streams.dst)]
    return np.where(src == dst, src, len(jobs))


def _relabelled(
    finding: Finding, jobs: list[str], streams: Streams, owner: Int, across: Bool, behind: Mapping[str, Bool]
) -> Finding:
    switches = [s for s in _switches(finding) if s in behind]
    own = jobs.index(str(finding.job))
    for switch in switches:
        load = _load(finding, streams, owner, np.flatnonzero(across & behind[switch]), own, len(jobs))
        if load is None:
            continue
        others = np.flatnonzero((load.inside >= WORTH_IT * load.own) & (load.outside <= ELSEWHERE * load.inside))
        others = others[(others != own) & (load.inside[others] > 0)]
        if len(others):
            names = tuple(f"job {jobs[n]}" if n < len(jobs) else "traffic of no job" for n in others)
            return _contention(finding, switch, load, others, names)
    return finding


def _switches(finding: Finding) -> list[str]:
    """Switches whose uplinks a finding suspects, its subject's first."""
    named = [(s.type, s.ids) for s in (finding.subject,)] + [(s.type, s.ids) for s in finding.suspects]
    switches = [ids[0] for kind, ids in named if kind == "switch"]
    return list(dict.fromkeys(switches + [i for kind, ids in named if kind == "link" for i in ids]))


def _load(finding: Finding, streams: Streams, owner: Int, chosen: Int, own: int, jobs: int) -> _Load | None:
    """Rates over one switch, from the rows of the chosen streams; None where there is no time to compare with."""
    if not len(chosen):
        return None
    first, last = _lifetime(streams, np.flatnonzero(owner == own))
    begin, end = finding.start_ns, finding.end_ns if finding.end_ns is not None else last
    rest = (last - first) - (end - begin)
    if end <= begin or rest < COMPARABLE * (end - begin):
        return None
    count = streams.offsets[chosen + 1] - streams.offsets[chosen]
    rows = np.repeat(streams.offsets[chosen] - np.cumsum(count) + count, count) + np.arange(int(count.sum()))
    of = np.repeat(owner[chosen], count)
    middle = (streams.start_ns[rows] + streams.end_ns[rows]) // 2
    within = (middle >= begin) & (middle <= end)
    beside = ~within & (middle >= first) & (middle <= last)
    inside = np.bincount(of[within], streams.bytes[rows[within]], jobs + 1) * 8e9 / (end - begin)
    outside = np.bincount(of[beside], streams.bytes[rows[beside]], jobs + 1) * 8e9 / rest
    return _Load(float(inside[own]), inside, outside)


def _lifetime(streams: Streams, chosen: Int) -> tuple[int, int]:
    """First and last byte of some streams: what others did while the job did not run is no comparison."""
    first = int(streams.start_ns[streams.offsets[chosen]].min(initial=np.iinfo(np.int64).max))
    return first, int(streams.end_ns[streams.offsets[chosen + 1] - 1].max(initial=0))


def _contention(finding: Finding, switch: str, load: _Load, others: Int, names: tuple[str, ...]) -> Finding:
    window = (finding.start_ns, finding.evidence[0].window_ns[1] if finding.evidence else finding.start_ns)
    evidence = tuple(
        Evidence(
            metric="traffic of others over the same uplinks",
            value=round(float(load.inside[n])),
            baseline=round(float(load.outside[n])),
            unit="bit/s",
            where=f"{name} over the uplinks of {switch}",
            window_ns=window,
        )
        for n, name in zip(others.tolist(), names, strict=True)
    )
    worst = int(np.argmax(load.inside[others]))
    return finding.model_copy(
        update={
            "id": finding_id(str(finding.job), "contention", finding.subject.ids, finding.start_ns),
            "kind": "contention",
            "cause": None,
            "evidence": (*evidence, *finding.evidence),
            "summary": f"The uplinks of {switch} are shared with {listed(names)}, which came with "
            f"{gbps(float(load.inside[others][worst]))} where there were {gbps(float(load.outside[others][worst]))}: "
            f"every iteration takes {percent(finding.slowdown_ratio)} longer.",
            "action": "Place the jobs apart, or spread their connections over more cables; no cable is at fault.",
        }
    )
