"""Which streams carry data, apart from ready-to-receive messages, storage and what is too small to be looked at."""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Bool, Int, Streams

# A message that says a buffer is ready takes 32 to 128 bytes, and the headers of its packet.
READY_BYTES = 256
# Packed source and destination of each pair of endpoints, ascending, and (n,) which of them each stream has.
_Pairs = tuple[Int, Int]


def find_data_streams(
    streams: Streams, services: frozenset[int], smallest_share: float, control_share: float
) -> tuple[Bool, Bool]:
    """Find streams that carry data, (n,), and of these the ones that may belong to a job, (n,).

    Args:
        streams: data rows by connection.
        services: address codes of storage and management; their streams belong to no job.
        smallest_share: streams below this share of the bytes of the largest one at their ends are too small.
        control_share: a stream below this share of the reverse stream's bytes is its clear-to-send traffic.
    """
    total = streams.total_bytes()
    pairs = np.unique(streams.src * len(streams.addresses) + streams.dst, return_inverse=True)
    large = _large(streams, pairs, total, smallest_share)
    return large, large & _both_ways(streams, pairs, total, control_share) & ~_served(streams, services)


def _large(streams: Streams, pairs: _Pairs, total: Int, smallest_share: float) -> Bool:
    """(n,) whether streams carry a part of what their ends send and receive that is worth looking at.

    Other jobs are no measure: beside one that moves a hundred times as much a small job's pipeline still is one.
    Connections of a pair with as many rows share out the same messages, and count together.
    """
    most = np.zeros(len(streams.addresses), np.int64)
    np.maximum.at(most, streams.src, total)
    np.maximum.at(most, streams.dst, total)
    rows = np.diff(streams.offsets)
    _, alike = np.unique(pairs[1] * (rows.max(initial=0) + 1) + rows, return_inverse=True)
    shared = np.bincount(alike, total)[alike]
    return np.asarray(shared >= smallest_share * np.maximum(most[streams.src], most[streams.dst]))


def _both_ways(streams: Streams, pairs: _Pairs, total: Int, control_share: float) -> Bool:
    """(n,) whether streams are more than the ready-to-receive messages of what comes the other way.

    Those are short, so records of them are small too: beside others, or in themselves where each is of one packet. One
    of many connections that share out a message, or a message beside a collective of the same pair, is a small part of
    all that comes back, but no smaller record by record. What comes back from endpoints that are not seen to send at
    all, behind switches that export nothing, is not known: to these, short messages are no data.
    """
    rows = np.diff(streams.offsets)
    back, back_rows = _reverse(streams, pairs, total), _reverse(streams, pairs, rows)
    small = total < control_share * back
    short = total * np.maximum(back_rows, 1.0) < control_share * back.astype(np.float64) * rows
    shortest = total < READY_BYTES * rows
    sends = np.bincount(streams.src, minlength=len(streams.addresses)) > 0
    return np.asarray(~(small & (short | shortest)) & (sends[streams.dst] | ~shortest))


def _reverse(streams: Streams, pairs: _Pairs, values: Int) -> Int:
    """(n,) sum of `values` over all streams from each stream's destination to its source."""
    pair, of_stream = pairs
    volume = np.bincount(of_stream, values, len(pair))
    back = streams.dst * len(streams.addresses) + streams.src
    at = np.minimum(np.searchsorted(pair, back), max(len(pair) - 1, 0))
    return np.where(pair[at] == back, volume[at], 0).astype(np.int64) if len(pair) else values


def _served(streams: Streams, services: frozenset[int]) -> Bool:
    """(n,) whether streams are those of storage or management."""
    named = list(services)
    return np.asarray(np.isin(streams.src, named) | np.isin(streams.dst, named))
