"""The bundled capture, played to a collector over UDP until stopped; a link is slow at times."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from itertools import chain, cycle
from threading import Event

from capture.exporters.datagram import Datagrams
from datamodel.cluster.inventory import Inventory
from flowprism.demo.demo_feed import END_S, FAULT_FROM_S, HOLD_NS, DemoBursts, build_datagrams, load_bundled
from flowprism.replay.send_schedule import SendPace
from flowprism.replay.sender import SendResult, send

HEALTHY, SLOW = "h", "s"
# Twelve healthy iterations, eighteen with a slow link, and from then on a minute and a half of health between faults.
BEGINNING, GOING_ON = "hhsss", "h" * 15 + "sss"
_HEAD_START_NS = 200_000_000  # to make the first datagrams before the first one is due


def play_demo(
    inventory: Inventory, host: str, port: int, stop: Event, order: Iterator[str] | None = None
) -> SendResult:
    """Send until stopped, or until the order ends; every datagram when it is due, dated now.

    Args:
        inventory: of the bundled capture.
        host: of the collector.
        port: it listens at.
        stop: set it to end with the part that is being played.
        order: `HEALTHY` and `SLOW` parts; a fault that comes and goes where it is None.

    Raises:
        InputError: nothing can be sent there.
    """
    wanted = chain(BEGINNING, cycle(GOING_ON)) if order is None else order
    return send(_batches(load_bundled(inventory), wanted, stop), host, port, SendPace())


def _batches(whole: DemoBursts, order: Iterator[str], stop: Event) -> Iterator[Datagrams]:
    parts = {
        HEALTHY: (whole.between(0, FAULT_FROM_S), FAULT_FROM_S),
        SLOW: (whole.between(FAULT_FROM_S, END_S + 1), END_S - FAULT_FROM_S),
    }
    numbers = Counter[int]()
    # Behind the clock by what a meter holds back, so that no record is of the future.
    at_ns = time.time_ns() + _HEAD_START_NS - HOLD_NS
    for name in order:
        if stop.is_set():
            return
        bursts, seconds = parts[name]
        yield build_datagrams(bursts, at_ns, numbers)
        at_ns += round(seconds * 1e9)
