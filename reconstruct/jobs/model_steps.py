"""Steps of a served model, apart from iterations of training: both turn over in lockstep."""

from __future__ import annotations

import numpy as np

from datamodel.streams import Int, Streams
from reconstruct.periods.byte_period import pauses_ns

# A training iteration computes gradients of thousands of tokens and updates all weights: it takes longer than this for
# all but small models. Layers of a forward pass, one like the other, follow one another faster.
SHORTEST_ITERATION_NS = 50_000_000
# Ranks that serve a model exchange the same activations on all connections; those that train it send activations on
# some and gradients on others, whose volumes differ by more than this factor.
SAME_VOLUME_RATIO = 2.0
# A step of serving adds one token to each answer; who reads waits no longer for it (MLPerf's limit is 200 ms).
LONGEST_STEP_NS = 250_000_000
# Its messages are as large as the batch of the moment, while gradients and parameters are as large in every iteration:
# so many sizes hold at least this share of the messages of some stream.
FIXED_SIZES, FIXED_SHARE = 3, 0.5
# Two directions of a connection are busy at once for less than this share of the time that the less busy one is.
IN_TURNS_SHARE = 0.5


def serves_model(streams: Streams, members: Int, edges_ns: Int) -> bool:
    """Whether what turns over in lockstep are steps, or layers, of a served model.

    Args:
        streams: data rows by connection.
        members: numbers of the streams that turn over.
        edges_ns: when they did.
    """
    period_ns = float(np.median(np.diff(edges_ns)))
    if period_ns >= LONGEST_STEP_NS:
        return False
    sizes = [streams.bytes[streams.rows(n)] for n in members.tolist()]
    if all(_commonest_share(size) < FIXED_SHARE for size in sizes):
        return not _returns_gradients(streams, members)
    volumes = [int(size.sum()) for size in sizes]
    return period_ns < SHORTEST_ITERATION_NS and max(volumes) < SAME_VOLUME_RATIO * min(volumes)


def _returns_gradients(streams: Streams, members: Int) -> bool:
    """Whether all pairs send the same sizes both ways, in turns: activations of a batch, and later their gradients.

    A served model sends tokens back, and its ranks sum up or exchange activations in both directions at once.
    """
    src, dst = streams.src[members], streams.dst[members]
    for a, b in {(min(ends), max(ends)) for ends in zip(src.tolist(), dst.tolist(), strict=True)}:
        forth, back = (streams.take(members[(src == x) & (dst == y)]) for x, y in ((a, b), (b, a)))
        if not np.array_equal(np.sort(forth.bytes), np.sort(back.bytes)):
            return False
        busy_ns = _busy_ns(forth), _busy_ns(back)
        if sum(busy_ns) - _busy_ns(forth, back) >= IN_TURNS_SHARE * min(busy_ns):
            return False
    return True


def _busy_ns(*ways: Streams) -> float:
    """For how long some streams send, ns; what overlaps counts once."""
    start_ns, end_ns = (np.concatenate(column) for column in zip(*((w.start_ns, w.end_ns) for w in ways), strict=True))
    order = np.argsort(start_ns, kind="stable")
    return float(end_ns.max() - start_ns.min() - pauses_ns(start_ns[order], end_ns[order]).sum())


def _commonest_share(size: Int) -> float:
    """Share of messages that have one of the commonest sizes."""
    count = np.sort(np.unique(size, return_counts=True)[1])
    return float(count[-FIXED_SIZES:].sum() / max(len(size), 1))
