"""What several windows tell of one event is one event."""

from __future__ import annotations

from datamodel.reports.findings import Event
from flowprism.service.scans.event_merge import SAME_NS, merge_events

PAUSE = Event(job="j", kind="pause", start_ns=100 * SAME_NS, end_ns=None, detail="in silence")


def moved(event: Event, by_ns: int, **changes: object) -> Event:
    """The same event a little later."""
    return event.model_copy(update={"start_ns": event.start_ns + by_ns, **changes})


def test_one_that_is_known_keeps_its_begin() -> None:
    """The end and the words told last count."""
    again = moved(PAUSE, SAME_NS // 2, end_ns=101 * SAME_NS, detail="ended")
    assert merge_events([again], [PAUSE]) == [again.model_copy(update={"start_ns": PAUSE.start_ns})]


def test_another_time_kind_or_job_is_another_event() -> None:
    """A pause half a minute later, a checkpoint, and a pause of another job are their own."""
    others = [moved(PAUSE, 15 * SAME_NS), PAUSE.model_copy(update={"kind": "checkpoint"}),
              PAUSE.model_copy(update={"job": "k"})]  # fmt: skip
    assert sorted(merge_events(others, [PAUSE]), key=str) == sorted(others, key=str)
