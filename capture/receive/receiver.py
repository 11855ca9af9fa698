"""The receiver: takes what waits in the sockets and puts it into the ring, and does nothing else.

It has a process of its own, so that the kernel's buffers are emptied however long decoding or a disk takes. When the
ring is full it waits; datagrams then pile up in the kernel, which drops and counts what it has no room for.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable

from capture.receive.batch_receiver import MOST_MESSAGES, BatchReceiver
from capture.receive.ring import Ring
from capture.receive.sockets import ListeningSocket
from capture.receive.source_filter import Networks
from capture.receive.tcp_sessions import Sessions

_POLL_MS = 200
_PATIENCE_S = 0.001  # lets datagrams gather: a call for each would cost more than their decoding
_FULL_S = 0.001
_DRAIN_S = 5.0  # within which sockets are emptied at the end


class Receiver:
    """Moves datagrams from sockets into a ring until stopped."""

    def __init__(
        self, ring: Ring, doors: list[ListeningSocket], allowed: Networks, stopping: Callable[[], bool]
    ) -> None:
        """Prepare.

        Args:
            ring: where datagrams go; nothing else writes to it.
            doors: sockets to receive from; their place in the list is their number in the ring's counters.
            allowed: networks that may send; all where there is none.
            stopping: asked often; once it is true the sockets are emptied and `run` returns.
        """
        self._ring, self._stopping = ring, stopping
        ring.header["closed"] = 0
        self._mailbox = BatchReceiver(ring, allowed)
        self._udp = {d.socket.fileno(): (d.socket, d.listen.port, n) for n, d in enumerate(doors) if not d.listen.tcp}
        self._sessions = Sessions(ring, allowed, self._wait_for_room)
        self._poller = select.poll()
        for number, door in enumerate(doors):
            if door.listen.tcp:
                self._sessions.add_listener(door, number)
        self._sessions.watch(self._poller)
        for descriptor in self._udp:
            self._poller.register(descriptor, select.POLLIN)
        ring.header["receivers"] += 1

    def run(self) -> None:
        """Receive until stopped, then take what has arrived and close the ring."""
        while not self._stopping():
            received = self._pass(self._poller.poll(_POLL_MS))
            if 0 < received < MOST_MESSAGES // 2:
                time.sleep(_PATIENCE_S)
            self._sessions.end_idle()
        self._drain(time.time_ns())
        self._ring.header["closed"] = 1

    def _pass(self, events: list[tuple[int, int]]) -> int:
        """Empty the sockets that have something; the answer is the number of datagrams."""
        received = 0
        for descriptor, _ in events:
            if descriptor in self._udp:
                received += self._take(*self._udp[descriptor])
            else:
                self._sessions.serve(descriptor)
        return received

    def _take(self, sock: socket.socket, port: int, number: int) -> int:
        count = self._mailbox.receive(sock)
        while not self._mailbox.deliver(port, number):
            self._wait_for_room()
        return count

    def _wait_for_room(self) -> None:
        header = self._ring.header
        header["waits"] += 1
        before = time.monotonic_ns()
        time.sleep(_FULL_S)
        header["wait_ns"] += time.monotonic_ns() - before

    def _drain(self, until_ns: int) -> None:
        """Take what arrived until `until_ns`; later datagrams are ignored."""
        deadline = time.monotonic() + _DRAIN_S
        for sock, port, number in self._udp.values():
            while self._take(sock, port, number) and self._mailbox.newest_ns() <= until_ns:
                if time.monotonic() > deadline:
                    break
        self._sessions.finish(deadline)
