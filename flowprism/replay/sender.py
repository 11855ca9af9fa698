"""Datagrams sent many at a time (Linux sendmmsg(2)), each when it is due."""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import time
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from capture.exporters.datagram import Datagrams, Index
from capture.receive.mmsg_structures import MESSAGE, PIECE
from datamodel.errors import InputError
from flowprism.replay.send_schedule import Schedule, SendPace, Times

_MOST_MESSAGES = 64  # in one call; also bounds by how much a datagram can be early within it: not at all
_REFUSED = (errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH)
_BUFFER_BYTES = 4 << 20
_SHORTEST_SLEEP_S = 20e-6


@dataclass(slots=True)
class SendResult:
    """What became of a replay.

    Attributes:
        datagrams, bytes: sent.
        cut: datagrams left out because the capture does not hold them whole.
        refused: times the receiver's host reported a closed port.
        seconds: from the first to the last.
        late_s: by how much datagrams were sent after they were due, summed.
        latest_s: the most of it.
    """

    datagrams: int = 0
    bytes: int = 0
    cut: int = 0
    refused: int = 0
    seconds: float = 0.0
    late_s: float = 0.0
    latest_s: float = 0.0


def send(batches: Iterable[Datagrams], host: str, port: int, pace: SendPace) -> SendResult:
    """Send all datagrams of `batches`, in order; source addresses become this machine's.

    Raises:
        InputError: the receiver's name is not known, or the system does not send to it.
    """
    sent = SendResult()
    with _socket(host, port) as sock:
        messages = _Messages(sock)
        schedule = Schedule(pace)
        start = 0.0
        for batch in batches:
            start = start or time.perf_counter()  # not before there is something to send
            whole = batch.index[(batch.index["cut"] == 0) & (batch.index["bytes"] > 0)]
            sent.cut += len(batch) - len(whole)
            due = schedule.due_s(whole["time_ns"])
            _send_batch(messages, Datagrams(batch.data, whole), due, start, sent)
        sent.seconds = time.perf_counter() - start if start else 0.0
    return sent


def _send_batch(messages: _Messages, batch: Datagrams, due: Times, start: float, sent: SendResult) -> None:
    messages.load(batch)
    at = 0
    while at < len(batch):
        now = time.perf_counter() - start
        stop = int(np.searchsorted(due, now, "right"))
        if stop <= at:
            time.sleep(max(due[at] - now, _SHORTEST_SLEEP_S))
            continue
        count = messages.send(at, min(stop, at + _MOST_MESSAGES))
        late = now - due[at : at + count]
        sent.late_s += float(late.sum())
        sent.latest_s = max(sent.latest_s, float(late.max(initial=0.0)))
        sent.datagrams += count
        sent.bytes += int(batch.index["bytes"][at : at + count].sum())
        sent.refused = messages.refused
        at += count


class _Messages:
    """The system's view of a batch of datagrams."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._call = ctypes.CDLL(None, use_errno=True).sendmmsg
        self._pieces = np.zeros(0, PIECE)
        self._messages = np.zeros(0, MESSAGE)
        self.refused = 0

    def load(self, batch: Datagrams) -> None:
        """Point at the payloads of a batch; they must stay where they are until they are sent."""
        index: Index = batch.index
        self._pieces = np.zeros(len(index), PIECE)
        self._pieces["base"] = np.uint64(batch.data.ctypes.data) + index["offset"].astype(np.uint64)
        self._pieces["length"] = index["bytes"]
        self._messages = np.zeros(len(index), MESSAGE)
        place = np.arange(len(index), dtype=np.uint64) * np.uint64(PIECE.itemsize)
        self._messages["pieces"] = np.uint64(self._pieces.ctypes.data) + place
        self._messages["piece_count"] = 1

    def send(self, at: int, stop: int) -> int:
        """Send messages `at` to below `stop`; how many of them the system took."""
        address = ctypes.c_void_p(self._messages.ctypes.data + at * MESSAGE.itemsize)
        count = int(self._call(self._socket.fileno(), address, stop - at, 0))
        if count >= 0:
            return count
        number = ctypes.get_errno()
        if number in _REFUSED:  # reported for an earlier datagram; this one has not been tried
            self.refused += 1
            return 0
        if number == errno.EINTR:
            return 0
        host, port = self._socket.getpeername()[:2]
        raise InputError(f"{host}:{port}: cannot send: {os.strerror(number)}")


def _socket(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        sock = socket.socket(family, kind, protocol)
    except OSError as error:
        raise InputError(f"{host}:{port}: {error.strerror or error}") from None
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)
        sock.connect(address)
    except OSError as error:
        sock.close()
        raise InputError(f"{host}:{port}: {error.strerror or error}") from None
    return sock
