"""The process that receives: sockets to ring (see `capture.receive.receiver`)."""

from __future__ import annotations

import signal
import socket
import threading

from capture.receive.receiver import Receiver
from capture.receive.ring import Ring
from capture.receive.sockets import Listen, ListeningSocket
from capture.receive.source_filter import networks
from flowprism.collector.processes import process


def main() -> None:
    """Receive until SIGTERM, then take what has arrived and end."""
    stop = threading.Event()
    plan = process.begin(lambda *_: stop.set())
    ring = Ring(plan["ring"], plan["ring_bytes"])
    doors = [ListeningSocket(socket.socket(fileno=door["socket"]), Listen(**door["listen"])) for door in plan["doors"]]
    Receiver(ring, doors, networks(plan["allow"]), stop.is_set).run()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it may come twice, also while the interpreter closes down


if __name__ == "__main__":
    main()
