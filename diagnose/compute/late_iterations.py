"""Own time and rates -> iterations in which a cell, or a stream, takes longer, however much work each iteration is.

A cell is what computes together (`diagnose.model.own_time`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from datamodel.reconstructed.streams import Bool, Float, Int
from diagnose.measures.lesser_half import lesser_halves
from diagnose.measures.stream_rates import Rates
from diagnose.model.own_time import OwnTime
from diagnose.options import ModelOptions
from diagnose.pace_intervals import SHORTEST, PaceInterval, median_error, outlier_limit
from reconstruct.numeric.medians import MAD_TO_SIGMA, row_medians


class LateIterations(NamedTuple):
    """Iterations in which one cell is late.

    Attributes:
        interval: these iterations, with all others as the baseline; times as if all were as much work for this cell.
        own: own time of all cells, as if all iterations were as much work.
    """

    interval: PaceInterval
    own: OwnTime


def find_late_iterations(
    own: OwnTime, stages: Int, durations_ns: Float, least_ratio: float, options: ModelOptions
) -> LateIterations | None:
    """Find iterations that are longer because of one cell, among iterations that differ in length anyway.

    With sequences of many lengths iteration times show no small slowdown; own times do, since those of peers grow and
    shrink together: by one ratio, or in a pause by one time. A cell is late in iterations in which it exceeds its peers
    either way, by six times its own noise. Iterations must take longer then, by `least_ratio` and beyond doubt, less
    what its peers took longer.

    Args:
        own: own time of all cells.
        stages: (cells,) stage of each.
        durations_ns: (iterations,) how long they took; nan where that is not known, as of the first.
        least_ratio: smallest slowdown worth reporting.
        options: of the model.

    Returns:
        Those of the cell that loses most; None where no cell is late in three iterations or more.
    """
    usual_ns = row_medians(own.own_ns[:, 1:])[:, None]
    usual_ns[usual_ns <= 0] = np.nan
    with np.errstate(divide="ignore"):
        grown = np.log(own.own_ns / usual_ns)
    grown[~np.isfinite(grown)] = np.nan
    common = _of_peers(grown, stages, options)
    more_ns = own.own_ns - usual_ns
    beyond_ns = more_ns - _of_peers(more_ns, stages, options)
    apart = np.minimum(grown - common, np.log1p(np.maximum(beyond_ns / usual_ns, 0.0)))
    limit = outlier_limit(np.nan_to_num(apart[:, 1:]), options.own_floor_ratio)
    late = apart > limit[:, None]
    late[:, 0] = False
    lost_ns = np.nansum(np.where(late, own.own_ns * (1 - np.exp(-apart)), 0.0), axis=1)
    often = np.flatnonzero(late.sum(axis=1) >= SHORTEST)
    for cell in often[np.argsort(-lost_ns[often], kind="stable")][: options.slowest].tolist():
        work_ns = usual_ns[cell] * np.exp(common[cell])
        even_ns = durations_ns - work_ns + np.nanmedian(work_ns[1:])
        interval = _interval(late[cell], even_ns, least_ratio, options)
        if interval is not None:
            return LateIterations(interval, OwnTime(own.cell, own.own_ns / np.exp(np.nan_to_num(common))))
    return None


def find_slow_iterations(
    rates: Rates, durations_ns: Float, least_ratio: float, options: ModelOptions
) -> PaceInterval | None:
    """Find iterations that are longer while one stream is slow, among iterations that differ in length anyway.

    A stream is slow in iterations in which its bytes take longer by six times what they vary by. Which iterations these
    are does not follow from their times, so that these have to differ only by `least_ratio` and beyond doubt.

    Args:
        rates: of all streams.
        durations_ns: (iterations,) how long they took; nan where that is not known, as of the first.
        least_ratio: smallest slowdown worth reporting.
        options: of the model.

    Returns:
        Those of the stream that loses most; None where no stream is slow in three iterations or more.
    """
    sent = np.flatnonzero((np.nan_to_num(rates.delivered_bps[:, 1:]) > 0).all(axis=1))
    taken = -np.log(rates.delivered_bps[sent][:, 1:])
    if not taken.size:
        return None
    limit = outlier_limit(taken, options.floor_ratio)[:, None]
    late, more = taken > limit, 1 - np.exp(np.minimum(limit - taken, 0.0))
    lost_ns = (rates.busy_ns[sent][:, 1:] * more).sum(axis=1)
    late = np.pad(late, ((0, 0), (1, 0)))
    often = np.flatnonzero(late.sum(axis=1) >= SHORTEST)
    for row in often[np.argsort(-lost_ns[often], kind="stable")][: options.slowest].tolist():
        interval = _interval(late[row], durations_ns, least_ratio, options)
        if interval is not None:
            return interval
    return None


def _of_peers(grown: Float, stages: Int, options: ModelOptions) -> Float:
    """(cells, iterations) by what the lesser half of each one's stage grew; of all cells where it is alone there.

    Of few cells each is half of the stage or nearly so: it does not count for itself.
    """
    found = np.tile(lesser_halves(grown), (len(grown), 1))
    for stage in np.unique(stages):
        rows = np.flatnonzero(stages == stage)
        if len(rows) >= options.fewest_peers:
            found[rows] = lesser_halves(grown[rows])
        elif len(rows) > 1:
            found[rows] = [lesser_halves(grown[rows[rows != row]]) for row in rows]
    return found


def _interval(late: Bool, even_ns: Float, least_ratio: float, options: ModelOptions) -> PaceInterval | None:
    """The late iterations, if they are longer than the rest beyond doubt; None where times of the rest show nothing."""
    known = np.isfinite(even_ns)
    slow, rest = np.flatnonzero(late & known), np.flatnonzero(~late & known)
    if len(slow) < SHORTEST or len(rest) < 2 * SHORTEST:
        return None
    level, usual = float(np.median(even_ns[slow])), float(np.median(even_ns[rest]))
    if usual <= 0:
        return None  # several ends fell on one instant: they are no iterations
    noise = MAD_TO_SIGMA * float(np.median(np.abs(even_ns[rest] - usual))) / usual
    if level / usual < 1 + max(least_ratio, options.slow_sigmas * noise * median_error(len(slow), len(rest))):
        return None
    iterations, baseline = tuple(slow.tolist()), tuple(rest.tolist())
    return PaceInterval(iterations[0], iterations[-1], level, baseline, level / usual, 0.0, iterations)
