"""The process that receives: sockets to ring (see `capture.receive.receiver`)."""

from __future__ import annotations

import signal
import socket
import threading

from capture.receive.allowing import networks
from capture.receive.receiver import Receiver
from capture.receive.ring import Ring
from capture.receive.sockets import Door, Listen
from flowprism.collector import child


def main() -> None:
    """Receive until SIGTERM, then take what has arrived and end."""
    stop = threading.Event()
    plan = child.begin(lambda *_: stop.set())
    ring = Ring(plan["ring"], plan["ring_bytes"])
    doors = [Door(socket.socket(fileno=door["socket"]), Listen(**door["listen"])) for door in plan["doors"]]
    Receiver(ring, doors, networks(plan["allow"]), stop.is_set).run()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it may come twice, also while the interpreter closes down


if __name__ == "__main__":
    main()
