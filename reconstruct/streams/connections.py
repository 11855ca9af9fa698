"""Rows -> groups of rows of one connection, in order of time: one pass that numbers, one that sorts by counting."""

from __future__ import annotations

from typing import NamedTuple, SupportsInt

import numpy as np

from datamodel.frame import Array
from datamodel.reconstructed.streams import Int
from datamodel.telemetry.flows import TCP, UDP
from reconstruct.jit import compiled

# An exact record without payload counts is reverse traffic (acknowledgements, clear-to-send) when its packets are
# no larger than headers: 40 B of TCP/IPv6 beside 40 B of options and padding, 62 B of a RoCEv2 acknowledgement.
CONTROL_PACKET_BYTES = 100
UNKNOWN = 0
# Table slots to begin with; it doubles when half of it is taken.
FEWEST_SLOTS = 1 << 12
_LOW_32 = 0xFFFFFFFF


class Connections(NamedTuple):
    """Connections in the order in which they were met.

    Attributes:
        of_row: (rows,) int32 connection of each row; -1 for a row without volume.
        ends: (n,) source code << 32 | destination code.
        name: (n,) queue pair; or, below 0, source port << 16 | destination port, less 2^32.
        rows: (n,) how many there are.
        first_ns: (n,) earliest start.
    """

    of_row: Array
    ends: Int
    name: Int
    rows: Int
    first_ns: Int


@compiled
def measure(
    proto: tuple[Int, int],
    size: tuple[Int, int],
    packets: tuple[Int, int],
    rate: tuple[Int, int],
    payload: tuple[Int, int],
    again: tuple[Int, int],
    volume: Int,
) -> None:
    """Write into `volume` (rows,) the new payload of each row in bytes; 0 for control traffic.

    New payload where the feed knows it, exported bytes times sampling rate elsewhere, less the share of packets that
    were sent again. Training runs over TCP or RoCE;
    pings and routing protocols are periodic too.
    """
    for i in range(len(volume)):
        kind = proto[0][i & proto[1]]
        known = payload[0][i & payload[1]]
        own, count = size[0][i & size[1]], packets[0][i & packets[1]]
        if kind not in (UNKNOWN, TCP, UDP):
            volume[i] = 0
        elif known >= 0:
            volume[i] = known
        elif count > 0 and own < CONTROL_PACKET_BYTES * count:
            volume[i] = 0
        else:
            repeated = min(again[0][i & again[1]], count)
            volume[i] = own * max(rate[0][i & rate[1]], 1)
            if repeated > 0:
                volume[i] = int(float(volume[i]) * (count - repeated) / count)


@compiled
def number_connections(
    src: tuple[Int, int],
    dst: tuple[Int, int],
    queue_pair: tuple[Int, int],
    src_port: tuple[Int, int],
    dst_port: tuple[Int, int],
    start_ns: Int,
    volume: Int,
    of_row: Array,
) -> tuple[Int, Int, Int, Int]:
    """Number the connections of the rows that have a volume, by a hash table; (ends, name, count, first_ns).

    Args:
        src: (rows,) with its mask (`to_kernel_column`), as the next four.
        dst: likewise.
        queue_pair: of the destination; below 0 where there is none.
        src_port: likewise.
        dst_port: likewise.
        start_ns: (rows,) first packet.
        volume: (rows,) bytes.
        of_row: (rows,) int32, written.
    """
    slots, taken = FEWEST_SLOTS, 0
    table: Array = np.full(slots, -1, np.int32)
    ends, name = np.empty(slots // 2, np.int64), np.empty(slots // 2, np.int64)
    count, first_ns = np.zeros(slots // 2, np.int64), np.empty(slots // 2, np.int64)
    for i in range(len(volume)):
        if volume[i] <= 0:
            of_row[i] = -1
            continue
        pair = np.int64(src[0][i & src[1]]) << 32 | np.int64(dst[0][i & dst[1]])
        own = np.int64(queue_pair[0][i & queue_pair[1]])
        if own < 0:
            ports = np.int64(src_port[0][i & src_port[1]]) << 16 | np.int64(dst_port[0][i & dst_port[1]])
            own = ports - (1 << 32)
        at = _slot(pair, own, slots)
        while table[at] >= 0 and (ends[table[at]] != pair or name[table[at]] != own):
            at = (at + 1) & (slots - 1)
        found = table[at]
        if found < 0:
            found = np.int32(taken)
            table[at] = found
            ends[found], name[found], first_ns[found] = pair, own, start_ns[i]
            taken += 1
        count[found] += 1
        first_ns[found] = min(first_ns[found], start_ns[i])
        of_row[i] = found
        if 2 * taken >= slots:
            slots *= 2
            ends, name = _doubled(ends), _doubled(name)
            count, first_ns = _doubled(count), _doubled(first_ns)
            table = _filled(ends, name, taken, slots)
    return ends[:taken].copy(), name[:taken].copy(), count[:taken].copy(), first_ns[:taken].copy()


@compiled
def _slot(pair: SupportsInt, name: SupportsInt, slots: int) -> int:
    """Where to look first. Factors stay below 2^31 so that no product leaves 63 bits."""
    pair, name = np.int64(pair), np.int64(name)
    mixed = (pair & _LOW_32) * 0x5BD1E995 + (pair >> 32) * 0x1B873593 + (name & _LOW_32) * 0x27D4EB2F
    mixed ^= mixed >> 29
    return int(((mixed & _LOW_32) * 0x45D9F3B >> 16) & (slots - 1))


@compiled
def _doubled(values: Int) -> Int:
    larger = np.zeros(2 * len(values), values.dtype)
    larger[: len(values)] = values
    return larger


@compiled
def _filled(ends: Int, name: Int, taken: int, slots: int) -> Array:
    table = np.full(slots, -1, np.int32)
    for k in range(taken):
        at = _slot(ends[k], name[k], slots)
        while table[at] >= 0:
            at = (at + 1) & (slots - 1)
        table[at] = k
    return table


@compiled
def distribute(of_row: Array, place: Int, offsets: Int, order: Array) -> None:
    """Write into `order` (int32) the row numbers of each group, one group after the other, rows in their order.

    Args:
        of_row: (rows,) connection of each row; -1 for none.
        place: (connections,) group of each connection.
        offsets: (groups + 1,) where each group begins.
        order: (offsets[-1],) written.
    """
    cursor = offsets[:-1].copy()
    for i in range(len(of_row)):
        if of_row[i] >= 0:
            group = place[of_row[i]]
            order[cursor[group]] = i
            cursor[group] += 1


@compiled
def sort_by_time(order: Array, offsets: Int, start_ns: Int, end_ns: Int, volume: Int) -> None:
    """Sort the rows of each group by start, end and volume; those that come in order of time cost one look."""
    for group in range(len(offsets) - 1):
        rows = order[offsets[group] : offsets[group + 1]]
        if _in_disorder(rows, start_ns, end_ns, volume):
            rows[:] = rows[np.argsort(volume[rows], kind="mergesort")]
            rows[:] = rows[np.argsort(end_ns[rows], kind="mergesort")]
            rows[:] = rows[np.argsort(start_ns[rows], kind="mergesort")]


@compiled
def _in_disorder(rows: Array, start_ns: Int, end_ns: Int, volume: Int) -> bool:
    for k in range(1, len(rows)):
        a, b = rows[k - 1], rows[k]
        if start_ns[a] > start_ns[b]:
            return True
        if start_ns[a] == start_ns[b]:
            if end_ns[a] > end_ns[b]:
                return True
            if end_ns[a] == end_ns[b] and volume[a] > volume[b]:
                return True
    return False


@compiled
def gather(column: Int, mask: int, order: Array, out: Int) -> None:
    """Write the column's entries into `out`, in another order; see `to_kernel_column` for the mask."""
    for k in range(len(order)):
        out[k] = column[order[k] & mask]
