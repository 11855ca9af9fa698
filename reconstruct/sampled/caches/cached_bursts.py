"""Records of a flow cache that counts sampled packets -> bursts of each connection: exact times, counted samples.

Such a record says when the first and the last of the drawn packets left, and how many were drawn between. A timeout
may cut it in the middle of a burst: the next one begins with the next drawn packet then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int
from datamodel.telemetry.flows import Flows
from reconstruct.numeric.factorize import factorize, factorize_rows
from reconstruct.numeric.medians import medians_of_own_group
from reconstruct.numeric.ragged_arrays import offsets_of
from reconstruct.numeric.row_runs import run_starts
from reconstruct.sampled.curves.progress_curves import CONTROL_BYTES, has_sequence_number
from reconstruct.streams.observations import CONNECTION, is_of_cache, number_exporters, select_points

# Drawn packets of a burst lie apart at random: so many times their mean distance comes by a chance of e^-10.
WITHIN_BURST = 10.0
# Those that a moment in time parts lie apart by twice the mean distance in the mean, by four times one in ten.
SOON = 4.0


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

    @classmethod
    def joined(cls, parts: Sequence[EvenBursts]) -> EvenBursts:
        """Those of several, one after the other."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in cls.__slots__))


def comes_from_sampled_cache(flows: Flows, complete: Bool) -> Bool:
    """(rows,) records of exporters that keep a cache of the packets that they draw: some count several of them.

    Between endpoints that records of all packets show, these count alone, whenever they were made.

    Args:
        flows: records of all feeds.
        complete: (rows,) those that count all packets.
    """
    frame = flows.frame
    if complete.all():
        return ~complete
    drawn = ~complete & ~has_sequence_number(flows) & (frame["sampling_rate"] > 1)
    if not drawn.any():
        return drawn
    ends = [frame[name].astype(np.int64) for name in ("src_addr", "dst_addr")]
    _, pair = factorize(np.minimum(*ends) << 32 | np.maximum(*ends))
    shown = np.zeros(len(frame), np.bool_)
    shown[pair[complete]] = True
    return np.asarray(drawn & is_of_cache(frame, drawn) & ~shown[pair], np.bool_)


def cached_bursts(flows: Flows) -> CachedBursts:
    """The bursts of all connections, control packets left out.

    Args:
        flows: records of sampled caches (`comes_from_sampled_cache`), their times on one clock.
    """
    frame = flows.frame
    rows = np.flatnonzero((frame["packets"] > 0) & (frame["bytes"] > CONTROL_BYTES * frame["packets"]))
    every = np.ones(len(rows), np.bool_)
    rows = rows[select_points(frame.take(rows), every)] if len(rows) else rows
    _, connection = factorize_rows(*(frame[name][rows].astype(np.int64) for name in CONNECTION))
    start_ns, end_ns = frame["time_flow_start_ns"][rows], frame["time_flow_end_ns"][rows]
    order = np.lexsort([frame["bytes"][rows], end_ns, start_ns, connection])
    rows, connection, start_ns, end_ns = (column[order] for column in (rows, connection, start_ns, end_ns))
    count = frame["packets"][rows].astype(np.float64)
    begins = _begins(connection, number_exporters(frame.take(rows)), start_ns, end_ns, count)
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


def _begins(connection: Int, exporter: Int, start_ns: Int, end_ns: Int, count: Float) -> Bool:
    """(rows,) records, by connection and time, that begin a burst.

    One goes on with the burst of those before where the active timeout cut these: they lasted as long as any of the
    exporter's does, as far as drawn packets show, and the next packet was drawn soon. Where that mostly takes longer
    than from one packet to the next, the connection paused, and no timeout cut anything.
    """
    begins = run_starts(connection)
    if len(begins) < 2:
        return begins
    latest_ns, owner = _latest(connection, end_ns)
    lasted_ns, apart_ns = end_ns - start_ns, (end_ns - start_ns) / np.maximum(count - 1, 1)
    longest_ns = np.zeros(int(exporter.max()) + 1, np.int64)
    np.maximum.at(longest_ns, exporter, lasted_ns)
    before, timeout_ns = owner[:-1], longest_ns[exporter[1:]]
    usual_ns, pause_ns = np.maximum(apart_ns[1:], apart_ns[before]), start_ns[1:] - latest_ns[:-1]
    reach_ns = WITHIN_BURST * usual_ns
    cut = ~begins[1:] & (pause_ns <= np.minimum(reach_ns, timeout_ns)) & (lasted_ns[before] + reach_ns >= timeout_ns)
    pauses = np.where(cut & (pause_ns > 0), pause_ns / np.maximum(usual_ns, 1.0), np.nan)
    cut &= (medians_of_own_group(pauses, connection[1:]) <= SOON) | (pause_ns <= 0)
    begins[1:] |= ~cut
    return begins


def _latest(connection: Int, end_ns: Int) -> tuple[Int, Int]:
    """(latest end of each record and those before it of its connection, the record that has it)."""
    place, first = np.arange(len(end_ns)), np.flatnonzero(run_starts(connection))
    span = int(end_ns.max() - end_ns.min()) + 1
    number = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(end_ns))))
    latest = np.maximum.accumulate(number * span + (end_ns - end_ns.min()))
    owner = np.maximum.accumulate(np.where(latest == number * span + (end_ns - end_ns.min()), place, 0))
    return latest - number * span + end_ns.min(), owner
