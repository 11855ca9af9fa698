"""Critical paths of many iterations of a job: their begins and ends are found in one pass over all spans.

Apart from `critical_path`, which pages use: they load no compiler.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Int
from diagnose.patterns.critical_path import IDLE, Lanes, Step, trace_back
from diagnose.patterns.turns import places
from reconstruct.jit import compiled, to_contiguous


def critical_paths(spans: Frame, iterations: Int) -> Iterator[list[Step]]:
    """The paths of some iterations, those without spans left out.

    Args:
        spans: of a job, by endpoint.
        iterations: their numbers, ascending.
    """
    endpoint, iteration, span, start_ns, end_ns = (
        to_contiguous(spans[name]) for name in ("endpoint", "iteration", "span", "start_ns", "end_ns")
    )
    place = places(iteration, iterations)
    begin_ns, until_ns, last = _ends(endpoint, iteration, span, start_ns, end_ns, place, len(iterations))
    for number in np.flatnonzero(last >= 0).tolist():
        lanes = Lanes(spans, int(iterations[number]))
        yield trace_back(lanes, int(begin_ns[number]), int(until_ns[number]), int(last[number]))


@compiled
def _ends(
    endpoint: Int, iteration: Int, span: Int, start_ns: Int, end_ns: Int, place: Int, count: int
) -> tuple[Int, Int, Int]:
    """(count,) first begin, last end, and the first endpoint that ends then, of each iteration; -1 without work."""
    begin, until, last = np.zeros(count, np.int64), np.zeros(count, np.int64), np.full(count, -1, np.int64)
    for row in range(len(endpoint)):
        at = place[iteration[row]]
        if at < 0 or span[row] == IDLE or end_ns[row] <= start_ns[row]:
            continue
        if last[at] < 0 or start_ns[row] < begin[at]:
            begin[at] = start_ns[row]
        if last[at] < 0 or end_ns[row] > until[at]:
            until[at], last[at] = end_ns[row], endpoint[row]
    return begin, until, last
