"""Streams -> jobs: endpoints that train together, told from storage, management and one another by their rhythm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from datamodel.streams import Bool, Float, Int, Streams
from reconstruct.boundaries import Boundaries, boundaries, crossing
from reconstruct.cycles import CONTROL_SHARE, Cycles, cycles
from reconstruct.followers import Follower, followers
from reconstruct.rhythm import beat
from reconstruct.smeared import smeared

# Edges that keep their distance this closely, in cycles, are of one clock; a sequence shorter than so many iterations
# cannot tell noise from a walk; iterations correlated more than this lengthen and shorten together.
EXACT_SHARE = 0.001
# Edges of two independent jobs of one period coincide this closely, in cycles, by a chance of twice as much.
COINCIDENCE = 0.01
ENOUGH_TO_TELL = 20
SAME_PACE = 0.8
# An increment so many times the median one is no part of a random walk: four standard deviations of a normal one are 6.
OUTLYING = 5.0
# The iteration is a whole multiple of the cycles of this share of a job's streams.
ON_BEAT = 0.9


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
        members: its streams, cut into cycles, by stream number.
        boundaries: when each of them crossed the end of each iteration.
        edges: (iterations,) the boundary number that ends each complete iteration.
        edges_ns: (iterations,) when.
        followers: streams between its endpoints that keep its beat in time, not in bytes.
    """

    endpoints: Int
    members: tuple[Cycles, ...]
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
    hidden = smeared(streams, options.covered_share)
    rhythmic = _rhythmic(streams, services, options, hidden)
    parts = [_without_hubs(streams, part) for part in _connected(streams, rhythmic)]
    parts = [_on_one_beat(streams, again) for part in parts for again in _connected(streams, part)]
    candidates = [job for part in parts if len(part) > 1 and (job := _job(streams, part)) is not None]
    joined = _in_lockstep(streams, candidates, options, hosts)
    jobs = tuple(sorted(_one_job_each(joined), key=lambda j: int(j.endpoints[0])))
    jobs = tuple(_with_followers(streams, job, options) for job in jobs)
    return Recognition(jobs, _reasons(streams, services, hidden, rhythmic, jobs))


def _rhythmic(streams: Streams, services: frozenset[int], options: JobOptions, hidden: Bool) -> list[Cycles]:
    """Streams with a rhythm, each cut at its own fundamental; that of `hidden` ones cannot be seen."""
    total = streams.total_bytes()
    pair: dict[tuple[int, int], int] = {}
    for s, d, b in zip(streams.src.tolist(), streams.dst.tolist(), total.tolist(), strict=True):
        pair[s, d] = pair.get((s, d), 0) + b
    found = []
    least = options.smallest_stream_share * total.max(initial=0)
    for i in np.flatnonzero((total >= least) & ~hidden).tolist():
        ends = int(streams.src[i]), int(streams.dst[i])
        if services.intersection(ends) or total[i] < options.control_share * pair.get((ends[1], ends[0]), 0):
            continue
        heard = beat(streams, i, options.coherence)
        if heard is None:
            continue
        cycle = cycles(streams, i, heard)
        if cycle is not None and cycle.quantum_bytes >= options.smallest_quantum_bytes:
            found.append(cycle)
    return found


def _connected(streams: Streams, rhythmic: list[Cycles]) -> list[list[Cycles]]:
    """Join streams that share an endpoint and whose cycles fit into one another."""
    pace = _Pace.of(streams, rhythmic)
    links: list[tuple[int, int]] = []
    at: dict[int, list[int]] = {}
    for n, cycle in enumerate(rhythmic):
        for endpoint in (int(streams.src[cycle.stream]), int(streams.dst[cycle.stream])):
            at.setdefault(endpoint, []).append(n)
    for numbers in at.values():
        some = np.array(numbers, np.int64)
        for place, a in enumerate(numbers[:-1]):
            links += [(a, int(b)) for b in some[place + 1 :][pace.same(a, some[place + 1 :])]]
    labels = _components(len(rhythmic), links)
    return [[rhythmic[n] for n in numbers] for numbers in _by_label(labels)]


def _by_label(labels: Int) -> list[Int]:
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1) if len(labels) else []


def _components(size: int, links: list[tuple[int, int]]) -> Int:
    if not size:
        return np.zeros(0, np.int64)
    a, b = np.array(links, np.int64).reshape(-1, 2).T
    graph = coo_array((np.ones(len(a)), (a, b)), shape=(size, size))
    return np.asarray(connected_components(graph, directed=False)[1], np.int64)


@dataclass(frozen=True, slots=True)
class _Pace:
    """When streams live, how many cycles they hold, and how long one lasts: (streams,) each."""

    start_ns: Int
    end_ns: Int
    count: Float
    cycle_ns: Float

    @classmethod
    def of(cls, streams: Streams, members: list[Cycles]) -> _Pace:
        start = np.array([streams.start_ns[c.rows[0]] for c in members], np.int64)
        end = np.array([streams.end_ns[c.rows[-1]] for c in members], np.int64)
        count = np.array([c.count for c in members], np.float64)
        return cls(start, end, count, np.array([_cycle_ns(streams, c) for c in members], np.float64))

    def same(self, a: int, others: Int) -> Bool:
        """Whether each of the others lives when `a` does, and the longer cycle is a whole number of shorter ones."""
        together = np.minimum(self.end_ns[a], self.end_ns[others]) - np.maximum(self.start_ns[a], self.start_ns[others])
        life = self.end_ns - self.start_ns
        alive = together > 0.5 * np.maximum(life[a], life[others])
        ratio = np.maximum(self.cycle_ns[a], self.cycle_ns[others]) / np.minimum(
            self.cycle_ns[a], self.cycle_ns[others]
        )
        times = _multiple(ratio, np.minimum(self.count[a], self.count[others]))
        return np.asarray(alive & (times > 0), np.bool_)


def _cycle_ns(streams: Streams, cycle: Cycles) -> float:
    """Time of a cycle, from one longest pause to another: a stream's own ends would fall short of whole cycles."""
    met, _ = crossing(streams, cycle, cycle.main)
    if len(met) < 3:
        return float((streams.end_ns[cycle.rows[-1]] - streams.start_ns[cycle.rows[0]]) / cycle.count)
    return float((met[-1] - met[0]) / (len(met) - 1))


def _multiple(ratio: Float, fewest_cycles: float | Float) -> Int:
    """The whole number that each ratio of cycle lengths stands for; 0 when it is none.

    Few cycles average little out, hence the tolerance of one cycle in all of them.
    """
    whole = np.maximum(np.rint(ratio), 1.0)
    tolerance = np.minimum(0.02 + 1.0 / np.maximum(fewest_cycles, 1.0), 0.4 / whole)
    return np.where(np.abs(ratio / whole - 1) < tolerance, whole, 0).astype(np.int64)


def _on_one_beat(streams: Streams, part: list[Cycles]) -> list[Cycles]:
    """Fold every stream at the iteration: the shortest cycle that nearly all streams' cycles divide."""
    if len(part) < 2:
        return part
    pace = _Pace.of(streams, part)
    fewest = float(pace.count.min())
    beat_ns = _beat_ns(pace.cycle_ns, fewest)
    times = _multiple(beat_ns / pace.cycle_ns, fewest)
    folded = [
        _folded(streams, cycle, float(beat_ns / own), int(n))
        for cycle, own, n in zip(part, pace.cycle_ns, times, strict=True)
    ]
    return [cycle for cycle in folded if cycle is not None]


def _beat_ns(cycle_ns: Float, fewest: float) -> float:
    best, widest = 0.0, -1.0
    for candidate in np.sort(cycle_ns):
        share = float(np.mean(_multiple(candidate / cycle_ns, fewest) > 0))
        if share >= ON_BEAT:
            return float(candidate)
        if share > widest:
            best, widest = float(candidate), share
    return best


def _folded(streams: Streams, cycle: Cycles, ratio: float, times: int) -> Cycles | None:
    """A stream folded at `ratio` times its own cycle: a whole number of cycles, or else of messages."""
    if times == 1:
        return cycle
    messages = round(ratio * cycle.beat.quantum_bytes / cycle.beat.unit_bytes)
    quantum = times * cycle.beat.quantum_bytes if times else messages * cycle.beat.unit_bytes
    return cycles(streams, cycle.stream, replace(cycle.beat, quantum_bytes=quantum)) if quantum else None


def _without_hubs(streams: Streams, part: list[Cycles]) -> list[Cycles]:
    """Drop endpoints that give without taking, or take without giving, for as long as there are any.

    In every collective a rank sends about as much as it receives; a data loader sends, a checkpoint store receives.
    """
    while part:
        sent, received = _balance(streams, part)
        lopsided = {e for e in sent if min(sent[e], received[e]) < 0.1 * max(sent[e], received[e])}
        if not lopsided or len(lopsided) == len(sent):
            return [] if lopsided else part
        part = [c for c in part if not lopsided & {int(streams.src[c.stream]), int(streams.dst[c.stream])}]
    return part


def _balance(streams: Streams, part: list[Cycles]) -> tuple[dict[int, float], dict[int, float]]:
    ends = {int(e) for c in part for e in (streams.src[c.stream], streams.dst[c.stream])}
    sent, received = dict.fromkeys(ends, 0.0), dict.fromkeys(ends, 0.0)
    for c in part:
        sent[int(streams.src[c.stream])] += c.quantum_bytes
        received[int(streams.dst[c.stream])] += c.quantum_bytes
    return sent, received


def _job(streams: Streams, part: list[Cycles]) -> Job | None:
    part = sorted(part, key=lambda c: c.stream)
    found = boundaries(streams, part)
    edges, edges_ns = found.edges()
    ends = np.unique([[streams.src[c.stream], streams.dst[c.stream]] for c in part])
    return Job(ends.astype(np.int64), tuple(part), found, edges, edges_ns) if len(edges) >= 2 else None


def _in_lockstep(
    streams: Streams, candidates: list[Job], options: JobOptions, hosts: Sequence[str | None] | None
) -> list[Job]:
    """Join candidates that share an endpoint's host or nothing visible, but every iteration's edge."""
    label = np.arange(len(candidates))
    for a in range(len(candidates)):
        for b in range(a + 1, len(candidates)):
            if label[a] == label[b]:
                continue
            near = _share_host(candidates[a], candidates[b], hosts)
            reach = options.lockstep_share if near or hosts is None else options.lockstep_share / 2
            if _lockstep(candidates[a].edges_ns, candidates[b].edges_ns, reach):
                label[label == label[b]] = label[a]
    joined: list[Job] = []
    for numbers in _by_label(label):
        parts = [candidates[n] for n in numbers]
        job = parts[0] if len(parts) == 1 else _job(streams, [m for p in parts for m in p.members])
        joined += [job] if job is not None else parts
    return joined


def _one_job_each(jobs: list[Job]) -> list[Job]:
    """Endpoints train in one job at a time: of candidates that share one, the job that moves most bytes is meant."""
    taken: set[int] = set()
    kept = []
    for job in sorted(jobs, key=lambda j: (-sum(float(m.cumulative[-1]) for m in j.members), int(j.endpoints[0]))):
        if not taken & set(job.endpoints.tolist()):
            kept.append(job)
            taken |= set(job.endpoints.tolist())
    return kept


def _with_followers(streams: Streams, job: Job, options: JobOptions) -> Job:
    """A job with the streams between its endpoints that have no rhythm in bytes, or lost it, but keep its beat."""
    steady = [m for m, keeps in zip(job.members, job.boundaries.steady(), strict=True) if keeps]
    if len(steady) < len(job.members) and (again := _job(streams, steady)) is not None:
        job = replace(again, endpoints=job.endpoints)
    total = streams.total_bytes()
    inside = np.isin(streams.src, job.endpoints) & np.isin(streams.dst, job.endpoints)
    inside &= total >= options.smallest_stream_share * total.max(initial=0)
    # a stream of nothing but ready-to-receive messages keeps the beat too
    largest = np.maximum.reduceat(streams.bytes, streams.offsets[:-1])
    inside &= largest >= CONTROL_SHARE * float(np.median([m.quantum_bytes for m in job.members]))
    inside[[m.stream for m in job.members]] = False
    return replace(job, followers=followers(streams, np.flatnonzero(inside).tolist(), job.edges_ns))


def _share_host(a: Job, b: Job, hosts: Sequence[str | None] | None) -> bool:
    if hosts is None:
        return False
    return bool({hosts[e] for e in a.endpoints} & {hosts[e] for e in b.endpoints} - {None})


def _lockstep(a: Int, b: Int, reach: float) -> bool:
    """Whether two sequences of edges are tied to one another.

    Two independent jobs of one period drift apart like a random walk; ranks of one job wait for one another. Tied
    sequences keep their distance but for one step (a fault moves the stages of a job against one another once), or
    their distance reverts to its mean, or their iterations lengthen and shorten together.
    """
    if abs(len(a) - len(b)) > 1:
        return False
    for shift in (0, -1, 1):
        left, right = a[max(shift, 0) :], b[max(-shift, 0) :]
        n = min(len(left), len(right))
        if n >= 3 and _tied(left[:n].astype(np.float64), right[:n].astype(np.float64), reach):
            return True
    return False


def _tied(a: Float, b: Float, reach: float) -> bool:
    """Whether the distance of two sequences is noise about a constant, but for one step, or follows from one pace."""
    cycle = float(np.median(np.diff(a)))
    distance = (a - b - (a[0] - b[0])) / cycle
    if np.percentile(distance, 90) - np.percentile(distance, 10) > 3 * reach:
        return False
    if np.percentile(np.abs(a - b), 90) < COINCIDENCE * cycle or np.ptp(distance) < EXACT_SHARE:
        return True
    if len(a) < ENOUGH_TO_TELL:
        return bool(np.ptp(distance - _step(distance)) < reach)
    return bool(_reverts(distance - _step(distance)) or np.corrcoef(np.diff(a), np.diff(b))[0, 1] > SAME_PACE)


def _reverts(distance: Float) -> bool:
    """Whether a sequence returns to its mean at every step instead of wandering: von Neumann's ratio.

    The mean squared step over the variance is 2 for noise about a constant; for a random walk of n steps, the best
    step through it taken out, it is about 24 / n.
    """
    variance = float(np.var(distance))
    return variance == 0 or float(np.mean(np.diff(distance) ** 2)) / variance > max(1.0, 30.0 / len(distance))


def _step(distance: Float) -> Float:
    """The best two-level step through a sequence; flat where no single increment makes it.

    A walk drifts from level to level: a step is an increment that makes half the difference and stands out of the rest.
    """
    n = np.arange(1, len(distance))
    head, square = np.cumsum(distance)[:-1], np.cumsum(distance**2)[:-1]
    tail, square_tail = distance.sum() - head, (distance**2).sum() - square
    cut = 1 + int(np.argmin(square - head**2 / n + square_tail - tail**2 / (len(distance) - n)))
    before, after = float(distance[:cut].mean()), float(distance[cut:].mean())
    increments = np.abs(np.diff(distance))
    if increments[cut - 1] < max(0.5 * abs(after - before), OUTLYING * float(np.median(increments))):
        return np.full(len(distance), distance.mean())
    return np.concatenate([np.full(cut, before), np.full(len(distance) - cut, after)])


def _reasons(
    streams: Streams, services: frozenset[int], hidden: Bool, rhythmic: list[Cycles], jobs: tuple[Job, ...]
) -> dict[str, int]:
    """Why endpoints that carried data are in no job: reason -> number of endpoints."""
    everyone = {int(e) for e in streams.src} | {int(e) for e in streams.dst}
    members = {int(e) for j in jobs for e in j.endpoints}
    in_rhythm = {int(e) for c in rhythmic for e in (streams.src[c.stream], streams.dst[c.stream])}
    rest = everyone - members
    unseen = {int(e) for e in (*streams.src[hidden], *streams.dst[hidden])} - in_rhythm - services
    counts = {
        "named as a service by the inventory": len(rest & services),
        "periodic, but only sends or only receives, or keeps step with nobody": len(rest & in_rhythm - services),
        "records span the pauses between bursts (cut by timeouts, not by message)": len(rest & unseen),
        "no periodic traffic": len(rest - in_rhythm - services - unseen),
    }
    return {reason: n for reason, n in counts.items() if n}
