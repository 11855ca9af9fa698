"""The sockets of workers that come and go: those that share a port keep their places as long as the collector runs.

The kernel knows the sockets of a port by the order in which they were bound, and closing one would move another to its
place. So none is closed: a place that is free receives nothing until a worker takes it again.
"""

from __future__ import annotations

import select
import socket

from capture.receive.sockets import Listen, ListeningSocket, add_sockets, open_sockets
from capture.receive.steering import steer


class SocketPlaces:
    """All sockets, by place: one socket for each address that is listened on.

    Attributes:
        doors: the sockets of each place, in the order of the addresses.
    """

    def __init__(self, doors: list[list[ListeningSocket]], buffer_bytes: int) -> None:
        """Take over sockets that are open.

        Args:
            doors: the sockets of each place; empty where nothing is listened on.
            buffer_bytes: kernel memory to ask for, for each socket to come.
        """
        self.doors, self._buffer_bytes = doors, buffer_bytes
        self._taken: set[int] = set()

    @classmethod
    def opened(cls, listens: tuple[Listen, ...], workers: int, buffer_bytes: int) -> SocketPlaces:
        """Open the sockets of so many workers.

        Raises:
            InputError: a port is taken or not permitted, or an address is not ours.
        """
        return cls(open_sockets(listens, workers, buffer_bytes) if listens else [], buffer_bytes)

    def take(self, workers: int) -> list[int]:
        """Free places for so many workers; where there are too few, more sockets are opened.

        Datagrams must have been steered to the places in use: without that new sockets have a share of them at once.

        Raises:
            OSError: no more can be opened.
        """
        free = [place for place in range(len(self.doors)) if place not in self._taken][:workers]
        while len(free) < workers:
            free.append(len(self.doors))
            self.doors.append(add_sockets(self.doors[0], self._buffer_bytes))
        self._taken.update(free)
        return free

    def give_back(self, places: list[int]) -> None:
        """Nothing is sent to these places any more, and they are empty."""
        self._taken.difference_update(places)

    def refuse_late(self) -> None:
        """End TCP connections whose handshake was over only after the place of their socket was given back.

        The kernel accepts what they send, but nothing reads it; when they end, their exporters connect again.
        """
        for door in (door for place, own in enumerate(self.doors) if place not in self._taken for door in own):
            while door.listen.tcp and (connection := _accept(door.socket)):
                connection.close()

    def steer(self, places: list[int]) -> None:
        """From now on each source's datagrams go to one of these places."""
        for door in self.doors[0]:
            steer(door.socket, door.socket.family, places)

    def is_empty(self, places: list[int]) -> bool:
        """Whether nothing waits in the sockets of these places."""
        poller = select.poll()
        for place in places:
            for door in self.doors[place]:
                poller.register(door.socket, select.POLLIN)
        return not poller.poll(0)

    def close(self) -> None:
        """Close all of them."""
        for door in (door for own in self.doors for door in own):
            door.socket.close()


def _accept(listener: socket.socket) -> socket.socket | None:
    """A connection that waits; None where there is none."""
    try:
        return listener.accept()[0]
    except OSError:
        return None
