"""How many jobs are how, at a glance."""

from __future__ import annotations

from flowprism.service.answers.moments import DAY_NS, Moment, moment
from flowprism.service.shelf import Shelf
from flowprism.service.viewer import Viewer
from storage.database.census import Census
from storage.database.census import census as counted


def census(shelf: Shelf, viewer: Viewer, now_ns: int) -> Census:
    """Jobs of the newest window by health, open incidents, and GPU-hours lost since midnight UTC.

    Args:
        shelf: where answers are read from.
        viewer: who asks; one tenant's viewer is told of its jobs.
        now_ns: the clock, UTC.

    Raises:
        StorageError: the database cannot be reached.
    """
    now: Moment = moment(shelf.database, now_ns)
    return counted(shelf.database, viewer.tenant, now.live_since_ns, now.now_ns // DAY_NS * DAY_NS)
