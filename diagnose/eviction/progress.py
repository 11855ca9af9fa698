"""What a job would lose if it were stopped now, and when its next checkpoint is due, from the checkpoints seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from datamodel.reports.findings import Event, Finding
from diagnose.training_time.intervals import PAUSES, loses_progress


@dataclass(frozen=True, slots=True)
class SavedProgress:
    """How far a job is between two checkpoints.

    Attributes:
        lost_s: work since the last one, or since the job began again from it, in seconds at the usual pace.
        checkpoint_in_s: time until the next one begins; None where too few were seen to expect one.
    """

    lost_s: float
    checkpoint_in_s: float | None


def saved_progress(
    events: Iterable[Event], slowed: Sequence[Finding], first_seen_ns: int, now_ns: int, slowdown: float
) -> SavedProgress:
    """Measure the work between checkpoints, by which the next one is due: jobs save every so many iterations.

    Args:
        events: of the job.
        slowed: the times in which the host at fault slowed it.
        first_seen_ns: of the job, UTC: what it did before its first checkpoint counts from then.
        now_ns: UTC.
        slowdown: iteration time now / without the fault.
    """
    past = sorted((one for one in events if one.start_ns <= now_ns), key=lambda one: (_end_ns(one), one.start_ns))
    saves = [one for one in past if one.kind == "checkpoint"]
    begun = [_end_ns(one) for one in past if one.kind == "start" or loses_progress(one)]
    stops = sorted((one.start_ns, _end_ns(one)) for one in past if one.kind in PAUSES or one.change is not None)

    def work_s(start_ns: int, end_ns: int) -> float:
        """From a checkpoint, or from when the job last began after it, at the usual pace."""
        begin_ns = max([start_ns, *(time for time in begun if time <= end_ns)])
        work_ns, at_ns = 0.0, begin_ns
        for stop_ns, goes_on_ns in [*stops, (end_ns, end_ns)]:
            if at_ns < min(stop_ns, end_ns):
                work_ns += _at_usual_pace(at_ns, min(stop_ns, end_ns), slowed)
            at_ns = max(at_ns, goes_on_ns)  # pauses of two windows may overlap
        return work_ns / 1e9

    # a job begins at a checkpoint, so the time from there to the next one is whole
    origins = [min(begun, default=None), *map(_end_ns, saves)]
    apart = [
        work_s(before_ns, after.start_ns)
        for before_ns, after in zip(origins, saves, strict=False)
        if before_ns is not None and before_ns <= after.start_ns
    ]
    since_s = work_s(_end_ns(saves[-1]) if saves else first_seen_ns, now_ns)
    return SavedProgress(since_s, max(median(apart) - since_s, 0.0) * slowdown if apart else None)


def _end_ns(event: Event) -> int:
    return event.start_ns if event.end_ns is None else event.end_ns


def _at_usual_pace(start_ns: int, end_ns: int, slowed: Sequence[Finding]) -> float:
    """What was done in some time would have taken so long without the fault, ns."""
    longer = 0.0
    for one in slowed:
        until_ns = end_ns if one.end_ns is None else min(one.end_ns, end_ns)
        longer += max(until_ns - max(one.start_ns, start_ns), 0) * (1 - 1 / max(one.slowdown_ratio, 1.0))
    return end_ns - start_ns - longer
