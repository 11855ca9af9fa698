"""The least time from stamp to arrival, by exporter and part of its time: some samples are sent at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Bool, Int
from reconstruct.jit import compiled, to_contiguous


@dataclass(frozen=True, slots=True)
class ExportDelays:
    """Least lags of some exporters, in equal parts of the time of each.

    Attributes:
        samplers: (n,) their address codes, ascending.
        begin_ns, end_ns: (n,) their first arrival and their last one.
        count: (n, parts) how many rows arrived in each part.
        least_ns: (n, parts) the least lag of these; of no row it means nothing.
        at_ns: (n, parts) when that row arrived, the first of equal ones.
    """

    samplers: Int
    begin_ns: Int
    end_ns: Int
    count: Int
    least_ns: Int
    at_ns: Int


def least_lags(frame: Frame, chosen: Bool, parts: int) -> ExportDelays:
    """Least lags of the exporters of chosen rows, in so many parts."""
    columns = (
        to_contiguous(frame["sampler_address"]),
        to_contiguous(frame["time_received_ns"]),
        to_contiguous(frame["time_flow_end_ns"]),
    )
    return ExportDelays(*_least(*columns, chosen, parts))


@compiled
def _least(
    sampler: Int, received_ns: Int, stamp_ns: Int, chosen: Bool, parts: int
) -> tuple[Int, Int, Int, Int, Int, Int]:
    seen = np.zeros((max(sampler.max(), -1) if len(sampler) else -1) + 2, np.bool_)  # nobody is -1
    for row in range(len(sampler)):
        seen[sampler[row] + 1] |= chosen[row]
    samplers, place = np.flatnonzero(seen) - 1, np.cumsum(seen) - 1
    begin, end = np.full(len(samplers), np.iinfo(np.int64).max), np.full(len(samplers), np.iinfo(np.int64).min)
    for row in range(len(sampler)):
        if chosen[row]:
            n = place[sampler[row] + 1]
            begin[n], end[n] = min(begin[n], received_ns[row]), max(end[n], received_ns[row])
    count = np.zeros((len(samplers), parts), np.int64)
    least, at = count.copy(), count.copy()
    for row in range(len(sampler)):
        if chosen[row]:
            n, when, lag = place[sampler[row] + 1], received_ns[row], received_ns[row] - stamp_ns[row]
            part = (when - begin[n]) * parts // (end[n] + 1 - begin[n])
            if not count[n, part] or lag < least[n, part] or (lag == least[n, part] and when < at[n, part]):
                least[n, part], at[n, part] = lag, when
            count[n, part] += 1
    return samplers, begin, end, count, least, at
