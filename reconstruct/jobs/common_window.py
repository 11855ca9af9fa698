"""Cycles of streams in a time in which all of them could be seen: an exporter may be heard later, or fall silent."""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Float, Int, Streams
from reconstruct.jit import compiled, to_contiguous
from reconstruct.periods.cycles import CycleTable

# A pace is taken from so many cycles at least.
FEWEST_CYCLES = 5.0
# A row begins a cycle that is whole cycles behind the first one to this share of a cycle.
SAME_PLACE = 0.05
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
    found = compute_cycle_time_within(streams, part, int(begin_ns), int(end_ns))
    if found is not None:
        return found
    rows = to_contiguous(streams.start_ns), to_contiguous(streams.bytes)
    return own[0] * _pace_ratio(streams, part, rows), own[1]


def compute_cycle_time_within(
    streams: Streams, part: CycleTable, begin_ns: int, end_ns: int
) -> tuple[Float, float] | None:
    """(n,) time of a cycle of each stream within a time in ns, and the fewest cycles; None where these are too few."""
    rows = to_contiguous(streams.start_ns), to_contiguous(streams.bytes)
    cycle_ns, cycles = _cycles_of(part.stream, part.quantum_bytes, streams.offsets, *rows, begin_ns, end_ns)
    return (cycle_ns, float(cycles.min())) if cycles.min() >= FEWEST_CYCLES else None


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
) -> tuple[Float, Float]:
    """(n,) time of a cycle within a time, from a row to the last one at the same place of the cycle; (n,) cycles."""
    cycles, cycle_ns = np.zeros(len(numbers)), np.zeros(len(numbers))
    for k in range(len(numbers)):
        stream, quantum = numbers[k], quantum_bytes[k]
        cycles[k] = cycles_within(stream, quantum, offsets, start_ns, size, begin_ns, end_ns)
        # bursts are few: a window that ends between two of them holds as many cycles as one that ends behind the last
        cycle_ns[k] = (end_ns - begin_ns) / max(cycles[k], 1.0)
        first, sent = offsets[stream] + np.searchsorted(start_ns[offsets[stream] : offsets[stream + 1]], begin_ns), 0.0
        for row in range(first, offsets[stream + 1]):
            if start_ns[row] >= end_ns:
                break
            whole = np.rint(sent / quantum)
            if whole > 0 and abs(sent / quantum - whole) <= SAME_PLACE:
                cycle_ns[k] = (start_ns[row] - start_ns[first]) / whole
            sent += size[row]
    return cycle_ns, cycles


def count_cycles_during(streams: Streams, part: CycleTable, slow: int) -> tuple[Float, int]:
    """Count cycles of each stream in one of a rarer stream, (n,), and of how many of these that is the mean.

    Where a window holds few iterations, how it begins and ends weighs much in a mean: micro-batches are sent in a part
    of an iteration, gradients in another. From a row of the rarer stream to one at the same place of a later cycle lie
    whole iterations, wherever the window was cut.

    Args:
        streams: data rows by connection.
        part: (n,) streams that share endpoints.
        slow: place of the rarer stream among these.
    """
    rows = streams.offsets, to_contiguous(streams.start_ns), to_contiguous(streams.bytes)
    begin_ns, end_ns, whole = _whole_cycles(part.stream[slow], part.quantum_bytes[slow], *rows)
    cycles = _cycles_each(part.stream, part.quantum_bytes, *rows, begin_ns, end_ns)
    return cycles / max(whole, 1), whole


@compiled
def _cycles_each(
    numbers: Int, quantum_bytes: Float, offsets: Int, start_ns: Int, size: Int, begin_ns: int, end_ns: int
) -> Float:
    """Count the cycles of each stream within a time; (n,)."""
    cycles = np.zeros(len(numbers))
    for k in range(len(numbers)):
        cycles[k] = cycles_within(numbers[k], quantum_bytes[k], offsets, start_ns, size, begin_ns, end_ns)
    return cycles


@compiled
def _whole_cycles(stream: int, quantum_bytes: float, offsets: Int, start_ns: Int, size: Int) -> tuple[int, int, int]:
    """Find begin and end in ns, and the number, of whole cycles: from the first row to the last one at its place."""
    first, sent = offsets[stream], 0.0
    end_ns, whole = start_ns[first], 0
    for row in range(first, offsets[stream + 1]):
        times = np.rint(sent / quantum_bytes)
        if times > whole and abs(sent / quantum_bytes - times) <= SAME_PLACE:
            end_ns, whole = start_ns[row], times
        sent += size[row]
    return start_ns[first], end_ns, int(whole)


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
