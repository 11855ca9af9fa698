"""What a report or a history says of a job's time, as intervals for the account."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from datamodel.reconstructed.streams import Int
from datamodel.reports.findings import Event, EventKind, Finding
from diagnose.training_time.account import CausedInterval, JobIntervals

# What happens between iterations; the others are moments.
PAUSES: tuple[EventKind, ...] = ("checkpoint", "evaluation", "pause")


def job_intervals(
    iterations: Int,
    events: Iterable[Event],
    findings: Iterable[Finding],
    end_ns: int,
    cause: Callable[[Finding], str] = lambda finding: finding.kind,
) -> JobIntervals:
    """The intervals of one job.

    An interruption that copies state or loads it is down as a whole: both are part of what the change cost.

    Args:
        iterations: (iterations, 2) start and end of each that is known, in order of time.
        events: of the job.
        findings: of the job; those of severity info, and imbalance, which no repair ends, slow nothing here.
        end_ns: up to when findings that are still on count.
        cause: what the time that a finding cost is put down to.
    """
    events = list(events)
    changes = [e for e in events if e.change is not None and e.end_ns is not None and e.end_ns > e.start_ns]
    slowed = [
        CausedInterval(f.start_ns, end_ns if f.end_ns is None else f.end_ns, cause(f), f.slowdown_ratio)
        for f in findings
        if f.severity != "info" and f.kind not in {"imbalance", "hang", "feed"}
    ]
    down = [_caused(e, (e.change and e.change.kind) or e.kind) for e in changes]
    hangs = (f for f in findings if f.kind == "hang")
    down += [CausedInterval(f.start_ns, end_ns if f.end_ns is None else f.end_ns, f.kind) for f in hangs]
    return JobIntervals(
        iterations=merged(iterations),
        slowed=slowed,
        paused=[_caused(e, e.kind) for e in events if e.kind in PAUSES],
        down=down,
        repeated=[span for e in changes if loses_progress(e) and (span := _done_again(e, iterations, events))],
    )


def loses_progress(event: Event) -> bool:
    """Whether a job did again after a change what it had done since its last checkpoint."""
    return event.change is not None and event.change.kind != "live_migration"


def merged(iterations: Int) -> list[tuple[int, int]]:
    """Start and end of the times that iterations cover without a gap; `iterations` is (iterations, 2)."""
    ordered = iterations[np.argsort(iterations[:, 0], kind="stable")]
    until = np.maximum.accumulate(ordered[:, 1])
    first = np.flatnonzero(np.append(True, ordered[1:, 0] > until[:-1])[: len(ordered)])
    ends = until[np.append(first[1:], len(ordered))[: len(first)] - 1]
    return list(zip(ordered[first, 0].tolist(), ends.tolist(), strict=True))


def _caused(event: Event, cause: str) -> CausedInterval:
    return CausedInterval(event.start_ns, event.start_ns if event.end_ns is None else event.end_ns, cause)


def _done_again(change: Event, iterations: Int, events: Sequence[Event]) -> tuple[int, int] | None:
    """When at most a job did again what it had lost: for as many iterations as since the last checkpoint seen."""
    saved = [e.end_ns or e.start_ns for e in events if e.kind == "checkpoint"]
    since = max((time for time in saved if time <= change.start_ns), default=0)
    start, end = iterations[:, 0], iterations[:, 1]
    lost = np.count_nonzero((start >= since) & (end <= change.start_ns))
    resumed = change.end_ns or change.start_ns
    again = np.sort(end[end > resumed])[:lost]
    return (resumed, int(again[-1])) if len(again) else None
