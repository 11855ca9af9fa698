"""The messages of a sampled job: what one iteration shows in a few samples, all of them folded show whole."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from datamodel.frame import Frame, empty
from datamodel.reconstructed.streams import Bool, Float, Int
from datamodel.reconstructed.transfers import TRANSFERS
from reconstruct.jit import compiled
from reconstruct.numeric.medians import MAD_TO_SIGMA
from reconstruct.numeric.robust_statistics import calm_medians, evenly, in_order, peaks_apart, running_deviations, slope
from reconstruct.sampled.curves.progress_curves import ProgressCurves
from reconstruct.sampled.folding.agreed_places import agreed_places
from reconstruct.sampled.jobs.sampled_recognition import SampledJob

# A pause between messages takes this share of the iteration at least, and exceeds by so many standard errors what
# chance makes of as many samples, before and behind its place, as half the iterations: each is of another one.
SHORTEST_PAUSE, SURE = 0.03, 5.0
FEWEST_BESIDE = 4
# An iteration has a line of its own where so many samples span this share of the message.
OWN_POINTS, OWN_SPAN = 6, 0.5
# A line through so many points is as good as one through all.
MOST_POINTS = 32


class _Message(NamedTuple):
    """One message of a connection: its place among them, its bytes, and in relative time when it begins and ends."""

    connection: int
    slot: int
    sent_bytes: float
    starts: Float
    stops: Float


def messages(progress: ProgressCurves, job: SampledJob, chosen: Int | None = None) -> Frame:
    """A job's transfers, as far as they can be told: rows of `TRANSFERS`, by connection and time.

    1. Samples of all iterations, folded at the quantum and put in order of their place in it, come at times that jump
       where a connection pauses: these places part its messages, to about a packet, if connections of like bytes agree.
    2. In relative time of the iteration, the bytes of a message against time are a line through the samples of all
       iterations; its ends are when the message begins and ends.
    3. An iteration's own samples move its message by their median distance from the line; where they span most of it,
       they are drawn a line of their own.

    The first iteration, whose beginning is not known, has none.

    Args:
        progress: the curves.
        job: whose messages.
        chosen: iterations to look at, 1 and up; None for all.
    """
    begin, end = job.edges_ns[:-1].astype(np.float64), job.edges_ns[1:].astype(np.float64)
    looked_at = np.zeros(len(job.edges_ns), np.bool_)
    looked_at[1:] = True if chosen is None else np.isin(np.arange(1, len(job.edges_ns)), chosen)
    rows = [
        _folded(*progress.curve(c), progress.spans(c)[1], origin, quantum, begin, end, looked_at)
        for c, origin, quantum in zip(job.connections.tolist(), job.origin_bytes, job.quantum_bytes, strict=True)
    ]
    shown = [cuts(phase[dated], at[dated], len(begin)) for _, phase, at, dated in rows]
    found = [
        _Message(connection, slot, (high - low) * quantum, *_placed(iteration, phase, at, low, high, len(begin)))
        for connection, quantum, cut, (iteration, phase, at, _) in zip(
            job.connections.tolist(), job.quantum_bytes, agreed_places(shown, job.quantum_bytes), rows, strict=True
        )
        if len(iteration)
        for slot, (low, high) in enumerate(pairwise(cut.tolist()))
    ]
    return _transfers(found, progress, begin, end).sort("stream", "start_ns", "slot")


def _transfers(found: list[_Message], progress: ProgressCurves, begin: Float, end: Float) -> Frame:
    """A row of every message for each iteration, `begin` to `end`."""
    if not found:
        return empty(TRANSFERS)
    connection, slot, size = (np.array([m[column] for m in found]) for column in range(3))
    starts, stops = (np.array([m[column] for m in found]) for column in (3, 4))
    first = begin + starts * (end - begin)
    last = np.maximum(begin + stops * (end - begin), first + 1)
    each = len(begin)
    return Frame(
        TRANSFERS,
        {
            "src": np.repeat(progress.src[connection], each),
            "dst": np.repeat(progress.dst[connection], each),
            "stream": np.repeat(connection, each),
            "iteration": np.tile(np.arange(1, each + 1), len(found)),
            "slot": np.repeat(slot, each),
            "start_ns": first.ravel().astype(np.int64),
            "end_ns": last.ravel().astype(np.int64),
            "bytes": np.repeat(np.rint(size).astype(np.int64), each),
        },
    )


def cuts(phase: Float, at: Float, iterations: int) -> Float:
    """Places of the cycle, 0 and 1 among them, where a connection pauses between two messages.

    Args:
        phase: where in the bytes of its iteration each sample is, 0 to 1.
        at: when in the time of its iteration.
        iterations: how many there are.
    """
    beside = max(iterations // 2, FEWEST_BESIDE)
    if len(phase) <= 2 * beside:
        return np.array([0.0, 1.0])
    phase, jump, least = _jumps(phase, at, beside)
    if jump.max() < least:
        return np.array([0.0, 1.0])
    peaks = peaks_apart(np.concatenate([[0.0], jump, [0.0]]), least, beside)
    before = peaks - 1 + beside - 1
    return np.concatenate([[0.0], (phase[before] + phase[before + 1]) / 2, [1.0]])


@compiled
def _folded(
    time_ns: Float,
    position: Float,
    doubt_ns: Float,
    origin: float,
    quantum: float,
    begin: Float,
    end: Float,
    looked_at: Bool,
) -> tuple[Int, Float, Float, Bool]:
    """(iteration from 0, place in its bytes, place in its time) of the samples in iterations that are looked at.

    And which of them are dated well enough to show pauses: an agent did not hold them for as long as one.
    """
    iteration, phase, at = np.empty(len(position), np.int64), np.empty(len(position)), np.empty(len(position))
    dated = np.empty(len(position), np.bool_)
    count = 0
    for n in range(len(position)):
        cycles = (position[n] - origin) / quantum
        number = int(np.ceil(cycles))
        if 0 < number < len(looked_at) and looked_at[number]:
            i = number - 1
            length = end[i] - begin[i]
            iteration[count], phase[count], at[count] = i, cycles - i, (time_ns[n] - begin[i]) / length
            dated[count] = doubt_ns[n] <= SHORTEST_PAUSE * length
            count += 1
    return iteration[:count], phase[:count], at[:count], dated[:count]


@compiled
def _jumps(phase: Float, at: Float, beside: int) -> tuple[Float, Float, float]:
    """(places in order, by how much times jump between so many samples before and behind each; more than chance)."""
    phase, ordered = in_order(phase, at)
    errors = SURE * MAD_TO_SIGMA * np.sqrt(2.0 / beside)
    level, calm = calm_medians(ordered, beside, SHORTEST_PAUSE / errors)
    spread = 0.0 if calm else np.median(running_deviations(ordered, beside))
    return phase, np.maximum(level[beside:] - level[:-beside], 0.0), max(SHORTEST_PAUSE, errors * spread)


@compiled
def _placed(iteration: Int, phase: Float, at: Float, low: float, high: float, count: int) -> tuple[Float, Float]:
    """(begin, end) of the message between two places in each of `count` iterations, in relative time.

    Samples are given by iteration, place in its bytes and place in its time, ascending in the former two.
    """
    own = (phase > low) & (phase <= high)
    iteration, phase, at = iteration[own], phase[own], at[own]
    usual, start = _line(phase, at) if len(phase) else (0.0, 0.5)
    slopes, starts = np.full(count, usual), np.full(count, start)
    first = 0
    while first < len(phase):
        i, last = iteration[first], first + 1
        while last < len(phase) and iteration[last] == i:
            last += 1
        x, y = phase[first:last], at[first:last]
        if last - first >= OWN_POINTS and x[-1] - x[0] >= OWN_SPAN * (high - low):
            slopes[i], starts[i] = _line(x, y)
        else:
            starts[i] += np.median(y - start - usual * x)
        first = last
    return starts + slopes * low, starts + slopes * high


@compiled
def _line(x: Float, y: Float) -> tuple[float, float]:
    """(slope, intercept) of the robust line through points; the slope is never negative."""
    some = evenly(len(x), MOST_POINTS)
    x, y = x[some], y[some]
    steep = slope(x, y, 0.1 * (x.max() - x.min()))
    steep = steep if steep > 0 else 0.0  # nan where no two points are apart
    return steep, float(np.median(y - steep * x))
