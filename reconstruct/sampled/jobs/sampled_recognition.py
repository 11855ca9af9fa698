"""Sampled flow records -> jobs with their iterations, and how well these are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from datamodel.telemetry.flows import Flows
from reconstruct.sampled.curves.progress_curves import ProgressCurves, progress
from reconstruct.sampled.jobs.connection_sets import parts
from reconstruct.sampled.jobs.iteration_ends import IterationEnds, edges
from reconstruct.sampled.jobs.iteration_grid import IterationGrid, lattice

# Ends of two parts that keep this distance but for one step, as a share of the period, are one clock's; half of it
# where an inventory says that they share no host. Independent jobs drift apart by their jitter times the root of the
# number of iterations.
LOCKSTEP = 0.05
# Errors of the ends widen that by so many of them, to this at most.
ERRORS, MOST_REACH = 2.0, 0.12
# Two jobs do not share all their hosts: parts that do, go through equally many iterations and stay within this are one,
# even where a fault comes and goes on one rail. Independent ones would need periods that are equal to a hundredth.
SAME_HOSTS = 0.25
# Of this share of the iterations both must show the end.
SEEN_TOGETHER = 0.8
FEWEST_ITERATIONS = 3
# Readiness messages and acknowledgements are smaller than this share of a job's typical packet; activations are not.
SMALL = 0.5


@dataclass(frozen=True, slots=True)
class SampledJob:
    """A job as samples show it.

    Attributes:
        endpoints: (e,) address codes, ascending.
        connections: (c,) numbers of its connections in `ProgressCurves`.
        quantum_bytes: (c,) bytes of an iteration.
        origin_bytes: (c,) position at which iteration 0 ends.
        edges_ns: (iterations,) end of each iteration.
        edge_error_ns: (iterations,) its standard error, nan where too few samples tell it.
        edge_shared_ns: (iterations,) standard error that it shares with all edges of the same `moving_ns`.
        moving_ns: (iterations,) how long the ring that ended last takes for all bytes of an iteration.
        unresolved: directed pairs of its endpoints whose samples are too few, or show no rhythm: what they carry is not
            known, so its layout is not either. One more where it shares a host with another job, and for each endpoint
            in no job, and no service, that is on one of its hosts or that it exchanges data with both ways.
    """

    endpoints: Int
    connections: Int
    quantum_bytes: Float
    origin_bytes: Float
    edges_ns: Int
    edge_error_ns: Float
    edge_shared_ns: Float
    moving_ns: Float
    unresolved: int

    @property
    def period_ns(self) -> float:
        """Median iteration time."""
        return float(np.median(np.diff(self.edges_ns)))


@dataclass(frozen=True, slots=True)
class SampledRecognition:
    """The jobs of a sampled window, and why other traffic is in none.

    Attributes:
        jobs: by first endpoint.
        progress: the curves that connection numbers point into.
        unassigned: reason -> address codes of endpoints.
    """

    jobs: tuple[SampledJob, ...]
    progress: ProgressCurves
    unassigned: dict[str, Int]


@dataclass(frozen=True, slots=True)
class _Candidate:
    lattice: IterationGrid
    edges: IterationEnds


def find_sampled_jobs(
    flows: Flows, services: frozenset[int], hosts: Sequence[str | None] | None = None
) -> SampledRecognition:
    """Find the training jobs that sequence-numbered samples show.

    Args:
        flows: flow records; rows that are no samples of single packets, or have no sequence number, are left out.
        services: address codes of storage and management, never part of a job.
        hosts: host of each address code, where an inventory names it.
    """
    curves = progress(flows)
    found = []
    for part in parts(curves, services):
        cells = lattice(curves, part)
        if cells is not None and len((ends := edges(curves, cells)).number) >= FEWEST_ITERATIONS:
            found.append(_Candidate(cells, ends))
    jobs = [_job(curves, group) for group in _in_lockstep(curves, found, hosts)]
    jobs = _one_job_each([j for j in jobs if len(j.edges_ns) >= FEWEST_ITERATIONS])
    jobs = _open_where_hosts_are_shared(jobs, hosts)
    jobs = _open_where_others_may_belong(curves, jobs, services, hosts)
    return SampledRecognition(tuple(jobs), curves, _reasons(curves, services, jobs))


def _in_lockstep(
    curves: ProgressCurves, found: list[_Candidate], hosts: Sequence[str | None] | None
) -> list[list[_Candidate]]:
    """Candidates whose ends keep their distance, numbered alike: rails joined inside the hosts alone."""
    groups: list[list[_Candidate]] = []
    for candidate in found:
        for group in groups:
            shift = _lockstep(group[0].edges, candidate.edges, *_reach(curves, group, candidate, hosts))
            if shift is not None:
                group.append(_renumbered(candidate, shift))
                break
        else:
            groups.append([candidate])
    return groups


def _reach(
    curves: ProgressCurves, group: list[_Candidate], candidate: _Candidate, hosts: Sequence[str | None] | None
) -> tuple[float, float]:
    """(periods by which ends may be off their usual distance, most of that with errors)."""
    if hosts is None:
        return LOCKSTEP, MOST_REACH
    own = _hosts(curves, candidate, hosts)
    others = [_hosts(curves, one, hosts) for one in group]
    if own and own in others:
        return SAME_HOSTS, SAME_HOSTS
    return (LOCKSTEP if any(own & other for other in others) else LOCKSTEP / 2), MOST_REACH


def _hosts(curves: ProgressCurves, one: _Candidate, hosts: Sequence[str | None]) -> set[str]:
    named = {hosts[int(e)] for e in _endpoints(curves, one.lattice.members)}
    return {name for name in named if name is not None}


def _lockstep(a: IterationEnds, b: IterationEnds, reach: float, most: float) -> int | None:
    """What to add to numbers of `b` to make them those of `a`; None where the two do not keep in step.

    Ends may be off their usual distance by `reach` periods, and by what their errors make, `most` in all.
    """
    period = float(np.median(np.diff(a.time_ns)))
    order = np.argsort(a.time_ns, kind="stable")
    nearest = order[np.searchsorted((a.time_ns[order][1:] + a.time_ns[order][:-1]) / 2, b.time_ns)]
    shifts, counts = np.unique(a.number[nearest] - b.number, return_counts=True)
    shift = int(shifts[np.argmax(counts)])
    _, at_a, at_b = np.intersect1d(a.number, b.number + shift, return_indices=True)
    if len(at_a) < SEEN_TOGETHER * max(len(a.number), len(b.number)):
        return None
    off = _around_a_step(b.time_ns[at_b] - a.time_ns[at_a])
    errors = np.nan_to_num(np.hypot(a.error_ns[at_a], b.error_ns[at_b]))
    allowed = min(reach + ERRORS * float(np.median(errors)) / period, most)
    return shift if float(np.quantile(off, SEEN_TOGETHER)) <= allowed * period else None


def _around_a_step(values: Float) -> Float:
    """How far each value is from the median of its side of the one step that leaves least: a fault may set in once."""
    best = np.abs(values - np.median(values))
    for cut in range(FEWEST_ITERATIONS, len(values) - FEWEST_ITERATIONS + 1):
        sides = values[:cut], values[cut:]
        off = np.abs(np.concatenate([side - np.median(side) for side in sides]))
        best = min(best, off, key=lambda one: float(one.sum()))
    return np.asarray(best, np.float64)


def _renumbered(candidate: _Candidate, shift: int) -> _Candidate:
    """The same boundaries under numbers that are higher by `shift`."""
    cells, ends = candidate.lattice, candidate.edges
    moved = replace(cells, origin_bytes=cells.origin_bytes - shift * cells.quantum_bytes, first=cells.first + shift)
    return _Candidate(moved, replace(ends, number=ends.number + shift))


def _endpoints(curves: ProgressCurves, members: Int) -> Int:
    return np.unique(np.concatenate([curves.src[members], curves.dst[members]]))


def _job(curves: ProgressCurves, group: list[_Candidate]) -> SampledJob:
    """Parts in lockstep as one job: an iteration ends when the last of them does."""
    number = group[0].edges.number
    for other in group[1:]:
        number = np.intersect1d(number, other.edges.number)
    time_ns, error_ns, shared_ns, moving_ns = (
        np.array([getattr(c.edges, name)[np.isin(c.edges.number, number)] for c in group])
        for name in ("time_ns", "error_ns", "shared_ns", "moving_ns")
    )
    last = np.argmax(time_ns, axis=0), np.arange(len(number))
    members = np.concatenate([c.lattice.members for c in group])
    quantum = np.concatenate([c.lattice.quantum_bytes for c in group])
    origin = np.concatenate([c.lattice.origin_bytes for c in group])
    first = int(number[0]) if len(number) else 0
    order = np.argsort(members)
    endpoints = _endpoints(curves, members)
    return SampledJob(
        endpoints=endpoints,
        connections=members[order],
        quantum_bytes=quantum[order],
        origin_bytes=(origin + first * quantum)[order],
        edges_ns=np.rint(time_ns[last]).astype(np.int64),
        edge_error_ns=error_ns[last],
        edge_shared_ns=shared_ns[last],
        moving_ns=moving_ns[last],
        unresolved=_unresolved(curves, members, endpoints),
    )


def _one_job_each(jobs: list[SampledJob]) -> list[SampledJob]:
    """Endpoints train in one job at a time: of those that share one, the job that moves most bytes is meant."""
    taken: set[int] = set()
    kept = []
    for job in sorted(jobs, key=lambda j: (-float(j.quantum_bytes.sum()) * len(j.edges_ns), int(j.endpoints[0]))):
        if not taken & set(job.endpoints.tolist()):
            kept.append(job)
            taken |= set(job.endpoints.tolist())
    return sorted(kept, key=lambda j: int(j.endpoints[0]))


def _open_where_hosts_are_shared(jobs: list[SampledJob], hosts: Sequence[str | None] | None) -> list[SampledJob]:
    """Jobs; those on a host of another one may be rails of one job that lost step: their layout is not known."""
    if hosts is None:
        return jobs
    own = [{hosts[e] for e in job.endpoints.tolist()} - {None} for job in jobs]
    shares = [any(a & b for m, b in enumerate(own) if m != n) for n, a in enumerate(own)]
    return [replace(job, unresolved=job.unresolved + shared) for job, shared in zip(jobs, shares, strict=True)]


def _open_where_others_may_belong(
    curves: ProgressCurves, jobs: list[SampledJob], services: frozenset[int], hosts: Sequence[str | None] | None
) -> list[SampledJob]:
    """Jobs with what may belong to them: endpoints of which nothing is known.

    Those that one exchanges data with both ways may be a stage of it; those on its hosts, another rail.
    """
    known = np.concatenate([np.array(sorted(services), np.int64), *(job.endpoints for job in jobs)])
    pairs, packets = _pairs(curves)
    opened = []
    for job in jobs:
        data = pairs[packets >= SMALL * np.median(curves.packet_bytes[job.connections])]
        inside, stray = np.isin(data, job.endpoints), ~np.isin(data, known)
        others = np.intersect1d(data[inside[:, 0] & stray[:, 1], 1], data[inside[:, 1] & stray[:, 0], 0])
        if hosts is not None:
            own = {hosts[e] for e in job.endpoints.tolist()} - {None}
            others = np.union1d(others, [e for e in np.unique(data[stray]).tolist() if hosts[e] in own])
        opened.append(replace(job, unresolved=job.unresolved + len(others)))
    return opened


def _pairs(curves: ProgressCurves) -> tuple[Int, Float]:
    """(sources and destinations, typical packets) of all connections, those among them of which too little is seen."""
    pairs = np.concatenate([np.stack([curves.src, curves.dst], axis=1), curves.faint])
    return pairs, np.concatenate([curves.packet_bytes, curves.faint_packet_bytes])


def _unresolved(curves: ProgressCurves, members: Int, endpoints: Int) -> int:
    """Directed pairs of endpoints that send data worth the name, but no connection of the job."""
    pairs, packets = _pairs(curves)
    inside = np.isin(pairs, endpoints).all(axis=1) & (packets >= SMALL * np.median(curves.packet_bytes[members]))
    known = set(zip(curves.src[members].tolist(), curves.dst[members].tolist(), strict=True))
    return len({(a, b) for a, b in pairs[inside].tolist()} - known)


def _reasons(curves: ProgressCurves, services: frozenset[int], jobs: list[SampledJob]) -> dict[str, Int]:
    """Why endpoints of sampled connections are in no job."""
    inside = {int(e) for job in jobs for e in job.endpoints}
    seen = {int(e) for e in _endpoints(curves, np.arange(len(curves)))} if len(curves) else set()
    reasons = {
        "a service of the inventory": seen & services,
        "no rhythm that its samples show": seen - inside - services,
    }
    return {reason: np.array(sorted(ends), np.int64) for reason, ends in reasons.items() if ends}
