"""Bursts of sampled caches -> records as a cache of all packets would have made them, where what is known allows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from datamodel.frame import concat
from datamodel.reconstructed.streams import Bool, Int, Streams
from datamodel.telemetry.flows import Flows
from reconstruct.jobs.job_recognition import Job, Recognition
from reconstruct.numeric.factorize import factorize_rows
from reconstruct.sampled.caches.cached_bursts import CachedBursts, EvenBursts, cached_bursts
from reconstruct.sampled.caches.equal_counts import even_counts
from reconstruct.sampled.caches.equal_parts import even_bursts
from reconstruct.sampled.caches.folded_bursts import fold
from reconstruct.sampled.jobs.volume_jobs import jobs_by_volume
from reconstruct.streams.stream_builder import build_streams

# Names of streams without a queue pair: their ports, less this.
_PORTS = 1 << 32


@dataclass(frozen=True, slots=True)
class DrawnPackets:
    """How well the packets that a cache drew show a job.

    Attributes:
        rate: 1 packet in so many was drawn.
        connections: of the job.
        faint: of these, those whose volumes do not come back as far as their samples show.
        bursts: of the job.
        unseen: of these, those of which no packet was drawn.
    """

    rate: int
    connections: int
    faint: int
    bursts: int
    unseen: int


@dataclass(frozen=True, slots=True)
class CacheRecords:
    """Records of sampled caches.

    Attributes:
        bursts: as they were counted.
        even: as they would be counted without chance.
        flows: a record of all packets for each of these.
        faint: (n,) connections whose volumes do not come back as far as their samples show.
    """

    bursts: CachedBursts
    even: EvenBursts
    flows: Flows
    faint: Bool

    @property
    def unseen(self) -> int:
        """How many of the records stand for bursts of which no packet was drawn."""
        return int(np.count_nonzero(~self.even.seen))

    def hidden(self, streams: Streams) -> Bool:
        """(streams,) which of some streams are faint."""
        frame = self.bursts.flows.frame.take(self.bursts.first_rows[self.faint])
        ports = frame["src_port"].astype(np.int64) << 16 | frame["dst_port"].astype(np.int64)
        name = np.where(frame["dst_qp"] >= 0, frame["dst_qp"].astype(np.int64), ports - _PORTS)
        ends = (frame[which].astype(np.int64) for which in ("src_addr", "dst_addr"))
        both = zip((streams.src, streams.dst, streams.name), (*ends, name), strict=True)
        _, key = factorize_rows(*(np.concatenate(columns) for columns in both))
        return np.isin(key[: len(streams)], key[len(streams) :])

    def inside(self, endpoints: Int) -> Bool:
        """(n,) connections of which both ends are some endpoints."""
        src, dst = (self.bursts.flows.frame[name][self.bursts.first_rows] for name in ("src_addr", "dst_addr"))
        return np.isin(src, endpoints) & np.isin(dst, endpoints)

    def of(self, endpoints: Int) -> DrawnPackets | None:
        """How well a job is shown; None if not by a sampled cache."""
        own = self.inside(endpoints)
        if not own.any():
            return None
        even = own[self.bursts.connection_of(self.even.like)]
        return DrawnPackets(
            rate=int(np.median(self.bursts.flows.frame["sampling_rate"][self.bursts.first_rows[own]])),
            connections=int(own.sum()),
            faint=int(self.faint[own].sum()),
            bursts=int(even.sum()),
            unseen=int(np.count_nonzero(even & ~self.even.seen)),
        )


def cache_records(flows: Flows) -> CacheRecords | None:
    """Records of sampled caches with the volumes that come back; None where they count control packets alone.

    Args:
        flows: such records that carry the volume, their times on one clock.
    """
    found = cached_bursts(flows)
    if not len(found):
        return None
    even, faint = even_bursts(found)
    return CacheRecords(found, even, _records(found, even), faint)


def with_cached(
    counted: Flows, cached: CacheRecords, find: Callable[[Streams, Bool], Recognition]
) -> tuple[Flows, CacheRecords]:
    """Records of all packets together with those of sampled caches, bursts of faint connections where they usually are.

    Jobs are found by connections that are not faint; in their iterations those that are faint are placed.

    Args:
        counted: records of all packets.
        cached: those of sampled caches.
        find: finds the jobs of streams, given which of these are hidden.
    """
    together = _together(counted, cached)
    if cached.faint.any():
        streams = build_streams(together)
        cached = _placed(cached, find(streams, cached.hidden(streams)).jobs)
        together = _together(counted, cached)
    return together, cached


def _together(counted: Flows, cached: CacheRecords) -> Flows:
    return Flows(concat(counted.frame.schema, [counted.frame, cached.flows.frame]), counted.addresses)


def _placed(cached: CacheRecords, jobs: Sequence[Job]) -> CacheRecords:
    """The same with the bursts of faint connections inside of jobs where they lie in the jobs' iterations.

    Of the connections of one job, totals that chance alone may have made different are taken to be one volume.
    """
    found, faint, parts = cached.bursts, cached.faint.copy(), []
    for job in jobs:
        inside = cached.inside(job.endpoints)
        if not inside[faint].any():
            continue
        own = np.repeat(inside, np.diff(found.offsets))
        life_ns = int(found.start_ns[own].min()), int(found.end_ns[own].max())
        folded = {n: fold(found, n, job.edges_ns, life_ns) for n in np.flatnonzero(inside & faint).tolist()}
        known = {n: bursts for n, bursts in folded.items() if bursts is not None}
        total = np.array([found.samples[found.offsets[n] : found.offsets[n + 1]].sum() for n in known])
        scale = even_counts(total, total) / total
        parts += [replace(one, samples=one.samples * by) for one, by in zip(known.values(), scale, strict=True)]
        faint[list(known)] = False
    placed = cached.faint & ~faint
    parts.append(cached.even.take(~placed[found.connection_of(cached.even.like)]))
    even = EvenBursts.joined(parts)
    return CacheRecords(found, even, _records(found, even), faint)


def without_fragments(
    found: Recognition, cached: CacheRecords, services: frozenset[int], hosts: Sequence[str | None] | None
) -> Recognition:
    """The jobs without those that are part of what equal volumes show to be one, where together they are not all of it.

    Args:
        found: the jobs by their rhythm.
        cached: records of sampled caches, by which equal volumes are known.
        services: address codes of storage and management.
        hosts: host of each address code, where an inventory names it.
    """
    drop: set[int] = set()
    for whole in jobs_by_volume(cached.bursts.flows, services, hosts):
        parts = [n for n, job in enumerate(found.jobs) if np.isin(job.endpoints, whole.endpoints).all()]
        covered = [found.jobs[n].endpoints for n in parts]
        if parts and len(np.unique(np.concatenate(covered))) < len(whole.endpoints):
            drop |= set(parts)
    return replace(found, jobs=tuple(job for n, job in enumerate(found.jobs) if n not in drop)) if drop else found


def _records(found: CachedBursts, even: EvenBursts) -> Flows:
    """A record of all packets for each burst."""
    frame = found.flows.frame.take(found.row_offsets[even.like])
    packets = np.maximum(np.rint(even.samples * frame["sampling_rate"]), 1)
    columns: dict[str, Int] = {
        "time_flow_start_ns": even.start_ns,
        "time_flow_end_ns": even.end_ns,
        "packets": packets.astype(np.int64),
        "bytes": np.rint(packets * found.packet_bytes[found.connection_of(even.like)]).astype(np.int64),
        "sampling_rate": np.ones_like(frame["sampling_rate"]),
    }
    return Flows(frame.replace(**columns), found.flows.addresses)
