"""Which endpoints trained a job from when to when, from its members now and its changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from datamodel.reports.findings import Event


def membership_times(
    members: Iterable[str], events: Sequence[Event], start_ns: int, end_ns: int
) -> list[tuple[int, int, frozenset[str]]]:
    """Start and end of each time without a change, and the members then, in order of time.

    An interruption by a change counts for the endpoints that left: those that joined served no job until it was over.

    Args:
        members: endpoints at the end.
        events: of the job; those without a change, and those that are over before the start, change nothing.
        start_ns: begin of what is asked for, UTC.
        end_ns: its end.
    """
    now, until_ns = frozenset(members), end_ns
    found: list[tuple[int, int, frozenset[str]]] = []
    for event in sorted(events, key=lambda one: (one.end_ns or one.start_ns, one.start_ns), reverse=True):
        if event.change is None:
            continue
        since_ns = min(event.end_ns or event.start_ns, until_ns)
        if since_ns <= start_ns:
            break
        if since_ns < until_ns:
            found.append((since_ns, until_ns, now))
        joined = frozenset(one.endpoint for one in event.change.joiners)
        now, until_ns = now - joined | {one.endpoint for one in event.change.leavers}, since_ns
    if start_ns < until_ns:
        found.append((start_ns, until_ns, now))
    return found[::-1]
