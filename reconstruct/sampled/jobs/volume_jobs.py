"""Records that timeouts cut -> jobs, by the law of collectives alone: links of one collective carry equal bytes.

An exporter that cuts flows by timeouts, or samples them into records without sequence numbers, hides iterations. What
it cannot hide is how much went over each connection: a ring moves the same bytes over all its links (Patarasuk and
Yuan, 2009), a pipeline the same activations from stage to stage. So the connections of a job fall into few classes of
equal volume, which requests, storage and management do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import chdtrc

from capture.configured_rates import UNKNOWN_RATE
from datamodel.frame import Frame
from datamodel.reconstructed.streams import Bool, Float, Int
from datamodel.telemetry.flows import Flows
from reconstruct.numeric.row_runs import run_starts
from reconstruct.sampled.curves.progress_curves import CONTROL_BYTES, has_sequence_number
from reconstruct.streams.hidden_rates import shared_divisor

# Fewer records are no lasting connection, unless they cover so much of the time that all of them span: a cache with
# long timeouts cuts few.
FEWEST_RECORDS, LASTING = 8, 0.5
# CountedConnections that move less than this share of the largest one's bytes carry no collective.
SMALLEST_SHARE = 0.0005
# An endpoint whose lesser direction has less than this share of the greater one only gives or only takes.
ONE_SIDED = 0.1
# Exact volumes of one class differ by what the window cuts off at its ends.
CUT_OFF = 0.02
# Where chance makes more of a volume than this share, equal ones cannot be told from others.
MOST_CHANCE = 0.1
# Equal volumes scatter as much as those of a class, or more, at least this often.
LIKELY = 0.01
# Classes of so many connections in the mean that hold this share of the bytes make a job; and each of so many.
MEAN_ALIKE, FEWEST_ALIKE, EXPLAINED = 4, 3, 0.9
# Classes of two parts are the same within so many standard deviations.
WITHIN = 3.0

_CONNECTION = ("src_addr", "dst_addr", "src_port", "dst_port", "dst_qp", "proto")
_POINT = ("sampler_address", "observation_domain_id", "in_if", "flow_direction")


@dataclass(frozen=True, slots=True)
class VolumeJob:
    """Endpoints that train together as their volumes tell, and nothing of when.

    Attributes:
        endpoints: (e,) address codes, ascending.
        class_bytes: mean volume of each class of its connections, ascending.
        chance_ratio: standard deviation of one connection's volume.
        connections: what they carry.
    """

    endpoints: Int
    class_bytes: tuple[float, ...]
    chance_ratio: float
    connections: CountedConnections


@dataclass(frozen=True, slots=True)
class CountedConnections:
    """Lasting connections as the point that saw most of each counted them: (n,) each.

    Attributes:
        src, dst: address codes.
        volume: bytes, scaled by the sampling rate.
        packets: really counted.
        rate: 1 in so many of all; 0 is unknown.
    """

    src: Int
    dst: Int
    volume: Float
    packets: Float
    rate: Int

    def take(self, index: Int | Bool) -> CountedConnections:
        """Some of them."""
        packets, rate = self.packets[index], self.rate[index]
        return CountedConnections(self.src[index], self.dst[index], self.volume[index], packets, rate)

    def errors(self) -> Float:
        """(n,) standard error of each volume: that of the number of samples, 0 of all packets; nan where unknown."""
        known = np.where(self.rate > 1, self.volume / np.sqrt(self.packets), 0.0)
        return np.where(self.rate == UNKNOWN_RATE, np.nan, known)


NO_CONNECTIONS = CountedConnections(
    np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0), np.zeros(0, np.int64)
)


def jobs_by_volume(
    flows: Flows, services: frozenset[int], hosts: Sequence[str | None] | None = None
) -> tuple[VolumeJob, ...]:
    """Find sets of endpoints whose connections carry equal volumes; by first endpoint.

    Components count whose bytes lie, but for a tenth, in few classes of connections of equal volume. Those that share
    hosts and have the same classes are rails of one job; without an inventory they stay apart.

    Args:
        flows: flow records; rows of mirrors and sampled packets with sequence numbers are left out.
        services: address codes of storage and management.
        hosts: host of each address code, where an inventory names it.
    """
    whole = _connections(flows.frame.take(_sliced(flows)))
    if not len(whole.src):
        return ()
    outside = np.isin(whole.src, list(services)) | np.isin(whole.dst, list(services))
    whole = whole.take((whole.volume >= SMALLEST_SHARE * whole.volume.max()) & ~outside)
    found = [job for part in _components(whole, len(flows.addresses)) if (job := _job(part)) is not None]
    return tuple(sorted(_joined(found, hosts), key=lambda j: int(j.endpoints[0])))


def _sliced(flows: Flows) -> Bool:
    frame = flows.frame
    data = frame["bytes"] > CONTROL_BYTES * np.maximum(frame["packets"], 1)
    return np.asarray(data & (frame["payload_bytes"] < 0) & ~has_sequence_number(flows), np.bool_)


def _connections(frame: Frame) -> CountedConnections:
    key = [frame[name].astype(np.int64) for name in (*_CONNECTION, *_POINT)]
    order = np.lexsort(key[::-1])
    frame, key = frame.take(order), [k[order] for k in key]
    first = _firsts(key)
    if not len(first):
        return NO_CONNECTIONS
    records = np.diff(np.concatenate([first, [len(frame)]]))
    scale = np.maximum(frame["sampling_rate"], 1)
    volume = np.add.reduceat(frame["bytes"] * scale, first)
    packets = np.add.reduceat(frame["packets"], first) / max(shared_divisor(frame["packets"], frame["bytes"]), 1)
    rate = np.minimum.reduceat(frame["sampling_rate"], first).astype(np.int64)
    connection = [k[first] for k in key[: len(_CONNECTION)]]
    best = np.lexsort([-volume, *connection[::-1]])
    best = best[_firsts([c[best] for c in connection])]
    best = best[(records >= FEWEST_RECORDS)[best] | (_covered(frame, first) >= LASTING)[best]]
    src, dst = (connection[k][best] for k in (0, 1))
    return CountedConnections(src, dst, volume[best].astype(np.float64), packets[best].astype(np.float64), rate[best])


def _covered(frame: Frame, first: Int) -> Float:
    """Share of the time that all records span in which each connection has one; those that overlap count once."""
    start, end = frame["time_flow_start_ns"], frame["time_flow_end_ns"]
    whole = max(int(end.max() - start.min()), 1)
    lasted = np.minimum(
        np.add.reduceat(end - start, first), np.maximum.reduceat(end, first) - np.minimum.reduceat(start, first)
    )
    return np.asarray(lasted / whole, np.float64)


def _firsts(key: list[Int]) -> Int:
    """Places where sorted keys change, the first one included."""
    return np.flatnonzero(run_starts(*key))


def _components(whole: CountedConnections, size: int) -> list[CountedConnections]:
    """CountedConnections by component of shared endpoints, those of endpoints that only give or only take left out."""
    while len(whole.src):
        sent, taken = np.bincount(whole.src, whole.volume, size), np.bincount(whole.dst, whole.volume, size)
        lopsided = np.minimum(sent, taken) < ONE_SIDED * np.maximum(sent, taken)
        keep = ~(lopsided[whole.src] | lopsided[whole.dst])
        if keep.all():
            break
        whole = whole.take(keep)
    graph = coo_array((np.ones(len(whole.src)), (whole.src, whole.dst)), shape=(size, size))
    label = connected_components(graph, directed=False)[1][whole.src]
    return [whole.take(label == value) for value in np.unique(label)]


def _job(part: CountedConnections) -> VolumeJob | None:
    """A component as a job; None where its volumes are not equal in classes."""
    part = part.take(np.argsort(part.volume, kind="stable"))
    chance = np.sqrt(CUT_OFF**2 + 1 / part.packets)
    if float(np.median(chance)) > MOST_CHANCE:
        return None
    found = [c for c in _classes(part.volume, chance) if len(c) >= FEWEST_ALIKE]
    explained = sum(float(c.sum()) for c in found)
    if explained < EXPLAINED * float(part.volume.sum()) or len(part.volume) < MEAN_ALIKE * len(found):
        return None
    ends = np.unique(np.concatenate([part.src, part.dst]))
    return VolumeJob(ends, tuple(float(c.mean()) for c in found), float(np.median(chance)), part)


def _classes(volume: Float, chance: Float) -> list[Float]:
    """Ascending volumes split at their widest gaps until those of each class are equal as far as chance allows."""
    mean = float(volume.mean())
    scatter = float((((volume / mean - 1) / chance) ** 2).sum())
    if len(volume) == 1 or chdtrc(len(volume) - 1, scatter) >= LIKELY:
        return [volume]
    gap = np.diff(np.log(volume)) / np.hypot(chance[1:], chance[:-1])
    at = int(np.argmax(gap)) + 1
    return _classes(volume[:at], chance[:at]) + _classes(volume[at:], chance[at:])


def _joined(found: list[VolumeJob], hosts: Sequence[str | None] | None) -> list[VolumeJob]:
    """Rails of one job: parts that share hosts and have equal classes."""
    joined: list[VolumeJob] = []
    for job in found:
        for n, other in enumerate(joined):
            if hosts is not None and _share_host(job, other, hosts) and _equal(job, other):
                ends = np.union1d(job.endpoints, other.endpoints)
                joined[n] = replace(other, endpoints=ends, connections=_both(other.connections, job.connections))
                break
        else:
            joined.append(job)
    return joined


def _both(one: CountedConnections, other: CountedConnections) -> CountedConnections:
    names = CountedConnections.__slots__
    return CountedConnections(*(np.concatenate([getattr(one, name), getattr(other, name)]) for name in names))


def _share_host(a: VolumeJob, b: VolumeJob, hosts: Sequence[str | None]) -> bool:
    places = [{hosts[int(e)] for e in job.endpoints} - {None} for job in (a, b)]
    return bool(places[0] & places[1])


def _equal(a: VolumeJob, b: VolumeJob) -> bool:
    """Whether two parts have equally many classes of like volume."""
    if len(a.class_bytes) != len(b.class_bytes):
        return False
    ratio = np.array(a.class_bytes) / np.array(b.class_bytes)
    return bool((np.abs(np.log(ratio)) <= WITHIN * np.hypot(a.chance_ratio, b.chance_ratio)).all())
