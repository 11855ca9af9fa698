"""Transfers -> what each stream does in an iteration: how much it sends, when, and in how many parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from capture.jit import jit
from datamodel.frame import Frame
from datamodel.reconstructed.streams import Bool, Float, Int
from reconstruct.numeric.row_runs import run_starts
from strategy.traffic.grouped_statistics import medians

# An iteration is looked at in so many equal parts.
PARTS = 96
# So many iterations show how much the bytes of one differ from the next.
COMPARED = 32


@dataclass(frozen=True, slots=True)
class StreamProfiles:
    """Streams of a job in its undisturbed iterations, and their transfers there.

    Rows of one stream lie together, in order of time; `bounds` parts them.

    Attributes:
        number, src, dst: (streams,) stream number and address codes.
        iteration_bytes: (streams,) median bytes of an iteration.
        transfers: (streams,) median number of transfers of an iteration.
        sizes: (streams, iterations) bytes of each of the last ones over the median; nan where nothing was sent.
        first_ns, last_ns: (streams,) median time from the iteration's beginning to the first and last byte.
        spread: (streams, PARTS) share of its bytes sent in each part of an iteration.
        bounds: (streams + 1,) row bounds.
        iteration, slot, start_ns, end_ns, at_once, messages: (rows,) their transfers.
        period_ns: median length of those.
    """

    number: Int
    src: Int
    dst: Int
    iteration_bytes: Float
    transfers: Int
    sizes: Float
    first_ns: Float
    last_ns: Float
    spread: Float
    bounds: Int
    iteration: Int
    slot: Int
    start_ns: Int
    end_ns: Int
    at_once: Int
    messages: Int
    period_ns: float


def build_profiles(transfers: Frame, edges_ns: Int) -> StreamProfiles:
    """What each stream does, by stream number.

    Only iterations no longer than the median one count: what makes the others long (a fault, a checkpoint, an
    evaluation) changes when and how much is sent, not the layout. The first iteration's beginning is not known.

    Args:
        transfers: the job's transfers.
        edges_ns: (iterations,) end of each iteration.
    """
    usable = undisturbed(edges_ns)
    inside = transfers["iteration"].astype(np.int64)
    rows = np.flatnonzero((inside >= 0) & usable[np.maximum(inside, 0)]) if len(edges_ns) else np.zeros(0, np.int64)
    stream, start = transfers["stream"][rows].astype(np.int64), transfers["start_ns"][rows]
    if (np.diff(stream) < 0).any() or ((np.diff(stream) == 0) & (np.diff(start) < 0)).any():
        order = np.lexsort([start, stream])
        rows, stream, start = rows[order], stream[order], start[order]
    iteration, end = inside[rows], transfers["end_ns"][rows]
    begin = edges_ns[iteration - 1] if len(rows) else np.zeros(0, np.int64)
    low = np.flatnonzero(run_starts(stream))
    number = stream[low]
    bounds = np.append(low, len(rows)).astype(np.int64)
    cell = np.flatnonzero(run_starts(stream, iteration))
    owner = np.searchsorted(number, stream[cell])
    length = np.diff(edges_ns, prepend=0)
    spread = np.zeros((len(low), PARTS))
    _add_spread(bounds, start - begin, end - begin, length[iteration], transfers["bytes"][rows], spread)

    def usual(values: Int) -> Float:
        return medians(values.astype(np.float64), owner, len(low))

    count = np.diff(np.append(cell, len(rows)))
    last = np.maximum.reduceat(end - begin, cell) if len(cell) else np.zeros(0, np.int64)
    size = np.add.reduceat(transfers["bytes"][rows], cell) if len(cell) else np.zeros(0, np.int64)
    usual_size = usual(size)
    return StreamProfiles(
        number=number,
        src=transfers["src"][rows][low].astype(np.int64),
        dst=transfers["dst"][rows][low].astype(np.int64),
        iteration_bytes=usual_size,
        transfers=usual(count).astype(np.int64),
        sizes=_sizes(size / np.maximum(usual_size[owner], 1), owner, iteration[cell], np.flatnonzero(usable), len(low)),
        first_ns=usual((start - begin)[cell]),
        last_ns=usual(last),
        spread=spread / np.maximum(spread.sum(axis=1, keepdims=True), 1e-9),
        bounds=bounds,
        iteration=iteration,
        slot=transfers["slot"][rows].astype(np.int64),
        start_ns=start,
        end_ns=end,
        at_once=transfers["at_once"][rows].astype(np.int64),
        messages=transfers["messages"][rows].astype(np.int64),
        period_ns=float(np.median(length[usable])) if usable.any() else 0.0,
    )


def undisturbed(edges_ns: Int) -> Bool:
    """(iterations,) whether an iteration's beginning is known and it takes no longer than the median one."""
    length = np.diff(edges_ns)
    return np.concatenate([[False], length <= np.median(length)]) if len(length) else np.zeros(len(edges_ns), bool)


def _sizes(size: Float, owner: Int, iteration: Int, usable: Int, streams: int) -> Float:
    """(streams, iterations) sizes of the last ones, given as a list of (stream, iteration)."""
    compared = usable[-COMPARED:]
    found = np.full((streams, len(compared)), np.nan)
    place = np.searchsorted(compared, iteration)
    known = iteration >= compared[0] if len(compared) else np.zeros(len(iteration), bool)
    found[owner[known], place[known]] = size[known]
    return found


@jit
def _add_spread(bounds: Int, start: Int, end: Int, length: Int, size: Int, spread: Float) -> None:
    """Add the bytes of each transfer, given from its iteration's beginning on, to the parts it lasts through."""
    parts = spread.shape[1]
    for s in range(len(bounds) - 1):
        for r in range(bounds[s], bounds[s + 1]):
            part = max(length[r], 1) / parts
            low = min(max(int(start[r] / part), 0), parts - 1)
            high = min(max(int(end[r] / part), 0), parts - 1)
            lasted = max(float(end[r] - start[r]), 1.0)
            for p in range(low, high + 1):
                share = 1.0
                if high > low:
                    share = (min(float(end[r]), (p + 1) * part) - max(float(start[r]), p * part)) / lasted
                spread[s, p] += max(share, 0.0) * size[r]
