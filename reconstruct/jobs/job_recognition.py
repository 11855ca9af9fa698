"""Streams -> jobs: endpoints that train together, told from storage, management and one another by their rhythm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int, Streams
from reconstruct.jit import to_contiguous
from reconstruct.jobs.common_window import FEWEST_CYCLES
from reconstruct.jobs.fragment_alignment import find_same_pace_pairs, tie
from reconstruct.jobs.fragment_contact import find_contacts, share_all_hosts
from reconstruct.jobs.iteration_boundaries import Boundaries, concat_boundaries, find_boundaries, stops_where_begun
from reconstruct.jobs.job_fragments import ON_BEAT, align_to_iteration, connected, without_hubs
from reconstruct.jobs.loose_streams import JobExtent, find_unexplained_pairs, part_time_streams
from reconstruct.jobs.microbatch_count import find_answered, may_be_microbatches
from reconstruct.jobs.model_steps import serves_model
from reconstruct.jobs.outward_data import covered_ns, differ_by_outward_data, find_outward_times
from reconstruct.jobs.time_aligned_streams import TimeAlignedStream, align_for_life, align_in_bytes, align_in_time
from reconstruct.jobs.timed_endpoints import find_timed_endpoints
from reconstruct.membership.connection_lives import watched_for_life
from reconstruct.membership.successors import with_successors
from reconstruct.numeric.ragged_arrays import by_label, expanded, offsets_of
from reconstruct.parallel import parallel_map
from reconstruct.periods.answered_messages import are_answered
from reconstruct.periods.byte_period import OFTEN, StreamPeriods, find_periods
from reconstruct.periods.cycles import CycleTable, cut_cycles, joined, members
from reconstruct.periods.cycles_in_turn import MOST_CYCLES, count_cycles_in_turn
from reconstruct.periods.folding import RECURRENCE
from reconstruct.periods.rare_bursts import count_cycles_between_bursts
from reconstruct.periods.shared_period import adopt_shared_period
from reconstruct.streams.data_streams import find_data_streams

# A restarted job keeps this share of its endpoints, one of two hosts at least, and the bytes of an iteration.
SAME_ENDPOINTS = 0.5
SAME_WORK = 0.1
# Weights go to engines at least every so many-th iteration: later answers would be those of long outdated weights.
MOST_IN_TURN = 4


@dataclass(frozen=True, slots=True)
class JobOptions:
    """What it takes to be a job.

    Attributes:
        coherence: least mean autocorrelation of a stream's pauses at multiples of its quantum.
        smallest_stream_share: streams below this share of the bytes of the largest one at their ends are no collective.
            Next to gradients of experts, messages of a pipeline may be less than one byte in 20,000.
        smallest_quantum_bytes: a stream that repeats less than this is a heartbeat or a scrape.
        control_share: a stream below this share of the reverse stream's bytes is its clear-to-send traffic.
        lockstep_share: two sets of streams whose boundaries keep this distance, in cycles, are one job.
    """

    coherence: float = 0.5
    smallest_stream_share: float = 0.000005
    smallest_quantum_bytes: int = 16_384
    control_share: float = 0.02
    lockstep_share: float = 0.12


@dataclass(frozen=True, slots=True)
class Job:
    """Streams that turn over in lockstep.

    Attributes:
        endpoints: (e,) address codes, ascending.
        members: its streams on the lattices of their cycles, by stream number; their rows are those of the streams.
        boundaries: when each of them crossed the end of each iteration.
        edges: (iterations,) the boundary number that ends each complete iteration.
        edges_ns: (iterations,) when.
        followers: streams between its endpoints that keep its beat in time, not in bytes.
        restarts: when it fell silent, and when it began again on connections of their own.
        unexplained: (pairs, 2) ordered pairs of address codes: streams of data from its endpoints to those of any job
            that keep no beat at all, but go on.
    """

    endpoints: Int
    members: CycleTable
    boundaries: Boundaries
    edges: Int
    edges_ns: Int
    followers: tuple[TimeAlignedStream, ...] = ()
    restarts: tuple[tuple[int, int], ...] = ()
    unexplained: Int = field(default_factory=lambda: np.zeros((0, 2), np.int64))

    @property
    def stream_numbers(self) -> Int:
        """Of its members, then of its followers."""
        return np.array([*self.members.stream.tolist(), *(f.stream for f in self.followers)], np.int64)

    @property
    def start_ns(self) -> int:
        """Its first byte."""
        return int(self.members.start_ns.min())

    @property
    def end_ns(self) -> int:
        """Its last byte."""
        return int(self.members.end_ns.max())

    @property
    def stops_where_begun(self) -> bool:
        """Whether all that it sends stops at the place of the iteration at which it began, after as many of them."""
        if len(self.unexplained) or not stops_where_begun(self.members):
            return False
        cycles = int(np.rint(self.members.count[0]))
        return all(len(f.iteration) == cycles * f.bursts_per_iteration for f in self.followers)


@dataclass(frozen=True, slots=True)
class Recognition:
    """The jobs of a window, and why other traffic is in none.

    Attributes:
        jobs: by first endpoint.
        unassigned: reason -> address codes of endpoints.
        stepping: address codes of endpoints that turn over together, but in steps of a served model.
    """

    jobs: tuple[Job, ...]
    unassigned: dict[str, Int]
    stepping: Int = field(default_factory=lambda: np.zeros(0, np.int64))


def find_jobs(
    streams: Streams,
    services: frozenset[int],
    options: JobOptions,
    hosts: Sequence[str | None] | None = None,
    ranks: frozenset[int] = frozenset(),
    hidden: Bool | None = None,
) -> Recognition:
    """Find the training jobs.

    1. A stream belongs to training when it repeats a quantum of bytes; connections that come and go do not.
    2. Streams that share an endpoint and turn over at one pace, or a whole multiple of it (micro-batches), are joined;
       endpoints that only send or only receive in rhythm are data loaders or checkpoint stores and leave.
    3. The shortest cycle that is a whole multiple for nearly all of them is the iteration.
    4. Sets whose boundaries keep in lockstep are one job: rails joined inside the hosts alone.
    5. Where only what a job gives away (weights, checkpoints) parts a cycle from halves that are alike, these are its
       iterations; so are thirds and quarters. Cycles of which every n-th is longer are an iteration together.
    6. One that does the same work on the same endpoints after another has stopped is that job, restarted.
    7. What turns over in steps of a served model is no job.

    Args:
        streams: data rows by connection.
        services: address codes of storage and management; their streams are left out.
        options: thresholds.
        hosts: host of each address code, where an inventory names it. Ranks that never meet on the fabric meet inside
            a host: sets whose hosts are all known are joined only where they do.
        ranks: address codes that are no loaders or stores, whatever they are seen to send and receive.
        hidden: (n,) streams whose records span the pauses between their bursts (`hides_pauses`); None: none does.
    """
    large, usable = find_data_streams(streams, services, options.smallest_stream_share, options.control_share)
    hidden = np.zeros(len(streams), np.bool_) if hidden is None else hidden
    replaced = watched_for_life(streams, usable)
    streams = replaced.streams
    traffic = _Traffic(streams, large, usable, find_answered(streams), hosts, ranks, options)
    rhythmic = _rhythmic(traffic, streams, np.flatnonzero(usable & ~hidden))
    rhythmic = with_successors(replaced, usable & ~hidden, rhythmic)
    runs = _runs(traffic, streams, rhythmic)
    runs = _grown(traffic, runs, _loose(usable, runs))
    counted, further = _by_count(traffic, usable & ~hidden & ~streams.trains, runs)
    later = _runs(traffic, counted, further)
    later = _grown(traffic, later, _loose(usable, [*runs, *later]), runs)
    loose = _loose(usable, [*runs, *later])
    runs = [_with_followers(streams, streams, job, loose) for job in runs]
    runs += [_with_followers(streams, counted, job, loose) for job in later]
    runs = _with_part_time(streams, runs, _loose(usable, runs))
    runs = _with_unexplained(traffic, runs, _loose(usable, runs))
    found = sorted(_continued(runs), key=lambda j: int(j.endpoints[0]))
    serves = [
        serves_model(streams, job.members.stream, np.array([f.stream for f in job.followers], np.int64), job.edges_ns)
        for job in found
    ]
    jobs = tuple(job for job, is_served in zip(found, serves, strict=True) if not is_served)
    others = [job.endpoints for job, is_served in zip(found, serves, strict=True) if is_served]
    stepping = np.unique(np.concatenate([np.zeros(0, np.int64), *others]))
    reasons = _reasons(streams, services, hidden, joined([rhythmic, further]), jobs, stepping)
    return Recognition(jobs, reasons, stepping)


@dataclass(frozen=True, slots=True)
class _Traffic:
    """What jobs are looked for in.

    Attributes:
        streams: data rows by connection.
        large, usable: (n,) streams that carry more than remarks; of these, those that may belong to a job.
        answered: (n,) streams whose ends send about as many bytes back.
        hosts: of each address code.
        ranks: address codes of endpoints that train, if they take part in anything.
        options: thresholds.
    """

    streams: Streams
    large: Bool
    usable: Bool
    answered: Bool
    hosts: Sequence[str | None] | None
    ranks: frozenset[int]
    options: JobOptions


def _runs(traffic: _Traffic, axes: Streams, rhythmic: CycleTable) -> list[Job]:
    """Jobs that streams with a rhythm make, no two of them on one endpoint at once.

    Args:
        traffic: all streams.
        axes: the streams with what their rhythm was found on in place of their bytes.
        rhythmic: some of them, each cut at its own fundamental.
    """
    streams, usable = traffic.streams, traffic.usable
    parts = [rest for part in connected(axes, rhythmic) for rest in without_hubs(streams, part, usable, traffic.ranks)]
    found = parallel_map(partial(_job, axes), align_to_iteration(axes, parts, np.flatnonzero(usable)))
    candidates = [job for job in found if job is not None]
    del found
    joint = _joined(traffic, axes, _merge_at_bursts(traffic, axes, rhythmic, candidates))
    single = _in_single_iterations(traffic, axes, joint)
    if any(job is not before for job, before in zip(single, joint, strict=True)):
        single = _joined(traffic, axes, single)  # parts of one job may have counted its micro-batches differently
    single = _cut_alike(traffic, axes, single)
    # one stream that keeps step with others shows two ranks; of a ring whose others are not seen one may be left
    fewest = 1 if traffic.ranks else 2
    return _one_job_each([job for job in single if len(job.members) >= fewest])


def _in_single_iterations(traffic: _Traffic, axes: Streams, jobs: list[Job]) -> list[Job]:
    """Jobs cut at each iteration where cycles take turns for what is computed, or for what is given away, in some.

    Micro-batches that are alike but for what comes before the first one are heard as iterations. Pauses of a job that
    waits after every second, third or fourth iteration for what is given away alternate as those between scattering
    and gathering do: several iterations are heard as one.
    """
    taken = np.zeros(len(axes.addresses), np.bool_)
    for job in jobs:
        taken[job.endpoints] = True
    found = []
    for job in jobs:
        outward_ns = find_outward_times(traffic.streams, traffic.large, job.endpoints, taken)
        given_ns = covered_ns(outward_ns, job.edges_ns)
        seldom = np.mean(given_ns > 0) < RECURRENCE
        found.append(_merge_turns(axes, job, given_ns) if seldom else _cut_in_turn(axes, job, outward_ns))
    return found


def _merge_turns(axes: Streams, job: Job, given_ns: Int) -> Job:
    """A job with as many of its cycles as take turns for one iteration each.

    Args:
        axes: the streams with what their rhythm was found on in place of their bytes.
        job: a job.
        given_ns: (edges - 1,) for how long each of its cycles gives data away.
    """
    known = np.diff(job.edges) == 1
    times = count_cycles_in_turn(job.edges[1:][known], (np.diff(job.edges_ns) - given_ns)[known].astype(np.float64))
    if times == 1:
        return job
    again = _cut_again(axes, job, job.members.quantum_bytes * times)
    return job if again is None else again


def _merge_at_bursts(traffic: _Traffic, axes: Streams, rhythmic: CycleTable, jobs: list[Job]) -> list[Job]:
    """Merge as many micro-batches into an iteration as lie between bursts of streams that have no period."""
    streams = traffic.streams
    inside = np.zeros(len(streams.addresses), np.bool_)
    inside[np.concatenate([np.zeros(0, np.int64), *(job.endpoints for job in jobs)])] = True
    loose = np.setdiff1d(np.flatnonzero(traffic.usable & inside[streams.src] & inside[streams.dst]), rhythmic.stream)
    ends = np.concatenate([streams.src[loose], streams.dst[loose]])
    order = np.argsort(ends, kind="stable")
    ends, owner = ends[order], np.tile(loose, 2)[order]
    found = []
    for job in jobs:
        first, last = (np.searchsorted(ends, job.endpoints, side) for side in ("left", "right"))
        near = np.unique(owner[expanded(first, last - first)[1]])
        may_be = len(near) > 0 and may_be_microbatches(traffic.answered, job.members)
        times = count_cycles_between_bursts(streams, near, job.endpoints, job.edges_ns) if may_be else 1
        again = _cut_again(axes, job, job.members.quantum_bytes * times) if times > 1 else None
        found.append(job if again is None else again)
    return found


def _cut_alike(traffic: _Traffic, axes: Streams, jobs: list[Job]) -> list[Job]:
    """Jobs whose parts that were cut several times an iteration are cut as the part that they meet is.

    Gathering weights and scattering gradients moves as many bytes, so that a third of an iteration may seem one; behind
    a slow link it does not. Only what keeps in lockstep with the other part, once cut like it, is joined to it.
    """
    iterations = [len(job.edges) for job in jobs]
    if 2 * max(iterations, default=0) < 3 * min(iterations, default=1):
        return jobs  # none holds two of another's; contacts need not be found again
    names = [name or f"address {code}" for code, name in enumerate(traffic.hosts or [None] * len(axes.addresses))]
    near: dict[int, list[int]] = {}
    for a, b in sorted(find_contacts(traffic.streams, [job.endpoints for job in jobs], names, traffic.large) or ()):
        near.setdefault(a, []).append(b)
        near.setdefault(b, []).append(a)
    found = dict(enumerate(jobs))
    # those with most iterations first: what is a part of another one has its own parts by then
    for whole in sorted(near, key=lambda n: (-len(jobs[n].edges), n)):
        parts = [n for n in near[whole] if n in found and _times_as_often(found[n], found[whole]) > 1]
        if parts:
            found[whole] = _joined_at_iterations(traffic, axes, found[whole], [found[n] for n in parts])
        for n in parts:
            if np.isin(found[n].members.stream, found[whole].members.stream).any():
                del found[n]
    return list(found.values())


def _joined_at_iterations(traffic: _Traffic, axes: Streams, whole: Job, parts: list[Job]) -> Job:
    """A job with those of its parts that keep in lockstep with it once they are cut into as many iterations."""
    again = [_cut_again(axes, part, part.members.quantum_bytes * _times_as_often(part, whole)) for part in parts]
    joint = _joined(traffic, axes, [whole, *(part for part in again if part is not None)])
    return next(job for job in joint if np.isin(whole.endpoints, job.endpoints).all())


def _times_as_often(job: Job, other: Job) -> int:
    """How many iterations of a job one of the other holds, of all that they have; 0 where that is no whole number."""
    times = round(len(job.edges) / len(other.edges))
    return times if times <= MOST_CYCLES and abs(len(job.edges) - times * len(other.edges)) < times else 0


def _cut_in_turn(axes: Streams, job: Job, outward_ns: Int) -> Job:
    """A job cut into the most iterations a cycle that differ in nothing but the time in which data is given away."""
    for times in range(MOST_IN_TURN, 1, -1):
        again = _cut_again(axes, job, job.members.quantum_bytes / times)
        if again is not None and differ_by_outward_data(again.edges, again.edges_ns, outward_ns, times):
            return again
    return job


def _cut_again(axes: Streams, job: Job, quantum_bytes: Float) -> Job | None:
    """A job with each member cut by another quantum; None where that does not recur in most of them."""
    own = job.members
    part = cut_cycles(axes, own.stream, StreamPeriods(quantum_bytes, own.unit_bytes, np.ones(len(own))))
    return _job(axes, part) if len(part) >= ON_BEAT * len(own) else None


def _rhythmic(traffic: _Traffic, streams: Streams, some: Int, counted: bool = False) -> CycleTable:
    """Of some streams those with a rhythm, each cut at its own fundamental; rows are `counted`, see `find_periods`."""
    heard = find_periods(streams, some, traffic.options.coherence, counted)
    rhythm = np.flatnonzero(heard.coherence > 0)
    heard = StreamPeriods(*(column[rhythm] for column in heard))
    found = adopt_shared_period(streams, cut_cycles(streams, some[rhythm], heard), some[rhythm], heard, traffic.hosts)
    large = found.quantum_bytes >= traffic.options.smallest_quantum_bytes
    return found if counted else found.take(np.flatnonzero(large))


def _by_count(traffic: _Traffic, usable: Bool, runs: list[Job]) -> tuple[Streams, CycleTable]:
    """Streams with each row counted as one, and those between endpoints of no job that have a rhythm so.

    Sequences of varying length leave no bytes that come back where gradients stay inside the hosts, but as many
    messages an iteration.
    """
    streams = traffic.streams
    taken = np.zeros(len(streams.addresses), np.bool_)
    for job in runs:
        taken[job.endpoints] = True
    some = np.flatnonzero(usable & ~taken[streams.src] & ~taken[streams.dst])
    if not len(some):
        return streams, _rhythmic(traffic, streams, some)
    counted = replace(streams, bytes=np.ones_like(streams.bytes))
    single = some[are_answered(streams, some)]
    once = np.ones(len(single))
    alone = cut_cycles(counted, single, StreamPeriods(once, once, once))
    found = joined([alone, _rhythmic(traffic, counted, np.setdiff1d(some, single, assume_unique=True), counted=True)])
    cycle_bytes = streams.total_bytes()[found.stream] / found.count
    return counted, found.take(np.flatnonzero(cycle_bytes >= traffic.options.smallest_quantum_bytes))


def _job(streams: Streams, part: CycleTable) -> Job | None:
    found = find_boundaries(streams, members(streams, part))
    edges, edges_ns = found.edges()
    ends = np.unique([streams.src[part.stream], streams.dst[part.stream]])
    return Job(ends.astype(np.int64), part, found, edges, edges_ns) if len(edges) >= 2 else None


def _joined(traffic: _Traffic, streams: Streams, candidates: list[Job]) -> list[Job]:
    """Join candidates whose iterations end in lockstep, of those that meet; of all of them where that is not known.

    The list of candidates is empty afterwards.
    """
    meet = find_contacts(traffic.streams, [c.endpoints for c in candidates], traffic.hosts, traffic.large)
    label = np.arange(len(candidates))
    watches = [_watch_ns(streams, c) for c in candidates]
    edges = [_watched_edges(c, watch) for c, watch in zip(candidates, watches, strict=True)]
    pairs = np.array(sorted(meet) if meet is not None else [*find_same_pace_pairs(edges)], np.int64).reshape(-1, 2)
    offsets = offsets_of(np.array([len(e) for e in edges], np.int64))
    watch_ns = np.array(watches, np.int64).reshape(-1, 2)
    every = np.concatenate([np.zeros(0, np.int64), *edges])
    same_hosts = share_all_hosts(pairs, [c.endpoints for c in candidates], traffic.hosts)
    outages_ns = to_contiguous(traffic.streams.outages_ns)
    tie(
        pairs, offsets, every, watch_ns, outages_ns, traffic.options.lockstep_share, meet is not None, same_hosts, label
    )
    waiting = dict(enumerate(candidates))
    candidates.clear()  # boundaries of parts and of what they make up need not be held all at once

    def one_job(numbers: Int) -> list[Job]:
        parts = [waiting.pop(n) for n in numbers.tolist()]
        job = parts[0] if len(parts) == 1 else _job(streams, joined([p.members for p in parts]))
        return [job] if job is not None else parts

    return [job for jobs in parallel_map(one_job, by_label(label)) for job in jobs]


def _watch_ns(streams: Streams, job: Job) -> tuple[int, int]:
    """The time in which all streams of a job could be seen."""
    stream = job.members.stream
    return int(streams.watch_start_ns[stream].max()), int(streams.watch_end_ns[stream].min())


def _watched_edges(job: Job, watch_ns: tuple[int, int]) -> Int:
    """Ends of iterations in the time in which all streams of a job could be seen; all of them where that is too short.

    The others are those of some streams only, and with them of another moment of the iteration.
    """
    watched = job.edges_ns[(job.edges_ns >= watch_ns[0]) & (job.edges_ns <= watch_ns[1])]
    return watched if len(watched) >= FEWEST_CYCLES else job.edges_ns


def _one_job_each(jobs: list[Job]) -> list[Job]:
    """Endpoints train in one job at a time: of candidates that share one, the job that moves most bytes is meant.

    Of two on the same endpoints one may know parts of an iteration only: the one whose cycles hold as many of the
    other's each knows more.
    """
    kept: list[Job] = []
    for job in sorted(jobs, key=lambda j: (-int(j.members.total_bytes.sum()), int(j.endpoints[0]))):
        at_once = [k for k in kept if k.start_ns < job.end_ns and job.start_ns < k.end_ns]
        rivals = [k for k in at_once if np.isin(job.endpoints, k.endpoints, assume_unique=True).any()]
        if not rivals:
            kept.append(job)
        elif len(rivals) == 1 and np.array_equal(job.endpoints, rivals[0].endpoints) and _holds(job, rivals[0]):
            kept = [job if k is rivals[0] else k for k in kept]
    return kept


def _holds(job: Job, other: Job) -> bool:
    """Whether iterations of one job hold several of another each, most of them as many."""
    number = np.searchsorted(job.edges_ns, other.edges_ns)
    often = np.bincount(np.bincount(number, minlength=len(job.edges) + 1)[1 : len(job.edges)])
    return len(often) > 2 and int(often.argmax()) > 1 and often.max() >= RECURRENCE * often.sum()


def _loose(large: Bool, jobs: Sequence[Job]) -> Int:
    """Streams in no job that carry data."""
    loose = large.copy()
    for job in jobs:
        loose[job.stream_numbers] = False
    return np.flatnonzero(loose)


def _grown(traffic: _Traffic, jobs: list[Job], loose: Int, others: Sequence[Job] = ()) -> list[Job]:
    """Jobs with the endpoints, of none of the others, that keep their beat in time alone."""
    host = _host_numbers(traffic.hosts)
    grown = list(jobs)
    for n, job in enumerate(jobs):
        taken = np.zeros(len(traffic.streams.addresses), np.bool_)
        for other in (*grown, *others):
            if other.start_ns < job.end_ns and job.start_ns < other.end_ns:
                taken[other.endpoints] = True
        ends = find_timed_endpoints(traffic.streams, job.endpoints, job.edges_ns, loose, taken, host)
        grown[n] = replace(job, endpoints=ends)
    return grown


def _host_numbers(hosts: Sequence[str | None] | None) -> Int | None:
    """(addresses,) number of each endpoint's host, -1 for one that is not known."""
    if hosts is None:
        return None
    number = {host: n for n, host in enumerate(dict.fromkeys(h for h in hosts if h is not None))}
    return np.array([-1 if host is None else number[host] for host in hosts], np.int64)


def _with_followers(streams: Streams, axes: Streams, job: Job, loose: Int) -> Job:
    """A job with the streams between its endpoints that have no rhythm, or lost it, but keep its beat or its bytes."""
    steady = job.boundaries.steady()
    lattices, inside = job.members, loose
    if not steady.all() and (again := _job(axes, lattices.take(np.flatnonzero(steady)))) is not None:
        inside = np.union1d(loose, lattices.stream[~steady])
        job = replace(again, endpoints=job.endpoints)
    inside = inside[np.isin(streams.src[inside], job.endpoints) & np.isin(streams.dst[inside], job.endpoints)]
    whole = align_in_time(streams, inside.tolist(), job.edges_ns)
    rest = np.setdiff1d(inside, np.array([f.stream for f in whole], np.int64))
    # what is known by counts alone has no bytes to compare
    quanta = lattices.stream, lattices.quantum_bytes
    busy = align_in_bytes(streams, rest.tolist(), job.edges_ns, *quanta) if axes is streams else ()
    rest = np.setdiff1d(rest, np.array([f.stream for f in busy], np.int64))
    # One message in each of three iterations is chance for one stream in five (3! / 3^3), in each of eight for one in
    # four hundred.
    return replace(job, followers=(*whole, *busy, *align_for_life(streams, rest, job.edges_ns, OFTEN)))


def _with_part_time(streams: Streams, jobs: list[Job], loose: Int) -> list[Job]:
    """Jobs with the endpoints, of no job, that trained with them for a part of their life."""
    taken = np.zeros(len(streams.addresses), np.bool_)
    for job in jobs:
        taken[job.endpoints] = True
    grown = []
    for job in jobs:
        inside = np.zeros(len(taken), np.bool_)
        inside[job.endpoints] = True
        usable = inside | ~taken
        near = np.zeros(len(taken), np.bool_)
        touching = loose[inside[streams.src[loose]] | inside[streams.dst[loose]]]
        near[streams.src[touching]] = near[streams.dst[touching]] = True
        own = loose[(near & usable)[streams.src[loose]] & (near & usable)[streams.dst[loose]]]
        own = own[~(inside[streams.src[own]] & inside[streams.dst[own]])]
        joined, followers = part_time_streams(streams, own, inside, job.edges_ns)
        taken[joined] = True
        grown.append(
            replace(job, endpoints=np.union1d(job.endpoints, joined), followers=(*job.followers, *followers))
            if len(joined)
            else job
        )
    return grown


def _with_unexplained(traffic: _Traffic, jobs: list[Job], loose: Int) -> list[Job]:
    """Jobs that know between which endpoints streams keep no beat, but go on."""
    volume, extents = traffic.streams.total_bytes(), []
    for job in jobs:
        most = int(volume[job.members.stream].max()), may_be_microbatches(traffic.answered, job.members)
        extents.append(JobExtent(job.endpoints, job.edges_ns, job.start_ns, job.end_ns, *most))
    found = find_unexplained_pairs(traffic.streams, loose, extents)
    return [replace(job, unexplained=pairs) for job, pairs in zip(jobs, found, strict=True)]


def _continued(runs: list[Job]) -> list[Job]:
    """Join what ran one after the other on the same endpoints with the same work: a job before and after a restart."""
    found: list[Job] = []
    for run in sorted(runs, key=lambda j: (j.start_ns, int(j.endpoints[0]))):
        before = next((n for n, job in enumerate(found) if _restarted(job, run)), None)
        if before is None:
            found.append(run)
        else:
            found[before] = _one_after_another(found[before], run)
    return found


def _restarted(job: Job, run: Job) -> bool:
    """Whether most endpoints are the same, and all together send as much an iteration as before."""
    if job.end_ns > run.start_ns:
        return False
    same = len(np.intersect1d(job.endpoints, run.endpoints, assume_unique=True))
    if same < SAME_ENDPOINTS * max(len(job.endpoints), len(run.endpoints)):
        return False
    now, then = float(run.members.quantum_bytes.sum()), float(job.members.quantum_bytes.sum())
    return abs(now - then) <= SAME_WORK * then


def _one_after_another(job: Job, run: Job) -> Job:
    """Both as one job: iterations of the second are counted on."""
    stream = np.concatenate([job.members.stream, run.members.stream])
    later = tuple(
        replace(f, iteration=np.where(f.iteration >= 0, f.iteration + len(job.edges), -1)) for f in run.followers
    )
    return Job(
        endpoints=np.union1d(job.endpoints, run.endpoints),
        members=joined([job.members, run.members]),
        boundaries=concat_boundaries(job.boundaries, run.boundaries, np.argsort(stream, kind="stable")),
        edges=np.concatenate([job.edges, run.edges + job.boundaries.end_ns.shape[1]]),
        edges_ns=np.concatenate([job.edges_ns, run.edges_ns]),
        followers=job.followers + later,
        restarts=(*job.restarts, (job.end_ns, run.start_ns), *run.restarts),
    )


def _reasons(
    streams: Streams,
    services: frozenset[int],
    hidden: Bool,
    rhythmic: CycleTable,
    jobs: tuple[Job, ...],
    stepping: Int,
) -> dict[str, Int]:
    """Why endpoints that carried data are in no job: reason -> their codes."""
    size = len(streams.addresses)
    rest, named = np.zeros(size, bool), np.zeros(size, bool)
    in_rhythm, unseen = np.zeros(size, bool), np.zeros(size, bool)
    rest[streams.src] = rest[streams.dst] = True
    for job in jobs:
        rest[job.endpoints] = False
    named[list(services)] = True
    fast = np.zeros(size, bool)
    fast[stepping] = rest[stepping]
    rest &= ~fast
    in_rhythm[streams.src[rhythmic.stream]] = in_rhythm[streams.dst[rhythmic.stream]] = True
    unseen[streams.src[hidden]] = unseen[streams.dst[hidden]] = True
    why = {
        "named as a service by the inventory": rest & named,
        "in step, but as a served model is: too fast, or in messages of ever other sizes": fast,
        "periodic, but only sends or only receives, or keeps step with nobody": rest & in_rhythm & ~named,
        "records span the pauses between bursts (cut by timeouts, not by message)": rest & unseen & ~in_rhythm & ~named,
        "no periodic traffic": rest & ~in_rhythm & ~named & ~unseen,
    }
    return {reason: np.flatnonzero(which) for reason, which in why.items() if which.any()}
