"""Keeping a lake for long: a round every few seconds; a disk that is full is told, and tried again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from threading import Event

from storage.keeper import Keeper, Tended
from storage.place import Place
from storage.retention import Limit


def keep(place: Place, kept: Mapping[str, Limit], every_s: float, stop: Event, tell: Callable[[str], None]) -> None:
    """Tend a lake until `stop`; what each round did, and what went wrong, is told in lines.

    Raises:
        InputError: it is no lake, or another keeper is at work there.
        OSError: it cannot be written in the first place.
    """
    with closing(Keeper(place, kept)) as keeper:
        while not stop.is_set():
            try:
                for line in told(keeper.tend()):
                    tell(line)
            except OSError as error:
                tell(f"{error.filename or place.name}: {error.strerror or error}; trying again")
            stop.wait(every_s)


def told(done: Tended) -> list[str]:
    """What a round did, in lines; none where it did nothing."""
    said = [f"packed {done.packed_rows:,} records of {done.packed_segments} segments"] if done.packed_segments else []
    said += [f"removed {rows:,} records of {what}" for what, rows in sorted(done.expired_rows.items())]
    said += [f"deleted {done.removed_files} files"] if done.removed_files else []
    return [*done.warnings, *(["; ".join(said)] if said else [])]
