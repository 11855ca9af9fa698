"""What samples can and cannot show of a job: predicted from their number and times, before anything is concluded."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import erf, stdtrit

from datamodel.report import Detectability
from datamodel.streams import Float, Int
from reconstruct.compiled import compiled
from reconstruct.sampled.progress import Progress
from reconstruct.sampled.recognition import SampledJob
from reconstruct.sampled.robust import quantile
from reconstruct.sampled.volumes import VolumeJob

# Fewer iterations have nothing to be compared with.
FEWEST_TO_COMPARE = 6
# A slowdown is told from the job's own noise by so many standard errors, and reported from 5 % on.
SURE, LEAST_SLOWDOWN = 3.0, 0.05
# What the network cannot see of an iteration's end, the optimizer's step, takes about this share of a usual one.
# Computing takes some eight pieces, the passes of a few micro-batches, of unequal length, that jitter by themselves and
# in part together: like so many independent equal ones. So does the step, as one more. Of an iteration at least this
# share is computing, however much of it a ring seems to take.
UNSEEN_SHARE, PIECES, COMPUTING = 0.02, 5, 0.5
# That jitter is taken from so many neighbours: a fault changes it. Changes of more than so many deviations are no
# jitter; two changes in a row share an iteration, so that n of them tell as much as n over this.
NEIGHBOURS, OUTLYING, SHARED = 15, 3.0, 1.5
# A 95 % interval reaches so many standard errors to either side.
REACHES = 1.96
# This share of a normal error lies within its standard deviation. Taken so from n errors, a deviation is known as well
# as from the squares of so much of n: p (1 - p) / (n f^2) is the variance of a quantile, f the density of |z| at 1.
WITHIN_DEVIATION, QUANTILE_FREEDOM = 0.683, 0.54


class _Errors(NamedTuple):
    """Errors of iteration times; (iterations - 1,) each.

    Attributes:
        chance_ns: standard deviation of what jitters.
        known_ns: by how much the unseen step comes to take longer, or less long, where computing does.
        freedom: degrees of freedom of what is known of both.
    """

    chance_ns: Float
    known_ns: Float
    freedom: Float


def iteration_errors_ns(job: SampledJob) -> Float:
    """(iterations - 1,) standard error of each iteration time; nan where too few samples tell it.

    An iteration's time is the distance of two edges, each with an error of its own, and of two ends that lie an unseen
    step behind the last byte. That jitters as all computing does, by the same share of its time, and where computing
    comes to take longer from one iteration to the next, as with a slower GPU, so may the step.
    """
    errors = _errors_ns(job)
    return np.asarray(np.hypot(errors.chance_ns, errors.known_ns), np.float64)


def interval_errors_ns(job: SampledJob) -> Float:
    """(iterations - 1,) the same, as much wider as makes 1.96 of it hold 95 %.

    The jitter itself is told by a few neighbours, and the error of edges by iterations of like pace, so the error is
    Student's, with as many degrees of freedom as their sum has: the more, the less either makes of it alone.
    """
    freedom = np.maximum(_errors_ns(job).freedom, 1.0)
    return np.asarray(iteration_errors_ns(job) * stdtrit(freedom, 0.975) / REACHES, np.float64)


def mean_errors_ns(job: SampledJob) -> Float:
    """(iterations - 1,) expected absolute error of each iteration time; nan where too few samples tell it.

    What jitters is mostly small, what changes is not: the mean of a normal error that is off by a known size, folded.
    """
    errors = _errors_ns(job)
    chance = np.maximum(errors.chance_ns, np.finfo(np.float64).tiny)
    off = errors.known_ns / chance
    return np.asarray(chance * np.sqrt(2 / np.pi) * np.exp(-(off**2) / 2) + errors.known_ns * erf(off / np.sqrt(2)))


def _errors_ns(job: SampledJob) -> _Errors:
    steps = np.diff(job.edges_ns).astype(np.float64)
    noise, freedom = _noises_ns(steps)
    computing = np.maximum(steps - np.nan_to_num(job.moving_ns[1:]), COMPUTING * steps)
    unseen = UNSEEN_SHARE * float(np.min(steps / computing))  # as a share of computing, which alone jitters
    jitter = np.sqrt(2 * PIECES) * unseen * noise
    change = np.diff(computing, prepend=computing[:1])
    change[np.abs(change) <= OUTLYING * np.sqrt(2) * noise] = 0.0  # that is jitter, and counted already
    edges = np.hypot(job.edge_error_ns[1:], job.edge_error_ns[:-1])
    other = np.diff(job.moving_ns) != 0
    shared = np.where(other, np.hypot(job.edge_shared_ns[1:], job.edge_shared_ns[:-1]), 0.0)
    variance = np.asarray(edges**2 + shared**2 + jitter**2, np.float64)
    known = np.abs(unseen * change)
    doubt = _freedom(variance + known**2, (jitter**2, freedom), (edges**2, _edge_freedom(job)))
    return _Errors(np.sqrt(variance), known, doubt)


def _freedom(variance: Float, *parts: tuple[Float, Float]) -> Float:
    """Degrees of freedom of a sum of variances, some of which are estimates of so many (Welch 1947; Satterthwaite)."""
    doubt = np.sum([part**2 / freedom for part, freedom in parts], axis=0)
    return np.asarray(variance**2 / np.maximum(doubt, np.finfo(np.float64).tiny), np.float64)


def _edge_freedom(job: SampledJob) -> Float:
    """(iterations - 1,) degrees of freedom of edges' errors: as many iterations as have the same pace tell them."""
    _, which, alike = np.unique(job.moving_ns, return_inverse=True, return_counts=True)
    return np.asarray(QUANTILE_FREEDOM * alike[which][1:], np.float64)


def _noises_ns(steps: Float) -> tuple[Float, Float]:
    """(spread of iteration times about each one, from one to the next; its degrees of freedom), (n,) each.

    The root mean square of the changes near it, without outlying ones: where a fault sets in. 0 for fewer than three.
    """
    changes = np.abs(np.diff(steps))
    if len(changes) < 2:
        return np.zeros(len(steps)), np.ones(len(steps))
    first = np.clip(np.arange(len(steps)) - NEIGHBOURS // 2 - 1, 0, max(len(changes) - NEIGHBOURS, 0))
    squares, usual = _usual(changes, first)
    return np.sqrt(squares / 2), usual / SHARED


@compiled
def _usual(changes: Float, first: Int) -> tuple[Float, Float]:
    """(mean square of the usual ones of so many neighbours from each first one on, how many these are)."""
    squares, count = np.zeros(len(first)), np.zeros(len(first))
    for n in range(len(first)):
        near = changes[first[n] : first[n] + NEIGHBOURS]
        limit = OUTLYING * quantile(near, WITHIN_DEVIATION)
        for change in near:
            if change <= limit:
                squares[n] += change**2
                count[n] += 1
        squares[n] /= count[n]
    return squares, count


def of_samples(progress: Progress, job: SampledJob) -> Detectability:
    """Predicted mean absolute error of iteration times, and smallest slowdown, of a job that numbered samples show.

    A slowdown that sets in in the middle of the window is the difference of two means over half of the iterations each.
    """
    samples = float(np.median(np.diff(progress.offsets)[job.connections] / max(len(job.edges_ns), 1)))
    reasons = [f"{samples:.0f} samples an iteration in a typical connection, their sequence numbers exact"]
    errors = mean_errors_ns(job)
    known = errors[np.isfinite(errors)]
    error = float(known.mean() / job.period_ns) if len(known) else None
    if len(known) < len(errors):
        reasons.append(
            f"{len(errors) - len(known)} of {len(errors)} iteration times rest on too few samples to say how well"
        )
    hidden = None
    if len(errors) < FEWEST_TO_COMPARE:
        hidden = "fewer than six iterations: nothing to compare with"
    elif len(known) < len(errors) / 2 or error is None or error > LEAST_SLOWDOWN:
        hidden = "iteration times are not known well enough to tell any slowdown: no findings"
    if hidden is not None:
        reasons.append(hidden)
        return Detectability(timeline_error_ratio=_rounded(error), smallest_slowdown_ratio=None, reasons=tuple(reasons))
    least = 1 + max(LEAST_SLOWDOWN, SURE * _noise(job) * 2 / np.sqrt(len(errors)))
    return Detectability(
        timeline_error_ratio=_rounded(error), smallest_slowdown_ratio=_rounded(least), reasons=tuple(reasons)
    )


def _noise(job: SampledJob) -> float:
    """Usual spread of the iteration time from one iteration to the next, as a share of it."""
    return float(np.median(_noises_ns(np.diff(job.edges_ns).astype(np.float64))[0])) / job.period_ns


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
