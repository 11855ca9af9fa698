"""How long iterations of a job take in a window, against what they took when nothing slowed them down."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamodel.reconstructed.streams import Float, Int
from diagnose.pace_intervals import LIKE_WORK, durations_ns, median_error, noise_ratio, split_intervals

# Standard errors by which a median has to differ to be another one.
SURE = 3.0
# What is known to be slow is still slow above this share of the smallest slowdown worth reporting.
LASTING_SHARE = 0.5
# Medians that differ by less are pooled, however many iterations they are of.
SAME_RATIO = 0.01
# A quicker pace is the job's own when it holds for this share of the window.
WHOLE_SHARE = 0.8


@dataclass(frozen=True, slots=True)
class WindowPace:
    """Iteration times of one job in one window.

    Attributes:
        duration_ns, iterations: median of its fastest interval of like work, and the number of its iterations.
        latest_ns, latest_iterations: the same of its last interval.
        total: iterations of all intervals of like work.
        noise_ratio: spread from one iteration to the next, as a share of the iteration time.
        moved_bytes: median of what an iteration moves; 0 where that is not known.
    """

    duration_ns: float
    iterations: int
    latest_ns: float
    latest_iterations: int
    total: int
    noise_ratio: float
    moved_bytes: float


def window_pace(edges_ns: Int, least_ratio: float, moved_bytes: Float | None, usual_bytes: float) -> WindowPace | None:
    """Measure the pace of a window.

    Args:
        edges_ns: (iterations,) end of each iteration.
        least_ratio: smallest slowdown worth reporting, e.g. 0.05.
        moved_bytes: (iterations,) what the job moved in each; None where that is not known.
        usual_bytes: what an iteration of the baseline moves; 0 where that is not known.

    Returns:
        None where there are too few iterations, or none of like work.
    """
    intervals = split_intervals(edges_ns, least_ratio, moved_bytes)
    durations = durations_ns(edges_ns)
    work = [0.0 if moved_bytes is None else float(np.median(moved_bytes[one.iterations])) for one in intervals]
    usual = usual_bytes or (float(np.median(moved_bytes)) if moved_bytes is not None else 0.0)
    alike = [
        one
        for one, own in zip(intervals, work, strict=True)
        if not usual or not own or min(own, usual) >= LIKE_WORK * max(own, usual)
    ]
    if not alike:
        return None
    fastest = min(alike, key=lambda one: one.duration_ns)
    return WindowPace(
        fastest.duration_ns,
        len(fastest.iterations),
        alike[-1].duration_ns,
        len(alike[-1].iterations),
        sum(len(one.iterations) for one in alike),
        noise_ratio(durations),
        usual if moved_bytes is not None else 0.0,
    )


def slowdown(pace: WindowPace, baseline_ns: float, baseline_iterations: int, least_ratio: float) -> float | None:
    """Return by how many times a whole window is slower than the baseline; None where it is not, beyond doubt."""
    ratio = pace.duration_ns / baseline_ns
    error = SURE * _error(pace, pace.iterations, baseline_iterations)
    return ratio if ratio >= 1 + max(least_ratio, error) else None


def lasting_slowdown(
    pace: WindowPace, baseline_ns: float, baseline_iterations: int, least_ratio: float
) -> float | None:
    """Return by how many times a job that was slow is slow at the end of a window; None where it has recovered."""
    ratio = pace.latest_ns / baseline_ns
    error = _error(pace, pace.latest_iterations, baseline_iterations)
    return ratio if ratio >= 1 + max(LASTING_SHARE * least_ratio, error) else None


def pooled(pace: WindowPace, baseline_ns: float, baseline_iterations: int) -> tuple[float, int] | None:
    """Return a baseline with the iterations of a window in it, and how many there are; None where it stays.

    What takes as long within its errors is averaged in; a quicker pace of the whole window replaces it; a slower one
    never does.
    """
    ratio, error = pace.duration_ns / baseline_ns, SURE * _error(pace, pace.iterations, baseline_iterations)
    if abs(ratio - 1) <= max(SAME_RATIO, error):
        count = baseline_iterations + pace.iterations
        mean = np.log(baseline_ns) + np.log(ratio) * pace.iterations / count
        return float(np.exp(mean)), count
    if ratio < 1 and pace.iterations >= WHOLE_SHARE * pace.total:
        return pace.duration_ns, pace.iterations
    return None


def _error(pace: WindowPace, iterations: int, baseline_iterations: int) -> float:
    """Return the standard error of the ratio of two medians."""
    return pace.noise_ratio * median_error(iterations, max(baseline_iterations, 1))
