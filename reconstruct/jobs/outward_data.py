"""When a job gives data away, weights to engines or a checkpoint to a store, and whether its iterations wait for it."""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Bool, Int, Streams
from reconstruct.jobs.job_fragments import LEAST_BALANCE
from reconstruct.numeric.ragged_arrays import select_rows
from reconstruct.periods.period_multiples import differ


def find_outward_times(streams: Streams, data: Bool, endpoints: Int, taken: Bool) -> Int:
    """Find when data moves one way from a job, or on from endpoints that took it: (2, n) starts and ends.

    They are ascending and do not overlap. A broadcast in a chain lasts until the last endpoint has all of it.

    Args:
        streams: data rows by connection.
        data: (streams,) those that carry more than remarks.
        endpoints: address codes of the job.
        taken: (addresses,) endpoints of any job: what they receive is no end in itself.
    """
    some = np.flatnonzero(data)
    src, dst = streams.src[some], streams.dst[some]
    one_way = _goes_one_way(streams, some) & ~taken[dst]
    reached = np.zeros(len(streams.addresses), np.bool_)
    reached[endpoints] = True
    while (further := one_way & reached[src] & ~reached[dst]).any():
        reached[dst[further]] = True
    _, rows = select_rows(streams.offsets, some[one_way & reached[src]])
    order = rows[np.argsort(streams.start_ns[rows], kind="stable")]
    start_ns, until_ns = streams.start_ns[order], np.maximum.accumulate(streams.end_ns[order])
    begins = np.append(True, start_ns[1:] > until_ns[:-1])[: len(order)]
    ends = np.append(begins[1:], True)[: len(order)]
    return np.stack([start_ns[begins], until_ns[ends]])


def _goes_one_way(streams: Streams, some: Int) -> Bool:
    """(some,) whether the other end of a stream returns next to nothing to its source."""
    width = len(streams.addresses)
    src, dst = streams.src[some].astype(np.int64), streams.dst[some].astype(np.int64)
    pair, of = np.unique(src * width + dst, return_inverse=True)
    volume = np.bincount(of, streams.total_bytes()[some], len(pair))
    at = np.searchsorted(pair, dst * width + src).clip(max=max(len(pair) - 1, 0))
    returned = np.where(pair[at] == dst * width + src, volume[at], 0)
    return np.asarray(returned < LEAST_BALANCE * volume[of])


def covered_ns(times_ns: Int, edges_ns: Int) -> Int:
    """(edges - 1,) how much of the time from each edge to the next some times cover; both as `find_outward_times`."""
    start_ns, end_ns = times_ns
    before = np.append(0, np.cumsum(end_ns - start_ns))
    at = np.searchsorted(start_ns, edges_ns)
    still = np.append(0, end_ns)[at] - edges_ns
    return np.diff(before[at] - np.where(at > 0, still.clip(min=0), 0))


def differ_by_outward_data(numbers: Int, edges_ns: Int, outward_ns: Int, times: int) -> bool:
    """Whether iterations differ in turn, so many of them, by the time in which data is given away and by nothing else.

    Micro-batches, and the gather and the scatter of sharded training, differ by what is computed in between. Weights
    that go to engines after every second iteration, or a checkpoint after every third, make this one longer by the time
    that they take; the others give nothing away.

    Args:
        numbers: (edges,) number of each edge.
        edges_ns: (edges,) when.
        outward_ns: when data is given away, see `find_outward_times`.
        times: iterations in turn.
    """
    whole = np.diff(numbers) == 1
    place = numbers[1:][whole] % times
    if len(np.unique(place)) < times:
        return False
    lasted_ns = np.diff(edges_ns)[whole].astype(np.float64)
    given_ns = covered_ns(outward_ns, edges_ns)[whole].astype(np.float64)
    usually_given_ns, rest_ns = (
        np.array([np.median(values[place == k]) for k in range(times)]) for values in (given_ns, lasted_ns - given_ns)
    )
    return bool(np.sum(usually_given_ns > 0) == 1 and not differ(lasted_ns - given_ns, place, rest_ns))
