"""Records that were lost, where the packet numbers of a queue pair show that they are missing.

The others show what a lost one carried: one of as many packets, or several that make as many. It takes the place that
such a one has between its neighbors, so that byte positions and turns stay what they were.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from datamodel.frame import Array, Frame
from datamodel.reconstructed.streams import Int
from reconstruct.jit import compiled, to_contiguous, to_kernel_column

# Packet sequence numbers of RoCE count modulo this.
PSNS = 1 << 24
# Numbers go on from record to record but for what is lost; where they do not, they number something else (the packets
# of several planes, or of all connections).
GOING_ON_SHARE = 0.8
# Ready messages of one packet take numbers of the same queue pair: so many between two records, and no more than this
# part of the smallest record, are not missing.
READY_PACKETS, READY_PART = 4, 4
# A gap in the numbers of more records than this is an outage, which nothing fills.
MOST_TOGETHER = 4
# Records looked at on both sides of a gap for one like it.
REACH_ROWS = 512
# Times between neighbors that differ by this share are alike: iterations vary by some percent.
AS_LIKE = 0.15
# Of records as like, those that come later than the soonest by more than this share of the time are not meant.
SOON = 0.5


class LostRecords(NamedTuple):
    """What is missing, (n,) each.

    Attributes:
        like: row of the frame that the lost record is like.
        start_ns, end_ns: when it was probably sent.
        number: of its first packet.
        packets: how many.
    """

    like: Int
    start_ns: Int
    end_ns: Int
    number: Int
    packets: Int


def find_lost_records(frame: Frame, order: Array, offsets: Int, name: Int) -> LostRecords:
    """The records that are missing between others of their queue pair.

    Args:
        frame: rows of `FLOWS`.
        order: row numbers, those of one queue pair together, in order of time.
        offsets: (n + 1,) bounds of each queue pair's.
        name: (n,) queue pair; below 0 for a connection of ports.
    """
    if not len(order) or ((frame["psn_first"][:1] < 0).all() and (frame["psn_first"] < 0).all()):
        return LostRecords(*np.zeros((5, 0), np.int64))
    times = to_contiguous(frame["time_flow_start_ns"]), to_contiguous(frame["time_flow_end_ns"])
    numbers = to_kernel_column(frame["psn_first"]), to_kernel_column(frame["packets"])
    return LostRecords(*_find(order, offsets, name, *times, *numbers, to_kernel_column(frame["payload_bytes"])))


class Filled(NamedTuple):
    """Rows that stand for lost records, in the order of streams.

    Attributes:
        rows: what each was probably like, rows of `FLOWS`.
        like: (n,) row of the frame that each is like.
        volume: (n,) new payload in bytes.
    """

    rows: Frame
    like: Int
    volume: Int


def lost_rows(frame: Frame, lost: LostRecords) -> Frame:
    """Rows that stand for the records that are missing."""
    like = frame.take(lost.like)
    none = np.zeros(len(lost.like), np.int64)
    return like.replace(
        time_flow_start_ns=lost.start_ns,
        time_flow_end_ns=lost.end_ns,
        time_acknowledged_ns=none,
        psn_first=lost.number,
        bytes=np.rint(like["bytes"] * (lost.packets / like["packets"])).astype(np.int64),
        packets=lost.packets,
        retransmitted_packets=none,
        ecn_ce_packets=none,
    )


def insert_filled(
    order: Array, offsets: Int, group: Int, filled: Filled, frame: Frame, volume: Int
) -> tuple[Array, Int, Filled, Int]:
    """Put rows that stand for lost records among those of their groups, in order of time; behind others of the same.

    Only the numbers of rows are copied: a second frame of a large cluster takes gigabytes.

    Args:
        order: (rows,) row numbers, by group, start, end and volume.
        offsets: (groups + 1,) where the rows of each begin.
        group: (n,) group of each filled row.
        filled: the rows.
        frame: the rows that `order` numbers.
        volume: (rows of the frame,) bytes.

    Returns:
        The order, where a filled row has the number of the one that it is like; the bounds of the groups; the filled
        rows in the order in which they stand there; and (n,) where.
    """
    start_ns, end_ns = filled.rows["time_flow_start_ns"], filled.rows["time_flow_end_ns"]
    turn = np.lexsort([filled.volume, end_ns, start_ns, group])
    times = to_contiguous(frame["time_flow_start_ns"]), to_contiguous(frame["time_flow_end_ns"])
    keys = to_contiguous(start_ns[turn]), to_contiguous(end_ns[turn]), to_contiguous(filled.volume[turn])
    before = _rows_before(order, offsets, group[turn], *keys, *times, volume)
    sorted_rows = Filled(filled.rows.take(turn), filled.like[turn], filled.volume[turn])
    inserted = np.insert(order, before, sorted_rows.like.astype(order.dtype))
    more = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=len(offsets) - 1))])
    return inserted, (offsets + more).astype(np.int64), sorted_rows, before + np.arange(len(before))


@compiled
def _rows_before(
    order: Array,
    offsets: Int,
    group: Int,
    start_ns: Int,
    end_ns: Int,
    size: Int,
    row_start_ns: Int,
    row_end_ns: Int,
    row_size: Int,
) -> Int:
    """(n,) how many of the ordered rows come before each of some others: those of earlier groups and times, and alike.

    Args:
        order: (rows,) row numbers, by group, start, end and size.
        offsets: (groups + 1,) where the rows of each begin.
        group: (n,) of each of the others, as the next three.
        start_ns: likewise.
        end_ns: likewise.
        size: likewise.
        row_start_ns: of each row, as the next two.
        row_end_ns: likewise.
        row_size: likewise.
    """
    found = np.empty(len(group), np.int64)
    for k in range(len(group)):
        low, high = offsets[group[k]], offsets[group[k] + 1]
        own = start_ns[k], end_ns[k], size[k]
        while low < high:
            middle = (low + high) // 2
            row = order[middle]
            if (row_start_ns[row], row_end_ns[row], row_size[row]) <= own:
                low = middle + 1
            else:
                high = middle
        found[k] = low
    return found


@compiled
def _find(
    order: Array,
    offsets: Int,
    name: Int,
    start_ns: Int,
    end_ns: Int,
    number: tuple[Int, int],
    packets: tuple[Int, int],
    payload: tuple[Int, int],
) -> tuple[Int, Int, Int, Int, Int]:
    found = np.empty((5, 64), np.int64)
    n = 0
    for stream in range(len(offsets) - 1):
        low, high = offsets[stream], offsets[stream + 1]
        if name[stream] < 0 or payload[0][order[low] & payload[1]] >= 0:
            continue
        rows, first, count = _numbered_rows(order[low:high], number, packets)
        if len(rows) < 3:
            continue
        missing = _missing(first, count)
        if not missing.any():
            continue
        starts, ends = start_ns[rows], end_ns[rows]
        for k in range(len(missing) - 1):
            if not missing[k]:
                continue
            at, several = _alike(missing, count, starts, ends, k)
            if several > MOST_TOGETHER:
                continue
            while n + MOST_TOGETHER > found.shape[1]:
                wider = np.empty((5, 2 * found.shape[1]), np.int64)
                wider[:, :n] = found[:, :n]
                found = wider
            n = _fill(rows, first, count, starts, ends, k, at, several, missing[k], found, n)
    return found[0, :n].copy(), found[1, :n].copy(), found[2, :n].copy(), found[3, :n].copy(), found[4, :n].copy()


@compiled
def _numbered_rows(rows: Array, number: tuple[Int, int], packets: tuple[Int, int]) -> tuple[Array, Int, Int]:
    """Those of some rows that have a packet number; it, and their packets."""
    kept, first, count = np.empty_like(rows), np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    n = 0
    for row in rows:
        own = number[0][row & number[1]]
        if own >= 0:
            kept[n], first[n], count[n] = row, own, packets[0][row & packets[1]]
            n += 1
    return kept[:n], first[:n], count[:n]


@compiled
def _missing(first: Int, count: Int) -> Int:
    """(rows,) packets that are missing behind each; none at all where numbers do not go on from row to row.

    None either where rows are packets, not messages: a ready message between two of them leaves as large a gap.
    """
    missing = np.zeros(len(first), np.int64)
    if np.max(count) <= READY_PACKETS:
        return missing
    going_on, slack = 0, _ready_packets(count)
    for k in range(len(first) - 1):
        ahead = (first[k + 1] - first[k] - count[k]) % PSNS
        going_on += ahead <= slack
        if slack < ahead < PSNS // 2:
            missing[k] = ahead
    return missing if going_on >= GOING_ON_SHARE * (len(first) - 1) else np.zeros(len(first), np.int64)


@compiled
def _ready_packets(count: Int) -> int:
    return min(READY_PACKETS, int(np.min(count)) // READY_PART)


@compiled
def _alike(missing: Int, count: Int, start_ns: Int, end_ns: Int, gap: int) -> tuple[int, int]:
    """First row and number of rows without a gap that carry as much as is missing behind `gap`, between like neighbors.

    The one whose time between its neighbors is most like the gap's. Where some as like come soon and others late, as
    before a long pause and behind it, one that comes soon: which is missing does not show, and one that comes late
    would end an iteration late. Without any (0, 1); (0, more than `MOST_TOGETHER`) where so much is missing that it was
    an outage.
    """
    if missing[gap] > MOST_TOGETHER * np.max(count):
        return 0, MOST_TOGETHER + 1
    hole_ns = float(max(start_ns[gap + 1] - end_ns[gap], 1))
    slack, low = _ready_packets(count), max(gap - REACH_ROWS, 1)
    for several in range(1, MOST_TOGETHER + 1):
        high = min(gap + REACH_ROWS, len(count) - several)
        off = np.full(max(high - low, 0), np.inf)
        for k in range(low, high):
            total, whole = 0, missing[k - 1] == 0
            for j in range(k, k + several):
                total += count[j]
                whole = whole and missing[j] == 0
            if whole and 0 <= missing[gap] - total <= slack:
                away = abs(start_ns[k + several] - end_ns[k - 1] - hole_ns)
                off[k - low] = away / (hole_ns + away)  # below one: neighbors of another size outweigh it
                off[k - low] += (count[k - 1] != count[gap]) + (count[k + several] != count[gap + 1])
        if len(off) and np.min(off) < np.inf:
            like = low + np.flatnonzero(off <= np.min(off) + AS_LIKE)
            wait = np.empty(len(like))
            for n in range(len(like)):
                before = end_ns[like[n] - 1]
                wait[n] = (start_ns[like[n]] - before) / max(start_ns[like[n] + several] - before, 1)
            late = wait > np.min(wait) + SOON
            off[like[late] - low] = np.inf
            return low + int(np.argmin(off)), several
    return 0, 1


@compiled
def _fill(
    rows: Array,
    first: Int,
    count: Int,
    start_ns: Int,
    end_ns: Int,
    gap: int,
    at: int,
    several: int,
    missing: int,
    found: Int,
    n: int,
) -> int:
    """Write what is missing behind row `gap` as rows `at` and those behind it are; the number written so far."""
    begin, hole_ns = end_ns[gap], max(start_ns[gap + 1] - end_ns[gap], 0)
    if not at:  # nothing carries as much: in the middle, and as large as it is
        found[0, n], found[3, n], found[4, n] = rows[gap], (first[gap] + count[gap]) % PSNS, missing
        length = int(min(hole_ns, (end_ns[gap] - start_ns[gap]) * missing / max(count[gap], 1)))
        found[1, n] = begin + (hole_ns - length) // 2
        found[2, n] = found[1, n] + length
        return n + 1
    before = end_ns[at - 1]
    scale = hole_ns / max(start_ns[at + several] - before, 1)
    number = first[gap] + count[gap]
    for k in range(at, at + several):
        found[0, n], found[3, n], found[4, n] = rows[k], number % PSNS, count[k]
        found[1, n] = max(begin + int((start_ns[k] - before) * scale), start_ns[gap])
        found[2, n] = max(begin + int((end_ns[k] - before) * scale), found[1, n])
        number += count[k]
        n += 1
    return n
