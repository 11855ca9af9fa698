"""What happens to a job and is no fault: its start and end inside the window, restarts, pauses between iterations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.ndimage import median_filter

from datamodel.frame import Frame
from datamodel.reconstructed.streams import Float, Int
from datamodel.reports.findings import Event, EventKind
from diagnose.job_view import JobView
from diagnose.pace_intervals import durations_ns

# A single iteration this much longer than its neighbours holds a pause ...
LONGER = 1.25
# ... and this much longer where it waits for engines that took its weights: how long that takes follows from the
# longest of many answers, and answers end at a length that is the same in all iterations.
LONGER_ROLLOUT = 2.0
# ... when the job was silent for this share of what it is longer by.
SILENT_SHARE = 0.5
# Who rests does nothing for nearly all of what the iteration is longer by; passes that take longer are many.
RESTS_SHARE = 0.8
# So many other iterations show what is usual.
USUAL = 5
# A job that begins or ends this many iterations inside the window did so in it.
INSIDE_ITERATIONS = 3.0
# Bytes to endpoints outside the job during a pause that make it a checkpoint, as a share of an iteration's bytes.
CHECKPOINT_SHARE = 0.01
NO_SYNCS: Int = np.zeros((0, 2), np.int64)


def events(
    job: JobView,
    outside: Frame,
    window_start_ns: int,
    changes: Sequence[Event] = (),
    syncs_ns: Int = NO_SYNCS,
    *,
    hangs: bool,
) -> list[Event]:
    """Events of one job, by start.

    Args:
        job: the job.
        outside: flow records between the job's endpoints and others (`datamodel.telemetry.flows.FLOWS`), without its
            weights and what engines answer.
        window_start_ns: first packet or record of the feed.
        changes: restarts and changes of its members (`diagnose.membership_events`); their pauses are no events.
        syncs_ns: (n, 2) start and end of each synchronization of its weights.
        hangs: whether the job hangs; then its silence is no end.
    """
    first = int(job.operations["start_ns"].min())
    last = int(max(job.operations["delivered_ns"].max(), job.operations["end_ns"].max()))
    found = []
    if first - window_start_ns > INSIDE_ITERATIONS * job.period_ns:
        found.append(Event(job=job.id, kind="start", start_ns=first, end_ns=first, detail="first traffic of the job"))
    found += changes
    found += [one for one in _pauses(job, outside, syncs_ns) if not any(_overlap(one, change) for change in changes)]
    if not hangs and job.window_end_ns - last > INSIDE_ITERATIONS * job.period_ns:
        inside = not job.stops_where_begun and bool((job.operations["iteration"] >= job.iterations).any())
        detail = "last traffic of the job, " + ("everywhere at once" if inside else "after a whole iteration")
        found.append(Event(job=job.id, kind="end", start_ns=last, end_ns=last, detail=detail))
    return sorted(found, key=lambda e: (e.start_ns, e.kind))


def rests(job: JobView, iterations: Int) -> bool:
    """Whether most of some long iterations are longer than others by a single silence of the whole job."""
    durations = durations_ns(job.edges_ns)
    others = np.setdiff1d(np.arange(1, job.iterations), iterations)[:USUAL]
    excess = durations[iterations] - np.nanmedian(durations)
    usual = np.median([_silent_ns(job, i) for i in others.tolist()]) if len(others) else 0.0
    silent = np.array([_silent_ns(job, i) for i in iterations.tolist()]) - usual
    return int((silent >= RESTS_SHARE * excess).sum()) > len(iterations) / 2


def _silent_ns(job: JobView, iteration: int) -> int:
    """The longest time in an iteration in which nobody of the job sends."""
    silence = _longest_silence(job, int(job.edges_ns[iteration - 1]), int(job.edges_ns[iteration]))
    return silence[1] - silence[0] if silence is not None else 0


def _overlap(one: Event, other: Event) -> bool:
    ends = [event.start_ns if event.end_ns is None else event.end_ns for event in (one, other)]
    return one.start_ns <= ends[1] and other.start_ns <= ends[0]


def _pauses(job: JobView, outside: Frame, syncs_ns: Int) -> list[Event]:
    durations = durations_ns(job.edges_ns)[1:]
    if len(durations) < 3:
        return []
    usual: Float = median_filter(durations, 5, mode="nearest")
    found = []
    for i in np.flatnonzero(durations > LONGER * usual):
        begin, end = int(job.edges_ns[i]), int(job.edges_ns[i + 1])
        silence = _longest_silence(job, begin, end)
        if silence is None or silence[1] - silence[0] < SILENT_SHARE * (durations[i] - usual[i]):
            continue
        moved = _moved(outside, *silence)
        iteration_bytes = float(job.operations["bytes"].sum()) / max(job.iterations, 1)
        checkpoint = moved >= CHECKPOINT_SHARE * iteration_bytes
        if not checkpoint and _syncs(syncs_ns, *silence) and durations[i] <= LONGER_ROLLOUT * usual[i]:
            continue
        seconds = (durations[i] - usual[i]) / 1e9
        detail = f"iteration {i + 1} took {seconds:.1f} s longer" + (
            f" while {moved / 1e6:.1f} MB moved to or from outside the job" if checkpoint else " in silence"
        )
        kind: EventKind = "checkpoint" if checkpoint else "pause"
        found.append(Event(job=job.id, kind=kind, start_ns=silence[0], end_ns=silence[1], detail=detail))
    return found


def _longest_silence(job: JobView, begin: int, end: int) -> tuple[int, int] | None:
    """The longest stretch of an iteration in which nobody of the job sends."""
    rows = job.operations.take((job.operations["end_ns"] >= begin) & (job.operations["start_ns"] <= end)).sort(
        "start_ns"
    )
    if not len(rows):
        return None
    reach = np.maximum.accumulate(np.concatenate([[begin], rows["end_ns"]]))
    gap = np.concatenate([rows["start_ns"], [end]]) - reach
    at = int(np.argmax(gap))
    return (int(reach[at]), int(reach[at] + gap[at])) if gap[at] > 0 else None


def _syncs(syncs_ns: Int, begin: int, end: int) -> bool:
    """Whether weights move in some time."""
    return bool(((syncs_ns[:, 1] >= begin) & (syncs_ns[:, 0] <= end)).any())


def _moved(outside: Frame, begin: int, end: int) -> float:
    inside = (outside["time_flow_end_ns"] >= begin) & (outside["time_flow_start_ns"] <= end)
    return float((outside["bytes"] * np.maximum(outside["sampling_rate"], 1))[inside].sum())
