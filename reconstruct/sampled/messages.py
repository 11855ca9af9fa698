"""The messages of a sampled job: what one iteration shows in a few samples, all of them folded show whole."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.signal import find_peaks

from datamodel.frame import Frame, concat
from datamodel.streams import Float, Int
from datamodel.transfers import TRANSFERS
from reconstruct.sampled.progress import Progress
from reconstruct.sampled.recognition import SampledJob

# A pause between messages takes this share of the iteration at least, and exceeds by so many standard errors what
# chance makes of as many samples, before and behind its place, as half the iterations: each is of another one.
SHORTEST_PAUSE, SURE = 0.03, 5.0
FEWEST_BESIDE = 4
MEDIAN_TO_SD = 1.4826
# An iteration has a line of its own where so many samples span this share of the message.
OWN_POINTS, OWN_SPAN = 6, 0.5
# A line through so many points is as good as one through all.
MOST_POINTS = 32


def messages(progress: Progress, job: SampledJob, chosen: Int | None = None) -> Frame:
    """A job's transfers, as far as they can be told: rows of `TRANSFERS`, by connection and time.

    1. Samples of all iterations, folded at the quantum and put in order of their place in it, come at times that jump
       where a connection pauses: these places part its messages, to about a packet.
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
    parts = []
    for m, connection in enumerate(job.connections.tolist()):
        time_ns, position = progress.curve(connection)
        phase = (position - job.origin_bytes[m]) / job.quantum_bytes[m]
        iteration = np.ceil(phase).astype(np.int64)
        inside = (iteration >= 1) & (iteration < len(job.edges_ns))
        if chosen is not None:
            inside &= np.isin(iteration, chosen)
        if not inside.any():
            continue
        i = iteration[inside] - 1
        rows = i, phase[inside] - i, (time_ns[inside] - begin[i]) / (end[i] - begin[i])
        cut = cuts(rows[1], rows[2], len(begin))
        parts += [
            _message(cut[s], cut[s + 1], rows, begin, end, s, float(job.quantum_bytes[m])).replace(
                src=np.full(len(begin), progress.src[connection]),
                dst=np.full(len(begin), progress.dst[connection]),
                stream=np.full(len(begin), connection),
            )
            for s in range(len(cut) - 1)
        ]
    whole = concat(TRANSFERS, parts)
    return whole.sort("stream", "start_ns", "slot")


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
    order = np.argsort(phase, kind="stable")
    phase, window = phase[order], sliding_window_view(at[order], beside)
    level = np.median(window, axis=1)
    spread = MEDIAN_TO_SD * float(np.median(np.median(np.abs(window - level[:, None]), axis=1)))
    jump = np.maximum(level[beside:] - level[:-beside], 0.0)
    least = max(SHORTEST_PAUSE, SURE * spread * np.sqrt(2.0 / beside))
    peaks, _ = find_peaks(np.concatenate([[0.0], jump, [0.0]]), height=least, distance=beside)
    before = peaks - 1 + beside - 1
    return np.concatenate([[0.0], (phase[before] + phase[before + 1]) / 2, [1.0]])


def _message(
    low: float, high: float, rows: tuple[Int, Float, Float], begin: Float, end: Float, slot: int, quantum: float
) -> Frame:
    """One message in every iteration; `rows` are iteration, phase in bytes and phase in time of the samples."""
    own = (rows[1] > low) & (rows[1] <= high)
    iteration, phase, at = rows[0][own], rows[1][own], rows[2][own]
    slope, start = _line(phase, at) if len(phase) else (0.0, 0.5)
    slopes, starts = np.full(len(begin), slope), np.full(len(begin), start)
    for i in np.unique(iteration).tolist():
        here = iteration == i
        if here.sum() >= OWN_POINTS and np.ptp(phase[here]) >= OWN_SPAN * (high - low):
            slopes[i], starts[i] = _line(phase[here], at[here])
        else:
            starts[i] += np.median(at[here] - start - slope * phase[here])
    length = end - begin
    first = begin + (starts + slopes * low) * length
    last = np.maximum(begin + (starts + slopes * high) * length, first + 1)
    zero = np.zeros(len(begin), np.int64)
    return Frame(
        TRANSFERS,
        {
            "src": zero,
            "dst": zero,
            "stream": zero,
            "iteration": np.arange(1, len(begin) + 1),
            "slot": np.full(len(begin), slot),
            "start_ns": first.astype(np.int64),
            "end_ns": last.astype(np.int64),
            "bytes": np.full(len(begin), round((high - low) * quantum)),
        },
    )


def _line(x: Float, y: Float) -> tuple[float, float]:
    """(slope, intercept) of the robust line (Theil and Sen) through points; the slope is never negative."""
    some = np.linspace(0, len(x) - 1, min(len(x), MOST_POINTS)).astype(np.int64)
    x, y = x[some], y[some]
    a, b = np.triu_indices(len(x), 1)
    apart = np.abs(x[a] - x[b]) > 0.1 * float(np.ptp(x))
    slope = max(float(np.median((y[a] - y[b])[apart] / (x[a] - x[b])[apart])), 0.0) if apart.any() else 0.0
    return slope, float(np.median(y - slope * x))
