"""What a report or a history says of a job's time, as intervals for the account."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from datamodel.findings import Event, Finding
from diagnose.training_time.account import CausedInterval, JobIntervals

# What happens between iterations; the others are moments.
PAUSES = frozenset({"checkpoint", "evaluation", "pause"})


def job_intervals(
    iterations: Sequence[tuple[int, int]],
    events: Iterable[Event],
    findings: Iterable[Finding],
    unknown: Sequence[tuple[int, int]],
    end_ns: int,
) -> JobIntervals:
    """The intervals of one job.

    An interruption that copies state or loads it is down as a whole: both are part of what the change cost.

    Args:
        iterations: start and end of each that is known, in order of time.
        events: of the job.
        findings: of the job; those of severity info, and imbalance, which no repair ends, slow nothing here.
        unknown: holes of the feed.
        end_ns: up to when findings that are still on count.
    """
    events = list(events)
    changes = [e for e in events if e.change is not None and e.end_ns is not None and e.end_ns > e.start_ns]
    slowed = [
        CausedInterval(f.start_ns, end_ns if f.end_ns is None else f.end_ns, f.kind, f.slowdown_ratio)
        for f in findings
        if f.severity != "info" and f.kind not in {"imbalance", "hang", "feed"}
    ]
    down = [_caused(e, (e.change and e.change.kind) or e.kind) for e in changes]
    hangs = (f for f in findings if f.kind == "hang")
    down += [CausedInterval(f.start_ns, end_ns if f.end_ns is None else f.end_ns, f.kind) for f in hangs]
    undone = [e for e in changes if e.change is not None and e.change.kind != "live_migration"]
    return JobIntervals(
        iterations=iterations,
        slowed=slowed,
        paused=[_caused(e, e.kind) for e in events if e.kind in PAUSES],
        down=down,
        unknown=unknown,
        repeated_ns=(0, sum(_done_again(e, iterations, events) for e in undone)),
    )


def _caused(event: Event, cause: str) -> CausedInterval:
    return CausedInterval(event.start_ns, event.start_ns if event.end_ns is None else event.end_ns, cause)


def _done_again(change: Event, iterations: Sequence[tuple[int, int]], events: Sequence[Event]) -> int:
    """Most time after a change that does again what was lost: as many iterations as since the last checkpoint seen."""
    saved = [e.end_ns or e.start_ns for e in events if e.kind == "checkpoint"]
    since = max((time for time in saved if time <= change.start_ns), default=0)
    lost = sum(since <= start and end <= change.start_ns for start, end in iterations)
    resumed = change.end_ns or change.start_ns
    again = [(max(start, resumed), end) for start, end in iterations if end > resumed]
    return sum(end - start for start, end in again[:lost])
