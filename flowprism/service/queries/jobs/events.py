"""What happened to jobs and is no fault."""

from __future__ import annotations

from datamodel.reports.findings import Event
from datamodel.service.filters import EventFilter
from flowprism.service.stores import Stores
from flowprism.service.viewer import Viewer
from storage.database.jobs import overview

_ANY = EventFilter()


def events(stores: Stores, viewer: Viewer, wanted: EventFilter = _ANY, after: str = "", most: int = 200) -> list[Event]:
    """Events of jobs that the viewer sees, the newest first.

    Args:
        stores: where answers are read from.
        viewer: the caller.
        wanted: which events.
        after: `after_event` of the last one of the page before; "" for the first page.
        most: how many.

    Raises:
        StorageError: the database cannot be reached.
        ValueError: `after` is no such key.
    """
    return overview.events(stores.database, wanted, viewer.tenant, after, most)


def after_event(event: Event) -> str:
    """What a page that goes on behind this event begins after."""
    return overview.event_key(event)
