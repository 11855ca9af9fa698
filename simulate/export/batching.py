"""Samples and records gathered into datagrams, as agents do: sent when full, or at the next beat."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from capture.jit import jit
from datamodel.reconstructed.streams import Int
from simulate.network.hashing import mixed


class Packing(NamedTuple):
    """Which datagram each item goes into, and when the datagrams are sent.

    Attributes:
        datagram: (items,) numbers ascend with the items.
        sent_ns: (datagrams,).
    """

    datagram: Int
    sent_ns: Int


def packing(sender: Int, time_ns: Int, size_bytes: Int, beat_ns: int, room_bytes: int) -> Packing:
    """Gather items, in order of sender and time, into datagrams.

    Args:
        sender: (n,) exporter of each item, from 0.
        time_ns: (n,) when it is there to be sent.
        size_bytes: (n,) of each; none is larger than the room.
        beat_ns: what is gathered is sent at the next multiple of it, each sender's with a phase of its own; 0: at once.
        room_bytes: that a datagram has for items.
    """
    datagram, sent = np.zeros(len(sender), np.int64), np.zeros(len(sender), np.int64)
    phase = mixed(sender + 1) % max(beat_ns, 1)
    count = pack(sender, time_ns, size_bytes, phase, beat_ns, room_bytes, datagram, sent)
    return Packing(datagram, sent[:count])


def ordinal(key: Int) -> tuple[Int, Int]:
    """From 1 on, the number of each row among those of its key; and an order by key that keeps rows' own."""
    order = np.argsort(key, kind="stable")
    begins = np.flatnonzero(np.diff(key[order], prepend=-1) != 0)
    lengths = np.diff(np.append(begins, len(order)))
    number = np.empty(len(key), np.int64)
    number[order] = np.arange(len(order)) - np.repeat(begins, lengths) + 1
    return number, order


@jit
def pack(
    sender: Int,
    time_ns: Int,
    size_bytes: Int,
    phase_ns: Int,
    beat_ns: int,
    room_bytes: int,
    datagram: Int,
    sent_ns: Int,
) -> int:
    """Fill `datagram` and `sent_ns`, both of the items' length; the answer is how many datagrams there are."""
    number, used, due = -1, 0, 0
    for i in range(len(sender)):
        same = i > 0 and sender[i] == sender[i - 1]
        if same and time_ns[i] < due and used + size_bytes[i] <= room_bytes:
            used += size_bytes[i]
        else:
            if same and time_ns[i] < due:
                sent_ns[number] = time_ns[i]  # full: this item does not fit any more
            number += 1
            used = size_bytes[i]
            due = time_ns[i]
            if beat_ns > 0:
                due += beat_ns - (time_ns[i] - phase_ns[i]) % beat_ns
            sent_ns[number] = due
        datagram[i] = number
    return number + 1


def placed(rows: list[tuple[np.ndarray, Int, Int]], total_bytes: int) -> np.ndarray:
    """Rows of bytes at their places: each part has (n, width) rows, how many bytes of each count, and where they go."""
    out = np.zeros(total_bytes, np.uint8)
    for content, size, place in rows:
        place_rows(np.ascontiguousarray(content), size, place, out)
    return out


@jit
def place_rows(rows: np.ndarray, size_bytes: Int, place: Int, out: np.ndarray) -> None:
    """Copy the first `size_bytes` of each row to its place; what would not fit is left out."""
    for i in range(len(rows)):
        size, at = size_bytes[i], place[i]
        if at >= 0 and at + size <= len(out) and size <= rows.shape[1]:
            for k in range(size):
                out[at + k] = rows[i, k]
