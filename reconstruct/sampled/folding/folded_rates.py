"""Samples of many iterations folded into one: how fast each endpoint sends and receives over the mean iteration.

A switch samples every packet with the same probability, so the density of a connection's samples over the time of an
iteration is its rate, and what an iteration moves, which sequence numbers tell to a packet, is its scale. Folding a
series at a known period and taking errors from the scatter of its parts is common in astronomy (Leahy et al., 1983).
"""

from __future__ import annotations

import numpy as np

from datamodel.frame import Frame, concat, empty
from datamodel.reconstructed.endpoint_rates import MOST_ROWS, RATES
from datamodel.reconstructed.streams import Float, Int
from reconstruct.numeric.ragged_arrays import select_rows
from reconstruct.sampled.curves.progress_curves import ProgressCurves
from reconstruct.sampled.jobs.sampled_recognition import SampledJob

# Iterations are folded that take the median time to this share: a slow one has its transfers at other times.
ALIKE = 0.1
# More bins than this are no wider than a line of a picture; with fewer nothing is drawn.
FEWEST_BINS, MOST_BINS = 8, 48
# A bin of a typical endpoint holds so many samples, so that its error is below a third of its rate.
SAMPLES_A_BIN = 10
# Errors come from the scatter of the means of so many blocks of iterations, the most whose sums are kept.
MOST_BLOCKS = 16
# Fewer iterations have no scatter.
FEWEST_ITERATIONS = 3
# Means of usual iterations, and of those that are slower or quicker.
PACES = 2


def typical_iterations(edges_ns: Int, beside: Int | None = None) -> Int:
    """Which of the iterations from edge to edge, from 0, take about the median time; `beside` some, of the others."""
    lengths = np.diff(edges_ns).astype(np.float64)
    among = np.arange(len(lengths)) if beside is None else np.setdiff1d(np.arange(len(lengths)), beside)
    if not len(among):
        return among
    return among[np.abs(lengths[among] / np.median(lengths[among]) - 1) <= ALIKE]


def endpoint_rates(progress: ProgressCurves, job: SampledJob) -> Frame:
    """Rates of a job's endpoints over the mean iteration; over that of slower or quicker ones too, where there are any.

    Args:
        progress: the curves.
        job: whose.

    Returns:
        Rows of `datamodel.reconstructed.endpoint_rates.RATES` by pace, endpoint and bin; none where too few samples, or
        samples whose times are too uncertain, leave fewer than `FEWEST_BINS` bins, or endpoints are too many to keep as
        many.
    """
    usual = typical_iterations(job.edges_ns)
    paces = (usual, typical_iterations(job.edges_ns, usual))
    return concat(RATES, [_mean(progress, job, chosen, pace) for pace, chosen in enumerate(paces)])


def _mean(progress: ProgressCurves, job: SampledJob, chosen: Int, pace: int) -> Frame:
    """The rates over the mean of some iterations."""
    if len(chosen) < FEWEST_ITERATIONS:
        return empty(RATES)
    member, step, at, doubt_ns = _folded(progress, job, chosen)
    bins = _bins(job, len(at), float(np.median(doubt_ns)) if len(doubt_ns) else np.inf)
    if bins < FEWEST_BINS:
        return empty(RATES)
    iteration_ns = float(np.diff(job.edges_ns)[chosen].mean())
    each = np.bincount(member, minlength=len(job.connections))
    sample_bits = 8 * job.quantum_bytes * len(chosen) / np.maximum(each, 1)
    blocks = min(len(chosen), MOST_BLOCKS)
    of_block = np.arange(len(chosen)) * blocks // len(chosen)
    cell = of_block[step] * bins + np.minimum((at * bins).astype(np.int64), bins - 1)
    seconds = np.bincount(of_block, minlength=blocks) * iteration_ns / bins / 1e9
    ends = (progress.src[job.connections], progress.dst[job.connections])
    sides = [
        _rates(
            np.searchsorted(job.endpoints, end)[member], cell, sample_bits[member], (len(job.endpoints), bins), seconds
        )
        for end in ends
    ]
    rows = len(job.endpoints) * bins
    return Frame(
        RATES,
        {
            "endpoint": np.repeat(job.endpoints, bins),
            "pace": np.full(rows, pace),
            "bin": np.tile(np.arange(bins), len(job.endpoints)),
            "bins": np.full(rows, bins),
            "iterations": np.full(rows, len(chosen)),
            "iteration_ns": np.full(rows, round(iteration_ns)),
            "sent_bps": sides[0][0],
            "sent_error_bps": sides[0][1],
            "received_bps": sides[1][0],
            "received_error_bps": sides[1][1],
        },
    )


def _folded(progress: ProgressCurves, job: SampledJob, chosen: Int) -> tuple[Int, Int, Float, Float]:
    """(the job's connection, place among the chosen iterations, place in its time, doubt) of each sample in them."""
    own, points = select_rows(progress.offsets, job.connections)
    member = np.repeat(np.arange(len(job.connections)), np.diff(own))
    cycles = (progress.position_bytes[points] - job.origin_bytes[member]) / job.quantum_bytes[member]
    place = np.full(len(job.edges_ns) + 1, -1, np.int64)
    place[chosen] = np.arange(len(chosen))
    number = np.clip(np.ceil(cycles).astype(np.int64) - 1, -1, len(job.edges_ns) - 1)
    step = place[number]
    inside = (step >= 0) & (number >= 0)
    begin_ns, end_ns = (job.edges_ns[number[inside] + n] for n in (0, 1))
    at = (progress.time_ns[points[inside]] - begin_ns) / (end_ns - begin_ns)
    return member[inside], step[inside], np.clip(at, 0.0, 1.0), progress.doubt_ns[points[inside]]


def _bins(job: SampledJob, samples: int, doubt_ns: float) -> int:
    """How many bins the samples and their times allow: no narrower than the usual doubt of a time."""
    by_time = job.period_ns / max(doubt_ns, 1.0)
    by_number = samples / len(job.endpoints) / SAMPLES_A_BIN
    return int(min(MOST_BINS, by_time, by_number, MOST_ROWS // PACES // len(job.endpoints)))


def _rates(end: Int, cell: Int, bits: Float, shape: tuple[int, int], seconds: Float) -> tuple[Float, Float]:
    """(mean rates, standard errors) by endpoint and bin, in bit/s.

    Args:
        end: which endpoint each sample is of.
        cell: its block of iterations and bin, `block * bins + bin`.
        bits: that it stands for.
        shape: endpoints and bins.
        seconds: that a bin of each block lasts in all.
    """
    many, bins = shape
    blocks = len(seconds)
    sums = np.bincount((end * blocks * bins + cell), weights=bits, minlength=many * blocks * bins)
    table = sums.reshape(many, blocks, bins)
    mean = table.sum(axis=1) / seconds.sum()
    scatter = np.std(table / seconds[:, None], axis=1, ddof=1) / np.sqrt(blocks)
    # An empty bin, or one of equal blocks, is known no better than to one sample.
    single = np.bincount(end, weights=bits, minlength=many) / np.maximum(np.bincount(end, minlength=many), 1)
    least = single[:, None] / seconds.sum()
    return mean.ravel(), np.maximum(scatter, least).ravel()
