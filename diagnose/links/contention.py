"""Findings of all jobs + everybody's streams -> which slow uplinks are not slow but shared with others' traffic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.cluster.endpoint_locations import EndpointLocations
from datamodel.reconstructed.paths import Paths
from datamodel.reconstructed.streams import Bool, Float, Int, Streams
from datamodel.reports.findings import Evidence, Finding
from diagnose.endpoint_index import Numbering
from diagnose.finding_text import finding_id, gbps, listed, percent
from reconstruct.numeric.ragged_arrays import select_rows

# Others' traffic that is this share of the job's own over the same switch can hold it up ...
WORTH_IT = 0.2
# ... and did, when outside the slow time it was at most this share of what it was inside.
ELSEWHERE = 0.5
# The time outside must be this share of that inside, or there is nothing to compare with.
COMPARABLE = 0.1


@dataclass(frozen=True, slots=True)
class _Load:
    """Mean rates over one switch's uplinks while the job itself sends there, bit/s.

    Attributes:
        own: the job's, while it is slow.
        inside, outside: (jobs + 1,) every job's, and last that of no job, while it is slow and while it is not.
    """

    own: float
    inside: Float
    outside: Float


def reclassify_contention(
    findings: Sequence[Finding],
    jobs: Mapping[str, Int],
    streams: Streams,
    fabric: EndpointLocations,
    paths: Paths | None = None,
    alike: Sequence[frozenset[str]] = (),
) -> tuple[Finding, ...]:
    """Call slow uplinks contention where others' traffic came over the same switch with the slowness.

    A cable that two share gives each less, and is as fast as ever. The sign is the time: another job, or a service,
    sends over the switch's uplinks when the job does while it is slow, and hardly does while it is not. Two jobs of one
    pace that take turns do not meet, however much each of them sends.

    What others send passes a switch's uplinks if one end only is behind it, or if it was seen there: an inventory of a
    cluster's hosts leaves out who else is on the fabric.

    Args:
        findings: of all jobs.
        jobs: job id -> its endpoints.
        streams: everybody's, the traffic of no job included.
        fabric: which switch each endpoint is behind.
        paths: where streams were seen between switches, by number in `streams`; None where no feed tells.
        alike: ids of findings of one cable. A job that waits for it is longer under way, and so meets others more
            often: it is shared only if that explains all of them.

    Returns:
        All findings in the order given; those of kind `slow_uplink` that others' traffic explains are `contention`.
    """
    if not fabric.switch or not any(f.kind == "slow_uplink" for f in findings):
        return tuple(findings)
    owner = _owners(streams, list(jobs.values()))
    over = _over_uplinks(streams, fabric, paths)
    named = [
        _relabelled(f, list(jobs), streams, owner, over) if f.kind == "slow_uplink" and f.job in jobs else f
        for f in findings
    ]
    alone = {f.id for f, now in zip(findings, named, strict=True) if now.kind != "contention"}
    slow = {n for group in alike if group & alone for n in group}
    return tuple(f if f.id in slow else now for f, now in zip(findings, named, strict=True))


def _over_uplinks(streams: Streams, fabric: EndpointLocations, paths: Paths | None) -> dict[str, Bool]:
    """Streams that pass each switch's uplinks: one end is behind it and the other is not, or they were seen there."""
    codes = sorted(fabric.switch)
    names = sorted(set(fabric.switch.values()))
    of = {name: n for n, name in enumerate(names)}
    table = np.append([of[fabric.switch[c]] for c in codes], -1)
    place = Numbering(np.array(codes, np.int64))
    ends = table[place.of(streams.src)], table[place.of(streams.dst)]
    over = {name: (ends[0] == n) != (ends[1] == n) for name, n in of.items()}
    if paths is not None:
        switch = np.array([of.get(name, -1) for name, _ in paths.doors], np.int64)[paths.stays["door"]]
        for name, n in of.items():
            over[name][paths.stays["stream"][switch == n]] = True
    return over


def _owners(streams: Streams, jobs: list[Int]) -> Int:
    """(n,) number of the job that both ends of each stream are in; the number of jobs where they are in none."""
    endpoints = np.concatenate([*jobs, np.zeros(0, np.int64)])
    number = np.append(np.repeat(np.arange(len(jobs)), [len(j) for j in jobs]), len(jobs))
    place = Numbering(endpoints)
    src, dst = number[place.of(streams.src)], number[place.of(streams.dst)]
    return np.where(src == dst, src, len(jobs))


def _relabelled(finding: Finding, jobs: list[str], streams: Streams, owner: Int, over: Mapping[str, Bool]) -> Finding:
    switches = [s for s in _switches(finding) if s in over]
    own = jobs.index(str(finding.job))
    for switch in switches:
        load = _load(finding, streams, owner, np.flatnonzero(over[switch]), own, len(jobs))
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
    slow = _slow_ns(finding, last)
    offsets, rows = select_rows(streams.offsets, chosen)
    of, start = np.repeat(owner[chosen], np.diff(offsets)), streams.start_ns[rows]
    end = np.maximum(streams.end_ns[rows], start + 1)  # a row lasts one nanosecond at least
    gone = np.maximum(end, streams.delivered_ns[rows])  # a packet takes no time to leave, but some to arrive
    busy = merged(start[of == own], gone[of == own])
    met = (before(*busy, end) - before(*busy, start)) / (end - start) * streams.bytes[rows]
    middle = (start + end) // 2
    within = before(*slow, middle + 1) > before(*slow, middle)
    beside = ~within & (middle >= first) & (middle <= last)
    sent_ns = float((before(*slow, busy[1]) - before(*slow, busy[0])).sum())
    rest_ns = float((busy[1] - busy[0]).sum()) - sent_ns
    if sent_ns <= 0 or rest_ns < COMPARABLE * sent_ns:
        return None
    inside = np.asarray(np.bincount(of[within], met[within], jobs + 1) * 8e9 / sent_ns, np.float64)
    outside = np.asarray(np.bincount(of[beside], met[beside], jobs + 1) * 8e9 / rest_ns, np.float64)
    return _Load(float(inside[own]), inside, outside)


def _slow_ns(finding: Finding, last_ns: int) -> tuple[Int, Int]:
    """Begins and ends of the times in which a finding saw the job slow; what lies between them is left out."""
    end = finding.end_ns if finding.end_ns is not None else last_ns
    windows = np.array([e.window_ns for e in finding.evidence] or [(finding.start_ns, end)], np.int64)
    return merged(windows[:, 0], windows[:, 1])


def merged(start_ns: Int, end_ns: Int) -> tuple[Int, Int]:
    """Intervals as those that do not overlap, in order."""
    order = np.argsort(start_ns, kind="stable")
    start, reach = start_ns[order], np.maximum.accumulate(end_ns[order])
    first = np.flatnonzero(np.append(np.ones(min(len(start), 1), np.bool_), start[1:] > reach[:-1]))
    return start[first], reach[np.append(first[1:], len(start))[: len(first)] - 1]


def before(start_ns: Int, end_ns: Int, when_ns: Int) -> Int:
    """How much of some intervals, apart and in order, lies before each instant, ns."""
    total = np.append(0, np.cumsum(end_ns - start_ns))
    at = np.searchsorted(start_ns, when_ns, side="right")
    back = np.maximum(at - 1, 0)
    over = np.maximum(end_ns[back] - when_ns, 0) if len(start_ns) else 0
    return np.asarray(np.where(at > 0, total[at] - over, 0), np.int64)


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
            "id": finding_id(str(finding.job), "contention", finding.subject.identity, finding.start_ns),
            "kind": "contention",
            "cause": None,
            "evidence": (*evidence, *finding.evidence),
            "summary": f"The uplinks of {switch} are shared with {listed(names)}, which came with "
            f"{gbps(float(load.inside[others][worst]))} where there were {gbps(float(load.outside[others][worst]))}: "
            f"every iteration takes {percent(finding.slowdown_ratio)} longer.",
            "action": "Place the jobs apart, or spread their connections over more cables; no cable is at fault.",
        }
    )
