"""A meter's flow cache: packets of one flow become records, cut where it pauses, lasts, or has grown too long."""

from __future__ import annotations

import numpy as np

from capture.jit import jit
from datamodel.frame import Column, Frame, Schema
from datamodel.reconstructed.streams import Int

RECORDS = Schema(
    "records",
    (
        Column("train", "i8", "", "row of its first train, for its flow key"),
        Column("first_ns", "i8", "ns", "first packet, true UTC"),
        Column("last_ns", "i8", "ns", "last packet"),
        Column("cut_ns", "i8", "ns", "when the cache gave it up"),
        Column("packets", "i8", "", "counted"),
        Column("bytes", "i8", "B", "of IP packets, counted"),
    ),
)


def cached(flow: Int, trains: Frame, active_ns: int, inactive_ns: int, most_bytes: int) -> Frame:
    """The records of some trains, by flow and time.

    Args:
        flow: (n,) number of the flow that each train belongs to.
        trains: rows with `start_ns`, `end_ns`, `packets` (one at least) and `bytes`.
        active_ns: a record covers no more time.
        inactive_ns: a flow that is silent for longer ends its record.
        most_bytes: a record counts no more.
    """
    order = np.lexsort([trains["start_ns"], flow])
    start, end, size = (trains[name][order] for name in ("start_ns", "end_ns", "bytes"))
    most = int((2 + (end - start) // active_ns + size // most_bytes * 2).sum())
    out = np.zeros((6, most), np.int64)
    count = fill(flow[order], start, end, trains["packets"][order], size, active_ns, inactive_ns, most_bytes, out)
    rows = dict(zip(RECORDS.names, out[:, :count], strict=True))
    return Frame(RECORDS, {**rows, "train": order[rows["train"]]})


@jit
def fill(
    flow: Int,
    start_ns: Int,
    end_ns: Int,
    packets: Int,
    size_bytes: Int,
    active_ns: int,
    inactive_ns: int,
    most_bytes: int,
    out: Int,
) -> int:
    """Fill columns of `out`, rows as in `RECORDS`; the answer is how many. What finds no room is left out."""
    count = -1  # the record at hand; it is open while it counts packets
    for i in range(len(flow)):
        begin, left, volume = start_ns[i], packets[i], size_bytes[i]
        if count < 0 or flow[i] != flow[i - 1] or begin - out[2, count] > inactive_ns:
            if count >= 0:
                out[3, count] = min(out[2, count] + inactive_ns, out[1, count] + active_ns)
            count = opened(out, count, i, begin)
        while left > 0 and count < out.shape[1]:
            until = out[1, count] + active_ns
            if end_ns[i] <= until and out[5, count] + volume <= most_bytes:
                taken = left
            else:
                share = min((until - begin) / max(end_ns[i] - begin, 1), (most_bytes - out[5, count]) / volume)
                taken = min(int(left * max(share, 0.0)), left)
                if taken <= 0 and out[4, count] == 0:
                    taken = 1
            part = volume if taken == left else int(volume * (taken / left))
            stop = end_ns[i] if taken == left else begin + int((end_ns[i] - begin) * (taken / left))
            if taken > 0:
                out[4, count] += taken
                out[5, count] += part
                out[2, count] = max(out[2, count], stop)
            left, volume = left - taken, volume - part
            begin = max(begin, stop) if taken > 0 else begin
            if left > 0:
                out[3, count] = min(max(begin, out[2, count]), max(until, out[2, count]))
                count = opened(out, count, i, begin)
    if 0 <= count < out.shape[1]:
        out[3, count] = min(out[2, count] + inactive_ns, out[1, count] + active_ns)
    return int(min(count + 1, out.shape[1]))


@jit
def opened(out: Int, count: int, train: int, begin_ns: int) -> int:
    """Open the next record; its number."""
    place = count + 1
    if place < out.shape[1]:
        out[0, place] = train
        out[1, place] = begin_ns
        out[2, place] = begin_ns
    return place
