"""Which moment is now: the end of what was scanned, not the clock, so that a late scan does not look like silence."""

from __future__ import annotations

from dataclasses import dataclass

from storage.database.engine import Database
from storage.database.overview import newest_window

MINUTE_NS = 60_000_000_000
HOUR_NS = 60 * MINUTE_NS
DAY_NS = 24 * HOUR_NS


@dataclass(frozen=True, slots=True)
class Moment:
    """The newest of what is known.

    Attributes:
        now_ns: end of the newest window that was scanned, or the clock where that is behind it, UTC.
        live_since_ns: its begin: what was seen behind that time is live.
    """

    now_ns: int
    live_since_ns: int


def moment(database: Database, clock_ns: int) -> Moment:
    """The newest moment that scans tell of; the clock's before the first scan."""
    window = newest_window(database)
    if window is None:
        return Moment(clock_ns, clock_ns)
    return Moment(min(window[1], clock_ns), min(window[0], clock_ns))
