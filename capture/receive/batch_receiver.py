"""Datagrams taken from a UDP socket many at a time (Linux recvmmsg(2)) and put into a ring by one compiled pass."""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import sys
import time

import numpy as np
import numpy.typing as npt

from capture.exporters.datagram import DATAGRAM, Index
from capture.jit import jit, wide
from capture.packets.headers import MAPPED, be16, be32, be64
from capture.receive.mmsg_structures import CONTROL, MESSAGE, PIECE
from capture.receive.ring import Ring, publish, put
from capture.receive.ring_header import Header
from capture.receive.sockets import TIME_STAMPS
from capture.receive.source_check import allows
from capture.receive.source_filter import Networks
from capture.tables.read_buffer import Bytes

MOST_MESSAGES = 512
# The longest UDP payload, and so much that the slots' beginnings do not all fall on the same lines of the cache.
_SLOT_BYTES = 65_536 + 1_344
_NANOSECONDS = 1_000_000_000
_NO_MESSAGE = (errno.EAGAIN, errno.EINTR, errno.ECONNREFUSED)

_FAMILY_IPV4, _FAMILY_IPV6 = int(socket.AF_INET), int(socket.AF_INET6)
_LITTLE = sys.byteorder == "little"

_NAME_BYTES = 32  # holds a sockaddr_in or a sockaddr_in6

_Rows = npt.NDArray[np.void]


class BatchReceiver:
    """Room for the datagrams of one call, and the way from there into a ring.

    Memory: 32 MiB of address space; only the part that datagrams fill is ever used.
    """

    def __init__(self, ring: Ring, allowed: Networks) -> None:
        self._ring, self._allowed = ring, allowed
        self._data: Bytes = np.zeros(MOST_MESSAGES * _SLOT_BYTES, np.uint8)
        self._names: Bytes = np.zeros(MOST_MESSAGES * _NAME_BYTES, np.uint8)
        self._controls = np.zeros(MOST_MESSAGES, CONTROL)
        self._pieces = np.zeros(MOST_MESSAGES, PIECE)
        self._messages = np.zeros(MOST_MESSAGES, MESSAGE)
        self._row: Index = np.zeros(1, DATAGRAM)
        self._receive = ctypes.CDLL(None, use_errno=True).recvmmsg
        number = np.arange(MOST_MESSAGES, dtype=np.uint64)
        self._pieces["base"] = self._data.ctypes.data + number * np.uint64(_SLOT_BYTES)
        self._pieces["length"] = _SLOT_BYTES
        self._messages["name"] = self._names.ctypes.data + number * np.uint64(_NAME_BYTES)
        self._messages["pieces"] = self._pieces.ctypes.data + number * np.uint64(PIECE.itemsize)
        self._messages["piece_count"] = 1
        self._messages["control"] = self._controls.ctypes.data + number * np.uint64(CONTROL.itemsize)
        self._address = self._messages.ctypes.data
        self._count, self._next, self._now_ns = 0, 0, 0
        self.deliver(0, 0)  # nothing yet: it is compiled now, not while datagrams wait
        stamp(self._controls, self._messages, 0, 0)

    def receive(self, sock: socket.socket) -> int:
        """Take what waits in `sock`, up to MOST_MESSAGES, without waiting for more; how many there were.

        What the call before has brought must have been delivered.

        Raises:
            OSError: the socket does not work.
        """
        self._messages["name_bytes"] = _NAME_BYTES
        self._messages["control_bytes"] = CONTROL.itemsize
        flags = socket.MSG_DONTWAIT
        count = self._receive(sock.fileno(), ctypes.c_void_p(self._address), MOST_MESSAGES, flags, None)
        self._now_ns = time.time_ns()
        self._next = 0
        self._count = max(count, 0)
        if count < 0 and (number := ctypes.get_errno()) not in _NO_MESSAGE:
            raise OSError(number, os.strerror(number))
        return self._count

    def deliver(self, port: int, number: int) -> bool:
        """Put what was received into the ring, in order; False where the ring is full and a part still waits.

        Args:
            port: that they were sent to.
            number: of the socket, in the header's counters.
        """
        self._next = deliver(
            self._ring.shared,
            self._ring.index,
            self._ring.data,
            (self._data, self._names, self._controls, self._messages),
            self._next,
            self._count,
            port,
            number,
            self._now_ns,
            self._allowed,
            self._row,
        )
        return self._next == self._count

    def newest_ns(self) -> int:
        """When the last datagram received arrived; 0 where there was none."""
        return int(stamp(self._controls, self._messages, self._count - 1, self._now_ns)) if self._count else 0


@jit
def deliver(
    shared: npt.NDArray[np.void],
    index: Index,
    data: Bytes,
    box: tuple[Bytes, Bytes, _Rows, _Rows],
    first: int,
    count: int,
    port: int,
    number: int,
    now_ns: int,
    allowed: Networks,
    row: Index,
) -> int:
    """Put messages `first` to below `count` into the ring; the answer is the first that found no room."""
    scratch, names, controls, messages = box
    header = shared[0]
    before = wide(header["written"])
    done = before
    given = row[0]
    given["destination_port"] = port
    i = first
    while i < count:
        source_of(names, i * _NAME_BYTES, given)
        if len(allowed) and not allows(allowed, given["source_high"], given["source_low"]):
            refuse(header, given["source_high"], given["source_low"])
            i += 1
            continue
        given["time_ns"] = stamp(controls, messages, i, now_ns)
        at = i * _SLOT_BYTES
        if not put(header, index, data, done, scratch, at, at + wide(messages[i]["length"]), row):
            break
        done += 1
        i += 1
    header["received"][number] += done - before
    publish(shared, done)
    return i


@jit
def stamp(controls: _Rows, messages: _Rows, i: int, now_ns: int) -> int:
    """When message `i` arrived, as the kernel stamped it; where it did not, when it was fetched."""
    control = controls[i]
    if messages[i]["control_bytes"] < 32 or control["type"] != TIME_STAMPS:
        return wide(now_ns)
    return wide(control["time_s"]) * _NANOSECONDS + wide(control["part_ns"])


@jit
def source_of(names: Bytes, at: int, row: Header) -> None:
    """Fill `row` with the address and port in the sockaddr at `at`."""
    family = wide(names[at]) | wide(names[at + 1]) << 8 if _LITTLE else be16(names, at)
    row["source_port"] = be16(names, at + 2)
    row["source_high"] = 0
    row["source_low"] = 0
    if family == _FAMILY_IPV4:
        row["source_low"] = MAPPED | be32(names, at + 4)
    elif family == _FAMILY_IPV6:
        row["source_high"] = be64(names, at + 8)
        row["source_low"] = be64(names, at + 16)


@jit
def refuse(header: Header, high: int, low: int) -> None:
    """Count a refused datagram, by its source while the table has room."""
    header["refused"] += 1
    table = header["refused_sources"]
    slots = len(table)
    start = (low ^ low >> 32 ^ low >> 16 ^ high ^ high >> 32) & 0x7FFFFFFF
    for step in range(8):
        entry = table[(start + step) % slots]
        if entry["datagrams"] == 0 or (entry["high"] == high and entry["low"] == low):
            entry["high"] = high
            entry["low"] = low
            entry["datagrams"] += 1
            return
    header["refused_elsewhere"] += 1
