"""Whether two streams act together: busy at the same time, or exchanging message for message."""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from reconstruct.jit import compiled, to_contiguous
from reconstruct.numeric.ragged_arrays import expanded
from strategy.traffic.grouped_statistics import medians
from strategy.traffic.stream_profiles import StreamProfiles

# A slot met in fewer of the iterations says nothing.
RECURS = 0.5


def together(streams: StreamProfiles, a: Int, b: Int) -> Float:
    """(pairs,) how far streams `a[i]` and `b[i]` act together, in the slot of the iteration where they do least.

    The larger of two measures, each the least over slots of the median over iterations.

    - The share of a transfer of either in which the other is busy too.
    - 1 where each transfer begins with one of the other, 0 where half the time to its own next one lies between them.
      Short messages of an exchange all to all may miss one another by the jitter of the ranks, and those of a slow
      link last longer than their counterparts, and yet belong to one round; a pipeline's answer comes at the earliest
      when the next stage has computed it, about when the next message goes. One transfer alone is no exchange.

    A pipeline takes turns: forward and backward messages may meet in its steady state, but its first message goes
    alone.
    """
    if not len(a):
        return np.zeros(0)
    pair, row = expanded(streams.bounds[a], np.diff(streams.bounds)[a])
    busy = np.minimum(_overlap(streams, b[pair], row), 1.0)
    exchange = _exchange(streams, a, b, pair, row)
    width = int(streams.slot[row].max(initial=0)) + 1
    keys, index, count = np.unique(pair * width + streams.slot[row], return_inverse=True, return_counts=True)
    own = np.zeros(len(a), np.int64)
    np.maximum.at(own, keys // width, count)
    recurs = count >= RECURS * own[keys // width]
    least = np.full((2, len(a)), np.inf)
    for measure, value in zip(least, (busy, exchange), strict=True):
        np.minimum.at(measure, (keys // width)[recurs], medians(value, index, len(keys))[recurs])
    return np.asarray(np.where(np.isfinite(least), least, 0.0).max(axis=0), np.float64)


def _overlap(streams: StreamProfiles, other: Int, row: Int) -> Float:
    """(rows,) share of each transfer in which another stream is busy."""
    start = streams.start_ns[row]
    length = np.maximum(streams.end_ns[row] - start, 1)
    busy = _busy_until(streams, other, start + length) - _busy_until(streams, other, start)
    return np.asarray(busy / length, np.float64)


def _busy_until(streams: StreamProfiles, stream: Int, at_ns: Int) -> Float:
    """Time each stream has been busy up to an instant; its transfers, in order, do not overlap one another."""
    length = np.concatenate([[0], np.cumsum(streams.end_ns - streams.start_ns)])
    k, first = _begun(streams, stream, at_ns), streams.bounds[stream]
    over = np.maximum(streams.end_ns[np.maximum(k - 1, 0)] - at_ns, 0)
    return np.asarray(np.where(k > first, length[k] - length[first] - over, 0), np.float64)


def _begun(streams: StreamProfiles, stream: Int, at_ns: Int) -> Int:
    """Row behind the last transfer that each stream has begun at an instant; its first row before any."""
    return _behind(
        to_contiguous(streams.bounds), to_contiguous(streams.start_ns), to_contiguous(stream), to_contiguous(at_ns)
    )


@compiled
def _behind(bounds: Int, start_ns: Int, stream: Int, at_ns: Int) -> Int:
    found = np.empty(len(stream), np.int64)
    for k in range(len(stream)):
        low, high = bounds[stream[k]], bounds[stream[k] + 1]
        while low < high:
            middle = (low + high) // 2
            if start_ns[middle] <= at_ns[k]:
                low = middle + 1
            else:
                high = middle
        found[k] = low
    return found


def _exchange(streams: StreamProfiles, a: Int, b: Int, pair: Int, row: Int) -> Float:
    """(rows,) 1 where a transfer of `a` begins with one of `b`, 0 half a message's spacing apart."""
    start, stream = streams.start_ns[row], b[pair]
    after = _begun(streams, stream, start)
    apart = np.full(len(row), np.inf)
    for near in (after - 1, after):
        own = (near >= streams.bounds[stream]) & (near < streams.bounds[stream + 1])
        away = np.abs(streams.start_ns[np.clip(near, 0, len(streams.start_ns) - 1)] - start)
        apart = np.where(own, np.minimum(apart, away), apart)
    several = (np.minimum(streams.transfers[a], streams.transfers[b]) > 1)[pair]
    spacing = np.maximum(_spacing(streams)[row], 1)
    return np.where(several, np.maximum(1.0 - 2.0 * apart / spacing, 0.0), 0.0)


def _spacing(streams: StreamProfiles) -> Int:
    """(rows,) time between a transfer's start and the farther of its neighbours' of the same iteration."""
    owner = np.repeat(np.arange(len(streams.number)), np.diff(streams.bounds))
    same = (np.diff(owner) == 0) & (np.diff(streams.iteration) == 0)
    step = np.where(same, np.diff(streams.start_ns), 0)
    return np.asarray(np.maximum(np.concatenate([[0], step]), np.concatenate([step, [0]])), np.int64)
