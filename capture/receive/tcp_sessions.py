"""IPFIX over TCP (RFC 7011 section 10.4): messages are found in the stream and put into the ring like datagrams.

What does not look like IPFIX ends its session: behind a wrong length nothing can be trusted. When the ring is full a
session is not read, and TCP has its sender wait: nothing is lost.
"""

from __future__ import annotations

import resource
import select
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from capture.exporters.datagram import DATAGRAM
from capture.receive.ring import Ring, publish, put
from capture.receive.sockets import ListeningSocket
from capture.receive.source_filter import Networks, is_allowed, words
from capture.tables.read_buffer import Bytes, as_array

MOST_SESSIONS = 256
_OTHER_DESCRIPTORS = 64  # what else a receiver may open: its sockets, and files
IDLE_S = 600.0  # exporters send at least their templates more often
_READ_BYTES = 1 << 18
_READS_AT_ONCE = 4  # so that one session does not keep the others waiting
_HEADER_BYTES, _VERSION = 16, 10
_SWEEP_S = 1.0


@dataclass(slots=True)
class _Session:
    connection: socket.socket
    address: tuple[int, int]
    peer_port: int
    port: int
    number: int
    received_s: float
    waiting: bytearray = field(default_factory=bytearray)


class Sessions:
    """The TCP sessions of one receiver. Memory: at most one message and one read, 320 kB, for each session."""

    def __init__(self, ring: Ring, allowed: Networks, wait_for_room: Callable[[], None]) -> None:
        self._ring, self._allowed, self._wait_for_room = ring, allowed, wait_for_room
        self._listeners: dict[int, tuple[ListeningSocket, int]] = {}
        self._open: dict[int, _Session] = {}
        self._row = np.zeros(1, DATAGRAM)
        self._row["in_session"] = 1
        self._poller = select.poll()
        self._swept = time.monotonic()
        self._most = min(MOST_SESSIONS, max(1, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - _OTHER_DESCRIPTORS))

    def add_listener(self, door: ListeningSocket, number: int) -> None:
        """Accept sessions at `door`, whose number in the ring's counters is `number`."""
        self._listeners[door.socket.fileno()] = (door, number)

    def watch(self, poller: select.poll) -> None:
        """Have `poller` report listeners now, and sessions as they come and go."""
        self._poller = poller
        for descriptor in self._listeners:
            poller.register(descriptor, select.POLLIN)

    def serve(self, descriptor: int) -> None:
        """See to a listener or session that `poller` has reported."""
        if descriptor in self._listeners:
            self._accept(*self._listeners[descriptor])
        elif descriptor in self._open:
            self._read(self._open[descriptor], _READS_AT_ONCE)

    def end_idle(self) -> None:
        """End the sessions from which nothing has come for long."""
        now = time.monotonic()
        if now - self._swept < _SWEEP_S:
            return
        self._swept = now
        for session in [s for s in self._open.values() if now - s.received_s > IDLE_S]:
            self._end(session, "sessions_idle")

    def finish(self, deadline: float) -> None:
        """Take what has arrived in all sessions, as long as `deadline` (time.monotonic) allows, and end them."""
        for descriptor in list(self._listeners):
            self._accept(*self._listeners[descriptor])
        for session in list(self._open.values()):
            while self._open.get(session.connection.fileno()) is session and time.monotonic() < deadline:
                if not self._read(session, 1):
                    break
            if session.connection.fileno() in self._open:
                self._end(session)

    def _accept(self, door: ListeningSocket, number: int) -> None:
        header = self._ring.header
        while True:
            try:
                connection, peer = door.socket.accept()
            except OSError:  # no connection waits, or it is gone
                return
            address = words(peer[0])
            if len(self._open) >= self._most or not is_allowed(self._allowed, *address):
                header["sessions_refused"] += 1
                connection.close()
                continue
            connection.setblocking(False)
            now = time.monotonic()
            session = _Session(connection, address, peer[1], door.listen.port, number, now)
            self._open[connection.fileno()] = session
            self._poller.register(connection, select.POLLIN)
            header["sessions"] += 1
            header["sessions_open"] = len(self._open)

    def _read(self, session: _Session, times: int) -> bool:
        """Read what has come; whether there may be more."""
        for _ in range(times):
            try:
                content = session.connection.recv(_READ_BYTES)
            except BlockingIOError:
                return False
            except OSError:
                content = b""
            if not content:
                self._end(session)
                return False
            session.received_s = time.monotonic()
            session.waiting += content
            if not self._deliver(session):
                self._end(session, "sessions_broken")
                return False
        return True

    def _deliver(self, session: _Session) -> bool:
        """Put the whole messages that wait into the ring; False where what comes is no IPFIX."""
        data = bytes(session.waiting)
        source = as_array(data)
        now_ns, at = time.time_ns(), 0
        while at + _HEADER_BYTES <= len(data):
            length = int.from_bytes(data[at + 2 : at + 4], "big")
            if int.from_bytes(data[at : at + 2], "big") != _VERSION or length < _HEADER_BYTES:
                return False
            if at + length > len(data):
                break
            self._put(session, source, at, at + length, now_ns)
            at += length
        del session.waiting[:at]
        return True

    def _put(self, session: _Session, source: Bytes, at: int, end: int, now_ns: int) -> None:
        ring = self._ring
        row = self._row[0]
        row["time_ns"] = now_ns
        row["source_high"], row["source_low"] = session.address
        row["source_port"], row["destination_port"] = session.peer_port, session.port
        number = int(ring.header["written"])
        while not put(ring.header, ring.index, ring.data, number, source, at, end, self._row):
            self._wait_for_room()
        publish(ring.shared, number + 1)
        ring.header["received"][session.number] += 1

    def _end(self, session: _Session, counter: str = "") -> None:
        header = self._ring.header
        if counter:
            header[counter] += 1
        if session.waiting:
            header["messages_cut"] += 1
        descriptor = session.connection.fileno()
        self._poller.unregister(descriptor)
        del self._open[descriptor]
        session.connection.close()
        header["sessions_open"] = len(self._open)
