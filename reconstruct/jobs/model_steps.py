"""Steps of a served model, apart from iterations of training: both turn over in lockstep."""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Int, Streams
from reconstruct.periods.answered_messages import split_by_pair

# A training iteration computes gradients of thousands of tokens and updates all weights: it takes longer than this for
# all but small models. Layers of a forward pass, one like the other, follow one another faster.
SHORTEST_ITERATION_NS = 50_000_000
# Ranks that serve a model exchange the same activations on all connections; those that train it send activations on
# some and gradients on others, whose volumes differ by more than this factor.
SAME_VOLUME_RATIO = 2.0
# A token is one number, what is computed of it thousands: streams below this share of the largest one carry tokens.
TOKEN_SHARE = 0.001
# A step of serving adds one token to each answer; who reads waits no longer for it (MLPerf's limit is 200 ms).
LONGEST_STEP_NS = 250_000_000
# Its messages are as large as the batch of the moment, while gradients and parameters are as large in every iteration:
# so many sizes hold at least this share of the messages of some stream.
FIXED_SIZES, FIXED_SHARE = 3, 0.5
# So many messages begin after that of their size the other way has ended.
RETURNED_SHARE = 0.9
# Of one integer so many bits hold how many messages of a size came before, 16 million at most; the 39 others the size.
NUMBER_BITS = 24


def serves_model(streams: Streams, members: Int, followers: Int, edges_ns: Int) -> bool:
    """Whether what turns over in lockstep are steps, or layers, of a served model.

    Args:
        streams: data rows by connection.
        members: numbers of the streams that turn over.
        followers: of those between the same endpoints that send as often, whatever they send.
        edges_ns: when they did.
    """
    period_ns = float(np.median(np.diff(edges_ns)))
    if period_ns >= LONGEST_STEP_NS:
        return False
    sizes = [streams.bytes[streams.rows(n)] for n in members.tolist()]
    too_fast = period_ns < SHORTEST_ITERATION_NS
    if all(_commonest_share(size) < FIXED_SHARE for size in sizes):
        one_each = max(len(size) for size in sizes) <= len(edges_ns) + 1
        return (too_fast and one_each) or not _returns_gradients(streams, members)
    volume = streams.take(np.concatenate([members, followers])).total_bytes()
    computed = volume[volume >= TOKEN_SHARE * volume.max()]
    return too_fast and int(computed.max()) < SAME_VOLUME_RATIO * int(computed.min())


def _returns_gradients(streams: Streams, members: Int) -> bool:
    """Whether all pairs send the same sizes both ways, later in one: activations of a batch, and then their gradients.

    A served model sends tokens back, and its ranks sum up or exchange activations in both directions at once. Some of
    what goes one way is not answered: the window, a hang or an evaluation parts them.
    """
    for ways in split_by_pair(streams, members):
        forth, back = (_by_size(streams.take(way)) for way in ways)
        _, one, other = np.intersect1d(forth[0], back[0], assume_unique=True, return_indices=True)
        if len(one) <= RETURNED_SHARE * min(len(forth[0]), len(back[0])):
            return False
        start_ns, end_ns = (forth[1][one], back[1][other]), (forth[2][one], back[2][other])
        if max(float((start_ns[k] >= end_ns[1 - k]).mean()) for k in (0, 1)) < RETURNED_SHARE:
            return False
    return True


def _by_size(way: Streams) -> tuple[Int, Int, Int]:
    """Messages by size and time: (size and how many of that size came before, in one integer; start_ns; end_ns)."""
    order = np.lexsort([way.start_ns, way.bytes])
    size = way.bytes[order]
    before = np.arange(len(size)) - np.searchsorted(size, size)
    return (size << NUMBER_BITS) + before, way.start_ns[order], way.end_ns[order]


def _commonest_share(size: Int) -> float:
    """Share of messages that have one of the commonest sizes."""
    count = np.sort(np.unique(size, return_counts=True)[1])
    return float(count[-FIXED_SIZES:].sum() / max(len(size), 1))
