"""Where in the cycle iterations may begin: samples show their length better than which message is the first."""

from __future__ import annotations

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Float, Int
from reconstruct.numeric.medians import group_medians
from reconstruct.numeric.row_runs import run_starts, runs

# Connections carry alike whose bytes of an iteration agree within this share.
SAME_BYTES = 0.03


def list_phases(sent: Frame, edges_ns: Int, most: int) -> list[float]:
    """Phases in which an iteration may begin, as shares of the one drawn: where that begins, and others.

    Every program ends an iteration when something has been sent for the last time, so that is where connections that
    carry alike begin their longest pause. The phase lies in the middle between that and what is sent next; phases
    before the same message are one. Those of the heaviest connections come first.

    Args:
        sent: messages, as `TRANSFERS`.
        edges_ns: (iterations,) end of each.
        most: of so many kinds of connections, by bytes, the ends are looked at.
    """
    if not len(sent):
        return [0.0]
    stream, start, stop, size = _usual(sent, edges_ns)
    own = np.bincount(stream, size).astype(np.float64)
    kind = runs(own, SAME_BYTES)
    heaviest = np.argsort(-np.bincount(kind, own), kind="stable")[:most]
    begins = np.sort(start % 1.0)
    found = {0: 0.0}  # number of the message that is sent next -> phase
    for k in heaviest.tolist():
        end = _longest_pause(start[kind[stream] == k], stop[kind[stream] == k])
        following = int(np.searchsorted(begins, end)) % len(begins)
        found.setdefault(following, (end + (begins[following] - end) % 1.0 / 2) % 1.0)
    return list(found.values())


def begin_at(sent: Frame, edges_ns: Int, phase: float) -> tuple[Frame, Int]:
    """Messages and ends of iterations that begin at a phase of those drawn; the first of them is not complete."""
    length = np.diff(edges_ns, prepend=2 * edges_ns[0] - edges_ns[1])
    moved = edges_ns - length + np.rint(phase * length).astype(np.int64)
    middle = (sent["start_ns"] + sent["end_ns"]) // 2
    number = np.searchsorted(moved, middle)
    inside = number < len(moved)
    return sent.replace(iteration=number).take(inside), moved


def _usual(sent: Frame, edges_ns: Int) -> tuple[Int, Float, Float, Float]:
    """(stream from 0, start, end, bytes) of each message as it usually is; times as shares of the iteration."""
    order = np.lexsort([sent["slot"], sent["stream"]])
    rows = sent.take(order)
    inside = rows["iteration"].astype(np.int64)
    begin_ns, length = edges_ns[inside - 1], np.diff(edges_ns)[inside - 1]
    change = run_starts(rows["stream"], rows["slot"])
    message = np.cumsum(change) - 1
    count = int(change.sum())
    start, stop, size = (
        group_medians(np.asarray(column, np.float64), message, count)
        for column in ((rows["start_ns"] - begin_ns) / length, (rows["end_ns"] - begin_ns) / length, rows["bytes"])
    )
    stream = np.cumsum(np.diff(rows["stream"][change], prepend=rows["stream"][:1]) != 0)
    return stream, start, stop, size


def _longest_pause(start: Float, stop: Float) -> float:
    """Phase in which the longest pause between some messages begins, on the circle."""
    order = np.argsort(start % 1.0, kind="stable")
    begin = (start % 1.0)[order]
    until = begin + (stop - start)[order]
    until = np.maximum.accumulate(np.append(until.max() - 1.0, until))[1:]  # what lasts into the next iteration
    pause = np.append(begin[1:], begin[0] + 1.0) - until
    return float(until[int(np.argmax(pause))]) % 1.0
