"""What samples can and cannot show of a job: predicted from their number and times, before anything is concluded."""

from __future__ import annotations

import numpy as np

from datamodel.report import Detectability
from reconstruct.sampled.progress import Progress
from reconstruct.sampled.recognition import SampledJob
from reconstruct.sampled.volumes import VolumeJob

# Fewer iterations have nothing to be compared with.
FEWEST_TO_COMPARE = 6
# A slowdown is told from the job's own noise by so many standard errors, and reported from 5 % on.
SURE, LEAST_SLOWDOWN = 3.0, 0.05
# What the network cannot see of an iteration's end, the optimizer step and its jitter, as a share of the iteration.
UNSEEN_ENDING = 0.001
MEDIAN_TO_SD = 1.4826


def of_samples(progress: Progress, job: SampledJob) -> Detectability:
    """Predicted error of iteration times and smallest slowdown of a job seen by sequence-numbered samples.

    An iteration's time is the distance of two edges: the mean absolute error of the difference of two normal errors is
    0.8 times its standard deviation, the root of the sum of their squares. A slowdown that sets in in the middle of the
    window is the difference of two means over half of the iterations each.
    """
    lengths = np.diff(job.edges_ns).astype(np.float64)
    pair = np.hypot(job.edge_error_ns[1:], job.edge_error_ns[:-1])
    known = pair[np.isfinite(pair)]
    samples = float(np.median(np.diff(progress.offsets)[job.connections] / max(len(job.edges_ns), 1)))
    reasons = [f"{samples:.0f} samples an iteration in a typical connection, their sequence numbers exact"]
    error = float(np.hypot(0.8 * known.mean() / job.period_ns, UNSEEN_ENDING)) if len(known) else None
    if len(known) < len(pair):
        reasons.append(
            f"{len(pair) - len(known)} of {len(pair)} iteration times rest on too few samples to say how well"
        )
    if len(lengths) < FEWEST_TO_COMPARE:
        reasons.append("fewer than six iterations: nothing to compare with")
        return Detectability(timeline_error_ratio=_rounded(error), smallest_slowdown_ratio=None, reasons=tuple(reasons))
    noise = MEDIAN_TO_SD * float(np.median(np.abs(np.diff(lengths)))) / np.sqrt(2) / job.period_ns
    least = 1 + max(LEAST_SLOWDOWN, SURE * noise * 2 / np.sqrt(len(lengths)))
    return Detectability(
        timeline_error_ratio=_rounded(error), smallest_slowdown_ratio=_rounded(least), reasons=tuple(reasons)
    )


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
