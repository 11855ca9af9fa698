"""Streams -> jobs: endpoints that train together, told from storage, management and one another by their rhythm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from datamodel.streams import Bool, Int, Streams
from reconstruct.boundaries import Boundaries, boundaries
from reconstruct.cycles import CONTROL_SHARE, Lattices, Members, cut, joined, members
from reconstruct.followers import Follower, followers
from reconstruct.lockstep import in_lockstep
from reconstruct.parts import by_label, connected, on_one_beat, without_hubs
from reconstruct.rhythm import Beats, beats
from reconstruct.smeared import smeared


@dataclass(frozen=True, slots=True)
class JobOptions:
    """What it takes to be a job.

    Attributes:
        coherence: least mean autocorrelation of a stream's pauses at multiples of its quantum.
        smallest_stream_share: streams below this share of the largest one's bytes carry no collective.
        smallest_quantum_bytes: a stream that repeats less than this is a heartbeat or a scrape.
        control_share: a stream below this share of the reverse stream's bytes is its clear-to-send traffic.
        covered_share: flow records that cover more of the time, each longer than any pause, show no rhythm.
        lockstep_share: two sets of streams whose boundaries keep this distance, in cycles, are one job.
    """

    coherence: float = 0.5
    smallest_stream_share: float = 0.0005
    smallest_quantum_bytes: int = 16_384
    control_share: float = 0.02
    covered_share: float = 0.5
    lockstep_share: float = 0.12


@dataclass(frozen=True, slots=True)
class Job:
    """Streams that turn over in lockstep.

    Attributes:
        endpoints: (e,) address codes, ascending.
        members: its streams, cut into cycles, by stream number; a sequence of `Cycles`.
        boundaries: when each of them crossed the end of each iteration.
        edges: (iterations,) the boundary number that ends each complete iteration.
        edges_ns: (iterations,) when.
        followers: streams between its endpoints that keep its beat in time, not in bytes.
    """

    endpoints: Int
    members: Members
    boundaries: Boundaries
    edges: Int
    edges_ns: Int
    followers: tuple[Follower, ...] = ()


@dataclass(frozen=True, slots=True)
class Recognition:
    """The jobs of a window, and why other traffic is in none.

    Attributes:
        jobs: by first endpoint.
        unassigned: reason -> number of endpoints.
    """

    jobs: tuple[Job, ...]
    unassigned: dict[str, int]


def recognise(
    streams: Streams, services: frozenset[int], options: JobOptions, hosts: Sequence[str | None] | None = None
) -> Recognition:
    """Find the training jobs.

    1. A stream belongs to training when it repeats a quantum of bytes; connections that come and go do not.
    2. Streams that share an endpoint and turn over at one pace, or a whole multiple of it (micro-batches), are joined;
       endpoints that only send or only receive in rhythm are data loaders or checkpoint stores and leave.
    3. The shortest cycle that is a whole multiple for nearly all of them is the iteration.
    4. Sets whose boundaries keep in lockstep are one job: rails joined inside the hosts alone.

    Args:
        streams: data rows by connection.
        services: address codes of storage and management; their streams are left out.
        options: thresholds.
        hosts: host of each address code, where an inventory names it: two sets that share a host are compared first,
            sets that share none must keep in lockstep twice as closely.
    """
    total = streams.total_bytes()
    hidden = smeared(streams, options.covered_share)
    rhythmic = _rhythmic(streams, total, services, options, hidden)
    parts = [without_hubs(streams, part) for part in connected(streams, rhythmic)]
    parts = [on_one_beat(streams, again) for part in parts if len(part) for again in connected(streams, part)]
    candidates = [job for part in parts if len(part) > 1 and (job := _job(streams, part)) is not None]
    joint = _joined(streams, candidates, options, hosts)
    jobs = tuple(sorted(_one_job_each(joint), key=lambda j: int(j.endpoints[0])))
    loose = _loose(total, options, jobs)
    jobs = tuple(_with_followers(streams, job, loose) for job in jobs)
    return Recognition(jobs, _reasons(streams, services, hidden, rhythmic, jobs))


def _rhythmic(streams: Streams, total: Int, services: frozenset[int], options: JobOptions, hidden: Bool) -> Lattices:
    """Streams with a rhythm, each cut at its own fundamental; that of `hidden` ones cannot be seen."""
    served = np.isin(streams.src, list(services)) | np.isin(streams.dst, list(services))
    large = total >= options.smallest_stream_share * total.max(initial=0)
    both_ways = total >= options.control_share * _reverse_bytes(streams, total)
    some = np.flatnonzero(large & both_ways & ~hidden & ~served)
    heard = beats(streams, some, options.coherence)
    rhythm = np.flatnonzero(heard.coherence > 0)
    found = cut(streams, some[rhythm], Beats(*(column[rhythm] for column in heard)))
    return found.take(np.flatnonzero(found.quantum_bytes >= options.smallest_quantum_bytes))


def _reverse_bytes(streams: Streams, total: Int) -> Int:
    """(n,) bytes that each stream's destination sent to its source."""
    code = len(streams.addresses)
    pair, of_stream = np.unique(streams.src * code + streams.dst, return_inverse=True)
    volume = np.bincount(of_stream, total, len(pair))
    back = streams.dst * code + streams.src
    at = np.minimum(np.searchsorted(pair, back), max(len(pair) - 1, 0))
    return np.where(pair[at] == back, volume[at], 0).astype(np.int64) if len(pair) else total


def _job(streams: Streams, part: Lattices) -> Job | None:
    own = members(streams, part)
    found = boundaries(streams, own)
    edges, edges_ns = found.edges()
    ends = np.unique([streams.src[part.stream], streams.dst[part.stream]])
    return Job(ends.astype(np.int64), own, found, edges, edges_ns) if len(edges) >= 2 else None


def _joined(
    streams: Streams, candidates: list[Job], options: JobOptions, hosts: Sequence[str | None] | None
) -> list[Job]:
    """Join candidates that share an endpoint's host or nothing visible, but every iteration's edge."""
    label = np.arange(len(candidates))
    on = [_hosts_of(c, hosts) for c in candidates]
    for a in range(len(candidates)):
        for b in range(a + 1, len(candidates)):
            if label[a] == label[b]:
                continue
            near = bool(on[a] & on[b])
            reach = options.lockstep_share if near or hosts is None else options.lockstep_share / 2
            if in_lockstep(candidates[a].edges_ns, candidates[b].edges_ns, reach):
                label[label == label[b]] = label[a]
    found: list[Job] = []
    for numbers in by_label(label):
        parts = [candidates[n] for n in numbers]
        job = parts[0] if len(parts) == 1 else _job(streams, joined([p.members.lattices for p in parts]))
        found += [job] if job is not None else parts
    return found


def _hosts_of(job: Job, hosts: Sequence[str | None] | None) -> set[str]:
    return {h for e in job.endpoints.tolist() if (h := hosts[e]) is not None} if hosts is not None else set()


def _one_job_each(jobs: list[Job]) -> list[Job]:
    """Endpoints train in one job at a time: of candidates that share one, the job that moves most bytes is meant."""
    taken: set[int] = set()
    kept = []
    for job in sorted(jobs, key=lambda j: (-int(j.members.lattices.total_bytes.sum()), int(j.endpoints[0]))):
        if not taken & set(job.endpoints.tolist()):
            kept.append(job)
            taken |= set(job.endpoints.tolist())
    return kept


def _loose(total: Int, options: JobOptions, jobs: Sequence[Job]) -> Int:
    """Streams in no job that carry data."""
    loose = total >= options.smallest_stream_share * total.max(initial=0)
    for job in jobs:
        loose[job.members.lattices.stream] = False
    return np.flatnonzero(loose)


def _with_followers(streams: Streams, job: Job, loose: Int) -> Job:
    """A job with the streams between its endpoints that have no rhythm in bytes, or lost it, but keep its beat."""
    steady = job.boundaries.steady()
    lattices, inside = job.members.lattices, loose
    if not steady.all() and (again := _job(streams, lattices.take(np.flatnonzero(steady)))) is not None:
        inside = np.union1d(loose, lattices.stream[~steady])
        job = replace(again, endpoints=job.endpoints)
    inside = inside[np.isin(streams.src[inside], job.endpoints) & np.isin(streams.dst[inside], job.endpoints)]
    # a stream of nothing but ready-to-receive messages keeps the beat too
    least = CONTROL_SHARE * float(np.median(lattices.quantum_bytes))
    candidates = [n for n in inside.tolist() if int(streams.bytes[streams.rows(n)].max()) >= least]
    return replace(job, followers=followers(streams, candidates, job.edges_ns))


def _reasons(
    streams: Streams, services: frozenset[int], hidden: Bool, rhythmic: Lattices, jobs: tuple[Job, ...]
) -> dict[str, int]:
    """Why endpoints that carried data are in no job: reason -> number of endpoints."""
    size = len(streams.addresses)
    rest, named = np.zeros(size, bool), np.zeros(size, bool)
    in_rhythm, unseen = np.zeros(size, bool), np.zeros(size, bool)
    rest[streams.src] = rest[streams.dst] = True
    for job in jobs:
        rest[job.endpoints] = False
    named[list(services)] = True
    in_rhythm[streams.src[rhythmic.stream]] = in_rhythm[streams.dst[rhythmic.stream]] = True
    unseen[streams.src[hidden]] = unseen[streams.dst[hidden]] = True
    counts = {
        "named as a service by the inventory": rest & named,
        "periodic, but only sends or only receives, or keeps step with nobody": rest & in_rhythm & ~named,
        "records span the pauses between bursts (cut by timeouts, not by message)": rest & unseen & ~in_rhythm & ~named,
        "no periodic traffic": rest & ~in_rhythm & ~named & ~unseen,
    }
    return {reason: int(which.sum()) for reason, which in counts.items() if which.any()}
