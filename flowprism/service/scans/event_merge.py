"""Merges the events of overlapping windows: reports of the same event become one."""

from __future__ import annotations

from collections.abc import Sequence

from datamodel.reports.findings import Event

# Two windows may place what a job did apart by less than this; a job does not start or pause twice in it.
SAME_NS = 2_000_000_000


def merge_events(reported: Sequence[Event], known: Sequence[Event]) -> list[Event]:
    """Return the events to store: a known one keeps its start and takes the end and the text reported last."""
    found: dict[tuple[str, str, int], Event] = {}
    for event in reported:
        same = [one for one in known if _is_same(one, event)]
        start_ns = min((one.start_ns for one in same), default=event.start_ns)
        found[event.job, event.kind, start_ns] = event.model_copy(update={"start_ns": start_ns})
    return [found[key] for key in sorted(found)]


def _is_same(one: Event, other: Event) -> bool:
    if (one.job, one.kind) != (other.job, other.kind):
        return False
    ends = [event.start_ns if event.end_ns is None else event.end_ns for event in (one, other)]
    return one.start_ns <= ends[1] + SAME_NS and other.start_ns <= ends[0] + SAME_NS
