"""The process that keeps the lake a collector writes, where it is asked to: packs, and removes what is old."""

from __future__ import annotations

import threading

from datamodel.errors import InputError
from flowprism.collector.processes import process
from flowprism.compaction_loop import run_compaction
from storage.lake.object_store import open_store
from storage.lake.retention import DEFAULT_LIMITS

_EVERY_S = 10.0


def main() -> None:
    """Keep until SIGTERM. While another compactor is at work there, it is waited for."""
    stop = threading.Event()
    plan = process.begin(lambda *_: stop.set())
    place, why = open_store(plan["out"]), ""
    while not stop.is_set():
        try:
            run_compaction(place, DEFAULT_LIMITS, _EVERY_S, stop, process.print_message)
        except (InputError, OSError) as error:
            if str(error) != why:
                process.print_message(f"{error}; keeping waits")
            why = str(error)
            stop.wait(_EVERY_S)


if __name__ == "__main__":
    main()
