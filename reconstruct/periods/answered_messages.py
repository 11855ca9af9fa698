"""Streams of one message an iteration, each of another size: gradients of that size come back before the next one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from datamodel.reconstructed.streams import Bool, Int, Streams
from reconstruct.numeric.ragged_arrays import by_label, expanded
from reconstruct.periods.byte_period import OFTEN

# So many messages are answered in their size, and before the next one begins.
ANSWERED_SHARE = 0.9


def are_answered(streams: Streams, some: Int) -> Bool:
    """Find streams between two endpoints of which each message is answered before the next one is sent.

    Stages of a pipeline that trains with one micro-batch send the activations of one batch and get their gradients, of
    the same size, before those of the next. Connections that share out a message count together.

    Args:
        streams: data rows by connection.
        some: (n,) stream numbers.

    Returns:
        (n,) whether each of them is such a stream.
    """
    often = some[np.diff(streams.offsets)[some] >= OFTEN]
    answered = [np.zeros(0, np.int64)]
    for ways in split_by_pair(streams, often):
        forth, back = (_messages(streams, way) for way in ways)
        if forth is not None and back is not None and _take_turns(forth, back):
            answered += ways
    return np.isin(some, np.concatenate(answered))


def split_by_pair(streams: Streams, numbers: Int) -> Iterator[tuple[Int, Int]]:
    """Streams between each two endpoints, by direction; one of the two may be empty."""
    src, dst = streams.src[numbers], streams.dst[numbers]
    for rows in by_label(np.minimum(src, dst) * len(streams.addresses) + np.maximum(src, dst)):
        up = src[rows] < dst[rows]
        yield numbers[rows[up]], numbers[rows[~up]]


def _messages(streams: Streams, numbers: Int) -> Int | None:
    """(3, messages) bytes, first and last byte of what streams of as many rows share out; None where they do not."""
    count = np.diff(streams.offsets)[numbers]
    if not len(count) or count.min() < count.max():
        return None
    _, row = expanded(streams.offsets[numbers], count)
    size, start_ns, end_ns = (
        c[row].reshape(len(numbers), -1) for c in (streams.bytes, streams.start_ns, streams.end_ns)
    )
    return np.stack([size.sum(axis=0), start_ns.min(axis=0), end_ns.max(axis=0)])


def _take_turns(forth: Int, back: Int) -> bool:
    """Whether messages one way are answered the other way in their size, before the next one, each but the last."""
    if abs(forth.shape[1] - back.shape[1]) > 1:
        return False
    pairs = ((forth, back), (back, forth), (forth, back[:, 1:]), (back, forth[:, 1:]))
    shortest = (min(sent.shape[1], answer.shape[1]) for sent, answer in pairs)
    return any(_is_answer(sent[:, :n], answer[:, :n]) for (sent, answer), n in zip(pairs, shortest, strict=True))


def _is_answer(sent: Int, answer: Int) -> bool:
    """Whether so many answers have the size of what was sent, begin after it ended, and end before the next is sent."""
    fits = (sent[0] == answer[0]) & (sent[2] <= answer[1])
    return bool(fits.mean() >= ANSWERED_SHARE and (answer[2, :-1] <= sent[1, 1:]).mean() >= ANSWERED_SHARE)
