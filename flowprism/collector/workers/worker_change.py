"""Another number of workers while datagrams arrive: new workers take over from those before at a commit.

New workers, with rings and sockets of their own, are started first. Once they are prepared the kernel sends everything
to them, at once; it waits in their rings. The workers before empty their sockets and rings, store all and end. Then
each new decoder goes on with its share of the states that they committed. So every datagram is decoded once, and those
of an exporter in order.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from capture.receive.socket_places import SocketPlaces
from flowprism.collector.processes.worker import Worker

# A datagram that the kernel was about to put into a socket when the choice changed is there long before.
_UNDER_WAY_S = 0.2


@dataclass(frozen=True, slots=True)
class WorkerGroup:
    """The workers of one session, who share the exporters.

    Attributes:
        session: of the lake, that they write.
        places: of their sockets (`capture.receive.socket_places`), by worker.
        workers: one each.
    """

    session: str
    places: list[int]
    workers: list[Worker]

    def watch(self, *, stopping: bool) -> None:
        """Watch all of them."""
        for worker in self.workers:
            worker.watch(stopping=stopping)

    @property
    def is_prepared(self) -> bool:
        """Whether all of them could take over exporters at once."""
        return all(worker.is_prepared for worker in self.workers)

    @property
    def finished(self) -> bool:
        """Whether all of them have stored what they received, and both processes of each have ended."""
        return all(worker.finished and worker.emptied for worker in self.workers)


class WorkerChange:
    """One change of the number of workers.

    Attributes:
        old: the workers before.
        new: the workers to come.
        is_switched: the new workers receive.
    """

    def __init__(self, old: WorkerGroup, new: WorkerGroup, sockets: SocketPlaces) -> None:
        """Take note of both groups; the new one's places are taken already."""
        self.old, self.new, self._sockets = old, new, sockets
        self.is_switched, self._switched_s, self._ends = False, 0.0, False

    def watch(self) -> bool:
        """Go a step further where that is possible; whether the change is done."""
        self.old.watch(stopping=self._ends)
        self.new.watch(stopping=False)
        if not self.is_switched:
            self._switch_if_prepared()
        elif not self._ends:
            is_settled = time.monotonic() - self._switched_s >= _UNDER_WAY_S
            self._ends = is_settled and self._sockets.is_empty(self.old.places)
        if not self.old.finished:
            return False
        self._sockets.give_back(self.old.places)
        return True

    def give_up(self) -> bool:
        """Leave all as it was where the new workers have received nothing yet; whether that was possible."""
        if self.is_switched:
            return False
        for worker in self.new.workers:
            worker.end()
            worker.close()
        self._sockets.give_back(self.new.places)
        return True

    def _switch_if_prepared(self) -> None:
        if self.new.is_prepared:
            self._sockets.steer(self.new.places)
            self.is_switched, self._switched_s = True, time.monotonic()
