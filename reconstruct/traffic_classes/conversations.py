"""Streams -> conversations: all that one endpoint sends to another by RDMA, or from or to one port of a server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int, Streams
from reconstruct.numeric.ragged_arrays import select_rows
from reconstruct.numeric.row_runs import place_within

# Of the fields of a packed key: two address codes below 2^23 each, a port.
_CODE_BITS, _PORT_BITS = 23, 17
RDMA = 0  # in place of a port


@dataclass(frozen=True, slots=True)
class Conversations:
    """Conversations, ascending by source, destination and port; (n,) each.

    Attributes:
        src, dst: address codes.
        port: of the server; RDMA where queue pairs carry it.
        bytes: new payload, scaled by the sampling rate.
        records: that carry it.
        largest_bytes: the largest of them.
        back: number of the conversation the other way; -1 where there is none.
        of_stream: for each part, (streams,) the conversation of each.
    """

    src: Int
    dst: Int
    port: Int
    bytes: Int
    records: Int
    largest_bytes: Int
    back: Int
    of_stream: tuple[Int, ...]

    def __len__(self) -> int:
        return len(self.src)

    def both_ways(self, values: Int) -> Int:
        """(n,) the larger of a value of each and of the one the other way."""
        return np.where(self.back >= 0, np.maximum(values, values[self.back]), values)

    def returned(self) -> Float:
        """(n,) bytes the other way over the bytes of each."""
        back = np.where(self.back >= 0, self.bytes[self.back], 0)
        ratio: Float = back / np.maximum(self.bytes, 1)
        return ratio


def find_conversations(parts: Sequence[Streams]) -> Conversations:
    """The conversations of some sets of streams over the same address codes."""
    src, dst, name = (np.concatenate([getattr(p, n) for p in parts]) for n in ("src", "dst", "name"))
    ports = name + (1 << 32)
    port = np.where(name >= 0, RDMA, np.minimum(ports >> 16, ports & 0xFFFF))
    key, of = np.unique(_packed(src, dst, port), return_inverse=True)
    size, records, largest = (np.concatenate(c) for c in zip(*(_sizes(p) for p in parts), strict=True))
    volume, count, most = (np.zeros(len(key), np.int64) for _ in range(3))
    np.add.at(volume, of, size)
    np.add.at(count, of, records)
    np.maximum.at(most, of, largest)
    ends = key >> _PORT_BITS
    own = ends >> _CODE_BITS, ends & ((1 << _CODE_BITS) - 1), key & ((1 << _PORT_BITS) - 1)
    reverse = _packed(own[1], own[0], own[2])
    at = np.minimum(np.searchsorted(key, reverse), max(len(key) - 1, 0))
    back = np.where(key[at] == reverse, at, -1) if len(key) else key
    bounds = np.cumsum([0, *(len(p) for p in parts)])
    of_stream = tuple(of[a:b] for a, b in pairwise(bounds.tolist()))
    return Conversations(*own, volume, count, most, back, of_stream)


def _packed(src: Int, dst: Int, port: Int) -> Int:
    return (src << _CODE_BITS | dst) << _PORT_BITS | port


def _sizes(streams: Streams) -> tuple[Int, Int, Int]:
    """(n,) bytes and records of each stream, and its largest record."""
    if not len(streams):
        return streams.src, streams.src, streams.src
    largest = np.maximum.reduceat(streams.bytes, streams.offsets[:-1])
    return streams.total_bytes(), np.diff(streams.offsets), largest


def fixed_size_share(streams: Streams, of_stream: Int, chosen: Bool, sizes: int) -> Float:
    """(conversations,) share of the records that have one of the `sizes` commonest sizes; 1 of those not chosen."""
    share = np.ones(len(chosen))
    numbers = np.flatnonzero(chosen[of_stream])
    offsets, rows = select_rows(streams.offsets, numbers)
    if len(rows):
        owner = np.repeat(of_stream[numbers], np.diff(offsets))
        found, size = np.unique(streams.bytes[rows], return_inverse=True)
        kinds, count = np.unique(owner * len(found) + size, return_counts=True)
        own = kinds // len(found)
        order = np.lexsort([-count, own])
        own, count = own[order], count[order]
        place = place_within(own)
        common = np.bincount(own[place < sizes], count[place < sizes], len(chosen))
        total = np.bincount(own, count, len(chosen))
        share[total > 0] = (common / np.maximum(total, 1))[total > 0]
    return share


def life_ns(streams: Streams, of_stream: Int, count: int) -> Int:
    """(conversations,) from the first byte to the last, of those that the streams belong to; 0 of others."""
    first, last = np.full(count, np.iinfo(np.int64).max), np.full(count, -1)
    if len(streams):
        np.minimum.at(first, of_stream, streams.start_ns[streams.offsets[:-1]])
        np.maximum.at(last, of_stream, np.maximum.reduceat(streams.end_ns, streams.offsets[:-1]))
    return np.where(last >= 0, last - np.minimum(first, last), 0)
