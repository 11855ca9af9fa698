"""Messages between ranks with their times, and the collectives that are made of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from datamodel.reconstructed.streams import Float, Int

# Time between a message's last byte leaving and its use at the receiver.
LATENCY_NS = 20_000.0
Pace = Callable[[Int, Int], Float]


@dataclass(slots=True)
class Wire:
    """A log of messages. Those between ranks of one host take no time and are seen by nobody.

    Attributes:
        host: (ranks,) host of each rank.
        bytes_per_ns: rate of a healthy link.
        pace: (sources, destinations) -> factor by which messages take longer.
    """

    host: Int
    bytes_per_ns: float
    pace: Pace
    log: list[tuple[Int, Int, Float, Float, Float, Int]] = field(default_factory=list)
    _free: dict[int, Float] = field(default_factory=dict)

    def send(self, src: Int, dst: Int, volume: npt.ArrayLike, ready_ns: Float, connection: int) -> Float:
        """One message from each source (all different) to its destination; (messages,) times of arrival.

        Messages of one source on one connection number follow one another.
        """
        size = np.broadcast_to(np.asarray(volume, np.float64), src.shape)
        free = self._free.setdefault(connection, np.zeros(len(self.host)))
        start = np.maximum(ready_ns, free[src])
        outside = self.host[src] != self.host[dst]
        end = start + np.where(outside, size / self.bytes_per_ns * self.pace(src, dst), 0.0)
        free[src] = end
        seen = outside & (size > 0)
        connections = np.full(int(seen.sum()), connection)
        self.log.append((src[seen], dst[seen], start[seen], end[seen], size[seen], connections))
        return end + LATENCY_NS

    def ring(self, order: Int, ready_ns: Float, volume: float, steps: int, connection: int) -> Float:
        """`steps` of a ring, each member passing `volume / members` on; when each member has finished.

        A member sends its next chunk when it has received it; the first when its successor has posted a buffer.
        """
        n = len(order)
        if n == 1:
            return ready_ns
        following = np.roll(order, -1)
        due = np.maximum(ready_ns, np.roll(ready_ns, -1))
        for _ in range(steps):
            arrived = np.roll(self.send(order, following, volume / n, due, connection), 1)
            due = arrived
        return np.maximum(due, np.roll(due, -1))

    def tree(self, order: Int, ready_ns: Float, volume: float, pieces: int, connection: int) -> Float:
        """All-reduce up and down a binary tree, in pieces; when each member has the last one."""
        n = len(order)
        up, down = ready_ns.copy(), np.zeros(n)
        for _ in range(pieces):
            gathered = up.copy()
            for i in range(n - 1, 0, -1):
                parent = (i - 1) // 2
                arrival = self._one(order, i, parent, volume / pieces, gathered[i], connection)
                gathered[parent] = max(gathered[parent], arrival)
            down[0] = max(gathered[0], down[0])
            for i in range(1, n):
                down[i] = self._one(order, (i - 1) // 2, i, volume / pieces, down[(i - 1) // 2], connection)
        return down

    def _one(self, order: Int, a: int, b: int, volume: float, ready_ns: float, connection: int) -> float:
        # Up and down, left and right are connections of their own: they do not wait for one another.
        lane = connection + 1000 * (1 + b)
        return float(self.send(order[[a]], order[[b]], volume, np.array([ready_ns]), lane)[0])

    def mesh(self, order: Int, ready_ns: Float, volume: float, connection: int) -> Float:
        """Everybody to everybody, each message `volume`, the nearest follower first; when each has received all."""
        n = len(order)
        done = ready_ns.copy()
        for hop in range(1, n):
            done = np.maximum(
                done, np.roll(self.send(order, np.roll(order, -hop), volume, ready_ns, connection + hop), hop)
            )
        return done
