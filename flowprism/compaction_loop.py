"""Runs compaction rounds periodically; a full disk is reported and tried again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from threading import Event

from storage.lake.compactor import CompactionRound, Compactor
from storage.lake.object_store import ObjectStore
from storage.lake.retention import Limit


def run_compaction(
    store: ObjectStore, kept: Mapping[str, Limit], every_s: float, stop: Event, report: Callable[[str], None]
) -> None:
    """Compact a lake until `stop`; report results and errors of each round in lines.

    Raises:
        InputError: it is no lake, or another compactor is at work there.
        OSError: it cannot be written in the first place.
    """
    with closing(Compactor(store, kept)) as compactor:
        while not stop.is_set():
            try:
                for line in format_round(compactor.run_round()):
                    report(line)
            except OSError as error:
                report(f"{error.filename or store.name}: {error.strerror or error}; trying again")
            stop.wait(every_s)


def format_round(done: CompactionRound) -> list[str]:
    """What a round did, in lines; none where it did nothing."""
    said = [f"packed {done.packed_rows:,} records of {done.packed_segments} segments"] if done.packed_segments else []
    said += [f"removed {rows:,} records of {what}" for what, rows in sorted(done.expired_rows.items())]
    said += [f"deleted {done.removed_files} files"] if done.removed_files else []
    return [*done.warnings, *(["; ".join(said)] if said else [])]
