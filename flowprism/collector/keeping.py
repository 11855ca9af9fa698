"""The process that keeps the lake a collector writes, where it is asked to: packs, and removes what is old."""

from __future__ import annotations

import threading

from datamodel.errors import InputError
from flowprism.collector import child
from flowprism.keeping import keep
from storage.place import place_at
from storage.retention import DEFAULT_LIMITS

_EVERY_S = 10.0


def main() -> None:
    """Keep until SIGTERM. While another keeper is at work there, it is waited for."""
    stop = threading.Event()
    plan = child.begin(lambda *_: stop.set())
    place, why = place_at(plan["out"]), ""
    while not stop.is_set():
        try:
            keep(place, DEFAULT_LIMITS, _EVERY_S, stop, child.complain)
        except (InputError, OSError) as error:
            if str(error) != why:
                child.complain(f"{error}; keeping waits")
            why = str(error)
            stop.wait(_EVERY_S)


if __name__ == "__main__":
    main()
