"""Streams with what was lost in outages put back: as it was sent in the cycle before, in the time that has passed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from datamodel.durations import SECOND_NS
from datamodel.reconstructed.streams import ROW_COLUMNS, Int, Streams
from reconstruct.jit import compiled, to_contiguous
from reconstruct.numeric.ragged_arrays import with_room
from reconstruct.outages.lost_cycles import BEYOND_SEEN, LostCycles, find_lost_cycles
from reconstruct.outages.silences import find_silences

# Of the streams, so many lost what fits into the time of an outage; of others the cycle was estimated wrongly.
ALL_FIT = 0.9


def fill_outages(streams: Streams, coherence: float) -> Streams:
    """Put back what is missing where collectors or exporters were away for a while.

    Byte positions go on behind an outage as if nothing had been lost, so that an iteration has the same bytes
    everywhere. When these were sent is guessed; `outages_ns` says in which time.

    Args:
        streams: data rows by connection.
        coherence: least autocorrelation of what counts as a rhythm.
    """
    lost, taken = [], np.zeros(0, np.int64)
    for silence in find_silences(streams):
        some = find_lost_cycles(streams, silence, coherence)
        behind = streams.offsets[some.stream] + some.row
        fresh = np.flatnonzero(~np.isin(behind, taken))
        some = LostCycles(*(column[fresh] for column in some))
        if len(fresh) and _fit_together(streams, some):
            lost.append((silence, some))
            taken = np.concatenate([taken, behind])
    # what lies behind is put back first, so that rows before it keep their numbers
    for _, some in sorted(lost, key=lambda one: one[0].start_ns, reverse=True):
        streams = _filled(streams, some)
    return streams


def outage_warnings(streams: Streams) -> tuple[str, ...]:
    """What a person should know of each outage."""
    return tuple(
        f"an exporter or the collector was away from {_utc(start_ns)} to {_utc(end_ns)} UTC: what streams usually send "
        "stands for what was not seen, and iterations of that time are compared with no others"
        for start_ns, end_ns in streams.outages_ns.tolist()
    )


def _utc(time_ns: int) -> str:
    return f"{datetime.fromtimestamp(time_ns // SECOND_NS, UTC):%H:%M:%S}"


def _fit_together(streams: Streams, lost: LostCycles) -> bool:
    """Whether what nearly all streams lost fits into the time in which they are all silent: one was away for all.

    A stream that is silent for longer sent nothing at first, or at last. What was lost took, from the beginning of its
    first message to that of its last, what it takes in the cycle before.
    """
    row = streams.offsets[lost.stream] + lost.row
    away_ns = int(streams.start_ns[row + 1].min() - streams.end_ns[row].max())
    *_, lasts_ns = _copied(streams, lost)
    return bool(np.mean(lasts_ns <= (1 + BEYOND_SEEN) * away_ns) >= ALL_FIT)


def _copied(streams: Streams, lost: LostCycles) -> tuple[Int, Int, Int, Int, Int, Int]:
    """See `_copies`."""
    columns = to_contiguous(streams.start_ns), to_contiguous(streams.end_ns), to_contiguous(streams.bytes)
    row = streams.offsets[lost.stream] + lost.row
    return _copies(lost.stream, row, lost.bytes, lost.cycle_bytes, streams.offsets, *columns)


def _filled(streams: Streams, lost: LostCycles) -> Streams:
    row = streams.offsets[lost.stream] + lost.row
    like, counts, start_ns, end_ns, size, _ = _copied(streams, lost)
    behind = np.repeat(row + 1, counts)
    fresh = {name: getattr(streams, name)[like] for name in ROW_COLUMNS}
    fresh |= {"start_ns": start_ns, "end_ns": end_ns, "bytes": size}
    for name in ("delivered_ns", "retransmitted", "ecn_ce"):
        fresh[name] = np.zeros(len(like), np.int64)
    added = np.zeros(len(streams), np.int64)
    added[lost.stream] = counts
    rows: dict[str, Any] = {n: np.insert(getattr(streams, n), behind, fresh[n]) for n in ROW_COLUMNS}
    span_ns = [[start_ns.min(), end_ns.max()]]
    return replace(
        streams,
        offsets=streams.offsets + np.concatenate([[0], np.cumsum(added)]),
        filled_rows=streams.filled_rows + np.searchsorted(behind, streams.filled_rows, side="right"),
        outages_ns=np.concatenate([np.array(span_ns, np.int64), streams.outages_ns]),
        **rows,
    )


@compiled
def _copies(
    stream: Int, row: Int, lost_bytes: Int, cycle_bytes: Int, offsets: Int, start_ns: Int, end_ns: Int, size: Int
) -> tuple[Int, Int, Int, Int, Int, Int]:
    """Rows of the cycle before each silence, over and over until all that was lost is there, spread over the silence.

    Returns:
        Which row each is like, (streams,) how many of each stream, beginning, end and bytes of each; (streams,) how
        long it takes, in the cycle before, from the beginning of the first to that of the last.
    """
    like, counts, lasts = np.empty(64, np.int64), np.zeros(len(stream), np.int64), np.zeros(len(stream), np.int64)
    begin, end, volume = like.copy(), like.copy(), like.copy()
    n = 0
    for k in range(len(stream)):
        first, left = row[k] + 1, cycle_bytes[k]
        while first > offsets[stream[k]] and 2 * left > size[first - 1]:
            first -= 1
            left -= size[first]
        begun_ns = end_ns[first - 1] if first > offsets[stream[k]] else start_ns[first]
        done_ns = np.max(end_ns[first : row[k] + 1])
        cycle_ns, missing, at, turn, low = done_ns - begun_ns, lost_bytes[k], first, 0, n
        while missing > 0:
            like, begin = with_room(like, n + 1), with_room(begin, n + 1)
            end, volume = with_room(end, n + 1), with_room(volume, n + 1)
            like[n], volume[n] = at, min(size[at], missing)
            begin[n] = start_ns[at] - begun_ns + turn * cycle_ns
            end[n] = end_ns[at] - begun_ns + turn * cycle_ns
            missing -= size[at]
            n, at = n + 1, at + 1
            if at > row[k]:
                at, turn = first, turn + 1
        # the row behind the silence begins where the one that follows in the cycle would
        whole_ns = max(start_ns[at] - begun_ns + turn * cycle_ns, 1)
        scale = max(start_ns[row[k] + 1] - done_ns, 0) / whole_ns
        lasts[k] = np.max(begin[low:n]) - np.min(begin[low:n])
        for m in range(low, n):
            begin[m] = done_ns + np.int64(begin[m] * scale)
            end[m] = done_ns + np.int64(end[m] * scale)
        counts[k] = n - low
    return like[:n].copy(), counts, begin[:n].copy(), end[:n].copy(), volume[:n].copy(), lasts
