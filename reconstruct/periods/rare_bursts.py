"""Bursts that come back too seldom in a window for a rhythm of their own: gradients between many micro-batches."""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int, Streams
from reconstruct.jit import compiled, to_contiguous

# So many bursts are needed, two of them whole: that two intervals hold as many cycles is unlikely by chance.
MIN_BURSTS, MIN_WHOLE_BURSTS = 3, 2
# Between two bursts others turn over so many times at least: within one, only the last micro-batch does.
APART_CYCLES = 2
# Bytes of two bursts are as many to this share. The window cuts the first one and the last.
MAX_BYTES_DIFFERENCE_SHARE = 0.01
# Intervals that are counted most often are tried.
MAX_CANDIDATES = 3
# Share of the endpoints that send or receive what separates their iterations.
MIN_ENDPOINT_SHARE = 0.9


def count_cycles_between_bursts(streams: Streams, some: Int, endpoints: Int, edges_ns: Int) -> int:
    """Count the cycles of a part of a job from one rare burst to the next; 1 where nothing shows them.

    Args:
        streams: data rows by connection.
        some: streams without a period from or to endpoints of the part.
        endpoints: codes of all of these.
        edges_ns: (cycles,) when each of its cycles ended.
    """
    if not len(some):
        return 1
    # a record that goes on from one cycle to the next hides where bursts begin
    lasting_ns = np.maximum.reduceat(streams.end_ns - streams.start_ns, streams.offsets[:-1])
    some = some[lasting_ns[some] < np.median(np.diff(edges_ns))]
    rows = streams.offsets, to_contiguous(streams.start_ns), to_contiguous(streams.bytes), to_contiguous(edges_ns)
    cycles, often = np.unique(_cycles_between(some, *rows), return_counts=True)
    for times in cycles[np.argsort(-often, kind="stable")[:MAX_CANDIDATES]].tolist():
        kept = some[_recur_every(some, *rows, times)]
        reached = np.isin(endpoints, np.concatenate([streams.src[kept], streams.dst[kept]]))
        if reached.mean() >= MIN_ENDPOINT_SHARE:
            return int(times)
    return 1


@compiled
def _cycles_between(some: Int, offsets: Int, start_ns: Int, size: Int, edges_ns: Int) -> Int:
    """Count cycles from the end of one burst to that of the next, of streams whose bursts are enough and alike.

    The window cuts the first burst, whose end is whole, and the last one, which does not count then.
    """
    between = [np.int64(0) for _ in range(0)]
    for stream in some:
        rows = slice(offsets[stream], offsets[stream + 1])
        number = np.searchsorted(edges_ns, start_ns[rows])
        last = np.append(np.flatnonzero(np.diff(number) >= APART_CYCLES), len(number) - 1)
        if len(last) < MIN_BURSTS:
            continue
        sent = np.diff(np.append(0, np.cumsum(size[rows])[last]))
        whole = _are_whole(sent)
        if _are_alike(whole):
            between.extend(np.diff(number[last if whole[-1] else last[:-1]]))
    return np.array(between, np.int64)


@compiled
def _recur_every(some: Int, offsets: Int, start_ns: Int, size: Int, edges_ns: Int, times: int) -> Bool:
    """Find out which streams send as many bytes every so many cycles, and nothing in a part of these; (n,).

    Stages of a pipeline that are done with their micro-batches begin to reduce gradients before others are.
    """
    kept = np.zeros(len(some), np.bool_)
    for k in range(len(some)):
        rows = slice(offsets[some[k]], offsets[some[k] + 1])
        number = np.searchsorted(edges_ns, start_ns[rows])
        phase = np.unique(number % times)
        pause = np.diff(np.append(phase, phase[0] + times))
        begin = phase[(np.argmax(pause) + 1) % len(phase)]
        turn = (number - begin) // times
        sent = np.bincount(turn - turn[0], size[rows])
        kept[k] = pause.max() >= APART_CYCLES and len(sent) >= MIN_BURSTS and _are_alike(_are_whole(sent))
    return kept


@compiled
def _are_whole(sent: Int | Float) -> Bool:
    """(bursts,) which bursts hold as many bytes as the largest."""
    return np.asarray(sent >= (1 - MAX_BYTES_DIFFERENCE_SHARE) * sent.max())


@compiled
def _are_alike(whole: Bool) -> bool:
    """Whether enough bursts are whole, and all that the window does not cut."""
    return bool(whole[1:-1].all() and whole.sum() >= MIN_WHOLE_BURSTS)
