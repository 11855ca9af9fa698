"""Datagrams taken from a socket many at a time (Linux recvmmsg(2)): where each lies and when it came."""

from __future__ import annotations

import ctypes
import errno
import os
import socket
from functools import lru_cache

import numpy as np

from capture.jit import jit
from capture.packets.packet_columns import Record
from capture.receive.mmsg_structures import CONTROL, MESSAGE, PIECE
from capture.receive.sockets import TIME_STAMPS
from capture.tables.frame_index import INDEX, NO_TIME, Index
from capture.tables.read_buffer import Bytes

_MOST_MESSAGES = 1024  # the kernel takes no more in one call (UIO_MAXIOV)
_STOPS = (errno.EAGAIN, errno.EINTR)


class MessageBatch:
    """Room for one batch: every datagram has a slot of fixed size in `data`; what is longer is cut, its length kept."""

    def __init__(self, slot_bytes: int) -> None:
        """Make room for 1,024 datagrams of `slot_bytes` each."""
        self.data: Bytes = np.zeros(_MOST_MESSAGES * slot_bytes, np.uint8)
        self.index = np.zeros(_MOST_MESSAGES, INDEX)
        self._slot_bytes = slot_bytes
        self._controls = np.zeros(_MOST_MESSAGES, CONTROL)
        pieces = np.zeros(_MOST_MESSAGES, PIECE)
        self._messages = np.zeros(_MOST_MESSAGES, MESSAGE)
        number = np.arange(_MOST_MESSAGES, dtype=np.uint64)
        pieces["base"] = self.data.ctypes.data + number * np.uint64(slot_bytes)
        pieces["length"] = slot_bytes
        self._messages["pieces"] = pieces.ctypes.data + number * np.uint64(PIECE.itemsize)
        self._messages["piece_count"] = 1
        self._messages["control"] = self._controls.ctypes.data + number * np.uint64(CONTROL.itemsize)
        self._pieces = pieces  # the kernel reads them at every call

    def receive(self, sock: socket.socket, link: int) -> int:
        """Take what waits in `sock`, without waiting for more; rows of `index` filled.

        Args:
            sock: a socket with TIME_STAMPS switched on.
            link: LINKTYPE_ value of what it delivers.

        Raises:
            OSError: the socket failed.
        """
        self._messages["control_bytes"] = CONTROL.itemsize  # the kernel writes what it used
        flags = socket.MSG_DONTWAIT | socket.MSG_TRUNC  # the latter asks for the length before the cut
        count = _recvmmsg()(sock.fileno(), self._messages.ctypes.data, _MOST_MESSAGES, flags, None)
        if count < 0:
            number = ctypes.get_errno()
            if number in _STOPS:
                return 0
            raise OSError(number, os.strerror(number))
        index_messages(self._messages[:count], self._controls, self._slot_bytes, link, self.index)
        return int(count)


@lru_cache
def _recvmmsg() -> ctypes._NamedFuncPointer:
    function = ctypes.CDLL(None, use_errno=True).recvmmsg
    function.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_int, ctypes.c_void_p]
    return function


@jit
def index_messages(messages: Record, controls: Record, slot_bytes: int, link: int, index: Index) -> None:
    """Fill a row of `index` from every received message; NO_TIME where it did not come with its time."""
    for i in range(len(messages)):
        length, control, row = messages[i]["length"], controls[i], index[i]
        row["offset"] = i * slot_bytes
        row["captured_bytes"] = min(length, slot_bytes)
        row["wire_bytes"] = min(length, 0x7FFFFFFF)
        row["link"] = link
        row["interface"] = 0
        row["time_ns"] = NO_TIME
        if messages[i]["control_bytes"] >= 32 and control["level"] == 1 and control["type"] == TIME_STAMPS:
            row["time_ns"] = control["time_s"] * 1_000_000_000 + control["part_ns"]
