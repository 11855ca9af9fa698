"""The ring between receiver and decoder: datagrams lie in shared memory until what they held is durable.

One process puts datagrams in, one takes them out, neither waits for a lock. Payloads lie in one circle of bytes, their
`DATAGRAM` rows in another, so that a stretch of rows together with all the bytes is a batch that needs no copying.
A payload is never split: where it does not fit before the end of the bytes it begins at their front. Room is
freed by the number of datagrams that are committed, in order.
"""

from __future__ import annotations

import mmap

import numpy as np
import numpy.typing as npt

from capture.exporters.datagram import DATAGRAM, Datagrams, Index, announced
from capture.jit import jit, wide
from capture.receive.fence import fence
from capture.receive.ring_header import HEADER, HEADER_ROOM_BYTES, Header
from capture.tables.read_buffer import Bytes

# Exporters fill their datagrams, up to 1,400 bytes; smaller ones use the rows up before the bytes.
_BYTES_A_ROW = 512
_ALIGNMENT = 64  # payloads begin on a cache line of their own


class Ring:
    """A mapped ring.

    Attributes:
        shared: its header, shape (1,).
        index: `DATAGRAM` rows; datagram n has row n modulo their number.
        data: the payloads.
    """

    def __init__(self, descriptor: int, size_bytes: int) -> None:
        """Map the ring behind `descriptor` (`capture.receive.ring_header.create`), which has `size_bytes` in all."""
        memory = mmap.mmap(descriptor, size_bytes)
        self.shared: npt.NDArray[np.void] = np.frombuffer(memory, HEADER, 1)
        room = size_bytes - HEADER_ROOM_BYTES
        rows = room // (_BYTES_A_ROW + DATAGRAM.itemsize)
        index_bytes = -(-rows * DATAGRAM.itemsize // mmap.PAGESIZE) * mmap.PAGESIZE
        self.index: Index = np.frombuffer(memory, DATAGRAM, rows, HEADER_ROOM_BYTES)
        self.data: Bytes = np.frombuffer(memory, np.uint8, offset=HEADER_ROOM_BYTES + index_bytes)

    @property
    def header(self) -> Header:
        """The header's one record."""
        return self.shared[0]

    def batch(self, start: int, stop: int, most_bytes: int) -> Datagrams:
        """Datagrams from number `start` on: none at or behind number `stop`, about `most_bytes` in all, in one piece.

        There is at least one where datagram `start` has been written and is below `stop`.
        """
        first = start % len(self.index)
        count = min(written(self.shared) - start, stop - start, len(self.index) - first)
        rows = self.index[first : first + max(count, 0)]
        sizes = np.cumsum(rows["bytes"], dtype=np.int64)
        return Datagrams(self.data, rows[: max(1, int(np.searchsorted(sizes, most_bytes, "right")))])

    def fill_ratio(self, start: int, stop: int) -> float:
        """How much of the ring the datagrams from `start` to below `stop` take, between 0 and 1."""
        if start >= stop:
            return 0.0
        first, last = self.index[start % len(self.index)], self.index[(stop - 1) % len(self.index)]
        span = (int(last["offset"]) + int(last["bytes"]) - int(first["offset"])) % len(self.data)
        return max(span / len(self.data), (stop - start) / len(self.index))


@jit
def written(shared: npt.NDArray[np.void]) -> int:
    """How many datagrams have been put in, all of them wholly."""
    count = shared[0]["written"]
    fence()
    return wide(count)


@jit
def taken(size: int) -> int:
    """Bytes of the ring that a payload takes."""
    return wide(size + _ALIGNMENT) // _ALIGNMENT * _ALIGNMENT


@jit
def place(header: Header, index: Index, data: Bytes, number: int, size: int) -> int:
    """Where in `data` the payload of datagram `number` can go; -1 where there is no room yet."""
    tail_number = header["committed"]
    if number == tail_number:  # nothing waits
        return wide(0) if size <= len(data) else wide(-1)
    if number - tail_number >= len(index):
        return wide(-1)
    head = wide(header["head"])
    tail = wide(index[tail_number % len(index)]["offset"])
    if head > tail and size <= len(data) - head:
        return head
    if head > tail:
        return wide(0) if taken(size) < tail else wide(-1)
    return head if taken(size) < tail - head else wide(-1)


@jit
def put(header: Header, index: Index, data: Bytes, number: int, source: Bytes, at: int, end: int, row: Index) -> bool:
    """Put the payload `source[at:end]` in as datagram `number`, with `row[0]` saying whence and when; False where full.

    The reader does not see it until `publish`.
    """
    size = end - at
    start = place(header, index, data, number, size)
    if start < 0:
        return False
    for i in range(size):
        data[start + i] = source[at + i]
    target = index[number % len(index)]
    given = row[0]
    target["offset"] = start
    target["time_ns"] = given["time_ns"]
    target["source_high"] = given["source_high"]
    target["source_low"] = given["source_low"]
    target["bytes"] = size
    target["source_port"] = given["source_port"]
    target["destination_port"] = given["destination_port"]
    target["protocol"] = announced(source, at, end)
    target["cut"] = 0
    target["in_session"] = given["in_session"]
    header["head"] = min(start + taken(size), len(data))
    header["bytes"] += size
    return True


@jit
def publish(shared: npt.NDArray[np.void], number: int) -> None:
    """Show the reader all datagrams below `number`."""
    fence()
    shared[0]["written"] = number


@jit
def free(shared: npt.NDArray[np.void], number: int) -> None:
    """Give the room of all datagrams below `number` back to the writer."""
    fence()
    shared[0]["committed"] = number
