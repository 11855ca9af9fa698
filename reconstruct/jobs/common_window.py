"""Cycles of streams in a time in which all of them could be seen: an exporter may be heard later, or fall silent."""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Float, Int, Streams
from reconstruct.jit import compiled, to_contiguous
from reconstruct.periods.cycles import CycleTable

# A pace is taken from so many cycles at least.
FEWEST_CYCLES = 5.0
# Two streams are set against one another by fewer, where these are all that was seen of one of them.
FEWEST_SHARED = 2.0


def compute_common_cycle_time(streams: Streams, part: CycleTable) -> tuple[Float, float]:
    """(n,) time of a cycle of each stream in ns, and the least number of cycles that one of these is the mean of.

    A job does not keep one pace. Streams that were seen at different times have different mean cycles though they turn
    over together; those of the time in which all were seen are compared then. Where that holds too few cycles, each
    stream's own mean is set against the pace that the longest seen one had meanwhile. Where all were seen all the time,
    each stream's own mean is all there is.

    Args:
        streams: data rows by connection.
        part: (n,) streams that share endpoints.
    """
    since, until = streams.watch_start_ns[part.stream], streams.watch_end_ns[part.stream]
    own = part.cycle_ns, float(part.count.min())
    if since.min() == since.max() and until.min() == until.max():
        return own
    begin_ns, end_ns = max(since.max(), part.start_ns.min()), min(until.min(), part.end_ns.max())
    rows = to_contiguous(streams.start_ns), to_contiguous(streams.bytes)
    cycles = _cycles_of(part.stream, part.quantum_bytes, streams.offsets, *rows, int(begin_ns), int(end_ns))
    if cycles.min() < FEWEST_CYCLES:
        return own[0] * _pace_ratio(streams, part, rows), own[1]
    return (end_ns - begin_ns) / cycles, float(cycles.min())


def _pace_ratio(streams: Streams, part: CycleTable, rows: tuple[Int, Int]) -> Float:
    """(n,) mean cycle of the longest seen stream over that of the same stream while each of the others lived.

    Those that lived for too few of its cycles keep their own pace: 1.
    """
    watched = streams.watch_end_ns[part.stream] - streams.watch_start_ns[part.stream]
    longest = int(np.lexsort([part.stream, -part.count, -watched])[0])
    ratio = np.ones(len(part))
    for n in np.flatnonzero(watched < watched[longest]).tolist():
        life = int(max(part.start_ns[n], part.start_ns[longest])), int(min(part.end_ns[n], part.end_ns[longest]))
        stream = int(part.stream[longest])
        cycles = cycles_within(stream, float(part.quantum_bytes[longest]), streams.offsets, *rows, *life)
        if cycles >= FEWEST_SHARED:
            ratio[n] = part.cycle_ns[longest] * cycles / (life[1] - life[0])
    return ratio


@compiled
def _cycles_of(
    numbers: Int, quantum_bytes: Float, offsets: Int, start_ns: Int, size: Int, begin_ns: int, end_ns: int
) -> Float:
    cycles = np.zeros(len(numbers))
    for k in range(len(numbers)):
        cycles[k] = cycles_within(numbers[k], quantum_bytes[k], offsets, start_ns, size, begin_ns, end_ns)
    return cycles


@compiled
def cycles_within(
    stream: int, quantum_bytes: float, offsets: Int, start_ns: Int, size: Int, begin_ns: int, end_ns: int
) -> float:
    """How many cycles of so many bytes the rows of a stream hold that begin within a time."""
    first, last = offsets[stream], offsets[stream + 1]
    a, b = np.searchsorted(start_ns[first:last], begin_ns), np.searchsorted(start_ns[first:last], end_ns)
    return float(size[first + a : first + b].sum() / quantum_bytes)


@compiled
def within(times_ns: Int, since_ns: int, until_ns: int) -> Int:
    """Of ascending times those of a stretch, both its ends included."""
    return times_ns[np.searchsorted(times_ns, since_ns) : np.searchsorted(times_ns, until_ns, side="right")]
