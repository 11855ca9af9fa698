"""Streams whose records hide the pauses that a rhythm is made of.

An exporter that cuts a flow by timeouts, not by message, puts bursts and the pauses between them into one record.
"""

from __future__ import annotations

import numpy as np

from datamodel.reconstructed.streams import Bool, Int, Streams
from reconstruct.jit import compiled, to_contiguous
from reconstruct.periods.byte_period import pauses_ns

# Records that cover less of the time from the first to the last byte leave room for pauses.
COVERED_SHARE = 0.5
# Parts of a stream that are judged apart, of so many records at least.
PARTS, LEAST_ROWS = 3, 30
# A checkpoint, or a hole between what two exporters saw, is a long pause too: of one part so many make no rhythm, of
# the whole stream one more.
STRAY_PAUSES = 1
# Records at most this part as long as the typical one, and so many of them, show at what rate messages are sent. A
# record runs at that rate within the second share, which the gaps between packets of short ones are a part of.
SHORT, FEWEST_SHORT = 0.25, 5
SAME_RATE = 0.05


def hides_pauses(streams: Streams) -> Bool:
    """(n,) streams of flow records that cover most of the time and last longer than the pauses between them.

    Training computes for a good part of every iteration. A record of one message is short beside that pause, also where
    sharded training fills most of the time with messages; a record that is longer than every pause, but for one or two
    that are no iteration's, contains pauses.
    A slow link stretches messages over the pauses too, but for as long as it is slow; a timeout does so all the time: a
    stream that shows its pauses in one part of its records is not smeared. Neither is one whose records all run at one
    rate, whether long or short: messages that follow one another at once, joined to ever other records. A pause inside
    a record makes it slower.
    Packet trains of a mirror are cut at every pause and are never smeared; neither is a single record. Records that
    overlap count once.

    Args:
        streams: all streams.
    """
    found = np.zeros(len(streams), np.bool_)
    columns = to_contiguous(streams.start_ns), to_contiguous(streams.end_ns), to_contiguous(streams.bytes)
    _judge(streams.offsets, *columns, streams.trains, found)
    return found


@compiled
def _judge(offsets: Int, start_ns: Int, end_ns: Int, size: Int, trains: Bool, found: Bool) -> None:
    for stream in range(len(found)):
        low, high = offsets[stream], offsets[stream + 1]
        if trains[stream] or high - low < 2:
            continue
        rows = high - low
        parts = min(PARTS, max(rows // LEAST_ROWS, 1))
        stray = STRAY_PAUSES if parts > 1 else STRAY_PAUSES + 1
        hides = True
        for part in range(parts):
            own = slice(low + rows * part // parts, low + rows * (part + 1) // parts)
            hides = hides and _hides(start_ns[own], end_ns[own], size[own], stray)
        found[stream] = hides


@compiled
def _hides(start_ns: Int, end_ns: Int, size: Int, stray: int) -> bool:
    """Whether records cover most of their time and the typical one outlasts all but so many pauses between them."""
    pause_ns = np.sort(pauses_ns(start_ns, end_ns))
    life_ns = np.max(end_ns) - start_ns[0]
    if life_ns - np.sum(pause_ns) <= COVERED_SHARE * life_ns:
        return False
    duration_ns = end_ns - start_ns
    typical_ns = _typical_ns(duration_ns, size)
    if len(pause_ns) > stray and typical_ns <= pause_ns[-1 - stray]:
        return False
    return not _at_one_rate(duration_ns, size, typical_ns)


@compiled
def _at_one_rate(duration_ns: Int, size: Int, typical_ns: int) -> bool:
    """Whether records as long as the typical one and longer run at the rate of short ones, each but one in ten."""
    rate = size / np.maximum(duration_ns, 1)
    short = rate[duration_ns <= SHORT * typical_ns]
    if len(short) < FEWEST_SHORT:
        return False
    usual = np.median(short)
    away = np.abs(np.concatenate((short, rate[duration_ns >= typical_ns])) / usual - 1)
    return bool(np.quantile(away, 0.9) <= SAME_RATE)


@compiled
def _typical_ns(duration_ns: Int, size: Int) -> int:
    """Duration of the record that the median byte is in."""
    half, running = np.sum(size) / 2, 0
    for k in np.argsort(duration_ns, kind="mergesort"):
        running += size[k]
        if running >= half:
            return int(duration_ns[k])
    return 0
