"""Which moment is now: the end of what was scanned, not the clock, so that a late scan does not look like silence."""

from __future__ import annotations

from storage.database.connection import Database
from storage.database.jobs.overview import newest_window


def newest_ns(database: Database, clock_ns: int) -> int:
    """End of the newest window that was scanned, UTC, or the clock where that is behind it, or nothing was scanned."""
    window = newest_window(database)
    return clock_ns if window is None else min(window[1], clock_ns)
