"""What the screens compute from a report before they word or draw it: iteration times, where a finding lies in them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from datamodel.reports.findings import Finding
from datamodel.reports.report import JobReport, Report

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

SEVERITIES = ("critical", "warning", "info")
_ENOUGH = 3  # iterations before a finding give the time of one without it


@dataclass(frozen=True, slots=True)
class ExpectedGain:
    """Gain of fixing a finding's cause: the median affected iteration, and the same without the cause, in seconds."""

    now_s: float
    without_s: float

    @property
    def saved_s(self) -> float:
        """Seconds that each iteration would be shorter."""
        return self.now_s - self.without_s

    @property
    def saved_ratio(self) -> float:
        """The part of an iteration that would be saved, 0..1."""
        return self.saved_s / self.now_s


def iteration_seconds(job: JobReport) -> Floats:
    """Time of each iteration in seconds, shape (iterations,).

    From its own start or the end of the iteration before, whichever is later, to its end. Ranks start the next step
    before the last one has finished this one, so start to end counts the overlap twice; end to end would count a
    pause (a checkpoint, an evaluation) as training.
    """
    starts = np.array([i.start_ns for i in job.iterations], np.int64)
    ends = np.array([i.end_ns for i in job.iterations], np.int64)
    starts[1:] = np.maximum(starts[1:], ends[:-1])
    seconds: Floats = (ends - starts) / 1e9
    return seconds


def inside(job: JobReport, finding: Finding) -> Flags:
    """Which iterations lie, with their middle, in the time the finding is on, shape (iterations,)."""
    middles = np.array([(i.start_ns + i.end_ns) // 2 for i in job.iterations], np.int64)
    until = math.inf if finding.end_ns is None else finding.end_ns
    return (middles > finding.start_ns) & (middles < until)


def iteration_at(job: JobReport, time_ns: int) -> int | None:
    """Index of the iteration that a time falls into, the later one where two overlap; in a pause, the one after it.

    None after the last iteration.
    """
    started = [i for i in job.iterations if i.start_ns <= time_ns < i.end_ns]
    if started:
        return started[-1].index
    return next((i.index for i in job.iterations if i.start_ns > time_ns), None)


def compute_gain(job: JobReport | None, finding: Finding) -> ExpectedGain | None:
    """Compute the expected gain of a finding from its slowdown ratio; None where no iteration time is known."""
    ratio = finding.slowdown_ratio
    if job is None or not job.iterations or finding.kind == "hang" or not math.isfinite(ratio) or ratio <= 1:
        return None
    seconds = iteration_seconds(job)
    chosen = _affected(job, finding, seconds)
    now_s = float(np.median(seconds[chosen] if chosen.any() else seconds))
    return ExpectedGain(now_s, now_s / ratio) if now_s > 0 else None


def _affected(job: JobReport, finding: Finding, seconds: Floats) -> Flags:
    """Iterations that a finding made longer, shape (iterations,): those inside its time that are longer than before it.

    An incident that came back, or was resolved after some quiet scans, has healthy iterations in its time.
    """
    chosen = inside(job, finding)
    before = np.array([i.end_ns <= finding.start_ns for i in job.iterations], np.bool_)
    if np.count_nonzero(before) < _ENOUGH:
        return chosen
    longer: Flags = seconds > np.median(seconds[before]) * (1 + finding.slowdown_ratio) / 2
    return chosen & longer if (chosen & longer).any() else chosen


def job_of(report: Report, finding: Finding) -> JobReport | None:
    """The job a finding is about; None where it is about the feed."""
    return next((job for job in report.jobs if job.id == finding.job), None)


def by_severity(report: Report) -> list[Finding]:
    """Findings, the worst first: by severity, then by what they cost, then by time."""

    def rank(finding: Finding) -> tuple[int, float, int, str]:
        return SEVERITIES.index(finding.severity), -finding.slowdown_ratio, finding.start_ns, finding.id

    return sorted(report.findings, key=rank)
