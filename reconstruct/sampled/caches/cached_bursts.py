"""Records of a flow cache that counts sampled packets -> bursts of each connection: exact times, counted samples.

Such a record says when the first and the last of the drawn packets left, and how many were drawn between. A timeout
may cut it in the middle of a burst: the next one begins with the next drawn packet then.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int
from datamodel.telemetry.flows import Flows
from reconstruct.numeric.factorize import factorize, factorize_rows
from reconstruct.numeric.ragged_arrays import offsets_of
from reconstruct.numeric.row_runs import run_starts
from reconstruct.sampled.curves.progress_curves import CONTROL_BYTES, has_sequence_number
from reconstruct.streams.observations import CONNECTION, POINT

# Drawn packets of a burst lie apart at random: so many times their mean distance comes by a chance of e^-10.
WITHIN_BURST = 10.0


@dataclass(frozen=True, slots=True)
class CachedBursts:
    """Bursts by connection and time, as the point that drew most packets of each connection saw them.

    Attributes:
        flows: the records, by connection and time.
        row_offsets: (b + 1,) records of each burst.
        offsets: (n + 1,) bursts of each connection.
        start_ns, end_ns: (b,) first and last drawn packet.
        samples: (b,) drawn packets.
        packet_bytes: (n,) mean packet of each connection.
    """

    flows: Flows
    row_offsets: Int
    offsets: Int
    start_ns: Int
    end_ns: Int
    samples: Float
    packet_bytes: Float

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def first_rows(self) -> Int:
        """(n,) the first record of each connection."""
        return np.asarray(self.row_offsets[self.offsets[:-1]], np.int64)

    def connection_of(self, bursts: Int) -> Int:
        """The connection of each of some bursts."""
        return np.searchsorted(self.offsets, bursts, side="right") - 1


@dataclass(frozen=True, slots=True)
class EvenBursts:
    """Bursts with the volumes that come back, some of which no packet was drawn of: (m,) each.

    Attributes:
        like: a burst of the same connection; the one that was seen where one was.
        start_ns, end_ns: first and last packet.
        samples: that would be drawn without chance.
        seen: whether any packet was drawn.
    """

    like: Int
    start_ns: Int
    end_ns: Int
    samples: Float
    seen: Bool

    def take(self, some: Bool | Int) -> EvenBursts:
        """Some of them."""
        return EvenBursts(*(getattr(self, name)[some] for name in self.__slots__))


def comes_from_sampled_cache(flows: Flows, complete: Bool) -> Bool:
    """(rows,) records of exporters that keep a cache of the packets that they draw: some count several of them.

    Between endpoints that records of all packets show, these count alone, whenever they were made.

    Args:
        flows: records of all feeds.
        complete: (rows,) those that count all packets.
    """
    frame = flows.frame
    drawn = ~complete & ~has_sequence_number(flows) & (frame["sampling_rate"] > 1)
    if not drawn.any():
        return drawn
    _, exporter = factorize(frame["sampler_address"].astype(np.int64) << 32 | frame["observation_domain_id"])
    caches = np.zeros(len(frame), np.bool_)
    caches[exporter[drawn & frame["metered"].astype(np.bool_)]] = True
    ends = [frame[name].astype(np.int64) for name in ("src_addr", "dst_addr")]
    _, pair = factorize(np.minimum(*ends) << 32 | np.maximum(*ends))
    shown = np.zeros(len(frame), np.bool_)
    shown[pair[complete]] = True
    return np.asarray(drawn & caches[exporter] & ~shown[pair], np.bool_)


def cached_bursts(flows: Flows) -> CachedBursts:
    """The bursts of all connections, control packets left out.

    Args:
        flows: records of sampled caches (`comes_from_sampled_cache`), their times on one clock.
    """
    frame = flows.frame
    rows = np.flatnonzero(frame["bytes"] > CONTROL_BYTES * frame["packets"])
    rows = rows[_best_sight(flows.take(rows))]
    _, connection = factorize_rows(*(frame[name][rows].astype(np.int64) for name in CONNECTION))
    start_ns, end_ns = frame["time_flow_start_ns"][rows], frame["time_flow_end_ns"][rows]
    order = np.lexsort([frame["bytes"][rows], end_ns, start_ns, connection])
    rows, connection, start_ns, end_ns = (column[order] for column in (rows, connection, start_ns, end_ns))
    count = frame["packets"][rows].astype(np.float64)
    begins = _begins(connection, start_ns, end_ns, count)
    first = np.flatnonzero(begins)
    size = np.bincount(connection, frame["bytes"][rows]) / np.maximum(np.bincount(connection, count), 1)
    return CachedBursts(
        flows=flows.take(rows),
        row_offsets=np.append(first, len(rows)),
        offsets=offsets_of(np.bincount(connection[first]).astype(np.int64)),
        start_ns=start_ns[first],
        end_ns=np.maximum.reduceat(end_ns, first) if len(first) else end_ns,
        samples=np.add.reduceat(count, first) if len(first) else count,
        packet_bytes=np.asarray(size, np.float64),
    )


def _best_sight(flows: Flows) -> Bool:
    """(rows,) records of the point that drew most packets of their connection."""
    frame = flows.frame
    if not len(frame):
        return np.zeros(0, np.bool_)
    connections, connection = factorize_rows(*(frame[name].astype(np.int64) for name in CONNECTION))
    points, point = factorize_rows(*(frame[name].astype(np.int64) for name in POINT))
    sight = connection * len(points) + point
    drawn = np.bincount(sight, frame["packets"], len(connections) * len(points))
    best = drawn.reshape(len(connections), len(points)).argmax(axis=1)
    return np.asarray(best[connection] == point, np.bool_)


def _begins(connection: Int, start_ns: Int, end_ns: Int, count: Float) -> Bool:
    """(rows,) records that begin a burst.

    One goes on with the burst of the record before where the active timeout cut that: it lasted as long as any does, as
    far as drawn packets show, and the next one was drawn soon.
    """
    lasted_ns = end_ns - start_ns
    timeout_ns = lasted_ns.max(initial=0)
    apart_ns = lasted_ns / np.maximum(count - 1, 1)
    reach_ns = WITHIN_BURST * np.maximum(apart_ns[1:], apart_ns[:-1])
    pause_ns = start_ns[1:] - end_ns[:-1]
    goes_on = (pause_ns <= np.minimum(reach_ns, timeout_ns)) & (lasted_ns[:-1] + reach_ns >= timeout_ns)
    begins = run_starts(connection)
    begins[1:] |= ~goes_on
    return begins
