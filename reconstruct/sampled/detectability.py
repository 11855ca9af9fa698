"""What samples can and cannot show of a job: predicted from their number and times, before anything is concluded."""

from __future__ import annotations

from typing import get_args

import numpy as np

from datamodel.reports.report import Detectability, ShownKind, ShownResult
from reconstruct.sampled.curves.progress_curves import ProgressCurves
from reconstruct.sampled.jobs.sampled_recognition import SampledJob
from reconstruct.sampled.jobs.volume_jobs import VolumeJob
from reconstruct.timelines.iteration_time_errors import COMPUTING, EdgeErrors, IterationTimeErrors, errors, noises_ns

# Fewer iterations have nothing to be compared with.
FEWEST_TO_COMPARE = 6
# A slowdown is told from the job's own noise by so many standard errors, and reported from 5 % on.
SURE, LEAST_SLOWDOWN = 3.0, 0.05
# The error of edges is taken from the quantile of n errors that 68 % of them lie within, so that it is known as well as
# from the squares of so much of n: p (1 - p) / (n f^2) is the variance of a quantile, f the density of |z| at 1.
QUANTILE_FREEDOM = 0.54
# Where iteration times are known to worse than this, the times of messages within them locate no fault.
LOCATES = 0.02


def iteration_errors(job: SampledJob) -> IterationTimeErrors:
    """Errors of iteration times, those of their edges among them."""
    own = np.hypot(job.edge_error_ns[1:], job.edge_error_ns[:-1])
    shared = np.hypot(job.edge_shared_ns[1:], job.edge_shared_ns[:-1])
    other = np.diff(job.moving_ns) != 0
    _, which, alike = np.unique(job.moving_ns, return_inverse=True, return_counts=True)
    freedom = np.asarray(
        QUANTILE_FREEDOM * alike[which][1:], np.float64
    )  # as many iterations as have the same pace tell them
    edges = EdgeErrors(own, np.where(other, shared, 0.0), freedom)
    steps = np.diff(job.edges_ns).astype(np.float64)
    return errors(job.edges_ns, np.maximum(steps - np.nan_to_num(job.moving_ns[1:]), COMPUTING * steps), edges)


def of_samples(progress: ProgressCurves, job: SampledJob) -> Detectability:
    """Predicted mean absolute error of iteration times, and smallest slowdown, of a job that numbered samples show.

    A slowdown that sets in in the middle of the window is the difference of two means over half of the iterations each.
    """
    samples = float(np.median(np.diff(progress.offsets)[job.connections] / max(len(job.edges_ns), 1)))
    reasons = [f"{samples:.0f} samples an iteration in a typical connection, their sequence numbers exact"]
    off = iteration_errors(job).mean_ns()
    known = off[np.isfinite(off)]
    error = float(known.mean() / job.period_ns) if len(known) else None
    if len(known) < len(off):
        reasons.append(f"{len(off) - len(known)} of {len(off)} iteration times rest on too few samples to say how well")
    hidden = None
    if len(off) < FEWEST_TO_COMPARE:
        hidden = "fewer than six iterations: nothing to compare with"
    elif len(known) < len(off) / 2 or error is None or error > LEAST_SLOWDOWN:
        hidden = "iteration times are not known well enough to tell any slowdown: no findings"
    least = 1 + max(LEAST_SLOWDOWN, SURE * _noise(job) * 2 / np.sqrt(len(off)))
    shows = _shows(job, error, hidden)
    reasons += [hidden] if hidden is not None else []
    return Detectability(
        timeline_error_ratio=_rounded(error),
        smallest_slowdown_ratio=None if hidden is not None else _rounded(least),
        reasons=(*reasons, *(s.sentence() for s in shows if not s.shown and hidden is None)),
        shows=shows,
    )


def places(detectability: Detectability) -> bool:
    """Whether iteration times are known well enough to look for places of messages within them."""
    return detectability.timeline_error_ratio is not None and detectability.timeline_error_ratio <= LOCATES


def _shows(job: SampledJob, error: float | None, hidden: str | None) -> tuple[ShownResult, ...]:
    """Item by item; what is hidden, more samples would show."""
    timed = error is not None and error <= LEAST_SLOWDOWN
    placed = error is not None and error <= LOCATES
    off = "iteration times are not known well enough" if error is None else f"iteration times are off by {error:.1%}"
    faint = f"{job.unresolved} pairs have too few samples, or show no rhythm" if job.unresolved else ""
    compared = hidden or ("" if placed else off)
    whole = compared or faint

    def item(what: ShownKind, against: str, by: str) -> ShownResult:
        more = "more samples an iteration, by a lower sampling rate, would show it"
        return ShownResult(what=what, shown=not against, why=against or by, remedy=more if against else None)

    return (
        item("iterations", "" if timed else off, "ends are placed by sequence numbers"),
        item("layout", faint or ("" if placed else off), "messages are placed within the folded iteration"),
        item("slow_link", compared, "the pace of rings is known"),
        item("straggler", whole, "who waits for whom is known"),
        item("regression", hidden or "", "iterations are known"),
        item("hang", hidden or "", "the last samples are known"),
    )


def _noise(job: SampledJob) -> float:
    """Usual spread of the iteration time from one iteration to the next, as a share of it."""
    return float(np.median(noises_ns(np.diff(job.edges_ns).astype(np.float64))[0])) / job.period_ns


def of_volumes(job: VolumeJob) -> Detectability:
    """Nothing of when can be told of a job that only its volumes show."""
    volumes, chance = len(job.class_bytes), 100 * job.chance_ratio
    reasons = (
        "records hide where messages begin and end: no iterations, no layout, no findings",
        f"recognised by {volumes} volumes that its connections share, each known to {chance:.0f} %",
    )
    kinds: tuple[ShownKind, ...] = get_args(ShownKind)
    why = "records hide where messages begin and end"
    remedy = "an inactive timeout shorter than its pauses, a mirror or sampled packets with their headers would show it"
    return Detectability(
        timeline_error_ratio=None,
        smallest_slowdown_ratio=None,
        reasons=(*reasons, remedy),
        shows=tuple(ShownResult(what=what, shown=False, why=why, remedy=remedy) for what in kinds),
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 5)
