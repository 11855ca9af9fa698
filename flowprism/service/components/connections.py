"""HTTP connections with bounds: a request that does not come to its end, or one connection too many, is closed.

uvicorn waits for the rest of a request as long as a client likes. A client that opens connections and sends nothing
would take every file descriptor of the process, and no other client would get an answer.
"""

from __future__ import annotations

import asyncio
import resource
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

# Descriptors that are no connections: the database's, the lake's files while they are read, logs, threads' pipes, and
# connections that were accepted while others are still being closed, three rounds of the loop.
_OTHER_DESCRIPTORS = 128
_ACCEPTED_AT_ONCE = 16
HEADER, BODY, TOO_MANY = "header", "body", "too many"


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Bounds of the connections of one process.

    Attributes:
        most: connections at once. A browser keeps up to six, and a page's stream of events one of them.
        header_s: from a request's first byte, or the connection, to the end of its headers. They fit into one or two
            packets; ten seconds cover a few retransmissions.
        body_s: from there to the end of the body: the largest one (`access.most_body_bytes`) at 1 MB/s.
    """

    most: int = 2000
    header_s: float = 10.0
    body_s: float = 64.0


def raise_descriptor_limit(limits: ConnectionLimits) -> ConnectionLimits:
    """Allow this process as many descriptors as the limits need; the answer has as many connections as it got."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = limits.most + _OTHER_DESCRIPTORS
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return limits
    return ConnectionLimits(max(soft - _OTHER_DESCRIPTORS, 1), limits.header_s, limits.body_s)


class BoundedConnection(H11Protocol):
    """A connection that is closed where its client keeps it without a whole request.

    Attributes:
        limits: bounds.
        closed: called with `HEADER`, `BODY` or `TOO_MANY` for each connection that was closed for it.
    """

    limits: ClassVar[ConnectionLimits]
    closed: ClassVar[Callable[[str], None]]

    since_s = 0.0
    _timer: asyncio.TimerHandle | None = None
    _waits_for = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """Begin to wait; with too many of them the one that has waited longest for its request makes room."""
        super().connection_made(transport)
        self._wait(HEADER)
        if len(self.connections) > self.limits.most:
            found = [one for one in self.connections if isinstance(one, BoundedConnection) and one.is_waiting]
            min(found, key=lambda one: one.since_s, default=self).close(TOO_MANY)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take in a part of a request."""
        super().data_received(data)
        state = repr(self.conn.their_state)  # h11's names of states
        if state == "IDLE":
            self._wait(HEADER)
        elif state == "SEND_BODY":
            self._wait(BODY)
        else:
            self._stop()

    @property
    def is_waiting(self) -> bool:
        """Whether no request is being answered: nothing is lost with the connection."""
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is None or cycle.response_complete

    def close(self, why: str) -> None:
        """Close it at once, and count why."""
        self._stop()
        self.connections.discard(self)  # room at once, not in the loop's next round
        type(self).closed(why)
        self.transport.abort()

    def _wait(self, what: str) -> None:
        """Begin to wait for the rest of a header or body; goes on where it waits for that already."""
        if self._waits_for != what:
            self._stop()
            self._waits_for, self.since_s = what, time.monotonic()
            seconds = self.limits.header_s if what == HEADER else self.limits.body_s
            self._timer = self.loop.call_later(seconds, self.close, what)

    def _stop(self) -> None:
        self._waits_for = ""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def connection_class(limits: ConnectionLimits, closed: Callable[[str], None]) -> type[BoundedConnection]:
    """The protocol that uvicorn is to use, with these limits; `closed` is called with why for each one closed."""
    return type("LimitedConnection", (BoundedConnection,), {"limits": limits, "closed": staticmethod(closed)})


class BoundedServer(uvicorn.Server):
    """uvicorn's server, accepting a few connections at a time, and ending streams before it waits for answers.

    asyncio accepts as many at once as the queue of the socket is long, before any of them can be closed. A stream that
    lasts as long as a page is open would be cut off in its middle, with an error in the log.
    """

    def __init__(self, config: uvicorn.Config, end_streams: Callable[[], None]) -> None:
        super().__init__(config)
        self._end_streams = end_streams

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept; the kernel's queue stays as long as it was configured."""
        queue, self.config.backlog = self.config.backlog, _ACCEPTED_AT_ONCE
        await super().startup(sockets)
        for door in sockets or ():
            door.listen(queue)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more connections, end streams, and wait for answers that are under way."""
        self._end_streams()
        await super().shutdown(sockets)
