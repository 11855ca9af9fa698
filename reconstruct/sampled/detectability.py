"""What samples can and cannot show of a job: predicted from their number and times, before anything is concluded."""

from __future__ import annotations

import numpy as np

from datamodel.report import Detectability
from datamodel.streams import Float
from reconstruct.sampled.progress import Progress
from reconstruct.sampled.recognition import SampledJob
from reconstruct.sampled.volumes import VolumeJob

# Fewer iterations have nothing to be compared with.
FEWEST_TO_COMPARE = 6
# A slowdown is told from the job's own noise by so many standard errors, and reported from 5 % on.
SURE, LEAST_SLOWDOWN = 3.0, 0.05
# What the network cannot see of an iteration's end, the optimizer step, jitters by this share of what iterations do.
UNSEEN_SHARE = 0.07
MEDIAN_TO_SD = 1.4826
# Mean absolute error of a normal one, in standard deviations.
MEAN_ERROR = 0.8


def iteration_errors_ns(job: SampledJob) -> Float:
    """(iterations - 1,) standard error of each iteration time; nan where too few samples tell it.

    An iteration's time is the distance of two edges, each with an error of its own, and of two ends that lie a little
    behind the last byte.
    """
    unseen = UNSEEN_SHARE * _noise(job) * job.period_ns
    return np.asarray(np.hypot(np.hypot(job.edge_error_ns[1:], job.edge_error_ns[:-1]), unseen), np.float64)


def of_samples(progress: Progress, job: SampledJob) -> Detectability:
    """Predicted mean absolute error of iteration times, and smallest slowdown, of a job that numbered samples show.

    A slowdown that sets in in the middle of the window is the difference of two means over half of the iterations each.
    """
    samples = float(np.median(np.diff(progress.offsets)[job.connections] / max(len(job.edges_ns), 1)))
    reasons = [f"{samples:.0f} samples an iteration in a typical connection, their sequence numbers exact"]
    errors = iteration_errors_ns(job)
    known = errors[np.isfinite(errors)]
    error = float(MEAN_ERROR * known.mean() / job.period_ns) if len(known) else None
    if len(known) < len(errors):
        reasons.append(
            f"{len(errors) - len(known)} of {len(errors)} iteration times rest on too few samples to say how well"
        )
    if len(errors) < FEWEST_TO_COMPARE:
        reasons.append("fewer than six iterations: nothing to compare with")
        return Detectability(timeline_error_ratio=_rounded(error), smallest_slowdown_ratio=None, reasons=tuple(reasons))
    least = 1 + max(LEAST_SLOWDOWN, SURE * _noise(job) * 2 / np.sqrt(len(errors)))
    return Detectability(
        timeline_error_ratio=_rounded(error), smallest_slowdown_ratio=_rounded(least), reasons=tuple(reasons)
    )


def _noise(job: SampledJob) -> float:
    """Robust spread of the iteration time from one iteration to the next, as a share of it; 0 for fewer than three."""
    steps = np.abs(np.diff(np.diff(job.edges_ns).astype(np.float64)))
    return MEDIAN_TO_SD * float(np.median(steps)) / np.sqrt(2) / job.period_ns if len(steps) else 0.0


def of_volumes(job: VolumeJob) -> Detectability:
    """Nothing of when can be told of a job that only its volumes show."""
    volumes, chance = len(job.class_bytes), 100 * job.chance_ratio
    reasons = (
        "records hide where messages begin and end: no iterations, no layout, no findings",
        f"recognised by {volumes} volumes that its connections share, each known to {chance:.0f} %",
    )
    return Detectability(timeline_error_ratio=None, smallest_slowdown_ratio=None, reasons=reasons)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 5)
